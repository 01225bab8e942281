"""Rules about Python's own search: what stands in the way, what is for another Python, what was moved or left behind."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from core.model.facts import (
    Distribution,
    EndedImport,
    EnvironmentFault,
    FoundModule,
    FrameworkBuild,
    Frameworks,
    ImportSearch,
    PythonEnvironment,
    Remains,
    SearchEntry,
    Snapshot,
    Unexamined,
)
from core.model.findings import Finding
from core.model.remedies import (
    GiveOtherName,
    InstallPackages,
    Place,
    Remedy,
    SetForEnvironments,
    TakeOut,
    TakeOutLine,
    Unset,
)
from core.model.steps import Severity
from core.rules.frameworks import broken, imports
from core.rules.frameworks.packages import duplicate_packages
from tests.machines import PREFIX, SITE, python, wheel_machine

RULES = (*imports.RULES, *broken.RULES)
TORCH = f"{SITE}/torch/__init__.py"
ENTRIES = (
    SearchEntry(path="/home/ada/work", origin="start"),
    SearchEntry(path="/opt/tools", origin="PYTHONPATH", source="PYTHONPATH"),
    SearchEntry(path="/usr/lib/python3.11", origin="standard library"),
    SearchEntry(path="/home/ada/.local/lib/python3.11/site-packages", origin="user site"),
    SearchEntry(path=SITE, origin="site-packages"),
    SearchEntry(path="/srv/lib", origin="pth", source=f"{SITE}/a.pth", line=3),
)


def seen(*modules: FoundModule, its: PythonEnvironment | None = None, **fields: Any) -> Snapshot:
    """Return a healthy machine whose environment's search is this."""
    search = ImportSearch(
        prefix=PREFIX, python="3.11", folder="/home/ada/work", entries=ENTRIES, modules=modules, **fields
    )
    return replace(wheel_machine(), imports=(search,), pythons=(its or python(),))


def found(machine: Snapshot) -> list[Finding]:
    return [f for rule in RULES for f in rule(machine)]


def torch(**fields: Any) -> FoundModule:
    known: dict[str, Any] = {"name": "torch", "kind": "package", "path": TORCH, "entry": 4, "owner": "torch 2.6.0"}
    return FoundModule(**(known | fields))


def in_the_way(entry: int, **fields: Any) -> FoundModule:
    path = f"{ENTRIES[entry].path}/torch.py"
    return torch(kind="module", path=path, entry=entry, owner="", hidden=(TORCH,), hidden_owner="torch 2.6.0", **fields)


def test_a_healthy_environment_is_quiet():
    assert found(seen(torch())) == []
    assert found(wheel_machine()) == []


@pytest.mark.parametrize(("entry", "names"), [(0, "/home/ada/work"), (1, "PYTHONPATH"), (5, f"{SITE}/a.pth:3")])
def test_a_file_of_the_frameworks_name_comes_first(entry: int, names: str):
    (told,) = found(seen(in_the_way(entry)))
    assert (told.severity, told.cause, told.subject) == (
        Severity.ERROR,
        "module_shadowed",
        f"{ENTRIES[entry].path}/torch.py",
    )
    assert names in told.why + " ".join(e.source for e in told.evidence)
    assert told.consumers == (f"python/torch:{PREFIX}",)
    path = f"{ENTRIES[entry].path}/torch.py"
    out = TakeOutLine(file=f"{SITE}/a.pth", line=3, folder="/srv/lib")
    assert told.remedy == (out if entry == 5 else GiveOtherName(files=((path, "my_torch.py"),)))


