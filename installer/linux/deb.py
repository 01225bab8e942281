"""The Debian package, for Debian 12 and Ubuntu 24.04 and later: it takes the system's libraries from the system.

What is in the tarball because a desktop may lack it comes from the packages that it depends on here, so that apt installs
it and keeps it up to date. Qt and Python stay inside: their versions are the ones that Convalesce was tried with.
"""

from __future__ import annotations

import email.utils
import gzip
import hashlib
import os
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from installer.linux import elf, tarball, tree

HERE = Path(__file__).parent
MAINTAINER = "The Convalesce maintainers <maintainers@convalesce.invalid>"
CONTROL = """Package: convalesce
Version: {version}
Architecture: amd64
Maintainer: {maintainer}
Installed-Size: {size}
Depends: {depends}
Recommends: fonts-dejavu-core | fonts-noto-core, pkexec
Section: utils
Priority: optional
Description: finds out why a GPU deep-learning set-up does not work
 Convalesce looks at the driver, the CUDA toolkit, cuDNN, the environment
 variables and the Python frameworks of this machine, and names one root cause
 with the evidence for it. A cure is shown before anything changes, tried
 without touching anything, applied so that it can be undone, and verified.
 It uses no network but for what a cure fetches with consent.
"""
COPYRIGHT = """Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Convalesce

Files: *
Copyright: 2026 The Convalesce project
License: Apache-2.0
 On Debian systems, the full text of the Apache License 2.0 is in
 /usr/share/common-licenses/Apache-2.0.
Comment: Parts of others, with their licences: THIRD-PARTY.txt beside this file.
"""
OVERRIDES = """# Qt's and CPython's files stay as their makers built them; their linkage and what they embed are theirs
convalesce: unstripped-binary-or-object
convalesce: library-not-linked-against-libc
convalesce: embedded-library
convalesce: custom-library-search-path
convalesce: shared-library-lacks-prerequisites
# PyInstaller's start of a program is built so
convalesce: hardening-no-pie
"""


def build(frozen: Path, stage: Path, out: Path, version: str) -> Path:
    """Pack the folder; return the package's path."""
    home = tree.lay_out(frozen, stage, "vendor-completions")
    depends = depend_on(home)
    papers = stage / tree.PAPERS
    (papers / "copyright").write_text(COPYRIGHT, encoding="utf-8")
    overrides = stage / "usr/share/lintian/overrides"
    overrides.mkdir(parents=True)
    (overrides / "convalesce").write_text(OVERRIDES, encoding="utf-8")
    (papers / "changelog.gz").write_bytes(gzip.compress(changelog(version).encode(), mtime=0))
    size = sum(f.lstat().st_size for f in stage.rglob("*") if not f.is_dir()) // 1024
    control = stage / "DEBIAN"
    control.mkdir()
    (control / "control").write_text(
        CONTROL.format(version=version, size=size, depends=depends, maintainer=MAINTAINER), encoding="utf-8"
    )
    (control / "md5sums").write_text(sums(stage), encoding="utf-8")
    for script in ("prerm", "postrm"):
        shutil.copy2(HERE / script, control / script)
        (control / script).chmod(0o755)
    tree.set_modes(stage)
    target = out / f"convalesce_{version}_amd64.deb"
    subprocess.run(
        ["dpkg-deb", "--build", "--root-owner-group", "-Zxz", f"-z{tarball.LEVEL}", "--threads-max=2", stage, target],
        check=True,
        stdout=2,
    )
    return target


def changelog(version: str) -> str:
    """Return the changelog that Debian asks of a package."""
    when = email.utils.format_datetime(datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), UTC))
    return f"convalesce ({version}) unstable; urgency=medium\n\n  * Release {version}.\n\n -- {MAINTAINER}  {when}\n"


def sums(stage: Path) -> str:
    """Return the sums with which dpkg --verify compares the installed files."""
    kept = sorted(f for f in stage.rglob("*") if f.is_file() and not f.is_symlink() and "DEBIAN" not in f.parts)
    lines = ((hashlib.md5(f.read_bytes(), usedforsecurity=False).hexdigest(), f.relative_to(stage)) for f in kept)
    return "".join(f"{digest}  {name}\n" for digest, name in lines)


def depend_on(home: Path) -> str:
    """Remove the system's libraries from the package, and return the Depends line that brings them.

    Raises:
        SystemExit: a library is needed that no package of this machine has.
    """
    internal = home / "_internal"
    copies = {f.name for f in internal.glob("lib*.so*") if not f.is_symlink() and not f.name.startswith("libpython")}
    for name in elf.packages(copies):
        (internal / name).unlink()
    wanted = elf.outside(home)
    owners = elf.packages(wanted)
    if missing := wanted - owners.keys():
        raise SystemExit(f"No installed Debian package has {', '.join(sorted(missing))}.")
    libc = max(version for file in elf.images(home) for version in elf.versions(file, "GLIBC_"))
    names = sorted({*owners.values()} - {"libc6"})
    return ", ".join([f"libc6 (>= {'.'.join(map(str, libc))})", *names])
