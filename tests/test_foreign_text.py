"""Whatever a file, a program or a person says: no reader stops at it, no rule fails, and every report can be shown.

The hostile texts are the class "a number that somebody else has written": more digits than ``int`` takes, digits that only look
like some, and what lies between. They stand wherever a recorded machine has a text, and in every file that a scan reads.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.common.progress import Progress
from core.doctor.examine import diagnose_snapshot
from core.doctor.scan import take_snapshot
from core.explain import explain, render_text
from core.model.facts import Machine, Snapshot
from core.model.findings import Report
from core.probes.wheel_record import RecordRow
from core.report import session_code
from core.report.html import as_html
from core.report.json_form import BadReportError, from_json, to_json
from core.report.redact import redact
from core.report.text import as_markdown, report_text
from core.report.triage import table as triage
from core.report.triage.reading import read_all
from tests import machines as m
from tests.host.fake import FakeHost, said
from tests.test_snapshots import RECORDED

LONG = "9" * 5000
HOSTILE = (
    LONG,
    f"9.{LONG}.1",
    f"cu{LONG}",
    f"-{LONG}",
    "²³",
    "12.²",
    "٣.٤",
    "1e999",
    "1_0",
    "nan",
    "\0",
    "(" * 3000,
    "",
    ".",
    "9" * 19,
)
TOKENS = (
    *HOSTILE,
    "9",
    ".",
    "-",
    "+",
    "cu",
    "libcudnn.so.",
    "cudnn64_",
    ".dll",
    ">=",
    "; extra == '",
    "'",
    " ",
    "\n",
    ",",
    "=",
    "/",
    "\\",
)
TEXTS = st.one_of(
    st.sampled_from(HOSTILE), st.lists(st.sampled_from(TOKENS), max_size=8).map("".join), st.text(max_size=40)
)

MACHINES: dict[str, Callable[[], Snapshot]] = {
    **m.HEALTHY,
    **{p.stem: lambda p=p: from_json(p.read_bytes()).snapshot for p in RECORDED[::7]},
}


def shown(report: Report) -> None:
    """Show a report in every form, and hold it to what any report keeps to."""
    assert [f.subject for f in report.findings if f.id.endswith(".rule-failed")] == []
    for form in (report_text, as_markdown, as_html):
        assert form(report)
        assert form(redact(report))
    assert session_code.decode_code(session_code.encode_code(session_code.decoded_report(report)))


# --- every text of a snapshot ---------------------------------------------------------------------------------------


def texts(document: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the ways to every text in a document."""
    match document:
        case str():
            yield at
        case dict():
            for key, value in document.items():
                yield from texts(value, (*at, key))
        case list():
            for place, value in enumerate(document):
                yield from texts(value, (*at, place))


def with_text(document: Any, at: tuple[Any, ...], text: str) -> Any:
    """Return a document with another text in one place."""
    if not at:
        return text
    if isinstance(document, dict):
        return {**document, at[0]: with_text(document[at[0]], at[1:], text)}
    return [*document[: at[0]], with_text(document[at[0]], at[1:], text), *document[at[0] + 1 :]]


