"""On a machine of the fault lab, as an ordinary user: have plans carried out by pkexec, and see what is refused.

Prints one JSON document: what each act came to, and what of the machine's own files was another afterwards.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path

import msgspec

from core.common.progress import Progress
from core.doctor import repair
from core.doctor.examine import examine as doctor_examine
from core.host.interface import Host
from core.host.this_host import this_host
from core.host.with_environment import HostWithEnvironment
from core.model.changes import Change, FileItem, FileSet, SetVariable, Value
from core.model.findings import Report
from core.model.scan_options import ScanOptions
from core.transaction import elevation
from core.transaction.elevation import ElevationOrder
from core.transaction.execute import Outcome, Plan
from core.transaction.preconditions import resolve_changes
from tests.fixing.cure import difference, faults, picture

CUDA_PATH = SetVariable(name="CUDA_PATH", scope="machine", before=None, after=Value(text="/usr/local/cuda"))
STRAY = "/opt/cudnn-9.10/lib64/libcudnn_cnn.so.9"
PASSWD = FileSet(title="t", items=(FileItem(path="/etc/passwd", before="0" * 64),))


class Acts:
    """One person's session at this machine."""

    def __init__(self, pythons: tuple[str, ...]) -> None:
        os.environ["CONVALESCE_STATE"] = str(Path.home() / "state")
        self.pythons = pythons
        self.shop = repair.repair_context(this_host())

    def examine(self, host: Host) -> Report:
        """Look as the command line does."""
        return doctor_examine(host, Progress(), ScanOptions(pythons=self.pythons))

    def cure(self) -> dict[str, object]:
        """Cure a system copy that only root may write, and take it back: pkexec both times."""
        report = self.examine(self.shop.current_host())
        assert report.primary is not None
        before = picture(self.shop.journal.folder)
        proposal = repair.propose(report.primary, self.shop)
        outcome = repair.apply(proposal, report, self.shop, self.examine)
        after = faults(self.examine(self.shop.current_host()))
        listed = [e.id for e in repair.history(self.shop)]
        back = repair.undo(outcome.entry, self.shop)
        return {
            "elevated": proposal.elevated,
            "problems": proposal.problems,
            "outcome": outcome.kind,
            "sentence": outcome.sentence,
            "before": faults(report),
            "after": after,
            "listed": outcome.entry in listed,
            "back": back.kind,
            "left": difference(before, picture(self.shop.journal.folder)),
        }

    def by_hand(self) -> dict[str, object]:
        """Without pkexec on the PATH a command is named; carried out as root, it does precisely the plan."""
        host = self.shop.host
        bare = HostWithEnvironment(host, {**host.fresh_environment(), "PATH": "/nowhere"})
        stray = FileSet(title="t", items=(FileItem(path=STRAY, before="?", after=""),))
        order = ElevationOrder(plan=Plan(title="t", changes=resolve_changes((stray,), self.shop.writer)))
        refused = elevation.ask_elevated(order, host=bare, journal=self.shop.journal)
        said, _, command = refused.sentence.partition("sudo ")
        before = picture(self.shop.journal.folder)
        done = self._as_root(["/usr/bin/env", f"SUDO_UID={os.getuid()}", *shlex.split(command)])
        return {
            "kind": refused.kind,
            "said": said,
            "done": done.kind,
            "changed": difference(before, picture(self.shop.journal.folder)),
            "back": elevation.ask_elevated(ElevationOrder(undo=done.entry), host=host, journal=self.shop.journal).kind,
            "left": difference(before, picture(self.shop.journal.folder)),
        }

    def refusals(self) -> dict[str, object]:
        """Real root is asked for what it must not do."""
        journal = self.shop.journal
        before = picture(journal.folder)
        path, digest = elevation.write_order(ElevationOrder(plan=Plan(title="t", changes=(CUDA_PATH,))), journal)
        tampered = Path(path).with_name("tampered.json")
        tampered.write_bytes(Path(path).read_bytes().replace(b"/usr/local/cuda", b"/usr/local/evil"))
        foreign = self._order(PASSWD)
        loose = Path.home() / "loose"
        loose.mkdir()
        source = loose / "libcudnn_ops.so.9"
        source.write_bytes(b"\x7fELF stand-in")
        loose.chmod(0o777)
        placed = FileSet(
            title="t",
            items=(FileItem(path="/usr/local/lib/libcudnn_ops.so.9", after="?", source=str(source)),),
        )
        planted = self._order(*resolve_changes((placed,), self.shop.writer))
        asked = {
            "tampered": (str(tampered), digest),
            "another hash": (path, "0" * 64),
            "not listed": foreign,
            "loose source": planted,
        }
        said = {
            name: self._as_root(elevation.elevated_command(*words, "changes", "-")) for name, words in asked.items()
        }
        Path(path).parent.chmod(0o777)
        said["loose order"] = self._as_root(elevation.elevated_command(path, digest, "variable", "-"))
        Path(path).parent.chmod(0o700)
        return {
            **{name: [o.kind, o.sentence] for name, o in said.items()},
            "left": [row for row in difference(before, picture(journal.folder)) if not row.startswith(str(loose))],
        }

    def _order(self, *changes: Change) -> tuple[str, str]:
        return elevation.write_order(ElevationOrder(plan=Plan(title="t", changes=changes)), self.shop.journal)

    def _as_root(self, command: list[str]) -> Outcome:
        done = self.shop.host.run(["pkexec", *command], timeout=60)
        try:
            return msgspec.json.decode(done.out, type=Outcome)
        except msgspec.DecodeError:
            return Outcome(kind="stuck", sentence=f"{done.status} {done.out} {done.err} {done.ended}")


if __name__ == "__main__":
    acts = Acts(tuple(sys.argv[1:]))
    told = {"cure": acts.cure(), "by hand": acts.by_hand(), "refusals": acts.refusals(), "user": os.getuid()}
    print(json.dumps(told))
