"""The part of the trial script that analyses a failed import and imports further packages; for any Python from 3.6 on."""

FAILURES = r'''
import re


def spec_file(spec):
    inner = next(iter(getattr(spec, "submodule_search_locations", None) or ()), "")
    return spec.origin if spec.origin not in (None, "built-in", "frozen", "namespace") else inner


_path = []  # sys.path of the import that failed


def undisturbed(look, *given):
    """Look with Python's own modules, whatever stands before them in the import that failed."""
    import importlib
    _path[:] = sys.path
    ours = tuple(os.path.join(os.path.realpath(p), "") for p in (sys.prefix, sys.base_prefix))
    names, aside = getattr(sys, "stdlib_module_names", ()), {}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name.partition(".")[0] in names and file and not os.path.realpath(file).startswith(ours):
            aside[name] = sys.modules.pop(name)
    sys.path[:] = [p for p in sys.path if p and os.path.join(os.path.realpath(p), "").startswith(ours)]
    try:
        return look(*given)
    finally:
        sys.path[:] = _path
        sys.modules.update(aside)
        importlib.invalidate_caches()


def found_files(top):
    """Every file that a module of this name would be imported from, in the order of sys.path."""
    from importlib.machinery import PathFinder
    there = []
    for entry in _path:
        try:
            spec = PathFinder.find_spec(top, [entry or os.getcwd()])
        except Exception:  # an entry that breaks the search has nothing to tell
            continue
        if spec is not None and spec_file(spec):
            there.append((spec.loader is not None and bool(spec.origin), spec_file(spec)))
    whole = [file for package, file in there if package]
    return whole or [file for package, file in there]


def records():
    try:
        from importlib.metadata import distributions
    except ImportError:  # before 3.8
        return
    for one in distributions(path=[p or os.getcwd() for p in _path]):
        yield "%s %s" % (one.metadata["Name"], one.version), "\n" + (one.read_text("RECORD") or "")


def who_brings(names, top):
    """Who installed a file of one of these names, and True; else who installed a module, and False."""
    owner = ""
    for told, record in records():
        if any("/" + n + "," in record or "\n" + n + "," in record for n in names if n):
            return told, True
        if top and not owner and re.search(r"\n%s(/|\.[\w.-]+,)" % re.escape(top), record):
            owner = told
    return owner, False


def who_asks(file):
    for entry in _path:
        if entry and file.startswith(os.path.join(entry, "")):
            return who_brings([file[len(os.path.join(entry, "")):].replace(os.sep, "/")], "")[0]
    return ""


def first_asker(frames):
    """Who installed the file of the innermost line; where that is Python's own, of the line that called it, and so on."""
    files = []
    for frame, _line in reversed(frames):
        if frame.f_code.co_filename not in files:
            files.append(frame.f_code.co_filename)
    base = os.path.dirname(os.__file__)
    for file in files[:5]:
        asker = who_asks(file)
        if asker or not file.startswith(os.path.join(base, "")) or "site-packages" in file:
            return asker
    return ""


def chain_of(e):
    """What began it comes first: an exception that another was raised from, then the last, then what it was raised beside."""
    causes = [e]
    while causes[-1].__cause__ is not None and len(causes) < 6:
        causes.append(causes[-1].__cause__)
    beside, last = [], causes[-1]
    while last.__context__ is not None and not last.__suppress_context__ and len(beside) < 3:
        last = last.__context__
        beside.append(last)
    return (causes[::-1] + beside)[:4]


def failure(e):
    import linecache
    text, frames, trace = error_text(e), [], e.__traceback__
    while trace is not None:
        frames.append((trace.tb_frame, trace.tb_lineno))
        trace = trace.tb_next
    plain = [f for f in frames if not f[0].f_code.co_filename.startswith("<")]
    lacks = re.search(r"module '([\w.]+)' has no attribute '(\w+)'", text)
    while lacks and plain[1:] and "getattr" in plain[-1][0].f_code.co_name:
        plain.pop()  # the module's own __getattr__ refuses the name: what asks for it comes before
    file, line = (plain[-1][0].f_code.co_filename, plain[-1][1]) if plain else ("", 0)
    path = str(getattr(e, "path", None) or getattr(e, "filename", None) or "")
    for frame, _line in frames:  # the import system knows which file it was reading
        for name in ("bytecode_path", "source_path", "path"):
            given = frame.f_locals.get(name) if "importlib" in frame.f_code.co_filename else None
            if isinstance(given, str) and not path and isinstance(e, (EOFError, ValueError, SyntaxError)):
                path = given
    module, missing = str(isinstance(e, ImportError) and e.name or ""), ""
    asked = re.search(r"cannot import name '(\w+)' from (?:partially initialized module )?'([\w.]+)'", text)
    if asked:
        missing, module = asked.groups()
    elif lacks:
        module, missing = lacks.groups()
    top = module.partition(".")[0]
    there = found_files(top) if top and top not in sys.builtin_module_names else []
    library = re.search(r"[\w.+-]+\.(?:so|dll)(?:\.[\w.]*\w)?", text)
    library = library.group(0) if library else ""
    names = [os.path.basename(library)] if library else []
    if path and not missing and not library:  # of a file that lacks a library, the library's name counts
        names.append(os.path.basename(path))
    absent = module if isinstance(e, ImportError) and "No module named" in text and "is not a package" not in text else ""
    if absent:
        inner = absent.replace(".", "/")
        names += [inner + ".py", inner + "/__init__.py", *extensions(inner)]
    if isinstance(e, SyntaxError) and not path and plain:
        path = with_zeros(file, linecache.getline(file, line))
    if there and not path and not os.access(there[0], os.R_OK):
        path = there[0]
    closed = path if path and os.path.exists(path) and not os.access(path, os.R_OK) else ""
    owner, known = who_brings(names, top or os.path.basename(os.path.dirname(path)))
    its = "" if library or missing or absent or not path else who_asks(path)
    owner, known = (its, True) if its else (owner, known and (not path or library or not os.path.exists(path)))
    ours = [os.path.join(os.path.realpath(p), "") for p in (sys.prefix, sys.base_prefix)]
    first = os.path.realpath(there[0]) if there else ""
    code = " ".join(linecache.getline(f[0].f_code.co_filename, f[1]).strip() for f in plain[-3:])[:600]
    variable = variable_in(text, code)
    return dict(
        reads=read_by({f[0].f_code.co_filename for f in plain}),
        kind=type(e).__name__, text=text[:1500], module=module, name=missing, absent=bool(absent), path=path, closed=bool(closed), file=file,
        line=line, code=code, variable=variable, value=told_value(variable, text),
        found=there[0] if there else "", hidden=there[1] if there[1:] else "", owner=owner, recorded=known,
        asker=first_asker(plain), standard=top in getattr(sys, "stdlib_module_names", ()), library=library,
        outside=bool(first) and not any(first.startswith(p) for p in ours),
    )


def with_zeros(file, line):
    """The module that a line imports whose file contains zeros: that message names no file."""
    import ast
    try:
        (node,) = ast.parse(line.strip()).body
    except (SyntaxError, ValueError):
        return ""
    names = [a.name for a in getattr(node, "names", ())]
    asked = [node.module or ""] + [(node.module or "") + "." + n for n in names] if isinstance(node, ast.ImportFrom) else names
    for dotted in asked:
        parts = [p for p in dotted.split(".") if p]
        level = getattr(node, "level", 0)
        if level:
            folder = os.path.dirname(file)
            for _up in range(level - 1):
                folder = os.path.dirname(folder)
        else:
            first = next(iter(found_files(parts[0])), "")
            folder = os.path.dirname(os.path.dirname(first) if os.path.basename(first).startswith("__init__.") else first)
        stem = os.path.join(folder, *parts)
        for path in (stem + ".py", os.path.join(stem, "__init__.py")):
            if os.path.isfile(path):
                with open(path, "rb") as stream:
                    if b"\0" in stream.read(1 << 20):
                        return path
    return ""


def variable_in(text, code):
    """The variable that the text names, or that the last lines read; the longest name, since others are a part of it."""
    reads = code if re.search("environ|getenv", code) else ""
    some = [n for n in os.environ if len(n) > 4 and re.search(r"\b%s\b" % re.escape(n), text + " " + reads)]
    return max(some, key=len) if some else ""


def read_by(files):
    """The variables that are set and whose names stand in these files."""
    found = set()
    for file in files:
        try:
            with open(file, "rb") as stream:
                text = stream.read(1 << 20).decode("utf-8", "replace")
        except OSError:
            continue
        found.update(n for n in os.environ if len(n) > 4 and n in text)
    return sorted(found)


def told_value(variable, text):
    """Its value, where the text has it anyway."""
    value = os.environ.get(variable, "") if variable else ""
    return value if value and value in text else ""


def extensions(inner):
    """The names that an extension module has in the records."""
    pattern = re.compile(r"\n(%s\.[\w.-]*(?:so|pyd))," % re.escape(inner))
    return [name for _told, record in records() for name in pattern.findall(record)]


def failures(e):
    rows = []
    for one in chain_of(e):
        try:
            rows.append(undisturbed(failure, one))
        except Exception:  # what cannot be looked into stays a text
            rows.append(dict(kind=type(one).__name__, text=error_text(one)[:1500]))
    return rows


def imported(module):
    import importlib
    its = importlib.import_module(module)
    if getattr(its, "__file__", None) is None and its.__spec__ and its.__spec__.origin is None:
        raise ImportError("No module named %r: there is only a folder of that name" % module, name=module)


def import_only(module):
    imported(module)
    emit(stage="import")


class OutOfTime(BaseException):
    """Ends an import for which there is no time; no handler of errors takes it for one."""


def import_packages(mark, seconds, share, *given):
    """Import packages one after another: those in doubt, which end with a question mark, within so many seconds of the processor; then
    the others as long as the process has not taken more than that share of the framework's import again.
    """
    import time
    sys.stdout.flush()
    sys.stderr.write("\n%s\n" % mark)
    sys.stderr.flush()
    end = clock() + float(seconds)
    end_of_others = end if share == "all" else min(end, imported_at * (1 + float(share)))
    doubtful = [word for word in given if word.endswith("?")]
    late = []

    def stop(*_signal):
        late.append(True)
        raise OutOfTime

    for word in doubtful + [word for word in given if not word.endswith("?")]:
        name, _equals, module = word.rstrip("?").partition("=")
        its_end = end if word in doubtful else end_of_others
        start = time.time()
        if late or clock() > its_end:
            emit(package=name, state="no time")
            continue
        emit(package=name, state="began")
        try:
            try:
                if word not in doubtful and share != "all":
                    call_at(stop, its_end - clock())
                imported(module)
            finally:
                call_at(None, 0)
        except BaseException as e:  # SystemExit, too: it becomes data
            call_at(None, 0)  # it may have been called while that was taken back
            if late:
                emit(package=name, state="no time")
                continue
            emit(package=name, state="failed", problem=error_text(e), seconds=time.time() - start)
            for row in failures(e):
                emit(package=name, failure=row)
        else:
            emit(package=name, state="no time" if late else "imported", seconds=time.time() - start)


def call_at(function, seconds):
    """Call something after so much processor time, and again, since a handler may have taken its exception; None: do not."""
    import signal
    if hasattr(signal, "setitimer"):
        if function:
            signal.signal(signal.SIGPROF, function)
        signal.setitimer(signal.ITIMER_PROF, max(seconds, 1e-3) if function else 0, 0.05 if function else 0)
'''
