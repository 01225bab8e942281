"""Rules about imports that really failed, as a table: what was seen in the process, the cause, what the title names, the cure."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
from msgspec.structs import replace

from core.model.facts import (
    Distribution,
    FoundModule,
    FrameworkTrial,
    ImportFailure,
    ImportSearch,
    PackageTrial,
    Snapshot,
    System,
)
from core.model.findings import Finding
from core.model.remedies import GiveOtherName, InstallPackages, PutPackageBack, Unset
from core.model.steps import Severity
from core.rules.frameworks.environment_view import environment_views
from core.rules.frameworks.trials import trial_results
from core.rules.frameworks.tried_imports import _unreadable_file, failed_packages
from core.rules.root_cause import diagnose
from tests.machines import PREFIX, SITE, no_gpu_machine, python, wheel_machine

DIFFUSERS = f"{SITE}/diffusers/loaders.py"
OWN = "/home/ada/work/tokenize.py"


def failure(**fields: Any) -> ImportFailure:
    known = {"kind": "ImportError", "text": "ImportError: x", "file": DIFFUSERS, "line": 7, "asker": "diffusers 0.25.1"}
    return ImportFailure(**(known | fields))


def package(*failures: ImportFailure, name: str = "diffusers", **fields: Any) -> PackageTrial:
    known: dict[str, Any] = {"distribution": name, "version": "0.25.1", "state": "failed", "problem": failures[0].text}
    return PackageTrial(**(known | {"failures": failures} | fields))


def seen(*packages: PackageTrial, base: Snapshot | None = None, **trial: Any) -> Snapshot:
    known: dict[str, Any] = {"reached": "convolution", "gpu": True, "right": True}
    tried = FrameworkTrial(prefix=PREFIX, framework="torch", version="2.6.0", packages=packages, **(known | trial))
    its = python(
        distributions=(
            Distribution(name="torch", version="2.6.0", requires=("numpy>=1.21", "triton==3.2.0")),
            Distribution(name="diffusers", version="0.25.1", pins=("huggingface-hub>=0.20,<0.26",)),
            Distribution(name="huggingface-hub", version="0.34.4"),
            Distribution(name="triton", version="3.2.0"),
            Distribution(name="numpy", version="2.2.6"),
        )
    )
    return replace(base or wheel_machine(), pythons=(its,), trials=(tried,))


def card(machine: Snapshot) -> Finding:
    (found,) = failed_packages(machine)
    return found


def test_a_file_that_programs_beside_it_mean_is_not_renamed() -> None:
    told = failure(text="module 'tokenize' has no attribute 'open'", module="tokenize", found=OWN, outside=True, standard=True)  # fmt: skip
    own = FoundModule(name="tokenize", kind="module", path=OWN, meant_by=("/home/ada/train.py:3",))
    machine = seen(package(told))
    assert isinstance(card(machine).remedy, GiveOtherName)
    found = card(replace(machine, imports=(ImportSearch(prefix=PREFIX, modules=(own,)),)))
    assert found.fix
    assert found.remedy is None
    assert "/home/ada/train.py:3 means this tokenize" in found.fix.advice


CAUSES: list[tuple[dict[str, Any], str, str, type | None]] = [
    ({"text": "ImportError: cannot import name 'cached_download' from 'huggingface_hub' (x)", "module": "huggingface_hub", "name": "cached_download",
      "owner": "huggingface-hub 0.34.4"}, "requirement_broken", "huggingface_hub has no cached_download", None),
    ({"kind": "AttributeError", "text": "module 'numpy' has no attribute 'bool'", "module": "numpy", "name": "bool", "owner": "numpy 2.2.6"},
     "requirement_broken", "numpy has no bool", None),
    ({"text": "No module named 'x.y'", "module": "x.y", "absent": True, "owner": "x 1.0"}, "requirement_broken", "no module x.y", None),
    ({"text": "No module named 'x.y'", "module": "x.y", "absent": True, "owner": "x 1.0", "recorded": True}, "corrupt_or_truncated_file", "no module x.y",
     PutPackageBack),
    ({"text": "No module named 'x.y'", "module": "x.y", "absent": True, "owner": "x 1.0", "asker": "x 1.0"}, "corrupt_or_truncated_file", "x.y",
     PutPackageBack),
    ({"text": "No module named 'sentencepiece'", "module": "sentencepiece", "absent": True}, "requirement_broken", "sentencepiece", None),
    ({"text": "No module named 'huggingface_hub'", "module": "huggingface_hub", "absent": True}, "requirement_broken", "huggingface_hub", InstallPackages),
    ({"text": "No module named '_lzma'", "module": "_lzma", "absent": True, "standard": True}, "python_environment_broken", "_lzma", None),
    ({"text": "cannot import name 'a' from 'x'", "module": "x", "name": "a", "owner": "x 1.0", "asker": "x 1.0"}, "installation_interrupted", "x has no a",
     PutPackageBack),
    ({"kind": "AttributeError", "text": "module 'tokenize' has no attribute 'open'", "module": "tokenize", "name": "open", "found": OWN, "outside": True,
      "standard": True}, "module_shadowed", OWN, GiveOtherName),
    ({"text": "cannot import name 'a' from 'x'", "module": "x", "name": "a", "found": "/home/ada/x/__init__.py", "outside": True, "hidden": f"{SITE}/x.py"},
     "module_shadowed", "/home/ada/x/__init__.py", GiveOtherName),
    ({"text": "cannot import name 'a' from 'x'", "module": "x", "name": "a", "found": "/home/ada/x/__init__.py", "outside": True, "owner": "x 1.0"},
     "requirement_broken", "x has no a", None),
    ({"text": "libgomp-a34b3233.so.1.0.0: cannot open shared object file: No such file or directory", "library": "libgomp-a34b3233.so.1.0.0",
      "owner": "scikit-learn 1.7.2", "recorded": True}, "corrupt_or_truncated_file", "libgomp-a34b3233.so.1.0.0", PutPackageBack),
    ({"kind": "OSError", "text": "cannot load library 'libsndfile.so': libsndfile.so: cannot open shared object file", "library": "libsndfile.so"},
     "system_library_missing", "libsndfile.so", None),
    ({"text": "libcublasLt.so.13: cannot open shared object file", "library": "libcublasLt.so.13"}, "cuda_runtime_missing", "libcublasLt.so.13", None),
    ({"text": "/s/_ops.so: undefined symbol: _ZN3c10E", "library": "/s/_ops.so", "path": "/s/_ops.so"}, "extension_abi_mismatch", "_ops.so", None),
    ({"text": "/lib/libc.so.6: version `GLIBC_2.99' not found (required by /s/_ops.so)", "path": "/s/_ops.so", "library": "libc.so.6"},
     "cxx_runtime_too_old", "GLIBC_2.99", None),
    ({"kind": "PermissionError", "text": "[Errno 13] Permission denied: '/s/keras/a.py'", "path": "/s/keras/a.py"}, "library_unreadable", "/s/keras/a.py", None),
    ({"kind": "SyntaxError", "text": "source code string cannot contain null bytes", "path": "/s/x/a.py", "owner": "x 1.0"}, "corrupt_or_truncated_file",
     "/s/x/a.py", PutPackageBack),
    ({"kind": "ValueError", "text": "could not convert string to float: '10GB'", "variable": "HF_SIZE", "value": "10GB"}, "variable_value_wrong",
     "HF_SIZE=10GB", Unset),
    ({"text": "tokenizers>=0.21,<0.22 is required for a normal functioning of this module, but found tokenizers==0.13.3."}, "requirement_broken",
     "tokenizers>=0.21,<0.22", None),
    ({"text": "huggingface-hub>=0.20,<0.26 is required for a normal functioning of this module, but found huggingface-hub==0.34.4."}, "requirement_broken",
     "huggingface-hub>=0.20,<0.26", InstallPackages),
    ({"kind": "AttributeError", "text": "`np.sctypes` was removed in the NumPy 2.0 release."}, "requirement_broken", "NumPy 1", InstallPackages),
    ({"text": "numpy.core.multiarray failed to import"}, "numpy_abi_mismatch", "NumPy 1", InstallPackages),
    ({"kind": "TypeError", "text": "f() got an unexpected keyword argument 'x'"}, "requirement_broken", "huggingface-hub", InstallPackages),
    ({"kind": "TypeError", "text": "f() got an unexpected keyword argument 'x'", "asker": "mine 1.0"}, "", "cannot be imported.", None),
    ({"text": "/s/_c.so: wrong ELF class: ELFCLASS32"}, "dll_wrong_architecture", "/s/_c.so", None),
    ({"text": "/s/_c.so: failed to map segment from shared object"}, "noexec_mount", "/s/_c.so", None),
    ({"kind": "SyntaxError", "text": "invalid syntax (a.py, line 3)", "path": f"{SITE}/x/a.py", "owner": "x 1.0"}, "package_for_another_python",
     f"{SITE}/x/a.py", None),
    ({"kind": "SyntaxError", "text": "invalid syntax (a.py, line 3)", "path": "/home/ada/x/a.py"}, "python_environment_broken", "/home/ada/x/a.py", None),
    ({"kind": "FileNotFoundError", "text": "[Errno 2] No such file or directory", "path": f"{SITE}/x/data.json", "owner": "x 1.0"},
     "corrupt_or_truncated_file", "data.json", None),
    ({"kind": "FileNotFoundError", "text": "[Errno 2] No such file or directory: 'ffmpeg'", "path": "ffmpeg", "code": "subprocess.Popen(command)"},
     "system_library_missing", "ffmpeg", None),
    ({"kind": "FileNotFoundError", "text": "[Errno 2] No such file or directory: '/srv/x'", "path": "/srv/x"}, "", "cannot be imported.", None),
    ({"kind": "AttributeError", "text": "module 'inspect' has no attribute 'getargspec'", "module": "inspect", "name": "getargspec", "standard": True},
     "package_for_another_python", "inspect.getargspec", None),
    ({"text": "No module named 'imp'", "module": "imp", "absent": True}, "package_for_another_python", "imp", None),
    ({"kind": "ValueError", "text": "ValueError: mutable default <class 'a.B'> for field b is not allowed: use default_factory",
      "file": "/usr/lib/python3.11/dataclasses.py"}, "package_for_another_python", "older Python", None),
    ({"kind": "SIGBUS", "text": "Fatal Python error: Bus error", "file": f"{SITE}/warp/context.py"}, "corrupt_or_truncated_file", "context.py", None),
]  # fmt: skip


@pytest.mark.parametrize(("system", "step"), [("linux", "unset HF_SIZE"), ("windows", "Start menu")])
def test_a_variable_is_removed_as_the_system_does_it(system: System, step: str) -> None:
    size = failure(kind="ValueError", text="could not convert string to float: '10GB'", variable="HF_SIZE")
    machine = seen(package(size))
    fix = card(replace(machine, machine=replace(machine.machine, system=system))).fix
    assert fix
    assert step in fix.advice


@pytest.mark.parametrize(("fields", "cause", "named", "remedy"), CAUSES)
def test_the_cause_what_the_title_names_and_the_cure(
    fields: dict[str, Any], cause: str, named: str, remedy: type | None
) -> None:
    found = card(seen(package(failure(**fields))))
    assert (found.cause, found.severity) == (cause, Severity.ERROR)
    assert named in found.title
    assert found.remedy is None if remedy is None else isinstance(found.remedy, remedy)
    assert found.fix is not None or found.cause in ("cuda_runtime_missing", "cxx_runtime_too_old")


@pytest.mark.parametrize("text", ["KeyError: 'DISPLAY'", "No module named 'x': Name or service not known"])
def test_what_only_a_display_or_a_network_would_mend_is_a_note(text: str) -> None:
    assert card(seen(package(failure(kind="RuntimeError", text=text, asker="mine 1.0")))).severity is Severity.NOTE


def test_a_text_that_no_rule_knows_is_shown_with_who_owns_the_line() -> None:
    found = card(seen(package(failure(kind="RuntimeError", text="RuntimeError: what", asker="mine 1.0"))))
    told = {e.label: (e.value, e.source) for e in found.evidence}
    assert (told["It said"][0], told["Requested by"]) == ("RuntimeError: what", ("mine 1.0", f"{DIFFUSERS}:7"))


def test_a_name_that_nothing_here_vouches_for_is_never_installed() -> None:
    """Anybody may publish a package under a module's name, and write any name into an error text."""
    guessed = failure(text="No module named 'sentencepiece'", module="sentencepiece", absent=True)
    fix = card(seen(package(guessed))).fix
    assert fix is not None
    assert "install sentencepiece" in fix.advice
    assert not fix.changes


