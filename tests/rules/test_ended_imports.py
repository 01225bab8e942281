"""Rules about imports that end, as a table: what the import asked for and found, the cause, what stands as evidence, the cure."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from core.model.facts import (
    Distribution,
    EndedImport,
    FoundModule,
    FrameworkTrial,
    ImportSearch,
    OverwrittenPackage,
    Remains,
    SearchEntry,
    Snapshot,
)
from core.model.findings import Finding
from core.model.remedies import InstallPackages, PutPackageBack, TakeOutLine
from core.model.steps import Severity
from core.rules.frameworks.ended.cure import _other_byte_code
from core.rules.frameworks.ended.finding import _why_byte_code, ended_imports
from core.rules.frameworks.ended.queries import leads_outside
from core.rules.frameworks.environment_view import EnvironmentView, environment_views
from core.rules.frameworks.imports import packages_for_another_python, shadowed_modules
from tests.machines import PREFIX, SITE, python, wheel_machine, windows_machine

TORCH = f"{SITE}/torch/__init__.py"
NUMPY = f"{SITE}/numpy/__init__.py"
ENTRIES = (
    SearchEntry(path="/home/ada/work", origin="start"),
    SearchEntry(path="/opt/tools", origin="PYTHONPATH", source="PYTHONPATH"),
    SearchEntry(path="/home/ada/.local/lib/python3.11/site-packages", origin="user site"),
    SearchEntry(path=SITE, origin="site-packages"),
)


def seen(
    *ended: EndedImport,
    remains: tuple[Remains, ...] = (),
    modules: tuple[FoundModule, ...] = (),
    machine: Snapshot | None = None,
) -> Snapshot:
    search = ImportSearch(prefix=PREFIX, python="3.11", entries=ENTRIES, ended=ended, remains=remains, modules=modules)
    its = python(
        distributions=(
            Distribution(name="torch", version="2.6.0", requires=("numpy>=1.21", "typing-extensions>=4.10")),
            Distribution(name="torchvision", version="0.21.0", requires=("torch==2.6.0",)),
        )
    )
    return replace(machine or wheel_machine(), imports=(search,), pythons=(its,))


def ended(**fields: Any) -> EndedImport:
    known: dict[str, Any] = {
        "starts": ("torch",), "importer": TORCH, "line": 7, "wanted": "typing_extensions", "kind": "absent",
    }  # fmt: skip
    return EndedImport(**(known | fields))


def card(machine: Snapshot) -> Finding:
    (found,) = ended_imports(machine)
    return found


@pytest.mark.parametrize(
    ("name", "entry", "inner", "importer", "told"),
    [
        ("torch", 0, "torch/__init__.py", "torch/_refs/__init__.py", True),
        ("torch", 1, "torch/__init__.py", "torch/__init__.py", True),
        ("torchvision", 0, "torchvision.py", "torchvision.py", True),
        ("torchvision", 0, "torchvision.py", "main.py", False),
        ("torch", 0, "torch/__init__.py", "torch.py", False),
    ],
)  # fmt: skip
def test_the_end_of_what_stands_in_the_way_is_told_with_it(
    name: str, entry: int, inner: str, importer: str, told: bool
):
    top = ENTRIES[entry].path
    installed = {"torch": "torch 2.6.0", "torchvision": "torchvision 0.21.0"}[name]
    module = FoundModule(
        name=name, kind="package", path=f"{top}/{inner}", entry=entry, hidden=(f"{SITE}/{name}/__init__.py",), hidden_owner=installed
    )  # fmt: skip
    its = ended(importer=f"{top}/{importer}", line=9, wanted="jaxlib.mlir", name="mpmd", owner="jaxlib 0.7.2")
    machine = seen(its, modules=(module,))
    (shadowed,) = shadowed_modules(machine)
    rows = [(e.value, e.source) for e in shadowed.evidence]
    assert (("jaxlib.mlir.mpmd", f"{top}/{importer}:9") in rows) is told
    assert ("jaxlib 0.7.2" in [value for value, _source in rows]) is told
    assert bool([*ended_imports(machine)]) is not told


@pytest.mark.parametrize(("package", "told"), [("ffmpeg", False), ("another", True)])
def test_what_a_program_misses_in_a_package_that_another_project_overwrote_is_told_once(package: str, told: bool):
    end = ended(starts=("/work/cut.py",), importer="/work/cut.py", wanted="ffmpeg", kind="no name", name="input", path=f"{SITE}/ffmpeg/__init__.py")  # fmt: skip
    over = OverwrittenPackage(
        package=package, path=f"{SITE}/{package}", written="ffmpeg 1.4", lost="ffmpeg-python 0.2.0"
    )
    machine = seen(end)
    machine = replace(machine, imports=tuple(replace(s, overwritten=(over,)) for s in machine.imports or ()))
    assert [f.id for f in ended_imports(machine)] == ["frameworks.import-ends-ffmpeg"] * told


@pytest.mark.parametrize(
    ("others", "has_it", "severity", "cause"),
    [
        (False, "", Severity.WARNING, "requirement_broken"),
        (True, "", Severity.NOTE, "requirement_broken"),  # what runs there may need it
        (False, "bare", Severity.WARNING, "wrong_environment_active"),
        (True, "bare", Severity.WARNING, "wrong_environment_active"),
        (False, "torch", Severity.NOTE, "wrong_environment_active"),  # the program may be meant for that environment
        (False, "user", Severity.WARNING, "wrong_environment_active"),
    ],
)
def test_a_package_that_a_program_asks_for_is_told_by_where_it_is(
    others: bool, has_it: str, severity: Severity, cause: str
):
    main = "/home/ada/work/main.py"
    end = ended(
        starts=(main,),
        importer=main,
        wanted="skimage",
        lacks_package=True,
        others_find_theirs=others,
        elsewhere=(f"/opt/{has_it}",) if has_it else (),
    )
    machine = seen(end)
    torch = (Distribution(name="torch", version="2.6.0"),)
    others = (python(prefix="/opt/torch", distributions=torch), python(prefix="/opt/bare", distributions=()))
    found = card(replace(machine, pythons=(*(machine.pythons or ()), *others)))
    assert (found.severity, found.cause) == (severity, cause)
    assert found.fix is not None
    assert "scikit-image" in found.fix.advice
    assert (f"/opt/{has_it}" in said(found)) is bool(has_it)


def test_a_pth_file_that_python_does_not_read_is_named():
    main, line = "/home/ada/work/main.py", "/srv/libs/pywin32.pth:2"
    end = ended(starts=(main,), importer=main, wanted="win32api", lacks_package=True, elsewhere=(line,))
    found = card(seen(end))
    assert (found.severity, found.cause) == (Severity.WARNING, "python_environment_broken")
    assert line in found.title
    assert "PYTHONPATH" in found.why


@pytest.mark.parametrize(
    ("encoding", "why", "advice"), [("UTF-16", "PowerShell", ""), ("?", "code page", "coding: cp1252")]
)
def test_a_program_that_python_cannot_read(encoding: str, why: str, advice: str):
    main = "/home/ada/work/main.py"
    end = ended(starts=(main,), importer="", line=0, wanted="main", kind="damaged", name=encoding, path=main)
    found = card(seen(end))
    assert (found.severity, found.cause) == (Severity.WARNING, "corrupt_or_truncated_file")
    assert main in found.title
    assert why in found.why
    assert found.fix
    assert "UTF-8" in found.fix.title
    assert advice in found.fix.advice
    assert card(seen(replace(end, others_find_theirs=True))).severity == Severity.NOTE


def test_a_package_of_an_unknown_name_is_not_guessed():
    main = "/home/ada/work/main.py"
    found = card(seen(ended(starts=(main,), importer=main, wanted="fitz_of_ours", lacks_package=True)))
    assert found.fix is not None
    assert "fitz" not in found.fix.advice.rpartition("install")[2]


def test_a_program_is_not_told_of_an_environment_that_nothing_starts():
    main = "/home/ada/work/main.py"
    machine = seen(ended(starts=(main,), importer=main, wanted="skimage", lacks_package=True))
    other = replace(machine, pythons=(python(found_by="folder"),))
    assert [*ended_imports(other)] == []


def said(found: Finding) -> str:
    return "\n".join(" | ".join((e.label, e.value, e.source)) for e in found.evidence)


OTHERS = "/opt/tools/typing_extensions.py"
OWN = f"{SITE}/typing_extensions.py"
RENAMED = Remains(path=f"{SITE}/~yping_extensions.py", kind="renamed", distribution="typing-extensions")


ENDS: list[tuple[dict[str, Any], tuple[Remains, ...], str, str]] = [
    ({}, (), "requirement_broken", "import typing_extensions"),
    ({"kind": "no name", "name": "TypeIs", "path": OWN, "entry": 3, "owner": "typing-extensions 4.5"}, (),
     "requirement_broken", "typing_extensions.TypeIs"),
    ({"kind": "no name", "name": "TypeIs", "path": OTHERS, "entry": 1}, (), "module_shadowed", "PYTHONPATH"),
    ({"kind": "foreign", "path": OTHERS, "entry": 1}, (), "package_for_another_python", "PYTHONPATH"),
    ({"kind": "foreign", "path": OWN, "entry": 3}, (), "package_for_another_python", "import typing_extensions"),
    ({"kind": "damaged", "path": OWN, "entry": 3, "owner": "typing-extensions 4.5"}, (), "corrupt_or_truncated_file", "Installed"),
    ({"kind": "unreadable", "path": OWN, "entry": 3, "owner": "typing-extensions 4.5"}, (), "library_unreadable", "Installed"),
    ({"kind": "empty", "path": OWN, "entry": 3, "owner": "typing-extensions 4.5"}, (), "corrupt_or_truncated_file", "Installed"),
    ({}, (RENAMED,), "installation_interrupted", RENAMED.path),
    ({}, (replace(RENAMED, kind="no record"),), "requirement_broken", RENAMED.path),
    ({}, (replace(RENAMED, distribution="numpy"),), "requirement_broken", "Required"),
    ({"path": f"{SITE}/typing_extensions", "entry": 3}, (), "installation_interrupted", "import typing_extensions"),
    ({"owner": "typing-extensions 4.5"}, (), "corrupt_or_truncated_file", "Installed"),
    ({"wanted": "torch._six", "importer": f"{SITE}/timm/a.py", "owner": "torch 2.6.0", "path": TORCH, "entry": 3}, (), "requirement_broken", "import torch._six"),
    ({"wanted": "torch._six", "importer": f"{SITE}/timm/a.py", "owner": "torch 2.6.0", "path": TORCH, "entry": 3, "recorded": True}, (), "corrupt_or_truncated_file", "Installed"),
    ({"wanted": "torch.a", "owner": "torch 2.6.0", "path": TORCH, "entry": 3}, (), "corrupt_or_truncated_file", "Installed"),
    ({"wanted": "torch", "importer": "", "owner": "torch 2.6.0"}, (), "installation_interrupted", "Installed"),
    ({"wanted": "torch", "importer": "", "owner": "torch 2.6.0", "path": "/srv/torch"}, (), "python_environment_broken", "/srv/torch"),
    ({"wanted": "torch", "importer": "", "owner": "torch 2.6.0", "path": f"{PREFIX}/src"}, (), "installation_interrupted", f"{PREFIX}/src"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("hidden", "cause"), [("", "python_environment_broken"), (f"{SITE}/accelerate", "module_shadowed")]
)
def test_a_checkout_that_is_no_python_is_for_its_person_to_correct(hidden: str, cause: str):
    path = "/home/ada/code/src/accelerate/state.py"
    behind = SearchEntry(path="/home/ada/code/src", origin="pth", source=f"{SITE}/editable.pth", line=1)
    machine = seen(ended(wanted="accelerate.state", kind="damaged", path=path, hidden=hidden, entry=4))
    (search,) = machine.imports or ()
    found = card(replace(machine, imports=(replace(search, entries=(*ENTRIES, behind)),)))
    assert found.cause == cause


def test_a_package_that_comes_last_hides_the_parts_of_a_namespace():
    behind = SearchEntry(path="/home/ada/protos", origin="pth", source=f"{SITE}/protos.pth", line=1)
    one = ended(wanted="google.protobuf", path="/home/ada/protos/google/__init__.py", entry=4, hidden=f"{SITE}/google")
    machine = seen(one)
    (search,) = machine.imports or ()
    found = card(replace(machine, imports=(replace(search, entries=(*ENTRIES, behind)),)))
    assert found.cause == "module_shadowed"
    assert "prefers a package" in found.why
    assert found.remedy == TakeOutLine(file=f"{SITE}/protos.pth", line=1, folder="/home/ada/protos")


def test_a_clone_that_is_installed_where_it_lies_is_not_renamed():
    outer = "/home/ada/work/sam2"
    found = card(seen(ended(wanted="sam2", name="CONFIGS", path=outer, entry=0, hidden=f"{outer}/sam2/__init__.py")))
    assert found.cause == "module_shadowed"
    assert found.title == f"import sam2 finds {outer} instead of the package in it."
    assert found.fix is not None
    assert "mv " not in found.fix.advice
    assert f"install {outer} --no-deps" in found.fix.advice
    assert found.remedy is None


def test_a_folder_of_data_in_the_place_of_a_package_may_stay():
    main, folder = "/home/ada/work/main.py", "/home/ada/work/wandb"
    found = card(
        seen(ended(starts=(main,), importer=main, wanted="wandb", kind="no name", name="init", path=folder, entry=0))
    )
    assert (found.cause, found.severity) == ("module_shadowed", Severity.WARNING)
    assert "holds no code" in found.why
    assert found.fix is not None
    assert "install wandb" in found.fix.advice
    assert "mv " not in found.fix.advice


OF_THE_INDEX = f"{SITE}/utils/__init__.py"
OF_A_CLONE = "/home/ada/work/yolov5/utils/__init__.py"


@pytest.mark.parametrize(
    ("importer", "hidden", "cause"),
    [
        ("/home/ada/work/yolov5/models/common.py", OF_A_CLONE, "module_shadowed"),
        ("/home/ada/work/main.py", "/home/ada/work/utils", "module_shadowed"),
        ("/home/ada/work/main.py", "", "requirement_broken"),
        ("/home/ada/work/main.py", "/usr/lib/python3/dist-packages/utils/__init__.py", "requirement_broken"),
        (f"{SITE}/thop/profile.py", OF_A_CLONE, "requirement_broken"),
    ],
)
def test_an_installed_package_precedes_the_persons_own_module_of_its_name(importer: str, hidden: str, cause: str):
    fields = {"wanted": "utils.general", "path": OF_THE_INDEX, "entry": 3, "owner": "utils 1.0.2"}
    machine = seen(ended(starts=("/home/ada/work/main.py",), importer=importer, hidden=hidden, **fields))
    (search,) = machine.imports or ()
    of_system = SearchEntry(path="/usr/lib/python3/dist-packages", origin="system site-packages")
    found = card(replace(machine, imports=(replace(search, entries=(*ENTRIES, of_system)),)))
    assert found.cause == cause
    assert ("uninstall -y utils" in (found.fix.advice if found.fix else "")) == (cause == "module_shadowed")


def test_what_is_tried_first_is_the_cure_where_another_release_is_refused():
    fields = {
        "wanted": "keras",
        "kind": "refused",
        "path": f"{SITE}/keras/__init__.py",
        "entry": 3,
        "owner": "keras 3.1",
    }
    found = card(seen(ended(importer=f"{SITE}/transformers/a.py", tried_first="tf_keras", **fields)))
    assert "Asked for first, and not installed | tf_keras" in said(found)
    assert found.fix
    assert found.fix.advice.endswith(" tf-keras")


@pytest.mark.parametrize(
    ("wanted", "name", "installs"),
    [
        ("whisper", "load_model", "openai-whisper"),
        ("apex.amp", "", "git+https://github.com/NVIDIA/apex.git"),
        ("whisper", "fetch", ""),
        ("voice", "load_model", ""),
    ],
)
def test_another_project_that_is_known_by_what_a_program_takes_of_it(wanted: str, name: str, installs: str):
    top = wanted.partition(".")[0]
    fields = {
        "kind": "no name" if name else "absent",
        "path": f"{SITE}/{top}/__init__.py",
        "entry": 3,
        "owner": f"{top} 1.0",
    }
    program = "/home/ada/work/main.py"
    found = card(seen(ended(starts=(program,), importer=program, wanted=wanted, name=name, **fields)))
    assert found.fix
    assert (f"uninstall -y {top}" in found.fix.advice and installs in found.fix.advice) == bool(installs)


def test_a_folder_without_a_start_is_given_one_before_a_package_of_its_name():
    fields = {"wanted": "utils.general", "path": OF_THE_INDEX, "entry": 3, "owner": "utils 1.0.2"}
    own = "/home/ada/work/utils"
    found = card(
        seen(ended(starts=("/home/ada/work/main.py",), importer="/home/ada/work/main.py", hidden=own, **fields))
    )
    assert found.fix
    assert f"{own}/__init__.py" in found.fix.advice
    assert "PYTHONPATH" not in found.fix.advice  # it is searched before the packages as it is


@pytest.mark.parametrize(("kind", "whose"), [("damaged", {"torchvision", "torch"}), ("absent", {"torchvision"})])
def test_a_damaged_file_of_a_framework_concerns_it_whoever_imports_it(kind: str, whose: set[str]):
    file = f"{SITE}/torch/nn/functional.py"
    fields = {"wanted": "torch.nn.functional", "kind": kind, "path": file, "entry": 3, "owner": "torch 2.6.0"}
    found = card(seen(ended(starts=("torchvision",), importer=f"{SITE}/torchvision/a.py", **fields)))
    assert {c.partition(":")[0] for c in found.consumers} == {f"python/{name}" for name in whose}


@pytest.mark.parametrize(("fields", "remains", "cause", "row"), ENDS)
def test_the_cause_and_what_was_seen(
    fields: dict[str, Any], remains: tuple[Remains, ...], cause: str, row: str
) -> None:
    found = card(seen(ended(**fields), remains=remains))
    assert found.cause == cause
    assert row in said(found)
    assert ("Requested by" in said(found)) == bool(fields.get("importer", TORCH))
    assert ("import  " in said(found), " import  |" in said(found)) == (False, False)


def test_a_package_that_ends_by_itself_and_in_a_framework_is_told_once_of_both() -> None:
    fields = {"kind": "empty", "path": f"{SITE}/typing_extensions.py", "owner": "typing-extensions 4.16.0"}
    alone = ended(starts=("typing_extensions",), importer="", line=0, **fields)
    found = card(seen(alone, ended(**fields)))
    assert "python/torch" in {c.partition(":")[0] for c in found.consumers}
    assert found.title.startswith("torch 2.6.0")
    assert "Requested by" in said(found)


def test_a_plain_import_names_no_name_and_the_other_does() -> None:
    assert "Requested by | import typing_extensions |" in said(card(seen(ended())))
    named = ended(kind="no name", name="TypeIs", path=OWN, entry=3, owner="typing-extensions 4.5")
    assert "Requested by | typing_extensions.TypeIs |" in said(card(seen(named)))


def test_a_release_that_code_refuses_is_named_with_what_is_required() -> None:
    found = card(seen(ended(kind="refused", path=OWN, entry=3, owner="typing-extensions 4.5")))
    assert (found.cause, found.title) == (
        "requirement_broken",
        f"torch 2.6.0 in {PREFIX} cannot be imported: code that it runs refuses typing-extensions 4.5.",
    )
    assert "typing-extensions>=4.10" in said(found)


def test_the_title_names_the_framework_or_else_the_extension_that_ends() -> None:
    both = card(seen(ended(starts=("torch", "torchvision"))))
    assert both.title.startswith("torch 2.6.0 in ")
    alone = card(seen(ended(starts=("torchvision",), importer=f"{SITE}/torchvision/__init__.py")))
    assert alone.title.startswith("torchvision 0.21.0 in ")


TOOLS = "/opt/tools/numpy/__init__.py"


@pytest.mark.parametrize(
    ("fields", "title", "advice"),
    [
        ({"entry": 1, "path": TOOLS, "owner": "numpy 1.26"}, "Remove /opt/tools from PYTHONPATH", "unset PYTHONPATH"),
        ({"entry": 1, "path": TOOLS}, "Remove /opt/tools from PYTHONPATH", "unset PYTHONPATH"),
        ({"entry": 1, "path": TOOLS, "project": "/opt/tools/setup.py"}, "Remove /opt/tools from PYTHONPATH", "unset"),
        ({"entry": 1, "path": TOOLS, "project": "/opt/tools/setup.py", "owner": "numpy 1.26"}, "Remove /opt/tools from PYTHONPATH", "unset"),
        ({"entry": 1, "path": TOOLS, "project": "/opt/tools/setup.py", "foreign": ()}, "Start programs in another folder", "setup.py"),
        ({"entry": 0, "path": "/home/ada/work/numpy/__init__.py"}, "Rename numpy", "my_numpy"),
    ],
)  # fmt: skip
def test_what_is_for_another_python_is_led_around(fields: dict[str, Any], title: str, advice: str) -> None:
    known: dict[str, Any] = {
        "name": "numpy", "kind": "package", "foreign": (TOOLS,), "wheel_tags": ("cp39-cp39-linux_x86_64",),
    }  # fmt: skip
    (found,) = packages_for_another_python(seen(modules=(FoundModule(**(known | fields)),)))
    assert found.fix is not None
    assert found.fix.title == title
    assert advice in found.fix.advice
    assert (found.remedy is not None) == (fields["entry"] == 1)


def test_what_is_for_another_python_among_the_packages_is_installed_anew() -> None:
    for place in (3, -1, len(ENTRIES)):
        own = FoundModule(name="numpy", kind="package", path=NUMPY, entry=place, owner="numpy 1.26", foreign=(NUMPY,))
        (found,) = packages_for_another_python(seen(modules=(own,)))
        assert found.fix is not None
        assert "numpy==1.26" in found.fix.advice
        assert SITE in found.title


def test_what_is_recorded_and_gone_is_installed_by_force() -> None:
    """An installer takes a release that is recorded as installed, and does nothing."""
    found = card(seen(ended(wanted="torch", importer="", owner="torch 2.6.0")))
    assert found.fix is not None
    assert "--force-reinstall --no-deps" in found.fix.advice
    assert found.remedy == PutPackageBack(prefix=PREFIX, package="torch", version="2.6.0")


def test_on_windows_the_list_of_variables_is_where_pythonpath_is_cleared() -> None:
    hidden = FoundModule(name="numpy", kind="package", path=TOOLS, entry=1, foreign=(TOOLS,))
    (found,) = packages_for_another_python(seen(modules=(hidden,), machine=windows_machine()))
    assert found.fix is not None
    assert "Edit environment variables" in found.fix.advice
    assert "unset" not in found.fix.advice


def test_what_asks_for_a_part_that_is_given_up_is_upgraded_and_not_the_other() -> None:
    its = {"starts": ("timm",), "wanted": "torch._six", "importer": f"{SITE}/timm/a.py"}
    found = card(seen(ended(**its, owner="torch 2.6.0", path=TORCH, entry=3)))
    assert found.fix is not None
    assert "--upgrade timm torch==2.6.0" in found.fix.advice
    assert found.remedy is None
    there = python(distributions=(Distribution(name="timm", version="0.4.12"),))
    both = card(replace(seen(ended(**its, owner="torch 2.6.0", path=TORCH, entry=3)), pythons=(there,)))
    assert both.remedy == InstallPackages(prefix=PREFIX, remove=("timm",), install=("timm", "torch==2.6.0"))


def test_a_release_that_others_refuse_is_changed_and_not_given_what_it_lacks() -> None:
    """What it lacks would let it be imported, and whoever uses it would still refuse it."""
    its = ended(starts=("accelerate",), importer=f"{SITE}/accelerate/a.py", wanted="pkg_resources")
    extra = Distribution(
        name="transformers", version="4.51.3",
        requires=('accelerate>=0.26.0; extra == "torch"', 'accelerate>=0.26.0; extra == "agents"'),
    )  # fmt: skip
    for version, install in (("0.20.3", ("accelerate>=0.26.0",)), ("0.30.0", ("setuptools<81",))):
        some = (extra, Distribution(name="accelerate", version=version, location=SITE))
        found = card(replace(seen(its), pythons=(python(distributions=some),)))
        assert found.remedy == InstallPackages(prefix=PREFIX, install=install)
    told = card(seen(replace(its, refused_by="transformers 4.51.3", asked_of_it="accelerate>=0.26.0")))
    assert told.remedy == InstallPackages(prefix=PREFIX, install=("accelerate>=0.26.0",))
    assert "accelerate>=0.26.0 | metadata of transformers 4.51.3" in said(told)


def test_a_program_that_comes_to_the_same_end_is_no_package_to_install() -> None:
    its = {"starts": ("timm", "/home/me/work/main.py"), "wanted": "torch._six", "importer": f"{SITE}/timm/a.py"}
    found = card(seen(ended(**its, owner="torch 2.6.0", path=TORCH, entry=3)))
    assert found.fix is not None
    assert found.fix.advice.endswith("--upgrade timm torch==2.6.0")


def test_of_two_that_do_not_fit_the_framework_stays_and_its_dependent_may_be_known_by_the_import_alone() -> None:
    its = {"kind": "no name", "name": "gone", "entry": 3}
    there = python(distributions=(Distribution(name="equinox", version="0.11.0"),))
    for wanted, version, remove, install in (
        ("jax", "0.7.2", ("equinox",), ("equinox", "jax==0.7.2")),
        ("markupsafe", "3.0.4", ("equinox", "markupsafe"), ("equinox", "markupsafe")),
    ):
        machine = seen(ended(starts=("equinox",), importer=f"{SITE}/equinox/a.py", wanted=wanted, owner=f"{wanted} {version}",
                             path=f"{SITE}/{wanted}/__init__.py", **its))  # fmt: skip
        found = card(replace(machine, pythons=(there,)))
        assert found.remedy == InstallPackages(prefix=PREFIX, remove=remove, install=install)


def test_a_project_of_ones_own_whose_folder_is_gone_is_a_warning_and_a_framework_s_an_error() -> None:
    its = {"importer": "", "line": 0, "path": "/srv/code/src"}
    mine = card(seen(ended(**its, starts=("mine",), wanted="mine", owner="mine 0.3")))
    theirs = card(seen(ended(**its, wanted="torch", owner="torch 2.6.0")))
    assert (mine.cause, mine.severity) == ("python_environment_broken", Severity.WARNING)
    assert (theirs.cause, theirs.severity) == ("python_environment_broken", Severity.ERROR)


def test_what_asks_for_a_name_that_numpy_gave_up_changes_and_numpy_stays() -> None:
    some = tuple(
        Distribution(name=n, version=v, location=SITE)
        for n, v in (("librosa", "0.8.1"), ("numpy", "2.2.6"), ("peft", "0.9"))
    )
    for name, starts, install in (
        ("complex", ("librosa",), ("librosa", "numpy==2.2.6")),
        ("complex", ("peft",), ("librosa", "numpy==2.2.6")),  # the line is librosa's, whoever imports it
        ("bool", ("librosa",), None),  # NumPy 2 has it again: who is too old is not known
    ):
        machine = seen(ended(starts=starts, importer=f"{SITE}/librosa/core/constantq.py", wanted="numpy", kind="no name",
                             name=name, path=f"{SITE}/numpy/__init__.py", entry=3, owner="numpy 2.2.6"))  # fmt: skip
        remedy = card(replace(machine, pythons=(python(distributions=some),))).remedy
        assert (remedy.install if isinstance(remedy, InstallPackages) else None) == install


@pytest.mark.parametrize(
    ("wanted", "installed", "exchanged"), [("accelerate", "0.30.0", True), ("numpy", "1.26.4", False)]
)
def test_a_release_that_the_metadata_permits_is_not_asked_for_again(
    wanted: str, installed: str, exchanged: bool
) -> None:
    """An installer would find it there and do nothing."""
    machine = seen(
        ended(
            starts=("peft",), importer=f"{SITE}/peft/a.py", wanted=wanted, kind="no name", name="clear",
            path=f"{SITE}/{wanted}/__init__.py", entry=3, owner=f"{wanted} {installed}",
        )
    )  # fmt: skip
    some = (
        Distribution(name="peft", version="0.17.1", requires=(f"{wanted}>=0.21",)),
        Distribution(name=wanted, version=installed),
    )
    found = card(replace(machine, pythons=(python(distributions=some),)))
    assert found.fix is not None
    assert f"--upgrade peft {wanted}" in found.fix.advice
    names = ("peft", wanted)
    assert found.remedy == (InstallPackages(prefix=PREFIX, remove=names, install=names) if exchanged else None)


def test_a_package_that_no_program_of_the_folder_uses_is_a_note() -> None:
    machine = seen(
        ended(starts=("langgraph.prebuilt",), importer=f"{SITE}/langgraph/prebuilt/a.py", wanted="langgraph.runtime",
              kind="no name", name="ExecutionInfo", path=f"{SITE}/langgraph/runtime.py", entry=3)
    )  # fmt: skip
    assert card(machine).severity >= Severity.WARNING
    (search,) = machine.imports or ()
    assert card(replace(machine, imports=(replace(search, idle=("langgraph",)),))).severity == Severity.NOTE


def home(machine: Snapshot) -> EnvironmentView:
    return next(iter(environment_views(machine)))


def test_only_a_recorded_module_leads_outside_its_environment() -> None:
    outside, here = "/srv/models/typing_extensions.py", home(seen())
    assert leads_outside(here, ended(importer="", path=outside))
    assert not leads_outside(here, ended(path=outside))
    assert not leads_outside(here, ended(importer="", path=OWN))
    assert not leads_outside(here, ended(importer=""))


def test_an_import_that_worked_in_a_trial_is_a_note() -> None:
    worked = FrameworkTrial(prefix=PREFIX, framework="torch", version="2.6.0", reached="import")
    for trial, severity in ((worked, Severity.NOTE), (replace(worked, problem="x"), Severity.ERROR)):
        assert card(replace(seen(ended()), trials=(trial,))).severity is severity


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"kind": "no name"}, "made from another text"),
        ({"kind": "damaged"}, "instead of the source, and that file is cut off"),
        ({"kind": "damaged", "path": f"{SITE}/x.pyc"}, "made by another Python"),
    ],
    ids=str,
)
def test_what_is_said_of_byte_code(fields: dict[str, Any], words: str) -> None:
    known = {"path": f"{SITE}/__pycache__/x.cpython-311.pyc"}
    assert words in _why_byte_code(ended(**(known | fields)))


@pytest.mark.parametrize(
    ("machine", "path", "command"),
    [
        (seen(), "/a/__pycache__/x.pyc", "mv /a/__pycache__/x.pyc /a/__pycache__/x.pyc.damaged"),
        (seen(machine=windows_machine()), "C:\\a\\x.pyc", "ren C:\\a\\x.pyc x.pyc.damaged"),
    ],
    ids=["Linux", "Windows"],
)
def test_byte_code_gets_another_name(machine: Snapshot, path: str, command: str) -> None:
    fix, _remedy = _other_byte_code(home(machine), path)
    assert command in fix.advice.replace("'", "").replace('"', "")


MAIN = "/home/ada/work/main.py"
PROGRAMS: list[tuple[dict[str, Any], str, str]] = [
    ({"wanted": "torchvision", "kind": "no name", "name": "load", "importer": MAIN, "path": f"{SITE}/torchvision/__init__.py", "owner": "torchvision 0.21.0"},
     "another project's module", f"{MAIN}, line 7, asks for torchvision.load, which torchvision 0.21.0 does not have."),
    ({"wanted": "numpy", "kind": "no name", "name": "float", "importer": MAIN, "path": NUMPY, "owner": "numpy 1.26.4"},
     "another project's module", "which numpy 1.26.4 does not have.\nWrite float there: numpy.float was another name"),
    ({"wanted": "pkg_resources", "importer": f"{SITE}/torchvision/io.py"}, "stops at this line", "setuptools<81"),
    ({"wanted": "torch", "kind": "no name", "name": "load", "importer": f"{SITE}/torchvision/io.py", "path": TORCH, "owner": "torch 2.6.0"},
     "a release of torch that is not the installed one", "torchvision"),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "why", "advice"), PROGRAMS)
def test_where_a_persons_program_ends_is_a_warning(fields: dict[str, Any], why: str, advice: str) -> None:
    """What asks is the program itself, or a package that it imports: this one changes."""
    machine = seen(ended(starts=(MAIN,), **fields))
    (its,) = machine.pythons or ()
    named = tuple(replace(d, location=SITE) for d in its.distributions)
    found = card(replace(machine, pythons=(replace(its, distributions=named),)))
    assert (found.severity, found.cause) == (Severity.WARNING, "requirement_broken")
    assert found.title.startswith(f"{MAIN} ends at its start with the Python of {PREFIX}: ")
    assert why in found.why
    assert found.fix is not None
    assert advice in f"{found.fix.title}\n{found.fix.advice}"
    assert "pip show numpy" not in found.fix.advice


OF_BASICSR = {
    "wanted": "torchvision.transforms.functional_tensor", "importer": f"{SITE}/basicsr/data/degradations.py", "line": 8,
    "owner": "torchvision 0.21.0", "path": f"{SITE}/torchvision/transforms/__init__.py",
}  # fmt: skip
OF_PILLOW = {
    "wanted": "PIL.Image", "kind": "no name", "name": "ANTIALIAS", "importer": MAIN, "line": 7, "owner": "pillow 11.0.0",
    "path": f"{SITE}/PIL/Image.py",
}  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "title", "command", "last"),
    [
        (OF_BASICSR, "Write torchvision.transforms.functional for torchvision.transforms.functional_tensor",
         rf"sed -i '8s/\btorchvision\.transforms\.functional_tensor\b/torchvision.transforms.functional/' {SITE}/basicsr/data/degradations.py", "torchvision<0.17"),
        (OF_PILLOW, "Write PIL.Image.LANCZOS for PIL.Image.ANTIALIAS", rf"sed -i '7s/\bANTIALIAS\b/LANCZOS/' {MAIN}", "pillow<10"),
    ],
)  # fmt: skip
def test_what_has_another_name_now_is_told_with_it(fields: dict[str, Any], title: str, command: str, last: str) -> None:
    fix = card(seen(ended(starts=(MAIN,), **fields))).fix
    assert fix is not None
    assert fix.title == title
    assert command in fix.advice
    assert fix.advice.endswith(last)


def test_a_program_is_given_the_last_release_that_has_the_name_and_a_package_is_upgraded() -> None:
    its = {"wanted": "huggingface_hub", "kind": "no name", "name": "cached_download", "owner": "huggingface-hub 0.30.2"}
    of_program = card(seen(ended(starts=(MAIN,), importer=MAIN, path=f"{SITE}/huggingface_hub/__init__.py", **its)))
    assert of_program.fix is not None
    assert "huggingface-hub<0.26" in of_program.fix.advice
    of_package = card(
        seen(ended(starts=("timm",), importer=f"{SITE}/timm/a.py", path=f"{SITE}/huggingface_hub/__init__.py", **its))
    )
    assert of_package.fix is not None
    assert "huggingface-hub<0.26" not in of_package.fix.advice


def test_a_part_of_a_namespace_that_was_given_up_is_no_interrupted_installation() -> None:
    its = ended(starts=(MAIN,), importer=MAIN, line=2, wanted="cuda", name="cudart", path=f"{SITE}/cuda", entry=3)
    found = card(seen(its))
    assert found.cause == "requirement_broken"
    assert found.title.endswith("cuda has no cudart.")
    assert found.fix is not None
    assert found.fix.title == "Write cuda.bindings.runtime for cuda.cudart"
    assert found.fix.advice.endswith("cuda-python<13")


def test_of_two_distributions_of_a_module_the_required_one_is_installed() -> None:
    its = ended(starts=(MAIN,), wanted="onnxruntime", importer=f"{SITE}/faster_whisper/vad.py", call="get_vad_model")
    for pins, install in (("onnxruntime<2,>=1.14",), "onnxruntime<2,>=1.14"), ((), "onnxruntime-gpu"):
        whisper = Distribution(name="faster-whisper", version="1.1.1", location=SITE, pins=pins)
        found = card(replace(seen(its), pythons=(python(distributions=(whisper,)),)))
        assert found.remedy == InstallPackages(prefix=PREFIX, install=(install,))


CALLS: list[tuple[dict[str, Any], str, str]] = [
    ({"wanted": "onnxruntime", "importer": f"{SITE}/torchvision/vad.py", "call": "torchvision.filter"},
     "torchvision.filter() needs the module onnxruntime, which is not installed.", "install onnxruntime"),
    ({"wanted": "torchvision", "kind": "no parameter", "name": "size", "function": "torchvision.Resize", "importer": MAIN,
      "call": "torchvision.Resize", "path": f"{SITE}/torchvision/__init__.py", "owner": "torchvision 0.21.0"},
     "torchvision.Resize() of torchvision 0.21.0 does not take size=.", "asks for torchvision.Resize(size=...), which torchvision 0.21.0"),
    ({"wanted": "torchvision", "kind": "no parameter", "name": "*2", "function": "torchvision.mel", "importer": MAIN,
      "call": "torchvision.mel", "path": f"{SITE}/torchvision/__init__.py", "owner": "torchvision 0.21.0"},
     "torchvision.mel() of torchvision 0.21.0 does not take arguments without their names (2).",
     "asks for torchvision.mel(..., ...), which torchvision 0.21.0"),
    ({"wanted": "torch", "kind": "refused", "name": "RuntimeError", "importer": MAIN, "call": "torch.symeig", "path": TORCH, "owner": "torch 2.6.0"},
     "torch.symeig() of torch 2.6.0 raises RuntimeError.", "asks for torch.symeig(), which torch 2.6.0 does not have"),
    ({"wanted": "torch", "kind": "no parameter", "name": "proxies", "function": "torch.Client", "importer": f"{SITE}/torchvision/io.py",
      "call": "torchvision.load", "path": TORCH, "owner": "torch 2.6.0"},
     "torch.Client() of torch 2.6.0 does not take proxies=.", "torchvision"),
    ({"wanted": "torch", "kind": "no parameter", "name": "proxies", "function": "torch.Client", "importer": f"{SITE}/asker/io.py",
      "asked_by": "asker 1.0", "call": "asker.load", "path": TORCH, "owner": "torch 2.6.0"},
     "torch.Client() of torch 2.6.0 does not take proxies=.", "install --upgrade asker torch==2.6.0"),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "title", "advice"), CALLS)
def test_where_a_call_of_a_program_ends_is_told_with_the_call(fields: dict[str, Any], title: str, advice: str) -> None:
    machine = seen(ended(starts=(MAIN,), called_at=f"{MAIN}:12", **fields))
    (its,) = machine.pythons or ()
    named = tuple(replace(d, location=SITE) for d in its.distributions)
    found = card(replace(machine, pythons=(replace(its, distributions=named),)))
    assert (found.severity, found.cause) == (Severity.WARNING, "requirement_broken")
    assert found.title == f"{MAIN} fails with the Python of {PREFIX}: {title}"
    assert (f"{fields['call']}()", f"{MAIN}:12") in [(row.value, row.source) for row in found.evidence]
    assert found.fix is not None
    assert advice in f"{found.fix.title}\n{found.fix.advice}"


@pytest.mark.parametrize(
    ("version", "owner", "told"),
    [("1.23.5", "numpy 1.26.4", ["module_shadowed"]), ("2.0.0", "numpy 1.26.4", []), ("", "numpy 1.26.4", [])],
    ids=["an older one", "one that is told for its own sake", "nobody's file"],
)
def test_an_import_that_ends_in_a_second_installation(version: str, owner: str, told: list[str]):
    """Another release of a package that wins is no fault by itself, but one where what imports it ends there."""
    path = "/home/ada/.local/lib/python3.11/site-packages/numpy/__init__.py"
    its = FoundModule(
        name="numpy",
        kind="package",
        path=path,
        entry=2,
        owner=f"numpy {version}" if version else "",
        hidden=(NUMPY,),
        hidden_owner=owner,
    )
    end = ended(wanted="numpy.exceptions", path=path, entry=2, owner=its.owner, hidden=NUMPY)
    assert [f.cause for f in ended_imports(seen(end, modules=(its,)))] == told


@pytest.mark.parametrize(
    ("fields", "cause", "title", "advice"),
    [
        ({"kind": "unmade", "wanted": "voice", "path": "/home/ada/work/.gitmodules", "name": "third_party/Voice"}, "requirement_broken", "voice is absent, and the Git submodule third_party/Voice is empty.", "git -C /home/ada/work submodule update --init --recursive"),
        ({"kind": "unmade", "wanted": "nms.boxes", "path": "/home/ada/work/nms/setup.py"}, "requirement_broken", "nms.boxes is still to be compiled (/home/ada/work/nms/setup.py).", "setup.py build_ext --inplace"),
        ({"kind": "unmade", "wanted": "sight", "path": "/home/ada/work/sight", "hidden": "/home/ada/work/sight/sight/__init__.py"}, "requirement_broken", "there is no module sight.", "install /home/ada/work/sight"),
        ({"kind": "foreign", "wanted": "boxes", "path": "/home/ada/work/boxes.cpython-310-x86_64-linux-gnu.so"}, "package_for_another_python", "boxes exists only for another Python.", "setup.py build_ext --inplace"),
        ({"kind": "no name", "wanted": "collections", "name": "Mapping", "importer": f"{SITE}/older/maps.py"}, "requirement_broken", "collections has no Mapping.", "python<3.10"),
    ],
)  # fmt: skip
def test_what_a_project_lacks_of_its_own_and_of_python(
    fields: dict[str, Any], cause: str, title: str, advice: str
) -> None:
    found = card(seen(ended(**({"starts": (MAIN,), "importer": MAIN, "line": 3, "entry": 0} | fields))))
    assert (found.cause, found.severity) == (cause, Severity.WARNING)
    assert found.title.endswith(title)
    assert found.fix is not None
    assert advice in found.fix.advice
    assert fields["kind"] != "no name" or "a release of Python" in found.why


def test_what_a_namesake_lacks_is_cured_by_the_project_that_is_meant() -> None:
    its = ended(starts=("docx", MAIN), importer=f"{SITE}/docx.py", line=30, wanted="exceptions")
    found = card(seen(its))
    assert found.severity == Severity.WARNING
    assert found.fix is not None
    assert "python-docx" in found.fix.advice


def test_code_of_a_newer_compiler_asks_for_a_newer_grpc() -> None:
    its = {"importer": f"{SITE}/health/a_pb2_grpc.py", "kind": "refused", "wanted": "grpc", "owner": "grpcio 1.60.1"}
    found = card(seen(ended(starts=(MAIN,), **its)))
    assert found.remedy == InstallPackages(prefix=PREFIX, install=("grpcio>1.60.1",))
