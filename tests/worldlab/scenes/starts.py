"""Ways of starting, variables and tools: in-sample, written together with the rules."""

from __future__ import annotations

from tests.worldlab.scene import Ran, Scene, World, cuts, imports, installs, loses, runs, then
from tests.worldlab.scenes.held_out import (
    ALLOCATES,
    ALLOCATOR,
    BUILD_FLAGS,
    CT2_PATHS,
    CUBLAS,
    JAX,
    NOT_SEARCHED,
    PTXAS,
    SHADOWED,
    STUB,
    TRITON_BUILD,
    TRITON_CACHE,
    VALUE,
    command,
    inside,
    sets,
    shell,
    spec,
    writes,
)
from tests.worldlab.scenes.held_out_8 import ONES
from tests.worldlab.scenes.held_out_10 import by_cron
from tests.worldlab.scenes.held_out_15 import by_run, said_by
from tests.worldlab.scenes.held_out_19_machines import by_icon, crontab, icon
from tests.worldlab.scenes.starters import by_unit, program, unit_text

BASH = sets(SHELL="/bin/bash")
TORCH = imports("torch")
CACHE = runs("import torch._inductor.codecache as c; print(c.cache_dir())")
TENSORFLOW = runs("import tensorflow as tf; tf.config.list_physical_devices()")
ALIASED = command(lambda w: ["bash", "-ic", f'. {w.prefix}/bin/activate; python "$@"', "python"])
SCRIPT = command(lambda w: [w.home / "work/run.sh"], CUBLAS)
OF_THE_SERVICE = command(
    lambda w: ["env", "-i", "PATH=/usr/bin:/bin", f"HOME={w.home}", "sh", w.home / "serve.sh"], CUBLAS
)
BY_THE_DESKTOP = command(
    lambda w: ["env", "-i", "PATH=/usr/bin:/bin", f"HOME={w.home}", "sh", w.home / "bin/subtitles"], CUBLAS
)
RUN = '#!/bin/sh\ncd "$(dirname "$0")"\n{line}\nexec {{env}}/bin/python "$@"\n'


UNIT = ".config/systemd/user/train.service"
ELSEWHERE = ("wrong_environment_active", "process_env_not_inherited")


def in_the_root(world: World) -> Ran:
    """Start what the unit starts in the folder of a service that names none; here the root, where the manager of a person takes the home."""
    return said_by(world, ["env", "-C", "/", "-i", "PATH=/usr/bin:/bin", str(world.python), "main.py"])


def script(name: str, line: str, cwd: str = ""):
    """A script of the person's that does something first and then starts the environment's Python."""
    return then(writes({name: RUN.format(line=line)}, cwd), lambda world: (world.home / name).chmod(0o755))


SEARCHED = "export LD_LIBRARY_PATH={env}/lib/python3.11/site-packages/nvidia/cublas/lib:{env}/lib/python3.11/site-packages/nvidia/cudnn/lib"

