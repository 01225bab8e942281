"""Rules about what compiles and what starts containers: notes where it does not fit, nothing where it does."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from core.knowledge.tools import tool_table
from core.model.facts import (
    CdiSpecification,
    CudaInit,
    CudnnCopy,
    EndedImport,
    Environment,
    ImportSearch,
    Snapshot,
    Start,
    StartLook,
    Toolkit,
    Tools,
    Variable,
)
from core.model.facts.framework_tools import UnfitTool
from core.model.remedies import InstallPackages, PointTo
from core.model.steps import Severity
from core.rules.frameworks.tools import (
    damaged_models,
    lacking_builders,
    libraries_that_programs_open,
    programs_that_packages_run,
    unfit_tools,
    what_calls_lack,
)
from core.rules.root_cause import diagnose
from core.rules.tools import description_of_lost_files
from tests import machines as m
from tests.explain.test_building import DOCKER, PODMAN, bare, built, described, fabric, links, two_gpus

CTK = "/usr/bin/nvidia-ctk"
WINDOW = "[    5.1] NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:"
BAR = "[    5.1] NVRM: BAR1 is 0M @ 0x0 (PCI:0000:01:00.0)"


def without_window(*after: str) -> Snapshot:
    """Return a machine whose kernel tells that the card has no window."""
    dead = CudaInit(status=100, status_name="CUDA_ERROR_NO_DEVICE", device_count=0)
    return m.with_driver(m.wheel_machine(), gpus=(), cuda=dead, kernel_log=(WINDOW, BAR, *after))


@pytest.mark.parametrize(
    ("roots", "words", "folder"),
    [
        ((), "Install the toolkit of /opt/cut again, so that there is /opt/cut/nvvm/libdevice/x.bc.", None),
        (("/opt/cut",), "Install the toolkit of /opt/cut again", None),
        (("/opt/cut", "/usr/local/cuda-12.8"), "export CUDA_HOME=/usr/local/cuda-12.8", "/usr/local/cuda-12.8"),
    ],
)
def test_numba_gets_a_whole_toolkit(roots: tuple[str, ...], words: str, folder: str | None) -> None:
    one = UnfitTool(
        prefix=m.PREFIX,
        reader="numba 0.62.1",
        name="x.bc",
        path="/opt/cut/nvvm/libdevice/x.bc",
        state="absent",
        runs=False,
    )
    seen = replace(m.wheel_machine(), framework_tools=(one,),
                   environment=Environment(variables=(Variable(name="CUDA_HOME", value="/opt/cut"),)),
                   toolkits=tuple(Toolkit(root=r, origin="installer", nvcc=f"{r}/bin/nvcc") for r in roots))  # fmt: skip
    (found,) = unfit_tools(seen)
    assert found.fix is not None
    assert words in found.fix.advice
    assert (found.remedy.folder if isinstance(found.remedy, PointTo) else None) == folder


NOTES: dict[str, tuple[Snapshot, str]] = {
    "gcc 14 and CUDA 12.4": (built(14, "12.4"), "host_compiler_unsupported"),
    "docker alone": (bare(engines=(DOCKER,)), "container_no_gpu_runtime"),
    "podman alone": (bare(engines=(PODMAN,)), "container_no_gpu_runtime"),
    "podman without a description": (bare(engines=(PODMAN,), container_toolkit=CTK), "container_cdi_unresolved"),
    "Triton without a name for the linker": (links(), "linker_lacks_libcuda"),
    "Triton that finds no driver": (links(""), "linker_lacks_libcuda"),
    "two GPUs in a container with little shared memory": (
        two_gpus(m.container_machine(), shared_memory=64 << 20),
        "nccl_failed",
    ),
    "InfiniBand, and little locked memory": (
        two_gpus(m.wheel_machine(), infiniband=("mlx5_0",), locked_memory=8 << 20),
        "nccl_failed",
    ),
}
WARNINGS: dict[str, tuple[Snapshot, str]] = {
    "a description of lost files": (described("/usr/lib/libnvidia-x.so.1"), "container_cdi_unresolved"),
}
ERRORS: dict[str, tuple[Snapshot, str]] = {
    "no fabric manager": (fabric(), "fabric_manager_not_running"),
    "a fabric manager that does not run": (fabric(fabric_manager=False, nvswitches=None), "fabric_manager_not_running"),
    "no window": (without_window(), "pci_memory_unassigned"),
}
QUIET: dict[str, Snapshot] = {
    "gcc 13 and CUDA 12.4": built(13, "12.4"),
    "a CUDA that nobody has read": built(16, "10.2"),
    "docker with the toolkit": bare(engines=(DOCKER,), container_toolkit=CTK),
    "docker with a description": bare(engines=(DOCKER,), gpu_descriptions=("/etc/cdi/nvidia.yaml",)),
    "docker with NVIDIA's runtime": bare(engines=(replace(DOCKER, runtime=True),)),
    "inside a container": replace(m.container_machine(), tools=Tools(engines=(DOCKER,))),
    "no GPU": replace(m.no_gpu_machine(), tools=Tools(engines=(DOCKER,))),
    "podman with its hook": bare(engines=(replace(PODMAN, runtime=True),), container_toolkit=CTK),
    "a description of files that are there": described(),
    "Triton with a name for the linker": links(link="/usr/lib/x86_64-linux-gnu/libcuda.so"),
    "one GPU in a container": replace(m.container_machine(), tools=Tools(shared_memory=64 << 20)),
    "two GPUs and plenty of memory": two_gpus(m.container_machine(), shared_memory=8 << 30, infiniband=("mlx5_0",)),
    "two GPUs without InfiniBand": two_gpus(m.wheel_machine(), locked_memory=8 << 20, iommu=True),
    "a window of an earlier start": m.with_driver(m.wheel_machine(), kernel_log=(WINDOW, BAR)),
}
NEW = {
    *("host_compiler_unsupported", "container_no_gpu_runtime", "fabric_manager_not_running", "pci_memory_unassigned"),
    *("container_cdi_unresolved", "linker_lacks_libcuda", "nccl_failed"),
}


@pytest.mark.parametrize("name", NOTES)
def test_what_matters_to_some_is_a_note(name: str) -> None:
    seen, cause = NOTES[name]
    assert {f.severity for f in diagnose(seen) if f.cause == cause} == {Severity.NOTE}


@pytest.mark.parametrize("name", WARNINGS)
def test_what_no_container_starts_with_is_a_warning_and_proves_the_message(name: str) -> None:
    seen, cause = WARNINGS[name]
    assert {f.severity for f in diagnose(seen) if f.cause == cause} == {Severity.WARNING}


def test_an_older_drivers_files_are_told_once() -> None:
    stale = m.with_driver(
        described("/usr/lib/libcuda.so.1.2"), cdi=(CdiSpecification(path="/etc/cdi/nvidia.yaml", version="1.2"),)
    )
    assert [f.id for f in diagnose(stale) if "cdi" in f.id] == ["driver.cdi-stale"]


@pytest.mark.parametrize("name", ERRORS)
def test_what_keeps_cuda_from_starting_is_the_root_cause(name: str) -> None:
    seen, cause = ERRORS[name]
    assert next(f for f in diagnose(seen) if f.primary).cause == cause


@pytest.mark.parametrize("name", QUIET)
def test_nothing_is_said_where_it_fits(name: str) -> None:
    assert not {f.cause for f in diagnose(QUIET[name])} & NEW


def test_a_module_that_was_loaded_anew_no_longer_counts_what_it_said_before() -> None:
    seen = without_window("[   90.0] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  580.65.06")
    assert "pci_memory_unassigned" not in {f.cause for f in diagnose(seen)}


def test_a_fabric_manager_that_runs_is_not_called_the_cause() -> None:
    assert "fabric_manager_not_running" not in {f.cause for f in diagnose(fabric(fabric_manager=True))}


def test_an_older_description_hides_no_other_one() -> None:
    seen = described("/usr/lib/libnvidia-x.so.1")
    assert seen.tools is not None
    assert seen.driver is not None
    (older,) = seen.driver.cdi or ()
    (one,) = seen.tools.descriptions
    other = replace(one, path="/etc/cdi/other.yaml")
    seen = m.with_driver(seen, cdi=(replace(older, version="1.2.3"),))
    (found,) = description_of_lost_files(replace(seen, tools=replace(seen.tools, descriptions=(one, other))))
    assert found.subject == other.path


@pytest.mark.parametrize(("asked_by", "severity"), [("", Severity.NOTE), ("torch.compile(", Severity.WARNING)])
def test_a_header_that_a_compiling_program_lacks(asked_by: str, severity: Severity) -> None:
    seen = m.wheel_machine()
    prefix = (seen.pythons or ())[0].prefix
    lost = UnfitTool(prefix=prefix, reader="triton 3.4.0", name="Python.h", path="/usr/include/python3.11/Python.h", state="absent", runs=False, builds=True, asked_by=asked_by)  # fmt: skip
    (found,) = lacking_builders(replace(seen, framework_tools=(lost,)))
    assert (found.severity, found.cause) == (severity, "build_tools_missing")


@pytest.mark.parametrize(
    ("kind", "title", "advice"),
    [
        (
            "cut",
            "The model file /cache/{} is cut off: 12 of at least 20 bytes.",
            "Delete the file, and download it again",
        ),
        ("empty", "The model file /cache/{} is empty.", "Delete the file, and download it again"),
        (
            "page",
            "Instead of the model, /cache/{} holds a web page or a message.",
            "Read it in an editor, delete it, and download the model itself",
        ),
        ("pointer", "Instead of the model, /cache/{} holds a pointer of Git LFS.", "Run git lfs pull in its folder"),
    ],
)
def test_each_way_in_which_a_models_file_is_of_no_use_has_its_own_words(kind: str, title: str, advice: str) -> None:
    seen = m.wheel_machine()
    assert seen.pythons
    name = "models--org--small/snapshots/1/model.safetensors"
    one = UnfitTool(
        prefix=seen.pythons[0].prefix, reader="torch 2.8.0", name="model.safetensors", path=f"/cache/{name}",
        state="damaged", runs=False, detail="12 of at least 20 bytes" if kind == "cut" else "", model=kind,
    )  # fmt: skip
    (found,) = damaged_models(replace(seen, framework_tools=(one,)))
    assert (found.severity, found.cause, found.title) == (
        Severity.WARNING,
        "corrupt_or_truncated_file",
        title.format(name),
    )
    assert found.fix is not None
    assert found.fix.title == advice
    assert "org/small" in found.fix.advice
    on_windows = replace(one, path="D:\\hub\\" + name.replace("/", "\\"))
    (told,) = damaged_models(replace(seen, framework_tools=(on_windows,)))
    assert told.fix is not None
    assert told.fix.advice == found.fix.advice
    assert ("interrupted" in found.why) is (kind in ("cut", "empty"))


def test_a_whole_model_that_torch_refuses() -> None:
    one = UnfitTool(
        prefix=m.PREFIX, reader="torch 2.8.0", name="net.pt", path="/w/net.pt", state="damaged", runs=False,
        detail="net.Net", called="/w/main.py:2", model="objects",
    )  # fmt: skip
    seen = replace(m.wheel_machine(), framework_tools=(one,))
    (found,) = damaged_models(seen)
    assert (found.severity, found.cause) == (Severity.WARNING, "requirement_broken")
    assert all(word in found.title for word in ("/w/main.py:2", "/w/net.pt", "weights_only"))
    assert "net.Net" in found.why
    assert not [*what_calls_lack(seen), *unfit_tools(seen)]


@pytest.mark.parametrize(
    ("model", "name", "detail", "reader", "words"),
    [
        ("paths", "net.pt", "pathlib.PosixPath", "torch 2.6.0", ("pathlib.PosixPath", "pathlib.PosixPath = pathlib.WindowsPath")),
        ("paths", "net.pt", "pathlib.WindowsPath", "torch 2.6.0", ("pathlib.WindowsPath = pathlib.PosixPath",)),
        ("newer", "11", "10", "onnxruntime 1.20.1", ("up to IR version 10", "has 11", "newer onnxruntime", "model.ir_version = 10")),
        ("keras-2", "DepthwiseConv2D", "groups", "keras 3.8.0", ("DepthwiseConv2D does not take groups=", "TF_USE_LEGACY_KERAS=1", "install tf-keras")),
    ],
)  # fmt: skip
def test_a_model_that_a_program_opens_in_vain(
    model: str, name: str, detail: str, reader: str, words: tuple[str, ...]
) -> None:
    one = UnfitTool(
        prefix=m.PREFIX, reader=reader, name=name, path="/w/net", state="damaged", runs=False, detail=detail,
        called="/w/main.py:2", model=model,
    )  # fmt: skip
    (found,) = damaged_models(replace(m.wheel_machine(), framework_tools=(one,)))
    assert (found.severity, found.cause, found.id.partition(".")[2]) == (
        Severity.WARNING,
        "requirement_broken",
        f"model-{model}",
    )
    assert found.fix
    assert all(word in f"{found.title} {found.fix.title} {found.fix.advice}" for word in ("/w/main.py:2", *words))


@pytest.mark.parametrize(
    ("name", "package", "cause"),
    [("accelerate", "", "requirement_broken"), ("ffmpeg", "ffmpeg", "system_library_missing")],
)
def test_a_call_that_needs_what_is_not_installed(name: str, package: str, cause: str) -> None:
    one = UnfitTool(
        prefix=m.PREFIX, reader="transformers 4.51.3", name=name, path="/w/main.py", state="absent", runs=bool(package),
        asked_by="AutoModel.from_pretrained('m', device_map=1)", called="/w/main.py:2", package=package,
    )  # fmt: skip
    seen = replace(m.wheel_machine(), framework_tools=(one,))
    emptied = replace(one, state="damaged", looked=("/usr/bin/ffmpeg",))
    (empty,) = what_calls_lack(replace(seen, framework_tools=(emptied,)))
    assert (empty.cause, "/usr/bin/ffmpeg, and that file is empty" in empty.title) == (
        "corrupt_or_truncated_file",
        True,
    )
    (card,) = what_calls_lack(seen)
    assert (card.cause, card.severity) == (cause, Severity.WARNING)
    assert "/w/main.py:2" in card.title and name in card.title  # noqa: PT018 - one sentence
    assert not [*unfit_tools(seen), *programs_that_packages_run(seen)]
    assert card.remedy == (None if package else InstallPackages(prefix=m.PREFIX, install=(name,)))
    ended = EndedImport(starts=("main",), importer="/w/main.py", line=2, wanted=name, kind="absent", call="load")
    followed = ImportSearch(prefix=m.PREFIX, ended=(ended,))
    assert not [*what_calls_lack(replace(seen, imports=(followed,)))]


def test_a_package_with_windows_takes_the_place_of_the_one_without() -> None:
    one = UnfitTool(
        prefix=m.PREFIX, reader="opencv-python-headless 4.11.0.86", name="opencv-python", path="/w/main.py", state="absent",
        runs=False, asked_by="cv2.imshow('a', a)", called="/w/main.py:2",
    )  # fmt: skip
    (card,) = what_calls_lack(replace(m.wheel_machine(), framework_tools=(one,)))
    assert card.fix is not None
    assert "uninstall -y opencv-python-headless" in card.fix.advice
    assert card.remedy is None


def test_what_no_package_brings_on_this_system_is_written_otherwise() -> None:
    source = next(c.source for c in tool_table().calls if c.name == "nccl")
    one = UnfitTool(
        prefix=m.PREFIX, reader="torch 2.6.0+cu124", name="nccl", path="/w/main.py", state="absent",
        runs=False, asked_by="dist.init_process_group('nccl')", called="/w/main.py:2", source=source,
    )  # fmt: skip
    (card,) = what_calls_lack(replace(m.wheel_machine(), framework_tools=(one,)))
    assert card.fix is not None
    assert card.fix.title == "Write gloo for nccl"
    assert card.remedy is None


def test_a_name_that_no_table_has_is_not_installed_unasked() -> None:
    one = UnfitTool(
        prefix=m.PREFIX, reader="transformers 4.51.3", name="sentencepeice", path="/w/main.py", state="absent", runs=False,
        asked_by="f()", called="/w/main.py:2",
    )  # fmt: skip
    (card,) = what_calls_lack(replace(m.wheel_machine(), framework_tools=(one,)))
    assert card.remedy is None


def test_a_module_that_a_program_starts_and_that_its_python_does_not_have() -> None:
    one = UnfitTool(
        prefix=m.PREFIX, reader="", name="pip", path="/w/main.py", state="absent", runs=False,
        asked_by="check_call([sys.executable, '-m', 'pip', 'list'])", called="/w/main.py:2",
    )  # fmt: skip
    (card,) = what_calls_lack(replace(m.wheel_machine(), framework_tools=(one,)))
    assert (card.cause, card.severity) == ("requirement_broken", Severity.WARNING)
    assert all(word in card.title for word in ("/w/main.py:2", "pip", m.PREFIX))
    assert card.fix is not None


@pytest.mark.parametrize(
    ("name", "elsewhere", "cause"),
    [
        ("libcudart.so.11.0", "", "cuda_runtime_missing"),
        ("/opt/kernels/libfast.so", "", "system_library_missing"),
        ("/opt/kernels/libfast.so", "/more", "system_library_missing"),
        ("libcudart.so.11.0", "/more", ""),
    ],
    ids=["of CUDA", "its own", "its own, whatever is searched", "a way of starting searches more"],
)
def test_a_library_that_a_program_opens(name: str, elsewhere: str, cause: str) -> None:
    one = UnfitTool(
        prefix=m.PREFIX, reader="ctypes", name=name, path="/w/main.py", state="absent", runs=False, opened=True,
        asked_by="ctypes.CDLL(NAME)", called="/w/main.py:2",
    )  # fmt: skip
    its = (Variable(name="LD_LIBRARY_PATH", value=elsewhere),) if elsewhere else ()
    starts = (Start(id="script:/w/run.sh", kind="script", at="/w/run.sh", variables=its),)
    seen = replace(m.wheel_machine(), framework_tools=(one,), starts=starts)
    cards = list(libraries_that_programs_open(seen))
    assert [(c.cause, c.severity) for c in cards] == ([(cause, Severity.WARNING)] if cause else [])
    assert all("/w/main.py:2" in c.title for c in cards)
    assert not [*what_calls_lack(seen), *unfit_tools(seen)]


@pytest.mark.parametrize(
    ("name", "environment", "cause", "said"),
    [
        ("libcudnn.so.9", m.PREFIX, "cudnn_major_mismatch", "here is only cuDNN 8.9.7"),
        ("libcudnn.so.9", "", "cudnn_major_mismatch", "here is only cuDNN 8.9.7"),
        ("libcudnn.so.9", "/srv/another", "cudnn_not_installed", "which is not there"),
        ("libcudnn_ops_infer.so.8", m.PREFIX, "cudnn_not_installed", "which is not there"),
        ("libcublas.so.11", m.PREFIX, "cuda_runtime_missing", "which is not there"),
    ],
    ids=["its own of another major", "the machine's", "another environment's", "of the same major", "no cuDNN"],
)
def test_a_cudnn_that_a_program_opens(name: str, environment: str, cause: str, said: str) -> None:
    copy = CudnnCopy(folder="/w/cudnn", origin="folder", major=8, version="8.9.7", environment=environment)
    one = UnfitTool(
        prefix=m.PREFIX, reader="ctypes", name=name, path="/w/main.py", state="absent", runs=False, opened=True,
        asked_by="ctypes.CDLL(NAME)", called="/w/main.py:2",
    )  # fmt: skip
    (card,) = libraries_that_programs_open(replace(m.wheel_machine(), framework_tools=(one,), cudnn=(copy,)))
    assert (card.cause, said in card.title) == (cause, True)
    assert any(e.source == "/w/cudnn" for e in card.evidence) is (cause == "cudnn_major_mismatch")


def test_a_library_that_a_service_finds_in_its_own_folders_is_not_told_of_it() -> None:
    one = UnfitTool(
        prefix=m.PREFIX, reader="ctypes", name="libcublas.so.12", path="/w/main.py", state="absent", runs=False, opened=True,
        asked_by="ctypes.CDLL(NAME)", called="/w/main.py:2",
    )  # fmt: skip
    searched = Variable(name="LD_LIBRARY_PATH", value="/srv/cublas/lib", source="/etc/serve.env:2")
    service = Start(id="service:serve", kind="service", at="serve", prefix=m.PREFIX, variables=(searched,))
    look = StartLook(starts=(service.id,), environment=Environment(variables=(searched,)))
    seen = replace(m.wheel_machine(), framework_tools=(one,), starts=(service,), start_looks=(look,))
    assert "frameworks.opened-by-program" not in {f.id for f in diagnose(seen)}


def test_a_switch_that_a_call_needs_and_that_nobody_set() -> None:
    row = next(c for c in tool_table().calls if c.name == "OPENCV_IO_ENABLE_OPENEXR")
    one = UnfitTool(
        prefix=m.PREFIX, reader="opencv-python 4.11.0.86", name=row.name, path="/w/main.py", state="absent", runs=False,
        asked_by="cv2.imread('a.exr')", called="/w/main.py:2", source=row.source,
    )  # fmt: skip
    (card,) = what_calls_lack(replace(m.wheel_machine(), framework_tools=(one,)))
    assert (card.cause, card.severity) == ("variable_value_wrong", Severity.WARNING)
    assert card.fix
    assert f"{row.name}=1" in card.fix.advice.replace('"', "")
