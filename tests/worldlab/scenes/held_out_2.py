"""The second held-out set: again from the list of classes and public threads alone, by someone who had not read the rules.

Committed before the first run, and scored once. Above each row: the thread that it is made from, or "class only".
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

from tests.worldlab.environments import master, site, uv
from tests.worldlab.scene import Ran, Scene, World, imports, installs, lacks, loses, opens, runs, then
from tests.worldlab.scenes.held_out import CUBLAS, PROVIDER, Plant, command, inside, mode, sets, spec, writes

# --- what the real programs do ------------------------------------------------------------------------------------------

TORCH = imports("torch")
JAX = runs("import jax; jax.devices('cpu'); jax.numpy.ones(3).sum()")
NUMPY = runs("import onnxruntime, numpy; numpy.ones(3).sum(); onnxruntime.InferenceSession")
BNB = runs(
    "import ctypes, torch; from bitsandbytes.cuda_specs import CUDASpecs; from bitsandbytes.cextension import get_cuda_bnb_library_path\n"
    "p = get_cuda_bnb_library_path(CUDASpecs((8, 0), '128', (12, 8))); assert p.exists(), f'Configured CUDA binary not found at {p}'\n"
    "ctypes.CDLL(str(p))"
)
PTXAS = runs("from triton import knobs; print(knobs.nvidia.ptxas.path, knobs.nvidia.ptxas.version)")
TF_KERAS = runs("import tensorflow as tf; tf.keras.layers.Dense(3)")
INDUCTOR = runs("import torch; import torch._inductor.runtime.triton_heuristics, torch._inductor.codegen.triton")
GPU_PROVIDER = runs(
    "import onnxruntime; p = onnxruntime.get_available_providers(); assert 'CUDAExecutionProvider' in p, f'Available providers: {p}'"
)
GPU_OPTIONS = runs("from jaxlib import xla_client; xla_client.generate_pjrt_gpu_plugin_options()")
"""What JAX asks for before it starts its client of the GPU."""


def oracle_of_script(world: World) -> Ran:
    """Run the person's own file, from its folder."""
    done = world.run([world.python, next(world.cwd.glob("*.py")) if world.cwd else "main.py"])
    said = (done.stdout + done.stderr).decode("utf-8", "replace").strip()
    return Ran(ok=done.returncode == 0, said=said[-3000:] or f"status {done.returncode}")


def kernel(world: World) -> Sequence[str | Path]:
    """Start as Jupyter starts its kernel: the words of argv before ``-m``, with env."""
    text = next((world.home / ".local/share/jupyter/kernels").glob("*/kernel.json"))
    words = json.loads(text.read_text())
    return ["env", *(f"{k}={v}" for k, v in words.get("env", {}).items()), *words["argv"][: words["argv"].index("-m")]]


def unit(world: World) -> Sequence[str | Path]:
    """Start as systemd starts the user's unit: its drop-ins after it, files of variables after single variables."""
    folder = world.home / ".config/systemd/user"
    texts = [next(folder.glob("*.service")), *sorted(folder.glob("*.service.d/*.conf"))]
    lines = [line.partition("=") for text in texts for line in text.read_text().splitlines() if "=" in line]
    given = [word for key, _, value in lines if key == "Environment" for word in shlex.split(value)]
    files = [
        Path(value.lstrip("-").replace("%h", str(world.home))) for key, _, value in lines if key == "EnvironmentFile"
    ]
    given += [w for f in files if f.is_file() for w in f.read_text().splitlines() if w and not w.startswith("#")]
    program = next(shlex.split(value)[0] for key, _, value in lines if key == "ExecStart")
    return ["env", "-i", "PATH=/usr/bin:/bin", f"HOME={world.home}", *given, program]


def session(world: World) -> Sequence[str | Path]:
    """Start from the desktop: systemd gives its session what the files of environment.d say."""
    files = sorted((world.home / ".config/environment.d").glob("*.conf"))
    given = [w.replace("$HOME", str(world.home)) for f in files for w in f.read_text().splitlines() if "=" in w]
    return ["env", *given, world.python]


def terminal(world: World) -> Sequence[str | Path]:
    """Start in the terminal of VS Code, which sets what the settings of the folder say."""
    settings = json.loads((world.home / "work/.vscode/settings.json").read_text())
    given = settings["terminal.integrated.env.linux"].items()
    return [
        "env",
        *(f"{k}={v.replace('${workspaceFolder}', str(world.home / 'work'))}" for k, v in given),
        world.python,
    ]


