"""Run the world lab by hand: ``python -m tests.worldlab [NAME...]``; exit status 1 on any miss."""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from pathlib import Path

from tests.worldlab.cures import note
from tests.worldlab.run import CHECKOUT, RIGHT, Outcome, examine
from tests.worldlab.scene import Scene
from tests.worldlab.scenes import HELD_OUT, table


def main(argv: Sequence[str] | None = None) -> int:
    """Run the scenes that were named (patterns such as "torch-*"), or all."""
    parser = argparse.ArgumentParser(prog="python -m tests.worldlab", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--list", action="store_true", help="only list the scenes")
    parser.add_argument(
        "--held-out",
        nargs="?",
        const="1",
        default="",
        choices=tuple(HELD_OUT),
        help="a set of scenes that the rules were not made with",
    )
    parser.add_argument("--oracle-only", action="store_true", help="ask the real programs alone; no scan is run")
    parser.add_argument(
        "--try", action="store_true", dest="tries", help="scan with --thorough: the real imports are evidence"
    )
    parser.add_argument("--markdown", action="store_true", help="write the table into its page in docs")
    parser.add_argument(
        "--cures",
        action="store_true",
        help="carry out each offered change of files or packages; with --markdown: note what came of it in the table of cures",
    )
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="leave the reports there")
    parser.add_argument("--verbose", "-v", action="store_true", help="say everything that was loud, for every scene")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args(argv)
    rows = [
        s
        for s in table(options.held_out)
        if (not options.names or any(fnmatch(s.name, n) for n in options.names)) and (s.causes or not options.cures)
    ]
    if not rows:
        print("No scene has that name; --list shows them.", file=sys.stderr)
        return 2
    if options.list:
        for row in rows:
            print(f"{row.kind:8} {row.name:44} {row.environment:18} {' | '.join(row.causes)}")
        return 0
    if options.oracle_only and (options.markdown or options.cures):
        parser.error("--oracle-only runs no scan: there is nothing to write and nothing to cure")
    if options.tries and options.markdown:
        parser.error("the tables are those of a plain scan")
    if options.markdown and options.held_out and options.names and not options.cures:
        parser.error("a held-out set has one row in its page, and is scored as a whole")
    outcomes: list[Outcome] = []
    with ThreadPoolExecutor(max_workers=options.jobs) as pool:
        for outcome in pool.map(lambda row: staged(row, options), rows):
            outcomes.append(outcome)
            if options.markdown and options.cures:
                note([outcome])
            elif options.markdown and not options.held_out:
                write(outcomes)
            print(line(outcome, verbose=options.verbose), flush=True)
    if options.markdown and options.held_out and not options.cures:
        page = page_of(options.held_out)
        page.write_text(with_set(page.read_text(encoding="utf-8"), options.held_out, outcomes), encoding="utf-8")
    borne_out = sum(o.verdict == "borne out" for o in outcomes)
    print(
        "\n"
        + (f"{borne_out} of {len(outcomes)} borne out by the real program" if options.oracle_only else totals(outcomes))
    )
    return 1 if any(o.verdict not in RIGHT for o in outcomes) else 0


def staged(row: Scene, options: argparse.Namespace) -> Outcome:
    """Examine one scene; a scene that cannot be staged is a wrong one."""
    try:
        return examine(
            row, cures=options.cures, keep=options.keep, oracle_only=options.oracle_only, tries=options.tries
        )
    except Exception as e:  # noqa: BLE001 - the edge of the lab: one scene that breaks leaves the others
        return Outcome(row, "wrong scene", f"it could not be staged: {type(e).__name__}: {e}")


def line(o: Outcome, *, verbose: bool = False) -> str:
    """Return one scene in a line, with all that was loud where it is not right."""
    expected = "|".join(o.scene.causes) or "(quiet)"
    cure = f"  cure: {o.cure}" if o.cure else ""
    row = f"{o.verdict:12} {o.scene.kind:8} {o.scene.name:40} {expected:34} {o.found}  [{o.status}] {o.seconds:.1f} s{cure}"
    if verbose and o.cure_detail:
        row = "\n      | ".join((row, *o.cure_detail.splitlines()))
    if o.verdict in RIGHT and not verbose:
        return row
    return "\n      ".join((row, f"the program: {o.said}", *o.detail.splitlines()))


