"""Places where people set variables: each with the file, and how a line there gives a variable its value."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

BAD = "/opt/wrong/lib"
GOOD = "/usr"
VALUES = {"LD_LIBRARY_PATH": BAD, "PATH": BAD, "CUDA_VISIBLE_DEVICES": "-1", "CUDA_HOME": "/opt/gone"}
"""Variable -> what is wrong with it: a folder in it, or its value."""
LISTS = ("LD_LIBRARY_PATH", "PATH")

Line = Callable[[str], str]


def posix(name: str) -> str:
    """Return the usual line of a Bourne shell."""
    if name in LISTS:
        return f'export {name}="{BAD}${{{name}:+:${name}}}"'
    return f"export {name}={VALUES[name]}"


def fish(name: str) -> str:
    """Return fish's."""
    return f"set -gx {name} {BAD} ${name}" if name in LISTS else f"set -gx {name} {VALUES[name]}"


def plain(name: str) -> str:
    """Return a plain assignment."""
    return f"{name}={BAD}:/usr/local/bin:/usr/bin:/bin" if name == "PATH" else f"{name}={VALUES[name]}"


def expanding(name: str) -> str:
    """Return environment.d's (environment.d(5))."""
    return f"{name}={BAD}${{{name}:+:${name}}}" if name in LISTS else f"{name}={VALUES[name]}"


def pam(name: str) -> str:
    """Return pam_env.conf(5)'s."""
    return f"{name} DEFAULT={BAD}:${{PATH}}" if name == "PATH" else f"{name} DEFAULT={VALUES[name]}"


def value_of(name: str, reference: str) -> str:
    """Return the value in a format that replaces a reference to the variable."""
    return f"{BAD}:{reference}" if name == "PATH" else VALUES[name]


def kernelspec(name: str) -> str:
    """Return a whole kernelspec."""
    spec = {
        "argv": ["/usr/bin/python3", "-m", "ipykernel_launcher"],
        "display_name": "ML",
        "env": {"A": "1", name: value_of(name, "${PATH}"), "Z": "2"},
    }
    return json.dumps(spec, indent=1)


def kernelspec_in_one_line(name: str) -> str:
    """Return a kernelspec without line breaks, whose only variable it is."""
    return json.dumps({"argv": ["python3"], "display_name": "ML", "env": {name: value_of(name, "${PATH}")}})


def settings(name: str) -> str:
    """Return VS Code's settings, with comments."""
    value = json.dumps(value_of(name, "${env:PATH}"))
    return f'{{\n  // my settings\n  "a": 1,\n  "terminal.integrated.env.linux": {{\n    "{name}": {value}, // why\n    "B": "2",\n  }},\n}}\n'


def conda_state(name: str) -> str:
    """Return what ``conda env config vars set`` writes."""
    return json.dumps({"env_vars": {"A": "1", name: VALUES[name] if name != "PATH" else f"{BAD}:/usr/bin:/bin"}})


def unit(name: str) -> str:
    """Return a systemd service."""
    value = f"{BAD}:/usr/bin:/bin" if name == "PATH" else VALUES[name]
    return f'[Unit]\nDescription=ML\n[Service]\nEnvironment="A=1" {name}={value}\nExecStart=/usr/bin/python3 -m ml\n'


def _plain_of(name: str) -> str:
    return f"{BAD}:/usr/bin:/bin" if name == "PATH" else VALUES[name]


def manager(name: str) -> str:
    """Return the settings of the user's systemd."""
    return f'[Manager]\nDefaultEnvironment="A=b c" {name}={_plain_of(name)}\n'


def makefile(name: str) -> str:
    """Return a makefile with one recipe."""
    return f"MODEL ?= large\nexport {name} := {_plain_of(name)}\n\ntrain:\n\t../ml/bin/python train.py\n"


def supervised(name: str) -> str:
    """Return a supervisord.conf with one program; the variable is the last of a list over two lines."""
    return (
        '[supervisord]\nnodaemon=true\n[program:ml]\ncommand=../ml/bin/python -m ml\nenvironment=A="1, 2",\n'
        f'    {name}="{_plain_of(name)}"\nautorestart=true\n'
    )


def workspace(name: str) -> str:
    """Return what PyCharm keeps of a run configuration."""
    return (
        '<project>\n<configuration name="ml" type="PythonConfigurationType">\n<option name="SDK_HOME" value="../ml/bin/python" />\n'
        f'<envs>\n  <env name="A" value="1" />\n  <env name="{name}" value="{_plain_of(name)}" />\n</envs>\n</configuration>\n</project>\n'
    )


