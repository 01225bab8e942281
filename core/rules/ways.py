"""Ways of starting a program: each is judged with its own variables, and findings say where the ways differ."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from msgspec.structs import replace

from core.common.i18n import N_, _, join_sentences
from core.common.text import join_names
from core.model.facts import Snapshot, Start, StartKind, StartLook
from core.model.findings import Evidence, Finding
from core.model.steps import Severity
from core.model.variable_names import CUDA_WORDS
from core.rules.decisive_variables import Comparison, driver_for, value_of
from core.rules.wording import observation

THIS_SESSION = "process"
"""The entry in ``Finding.ways`` for programs started from this session."""
CONCRETE: tuple[StartKind, ...] = ("notebook", "service", "cron", "launcher", "script", "task")
"""Kinds that start one program: a fault in them counts, because somebody starts that program so."""
OF_LOADERS = ("LD_", "PYTHON")
"""Prefixes of variables without which a program may find fewer files."""
MARKS = ("VIRTUAL_ENV", "CONDA_", "PYENV_", "UV_PROJECT_ENVIRONMENT")
"""Prefixes of variables that show what is active and cause no fault."""
JUDGED = (
    *OF_LOADERS, "sys.path", "CUDA", "CUDNN", "TF_", "XLA_", "JAX_", "NVIDIA_", "TORCH", "PYTORCH", "NUMBA", "KERAS_", "TRITON_", "CUPY_", "NCCL_",
    "HF_", "TRANSFORMERS_", "ACCELERATE_", "DS_", "VLLM_", "BNB_", "OMP_", "MKL_", "KMP_", "NPY_", "ORT_", "USE_TF", "PROTOCOL_BUFFERS_",
)  # fmt: skip
"""Prefixes of variables that can cause a fault which this session does not have."""

OF_A_VARIABLE = ("environment.contract-",)
"""Prefixes of the ids of findings whose subject is a variable."""
MOST_LINES = 4
"""Maximum number of lines of start-up files shown as evidence in a finding."""

USUAL_NAMES = ("config", "settings", "init.", "rc.")
"""Files that many tools have: their folder tells which."""
WAY_WORDS: dict[StartKind, str] = {
    "login": N_("login shells ({at})"),
    "terminal": N_("terminals ({at})"),
    "desktop": N_("desktop programs"),
    "ssh": N_("commands over ssh ({at})"),
    "cron": N_("cron jobs"),
    "notebook": N_("notebooks ({at})"),
    "activation": N_("the activation of {at}"),
    "service": N_("the service {at}"),
    "editor": N_("terminals of the editor"),
    "direnv": N_("the folder of {at}"),
    "module": N_("the environment modules that are loaded"),
    "launcher": N_("the launcher {at}"),
    "script": N_("the script {at}"),
    "task": N_("the task {at}"),
    "multiplexer": N_("shells in {at}"),
    "ipython": N_("IPython and its notebooks"),
    "prompt": N_("Python's prompt"),
}


def way_words(seen: Snapshot, ids: Iterable[str]) -> str:
    """Return the ways of starting in words, each once."""
    known = {s.id: s for s in seen.starts or ()}
    rows = [
        _("this session") if i == THIS_SESSION else _way_words(known[i]) for i in ids if i in known or i == THIS_SESSION
    ]
    return join_names(dict.fromkeys(rows))


def _way_words(start: Start) -> str:
    at = start.at
    if start.kind == "notebook" and at.endswith((".ipynb", ".py")):
        at = re.split(r"[/\\]", at)[-1]
    elif start.kind == "notebook" and at.count("/") > 1:
        at = at.split("/")[-2]  # the kernel's name
    elif start.kind == "editor" and start.argv:
        return _("programs that the editor runs ({at})", at=re.split(r"[/\\]", at)[-1])
    if start.kind in ("service", "launcher", "script", "task"):
        place, mark, name = at.partition(": ")
        parts = re.split(r"[/\\]", place)
        file = "/".join(parts[-2 if parts[-1].startswith(USUAL_NAMES) else -1 :])
        if line := re.fullmatch(r"line (\d+)", name):
            return _("the command in line {line} of {file}", line=line[1], file=file)
        at = f"{file}{mark}{name}"
    return _(WAY_WORDS[start.kind], at=at)


def with_other_ways(found: list[Finding], seen: Snapshot, run: Callable[[Snapshot], list[Finding]]) -> list[Finding]:
    """Return the findings of this session and every other way; if they differ, each finding lists the ways for which it holds."""
    looks = [look for look in seen.start_looks or () if look.environment is not None]
    if not looks:
        return [_unless_not_compared(f, seen, set()) for f in found]
    named = {i for look in looks for i in look.starts}
    like_session = (THIS_SESSION, *(s.id for s in seen.starts or () if s.id not in named))
    theirs = [{(f.id, f.subject): f for f in run(snapshot_for_way(seen, look))} for look in looks]
    ways: dict[tuple[str, str], list[str]] = {}
    for look, its_own in zip(looks, theirs, strict=True):
        for key in its_own:
            ways.setdefault(key, []).extend(look.starts)
    ours = {(f.id, f.subject): f for f in found}
    compared = [Comparison(seen, look, run) for look in looks]
    out = [_limit_to_ways(f, seen, (*like_session, *ways.get((f.id, f.subject), ())), named, compared) for f in found]
    for key in (k for k in ways if k not in ours):
        told = [
            (f, _concerned_ways(c, seen, f)) for c, its in zip(compared, theirs, strict=True) if (f := its.get(key))
        ]
        told = [(f, its) for f, its in told if its and f.severity >= Severity.WARNING]
        if told:  # the same fault may lack more in a way that starts nothing: what is told is of one that does
            its_ways = tuple(dict.fromkeys(i for _f, its in told for i in its))
            out.append(_elsewhere_finding(told[0][0], seen, its_ways, compared))
    out = [_unless_on_purpose(_unless_started_whole(f, seen, compared), seen) for f in out]
    return [_unless_not_compared(f, seen, named) for f in out]


HIDES = "driver.hidden-by-variable"
DEBUGGING = "environment.debugging-"
WITHOUT_GPU = ("", "-1", "none", "nodevfiles")
"""Values of CUDA_VISIBLE_DEVICES that nobody writes but to do without a GPU."""


def _unless_on_purpose(finding: Finding, seen: Snapshot) -> Finding:
    """Return a finding as a note, if only scripts and tasks hide the GPUs, each for what it starts, by a value that says so, or set what
    helps to find errors.
    """
    debugging = finding.id.startswith(DEBUGGING)
    if not (finding.id == HIDES or debugging) or finding.severity < Severity.WARNING or not finding.ways:
        return finding
    its = [s for s in seen.starts or () if s.id in finding.ways]
    values = {v.value.strip().lower() for s in its for v in s.variables if v.name == finding.subject}
    meant = len(its) == len(finding.ways) and all(s.kind in ("script", "task") for s in its)
    return replace(finding, severity=Severity.NOTE) if meant and (debugging or values <= {*WITHOUT_GPU}) else finding


LACKS = ("cuda_not_on_search_path", "cudnn_not_on_search_path")
"""Causes of what a variable of the loader would cure."""


def _unless_started_whole(finding: Finding, seen: Snapshot, compared: list[Comparison]) -> Finding:
    """Return a finding as a note, if the environment is evidently started in a way whose own lines give the loader what this session lacks."""
    if not _lacks(finding) or not finding.ways:
        return finding
    theirs = _starts_of(finding, seen)
    active = {value_of(seen, n) for n in ("VIRTUAL_ENV", "CONDA_PREFIX")}
    if any(s.id in finding.ways or s.prefix in active for s in theirs):
        return finding
    whole = [s for s in theirs if _gives(s, _decisive(finding, (s.id,), compared, there=False))]
    whole += [s for s in _meant_activations(finding, seen) if s not in whole]
    if not whole:
        return finding
    ways = way_words(seen, (s.id for s in whole))
    return replace(
        finding, severity=Severity.NOTE, title=_("Only outside {ways}: {title}", ways=ways, title=finding.title)
    )


def _unless_not_compared(finding: Finding, seen: Snapshot, compared: set[str]) -> Finding:
    """Return a finding as undecided, if the scan's time was out before a start that may give the loader what this session lacks was
    compared with it. ``compared``: the ids of the ways that were.
    """
    unread = any(e.probe == "starts" for e in seen.errors)
    if not _lacks(finding) or not (unread or any(e.probe == "start_looks" for e in seen.errors)):
        return finding
    names = ("PATH", "Path") if seen.machine.system == "windows" else ("LD_LIBRARY_PATH",)
    open_ones = [s for s in _starts_of(finding, seen) if s.id not in compared and _gives(s, names)]
    if not unread and not open_ones:
        return finding
    return replace(
        finding,
        severity=Severity.UNKNOWN,
        title=_("Undecided: {title}", title=finding.title),
        why=join_sentences(
            _("There was no time to examine whether the way in which you start it provides this."), finding.why
        ),
    )


def _lacks(finding: Finding) -> bool:
    """Whether this session lacks what a variable of the loader would cure."""
    told = finding.severity >= Severity.WARNING and finding.cause in LACKS
    return told and (not finding.ways or THIS_SESSION in finding.ways)


def _starts_of(finding: Finding, seen: Snapshot) -> list[Start]:
    """Return the ways that start a program of an environment that a finding is about."""
    of_any = finding.consumers == ("plain",) and seen.machine.system == "windows"  # programs that none is known of
    return [
        s for s in seen.starts or () if s.kind in CONCRETE and s.prefix and (of_any or _concerns(finding, s.prefix))
    ]


GIVES_UP = ("exits", "no command")
"""Ends of a start that means to activate an environment, or to run something in one."""


def _meant_activations(finding: Finding, seen: Snapshot) -> list[Start]:
    """Return the activations without the fault that a file here means to make, and does not: that is told by itself."""
    its = (one for s in seen.starts or () for one in s.runs if one.dead or one.fault in GIVES_UP)
    meant = {one.seems for one in its if _concerns(finding, one.seems)}
    return [s for s in seen.starts or () if s.kind == "activation" and s.prefix in meant and s.id not in finding.ways]


def _concerns(finding: Finding, prefix: str) -> bool:
    return any(c.endswith(f":{prefix}") for c in finding.consumers)


def _gives(start: Start, names: tuple[str, ...]) -> bool:
    """Whether a line of this way sets or extends one of these variables."""
    return any(r.name in names and r.does in ("set", "prepend", "append") and not r.overridden for r in start.lines)


def snapshot_for_way(seen: Snapshot, look: StartLook) -> Snapshot:
    """Return the machine as programs started in another way see it.

    Libraries that programs open by name were looked for in this session's folders: of a way that searches others, nothing is known.
    """
    its = replace(
        seen,
        environment=look.environment,
        loads=seen.loads if look.loads is None else look.loads,
        closures=seen.closures if look.closures is None else look.closures,
        imports=seen.imports if look.imports is None else look.imports,
        starts=None,
        start_looks=None,
    )
    if value_of(its, "LD_LIBRARY_PATH") != value_of(seen, "LD_LIBRARY_PATH") and seen.framework_tools:
        kept = (t for t in seen.framework_tools if not t.opened or t.name.startswith("/"))
        its = replace(its, framework_tools=tuple(kept))
    return replace(its, driver=driver_for(seen, its))


def _concerned_ways(compared: Comparison, seen: Snapshot, finding: Finding) -> list[str]:
    """Return the ways of a look in which a fault counts that this session does not have.

    A way that merely lacks a setting of this session may never start anything: what makes the difference must be set
    there. A way that starts a particular program counts.
    """
    look = compared.look
    mine = {v.name: v.value for v in seen.variables if v.scope == THIS_SESSION}
    theirs = [
        v for v in (look.environment.variables if look.environment else ()) if v.source not in ("", "environment")
    ]
    told = finding.id.startswith(OF_A_VARIABLE)
    sets = any(
        (v.name == finding.subject if told else v.name.startswith(JUDGED)) and v.value and mine.get(v.name) != v.value
        for v in theirs
    )
    known = {s.id: s for s in seen.starts or () if not starts_another_program(s, finding)}
    if sets and any(i in known and known[i].kind not in CONCRETE for i in look.starts):
        names = compared.decisive((finding.id, finding.subject), there=True)
        sets = not names or any(v.name in names for v in theirs)
    windows = seen.machine.system == "windows"
    named = {f"{p.prefix}/bin" for p in seen.pythons or ()}  # an environment's own name may be "cuda-tests"
    sets = sets or any(
        v.name == "PATH" and not told and _cuda_entries(v.value) - _cuda_entries(mine.get("PATH", "")) - named
        for v in theirs
    )
    # the loader of Windows searches PATH: a file that sets it there decides what is found, whatever else it is for
    sets = sets or (
        windows
        and not told
        and any(v.name.upper() == "PATH" and v.name in (look.counting or ()) for v in theirs)
        and any(n.upper() == "PATH" for n in compared.decisive((finding.id, finding.subject), there=True))
    )
    return [
        i
        for i in look.starts
        if i in known
        and (
            sets
            or (
                known[i].kind in CONCRETE
                and known[i].prefix
                and not _merely_inherits(known[i], compared, seen, finding)
            )
        )
    ]


SYSTEM_PROGRAM = re.compile(r"/(?:usr/)?s?bin/(?P<name>[^/]+)\Z|/usr/lib(?:exec)?/\S+\Z")
HANDS_ON = re.compile(
    r"python|pypy|(?:ba|da|z|fi|tc|k)?sh\Z|csh\Z|(?:env|nice|ionice|taskset|numactl|chrt|timeout|stdbuf|flock|setsid|sudo|su|runuser|unshare|"
    r"tini|dumb-init|screen|tmux|time|xvfb-run|srun|mpirun|mpiexec|systemd-\w+|uv|conda|mamba|micromamba|pixi|poetry|hatch|pdm|make|node|npm|"
    r"jupyter.*|start-stop-daemon|gosu|dbus-run-session|ld-linux.*)\Z"
)
"""Names of the system's programs that start another one, which may be an environment's Python."""


def starts_another_program(start: Start, finding: Finding) -> bool:
    """Whether a way starts a program of the system, which has nothing to do with the environment that a finding is about."""
    its = SYSTEM_PROGRAM.match(start.argv[0]) if start.argv else None
    if its is None or start.prefix or start.kind == "notebook" or HANDS_ON.match(its["name"] or ""):
        return False
    prefixes = [c.partition(":")[2] for c in finding.consumers if "/" in c]
    return bool(prefixes) and not any(p in word for p in prefixes for word in start.argv)


def _merely_inherits(start: Start, compared: Comparison, seen: Snapshot, finding: Finding) -> bool:
    """Whether a kernel lacks only what a terminal lacks, too: it gets the variables of its server, which may be started from this session."""
    if start.kind != "notebook" or seen.machine.system == "windows":
        return False
    names = compared.decisive((finding.id, finding.subject), there=True)
    if any(t.name in names for t in start.taken):
        return False  # its configuration took it away
    own = {v.name: v.value for v in start.variables}
    terminals = [{v.name: v.value for v in s.variables} for s in seen.starts or () if s.kind == "terminal"]
    return bool(names) and any(all(own.get(n) == its.get(n) for n in names) for its in terminals)


def _cuda_entries(value: str) -> set[str]:
    return {e for e in re.split(r";|(?<!\b[A-Za-z]):", value) if any(word in e.lower() for word in CUDA_WORDS)}


MOST_COMPARED = 3
"""Other ways that one finding is compared with, variable by variable."""


def _decisive(finding: Finding, ways: Iterable[str], compared: list[Comparison], *, there: bool) -> tuple[str, ...]:
    """Return the variables that make the difference between this session and these ways; none where no single one does."""
    wanted = set(ways)
    its = [c for c in compared if wanted & set(c.look.starts)][:MOST_COMPARED]
    return tuple(dict.fromkeys(n for c in its for n in c.decisive((finding.id, finding.subject), there=there)))


def _difference(finding: Finding, names: tuple[str, ...]) -> str:
    others = [n for n in names if n not in finding.all_subjects]  # what it is about, its title says
    return _("What makes the difference: {names}.", names=join_names(others)) if others else ""


def _limit_to_ways(
    finding: Finding, seen: Snapshot, holds: tuple[str, ...], named: set[str], compared: list[Comparison]
) -> Finding:
    """Return a finding of this session with the ways for which it holds, if those are not all."""
    if finding.ways or finding.severity < Severity.WARNING or named <= set(holds):
        return finding
    free = tuple(i for i in (s.id for s in seen.starts or ()) if i in named and i not in holds)
    names = _decisive(finding, free, compared, there=False)
    why = join_sentences(
        finding.why, _("It does not affect {ways}.", ways=way_words(seen, free)), _difference(finding, names)
    )
    return replace(finding, ways=tuple(dict.fromkeys(holds)), why=why)


def _elsewhere_finding(finding: Finding, seen: Snapshot, its: tuple[str, ...], compared: list[Comparison]) -> Finding:
    words = way_words(seen, its)
    told = {(e.value, e.source) for e in finding.evidence}
    names = _decisive(finding, its, compared, there=True)
    lines = [e for e in _lines_of(seen, its, finding, names) if (e.value, e.source) not in told]
    return replace(
        finding,
        ways=its,
        evidence=(*finding.evidence, *lines[:MOST_LINES]),
        title=_("Only in {ways}: {title}", ways=words, title=finding.title),
        why=join_sentences(
            _("Programs that are started from here do not have this fault."), _difference(finding, names), finding.why
        ),
    )


def _lines_of(
    seen: Snapshot, ways: tuple[str, ...], finding: Finding, decisive: tuple[str, ...] = ()
) -> list[Evidence]:
    """Return the variables by which these ways differ from this session, as evidence; the ``decisive`` ones alone where those are known.

    A variable that is set or unset there has its file and line; one that only this session has, its origin. What starts these ways
    comes first: a job of cron, or any where no difference is known.
    """
    starts = [s for s in seen.starts or () if s.id in ways]
    own = finding.id.startswith(OF_A_VARIABLE)
    set_there = dict.fromkeys(
        r.name
        for s in starts
        for r in s.lines
        if (r.name != "PATH" or seen.machine.system == "windows") and not r.name.startswith(MARKS)
    )
    names = [n for n in set_there if (n == finding.subject if own else n.startswith(JUDGED))]
    theirs = {v.name: v.value for s in starts for v in s.variables}
    differ = [n for n in names if theirs.get(n) != value_of(seen, n)]
    taken = dict.fromkeys(
        (t.name, t.file, t.line) for s in starts for t in s.taken if value_of(seen, t.name) is not None
    )
    if decisive:
        differ = [n for n in set_there if n in decisive]
        taken = dict.fromkeys(t for t in taken if t[0] in decisive)
    rows = [e for name in differ for e in line_evidence(seen, name, ways)]
    rows += [observation(_("{name} is unset here", name=name), name, f"{file}:{line}") for name, file, line in taken]
    gone = {name for name, _file, _line in taken}
    ours = [v for v in seen.variables if v.scope == THIS_SESSION and v.value]
    rows += [
        observation(_("Only this session has {name}", name=v.name), v.value, v.source)
        for v in ours
        if not own
        and (v.name in decisive if decisive else v.name.startswith(OF_LOADERS))
        and v.name not in gone
        and all(v.name not in _names(s) for s in starts)
    ]
    by = [s for s in starts if s.kind in CONCRETE and re.search(r"[/\\]", s.at)]
    by = [s for s in by if s.kind == "cron" or not rows]  # the words for every other kind name the file
    return [*(observation(_("Started by"), s.at, s.at) for s in by[:1]), *rows]


def _names(start: Start) -> set[str]:
    return {v.name for v in start.variables} | set(start.open)


def line_evidence(seen: Snapshot, name: str, ways: Iterable[str]) -> list[Evidence]:
    """Return the lines that set a variable in these ways, as evidence: file, line, and effect."""
    wanted = set(ways)
    rows = [
        row
        for s in seen.starts or ()
        if not wanted or s.id in wanted
        for row in s.lines
        if row.name == name and row.does != "unset" and not row.overridden
    ]
    known = dict.fromkeys((r.file, r.line, r.added or r.value) for r in rows)
    return [
        observation(_("{name} is set here", name=name), value or name, f"{file}:{line}" if line else file)
        for file, line, value in known
    ]
