"""Packages are exchanged in one step, kept, taken back, let go; and nothing names the twin."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from core.common.progress import Progress
from core.doctor import repair
from core.fixes.files import HOOK_FILE_NAME, hook_text
from core.fixes.packages import twin_trials
from core.host import exchange
from core.model.changes import ChangeError, ExchangePackages, FileSet
from core.model.facts import FrameworkTrial, PythonEnvironment
from core.transaction import package_exchange
from core.transaction.broker.closed_list import refusal_sentences
from core.transaction.broker.ground import RealGround
from core.transaction.execute import recover
from core.transaction.journal import Entry
from tests.curelab import wheels
from tests.curelab.index import Manner, index
from tests.packages.conftest import Bench, tree

CUDA = {"remove": ("torch",), "install": ("torch==2.8.0+cu128",)}


def exchanged(proposal: repair.Proposal) -> ExchangePackages:
    change = proposal.plan.changes[0]
    assert isinstance(change, ExchangePackages)
    return change


def test_another_build_comes_and_goes_again_to_the_same_bytes(bench: Bench) -> None:
    before = tree(bench.prefix)
    proposal = bench.prepared(**CUDA)
    assert tree(bench.prefix) == before
    assert proposal.problems == ()
    assert proposal.rehearsal is not None
    assert proposal.rehearsal.works is True
    change = exchanged(proposal)
    assert [(p.name, p.version) for p in change.gone] == [("torch", "2.8.0+cpu")]
    assert [(p.name, p.version) for p in change.come] == [("tiny", "1.0"), ("torch", "2.8.0+cu128")]
    assert all(len(p.sha256) == 64 and p.size for p in change.come)
    done = bench.apply(proposal)
    assert done.kind == "done", done.sentence
    assert bench.version() == "2.8.0+cu128"
    assert (
        bench.python("import subprocess, sys; print(subprocess.run([sys.prefix + '/bin/torchrun']).returncode)")
        == "run\n0"
    )
    assert repair.undo(done.entry, bench.shop).kind == "undone"
    assert tree(bench.prefix) == before
    assert bench.version() == "2.8.0+cpu"
    assert not (bench.prefix / package_exchange.TWINS).exists()


def test_nothing_names_the_twin(bench: Bench) -> None:
    proposal = bench.prepared(remove=("tiny",), install=("tiny==2.0", "torch==2.8.0+cpu"))
    token = exchanged(proposal).twin.split(f"/{package_exchange.TWINS}/")[1].split("/")[0]
    assert any(isinstance(c, FileSet) and c.items[0].path.endswith("bin/tiny") for c in proposal.plan.changes)
    assert bench.apply(proposal).kind == "done"
    for path in (p for p in bench.prefix.rglob("*") if p.is_file() and not p.is_symlink()):
        assert token.encode() not in path.read_bytes(), path
    script = (bench.prefix / "bin/tiny").read_text()
    assert str(bench.prefix / "bin/python") in script
    record = (bench.site / "tiny-2.0.dist-info/RECORD").read_text()
    row = next(line for line in record.splitlines() if line.startswith("../../../bin/tiny,"))
    # without the folder of the tests, where a build may have left a description of this project
    code = "import sys; sys.path.remove(''); import pip._internal.cli.main as m; print(m.main(['check']))"
    assert row.split(",")[2] == str(len(script))
    assert bench.python(code).endswith("0")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import gone_from_here\n", "import far-away failed: ModuleNotFoundError: No module named 'gone_from_here'"),
        ("raise ImportError('libcuda.so.1: cannot open shared object file')\n", ""),
        ("one = 1\n", ""),
    ],
)
def test_what_the_finding_is_about_is_imported_too(bench: Bench, text: str, said: str) -> None:
    """Reading found that its import ends; that no framework is harmed proves nothing about it. Without a driver some end in any case."""
    about = bench.site / "far_away-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: far-away\nVersion: 1.0\n")
    (about / "RECORD").write_text("far_away/__init__.py,,\nfar_away-1.0.dist-info/METADATA,,\n")
    (bench.site / "far_away").mkdir()
    (bench.site / "far_away/__init__.py").write_text(text)
    before = tree(bench.prefix)
    proposal = bench.proposal(**CUDA)
    finding = replace(proposal.finding, consumers=(f"python/far-away:{bench.prefix}",))
    sources = repair.package_sources(str(bench.wheels), "", offline=False)
    ready = repair.prepare(replace(proposal, finding=finding), bench.report, bench.shop, Progress(), sources)
    assert ready.rehearsal is not None
    assert ready.rehearsal.works is (not said)
    assert said in ready.rehearsal.sentence
    assert tree(bench.prefix) == before


def test_an_older_release_is_taken_where_the_newest_cannot_be_imported(bench: Bench, tmp_path: Path) -> None:
    """Its metadata do not say what it was built for: its import does."""
    folder = tmp_path / "wheels"
    texts = {
        "0.9.0": "nine = 9\n",
        "0.10.0": "ten = 10\n",
        "0.11.0": "import gone\n",
        "0.11.1": "import gone\n",
        "0.12.0": "import gone\n",
    }
    for version, text in texts.items():
        wheels.make_wheel(folder, "far-away", version, {"far_away/__init__.py": text})
    before = tree(bench.prefix)
    proposal = bench.proposal(install=("far-away!=0.12.1",))
    finding = replace(proposal.finding, consumers=(f"python/far-away:{bench.prefix}",))
    sources = repair.package_sources(str(folder), "", offline=False)
    ready = repair.prepare(replace(proposal, finding=finding), bench.report, bench.shop, Progress(), sources)
    change = exchanged(ready)
    assert [(p.name, p.version) for p in change.come] == [("far-away", "0.10.0")]
    assert change.install == ("far-away!=0.12.1,<0.11",)
    assert ready.rehearsal is not None
    assert ready.rehearsal.works is True
    repair.discard_prepared(ready, bench.shop)
    assert tree(bench.prefix) == before
    for version in ("0.9.0", "0.10.0"):
        wheels.make_wheel(folder, "far-away", version, {"far_away/__init__.py": "import gone\n"})
    none = repair.prepare(replace(proposal, finding=finding), bench.report, bench.shop, Progress(), sources)
    assert none.rehearsal is not None
    assert none.rehearsal.works is False
    assert "3 older releases failed, too." in none.rehearsal.sentence
    repair.discard_prepared(none, bench.shop)
    assert not (bench.prefix / package_exchange.TWINS).exists()


@pytest.mark.parametrize(
    ("releases", "text", "came", "said"),
    [
        (("0.9", "1.1", "2.0"), "import gone_from_here\n", "1.1", ""),
        (("0.9", "2.0"), "import gone_from_here\n", "2.0", "import user failed"),
        (("0.9", "2.0"), "one = 1\n", "2.0", ""),
    ],
)
def test_what_packages_that_stay_require_is_kept_or_they_are_imported(
    bench: Bench, tmp_path: Path, releases: tuple[str, ...], text: str, came: str, said: str
) -> None:
    folder = tmp_path / "wheels"
    for version in ("1.0", *releases):
        wheels.make_wheel(folder, "far-away", version, {"far_away/__init__.py": "one = 1\n"})
    wheels.make_wheel(folder, "user", "1.0", {"user/__init__.py": text}, requires=("far-away>=1.0,<2",))
    pip = [bench.prefix / "bin/python", "-m", "pip", "install", "--quiet", "--no-index", "--find-links", folder]
    subprocess.run([*pip, "far-away==1.0", "user"], check=True, env=bench.variables)
    ready = bench.prepared(named=str(folder), remove=("far-away",), install=("far-away!=1.0",))
    assert [(p.name, p.version) for p in exchanged(ready).come] == [("far-away", came)]
    assert ready.rehearsal is not None
    assert ready.rehearsal.works is (not said)
    assert said in ready.rehearsal.sentence
    repair.discard_prepared(ready, bench.shop)
    assert not (bench.prefix / package_exchange.TWINS).exists()


def test_a_build_that_cannot_be_imported_is_not_put_in_place(bench: Bench) -> None:
    before = tree(bench.prefix)
    proposal = bench.prepared(remove=("torch",), install=("torch==2.9.0+cu128",))
    assert proposal.rehearsal is not None
    assert proposal.rehearsal.works is False
    assert "libcudart is not there" in proposal.rehearsal.sentence
    repair.discard_prepared(proposal, bench.shop)
    assert tree(bench.prefix, without="") == before
    assert not (bench.prefix / package_exchange.TWINS).exists()


def test_what_does_not_cure_is_taken_back(bench: Bench) -> None:
    before = tree(bench.prefix)
    proposal = bench.prepared(**CUDA)
    worse = repair.apply(proposal, bench.report, bench.shop, lambda _host: still(bench, proposal))
    assert worse.kind == "rolled back"
    assert tree(bench.prefix) == before
    assert not (bench.prefix / package_exchange.TWINS).exists()


def still(bench: Bench, proposal: repair.Proposal) -> repair.Report:
    return repair.replace(bench.report, findings=(proposal.finding,))


def test_a_package_is_only_removed(bench: Bench) -> None:
    (bench.site / "~orch").mkdir()
    (bench.site / "~orch" / "left.py").write_text("")
    proposal = bench.prepared(remove=("~orch",))
    assert bench.apply(proposal).kind == "done"
    assert not (bench.site / "~orch").exists()
    entry = bench.shop.journal.entries()[-1]
    assert repair.undo(entry.id, bench.shop).kind == "undone"
    assert (bench.site / "~orch" / "left.py").is_file()


def test_a_package_that_shares_files_with_one_that_goes_comes_anew(bench: Bench, tmp_path: Path) -> None:
    """Like cuDNN's wheels for two releases of CUDA, or onnxruntime beside onnxruntime-gpu: both write one folder."""
    folder = tmp_path / "shared"
    for name in ("lib-cu12", "lib-cu13"):
        wheels.make_wheel(folder, name, "1.0", {"shared/__init__.py": f"of = '{name}'\n"})
    pip = [bench.prefix / "bin/python", "-m", "pip", "install", "--quiet", "--no-index", "--find-links", folder]
    subprocess.run([*pip, "lib-cu12", "lib-cu13"], check=True, env=bench.variables)
    before = tree(bench.prefix)
    wish = {"remove": ("lib-cu13",), "install": ("lib-cu12==1.0",)}
    done = bench.apply(bench.prepared(named=str(folder), **wish))
    assert done.kind == "done", done.sentence
    assert bench.python("import shared; print(shared.of)") == "lib-cu12"
    assert repair.undo(done.entry, bench.shop).kind == "undone"
    assert tree(bench.prefix) == before


