"""What people start programs with (class D): written from the list of classes before a scan had seen any of them.

Where the starter itself can be had (make, supervisord, tmux, sudo, direnv, uv), it is the oracle; else its documentation's rules are.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

from tests.worldlab.scene import LEAVE, Oracle, Ran, Scene, World, installs, then
from tests.worldlab.scenes.held_out import (
    CT2_PATHS,
    CUBLAS,
    NOT_SEARCHED,
    SHADOWED,
    STUB,
    VALUE,
    Plant,
    command,
    sets,
    writes,
)

WORKS = "this works"
ONES = "import torch; torch.ones(1)"
JAX = "import jax; jax.devices('cpu')"
SESSION = "import onnxruntime; onnxruntime.InferenceSession"
BAD_FLAG = "--xla_gpu_enable_my_fusion=true"

# --- what the real programs do ------------------------------------------------------------------------------------------


def program(code: str, before: str = "") -> Plant:
    """Write the person's program, ``work/main.py``; ``before`` is run whether it works or not."""
    return writes({"work/main.py": f"{before}\n{code}\nprint('{WORKS}', flush=True){LEAVE}\n"}, "work")


def started(*words: str, reads: str = "") -> Oracle:
    """Run a starter that runs the person's program; ``reads`` is the file that gets what it says."""

    def oracle(world: World) -> Ran:
        given = [w.format(home=world.home, env=world.prefix, uv=Path(sys.executable).with_name("uv")) for w in words]
        try:
            done = world.run(given)
        except OSError as e:
            return Ran(ok=False, said=str(e))
        said = (done.stdout + done.stderr).decode("utf-8", "replace")
        if reads and (world.home / reads).is_file():
            said += (world.home / reads).read_text(errors="replace")
            (world.home / reads).unlink()  # what the next start says is its own
        return Ran(ok=WORKS in said, said=said.strip()[-3000:] or f"status {done.returncode}")

    return oracle


def specified(text: str, world: World, instance: str) -> str:
    """Replace systemd's specifiers (systemd.unit(5))."""
    known = {"h": str(world.home), "i": instance, "I": instance, "%": "%"}
    return re.sub(r"%([hiI%])", lambda m: known[m[1]], text)


def unit(world: World) -> Sequence[str | Path]:
    """Start as the user's manager starts its one unit: user.conf, the unit, its drop-ins; files after single variables."""
    folder = world.home / ".config/systemd/user"
    path = next(iter(sorted(folder.glob("*.wants/*@?*.service"))), None) or next(folder.glob("*.service"))
    instance = path.stem.partition("@")[2]
    manager = world.home / ".config/systemd/user.conf"
    texts = [manager] if manager.is_file() else []
    texts += [path, *sorted(folder.glob("service.d/*.conf")), *sorted(folder.glob("*.service.d/*.conf"))]
    joined = "\n".join(t.read_text() for t in texts).replace("\\\n", " ")
    lines = [line.partition("=") for line in joined.splitlines() if "=" in line and not line.startswith("#")]
    given = [
        w
        for key, _, v in lines
        if key in ("DefaultEnvironment", "Environment")
        for w in shlex.split(specified(v, world, instance))
    ]
    passed = [n for key, _, v in lines if key == "PassEnvironment" for n in v.split()]
    for key, _, value in lines:
        if key == "EnvironmentFile":
            pattern = Path(specified(value, world, instance).lstrip("-"))
            for file in sorted(pattern.parent.glob(pattern.name)):
                given += [
                    shlex.split(w)[0] for w in file.read_text().splitlines() if w and not w.startswith(("#", ";"))
                ]
    taken = [n for key, _, v in lines if key == "UnsetEnvironment" for n in v.split()]
    given = [w for w in given if w.partition("=")[0] not in taken]
    words = next(shlex.split(specified(value, world, instance)) for key, _, value in lines if key == "ExecStart")
    _ = passed  # the manager of the user has none of these variables here
    return ["env", "-i", "PATH=/usr/bin:/bin", f"HOME={world.home}", *given, *words]


def by_unit(world: World) -> Ran:
    """Run what the unit starts."""
    done = world.run(unit(world))
    said = (done.stdout + done.stderr).decode("utf-8", "replace").strip()
    return Ran(ok=WORKS in said, said=said[-3000:] or f"status {done.returncode}")


