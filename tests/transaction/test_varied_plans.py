"""Good plans with one field another: what the broker, the preconditions and a later undo say is written down.

``python -m tests.transaction.test_varied_plans`` writes it anew. Read the difference before you commit it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import chdir
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest

from core.model import changes
from core.model.changes import Change, EditLine, EditPath, ExchangePackages, FileItem, FileSet, SetVariable, Value
from core.model.facts import System
from core.model.path_list import PathError
from core.model.system_steps import STEP_KINDS, SystemStep
from core.transaction.broker import closed_list
from core.transaction.journal import Journal
from core.transaction.preconditions import resolve_changes, unmet_preconditions
from installer.by_hand import by_hand
from tests.transaction.memory_store import MemoryWriter
from tests.variation.facts import facts_of

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="paths of Linux are looked at")

WRITTEN = Path(__file__).with_name("varied_plans.txt")

A, B, GONE, LOOSE, MIXED = "/opt/a", "/opt/b", "/opt/gone", "/home/eve/lib", "/opt/mixed"
LIB = "libcudnn_cnn.so.9"


@dataclass(frozen=True)
class Ground:
    """A machine on which everything below /opt and C:\\Windows is an administrator's."""

    system: System = "linux"
    kinds: dict[str, str] = field(default_factory=dict)

    def kind(self, path: str) -> str:
        known = {A: "folder", B: "folder", LOOSE: "folder", MIXED: "folder", r"C:\cuda": "folder", r"D:\x": "folder"}
        known |= {"/etc/environment": "file", "/etc/profile.d/x.sh": "file", f"{A}/sub": "folder"}
        return known.get(path, "file" if path.endswith((".so.9", ".dll")) else "missing")

    def changeable_part(self, path: str) -> str:
        found = re.match(rf"/home/eve|/tmp|{MIXED}/evil|D:", path)
        return found[0] if found else ""

    def names(self, folder: str) -> tuple[str, ...]:
        return {A: (LIB, "sub"), MIXED: ("evil.so.9",), f"{A}/sub": ("x.so.9",)}.get(folder, ())

    def library_folders(self) -> tuple[str, ...]:
        return (r"C:\Windows", r"C:\cuda") if self.system == "windows" else ("/opt", "/usr/lib")

    def expand(self, entry: str) -> str:
        return entry.replace("%CUDA%", r"C:\cuda")

    def account_number(self, name: str) -> int:
        return {"ada": 1000, "daemon": 2, "nobody": 65534}.get(name, -1)


def value(text: str, kind: str = "") -> Value:
    return Value(text=text, kind=kind)


PATH = value(f"/usr/bin:{GONE}:{A}:{A}")
WINDOWS_PATH = value(r"C:\bin;C:\gone;C:\cuda;C:\cuda", "REG_EXPAND_SZ")
WHOLE = hashlib.sha256(b"whole").hexdigest()

PLANS: dict[str, Change] = {
    "enter PATH": changes.insert_entry(PATH, A, 1, "linux", name="PATH", scope="machine"),
    "enter LD_LIBRARY_PATH": changes.insert_entry(None, A, 0, "linux", name="LD_LIBRARY_PATH", scope="machine"),
    "enter the user's PATH": changes.insert_entry(PATH, B, 0, "linux", name="PATH", scope="user"),
    "leave PATH": changes.remove_entry(PATH, 1, "linux", name="PATH", scope="machine"),
    "leave PATH, twice there": changes.remove_entry(PATH, 3, "linux", name="PATH", scope="machine"),
    "move in PATH": changes.move_entry(PATH, 0, 2, "linux", name="PATH", scope="machine"),
    "enter Windows' PATH": changes.insert_entry(WINDOWS_PATH, r"C:\cuda", 0, "windows", name="PATH", scope="machine"),
    "leave Windows' PATH": changes.remove_entry(WINDOWS_PATH, 1, "windows", name="Path", scope="machine"),
    "show GPUs": SetVariable(name="CUDA_VISIBLE_DEVICES", scope="machine", before=value("-1"), after=None),
    "name a toolkit": SetVariable(name="CUDA_HOME", scope="machine", before=value(GONE), after=value(A)),
    "forget a toolkit": SetVariable(name="CUDA_PATH", scope="machine", before=value(GONE), after=None),
    "take a line out": EditLine(
        path="/etc/environment",
        form="assignments",
        line=1,
        name="LD_LIBRARY_PATH",
        scope="machine",
        before=f"LD_LIBRARY_PATH={A}\n",
        after=f"# LD_LIBRARY_PATH={A}\n",
        before_hash="0" * 64,
        after_hash="1" * 64,
    ),
    "let a line name a toolkit": EditLine(
        path="/etc/profile.d/x.sh",
        form="posix",
        line=3,
        name="CUDA_HOME",
        scope="machine",
        value=A,
        before=f"export CUDA_HOME={GONE}\n",
        after=f"export CUDA_HOME={A}\n",
        before_hash="0" * 64,
        after_hash="1" * 64,
    ),
    "place a file": FileSet(
        title="cuDNN", items=(FileItem(path=f"{A}/{LIB}", after=WHOLE, size=5, source=f"{B}/{LIB}"),)
    ),
    "take a file as it is": FileSet(
        title="cuDNN", items=(FileItem(path=f"{A}/{LIB}", after="?", source=f"{B}/{LIB}"),)
    ),
    "write a text": FileSet(title="cuDNN", items=(FileItem(path=f"{A}/{LIB}", after="?", text="whole"),)),
    "put a file aside": FileSet(title="cuDNN", items=(FileItem(path=f"{A}/{LIB}", before=WHOLE),)),
    "link a file": FileSet(title="cuDNN", items=(FileItem(path=f"{A}/libcudnn.so.9", after=f"-> {LIB}"),)),
    "make a folder": FileSet(
        title="cuDNN",
        folders=(f"{A}/new",),
        items=(FileItem(path=f"{A}/new/{LIB}", after=WHOLE, size=5, source=f"{B}/{LIB}"),),
    ),
    **{
        f"step {kind}": SystemStep(
            kind=kind,
            subject={"library-folder": A, "device-group": "ada", "short-path": "/opt/short"}.get(kind, ""),
            value={"device-group": "video", "short-path": A}.get(kind, ""),
        )
        for kind in STEP_KINDS
    },
    "packages": ExchangePackages(title="x", prefix="/opt/env", folder="/opt/env/lib", install=("torch",)),
}

