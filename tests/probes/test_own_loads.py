r"""What programs on a made-up Windows load before a framework opens its DLLs; nothing is run."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from core.model.facts import Distribution, PythonEnvironment
from core.probes.loading import closure, probe
from tests.loader import build
from tests.probes.request import request, write
from tests.probes.test_closures_windows import BASE, PREFIX, PROVIDER, SITE, put

NVIDIAS = SITE + "\\nvidia\\cublas\\bin\\"
CUDNNS = SITE + "\\nvidia\\cudnn\\bin\\"
TORCHS = SITE + "\\torch\\lib\\"
PROJECT = "C:\\project"
NAMES = ("cublasLt64_12.dll", "cublas64_12.dll")
EXT = SITE + "\\ctranslate2\\_ext.cp311-win_amd64.pyd"


def lacks(root: Path, programs: dict[str, str], *names: str, version: str = "1.23.2") -> dict[str, list[str]]:
    """Return framework -> what its own DLLs do not find, started from a folder with these programs."""
    for name, text in programs.items():
        write(root, f"C:/project/{name}", text)
    write(root, f"{PREFIX}/pyvenv.cfg".replace("\\", "/"), f"home = {BASE}\n")
    versions = {"onnxruntime-gpu": version, "torch": "2.6.0", "ctranslate2": "4.8.5"}
    python = PythonEnvironment(
        prefix=PREFIX,
        executable=PREFIX + "\\Scripts\\python.exe",
        kind="venv",
        site_packages=(SITE,),
        distributions=tuple(Distribution(name=n, version=versions[n], location=SITE) for n in names),
    )
    asked = request(root, {"SystemRoot": "C:\\Windows", "PATH": "C:\\tools"}, system="windows", pythons=(python,))
    asked = replace(asked, script_folder=PROJECT)
    return {c.consumer.framework.partition(" ")[0]: [e.name for e in c.edges] for c in closure.look(asked)}


@pytest.fixture
def provider(tmp_path: Path) -> Path:
    put(tmp_path, PROVIDER, *NAMES)
    put(tmp_path, NVIDIAS + NAMES[0])
    put(tmp_path, NVIDIAS + NAMES[1], NAMES[0])
    return tmp_path


@pytest.mark.parametrize(
    ("programs", "found"),
    [
        ({"a.py": "import onnxruntime\nonnxruntime.preload_dlls()\n"}, True),
        ({"a.py": "import onnxruntime as ort\nort.preload_dlls(cudnn=True, directory='')\n"}, True),
        ({"a.py": "import os as system, onnxruntime as ort\nort.preload_dlls()\n"}, True),
        ({"a.py": "import onnxruntime\nonnxruntime.preload_dlls(cuda=False)\n"}, False),
        ({"a.py": "import onnxruntime\n"}, False),
        ({"a.py": "import onnxruntime\nonnxruntime.preload_dlls()\n", "b.py": "import onnxruntime\n"}, False),
        ({"a.py": "import ctypes, onnxruntime\nfor f in glob('Lib/site-packages/nvidia/*/bin/*.dll'): ctypes.CDLL(f)\n"}, True),
        ({"a.py": "import ctypes, onnxruntime\nctypes.WinDLL('kernel32').LoadLibraryExW('onnxruntime_providers_cuda.dll', None, 8)\n"}, False),
        ({"a.py": "import ctypes, onnxruntime\nctypes.CDLL('cublas64_12.dll')\n"}, False),
        ({"a.py": "import ctypes, onnxruntime\nadd('Lib/site-packages/nvidia/cublas/bin')\nctypes.WinDLL(\n    r'cublas64_12.dll', winmode=0)\n"}, False),
        ({"a.py": "import ctypes, onnxruntime\nos.add_dll_directory('Lib/site-packages/nvidia/cublas/bin')\nctypes.CDLL('cublas64_12.dll')\n"}, True),
        ({"a.py": "import ctypes, onnxruntime\nos.add_dll_directory('Lib/site-packages/nvidia/cublas/bin')\nctypes.WinDLL('cublas64_12.dll', winmode=0)\n"}, False),
        ({"a.py": "import ctypes, onnxruntime\nos.add_dll_directory('Lib/site-packages/nvidia/cublas/bin')\nctypes.WinDLL('kernel32')\n"}, False),
        ({"a.py": "import ctypes, onnxruntime\nn = 'Lib/site-packages/nvidia/cublas/bin'\nctypes.CDLL(n + '\\\\cublas64_12.dll')\n"}, True),
        ({"a.py": "import os, onnxruntime\nos.add_dll_directory(r'C:\\ml\\venv\\Lib\\site-packages\\nvidia\\cublas\\bin')\n"}, False),
        ({}, False),
    ],
    ids=["preloads", "under another name", "beside another name", "all but CUDA", "does not", "one of two", "by hand", "the provider", "a bare name", "a bare name and a folder", "from a given folder", "not from there", "another name", "a path", "a folder", "no program"],
)  # fmt: skip
def test_what_a_program_loads_serves_a_provider(programs: dict[str, str], found: bool, provider: Path) -> None:
    assert lacks(provider, programs, "onnxruntime-gpu")["onnxruntime-gpu"] == ([] if found else [*NAMES])


def test_an_older_release_preloads_nothing(provider: Path) -> None:
    programs = {"a.py": "import onnxruntime\nonnxruntime.preload_dlls()\n"}
    assert lacks(provider, programs, "onnxruntime-gpu", version="1.20.2")["onnxruntime-gpu"] == [*NAMES]


def test_what_is_not_there_to_be_preloaded_is_lacking(tmp_path: Path) -> None:
    put(tmp_path, PROVIDER, *NAMES, "cufft64_11.dll")
    put(tmp_path, NVIDIAS + NAMES[0])
    put(tmp_path, NVIDIAS + NAMES[1], NAMES[0])
    programs = {"a.py": "import onnxruntime\nonnxruntime.preload_dlls()\n"}
    assert lacks(tmp_path, programs, "onnxruntime-gpu")["onnxruntime-gpu"] == ["cufft64_11.dll"]


@pytest.mark.parametrize(
    ("text", "found"), [("import torch\nimport onnxruntime\n", True), ("import onnxruntime, torch\n", False)]
)
def test_what_torch_loads_serves_who_comes_after(tmp_path: Path, text: str, found: bool) -> None:
    put(tmp_path, PROVIDER, *NAMES)
    for name in NAMES:
        put(tmp_path, TORCHS + name)
    its = lacks(tmp_path, {"a.py": text}, "onnxruntime-gpu", "torch")
    assert its == {"torch": [], "onnxruntime-gpu": [] if found else [*NAMES]}


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("os.add_dll_directory(r'C:\\cuda\\bin')", True),
        ("os.add_dll_directory(os.path.join(os.environ['Nowhere'], 'bin'))", False),
        ("os.add_dll_directory(os.path.join(os.environ['SYSTEMROOT'], '..', 'cuda', 'bin'))", True),
        ("os.add_dll_directory(r'C:\\other')", False),
        ("os.add_dll_directory(find_cuda())", False),
        ("", False),
    ],
)
def test_a_folder_that_a_program_makes_known_is_searched_for_a_module(tmp_path: Path, line: str, found: bool) -> None:
    put(tmp_path, EXT, "cudart64_12.dll")
    put(tmp_path, "C:\\cuda\\bin\\cudart64_12.dll")
    put(tmp_path, "C:\\other\\x.dll")
    its = lacks(tmp_path, {"a.py": f"import os\n{line}\nimport ctranslate2\n"}, "ctranslate2")
    assert "cudart64_12.dll" not in its["ctranslate2"] if found else "cudart64_12.dll" in its["ctranslate2"]


def test_a_folder_that_a_program_computes_may_be_that_of_a_package(tmp_path: Path) -> None:
    put(tmp_path, EXT, NAMES[0])
    put(tmp_path, NVIDIAS + NAMES[0])
    its = lacks(tmp_path, {"a.py": "import os\nos.add_dll_directory(find())\nimport ctranslate2\n"}, "ctranslate2")
    assert NAMES[0] not in its["ctranslate2"]


@pytest.mark.parametrize("preloads", [True, False])
def test_cudnn_that_a_program_loads_is_what_its_framework_asks_for(tmp_path: Path, preloads: bool) -> None:
    put(tmp_path, PROVIDER, "cudnn64_9.dll")
    for name in ("cudnn64_9.dll", "cudnn_ops64_9.dll"):
        write(tmp_path, (CUDNNS + name).replace("\\", "/"), build.pe())
    write(tmp_path, "C:/project/a.py", "import onnxruntime\n" + "onnxruntime.preload_dlls()\n" * preloads)
    its = Distribution(name="onnxruntime-gpu", version="1.23.2", location=SITE)
    python = PythonEnvironment(
        prefix=PREFIX, executable=PREFIX + "\\Scripts\\python.exe", site_packages=(SITE,), distributions=(its,)
    )
    asked = request(tmp_path, {"SystemRoot": "C:\\Windows"}, system="windows", pythons=(python,))
    (load,) = probe.look(replace(asked, script_folder=PROJECT))
    main = next(r for r in load.resolutions if r.name == "cudnn64_9.dll")
    assert (main.winner.path if main.winner else "") == (CUDNNS + "cudnn64_9.dll" if preloads else "")
