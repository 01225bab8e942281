"""Rules about compiled modules that do not load, as tables: the cause by what the loader said, and one card for one fault."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from core.model.facts import Distribution, EndedImport, Environment, ImportSearch, Snapshot, Variable
from core.model.facts.closure import Edge
from core.model.findings import Finding
from core.model.remedies import PutPackageBack
from core.rules.frameworks.unfit_extensions import _fault, unfit_extensions
from core.rules.root_cause import diagnose
from tests.machines import PREFIX, SITE, python, wheel_machine, windows_machine

MODULE = f"{SITE}/cv2/cv2.abi3.so"
PACKAGES = (
    Distribution(name="torch", version="2.6.0"),
    Distribution(name="opencv-python", version="4.12.0"),
    Distribution(name="scipy", version="1.16.0"),
)


def unfit(edge: Edge | None, **fields: Any) -> EndedImport:
    known: dict[str, Any] = {
        "starts": (), "importer": f"{SITE}/cv2/__init__.py", "line": 3, "wanted": "cv2.cv2", "kind": "unfit", "path": MODULE,
        "owner": "opencv-python 4.12.0", "edge": edge,
    }  # fmt: skip
    return EndedImport(**(known | fields))


def lacking(name: str, state: Any = "absent", by: str = MODULE, **fields: Any) -> Edge:
    return Edge(name=name, wanted_by=by, state=state, **fields)


def machine(*ended: EndedImport) -> Snapshot:
    search = ImportSearch(prefix=PREFIX, python="3.11", ended=ended)
    its = python(distributions=PACKAGES, ways=("--python",))
    return replace(wheel_machine(), imports=(search,), pythons=(its,))


def cards(*ended: EndedImport) -> list[Finding]:
    return list(unfit_extensions(machine(*ended)))


RUNTIME = "/usr/lib/libstdc++.so.6"


WORDS: list[tuple[EndedImport, str, str]] = [
    (unfit(lacking("libGL.so.1")), "system_library_missing", "libgl1"),
    (unfit(lacking("libGL.so.1")), "system_library_missing", "opencv-python-headless==4.12.0"),
    (unfit(lacking("libodd.so.3")), "system_library_missing", "apt-file search libodd.so.3"),
    (unfit(lacking("libav.so.1"), recorded=True), "corrupt_or_truncated_file", "opencv-python==4.12.0"),
    (unfit(lacking(MODULE, "damaged", path=MODULE, detail="is not complete")), "corrupt_or_truncated_file", "opencv-python==4.12.0"),
    (unfit(lacking(MODULE, "wrong architecture", path=MODULE)), "dll_wrong_architecture", "opencv-python==4.12.0"),
    (unfit(lacking(MODULE, "unreadable", path=MODULE)), "library_unreadable", f"a+r {MODULE}"),
    (unfit(lacking(MODULE, "not executable", path=MODULE)), "noexec_mount", ""),
    (unfit(lacking(MODULE, "executable stack", path=MODULE)), "upstream_packaging_bug", ""),
    (unfit(lacking("libc.musl-x86_64.so.1")), "package_for_another_python", "opencv-python==4.12.0"),
    (unfit(lacking("libstdc++.so.6", "damaged", path=RUNTIME, detail="CXXABI_1.3.8")), "cxx_runtime_too_old", "older systems"),
    (unfit(lacking("libffi.so.6"), owner="", wanted="_ctypes"), "python_environment_broken", "libffi-dev"),
    (unfit(None, owner="", wanted="_lzma", kind="absent", path=""), "python_environment_broken", "liblzma-dev"),
]  # fmt: skip


@pytest.mark.parametrize(("ended", "cause", "advice"), WORDS)
def test_the_loader_s_word_decides_cause_and_cure(ended: EndedImport, cause: str, advice: str) -> None:
    (card,) = cards(ended)
    assert card.cause == cause
    assert card.fix is not None
    assert advice in f"{card.fix.title}\n{card.fix.advice}"


W_PREFIX = "C:\\ml"
W_SITE = W_PREFIX + "\\Lib\\site-packages"
W_MODULE = W_SITE + "\\cv2\\cv2.pyd"
W_PYTHON = "C:\\Python311\\"


def windows(edge: Edge, **fields: Any) -> Snapshot:
    """Return a Windows machine with a module that does not load."""
    one = unfit(edge, **{"path": W_MODULE, "importer": f"{W_SITE}\\cv2\\__init__.py"} | fields)
    search = ImportSearch(prefix=W_PREFIX, python="3.11", ended=(one,))
    its = python(
        prefix=W_PREFIX,
        executable=f"{W_PREFIX}\\python.exe",
        site_packages=(W_SITE,),
        distributions=PACKAGES,
        ways=("--python",),
    )
    return replace(windows_machine(), imports=(search,), pythons=(its,))


def dll(name: str, state: Any = "absent", path: str = "", **fields: Any) -> Edge:
    return lacking(name, state, by=W_MODULE, path=path, **fields)


WINDOWS: list[tuple[Edge, dict[str, Any], str, str]] = [
    (dll("MSVCP140.dll"), {}, "vc_runtime_missing", "vc_redist.x64.exe"),
    (dll("VCRUNTIME140_1.dll"), {}, "vc_runtime_missing", "vc_redist.x64.exe"),
    (dll("MSVCP120.dll"), {}, "vc_runtime_missing", "Visual C++ 2013"),
    (dll("MSVCP140D.dll"), {}, "package_for_another_python", "opencv-python==4.12.0"),
    (dll("python310.dll"), {}, "package_for_another_python", "opencv-python==4.12.0"),
    (dll("python3.dll"), {}, "python_environment_broken", "Repair"),
    (dll("MFPlat.DLL"), {}, "system_library_missing", "Media Feature Pack"),
    (dll("libomp140.x86_64.dll"), {}, "system_library_missing", "Build Tools"),
    (dll("odd.dll"), {}, "system_library_missing", "the website of opencv-python 4.12.0 says"),
    (dll("own.dll"), {"recorded": True}, "corrupt_or_truncated_file", "opencv-python==4.12.0"),
    (dll(W_MODULE, "damaged", W_MODULE), {}, "corrupt_or_truncated_file", "opencv-python==4.12.0"),
    (dll(W_MODULE, "wrong architecture", W_MODULE), {}, "dll_wrong_architecture", "opencv-python==4.12.0"),
    (dll(W_MODULE, "unreadable", W_MODULE), {}, "library_unreadable", "icacls"),
    (dll("msvcp140.dll", "damaged", W_PYTHON + "msvcp140.dll", lacks="_Mtx_new"), {}, "vc_runtime_missing", f"Move {W_PYTHON}msvcp140.dll"),
    (dll("msvcp140.dll", "damaged", "C:\\Windows\\System32\\msvcp140.dll", lacks="_Mtx_new"), {}, "vc_runtime_missing", "vc_redist.x64.exe"),
    (dll("zlib1.dll", "damaged", W_PYTHON + "zlib1.dll", lacks="inflate9"), {}, "extension_abi_mismatch", f"Move {W_PYTHON}zlib1.dll"),
    (dll("own.dll", "damaged", W_SITE + "\\cv2\\own.dll", lacks="f"), {"recorded": True}, "corrupt_or_truncated_file", "opencv-python==4.12.0"),
    (dll("zlib1.dll", "damaged", W_PYTHON + "zlib1.dll"), {}, "corrupt_or_truncated_file", f"Move {W_PYTHON}zlib1.dll"),
    (dll("zlib1.dll", "wrong architecture", W_PYTHON + "zlib1.dll"), {}, "dll_wrong_architecture", f"Move {W_PYTHON}zlib1.dll"),
    (dll("libcrypto-3.dll"), {"owner": "", "wanted": "_ssl"}, "python_environment_broken", "Repair"),
]  # fmt: skip


OPEN = lacking("libcrypto.so.3", "damaged", path="/opt/matlab/bin/libcrypto.so.3", lacks="OPENSSL_3.3.0")


@pytest.mark.parametrize(
    ("value", "cause"),
    [("/opt/matlab/bin", "ld_library_path_override"), ("/opt/other", "python_environment_broken")],
)
def test_what_python_needs_is_found_first_of_another_release(value: str, cause: str) -> None:
    seen = machine(unfit(OPEN, owner="", wanted="_ssl"))
    said = Variable(name="LD_LIBRARY_PATH", value=value, source="~/.bashrc")
    (card,) = unfit_extensions(replace(seen, environment=Environment(variables=(said,))))
    assert card.cause == cause
    assert card.fix is not None
    assert ("LD_LIBRARY_PATH" in card.fix.title) == (value == "/opt/matlab/bin")


@pytest.mark.parametrize(("edge", "fields", "cause", "advice"), WINDOWS)
def test_windows_words_decide_cause_and_cure(edge: Edge, fields: dict[str, Any], cause: str, advice: str) -> None:
    (card,) = unfit_extensions(windows(edge, **fields))
    assert card.cause == cause
    assert card.fix is not None
    told = f"{card.fix.title}\n{card.fix.advice}"
    assert advice in told
    assert not any(word in told for word in ("sudo", "chmod", "apt-"))


def test_only_what_the_package_brought_is_put_back_by_a_button() -> None:
    (broken,) = cards(unfit(lacking("libav.so.1"), recorded=True))
    assert broken.remedy == PutPackageBack(prefix=PREFIX, package="opencv-python", version="4.12.0")
    (missing,) = cards(unfit(lacking("libGL.so.1")))
    assert missing.remedy is None


def test_what_cannot_be_imported_is_an_error_and_what_a_part_of_a_package_lacks_a_warning() -> None:
    (stopped,) = cards(unfit(lacking("libGL.so.1"), starts=("torch",)))
    (indispensable,) = cards(unfit(lacking("libGL.so.1")))
    (package,) = cards(unfit(lacking("libgomp.so.1"), starts=("scipy",), **SCIPY))
    (part,) = cards(unfit(lacking("libgomp.so.1"), **SCIPY))
    assert [c.severity.name for c in (stopped, indispensable, package, part)] == ["ERROR", "ERROR", "ERROR", "WARNING"]
    assert "torch" in stopped.title


def test_a_module_of_python_concerns_what_comes_to_it() -> None:
    (card,) = cards(unfit(lacking("libsqlite3.so.0"), owner="", wanted="_sqlite3", starts=("diskcache",)))
    assert len(card.consumers) == 1
    assert "diskcache" in card.consumers[0]
    (alone,) = cards(unfit(lacking("libffi.so.6"), owner="", wanted="_ctypes"))
    assert "diskcache" not in alone.consumers[0]


VOICE: dict[str, Any] = {
    "owner": "phonemizer 3.3.0", "wanted": "phonemizer.backend.espeak.wrapper", "path": f"{SITE}/phonemizer/backend/espeak/wrapper.py",
    "starts": ("phonemizer.backend.espeak.wrapper",), "importer": "", "line": 0,
}  # fmt: skip


def test_a_library_that_is_opened_at_use_is_a_warning_that_says_so() -> None:
    silent = unfit(lacking("libespeak-ng.so.1"), **VOICE)
    (card,) = cards(silent)
    assert (card.severity.name, card.cause) == ("WARNING", "system_library_missing")
    assert "cannot be imported" not in card.title
    assert card.fix is not None
    assert "espeak-ng" in card.fix.advice
    (lead,) = [f for f in diagnose(machine(silent)) if f.headline]
    assert lead.id == card.id


SCIPY = {"owner": "scipy 1.16.0", "wanted": "scipy._lib", "path": f"{SITE}/scipy/_lib.so"}


@pytest.mark.parametrize(
    ("first", "second", "count"),
    [
        (unfit(lacking("libgomp.so.1")), unfit(lacking("libgomp.so.1"), **SCIPY), 1),
        (unfit(lacking("libstdc++.so.6", "damaged", path=RUNTIME, detail="CXXABI_1.3.8")),
         unfit(lacking("libstdc++.so.6", "damaged", path=RUNTIME, detail="CXXABI_1.3.9"), **SCIPY), 1),
        (unfit(lacking("libgomp.so.1")), unfit(lacking("libGL.so.1"), **SCIPY), 2),
        (unfit(lacking("libopenblas.so"), recorded=True), unfit(lacking("libopenblas.so"), recorded=True, **SCIPY), 2),
        (unfit(lacking("libgomp.so.1")), unfit(lacking("libgomp.so.1"), wanted="cv2.gapi", starts=("torch",)), 1),
    ],
)  # fmt: skip
def test_one_library_that_several_meet_is_one_card(first: EndedImport, second: EndedImport, count: int) -> None:
    found = cards(first, second)
    assert len(found) == count
    told = " ".join(who for card in found for who in card.consumers)
    owners = {e.owner.partition(" ")[0] for e in (first, second)}
    assert all(name in told for name in owners)
    assert all(e.path in card.all_subjects for card in found[:count] for e in (first, second) if count == 1)


@pytest.mark.parametrize(
    ("edge", "severity"),
    [
        (lacking(MODULE, "wrong architecture", path=MODULE), "ERROR"),
        (lacking("libodd.so.3"), "WARNING"),
    ],
)
def test_a_module_that_no_import_was_seen_to_reach_is_at_fault_only_where_its_own_file_is(
    edge: Edge, severity: str
) -> None:
    (found,) = cards(unfit(edge, wanted="cv2.gapi", importer=""))
    assert found.severity.name == severity
    assert ("has a module that does not load" in found.title) == (severity == "ERROR")


def test_packages_for_another_c_library_are_a_fault_each() -> None:
    musl = lacking("libc.musl-x86_64.so.1")
    assert _fault(unfit(musl)) == ("opencv-python 4.12.0", "")
    assert _fault(unfit(lacking("libGL.so.1"))) == ("", "libGL.so.1")


@pytest.mark.parametrize(
    ("module", "idle", "severity"),
    [("sounddevice", ("sounddevice",), "NOTE"), ("sounddevice", (), "ERROR"), ("scipy", ("scipy",), "ERROR")],
    ids=["nobody comes to it", "a program may", "its own compiled module"],
)
def test_a_library_that_code_opens_is_a_note_where_no_program_comes_to_it(
    module: str, idle: tuple[str, ...], severity: str
) -> None:
    its = unfit(lacking("libportaudio.so.2"), starts=(module,), wanted=module, owner=f"{module} 0.5", importer="")
    seen = machine(its)
    (found,) = unfit_extensions(replace(seen, imports=(replace((seen.imports or ())[0], idle=idle),)))
    assert found.severity.name == severity