def kind(at: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a way without the places in lists: what the same field of other items has, too."""
    return tuple("*" if isinstance(part, int) else part for part in at)


@pytest.mark.parametrize("name", MACHINES)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_no_rule_fails_at_any_text_of_a_snapshot(name: str, data: st.DataObject) -> None:
    document = json.loads(msgspec.json.encode(MACHINES[name]()))
    for at in data.draw(st.lists(st.sampled_from(sorted(texts(document), key=str)), min_size=1, max_size=4)):
        document = with_text(document, at, data.draw(TEXTS))
    try:
        snapshot = msgspec.convert(document, Snapshot)
    except msgspec.ValidationError:
        return  # a field that holds one of a few words
    shown(diagnose_snapshot(snapshot))


# --- every file that a scan reads -----------------------------------------------------------------------------------

SITE = "/home/ada/env/lib/python3.11/site-packages"
CONDA = "/home/ada/conda"
FILES: dict[str, str] = {
    f"{SITE}/torch-2.7.0.dist-info/METADATA": "Name: torch\nVersion: {}\nRequires-Dist: nvidia-cudnn-cu12==9.1.0.70\n",
    f"{SITE}/torchvision-0.22.0.dist-info/METADATA": "Name: torchvision\nVersion: 0.22.0\nRequires-Dist: torch=={}\n",
    f"{SITE}/jax-0.6.0.dist-info/METADATA": "Name: jax\nVersion: 0.6.0\nRequires-Dist: nvidia-cudnn-cu12>={}; extra == 'cuda{}'\n",
    f"{SITE}/nvidia_cudnn_cu12-9.1.0.70.dist-info/METADATA": "Name: nvidia-cudnn-cu{}\nVersion: {}\n",
    f"{SITE}/nvidia_cudnn_cu12-9.1.0.70.dist-info/RECORD": "nvidia/cudnn/lib/libcudnn.so.9,sha256={},{}\n",
    f"{SITE}/onnxruntime_gpu-1.20.0.dist-info/RECORD": "onnxruntime/capi/onnxruntime_pybind11_state.so,sha256=x,{}\nonnxruntime/__init__.py,sha256=x,{}\n",
    f"{SITE}/onnxruntime_gpu-{{}}.dist-info/METADATA": "Name: onnxruntime-gpu\nVersion: 1\n",
    f"{SITE}/ctranslate2-{{}}.dist-info/METADATA": "Name: ctranslate2\nVersion: {}\n",
    f"{SITE}/onnxruntime/capi/onnxruntime_pybind11_state.so": "{}",
    f"{SITE}/onnxruntime/capi/build_and_package_info.py": "package_name = '{}'\n__version__ = '{}'\ncuda_version = '{}'\n",
    f"{SITE}/torch/version.py": "__version__ = '{}'\ncuda: Optional[str] = '{}'\nhip = '{}'\n",
    f"{SITE}/nvidia/cudnn/lib/libcudnn.so.9": "{}",
    f"{SITE}/nvidia/cudnn/lib/libcudnn.so.{{}}": "{}",
    f"{SITE}/nvidia/cublas/lib/libcublas.so.{{}}": "{}",
    f"{SITE}/nvidia/cudnn/include/cudnn_version.h": "#define CUDNN_MAJOR {}\n#define CUDNN_MINOR {}\n#define CUDNN_PATCHLEVEL {}\n",
    "/home/ada/env/pyvenv.cfg": "version_info = 3.11.{}\n",
    "/home/ada/env/bin/python": "{}",
    "/home/ada/.virtualenvs/odd/pyvenv.cfg": "home = /usr/bin\nversion = {}\nversion_info = {}\n",
    "/home/ada/env/lib/python3.{}/nothing": "",
    "/home/ada/.pyenv/version": "{}",
    "/home/ada/.pyenv/versions/{}/pyvenv.cfg": "version = {}\n",
    f"{CONDA}/conda-meta/python-{{}}-0.json": '{{"version": {}}}',
    f"{CONDA}/conda-meta/cudnn-{{}}-0.json": '{{"name": "cudnn", "version": "{}", "build_number": {}}}',
    f"{CONDA}/conda-meta/cuda-cudart-{{}}-0.json": '{{"version": {}}}',
    f"{CONDA}/include/python3.11/patchlevel.h": '#define PY_VERSION "{}"\n',
    f"{CONDA}/lib/libcudart.so.{{}}": "{}",
    "/usr/local/cuda/version.json": '{{"cuda": {{"version": "{}"}}, "cuda_nvcc": {{"version": {}}}}}',
    "/usr/local/cuda/version.txt": "CUDA Version {}\n",
    "/usr/local/cuda/include/cuda_runtime_api.h": "#define CUDART_VERSION {}\n",
    "/usr/local/cuda/lib64/libcudart.so.{}": "{}",
    "/usr/local/cuda-{}/lib64/libcudart.so.12": "{}",
    "/usr/include/cudnn_version.h": "#define CUDNN_MAJOR {}\n#define CUDNN_MINOR {}\n#define CUDNN_PATCHLEVEL {}\n",
    "/etc/ld.so.conf": "/opt/{}\ninclude {}\n",
    "/var/lib/dpkg/info/libcudnn9-cuda-12.list": "/usr/lib/x86_64-linux-gnu/libcudnn.so.{}\n",
    "/var/lib/dpkg/status": "Package: libcudnn9-cuda-{}\nVersion: {}\n",
    "/proc/stat": "btime {}\n",
    "/proc/cpuinfo": "flags : {}\nvendor_id : {}\n",
    "/proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {}  Release Build\n",
    "/proc/modules": "nvidia {} {} - Live 0x{}\n",
    "/sys/module/nvidia/version": "{}\n",
    "/sys/power/suspend_stats/success": "{}\n",
    "/var/log/kern.log": "[{}.{}] NVRM: Xid (PCI:0000:{}): {}, pid={}\n[  {}] PM: suspend exit\n",
    "/usr/lib/x86_64-linux-gnu/libcuda.so.{}": "{}",
}
"""A file that a scan reads, and what is usually in it; {} stands for the hostile text, in names (cut to a name's length) as well."""

CHILDREN = {"core.probes.driver.nvidia_calls:ask_nvml": said(), "core.probes.driver.nvidia_calls:ask_cuda": said()}


def plant(root: Path, files: dict[str, str], text: str) -> None:
    """Write the files under ``root`` with ``text`` in them."""
    name = "".join(c for c in text if c not in "/\0\n")[:200] or "x"
    for path, content in files.items():
        file = root / path.replace("{}", name).lstrip("/")
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content.format(*[text] * content.count("{}")).encode("utf-8", "surrogatepass"))
        except OSError:
            assert len(file.name) > 200 or file.is_dir()


def scanned(root: Path, env: dict[str, str]) -> Report:
    machine = Machine(system="linux", home="/home/ada", libc=env.get("LIBC", "2.36"))
    host = FakeHost(root=root, facts=machine, environment=env, children=CHILDREN)
    return diagnose_snapshot(take_snapshot(host, Progress()))


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_no_file_that_a_scan_reads_stops_it(text: str, tmp_path: Path) -> None:
    plant(tmp_path, FILES, text)
    plain = "".join(c for c in text if c not in "\0")
    env = {
        "HOME": "/home/ada",
        "PATH": "/home/ada/.pyenv/shims:/usr/bin",
        "VIRTUAL_ENV": "/home/ada/env",
        "CONDA_PREFIX": CONDA,
        "LD_LIBRARY_PATH": f"/usr/local/cuda/lib64:{SITE}/nvidia/cudnn/lib",
        "CUDA_VISIBLE_DEVICES": plain,
        "CUDA_HOME": "/usr/local/cuda",
        "PYENV_VERSION": plain,
        "LIBC": plain,
    }
    report = scanned(tmp_path, env)
    assert not report.snapshot.errors
    assert {p.prefix for p in report.snapshot.pythons or ()} >= {"/home/ada/env", CONDA}
    shown(report)


@settings(max_examples=30, deadline=None)
@given(text=TEXTS, path=st.sampled_from(sorted(FILES)))
def test_no_single_file_stops_a_scan(text: str, path: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    root = tmp_path_factory.mktemp("machine")
    plant(root, FILES, "12")
    plant(root, {path: FILES[path]}, text)
    report = scanned(root, {"HOME": "/home/ada", "VIRTUAL_ENV": "/home/ada/env", "CONDA_PREFIX": CONDA})
    assert not report.snapshot.errors
    assert report.snapshot.cudnn
    shown(report)


# --- what the driver says, a report, a pasted text, an archive's RECORD ----------------------------------------------


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_nothing_that_the_driver_says_stops_a_scan(text: str, tmp_path: Path) -> None:
    from core.model.facts import CudaInit, Gpu, Nvml
    from core.probes.driver.protocol import DriverEvent

    nvml = DriverEvent(nvml=Nvml(status=0, driver_version=text, driver_cuda=text, device_count=1))
    gpu = DriverEvent(gpu=Gpu(index=0, name=text, uuid=text, compute_capability=text))
    cuda = DriverEvent(cuda=CudaInit(status=0, status_name=text, driver_cuda=text, device_count=1))
    children = {
        "core.probes.driver.nvidia_calls:ask_nvml": said(nvml, gpu),
        "core.probes.driver.nvidia_calls:ask_cuda": said(cuda, gpu),
    }
    host = FakeHost(root=tmp_path, children=children, environment={"HOME": "/home/ada"})
    report = diagnose_snapshot(take_snapshot(host, Progress()))
    assert not report.snapshot.errors
    assert report.snapshot.driver is not None
    assert report.snapshot.driver.nvml is not None
    shown(report)


WHOLE = to_json(diagnose_snapshot(m.wheel_machine())).decode()
"""Made once: how a sentence was made is remembered from every report that is read, and stands in the next one."""


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_report_is_read_or_refused_in_one_sentence(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    cut = data.draw(st.integers(0, len(WHOLE)))
    end = data.draw(st.integers(cut, min(len(WHOLE), cut + 20)))
    broken = (WHOLE[:cut] + data.draw(TEXTS) + WHOLE[end:]).encode("utf-8", "surrogatepass")
    with suppress(BadReportError):
        shown(diagnose_snapshot(from_json(broken).snapshot))
    folder = tmp_path_factory.mktemp("reports")
    (folder / "one.json").write_bytes(broken)
    assert triage.triage_text(triage.tabulate_reports(read_all(folder)))


@pytest.mark.parametrize("number", [LONG, f"-{LONG}", f"1.{LONG}", f"1e{LONG}", "1e999"], ids=ascii)
def test_a_number_of_any_length_in_a_report_is_no_traceback(number: str, tmp_path: Path) -> None:
    for field in ("schema", "sm", "size", "seconds"):
        data = f'{{"schema": 1, "version": "1", "snapshot": {{"machine": {{"system": "linux"}}}}, "{field}": {number}}}'.encode()
        (tmp_path / f"{field}.json").write_bytes(data)
        with suppress(BadReportError):
            shown(from_json(data))
    with pytest.raises(BadReportError):
        from_json((tmp_path / "schema.json").read_bytes())
    table = triage.tabulate_reports(read_all(tmp_path))
    assert "schema.json" in [b.file for b in table.malformed]
    assert table.reports + len(table.malformed) == 4


@settings(max_examples=60, deadline=None)
@given(
    start=st.sampled_from(
        ("", "libcudnn.so.", "cudnn64_", "CUDNN_STATUS_", "error code ", "sm_", "torch ", "cuDNN version (", "Python ")
    ),
    text=TEXTS,
    end=st.sampled_from(("", ".dll", ") but found (8, 5, 0)", " error", "\n")),
)
def test_no_pasted_text_fails(start: str, text: str, end: str) -> None:
    for snapshot in (None, m.wheel_machine(), m.windows_machine()):
        made = explain(f"cudnn {start}{text}{end}", snapshot)
        assert made.failed == ()
        assert render_text(made)


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_the_record_of_a_named_archive(text: str, tmp_path: Path) -> None:
    from core.fixes import cudnn_set as place
    from core.fixes.archives import Member

    record = tmp_path / "x.dist-info/RECORD"
    record.parent.mkdir()
    digest = "sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
    record.write_bytes(f"a.so,{digest},{text}\nb.so,{digest},12\n".encode())
    rows = place._read_record((Member(name="x.dist-info/RECORD", path=str(record), size=100),))
    assert rows["b.so"] == RecordRow(sha256=rows["b.so"].sha256, size=12)
    assert all(row.size is None or row.size < 10**18 for row in rows.values())


# --- files that never end, or never begin -----------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform == "win32", reason="Windows' folders hold no pipes")
def test_a_pipe_in_place_of_any_file_is_not_waited_for(tmp_path: Path) -> None:
    plant(tmp_path, FILES, "12")
    for path in FILES:
        file = tmp_path / path.replace("{}", "12").lstrip("/")
        if file.is_file() and file.name != "pyvenv.cfg":
            file.unlink()
            os.mkfifo(file)
    report = scanned(tmp_path, {"HOME": "/home/ada", "VIRTUAL_ENV": "/home/ada/env", "CONDA_PREFIX": CONDA})
    assert not report.snapshot.errors
    assert not report.snapshot.unexamined
    shown(report)
    (tmp_path / "home/ada/env/pyvenv.cfg").unlink()
    os.mkfifo(tmp_path / "home/ada/env/pyvenv.cfg")
    assert not scanned(tmp_path, {"HOME": "/home/ada", "VIRTUAL_ENV": "/home/ada/env"}).snapshot.unexamined