def conda(world: World) -> Sequence[str | Path]:
    """Start in the activated environment: conda reads each file of activate.d."""
    script = 'for f in "$CONDA_PREFIX"/etc/conda/activate.d/*.sh; do . "$f"; done; exec "$0" "$@"'
    return ["env", f"CONDA_PREFIX={world.prefix}", "bash", "-c", script, world.python]


# --- what people do -----------------------------------------------------------------------------------------------------


def as_conda(text: str) -> Plant:
    """Make the environment one of conda's, with a script of the person's for its activation."""

    def plant(world: World) -> None:
        for name, content in {
            "conda-meta/history": "==> 2026-03-02 10:11:12 <==\n",
            "etc/conda/activate.d/env_vars.sh": text,
        }.items():
            path = world.prefix / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content.replace("{home}", str(world.home)))

    return plant


def target(folder: str, *arguments: str) -> Plant:
    """Install into a folder of the home, as ``pip install --target`` does."""

    def plant(world: World) -> None:
        place = world.home / folder
        uv("pip", "install", "--quiet", "--python", str(world.python), "--no-deps", "--target", str(place), *arguments)

    return plant


def zipped(name: str, module: str, text: str) -> Plant:
    """Put one module into an archive, as ``spark-submit --py-files`` is given."""

    def plant(world: World) -> None:
        import zipfile

        path = world.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(module, text)

    return plant


def checkout_of_bitsandbytes(world: World) -> None:
    """Install it editable from a checkout in which nothing was compiled."""
    source, name = world.home / "src/bitsandbytes", "bitsandbytes-0.47.0.dist-info"
    kept = shutil.ignore_patterns("*.so", "__pycache__")
    shutil.copytree(world.site / "bitsandbytes", source / "bitsandbytes", ignore=kept)
    metadata = (world.site / name / "METADATA").read_text()
    lacks("bitsandbytes")(world)
    inside("__editable__.bitsandbytes-0.47.0.pth", "{home}/src/bitsandbytes\n")(world)
    inside(f"{name}/METADATA", metadata)(world)
    inside(f"{name}/direct_url.json", json.dumps({"dir_info": {"editable": True}, "url": f"file://{source}"}))(world)
    inside(
        f"{name}/RECORD",
        f"__editable__.bitsandbytes-0.47.0.pth,,\n{name}/METADATA,,\n{name}/direct_url.json,,\n{name}/RECORD,,\n",
    )(world)


def loses_cfg(world: World) -> None:
    """Lose pyvenv.cfg: the environment was copied without it."""
    (world.prefix / "pyvenv.cfg").unlink()


def preloads(of: str, pattern: str) -> Plant:
    """Preload a library of another installation, which lies in the home."""

    def plant(world: World) -> None:
        found = next(site(master(of)).glob(pattern))
        place = world.home / "nccl-2.21" / "lib" / found.name
        place.parent.mkdir(parents=True)
        os.link(found, place)
        world.variables["LD_PRELOAD"] = str(place)

    return plant


def wrapper(text: str) -> Plant:
    """Write a script that starts Python; the person names it to the scan."""

    def plant(world: World) -> None:
        path = world.home / "bin" / "train"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("{env}", str(world.prefix)).replace("{home}", str(world.home)))
        path.chmod(0o755)
        world.arguments += ["--program", str(path)]

    return plant


def kernel_script(text: str) -> Plant:
    """Write a kernel whose first word is a script, and the script."""

    def plant(world: World) -> None:
        path = world.home / "bin" / "kernel.sh"
        writes(
            {"bin/kernel.sh": text, ".local/share/jupyter/kernels/gpu/kernel.json": spec("{home}/bin/kernel.sh", {})}
        )(world)
        path.chmod(0o755)

    return plant


def slim(world: World) -> None:
    """Drop headers, as people do who want a small image."""
    for folder in world.site.glob("nvidia/*/include"):
        shutil.rmtree(folder)


SEARCHED = "{site}/nvidia/cublas/lib:{site}/nvidia/cudnn/lib"
FOLDERS = (
    "cublas",
    "cuda_cupti",
    "cuda_nvrtc",
    "cuda_runtime",
    "cudnn",
    "cufft",
    "curand",
    "cusolver",
    "cusparse",
    "nccl",
    "nvjitlink",
)
ALL_SEARCHED = sets(LD_LIBRARY_PATH=":".join(f"{{site}}/nvidia/{name}/lib" for name in FOLDERS))
CT2_PATHS = sets(LD_LIBRARY_PATH=SEARCHED)
SET_PATH = "LD_LIBRARY_PATH={env}/lib/python3.11/site-packages/nvidia/cublas/lib:{env}/lib/python3.11/site-packages/nvidia/cudnn/lib"
STUB = "def is_available():\n    return False\n"
UNIT = "[Unit]\nDescription=Server\n[Service]\n%sExecStart={env}/bin/python -m server\n[Install]\nWantedBy=default.target\n"

