"""A message about a compiled extension is proved by the functions that the installed framework does not have."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from core.doctor.examine import diagnose_snapshot
from core.explain import explain
from core.model.facts import Closure, Edge, FrameworkTrial, Gap, ImportFailure, PackageTrial, Snapshot
from tests import machines as m
from tests.rules.test_libraries import PYTHON, SITE

SYMBOL = "_ZN3c105ErrorC2ENS_14SourceLocationE"
FLASH = f"{SITE}/flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so"
VISION = f"{SITE}/torchvision/_C.so"
TORCH = f"{SITE}/torch/lib/libc10.so"


def extension(name: str, file: str, *gaps: Gap, edges: tuple[Edge, ...] = ()) -> Snapshot:
    """Return a machine with this extension, as its symbols were read."""
    read = Closure(consumer=PYTHON.consumer(name), binaries=(file,), files=(file, TORCH), gaps=gaps, edges=edges)
    return replace(m.wheel_machine(), closures=(read,))


def tried(text: str) -> Snapshot:
    """Return a machine on which an import really failed."""
    failed = PackageTrial(
        distribution="own-ops", state="failed", failures=(ImportFailure(kind="ImportError", text=text),)
    )
    return replace(m.wheel_machine(), trials=(FrameworkTrial(prefix=m.PREFIX, framework="torch", packages=(failed,)),))


FLASH_LACKS = extension("flash-attn 2.7.4", FLASH, Gap(wanted_by=FLASH, name=SYMBOL, provider=TORCH))
BY_PATH = extension(
    "flash-attn 2.7.4", FLASH, Gap(wanted_by=FLASH, name=SYMBOL, provider="/opt/libc10.so", how="LD_LIBRARY_PATH")
)
VISION_LACKS = extension("torchvision 0.21.0", VISION, Gap(wanted_by=VISION, name="_ZN5torch3fooEv"))
LACKS_LIBRARY = extension(
    "torchvision 0.21.0", VISION, edges=(Edge(name="libc10_cuda.so", wanted_by=VISION, state="absent"),)
)
SAYS = f"ImportError: {FLASH}: undefined symbol: {SYMBOL}"

TABLE: dict[str, tuple[str, Snapshot, str]] = {
    "the function that it lacks": (SAYS, FLASH_LACKS, "proved"),
    "another function of it": (SAYS.replace("Error", "Warning"), FLASH_LACKS, "open"),
    "the same function of another extension": (SAYS, VISION_LACKS, "open"),
    "a function without a file": (f"undefined symbol: {SYMBOL}", FLASH_LACKS, "proved"),
    "a variable leads to another framework": (SAYS, BY_PATH, "open"),
    "all is there": (SAYS, extension("flash-attn 2.7.4", FLASH), "refuted"),
    "for another Python": (SAYS.replace("311", "39"), FLASH_LACKS, "open"),
    "it is not installed here": (SAYS, m.wheel_machine(), "open"),
    "Windows' words": ("ImportError: DLL load failed while importing flash_attn_2_cuda: The specified procedure could not be found.", FLASH_LACKS, "proved"),
    "Windows' words of one of many _C": ("ImportError: DLL load failed while importing _C: The specified module could not be found.", VISION_LACKS, "open"),
    "Windows' words with its package": ("File torchvision\\extension.py\nImportError: DLL load failed while importing _C: The specified procedure could not be found.", VISION_LACKS, "proved"),
    "a library of the framework": ("ImportError: libc10_cuda.so: cannot open shared object file: No such file or directory", LACKS_LIBRARY, "proved"),
    "another library of the framework": ("ImportError: libtorch_cuda_cu.so: cannot open shared object file: No such file or directory", LACKS_LIBRARY, "open"),
    "a real import": (f"ImportError: own_ops/_C.so: undefined symbol: {SYMBOL}", tried(f"own_ops/_C.so: undefined symbol: {SYMBOL}"), "proved"),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
def test_a_message_beside_what_was_read(name: str) -> None:
    text, machine, verdict = TABLE[name]
    told = {r.cause: r for r in explain(text, machine).causes}["extension_abi_mismatch"]
    assert told.verdict == verdict
    assert bool(told.evidence) is (verdict != "open")


def test_the_finding_itself_proves_it() -> None:
    found = diagnose_snapshot(FLASH_LACKS).findings
    told = explain(SAYS, FLASH_LACKS, found)
    assert (told.link, told.causes[0].cause) == ("proved", "extension_abi_mismatch")
    assert told.causes[0].finding
    assert told.causes[0].finding.id == "frameworks.libraries-flash-attn"


def test_one_that_fits_refutes_nothing_of_another_text() -> None:
    whole = extension("torchvision 0.21.0", VISION)
    assert explain(SAYS, whole).link != "contrary"
