"""Requirements that are not met, against what ``pip check`` says of the same environment; who changes, and in how many findings."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.model.facts import Distribution, FoundModule, ImportSearch, Machine, SearchEntry, Snapshot
from core.model.findings import Finding
from core.model.remedies import InstallPackages, SetForEnvironments
from core.model.steps import Severity
from core.probes.python.environment import describe_environment
from core.probes.python.installed.distributions import ANCHORS, is_relevant
from core.probes.sysroot import Sysroot
from core.rules.frameworks.environment_view import environment_views, unmet_requirements
from core.rules.frameworks.requirements import broken_requirements, numpy_abi
from core.rules.wording import NOTE
from tests.machines import PREFIX, SITE, python, wheel_machine
from tests.probes.test_modules import environment

PIP = subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True, check=False).returncode == 0
NAMES = ("torch", "torchvision", "numpy", "triton", "pandas", "Transformers", "protobuf", "jax_lib", "accelerate")
SPECIFIERS = ("", "<2", ">=2", "==1.0", "!=1.0", "~=1.0", ">=1,<3", "==2.*")
MARKERS = ("", '; python_version >= "3"', '; python_version < "3"', '; extra == "gpu"', '; sys_platform == "linux"')


def lay_out(site: Path, dice: random.Random) -> None:
    """Record distributions with requirements of every kind."""
    for name in dice.sample(NAMES, k=dice.randrange(3, len(NAMES))):
        wishes = [
            f"Requires-Dist: {dice.choice(NAMES)}{dice.choice(SPECIFIERS)}{dice.choice(MARKERS)}"
            for _n in range(dice.randrange(4))
        ]
        info = site / f"{name}-{dice.choice(('1.0', '2.0', '2.1+cu128'))}.dist-info"
        info.mkdir(parents=True)
        version = info.name.removesuffix(".dist-info").partition("-")[2]
        (info / "METADATA").write_text(
            "\n".join([f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}", *wishes, "", "text"])
        )


def pip_check(site: Path) -> set[tuple[str, str]]:
    """Return who requires what in vain, by ``pip check`` itself."""
    done = subprocess.run(
        [sys.executable, "-S", "-c", "import sys; sys.path[:0] = sys.argv[1:3]; from pip._internal.cli.main import main; sys.exit(main(['check', '--disable-pip-version-check']))",
         str(site), str(Path(__import__("pip").__file__).parent.parent)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    line = re.compile(
        r"(\S+) \S+ (?:requires ([\w.-]+), which is not|has requirement ([\w.-]+?)[<>=!~;, ].*, but you have)"
    )
    return {
        (m[1].lower().replace("_", "-"), (m[2] or m[3]).lower().replace("_", "-"))
        for m in map(line.match, done.stdout.splitlines())
        if m
    }


@pytest.mark.skipif(not PIP, reason="this Python has no pip to compare with")
def test_what_is_unmet_is_what_pip_check_says(tmp_path: Path):
    compared = 0
    for seed in range(6):
        root = tmp_path / str(seed)
        executable, site = environment(root, getattr(sys, "_base_executable", sys.executable))
        lay_out(site, random.Random(seed))
        its = describe_environment(
            str(executable.parent.parent), str(executable), {}, Sysroot(system="linux"), every=True
        )
        machine = Machine(system="linux")
        (home,) = environment_views(Snapshot(machine=machine, pythons=(its,)))
        mine = {(u.of.name, u.wanted) for u in unmet_requirements(home) if not u.optional}
        names = {d.name.replace("_", "-").lower() for d in its.distributions}
        said = {
            (of, wanted)
            for of, wanted in pip_check(site)
            if of in names and (is_relevant(of) or ANCHORS.fullmatch(wanted))
        }
        assert mine == said, seed
        compared += len(said)
    assert compared > 5


def environment_with(*distributions: tuple[str, str, tuple[str, ...]]) -> Snapshot:
    """Return a machine whose environment has these distributions and requirements."""
    its = tuple(Distribution(name=n, version=v, location=SITE, pins=w) for n, v, w in distributions)
    return replace(wheel_machine(), pythons=(python(distributions=its),), loads=())


def found(seen: Snapshot) -> list[Finding]:
    return list(broken_requirements(seen))


def test_what_an_extra_requires_is_asked_for_with_its_releases():
    """The name alone is met by what is installed, and an installer does nothing."""
    wish = 'nvidia-cudnn-cu12<10.0,>=9.8; extra == "with-cuda"'
    (told,) = found(environment_with(("jax-cuda12-plugin", "0.7.2", (wish,)), ("nvidia-cudnn-cu12", "9.1.0.70", ())))
    assert isinstance(told.remedy, InstallPackages)
    assert told.remedy.install == ("nvidia-cudnn-cu12<10.0,>=9.8",)


def test_an_upper_bound_alone_is_a_note():
    """PyTorch 2.11 asks for setuptools before 82, and convolves beside 84 (seen on an H200)."""
    torch, newer = ("torch", "2.11.0", ("setuptools<82",)), ("setuptools", "84.2.1", ())
    (told,) = found(environment_with(torch, newer))
    assert (told.id, told.severity) == ("frameworks.requires-setuptools", Severity.NOTE)
    (older,) = found(environment_with(("torch", "2.11.0", ("protobuf>=5,<6",)), ("protobuf", "4.25.0", ())))
    assert older.severity is Severity.WARNING


def test_the_laggards_change_and_the_framework_stays():
    (told,) = found(
        environment_with(
            ("torch", "2.8.0+cu128", ()),
            ("torchvision", "0.21.0", ("torch==2.6.0",)),
            ("torchaudio", "2.6.0", ("torch==2.6.0",)),
        )
    )
    assert (told.id, told.severity, told.cause) == ("frameworks.requires-torch", Severity.WARNING, "requirement_broken")
    assert told.fix is not None
    assert "--upgrade torchvision torchaudio torch==2.8.0" in told.fix.advice
    assert "torch==2.6.0" not in told.fix.advice
    assert len([e for e in told.evidence if e.label == "Required"]) == 2


def test_what_a_framework_minds_changes_to_what_all_frameworks_take():
    (told,) = found(
        environment_with(
            ("tensorflow", "2.17.0", ("numpy<2.0.0,>=1.26.0",)),
            ("numpy", "2.2.6", ()),
            ("pandas", "2.2.2", ("numpy>=1.26.0",)),
        )
    )
    assert (told.id, told.severity) == ("frameworks.requires-numpy", Severity.WARNING)
    assert told.fix is not None
    assert "numpy<2.0.0,>=1.26.0" in told.fix.advice.replace("'", "").replace('"', "")


def test_what_no_framework_minds_leaves_numpy_alone():
    (told,) = found(
        environment_with(("torch", "2.8.0", ()), ("numpy", "2.2.6", ()), ("pandas", "2.1.0", ("numpy<2,>=1.26.0",)))
    )
    assert told.severity is Severity.NOTE
    assert told.fix is not None
    assert "--upgrade pandas numpy==2.2.6" in told.fix.advice


def test_what_a_framework_requires_and_nobody_brings():
    (told,) = found(
        environment_with(
            (
                "torch",
                "2.8.0",
                ("typing-extensions>=4.10", "sympy>=1.13.3", "triton==3.4.0; platform_system == 'Linux'"),
            )
        )
    )
    assert (told.id, told.severity) == ("frameworks.lacks-torch", Severity.ERROR)
    assert "typing-extensions" in told.title
    assert "triton" in told.title
    conda = environment_with(("torch", "2.8.0", ("typing-extensions>=4.10",)))
    assert conda.pythons
    assert found(replace(conda, pythons=(replace(conda.pythons[0], kind="conda"),))) == []


@pytest.mark.parametrize(
    ("asker", "wanted", "severity"),
    [("transformers", "numpy", Severity.ERROR), ("torch", "networkx", Severity.NOTE)],
)
def test_a_record_that_is_gone_stops_what_asks_for_the_version(asker: str, wanted: str, severity: Severity):
    machine = environment_with((asker, "2.6.0", (f"{wanted}>=1.17",)))
    search = ImportSearch(prefix=PREFIX, python="3.11", unrecorded=((wanted, f"{SITE}/{wanted}/__init__.py"),))
    (told,) = found(replace(machine, imports=(search,)))
    assert (told.id, told.severity, told.cause) == (
        f"frameworks.unrecorded-{wanted}",
        severity,
        "installation_interrupted",
    )
    assert isinstance(told.remedy, InstallPackages)
    assert told.remedy.install == (f"{wanted}>=1.17",)


def test_many_notes_about_nvidias_packages_are_one():
    wishes = ("nvidia-cublas-cu12==12.4.5.8", "nvidia-cufft-cu12==11.2.1.3", "nvidia-curand-cu12==10.3.5.147")
    newer = (
        ("nvidia-cublas-cu12", "12.8.4.1", ()),
        ("nvidia-cufft-cu12", "11.3.3.83", ()),
        ("nvidia-curand-cu12", "10.3.9.90", ()),
    )
    (told,) = found(environment_with(("torch", "2.6.0", wishes), *newer))
    assert (told.id, told.severity) == ("frameworks.requires-nvidia", Severity.NOTE)


def test_of_two_with_one_name_the_first_on_the_path_counts():
    seen = environment_with(
        ("torch", "2.6.0", ()),
        ("torch", "2.5.0", ("numpy<2",)),
        ("numpy", "2.2.6", ()),
        ("torchvision", "0.21.0", ("torch==2.6.0",)),
    )
    assert found(seen) == []


@pytest.mark.parametrize(
    ("whole", "title", "remedy"),
    [
        (True, "Remove the second installation from the user's packages", SetForEnvironments),
        (False, "Rename the record of numpy 1.26.4 in /home/ada/.local/lib/python3.11/site-packages", type(None)),
    ],
)
def test_a_whole_installation_that_hides_the_right_one_is_left_out_and_a_record_alone_renamed(
    whole: bool, title: str, remedy: type
):
    user = "/home/ada/.local/lib/python3.11/site-packages"
    its = (
        Distribution(name="numpy", version="1.26.4", location=user),
        Distribution(name="numpy", version="1.24.4", location=SITE),
        Distribution(name="numba", version="0.57.1", location=SITE, pins=("numpy<1.25,>=1.21",)),
    )
    entries = (SearchEntry(path=user, origin="user site"), SearchEntry(path=SITE, origin="site-packages"))
    path = f"{user if whole else SITE}/numpy/__init__.py"
    module = FoundModule(
        name="numpy", kind="package", path=path, entry=int(not whole), owner="numpy 1.26.4" if whole else "numpy 1.24.4"
    )
    search = ImportSearch(prefix=PREFIX, python="3.11", entries=entries, modules=(module,))
    seen = replace(environment_with(), pythons=(python(distributions=its),), imports=(search,))
    (told,) = found(seen)
    assert told.fix is not None
    assert told.fix.title == title
    assert isinstance(told.remedy, remedy)


@pytest.mark.parametrize(
    ("name", "version", "numpy", "severity"),
    [
        ("torch", "2.2.2", "2.2.6", Severity.WARNING),
        ("torch", "2.2.2", "1.26.4", None),
        ("torch", "2.3.0", "2.2.6", None),
        ("onnxruntime-gpu", "1.18.1", "2.0.0", Severity.ERROR),
        ("pandas", "2.2.1", "2.0.0", Severity.NOTE),
        ("opencv-python-headless", "4.9.0.80", "2.0.0", Severity.NOTE),
        ("opencv-python-headless", "4.10.0.84", "2.0.0", None),
    ],
)
def test_extensions_for_numpy_1_beside_numpy_2(name: str, version: str, numpy: str, severity: Severity | None):
    told = list(numpy_abi(environment_with((name, version, ()), ("numpy", numpy, ()))))
    assert [f.severity for f in told] == ([] if severity is None else [severity])


def test_what_metadata_says_is_told_once():
    seen = environment_with(("tensorflow", "2.17.0", ("numpy<2.0.0,>=1.26.0",)), ("numpy", "2.2.6", ()))
    assert list(numpy_abi(seen)) == []
    assert len(found(seen)) == 1


def test_what_stops_no_import_is_a_warning():
    (told,) = found(environment_with(("torch", "2.8.0", ("triton==3.4.0; platform_system == 'Linux'",))))
    assert (told.id, told.severity) == ("frameworks.lacks-torch", Severity.WARNING)


@pytest.mark.parametrize(
    ("wish", "installed", "severity"),
    [
        ("jaxlib<=0.6.2,>=0.6.2", ("jaxlib", "0.7.2"), Severity.ERROR),
        ("jax-cuda12-plugin<=0.6.2,>=0.6.2; extra == 'cuda12'", ("jax-cuda12-plugin", "0.6.1"), Severity.ERROR),
        ("opt-einsum>=3", ("opt-einsum", "2.0"), Severity.WARNING),
    ],
)
def test_what_a_framework_compares_at_its_start_is_loud(wish: str, installed: tuple[str, str], severity: Severity):
    told = found(environment_with(("jax", "0.6.2", (wish,)), (*installed, ())))
    assert [t.severity for t in told] == [severity]


@pytest.mark.parametrize(
    ("of", "wish", "name", "version", "loud"),
    [
        ("pydantic", "pydantic-core==2.33.2", "pydantic-core", "2.27.2", True),
        ("pydantic", "pydantic-core>=2.33", "pydantic-core", "2.27.2", False),
        ("pydantic", "other-core==2.33.2", "other-core", "2.27.2", False),
        (
            "jax-cuda12-plugin",
            'nvidia-cudnn-cu12<10.0,>=9.8; extra == "with-cuda"',
            "nvidia-cudnn-cu12",
            "9.1.0.70",
            True,
        ),
        (
            "jax-cuda12-plugin",
            'nvidia-cudnn-cu12<10.0,>=9.8; extra == "with-cuda"',
            "nvidia-cudnn-cu12",
            "9.12.0.46",
            False,
        ),
    ],
)
def test_a_part_of_a_package_and_a_library_that_it_compares(of: str, wish: str, name: str, version: str, loud: bool):
    seen = environment_with((of, "1.0", (wish,)), (name, version, ()))
    assert [f.severity > NOTE for f in found(seen) if f.severity > NOTE] == ([True] if loud else [])


@pytest.mark.parametrize(("own", "cause"), [("4.51.3", "module_shadowed"), ("4.30.0", "requirement_broken")])
def test_a_package_whose_requirement_is_broken_and_that_hides_one_whose_is_not(own: str, cause: str):
    """A folder of PYTHONPATH has an older release, which checks what it requires; the environment's own would work."""
    folder = "/home/ada/src/patched"
    bounds = {"4.51.3": "tokenizers<0.22,>=0.21", "4.30.0": "tokenizers<0.14,>=0.11"}
    its = (
        Distribution(name="transformers", version="4.38.2", location=folder, pins=("tokenizers<0.19,>=0.14",)),
        Distribution(name="transformers", version=own, location=SITE, pins=(bounds[own],)),
        Distribution(name="tokenizers", version="0.21.1", location=SITE),
    )
    entries = (SearchEntry(path=folder, origin="PYTHONPATH"), SearchEntry(path=SITE, origin="site-packages"))
    module = FoundModule(
        name="transformers",
        kind="package",
        path=f"{folder}/transformers/__init__.py",
        entry=0,
        owner="transformers 4.38.2",
    )
    search = ImportSearch(prefix=PREFIX, python="3.11", entries=entries, modules=(module,))
    (told,) = found(replace(environment_with(), pythons=(python(distributions=its),), imports=(search,)))
    assert told.cause == cause
    assert (told.subject == folder) is (cause == "module_shadowed")
    assert (told.remedy is not None and "TakeOut" in type(told.remedy).__name__) is (cause == "module_shadowed")
