"""Counter-experiments: a failed trial is repeated with one thing around it left out, until what it fails by is found.

One run leaves everything out. Where that fails in the same way, the files themselves are at fault, and nothing more is tried. Where
it works, what the failure's own words point at is left out one by one, then halves of the rest.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack

from msgspec.structs import replace

from core.common.fact_text import fact_text
from core.host.provenance import Verdict
from core.host.scratch import scratch_folder
from core.knowledge.messages import LACKS_GPU
from core.model.facts import (
    Experiment,
    ExperimentOutcome,
    Experiments,
    FrameworkTrial,
    ImportFailure,
    PackageTrial,
    Suspect,
)
from core.model.variable_names import LOADER_VARIABLES
from core.probes.probe import ProbeRequest
from core.probes.python.trials.run import TRIAL_STAGES, Change, Surroundings, Trial, run_trial
from core.probes.sysroot import Sysroot

EXPERIMENT_SECONDS, MAX_EXPERIMENTS = 120.0, 14
"""Seconds after which a scan begins no further experiment, and the maximum number for one failure."""
MAX_FAILURES = 3
"""Failures of packages of one trial that are looked into."""
WAIT = 45.0
"""Seconds that one experiment may take: one that works takes longer than one that fails early."""

INDISPENSABLE = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|TERM|PWD|OLDPWD|SHLVL|LANG|_|HOSTNAME|DISPLAY|WAYLAND_DISPLAY|XDG_RUNTIME_DIR|DBUS_SESSION_BUS_ADDRESS"
    r"|SYSTEMROOT|SYSTEMDRIVE|WINDIR|COMSPEC|PATHEXT|TEMP|TMP|APPDATA|LOCALAPPDATA|PROGRAMDATA|PROGRAMFILES.*|COMMONPROGRAM.*|USERPROFILE"
    r"|USERNAME|USERDOMAIN.*|HOMEDRIVE|HOMEPATH|PUBLIC|ALLUSERSPROFILE|OS|NUMBER_OF_PROCESSORS|PROCESSOR_.*|PYTHONDONTWRITEBYTECODE",
    re.IGNORECASE,
)
"""Variables of a session that no program fails by as long as it starts, or without which none starts."""

Found = FrameworkTrial | PackageTrial


class Laboratory:
    """The experiments of one scan, which share their time."""

    def __init__(self, request: ProbeRequest, where: Sysroot) -> None:
        self._request, self._where = request, where
        self._left = EXPERIMENT_SECONDS

    def with_experiments(self, trial: Trial, made: FrameworkTrial, verdict: Verdict) -> FrameworkTrial:
        """Return a trial with the experiments that its failures ask for."""
        if verdict.account is not None or made.timed_out:
            return made
        if made.problem or made.ended:
            early = made.reached == "nothing"  # its import alone is enough, and quicker
            one = replace(trial, module=f"import:{trial.module}", packages=()) if early else trial
            return replace(made, experiments=self.look_into(one, made, _begun(made.failures, made.problem), verdict))
        seen: set[str] = set()
        packages = []
        for package in made.packages:
            begun = _begun(package.failures, package.problem or package.ended)
            if package.state in ("failed", "ended") and len(seen) < MAX_FAILURES and begun not in seen:
                seen.add(begun)
                module = next(m for d, m in trial.packages if d.name == package.distribution)
                alone = Trial(trial.python, package.distribution, package.version, f"import:{module}")
                packages.append(replace(package, experiments=self.look_into(alone, package, begun, verdict)))
            else:
                packages.append(package)
        return replace(made, packages=tuple(packages))

    def look_into(self, trial: Trial, failed: Found, begun: str, verdict: Verdict) -> Experiments | None:
        """Repeat a failed trial, with one thing changed at a time; ``begun`` is what it said first."""
        if self._left <= 0:
            return None
        self._request.watch.check()
        self._request.watch.say(
            fact_text(
                "Finding out why {module} of {prefix} fails", module=trial.distribution, prefix=trial.python.prefix
            )
        )
        around: list[Surroundings] = []
        start = time.monotonic()
        again = run_trial(
            trial, self._request, self._request.env, self._where, verdict, change=Change(tell=True), hear=around.append
        )
        took = time.monotonic() - start
        self._left -= took
        heard = Surroundings(
            path=tuple(p for a in around for p in a.path),
            start_up=tuple(p for a in around for p in a.start_up),
            user_packages=next((a.user_packages for a in around if a.user_packages), ""),
            code=tuple(p for a in around for p in a.code),
            read=tuple(p for a in around for p in a.read),
        )
        outcome: ExperimentOutcome = (
            "works" if _came_through(again) else "same" if _is_alike(again, failed, begun) else "otherwise"
        )
        if again.timed_out:
            outcome = "no answer"
        found = Experiments(repeated=outcome, foreign=heard.code, read=heard.read)
        if outcome != "same":
            return found
        suspects = _suspects(trial, again, self._request.env, heard)
        search = _Search(self, trial, again, verdict)
        proved = search.find(suspects) if suspects else ()
        return replace(found, runs=tuple(search.runs), proved=search.decided(proved))

    def run(
        self, trial: Trial, failed: FrameworkTrial, without: Sequence[Suspect], verdict: Verdict
    ) -> Experiment | None:
        """Run an experiment; None where there is no time left."""
        if self._left <= 0:
            return None
        self._request.watch.check()
        start = time.monotonic()
        dropped = {s.name for s in without if s.kind == "variable"}
        env = {n: v for n, v in self._request.env.items() if n not in dropped}
        change = Change(
            entries=tuple(s.name for s in without if s.kind == "search entry"),
            start_up=tuple(s.name for s in without if s.kind == "start-up file"),
            folder=any(s.kind == "folder" for s in without),
        )
        if any(s.kind == "user packages" for s in without):
            env["PYTHONNOUSERSITE"] = "1"
        with ExitStack() as stack:
            if any(s.kind == "settings" for s in without):
                env = _at_another_home(env, str(stack.enter_context(scratch_folder())))
            again = run_trial(trial, self._request, env, self._where, verdict, change=change, timeout=WAIT)
        seconds = time.monotonic() - start
        self._left -= seconds
        outcome: ExperimentOutcome = "otherwise"
        if again.timed_out:
            outcome = "no answer"
        elif _came_through(again) or _came_further(again, failed):
            outcome = "works"
        elif _is_alike(again, failed, _begun(failed.failures, failed.problem)):
            outcome = "same"
        said = (again.problem or again.ended)[-300:] if outcome == "otherwise" else ""
        return Experiment(without=tuple(without), outcome=outcome, problem=said, seconds=round(seconds, 2))


class _Search:
    """The search for the least that a failed trial works without."""

    def __init__(self, laboratory: Laboratory, trial: Trial, failed: FrameworkTrial, verdict: Verdict) -> None:
        self._laboratory, self._trial, self._failed = laboratory, trial, failed
        self._verdict = verdict
        self.runs: list[Experiment] = []
        self._cut_short = False

    def find(self, ranked: Sequence[tuple[int, Suspect]]) -> tuple[Suspect, ...]:
        """Return the suspects without which it works, as few as the experiments allow; the first of ``ranked`` are the likeliest."""
        suspects = [s for _score, s in ranked]
        pointed = [s for score, s in ranked if score >= POINTED][:4]
        if len(suspects) == 1:
            return self._works(suspects)
        whole = self._bare(suspects)
        if not whole:
            return next((w for s in pointed if (w := self._works([s]))), ()) if self._is_open else ()
        for one in pointed:
            if found := self._works([one]):
                return found
        rest = [s for s in whole if s not in pointed]
        return self._halved(rest if self._works(rest) else list(whole))

    def decided(self, found: tuple[Suspect, ...]) -> tuple[Suspect, ...]:
        """Return what was found as far as it is the least: where the time was over before that, only what alone is left."""
        if not self._cut_short:
            return found
        alone = {run.without[0] for run in self.runs if len(run.without) == 1 and run.outcome == "same"}
        left = tuple(s for s in found if s not in alone)
        return left if len(left) == 1 else ()

    @property
    def _is_open(self) -> bool:
        """Whether no experiment without everything failed in the same way."""
        return not any(run.outcome == "same" for run in self.runs)

    def _bare(self, suspects: list[Suspect]) -> tuple[Suspect, ...]:
        """Leave everything out, then everything but what the files may need."""
        if found := self._works(suspects):
            return found
        needed = [s for s in suspects if s.kind == "start-up file" or s.name in LOADER_VARIABLES]
        some = [s for s in suspects if s not in needed]
        return self._works(some) if some and needed and self._is_open else ()

    def _halved(self, suspects: list[Suspect]) -> tuple[Suspect, ...]:
        while len(suspects) > 1:
            middle = len(suspects) // 2
            for half in (suspects[:middle], suspects[middle:]):
                if self._works(half):
                    suspects = half
                    break
            else:
                return self._least(suspects)  # it takes some of both
        return tuple(suspects)

    def _least(self, suspects: list[Suspect]) -> tuple[Suspect, ...]:
        """Put back what it works with all the same, the least likely first, in ever smaller parts."""
        size = max(1, len(suspects) // 4)
        while size:
            for start in range(len(suspects) - size, -1, -size):
                rest = suspects[:start] + suspects[start + size :]
                if self._works(rest):
                    suspects = rest
            size //= 2
        return tuple(suspects)

    def _works(self, without: Iterable[Suspect]) -> tuple[Suspect, ...]:
        """Return ``without`` if the trial works without it, else nothing."""
        wanted = tuple(without)
        done = next((r for r in self.runs if set(r.without) == set(wanted)), None)
        if done is None and wanted:
            done = (
                None
                if len(self.runs) >= MAX_EXPERIMENTS
                else self._laboratory.run(self._trial, self._failed, wanted, self._verdict)
            )
            self.runs += [done] if done else []
            self._cut_short = self._cut_short or done is None or done.outcome == "no answer"
        return wanted if done and done.outcome == "works" else ()


# --- what is alike ----------------------------------------------------------------------------------------------------


def _begun(failures: Sequence[ImportFailure], problem: str) -> str:
    """Return what began a failure, in its own words."""
    return failures[0].text if failures else problem


def _came_through(trial: FrameworkTrial) -> bool:
    """Whether nothing failed, or nothing but the GPU is lacking."""
    if trial.ended or trial.right is False:
        return False
    return not trial.problem or (trial.reached != "nothing" and bool(LACKS_GPU.search(trial.problem)))


def _came_further(trial: FrameworkTrial, failed: FrameworkTrial) -> bool:
    stages = ("nothing", *reversed(TRIAL_STAGES))
    return not trial.ended and stages.index(trial.reached) > stages.index(failed.reached)


_VARYING = re.compile(r"0x[0-9a-f]+|\d+")


def _is_alike(trial: FrameworkTrial, failed: Found, begun: str) -> bool:
    """Whether a trial failed in the same way: with the same first words or, of a process that ended, the same last ones."""
    if isinstance(failed, FrameworkTrial) and trial.reached != failed.reached:
        return False
    if trial.ended or failed.ended:
        mine = trial.problem if isinstance(failed, PackageTrial) else ""
        told = (failed.ended, failed.problem) if isinstance(failed, FrameworkTrial) else (failed.ended, mine)
        return (_VARYING.sub("", trial.ended), _last(trial.problem)) == (_VARYING.sub("", told[0]), _last(told[1]))
    return _VARYING.sub("", _begun(trial.failures, trial.problem)) == _VARYING.sub("", begun)


def _last(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return _VARYING.sub("", lines[-1]) if lines else ""


# --- who is suspected -------------------------------------------------------------------------------------------------

POINTED = 4
"""Least score of what the failure's own words point at."""


