"""Activation of environments, carried out by real shells on real environments."""

from __future__ import annotations

import os
import shutil
import subprocess
import venv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.host import activation_scripts, environment_files
from core.model.changes import ChangeError, Value
from core.transaction.variable_store import LinuxVariables

SHELLS = [s for s in ("bash", "sh", "dash", "zsh", "ksh", "busybox") if shutil.which(s)]
SHOW = 'echo "[${LD_LIBRARY_PATH-none}|${CUDA_VISIBLE_DEVICES-none}|${CUDA_HOME-none}]"'
FOLDER = "/opt/it's [a] $HOME *"


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    prefix = Path(os.path.realpath(tmp_path)) / "venv"
    venv.create(prefix, with_pip=False, symlinks=True)
    return prefix


def run(shell: str, script: str, **env: str) -> list[str]:
    argv = [shell, "sh", "-c", script] if shell == "busybox" else [shell, "-c", script]
    done = subprocess.run(
        argv, check=False, env={"PATH": os.environ["PATH"], **env}, capture_output=True, text=True, timeout=20
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def write(prefix: Path, **steps: str) -> None:
    writer = LinuxVariables("/", str(prefix.parent / "home"))
    for name, text in steps.items():
        writer.write(name, "environment", str(prefix), Value(text=text, kind=activation_scripts.ACTIVATION_KIND))


def test_at_least_the_shells_of_every_machine_are_tried() -> None:
    assert {"bash", "sh"} <= set(SHELLS)


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("options", ["", "set -eu; "])
def test_a_venv_changes_variables_while_it_is_active_and_gives_them_back(
    environment: Path, shell: str, options: str
) -> None:
    write(environment, LD_LIBRARY_PATH=f"drop /opt/mixed\nprepend {FOLDER}", CUDA_VISIBLE_DEVICES="unset")
    write(environment, CUDA_HOME="set /usr/local/it's $(evil) `x`")
    activate = f". '{environment}/bin/activate'"
    script = f"{options}{SHOW}; {activate}; {SHOW}; {activate}; {SHOW}; deactivate; {SHOW}"
    old = {"LD_LIBRARY_PATH": "/opt/mixed/:/a:/opt/mixed:/opt/mixed2:/opt/mixed", "CUDA_VISIBLE_DEVICES": ""}
    before, active, again, after = run(shell, script, **old)
    assert before == f"[{old['LD_LIBRARY_PATH']}||none]"
    assert active == f"[{FOLDER}:/a:/opt/mixed2|none|/usr/local/it's $(evil) `x`]"
    assert again == active
    assert after == before


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("value", "left"),
    [
        ("/opt/mixed", "none"),
        ("/opt/mixed/", "none"),
        (":/opt/mixed:", ":"),
        ("/a", "/a"),
        ("/a:/opt/mixed", "/a"),
        ("/opt/mixed:/a", "/a"),
        ("/opt/mixed:/opt/mixed:/b::/c", "/b::/c"),
        ("/x/opt/mixed:/opt/mixed/y", "/x/opt/mixed:/opt/mixed/y"),
        ("/a;/opt/mixed;/b", "/a:/b"),
        ("/opt/mixed;/b:/opt/mixed/", "/b"),
    ],
)
def test_dropping_a_folder_leaves_the_others(environment: Path, shell: str, value: str, left: str) -> None:
    write(environment, LD_LIBRARY_PATH="drop /opt/mixed")
    [shown] = run(shell, f". '{environment}/bin/activate'; {SHOW}", LD_LIBRARY_PATH=value)
    assert shown == f"[{left}|none|none]"


@pytest.mark.parametrize("shell", SHELLS)
def test_a_variable_that_was_not_set_is_not_set_afterwards(environment: Path, shell: str) -> None:
    write(environment, LD_LIBRARY_PATH="drop /opt/mixed\nprepend /opt/cudnn")
    script = f". '{environment}/bin/activate'; {SHOW}; deactivate; {SHOW}"
    assert run(shell, script) == ["[/opt/cudnn|none|none]", "[none|none|none]"]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("options", ["", "set -eu; "])
