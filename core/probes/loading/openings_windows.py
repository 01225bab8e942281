"""Load the DLLs that a framework loads at its start, once, on Windows: in the environment's own interpreter, with its
flags and folders.

None of the framework's Python code runs; the interpreter runs its own start-up code (.pth files, sitecustomize).
"""

from __future__ import annotations

import msgspec

from core.common.fact_text import fact_text
from core.host import child
from core.host.provenance import Verdict, environment_for
from core.model.facts import PythonEnvironment
from core.model.facts.closure import Opening
from core.probes.loading.origin import runs_here
from core.probes.loading.roll_call.windows_loader import WINDOWS_ERRORS
from core.probes.probe import ProbeRequest
from core.probes.sysroot import sysroot_of, without_silent_folders
from core.probes.trust import interpreter_verdict, record_execution

LOADING_TIMEOUT_SECONDS = 60.0
"""Seconds for one child; a virus scanner reads gigabytes before the first load.

A child that takes longer proves nothing.
"""

ALTERED = 0x8
"""LOAD_WITH_ALTERED_SEARCH_PATH."""
AFTER_PATH = 0x10000000
"""Convalesce's own flag: after error 126, call LoadLibraryW again with the folders added to the start of PATH."""

OWN_FIRST = 0x20000000
"""Another: put the file's own folder in front of PATH, and call LoadLibraryW."""

LOADING_SCRIPT = r"""
import ctypes, json, os, sys
_out = os.fdopen(os.dup(1), "wb", 0)
os.dup2(2, 1)


def emit(**said):
    _out.write(("\n+" + json.dumps(said) + "\n").encode("ascii"))


order = json.loads(sys.stdin.buffer.read().decode("utf-8"))
k = ctypes.WinDLL("kernel32", use_last_error=True)
k.SetErrorMode(0x8003)
k.LoadLibraryExW.restype = k.LoadLibraryW.restype = k.GetModuleHandleW.restype = k.GetProcAddress.restype = ctypes.c_void_p
k.LoadLibraryExW.argtypes = (ctypes.c_wchar_p, ctypes.c_void_p, ctypes.c_uint)
k.LoadLibraryW.argtypes = k.GetModuleHandleW.argtypes = (ctypes.c_wchar_p,)
k.GetProcAddress.argtypes = (ctypes.c_void_p, ctypes.c_char_p)
kept = []
for folder in order["folders"]:
    try:
        kept.append(os.add_dll_directory(folder))
    except OSError:
        pass


def load(path, flags):
    ctypes.set_last_error(0)
    if flags & 0x20000000:
        os.environ["PATH"] = os.path.dirname(path) + ";" + os.environ.get("PATH", "")
    if k.LoadLibraryExW(path, None, flags & 0xFFFF):
        return 0
    number = ctypes.get_last_error()
    if number == 126 and flags & 0x10000000:
        folders = order["folders"] + [os.path.dirname(path)]
        os.environ["PATH"] = ";".join(folders + [os.environ.get("PATH", "")])
        number = 0 if k.LoadLibraryW(path) else ctypes.get_last_error()
    return number


for step in order["steps"]:
    path = step["path"]
    emit(library=path, begun=True)
    number, lacking = load(path, step["flags"]), ""
    if step["hosted"] and number == 998:
        number = 0
        for file in step["hosted"] if step["wants"] else ():
            load(file, 8)
    if step["hosted"] and number == 1114:
        failed = [(p, n) for p, n in ((p, load(p, 8)) for p in step["hosted"]) if n]
        number = failed[0][1] if failed else 0
        lacking = failed[0][0] if failed else ""
    for name, function in step["wants"] if not number else ():
        module = k.GetModuleHandleW(name)
        if module and not k.GetProcAddress(module, function.encode()):
            number, lacking = 127, function
            break
    emit(library=path, number=0 if step["quiet"] else number, lacking=lacking)
    if number and order["stops"] and not step["quiet"]:
        break
_out.write(b"\n.\n")
_out.flush()
os._exit(0)
"""
"""For any Python from 3.8 on. The lines have the form that ``core.host.child`` reads."""


class LoadStep(msgspec.Struct, frozen=True, kw_only=True):
    """One DLL to load: by its path, or by a bare name."""

    path: str
    flags: int = 0
    quiet: bool = False
    """The framework works without it."""
    hosted: tuple[str, ...] = ()
    """The files that it imports.

    Outside its own program its start fails after all of these were found and started: with 998, or with 1114, which may
    also be the failure of an import. These files are loaded instead.
    """
    wants: tuple[tuple[str, str], ...] = ()
    """DLL and function: imports that the file on disk lacks.

    The child asks the loaded DLL for the function. After 998 none stays loaded, so the imports are loaded once more.
    """


class LoadOrder(msgspec.Struct, frozen=True):
    """The child's instructions: folders to add, then DLLs to load."""

    folders: tuple[str, ...] = ()
    steps: tuple[LoadStep, ...] = ()
    stops: bool = False
    """Whether the framework's import ends with the first DLL that does not load. The others would fail for the same reason, some of them
    after hundreds of megabytes were mapped."""


class LoadEvent(msgspec.Struct, frozen=True):
    """One line of the script's output."""

    library: str
    begun: bool = False
    number: int = 0
    lacking: str = ""


def load_libraries(
    python: PythonEnvironment, order: LoadOrder, consumer: str, request: ProbeRequest, verdicts: list[Verdict]
) -> tuple[Opening, ...] | None:
    """Return the result of every step; None if nothing may be run here, or the interpreter does not start.

    ``verdicts``: whether that interpreter may be run, determined at the first call.
    """
    where = sysroot_of(request.host)
    if not order.steps or not python.executable or not runs_here(where) or where.system != "windows":
        return None
    if not verdicts:
        verdicts.append(interpreter_verdict(python, where))
    verdict = verdicts[0]
    record_execution("roll call", order.steps[0].path, verdict, request, consumer)
    if not verdict.may:
        return None
    env = {**environment_for(verdict, without_silent_folders(request.env, where)), "PYTHONDONTWRITEBYTECODE": "1"}
    done = request.host.run(
        (python.executable, "-B", "-c", LOADING_SCRIPT),
        timeout=LOADING_TIMEOUT_SECONDS,
        env=env,
        input=msgspec.json.encode(order),
        watch=request.watch,
        account=verdict.account,
    )
    answer = child.read_answer(done, LoadEvent)
    if not answer.events:
        return None  # The interpreter itself did not start; other rules report that.
    ends = {e.library: e for e in answer.events if not e.begun}
    begun = [e.library for e in answer.events if e.begun]
    out = [Opening(library=e.library, problem=describe_load_error(e), number=e.number or None) for e in ends.values()]
    if answer.ended and not answer.timed_out and begun and begun[-1] not in ends:
        out.append(Opening(library=begun[-1], ended=fact_text("The process {ended}.", ended=answer.ended)))
    return tuple(out)


def describe_load_error(event: LoadEvent) -> str:
    """Return the error of LoadLibraryExW, and the function that a loaded DLL lacks; empty for a successful load."""
    if not event.number:
        return ""
    name = WINDOWS_ERRORS.get(event.number, "")
    words = f"LoadLibraryExW: error {event.number}" + (f" ({name})" if name else "")
    return f"{words}: {event.lacking}" if event.lacking else words
