"""What is read of start-up files is what the real shell hands on, or it is called open."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.probes.starting.shells import read_shell
from tests.probes.starting.shells import HERE, begin, ground, real_environment

NAMES = ("LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "CUDA_HOME", "PATH", "LD_PRELOAD")

POSIX = {
    "plain": "export LD_LIBRARY_PATH=/opt/a/lib\nexport CUDA_HOME=/opt/a\n",
    "quotes": "export CUDA_HOME='/opt/a b'\nexport LD_LIBRARY_PATH=\"$CUDA_HOME/lib64\"\n",
    "everything exported": "set -a\nCUDA_HOME=/opt/a\nset +a\nLD_LIBRARY_PATH=/no\n",
    "everything exported, in words": "set -o allexport\nCUDA_HOME=/opt/a\nset +o allexport\nLD_LIBRARY_PATH=/no\n",
    "written on Windows": 'export CUDA_HOME=/opt/a\r\nLD_LIBRARY_PATH="/opt/b"\r\nexport LD_LIBRARY_PATH\n',
    "two steps": "CUDA_HOME=/opt/a\nexport CUDA_HOME\n",
    "not exported": "CUDA_HOME=/opt/a\n",
    "prepend where set": 'export LD_LIBRARY_PATH="/opt/a/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"\n'
    'export LD_LIBRARY_PATH="/opt/b/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"\n',
    "append": "export PATH=$PATH:/opt/cuda/bin:~/bin\n",
    "condition that holds": "if [ -d /usr ]; then\n  export CUDA_HOME=/usr\nelse\n  export CUDA_HOME=/opt\nfi\n",
    "condition that fails": "if [ -d /no/such ] && [ -x /bin/sh ]; then export CUDA_HOME=/no; fi\n",
    "test by and": "[ -f /etc/passwd ] && export CUDA_HOME=/opt/a\n[ -f /no ] || export CUDA_VISIBLE_DEVICES=0\n",
    "elif": 'if [ -z "$HOME" ]; then export CUDA_HOME=/1; elif [ "$USER" = ada ]; then export CUDA_HOME=/2; fi\n',
    "case": 'case ":$PATH:" in\n  *:/opt/cuda/bin:*) ;;\n  *) export PATH="/opt/cuda/bin:$PATH" ;;\nesac\n',
    "case twice": 'for i in 1 2; do\ncase ":$PATH:" in *:"/opt/x":*) ;; *) PATH=/opt/x:$PATH ;; esac\ndone\nexport PATH\n',
    "loop": 'for d in /opt/a /usr /bin; do\n  [ -d "$d/." ] && export CUDA_HOME="$d"\ndone\n',
    "function": 'add() { LD_LIBRARY_PATH="$1${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"; }\nadd /opt/a\nadd /opt/b\n'
    "export LD_LIBRARY_PATH\n",
    "source": 'printf "" >/dev/null\n. "$HOME/more.sh"\n',
    "source absent": '[ -f "$HOME/none.sh" ] && . "$HOME/none.sh"\nexport CUDA_HOME=/opt/a\n',
    "unset": "export CUDA_VISIBLE_DEVICES=-1\nunset CUDA_VISIBLE_DEVICES\n",
    "comment and semicolon": "# export CUDA_HOME=/no\nexport CUDA_HOME=/opt/a; export LD_PRELOAD=\n",
    "continued line": "export LD_LIBRARY_PATH=/opt/a/lib:\\\n/opt/b/lib\n",
    "here document": "cat >/dev/null <<'END'\nexport CUDA_HOME=/no\nEND\nexport LD_LIBRARY_PATH=/opt/a\n",
    "default": 'export CUDA_HOME="${CUDA_HOME:-/opt/a}"\nexport LD_LIBRARY_PATH=${NOTHING-/opt/b}\n',
    "cut": 'P=/opt/cuda/bin/nvcc\nexport CUDA_HOME="${P%/bin/*}"\nexport LD_LIBRARY_PATH=${P##*/}\n',
    "output of dirname": 'export CUDA_HOME="$(dirname /opt/cuda/bin)"\n',
    "one of several": "export A=1 CUDA_HOME=/opt/a B=2\n",
    "negation": "if ! [ -d /no ]; then export CUDA_HOME=/opt/a; fi\n",
    "return": "export CUDA_HOME=/opt/a\nreturn 0\nexport CUDA_HOME=/no\n",
    "subshell": "(export CUDA_HOME=/no)\nexport LD_LIBRARY_PATH=/opt/a\n",
    "subshell as a condition": 'if ([ "$USER" = bob ] || [ "$USER" = eve ]) && $(command -v none >/dev/null); then\n'
    "  export CUDA_HOME=/no\nfi\nexport LD_LIBRARY_PATH=/opt/a\n",
    "exit in a subshell": "(exit 1) || true\nexport CUDA_HOME=/opt/a\n",
    "unset of a function": "export CUDA_HOME=/opt/a\nunset -f CUDA_HOME\n",
    "while": "while false; do export CUDA_HOME=/no; done\n",
    "empty entry": "export LD_LIBRARY_PATH=/opt/a:\n",
    "nested default": 'export LD_LIBRARY_PATH="${A:-${B:-/opt/c}}"\n',
}
BASH = {
    "double brackets": 'if [[ -d /usr && "$USER" == a* ]]; then export CUDA_HOME=/usr; fi\n',
    "append operator": "export LD_LIBRARY_PATH=/opt/a\nLD_LIBRARY_PATH+=:/opt/b\n",
    "declare": "declare -x CUDA_HOME=/opt/a\n",
    "interactive only": "case $- in *i*) export CUDA_HOME=/i ;; *) export CUDA_HOME=/n ;; esac\n",
    "system's kind": 'if ([ "$OSTYPE" = cygwin ] || [ "$OSTYPE" = msys ]); then export CUDA_HOME=/c; '
    "else export CUDA_HOME=/l; fi\n",
    "replace": 'X=/opt/cuda-11/bin\nexport CUDA_HOME="${X/11/12}"\n',
    "here string": "IFS=: read -r a b <<< '/x:/y'\nexport CUDA_VISIBLE_DEVICES=2\n",
    "quotes with escapes": "export CUDA_HOME=$'/opt/a\\tb\\x41'\n",
    "printf into a variable": 'printf -v CUDA_HOME "/opt/%s" a\nexport CUDA_HOME\n',
    "function word": "function f { export CUDA_HOME=/opt/a; }\nf\n",
}
ZSH = {
    "path array": "path=(/opt/cuda/bin $path)\nexport PATH\n",
    "path appended": "path+=(/opt/cuda/bin)\n",
    "typeset": "typeset -x CUDA_HOME=/opt/a\n",
    "tied by hand": "typeset -xT LD_LIBRARY_PATH ld_library_path\nld_library_path=(/opt/a/lib $ld_library_path)\n",
    "tied, and exported later": "typeset -T LD_LIBRARY_PATH ld_library_path\nld_library_path=(/opt/a /opt/b)\nexport LD_LIBRARY_PATH\n",
    "tied by export": "export -T LD_LIBRARY_PATH ld_library_path\nld_library_path+=/opt/a\nld_library_path+=(/opt/b)\n",
    "tied, with a value": "export LD_LIBRARY_PATH=/opt/z\ntypeset -xT LD_LIBRARY_PATH libs\nlibs=(/opt/a $libs[@] /opt/y)\n",
    "tied and unique": "typeset -UxT LD_LIBRARY_PATH libs\nlibs=(/opt/a /opt/b /opt/a)\nlibs=(/opt/b $libs)\n",
    "tied by another sign": "typeset -xT CUDA_VISIBLE_DEVICES gpus ,\ngpus=(0 2)\n",
    "unique path": "typeset -U path PATH\npath=(/usr/bin /opt/cuda/bin $path)\n",
    "an array by its plain name": "ld_library_path=(/opt/a)\nexport LD_LIBRARY_PATH\n",
    "scalar of a tied array": 'typeset -xT LD_LIBRARY_PATH libs\nLD_LIBRARY_PATH=/opt/a:/opt/b\nlibs=("${libs[@]}" /opt/c)\n',
    "an array in a text": "dirs=(/opt/a /opt/b)\nexport CUDA_HOME=$dirs[2]\nexport LD_LIBRARY_PATH=${(j.:.)dirs}\n",
    "set at a place": "path[1,0]=/opt/cuda/bin\n",
    "folders that are there": "path=(/opt/none(N) /usr/lib(N-/) $path)\n",
    "global": "f() { typeset -gx CUDA_HOME=/opt/a; }\nf\n",
    "then without semicolon": "if [[ -d /usr ]] then\n export CUDA_HOME=/usr\nfi\n",
}
FISH = {
    "global": "set -gx CUDA_HOME /opt/a\nset -x LD_LIBRARY_PATH /opt/a/lib /opt/b/lib\n",
    "prepend": "set -gx PATH /opt/cuda/bin $PATH\n",
    "extend": "set -gx LD_LIBRARY_PATH /opt/a\nset -gx LD_LIBRARY_PATH /opt/b $LD_LIBRARY_PATH\n",
    "if": "if test -d /usr\n    set -gx CUDA_HOME /usr\nelse\n    set -gx CUDA_HOME /no\nend\n",
    "and": "test -d /usr; and set -gx CUDA_HOME /usr\ntest -d /no; or set -gx CUDA_VISIBLE_DEVICES 0\n",
    "erase": "set -gx CUDA_VISIBLE_DEVICES -1\nset -e CUDA_VISIBLE_DEVICES\n",
    "add path": "fish_add_path -g /usr/lib\n",
    "status": "if status is-interactive\n    set -gx CUDA_HOME /i\nend\n",
    "export": "export CUDA_HOME=/opt/a\n",
    "for": "for d in /opt/none /usr\n    test -d $d/bin; and set -gx CUDA_HOME $d\nend\n",
    "switch": "switch $LOGNAME\n    case ada\n        set -gx CUDA_HOME /opt/a\n    case '*'\n        set -gx CUDA_HOME /no\nend\n",
    "query": "if not set -q CUDA_HOME\n    set -gx CUDA_HOME /opt/a\nend\n",
    "prepend option": "set -gx LD_LIBRARY_PATH /opt/a\nset -gxp LD_LIBRARY_PATH /opt/b\nset -gx --append LD_LIBRARY_PATH /opt/c\n",
    "function": "function add\n    set -gx LD_LIBRARY_PATH $argv[1] $LD_LIBRARY_PATH\nend\nadd /opt/a\nadd /opt/b\n",
    "function that is not called": "function cuda\n    set -gx CUDA_HOME $argv\nend\n",
    "function that returns": "function f\n    set -gx CUDA_HOME /opt/a\n    return\n    set -gx CUDA_HOME /no\nend\nf\nset -gx CUDA_VISIBLE_DEVICES 1\n",
    "an element": "set -gx CUDA_HOME $PATH[2]\nset -gx LD_LIBRARY_PATH $PATH[-1] $PATH[1..2]\n",
    "erase an element": "set -gx PATH /opt/a $PATH\nset -e PATH[1]\n",
    "braces": "set -gx LD_LIBRARY_PATH /opt/{a,b}/lib\n",
    "export of nothing": "export LD_LIBRARY_PATH=/opt/a:$LD_LIBRARY_PATH\n",
    "outputs": "set -gx LD_LIBRARY_PATH (string join : /opt/a /opt/b)\nset -gx CUDA_HOME (dirname /opt/cuda/bin)\n",
    "switch on the system": "switch (uname)\n    case Linux\n        set -gx CUDA_HOME /opt/l\n    case Darwin\n        set -gx CUDA_HOME /opt/m\nend\n",
    "quoted": 'set -gx LD_LIBRARY_PATH "/opt/a:$HOME/lib"\n',
}
FILES = {"bash": ".bashrc", "zsh": ".zshrc", "fish": ".config/fish/config.fish", "dash": ".profile"}

ROWS = [
    *((s, w, t) for s in ("bash", "zsh", "dash") for w, t in POSIX.items()),
    *(("bash", w, t) for w, t in BASH.items()),
    *(("zsh", w, t) for w, t in ZSH.items()),
    *(("fish", w, t) for w, t in FISH.items()),
]


@pytest.mark.parametrize(("shell", "what", "text"), ROWS, ids=[f"{s}-{w}" for s, w, _t in ROWS])
def test_reading_is_what_the_shell_does(shell: str, what: str, text: str, tmp_path: Path) -> None:
    file = tmp_path / FILES[shell]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    (tmp_path / "more.sh").write_text("export CUDA_HOME=/opt/more\n")
    state = begin(tmp_path)
    login = shell == "dash"
    read_shell(ground(tmp_path), state, shell, login=login, interactive=not login)
    read = {n: v for n, v in state.environment().items() if n in NAMES}
    assert not state.open & set(NAMES), "a plain line is decided"
    if shell in HERE:
        real = real_environment(shell, tmp_path, login=login, interactive=not login)
        assert read == {n: v for n, v in real.items() if n in NAMES}, what


@pytest.mark.parametrize(
    ("kept", "config", "given"),
    [("SETUVAR --export CUDA_HOME:/opt/a\\x20b\\u00fc", "", {}), ("SETUVAR CUDA_HOME:/opt/a", "", {}),
     ("SETUVAR --export --path LD_LIBRARY_PATH:/opt/a\\x1e/opt/b", "", {}), ("SETUVAR --export CUDA_HOME:/opt/a\\x1eb", "", {}),
     ("SETUVAR --export CUDA_HOME:/opt/a", "set -gx CUDA_HOME /usr\n", {}), ("SETUVAR --export CUDA_HOME:/opt/a", "set -e CUDA_HOME\n", {}),
     ("SETUVAR --export CUDA_HOME:/opt/a", "", {"CUDA_HOME": "/usr"}), ("SETUVAR --export CUDA_HOME:\\x1d", "", {})],
)  # fmt: skip
def test_what_fish_keeps_for_ever(kept: str, config: str, given: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / ".config/fish"
    folder.mkdir(parents=True)
    head = "# This file contains fish universal variable definitions.\n# VERSION: 3.0\n"
    (folder / "fish_variables").write_text(f"{head}{kept}\n")
    (folder / "config.fish").write_text(config)
    state = begin(tmp_path)
    state.values |= given
    state.exported |= set(given)
    read_shell(ground(tmp_path), state, "fish", interactive=True)
    read = {n: v for n, v in state.environment().items() if n in NAMES}
    if not config and not given and "--export" in kept:
        ((row,),) = (its for n, its in state.lines.items() if n in NAMES)
        assert (row.file, row.line, row.form) == (str(folder / "fish_variables"), 3, "universal")
    if "fish" in HERE:
        real = real_environment("fish", tmp_path, login=False, interactive=True, env=given)
        assert read == {n: v for n, v in real.items() if n in NAMES}


OPEN = {
    "output of a program": 'export LD_LIBRARY_PATH="$(some-program --libs)"\n',
    "condition on a program": "if some-program; then export LD_LIBRARY_PATH=/opt/a; fi\n",
    "eval": 'eval "$(some-program init)"\nexport LD_LIBRARY_PATH="$(x):/opt"\n',
    "case on output": "case $(some-program) in a) export LD_LIBRARY_PATH=/a ;; esac\n",
    "loop over output": 'for d in $(some-program); do export LD_LIBRARY_PATH="$d"; done\n',
    "a form that is not known": "export LD_LIBRARY_PATH=/a\nif then fi (\n",
    "two conditions": "some-program && export LD_LIBRARY_PATH=/a || export LD_LIBRARY_PATH=/b\n",
}


@pytest.mark.parametrize("text", OPEN.values(), ids=OPEN)
def test_what_reading_cannot_decide_is_open(text: str, tmp_path: Path) -> None:
    (tmp_path / ".bashrc").write_text(text)
    state = begin(tmp_path)
    read_shell(ground(tmp_path), state, "bash", interactive=True)
    assert "LD_LIBRARY_PATH" in state.open
    assert "LD_LIBRARY_PATH" not in state.environment()


def test_each_value_has_its_lines(tmp_path: Path) -> None:
    (tmp_path / ".bashrc").write_text(
        "case $- in *i*) ;; *) return ;; esac\nexport LD_LIBRARY_PATH=/opt/a\n\n"
        'export LD_LIBRARY_PATH="/opt/b:$LD_LIBRARY_PATH"\n. ~/more.sh\n'
    )
    (tmp_path / "more.sh").write_text("# more\nexport LD_LIBRARY_PATH=$LD_LIBRARY_PATH:/opt/c\n")
    state = begin(tmp_path)
    read_shell(ground(tmp_path), state, "bash", interactive=True)
    rows = [(r.does, r.file.rsplit("/", 1)[1], r.line, r.added) for r in state.lines["LD_LIBRARY_PATH"]]
    assert rows == [("set", ".bashrc", 2, ""), ("prepend", ".bashrc", 4, "/opt/b"), ("append", "more.sh", 2, "/opt/c")]
    assert state.values["LD_LIBRARY_PATH"] == "/opt/b:/opt/a:/opt/c"


def test_what_is_open_keeps_the_order_of_the_file(tmp_path: Path) -> None:
    """Reading the same files twice gives the same report."""
    names = [f"CUDA_{n}" for n in range(20)]
    (tmp_path / ".bashrc").write_text("if some-program; then\n" + "".join(f"export {n}=1\n" for n in names) + "fi\n")
    state = begin(tmp_path)
    read_shell(ground(tmp_path), state, "bash", interactive=True)
    assert [n for n in state.lines if n in names] == names


@pytest.mark.parametrize("text", ["case x in", 'export A="', "f() {", "${", "$((", "`", "for", "if", "a=(", "((", "\0"])
def test_broken_files_end_nowhere(text: str, tmp_path: Path) -> None:
    for name in (".bashrc", ".config/fish/config.fish"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for shell in ("bash", "fish"):
        state = begin(tmp_path)
        read_shell(ground(tmp_path), state, shell, interactive=True)
        assert state.values["HOME"] == str(tmp_path)
