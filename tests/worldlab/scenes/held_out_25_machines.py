"""The twenty-fifth held-out set: what its scenes are made of, and how its programs are started. No scenes of its own."""

from __future__ import annotations

import configparser
import json
import re

from tests.worldlab.scene import LEAVE, Ran, Scene, World
from tests.worldlab.scenes.held_out_8 import Plant, filled, writes
from tests.worldlab.scenes.held_out_15 import said_by
from tests.worldlab.scenes.starters import WORKS

SCENES: tuple[Scene, ...] = ()
PATH = "PATH=/usr/local/bin:/usr/bin:/bin"


# --- how programs are started -------------------------------------------------------------------------------------------


def _alone(world: World, words: list[str]) -> Ran:
    """Start a program with what a session or a service has, and with nothing of the person's shells."""
    return said_by(world, ["env", "-i", PATH, f"HOME={world.home}", "LANG=C.UTF-8", *words])


def by_uwsgi(world: World) -> Ran:
    """Load the application as uWSGI does: by the system's Python, or by the environment that its file names."""
    told = configparser.RawConfigParser()
    told.read(world.home / "work/uwsgi.ini")
    section = told["uwsgi"]
    named = [section[key] for key in ("virtualenv", "venv", "home") if key in section]
    python = f"{named[0]}/bin/python" if named else "/usr/bin/python3"
    code = f"import sys\nsys.path.insert(0, {section['chdir']!r})\nimport {section['module'].partition(':')[0]}"
    return _alone(world, [python, "-c", code])


def by_sublime(world: World) -> Ran:
    """Run the open file by the build system of the project, as Ctrl+B does; the editor was started from the dock."""
    told = json.loads((world.home / "work/captions.sublime-project").read_text())["build_systems"][0]
    names = {"$file": str(world.home / "work/main.py"), "$project_path": str(world.home / "work")}
    words: list[str] = told["cmd"]
    for name, value in names.items():
        words = [word.replace(name, value) for word in words]
    return _alone(world, words)


def by_ros(world: World) -> Ran:
    """Run the person's script; ``ros2 run`` starts the file that colcon installed, by the file's first line."""
    text = (world.home / "work/run.sh").read_text()
    return _alone(world, ["bash", "-c", re.sub(r"ros2 run (\w+) (\w+)", r"exec install/\1/lib/\1/\2", text)])


def by_php(world: World) -> Ran:
    """Run what the page gives to a shell, as the web server does."""
    (words,) = re.findall(r"shell_exec\((.*?) \. ' 2>&1'\)", (world.home / "work/caption.php").read_text())
    line = "".join(re.findall(r"'([^']*)'", words.replace("__DIR__", f"'{world.home}/work'")))
    return _alone(world, ["sh", "-c", line])


def by_key(world: World) -> Ran:
    """Run what a key of i3 starts: the display manager started i3, and no shell of the person's."""
    (line,) = re.findall(
        r"^bindsym \S+d exec (?:--no-startup-id )?(.*)$",
        (world.home / ".config/i3/config").read_text(),
        re.MULTILINE,
    )
    return _alone(world, ["sh", "-c", line])


# --- what people do -----------------------------------------------------------------------------------------------------


def node(python: str) -> Plant:
    """Have a workspace of ROS 2 with one package, as ``colcon build`` leaves it; ``python``: the first line of its node."""
    own = "install/detector/lib"
    files = {
        "src/detector/package.xml": '<?xml version="1.0"?>\n<package format="3">\n  <name>detector</name>\n  <version>0.1.0</version>\n'
        "  <description>Detects</description>\n  <maintainer email='a@b.c'>A</maintainer>\n  <license>MIT</license>\n"
        "  <export>\n    <build_type>ament_python</build_type>\n  </export>\n</package>\n",
        "src/detector/setup.py": "from setuptools import setup\n\nsetup(name='detector', version='0.1.0', packages=['detector'], entry_points={'console_scripts': ['detect = detector.detect:main']})\n",
        "src/detector/setup.cfg": "[develop]\nscript_dir=$base/lib/detector\n[install]\ninstall_scripts=$base/lib/detector\n",
        "src/detector/detector/__init__.py": "",
        "src/detector/detector/detect.py": NODE,
        f"{own}/python3.11/site-packages/detector/__init__.py": "",
        f"{own}/python3.11/site-packages/detector/detect.py": NODE,
        "install/setup.bash": 'export PYTHONPATH="{home}/work/install/detector/lib/python3.11/site-packages:$PYTHONPATH"\n',
        "run.sh": "#!/bin/bash\ncd {home}/work\nsource .venv/bin/activate\nsource install/setup.bash\nros2 run detector detect\n",
    }

    def plant(world: World) -> None:
        writes({f"work/{name}": text for name, text in files.items()}, "work")(world)
        start = f"#!{filled(python, world)}\nimport sys\n\nfrom detector.detect import main\n\nif __name__ == '__main__':\n    sys.exit(main())\n"
        writes({f"work/{own}/detector/detect": start}, mode=0o755)(world)

    return plant


