"""Rules about copies of cuDNN as files: what nothing loads, what compilers would get, a stale cache."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from core.model.facts import CudnnCopy, Distribution, LibraryFile, ProbeError, Snapshot
from core.model.remedies import InstallPackages, PutPackageBack
from core.model.steps import Severity
from core.rules.consumer_loads import consumer_loads
from core.rules.cudnn import copies
from core.rules.cudnn.files import file_faults, package_remedy, release_of
from core.rules.cudnn.not_found import install_cudnn
from core.rules.wording import Cure
from tests import machines as m

WARNING, NOTE = Severity.WARNING, Severity.NOTE

LATE = ProbeError(probe="closures", kind="time-out", message="It gave no answer in time.")


def stray(**fields: object) -> Snapshot:
    """Return a machine in order with a second copy that nothing loads."""
    whole = m.wheel_machine()
    copy = replace(m.system_copy("9.10.2", "/opt/old"), **fields)
    return replace(whole, cudnn=(*(whole.cudnn or ()), copy))


def with_state(state: str) -> tuple[LibraryFile, ...]:
    """Return the files of a copy, all in one state."""
    return tuple(replace(f, state=state) for f in m.system_copy("9.10.2", "/opt/old").files)


LINK = LibraryFile(
    path=f"{m.SYSTEM}/libcudnn.so", name="libcudnn.so", real_path="/opt/libcudnn.so.8.9.7", version="8.9.7"
)

TABLE: dict[str, tuple[Callable[[], Snapshot], str, Severity]] = {
    "damaged, and nothing loads it": (
        lambda: stray(files=with_state("truncated")),
        "corrupt_or_truncated_file",
        WARNING,
    ),
    "incomplete, and nothing loads it": (
        lambda: stray(missing=("libcudnn_ext.so.9",), missing_source="libcudnn_graph.so.9"),
        "cudnn_sublibrary_missing",
        WARNING,
    ),
    "header of a newer release": (
        lambda: m.with_copy(m.system_machine(), header_version="9.19.0", header="/usr/include/cudnn_version.h"),
        "cudnn_minor_too_old",
        WARNING,
    ),
    "header of an older release": (lambda: m.with_copy(m.system_machine(), header_version="9.1.0"), "", NOTE),
    "header of another major": (lambda: m.with_copy(m.system_machine(), header_version="8.9.7"), "", NOTE),
    "link for compilers to another release": (lambda: m.with_copy(m.system_machine(), links=(LINK,)), "", NOTE),
    "stale cache, and the copy is found all the same": (
        lambda: m.with_copy(m.system_machine(), cached_elsewhere="/opt/gone/libcudnn.so.9"),
        "cudnn_not_on_search_path",
        NOTE,
    ),
    "stale cache, and nobody finds the copy": (
        lambda: stray(cached_elsewhere="/opt/gone/libcudnn.so.9"),
        "cudnn_not_on_search_path",
        WARNING,
    ),
    "a main library alone": (
        lambda: stray(files=with_state("good")[:1], missing=("libcudnn_graph.so.9",), origin="framework"),
        "",
        NOTE,
    ),
    "a main library alone, renamed by its packager": (
        lambda: stray(
            files=(replace(with_state("good")[0], name="libcudnn-f0ff4753.so.9.1.0"),),
            missing=("libcudnn_graph.so.9",),
            origin="framework",
        ),
        "",
        NOTE,
    ),
}


@pytest.mark.parametrize("name", TABLE)
def test_one_change_has_one_cause(name: str) -> None:
    build, cause, severity = TABLE[name]
    found = [(f.cause, f.severity) for rule in copies.RULES for f in rule(build()) if f.severity >= NOTE]
    assert found == [(cause, severity)]


@pytest.mark.parametrize(
    ("packages", "severity"),
    [(("torch",), Severity.WARNING), (("numpy", "accelerate"), Severity.NOTE), ((), Severity.WARNING)],
)
def test_no_cudnn_is_no_fault_for_an_environment_without_a_framework(
    packages: tuple[str, ...], severity: Severity
) -> None:
    seen = replace(m.wheel_machine(), cudnn=(), loads=(), frameworks=None, closures=None, programs=None)
    its = tuple(Distribution(name=name, version="1.0") for name in packages)
    (found,) = copies.no_cudnn(replace(seen, pythons=tuple(replace(p, distributions=its) for p in seen.pythons or ())))
    assert found.severity is severity


@pytest.mark.parametrize(("errors", "severity"), [((), Severity.WARNING), ((LATE,), Severity.NOTE)])
def test_no_cudnn_is_no_fault_where_it_is_not_known_who_asks_for_one(
    errors: tuple[ProbeError, ...], severity: Severity
) -> None:
    seen = replace(m.wheel_machine(), cudnn=(), loads=(), frameworks=None, closures=None, programs=None, errors=errors)
    (found,) = copies.no_cudnn(seen)
    assert found.severity is severity


EXTRA = 'nvidia-cudnn-cu{cuda}<10.0,>=9.3.0.75; extra == "and-cuda"'


@pytest.mark.parametrize(
    ("requires", "wanted"),
    [
        ((EXTRA.format(cuda=12),), ("nvidia-cudnn-cu12<10.0,>=9.3.0.75",)),
        ((EXTRA.format(cuda=12), EXTRA.format(cuda=13)), ("nvidia-cudnn-cu12<10.0,>=9.3.0.75",)),  # cuBLAS 12 is there
        (("nvidia-cudnn-cu11<9,>=8.6",), None),  # another major release than the one that is opened
        ((), None),
    ],
)
def test_a_cudnn_that_only_an_extra_asks_for_is_installed_as_that_extra_says(
    requires: tuple[str, ...], wanted: tuple[str, ...] | None
) -> None:
    seen = m.wheel_machine()
    packages = (
        Distribution(name="torch", version="2.6.0", requires=requires),
        Distribution(name="nvidia-cublas-cu12", version="12.4.5.8"),
    )
    seen = replace(seen, cudnn=(), pythons=(replace(m.python(), distributions=packages),))
    fix = install_cudnn(next(iter(consumer_loads(seen))))
    its = fix.its if isinstance(fix, Cure) else None
    assert (its.install if isinstance(its, InstallPackages) else None) == wanted


def test_a_whole_copy_that_nothing_loads_is_silent() -> None:
    assert [f for rule in copies.RULES for f in rule(stray())] == []


def odd_ones() -> tuple[LibraryFile, ...]:
    """Files of which all but one are cut short, with a version of their own."""
    first, *rest = m.cudnn().files
    return (first, *(replace(f, state="truncated", version="9.9.9") for f in rest))


@pytest.mark.parametrize(
    ("copy", "release"),
    [
        (m.cudnn(), "9.1.0"),
        (replace(m.cudnn(), version="9.10.2"), "9.1.0"),
        (replace(m.cudnn(), owner=""), "9.1.0"),
        (replace(m.cudnn(), owner="nvidia-cudnn-cu11 2022.5.19"), "9.1.0"),
        (replace(m.cudnn(), owner="", files=()), "9.1.0"),
        (replace(m.cudnn(), owner="", files=(), version=None), None),
        (replace(m.cudnn(), owner="", files=odd_ones()), "9.1.0"),
    ],
)
def test_the_release_that_a_copy_is_meant_to_be(copy: CudnnCopy, release: str | None) -> None:
    assert release_of(copy) == release


def test_the_odd_file_is_named_not_the_others() -> None:
    """With another release's graph library the copy's own version is that of the graph; the package's counts."""
    snapshot = m.with_file(m.wheel_machine(), "graph", version="9.10.2", record="size differs")
    copy = replace((snapshot.cudnn or ())[0], version="9.10.2")
    titles = [f.title for f in file_faults(snapshot, copy)]
    assert titles == [
        "cuDNN's folder holds files of different releases: libcudnn_graph.so.9 does not belong to the others."
    ]


@pytest.mark.parametrize(
    ("fields", "file", "back"),
    [
        ({}, {}, True),
        ({}, {"state": "not a library", "size": 700}, True),  # a page of a web site: it can be kept for the way back
        ({}, {"state": "not a library", "size": 0}, False),  # a pipe cannot
        ({}, {"state": "empty", "size": 0}, True),
        ({"origin": "folder"}, {}, False),
        ({"owner": ""}, {}, False),
        ({"environment": ""}, {}, False),
    ],
)
def test_a_package_is_put_back_where_what_it_replaces_can_be_kept(fields: dict, file: dict, back: bool) -> None:
    whole = m.cudnn()
    first, *others = whole.files
    copy = replace(whole, files=(replace(first, **file), *others), **fields)
    wheel = PutPackageBack(prefix=m.PREFIX, package="nvidia-cudnn-cu12", version="9.1.0.70")
    assert package_remedy(copy) == (wheel if back else None)