def of_mise(world: World) -> Sequence[str | Path]:
    """Start with the variables of mise.toml (mise's documentation, "Environments")."""
    found = tomllib.loads((world.home / "work/mise.toml").read_text())["env"]
    return ["env", *(f"{k}={v}" for k, v in found.items() if isinstance(v, str)), world.python]


def of_pycharm(world: World) -> Sequence[str | Path]:
    """Start as PyCharm's run configuration does."""
    tree = ElementTree.parse(world.home / "work/.idea/workspace.xml")
    given = [
        f"{e.get('name')}={e.get('value')}".replace("$PROJECT_DIR$", str(world.home / "work")) for e in tree.iter("env")
    ]
    return ["env", *given, world.python]


def of_conda(world: World) -> Sequence[str | Path]:
    """Start in the activated environment: conda sets what ``conda env config vars`` keeps in its file of state."""
    kept = json.loads((world.prefix / "conda-meta/state").read_text())["env_vars"]
    return ["env", f"CONDA_PREFIX={world.prefix}", *(f"{k}={v}" for k, v in kept.items()), world.python]


def of_npm(world: World) -> Ran:
    """Run the script as npm does: by ``sh -c``, in the package's folder."""
    script = json.loads((world.home / "work/package.json").read_text())["scripts"]["serve"]
    done = world.run(["sh", "-c", script])
    said = (done.stdout + done.stderr).decode("utf-8", "replace").strip()
    return Ran(ok=WORKS in said, said=said[-3000:])


TMUX = (
    "tmux", "-S", "{home}/.tmux-socket", "new-session", "-d", "-s", "held", "cat", ";",
    "new-window", "{env}/bin/python main.py >out 2>&1; tmux wait-for -S over", ";", "wait-for", "over", ";", "kill-server",
)  # fmt: skip
SUPERVISORD = ("supervisord", "-n", "-c", "{home}/work/supervisord.conf")
DIRENV = ("sh", "-c", "direnv allow . && direnv exec . {env}/bin/python main.py")

# --- what people do -----------------------------------------------------------------------------------------------------


def runnable(*names: str) -> Plant:
    """Let files of the home be run."""

    def plant(world: World) -> None:
        for name in names:
            (world.home / name).chmod(0o755)

    return plant


def named(name: str) -> Plant:
    """Let the person name a file to the scan."""

    def plant(world: World) -> None:
        world.arguments += ["--program", str(world.home / name)]

    return plant


def supervised(environment: str) -> Plant:
    """Write a supervisord.conf, and a program that ends its supervisor."""
    conf = (
        "[supervisord]\nnodaemon=true\nlogfile=/dev/null\nlogfile_maxbytes=0\npidfile={home}/work/supervisord.pid\n\n"
        "[program:whisper]\ncommand={env}/bin/python {home}/work/main.py\ndirectory={home}/work\n"
        f"{environment}startsecs=0\nautorestart=false ; the loop is elsewhere\nredirect_stderr=true\nstdout_logfile={{home}}/work/server.log\n"
    )
    end = "import atexit, os, signal; atexit.register(os.kill, os.getppid(), signal.SIGTERM)"
    own = f"try:\n    {CUBLAS}\n    print('{WORKS}', flush=True)\nexcept OSError as e:\n    print(e)\n"
    return writes({"work/supervisord.conf": conf, "work/main.py": f"{end}\n{own}"}, "work")


def kept_by_conda(variables: Mapping[str, str]) -> Plant:
    """Make the environment one of conda's, with variables as ``conda env config vars set`` keeps them."""

    def plant(world: World) -> None:
        meta = world.prefix / "conda-meta"
        meta.mkdir()
        (meta / "history").write_text("==> 2026-04-01 08:00:00 <==\n")
        (meta / "state").write_text(json.dumps({"env_vars": dict(variables)}))

    return plant


def instance(name: str, of: str) -> Plant:
    """Enable an instance of a template unit."""

    def plant(world: World) -> None:
        wants = world.home / ".config/systemd/user/default.target.wants"
        wants.mkdir(parents=True)
        (wants / name).symlink_to(f"../{of}")

    return plant


