"""The part of the trial script that leaves things out and tells what is around; for any Python from 3.6 on."""

SURROUNDINGS = r'''
_change = json.loads(os.environ.pop("CONVALESCE_CHANGE", "{}"))
_opened = {}  # what the import opened, in order
_told = []


def start_python():
    """What the module site does at the start, without some start-up files: -S left it out."""
    import site
    omitted = set(_change.get("start_up", ()))
    add = site.addpackage

    def some(folder, name, known):
        return known if os.path.join(folder, name) in omitted else add(folder, name, known)

    site.addpackage = some
    for name in ("sitecustomize", "usercustomize"):
        if any(os.path.basename(file).partition(".")[0] == name or os.path.basename(os.path.dirname(file)) == name for file in omitted):
            setattr(site, "exec" + name, lambda: None)
    first = sys.path[:1] == [""]
    sys.path[:1] = [] if first else sys.path[:1]
    site.main()
    sys.path[:0] = [""] if first else []


def ours(path):
    path = os.path.realpath(path)
    return any(path.startswith(os.path.join(os.path.realpath(p), "")) for p in (sys.prefix, sys.base_prefix))


def start_up_files():
    import site
    folders = [p for p in sys.path if os.path.basename(p) in ("site-packages", "dist-packages")]
    for folder in folders:
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            continue
        for name in names:
            if name.endswith(".pth"):
                yield os.path.join(folder, name)
    for name in ("sitecustomize", "usercustomize"):
        file = getattr(sys.modules.get(name), "__file__", None)
        if file:
            yield file


def keep_opened(event, given):
    """Note what is opened; a module's file from outside is told at once, since the process may come to its end."""
    path = ""
    if event == "open" and isinstance(given[0], str):
        path = given[0]
    elif event == "import" and len(given) > 1 and isinstance(given[1], str):
        path = given[1]  # an extension module is opened by the loader
    if not path or path in _opened or len(_opened) > 20000:
        return
    _opened[path] = True
    if path.endswith((".py", ".pyc", ".so", ".pyd", "-info/METADATA", "-info/PKG-INFO")) and not ours(path):
        if len(_told) < 50 and os.path.isfile(path):
            _told.append(path)
            emit(around=dict(code=[os.path.abspath(path)]))


def tell_surroundings():
    """Before the import: what is searched and what has run; after it: which files it opened."""
    if not _change.get("tell"):
        return
    if not _opened:
        _opened[""] = True
        import site
        user = site.getusersitepackages() if site.ENABLE_USER_SITE else ""
        emit(around=dict(path=[p for p in sys.path if os.path.isabs(p) and not ours(os.path.join(p, "x"))], start_up=list(start_up_files()), user_packages=user if user in sys.path else ""))
        if hasattr(sys, "addaudithook"):
            sys.addaudithook(keep_opened)
        return
    home = os.path.join(os.path.expanduser("~"), "")
    read = []
    for path in dict.fromkeys(os.path.abspath(p) for p in _opened if p):
        if not os.path.isfile(path) or ours(path) or path.startswith(("/proc/", "/sys/", "/dev/")):
            continue
        if path.startswith(home) and not path.endswith((".py", ".pyc", ".so", ".pyd", "-info/METADATA", "-info/PKG-INFO")) and not path.endswith((".pth", "/RECORD", "pyvenv.cfg")):
            read.append(path)
    emit(around=dict(read=read[:20]))


if _change:
    if sys.flags.no_site:
        start_python()
    sys.path[:] = [p for p in sys.path if p not in _change.get("entries", ())]
    if _change.get("folder"):
        sys.path[:1] = [] if sys.path[:1] == [""] else sys.path[:1]
'''