@pytest.mark.parametrize(
    ("name", "argument"),
    [
        ("libx.so;touch y", '"libx.so;touch y"'),
        ("libx.so`touch y`", "'libx.so`touch y`'"),
        ("libx.so$(touch y)", "'libx.so$(touch y)'"),
    ],
)
def test_a_name_from_an_error_text_is_one_argument_of_a_command(name: str, argument: str) -> None:
    fix = card(seen(package(failure(kind="OSError", text=f"{name}: cannot open shared object file", library=name)))).fix
    assert fix is not None
    assert f"apt-file search {argument}" in fix.advice
    (line,) = [row for row in fix.advice.splitlines() if row.startswith("apt-file")]
    assert shlex.split(line) == ["apt-file", "search", name]


def test_what_began_it_first_counts() -> None:
    began = failure(kind="OSError", text="libhccl.so: cannot open shared object file", library="libhccl.so")
    outer = failure(kind="RuntimeError", text="RuntimeError: Failed to load the backend extension: torch_npu.")
    assert card(seen(package(began, outer))).cause == "system_library_missing"


def test_a_framework_that_fails_is_judged_in_the_same_way() -> None:
    lost = failure(
        text="No module named 'torch.nn'", module="torch.nn", absent=True, owner="torch 2.6.0", recorded=True
    )
    tried = seen(reached="nothing", gpu=None, right=None, problem=lost.text, failures=(lost,))
    (found,) = trial_results(tried)
    assert (found.cause, "torch.nn" in found.title) == ("corrupt_or_truncated_file", True)
    assert isinstance(found.remedy, PutPackageBack)