@pytest.mark.parametrize(
    ("mine", "its", "gpu", "told"),
    [("", "12", True, True), ("", "12", False, False), ("12", "12", True, False), ("", "", True, False)],
    ids=["for the processor", "no GPU", "both for the GPU", "both for the processor"],
)
def test_a_build_for_the_processor_among_the_users_packages_hides_one_for_the_gpu(
    mine: str, its: str, gpu: bool, told: bool
):
    user = ENTRIES[3].path
    way = FoundModule(
        name="onnxruntime", kind="package", path=f"{user}/onnxruntime/__init__.py", entry=3, owner="onnxruntime 1.20.1",
        hidden=(f"{SITE}/onnxruntime/__init__.py",), hidden_owner="onnxruntime-gpu 1.20.2",
    )  # fmt: skip
    builds = tuple(
        FrameworkBuild(prefix=PREFIX, distribution=name, version=version, cuda=cuda)
        for name, version, cuda in (("onnxruntime", "1.20.1", mine), ("onnxruntime-gpu", "1.20.2", its))
    )
    machine = replace(seen(way, its=python(kind="other")), frameworks=Frameworks(builds=builds))
    machine = machine if gpu else replace(machine, driver=None)
    its_own = [f for f in found(machine) if f.cause == "module_shadowed" and f.severity > Severity.NOTE]
    assert [f.id for f in its_own] == ["frameworks.cpu-build-hides-onnxruntime"] * told
    assert all(user in f.title + " ".join(e.value for e in f.evidence) for f in its_own)


ENDS = EndedImport(
    starts=("torch",), importer="/home/ada/work/torch/__init__.py", line=3, wanted="torch.parts", kind="absent"
)


@pytest.mark.parametrize(
    ("alike", "ended", "severity"),
    [(True, (), Severity.NOTE), (True, (ENDS,), Severity.ERROR), (False, (), Severity.ERROR)],
)
def test_a_clone_is_a_fault_where_its_import_ends(alike: bool, ended: tuple[EndedImport, ...], severity: Severity):
    told = [f for f in found(seen(in_the_way(0, alike=alike), ended=ended)) if f.id.endswith("shadowed-torch")]
    assert [f.severity for f in told] == [severity]


@pytest.mark.parametrize(("wanted_by", "severity"), [(("--python",), Severity.ERROR), ((), Severity.NOTE)])
def test_a_clone_is_no_healthy_one_where_time_ran_out(wanted_by: tuple[str, ...], severity: Severity):
    machine = seen(in_the_way(0, alike=True))
    gap = Unexamined(path=PREFIX, what="imports", seconds=3.0, wanted_by=wanted_by)
    assert [f.severity for f in found(replace(machine, unexamined=(gap,)))] == [severity]


def test_the_source_of_a_project_is_left_where_it_is():
    (told,) = found(seen(in_the_way(0, project="/home/ada/work/setup.py")))
    assert told.remedy is None
    assert told.fix is not None
    assert "setup.py" in told.fix.advice


def test_an_entry_of_pythonpath_goes_that_leads_to_nothing_else_or_to_a_project():
    (sole,) = found(seen(in_the_way(1, alone=True)))
    assert sole.remedy == GiveOtherName(files=(("/opt/tools/torch.py", "my_torch.py"),), entry="/opt/tools")
    (of_a_project,) = found(seen(in_the_way(1, project="/opt/tools/setup.py")))
    assert of_a_project.remedy == TakeOut(variable="PYTHONPATH", places=(Place(folder="/opt/tools", prefix=PREFIX),))
    (started_there,) = found(seen(in_the_way(0, alone=True)))
    assert started_there.remedy == GiveOtherName(files=(("/home/ada/work/torch.py", "my_torch.py"),))


def test_a_package_in_the_way_is_put_aside_as_a_whole():
    path = "/home/ada/work/torch/__init__.py"
    way = torch(path=path, entry=0, owner="", hidden=(TORCH,), hidden_owner="torch 2.6.0")
    (told,) = found(seen(way))
    assert told.remedy == GiveOtherName(files=(("/home/ada/work/torch", ""),))


def test_a_line_that_an_installation_wrote_is_left():
    entries = (*ENTRIES[:5], replace(ENTRIES[5], source=f"{SITE}/__editable__.mine-1.0.pth"))
    search = ImportSearch(prefix=PREFIX, python="3.11", entries=entries, modules=(in_the_way(5),))
    (told,) = found(replace(wheel_machine(), imports=(search,), pythons=(python(),)))
    assert told.remedy is None


