"""Machines on which imports find another file, end, or get a module that does not load."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from core.model.facts import (
    Distribution,
    FoundModule,
    ImportSearch,
    PythonEnvironment,
    Remains,
    Snapshot,
)
from tests import machines as m
from tests.rules import (
    test_ended_imports,
    test_frameworks_imports,
    test_unfit_extensions,
)
from tests.rules.test_ended_imports import OTHERS, ended
from tests.rules.test_frameworks_imports import ENTRIES, in_the_way, torch

SITE = m.SITE

RANDOM = FoundModule(
    name="random", kind="module", path="/home/ada/work/random.py", entry=0, hidden=("/usr/lib/python3.11/random.py",)
)


def second(entry: int, owner: str = "torch 2.5.0", **fields: Any) -> FoundModule:
    """Return another installation of torch that comes first."""
    path = f"{ENTRIES[entry].path}/torch/__init__.py"
    known: dict[str, Any] = {"entry": entry, "path": path, "owner": owner, "hidden": (test_frameworks_imports.TORCH,)}
    return torch(**(known | {"hidden_owner": "torch 2.6.0"} | fields))


def found(*modules: FoundModule, its: PythonEnvironment | None = None, **fields: Any) -> Snapshot:
    """Return a machine whose environment's search finds these."""
    return test_frameworks_imports.seen(*modules, its=its, **fields)


def by_line(**fields: Any) -> Snapshot:
    """Return a machine with a second torch, to which a line of a file leads."""
    entries = (*ENTRIES[:5], replace(ENTRIES[5], **fields), ENTRIES[4])
    seen = found(second(5, hidden=(test_frameworks_imports.TORCH,)))
    return replace(seen, imports=tuple(replace(i, entries=entries) for i in seen.imports or ()))


NUMPY = FoundModule(
    name="numpy", kind="module", path="/home/ada/work/numpy.py", entry=0,
    hidden=(f"{SITE}/numpy/__init__.py",), hidden_owner="numpy 2.2.6",
)  # fmt: skip
FOREIGN = torch(foreign=(f"{SITE}/torch/_C.cpython-39-x86_64-linux-gnu.so",))
WINDOWS_ENTRIES = tuple(
    replace(e, path="C:" + e.path.replace("/", "\\"), source=e.source if e.origin != "pth" else r"C:\ml\a.pth")
    for e in ENTRIES
)

IMPORTS: dict[str, Snapshot] = {
    **{f"in the way by {ENTRIES[n].origin}": found(in_the_way(n)) for n in (0, 1, 3, 5)},
    **{f"the source of a project by {ENTRIES[n].origin}": found(in_the_way(n, project=f"{ENTRIES[n].path}/setup.py")) for n in (0, 1, 5)},
    "alone on PYTHONPATH": found(in_the_way(1, alone=True)),
    **{f"a second torch by {ENTRIES[n].origin}": found(second(n)) for n in (0, 1, 3, 4, 5)},
    **{
        f"a second torch by {words}": by_line(**fields)
        for words, fields in (
            ("a line of an unknown number", {"line": 0}),
            ("a line of another kind of file", {"source": f"{SITE}/_a_finder.py"}),
            ("a line of an installer's file", {"source": f"{SITE}/__editable__.torch.pth"}),
        )
    },
    "a second torch of the same release": found(second(1, "torch 2.6.0")),
    "a user's torch over the system's": found(second(3), its=m.python(kind="system")),
    "a user's numpy over the system's": found(
        FoundModule(name="numpy", kind="package", path="/x/numpy/__init__.py", entry=3, owner="numpy 2.1.0", hidden=("/y",), hidden_owner="numpy 1.24.2"),
        its=m.python(kind="system"),
    ),
    "a numpy of another major on PYTHONPATH": found(
        FoundModule(name="numpy", kind="package", path="/opt/tools/numpy/__init__.py", entry=1, owner="numpy 2.1.0", hidden=(f"{SITE}/numpy/__init__.py",), hidden_owner="numpy 1.26.4")
    ),
    "a numpy of another release on PYTHONPATH": found(
        FoundModule(name="numpy", kind="package", path="/opt/tools/numpy/__init__.py", entry=1, owner="numpy 1.26.0", hidden=(f"{SITE}/numpy/__init__.py",), hidden_owner="numpy 1.26.4")
    ),
    "for another Python, and then a file in the way": found(second(1, foreign=("/opt/tools/torch/_C.cpython-39.so",)), NUMPY),
    "sound, and then a file in the way": found(torch(), NUMPY),
    "two files in the way": found(in_the_way(0), NUMPY),
    "for another Python in its own place": found(FOREIGN),
    "a wheel's tags for another processor": found(torch(wheel_tags=("cp311-cp311-manylinux_2_28_aarch64",))),
    "a module of Python's own hidden where programs start": found(torch(), hidden_standard=(RANDOM,)),
    "a module of Python's own hidden by PYTHONPATH": found(
        torch(), hidden_standard=(replace(RANDOM, path="/opt/tools/random.py", entry=1, alone=True),)
    ),
    "modules of Python's own hidden in two places": found(
        torch(),
        hidden_standard=(
            replace(RANDOM, name="yaml", path="/home/ada/work/yaml.py"),
            replace(RANDOM, path="/opt/tools/random.py", entry=1),
            RANDOM,
        ),
    ),
    "NVIDIA's namespace hidden": found(
        FoundModule(name="nvidia", kind="module", path="/home/ada/work/nvidia.py", entry=0, hidden=(f"{SITE}/nvidia",)),
        its=m.python(distributions=(Distribution(name="jax", version="0.7.2", location=SITE),)),
    ),
    "an empty folder beside remains": found(
        torch(), torch(kind="namespace", path=f"{SITE}/torch"), remains=(Remains(path=f"{SITE}/~orch", kind="renamed", distribution="torch"),)
    ),
    **{f"remains, {kind}": found(torch(), remains=(Remains(path=f"{SITE}/~orch", kind=kind, distribution="torch"),)) for kind in ("renamed", "no metadata", "no record")},
    "Windows, a second torch by the user": replace(
        m.windows_machine(),
        pythons=(m.python(),),
        imports=(ImportSearch(prefix=m.PREFIX, python="3.11", entries=WINDOWS_ENTRIES, modules=(second(3),)),),
    ),
    "Windows, a file in the way where programs start": replace(
        m.windows_machine(),
        pythons=(m.python(),),
        imports=(ImportSearch(prefix=m.PREFIX, python="3.11", entries=WINDOWS_ENTRIES, modules=(replace(in_the_way(0), path=r"C:\home\ada\work\torch.py"),)),),
    ),
    **{f"fault {fault.kind}{f' by {fault.source[-8:]}' if fault.source else ''}": found(faults=(fault,)) for fault, _severity in test_frameworks_imports.FAULTS},
}  # fmt: skip