def totals(outcomes: Sequence[Outcome]) -> str:
    """Return what the table comes to."""
    faults, healthy = [o for o in outcomes if o.scene.causes], [o for o in outcomes if not o.scene.causes]
    of_faults, of_healthy = Counter(o.verdict for o in faults), Counter(o.verdict for o in healthy)
    unseen = sum(o.status == 0 for o in faults)
    text = (
        f"{of_faults['named first']} of {len(faults)} faults named first, {of_faults['missed']} missed "
        f"({unseen} with exit status 0); {of_healthy['quiet']} of {len(healthy)} healthy machines quiet, "
        f"{of_healthy['false alarm']} false alarms; {of_faults['wrong scene'] + of_healthy['wrong scene']} wrong scenes, "
        f"{of_faults['no report'] + of_healthy['no report']} without a report"
    )
    cures = Counter(o.cure for o in faults if o.cure)
    return text + ("; cures: " + ", ".join(f"{n} {c}" for c, n in cures.most_common()) if cures else "")


def write(outcomes: Sequence[Outcome]) -> None:
    """Put what was run into the table of its page; rows of other scenes stay as they are."""
    page = page_of("")
    page.write_text(with_rows(page.read_text(encoding="utf-8"), MARK, outcomes), encoding="utf-8")


def page_of(held_out: str) -> Path:
    """Return the page with the table of the in-sample scenes, or of the held-out set of this name."""
    return CHECKOUT / "docs" / ("world-lab-held-out.md" if held_out else "world-lab.md")


MARK = "<!-- table: python -m tests.worldlab --markdown -->"
"""The line that stands before the table of the in-sample scenes."""


def with_set(page: str, held_out: str, outcomes: Sequence[Outcome]) -> str:
    """Return the page of the held-out sets with what a set came to in the row of that set; its first three cells stay."""
    if not outcomes:
        return page
    by_class = {kind: [o.verdict in RIGHT for o in outcomes if o.scene.kind == kind] for kind in (*"ABCDE", "healthy")}
    faults = [o for o in outcomes if o.scene.causes]
    named = sum(o.verdict in RIGHT for o in faults)
    every = f"{named} of {len(faults)} ({100 * named / max(len(faults), 1):.0f} %)"
    unseen = sum(o.verdict == "missed" and o.status == 0 for o in faults)
    cells = [f"{sum(its)} of {len(its)}" if its else "-" for its in by_class.values()]
    row = re.compile(rf"(?m)^(\| \[{held_out}\]\([^|]*\|[^|]*\|[^|]*\|).*$")
    return row.sub(lambda m: f"{m[1]} {' | '.join((*cells[:-1], every, str(unseen), cells[-1]))} |", page)


def with_rows(page: str, mark: str, outcomes: Sequence[Outcome]) -> str:
    """Return a page with the rows of what was run in the table behind a mark."""
    before, _mark, after = page.partition(mark)
    following = after[after.index("## ") :] if "\n## " in after else ""
    kept = [row for row in after.removesuffix(following).splitlines() if row.startswith("| ") and "---" not in row]
    rows = {row.split(" | ")[0].strip("| "): row for row in kept if not row.startswith("| scene |")}
    rows |= {o.scene.name: _row(o) for o in outcomes}
    text = "\n".join(("", "", _counted(rows.values()), "", HEAD, "|---|---|---|---|---|---|---|", *rows.values(), ""))
    return before + mark + text + (f"\n{following}" if following else "")


HEAD = "| scene | class | environment | expected | found | exit | the real program |"


def _row(o: Outcome) -> str:
    found = o.verdict if o.verdict in RIGHT else f"{o.verdict}: {_cell(o.found)}"
    expected = " or ".join(o.scene.causes) or "-"
    what = (o.scene.name, o.scene.kind, o.scene.environment, expected, found, o.status, _cell(o.said))
    return f"| {' | '.join(map(str, what))} |"


def _counted(rows: Iterable[str]) -> str:
    """Return what a table's rows come to."""
    cells = [row.split(" | ") for row in rows]
    faults, healthy = [c for c in cells if c[1] != "healthy"], [c for c in cells if c[1] == "healthy"]
    first, quiet = sum(c[4] == "named first" for c in faults), sum(c[4] == "quiet" for c in healthy)
    unseen = sum(c[4].startswith("missed") and c[5] == "0" for c in faults)
    wrong = sum(c[4].startswith(("wrong scene", "no report")) for c in cells)
    return (
        f"{first} of {len(faults)} faults named first ({unseen} others with exit status 0); {quiet} of {len(healthy)} healthy "
        f"machines quiet; {wrong} refuted by the real program or without a report."
    )


def _cell(text: str) -> str:
    home = str(CHECKOUT.home())
    return re.sub(r"\S*/world/scenes/[\w.-]+-\d+/", "", text).replace(home, "~").replace("|", "/")[:100]


if __name__ == "__main__":
    sys.exit(main())
