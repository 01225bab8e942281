"""Ten programs, built with gcc against NVIDIA's own libraries in the ways that people ship them, and what can befall them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.faultlab.wheels import CUDART_12, CUDNN_9_1, NVRTC_12, Wheel, unpacked
from tests.faultlab.wheels import link as hard_link

LIBRARIES: dict[str, tuple[Wheel, str]] = {
    "libcudart.so.12": (CUDART_12, "cuda_runtime"),
    "libcudnn.so.9": (CUDNN_9_1, "cudnn"),
    "libnvrtc.so.12": (NVRTC_12, "cuda_nvrtc"),
    "libnvrtc-builtins.so.12.4": (NVRTC_12, "cuda_nvrtc"),
}
CALLS = {
    "libcudart.so.12": "int cudaRuntimeGetVersion(int *); static int use(void) { int v; return cudaRuntimeGetVersion(&v); }",
    "libcudnn.so.9": "unsigned long cudnnGetVersion(void); static int use(void) { return cudnnGetVersion() == 0; }",
    "libnvrtc.so.12": "int nvrtcVersion(int *, int *); static int use(void) { int a, b; return nvrtcVersion(&a, &b); }",
}
LINKED = "%s\nint main(void) { return use() ? 3 : 0; }\n"
OPENED = """#include <dlfcn.h>
#include <stdio.h>
static const char *const names[] = {%s};
int main(void) {
  for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
    if (dlopen(names[i], RTLD_NOW)) return 0;
    fprintf(stderr, "%%s\\n", dlerror());
  }
  return 4;
}
"""


def wheel_file(name: str) -> Path:
    """Return NVIDIA's own file of this name."""
    wheel, folder = LIBRARIES[name]
    return unpacked(wheel) / "nvidia" / folder / "lib" / name


def place(names: tuple[str, ...], folder: Path) -> None:
    """Put copies of NVIDIA's files into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        shutil.copy(wheel_file(name), folder / name)
    if "libcudnn.so.9" in names:
        for part in wheel_file("libcudnn.so.9").parent.glob("libcudnn_*.so.9"):
            hard_link(part, folder / part.name)


def build(target: Path, source: str, *flags: str) -> Path:
    """Compile a program."""
    target.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        ["gcc", "-x", "c", "-", "-x", "none", "-o", str(target), *flags],
        input=source.encode(),
        check=True,
        capture_output=True,
        timeout=120,
    )
    return target


def link(target: Path, name: str, *flags: str) -> Path:
    """Compile a program that is linked against one of NVIDIA's files."""
    return build(target, LINKED % CALLS[name], str(wheel_file(name)), "-Wl,--allow-shlib-undefined", *flags)