@pytest.mark.parametrize(
    ("wrong", "value", "left"),
    [
        ("a day", "a day", "none"),
        ("it's $(evil)", "it's $(evil)", "none"),
        ("a day", "1", "1"),
        ("a", "xa", "xa"),
        ("-n", "-n", "none"),
        ("", "", "none"),
    ],
)
def test_one_wrong_value_is_taken_away_and_any_other_stays(
    environment: Path, shell: str, options: str, wrong: str, value: str, left: str
) -> None:
    write(environment, CUDA_VISIBLE_DEVICES=f"unset-if {wrong}")
    script = f"{options}. '{environment}/bin/activate'; {SHOW}; deactivate; {SHOW}"
    assert run(shell, script, CUDA_VISIBLE_DEVICES=value) == [f"[none|{left}|none]", f"[none|{value}|none]"]
    assert activation_scripts.apply_steps("A", f"unset-if {wrong}", value) == (None if left == "none" else left)


FISH = pytest.mark.skipif(not shutil.which("fish"), reason="there is no fish here")
FISH_SHOWS = "for n in LD_LIBRARY_PATH CUDA_VISIBLE_DEVICES CUDA_HOME; set -q $n; and echo -n \"[$$n]\"; or echo -n '[none]'; end; echo"


@FISH
def test_fish_changes_variables_while_an_environment_is_active_and_gives_them_back(environment: Path) -> None:
    write(environment, LD_LIBRARY_PATH=f"drop /opt/mixed\nprepend {FOLDER}", CUDA_VISIBLE_DEVICES="unset")
    write(environment, CUDA_HOME="set /usr/local/it's $(evil) `x`")
    activate = f"source '{environment}/bin/activate.fish'"
    script = f"{FISH_SHOWS}; {activate}; {FISH_SHOWS}; {activate}; {FISH_SHOWS}; deactivate; {FISH_SHOWS}"
    old = {"LD_LIBRARY_PATH": "/opt/mixed/:/a:/opt/mixed:/opt/mixed2:/opt/mixed", "CUDA_VISIBLE_DEVICES": ""}
    home = str(environment.parent)
    before, active, again, after = run("fish", script, HOME=home, TERM="dumb", **old)
    assert before == f"[{old['LD_LIBRARY_PATH']}][][none]"
    assert active == f"[{FOLDER}:/a:/opt/mixed2][none][/usr/local/it's $(evil) `x`]"
    assert again == active
    assert after == before
    shown = subprocess.run(  # what a program gets, which is what counts
        ["fish", "-c", f"{activate}; env"], check=True, capture_output=True, text=True, timeout=20,
        env={"PATH": os.environ["PATH"], "HOME": home, "TERM": "dumb", **old},
    ).stdout.splitlines()  # fmt: skip
    assert f"LD_LIBRARY_PATH={FOLDER}:/a:/opt/mixed2" in shown


@FISH
@pytest.mark.parametrize(
    ("wrong", "value", "left"),
    [
        ("a day", "a day", "none"),
        ("it's $(evil)", "it's $(evil)", "none"),
        ("back\\slash", "back\\slash", "none"),
        ("a day", "1", "1"),
        ("a", "xa", "xa"),
        ("-n", "-n", "none"),
    ],
)
def test_fish_takes_one_wrong_value_away_and_leaves_any_other(
    environment: Path, wrong: str, value: str, left: str
) -> None:
    write(environment, CUDA_VISIBLE_DEVICES=f"unset-if {wrong}")
    script = f"source '{environment}/bin/activate.fish'; {FISH_SHOWS}; deactivate; {FISH_SHOWS}"
    shown = run("fish", script, HOME=str(environment.parent), TERM="dumb", CUDA_VISIBLE_DEVICES=value)
    assert shown == [f"[none][{left}][none]", f"[none][{value}][none]"]


@FISH
@pytest.mark.parametrize(
    ("value", "left"),
    [
        ("/opt/mixed", "none"), (":/opt/mixed:", ":"), ("/a:/opt/mixed", "/a"), ("/opt/mixed:/opt/mixed:/b::/c", "/b::/c"),
        ("/x/opt/mixed:/opt/mixed/y", "/x/opt/mixed:/opt/mixed/y"), ("/a;/opt/mixed;/b", "/a:/b"),
    ],
)  # fmt: skip
def test_fish_drops_a_folder_and_leaves_the_others(environment: Path, value: str, left: str) -> None:
    write(environment, LD_LIBRARY_PATH="drop /opt/mixed")
    script = f"source '{environment}/bin/activate.fish'; {FISH_SHOWS}"
    assert run("fish", script, HOME=str(environment.parent), TERM="dumb", LD_LIBRARY_PATH=value) == [
        f"[{left}][none][none]"
    ]


