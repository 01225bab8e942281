"""Programs that some tool starts by a file of its own, whatever the tool, and variables that only another start has (classes D and E).

Written before the reader of any tool's files was, from public threads and from what people ask; beside each fault a twin that works. The tools do
not run here: the oracle takes the command from the file, and gives it what a program of the desktop's session, or of a service, has.
"""

from __future__ import annotations

import json
import re

from tests.worldlab.scene import Oracle, Ran, Scene, World, installs, then
from tests.worldlab.scenes.held_out import NOT_SEARCHED
from tests.worldlab.scenes.held_out_8 import Plant, sets, writes
from tests.worldlab.scenes.held_out_15 import BLAS, by_run, said_by
from tests.worldlab.scenes.held_out_17_machines import UBUNTUS, toolkit_of
from tests.worldlab.scenes.held_out_20_machines import links
from tests.worldlab.scenes.starters import program

ELSEWHERE = ("wrong_environment_active", "process_env_not_inherited")
VALUE = ("variable_value_wrong", "process_env_not_inherited")
NO_TORCH = "No module named 'torch'"
CLEAN = "PATH=/usr/local/bin:/usr/bin:/bin"


def by_line(file: str, pattern: str, folder: str = "", *, as_json: bool = False) -> Oracle:
    """Run the one command that a pattern finds in a file of the home, as a program of the session does: in a shell, in ``folder`` of the home."""

    def oracle(world: World) -> Ran:
        text = (world.home / file).read_text()
        (line,) = re.findall(pattern, text, re.MULTILINE | re.DOTALL)
        line = json.loads(f'"{line}"') if as_json else line
        where = f"cd {world.home / folder} && " if folder else f"cd {world.home} && "
        return said_by(world, ["env", "-i", CLEAN, f"HOME={world.home}", "LANG=C.UTF-8", "sh", "-c", where + line])

    return oracle


def by_words(file: str, pattern: str, folder: str = "work") -> Oracle:
    """Do the same with the words in quotation marks that a pattern finds, without a shell."""

    def oracle(world: World) -> Ran:
        (part,) = re.findall(pattern, (world.home / file).read_text(), re.MULTILINE | re.DOTALL)
        words = [a or b for a, b in re.findall(r"\"([^\"]*)\"|'([^']*)'", part)]
        where = str(world.home / folder)
        return said_by(world, ["env", "-i", "-C", where, CLEAN, f"HOME={world.home}", "LANG=C.UTF-8", *words])

    return oracle


TRAINS = "import torch\n\ntorch.nn.Conv2d(3, 8, 3)(torch.zeros(1, 3, 8, 8))"
ASKS = f"import os\n\n{TRAINS}\nprint(os.environ['HF_TOKEN'])"
OWN = links("env", "work/.venv")


def trains(files: dict[str, str], code: str = TRAINS) -> Plant:
    """Have the person's program with an environment beside it, and these files."""
    return then(program(code), OWN, writes(files, "work"))


def waybar(start: str) -> dict[str, str]:
    """Return Waybar's settings with a module of the person's."""
    return {
        ".config/waybar/config.jsonc": '// -*- mode: jsonc -*-\n{\n    "layer": "top",\n    "modules-right": ["custom/gpu", "clock"],\n'
        f'    "custom/gpu": {{\n        "format": "{{}}",\n        "interval": 60,\n        "exec": "{start}" // every minute\n    }},\n}}\n'
    }


def assistant(start: str) -> dict[str, str]:
    """Return Home Assistant's settings with a command of a shell."""
    return {
        ".homeassistant/configuration.yaml": "default_config:\nfrontend:\n  themes: !include_dir_merge_named themes\n\n"
        f"shell_command:\n  caption: {start}\n\nautomation: !include automations.yaml\n"
    }


def awesome(start: str) -> dict[str, str]:
    """Return a key of the window manager Awesome."""
    return {
        ".config/awesome/rc.lua": 'local awful = require("awful")\n-- awful.spawn("python3 {home}/work/old.py")\nglobalkeys = gears.table.join(\n'
        f'    awful.key({{ modkey, "Shift" }}, "d", function () awful.spawn.with_shell("{start}") end,\n'
        '              {description = "describe the screen with main.py", group = "launcher"})\n)\n'
    }


def thunar(start: str) -> dict[str, str]:
    """Return an action of the file manager Thunar."""
    return {
        ".config/Thunar/uca.xml": '<?xml version="1.0" encoding="UTF-8"?>\n<actions>\n<action>\n\t<icon>image</icon>\n\t<name>Describe</name>\n'
        f"\t<command>{start} %f</command>\n\t<description>python3 main.py</description>\n\t<patterns>*</patterns>\n\t<image-files/>\n</action>\n</actions>\n"
    }