TEXTS: dict[str, tuple[Any, ...]] = {
    "name": ("PATH", "Path", "LD_LIBRARY_PATH", "LD_PRELOAD", "CUDA_HOME", "CUDA_PATH_V12_4", "NVIDIA_VISIBLE_DEVICES", "X=Y", ""),
    "scope": ("user", "machine", "environment"),
    "system": ("linux", "windows"),
    "entry": (A, f'"{A}"', B, GONE, LOOSE, MIXED, "relative", "/opt/../tmp", "/opt/$X", "/opt/a\n", r"C:\cuda", r"D:\x", "%CUDA%", "//opt/a"),
    "old": (None, 0, 1, 9),
    "new": (None, 0, 1, 9),
    "before": (None, "", "?", WHOLE, f"-> {LIB}", "folder", "absent", "present"),
    "after": (None, "", "?", "0" * 64, f"-> {LIB}", "-> .", "-> evil", "folder", "absent", "present", f"export CUDA_HOME={LOOSE}\n"),
    "text": ("", GONE, LOOSE, A, B, "a\x1bb", f"{A}:/usr/bin", f"/usr/bin:{GONE}", "whole", "x" * 40_000),
    "Value.kind": ("REG_SZ", "REG_EXPAND_SZ", "REG_DWORD"),
    "SystemStep.kind": STEP_KINDS,
    "path": ("", "x", f"/tmp/{LIB}", f"{LOOSE}/{LIB}", f"{A}/evil.so.9", f"{A}/../{LIB}", "/etc/passwd", "/etc/environment", "/etc/profile.d/x.sh"),
    "source": ("", f"{LOOSE}/{LIB}", f"{A}/passwd", f"{B}/{LIB}", f"{B}/link.so.9", "x"),
    "size": (-1, 0, 6, 1 << 60),
    "items": ([],),
    "folders": ([], [f"{A}/new"], ["/tmp/new"], [f"{LOOSE}/new"], ["x"], [f"{A}/deep/er"]),
    "unmake": (True,),
    "form": ("posix", "assignments", "fish"),
    "line": (2,),
    "value": ("", A, LOOSE, "video", "sudo"),
    "reason": ("x", "x\ny"),
    "among": ([A], [A, B]),
    "before_hash": ("",),
    "back": (True,),
    "subject": ("", A, LOOSE, GONE, "/usr/local/x", "ada", "daemon", "nobody", "-x", "eve"),
}  # fmt: skip


def varied(plan: Change) -> Iterator[tuple[str, Change]]:
    """Yield a plan, and the plan with each of its fields another."""
    yield "as it is", plan
    document = msgspec.to_builtins(plan)
    for path, (kind, name), old in facts_of(plan):
        for other in TEXTS.get(f"{kind}.{name}", TEXTS.get(name, ())):
            if other == msgspec.to_builtins(old):
                continue
            copy = json.loads(json.dumps(document))
            *way, last = (int(n) if n.isdigit() else n for n in re.findall(r"\w+", path))
            place = copy
            for step in way:
                place = place[step]
            place[last] = other
            try:
                yield f"{path} = {str(other)[:60]!r}", msgspec.convert(copy, Change)
            except msgspec.ValidationError:
                continue


def brokers_rows(plan: Change) -> Iterator[str]:
    """Yield what the broker says of a plan, forwards and back, on either system."""
    for name, change in varied(plan):
        if name == "as it is":
            yield f"{name}: {closed_list.consent_action((change,))}: {' '.join(closed_list.describe_changes((change,)))}"
        said: dict[str, list[str]] = {}
        for system in ("linux", "windows"):
            for back in (False, True):
                made = change.inverse() if back else change
                for row in closed_list.refusal_sentences((made,), Ground(system), back=back) or ("allowed",):
                    said.setdefault(row, []).append(f"{system}{' back' if back else ''}")
        for row, where in said.items():
            yield f"{name}: {', '.join(where)}: {row}"