@dataclass(frozen=True)
class Shipped:
    """A program as it was shipped: what a person starts, and the library that it stands on."""

    named: Path
    library: Path
    env: tuple[tuple[str, str], ...] = ()

    @property
    def variables(self) -> dict[str, str]:
        """What it is started with."""
        return {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/nonexistent", **dict(self.env)}

    def starts(self) -> bool:
        """Whether it does its work when it is really started: the oracle."""
        named = self.named
        argv = [str(named)]
        if named.suffix == ".desktop":
            line = next(x for x in named.read_text().splitlines() if x.startswith("Exec="))
            argv = line.removeprefix("Exec=").split()
        done = subprocess.run(argv, env=self.variables, cwd="/", capture_output=True, timeout=120, check=False)
        return done.returncode == 0


def _script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def beside(at: Path) -> Shipped:
    """Linked, with $ORIGIN in its RUNPATH."""
    place(("libcudart.so.12",), at / "bin")
    return Shipped(link(at / "bin/sim", "libcudart.so.12", "-Wl,-rpath,$ORIGIN"), at / "bin/libcudart.so.12")


def in_lib(at: Path) -> Shipped:
    """Linked, with an old RPATH to the folder beside its own."""
    place(("libcudnn.so.9",), at / "lib")
    flags = ("-Wl,-rpath,$ORIGIN/../lib", "-Wl,--disable-new-dtags")
    return Shipped(link(at / "bin/katago", "libcudnn.so.9", *flags), at / "lib/libcudnn.so.9")


def by_variable(at: Path) -> Shipped:
    """Linked, and found through LD_LIBRARY_PATH alone."""
    place(("libcudart.so.12",), at / "cuda")
    env = (("LD_LIBRARY_PATH", str(at / "cuda")),)
    return Shipped(link(at / "bin/solver", "libcudart.so.12"), at / "cuda/libcudart.so.12", env)


def by_wrapper(at: Path) -> Shipped:
    """Started by a script that sets LD_LIBRARY_PATH and execs it."""
    place(("libnvrtc.so.12", "libnvrtc-builtins.so.12.4"), at / "lib")
    link(at / "libexec/compiler", "libnvrtc.so.12")
    text = (
        '#!/bin/bash\nset -e\nHERE="$(cd "$(dirname "$0")" && pwd)"\n'
        'export LD_LIBRARY_PATH="$HERE/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"\nexec "$HERE/libexec/compiler" "$@"\n'
    )
    return Shipped(_script(at / "run.sh", text), at / "lib/libnvrtc.so.12")


def by_desktop_file(at: Path) -> Shipped:
    """Started by a .desktop file."""
    made = beside(at)
    named = at / "sim.desktop"
    named.write_text(f"[Desktop Entry]\nType=Application\nName=Sim\nExec={made.named}\n")
    return Shipped(named, made.library)


def opened_by_name(at: Path) -> Shipped:
    """Opens its library by name, through LD_LIBRARY_PATH."""
    place(("libcudnn.so.9",), at / "lib")
    env = (("LD_LIBRARY_PATH", str(at / "lib")),)
    return Shipped(build(at / "bin/player", OPENED % '"libcudnn.so.9"'), at / "lib/libcudnn.so.9", env)


def opened_by_choice(at: Path) -> Shipped:
    """Opens the newest of several releases."""
    place(("libcudnn.so.9",), at / "lib")
    names = '"libcudnn.so.10", "libcudnn.so.9"'
    built = build(at / "bin/renderer", OPENED % names, "-Wl,-rpath,$ORIGIN/../lib")
    return Shipped(built, at / "lib/libcudnn.so.9")


def through_library(at: Path) -> Shipped:
    """Linked against a library of its own, which is linked against NVIDIA's."""
    place(("libcudart.so.12",), at / "lib")
    inner = at / "lib/libengine.so"
    source = CALLS["libcudart.so.12"] + "\nint engine(void) { return use(); }\n"
    build(
        inner,
        source,
        "-shared",
        "-fPIC",
        str(wheel_file("libcudart.so.12")),
        "-Wl,-rpath,$ORIGIN",
        "-Wl,-soname,libengine.so",
    )
    main = "int engine(void); int main(void) { return engine() ? 3 : 0; }\n"
    built = build(at / "bin/render", main, str(inner), "-Wl,-rpath,$ORIGIN/../lib")
    return Shipped(built, at / "lib/libcudart.so.12")


def bundle(at: Path) -> Shipped:
    """A folder as PyInstaller makes it: the libraries lie in _internal, which its bootloader puts first."""
    place(("libcudnn.so.9",), at / "app/_internal")
    worker = link(at / "app/_internal/worker.so.bin", "libcudnn.so.9", "-Wl,-rpath,$ORIGIN")
    source = (
        "#include <stdlib.h>\n#include <unistd.h>\nint main(void) {\n"
        f'  setenv("LD_LIBRARY_PATH", "{at}/app/_internal", 1);\n  return execl("{worker}", "worker", (char *)0);\n}}\n'
    )
    return Shipped(build(at / "app/tool", source), at / "app/_internal/libcudnn.so.9")


def command(at: Path) -> Shipped:
    """A script in a folder of PATH that finds its program by name."""
    made = in_lib(at / "opt")
    text = f'#!/bin/sh\n# starts it\nPATH="{made.named.parent}:$PATH"\nexport PATH\nexec {made.named.name} "$@"\n'
    return Shipped(_script(at / "bin/go", text), made.library)


PROGRAMS: tuple[Callable[[Path], Shipped], ...] = (
    beside, in_lib, by_variable, by_wrapper, by_desktop_file, opened_by_name, opened_by_choice, through_library, bundle, command
)  # fmt: skip


# --- what befalls them ---------------------------------------------------------------------------------------------


def absent(library: Path) -> None:
    """The file is gone."""
    library.unlink()


def cut(library: Path) -> None:
    """The file is cut off."""
    with library.open("r+b") as file:
        file.truncate(library.stat().st_size // 3)


def empty(library: Path) -> None:
    """The file is empty."""
    library.write_bytes(b"")


def foreign(library: Path) -> None:
    """The file is for another processor."""
    with library.open("r+b") as file:
        file.seek(18)
        file.write(b"\xb7\x00")


def dangling(library: Path) -> None:
    """The file is a link that leads nowhere."""
    library.unlink()
    os.symlink("/nonexistent/file.so", library)  # noqa: PTH211 - as ln does


FAULTS: tuple[Callable[[Path], None], ...] = (absent, cut, empty, foreign, dangling)