def test_the_same_name_where_no_framework_is_hidden_is_the_persons_own():
    assert found(seen(torch(kind="module", path="/home/ada/work/torch.py", entry=0, owner=""))) == []


@pytest.mark.parametrize(
    ("kind", "entry", "owner", "severity"),
    [
        ("venv", 1, "torch 2.5.0", Severity.WARNING),
        ("venv", 1, "torch 2.6.0", None),
        ("conda", 3, "torch 2.5.0", Severity.WARNING),
        ("system", 3, "torch 2.5.0", Severity.NOTE),
        ("venv", 4, "torch 2.5.0", None),
    ],
)
def test_another_installation_comes_first(kind: Any, entry: int, owner: str, severity: Severity | None):
    second = torch(
        entry=entry,
        path=f"{ENTRIES[entry].path}/torch/__init__.py",
        owner=owner,
        hidden=(TORCH,),
        hidden_owner="torch 2.6.0",
    )
    told = found(seen(second, its=python(kind=kind)))
    assert [f.severity for f in told] == ([] if severity is None else [severity])
    for one in told if entry == 3 else ():
        assert one.fix  # an environment's pip does not remove what lies outside it
        assert ("pip uninstall torch" in one.fix.advice) is (kind == "system")


@pytest.mark.parametrize(
    ("entry", "remedy"),
    [
        (1, TakeOut(variable="PYTHONPATH", places=(Place(folder="/opt/tools", prefix=PREFIX),))),
        (3, SetForEnvironments(variable="PYTHONNOUSERSITE", value="1", prefixes=(PREFIX,))),
        (5, TakeOutLine(file=f"{SITE}/a.pth", line=3, folder="/srv/lib")),
    ],
)
def test_another_installation_is_led_around(entry: int, remedy: Remedy):
    path = f"{ENTRIES[entry].path}/torch/__init__.py"
    second = torch(entry=entry, path=path, owner="torch 2.5.0", hidden=(TORCH,), hidden_owner="torch 2.6.0")
    (told,) = found(seen(second))
    assert told.remedy == remedy


@pytest.mark.parametrize(
    ("source", "unlike", "severity"),
    [
        ("/w/tests/test_model.py", False, Severity.NOTE),
        ("/w/tests/conftest.py", False, Severity.NOTE),
        ("/w/tests/test_model.py", True, Severity.ERROR),
        (f"{SITE}/tests.pth", False, Severity.ERROR),
    ],
)
def test_a_stand_in_beside_tests_is_there_on_purpose(source: str, unlike: bool, severity: Severity):
    entry = SearchEntry(path="/w/tests", origin="pth", source=source, line=1)
    fake = torch(
        kind="module",
        path="/w/tests/torch.py",
        entry=0,
        owner="",
        hidden=(TORCH,),
        hidden_owner="torch 2.6.0",
        unlike=unlike,
    )
    machine = seen(fake)
    search = replace(machine.imports[0], entries=(entry, *ENTRIES[1:]))
    assert [f.severity for f in found(replace(machine, imports=(search,)))] == [severity]


def test_a_whole_copy_in_the_way_does_no_harm():
    assert found(seen(in_the_way(0, whole=True))) == []
    assert [f.severity for f in found(seen(in_the_way(0)))] == [Severity.ERROR]


def test_the_users_numpy_over_the_systems_is_an_everyday_thing():
    numpy = FoundModule(
        name="numpy",
        kind="package",
        path="/x/numpy/__init__.py",
        entry=3,
        owner="numpy 2.1.0",
        hidden=("/y",),
        hidden_owner="numpy 1.24.2",
    )
    assert found(seen(numpy, its=python(kind="system"))) == []


@pytest.mark.parametrize(
    ("owner", "hidden", "severity"), [("2.1.0", "1.26.4", Severity.WARNING), ("1.26.4", "2.2.6", Severity.NOTE)]
)
def test_another_numpy_before_the_environments_matters_where_it_is_newer(owner: str, hidden: str, severity: Severity):
    numpy = FoundModule(
        name="numpy", kind="package", path="/opt/tools/numpy/__init__.py", entry=1, owner=f"numpy {owner}",
        hidden=(f"{SITE}/numpy/__init__.py",), hidden_owner=f"numpy {hidden}",
    )  # fmt: skip
    assert [f.severity for f in found(seen(numpy))] == [severity]


