"""Commands in files of whatever tool starts a program: keys, bars, servers in other languages, pages."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from core.host.startup.state import State
from core.probes.starting.projects.any_file import any_file_ways
from core.probes.starting.services.scheduled import cron_ways
from core.probes.starting.services.systemd import service_ways
from core.probes.starting.starters import script_ways
from tests.probes.starting.test_started_code import VERSION, here, home, pythons, write  # noqa: F401 - pytest takes the fixture

UWSGI = "[uwsgi]\nplugins = python3\nchdir = {home}/work\nmodule = main:application\n"
PHP = "<?php\n$x = $_POST['x'];\n"
FILES: dict[str, tuple[dict[str, str], int | str]] = {
    "a key of i3": ({".config/i3/config": "set $mod Mod4\nbindsym $mod+d exec --no-startup-id python3 {home}/work/main.py\n"}, 2),
    "a mode of sway": ({".config/sway/config": 'mode "x" {\n    bindsym d exec "cd {home}/work && python3 main.py"\n}\n'}, 2),
    "a key of Hyprland": ({".config/hypr/hyprland.conf": "bind = SUPER, D, exec, python3 {home}/work/main.py\n"}, 1),
    "a key of sxhkd": ({".config/sxhkd/sxhkdrc": "super + d\n\tpython3 ~/work/main.py\n"}, 2),
    "a key of Openbox": ({".config/openbox/rc.xml": '<action name="Execute">\n<command>python3 {home}/work/main.py</command>\n</action>\n'}, 2),
    "a key by a whole path": ({".config/i3/config": "bindsym d exec {home}/env/bin/python {home}/work/main.py\n"}, 0),
    "a comment": ({".config/i3/config": "    # bindsym d exec python3 {home}/work/main.py\n"}, 0),
    "a build": ({"work/a.sublime-project": '{"build_systems": [\n{"cmd": ["python3", "-u", "$file"], "selector": "source.python"}]}\n'}, "build_systems"),
    "a build for a shell": ({"work/a.sublime-project": '{"build_systems": [{"shell_cmd": "python3 \'${project_path}/main.py\'"}]}\n'}, "build_systems"),
    "a build with the path of the environment": ({"work/a.sublime-project": '{"build_systems": [{"cmd": ["python3", "main.py"], "path": "{home}/env/bin:$PATH"}]}\n'}, 0),
    "a page": ({"work/a.php": PHP + "shell_exec('python3 ' . __DIR__ . '/main.py ' . escapeshellarg($x) . ' 2>&1');\n"}, 3),
    "a page by a whole path": ({"work/a.php": PHP + "exec('{home}/env/bin/python main.py');\n"}, 0),
    "a page that PHP's own server shows": ({"work/a.php": PHP + "exec('python3 main.py');\n", "work/run.sh": "php -S localhost:8000\n"}, 0),
    "a comment in a page": ({"work/a.php": PHP + "  // exec('python3 main.py');\n"}, 0),
    "a program in PHP": ({"work/a.php": "<?php\nexec('python3 main.py');\n"}, 0),
    "uWSGI": ({"work/uwsgi.ini": UWSGI}, 4),
    "uWSGI with a file": ({"work/uwsgi.ini": "[uwsgi]\nplugin = python3\nwsgi-file = %dmain.py\n"}, 3),
    "uWSGI with an environment": ({"work/uwsgi.ini": f"{UWSGI}home = {{home}}/env\n"}, 0),
    "uWSGI of the environment": ({"work/uwsgi.ini": UWSGI, "work/run.sh": "../env/bin/uwsgi --ini uwsgi.ini\n"}, 0),
    "an application of Apache": ({"work/deploy/site.conf": "<VirtualHost *:80>\n    WSGIScriptAlias / {home}/work/app.wsgi\n</VirtualHost>\n", "work/app.wsgi": "import sys\nsys.path.insert(0, '{home}/work')\nfrom main import frame as application\n"}, 2),
    "an application of Apache with an environment": ({"work/deploy/site.conf": "WSGIDaemonProcess x python-home={home}/env\nWSGIScriptAlias / {home}/work/main.py\n"}, 0),
    "Apache's module of an environment": ({"work/site.conf": "LoadModule wsgi_module {home}/env/lib/python3.11/site-packages/mod_wsgi/server/mod_wsgi.so\nWSGIScriptAlias / {home}/work/main.py\n"}, 0),
    "an application of Apache with the folder of the project": ({"work/site.conf": "WSGIDaemonProcess x python-path={home}/work threads=4\nWSGIScriptAlias / {home}/work/main.py\n"}, 2),
    "an application of Apache with an environment's packages": ({"work/site.conf": f"WSGIDaemonProcess x python-path={{home}}/work:{{home}}/env/lib/{VERSION}/site-packages\nWSGIScriptAlias / {{home}}/work/main.py\n"}, 0),
    "another server's settings": ({"work/nginx.conf": "# exec\nexec {home}/bare/bin/python main.py;\n"}, 0),
    "uWSGI of pip": ({"work/uwsgi.ini": UWSGI.replace("plugins = python3\n", "")}, 0),
    "settings of a bar with comments": ({".config/waybar/config.jsonc": '// mine\n{"custom/gpu": {\n"exec": "python3 {home}/work/main.py" // x\n},\n}\n'}, "custom/gpu"),
    "settings that no reader of YAML takes whole": ({".homeassistant/configuration.yaml": "a: !include b.yaml\nshell_command:\n  caption: python3 {home}/work/main.py\n"}, 3),
    "a list of words in YAML": ({".config/espanso/match/base.yml": "a:\n  args:\n    - python3\n    - {home}/work/main.py\n"}, "a"),
    "a call in Lua": ({".config/awesome/rc.lua": '-- spawn("python3 {home}/work/main.py")\nf(spawn.with_shell("cd ~/work && python3 main.py"))\n'}, 2),
    "joined in Lua": ({".config/awesome/rc.lua": 'spawn(os.getenv("HOME") .. "/bare/bin/python " .. os.getenv("HOME") .. "/work/main.py")\n'}, 1),
    "an element of XML": ({".config/Thunar/uca.xml": "<a>\n<command>cd {home}/work &amp;&amp; python3 main.py %f</command>\n</a>\n"}, 2),
    "words behind each other": ({".config/mpv/input.conf": 'ctrl+w run "python3" "{home}/work/main.py" "${path}"\nctrl+x run "x"\n'}, 1),
    "a file of a dot": ({".xbindkeysrc": '"python3 {home}/work/main.py"\n  control+F1\n'}, 1),
    "a program that is settings": ({".config/qtile/config.py": 'keys = [Key([mod], "d", lazy.spawn("python3 {home}/work/main.py"))]\n'}, 1),
    "a script of a file manager": ({".local/share/nautilus/scripts/Caption": "#!/bin/sh\npython3 {home}/work/main.py\n"}, 1),
    "the same that activates": ({".local/share/nautilus/scripts/Caption": "#!/bin/sh\ncd ~/work\nPATH={home}/env/bin:$PATH\npython3 main.py\n"}, 0),
    "arguments of a call in Go": ({"work/main.go": '// exec.Command("/usr/bin/python3", "main.py")\nfunc f() {\n\texec.Command("{home}/bare/bin/python", "-u", "main.py", name)\n}\n'}, 3),
    "arguments that each have a call in Rust": ({"work/src/main.rs": 'Command::new("{home}/bare/bin/python")\n    .arg("main.py")\n    .spawn();\n'}, 1),
    "arguments in the next statement in Rust": ({"work/src/main.rs": 'let mut c = Command::new("{home}/bare/bin/python");\nc.arg("main.py");\n'}, 1),
    "the next statement of another": ({"work/src/main.rs": 'let mut c = Command::new("{home}/bare/bin/python");\nopen("main.py");\n'}, 0),
    "properties in C#": ({"work/App.cs": 'its.FileName = "{home}/bare/bin/python";\nits.Arguments = "main.py";\n'}, 1),
    "a stream of Qt": ({"work/app.cpp": 'QProcess::startDetached("{home}/bare/bin/python", QStringList() << "main.py");\n'}, 1),
    "execl of C": ({"work/app.c": 'execl("{home}/bare/bin/python", "python", "main.py", (char *)0);\n'}, 1),
    "a folder named after a release": ({".config/GIMP/2.10/a.scm": '(system "python3 {home}/work/main.py")\n'}, 1),
    "settings that are a script": ({".config/bspwm/bspwmrc": "#!/bin/sh\nbspc monitor -d 1\npython3 {home}/work/main.py &\n"}, 1),
    "a line for another program in such a script": ({".config/herbstluftwm/autostart": "#!/bin/bash\n\nhc keybind Mod4-d spawn python3 {home}/work/main.py\n"}, 3),
    "such a script that activates": ({".config/x/a.sh": "#!/bin/bash\nsource {home}/env/bin/activate\nspawn python3 {home}/work/main.py\n"}, 0),
    "behind a semicolon": ({".mailcap": "text/html; python3 {home}/work/main.py %s; copiousoutput\n"}, 1),
    "an operator in Ruby": ({"work/bot.rb": "event.respond `{home}/bare/bin/python main.py #{event.text}`\n"}, 1),
    "a constructor in Java": ({"work/src/main/java/app/A.java": '/* python3 main.py */\nreturn new ProcessBuilder("{home}/bare/bin/python", "main.py")\n  .start();\n'}, 2),
    "a call in C++": ({"work/app.cpp": '#include <cstdio>\nFILE *its = popen("cd {home}/work; {home}/bare/bin/python main.py 2>&1", "r");\n'}, 2),
    "an expression of Lisp": ({".config/x/init.el": ';; "python3"\n(start-process "a" "*a*" "{home}/bare/bin/python" "{home}/work/main.py")\n'}, 2),
    "what it says": ({"work/main.go": 'log.Fatalf("{home}/bare/bin/python main.py: %v", err)\nfmt.Println("{home}/bare/bin/python main.py")\n'}, 0),
    "behind code": ({"work/main.go": 'f() // exec.Command("{home}/bare/bin/python", "main.py")\n'}, 0),
    "a block of words": ({"work/A.java": '/**\n {home}/bare/bin/python main.py\n*/\n'}, 0),
    "a description": ({".config/x/a.json": '{"description": "python3 {home}/work/main.py"}\n'}, 0),
    "a text for people": ({"work/README.md": "{home}/bare/bin/python main.py\n", "work/usage.txt": "{home}/bare/bin/python main.py\n", "work/docs/a.conf": "exec {home}/bare/bin/python main.py\n"}, 0),
    "a job in a container": ({"work/job.hcl": 'driver = "docker"\ncommand = "{home}/bare/bin/python main.py"\n'}, 0),
    "a job without one": ({"work/job.hcl": 'driver = "raw_exec"\ncommand = "{home}/bare/bin/python main.py"\n'}, 2),
    "a program of another kind": ({".config/x/a.conf": "exec = python3 {home}/.config/x/rain.py\n", ".config/x/rain.py": "import frame\n"}, 0),
    "a script without a Python": ({".config/x/a.conf": "exec = {home}/.config/x/a.sh\n", ".config/x/a.sh": "#!/bin/sh\nnotify-send main.txt\n"}, 0),
    "what was typed": ({".x_history": "python3 {home}/work/main.py\n", ".config/x/app.log": "python3 {home}/work/main.py\n"}, 0),
    "a program that is not there": ({".config/x/a.conf": "exec = python3 {home}/work/other.py\n"}, 0),
    "a tool of Python": ({".config/x/a.conf": "exec = python3 -m frame\n"}, 0),
    "a path that the file sets": ({".config/x/rc.lua": 'setenv("PATH", "{home}/env/bin")\nspawn("python3 {home}/work/main.py")\n'}, 0),
    "variables beside it": ({".config/x/a.json": '{"command": "python3", "args": ["{home}/work/main.py"], "env": {"PATH": "{home}/env/bin"}}\n'}, 0),
}  # fmt: skip


@pytest.mark.parametrize(("files", "line"), FILES.values(), ids=FILES)
def test_a_python_that_lacks_what_the_program_imports(files: dict[str, str], line: int | str, home: Path):  # noqa: F811 - the fixture
    write(home, {n: t.replace("{home}", str(home)) for n, t in files.items()})
    its = replace(here(home), pythons=pythons(home))
    desktop = State({"PATH": "/usr/bin:/bin", "HOME": str(home)}, {"PATH", "HOME"})
    told = [(w.at, r.lacks, r.sure) for w in any_file_ways(its, desktop) for r in w.runs]
    at = line if isinstance(line, str) else f"line {line}"
    assert told == ([(f"{home / next(iter(files))}: {at}", ("frame",), True)] if line else [])


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


SERVED = "const { spawn } = require('child_process');\n// spawn('python3', ['main.py'])\nspawn({call});\n"
SERVERS: dict[str, tuple[str, str, bool]] = {
    "a bare name": ("/usr/bin/node server.js", "'python3', ['main.py']", True),
    "a runtime that is not there": ("/opt/node/bin/node server.js", "'python3', ['main.py']", True),
    "a script of npm": ("/usr/bin/npm run serve", "'python3', ['main.py']", True),
    "the environment's Python": ("/usr/bin/node server.js", "'{home}/env/bin/python', ['main.py']", False),
    "variables of its own": ("/usr/bin/node server.js", "'python3', ['main.py'], { env: { PATH: own } }", False),
    "the PATH of the environment": ("/usr/bin/env PATH={home}/env/bin:/usr/bin node server.js", "'python3', ['main.py']", False),
    "another program": ("/usr/bin/node server.js", "'ffmpeg', ['-i', 'main.py']", False),
}  # fmt: skip


@pytest.mark.parametrize(("start", "call", "lacks"), SERVERS.values(), ids=SERVERS)
def test_a_service_whose_program_in_another_language_starts_a_python(start: str, call: str, lacks: bool, home: Path):  # noqa: F811 - the fixture
    files = {
        ".config/systemd/user/serve.service": f"[Service]\nWorkingDirectory=%h/work\nExecStart={start}\n",
        "work/server.js": SERVED.replace("{call}", call),
        "work/package.json": '{"scripts": {"serve": "node server.js"}}\n',
    }
    write(home, {n: t.replace("{home}", str(home)) for n, t in files.items()})
    told = [(r.source, r.lacks) for w in service_ways(replace(here(home), pythons=pythons(home))) for r in w.runs]
    assert told == ([(f"{home}/work/server.js:3", ("frame",))] if lacks else [])


@pytest.mark.parametrize(("rc", "told"), [("export TOKEN=x\n", True), ("TOKEN=x\n", False)])
def test_a_launcher_that_lacks_what_only_terminals_have(rc: str, told: bool, home: Path):  # noqa: F811 - the fixture
    start = f"exec = {home}/env/bin/python {home}/work/main.py\n"
    write(home, {".bashrc": rc, ".config/bar/a.conf": start, "work/main.py": "import os\n\nos.environ['TOKEN']\n"})
    desktop = State({"PATH": "/usr/bin:/bin", "HOME": str(home)}, {"PATH", "HOME"})
    ways = any_file_ways(replace(here(home, TOKEN="x"), pythons=pythons(home)), desktop)
    assert [(r.name, r.fault) for w in ways for r in w.runs] == ([("TOKEN", "variable not set")] if told else [])


RUNNERS: dict[str, tuple[str, bool]] = {
    "make": ("make -s caption", True),
    "make's first target, in a folder": ("cd / && make -C {home}/work", True),
    "just": ("just caption", True),
    "npm": ("npm run caption", True),
    "Task": ("task caption", True),
    "another target": ("make other", False),
    "find": (r"find . -name '*.png' -exec python3 main.py {} \;", True),
    "a new session of tmux": ("tmux new -d -s x 'cd {home}/work && python3 main.py'", True),
    "keys that tmux sends": ("tmux send-keys -t x 'cd {home}/work && python3 main.py' Enter", True),
    "the same with an environment": ("tmux new -d 'source {home}/env/bin/activate && python3 main.py'", False),
}  # fmt: skip


@pytest.mark.parametrize(("job", "lacks"), RUNNERS.values(), ids=RUNNERS)
def test_a_job_by_a_program_that_runs_others(job: str, lacks: bool, home: Path):  # noqa: F811 - the fixture
    start = "python3 main.py\n"
    files = {
        "work/Makefile": f"caption:\n\t{start}other:\n\t{{home}}/env/bin/{start}",
        "work/justfile": f"other:\n    {{home}}/env/bin/{start}caption:\n    {start}",
        "work/Taskfile.yml": f"version: '3'\ntasks:\n  caption:\n    cmds:\n      - {start}",
        "work/package.json": '{"scripts": {"caption": "python3 main.py"}}\n',
        "work/crontab": f"0 2 * * * cd {{home}}/work && {job}\n",
    }
    write(home, {n: t.replace("{home}", str(home)) for n, t in files.items()})
    told = [(r.lacks, r.sure) for w in cron_ways(replace(here(home), pythons=pythons(home))) for r in w.runs]
    assert told == ([(("frame",), True)] if lacks else [])
