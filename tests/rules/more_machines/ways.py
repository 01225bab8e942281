"""Machines on which programs are started in several ways, some of which have faults of their own."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from core.model.facts import Closure, Environment, How, Load, Snapshot, Start, StartLine, StartLook, Variable
from tests import machines as m
from tests.rules.test_libraries import closure, edge

RC = "/home/ada/.bashrc"
SERVICE = "/etc/systemd/system/train.service"
KERNEL = "/home/ada/.local/share/jupyter/kernels/ml/kernel.json"
OTHER = m.cudnn("/opt/cudnn/lib", "9.1.0", origin="folder", environment="", owner="")
GONE = (
    Load(
        consumer=m.PYTHON,
        major=9,
        wanted_version="9.1.0.70",
        wanted_source="torch 2.6.0",
        resolutions=(m.search("libcudnn.so.9", m.nothing("/usr/lib/libcudnn.so.9")),),
    ),
)
"""The load of a program that this way's variables lead to no cuDNN."""


def line(name: str, value: str, file: str = RC, **fields: Any) -> StartLine:
    """Return a line that sets a variable."""
    return StartLine(**({"name": name, "does": "set", "value": value, "file": file, "line": 3} | fields))


def start(id: str, *lines: StartLine, **fields: Any) -> Start:
    """Return a way of starting with its lines."""
    kind, _colon, at = id.partition(":")
    last = (r for r in lines if not r.overridden)
    had = tuple(Variable(name=r.name, value=r.value, source=f"{r.file}:{r.line}") for r in last)
    return Start(id=id, kind=kind, at=at, **({"lines": lines, "variables": had} | fields))


def seen_in(*looks: tuple[Start, dict[str, Any]], session: dict[str, str] | None = None, **fields: Any) -> Snapshot:
    """Return a machine whose session has these variables, and each way its own; what a look does not say is the session's."""
    ours = Environment(
        variables=tuple(Variable(name=n, value=v, scope="process", source="environment") for n, v in (session or {}).items()),
        entries=m.paths("/usr/bin"),
    )  # fmt: skip
    made = []
    for its, look in looks:
        theirs = replace(ours, variables=its.variables)
        made.append(StartLook(**({"starts": (its.id,), "environment": theirs} | look)))
    seen = m.wheel_machine()
    known: dict[str, Any] = {
        "environment": ours,
        "starts": tuple(its for its, _look in looks),
        "start_looks": tuple(made),
    }
    return replace(seen, **(known | fields))


def lacking(*its: Start, **fields: Any) -> Snapshot:
    """Return a machine whose session finds cuDNN by a variable that these ways do not have."""
    by = m.load(OTHER, m.PYTHON, how=How.LD_LIBRARY_PATH)
    return seen_in(
        *((one, {"loads": GONE}) for one in its),
        session={"LD_LIBRARY_PATH": OTHER.folder},
        **({"cudnn": (OTHER,), "loads": (by,)} | fields),
    )


def linked(ours: Closure, theirs: tuple[Closure, ...] | None) -> Snapshot:
    """Return a machine whose session has one closure, and whose terminal has another, by a variable of its own."""
    its = start("terminal:bash", line("LD_LIBRARY_PATH", "/opt/old"))
    return seen_in((its, {"closures": theirs}), closures=(ours,), cudnn=(), loads=())


HIDES = line("CUDA_VISIBLE_DEVICES", "-1")
PLAIN_PATH = line("PATH", "/usr/bin:/home/ada/bin")
CUDA_PATH = line("PATH", "/usr/local/cuda-11/bin:/usr/bin")
WORD = line("TORCH_DISTRIBUTED_DEBUG", "verbose")
SOUND = closure(edges=())
LACKS = closure(edges=(edge(),))

WAYS: dict[str, Snapshot] = {
    "a terminal that hides the GPUs": seen_in((start("terminal:bash", HIDES), {})),
    "a terminal and a service that hide them by lines of their own": seen_in(
        (start("terminal:bash", HIDES), {}),
        (start(f"service:{SERVICE}", replace(HIDES, file=SERVICE, line=7)), {}),
        (start("cron:ada", replace(HIDES, value="0", file="/etc/crontab")), {}),
    ),
    "a terminal that hides them by its last line": seen_in(
        (start("terminal:bash", replace(HIDES, value="0", line=1, overridden=True), HIDES, line("LANG", "C")), {})
    ),
    "a notebook that unsets what the session has": lacking(
        start(f"notebook:{KERNEL}", prefix=m.PREFIX, taken=(line("LD_LIBRARY_PATH", "", KERNEL, does="unset"),))
    ),
    "a terminal that lacks what the session has": lacking(start("terminal:bash")),
    "a terminal of an environment that lacks what the session has": lacking(start("terminal:bash", prefix=m.PREFIX)),
    "a service of no environment that lacks what the session has": lacking(start(f"service:{SERVICE}")),
    "a service of an environment that lacks what the session has": lacking(
        start(f"service:{SERVICE}", prefix=m.PREFIX)
    ),
    "a terminal that lacks it and has a PATH of its own": lacking(start("terminal:bash", PLAIN_PATH)),
    "a terminal that lacks it and has CUDA in its PATH": lacking(start("terminal:bash", CUDA_PATH)),
    "a terminal that lacks it and names CUDA in a variable of no weight": lacking(
        start("terminal:bash", line("MY_TOOLS", "/opt/cuda/tools"))
    ),
    "a terminal that lacks it and has another folder": lacking(
        start("terminal:bash", line("LD_LIBRARY_PATH", "/opt/old"))
    ),
    "a terminal with a word that no framework takes": seen_in((start("terminal:bash", WORD, CUDA_PATH), {})),
    "a terminal with that word by no line": seen_in(
        (replace(start("terminal:bash", WORD, CUDA_PATH), variables=(Variable(name=WORD.name, value=WORD.value, source="environment"),)), {})
    ),
    "a terminal whose binaries lack a library": linked(SOUND, (LACKS,)),
    "a terminal whose binaries lack nothing, unlike the session's": linked(LACKS, (SOUND,)),
    "a terminal whose binaries were not followed": linked(LACKS, None),
}  # fmt: skip