def test_what_fails_for_one_cause_is_one_finding() -> None:
    lacking = failure(
        text="cannot import name 'a' from 'transformers'", module="transformers", name="a", owner="transformers 4"
    )
    machine = seen(package(lacking), package(lacking, name="peft"))
    found = card(machine)
    assert "diffusers 0.25.1" in found.title
    assert "peft 0.25.1" in found.title


def test_what_a_part_of_another_package_lacks_and_never_asked_for_is_a_note() -> None:
    lacking = failure(text="No module named 'setuptools'", module="setuptools", absent=True, asker="triton 3.2.0")
    assert card(seen(package(lacking, name="triton"))).severity is Severity.NOTE
    assert card(seen(package(lacking))).severity is Severity.ERROR


def test_one_that_wants_a_gpu_is_at_fault_only_where_there_is_one() -> None:
    wants = failure(kind="RuntimeError", text="RuntimeError: Found no NVIDIA driver on your system")
    assert list(failed_packages(seen(package(wants), base=no_gpu_machine()))) == []
    assert card(seen(package(wants))).severity is Severity.ERROR


def test_what_ended_the_process_and_what_was_not_tried_are_told() -> None:
    killed = PackageTrial(distribution="diffusers", state="ended", ended="was killed by SIGSEGV")
    untried = PackageTrial(distribution="huggingface-hub")
    whole = PackageTrial(distribution="numpy", state="imported")
    machine = seen(killed, untried, whole)
    assert card(machine).severity is Severity.ERROR
    assert "SIGSEGV" in "".join(e.value for e in card(machine).evidence)
    (passed,) = trial_results(machine)
    rows = {e.label: e.value for e in passed.evidence}
    assert (rows["Imported after it"], rows["Not tried"]) == ("numpy", "huggingface-hub")


