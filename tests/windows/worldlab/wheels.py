"""What the scenes are made of: frameworks' and NVIDIA's wheels for Windows, and DLLs built with mingw from the real ones' tables."""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path

import distlib
import pefile

from tests.faultlab.wheels import Wheel, cache, unpacked
from tests.lock import made_once
from tests.windows.faultlab import parts
from tests.windows.lab import MINOR
from tests.windows.worldlab.bundle import bundle
from tests.windows.worldlab.tables import CONSUMERS, INNER, MODULES, OF_CUDA_11, OLDER, OPENERS

FRAMEWORKS = {
    "ort-1.20": Wheel("onnxruntime-gpu", "1.20.2", "win_amd64", "d0eafd873e4336949c89e6c7429a68e7e1d0233d9cb363e9780ca76c3c6f865c", "cp311-cp311"),
    "ort-new": Wheel("onnxruntime-gpu", "1.31.1", "win_amd64", "fd98341ba71c093153f0dcfc53eb69d57f706866fb45e94e5b0cde5d97a50dbf", "cp311-cp311"),
    "ctranslate2": Wheel("ctranslate2", "4.8.5", "win_amd64", "cb918ee10fd228c2aa2a5fde3e62999a4617cb11dae51644d5286a1b6d6783dd", "cp311-cp311"),
    "cupy-13": Wheel("cupy-cuda12x", "13.6.0", "win_amd64", "a20b7acdc583643a623c8d8e3efbe0db616fbcf5916e9c99eedf73859b6133af", "cp311-cp311"),
    "cupy-14": Wheel("cupy-cuda12x", "14.2.0", "win_amd64", "eceffbf02a5833c8ba1c94615da07c374284db76a60f8c8b217b0d9d2667162a", "cp311-cp311"),
    "pathfinder": Wheel("cuda-pathfinder", "1.9.0", "any", "622df7440f7702f36b7a02a1699aa0b084fe04034d9939188fee9b16d0c36366"),
}  # fmt: skip

NVIDIAS = {
    "cufft-12": Wheel("nvidia-cufft-cu12", "11.4.1.4", "win_amd64", "8e5bfaac795e93f80611f807d42844e8e27e340e0cde270dcb6c65386d795b80"),
    "curand-12": Wheel("nvidia-curand-cu12", "10.3.10.19", "win_amd64", "e8129e6ac40dc123bd948e33d3e11b4aa617d87a583fa2f21b3210e90c743cde"),
    "cusolver-12": Wheel("nvidia-cusolver-cu12", "11.6.1.9", "win_amd64", "e77314c9d7b694fcebc84f58989f3aa4fb4cb442f12ca1a9bde50f5e8f6d1b9c"),
    "cusolver-12.9": Wheel("nvidia-cusolver-cu12", "11.7.5.82", "win_amd64", "77666337237716783c6269a658dea310195cddbd80a5b2919b1ba8735cec8efd"),
    "cusparse-12": Wheel("nvidia-cusparse-cu12", "12.3.1.170", "win_amd64", "9bc90fb087bc7b4c15641521f31c0371e9a612fc2ba12c338d3ae032e6b6797f"),
    "nvjitlink-12": Wheel("nvidia-nvjitlink-cu12", "12.9.86", "win_amd64", "cc6fcec260ca843c10e34c936921a1c426b351753587fdd638e8cff7b16bb9db"),
    "nvcc-12": Wheel("nvidia-cuda-nvcc-cu12", "12.4.131", "win_amd64", "aadd9fb307352bbcd5bc89b5f98c10cd78000915094882d97321f5fe36441742"),
    "nvcc-13": Wheel("nvidia-cuda-nvcc", "13.0.88", "win_amd64", "7c3a32c8ca9866addfd784da363ddee2f6874d560027a296f583e86a61f2d543"),
    "ffmpeg": Wheel("imageio-ffmpeg", "0.6.0", "win_amd64", "02fa47c83703c37df6bfe4896aab339013f62bf02c5ebf2dce6da56af04ffc0a"),
    "cublas-13": Wheel("nvidia-cublas", "13.10.0.20", "win_amd64", "c310b749eea855b88fafb906de08d6819b87216c6711640771764fea5dcd8546"),
    **{name: wheel for name, wheel in parts.WHEELS.items() if name != "cudnn-8.9.7"},
}  # fmt: skip