def test_python_is_told_where_its_dlls_are_with_the_packages_and_untold_with_them(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tree(bench.prefix)
    folder, told = str(bench.site / "nvidia" / "cublas" / "bin"), []
    real = twin_trials.try_frameworks

    def tried(python: PythonEnvironment, *rest: Any) -> tuple[FrameworkTrial, ...]:
        told.append(Path(python.site_packages[0], HOOK_FILE_NAME).read_text())
        return real(python, *rest)

    monkeypatch.setattr(twin_trials, "try_frameworks", tried)
    proposal = bench.prepared(**CUDA, dll_folders=(folder,))
    change = exchanged(proposal)
    assert told == [hook_text(folder.replace(str(bench.prefix), str(package_exchange.twin_root(change.twin))))]
    assert f"+ Let this Python find DLLs in {folder}" in change.lines()
    done = bench.apply(proposal)
    assert done.kind == "done", done.sentence
    assert (bench.site / HOOK_FILE_NAME).read_text() == hook_text(folder)
    assert repair.undo(done.entry, bench.shop).kind == "undone"
    assert tree(bench.prefix) == before


def test_what_others_installed_since_is_not_undone_with_it(bench: Bench) -> None:
    done = bench.apply(bench.prepared(**CUDA))
    pip = [bench.prefix / "bin/python", "-m", "pip", "install", "--quiet", "--no-index", "--find-links", bench.wheels]
    subprocess.run([*pip, "tiny==2.0"], check=True, env=bench.variables)
    refused = repair.undo(done.entry, bench.shop)
    assert refused.kind == "refused"
    assert "tiny 2.0 was installed" in refused.sentence
    assert bench.python("import tiny; print(tiny.two)") == "2"


def test_a_prepared_plan_is_not_carried_out_over_a_change(bench: Bench) -> None:
    proposal = bench.prepared(**CUDA)
    (bench.site / "torch/version.py").write_text("__version__, cuda = 'mine', None\n")
    refused = bench.apply(proposal)
    assert refused.kind == "refused"
    assert bench.version() == "mine"


def test_what_is_kept_is_shown_and_let_go(bench: Bench) -> None:
    done = bench.apply(bench.prepared(**CUDA))
    entry = bench.shop.journal.entry(done.entry)
    assert repair.kept_bytes(entry) > 0
    assert repair.let_go(done.entry, bench.shop).kind == "let go"
    assert not (bench.prefix / package_exchange.TWINS).exists()
    assert bench.version() == "2.8.0+cu128"
    assert repair.kept_bytes(bench.shop.journal.entry(done.entry)) == 0
    assert repair.undo(done.entry, bench.shop).kind == "refused"
    assert repair.let_go(done.entry, bench.shop).kind == "refused"


def test_an_abandoned_twin_goes_at_the_next_start(bench: Bench) -> None:
    child = os.fork()
    if child == 0:
        bench.prepared(**CUDA)
        os._exit(0)
    os.waitpid(child, 0)
    assert (bench.prefix / package_exchange.TWINS).is_dir()
    assert recover(writer=bench.shop.writer, journal=bench.shop.journal) == ()
    assert not (bench.prefix / package_exchange.TWINS).exists()
    assert list((Path(bench.shop.journal.folder) / "twins").iterdir()) == []


def test_a_twin_in_use_stays(bench: Bench) -> None:
    proposal = bench.prepared(**CUDA)
    recover(writer=bench.shop.writer, journal=bench.shop.journal)
    assert Path(exchanged(proposal).twin).is_dir()
    assert bench.apply(proposal).kind == "done"
    recover(writer=bench.shop.writer, journal=bench.shop.journal)
    assert repair.undo(bench.shop.journal.entries()[-1].id, bench.shop).kind == "undone"


@pytest.mark.parametrize("manner", ["lies", "cuts", "refuses", "redirects", "turns in a circle"])
def test_an_index_that_does_not_keep_its_word(bench: Bench, manner: Manner) -> None:
    before = tree(bench.prefix)
    with index(bench.wheels, manner) as (url, _asked), pytest.raises(ChangeError, match="pip could not do it"):
        bench.prepared(index=url, **CUDA)
    assert tree(bench.prefix) == before
    assert not (bench.prefix / package_exchange.TWINS).exists()


def test_only_the_named_index_is_asked(bench: Bench) -> None:
    with index(bench.wheels) as (url, asked), index(bench.wheels) as (other, not_asked):
        variables = {**bench.variables, "PIP_EXTRA_INDEX_URL": other, "PIP_FIND_LINKS": other}
        object.__setattr__(bench.shop.host, "variables_", variables)
        proposal = bench.prepared(index=url, **CUDA)
        repair.discard_prepared(proposal, bench.shop)
    assert asked
    assert not_asked == []


def test_offline_nothing_is_asked(bench: Bench) -> None:
    with index(bench.wheels) as (url, asked):
        object.__setattr__(
            bench.shop.host, "variables_", {**bench.variables, "PIP_INDEX_URL": url, "PIP_FIND_LINKS": url}
        )
        with pytest.raises(ChangeError, match="pip could not do it"):
            bench.prepared(offline=True, **CUDA)
    assert asked == []


def test_one_wheel_may_be_named(bench: Bench) -> None:
    wheel = next(bench.wheels.glob("tiny-1.0*"))
    assert bench.apply(bench.prepared(named=str(wheel), install=("tiny",))).kind == "done"
    assert bench.python("import tiny; print(tiny.one)") == "1"


@pytest.mark.parametrize("by", ["one step", "renames"])
@pytest.mark.parametrize("kill_at", range(4))
def test_a_kill_between_renames_leaves_old_or_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str, kill_at: int
) -> None:
    place, other = tmp_path / "place", tmp_path / "other"
    for folder in (place, other):
        folder.mkdir()
        (folder / "name").write_text(folder.name)
    if by == "renames":
        monkeypatch.setattr(exchange, "_exchange", lambda _one, _other: False)
    old, new = exchange.folder_number(str(place)), exchange.folder_number(str(other))
    child = os.fork()
    if child == 0:
        count = 0

        def step(event: str, _args: tuple[object, ...]) -> None:
            nonlocal count
            if event == "os.rename":
                count += 1
                if count > kill_at:
                    os._exit(9)

        sys.addaudithook(step)
        exchange.bring_folder(new, str(place), str(other))
        os._exit(0)
    os.waitpid(child, 0)
    exchange.bring_folder(old, str(place), str(other))
    assert (place / "name").read_text() == "place"
    assert (other / "name").read_text() == "other"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["other", "place"]
    exchange.bring_folder(new, str(place), str(other))
    exchange.bring_folder(new, str(place), str(other))
    assert (place / "name").read_text() == "other"
    assert (other / "name").read_text() == "place"