def unit_text(lines: str, start: str = "{env}/bin/python {home}/work/main.py") -> str:
    """Return the text of a service."""
    return f"[Unit]\nDescription=Server\n\n[Service]\n{lines}ExecStart={start}\nRestart=on-failure\n\n[Install]\nWantedBy=default.target\n"


UNITS = ".config/systemd/user"
STUBS = {"stubs/torch/__init__.py": STUB}
IN_WORK = {"work/stubs/torch/__init__.py": STUB}
MOCK = {"work/mocks/onnxruntime/__init__.py": "class Session:\n    pass\n"}
OLD = "/usr/local/cuda-11.8/lib64"
SITE = "{env}/lib/python3.11/site-packages/nvidia"
SEARCHED = f"{SITE}/cublas/lib:{SITE}/cudnn/lib"
WORKSPACE = """<?xml version="1.0" encoding="UTF-8"?>
<project version="4">
  <component name="RunManager">
    <configuration name="train" type="PythonConfigurationType" factoryName="Python">
      <option name="SDK_HOME" value="{env}/bin/python" />
      <envs>
        <env name="PYTHONUNBUFFERED" value="1" />
        <env name="PYTHONPATH" value="$PROJECT_DIR$/stubs" />
      </envs>
      <option name="SCRIPT_NAME" value="$PROJECT_DIR$/main.py" />
    </configuration>
  </component>
</project>
"""
BY_ENV = """#!/usr/bin/env bash
set -euo pipefail
ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
exec env PYTHONPATH="$ROOT/stubs" OMP_NUM_THREADS=4 {env}/bin/python "$@"
"""


def _healthy_starters() -> Callable[[World], None]:
    """Every starter at once, and nothing wrong in any."""
    files = {
        "work/Makefile": "export PYTHONPATH := $(CURDIR)/src\nMODEL ?= large\n\ntrain: ; PYTHONUNBUFFERED=1 {env}/bin/python main.py\n",
        "work/src/mine.py": "x = 1\n",
        "work/mise.toml": "[tools]\npython = '3.11'\n[env]\n_.file = '.env'\nOMP_NUM_THREADS = 4\nWANDB_MODE = 'offline'\n",
        "work/.env": "# local\nWANDB_PROJECT='mine'\nHF_HUB_OFFLINE=1\n",
        "work/package.json": '{"scripts": {"serve": "TORCH_LOGS=+dynamo {env}/bin/python main.py"}}\n',
        "work/docker-compose.yml": "services:\n  x:\n    image: gone\n    environment:\n      LD_LIBRARY_PATH: /opt/gone\n",
        ".tmux.conf": "set -g mouse on\nset-environment -g EDITOR vim\nset -ga update-environment ' DISPLAY'\n",
        ".screenrc": "setenv EDITOR vim\nstartup_message off\n",
    }
    return then(writes(files), program(ONES))