IMPORTED = {
    "ort-1.23": Wheel("onnxruntime-gpu", "1.23.2", "win_amd64", "054282614c2fc9a4a27d74242afbae706a410f1f63cc35bc72f99709029a5ba4", "cp311-cp311"),
    "ort-cpu": Wheel("onnxruntime", "1.20.1", "win_amd64", "8508887eb1c5f9537a4071768723ec7c30c28eb2518a00d0adcd32c89dea3221", "cp311-cp311"),
    "numpy-1.26": Wheel("numpy", "1.26.4", "win_amd64", "cd25bcecc4974d09257ffcd1f098ee778f7834c3ad767fe5db785be9a4aa9cb2", "cp311-cp311"),
    "numpy-1.23": Wheel("numpy", "1.23.5", "win_amd64", "0cbe9848fad08baf71de1a39e12d1b6310f1d5b2d0ea4de051058e6e1076852d", "cp311-cp311"),
    "torch-cpu": Wheel("torch", "2.6.0", "win_amd64", "46763dcb051180ce1ed23d1891d9b1598e07d051ce4c9d14307029809c4d64f7", "cp311-cp311"),
    "cufft-12.4": Wheel("nvidia-cufft-cu12", "11.2.1.3", "win_amd64", "d802f4954291101186078ccbe22fc285a902136f974d369540fd4a5333d1440b"),
    "filelock": Wheel("filelock", "3.19.1", "any", "d38e30481def20772f5baf097c122c3babc4fcdb7e14e57049eb9d88c6dc017d"),
    "fsspec": Wheel("fsspec", "2025.9.0", "any", "530dc2a2af60a414a832059574df4a6e10cce927f6f4a78209390fe38955cfb7"),
    "jinja2": Wheel("jinja2", "3.1.6", "any", "85ece4451f492d0c13c5dd7c13a64681a86afae63a5f347908daf103ce6d2f67"),
    "markupsafe": Wheel("MarkupSafe", "3.0.2", "win_amd64", "70a87b411535ccad5ef2f1df5136506a10775d267e197e4cf531ced10537bd6b", "cp311-cp311"),
    "mpmath": Wheel("mpmath", "1.3.0", "any", "a0b2b9fe80bbcd81a6647ff13108738cfb482d481d826cc0e02f5b35e5c88d2c"),
    "networkx": Wheel("networkx", "3.4.2", "any", "df5d4365b724cf81b8c6a7312509d0c22386097011ad1abe274afd5e9d3bbc5f"),
    "sympy": Wheel("sympy", "1.13.1", "any", "db36cdc64bf61b9b24578b6f7bab1ecdd2452cf008f34faa33776680c26d66f8"),
    "typing_extensions": Wheel("typing_extensions", "4.15.0", "any", "f0fa19c6845758ab08074a0cfa8b7aecb71c999ca73d62883bc25cc018c4e548"),
    "pyyaml": Wheel("PyYAML", "6.0.2", "win_amd64", "e10ce637b18caea04431ce14fabcf5c64a1c61ec9c56b071a4b7ca131ca52d44", "cp311-cp311"),
    "certifi": Wheel("certifi", "2025.1.31", "any", "ca78db4565a652026a4db2bcdf68f2fb589ea80d0be70e03929ed730746b84fe"),
    "cffi": Wheel("cffi", "1.17.1", "win_amd64", "caaf0640ef5f5517f49bc275eca1406b0ffa6aa184892812030f04c2abf589a0", "cp311-cp311"),
    "charset_normalizer": Wheel("charset_normalizer", "3.4.1", "win_amd64", "d7f50a1f8c450f3925cb367d011448c39239bb3eb4117c36a6d354794de4ce76", "cp311-cp311"),
    "colorama": Wheel("colorama", "0.4.6", "any", "4f1d9991f5acc0ca119f9d443620b77f9d6b33703e51011c16baf57afb285fc6", "py2.py3-none"),
    "huggingface_hub": Wheel("huggingface_hub", "0.29.3", "any", "0b25710932ac649c08cdbefa6c6ccb8e88eef82927cacdb048efb726429453aa"),
    "idna": Wheel("idna", "3.10", "any", "946d195a0d259cbba61165e88e65941f16e9b36ea6ddb97f00452bae8b1287d3"),
    "lightgbm": Wheel("lightgbm", "4.6.0", "win_amd64", "37089ee95664b6550a7189d887dbf098e3eadab03537e411f52c63c121e3ba4b"),
    "packaging": Wheel("packaging", "24.2", "any", "09abb1bccd265c01f4a3aa3f7a7db064b36514d2cba19a2f694fe6150451a759"),
    "pandas": Wheel("pandas", "2.2.3", "win_amd64", "3fc6873a41186404dad67245896a6e440baacc92f5b716ccd1bc9ed2995ab2c5", "cp311-cp311"),
    "pillow": Wheel("pillow", "11.1.0", "win_amd64", "fbd43429d0d7ed6533b25fc993861b8fd512c42d04514a0dd6337fb3ccf22761", "cp311-cp311"),
    "protobuf": Wheel("protobuf", "5.29.3", "win_amd64", "a4fa6f80816a9a0678429e84973f2f98cbc218cca434abe8db2ad0bffc98503a", "cp310-abi3"),
    "pycparser": Wheel("pycparser", "2.22", "any", "c3702b6d3dd8c7abc1afa565d7e63d53a1d0bd86cdc24edd75470f4de499cfcc"),
    "dateutil": Wheel("python_dateutil", "2.9.0.post0", "any", "a8b2bc7bffae282281c8140a97d3aa9c14da0b136dfe83f850eea9a5f7470427", "py2.py3-none"),
    "pytz": Wheel("pytz", "2025.1", "any", "89dd22dca55b46eac6eda23b2d72721bf1bdfef212645d81513ef5d03038de57", "py2.py3-none"),
    "regex": Wheel("regex", "2024.11.6", "win_amd64", "02e28184be537f0e75c1f9b2f8847dc51e08e6e171c6bde130b2687e0c33cf60", "cp311-cp311"),
    "requests": Wheel("requests", "2.32.3", "any", "70761cfe03c773ceb22aa2f671b4757976145175cdfca038c02654d061d6dcc6"),
    "scipy": Wheel("scipy", "1.15.2", "win_amd64", "597a0c7008b21c035831c39927406c6181bcf8f60a73f36219b69d010aa04737", "cp311-cp311"),
    "six": Wheel("six", "1.17.0", "any", "4721f391ed90541fddacab5acf947aa0d3dc7d27b2e1e8eda2be8970586c3274", "py2.py3-none"),
    "soundfile": Wheel("soundfile", "0.13.1", "win_amd64", "1e70a05a0626524a69e9f0f4dd2ec174b4e9567f4d8b6c11d38b5c289be36ee9", "py2.py3-none"),
    "torchvision": Wheel("torchvision", "0.21.0", "win_amd64", "49bcfad8cfe2c27dee116c45d4f866d7974bcf14a5a9fbef893635deae322f2f", "cp311-cp311"),
    "tqdm": Wheel("tqdm", "4.67.1", "any", "26445eca388f82e72884e0d580d5464cd801a3ea01e63e5601bdff9ba6a48de2"),
    "transformers": Wheel("transformers", "4.49.0", "any", "6b4fded1c5fee04d384b1014495b4235a2b53c87503d7d592423c06128cbbe03"),
    "tzdata": Wheel("tzdata", "2025.1", "any", "7e127113816800496f027041c570f50bcd464a020098a3b6b199517772303639", "py2.py3-none"),
    "annotated_types": Wheel("annotated_types", "0.7.0", "any", "1f02e8b43a8fbbc3f3e0d4f0f4bfc8131bcb4eebe8849b8e5c773f3a1c582a53"),
    "decouple": Wheel("python_decouple", "3.8", "any", "d0d45340815b25f4de59c974b855bb38d03151d81b037d9e3f463b0c9f8cbd66"),
    "dotenv": Wheel("python_dotenv", "1.0.1", "any", "f7b63ef50f1b690dddf550d03497b66d609393b40b564ed0d674909a68ebf16a"),
    "pydantic": Wheel("pydantic", "2.10.6", "any", "427d664bf0b8a2b34ff5dd0f5a18df00591adcee7198fbd71981054cef37b584"),
    "pydantic_core": Wheel("pydantic_core", "2.27.2", "win_amd64", "08e125dbdc505fa69ca7d9c499639ab6407cfa909214d500897d02afb816e7cc", "cp311-cp311"),
    "pydantic_settings": Wheel("pydantic_settings", "2.7.1", "any", "590be9e6e24d06db33a4262829edef682500ef008565a969c73d39d5f8bfb3fd"),
    "cairocffi": Wheel("cairocffi", "1.7.1", "any", "9803a0e11f6c962f3b0ae2ec8ba6ae45e957a146a004697a1ac1bbf16b073b3f"),
    "h5py": Wheel("h5py", "3.12.1", "win_amd64", "3fdf95092d60e8130ba6ae0ef7a9bd4ade8edbe3569c13ebbaf39baefffc5ba4", "cp311-cp311"),
    "magic": Wheel("python_magic", "0.4.27", "any", "c212960ad306f700aa0d01e5d7a325d20548ff97eb9920dcd29513174f0294d3", "py2.py3-none"),
    "opencv": Wheel("opencv_python_headless", "4.10.0.84", "win_amd64", "afcf28bd1209dd58810d33defb622b325d3cbe49dcd7a43a902982c33e5fad05", "cp37-abi3"),
    "openslide": Wheel("openslide_python", "1.4.1", "win_amd64", "57ec66edf3e8f22dd8712071227f2e256fa04a542c99d72bb211d00285ccf0a2", "cp311-abi3"),
    "pywin32": Wheel("pywin32", "308", "win_amd64", "575621b90f0dc2695fec346b2d6302faebd4f0f45c05ea29404cefe35d89442b", "cp311-cp311"),
    "pyzbar": Wheel("pyzbar", "0.1.9", "win_amd64", "13e3ee5a2f3a545204a285f41814d5c0db571967e8d4af8699a03afc55182a9c", "py2.py3-none"),
    "urllib3": Wheel("urllib3", "2.3.0", "any", "1cee9ad369867bfdbbb48b7dd50374c0967a0bb7710050facf0dd6911440e3df"),
}  # fmt: skip
"""Wheels that Python really imports under wine, and those that cures alone install: numpy 2 does not import (wine's C library lacks crealf)."""