LOST = ("corrupt_or_truncated_file", "cuda_runtime_missing", "installation_interrupted")
SHADOWED = ("module_shadowed",)
NOT_SEARCHED = ("process_env_not_inherited", "cuda_not_on_search_path", "cudnn_not_on_search_path")
BROKEN = ("requirement_broken",)
FOREIGN = ("package_for_another_python", "dll_wrong_architecture")
VALUE = ("variable_value_wrong",)

SCENES: tuple[Scene, ...] = (
    # --- A: a library outside cuDNN, cudart, cuBLAS, NVRTC is absent or unfit
    # https://github.com/pytorch/pytorch/issues/30450
    Scene("torch-lost-caffe2-nvrtc", "A", "torch-2.8", opens("torch/lib/libcaffe2_nvrtc.so", after="import torch"), loses("torch/lib/libcaffe2_nvrtc.so"), LOST, "torch", "libcaffe2_nvrtc.so", "libcaffe2_nvrtc"),
    # https://github.com/bitsandbytes-foundation/bitsandbytes/issues/1190
    Scene("bitsandbytes-lost-its-binary", "A", "torch-2.8", BNB, then(installs("packaging"), loses("bitsandbytes/libbitsandbytes_cuda128.so")), LOST, "bitsandbytes", "libbitsandbytes_cuda128.so", "not found"),
    # class only: a cleaner took the file between the providers
    Scene("onnxruntime-lost-shared-provider", "A", "onnxruntime-1.23", PROVIDER, then(ALL_SEARCHED, loses("onnxruntime/capi/libonnxruntime_providers_shared.so")), LOST, "onnxruntime-gpu", "libonnxruntime_providers_shared.so", "providers_shared"),
    # class only
    Scene("triton-lost-libtriton", "A", "torch-2.8", imports("torch", "triton"), loses("triton/_C/libtriton.so"), LOST, "", "libtriton", "libtriton"),
    # class only
    Scene("tensorflow-lost-framework", "A", "tensorflow", imports("tensorflow"), loses("tensorflow/libtensorflow_framework.so.2"), LOST, "tensorflow", "libtensorflow_framework.so.2", "libtensorflow_framework"),
    # class only: what torchvision needs of Pillow
    Scene("pillow-lost-libtiff", "A", "torch-2.6", imports("torch", "torchvision"), loses("pillow.libs/libtiff*"), LOST, "", "libtiff", "libtiff"),
    # class only: installed by root with a closed umask
    Scene("ctranslate2-closed-libraries", "A", "ctranslate2", runs("import ctranslate2; ctranslate2.Translator"), then(CT2_PATHS, mode("ctranslate2.libs", 0o000, rights=True)), ("library_unreadable",), "ctranslate2", "ctranslate2.libs", "libctranslate2"),
    # --- B: all files are there and do not fit each other
    # https://github.com/unslothai/unsloth/issues/2403
    Scene("torch-2.6-newer-triton", "B", "torch-2.6", INDUCTOR, installs("--no-deps", "triton==3.4.0"), BROKEN, "", "triton", "triton"),
    # https://github.com/tensorflow/text/issues/961
    Scene("tensorflow-text-of-an-older-tensorflow", "B", "tensorflow", imports("tensorflow", "tensorflow_text"), installs("--no-deps", "tensorflow-text==2.18.1"), ("extension_abi_mismatch", "requirement_broken"), "", "text", "undefined symbol"),
    # https://github.com/tensorflow/tensorflow/issues/98406
    Scene("tensorflow-h5py-of-numpy-1", "B", "tensorflow", TF_KERAS, installs("--no-deps", "h5py==3.10.0"), ("numpy_abi_mismatch", "requirement_broken"), "", "h5py", "numpy"),
    # https://github.com/microsoft/onnxruntime/issues/26996
    Scene("onnxruntime-over-onnxruntime-gpu", "B", "onnxruntime-1.23", GPU_PROVIDER, then(ALL_SEARCHED, installs("--no-deps", "onnxruntime==1.23.2")), ("duplicate_framework_packages", "framework_cpu_only_build"), "", "onnxruntime", "Available providers"),
    # https://github.com/pytorch/text/issues/2288
    Scene("torchtext-of-torch-2.3", "B", "torch-2.6", imports("torch", "torchtext"), installs("--no-deps", "torchtext==0.18.0", "tqdm", "requests"), ("extension_abi_mismatch", "requirement_broken"), "", "torchtext", "undefined symbol"),
    # class only: another package asked for the old Keras
    Scene("tensorflow-2.20-older-keras", "B", "tensorflow", TF_KERAS, installs("--no-deps", "keras==2.15.0"), BROKEN, "", "keras", "keras"),
    # https://github.com/pytorch/pytorch/issues/119932
    Scene("torch-preloaded-older-nccl", "B", "torch-2.8", TORCH, preloads("torch-2.6", "nvidia/nccl/lib/libnccl.so.2"), ("cuda_lib_shadowed", "ld_library_path_override", "variable_value_wrong"), "torch", "nccl-2.21", "undefined symbol: nccl"),
    # class only: another package asked for the old SymPy
    Scene("torch-older-sympy", "B", "torch-2.8", imports("torch", "torch._dynamo", "torch._inductor.sizevars"), installs("--no-deps", "sympy==1.9"), BROKEN, "torch", "sympy", "sympy"),
    # --- C: Python finds another file than one thinks
    # https://github.com/pytorch/pytorch/issues/14014
    Scene("torch-script-named-dis", "C", "torch-2.8", oracle_of_script, writes({"work/dis.py": "import torch\nprint(torch.ones(3))\n"}, "work"), SHADOWED, "", "dis.py", "dis"),
    # https://github.com/bitsandbytes-foundation/bitsandbytes/issues/1614
    Scene("bitsandbytes-checkout-not-compiled", "C", "torch-2.8", BNB, then(installs("packaging"), checkout_of_bitsandbytes), (*LOST, "module_shadowed", "python_environment_broken", "framework_cpu_only_build"), "", "bitsandbytes", "not found"),
    # class only: a folder named as the compiler, kept for NVIDIA's inference server of that name
    Scene("triton-folder-of-a-server", "C", "torch-2.8", imports("torch", "triton.language"), writes({"work/triton/__init__.py": "MODELS = 'models'\n", "work/triton/models/config.pbtxt": "name: \"resnet\"\n"}, "work"), SHADOWED, "", "work/triton", "triton.language"),
    # class only: start-up code puts a folder first
    Scene("jax-behind-sitecustomize", "C", "jax", JAX, then(writes({"vendor/ml_dtypes.py": "bfloat16 = None\n"}), inside("sitecustomize.py", "import sys\nsys.path.insert(0, '{home}/vendor')\n")), SHADOWED, "", "vendor/ml_dtypes.py", "ml_dtypes"),
    # https://github.com/keithrozario/Klayers/issues/154
    Scene("pillow-of-a-layer-for-3.12", "C", "torch-2.6", imports("torch", "torchvision"), then(target("layer/python", "--python-version", "3.12", "pillow==11.3.0"), sets(PYTHONPATH="{home}/layer/python")), (*FOREIGN, "module_shadowed"), "", "layer/python", "_imaging"),
    # class only: the packages were installed in an image of Alpine
    Scene("numpy-of-alpine", "C", "onnxruntime-1.23", NUMPY, then(ALL_SEARCHED, installs("--no-deps", "--reinstall", "--python-platform", "x86_64-unknown-linux-musl", "numpy==2.3.5")), FOREIGN, "", "numpy", "numpy"),
    # class only: copied by a tool that leaves settings out
    Scene("torch-environment-without-cfg", "C", "torch-2.6", TORCH, loses_cfg, ("python_environment_broken", "wrong_environment_active"), "", "pyvenv.cfg", "No module named 'torch'"),
    # class only: an archive on the path
    Scene("typing-extensions-in-an-archive", "C", "torch-2.6", TORCH, then(zipped("spark/deps.zip", "typing_extensions.py", "from typing import *\n"), sets(PYTHONPATH="{home}/spark/deps.zip")), (*SHADOWED, "requirement_broken"), "", "deps.zip", "typing_extensions"),
    # https://github.com/microsoft/onnxruntime/issues/3326
    Scene("onnxruntime-gpu-after-its-twin-left", "C", "onnxruntime-1.20", runs("import onnxruntime; onnxruntime.InferenceSession"), then(ALL_SEARCHED, installs("--no-deps", "onnxruntime==1.20.0"), lacks("onnxruntime")), (*LOST, "duplicate_framework_packages"), "", "onnxruntime"),
    # --- D: the program is started in another way than the scan
    # https://github.com/microsoft/vscode-jupyter/issues/10927
    Scene("ctranslate2-kernel-by-a-script", "D", "ctranslate2", command(kernel, CUBLAS), then(CT2_PATHS, kernel_script('#!/bin/bash\nsource /etc/profile.d/cuda.sh 2>/dev/null\nexport LD_LIBRARY_PATH=/opt/cuda-11.8/lib64\nexec {env}/bin/python "$@"\n')), NOT_SEARCHED, "ctranslate2", "kernel.sh", "libcublas"),
    # https://github.com/NVIDIA/JAX-Toolbox/pull/1004
    Scene("jax-activated-by-conda", "D", "jax", command(conda, "import jax; jax.devices('cpu')"), as_conda("export XLA_FLAGS='--xla_gpu_simplify_all_fp_conversions=true'\n"), VALUE, "", "env_vars.sh", "Unknown flag"),
    # class only: a desktop session has what environment.d says
    Scene("torch-in-the-session", "D", "torch-2.6", command(session, "import torch; torch.ones(1)"), writes({".config/environment.d/60-ros.conf": "# for the robot\nPYTHONPATH=$HOME/ros/lib\n", "ros/lib/torch/__init__.py": STUB}), SHADOWED, "torch", "60-ros.conf", "has no attribute"),
    # class only: a unit with a file of variables
    Scene("tensorflow-service-with-a-file", "D", "tensorflow", command(unit, "import tensorflow as tf; tf.keras.layers.Dense(3)"), writes({".config/systemd/user/predict.service": UNIT % "EnvironmentFile=%h/predict.env\n", "predict.env": "# as the old server had it\nTF_USE_LEGACY_KERAS=1\n"}), (*VALUE, "requirement_broken"), "", "predict.env", "Keras"),
    # https://github.com/jhj0517/Whisper-WebUI/issues/114, with a drop-in
    Scene("ctranslate2-service-with-a-drop-in", "D", "ctranslate2", command(unit, CUBLAS), then(CT2_PATHS, writes({".config/systemd/user/whisper.service": UNIT % f"Environment={SET_PATH}\n", ".config/systemd/user/whisper.service.d/override.conf": "[Service]\nEnvironment=LD_LIBRARY_PATH=/usr/local/cuda/lib64\n"})), NOT_SEARCHED, "ctranslate2", "override.conf", "libcublas"),
    # https://github.com/microsoft/vscode-python/issues/6429
    Scene("onnxruntime-in-the-terminal-of-vscode", "D", "onnxruntime-1.23", command(terminal, "import onnxruntime; onnxruntime.InferenceSession"), then(ALL_SEARCHED, writes({"work/.vscode/settings.json": '{"terminal.integrated.env.linux": {"PYTHONPATH": "${workspaceFolder}/mocks"}, "python.defaultInterpreterPath": "{env}/bin/python"}\n', "work/mocks/onnxruntime/__init__.py": "class Session:\n    pass\n"}, "work")), SHADOWED, "", "settings.json", "has no attribute"),
    # class only: a wrapper that changes the folder
    Scene("torch-by-a-wrapper-elsewhere", "D", "torch-2.6", command(lambda w: [w.home / "bin/train"]), then(writes({"experiments/tokenize.py": "def tokenize(text):\n    return text.split()\n"}), wrapper('#!/bin/bash\nset -e\ncd "{home}/experiments"\nexec {env}/bin/python "$@"\n')), SHADOWED, "", "experiments/tokenize.py", "tokenize"),
    # --- E: variables that name places or mean a contract
    # https://github.com/pytorch/pytorch/issues/151055
    Scene("torch-unknown-log", "E", "torch-2.8", TORCH, sets(TORCH_LOGS="aot_g"), VALUE, "", "TORCH_LOGS", "Invalid log settings"),
    # https://github.com/triton-lang/triton/pull/1165
    Scene("triton-ptxas-path-is-a-folder", "E", "torch-2.8", PTXAS, then(writes({"cuda-12.8/bin/README": "tools\n"}), sets(TRITON_PTXAS_PATH="{home}/cuda-12.8/bin")), VALUE, "", "TRITON_PTXAS_PATH", "cuda-12.8/bin"),
    # class only
    Scene("jax-share-of-memory-in-percent", "E", "jax", GPU_OPTIONS, sets(XLA_PYTHON_CLIENT_MEM_FRACTION="80%"), VALUE, "", "XLA_PYTHON_CLIENT_MEM_FRACTION", "80%"),
    # class only
    Scene("cupy-switch-is-no-number", "E", "cupy", imports("cupy"), then(ALL_SEARCHED, sets(CUPY_CUDA_PER_THREAD_DEFAULT_STREAM="yes")), VALUE, "", "CUPY_CUDA_PER_THREAD_DEFAULT_STREAM", "'yes'"),
    # https://github.com/huggingface/transformers/pull/40391
    Scene("tensorflow-legacy-keras-absent", "E", "tensorflow", TF_KERAS, sets(TF_USE_LEGACY_KERAS="1"), (*VALUE, "requirement_broken"), "", "TF_USE_LEGACY_KERAS", "Keras cannot be imported"),
    # class only
    Scene("inductor-threads-by-a-word", "E", "torch-2.8", imports("torch", "torch._inductor.config"), sets(TORCHINDUCTOR_COMPILE_THREADS="auto"), VALUE, "", "TORCHINDUCTOR_COMPILE_THREADS", "'auto'"),
    # --- odd, and healthy
    # class only: a line of a .pth file that fails is told, and passed over
    Scene("odd-pth-that-fails", "healthy", "torch-2.6", TORCH, inside("old-tool.pth", "import old_tool_that_is_gone\n")),
    # https://github.com/pytorch/pytorch/issues/119932 (the cure that people share)
    Scene("odd-preloads-its-own-nccl", "healthy", "torch-2.8", TORCH, sets(LD_PRELOAD="{site}/nvidia/nccl/lib/libnccl.so.2")),
    # class only
    Scene("odd-archive-on-the-path", "healthy", "torch-2.6", TORCH, then(zipped("spark/deps.zip", "my_features.py", "x = 1\n"), sets(PYTHONPATH="{home}/spark/deps.zip:{home}/spark/gone.egg"))),
    # class only
    Scene("odd-sitecustomize", "healthy", "jax", JAX, then(writes({"vendor/mine.py": "x = 1\n"}), inside("sitecustomize.py", "import os, sys\nsys.path.insert(0, '{home}/vendor')\nos.environ.setdefault('COVERAGE_CORE', 'sysmon')\n"))),
    # class only
    Scene("odd-variables-of-jax", "healthy", "jax", runs("from jaxlib import xla_client; xla_client.generate_pjrt_gpu_plugin_options(); import jax; jax.numpy.ones(3).sum()"), sets(XLA_PYTHON_CLIENT_MEM_FRACTION="0.90", XLA_PYTHON_CLIENT_ALLOCATOR="platform", JAX_COMPILATION_CACHE_DIR="{home}/.cache/jax", JAX_PLATFORMS="", XLA_FLAGS="")),
    # class only: the file of variables is optional and absent
    Scene("odd-unit-with-an-optional-file", "healthy", "ctranslate2", command(unit, CUBLAS), then(CT2_PATHS, writes({".config/systemd/user/whisper.service": UNIT % f"EnvironmentFile=-%h/whisper.env\nEnvironment={SET_PATH}\n"}))),
    # class only
    Scene("odd-kernel-by-a-script", "healthy", "torch-2.6", command(kernel), kernel_script('#!/bin/bash\nexport OMP_NUM_THREADS=4\nexec {env}/bin/python "$@"\n')),
    # class only
    Scene("odd-activated-by-conda", "healthy", "torch-2.8", command(conda), as_conda("export OLD_LD_LIBRARY_PATH=$LD_LIBRARY_PATH\nexport TORCH_LOGS=+dynamo\nexport TORCHINDUCTOR_COMPILE_THREADS=1\n")),
    # class only: an image without headers
    Scene("odd-without-headers", "healthy", "torch-2.6", imports("torch", "torchvision"), slim),
    # class only: torch 2.6 runs with both
    Scene("odd-older-numpy", "healthy", "torch-2.6", runs("import torch, numpy; torch.from_numpy(numpy.ones(3)).numpy()"), installs("numpy==1.26.4")),
    # class only: the session's file says nothing that matters
    Scene("odd-session", "healthy", "onnxruntime-1.23", command(session, "import onnxruntime; onnxruntime.InferenceSession"), then(ALL_SEARCHED, writes({".config/environment.d/10-editor.conf": "EDITOR=vim\nMAX_JOBS=2\n"}))),
)  # fmt: skip
