"""Popular cures that do harm, found in a text or on a machine: why they harm, and how to undo them."""

from __future__ import annotations

from collections.abc import Callable

from core.common.i18n import _
from core.common.quick_search import quick_search
from core.common.text import printable
from core.common.versions import version_tuple
from core.explain.model import WrongCure
from core.explain.reading import ParsedText
from core.explain.refutations import zlib_inside
from core.knowledge.messages import wrong_cures
from core.model.facts import Snapshot

_COPY = r"(?:copy|copied|copying|cp|paste|pasted|put|move|moved|xcopy|copie|copiert|kopier\w{0,10}|скопир\w{0,10}|复制|コピー|drop|dropped)"
_FORMS: tuple[tuple[str, str], ...] = (
    ("system32", rf"{_COPY}[^\n]{{0,120}}(?:system32|syswow64|c:\\windows(?![\w])|/usr/lib\b)|(?:system32|syswow64)[\\/](?:cudnn|cudart|cublas|zlibwapi)"),
    ("one_file", rf"(?:download|{_COPY})[^\n]{{0,60}}(?:cudnn[a-z_]{{1,40}}64_\d|libcudnn_[a-z_]{{1,40}})[^\n]{{0,20}}|dll-files\.com|dllme\.com|wikidll|(?:only|single|just)[^\n]{{0,20}}(?:one )?dll"),
    ("renamed", r"(?:ln -sf? |mklink |symlink|symbolic link|renam|\bmv )[^\n]{0,160}(?:cudnn|cudart|cublas|cusolver|cufft|nvrtc|libcuda)|(?:cudnn|cudart|cublas|cusolver)[^\n]{0,80}(?:renam|symlink|symbolic link)"),
    ("global_ld_library_path", r"(?:\.bashrc|\.profile|\.zshrc|/etc/environment|/etc/profile)[^\n]{0,200}ld_library_path|ld_library_path[^\n]{0,200}(?:\.bashrc|\.profile|\.zshrc|/etc/environment|/etc/profile)|(?:^|\n)export ld_library_path="),
    ("setx_path", r"\bsetx\b[^\n]{0,20}\bpath\b"),
)  # fmt: skip


def find_harmful_advice(reading: ParsedText, snapshot: Snapshot | None) -> tuple[WrongCure, ...]:
    """Return every harmful cure that the text mentions or the machine shows, each once."""
    places: dict[str, str] = {}
    for name, form in _FORMS:
        found = quick_search(form, reading.low)
        if found:
            places[name] = " ".join(found[0].split())[:120]
    if snapshot is not None:
        for name, look in _LOOKS:
            place = look(reading, snapshot)
            if place:
                places[name] = place
    if "zlibwapi" in reading.marks and (
        "lib:cudnn-9" in reading.marks or (snapshot is not None and zlib_inside(reading, snapshot))
    ):
        places["zlibwapi_useless"] = "zlibwapi.dll"
    table = {cure.id: cure for cure in wrong_cures()}
    return tuple(
        WrongCure(id=cure.id, title=_(cure.title), harm=_(cure.harm), undo=_(cure.undo), seen=printable(places[name]))
        for name in places
        if (cure := table.get(name))
    )


AdviceCheck = Callable[[ParsedText, Snapshot], str]


def _in_system32(_r: ParsedText, snapshot: Snapshot) -> str:
    if snapshot.machine.system != "windows":
        return ""
    folders = [c.folder for c in snapshot.cudnn or ()] + [
        t.folder for t in snapshot.toolkits or () if t.origin != "driver"
    ]
    return next((f for f in folders if f.lower().rstrip("\\").endswith(("\\system32", "\\syswow64"))), "")


def _renamed_file(_r: ParsedText, snapshot: Snapshot) -> str:
    """Return a file whose name and content belong to different major versions."""
    for copy in snapshot.cudnn or ():
        for file in copy.files:
            true = version_tuple(file.version)
            if file.state == "good" and true and true[0] != copy.major:
                return file.path
    return ""


def _one_file(_r: ParsedText, snapshot: Snapshot) -> str:
    """Return a single part of a set without the others."""
    for copy in snapshot.cudnn or ():
        if copy.major >= 8 and len(copy.files) == 1 and copy.origin in ("folder", "system"):
            return copy.files[0].path
    return ""


def _lasting_variable(_r: ParsedText, snapshot: Snapshot) -> str:
    variables = snapshot.environment.variables if snapshot.environment else ()
    lasting = [
        v for v in variables if v.name == "LD_LIBRARY_PATH" and v.value and v.scope in ("login", "machine", "user")
    ]
    return f"LD_LIBRARY_PATH={lasting[0].value[:100]} ({lasting[0].source or lasting[0].scope})" if lasting else ""


_LOOKS: tuple[tuple[str, AdviceCheck], ...] = (
    ("system32", _in_system32),
    ("renamed", _renamed_file),
    ("one_file", _one_file),
    ("global_ld_library_path", _lasting_variable),
)