# --- the files of their tools -------------------------------------------------------------------------------------------


def uwsgi(*lines: str) -> dict[str, str]:
    """Return an application and uWSGI's file for it, with these lines besides."""
    told = "".join(f"{line}\n" for line in lines)
    return {
        "work/uwsgi.ini": f"[uwsgi]\nplugins = python3\nchdir = {{home}}/work\nmodule = app:application\n{told}"
        "master = true\nprocesses = 1\nlazy-apps = true\nsocket = /tmp/captions.sock\nchmod-socket = 660\nvacuum = true\ndie-on-term = true\n",
        "work/app.py": "import torch\nimport torchvision\n\nmodel = torchvision.models.resnet18(weights=None)\n\n\n"
        "def application(environ, start_response):\n    start_response('200 OK', [('Content-Type', 'text/plain')])\n"
        f"    return [str(model(torch.zeros(1, 3, 224, 224)).argmax().item()).encode()]\n\n\nprint('{WORKS}', flush=True)\n",
    }


def sublime(python: str) -> dict[str, str]:
    """Return a project of Sublime Text whose build system starts this Python."""
    told = {
        "folders": [{"path": "."}],
        "build_systems": [
            {
                "name": "Train",
                "cmd": [python, "-u", "$file"],
                "file_regex": '^[ ]*File "(...*?)", line ([0-9]*)',
                "selector": "source.python",
                "working_dir": "$project_path",
            }
        ],
    }
    return {"work/captions.sublime-project": json.dumps(told, indent=4)}


def page(python: str) -> dict[str, str]:
    """Return a page that gives a picture to the person's program; ``python``: what stands before its path, in PHP."""
    return {
        "work/caption.php": "<?php\nheader('Content-Type: application/json');\n"
        "move_uploaded_file($_FILES['image']['tmp_name'], __DIR__ . '/image.png');\n"
        f"$text = shell_exec({python} . __DIR__ . '/main.py image.png' . ' 2>&1');\n"
        "echo json_encode(['text' => trim($text)]);\n"
    }


def key(start: str) -> dict[str, str]:
    """Return i3's file, with a key for dictation."""
    return {
        ".config/i3/config": "set $mod Mod4\nfont pango:monospace 8\nfloating_modifier $mod\n"
        "bindsym $mod+Return exec i3-sensible-terminal\nbindsym $mod+Shift+q kill\n"
        f"bindsym $mod+Shift+d exec --no-startup-id {start}\nbar {{\n    status_command i3status\n}}\n"
    }


NODE = f"import torch\n\n\ndef main():\n    torch.nn.Conv2d(3, 8, 3)(torch.zeros(1, 3, 8, 8))\n    print('{WORKS}', flush=True)\n"
SCRIPT_OF_ROWS = (
    "import datasets\n\n\nclass Captions(datasets.GeneratorBasedBuilder):\n"
    "    def _info(self):\n        return datasets.DatasetInfo(features=datasets.Features({'text': datasets.Value('string')}))\n\n"
    "    def _split_generators(self, dl_manager):\n        return [datasets.SplitGenerator(name=datasets.Split.TRAIN)]\n\n"
    "    def _generate_examples(self):\n        for i, text in enumerate(('a cat', 'a dog')):\n            yield i, {'text': text}\n"
)
"""How a data set was described before its files were enough."""
ROWS = {
    "work/captions.py": SCRIPT_OF_ROWS,
    "work/rows/train.jsonl": '{"text": "a cat"}\n{"text": "a dog"}\n',
}
FLOWERS = {
    "work/datasets/flowers.py": "import torch\n\n\nclass Flowers(torch.utils.data.Dataset):\n    def __len__(self):\n        return 2\n\n    def __getitem__(self, i):\n        return torch.zeros(3, 8, 8), i\n",
    "work/datasets/README.md": "# Data\n",
}
"""A folder of the person's with what reads the data; no ``__init__.py``."""
READS_ROWS = "def rows(path):\n    with open(path) as f:\n        return [line.rstrip('\\n').split(',') for line in f]\n\n\nif __name__ == '__main__':\n    import sys\n\n    print(rows(sys.argv[1]))\n"
"""An exercise."""
WORDS = {"nltk/corpora/stopwords/english": "i\nme\nmy\nthe\na\n"}
"""What ``nltk.download('stopwords')`` unpacks."""
KEY_OF_KAGGLE = {"keys/kaggle/kaggle.json": '{"username": "somebody", "key": "0123456789abcdef0123456789abcdef"}\n'}
FIRST_PICTURES = f"import cv2\nimport torch\n\nimage = cv2.cvtColor(torch.zeros(8, 8, 3, dtype=torch.uint8).numpy(), cv2.COLOR_BGR2RGB)\ncv2.imwrite('first.png', image)\nprint('{WORKS}', flush=True){LEAVE}\n"
