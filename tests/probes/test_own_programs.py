"""What the programs of a folder show of an environment: frameworks that none of them names, workers, and what is left of another release."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from core.model.facts import Distribution, ImportSearch, LeftModule, Misfit, Snapshot, Tools
from core.model.findings import Finding
from core.model.steps import Severity
from core.probes.python.following.misfits import is_of_another_series, misfits
from core.probes.python.installed.compiled_remains import compiled_remains
from core.probes.python.programs.on_cpu import on_cpu_alone
from core.probes.python.programs.on_cudnn import callers_of_cudnn
from core.probes.python.programs.own_programs import idle_distributions, is_part_idle, starts_workers
from core.probes.sysroot import Sysroot
from core.rules import collectives
from core.rules.frameworks import broken
from core.rules.frameworks import misfits as misfit_rules
from tests.machines import PREFIX, SITE, python, wheel_machine
from tests.probes.request import request, write

SPEECH = (
    Distribution(name="ctranslate2", version="4.6.0", location=SITE),
    Distribution(name="faster-whisper", version="1.1.1", location=SITE, pins=("ctranslate2<5,>=4.0",)),
    Distribution(name="numba", version="0.62.1", location=SITE),
)


def sysroot_of_path(root: Path) -> Sysroot:
    return Sysroot("linux", str(root))


def asked(root: Path, *distributions: Distribution):
    for d in distributions:
        write(root, f"{SITE}/{d.name.replace('-', '_')}/__init__.py")
    return replace(request(root, pythons=(python(distributions=distributions),)), script_folder="/home/ada/work")


@pytest.mark.parametrize(
    ("files", "idle"),
    [
        ({"main.py": "import numba\n"}, True),
        ({"main.py": "import numba\nimport faster_whisper\n"}, False),
        ({"main.py": "import numba\n", "lib/speech.py": "importlib.import_module('ctranslate2')\n"}, False),
        ({"main.py": "import numba\n", "run.sh": "faster-whisper a.wav\n"}, False),
        ({"main.py": "import json\n"}, False),
        ({"notes.txt": "numba\n"}, False),
        ({}, False),
    ],
)
def test_a_framework_that_no_program_names(files: dict[str, str], idle: bool, tmp_path: Path):
    its = asked(tmp_path, *SPEECH)
    for name, text in files.items():
        write(tmp_path, f"/home/ada/work/{name}", text)
    where = sysroot_of_path(tmp_path)
    assert ("ctranslate2" in idle_distributions(its.seen.pythons[0], its, where)) is idle
    home = replace(its, script_folder="/home/ada")  # people keep everything there
    assert idle_distributions(its.seen.pythons[0], home, where) == ()


@pytest.mark.parametrize(("program", "idle"), [("import torch\n", True), ("import torch, transformers\n", False)])
def test_what_fetches_models_and_no_program_uses(program: str, idle: bool, tmp_path: Path):
    distributions = (
        Distribution(name="torch", version="2.6.0", location=SITE),
        Distribution(name="huggingface-hub", version="0.36.2", location=SITE),
        Distribution(name="transformers", version="4.51.3", location=SITE, requires=("huggingface-hub<1.0,>=0.30",)),
    )
    its = asked(tmp_path, *distributions)
    write(tmp_path, "/home/ada/work/main.py", program)
    assert ("huggingface-hub" in idle_distributions(its.seen.pythons[0], its, sysroot_of_path(tmp_path))) is idle


@pytest.mark.parametrize(
    ("program", "idle"),
    [
        ("import torch\n", True),
        ("import torch.distributed as dist\n", False),
        ("import torch\nimport accelerate\n", False),
        ("import json\n", False),
        ("import torch\nundistributed = 1\n", True),
    ],
)
def test_a_part_of_a_framework_that_no_program_names(program: str, idle: bool, tmp_path: Path):
    its = asked(tmp_path, Distribution(name="torch", version="2.6.0", location=SITE))
    folder = f"{SITE}/accelerate-1.6.0.dist-info/METADATA"
    write(tmp_path, folder, "Metadata-Version: 2.1\nName: accelerate\nVersion: 1.6.0\nRequires-Dist: torch>=2.0\n")
    write(tmp_path, "/home/ada/work/main.py", program)
    where = sysroot_of_path(tmp_path)
    assert is_part_idle("distributed", "torch", its.seen.pythons[0], its, where) is idle
    given = replace(its, env={**its.env, "MASTER_PORT": "auto"})
    assert ("torch.distributed" in idle_distributions(its.seen.pythons[0], given, where)) is idle
    assert "torch.distributed" not in idle_distributions(its.seen.pythons[0], its, where)  # nothing of its is set


def test_a_program_names_cupy_by_its_module_and_not_by_the_wheel(tmp_path: Path):
    its = asked(tmp_path, *SPEECH, Distribution(name="cupy-cuda12x", version="13.6.0", location=SITE))
    main = write(tmp_path, "/home/ada/work/main.py", "import numba\n")
    assert "cupy-cuda12x" in idle_distributions(its.seen.pythons[0], its, sysroot_of_path(tmp_path))
    main.write_text("import numba, cupy\ncupy.zeros(3)\n")
    fresh = asked(tmp_path, *SPEECH, Distribution(name="cupy-cuda12x", version="13.6.0", location=SITE))
    assert "cupy-cuda12x" not in idle_distributions(fresh.seen.pythons[0], fresh, sysroot_of_path(tmp_path))


@pytest.mark.parametrize(
    ("program", "idle"),
    [("import torch, langchain_text_splitters\n", True), ("import torch\nfrom langchain import agents\n", False)],
)
def test_a_package_that_does_not_import_and_no_program_uses(program: str, idle: bool, tmp_path: Path):
    its = asked(tmp_path, Distribution(name="torch", version="2.6.0", location=SITE))
    for name, wish in (("langgraph-1.0.10", ""), ("langchain-1.0.5", "Requires-Dist: langgraph<1.1,>=1.0.2\n")):
        metadata = f"Metadata-Version: 2.4\nName: {name.partition('-')[0]}\n{wish}"
        write(tmp_path, f"{SITE}/{name}.dist-info/METADATA", metadata)
    write(tmp_path, "/home/ada/work/main.py", program)
    told = idle_distributions(its.seen.pythons[0], its, sysroot_of_path(tmp_path), {"langgraph"})
    assert ("langgraph" in told) is idle


@pytest.mark.parametrize(
    ("code", "idle"),
    [
        ("try:\n  import sounddevice as sd\nexcept OSError as e:\n  sd = None\n", True),
        ("try:\n    import sounddevice\nexcept ImportError:\n    sounddevice = None\n", False),
        ("try:\n    import sounddevice\nexcept Exception:\n    pass\n\ndef f():\n    import sounddevice\n", False),
        ("", False),
    ],
    ids=["one error of a library that is absent", "another error", "elsewhere it is not tried", "nothing imports it"],
)
def test_what_requires_a_package_and_goes_on_without_does_not_use_it(code: str, idle: bool, tmp_path: Path):
    its = asked(tmp_path, Distribution(name="torch", version="2.6.0", location=SITE))
    for name, wish in (("sounddevice-0.5.6", ""), ("mediapipe-0.10.31", "Requires-Dist: sounddevice~=0.5\n")):
        metadata = f"Metadata-Version: 2.4\nName: {name.partition('-')[0]}\n{wish}"
        write(tmp_path, f"{SITE}/{name}.dist-info/METADATA", metadata)
    write(tmp_path, f"{SITE}/mediapipe/audio/record.py", code)
    write(tmp_path, "/home/ada/work/main.py", "import torch, mediapipe\n")
    told = idle_distributions(its.seen.pythons[0], its, sysroot_of_path(tmp_path), {"sounddevice"})
    assert ("sounddevice" in told) is idle


BY_OTHERS = "import torch\ntry:\n    from {module} import load\nexcept {error}:\n    load = torch.load\n"


@pytest.mark.parametrize(
    ("package", "files", "idle"),
    [
        ("pyzbar", {"main.py": "import torch\nfrom pyzbar.pyzbar import decode\n"}, False),
        ("pyzbar", {"main.py": BY_OTHERS.format(module="pyzbar.pyzbar", error="ImportError")}, True),
        ("pyzbar", {"main.py": BY_OTHERS.format(module="pyzbar.pyzbar", error="OSError")}, False),
        (
            "pyzbar",
            {"main.py": BY_OTHERS.format(module="pyzbar.pyzbar", error="ImportError"), "b.py": "import pyzbar\n"},
            False,
        ),
        ("cairocffi", {"main.py": BY_OTHERS.format(module="cairocffi", error="ImportError")}, False),
        ("cairocffi", {"main.py": BY_OTHERS.format(module="cairocffi", error="(ImportError, OSError)")}, True),
    ],
)
def test_a_program_that_goes_on_without_a_packages_library_does_not_use_it(
    package: str, files: dict[str, str], idle: bool, tmp_path: Path
):
    its = asked(tmp_path, Distribution(name="torch", version="2.6.0", location=SITE))
    write(tmp_path, f"{SITE}/{package}-1.0.dist-info/METADATA", f"Metadata-Version: 2.4\nName: {package}\n")
    for name, text in files.items():
        write(tmp_path, f"/home/ada/work/{name}", text)
    told = idle_distributions(its.seen.pythons[0], its, sysroot_of_path(tmp_path), {package})
    assert (package in told) is idle


@pytest.mark.parametrize(
    ("program", "idle"), [("import torch\nimport pymupdf\n", True), ("import torch, pdf2image\n", False)]
)
def test_what_works_by_a_program_of_the_system_is_idle_where_nothing_names_it(program: str, idle: bool, tmp_path: Path):
    its = asked(tmp_path, Distribution(name="torch", version="2.6.0", location=SITE))
    write(tmp_path, f"{SITE}/pdf2image-1.17.0.dist-info/METADATA", "Metadata-Version: 2.4\nName: pdf2image\n")
    write(tmp_path, "/home/ada/work/main.py", program)
    assert ("pdf2image" in idle_distributions(its.seen.pythons[0], its, sysroot_of_path(tmp_path))) is idle


SESSION = "import onnxruntime\nonnxruntime.InferenceSession('a.onnx', providers=['CPUExecutionProvider'])\n"
CUDA_FIRST = SESSION.replace("['CPU", "['CUDAExecutionProvider', 'CPU")
WHISPER = "from faster_whisper import WhisperModel\nWhisperModel('tiny', device='cpu', compute_type='int8')\n"


@pytest.mark.parametrize(
    ("name", "files", "on_cpu"),
    [
        ("onnxruntime-gpu", {"main.py": SESSION}, True),
        ("onnxruntime-gpu", {"main.py": SESSION, "requirements.txt": "onnxruntime-gpu==1.23.2\n"}, True),
        ("onnxruntime-gpu", {"main.py": CUDA_FIRST}, False),
        ("onnxruntime-gpu", {"main.py": SESSION, "other.py": CUDA_FIRST}, False),
        ("onnxruntime-gpu", {"main.py": SESSION.replace(", providers=['CPUExecutionProvider']", "")}, False),
        ("onnxruntime-gpu", {"main.py": SESSION.replace("['CPUExecutionProvider']", "chosen")}, False),
        ("onnxruntime-gpu", {"main.py": f"{SESSION}make = onnxruntime.InferenceSession\n"}, False),
        ("onnxruntime-gpu", {"main.py": SESSION, "run.ipynb": '"import onnxruntime"'}, False),
        ("onnxruntime-gpu", {"main.py": f"import rembg\n{SESSION}"}, False),
        ("onnxruntime-gpu", {"main.py": "import onnxruntime\n"}, True),
        ("onnxruntime-gpu", {"main.py": "import onnxruntime as ort\nprint(ort.__version__, ort.get_available_providers())\nort.InferenceSession\n"}, True),
        ("onnxruntime-gpu", {"main.py": "try:\n    import onnxruntime as ort\nexcept ImportError:\n    ort = None\nif ort is None or not ort:\n    print('later')\n"}, True),
        ("onnxruntime-gpu", {"main.py": "CHOSEN = ['CPUExecutionProvider']\n" + SESSION.replace("['CPUExecutionProvider']", "CHOSEN")}, True),
        ("onnxruntime-gpu", {"main.py": "def chosen(CHOSEN): pass\nCHOSEN = ['CPUExecutionProvider']\n" + SESSION.replace("['CPUExecutionProvider']", "CHOSEN")}, False),
        ("onnxruntime-gpu", {"main.py": SESSION.replace("['CPUExecutionProvider']", "onnxruntime.get_available_providers()")}, False),
        ("onnxruntime-gpu", {"main.py": "import onnxruntime\nserve(onnxruntime)\n"}, False),
        ("onnxruntime-gpu", {"main.py": "import importlib\nserve(importlib.import_module('onnxruntime'))\n"}, False),
        ("onnxruntime-gpu", {"main.py": "import importlib.util\nimportlib.util.find_spec('onnxruntime')\n"}, True),
        ("onnxruntime-gpu", {"main.py": "from onnxruntime import *\n"}, False),
        ("onnxruntime-gpu", {"main.py": "from onnxruntime import InferenceSession as Session\nSession('a')\n"}, False),
        ("onnxruntime-gpu", {"main.py": "import onnxruntime, ctypes\nctypes.CDLL('libcublas.so.12')\n"}, False),
        ("onnxruntime-gpu", {"main.py": f"{SESSION}("}, False),
        ("onnxruntime-gpu", {}, False),
        ("ctranslate2", {"main.py": WHISPER}, True),
        ("ctranslate2", {"main.py": WHISPER.replace("'cpu'", "'auto'")}, False),
        ("ctranslate2", {"main.py": WHISPER, "run.sh": "python main.py --device cuda\n"}, False),
        ("ctranslate2", {"main.py": WHISPER.replace(", device='cpu', compute_type='int8'", "")}, False),
        ("ctranslate2", {"main.py": "import ctranslate2\nctranslate2.Translator('m', device='cpu')\n"}, True),
        ("ctranslate2", {"main.py": "import ctranslate2\nctranslate2.Translator('m')\n"}, True),
        ("ctranslate2", {"main.py": "import ctranslate2\nctranslate2.Translator('m', **chosen)\n"}, False),
        ("ctranslate2", {"main.py": "import ctranslate2\nprint(ctranslate2.get_supported_compute_types('cpu'))\n"}, True),
        ("ctranslate2", {"main.py": "import ctranslate2\nprint(ctranslate2.get_cuda_device_count())\n"}, False),
        ("cupy-cuda12x", {"main.py": "import tempfile, cupy\nprint(cupy.__version__)\n"}, True),
        ("cupy-cuda12x", {"main.py": "import cupy as xp\nxp.zeros(3)\n"}, False),
        ("cupy-cuda12x", {"main.py": "from cupy import zeros\n"}, False),
        ("cupy-cuda12x", {"main.py": "import cupy\nfrom cupyx.scipy.sparse import csr_matrix\n"}, False),
        ("onnxruntime-gpu", {"main.py": "import onnxruntime, faces\nfaces.FaceAnalysis()\n"}, False),
        ("onnxruntime-gpu", {"main.py": "import onnxruntime, numba\n"}, True),
    ],
)  # fmt: skip
def test_a_framework_of_which_programs_ask_nothing_on_a_gpu(
    name: str, files: dict[str, str], on_cpu: bool, tmp_path: Path
):
    others = (
        Distribution(name="onnxruntime-gpu", version="1.23.2", location=SITE),
        Distribution(name="rembg", version="2.0", location=SITE, pins=("onnxruntime",)),
        Distribution(name="cupy-cuda12x", version="13.6.0", location=SITE),
    )
    its = asked(tmp_path, *SPEECH, *others)
    write(tmp_path, f"{SITE}/faces/__init__.py", "import onnxruntime\n")  # and its metadata do not say so
    write(tmp_path, f"{SITE}/faces-0.7.dist-info/METADATA", "Name: faces\nVersion: 0.7\n")
    write(tmp_path, f"{SITE}/faces-0.7.dist-info/RECORD", "faces/__init__.py,,\n")
    for file, text in files.items():
        write(tmp_path, f"/home/ada/work/{file}", text)
    assert (name in on_cpu_alone(its.seen.pythons[0], its, sysroot_of_path(tmp_path))) is on_cpu


@pytest.mark.parametrize(
    ("count", "names", "read"), [(150, "{n}.jpg", True), (9000, "{n}.jpg", True), (9000, "{n}", False)]
)
def test_a_folder_of_data_is_not_walked(
    count: int, names: str, read: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    its = asked(tmp_path, *SPEECH)
    write(tmp_path, "/home/ada/work/main.py", "import numba\nDataLoader(num_workers=4)\n")
    where = sysroot_of_path(tmp_path)
    monkeypatch.setattr(
        Sysroot,
        "names",
        lambda _self, folder: (
            tuple(sorted(("main.py", *(names.format(n=n) for n in range(count)))))
            if folder == "/home/ada/work"
            else ("numba",)
        ),
    )
    looked: list[str] = []
    monkeypatch.setattr(Sysroot, "is_folder", lambda _self, path: looked.append(path) is not None)
    assert bool(starts_workers(its, where)) is read
    assert not looked


@pytest.mark.parametrize(
    ("text", "starts"),
    [("DataLoader(data, num_workers=4)", True), ('{"num_workers": 2}', True), ("DataLoader(data, num_workers=0)", False),
     ("DataLoader(data)", False), ("python train.py --num-workers 8", True)],
)  # fmt: skip
def test_a_program_that_starts_workers(text: str, starts: bool, tmp_path: Path):
    its = asked(tmp_path)
    write(tmp_path, "/home/ada/work/train.py", text)
    assert bool(starts_workers(its, sysroot_of_path(tmp_path))) is starts


@pytest.mark.parametrize(("size", "workers", "told"), [(64 << 20, "/w/train.py", 1), (64 << 20, "", 0), (2 << 30, "/w/train.py", 0)])  # fmt: skip
def test_shared_memory_of_a_container_is_little_for_workers(size: int, workers: str, told: int):
    torch = Distribution(name="torch", version="2.8.0", location=SITE)
    seen = replace(wheel_machine(), tools=Tools(shared_memory=size, workers=workers))
    found = list(collectives.little_memory_for_workers(replace(seen, pythons=(python(distributions=(torch,)),))))
    assert [(f.cause, f.severity) for f in found] == [("shared_memory_too_small", Severity.WARNING)] * told
    assert not list(collectives.little_memory_for_workers(replace(seen, pythons=(python(distributions=()),))))


RECORD = "odd/__init__.py,,\nodd/fast.py,,\nodd/slow.py,,\n"


@pytest.mark.parametrize(
    ("name", "record", "left"),
    [
        ("fast.cpython-311-x86_64-linux-gnu.so", RECORD, True),
        ("fast.abi3.so", RECORD, True),
        ("fast.cpython-310-x86_64-linux-gnu.so", RECORD, False),
        ("fast.abi3.so", f"{RECORD}odd/fast.abi3.so,,\n", False),
        ("other.abi3.so", RECORD, False),
    ],
)
def test_compiled_modules_that_nobody_brought(name: str, record: str, left: bool, tmp_path: Path):
    write(tmp_path, f"{SITE}/odd-1.0.dist-info/RECORD", record)
    write(tmp_path, f"{SITE}/odd/{name}")
    its = request(tmp_path)
    found = compiled_remains(python(version="3.11.7", kind="venv"), its, sysroot_of_path(tmp_path))
    assert [(m.path, m.hides) for m in found] == [(f"{SITE}/odd/{name}", f"{SITE}/odd/fast.py")] * left


@pytest.mark.parametrize(
    ("name", "specifier", "version", "other"),
    [
        ("antlr4-python3-runtime", "==4.9.*", "4.13.2", True),
        ("antlr4-python3-runtime", "==4.9.*", "4.9.3", False),
        ("attrs", ">=22.1", "19.3", True),
        ("attrs", ">=22.1.1", "22.1.0", False),
        ("sympy", ">=1.14.0", "1.13.1", False),
        ("peft", ">=0.17", "0.15.2", True),
        ("pillow", "<12,>=7", "12.0.0", False),
        ("protobuf", "!=5.28.0,<6,>=3.19", "7.36.2", True),
        ("protobuf", "!=5.28.0,<6,>=3.19", "6.31.1", False),
        ("fsspec", "==2025.3.0", "2025.9.0", False),
        ("antlr4-python3-runtime", "==4.8", "4.9.3", True),
        ("requests", "==2.32.3", "2.33.0", False),
        ("pillow", "==10.4.0", "12.0.0", False),
        ("pillow", "==10.4.0", "9.5.0", True),
        ("tokenizers", "~=0.19.1", "0.22.0", True),
    ],
)
def test_another_series_than_a_package_asks_for(name: str, specifier: str, version: str, other: bool):
    assert is_of_another_series(name, specifier.split(","), version) is other


@pytest.mark.parametrize(("further", "told"), [("", ["odd"]), ("Requires-Dist: odd\n", [])])
def test_only_what_nothing_else_requires_is_asked_for(further: str, told: list[str], tmp_path: Path):
    write(tmp_path, f"{SITE}/odd-1.0.dist-info/METADATA", "Name: odd\nVersion: 1.0\nRequires-Dist: even<2,>=1; python_version > '3.8'\n")  # fmt: skip
    write(tmp_path, f"{SITE}/even-0.9.dist-info/METADATA", "Name: even\nVersion: 0.9\n")
    write(tmp_path, f"{SITE}/user-1.0.dist-info/METADATA", f"Name: user\nVersion: 1.0\n{further}")
    found = misfits(python(version="3.11.7", kind="venv"), request(tmp_path), sysroot_of_path(tmp_path))
    assert [m.distribution for m in found] == told


def told(search: ImportSearch) -> list[Finding]:
    seen: Snapshot = replace(wheel_machine(), imports=(search,))
    return [f for rule in (*broken.RULES, *misfit_rules.RULES) for f in rule(seen)]


def test_what_is_told_of_them():
    left = LeftModule(path=f"{SITE}/odd/a.so", hides=f"{SITE}/odd/a.py", distribution="odd", version="1.0")
    (one,) = told(ImportSearch(prefix=PREFIX, left=(left,)))
    assert (one.cause, one.severity, one.subject) == ("installation_interrupted", Severity.WARNING, left.path)
    misfit = Misfit(distribution="odd", version="1.0", wanted="even", specifier=">=1", installed="0.9", location=SITE)
    (one,) = told(ImportSearch(prefix=PREFIX, misfits=(misfit,)))
    assert (one.cause, one.severity) == ("requirement_broken", Severity.WARNING)
    assert "even" in one.title
    assert told(ImportSearch(prefix=PREFIX)) == []


@pytest.mark.parametrize(
    ("files", "callers"),
    [
        ({"main.py": "from faster_whisper import WhisperModel\n"}, ("/home/ada/work/main.py",)),
        ({"main.py": "ctypes.CDLL('libcudnn.so.9')\n"}, ("/home/ada/work/main.py",)),
        ({"main.py": "ctypes.WinDLL(root + 'cudnn_ops64_9.dll')\n"}, ("/home/ada/work/main.py",)),
        ({"main.py": "ctranslate2.Translator('ende')\n", "notes.txt": "libcudnn.so.9\n"}, ()),
        ({"main.py": "torch.backends.cudnn.benchmark = True\n"}, ()),
        ({"notes.txt": "\n"}, ("faster-whisper 1.1.1",)),
    ],
    ids=["a model of speech", "its file", "its file on Windows", "a translator", "PyTorch's setting", "no program"],
)
def test_what_calls_cudnn(files: dict[str, str], callers: tuple[str, ...], tmp_path: Path):
    its = asked(tmp_path, *SPEECH)
    for name, text in files.items():
        write(tmp_path, f"/home/ada/work/{name}", text)
    assert callers_of_cudnn(its.seen.pythons[0], its, sysroot_of_path(tmp_path)) == callers
