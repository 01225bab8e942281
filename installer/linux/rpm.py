"""The RPM package, for systems with glibc 2.35 or newer: Fedora 36, RHEL 10, openSUSE Leap 15.6 and later.

It brings what the tarball brings, since Debian's libraries are not always named as others name theirs (libbz2.so.1.0), and asks
for the rest by the libraries' own names: distributions name packages differently, but every package says which libraries it
provides, in the form ``libEGL.so.1()(64bit)``. https://rpm.org/docs/latest/manual/more_dependencies.html
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from installer.linux import elf, tarball, tree

HERE = Path(__file__).parent
SPEC = """Name: convalesce
Version: {version}
Release: 1
Summary: Finds out why a GPU deep-learning set-up does not work
License: Apache-2.0 AND LGPL-3.0-only AND Python-2.0 AND MIT AND BSD-3-Clause
Vendor: The Convalesce project
AutoReqProv: no
{requires}

%description
Convalesce looks at the driver, the CUDA toolkit, cuDNN, the environment
variables and the Python frameworks of this machine, and names one root cause
with the evidence for it. A cure is shown before anything changes, tried
without touching anything, applied so that it can be undone, and verified.
It uses no network but for what a cure fetches with consent.

%preun
if [ "$1" = 0 ]; then
set -- remove
{prerm}
fi

%files
{files}
"""
SETTINGS = {
    "debug_package": "%{nil}",
    "__os_install_post": "%{nil}",  # the files are finished: nothing strips or compresses them
    "_build_id_links": "none",
    "_buildhost": "localhost",
    "use_source_date_epoch_as_buildtime": "1",
    "clamp_mtime_to_source_date_epoch": "1",
}


def build(frozen: Path, stage: Path, out: Path, version: str, level: str = tarball.LEVEL) -> Path:
    """Pack the folder, as tightly as ``level`` says; return the package's path."""
    root = stage / "root"
    home = tree.lay_out(frozen, root)
    licences = root / "usr/share/licenses/convalesce"
    licences.mkdir(parents=True)
    shutil.copy2(HERE.parents[1] / "LICENSE", licences)
    tree.set_modes(root)
    prerm = "".join((HERE / "prerm").read_text(encoding="utf-8").partition("set -e\n")[2:])
    spec = stage / "convalesce.spec"
    requires = "\n".join(f"Requires: {name}" for name in needs(home))
    spec.write_text(
        SPEC.format(version=version, requires=requires, prerm=prerm.rstrip(), files="\n".join(listed(root))),
        encoding="utf-8",
    )
    payload = f"w{level}T2.xzdio"  # as the tarball: a fixed number of threads
    defined = {**SETTINGS, "_binary_payload": payload, "_topdir": stage / "rpmbuild", "_rpmdir": stage / "made"}
    options = [f"--define={name} {value}" for name, value in defined.items()]
    command = ["rpmbuild", "-bb", "--quiet", "--target=x86_64-linux", f"--buildroot={root}", *options, str(spec)]
    subprocess.run(command, check=True, stdout=2, env={**os.environ, "LC_ALL": "C.UTF-8"})
    (made,) = (stage / "made").rglob("*.rpm")
    return Path(shutil.copy(made, out / made.name))


def needs(home: Path) -> list[str]:
    """Return what the package requires: each library of the system, and the versions of the C library's symbols."""
    libraries = {f"{name}()(64bit)" for name in elf.outside(home)}
    libc = max(version for file in elf.images(home) for version in elf.versions(file, "GLIBC_"))
    return sorted({*libraries, f"libc.so.6(GLIBC_{'.'.join(map(str, libc))})(64bit)"})


def listed(root: Path) -> Iterator[str]:
    """Yield the package's files, and the folders that are its own."""
    ours = tuple(root / part for part in (tree.HOME, tree.PAPERS, "usr/share/licenses/convalesce"))
    for item in sorted(root.rglob("*")):
        inside = f'"/{item.relative_to(root)}"'
        if item.is_dir() and not item.is_symlink():
            if item in ours or any(folder in item.parents for folder in ours):
                yield f"%dir %attr(755, root, root) {inside}"
        elif item.is_symlink():
            yield f"%attr(-, root, root) {inside}"
        else:
            yield f"%attr({item.stat().st_mode & 0o777:o}, root, root) {inside}"