def test_the_history_lists_it(bench: Bench) -> None:
    done = bench.apply(bench.prepared(**CUDA))
    entry = bench.shop.journal.entry(done.entry)
    assert isinstance(entry, Entry)
    lines = [line for c in entry.changes for line in c.lines()]
    assert any(line.startswith("- torch 2.8.0+cpu") for line in lines)
    assert any(line.startswith("+ torch 2.8.0+cu128 (") for line in lines)


@pytest.mark.parametrize("folder", ["/etc", "{prefix}", "{prefix}/../x", "{prefix}/lib"])
def test_a_plan_that_names_other_folders_is_refused(bench: Bench, folder: str) -> None:
    change = exchanged(bench.prepared(**CUDA))
    place = folder.format(prefix=bench.prefix)
    assert package_exchange.exchange_problems(repair.replace(change, folder=place))
    assert package_exchange.exchange_problems(repair.replace(change, twin=place))
    assert not package_exchange.exchange_problems(change)


def test_no_administrator_changes_packages(bench: Bench) -> None:
    change = exchanged(bench.prepared(**CUDA))
    for one in (change, change.inverse(), bench.wish(install=("torch",))):
        for back in (False, True):
            assert refusal_sentences((one,), RealGround(), back=back)
    assert not bench.shop.writer.needs_elevation(change)


