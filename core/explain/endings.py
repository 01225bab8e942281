"""Texts that only tell how a program ended: a signal, an exit code, a dialog. They have no cause in them, but a next look."""

from __future__ import annotations

import re
from dataclasses import dataclass

from core.common.i18n import N_
from core.common.quick_search import can_match
from core.explain.reading import ParsedText

_EXIT = (
    r"(?:\b(?:exit(?:ed|s)?|return(?:ed|s)?|finished|terminated|ended|beendet|failed|died|quit)?[ _-]?(?:with |mit |unexpectedly |abnormally ){0,2}(?:\(?(?:exit|return|status|error)[ _-]?)?"
    r"(?:code|status|returncode|exitcode|errorlevel%?|lastexitcode|signal|rc|died|exited)|退出代码|退出码|返回码|終了コード|код(?:ом)?(?: завершения| возврата| выхода)?|code de sortie|código de salida)"
    r"(?: is| was|为|是)?[ \t:：=(<\[]{0,4}"
)
"""The words before the number with which a process ended."""


_ALONE = r"(?:^|\n)\s{0,8}(?:(?:the )?(?:process|command|program|worker|child|job|script|prozess|进程)(?: id \d{1,9})?(?: ?已结束)?[ ,，]{0,2})?"
"""The beginning of a line that says nothing but a number."""
_OURS = re.compile(
    r"python|jupyter|notebook|ipynb|ipykernel|execute_request|conda\b|slurmstepd|单元格|\bzelle\b|\.py\b|\bpip\b|colab|spyder|pycharm"
)
"""Words of texts from programs that Convalesce is for, beside those about GPUs."""
MAX_REST = 40
"""Letters beside the ending with which a text still tells nothing else."""


def _ends_with(*numbers: str) -> str:
    return rf"{_EXIT}(?:{'|'.join(numbers)})(?![\d.])"


@dataclass(frozen=True)
class Ending:
    """One way in which a process ends."""

    forms: tuple[str, ...] = ()
    """Regular expressions over the text in lower case, in the languages of systems and shells; bounded."""
    marks: frozenset[str] = frozenset()
    """Marks of the text that say the same."""
    meaning: str = ""
    look: str = ""
    """What shows the reason, as commands where there are some."""
    guesses: bool = True
    """Whether the causes that clues name for it are worth showing."""


_LAST_LINES = N_(
    "Paste all the lines that the program printed before this one, and check this computer: convalesce scan."
)
_FRAMES = N_(
    "Run it again as python -X faulthandler PROGRAM.py: it then prints the line of Python at which it ends, and the extension modules that are loaded. Paste these lines, and check this computer: convalesce scan."
)

