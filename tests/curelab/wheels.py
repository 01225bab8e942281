"""Small wheels with the real structure of large ones, and real wheels from the cache."""

from __future__ import annotations

import base64
import functools
import hashlib
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests import standin
from tests.envlab import layouts
from tests.faultlab.wheels import cache


def make_wheel(
    folder: Path,
    name: str,
    version: str,
    files: Mapping[str, bytes | str],
    *,
    requires: Sequence[str] = (),
    scripts: Mapping[str, str] | None = None,
) -> Path:
    """Write a wheel for any Python and return its path. ``scripts``: name -> "module:function"."""
    spelt = name.replace("-", "_")
    info = f"{spelt}-{version}.dist-info"
    about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    extras = sorted({m[1] for r in requires if (m := re.search(r"extra == .([\w-]+)", r))})
    about += "".join(f"Provides-Extra: {e}\n" for e in extras)
    content = {
        **files,
        f"{info}/METADATA": about + "".join(f"Requires-Dist: {r}\n" for r in requires),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: lab\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    if scripts:
        rows = "".join(f"{script} = {target}\n" for script, target in scripts.items())
        content[f"{info}/entry_points.txt"] = f"[console_scripts]\n{rows}"
    path = folder / f"{spelt}-{version}-py3-none-any.whl"
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for at, text in content.items():
            data = text.encode() if isinstance(text, str) else text
            archive.writestr(zipfile.ZipInfo(at, (2024, 1, 1, 0, 0, 0)), data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            rows.append(f"{at},sha256={digest},{len(data)}\n")
        archive.writestr(f"{info}/RECORD", "".join(rows) + f"{info}/RECORD,,\n")
    return path


TORCH = """
from torch.version import __version__, cuda as _cuda
class _Backends:
    class cudnn:
        @staticmethod
        def version(): return None
        @staticmethod
        def is_available(): return False
backends = _Backends
class cuda:
    @staticmethod
    def is_available(): return False
    @staticmethod
    def device_count(): return 0
"""


def torch_wheel(folder: Path, version: str, cuda: str, requires: Sequence[str] = (), *, broken: bool = False) -> Path:
    """Write a stand-in of PyTorch with its real layout: version.py, the extension, and for CUDA its GPU library."""
    with tempfile.TemporaryDirectory() as work:
        site = layouts.Site(Path(work))
        site.folder.mkdir(parents=True)
        shown = f"'{cuda}'" if cuda else "None"
        version_file = f"__version__ = '{version}'\ndebug = False\ncuda: str = {shown}\nhip = None\n"
        site.file("torch/version.py", version_file)
        site.file("torch/__init__.py", ("raise ImportError('libcudart is not there')\n" if broken else "") + TORCH)
        extension = site.folder / "torch/_C.cpython-311-x86_64-linux-gnu.so"
        standin.build_library(extension, code="int standin(void) { return 1; }\n")
        site.file("torch/run.py", "def main():\n    print('run')\n")
        if cuda:
            layouts.gpu_library(site, "torch/lib/libtorch_cuda.so", 9, layouts.CODE, layouts.RPATH)
        files = {str(p.relative_to(site.folder)): p.read_bytes() for p in site.folder.rglob("*") if p.is_file()}
    return make_wheel(folder, "torch", version, files, requires=requires, scripts={"torchrun": "torch.run:main"})


def nvidia_wheels(folder: Path, wheel: str, cuda: str) -> tuple[str, ...]:
    """Write stand-ins of NVIDIA's wheels of cuDNN, NVRTC and cuBLAS: real names, small libraries that load. Return the
    requirements that pin them."""
    with tempfile.TemporaryDirectory() as work:
        site = layouts.Site(Path(work))
        site.folder.mkdir(parents=True)
        layouts.cudnn(site, wheel, cuda)
        pins = []
        for info in sorted(site.folder.glob("*.dist-info")):
            name, version = info.name.removesuffix(".dist-info").rsplit("-", 1)
            rows = (row.split(",")[0] for row in (info / "RECORD").read_text().splitlines())
            files = {row: (site.folder / row).read_bytes() for row in rows if ".dist-info/" not in row}
            make_wheel(folder, name.replace("_", "-"), version, files)
            pins.append(f"{name.replace('_', '-')}=={version}")
    return tuple(pins)


@functools.cache
def real_wheel(requirement: str) -> Path:
    """Return a published wheel for this Python, fetched once into the cache."""
    name, _eq, version = requirement.partition("==")
    folder = cache() / "wheels"
    pattern = f"{name.replace('-', '_')}-{version}-*.whl"
    found = sorted(folder.glob(pattern))
    if not found:
        folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        subprocess.run([*command, "--dest", str(folder), requirement], check=True, stdout=sys.stderr)
        found = sorted(folder.glob(pattern))
    return found[0]


def site_wheels(
    folder: Path,
    make: Callable[[layouts.Site], object],
    main: str,
    requires: Mapping[str, Sequence[str]] | None = None,
    scripts: Mapping[str, str] | None = None,
) -> tuple[str, ...]:
    """Write the wheels of all that ``make`` lays out in a folder of packages; what no RECORD lists belongs to ``main``.

    ``requires``: distribution -> its requirements; without one, none. Returns "name==version" of each.
    """
    with tempfile.TemporaryDirectory() as work:
        site = layouts.Site(Path(work))
        site.folder.mkdir(parents=True)
        make(site)
        infos = sorted(site.folder.glob("*.dist-info"))
        listed = {i: [r.split(",")[0] for r in (i / "RECORD").read_text().splitlines()] for i in infos}
        every = {p.relative_to(site.folder).as_posix() for p in site.folder.rglob("*") if p.is_file()}
        owned = {n for names in listed.values() for n in names}
        made = []
        for info, names in listed.items():
            name, version = info.name.removesuffix(".dist-info").rsplit("-", 1)
            name = name.replace("_", "-")
            its = {n for n in names if ".dist-info/" not in n}
            its |= {n for n in every - owned if ".dist-info/" not in n} if name == main else set()
            files = {n: (site.folder / n).read_bytes() for n in sorted(its)}
            wishes = (requires or {}).get(name, ())
            make_wheel(folder, name, version, files, requires=wishes, scripts=scripts if name == main else None)
            made.append(f"{name}=={version}")
    return tuple(made)