def test_a_guard_keeps_the_build_and_goes_with_undo(bench: Bench) -> None:
    before = tree(bench.prefix)
    (bench.prefix / "pip.conf").write_text("[global]\nretries = 1")
    guarded = bench.prepared(guard=True, **CUDA)
    assert any("pip.conf" in line for line in guarded.plan.lines())
    done = bench.apply(guarded)
    assert done.kind == "done", done.sentence
    pip = [bench.prefix / "bin/python", "-m", "pip", "install", "--no-index", "--find-links", bench.wheels]
    env = {n: v for n, v in bench.variables.items() if n != "PIP_CONFIG_FILE"}
    later = subprocess.run([*pip, "torch==2.8.0+cpu"], env=env, capture_output=True, text=True, check=False)
    assert later.returncode == 1
    assert "2.8.0+cu128" in later.stdout + later.stderr
    assert bench.version() == "2.8.0+cu128"
    assert repair.undo(done.entry, bench.shop).kind == "undone"
    assert (bench.prefix / "pip.conf").read_text() == "[global]\nretries = 1"
    (bench.prefix / "pip.conf").unlink()
    assert tree(bench.prefix) == before


def test_without_the_wish_there_is_no_guard(bench: Bench) -> None:
    assert not any("pip.conf" in line for line in bench.prepared(**CUDA).plan.lines())


