"""The roll call's bookkeeping: which children are asked what, after one of them has died."""

from __future__ import annotations

import msgspec

from core.host.child import ChildAnswer, read_answer
from core.host.interface import CompletedProcess
from core.knowledge.cudnn import cudnn_knowledge
from core.model.facts import Call, Consumer, Execution, Load, Machine, Snapshot
from core.model.findings import Report
from core.probes.loading.roll_call.parent import MAX_CHILDREN, SPARED_TEXT, run_roll_call
from core.probes.loading.roll_call.protocol import LaterLibrary, RollCallEvent, RollCallRequest
from core.report.html import as_html
from core.report.text import report_text

KNOWN = cudnn_knowledge()
ROLL = RollCallRequest(
    system="linux",
    major=8,
    main="/c/libcudnn.so.8",
    functions=(
        "cudnnGetVersion",
        "cudnnOpsInferVersionCheck",
        "cudnnCnnInferVersionCheck",
        "cudnnCnnTrainVersionCheck",
    ),
    parts=tuple(
        LaterLibrary(name=f"libcudnn_{r}.so.8", tries=(f"/c/libcudnn_{r}.so.8",)) for r in ("cnn_infer", "ops_infer")
    ),
)
ABORTED = "was killed by SIGABRT"


class Children:
    """Scripted children: each step answers, except those that kill."""

    def __init__(self, *fatal: str, results: dict[str, int] | None = None) -> None:
        self.fatal = fatal
        self.results = {"cudnnGetVersion": 8907} | (results or {})
        self.asked: list[RollCallRequest] = []

    def __call__(self, roll: RollCallRequest) -> ChildAnswer[RollCallEvent]:
        self.asked.append(roll)
        events = [RollCallEvent(kind="begin", name="dlopen")]
        if "dlopen" in self.fatal:
            return ChildAnswer(events=tuple(events), ended=ABORTED)
        events += [RollCallEvent(kind="call", name="dlopen", library=roll.main, result=0)]
        events += [RollCallEvent(kind="loaded", name=roll.main)]
        for name in (*roll.functions, *(p.name for p in roll.parts)):
            events.append(RollCallEvent(kind="begin", name=name))
            if name in self.fatal:
                return ChildAnswer(events=tuple(events), ended=ABORTED, output=f"{name} failed\n")
            function = "dlopen" if name.startswith("lib") else name
            library = f"/c/{name}" if function == "dlopen" else ""
            events.append(RollCallEvent(kind="call", name=function, library=library, result=self.results.get(name, 0)))
        return ChildAnswer(events=tuple(events), mapped=(roll.main, "/lib/libc.so.6"))


def test_one_child_is_enough_for_a_healthy_set() -> None:
    children = Children()
    roll = run_roll_call(ROLL, {}, KNOWN, children)
    assert len(children.asked) == 1
    assert (roll.version, roll.loaded, roll.ended) == ("8.9.7", ROLL.main, "")
    assert [c.function for c in roll.calls] == ["dlopen", *ROLL.functions, "dlopen", "dlopen"]
    assert roll.calls[1] == Call(function="cudnnGetVersion", result=8907, meaning="8.9.7")
    assert roll.calls[2].meaning == "CUDNN_STATUS_SUCCESS"
    assert [m.name for m in roll.mapped] == ["libcudnn.so.8"]


def test_what_follows_a_death_is_still_asked() -> None:
    children = Children("cudnnOpsInferVersionCheck")
    roll = run_roll_call(ROLL, {}, KNOWN, children)
    assert [r.functions for r in children.asked] == [ROLL.functions, ROLL.functions[2:]]
    assert roll.ended == f"cudnnOpsInferVersionCheck: {ABORTED}"
    assert [(c.function, c.result) for c in roll.calls if c.result is None] == [("cudnnOpsInferVersionCheck", None)]
    assert sum(c.function == "dlopen" for c in roll.calls) == 3
    assert roll.output == "cudnnOpsInferVersionCheck failed\n"