@FISH
def test_fish_sources_the_hooks_of_a_conda_environment(tmp_path: Path) -> None:
    prefix = Path(os.path.realpath(tmp_path)) / "conda"
    (prefix / "conda-meta").mkdir(parents=True)
    write(prefix, LD_LIBRARY_PATH="drop /opt/mixed", CUDA_VISIBLE_DEVICES="unset")
    hook = f"'{prefix}/etc/conda/%s.d/convalesce.fish'"
    script = f"source {hook % 'activate'}; {FISH_SHOWS}; source {hook % 'deactivate'}; {FISH_SHOWS}"
    given = {"HOME": str(tmp_path), "TERM": "dumb", "LD_LIBRARY_PATH": "/a:/opt/mixed", "CUDA_VISIBLE_DEVICES": "7"}
    assert run("fish", script, **given) == ["[/a][none][none]", "[/a:/opt/mixed][7][none]"]


def test_an_activation_for_fish_of_another_form_is_left(environment: Path) -> None:
    script = environment / "bin/activate.fish"
    script.write_text("# of another tool\nset -gx VIRTUAL_ENV /x\n")
    write(environment, CUDA_HOME="set /b")
    assert script.read_text() == "# of another tool\nset -gx VIRTUAL_ENV /x\n"


@pytest.mark.parametrize("shell", SHELLS)
def test_a_conda_environment_has_hooks_of_its_own(tmp_path: Path, shell: str) -> None:
    prefix = Path(os.path.realpath(tmp_path)) / "conda"
    (prefix / "conda-meta").mkdir(parents=True)
    write(prefix, LD_LIBRARY_PATH="drop /opt/mixed", CUDA_VISIBLE_DEVICES="unset")
    hook = f"'{prefix}/etc/conda/%s.d/convalesce.sh'"
    script = f". {hook % 'activate'}; {SHOW}; . {hook % 'deactivate'}; {SHOW}"
    shown = run(shell, script, LD_LIBRARY_PATH="/a:/opt/mixed", CUDA_VISIBLE_DEVICES="7")
    assert shown == ["[/a|none|none]", "[/a:/opt/mixed|7|none]"]


@pytest.mark.parametrize("kind", ["venv", "conda"])
def test_taking_the_steps_out_gives_every_byte_back(environment: Path, kind: str) -> None:
    prefix = environment
    if kind == "conda":
        (prefix / "conda-meta").mkdir()
    before = {p: p.read_bytes() for p in prefix.rglob("*") if p.is_file()}
    writer = LinuxVariables("/", str(prefix.parent / "home"))
    write(prefix, LD_LIBRARY_PATH="drop /a", CUDA_HOME="set /b")
    assert writer.read("LD_LIBRARY_PATH", "environment", str(prefix)) == Value(text="drop /a", kind="activation")
    assert writer.read("PATH", "environment", str(prefix)) is None
    writer.write("LD_LIBRARY_PATH", "environment", str(prefix), None)
    assert writer.read("CUDA_HOME", "environment", str(prefix)) == Value(text="set /b", kind="activation")
    writer.write("CUDA_HOME", "environment", str(prefix), None)
    assert {p: p.read_bytes() for p in prefix.rglob("*") if p.is_file()} == before


def test_lines_that_were_edited_by_hand_are_not_touched(environment: Path) -> None:
    write(environment, LD_LIBRARY_PATH="drop /a")
    script = environment / "bin/activate"
    script.write_text(script.read_text().replace("_DROP=:/a:", "_DROP=:/b:"))
    writer = LinuxVariables("/", str(environment.parent))
    with pytest.raises(ChangeError, match="edited by hand"):
        writer.write("LD_LIBRARY_PATH", "environment", str(environment), None)
    assert "edited by hand" in writer.write_obstacle("LD_LIBRARY_PATH", "environment", str(environment))


@pytest.mark.parametrize(
    "steps",
    [
        "",
        "drop",
        "unset-if",
        "unset-if a\nb",
        "drop /a:/b",
        "run evil",
        "set a\nexport B=1\n",
        "prepend /a\0",
        "unset x",
    ],
)
def test_what_is_no_step_is_refused(environment: Path, steps: str) -> None:
    with pytest.raises(ChangeError):
        write(environment, LD_LIBRARY_PATH=steps)
    with pytest.raises(ChangeError):
        write(environment, **{"A; evil": "unset"})