def flows(start: str) -> dict[str, str]:
    """Return Node-RED's flows with one command."""
    rows = [
        {"id": "a1", "type": "tab", "label": "Camera"},
        {
            "id": "b2",
            "type": "exec",
            "z": "a1",
            "command": start,
            "addpay": "payload",
            "append": "",
            "useSpawn": "false",
        },
    ]
    return {".node-red/flows.json": json.dumps(rows, indent=4)}


def served(start: str, run: str = "'python3', ['main.py']") -> dict[str, str]:
    """Return a server in JavaScript that starts the program for each request, and the service that starts it."""
    return {
        "work/server.js": "const http = require('http');\nconst { spawn } = require('child_process');\n\nhttp.createServer((req, res) => {\n"
        f"  const child = spawn({run});\n  child.stdout.pipe(res);\n}}).listen(8000);\n",
        ".config/systemd/user/captions.service": f"[Unit]\nDescription=Captions\n\n[Service]\nWorkingDirectory=%h/work\nExecStart={start}\n\n[Install]\nWantedBy=default.target\n",
    }


def espanso(python: str) -> dict[str, str]:
    """Return a match of the text expander Espanso whose text the program makes."""
    return {
        ".config/espanso/match/base.yml": 'matches:\n  - trigger: ":cap"\n    replace: "{{output}}"\n    vars:\n      - name: output\n        type: script\n'
        f'        params:\n          args:\n            - {python}\n            - "{{home}}/work/main.py"\n'
    }


def mpv(python: str) -> dict[str, str]:
    """Return a key of the player mpv."""
    return {
        ".config/mpv/input.conf": f'# python3 {{home}}/work/main.py\nctrl+w run "{python}" "{{home}}/work/main.py" "${{path}}"\n'
    }


def in_go(python: str) -> dict[str, str]:
    """Return a server in Go."""
    return {
        "work/main.go": 'package main\n\nimport (\n\t"log"\n\t"os/exec"\n)\n\n// Run python3 main.py first.\nfunc main() {\n'
        f'\tout, err := exec.Command("{python}", "main.py", "--once").CombinedOutput()\n\tif err != nil {{\n\t\tlog.Fatalf("python3 main.py: %v", err)\n\t}}\n\tlog.Print(string(out))\n}}\n'
    }


def in_ruby(python: str) -> dict[str, str]:
    """Return a bot in Ruby."""
    return {
        "work/bot.rb": "require 'discordrb'\n\nbot = Discordrb::Bot.new token: ENV['TOKEN']\nbot.message(start_with: '!caption') do |event|\n"
        f"  event.respond `{python} main.py`\nend\nbot.run\n"
    }


def in_java(python: str) -> dict[str, str]:
    """Return a service in Java."""
    return {
        "work/src/main/java/app/Captions.java": "package app;\n\npublic class Captions {\n    /** python3 main.py must work. */\n    public static Process start() throws java.io.IOException {\n"
        f'        return new ProcessBuilder("{python}", "main.py")\n            .redirectErrorStream(true).start();\n    }}\n}}\n'
    }


def ulauncher(start: str) -> dict[str, str]:
    """Return a shortcut of Ulauncher, which is a script."""
    told = {"cmd": f"#!/bin/bash\ncd {{home}}/work\n{start}", "name": "Caption", "keyword": "cap"}
    return {".config/ulauncher/shortcuts.json": json.dumps({"b2": told}, indent=4)}


def polybar(start: str) -> dict[str, str]:
    """Return Polybar's settings with a module of the person's."""
    return {
        ".config/polybar/config.ini": f"[bar/main]\nmodules-right = gpu date\n\n[module/gpu]\ntype = custom/script\nexec = {start}\ninterval = 60\n"
    }


DOTENV = "HF_TOKEN=hf_abcdefghijklmnop\n"
BASHRC = {".bashrc": f"{UBUNTUS}export HF_TOKEN=hf_abcdefghijklmnop\n"}
OF_BLAS = then(
    program(BLAS),
    toolkit_of("ctranslate2", "cuda-12.8"),
    sets(LD_LIBRARY_PATH="{home}/cuda-12.8/lib64"),
    writes({".bashrc": f"{UBUNTUS}export LD_LIBRARY_PATH={{home}}/cuda-12.8/lib64\n"}),
)
OC = "omegaconf==2.3.0"
READS = "import torch\nfrom omegaconf import OmegaConf\n\nsettings = OmegaConf.load('config.yaml')\nprint(OmegaConf.to_container(settings, resolve=True))"
MODEL = "import os\n\nimport torch\n\nplace = os.environ['MODEL_DIR']\nprint(place)"
PY = "{env}/bin/python"