ENDINGS = (
    Ending(
        forms=(
            r"\bkernel\b[^\n]{0,80}?\b(?:(?:has|have|had|keeps?|just) )?(?:died|dies|dying|crashed|crashes|dead|gestorben|abgestürzt|tot)\b",
            r"\bkernel(?: is)? restarting\b|\brestarting kernel\b|\bdead kernel\b|\bkernel (?:wird|startet)[^\n]{0,30} neu\b",
            r"(?:内核|\bkernel ?)(?:似乎)?[^\n]{0,6}?(?:挂掉|死亡|崩溃|已停止|终止|重启|重新启动)|カーネルが[^\n]{0,12}(?:停止|クラッシュ|終了)|le kernel [^\n]{0,40}(?:mort|arrêté)|ядро[^\n]{0,30}(?:умерло|упало|перезапу)|el kernel [^\n]{0,40}(?:muerto|reinici)",
            r"\byour session crashed\b|\bcanceled future for execute_request\b",
        ),
        meaning=N_("The notebook's Python process ended. The notebook does not show why."),
        look=N_(
            "The reason is in the terminal or log of the notebook's server. Or run the cells as a program: jupyter nbconvert --to script NOTEBOOK.ipynb, then python -X faulthandler NOTEBOOK.py. Paste what it prints last, and check this computer: convalesce scan."
        ),
    ),
    Ending(
        forms=(
            r"(?:^|\n)(?:[^\n]{0,80}[\s\]:\d])?(?:killed|getötet|已杀死|已终止|强制终止|processus arrêté|убито|matado|強制終了)(?: {2,24}(?!process\b|by\b)[^\n]{1,120})?\s{0,3}(?:\n|$)",
            r"\bkilled process \d{1,9} \((?:python|jupyter|ray|vllm|ollama|pt_)|\boom[_ -]?kill(?:ed|er)?\b",
            rf"\bsigkill\b|\b(?:with|by|on|got|received|mit) signal 9\b|{_ends_with('137', '-9', '9')}",
        ),
        meaning=N_(
            "Something outside the program ended it: mostly the system, because the computer's main memory was full or the limit of a container or job was reached. The GPU's memory is not the reason."
        ),
        look=N_(
            "Find out what ended it: sudo dmesg -T | grep -iE 'out of memory|oom' (in a container: docker inspect CONTAINER | grep OOMKilled; for a cluster's job: sacct -j NUMBER). Watch the memory with free -h while it runs. If there is no such line, check this computer: convalesce scan."
        ),
        guesses=False,
    ),
    Ending(
        forms=(
            r"\billegal (?:hardware )?instruction\b|\bsigill\b|\bsignal 4\b|\binvalid opcode\b|非法指令|ungültiger maschinenbefehl|instruction non permise|недопустимая инструкция|instrucción ilegal|instrução ilegal",
            _ends_with("132", "-4"),
        ),
        marks=frozenset({"nt:c000001d"}),
        meaning=N_("The processor encountered an instruction that it does not support."),
        look=N_(
            "See what the processor offers: grep -o -w -m1 -E 'avx|avx2|avx512f' /proc/cpuinfo (the settings of a virtual machine can hide some), and check this computer: convalesce scan."
        ),
    ),
    Ending(
        forms=(
            r"\b(?:double free or corruption|munmap_chunk\(\)|free\(\): invalid|malloc\(\): |corrupted (?:size|double-linked|unsorted)|realloc\(\): invalid|heap corruption|stack smashing detected)",
        ),
        marks=frozenset({"nt:c0000374"}),
        meaning=N_("The program's memory was damaged before: by a fault of a library, or because two versions of one library are loaded together."),
        look=_FRAMES,
    ),
    Ending(
        forms=(
            r"\baborted\b[ (]{0,40}core|(?:^|\n)[^\n]{0,80}\baborted\s{0,3}(?:\n|$)|\bsigabrt\b|\bsignal 6\b|\bfatal python error: aborted\b|\babort trap\b|\bterminate called (?:after|without)[^\n]{0,80}|\blibc\+\+abi: terminating[^\n]{0,80}",
            r"已放弃|已中止|abgebrochen \(speicherabzug|аварийный останов|\babandon \(core|\babortado\b",
            _ends_with("134", "-6"),
        ),
        meaning=N_("A library of the program ended it on purpose (abort). It prints its reason just before."),
        look=_LAST_LINES,
    ),
    Ending(
        forms=(
            r"\bbus error\b|\bsigbus\b|\bsignal 7\b|总线错误|ошибка шины|erreur de bus",
            _ends_with("135", "-7"),
        ),
        meaning=N_("The program read a part of a file, or of shared memory, that is not there."),
        look=N_(
            "See whether shared memory or the disk is full: df -h /dev/shm /tmp . (a container's shared memory: docker run --shm-size=8g). If not, a file is shorter than it should be: convalesce scan compares the packages' files."
        ),
    ),
    Ending(
        forms=(
            r"\bseg\w{0,12}[ -]?fau?lt\w{0,3}\b|\bsig ?segv\b|\bsignal 11\b|\bcore dump(?:ed)?\b|\baccess violation\b|\breferenced memory at\b|\bverweist auf speicher\b|指令引用了|段错误|段錯誤|核心已转储|核心已傾印|speicherzugriffsfehler|zugriffsverletzung|访问冲突|erreur de segmentation|violation d.accès",
            r"violación de segmento|ошибка сегментирования|falha de segmentação|errore di segmentazione|セグメンテーション|세그멘테이션",
            _ends_with("139", "-11"),
        ),
        marks=frozenset({"nt:c0000005"}),
        meaning=N_("The system ended the program because it accessed memory that is not its own. This does not say why."),
        look=_FRAMES,
    ),
    Ending(
        marks=frozenset({"nt:c0000409"}),
        forms=(r"\bstack buffer overrun\b",),
        meaning=N_("The program, or a library in it, ended itself at once, often without a message."),
        look=N_(
            "Start the program from a terminal and paste its last lines. Windows notes the library in which it ended: Event Viewer, Windows Logs, Application, the newest error, Faulting module name. And check this computer: convalesce scan."
        ),
    ),
    Ending(
        marks=frozenset({"nt:c0000135", "nt:c0000139", "nt:c000007b", "nt:c0000142"}),
        meaning=N_("The program did not start: Windows did not load one of its libraries."),
        look=N_(
            "Start it by a double click: Windows then names the library in a dialog. Or look in Event Viewer, Windows Logs, Application. Paste that, and check this computer: convalesce scan."
        ),
    ),
    Ending(
        forms=(
            r"\.exe (?:has |hat )?(?:stopped working|stopped responding|funktioniert nicht mehr|已停止工作|已停止運作|a cessé de fonctionner|dejó de funcionar|parou de funcionar|ha smesso di funzionare)|прекращена работа программы|は動作を停止しました",
            r"\bpython (?:has stopped working|funktioniert nicht mehr|已停止工作|a cessé de fonctionner)|\bappcrash\b|\bfaulting (?:application|module)\b|\bfehlerhafte[rs] (?:anwendung|modul)\w{0,8}\b",
        ),
        meaning=N_("Windows ended the program after a fault. The window does not say why."),
        look=N_(
            "Windows notes the library in which it ended: Event Viewer, Windows Logs, Application, the newest error, Faulting module name and Exception code. Paste that, and check this computer: convalesce scan."
        ),
    ),
    Ending(
        forms=(r"\bdataloader worker[^\n]{0,40}exited unexpectedly\b",),
        meaning=N_("A worker process that loads data ended. Its own error is not in this text."),
        look=N_(
            "Run it with num_workers=0: the error then shows. If it runs, memory was short: look at free -h and df -h /dev/shm while it runs with workers. And check this computer: convalesce scan."
        ),
        guesses=False,
    ),
    Ending(
        forms=(
            r"\b(?:window|program|programm|app|it|cmd|console|terminal|script|python|fenster|es)\b[^\n]{0,24}\b(?:closes|crashes|exits|quits|disappears|vanishes|dies|shuts down|schließt sich|stürzt[^\n]{0,12} ab|verschwindet|beendet sich)\b|闪退|一闪而过",
        ),
        meaning=N_("The program ends, and nothing in this text says why."),
        look=N_(
            "Start it from a terminal that is already open (Windows: cmd; not by a double click): the last lines then stay. Paste these, and check this computer: convalesce scan."
        ),
        guesses=False,
    ),
    Ending(
        forms=(r"\bpress any key to (?:continue|exit|close)\b|按任意键|\bbeliebige taste\b|\bappuyez sur une touche\b",),
        meaning=N_("This line only says that the program ended."),
        look=_LAST_LINES,
        guesses=False,
    ),
    Ending(
        forms=(_ALONE + _ends_with("0"),),
        meaning=N_("The program ended without an error."),
        look=N_("If it did nothing, or ended too early, paste what it printed before, and check this computer: convalesce scan."),
        guesses=False,
    ),
    Ending(
        forms=(_ALONE + _ends_with(r"-?\d{1,3}"),),
        meaning=N_("The program ended with an error. The number does not say with which: it prints that before."),
        look=_LAST_LINES,
        guesses=False,
    ),
)  # fmt: skip
"""The first whose form or mark a text has is meant: the reason before its number."""
BARE_CHARACTERS = 600
"""Characters up to which a text with such a line counts as nothing else."""


def find_ending(reading: ParsedText) -> Ending | None:
    """Return how a program ended, if a short text tells this and nothing else, or is from Python; else None."""
    low = reading.low
    if len(reading.text) > BARE_CHARACTERS:
        return None
    said = {e: [m.span() for form in e.forms if can_match(form, low) for m in re.finditer(form, low)] for e in ENDINGS}
    ours = bool(_OURS.search(low)) or _rest(low, [span for its in said.values() for span in its]) <= MAX_REST
    return next((e for e in ENDINGS if e.marks & reading.marks or (said[e] and ours)), None)


def _rest(low: str, spans: list[tuple[int, int]]) -> int:
    """Return how many letters a text has beside what was found in it."""
    inside = {at for start, stop in spans for at in range(start, stop)}
    return sum(c.isalpha() and at not in inside for at, c in enumerate(low))