def places() -> Mapping[str, str]:
    """Return where everything lies, by name, for the Windows side."""
    found = {name: str(unpacked(wheel)) for name, wheel in (FRAMEWORKS | NVIDIAS | IMPORTED).items()}
    return {
        **found,
        "standins": str(parts.standins()),
        "consumers": str(consumers(found)),
        "bundle": str(bundle()),
        "launcher": str(Path(distlib.__file__).with_name("t64.exe")),
    }


def consumers(found: Mapping[str, str]) -> Path:
    """Return the folder of what mingw builds against the real DLLs' export tables, built once for each state of the sources."""
    sources = (Path(__file__), *(Path(__file__).with_name(name) for name in ("tables.py", "torch_functions.txt")))
    state = hashlib.sha256(b"".join(p.read_bytes() for p in sources)).hexdigest()[:16]

    def make(new: Path) -> None:
        real = {p.name.lower(): p for name in NVIDIAS for p in Path(found[name]).rglob("*.dll")}
        new.mkdir()
        for name, imports in CONSUMERS.items():
            build(new / name, {dll: functions_of(real[dll.lower()], wanted) for dll, wanted in imports.items()})
        for name, named in OF_CUDA_11.items():
            build(new / name, {dll: list(functions) for dll, functions in named.items()})
        for name, named in MODULES.items():
            module(new / "modules" / f"{name}.pyd", named)
        for name, named in INNER.items():
            inner(new / "modules" / name, named)
        for name, plugin in OPENERS.items():
            opener(new / name, plugin)
        for name, leave_out in OLDER.items():
            _first, *rest = functions_of(real[name.lower()], (), most=100_000)
            older(new / "older" / name, [f for f in rest if f not in leave_out])

    return made_once(cache() / "consumers-windows" / state, make)


