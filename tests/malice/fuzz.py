"""``python -m tests.malice.fuzz [COUNT] [SEED]``: tampered plans, each carried out on a machine if the elevated side takes it.

Every plan that is accepted is really carried out; what the independent checker says of the machine afterwards is told.
Then it is undone, and the machine must be as before.
"""

from __future__ import annotations

import hashlib
import os
import pwd
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from core.host import exchange
from core.host.startup.edit import Edit, edit_text
from core.model import changes
from core.model.changes import (
    Change,
    ChangeError,
    EditLine,
    EditPath,
    ExchangePackages,
    FileItem,
    FileSet,
    SetVariable,
    Value,
)
from core.model.path_list import PathError
from core.model.system_steps import STEP_KINDS, StepState, SystemStep
from core.transaction import elevation
from core.transaction.broker import ground, lines
from core.transaction.elevation import ElevationOrder
from core.transaction.execute import Outcome, Plan
from core.transaction.package_exchange import TWINS, folder_fingerprint
from installer.by_hand import by_hand
from tests.malice.checker import objections, picture
from tests.malice.conftest import EVE, Box, give, grant

LIB = "libcudnn_cnn.so.9"
VARIABLES = (
    *("PATH", "LD_LIBRARY_PATH", "CUDA_PATH", "CUDA_HOME", "CUDA_PATH_V12_4", "CUDA_VISIBLE_DEVICES", "LD_PRELOAD"),
    *("CUDA_INJECTION64_PATH", "NUMBA_CUDA_DRIVER", "XLA_FLAGS", "BASH_ENV", "PYTHONPATH", "path", "CUDA_PATH\n", ""),
    *("NVIDIA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "Cuda_Path", "CUDA_PATH_V1", "A=B"),
)


class Fuzzer:
    """A machine full of corners, and plans about them."""

    def __init__(self, root: Path, seed: int) -> None:
        self.dice = random.Random(seed)
        self.box = Box(root)
        opt = root / "opt"
        for name in ("shared", "listed", "group", "hers", "deep/er/bin", "withhers"):
            (opt / name).mkdir(parents=True)
            (opt / name / "libcublas.so.12").write_bytes(name.encode())
        (opt / "shared").chmod(0o777)
        grant(opt / "listed")
        os.chown(opt / "group", 0, EVE)
        (opt / "group").chmod(0o775)
        give(opt / "hers")
        give(opt / "withhers/libcublas.so.12")
        (opt / "tolink").symlink_to(root / "home/eve")
        (opt / "tocuda").symlink_to(opt / "cuda")
        (root / "home/eve/bin").mkdir()
        self.person = next((p.pw_name for p in pwd.getpwall() if 1000 <= p.pw_uid < 60000), "ada")
        (root / "etc/passwd").write_text(f"root:x:0:0::/root:/bin/sh\n{self.person}:x:1000:1000::/:/bin/sh\n")
        (root / "etc/group").write_text("root:x:0:\nsudo:x:27:\nvideo:x:44:\nrender:x:105:root\n")
        (root / "etc/ld.so.conf").write_text("include /etc/ld.so.conf.d/*.conf\n")
        for name in ("ld.so.conf.d", "modprobe.d"):
            (root / "etc" / name).mkdir()
        subprocess.run(["/sbin/ldconfig", "-r", root], capture_output=True, check=False)
        (root / "home/eve/way").symlink_to(opt / "cuda")
        (root / "etc/environment").write_text(
            f"PATH=/usr/bin:{opt}/gone:/bin:{opt}/cuda/bin:/bin/\nLD_LIBRARY_PATH={root}/home/eve:{opt}/cuda/lib64\n"
            "CUDA_VISIBLE_DEVICES=-1\nCUDA_PATH=/opt/gone\nCUDA_HOME=/usr\nLANG=C\n"
        )
        (root / "etc/profile.d").mkdir()
        for name in ("cuda.sh", "hers.sh"):
            (root / "etc/profile.d" / name).write_text(
                f"export LD_LIBRARY_PATH={root}/home/eve:{opt}/cuda/lib64\nexport CUDA_VISIBLE_DEVICES=-1\nexport CUDA_HOME=/gone\n"
                "export BASH_ENV=/root/x\n"
            )
        give(root / "etc/profile.d/hers.sh")
        (root / "etc/hosts").write_text("CUDA_HOME=/x\n")
        self.packages_in, self.twin = opt / "env/lib/site-packages", opt / "env" / TWINS / "0123abcd" / "site-packages"
        for folder in (self.packages_in, self.twin):
            folder.mkdir(parents=True)
            (folder / "module.py").write_text(folder.parent.name)
        self.folders = [
            *(str(opt / n) for n in ("cuda", "cuda/lib64", "cuda/bin", "spare", "shared", "listed", "group", "hers")),
            *(str(opt / n) for n in ("deep/er/bin", "withhers", "tolink", "tocuda", "tolink/bin", "gone", "new/lib")),
            *(str(root / n) for n in ("home/eve", "home/eve/bin", "home/eve/way", "etc", "home/root")),
            *(
                "/usr/bin",
                "/usr/local/bin",
                "/tmp",
                "/var/tmp",
                "/nowhere",
                "/",
                ".",
                "",
                "..",
                "bin",
                "//x",
                "/usr/../tmp",
            ),
            *(
                f"{opt}/../home/eve",
                f"{opt}/cuda/",
                f"{opt}//cuda",
                "/opt/$HOME",
                "/opt/a:b",
                "~",
                "~eve",
                f"{opt}/cuda\n",
            ),
        ]
        self.places = [f for f in self.folders if f.startswith(str(root))]
        """Where files are changed: never outside, whatever the broker says."""
        self.names = [
            LIB,
            "libcublas.so.12",
            "libcudnn.so",
            "libc.so.6",
            "passwd",
            "libcudnn.so.9 ",
            "x",
            "",
            "..",
            "libcuda.so.1",
        ]

    # --- plans ---------------------------------------------------------------------------------------------------

    def plan(self) -> tuple[Change, ...]:
        """Return the changes of a plan: one or a few, most of them tampered with."""
        makers: list[Callable[[], Change]] = [
            *(self.entry, self.removal, self.variable, self.files, self.files, self.line, self.step, self.step),
            self.packages,
        ]
        found: list[Change] = []
        for _ in range(self.dice.choice((1, 1, 1, 2, 3))):
            try:
                change = self.dice.choice(makers)()
            except (PathError, OSError, ChangeError):
                continue
            found.append(self.tampered(change) if self.dice.random() < 0.4 else change)
        return tuple(found)

    def value(self, name: str) -> Value | None:
        return self.box.writer.read(name, "machine", "") if name and "\n" not in name and "=" not in name else None

    def entry(self) -> Change:
        name = self.dice.choice(("PATH", "PATH", "LD_LIBRARY_PATH", *VARIABLES))
        before = self.value(name)
        count = before.text.count(":") + 1 if before else 0
        place, folder = self.dice.randint(0, count), self.dice.choice(self.folders)
        if before and self.dice.random() < 0.3:
            return changes.move_entry(
                before, self.dice.randrange(count), self.dice.randrange(count), "linux", name=name, scope="machine"
            )
        return changes.insert_entry(before, folder, place, "linux", name=name, scope="machine")

    def removal(self) -> Change:
        name = self.dice.choice(("PATH", "LD_LIBRARY_PATH"))
        before = self.value(name) or Value(text="/a")
        return changes.remove_entry(
            before, self.dice.randrange(before.text.count(":") + 1), "linux", name=name, scope="machine"
        )

    def variable(self) -> Change:
        name = self.dice.choice(VARIABLES)
        after = self.dice.choice((None, *(Value(text=t) for t in (*self.folders, "0", "-1", "x.so"))))
        return SetVariable(
            name=name, scope=self.dice.choice(("machine", "machine", "user")), before=self.value(name), after=after
        )

    def line(self) -> Change:
        path = f"{self.box.root}/etc/{self.dice.choice(('profile.d/cuda.sh', 'environment', 'profile.d/hers.sh', 'hosts'))}"
        text = Path(path).read_text()
        number = self.dice.randint(1, text.count("\n") + 1)
        name = self.dice.choice(("LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "CUDA_HOME", *VARIABLES))
        form = self.dice.choice(("posix", "assignments"))
        entry = self.dice.choice(("", "", str(self.box.root / "home/eve"), *self.folders))
        value = "" if entry or self.dice.random() < 0.6 else self.dice.choice(self.folders)
        reason = self.dice.choice(("why", "why\nrm -rf /", ""))
        among = (
            self.dice.choice(((entry,), (entry, entry), (entry, f"{self.box.root}/opt/cuda/lib64"))) if entry else ()
        )
        edit = Edit(form=form, line=number, name=name, entry=entry, among=among, value=value, reason=reason)
        try:
            new = edit_text(text, edit)
        except ChangeError:  # so it is forged: the line goes, whatever stands there
            rows = text.splitlines(keepends=True)
            new = "".join(f"# {row}" if n == number else row for n, row in enumerate(rows, 1))
        old_rows, new_rows = text.splitlines(keepends=True), new.splitlines(keepends=True)
        more = len(new_rows) - len(old_rows)
        return EditLine(
            path=path,
            form=form,
            line=number,
            name=name,
            scope="machine",
            entry=entry,
            among=edit.among,
            value=value,
            reason=reason,
            before="".join(old_rows[number - 1 : number]),
            after="".join(new_rows[number - 1 : number + more]),
            before_hash=hashlib.sha256(text.encode()).hexdigest(),
            after_hash=hashlib.sha256(new.encode()).hexdigest(),
        )

    def files(self) -> Change:
        items = tuple(self.item() for _ in range(self.dice.choice((1, 1, 2))))
        made = tuple({str(Path(i.path).parent) for i in items if not Path(i.path).parent.is_dir()})
        return FileSet(title="t", items=items, folders=made if self.dice.random() < 0.7 else ())

    def step(self) -> Change:
        kind = self.dice.choice(STEP_KINDS)
        people = ("ada", "root", "daemon", "nobody", "-G", "ada:x", "ada,root", "ada\nroot", "", self.person)
        folders = (*self.folders, self.box.root / "opt/cuda/lib64", "-r/", "/opt/x\ninclude /tmp/*")
        subject = {"library-folder": self.dice.choice(folders), "device-group": self.dice.choice(people)}.get(kind, "")
        value = (
            self.dice.choice(("video", "render", "sudo", "root", "disk", "video,sudo"))
            if kind == "device-group"
            else ""
        )
        if self.dice.random() < 0.2:
            subject, value = self.dice.choice((*people, *folders)), self.dice.choice(("", "root", "/etc"))
        if kind == "short-path":  # never outside, whatever the broker says
            subject, value = (
                f"{self.dice.choice(self.places)}/{self.dice.choice(self.names)}",
                self.dice.choice(self.places),
            )
        before: StepState = "present" if self.dice.random() < 0.1 else "absent"
        after: StepState = "absent" if self.dice.random() < 0.1 else "present"
        return SystemStep(kind=kind, subject=str(subject), value=value, before=before, after=after)

    def packages(self) -> Change:
        here, twin = str(self.packages_in), str(self.twin)
        return ExchangePackages(
            title="t",
            prefix=str(self.box.root / "opt/env"),
            folder=here,
            twin=twin,
            before=folder_fingerprint(here),
            after=folder_fingerprint(twin),
            old=exchange.folder_number(here),
            new=exchange.folder_number(twin),
        )

    def item(self) -> FileItem:
        path = f"{self.dice.choice(self.places)}/{self.dice.choice(self.names)}"
        before = self.state(path)
        kind = self.dice.random()
        if kind < 0.25:
            return FileItem(path=path, before=before, after="")
        if kind < 0.4:
            return FileItem(path=path, before=before, after=f"-> {self.dice.choice(self.names)}")
        if kind < 0.5:
            text = "evil"
            return FileItem(
                path=path, before=before, after=hashlib.sha256(text.encode()).hexdigest(), size=4, text=text
            )
        source = f"{self.dice.choice(self.folders)}/{self.dice.choice((LIB, 'libcublas.so.12'))}"
        if self.dice.random() < 0.1:
            source = "/etc/shadow"
        data = Path(source).read_bytes() if Path(source).is_file() else b"whole"
        return FileItem(path=path, before=before, after=hashlib.sha256(data).hexdigest(), size=len(data), source=source)

    def state(self, path: str) -> str:
        if Path(path).is_symlink():
            return f"-> {Path(path).readlink()}"
        if Path(path).is_dir():
            return "folder"
        return hashlib.sha256(Path(path).read_bytes()).hexdigest() if Path(path).is_file() else ""

    def tampered(self, change: Change) -> Change:
        """Return the change with one of its fields another."""
        fields: dict[str, Any] = {"title": "security update"}
        if isinstance(change, FileSet):
            if change.items and self.dice.random() < 0.7:
                odd: dict[str, Any] = self.dice.choice(
                    (
                        {"path": self.dice.choice(self.places) + "/" + self.dice.choice(self.names)},
                        *({"source": self.dice.choice(self.folders) + "/" + LIB}, {"text": "evil"}, {"size": 7}),
                        *({"after": "0" * 64}, {"after": "folder"}, {"before": "folder", "after": ""}, {"before": ""}),
                    )
                )
                fields = {"items": (msgspec.structs.replace(change.items[0], **odd), *change.items[1:])}
            else:
                fields = self.dice.choice(({"folders": (self.dice.choice(self.places),)}, {"unmake": True}))
        elif isinstance(change, SystemStep):
            fields = self.dice.choice(
                (
                    *({"value": "sudo"}, {"kind": self.dice.choice([k for k in STEP_KINDS if k != "short-path"])}),
                    {"subject": self.dice.choice(self.places if change.kind == "short-path" else self.folders)},
                )
            )
        elif isinstance(change, ExchangePackages):
            fields = self.dice.choice(
                (
                    *({"twin": ""}, {"twin": self.dice.choice(self.places)}, {"folder": self.dice.choice(self.places)}),
                    *({"prefix": self.dice.choice(self.places)}, {"before": ""}, {"install": ("torch",)}),
                )
            )
        elif isinstance(change, EditPath):
            after = Value(text=self.dice.choice(self.folders) + ":" + (change.before.text if change.before else ""))
            fields = self.dice.choice(
                (
                    *({"after": after}, {"entry": self.dice.choice(self.folders)}, {"new": None}, {"old": None}),
                    *(
                        {"name": self.dice.choice(VARIABLES)},
                        {"scope": "user"},
                        {"system": "windows"},
                        {"before": None},
                    ),
                    *({"at": "/etc/environment"}, {"at": str(self.box.eve / "x.conf")}),
                )
            )
        elif isinstance(change, EditLine):
            fields = self.dice.choice(
                (
                    *(
                        {"path": self.dice.choice(self.folders)},
                        {"name": self.dice.choice(VARIABLES)},
                        {"value": "/evil"},
                    ),
                    *({"after": "export LD_PRELOAD=/evil.so\n"}, {"before": ""}, {"line": 1}, {"reason": "x\nevil"}),
                    *(
                        {"back": True},
                        {"form": "fish"},
                        {"entry": "/evil"},
                        {"after_hash": "0" * 64},
                        {"encoding": "latin-1"},
                    ),
                )
            )
        else:
            fields = self.dice.choice(({"name": self.dice.choice(VARIABLES)}, {"before": None}, {"at": "/etc/profile"}))
        return msgspec.structs.replace(change, **fields)

    # --- trying --------------------------------------------------------------------------------------------------

    def tried(self, plan: tuple[Change, ...]) -> tuple[str, list[str]]:
        """Have the elevated side carry a plan out; return how that ended, and what the checker objects to."""
        box = self.box
        apart = (box.root / "var",)
        before = picture(box.root, box.root / "etc/environment", apart)
        done = self.asked(ElevationOrder(plan=Plan(title="t", changes=plan)))
        after = picture(box.root, box.root / "etc/environment", apart)
        rows = [*objections(before, after, box.root / "opt"), *untold(plan)] if done.kind == "done" else []
        if done.kind != "done" and after != before:
            rows.append(f"{done.sentence} But the machine is another.")
        if done.kind == "done":
            back = self.asked(ElevationOrder(undo=done.entry))
            now = picture(box.root, box.root / "etc/environment", apart)
            if back.kind == "undone" and now != before:
                rows.append("undone, and the machine is another")
            if back.kind != "undone" and now != after:
                rows.append(f"{back.sentence} But the machine is another.")
            if back.kind != "undone":
                self.anew()
        return done.kind, rows

    def asked(self, order: ElevationOrder) -> Outcome:
        box = self.box
        path, digest = box.order(order)
        try:
            return elevation.execute_order(
                path, digest, writer=box.writer, journal=box.machines, env={}, agreed=lambda _rows: ""
            )
        finally:
            Path(path).unlink()
            if Path(box.machines.folder).is_dir() and len(list(Path(box.machines.folder, "entries").iterdir())) > 40:
                shutil.rmtree(box.machines.folder)

    def anew(self) -> None:
        root = self.box.root
        seed = self.dice.random()
        for entry in root.iterdir():
            shutil.rmtree(entry)
        self.__init__(root, 0)
        self.dice = random.Random(seed)


def untold(plan: tuple[Change, ...]) -> list[str]:
    """Return what a plan that was carried out took from a line beside the folder that it names."""
    rows = []
    for change in plan:
        if isinstance(change, EditLine) and change.entry and not change.back:
            gone = {f.strip("/\n") for f in change.before.partition("=")[2].split(":")} - {change.entry.strip("/")}
            left = change.after.splitlines()[-1]
            rows += [f"{change.path} lost {f}" for f in gone if f and (f not in left or left.startswith("#"))]
    return rows


def run(count: int = 10_000, seed: int = 1) -> tuple[Counter[str], list[str]]:
    """Try ``count`` plans; return how they ended, and the objections, each with its plan."""
    quick = "/dev/shm"
    root = Path(tempfile.mkdtemp(prefix="convalesce-fuzz-", dir=quick if Path(quick).is_dir() else "/var/tmp"))
    kept, kept_lines = ground.LINUX_FOLDERS, lines.LINE_FILES
    ends: Counter[str] = Counter()
    rows: list[str] = []
    ground.LINUX_FOLDERS = (str(root / "opt"),)
    lines.LINE_FILES = tuple((str(root) + pattern, form) for pattern, form in kept_lines)
    try:
        fuzzer = Fuzzer(root, seed)
        while sum(ends.values()) < count:
            if plan := fuzzer.plan():
                end, found = fuzzer.tried(plan)
                ends[end] += 1
                rows += [f"{row}: {msgspec.json.encode(plan).decode()}" for row in found]
    finally:
        ground.LINUX_FOLDERS, lines.LINE_FILES = kept, kept_lines
        shutil.rmtree(root)
    return ends, rows


if __name__ == "__main__":
    told, against = run(*map(int, by_hand(__doc__, "[COUNT]", "[SEED]")))
    print("\n".join([*against[:20], f"{dict(told)}, {len(against)} objections"]))
    sys.exit(bool(against))