def test_two_at_once_one_is_refused_and_nothing_is_lost(bench: Bench) -> None:
    """Two Convalesces prepare the same cure; the second one finds what the first did."""
    one, two = bench.prepared(**CUDA), bench.prepared(**CUDA)
    with bench.shop.journal.lock():
        busy = bench.apply(one)
    assert busy.kind == "refused"
    assert "Another Convalesce" in busy.sentence
    one = bench.prepared(**CUDA)
    assert bench.apply(one).kind == "done"
    late = bench.apply(two)
    assert late.kind == "refused"
    assert bench.version() == "2.8.0+cu128"
    assert repair.undo(bench.shop.journal.entries()[-1].id, bench.shop).kind == "undone"
    assert bench.version() == "2.8.0+cpu"
    assert not (bench.prefix / package_exchange.TWINS).exists()


def test_a_stalled_index_ends_and_leaves_nothing(bench: Bench) -> None:
    before = tree(bench.prefix)
    object.__setattr__(bench.shop.host, "variables_", {**bench.variables, "PIP_TIMEOUT": "1"})
    with index(bench.wheels, "stalls") as (url, _asked), pytest.raises(ChangeError, match="pip could not do it"):
        bench.prepared(index=url, **CUDA)
    assert tree(bench.prefix) == before
    assert not (bench.prefix / package_exchange.TWINS).exists()