def test_what_is_no_environment_is_refused(tmp_path: Path) -> None:
    writer = LinuxVariables("/", str(tmp_path))
    for prefix in (str(tmp_path), "relative", "/nowhere"):
        with pytest.raises(ChangeError):
            writer.write("A", "environment", prefix, Value(text="unset"))
        assert writer.write_obstacle("A", "environment", prefix)


@given(st.dictionaries(st.sampled_from(["A", "B_1", "LD_LIBRARY_PATH"]), st.lists(
    st.one_of(st.sampled_from(["unset", "unset-if it's"]), st.text(st.characters(exclude_categories=["Cc", "Cs"])).map("set {}".format)),
    min_size=1, max_size=3).map("\n".join)))  # fmt: skip
def test_steps_are_read_again_as_they_were_written(steps: dict[str, str]) -> None:
    script = "deactivate () {\n    true\n}\nexport X=1\n"
    assert activation_scripts.steps_in(activation_scripts.with_steps(script, steps)) == steps
    assert activation_scripts.with_steps(activation_scripts.with_steps(script, steps), {}) == script


# --- files of assignments ------------------------------------------------------------------------------------------


@given(
    st.lists(st.sampled_from(["# note\n", "\n", "LANG=C\n", "export X='y z'\n", "A B\n", "  Q=1  \n"]), max_size=5),
    st.sampled_from(["CUDA_HOME=/a\n", ' export CUDA_HOME="/a b"  \n', "CUDA_HOME=''\n", "CUDA_HOME=/a", ""]),
    st.lists(st.sampled_from(["# end\n", "B=2\n", "B=2"]), max_size=1),
    st.sampled_from([None, "", "/new", "/with space"]),
)
def test_one_line_is_edited_and_undone_exactly(head: list[str], line: str, tail: list[str], new: str | None) -> None:
    text = "".join([*head, line, *([] if line and not line.endswith("\n") else tail)])
    old = environment_files.read_assignment(text, "CUDA_HOME")
    after = environment_files.write_assignment(text, "CUDA_HOME", None if new is None else Value(text=new))
    found = environment_files.read_assignment(after, "CUDA_HOME")
    assert (found.text if found else None) == new
    for other in ("LANG", "X", "Q", "B"):
        if f"{other}=" in text and text.count("Q=1") < 2 and text.count("LANG") < 2 and text.count("X=") < 2:
            assert (
                environment_files.read_assignment(after, other).text
                == environment_files.read_assignment(text, other).text
            )
    back = environment_files.write_assignment(after, "CUDA_HOME", old)
    assert back == text or (not text.endswith("\n") and old is None and back == text + "\n")


@pytest.mark.parametrize(
    "line", ["A=$B\n", "A=`x`\n", "A=a # b\n", 'A="x"y"\n', "A='x\n", "A=1\nA=2\n", "A=a\\ b\n", "export A = 1\n"]
)
def test_a_line_that_is_more_than_an_assignment_is_left_to_the_person(line: str) -> None:
    with pytest.raises(ChangeError):
        environment_files.read_assignment(line, "A")
    with pytest.raises(ChangeError):
        environment_files.write_assignment(line, "A", Value(text="1"))


@pytest.mark.parametrize("value", ["a\nB=2", "$(x)", "a#b", 'a"b', "a\\b"])
def test_a_value_that_could_be_more_than_a_value_is_refused(value: str) -> None:
    with pytest.raises(ChangeError):
        environment_files.write_assignment("", "A", Value(text=value))
    with pytest.raises(ChangeError):
        environment_files.write_assignment("", "A", Value(text="1", kind="0:A=*\nEVIL=1\n"))


GENERATOR = Path("/usr/lib/systemd/user-environment-generators/30-systemd-environment-d-generator")


@pytest.mark.skipif(not GENERATOR.exists(), reason="this machine has no systemd to ask")
def test_systemd_itself_reads_our_file_as_we_mean_it(tmp_path: Path) -> None:
    writer = LinuxVariables("/", str(tmp_path))
    writer.write("CUDA_HOME", "user", "", Value(text="/usr/local/cuda (12) [x]"))
    writer.write("CUDA_DEVICE_ORDER", "user", "", Value(text="PCI_BUS_ID"))
    env = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / ".config")}
    shown = subprocess.run([str(GENERATOR)], env=env, capture_output=True, text=True, check=True).stdout
    assert "CUDA_DEVICE_ORDER=PCI_BUS_ID" in shown
    assert "/usr/local/cuda (12) [x]" in shown.replace("\\", "")