SCENES: tuple[Scene, ...] = (
    # --- variables, in every way of starting
    Scene("torch-allocator-value-in-bashrc", "D", "torch-2.8", command(shell("bash", "-ic"), ALLOCATES), then(BASH, writes({".bashrc": "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:true\n"})), VALUE, "torch", ".bashrc", "True/False"),
    Scene("jax-unknown-precision", "E", "jax", JAX, sets(JAX_DEFAULT_MATMUL_PRECISION="fp16"), VALUE, "", "JAX_DEFAULT_MATMUL_PRECISION", "Invalid value"),
    Scene("jax-malformed-number", "E", "jax", JAX, sets(JAX_NUM_CPU_DEVICES="four"), VALUE, "", "JAX_NUM_CPU_DEVICES", "Invalid value"),
    Scene("inductor-cache-behind-a-file", "E", "torch-2.8", CACHE, then(writes({"scratch": "a file\n"}), sets(TORCHINDUCTOR_CACHE_DIR="{home}/scratch/inductor")), VALUE, "torch", "scratch", "Not a directory"),
    Scene("tensorflow-unknown-flag", "E", "tensorflow", TENSORFLOW, sets(TF_XLA_FLAGS="--tf_xla_autojit=2"), VALUE, "tensorflow", "tf_xla_autojit", "Unknown flag"),
    Scene("triton-compiler-may-not-run", "E", "torch-2.8", TRITON_BUILD, then(writes({"tools/gcc": "#!/bin/sh\nexec gcc \"$@\"\n"}), sets(CC="{home}/tools/gcc")), VALUE, "", "tools/gcc", "Permission denied"),
    # --- tools that frameworks run
    Scene("triton-cut-ptxas", "A", "torch-2.6", runs("import os, subprocess, sysconfig; p = os.path.join(sysconfig.get_paths()['purelib'], 'triton/backends/nvidia/bin/ptxas'); subprocess.check_call([p, '--version'])"), cuts("triton/backends/nvidia/bin/ptxas"), ("corrupt_or_truncated_file",), "", "ptxas", "ptxas"),
    Scene("odd-lost-cuobjdump", "healthy", "torch-2.8", PTXAS, loses("triton/backends/nvidia/bin/cuobjdump", "triton/backends/nvidia/bin/nvdisasm")),
    # --- which Python runs, launchers, scripts, services
    Scene("torch-behind-an-alias", "D", "torch-2.6", ALIASED, then(BASH, writes({".bashrc": "alias python=/usr/bin/python3\n"})), ("wrong_environment_active",), "", ".bashrc:1", "No module named 'torch'"),
    Scene("ctranslate2-by-a-script", "D", "ctranslate2", SCRIPT, then(CT2_PATHS, script("work/run.sh", "unset LD_LIBRARY_PATH", "work")), NOT_SEARCHED, "ctranslate2", "run.sh", "libcublas"),
    Scene("ctranslate2-launcher-of-a-script", "D", "ctranslate2", BY_THE_DESKTOP, then(CT2_PATHS, writes({".local/share/applications/subtitles.desktop": "[Desktop Entry]\nType=Application\nName=Subtitles\nExec=env QT_QPA_PLATFORM=xcb sh {home}/bin/subtitles %f\n"}), script("bin/subtitles", ":")), NOT_SEARCHED, "ctranslate2", "subtitles.desktop", "libcublas"),
    Scene("ctranslate2-service-by-a-script", "D", "ctranslate2", OF_THE_SERVICE, then(CT2_PATHS, writes({".config/systemd/user/whisper.service": "[Service]\nExecStart=/bin/sh {home}/serve.sh\n"}), script("serve.sh", "export LD_LIBRARY_PATH=/opt/cuda-11/lib64")), NOT_SEARCHED, "ctranslate2", "whisper.service", "libcublas"),
    Scene("torch-in-a-launch", "D", "torch-2.6", command(lambda w: ["env", f"PYTHONPATH={w.home}/work/stubs", w.python], "import torch; torch.ones(1)"), writes({"work/stubs/torch/__init__.py": STUB, "work/.vscode/launch.json": '{"configurations": [{"name": "Train", "type": "debugpy", "env": {"PYTHONPATH": "${workspaceFolder}/stubs"}}]}\n'}, "work"), SHADOWED, "torch", "launch.json", "has no attribute"),
    Scene("service-with-a-command-of-a-shell", "D", "torch-2.6", by_unit, then(program(ONES), writes({UNIT: unit_text("", "cd {home}/work && {env}/bin/python main.py")})), ELSEWHERE, "", "train.service", "cd"),
    Scene("service-that-activates-by-source", "D", "torch-2.6", by_unit, then(program(ONES), writes({UNIT: unit_text("WorkingDirectory=%h/work\n", "source {env}/bin/activate && python main.py")})), ELSEWHERE, "", "train.service", "source"),
    Scene("launcher-with-a-command-of-a-shell", "D", "torch-2.6", by_icon, then(program(ONES), writes(icon("cd {home}/work && {env}/bin/python main.py"))), ELSEWHERE, "", "dictate.desktop", "cd"),
    Scene("service-away-from-its-program", "D", "torch-2.6", in_the_root, then(program(ONES), writes({UNIT: unit_text("", "{env}/bin/python main.py")})), ELSEWHERE, "", "train.service", "can't open file"),
    Scene("cron-without-condas-function", "D", "torch-2.6", by_cron, then(program(ONES), writes(crontab("0 3 * * * cd {home}/work && conda activate ml && python main.py"))), ELSEWHERE, "", "crontab", "conda: not found"),
    Scene("cron-with-a-name-that-is-not-there", "D", "torch-2.6", by_cron, then(program(ONES), writes(crontab("0 3 * * * cd {home}/work && python main.py"))), ELSEWHERE, "", "crontab", "python: not found"),
    Scene("editor-of-the-systems-python", "D", "torch-2.6", lambda w: said_by(w, ["/usr/bin/python3", "main.py"]), then(program(ONES), writes({"work/.vscode/settings.json": '{\n    "python.defaultInterpreterPath": "/usr/bin/python3",\n}\n'})), ELSEWHERE, "", "settings.json", "No module named 'torch'"),
    # --- odd, and healthy
    Scene("odd-service-of-a-shell", "healthy", "torch-2.6", by_unit, then(program(ONES), writes({UNIT: unit_text("", "/bin/bash -c 'cd {home}/work && source {env}/bin/activate && exec python main.py'")}))),
    Scene("odd-launcher-of-a-shell", "healthy", "torch-2.6", by_icon, then(program(ONES), writes(icon("sh -c 'cd {home}/work && {env}/bin/python main.py'")))),
    Scene("odd-conda-by-its-file", "healthy", "torch-2.6", by_run, then(program(ONES), writes(crontab("SHELL=/bin/bash", "0 3 * * * . {home}/miniconda3/etc/profile.d/conda.sh && conda activate ml && python {home}/work/main.py")))),
    Scene("odd-editor-of-the-environment", "healthy", "torch-2.6", by_run, then(program(ONES), writes({"work/.vscode/settings.json": '{"python.defaultInterpreterPath": "{env}/bin/python"}\n'}))),
    Scene("odd-options-that-are-known", "healthy", "torch-2.8", ALLOCATOR, sets(PYTORCH_CUDA_ALLOC_CONF="max_split_size_mb: 512,roundup_power2_divisions:[256:1,512:2,>:8],", NCCL_SOCKET_IFNAME="^docker0,lo", TRITON_CACHE_DIR="{home}/a/b/c")),
    Scene("odd-architectures-by-name", "healthy", "torch-2.8", BUILD_FLAGS, then(installs("setuptools<81"), sets(TORCH_CUDA_ARCH_LIST="Ampere;Hopper 8.9+PTX", CXX="g++"))),
    Scene("odd-compiler-by-name", "healthy", "torch-2.8", TRITON_BUILD, sets(CC="gcc")),
    Scene("odd-cache-to-be-made", "healthy", "torch-2.8", TRITON_CACHE, sets(TRITON_CACHE_DIR="{home}/cache/triton")),
    Scene("odd-precision-that-is-known", "healthy", "jax", JAX, sets(JAX_DEFAULT_MATMUL_PRECISION="tensorfloat32", JAX_PLATFORMS="cpu")),
    Scene("odd-alias-of-python3", "healthy", "torch-2.6", ALIASED, then(BASH, writes({".bashrc": "alias python=python3\nalias ll='ls -l'\n"}))),
    Scene("odd-kernel-with-a-bare-name", "healthy", "torch-2.6", TORCH, inside("../../../share/jupyter/kernels/python3/kernel.json", spec("python", {}))),
    Scene("odd-script-that-searches", "healthy", "ctranslate2", SCRIPT, then(CT2_PATHS, script("work/run.sh", SEARCHED, "work"))),
    Scene("odd-launcher-that-searches", "healthy", "ctranslate2", BY_THE_DESKTOP, then(CT2_PATHS, writes({".local/share/applications/subtitles.desktop": "[Desktop Entry]\nType=Application\nName=Subtitles\nExec=sh {home}/bin/subtitles\n"}), script("bin/subtitles", SEARCHED))),
)  # fmt: skip