def _suspects(
    trial: Trial, failed: FrameworkTrial, env: Mapping[str, str], around: Surroundings
) -> list[tuple[int, Suspect]]:
    """Return everything that may be left out, the likeliest first, each with a score."""
    failures = failed.failures
    words = "\n".join(
        (
            failed.problem,
            failed.ended,
            *(t for f in failures for t in (f.text, f.code, f.file, f.found, f.path, f.hidden)),
        )
    )
    named = {f.variable for f in failures} | {n for f in failures for n in f.reads}
    top = trial.module.rpartition(":")[2].partition(".")[0].upper()
    rows = []
    for name, value in env.items():
        if not INDISPENSABLE.fullmatch(name):
            score = 4 * (name in named) + 8 * bool(re.search(rf"\b{re.escape(name)}\b", words)) + _repeats(value, words)
            score += 3 * (len(top) > 1 and top in name.upper()) + 2 * name.startswith(("PYTHON", "LD_"))
            told = value if value in words or name.startswith(("PYTHON", "LD_")) else ""
            rows.append((score, Suspect(kind="variable", name=name, value=told)))
    opened = (*around.code, *(f.found for f in failures), *(f.file for f in failures))
    if failed.folder:
        used = _holds(failed.folder, opened)
        rows.append((6 * used + 4 * (failed.folder in words), Suspect(kind="folder", name=failed.folder)))
    if around.user_packages:
        rows.append(
            (6 * _holds(around.user_packages, opened), Suspect(kind="user packages", name=around.user_packages))
        )
    given = [e for e in env.get("PYTHONPATH", "").split(os.pathsep) if e]
    for entry in dict.fromkeys(around.path):
        if _holds(entry, opened) and entry != around.user_packages and given != [entry]:
            rows.append((6, Suspect(kind="search entry", name=entry)))
    for file in dict.fromkeys(around.start_up):
        rows.append((6 if file in opened or file in words else 1, Suspect(kind="start-up file", name=file)))
    if around.read:
        rows.append((1 + 5 * any(p in words for p in around.read), Suspect(kind="settings", name=env.get("HOME", ""))))
    return sorted(rows, key=lambda row: -row[0])


def _repeats(value: str, words: str) -> int:
    """Return 6 if the words repeat a value, or a part of one that is a list; 4 if they quote a short one."""
    parts = [p for p in re.split(r"[:;,]", value) if len(p) > 3]
    if any(p in words for p in (value, *parts) if len(p) > 3):
        return 6
    return 4 if value and re.search(rf"['\"`]{re.escape(value)}['\"`]", words) else 0


def _holds(folder: str, paths: Iterable[str]) -> bool:
    inside = os.path.join(folder, "")  # noqa: PTH118 - text of another interpreter
    return any(p.startswith(inside) for p in paths)


def _at_another_home(env: Mapping[str, str], home: str) -> dict[str, str]:
    """Return the variables for an empty home folder, with the same packages of the user."""
    kept = {n: v for n, v in env.items() if not (n.startswith("XDG_") and n.endswith(("_HOME", "_DIRS")))}
    old = env.get("HOME", "")
    base = env.get("PYTHONUSERBASE") or (os.path.join(old, ".local") if old else "")  # noqa: PTH118 - as above
    return {**kept, "HOME": home, **({"PYTHONUSERBASE": base} if base else {})}
