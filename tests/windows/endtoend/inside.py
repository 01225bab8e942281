"""The Windows side: each road is walked by Convalesce's command line alone, in processes of their own; and the oracle loads in between."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Any

from core.host.windows.host import WindowsHost
from tests.windows.faultlab.inside import OURS, STATE
from tests.windows.faultlab.machine import CUDNN, Machine, fingerprint, version_checks
from tests.windows.worldlab import oracle
from tests.windows.worldlab.inside import renewed
from tests.windows.worldlab.scenes import (
    FOR_ORT,
    NV,
    OLD,
    ORT,
    gone,
    older,
    spoilt,
    toolkit,
    venv,
    with_toolkit,
    with_wheels,
)

CUDNN_BIN = CUDNN / "v9.28\\bin\\12.9"
WITHOUT_CUDNN = tuple(name for name in FOR_ORT if name != "cudnn-9.28")
COMMAND_SECONDS = 600
ROOT = Path(__file__).parents[3]
INSTALLED = Path(os.environ.get("SYSTEMDRIVE", "C:") + "\\", "installed", "Convalesce")
CHECKOUT = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from core.cli.main import main; sys.exit(main(sys.argv[1:]))"
)


Convalesce = Callable[..., tuple[int, dict[str, Any]]]
"""Runs one command; returns its exit status and its JSON."""


@dataclass(frozen=True)
class Road:
    """One failure. ``more``: what ``fix`` is told besides; "{cudnn}" stands for a downloaded cuDNN's folder, "{wheels}" for one of wheels."""

    name: str
    what: str
    build: Callable[[Machine], Path]
    more: tuple[str, ...] = ()
    checks: bool = False
    """The provider loads all the same: cuDNN's own VersionChecks tell."""


def installed(m: Machine, *, on_path: bool) -> Path:
    """Return an environment with ONNX Runtime, a toolkit, and cuDNN where NVIDIA's installer puts it."""
    toolkit(m, *WITHOUT_CUDNN)
    m.place_all(m.cudnn("cudnn-9.28"), CUDNN_BIN)
    if on_path:
        m.path(CUDNN_BIN)
    return venv(m, "ort-1.20")


def with_pip(base: Callable[[Machine], Path]) -> Callable[[Machine], Path]:
    """Return a machine whose environment has pip."""

    def build(m: Machine) -> Path:
        site = base(m)
        for folder in (Path(m.places["pip"]), *Path(m.places["pip"]).parent.glob("pip-*.dist-info")):
            shutil.copytree(folder, site / folder.name, ignore=shutil.ignore_patterns("__pycache__"))
        return site

    return build


ROADS = (
    Road("pip's wheels", "ONNX Runtime does not look in NVIDIA's wheels", spoilt(with_wheels("ort-1.20", *FOR_ORT))),
    Road("not on PATH", "cuDNN's installer put it where nothing looks", spoilt(lambda m: installed(m, on_path=False))),
    Road(
        "a shadowing copy",
        "another program's older cudart comes first on PATH",
        spoilt(with_toolkit("ort-1.20", *FOR_ORT), older("cudart64_12.dll", OLD, on_path=True)),
    ),
    Road(
        "a missing part",
        "cudnn_graph64_9.dll was deleted",
        spoilt(lambda m: installed(m, on_path=True), gone(str(CUDNN_BIN / "cudnn_graph64_9.dll"))),
        ("--cudnn", "{cudnn}"),
        checks=True,
    ),
    Road(
        "a wheel's DLL",
        "cufft64_11.dll of NVIDIA's wheel was deleted",
        spoilt(with_pip(with_wheels("ort-1.20", *FOR_ORT, named=True)), gone(NV.format("cufft", "cufft64_11.dll"))),
        ("--from", "{wheels}"),
    ),
)


def main(arguments: list[str]) -> int:
    """PLACES.json NAME...: walk the roads whose names match."""
    places = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    with program(places.get("setup", "")) as convalesce:
        for road in ROADS:
            if not arguments[1:] or any(fnmatch(road.name, n) for n in arguments[1:]):
                print(json.dumps(walked(road, Machine(places), convalesce)), flush=True)
    return 0


