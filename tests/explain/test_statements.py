"""Five messages, each without a machine, on one in order and on one with the fault: what is said, in which order."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from core.common import i18n
from core.common.progress import Progress
from core.explain import explain, render_text
from core.explain.mechanism.complaints import CAUSED_COMPLAINTS, COMPLAINTS
from core.knowledge.causes import cause_ranks, cause_rows
from core.knowledge.messages import known_messages
from core.model.facts import Gpu, Snapshot
from core.report.help_pages import cure_text
from tests import machines as m
from tests.explain import cases

CNN = "Could not load library cudnn_cnn_infer64_8.dll. Error code 126"
OPS = "Could not load library cudnn_ops_infer64_8.dll. Error code 126"
PAIR = "cuDNN version incompatibility: PyTorch was compiled against (8, 9, 2) but found runtime version (8, 5, 0)"
ARCH = "cuDNN error: CUDNN_STATUS_ARCH_MISMATCH on a GPU of compute capability 3.0"
LOADED = "Loaded /usr/lib/x86_64-linux-gnu/libcudnn.so.7\nCould not create cudnn handle: CUDNN_STATUS_NOT_INITIALIZED"
KEPLER = Gpu(
    index=0, name="NVIDIA GeForce GTX 670", compute_capability="3.0", memory_total=2 << 30, memory_free=1 << 30
)

SAYS = {
    CNN: "Windows did not load cudnn_cnn_infer64_8.dll. Error 126 means that the file itself, or a "
    "library that it depends on, was not found.",
    OPS: "Windows did not load cudnn_ops_infer64_8.dll. Error 126 means that the file itself, or a "
    "library that it depends on, was not found.",
    PAIR: "The program was built with cuDNN 8.9.2 and found cuDNN 8.5.0 at runtime: an older one than it needs.",
    ARCH: "This cuDNN has no code for this GPU.",
    LOADED: "cuDNN could not create its handle. libcudnn.so.7 was found and opened before that: it is not missing.",
}
NAMES = {
    CNN: {"cudnn_cnn_infer64_8.dll", "ERROR_MOD_NOT_FOUND (126)", "Windows"},
    OPS: {"cudnn_ops_infer64_8.dll", "ERROR_MOD_NOT_FOUND (126)", "Windows"},
    PAIR: {"cuDNN 8.9.2", "cuDNN 8.5.0", "PyTorch"},
    ARCH: {"CUDNN_STATUS_ARCH_MISMATCH (6)", "compute capability 3.0"},
    LOADED: {"libcudnn.so.7", "CUDNN_STATUS_NOT_INITIALIZED (1)", "Linux"},
}


def older_runtime() -> Snapshot:
    """LD_LIBRARY_PATH names cuDNN 8.5 before the 8.9.2 that PyTorch brings."""
    base, own = m.wheel_machine(), m.cudnn(version="8.9.2")
    other = m.cudnn("/opt/cudnn/lib", "8.5.0", origin="folder", environment="", owner="")
    made = m.load(other, m.PYTHON, how=m.How.LD_LIBRARY_PATH)
    name = m.file_name("", 8)
    via = "LD_LIBRARY_PATH: /opt/cudnn/lib"
    first = m.found(f"{other.folder}/{name}", m.How.LD_LIBRARY_PATH, via)
    seen = replace(
        base, cudnn=(own, other), loads=(replace(made, wanted_version="8.9.2", wanted_source="torch 2.1.0"),)
    )
    return m.with_variable(
        m.with_search(seen, name, first, m.found(f"{m.CUDNN}/{name}")), "LD_LIBRARY_PATH", "/opt/cudnn/lib"
    )


def kepler() -> Snapshot:
    """A GPU that this cuDNN has dropped."""
    return m.with_copy(m.with_driver(m.wheel_machine(), gpus=(KEPLER,)), ptx=(90,))


def full_with_cudnn_7() -> Snapshot:
    """No GPU memory is left; cuDNN 7 is there."""
    seven = replace(m.system_copy("7.6.5"), major=7, files=())
    full = cases.CASES["GPU memory is used up"].machine()
    return replace(full, cudnn=(*(full.cudnn or ()), seven))


def whole_cudnn8() -> Snapshot:
    """A cuDNN 8 with zlib inside, all of whose parts answer."""
    seen = cases.cudnn8("8.9.7")
    assert seen.cudnn
    assert seen.loads
    return replace(seen, loads=(replace(seen.loads[0], roll_call=m.answers(seen.cudnn[0], "windows")),))


Make = Callable[[], Snapshot]
HERE: dict[str, tuple[tuple[Make, str], tuple[Make, str, str]]] = {
    # in order, and its link; with the fault, its link and the cause
    CNN: ((whole_cudnn8, "contrary"), (cases.cudnn8, "proved", "zlibwapi_missing")),
    OPS: (
        (whole_cudnn8, "contrary"),
        (lambda: m.without_file(cases.cudnn8("8.9.7"), "ops_infer"), "proved", "cudnn_sublibrary_missing"),
    ),
    PAIR: ((m.wheel_machine, "contrary"), (older_runtime, "proved", "ld_library_path_override")),
    ARCH: ((m.wheel_machine, "nothing found"), (kepler, "proved", "gpu_arch_too_old")),
    LOADED: ((m.wheel_machine, "nothing found"), (full_with_cudnn_7, "possible", "gpu_memory_exhausted")),
}


def last_part(shown: str) -> str:
    """Return what stands below the last heading."""
    return shown.rpartition("\n\n")[2]


@pytest.mark.parametrize("text", SAYS)
def test_without_a_machine_the_message_speaks_first_and_the_steps_last(text: str) -> None:
    told = explain(text)
    shown = render_text(told, width=10_000)
    assert told.says.meaning.startswith(SAYS[text])
    assert {n.name for n in told.says.names} >= NAMES[text]
    assert (told.link, told.shows) == ("", ())
    assert shown.startswith(f"What the message says\n  {SAYS[text]}")
    assert last_part(shown).startswith(("What to do\n  If this is the cause: ", "What to do\n  One question decides: "))
    assert "If this is the cause: " in last_part(shown)
    assert told.causes[0].steps


@pytest.mark.parametrize("text", SAYS)
def test_on_a_machine_in_order_nothing_is_proved(text: str) -> None:
    make, link = HERE[text][0]
    told = explain(text, make())
    shown = render_text(told, width=10_000)
    assert told.link == link
    assert {r.verdict for r in told.causes} <= {"open", "refuted"}
    assert shown.startswith(f"What the message says\n  {SAYS[text]}")
    assert "Proved" not in shown
    assert "\n\nWhat to do\n" in shown
    assert last_part(shown).startswith(
        "What to do\n  If the text comes from another machine: "
        if link == "contrary"
        else "What to do\n  If this is the cause: "
    )


def test_the_question_asks_for_the_files_of_the_set_that_the_message_names() -> None:
    for text in (CNN, OPS):
        assert r"where /R C:\ cudnn*64_8.dll" in explain(text).question


@pytest.mark.parametrize("text", SAYS)
def test_on_a_machine_with_the_fault_it_comes_first_with_its_fix_at_the_end(text: str) -> None:
    make, link, cause = HERE[text][1]
    told = explain(text, make())
    shown = render_text(told, width=10_000)
    first = told.causes[0]
    assert (told.link, first.cause) == (link, cause)
    assert shown.startswith(f"What the message says\n  {SAYS[text]}")
    assert "\nWhat this machine shows\n" in shown
    assert first.finding is not None
    assert first.finding.fix is not None
    assert last_part(shown).startswith(f"What to do\n  {first.finding.fix.title}")


def test_what_speaks_against_the_machine_is_said() -> None:
    assert "compute capability 3.0" in explain(ARCH, m.wheel_machine()).sentence
    assert "cuDNN 7, which is not on this machine" in explain(LOADED, m.wheel_machine()).sentence
    other = explain("CUDA out of memory on a GeForce RTX 5090", cases.CASES["GPU memory is used up"].machine())
    assert (other.link, other.shows[0].link) == ("not linked", "contradicted")
    assert "RTX5090" in other.sentence


@pytest.mark.parametrize(
    "text",
    [
        'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].',
        "nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot open shared object file",
    ],
)
def test_a_container_engines_message_on_the_host_is_no_proof(text: str) -> None:
    for make in (cases.CASES["LD_LIBRARY_PATH of a cluster"].machine, cases.CASES["GPU memory is used up"].machine):
        assert explain(text, make()).link in ("contrary", "not linked")


def test_the_cure_is_the_one_that_the_report_offers() -> None:
    from core.doctor.examine import diagnose_snapshot, explain_text

    case = cases.CASES["LD_LIBRARY_PATH of a cluster"]
    seen = case.machine()
    told, _seen = explain_text(case.text, seen, None, Progress())
    assert told.causes[0].finding == next(f for f in diagnose_snapshot(seen).findings if f.primary)


def test_the_tables_name_causes_and_marks_that_there_are() -> None:
    of_reading = ("missing:", "win:", "nt:", "gpu:", "pair", "opened:", "lib:", "named:", "xid-")
    ids = {x.id for x in known_messages()}
    assert set(CAUSED_COMPLAINTS) <= set(cause_ranks())
    assert {name for makes in CAUSED_COMPLAINTS.values() for name in makes} == set(COMPLAINTS)
    assert [
        mark for c in COMPLAINTS.values() for mark in c.marks if mark not in ids and not mark.startswith(of_reading)
    ] == []


@pytest.mark.parametrize("cause", [row.cause for row in cause_rows()])
def test_every_cause_has_steps(cause: str) -> None:
    assert cure_text(cause)


def test_no_reason_is_told_twice_and_a_status_has_the_number_of_the_cudnn_that_is_named() -> None:
    told = render_text(explain("Could not load library cudnn_ops_infer64_8.dll. Error code 126"), width=400)
    reasons = [line for line in told.split("\n") if line.startswith("        - ")]
    assert reasons
    assert len(set(reasons)) == len(reasons)
    for names, number in (("libcudnn.so.7", "1"), ("libcudnn.so.9", "1001"), ("", "1, since cuDNN 9 1001")):
        text = f"Successfully opened dynamic library {names}\nCUDNN_STATUS_NOT_INITIALIZED"
        assert [c.number for c in explain(text).codes if c.term == "CUDNN_STATUS_NOT_INITIALIZED"] == [number]


def test_one_message_has_one_meaning_the_most_exact_one() -> None:
    text = "cuDNN version incompatibility: PyTorch was compiled against (8, 9, 2) but found runtime version (8, 5, 0)"
    terms = [c.term for c in explain(text).codes]
    assert len(set(terms)) == len(terms)


@pytest.mark.parametrize("language", ["de", "zh_CN"])
def test_what_a_text_names_is_the_same_in_every_language(language: str) -> None:
    text = "OSError: [WinError 126] cudnn_ops64_9.dll, CUDNN_STATUS_NOT_INITIALIZED, cudaErrorNoDevice"
    english = [(n.kind, n.name) for n in explain(text).says.names if n.kind == "status"]
    i18n.use_language(language)
    try:
        assert [n.kind for n in explain(text).says.names if n.kind == "status"] == [k for k, _name in english]
    finally:
        i18n.use_language("en")
    assert english