def functions_of(dll: Path, wanted: Collection[str], most: int = 12) -> list[str]:
    """Return functions that a DLL exports: those that are wanted, or the first few where none is named.

    With a star among the wanted, those of them that it does export.
    """
    image = pefile.PE(str(dll), fast_load=True)
    image.parse_data_directories([pefile.DIRECTORY_ENTRY["IMAGE_DIRECTORY_ENTRY_EXPORT"]])
    names = [s.name.decode() for s in image.DIRECTORY_ENTRY_EXPORT.symbols if s.name]
    named = [n for n in wanted if n != "*" and ("*" not in wanted or n in names)]
    gone = [n for n in named if n not in names]
    assert not gone, f"{dll.name} does not export {gone}"
    return named or [n for n in names if n.isidentifier()][:most]


MODULE = """typedef struct { long long count; void *type, *init; long long index; void *copy; } Base;
typedef struct { Base base; const char *name, *doc; long long size; void *methods, *slots, *visit, *clear, *free; } Definition;
extern void *PyModule_Create2(Definition *, int);
static Definition definition = { { 1 }, "_core", 0, -1 };
__declspec(dllexport) void *PyInit__core(void) { return needs(1) ? 0 : PyModule_Create2(&definition, 1013); }
"""
"""The end of a module's source: PyModuleDef of Include/moduledef.h."""