@contextmanager
def program(setup: str) -> Iterator[Convalesce]:
    """Give what runs a command: the program that ``setup`` installs, removed at the end; this checkout where none is named."""
    if not setup:
        yield partial(run_command, [sys.executable, "-c", CHECKOUT, str(ROOT)])
        return
    subprocess.run(f'"{setup}" /S /D={INSTALLED}', check=True, timeout=COMMAND_SECONDS)
    try:
        yield partial(run_command, [str(INSTALLED / "convalesce.exe")])
    finally:
        removal = f'"{INSTALLED / "uninstall.exe"}" /S _?={INSTALLED}'
        subprocess.run(removal, check=True, timeout=COMMAND_SECONDS)


def walked(road: Road, machine: Machine, convalesce: Convalesce) -> dict[str, Any]:
    """Walk one road with a program, and clean up."""
    OURS["CONVALESCE_STATE"] = str(STATE)
    started, clean = time.monotonic(), fingerprint()
    row: dict[str, Any] = {"name": road.name, "what": road.what, "right": False, "detail": ""}
    try:
        made = road.build(machine)
        before = fingerprint()
        row["before"] = numbers(road, made)
        status, said = convalesce("scan", "--json", "--python", machine.pythons[0])
        first: dict[str, Any] = next((f for f in said.get("findings", ()) if f["primary"]), {})
        row |= {"scan": status, "cause": first.get("cause", ""), "id": first.get("id", "")}
        more = [text.format(cudnn=machine.cudnn("cudnn-9.28"), wheels=machine.places["wheels"]) for text in road.more]
        options = ("--json", "--python", machine.pythons[0], *more)
        status, said = convalesce("fix", "--dry-run", *options)
        line: dict[str, Any] = next(iter(said.get("fixes", ())), {})
        row |= {"rehearsal": line.get("works"), "title": line.get("title", ""), "dry": status}
        untouched = without_state() == before
        status, said = convalesce("fix", "--yes", *options)
        line = next(iter(said.get("fixes", ())), {})
        row |= {"fix": status, "outcome": line.get("outcome", ""), "after": numbers(road, made)}
        undone, _said = convalesce("undo", "--yes")
        row |= {"undo": undone, "again": numbers(road, made), "as_before": without_state() == before}
        row["detail"] = f"{line.get('rehearsal')} {line.get('sentence')} rehearsal touched nothing: {untouched}"
        row["right"] = (
            (row["scan"], row["fix"], row["outcome"], undone) == (1, 0, "done", 0)
            and row["rehearsal"] is not False
            and untouched
            and row["as_before"]
            and row["before"] != "loaded"
            and row["after"] == "loaded"
            and row["again"] == row["before"]
        )
    except Exception as e:  # noqa: BLE001 - a road that fails is a row of the table, and the others go on
        traceback.print_exc()
        row["detail"] = f"{type(e).__name__}: {e}"
    finally:
        machine.clean()
    if fingerprint() != clean:
        row |= {"right": False, "detail": f"{row['detail']} not clean afterwards"}
    return row | {"seconds": round(time.monotonic() - started, 1)}


def run_command(start: Sequence[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    """Run one command as a person does in a new window; return its exit status and its JSON."""
    done = WindowsHost().run([*start, *arguments], timeout=COMMAND_SECONDS, env=dict(renewed()))
    print(" ".join(arguments[:2]), done.status, done.err[-1500:], file=sys.stderr)
    text = done.out[done.out.find("{") :] if "{" in done.out else "{}"
    return int(done.status if done.status is not None else -1), json.loads(text)


def numbers(road: Road, made: Path) -> str:
    """Return what the framework's own DLLs, or cuDNN's VersionChecks, answer in a new program's environment."""
    env: Mapping[str, str] = renewed()
    failed = {name: number for name, number in oracle.framework(ORT, made, env).items() if number}
    if failed or not road.checks:
        return ", ".join(f"{name}: {number}" for name, number in failed.items()) or "loaded"
    said = version_checks(9, env, WindowsHost().run)
    return "loaded" if said.endswith("all 0") else f"VersionCheck: {said[-160:]}"


def without_state() -> dict[str, object]:
    """Return the registry and all planted files, but for Convalesce's own journal."""
    return {name: value for name, value in fingerprint().items() if str(STATE) not in name}


if __name__ == "__main__":
    os.environ.setdefault("NO_COLOR", "1")
    sys.exit(main(sys.argv[1:]))