def test_likely_killers_come_last_and_are_tried_once() -> None:
    fragile = {"cudnnOpsInferVersionCheck": 1, "cudnnCnnInferVersionCheck": 2, "libcudnn_cnn_infer.so.8": 1}
    children = Children(*fragile)
    roll = run_roll_call(ROLL, fragile, KNOWN, children)
    assert children.asked[0].functions[-2:] == ("cudnnOpsInferVersionCheck", "cudnnCnnInferVersionCheck")
    assert len(children.asked) == 2
    meanings = {c.function if c.function != "dlopen" else c.library: c.meaning for c in roll.calls}
    assert meanings["cudnnCnnInferVersionCheck"] == SPARED_TEXT
    assert meanings["libcudnn_cnn_infer.so.8"] == f"The process {ABORTED}."
    assert meanings["cudnnCnnTrainVersionCheck"] == "CUDNN_STATUS_SUCCESS"


def test_deaths_without_end_are_bounded() -> None:
    children = Children(*ROLL.functions, *(p.name for p in ROLL.parts))
    run_roll_call(ROLL, {}, KNOWN, children)
    assert len(children.asked) == MAX_CHILDREN


def test_a_main_library_that_kills_is_not_tried_again() -> None:
    children = Children("dlopen")
    roll = run_roll_call(ROLL, {}, KNOWN, children)
    assert len(children.asked) == 1
    assert (roll.loaded, roll.ended) == ("", f"dlopen: {ABORTED}")
    assert roll.calls == (Call(function="dlopen", library=ROLL.main, meaning=f"The process {ABORTED}."),)


def test_a_child_that_hangs_is_not_tried_again() -> None:
    asked = []

    def hang(roll: RollCallRequest) -> ChildAnswer[RollCallEvent]:
        asked.append(roll)
        begun = (
            RollCallEvent(kind="begin", name="dlopen"),
            RollCallEvent(kind="call", name="dlopen", library=roll.main, result=0),
        )
        late = RollCallEvent(kind="begin", name="cudnnGetVersion")
        return ChildAnswer(events=(*begun, late), ended="did not end within 20 seconds and was stopped", timed_out=True)

    roll = run_roll_call(ROLL, {}, KNOWN, hang)
    assert len(asked) == 1
    assert roll.ended.startswith("cudnnGetVersion: did not end")
    assert roll.timed_out


def test_statuses_have_names() -> None:
    results = {"cudnnOpsInferVersionCheck": 14, "cudnnCnnInferVersionCheck": 77}
    meanings = {c.function: c.meaning for c in run_roll_call(ROLL, {}, KNOWN, Children(results=results)).calls}
    assert meanings["cudnnOpsInferVersionCheck"] == "CUDNN_STATUS_VERSION_MISMATCH"
    assert meanings["cudnnCnnInferVersionCheck"] == "status 77"


GUARDS = {
    ("network namespace",): "a network namespace of their own kept them from the network",
    ("seccomp",): "the kernel did not allow a network namespace",
    ("seccomp", "network namespace"): "in a sandbox (seccomp), in a network namespace of their own",
}


def test_a_library_that_was_called_without_the_cage_is_told() -> None:
    said = read_answer(CompletedProcess(status=0, out="\nab=[]\n\nab.\n"), RollCallEvent, "ab")
    assert said.guards == ()
    roll = run_roll_call(ROLL, {}, KNOWN, lambda _roll: said)
    load = Load(consumer=Consumer(id="plain", kind="plain", label="any program"), major=9, roll_call=roll)
    told = Execution(what="roll call", path=ROLL.main, account="ada")
    seen = Snapshot(machine=Machine(system="linux"), loads=(load,), executions=(told,))
    for form in (report_text, as_html):
        assert "no sandbox (seccomp)" in " ".join(form(Report(snapshot=seen)).split())
        caged = msgspec.structs.replace(load, roll_call=msgspec.structs.replace(roll, uncaged=False))
        assert "seccomp" not in form(Report(snapshot=msgspec.structs.replace(seen, loads=(caged,))))
        for guards, words in GUARDS.items():
            held = msgspec.structs.replace(roll, uncaged="seccomp" not in guards, guards=guards)
            its = Report(snapshot=msgspec.structs.replace(seen, loads=(msgspec.structs.replace(load, roll_call=held),)))
            assert words in " ".join(form(its).split())