@dataclass(frozen=True)
class Place:
    """A file in which a line sets a variable."""

    name: str
    file: str
    """Below the home."""
    text: Callable[[str], str]
    """Variable -> the file's text."""
    shells: tuple[str, ...]
    """The account's shells for which it is tried."""
    reads: Callable[[str], tuple[str, ...]]
    """The account's shell -> kinds of the ways of starting that read it."""
    before: Callable[[Path], None] = lambda _home: None
    """Makes what else is needed."""
    folder: str = ""
    """The working folder, below the home."""
    owner: bool = True
    """Whether Convalesce's own line edit cures it; False: what it had before does."""


def _around(line: Line, shell: str = "posix") -> Callable[[str], str]:
    """Return a file with something before and behind the line."""
    open_, close = ("if test -d /usr", "end") if shell == "fish" else ("if [ -d /usr ]; then", "fi")
    return lambda name: f"# mine\n{open_}\n    {line(name)}\n{close}\nalias ll='ls -l'\n"


def _bare(line: Line) -> Callable[[str], str]:
    return lambda name: f"{line(name)}\n"


def _sources(file: str) -> Callable[[Path], None]:
    def make(home: Path) -> None:
        (home / ".bashrc").write_text(f'[ -f "$HOME/{file}" ] && . "$HOME/{file}"\n')

    return make