def module(target: Path, imports: Mapping[str, tuple[str, ...]]) -> None:
    """Build the extension module ``_core``, whose import table names these functions besides Python's own."""
    target.parent.mkdir(exist_ok=True)
    python = f"python{MINOR.replace('.', '')}.dll"
    _compile(target, {python: ("PyModule_Create2",), **imports}, MODULE, called=imports)


def inner(target: Path, imports: Mapping[str, tuple[str, ...]]) -> None:
    """Build a DLL that exports the first part of its name."""
    name = target.name.partition("-")[0]
    _compile(target, imports, f"__declspec(dllexport) int {name}(void) {{ return needs(1); }}\n", called=imports)


def _compile(
    target: Path, imports: Mapping[str, tuple[str, ...]], end: str, *, called: Mapping[str, tuple[str, ...]]
) -> None:
    """Compile a DLL: ``needs``, which names the functions that are called, and the rest of its source."""
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        links = [_import_library(work, n, name, functions) for n, (name, functions) in enumerate(imports.items())]
        names = [f for functions in called.values() for f in functions]
        rows = [f"extern int {name}(void);" for name in names]
        calls = " + ".join(f"(k > 9 ? {n}() : 0)" for n in names) or "0"
        code = work / "module.c"
        code.write_text("\n".join((*rows, f"int needs(int k) {{ return {calls}; }}", end)))
        subprocess.run(["x86_64-w64-mingw32-gcc", "-shared", "-O1", "-w", "-s", code, *links, "-o", target], check=True)


def _import_library(work: Path, number: int, name: str, functions: Collection[str]) -> Path:
    definition, archive = work / f"{number}.def", work / f"lib{number}.a"
    definition.write_text("\n".join((f"LIBRARY {name}", "EXPORTS", *functions)) + "\n")
    subprocess.run(["x86_64-w64-mingw32-dlltool", "-d", definition, "-l", archive], check=True)
    return archive


def build(target: Path, imports: Mapping[str, list[str]]) -> None:
    """Build a DLL or a program whose import table names these functions."""
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        links = [_import_library(work, n, name, functions) for n, (name, functions) in enumerate(imports.items())]
        uses = [name for functions in imports.values() for name in functions]
        code = work / "consumer.c"
        rows = [f"extern int {name}(void);" for name in uses]
        calls = " + ".join(f"(k > 9 ? {n}() : 0)" for n in uses) or "0"
        library = target.suffix == ".dll"
        rows.append(f"{'__declspec(dllexport) ' if library else ''}int uses(int k) {{ return {calls}; }}")
        rows += [] if library else ["int main(int k, char **v) { return uses(k); }"]
        code.write_text("\n".join(rows) + "\n")
        shared = ["-shared"] if library else []
        command = ["x86_64-w64-mingw32-gcc", *shared, "-O1", "-w", "-s", code, *links, "-o", target]
        subprocess.run(command, check=True)


OPENER = """#include <windows.h>
int main(void) {
  wchar_t path[4096];
  GetModuleFileNameW(0, path, 3000);
  wcscpy(wcsrchr(path, L'\\\\') + 1, L"PLUGIN");
  return LoadLibraryExW(path, 0, LOAD_WITH_ALTERED_SEARCH_PATH) ? 0 : 1;
}
"""


def opener(target: Path, plugin: str) -> None:
    """Build a program that opens a DLL below its own folder by its path; it ends with 1 where that does not load."""
    with tempfile.TemporaryDirectory() as scratch:
        code = Path(scratch) / "opener.c"
        code.write_text(OPENER.replace("PLUGIN", plugin.replace("\\", "\\\\")))
        subprocess.run(["x86_64-w64-mingw32-gcc", "-O1", "-s", code, "-o", target], check=True)


def older(target: Path, functions: list[str]) -> None:
    """Build a DLL of an older release: it exports all that the real one does but what is new."""
    target.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        code, definition = Path(scratch) / "older.c", Path(scratch) / "older.def"
        code.write_text("int standin(void) { return 1; }\n")
        definition.write_text(
            "\n".join((f"LIBRARY {target.name}", "EXPORTS", *(f"{f} = standin" for f in functions))) + "\n"
        )
        subprocess.run(["x86_64-w64-mingw32-gcc", "-shared", "-s", code, definition, "-o", target], check=True)
