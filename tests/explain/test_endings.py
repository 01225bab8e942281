"""Texts that only tell how a program ended: each has a meaning and a next look, and none is called strange to the topic."""

from __future__ import annotations

import pytest

from core.explain import explain
from core.explain.endings import ENDINGS, find_ending
from core.explain.engine import GUESS_SCORE, NOTHING_TEXT
from core.explain.questions import LIKELY_SCORE
from core.explain.reading import read_text
from core.knowledge.causes import Cause
from tests.machines import wheel_machine

NOTEBOOK, KILLED, ILLEGAL, HEAP, ABORTED, BUS, FAULT = (e.meaning for e in ENDINGS[:7])
AT_ONCE, NOT_STARTED, STOPPED, WORKER, VANISHED, ANY_KEY, NO_ERROR, NUMBER = (e.meaning for e in ENDINGS[7:])
TEXTS = {
    "The kernel appears to have died. It will restart automatically.": NOTEBOOK,
    "The kernel for train.ipynb appears to have died. lt will restart automaticaly\nOK": NOTEBOOK,
    "Der Kernel scheint abgestürzt zu sein. Er wird automatisch neu gestartet.": NOTEBOOK,
    "Beim Ausführen von Code in der aktuellen Zelle oder einer vorherigen Zelle ist der Kernel abgestürzt.": NOTEBOOK,
    "内核似乎挂掉了,它很快将自动重启。": NOTEBOOK,
    "在当前单元格或上一个单元格中执行代码时 Kernel 崩溃。请查看单元格中的代码,以确定故障的可能原因。": NOTEBOOK,
    "Your session crashed for an unknown reason.": NOTEBOOK,
    "help my jupyter kernel keeps dying when i train": NOTEBOOK,
    "Killed": KILLED,
    "$ python finetune.py\nKilled": KILLED,
    "zsh: killed     python main.py": KILLED,
    "./run.sh: Zeile 3:  7713 Getötet                python main.py": KILLED,
    "已杀死": KILLED,
    "exit code 137": KILLED,
    "process died: -9": KILLED,
    "slurmstepd: error: Detected 1 oom_kill event in StepId=123.batch.": KILLED,
    "Illegal instruction": ILLEGAL,
    "非法指令 (核心已转储)": ILLEGAL,
    "Ungültiger Maschinenbefehl (Speicherabzug geschrieben)": ILLEGAL,
    "exit code 132": ILLEGAL,
    "free(): invalid pointer\nAbgebrochen (Speicherabzug geschrieben)": HEAP,
    "munmap_chunk(): invalid pointer": HEAP,
    "Aborted (core dumped)": ABORTED,
    "run.sh: line 1: 20345 Aborted                 (core dumped) python train.py": ABORTED,
    "已放弃 (核心已转储)": ABORTED,
    "CrashLoopBackOff, last state terminated, exit code 134": ABORTED,
    "Bus error (core dumped)": BUS,
    "Segmentation fault (core dumped)": FAULT,
    "user@pc:~/ml$ python3 main.py\nSegmentation fault": FAULT,
    "segmentaion fault core dumped": FAULT,
    "Speicherzugriffsfehler (Speicherabzug geschrieben)": FAULT,
    "段错误 (核心已转储)": FAULT,
    "exit code 139": FAULT,
    "returncode -11": FAULT,
    "DataLoader worker (pid 3312) is killed by signal: Segmentation fault.": FAULT,
    '"0x00007FF8" 指令引用了 "0x0000000" 内存。该内存不能为 "read"。': FAULT,
    "进程已结束，退出代码为 -1073741819 (0xC0000005)": FAULT,
    "exit code: 3221225477": FAULT,
    "Process finished with exit code -1073740791 (0xC0000409)": AT_ONCE,
    "0xC0000409": AT_ONCE,
    "Process exited with code 3221225785": NOT_STARTED,
    "exit code 3221225781": NOT_STARTED,
    "PS D:\\AI> python run.py\nPS D:\\AI> $LASTEXITCODE\n-1073741515": NOT_STARTED,
    "python.exe has stopped working": STOPPED,
    "python.exe funktioniert nicht mehr": STOPPED,
    "python.exe 已停止工作": STOPPED,
    "DataLoader worker (pid(s) 3312) exited unexpectedly": WORKER,
    "程序闪退，没有任何报错": VANISHED,
    "the window closes immediately": VANISHED,
    "请按任意键继续. . .": ANY_KEY,
    "Process finished with exit code 0": NO_ERROR,
    "Process finished with exit code 1": NUMBER,
}  # fmt: skip


@pytest.mark.parametrize(("text", "meaning"), TEXTS.items())
def test_a_text_that_tells_only_an_ending_has_a_meaning_and_a_next_look(text: str, meaning: str) -> None:
    ending = find_ending(read_text(text))
    assert ending is not None
    assert ending.meaning == meaning
    told = explain(text)
    assert told.sentence != NOTHING_TEXT
    likely = told.causes and told.causes[0].score >= GUESS_SCORE
    assert likely or told.decide == ending.look
    assert likely or not any(r.steps for r in told.causes)


@pytest.mark.parametrize(
    "text",
    [
        "Segmentation fault in my homework program written in C, an array of ten numbers",
        "The application was unable to start correctly. Minecraft has crashed: exit code 1",
        "kernel: Out of memory: Killed process 4711 (firefox) total-vm:8123456kB",
        "the war killed many people in this village, and nobody remembers their names today",
    ],
)
def test_the_ending_of_something_else_is_none(text: str) -> None:
    assert find_ending(read_text(text)) is None


def test_an_exit_code_is_no_error_of_cuda_with_that_number() -> None:
    assert "cuda" not in explain("exit code 2").sentence.lower()
    assert "cudaErrorMemoryAllocation" in explain("cudaError 2").sentence


def test_on_a_machine_the_next_look_is_still_said() -> None:
    told = explain("Segmentation fault (core dumped)", wheel_machine())
    assert "faulthandler" in told.decide
    assert not any(r.verdict == "proved" for r in told.causes)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("ImportError: libavcodec.so.58: cannot open shared object file: No such file or directory", "system_library_missing"),
        ("ImportError: libtbb.so.12: Kann die Shared-Object-Datei nicht öffnen: Datei oder Verzeichnis nicht gefunden", "system_library_missing"),
        ("ImportError: libgomp.so.1: 无法打开共享对象文件: 没有那个文件或目录", "system_library_missing"),
        ("ImportError: libcudart.so.11.0: 无法打开共享对象文件: 没有那个文件或目录", "cuda_toolkit_version_mismatch"),
    ],
)  # fmt: skip
def test_a_library_that_is_missing_is_read_in_the_systems_languages(text: str, cause: Cause) -> None:
    assert cause in [r.cause for r in explain(text).causes[:3]]


@pytest.mark.parametrize("name", ["cv2", "_ctypes", "win32api", "QtCore", "anything_else"])
def test_a_module_that_windows_does_not_load_leads_to_a_question_or_a_likely_cause(name: str) -> None:
    told = explain(f"ImportError: DLL load failed while importing {name}: The specified module could not be found.")
    assert len(told.choices) > 2 or told.causes[0].score >= LIKELY_SCORE


def test_a_missing_function_of_any_library_is_about_the_set_up() -> None:
    assert explain("python: symbol lookup error: libfoo.so: undefined symbol: foo").sentence != NOTHING_TEXT