def variable_rows(plan: SetVariable | EditPath) -> Iterator[str]:
    """Yield what stands against a plan for a variable, and what it makes of a value that others have changed."""
    journal = Journal(Path("/nowhere"))
    key = plan.name.upper() if plan.name == "Path" else plan.name
    for name, change in varied(plan):
        for system in ("linux", "windows"):
            held = {(key, plan.scope, ""): plan.before} if plan.before else {}
            writer = MemoryWriter(system, held)
            for row in unmet_preconditions((change,), writer=writer, journal=journal) or ("fits",):
                yield f"{name}: {system}: {row}"
    texts = ("", plan.before.text if plan.before else "", plan.after.text if plan.after else "", "/x", r"C:\x;C:\cuda")
    sign = ";" if isinstance(plan, EditPath) and plan.system == "windows" else ":"
    more = [t for text in texts[1:3] for t in (f"/x{sign}{text}", f"{text}{sign}/x", sign.join(text.split(sign)[1:]))]
    for current in (None, *(value(t, "REG_SZ") for t in dict.fromkeys((*texts, *more)))):
        for made in (plan, plan.inverse()):
            try:
                answer = repr(made.rebased_on(current)) if isinstance(made, EditPath) else "-"
            except PathError as e:
                answer = str(e)
            yield f"on {current!r}: {answer}"


def file_rows(plan: FileSet) -> Iterator[str]:
    """Yield what stands against a plan for files, in a folder of a disk."""
    root = Path(os.path.realpath(tempfile.mkdtemp(prefix="convalesce-plans-")))
    try:
        for folder in (A, B, LOOSE):
            (root / folder[1:]).mkdir(parents=True)
        (root / B[1:] / LIB).write_bytes(b"whole")
        (root / LOOSE[1:] / LIB).write_bytes(b"whole")
        (root / LOOSE[1:] / LIB).chmod(0o666)
        (root / B[1:] / "link.so.9").symlink_to(LIB)
        if plan.items[0].before:
            (root / A[1:] / LIB).write_bytes(b"whole")
        with chdir(root):  # a path that is not absolute leads there
            for name, change in varied(plan):
                document = json.dumps(msgspec.to_builtins(change))
                paths = r'(?<!"text": )"(?=/(?:opt|home|tmp|etc)/)'
                document = re.sub(paths, f'"{root}', document)  # at once: the root itself may be in /tmp
                made = msgspec.json.decode(document, type=FileSet)
                try:
                    rows: tuple[str, ...] = unmet_preconditions(
                        (made,), writer=MemoryWriter("linux"), journal=Journal(root / "journal")
                    ) or ("fits",)
                    settled = resolve_changes((made,), MemoryWriter("linux"))[0]
                    rows = (*rows, "settles" if settled == made else f"becomes {settled}")
                except (OSError, changes.ChangeError) as e:
                    rows = (*rows, f"{type(e).__name__}: {e}") if "rows" in locals() else (str(e),)
                for row in rows:
                    yield f"{name}: " + _lasting(row.replace(str(root), ""))
    finally:
        shutil.rmtree(root)


def _lasting(row: str) -> str:
    """Return a row without what differs from disk to disk: the room that is left, and the size of a folder itself."""
    return re.sub(r"(after='folder', size=)\d+", r"\1N", re.sub(r"\d[\d,]* MiB", "N MiB", row))


LOOKS: dict[str, tuple[type | tuple[type, ...], Callable[[Any], Iterator[str]]]] = {
    "the broker": (object, brokers_rows),
    "variables": ((SetVariable, EditPath), variable_rows),
    "files": (FileSet, file_rows),
}
ROWS = {
    f"{look}: {name}": (rows, plan)
    for look, (kinds, rows) in LOOKS.items()
    for name, plan in PLANS.items()
    if isinstance(plan, kinds)
}


def shown(name: str) -> list[str]:
    """Return the rows of one plan, a line each."""
    rows, plan = ROWS[name]
    plain = (row.replace("\n", "\\n").replace("\x1b", "\\e") for row in rows(plan))
    return [re.sub(r"x{50,}", "x...x", row) for row in plain]


def written() -> dict[str, list[str]]:
    """Return what is written down."""
    blocks = WRITTEN.read_text(encoding="utf-8").split("\n== ")[1:]
    return {name: body for name, *body in (block.rstrip("\n").split("\n") for block in blocks)}


@pytest.mark.parametrize("name", ROWS)
def test_what_is_said_of_a_plan_is_what_is_written_down(name: str) -> None:
    assert shown(name) == written()[name]


def write() -> None:
    """Write the file anew."""
    WRITTEN.write_text("".join(f"\n== {name}\n" + "\n".join(shown(name)) + "\n" for name in ROWS), encoding="utf-8")


if __name__ == "__main__":
    by_hand(__doc__)
    write()