def jax_without(owner: str, requires: tuple[str, ...], **fields: Any) -> Snapshot:
    """Return a machine whose jax asks its jaxlib for a name that it does not have."""
    its = (
        Distribution(name="jax", version="0.7.2", requires=(*requires, "scipy>=1.12")),
        *((Distribution(name="jaxlib", version=owner),) if owner else ()),
    )
    asked: dict[str, Any] = {
        "starts": ("jax",),
        "importer": f"{SITE}/jax/_src/core.py",
        "wanted": "jaxlib",
        "kind": "no name",
        "name": "ifrt",
        "path": f"{SITE}/jaxlib/__init__.py",
        "entry": 3,
        "owner": f"jaxlib {owner}" if owner else "",
    }
    seen = test_ended_imports.seen(ended(**(asked | fields)))
    return replace(seen, pythons=(m.python(distributions=its),))


ENDED: dict[str, Snapshot] = {
    **{f"row {n}": test_ended_imports.seen(ended(**row[0]), remains=row[1]) for n, row in enumerate(test_ended_imports.ENDS)},
    **{
        f"the same name behind it, {words}": test_ended_imports.seen(
            ended(kind="no name", name="TypeIs", path=OTHERS, entry=1, hidden=test_ended_imports.OWN, hidden_owner=owner)
        )
        for words, owner in (("of a package", "typing-extensions 4.12"), ("of none", ""))
    },
    **{
        f"jaxlib {owner}, which jax {words}": jax_without(owner, requires, **fields)
        for owner, words, requires, fields in (
            ("0.4.1", "compares at its start", ("jaxlib>=0.7.2",), {}),
            ("0.7.2", "has as it wants it", ("jaxlib>=0.7.2",), {}),
            ("0.4.1", "does not require", (), {}),
            ("0.4.1", "does not find at all", ("jaxlib>=0.7.2",), {"kind": "absent", "name": "", "path": ""}),
            ("", "finds without a record", ("jaxlib>=0.7.2",), {}),
        )
    },
    "of a second installation by the user": test_ended_imports.seen(
        ended(kind="no name", name="TypeIs", path="/home/ada/.local/lib/python3.11/site-packages/typing_extensions.py", entry=2, owner="typing-extensions 4.5")
    ),
    "where the rule about files in the way tells it": test_ended_imports.seen(
        ended(kind="no name", name="TypeIs", path=OTHERS, entry=1),
        modules=(FoundModule(name="typing_extensions", kind="module", path=OTHERS, entry=1, hidden=(test_ended_imports.OWN,), hidden_owner="typing-extensions 4.5"),),
    ),
    "what an extension never asked for": test_ended_imports.seen(
        ended(starts=("torchvision",), importer=f"{SITE}/torchvision/io.py", wanted="av")
    ),
    "what Python was built without, and then a module": test_ended_imports.seen(
        ended(wanted="_lzma", importer=f"{SITE}/torchvision/__init__.py", starts=("torchvision",)), ended()
    ),
    "two of one framework": test_ended_imports.seen(
        ended(), ended(starts=("torchvision",), importer=f"{SITE}/torchvision/__init__.py", wanted="PIL")
    ),
    "empty, beside another empty one": test_ended_imports.seen(
        ended(kind="empty", path=test_ended_imports.OWN, entry=3, owner="typing-extensions 4.5"),
        ended(kind="empty", path=test_ended_imports.NUMPY, entry=3, wanted="numpy", owner="numpy 1.26.4"),
    ),
}  # fmt: skip

EXTENSIONS: dict[str, Snapshot] = {
    **{f"row {n}": test_unfit_extensions.machine(row[0]) for n, row in enumerate(test_unfit_extensions.WORDS)},
    **{
        f"Windows {n}": test_unfit_extensions.windows(edge, **fields)
        for n, (edge, fields, _cause, _advice) in enumerate(test_unfit_extensions.WINDOWS)
    },
    "two packages want what the system lacks": test_unfit_extensions.machine(
        test_unfit_extensions.unfit(test_unfit_extensions.lacking("libgomp.so.1")),
        test_unfit_extensions.unfit(
            test_unfit_extensions.lacking("libgomp.so.1"), starts=("torch",), **test_unfit_extensions.SCIPY
        ),
        test_unfit_extensions.unfit(test_unfit_extensions.lacking("libGL.so.1")),
    ),
}