def test_extensions_for_another_python():
    (told,) = found(seen(torch(foreign=(f"{SITE}/torch/_C.cpython-39-x86_64-linux-gnu.so",))))
    assert (told.severity, told.cause) == (Severity.ERROR, "package_for_another_python")
    assert told.remedy == InstallPackages(prefix=PREFIX, remove=("torch",), install=("torch==2.6.0",), alone=True)
    (told,) = found(seen(torch(wheel_tags=("cp311-cp311-manylinux_2_28_aarch64",))))
    assert (told.severity, told.cause) == (Severity.WARNING, "package_for_another_python")


@pytest.mark.parametrize(
    ("folder", "title"),
    [
        (f"{SITE}/more", "Reinstall torch 2.6.0"),  # it is the environment's own
        ("/old/site-packages", "Remove the line from python311._pth"),
    ],
)
def test_what_a_pth_file_of_its_own_leads_to_is_not_reinstalled(folder: str, title: str):
    entry = SearchEntry(path=folder, origin="._pth", source="python311._pth", line=1)
    its = torch(foreign=(f"{folder}/torch/_C.cp310-win_amd64.pyd",), entry=0)
    search = ImportSearch(prefix=PREFIX, python="3.11", entries=(entry, *ENTRIES), modules=(its,))
    (told,) = found(replace(wheel_machine(), imports=(search,), pythons=(python(),)))
    assert told.fix is not None
    assert told.fix.title == title


@pytest.mark.parametrize(
    ("folder", "removed"),
    [
        ("/opt/python/lib/python3.10", True),
        (r"C:\Python310\Lib", True),
        (r"C:\tools\python-3.9.1\Lib", True),
        (f"{SITE}/torch", True),  # the inside of an installed package
        ("/home/ada/lib", False),
    ],
)
def test_anothers_library_on_pythonpath_is_taken_off_and_no_file_of_it_renamed(folder: str, removed: bool):
    entries = (replace(ENTRIES[1], path=folder), *ENTRIES[2:])
    hidden = FoundModule(
        name="re", kind="module", path=f"{folder}/re.py", entry=0, hidden=("/usr/lib/python3.11/re.py",), unlike=True
    )
    search = ImportSearch(prefix=PREFIX, python="3.11", entries=entries, modules=(), hidden_standard=(hidden,))
    (told,) = found(replace(wheel_machine(), imports=(search,), pythons=(python(),)))
    taken = TakeOut(variable="PYTHONPATH", places=(Place(folder=folder, prefix=PREFIX),))
    assert (told.remedy == taken) is removed


def test_a_hidden_module_of_python_itself_matters_to_frameworks_only():
    random = FoundModule(
        name="random",
        kind="module",
        path="/home/ada/work/random.py",
        entry=0,
        hidden=("/usr/lib/python3.11/random.py",),
    )
    (told,) = found(seen(torch(), hidden_standard=(random,)))
    assert (told.severity, told.cause, told.subject) == (Severity.WARNING, "module_shadowed", "/home/ada/work")
    assert told.remedy == GiveOtherName(files=(("/home/ada/work/random.py", "my_random.py"),))
    (told,) = found(seen(torch(), hidden_standard=(replace(random, unlike=True),)))
    assert told.severity == Severity.ERROR  # torch's import needs its names
    (told,) = found(seen(torch(), hidden_standard=(replace(random, meant_by=("/home/ada/work/train.py:3",)),)))
    assert told.fix
    assert (told.remedy, told.fix.title) == (None, "Rename random.py")
    assert "/home/ada/work/train.py:3 means this random" in told.fix.advice
    spare = replace(random, name="calendar", path="/home/ada/work/calendar.py", unlike=True)
    (told,) = found(seen(torch(), hidden_standard=(spare,)))
    assert told.severity == Severity.WARNING
    assert found(seen(hidden_standard=(random,), its=python(distributions=()))) == []


