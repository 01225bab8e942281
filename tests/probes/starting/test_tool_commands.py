"""Commands in files of tools that no shell of a terminal starts."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from core.host.startup.state import State
from core.probes.starting.projects.tool_commands import tool_ways
from core.probes.starting.starters import script_ways
from tests.probes.starting.test_started_code import here, home, pythons, write  # noqa: F401 - pytest takes the fixture

UWSGI = "[uwsgi]\nplugins = python3\nchdir = {home}/work\nmodule = main:application\n"
PHP = "<?php\n$x = $_POST['x'];\n"
FILES: dict[str, tuple[dict[str, str], int]] = {
    "a key of i3": ({".config/i3/config": "set $mod Mod4\nbindsym $mod+d exec --no-startup-id python3 {home}/work/main.py\n"}, 2),
    "a mode of sway": ({".config/sway/config": 'mode "x" {\n    bindsym d exec "cd {home}/work && python3 main.py"\n}\n'}, 2),
    "a key of Hyprland": ({".config/hypr/hyprland.conf": "bind = SUPER, D, exec, python3 {home}/work/main.py\n"}, 1),
    "a key of sxhkd": ({".config/sxhkd/sxhkdrc": "super + d\n\tpython3 ~/work/main.py\n"}, 2),
    "a key of Openbox": ({".config/openbox/rc.xml": '<action name="Execute">\n<command>python3 {home}/work/main.py</command>\n</action>\n'}, 2),
    "a key by a whole path": ({".config/i3/config": "bindsym d exec {home}/env/bin/python {home}/work/main.py\n"}, 0),
    "a comment": ({".config/i3/config": "    # bindsym d exec python3 {home}/work/main.py\n"}, 0),
    "a build": ({"work/a.sublime-project": '{"build_systems": [\n{"cmd": ["python3", "-u", "$file"], "selector": "source.python"}]}\n'}, 2),
    "a build for a shell": ({"work/a.sublime-project": '{"build_systems": [{"shell_cmd": "python3 \'${project_path}/main.py\'"}]}\n'}, 1),
    "a build with the path of the environment": ({"work/a.sublime-project": '{"build_systems": [{"cmd": ["python3", "main.py"], "path": "{home}/env/bin:$PATH"}]}\n'}, 0),
    "a build of another language": ({"work/a.sublime-project": '{"build_systems": [{"cmd": ["python3", "$file"], "selector": "source.c"}]}\n'}, 0),
    "a page": ({"work/a.php": PHP + "shell_exec('python3 ' . __DIR__ . '/main.py ' . escapeshellarg($x) . ' 2>&1');\n"}, 3),
    "a page by a whole path": ({"work/a.php": PHP + "exec('{home}/env/bin/python main.py');\n"}, 0),
    "a page that PHP's own server shows": ({"work/a.php": PHP + "exec('python3 main.py');\n", "work/run.sh": "php -S localhost:8000\n"}, 0),
    "a comment in a page": ({"work/a.php": PHP + "  // exec('python3 main.py');\n"}, 0),
    "a program in PHP": ({"work/a.php": "<?php\nexec('python3 main.py');\n"}, 0),
    "uWSGI": ({"work/uwsgi.ini": UWSGI}, 4),
    "uWSGI with a file": ({"work/uwsgi.ini": "[uwsgi]\nplugin = python3\nwsgi-file = %dmain.py\n"}, 3),
    "uWSGI with an environment": ({"work/uwsgi.ini": f"{UWSGI}home = {{home}}/env\n"}, 0),
    "uWSGI of the environment": ({"work/uwsgi.ini": UWSGI, "work/run.sh": "../env/bin/uwsgi --ini uwsgi.ini\n"}, 0),
    "uWSGI of pip": ({"work/uwsgi.ini": UWSGI.replace("plugins = python3\n", "")}, 0),
}  # fmt: skip


@pytest.mark.parametrize(("files", "line"), FILES.values(), ids=FILES)
def test_a_python_that_lacks_what_the_program_imports(files: dict[str, str], line: int, home: Path):  # noqa: F811 - the fixture
    write(home, {n: t.replace("{home}", str(home)) for n, t in files.items()})
    its = replace(here(home), pythons=pythons(home))
    desktop = State({"PATH": "/usr/bin:/bin", "HOME": str(home)}, {"PATH", "HOME"})
    told = [(w.at, r.lacks, r.sure) for w in tool_ways(its, desktop) for r in w.runs]
    assert told == ([(f"{home / next(iter(files))}: line {line}", ("frame",), True)] if line else [])


@pytest.mark.parametrize(("first", "lacks"), [("/usr/bin/python3", True), ("/usr/bin/env python3", False)])
def test_a_node_of_ros(first: str, lacks: bool, home: Path):  # noqa: F811 - the fixture
    """The node's own package is found by PYTHONPATH, and the module that it names is read, too."""
    package = "work/install/own/lib/site-packages"
    write(
        home,
        {
            f"{package}/own/__init__.py": "",
            f"{package}/own/detect.py": "import frame\n\n\ndef main():\n    pass\n",
            "work/install/own/lib/own/detect": f"#!{first}\nfrom own.detect import main\n\nmain()\n",
            "work/run.sh": f"#!/bin/bash\nexport PATH={home}/env/bin:$PATH\nexport PYTHONPATH={home}/{package}\nros2 run own detect\n",
        },
    )
    (home / "work/install/own/lib/own/detect").chmod(0o755)
    its = replace(here(home), pythons=pythons(home))
    assert [r.lacks for w in script_ways(its) for r in w.runs] == ([("frame",)] if lacks else [])
