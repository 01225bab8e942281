"""More programs that some tool starts by a file of its own: kept back while the reader of any file was made, and scored once at its end."""

from __future__ import annotations

from tests.worldlab.scene import Scene, installs, then
from tests.worldlab.scenes.any_starter import (
    ELSEWHERE,
    MODEL,
    NO_TORCH,
    OC,
    OF_BLAS,
    PY,
    VALUE,
    by_line,
    by_words,
    served,
    trains,
)
from tests.worldlab.scenes.held_out import NOT_SEARCHED
from tests.worldlab.scenes.held_out_8 import sets, writes
from tests.worldlab.scenes.held_out_15 import by_run

QTILE = ".config/qtile/config.py"
EMACS = ".emacs.d/init.el"
NAUTILUS = ".local/share/nautilus/scripts/Caption"
JOINS = "import os\n\nimport torch\n\nprint(os.path.join(os.environ.get('MODEL_DIR'), 'a.pt'))"


def qtile(start: str) -> dict[str, str]:
    """Return a key of Qtile, whose settings are a program."""
    return {
        QTILE: f'from libqtile.config import Key\nfrom libqtile.lazy import lazy\n\nmod = "mod4"\nkeys = [\n    Key([mod], "d", lazy.spawn("{start}"), desc="run main.py"),\n]\n'
    }


def emacs(python: str) -> dict[str, str]:
    """Return a command of Emacs."""
    return {
        EMACS: f';; (start-process "old" nil "python3" "{{home}}/work/old.py")\n(defun caption ()\n  "Run python3 main.py."\n  (interactive)\n  (start-process "caption" "*caption*" "{python}" "{{home}}/work/main.py"))\n'
    }


def cpp(start: str) -> dict[str, str]:
    """Return a program in C++."""
    return {
        "work/src/app.cpp": f'#include <cstdio>\n\n// popen("python3 main.py")\nint main() {{\n    FILE *its = popen("{start}", "r");\n    return its ? pclose(its) : 1;\n}}\n'
    }


def pm2(script: str) -> dict[str, str]:
    """Return pm2's file for a server."""
    its = served("/usr/bin/node server.js")
    return {
        "work/server.js": its["work/server.js"],
        "work/ecosystem.config.js": f"module.exports = {{\n  apps: [{{ name: 'captions', script: '{script}', cwd: '{{home}}/work' }}],\n}};\n",
    }


SCENES: tuple[Scene, ...] = (
    Scene("kept-qtile-by-a-bare-name", "D", "torch-2.6", by_line(QTILE, r'spawn\("([^"]*)"\)'), trains(qtile("python3 {home}/work/main.py")), ELSEWHERE, "", "config.py", NO_TORCH),
    Scene("kept-qtile-by-its-python", "healthy", "torch-2.6", by_line(QTILE, r'spawn\("([^"]*)"\)'), trains(qtile(f"{PY} {{home}}/work/main.py"))),
    Scene("kept-emacs-with-the-systems-python", "D", "torch-2.6", by_words(EMACS, r'\*caption\*" (.*?)\)\)'), trains(emacs("/usr/bin/python3")), ELSEWHERE, "", "init.el", NO_TORCH),
    Scene("kept-emacs-by-its-python", "healthy", "torch-2.6", by_words(EMACS, r'\*caption\*" (.*?)\)\)'), trains(emacs(PY))),
    Scene("kept-cpp-with-the-systems-python", "D", "torch-2.6", by_line("work/src/app.cpp", r'= popen\("([^"]*)"', "work"), trains(cpp("/usr/bin/python3 main.py")), ELSEWHERE, "", "app.cpp", NO_TORCH),
    Scene("kept-cpp-by-its-python", "healthy", "torch-2.6", by_line("work/src/app.cpp", r'= popen\("([^"]*)"', "work"), trains(cpp(".venv/bin/python main.py"))),
    Scene("kept-pm2-with-a-server-of-node", "D", "torch-2.6", by_words("work/server.js", r"spawn\((.*?)\);"), trains(pm2("server.js")), ELSEWHERE, "", "server.js", NO_TORCH),
    Scene("kept-nautilus-by-a-bare-name", "D", "torch-2.6", by_line(NAUTILUS, r"^#!/bin/sh\n(.*?)$"), trains({NAUTILUS: "#!/bin/sh\npython3 {home}/work/main.py\n"}), ELSEWHERE, "", "Caption", NO_TORCH),
    Scene("kept-nautilus-that-activates", "healthy", "torch-2.6", by_line(NAUTILUS, r"^#!/bin/sh\n(.*?)\n\Z"), trains({NAUTILUS: "#!/bin/sh\ncd {home}/work && . .venv/bin/activate && python3 main.py\n"})),
    Scene("kept-conky-beside-an-export-in-bashrc", "D", "ctranslate2", by_line(".config/conky/conky.conf", r"execi \d+ (.*?)\}"), then(OF_BLAS, writes({".config/conky/conky.conf": f"conky.config = {{\n    update_interval = 1,\n}}\nconky.text = [[\n${{execi 60 {PY} {{home}}/work/main.py}}\n]]\n"})), NOT_SEARCHED, "", "conky", "libcublas.so.12"),
    Scene("kept-settings-in-a-folder-that-ask-for-a-variable", "E", "torch-2.6", by_run, then(trains({"work/conf/train.yaml": "paths:\n  out: ${oc.env:RUNS_DIR}\n"}, "from pathlib import Path\n\nimport torch\nfrom omegaconf import OmegaConf\n\nsettings = OmegaConf.load(Path(__file__).parent / 'conf' / 'train.yaml')\nprint(settings.paths.out)"), installs(OC)), VALUE, "", "RUNS_DIR", "RUNS_DIR"),
    Scene("kept-program-that-joins-what-a-dotenv-has", "E", "torch-2.6", by_run, trains({"work/.env": "# for the server\nexport MODEL_DIR=/srv/models\n"}, JOINS), VALUE, "", "MODEL_DIR", "NoneType"),
    Scene("kept-program-with-what-its-dotenv-has", "healthy", "torch-2.6", by_run, then(trains({"work/.env": "MODEL_DIR=/srv/models\n"}, MODEL), sets(MODEL_DIR="/srv/models"))),
)  # fmt: skip