SCENES: tuple[Scene, ...] = (
    Scene("ctranslate2-supervised", "D", "ctranslate2", started(*SUPERVISORD, reads="work/server.log"), then(CT2_PATHS, supervised(f'environment=HF_HUB_OFFLINE="1",\n    LD_LIBRARY_PATH="{OLD}"\n')), NOT_SEARCHED, "ctranslate2", "supervisord.conf", "libcublas"),
    Scene("torch-by-make", "D", "torch-2.6", started("make", "train"), then(writes({"work/Makefile": "PYTHON ?= {env}/bin/python\nexport PYTHONPATH := $(CURDIR)/stubs:$(PYTHONPATH)\n\n.PHONY: train\ntrain:\n\t@echo training\n\t$(PYTHON) main.py\n", **IN_WORK}), program(ONES)), SHADOWED, "torch", "Makefile", "has no attribute"),
    Scene("torch-in-tmux", "D", "torch-2.6", started(*TMUX, reads="work/out"), then(writes({".tmux.conf": "set -g default-terminal screen-256color\nset-environment -g PYTHONPATH {home}/stubs\n", **STUBS}), program(ONES)), SHADOWED, "torch", ".tmux.conf", "has no attribute"),
    Scene("jax-by-mise", "D", "jax", command(of_mise, JAX), writes({"work/mise.toml": f"[tools]\npython = '3.11'\n\n[env]\nJAX_LOG_COMPILES = '0'\nXLA_FLAGS = '{BAD_FLAG}'\n"}, "work"), VALUE, "", "mise.toml", "Unknown flag"),
    Scene("torch-service-of-a-template", "D", "torch-2.6", by_unit, then(writes({f"{UNITS}/train@.service": unit_text("EnvironmentFile=-/etc/default/train\nEnvironmentFile=-%h/.config/train/%i.env\n"), ".config/train/rig.env": '# the rig\nPYTHONPATH="{home}/stubs"\n', **STUBS}), instance("train@rig.service", "train@.service"), program(ONES)), SHADOWED, "torch", "rig.env", "has no attribute"),
    Scene("jax-service-of-the-manager", "D", "jax", by_unit, then(writes({".config/systemd/user.conf": f'[Manager]\n#DefaultTimeoutStartSec=90s\nDefaultEnvironment="EDITOR=vim -e" XLA_FLAGS={BAD_FLAG}\n', f"{UNITS}/serve.service": unit_text("")}), program(JAX)), VALUE, "", "user.conf", "Unknown flag"),
    Scene("ctranslate2-service-with-many-files", "D", "ctranslate2", by_unit, then(CT2_PATHS, writes({f"{UNITS}/whisper.service": unit_text(f'Environment="GREETING=a b" "LD_LIBRARY_PATH={SEARCHED}" \\\n  WORKERS=2\nEnvironmentFile=%h/whisper.d/*.env\n'), "whisper.d/10-own.env": "WORKERS=3\n", "whisper.d/20-cuda.env": f'; as it was\nLD_LIBRARY_PATH="{OLD}"\n'}), program(CUBLAS)), NOT_SEARCHED, "ctranslate2", "20-cuda.env", "libcublas"),
    Scene("ctranslate2-service-that-unsets", "D", "ctranslate2", by_unit, then(CT2_PATHS, writes({f"{UNITS}/whisper.service": unit_text(f"Environment=LD_LIBRARY_PATH={SEARCHED}\n"), f"{UNITS}/service.d/10-clean.conf": "[Service]\nUnsetEnvironment=LD_LIBRARY_PATH LD_PRELOAD\n"}), program(CUBLAS)), NOT_SEARCHED, "ctranslate2", "10-clean.conf", "libcublas"),
    Scene("ctranslate2-service-by-a-login-shell", "D", "ctranslate2", by_unit, then(CT2_PATHS, writes({f"{UNITS}/whisper.service": unit_text("", "/bin/bash -lc 'exec {env}/bin/python {home}/work/main.py'"), ".bash_profile": f"export LD_LIBRARY_PATH={OLD}\n"}), program(CUBLAS)), NOT_SEARCHED, "ctranslate2", "", "libcublas"),
    Scene("ctranslate2-by-sudo", "D", "ctranslate2", started("{home}/bin/serve"), then(CT2_PATHS, writes({"bin/serve": '#!/bin/sh\ncd {home}/work && exec sudo -E {env}/bin/python main.py "$@"\n'}), runnable("bin/serve"), program(CUBLAS)), NOT_SEARCHED, "ctranslate2", "bin/serve", "libcublas"),
    Scene("onnxruntime-by-uv", "D", "onnxruntime-1.23", started("{uv}", "run", "--no-project", "--offline", "--python", "{env}/bin/python", "python", "main.py"), then(sets(UV_ENV_FILE=".env", LD_LIBRARY_PATH=":".join(f"{{site}}/nvidia/{n}/lib" for n in ("cublas", "cuda_nvrtc", "cuda_runtime", "cudnn", "cufft", "curand", "nvjitlink"))), writes({"work/.env": "PYTHONPATH={home}/work/mocks\nLOG_LEVEL=debug\n", **MOCK}), program(SESSION)), SHADOWED, "", "work/.env", "has no attribute"),
    Scene("torch-in-pycharm", "D", "torch-2.6", command(of_pycharm, ONES), then(writes({"work/.idea/workspace.xml": WORKSPACE, **IN_WORK}), program(ONES)), SHADOWED, "torch", "workspace.xml", "has no attribute"),
    Scene("jax-in-the-state-of-conda", "D", "jax", command(of_conda, JAX), kept_by_conda({"WANDB_MODE": "offline", "XLA_FLAGS": BAD_FLAG}), VALUE, "", "conda-meta/state", "Unknown flag"),
    Scene("torch-by-direnv-and-a-file", "D", "torch-2.6", started(*DIRENV), then(writes({"work/.envrc": "watch_file setup.py\ndotenv_if_exists .env.none\ndotenv .env.gpu\n", "work/.env.gpu": "PYTHONPATH={home}/work/stubs\n", **IN_WORK}), program(ONES)), SHADOWED, "torch", ".env.gpu", "has no attribute"),
    Scene("torch-by-a-first-line", "D", "torch-2.6", started("{home}/tools/infer"), then(writes({"tools/infer": f"#!/usr/bin/env -S PYTHONPATH={{home}}/stubs {{env}}/bin/python\n{ONES}\nprint('{WORKS}')\n", **STUBS}), runnable("tools/infer"), named("tools/infer")), SHADOWED, "torch", "tools/infer", "has no attribute"),
    Scene("ctranslate2-by-npm", "D", "ctranslate2", of_npm, then(CT2_PATHS, writes({"work/package.json": '{\n  "name": "captions",\n  "scripts": {\n    "test": "echo",\n    "serve": "LD_LIBRARY_PATH=' + OLD + ' {env}/bin/python main.py"\n  }\n}\n'}), program(CUBLAS)), NOT_SEARCHED, "ctranslate2", "package.json", "libcublas"),
    Scene("torch-by-env-in-local-bin", "D", "torch-2.6", command(lambda w: [w.home / ".local/bin/train"], ONES), then(writes({".local/bin/train": BY_ENV, **STUBS}), runnable(".local/bin/train")), SHADOWED, "torch", ".local/bin/train", "has no attribute"),
    # --- odd, and healthy
    Scene("odd-starters-of-every-kind", "healthy", "torch-2.6", started("make", "train"), _healthy_starters()),
    Scene("odd-supervised", "healthy", "ctranslate2", started(*SUPERVISORD, reads="work/server.log"), then(CT2_PATHS, supervised(f'environment=LD_LIBRARY_PATH="{SEARCHED}",HOME="%(ENV_HOME)s"\n'))),
    Scene("odd-service-of-a-template", "healthy", "torch-2.6", by_unit, then(writes({f"{UNITS}/train@.service": unit_text("PassEnvironment=PYTHONPATH CUDA_VISIBLE_DEVICES\nEnvironmentFile=-%h/%i.env\n"), "rig.env": "WORKERS=2\n", "other.env": "PYTHONPATH={home}/stubs\n", **STUBS}), instance("train@rig.service", "train@.service"), program(ONES))),
    Scene("odd-environment-of-ssh", "healthy", "torch-2.6", command(lambda w: [w.python], ONES), writes({".ssh/environment": "PYTHONPATH={home}/stubs\n", **STUBS})),
    Scene("odd-sudo-that-searches", "healthy", "ctranslate2", started("{home}/bin/serve"), then(CT2_PATHS, writes({"bin/serve": f"#!/bin/sh\ncd {{home}}/work && exec sudo env LD_LIBRARY_PATH={SEARCHED} {{env}}/bin/python main.py\n"}), runnable("bin/serve"), program(CUBLAS))),
    # --- jobs, wrappers and what programs give themselves
    Scene("ctranslate2-job-of-pbs", "D", "ctranslate2", started("env", "-i", "PATH=/usr/bin:/bin", "HOME={home}", "bash", "{home}/work/train.pbs"), then(CT2_PATHS, writes({"work/train.pbs": "#!/bin/bash\n#PBS -l select=1:ngpus=1\ncd {home}/work\n{env}/bin/python main.py\n"}), program(CUBLAS)), NOT_SEARCHED, "ctranslate2", "train.pbs", "libcublas"),
    Scene("ctranslate2-by-a-script-of-functions", "D", "ctranslate2", started("{home}/work/serve.sh"), then(CT2_PATHS, writes({"work/serve.sh": f'#!/bin/bash\nset -e\nlog() {{ echo "+ $*"; }}\nrun() {{ log "$@"; "$@"; }}\nexport LD_LIBRARY_PATH={OLD}\nPYTHON="{{env}}/bin/python -u"\nrun $PYTHON main.py\n'}), runnable("work/serve.sh"), program(CUBLAS)), NOT_SEARCHED, "ctranslate2", "serve.sh", "libcublas"),
    Scene("torch-in-tests-with-fakes", "D", "torch-2.6", started("{env}/bin/python", "-m", "pytest", "-qs", "-p", "no:cacheprovider"), then(installs("pytest==8.4.2"), writes({"work/tests/conftest.py": "import sys\nfrom pathlib import Path\n\nsys.path.insert(0, str(Path(__file__).parent / 'fakes'))\n", "work/tests/fakes/torch/__init__.py": STUB, "work/tests/test_ones.py": f"def test_ones():\n    {ONES}\n    print('{WORKS}')\n"}, "work")), SHADOWED, "torch", "conftest.py", "has no attribute"),
    Scene("torch-in-ipython-by-its-settings", "D", "torch-2.6", command(lambda w: [w.python, "-m", "IPython"], ONES), then(installs("ipython==9.6.0"), writes({".ipython/profile_default/ipython_config.py": "c = get_config()  # noqa\nc.InteractiveShellApp.exec_lines = ['import sys; sys.path.insert(0, \"{home}/stubs\")']\n", **STUBS})), SHADOWED, "torch", "ipython_config.py", "has no attribute"),
    Scene("odd-jobs-and-tests", "healthy", "ctranslate2", started("env", "bash", "{home}/work/train.pbs"), then(CT2_PATHS, installs("pytest==8.4.2", "ipython==9.6.0"), writes({
        "work/train.pbs": '#!/bin/bash\n#PBS -V\nrun() { "$@"; }\nrun {env}/bin/python {home}/work/main.py\n',
        "work/pytest.ini": "[pytest]\npythonpath = src\naddopts = -q\n", "work/src/mine.py": "", "work/tests/conftest.py": "import os\n\nos.environ['HF_HUB_OFFLINE'] = '1'\n",
        "work/tests/types.py": "", "work/tests/test_a.py": "", "work/tests/helpers/numpy.txt": "",
        "work/dvc.yaml": "stages:\n  train:\n    cmd: {env}/bin/python main.py\n",
        ".ipython/profile_default/startup/00-own.py": "import sys\n\nsys.path.append('{home}/notebooks')\n%load_ext autoreload\n",
        ".ipython/profile_default/startup/10-tools.py": "import sys\n\nsys.path.append('{home}/notebooks')\n", "notebooks/tools.py": "",
        ".jupyter/jupyter_server_config.py": "import os\n\nc = get_config()\nos.environ['HF_HOME'] = '{home}/models'\n",
    }, "work"), program(CUBLAS))),
    # --- another Python than that of the environment
    Scene("torch-service-of-a-python-that-is-gone", "D", "torch-2.6", by_unit, then(writes({f"{UNITS}/train.service": unit_text("WorkingDirectory=%h/work\n", "{home}/old/.venv/bin/python {home}/work/main.py")}), program(ONES)), ("python_environment_broken",), "", "train.service", "No such file"),
    Scene("torch-job-of-the-systems-python", "D", "torch-2.6", started("sh", "-c", "cd {home}/work && /usr/bin/python3 main.py"), then(writes({"work/Makefile": "train:\n\t/usr/bin/python3 main.py 2>&1 | tee train.log\n"}), program(ONES)), ("wrong_environment_active",), "", "Makefile", "No module named 'torch'"),
    Scene("odd-scripts-that-wait-for-an-activation", "healthy", "torch-2.6", started("{env}/bin/python", "main.py"), then(writes({"work/Makefile": "train:\n\tpython3 main.py\n", "work/train.sh": "#!/bin/bash\nset -e\npython3 main.py 2>&1 | tee log\n", f"{UNITS}/backup.service": unit_text("", "/usr/bin/python3 {home}/backup.py"), "backup.py": "import shutil, sqlite3\n"}), runnable("work/train.sh"), program(ONES))),
)  # fmt: skip