SCENES: tuple[Scene, ...] = (
    # a question about Waybar, with a module in Python
    Scene("any-waybar-by-a-bare-name", "D", "torch-2.6", by_line(".config/waybar/config.jsonc", r'"exec": "([^"]*)"'), trains(waybar("python3 {home}/work/main.py")), ELSEWHERE, "", "waybar", NO_TORCH),
    Scene("any-waybar-by-its-python", "healthy", "torch-2.6", by_line(".config/waybar/config.jsonc", r'"exec": "([^"]*)"'), trains(waybar(f"{PY} {{home}}/work/main.py"))),
    # https://github.com/home-assistant/core/issues/16132
    Scene("any-home-assistant-by-a-bare-name", "D", "torch-2.6", by_line(".homeassistant/configuration.yaml", r"caption: (.*?)$"), trains(assistant("python3 {home}/work/main.py")), ELSEWHERE, "", "configuration.yaml", NO_TORCH),
    Scene("any-home-assistant-by-its-python", "healthy", "torch-2.6", by_line(".homeassistant/configuration.yaml", r"caption: (.*?)$"), trains(assistant(f"{PY} {{home}}/work/main.py"))),
    # a key of Awesome
    Scene("any-awesome-by-a-bare-name", "D", "torch-2.6", by_line(".config/awesome/rc.lua", r'with_shell\("([^"]*)"\)'), trains(awesome("cd ~/work && python3 main.py")), ELSEWHERE, "", "rc.lua", NO_TORCH),
    Scene("any-awesome-that-activates", "healthy", "torch-2.6", by_line(".config/awesome/rc.lua", r'with_shell\("([^"]*)"\)'), trains(awesome("cd ~/work && . .venv/bin/activate && python3 main.py"))),
    # a custom action that "does nothing"
    Scene("any-thunar-by-a-bare-name", "D", "torch-2.6", by_line(".config/Thunar/uca.xml", r"<command>(.*?) %f"), trains(thunar("python3 {home}/work/main.py")), ELSEWHERE, "", "uca.xml", NO_TORCH),
    # https://github.com/hassio-addons/app-node-red/issues/1965
    Scene("any-node-red-by-a-bare-name", "D", "torch-2.6", by_line(".node-red/flows.json", r'"command": "([^"]*)"'), trains(flows("python3 {home}/work/main.py")), ELSEWHERE, "", "flows.json", NO_TORCH),
    Scene("any-node-red-by-its-python", "healthy", "torch-2.6", by_line(".node-red/flows.json", r'"command": "([^"]*)"'), trains(flows(f"{PY} {{home}}/work/main.py"))),
    # https://github.com/fyears/electron-python-example/issues/16
    Scene("any-server-of-node-in-a-service", "D", "torch-2.6", by_words("work/server.js", r"spawn\((.*?)\);"), trains(served("/usr/bin/node server.js")), ELSEWHERE, "", "captions.service", NO_TORCH),
    Scene("any-server-of-node-by-its-python", "healthy", "torch-2.6", by_words("work/server.js", r"spawn\((.*?)\);"), trains(served("/usr/bin/node server.js", "'./.venv/bin/python', ['main.py']"))),
    Scene("any-espanso-by-a-bare-name", "D", "torch-2.6", by_line(".config/espanso/match/base.yml", r"args:\s+- (.*?)$"), trains(espanso("python3 {home}/work/main.py #")), ELSEWHERE, "", "base.yml", NO_TORCH),
    Scene("any-mpv-by-a-bare-name", "D", "torch-2.6", by_words(".config/mpv/input.conf", r"^ctrl\+w run (.*?)$"), trains(mpv("python3")), ELSEWHERE, "", "input.conf", NO_TORCH),
    # a path of another machine's tutorial
    Scene("any-go-with-the-systems-python", "D", "torch-2.6", by_words("work/main.go", r"exec\.Command\((.*?)\)"), trains(in_go("/usr/bin/python3")), ELSEWHERE, "", "main.go", NO_TORCH),
    Scene("any-go-by-its-python", "healthy", "torch-2.6", by_words("work/main.go", r"exec\.Command\((.*?)\)"), trains(in_go(".venv/bin/python"))),
    Scene("any-ruby-with-the-systems-python", "D", "torch-2.6", by_line("work/bot.rb", r"`(.*?)`", "work"), trains(in_ruby("/usr/bin/python3")), ELSEWHERE, "", "bot.rb", NO_TORCH),
    Scene("any-java-with-the-systems-python", "D", "torch-2.6", by_words("work/src/main/java/app/Captions.java", r"ProcessBuilder\((.*?)\)"), trains(in_java("/usr/bin/python3")), ELSEWHERE, "", "Captions.java", NO_TORCH),
    # an export in .bashrc, and a bar of the desktop
    Scene("any-polybar-beside-an-export-in-bashrc", "D", "ctranslate2", by_line(".config/polybar/config.ini", r"^exec = (.*?)$"), then(OF_BLAS, writes(polybar(f"{PY} {{home}}/work/main.py"))), NOT_SEARCHED, "", "polybar", "libcublas.so.12"),
    Scene("any-polybar-that-exports", "healthy", "ctranslate2", by_line(".config/polybar/config.ini", r"^exec = (.*?)$"), then(OF_BLAS, writes(polybar(f"env LD_LIBRARY_PATH={{home}}/cuda-12.8/lib64 {PY} {{home}}/work/main.py")))),
    # === variables
    # https://github.com/NousResearch/hermes-agent/pull/51783
    Scene("any-ulauncher-beside-a-token-in-bashrc", "E", "torch-2.6", by_line(".config/ulauncher/shortcuts.json", r'"cmd": "([^"]*)"', as_json=True), then(trains({**ulauncher(f"{PY} main.py"), **BASHRC}, ASKS), sets(HF_TOKEN="hf_abcdefghijklmnop")), VALUE, "", "HF_TOKEN", "HF_TOKEN"),
    Scene("any-ulauncher-that-exports", "healthy", "torch-2.6", by_line(".config/ulauncher/shortcuts.json", r'"cmd": "([^"]*)"', as_json=True), then(trains({**ulauncher(f"export HF_TOKEN=hf_abcdefghijklmnop\n{PY} main.py"), **BASHRC}, ASKS), sets(HF_TOKEN="hf_abcdefghijklmnop"))),
    # https://github.com/facebookresearch/mmf/issues/1090
    Scene("any-settings-that-ask-for-a-variable", "E", "torch-2.6", by_run, then(trains({"work/config.yaml": "data:\n  root: ${oc.env:DATA_ROOT}/images\n  workers: 4\n"}, READS), installs(OC)), VALUE, "", "DATA_ROOT", "DATA_ROOT"),
    Scene("any-settings-with-a-default", "healthy", "torch-2.6", by_run, then(trains({"work/config.yaml": "data:\n  root: ${oc.env:DATA_ROOT,/data}/images\n"}, READS), installs(OC))),
    # https://github.com/saltacc/PromptInspectorBot/issues/12, https://github.com/CharmingDays/kurusaki_voice/issues/18
    Scene("any-program-beside-a-dotenv-that-nothing-reads", "E", "torch-2.6", by_run, trains({"work/.env": "MODEL_DIR=/srv/models\n"}, MODEL), VALUE, "", "MODEL_DIR", "MODEL_DIR"),
    Scene("any-program-that-reads-its-dotenv", "healthy", "torch-2.6", by_run, then(trains({"work/.env": "MODEL_DIR=/srv/models\n"}, f"from dotenv import load_dotenv\n\nload_dotenv()\n{MODEL}"), installs("python-dotenv==1.0.1"))),
    Scene("any-service-beside-a-dotenv", "E", "torch-2.6", by_line(".config/systemd/user/train.service", r"^ExecStart=(.*?)$", "work"), then(trains({"work/.env": "MODEL_DIR=/srv/models\n", "work/.envrc": "dotenv\n", ".config/systemd/user/train.service": f"[Service]\nWorkingDirectory=%h/work\nExecStart={PY} main.py\n\n[Install]\nWantedBy=default.target\n"}, MODEL), sets(MODEL_DIR="/srv/models")), VALUE, "", "MODEL_DIR", "MODEL_DIR"),
    # what a session has for its quiet
    Scene("any-session-that-ignores-warnings", "healthy", "torch-2.6", by_run, then(program("import warnings\n\nimport torch\n\nwarnings.warn('old', DeprecationWarning)"), sets(PYTHONWARNINGS="ignore"))),
    # text about commands is none
    Scene("any-words-about-commands", "healthy", "torch-2.6", by_run, trains({
        "work/docs/usage.txt": "python3 main.py\n", "work/README.md": "    python3 main.py\n", "work/train.log": "+ /usr/bin/python3 main.py\n", "work/examples/start.conf": "exec = /usr/bin/python3 {home}/work/main.py\n",
        "work/help.go": 'package main\n\nfunc usage() {\n\tfmt.Println("usage: /usr/bin/python3 main.py")\n\tfmt.Println("/usr/bin/python3 main.py")\n}\n', "work/deps.lock": 'cmd = "/usr/bin/python3 main.py"\n',
        ".config/nvim/init.lua": "-- vim.cmd('!/usr/bin/python3 {home}/work/main.py')\n", ".config/i3/config": "# exec /usr/bin/python3 {home}/work/main.py\n",
    })),
)  # fmt: skip
"""Faults and their twins; what was kept back until the rules were done is in ``any_starter_kept``."""
