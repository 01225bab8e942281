"""Open the libraries that a framework opens at its start: once, in the environment's own interpreter, sandboxed, with
immediate binding.

No Python code of the environment's packages runs: the interpreter starts without them (-I -S: no .pth line, no
sitecustomize), and imports only its own standard library. The loader's search depends on the program and the variables,
and those are the person's. A healthy child takes 20 ms plus the libraries' own time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

import msgspec

from core.common.fact_text import fact_text
from core.host import child, sandbox
from core.host.provenance import Verdict, environment_for
from core.model.facts import PythonEnvironment
from core.model.facts.closure import Opening
from core.probes.loading.origin import runs_here
from core.probes.probe import ProbeRequest
from core.probes.sysroot import sysroot_of, without_silent_folders
from core.probes.trust import record_execution

OPENING_TIMEOUT_SECONDS = 30.0
"""Seconds for one child; PyTorch's libraries take a few seconds from a cold disk."""

OPENING_SCRIPT = r"""
import ctypes, json, os, resource, sys
_out = os.fdopen(os.dup(1), "wb", 0)
os.dup2(2, 1)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def emit(**said):
    _out.write(("\n+" + json.dumps(said, ensure_ascii=False) + "\n").encode("utf-8", "replace"))


order = json.loads(sys.argv[1])
if order["sandbox"]:
    code = b"".join(
        c.to_bytes(2, "little") + bytes((t, f)) + (os.getpid() if k == order["own"] else k).to_bytes(4, "little")
        for c, t, f, k in order["sandbox"])
    kept = ctypes.create_string_buffer(code, len(code))

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))

    libc = ctypes.CDLL(None)
    libc.prctl(38, 1, 0, 0, 0)
    libc.prctl(22, 2, ctypes.byref(Program(len(order["sandbox"]), ctypes.addressof(kept))), 0, 0)


def compiled(path):
    nvrtc = ctypes.CDLL(path)
    made = ctypes.c_void_p()
    source = b'extern "C" __global__ void f(float *x) { x[0] = 1; }'
    failed = nvrtc.nvrtcCreateProgram(ctypes.byref(made), source, b"f.cu", 0, None, None)
    failed = failed or nvrtc.nvrtcCompileProgram(made, 0, None)
    if not failed:
        return ""
    log = ctypes.create_string_buffer(1 << 16)
    nvrtc.nvrtcGetProgramLog(made, log)
    nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p
    return "%s: %s" % (nvrtc.nvrtcGetErrorString(failed).decode(), log.value.decode("utf-8", "replace").strip()[:500])


kept_open = []
for path, everywhere, quiet, work in order["steps"]:
    emit(library=path, begun=True)
    try:
        if work == "compile":
            problem = compiled(path)
        else:
            kept_open.append(ctypes.CDLL(path, mode=os.RTLD_NOW | (os.RTLD_GLOBAL if everywhere else 0)))
            problem = ""
    except OSError as e:
        problem = str(e)
    except Exception as e:
        problem = (type(e).__name__ + ": " + str(e))[:2000]
    emit(library=path, problem="" if quiet else problem)
_out.write(b"\n.\n")
os._exit(0)
"""
"""For any Python from 3.6 on. The lines have the form that ``core.host.child`` reads."""

OWN = 0x7FFFFFF1
"""Placeholder for the child's own process number in the sandbox's filter."""


class OpeningStep(msgspec.Struct, frozen=True):
    """One library to open."""

    path: str
    everywhere: bool = False
    """RTLD_GLOBAL."""
    quiet: bool = False
    """The framework works without it."""
    work: str = ""
    """"compile": compile one line with NVRTC."""


class OpeningEvent(msgspec.Struct, frozen=True):
    """One line of the script's output."""

    library: str
    begun: bool = False
    problem: str = ""


def open_libraries(
    python: PythonEnvironment,
    steps: Iterable[OpeningStep],
    consumer: str,
    request: ProbeRequest,
    verdict_of: Callable[[], Verdict],
) -> tuple[Opening, ...] | None:
    """Return the result of every step; None if nothing may be run here, or the interpreter does not start.

    ``verdict_of``: whether it may be run.
    """
    steps, where = tuple(steps), sysroot_of(request.host)
    if not steps or not python.executable or not runs_here(where) or where.system != "linux":
        return None
    verdict = verdict_of()
    record_execution("roll call", steps[0].path, verdict, request, consumer)
    if not verdict.may:
        return None
    import json  # Imported late: seldom needed. A path of a system without UTF-8 is text for it alone.

    machine = os.uname().machine
    order = {
        "sandbox": sandbox.program(machine, OWN) if machine in sandbox.MACHINES else [],
        "own": OWN,
        "steps": [(s.path, s.everywhere, s.quiet, s.work) for s in steps],
    }
    env = environment_for(verdict, without_silent_folders(request.env, where))
    command = (python.executable, "-I", "-S", "-B", "-c", OPENING_SCRIPT, json.dumps(order))
    done = request.host.run(
        command, timeout=OPENING_TIMEOUT_SECONDS, env=env, watch=request.watch, account=verdict.account
    )
    answer = child.read_answer(done, OpeningEvent)
    if not answer.events:
        return None  # The interpreter itself did not start; other rules report that.
    ends = {e.library: e for e in answer.events if not e.begun}
    begun = [e.library for e in answer.events if e.begun]
    out = [Opening(library=name, problem=e.problem) for name, e in ends.items()]
    if answer.ended and begun and begun[-1] not in ends:
        out.append(Opening(library=begun[-1], ended=fact_text("The process {ended}.", ended=answer.ended)))
    return tuple(out)