def _venv(home: Path) -> None:
    folder = home / "ml"
    (folder / "bin").mkdir(parents=True)
    (folder / "lib/python3.11/site-packages").mkdir(parents=True)
    (folder / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.11.2\n")
    (folder / "bin/python").symlink_to("/usr/bin/python3")


def _service(home: Path, line: str = "") -> None:
    folder = home / ".config/systemd/user"
    folder.mkdir(parents=True)
    (folder / "ml.service").write_text(f"[Service]\n{line}ExecStart=/usr/bin/python3 -m ml\n")


def _service_with_a_file(home: Path) -> None:
    _service(home, "EnvironmentFile=-%h/ml.env\n")


def _envrc(home: Path) -> None:
    (home / "project").mkdir()
    (home / "project/.envrc").write_text("dotenv .env.gpu\n")


def _conda(home: Path) -> None:
    folder = home / "miniconda3/envs/ml"
    for part in ("bin", "conda-meta", "lib/python3.11/site-packages", "etc/conda/activate.d"):
        (folder / part).mkdir(parents=True)
    (folder / "conda-meta/history").write_text("")
    (folder / "bin/python").symlink_to("/usr/bin/python3")


ALL = ("bash", "zsh", "fish", "dash")


def _of(*rows: tuple[str, tuple[str, ...]]) -> Callable[[str], tuple[str, ...]]:
    table = dict(rows)
    return lambda shell: table.get(shell, table.get("", ()))


IN_TERMINAL = ("terminal", "notebook", "activation", "editor")
SESSION = ("desktop", *IN_TERMINAL)
PLACES: tuple[Place, ...] = (
    Place("~/.bashrc", ".bashrc", _around(posix), ("bash",), _of(("", ("terminal", "ssh")))),
    Place("~/.bash_profile", ".bash_profile", _around(posix), ("bash",), _of(("", ("login", "desktop", "terminal")))),
    Place("~/.profile", ".profile", _around(posix), ("bash", "dash"), _of(("", ("login", "desktop", "terminal")))),
    Place("a file that ~/.bashrc reads", ".cuda.sh", _bare(posix), ("bash",), _of(("", ("terminal", "ssh"))), _sources(".cuda.sh")),
    Place("~/.zshenv", ".zshenv", _around(posix), ("zsh",), _of(("", ("login", "desktop", "terminal", "ssh")))),
    Place("~/.zprofile", ".zprofile", _around(posix), ("zsh",), _of(("", ("login", "desktop", "terminal")))),
    Place("~/.zshrc", ".zshrc", _around(posix), ("zsh",), _of(("", ("login", "terminal")))),
    Place(
        "~/.config/fish/config.fish", ".config/fish/config.fish", _around(fish, "fish"), ("fish",),
        _of(("", ("login", "desktop", "terminal", "ssh"))),
    ),
    Place(
        "~/.config/fish/conf.d", ".config/fish/conf.d/cuda.fish", _bare(fish), ("fish",),
        _of(("", ("login", "desktop", "terminal", "ssh"))),
    ),
    Place("~/.xprofile", ".xprofile", _bare(posix), ALL, _of(("", ("desktop", "terminal")))),
    Place("~/.config/environment.d", ".config/environment.d/cuda.conf", _bare(expanding), ALL, _of(("", ("desktop", "terminal")))),
    Place("~/.pam_environment", ".pam_environment", _bare(pam), ALL, _of(("", ("login", "desktop", "terminal", "ssh", "cron")))),
    Place("a kernelspec", ".local/share/jupyter/kernels/ml/kernel.json", kernelspec, ALL, _of(("", ("notebook",)))),
    Place(
        "a kernelspec in one line", ".local/share/jupyter/kernels/ml/kernel.json", kernelspec_in_one_line, ("bash",), _of(("", ("notebook",)))
    ),
    Place("VS Code's settings", ".config/Code/User/settings.json", settings, ALL, _of(("", ("editor",)))),
    Place(".envrc", "project/.envrc", _bare(posix), ("bash",), _of(("", ("direnv",))), folder="project"),
    Place("a systemd service", ".config/systemd/user/ml.service", unit, ("bash",), _of(("", ("service",)))),
    Place("a service's file", "ml.env", lambda n: f"# mine\n{n}={_plain_of(n)}\n", ("bash",), _of(("", ("service",))), _service_with_a_file),
    Place("systemd's user.conf", ".config/systemd/user.conf", manager, ("bash",), _of(("", ("service",))), _service),
    Place("supervisord.conf", "project/supervisord.conf", supervised, ("bash",), _of(("", ("service",))), _venv, folder="project"),
    Place("a Makefile", "project/Makefile", makefile, ("bash",), _of(("", ("task",))), _venv, folder="project"),
    Place("PyCharm's workspace.xml", "project/.idea/workspace.xml", workspace, ("bash",), _of(("", ("task",))), _venv, folder="project"),
    Place("mise.toml", "project/mise.toml", lambda n: f"[env]\nA = '1'\n{n} = '{_plain_of(n)}'\n", ("bash",), _of(("", ("direnv",))), folder="project"),
    Place("a file that .envrc reads", "project/.env.gpu", lambda n: f"{n}={_plain_of(n)}\n", ("bash",), _of(("", ("direnv",))), _envrc, folder="project"),
    Place("~/.tmux.conf", ".tmux.conf", lambda n: f"set -g mouse on\nset-environment -g {n} {_plain_of(n)}\n", ("bash",), _of(("", ("multiplexer",)))),
    Place("an activate script", "ml/bin/activate", _bare(posix), ("bash",), _of(("", ("activation",))), _venv),
    Place(
        "conda's activate.d", "miniconda3/envs/ml/etc/conda/activate.d/cuda.sh", _bare(posix), ("bash",), _of(("", ("activation",))), _conda
    ),
    Place(
        "conda env config vars", "miniconda3/envs/ml/conda-meta/state", conda_state, ("bash",), _of(("", ("activation",))), _conda
    ),
)  # fmt: skip


def crontab(name: str) -> str:
    """Return a crontab of the system's."""
    return f"SHELL=/bin/sh\n{name}={BAD}:/usr/bin:/bin\n0 4 * * * root /usr/bin/true\n" if name == "PATH" else (
        f"SHELL=/bin/sh\n{name}={VALUES[name]}\n0 4 * * * root /usr/bin/true\n"
    )  # fmt: skip


EVERYBODYS: tuple[Place, ...] = (
    Place("/etc/profile.d", "/etc/profile.d/cuda.sh", _around(posix), ("bash", "dash"), _of(("", ("login", "desktop", "terminal")))),
    Place("/etc/environment", "/etc/environment", _bare(plain), ALL, _of(("", ("login", "desktop", "terminal", "ssh", "cron")))),
    Place("/etc/bash.bashrc", "/etc/bash.bashrc", _around(posix), ("bash",), _of(("", ("login", "terminal", "ssh")))),
    Place("/etc/zsh/zshenv", "/etc/zsh/zshenv", _around(posix), ("zsh",), _of(("", ("login", "desktop", "terminal", "ssh")))),
    Place(
        "/etc/fish/conf.d", "/etc/fish/conf.d/cuda.fish", _bare(fish), ("fish",), _of(("", ("login", "desktop", "terminal", "ssh")))
    ),
    Place("/etc/cron.d", "/etc/cron.d/ml", crontab, ("bash",), _of(("", ("cron",)))),
)  # fmt: skip
"""Places of everybody's: tried on a copy of /etc in a private mount namespace."""