FAULTS: list[tuple[EnvironmentFault, Severity]] = [
    (EnvironmentFault(kind="base gone", path="/opt/py/bin", source=f"{PREFIX}/pyvenv.cfg", line=1), Severity.ERROR),
    (
        EnvironmentFault(kind="interpreter gone", path=f"{PREFIX}/bin/python", detail="/opt/py/bin/python3"),
        Severity.ERROR,
    ),
    (EnvironmentFault(kind="upgraded beneath", path=SITE, detail="3.11 3.12"), Severity.ERROR),
    (
        EnvironmentFault(kind="library gone", path=f"{PREFIX}/bin/python", detail="libpython3.11.so.1.0"),
        Severity.ERROR,
    ),
    (EnvironmentFault(kind="no standard library", path="/opt/none", source="PYTHONHOME"), Severity.ERROR),
    (EnvironmentFault(kind="no standard library", path="/opt/none"), Severity.ERROR),
    (EnvironmentFault(kind="import refused", path="/lab/pin.py", detail="torch,jax ImportError: no"), Severity.ERROR),
    (EnvironmentFault(kind="moved", path="/old", source=f"{PREFIX}/bin/activate", line=40), Severity.WARNING),
    (EnvironmentFault(kind="copied", path="/old", source=f"{PREFIX}/bin/activate", line=40), Severity.NOTE),
]


@pytest.mark.parametrize(
    ("source", "takes_out"), [("PYTHONPATH", True), ("/opt/py/lib/python3.10", False), (f"{SITE}/company.pth", False)]
)
def test_the_library_of_another_python(source: str, takes_out: bool):
    fault = EnvironmentFault(kind="another library", path="/opt/py/lib/python3.10", source=source, detail="3.10")
    (told,) = found(seen(faults=(fault,)))
    assert (told.severity, told.cause) == (Severity.ERROR, "module_shadowed")
    assert told.fix is not None
    assert (told.remedy is not None) is takes_out
    assert "3.10" in told.title


@pytest.mark.parametrize(("fault", "severity"), FAULTS)
def test_an_environment_that_no_longer_fits_its_python(fault: EnvironmentFault, severity: Severity):
    (told,) = found(seen(faults=(fault,)))
    assert (told.severity, told.cause) == (severity, "python_environment_broken")
    assert told.fix is not None
    assert (told.remedy == Unset(variable="PYTHONHOME")) is (fault.source == "PYTHONHOME")


@pytest.mark.parametrize(
    ("fault", "severity", "says", "advice"),
    [
        (EnvironmentFault(kind="interpreter gone", path=f"{PREFIX}/Scripts/python.exe"), Severity.ERROR, "has lost its interpreter", "Create a new environment"),
        (EnvironmentFault(kind="line ignored", path="C:\\M\u00fcller", source="x.pth", line=1, detail="C:\\\\M\\xc3\\xbcller"), Severity.WARNING, "Line 1 of x.pth", "Let Python read such files as UTF-8"),
        (EnvironmentFault(kind="line ignored", path="C:\\M\u00fcller", source="x.pth", line=1, detail="'C:\\\\M\\xfcller'"), Severity.WARNING, "Line 1 of x.pth", "Write the plain path"),
    ],
)  # fmt: skip
def test_what_an_environment_on_windows_has_lost(fault: EnvironmentFault, severity: Severity, says: str, advice: str):
    (told,) = found(seen(faults=(fault,)))
    assert told.severity == severity
    assert says in told.title
    assert told.fix is not None
    assert told.fix.title.startswith(advice)


@pytest.mark.parametrize(
    ("active", "names", "severity"),
    [(True, (), Severity.NOTE), (False, (), Severity.WARNING), (True, ("torch",), Severity.WARNING)],
)
def test_a_python_that_nobody_asked_about_is_a_fault_only_where_it_is_the_one_in_use(
    active: bool, names: tuple[str, ...], severity: Severity
):
    installed = tuple(Distribution(name=n, version="2.6.0", location=SITE) for n in names)
    its = python(prefix="/usr", found_by="python3 on PATH", distributions=installed)
    other = python(found_by="VIRTUAL_ENV" if active else "conda")
    ended = EnvironmentFault(kind="ended at its start", path="/home/ada/usercustomize.py", detail="SystemExit: 3")
    machine = replace(seen(), pythons=(other, its), imports=(ImportSearch(prefix="/usr", faults=(ended,)),))
    assert [f.severity for f in found(machine) if f.cause == "python_environment_broken"] == [severity]