def test_it_leads_the_report() -> None:
    lost = failure(text="No module named 'x.y'", module="x.y", absent=True, owner="x 1.0", recorded=True)
    head = diagnose(seen(package(lost)))[0]
    assert (head.id, head.primary) == ("frameworks.trial-diffusers", True)


def test_what_lacks_nothing_but_a_gpu_is_no_fault_of_the_search_path() -> None:
    told = {"reached": "import", "gpu": None, "right": None, "problem": "cudaErrorInsufficientDriver: too old"}
    without = FrameworkTrial(prefix=PREFIX, framework="torch", **told)
    (found,) = trial_results(seen(base=no_gpu_machine(), clean=without, **told))
    assert found.cause == ""
    assert found.severity <= Severity.NOTE


@pytest.mark.parametrize(
    ("fields", "cause"),
    [
        ({"closed": True}, "library_unreadable"),
        ({"kind": "PermissionError"}, "library_unreadable"),
        ({"text": "[Errno 13] Permission denied: 'x'"}, "library_unreadable"),
        ({}, ""),
    ],
    ids=str,
)
def test_each_sign_of_a_file_that_may_not_be_read(fields: dict[str, Any], cause: str) -> None:
    (home,) = environment_views(seen())
    told = _unreadable_file(home, failure(path="/x/y.py", **fields))
    assert (told.cause if told else "") == cause
