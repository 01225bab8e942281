"""What was seen, as rows: search paths with their remarks, cuDNN copies and who finds them, the grid, the benchmark."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QFontMetrics, QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QApplication, QFrame, QStyle
from pytestqt.qtbot import QtBot

from core.doctor.examine import diagnose_snapshot
from core.model.changes import EditPath, FileItem, FileSet, SetVariable, Value
from core.model.facts import How
from core.model.findings import Fix
from core.model.steps import Severity
from core.model.system_steps import SystemStep
from gui import texts, theme
from gui.pages import detail_rows
from gui.pages.benchmark import SpeedBar
from gui.widgets.row_model import RowModel, TableRow
from gui.widgets.table import MAX_PATH_CHARACTERS, RowTable
from tests import machines as m
from tests.gui import recorded
from tests.gui.conftest import Opened
from tests.gui.engines import Showing
from tests.gui.hand import Hand
from tests.gui.screen import shown_text


def test_each_entry_of_a_search_path_says_what_is_odd_about_it() -> None:
    gone = r"C:\gone\CUDA"
    snapshot = recorded.on_windows(recorded.windows(rf"{gone};{recorded.OTHER};{m.INSTALLER}"), gone)
    said = {row.cells[2]: row.cells[3] for row in detail_rows.search_paths(snapshot) if row.cells[0] == "PATH"}
    assert said == {
        recorded.BIN: "OK",
        gone: "missing",
        recorded.OTHER: "shadows place 4",
        m.INSTALLER: "OK",
    }


def test_files_for_another_processor_are_marked() -> None:
    snapshot = recorded.on_windows(recorded.windows(rf"{recorded.OTHER};{m.INSTALLER}"))
    wrong = replace(
        m.found(rf"{recorded.OTHER}\cudnn64_9.dll", How.PATH),
        outcome="wrong architecture",
        detail="is built for x86, not x86_64",
        architecture="x86",
    )
    good = m.found(rf"{m.INSTALLER}\cudnn64_9.dll", How.PATH)
    rows = detail_rows.search_paths(m.with_search(snapshot, "cudnn64_9.dll", wrong, good))
    assert next(r for r in rows if r.cells[2] == recorded.OTHER).cells[3] == "32-bit"


def test_each_copy_says_who_finds_it_first_and_what_it_lacks() -> None:
    (row,) = detail_rows.copy_rows(recorded.sublibrary_missing())
    assert row.cells[0] == "9.1.0"
    assert row.cells[2:] == ("no: 1 file", "12", "torch 2.6.0 (ml)")
    assert row.severity is Severity.ERROR
    assert row.inner[0].cells == ("", "libcudnn_cnn.so.9", "missing", "")


def test_what_a_release_never_had_is_not_missed_and_a_newer_major_is_not_called_complete() -> None:
    name = "libcudnn_engines_tensor_ir.so.9"
    pristine = m.with_copy(m.wheel_machine(), version="9.20.0", missing=(name,))
    (row,) = detail_rows.copy_rows(pristine)
    assert (row.cells[2], row.severity) == ("yes", Severity.GOOD)
    (row,) = detail_rows.copy_rows(m.with_copy(m.wheel_machine(), version="10.0.0", major=10))
    assert (row.cells[2], row.severity) == ("not judged", Severity.UNKNOWN)


def test_the_grid_says_for_each_environment_what_will_use_the_gpu() -> None:
    report = recorded.report("fifty pythons")
    assert report.grid is not None
    rows = detail_rows.environment_rows(report)
    assert len(rows) == 50
    assert all(len(row.cells) == 2 + len(report.grid.columns) for row in rows)
    assert rows[0].inner[0].cells[0].startswith("PyTorch 2.6.0: ")
    assert detail_rows.choice_rows(report.grid) == ()
    none = "PyTorch, TensorFlow, JAX and ONNX Runtime: none is known to use the GPU"
    assert detail_rows.choice_sentence(report.grid) == none
    one = replace(report.grid, best=(("PyTorch", "/home/ada/ml"),))
    assert [row.cells for row in detail_rows.choice_rows(one)] == [("PyTorch", "/home/ada/ml")]
    assert detail_rows.choice_sentence(one) == "TensorFlow, JAX and ONNX Runtime: none is known to use the GPU"
    alone = replace(one, rows=report.grid.rows[:1])
    assert (detail_rows.choice_rows(alone), detail_rows.choice_sentence(alone)) == ((), "")


@pytest.mark.parametrize(
    ("number", "says"), [(None, ""), (12, "12 B"), (4_500_000, "4.5 MB"), (2_450_000_000, "2.45 GB")]
)
def test_sizes(number: int | None, says: str) -> None:
    assert detail_rows.size_text(number) == says


def test_the_model_keeps_qts_rules(qapp: QApplication) -> None:
    rows = tuple(TableRow((str(i), "x"), (TableRow(("a sentence",)), TableRow(("b", "c")))) for i in range(5))
    model = RowModel(("A", "B"), rows, theme.LIGHT_THEME, paths=(1,))
    QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    outer = model.index(3, 0)
    inner = model.index(1, 1, outer)
    assert model.data(inner) == "c"
    assert model.parent(inner) == outer
    assert model.rowCount(inner) == 0
    assert model.rowCount(QModelIndex()) == 5
    assert model.data(outer, Qt.ItemDataRole.AccessibleTextRole) == "A: 3"


def test_a_row_is_copied_by_its_key(qapp: QApplication) -> None:
    from PySide6.QtTest import QTest

    table = RowTable("t", ("A", "Where"), (TableRow(("1", "/a/very/long/path" * 20)),), theme.LIGHT_THEME, paths=(1,))
    QTest.keyClick(table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QApplication.clipboard().text() == "1\t" + "/a/very/long/path" * 20


PATH = {"name": "Path", "scope": "user", "system": "windows", "entry": "C:\\x"}
VERBS = {
    "Add folder to PATH": (EditPath(**PATH, old=None, new=0),),
    "Change the order of PATH": (EditPath(**PATH, old=1, new=0),),
    "Remove a folder from PATH": (EditPath(**PATH, old=1, new=None),),
    "Remove 2 entries from PATH": (EditPath(**PATH, old=1, new=None), EditPath(**PATH, old=2, new=None)),
    "Remove CUDA_VISIBLE_DEVICES": (SetVariable(name="CUDA_VISIBLE_DEVICES", scope="user", before=Value(text="-1")),),
    "Set CUDA_PATH": (SetVariable(name="CUDA_PATH", scope="user", after=Value(text="C:\\CUDA")),),
    "Add folder to LD_LIBRARY_PATH": (SetVariable(name="LD_LIBRARY_PATH", scope="environment", at="/v", after=Value(text="prepend /x")),),
    "Remove a folder from LD_LIBRARY_PATH": (SetVariable(name="LD_LIBRARY_PATH", scope="environment", at="/v", after=Value(text="drop /x")),),
    "Set CUDA_HOME": (SetVariable(name="CUDA_HOME", scope="environment", at="/v", after=Value(text="set /opt/cuda")),),
    "Remove JAX_PLATFORMS": (SetVariable(name="JAX_PLATFORMS", scope="environment", at="/v", after=Value(text="unset-if gpus")),),
    "Place 1 file": (FileSet(title="t", items=(FileItem(path="/a", after="?"),)),),
    "Quarantine 2 files": (FileSet(title="t", items=(FileItem(path="/a", before="?"), FileItem(path="/b", before="?"))),),
    "Add folder for libraries": (SystemStep(kind="library-folder", subject="/usr/lib/wsl/lib"),),
    "Add user to group": (SystemStep(kind="device-group", subject="ada", value="video"),),
    "Reload nvidia_uvm": (SystemStep(kind="reload-uvm"),),
    "Turn off nouveau": (SystemStep(kind="nouveau-off"),),
    "Write CDI specification": (SystemStep(kind="cdi"),),
    "Create plain path": (SystemStep(kind="short-path", subject="/a", value="/b"),),
}  # fmt: skip


@pytest.mark.parametrize("says", VERBS)
def test_a_button_says_what_it_does(says: str) -> None:
    assert texts.fix_verb(Fix(title="t", changes=VERBS[says])) == says


def test_the_benchmark_runs_when_it_is_asked_and_shows_a_bar_against_the_limit(opened: Opened) -> None:
    engine = Showing(recorded.report("ten gpus"))
    engine.after = diagnose_snapshot(recorded.measured())
    window = opened(engine)
    hand = Hand(window, keyboard=True)
    assert "Not run yet" in shown_text(window.summary)
    hand.press("Go to the GPU benchmark")
    assert engine.asked == []
    hand.press("Run the quick benchmark")
    assert engine.asked == ["quick"]
    page = window.stack.currentWidget()
    assert page.title == "GPU benchmark"
    hand.wait(lambda: page.findChildren(SpeedBar), "the chart")
    bars = [bar.accessibleName() for bar in page.findChildren(SpeedBar)]
    assert bars == [
        "fp32: 39.0 of 60, 65%; such cards usually reach 80%",
        "tf32: 260.0 of 400, 65%; such cards usually reach 70%",
        "fp16: 585.0 of 900, 65%; such cards usually reach 70%",
    ]
    (chart,) = page.findChildren(QFrame, "chart")
    assert chart.focusPolicy() == Qt.FocusPolicy.TabFocus
    assert chart.accessibleName().startswith("GPU 0 NVIDIA H200")
    spoken = chart.accessibleDescription()
    assert "fp16: 585.0 of 900, 65%; such cards usually reach 70%; torch 2.11.0: 526.5" in spoken
    for told in (
        "torch 2.11.0: 526.5",
        "torch 2.11.0: 35.1 NHWC",
        "onnxruntime 1.30.0 computes on the processor here.",
    ):
        assert told in shown_text(page)
        assert told in spoken
    assert "this cuDNN does not have this kind of number" in shown_text(page)


LONG = "a-project-with-a-long-name-of-many-words"


@pytest.mark.parametrize("room", [200, 500])
def test_names_that_differ_in_the_middle_look_different(room: int, qtbot: QtBot) -> None:
    """An environment is chosen by its name, so two of them must not be elided to the same text."""
    paths = [f"/home/ada/{LONG}-{n}-{LONG}/.venv" for n in ("left", "right", "both")]
    table = RowTable(
        "t", ("Environment", "Python"), tuple(TableRow((p, "3.11")) for p in paths), theme.LIGHT_THEME, paths=(0,)
    )
    qtbot.addWidget(table)
    table.resize(room, 200)
    table.show()
    model, metrics = table.model(), QFontMetrics(theme.fixed_font())
    margin = 2 * (table.style().pixelMetric(QStyle.PixelMetric.PM_FocusFrameHMargin) + 1)
    cells = [model.index(i, 0) for i in range(3)]
    seen = {metrics.elidedText(c.data(), table.textElideMode(), table.visualRect(c).width() - margin) for c in cells}
    assert len(seen) == 3
    assert table.columnWidth(0) < metrics.averageCharWidth() * MAX_PATH_CHARACTERS + 100


def test_a_table_leaves_out_what_all_rows_have_in_common_sorts_and_copies_the_whole(qtbot: QtBot) -> None:
    rows = tuple(TableRow((f"9.{n}", f"/home/ada/projects/{name}/.venv")) for n, name in ((10, "b"), (2, "a")))
    table = RowTable("t", ("Version", "Where"), rows, theme.LIGHT_THEME, paths=(1,))
    qtbot.addWidget(table)
    model = table.model()
    assert [model.index(i, 1).data() for i in range(2)] == ["…/b/.venv", "…/a/.venv"]
    table.sortByColumn(0, Qt.SortOrder.AscendingOrder)
    assert [model.index(i, 0).data() for i in range(2)] == ["9.2", "9.10"]
    table.setCurrentIndex(model.index(0, 0))
    qtbot.keyClick(table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == "9.2\t/home/ada/projects/a/.venv"