@pytest.mark.parametrize(
    ("kind", "modules", "severity"),
    [
        ("renamed", (torch(),), Severity.NOTE),
        ("renamed", (), Severity.ERROR),
        ("no metadata", (torch(),), Severity.WARNING),
        ("no record", (torch(),), Severity.NOTE),
    ],
)
def test_what_an_interrupted_pip_left(kind: Any, modules: tuple[FoundModule, ...], severity: Severity):
    left = Remains(path=f"{SITE}/~orch", kind=kind, distribution="torch")
    (told,) = found(seen(*modules, remains=(left,)))
    assert (told.severity, told.cause) == (severity, "installation_interrupted")
    assert isinstance(told.remedy, InstallPackages) is (severity > Severity.NOTE)


@pytest.mark.parametrize("kind", ["no metadata", "no version"])
@pytest.mark.parametrize(
    ("behind", "severity"), [("", Severity.WARNING), (f"{SITE}/torch-2.6.0.dist-info", Severity.NOTE)]
)
def test_an_older_record_without_a_version_is_a_fault_where_python_finds_it_first(
    behind: str, severity: Severity, kind: Any
):
    left = Remains(path=f"{SITE}/torch-2.4.1.dist-info", kind=kind, distribution="torch", behind=behind)
    both = tuple(Distribution(name="torch", version=v, location=SITE) for v in ("2.4.1", "2.6.0"))
    machine = seen(torch(), remains=(left,), its=python(distributions=both))
    (told,) = found(machine)
    assert (told.severity, told.cause) == (severity, "installation_interrupted")
    if severity > Severity.NOTE:
        assert isinstance(told.remedy, InstallPackages)
        assert (told.remedy.remove, told.remedy.install) == (("torch-2.4.1.dist-info",), ("torch==2.6.0",))
    assert list(duplicate_packages(machine)) == []
    assert [f.cause for f in duplicate_packages(replace(machine, imports=None))] == ["duplicate_framework_packages"]


def test_what_was_left_goes_and_the_same_release_comes_again():
    renamed = Remains(path=f"{SITE}/~orch", kind="renamed", distribution="torch")
    (told,) = found(seen(remains=(renamed,)))
    assert told.remedy == InstallPackages(
        prefix=PREFIX, remove=("~orch", "torch"), install=("torch==2.6.0",), alone=True
    )
    bare = Remains(path=f"{SITE}/torch-2.6.0+cu124.dist-info", kind="no metadata", distribution="torch")
    (told,) = found(seen(torch(), remains=(bare,), its=python(distributions=())))
    assert isinstance(told.remedy, InstallPackages)
    assert told.remedy.remove == ("torch-2.6.0+cu124.dist-info",)
    assert told.remedy.install == ("torch==2.6.0+cu124",)
    assert told.remedy.index.endswith("/cu124")


def test_an_empty_folder_beside_remains_is_the_fault():
    left = Remains(path=f"{SITE}/~orch", kind="renamed", distribution="torch")
    empty = torch(kind="namespace", path=f"{SITE}/torch")
    assert Severity.ERROR in [f.severity for f in found(seen(empty, remains=(left,)))]
    assert found(seen(empty)) == []  # the rule about records tells what is missing


def test_nvidias_namespace_is_hidden_by_a_file():
    nvidia = FoundModule(
        name="nvidia", kind="module", path="/home/ada/work/nvidia.py", entry=0, hidden=(f"{SITE}/nvidia",)
    )
    (told,) = found(seen(nvidia, its=python(distributions=(Distribution(name="jax", version="0.7.2", location=SITE),))))
    assert (told.severity, told.cause) == (Severity.WARNING, "module_shadowed")
