"""The twelfth held-out set, classes A to E, in the field's core: from public threads, by somebody who has read no rule and no probe.

Committed before the first run. Above each row: the thread that it is made from, or "class only". The last step of each
fault's plant is the fault; without it, or with what its healthy twin has in its place, the real program works.
"""

from __future__ import annotations

import os
import shlex

from tests.worldlab.environments import VERSION
from tests.worldlab.scene import Ran, Scene, World, imports, installs, lacks, loses, opens, runs, then
from tests.worldlab.scenes.held_out_8 import Plant, calls, checkout, filled, layered, noexec, sets, writes
from tests.worldlab.scenes.starters import WORKS, program, started, unit_text

# --- what the real programs do ------------------------------------------------------------------------------------------

TORCH = imports("torch")
ONES = "import torch; torch.ones(1)"
JAX = "import jax; jax.devices('cpu')"
CUBLAS = "import ctypes, ctranslate2; ctypes.CDLL('libcublas.so.12'); ctypes.CDLL('libcudnn.so.9')"
"""What CTranslate2 opens by its bare name for its first matrix."""
CUSPARSE = "from jax_cuda12_plugin import _versions; _versions.cusparse_get_version()"
"""What JAX asks each library of CUDA for before it uses a card."""
PROVIDER = runs(
    "import ctypes, os, onnxruntime; there = os.path.dirname(onnxruntime.__file__)\n"
    "for name in ('shared', 'cuda'):\n"
    "    ctypes.CDLL(f'{there}/capi/libonnxruntime_providers_{name}.so', mode=os.RTLD_NOW | ctypes.RTLD_GLOBAL)"
)
"""What a session with the CUDA provider opens first."""
PLUGIN = runs(
    "from jaxlib import plugin_support as p; assert p.import_from_plugin('cuda', '_versions'), 'no plug-in of this jaxlib'"
)
PROBE = (
    "#include <Python.h>\n"
    'static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "probe", 0, -1, 0};\n'
    "PyMODINIT_FUNC PyInit_probe(void) { return PyModule_Create(&module); }\n"
)
COMPILES = runs(
    f"import torch; from triton.runtime.build import compile_module_from_src as build; build({PROBE!r}, 'probe')"
)
"""How Triton makes its launchers: with the C compiler, into its cache, and from there into the process."""
KERAS = runs("import keras; keras.Sequential")
MODELS = runs("from transformers import AutoTokenizer, PreTrainedModel")
TRAINER = runs("from transformers import TrainingArguments; TrainingArguments('out', report_to=[], use_cpu=True)")
BNB_CUDA = runs(
    "import ctypes, torch\n"
    "from bitsandbytes.cextension import get_cuda_bnb_library_path as path\n"
    "from bitsandbytes.cuda_specs import CUDASpecs\n"
    "ctypes.CDLL(str(path(CUDASpecs((9, 0), '128', (12, 8)))))"
)
"""The library that bitsandbytes selects on a computer with a card."""
XLA = runs("import tensorflow as tf; tf.function(lambda x: x * 2, jit_compile=True)(tf.ones(2))")
FETCHES = runs(
    "import io, requests\nfrom huggingface_hub.file_download import http_get\n"
    "try:\n    http_get('http://127.0.0.1:9/model.safetensors', io.BytesIO())\n"
    "except (requests.ConnectionError, RuntimeError) as e:\n    print('nobody answers there:', type(e).__name__)"
)
"""A download; without a network it fails with an error of the network, which is right here."""
ASKS_HUB = runs(
    "import requests\nfrom huggingface_hub import HfApi\n"
    "try:\n    HfApi().model_info('gpt2', timeout=2)\n"
    "except (requests.ConnectionError, requests.Timeout) as e:\n    print('nobody answers there:', type(e).__name__)"
)
DATA = runs("import datasets; datasets.Dataset.from_generator(lambda: ({'text': str(i)} for i in range(3)))['text']")
KERNEL = (
    "import sys; from jupyter_client.manager import start_new_kernel\n"
    "manager, client = start_new_kernel(kernel_name='whisper', startup_timeout=120)\n"
    f"reply = client.execute_interactive({CUBLAS!r}, timeout=120)\n"
    "manager.shutdown_kernel(now=True)\n"
    "sys.exit(reply['content']['status'] != 'ok')"
)
NOTEBOOK = calls("{env}/bin/python", "-c", KERNEL)
BY_ALIAS = started("bash", "-ic", ". {env}/bin/activate\npython main.py")
BY_MAKE = started("make", "run")
BY_GUNICORN = started("{env}/bin/gunicorn", "-b", "127.0.0.1:0", "main:app")
BY_ACCELERATE = started("{env}/bin/accelerate", "launch", "main.py")
BY_DIRENV = started("sh", "-c", "direnv allow {home} && direnv allow . && direnv exec . {env}/bin/python main.py")
BY_ZSH = calls("zsh", "-c", "{env}/bin/python main.py")
BY_SBATCH = started("env", "-i", "PATH=/usr/bin:/bin", "HOME={home}", "bash", "{home}/work/transcribe.sbatch")
"""``--export=NONE`` gives a job none of the variables of the shell that submits it."""
BY_ACTIVATION = started("bash", "-c", ". {env}/bin/activate && python main.py")


def by_cron(world: World) -> Ran:
    """Run the one job as cron does: by /bin/sh, in the home, with its own variables and those of the table."""
    given = ["PATH=/usr/bin:/bin", "SHELL=/bin/sh", f"HOME={world.home}"]
    command = ""
    for line in (world.folder / "spool/cron/crontabs/root").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            if line[0].isalpha():
                given.append(line.replace(" ", ""))
            else:
                command = line.split(None, 5)[5]
    done = world.run(["env", "-i", *given, "sh", "-c", command])
    said = (done.stdout + done.stderr).decode("utf-8", "replace").strip()
    return Ran(ok=WORKS in said, said=said[-3000:] or f"status {done.returncode}")


def by_unit_with_names(world: World) -> Ran:
    """Run what the unit starts; a line of its file that begins with no name of a variable is ignored (systemd.exec(5))."""
    unit = (world.home / ".config/systemd/user/serve.service").read_text()
    start = next(line for line in unit.splitlines() if line.startswith("ExecStart=")).partition("=")[2]
    lines = [line for line in (world.home / "serve.env").read_text().splitlines() if "=" in line]
    given = [shlex.split(line)[0] for line in lines if line.partition("=")[0].isidentifier()]
    done = world.run(["env", "-i", "PATH=/usr/bin:/bin", f"HOME={world.home}", *given, *shlex.split(start)])
    said = (done.stdout + done.stderr).decode("utf-8", "replace").strip()
    return Ran(ok=WORKS in said, said=said[-3000:] or f"status {done.returncode}")


# --- what people do -----------------------------------------------------------------------------------------------------

LIBRARIES = "{site}/nvidia/cublas/lib:{site}/nvidia/cudnn/lib"
SEARCHED = f"LD_LIBRARY_PATH={LIBRARIES}"


def searches(world: World) -> None:
    """Let the loader search every library folder of NVIDIA's packages, as the shell's start-up file does."""
    world.variables["LD_LIBRARY_PATH"] = ":".join(map(str, sorted(world.site.glob("nvidia/*/lib"))))


def without_headers(world: World) -> None:
    """Start programs where Python's headers are not installed: python3-dev is not there."""
    include = world.run([world.python, "-c", "import sysconfig; print(sysconfig.get_paths()['include'])"])
    (world.folder / "nothing").mkdir()
    script = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'
    headers = include.stdout.decode().strip()
    world.launcher += ["unshare", "-m", "sh", "-c", script, "sh", str(world.folder / "nothing"), headers]


def crontab(text: str) -> Plant:
    """Have a table of cron's; the machine's own spool is left alone."""

    def plant(world: World) -> None:
        tables = world.folder / "spool/cron/crontabs"
        tables.mkdir(parents=True, exist_ok=True)
        (tables / "root").write_text(filled(text, world))
        (tables / "root").chmod(0o600)
        script = 'mount --bind "$1" /var/spool && shift && exec "$@"'
        world.launcher = ["unshare", "-m", "sh", "-c", script, "sh", str(world.folder / "spool")]

    return plant


def toolkit(where: str, package: str, library: str) -> Plant:
    """Have one library of another release of CUDA in a toolkit's folder."""

    def plant(world: World) -> None:
        layered("unpacked", "--no-deps", package)(world)
        (found,) = (world.home / "unpacked").glob(f"nvidia/*/lib/{library}")
        (world.home / where).mkdir(parents=True, exist_ok=True)
        found.rename(world.home / where / library)

    return plant


def adds(name: str, text: str) -> Plant:
    """Write something at the end of a file of the environment, by hand."""

    def plant(world: World) -> None:
        path = world.own(world.prefix / name)
        path.write_text(path.read_text() + filled(text, world))

    return plant


def owned_by_another(where: str) -> Plant:
    """Have a folder that everyone may read, and only its owner may write into."""

    def plant(world: World) -> None:
        folder = world.home / where
        folder.mkdir(parents=True)
        os.chown(folder, 12345, 12345)
        folder.chmod(0o755)
        world.plain_rights = True

    return plant


def extended(where: str) -> Plant:
    """Put a folder before the packages, as virtualenvwrapper's ``add2virtualenv`` does."""

    def plant(world: World) -> None:
        (world.site / "_virtualenv_path_extensions.pth").write_text(
            "import sys; sys.__plen = len(sys.path)\n"
            f"{world.home / where}\n"
            "import sys; new=sys.path[sys.__plen:]; del sys.path[sys.__plen:]; "
            "p=getattr(sys,'__egginsert',0); sys.path[p:p]=new; sys.__egginsert = p+len(new)\n"
        )

    return plant


def leftovers(world: World) -> None:
    """Leave what pip moved out of the way and could not delete."""
    for name in ("~orch", "~orch-2.5.1.dist-info"):
        (world.site / name).mkdir()
    (world.site / "~orch/__init__.py").write_text("raise ImportError('an old one')\n")
    (world.site / "~orch-2.5.1.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.5.1\n")


def shared_libraries(world: World) -> None:
    """Keep NVIDIA's packages in one folder for several environments, with a link to it."""
    (world.home / "shared").mkdir()
    (world.site / "nvidia").rename(world.home / "shared/nvidia")
    (world.site / "nvidia").symlink_to(world.home / "shared/nvidia")


def development_links(world: World) -> None:
    """Make the links without a version that compilers look for."""
    for path in sorted(world.site.glob("nvidia/*/lib/lib*.so.*")):
        link = path.with_name(path.name.partition(".so.")[0] + ".so")
        if not link.exists():
            link.symlink_to(path.name)


def kernel(script: str) -> Plant:
    """Have a kernel that is started by a script."""
    spec = '{"argv": ["{home}/bin/kernel.sh", "-f", "{connection_file}"], "display_name": "Whisper", "language": "python"}\n'
    return then(
        installs("ipykernel==6.30.1", "jupyter_client==8.6.3"),
        writes({".local/share/jupyter/kernels/whisper/kernel.json": spec}),
        writes({"bin/kernel.sh": script}, "", 0o755),
        writes({"work/notes.md": ""}, "work"),
    )


OLD_LINKER = toolkit("cuda-12.1/lib64", "nvidia-nvjitlink-cu12==12.1.105", "libnvJitLink.so.12")
NEW_LINKER = toolkit("cuda-12.9/lib64", "nvidia-nvjitlink-cu12==12.9.86", "libnvJitLink.so.12")
KERNEL_SCRIPT = '#!/bin/bash\n{line}\nexec {env}/bin/python -m ipykernel_launcher "$@"\n'
APP = {
    "work/main.py": f"import os, signal\n\nimport jax\n\njax.devices('cpu')\nprint('{WORKS}', flush=True)\n"
    "os.kill(os.getppid(), signal.SIGTERM)\n\n\ndef app(environ, start_response):\n    return []\n"
}
"""A server that ends its starter when it has come up."""
GUNICORN = 'workers = 1\ntimeout = 300\nraw_env = ["JAX_ENABLE_X64={value}", "JAX_PLATFORMS=cpu"]\n'
MAKEFILE = "include .env\nexport\n\n.PHONY: run\nrun:\n\t{env}/bin/python main.py\n"
ACCELERATE = ".cache/huggingface/accelerate/default_config.yaml"
LAUNCH = (
    "compute_environment: LOCAL_MACHINE\ndebug: false\ndistributed_type: {type}\ndowncast_bf16: 'no'\n{more}"
    "machine_rank: 0\nmain_training_function: main\nmixed_precision: 'no'\nnum_machines: 1\nnum_processes: 1\n"
    "rdzv_backend: static\nsame_network: true\nuse_cpu: {cpu}\n"
)
ALONE = LAUNCH.replace("{type}", "'NO'").replace("{more}", "").replace("{cpu}", "true")
DEEPSPEED = (
    LAUNCH.replace("{type}", "DEEPSPEED")
    .replace(
        "{more}", "deepspeed_config:\n  gradient_accumulation_steps: 1\n  zero3_init_flag: false\n  zero_stage: 2\n"
    )
    .replace("{cpu}", "false")
)
SBATCH = "#!/bin/bash\n#SBATCH --job-name=transcribe\n#SBATCH --gres=gpu:1\n#SBATCH --export=NONE\ncd {home}/work\n{line}{env}/bin/python main.py\n"
UNIT = {".config/systemd/user/serve.service": unit_text("EnvironmentFile=%h/serve.env\nWorkingDirectory=%h/work\n")}
NIGHTLY = "# m h dom mon dow command\n{line}15 3 * * * cd {home}/work && {env}/bin/python main.py 2>&1\n"
ZSHENV = "typeset -xT LD_LIBRARY_PATH ld_library_path\nld_library_path=({folder} $ld_library_path)\n"
BASHRC = "# ~/.bashrc\n[ -f ~/.bash_aliases ] && . ~/.bash_aliases\n"

# --- what is expected ---------------------------------------------------------------------------------------------------

BROKEN = ("requirement_broken",)
UNFIT = ("extension_abi_mismatch", "requirement_broken")
CUT = ("corrupt_or_truncated_file", "installation_interrupted")
SHADOWED = ("module_shadowed",)
VALUE = ("variable_value_wrong",)
NOT_SEARCHED = (
    "cuda_not_on_search_path",
    "ld_library_path_override",
    "process_env_not_inherited",
    "cudnn_not_on_search_path",
)
OVERRIDDEN = ("ld_library_path_override", "cuda_lib_shadowed", "cuda_toolkit_version_mismatch")
ELSEWHERE = ("wrong_environment_active",)

SCENES: tuple[Scene, ...] = (
    # === A: absent or unfit
    # https://github.com/pytorch/pytorch/issues/129351
    Scene("triton-without-pythons-headers", "A", "torch-2.8", COMPILES, without_headers, ("build_tools_missing",), "", "Python.h", "Python.h"),
    # https://github.com/pytorch/pytorch/issues/186591
    Scene("torch-after-nccl-of-cuda-13-was-removed", "A", "torch-2.8", TORCH, then(installs("--no-deps", "nvidia-nccl-cu13==2.27.7"), lacks("nvidia-nccl-cu13")), (*CUT, "cuda_runtime_missing", "duplicate_framework_packages", "nccl_failed", *BROKEN), "torch", "libnccl.so.2", "libnccl.so.2"),
    # class only: transformers asks for each of its requirements when it is imported
    Scene("transformers-without-regex", "A", "hub", imports("transformers"), lacks("regex"), BROKEN, "", "regex", "regex"),
    # https://github.com/astral-sh/uv/issues/16349, the other way round
    Scene("jax-with-numpy-of-alpine", "A", "jax", runs(JAX), installs("--no-deps", "--reinstall", "--python-platform", "x86_64-unknown-linux-musl", "numpy==2.4.6"), ("package_for_another_python", "dll_wrong_architecture", *BROKEN), "", "numpy", "numpy"),
    # https://github.com/jax-ml/jax/issues/30050
    Scene("jax-without-cusparse", "A", "jax", runs(CUSPARSE), lacks("nvidia-cusparse-cu12"), ("cuda_runtime_missing", *BROKEN), "", "cusparse", "The cuSPARSE library was not found"),
    # class only: an image that was made slim by deleting what seems to be double
    Scene("onnxruntime-after-slimming-of-numpy", "A", "onnxruntime-1.23", imports("onnxruntime"), loses("numpy.libs/libscipy_openblas64_*.so"), CUT, "", "openblas", "openblas"),
    # class only: installed with --no-deps
    Scene("dynamo-without-mpmath", "A", "torch-2.6", imports("torch._dynamo"), lacks("mpmath"), BROKEN, "", "mpmath", "mpmath"),
    # https://github.com/bitsandbytes-foundation/bitsandbytes/pull/1615
    Scene("bitsandbytes-after-slimming", "A", "torch-2.8", opens("bitsandbytes/libbitsandbytes_cuda128.so", after="import torch"), loses("bitsandbytes/libbitsandbytes_cuda128.so"), CUT, "bitsandbytes", "libbitsandbytes_cuda128.so", "libbitsandbytes_cuda128.so"),
    # === B: all is there and does not fit
    # https://github.com/fudan-generative-vision/hallo/issues/203
    Scene("onnxruntime-for-cuda-11", "B", "onnxruntime-1.23", PROVIDER, then(searches, installs("--no-deps", "numpy==1.26.4"), installs("--no-deps", "onnxruntime-gpu==1.18.0")), ("cuda_toolkit_version_mismatch", "cuda_runtime_missing", "cudnn_major_mismatch"), "onnxruntime-gpu", ".so.11", "libcublasLt.so.11"),
    # https://github.com/ma-gilles/recovar/issues/64
    Scene("jax-newer-than-its-plugin", "B", "jax", PLUGIN, installs("--no-deps", "jax==0.8.0", "jaxlib==0.8.0"), (*BROKEN, "framework_cpu_only_build"), "", "plugin", "not compatible with the installed jaxlib"),
    # https://github.com/huggingface/transformers/issues/28294
    Scene("trainer-with-an-older-accelerate", "B", "hub", TRAINER, installs("--no-deps", "accelerate==0.20.3"), BROKEN, "", "accelerate", "accelerate>=0.26.0"),
    # class only: another program pins an older one
    Scene("transformers-with-older-safetensors", "B", "hub", imports("transformers"), installs("--no-deps", "safetensors==0.4.2"), BROKEN, "", "safetensors", "safetensors>=0.4.3"),
    # class only: what another program pulled back
    Scene("jax-with-scipy-for-numpy-1", "B", "jax", imports("jax", "scipy.linalg"), installs("--no-deps", "scipy==1.12.0"), ("numpy_abi_mismatch", *UNFIT), "", "scipy", "numpy"),
    # https://github.com/tensorflow/tensorflow/issues/98406
    Scene("keras-with-h5py-for-numpy-1", "B", "tensorflow", KERAS, installs("--no-deps", "h5py==3.10.0"), ("numpy_abi_mismatch", *UNFIT), "", "h5py", "numpy.dtype size changed"),
    # class only: a tutorial from the days of Keras 2
    Scene("tensorflow-with-keras-2", "B", "tensorflow", runs("import tensorflow as tf; tf.keras.Sequential"), installs("--no-deps", "keras==2.15.0"), BROKEN, "", "keras", "keras"),
    # https://github.com/arch4edu/arch4edu/issues/273
    Scene("cupy-older-than-numpy", "B", "cupy", imports("cupy"), installs("--no-deps", "cupy-cuda12x==13.1.0"), ("numpy_abi_mismatch", *UNFIT), "", "numpy", "numpy"),
    # === C: Python finds another file
    # class only: the key for the hub
    Scene("token-py-in-the-project", "C", "torch-2.6", TORCH, writes({"work/token.py": "HF_TOKEN = 'hf_0000'\n"}, "work"), SHADOWED, "torch", "token.py", "token"),
    # https://github.com/pytorch/pytorch/issues/19943
    Scene("pythonpath-into-the-package", "C", "torch-2.6", TORCH, sets(PYTHONPATH="{site}/torch"), (*SHADOWED, *VALUE, "python_environment_broken"), "", "site-packages/torch", "types"),
    # https://github.com/pytorch/vision/issues/1489
    Scene("torchvision-in-its-sources", "C", "torch-2.8", imports("torchvision"), then(checkout("torchvision", "code/vision"), writes({"code/vision/README.md": ""}, "code/vision")), SHADOWED, "", "code/vision", "torchvision::nms does not exist"),
    # class only: virtualenvwrapper's add2virtualenv
    Scene("ml-dtypes-of-an-extended-path", "C", "jax", runs(JAX), then(layered("code/vendor", "--no-deps", "ml-dtypes==0.4.1"), extended("code/vendor")), (*SHADOWED, *BROKEN), "", "code/vendor", "ml_dtypes"),
    # https://github.com/langchain-ai/langchain/issues/14226, with another module
    Scene("email-py-in-the-project", "C", "hub", runs("from huggingface_hub import hf_hub_download"), writes({"work/email.py": "def send(to, text):\n    print(to, text)\n"}, "work"), SHADOWED, "", "email.py", "email"),
    # class only: a module of the person's own
    Scene("platform-py-in-the-project", "C", "torch-2.8", TORCH, writes({"work/platform.py": "class Platform:\n    name = 'cuda'\n"}, "work"), SHADOWED, "torch", "platform.py", "platform"),
    # https://github.com/huggingface/transformers/issues/9322
    Scene("tokenizers-of-another-environment", "C", "hub", MODELS, then(layered(f"other/.venv/lib/python{VERSION}/site-packages", "--no-deps", "tokenizers==0.20.3"), sets(PYTHONPATH=f"{{home}}/other/.venv/lib/python{VERSION}/site-packages")), (*SHADOWED, *BROKEN), "", "other/.venv", "tokenizers"),
    # class only: a folder of the project's own networks
    Scene("keras-folder-in-the-project", "C", "tensorflow", runs("import tensorflow as tf; tf.keras.Sequential"), writes({"work/keras/__init__.py": "from .layers import Attention\n", "work/keras/layers.py": "class Attention:\n    pass\n"}, "work"), SHADOWED, "", "work/keras", "keras"),
    # === D: started in another way
    # https://github.com/torch/distro/issues/195
    Scene("ctranslate2-by-cron", "D", "ctranslate2", by_cron, then(program(CUBLAS), searches, crontab(NIGHTLY.replace("{line}", "OMP_NUM_THREADS=4\n"))), NOT_SEARCHED, "ctranslate2", "cron", "libcublas"),
    # https://github.com/jupyter/notebook/issues/5871
    Scene("ctranslate2-in-a-kernel-by-a-script", "D", "ctranslate2", NOTEBOOK, then(searches, kernel(KERNEL_SCRIPT.replace("{line}", "export LD_LIBRARY_PATH=/usr/local/cuda-10.1/lib64"))), NOT_SEARCHED, "ctranslate2", "kernel.sh", "libcublas"),
    # https://github.com/jax-ml/jax/issues/13148
    Scene("jax-flag-of-the-envrc-above", "D", "jax", BY_DIRENV, then(program(JAX), writes({"work/.envrc": "source_up\nexport JAX_LOG_COMPILES=0\n"}), writes({".envrc": "export XLA_FLAGS=-xla_force_host_platform_device_count=4\n"})), VALUE, "", "XLA_FLAGS", "XLA_FLAGS"),
    # https://github.com/infiniflow/ragflow/issues/4466, and https://github.com/jax-ml/jax/issues/28929
    Scene("jax-with-the-folders-of-zsh", "D", "jax", BY_ZSH, then(program(CUSPARSE), OLD_LINKER, sets(SHELL="/usr/bin/zsh"), writes({".zshenv": ZSHENV.replace("{folder}", "$HOME/cuda-12.1/lib64")})), OVERRIDDEN, "", "cuda-12.1", "The cuSPARSE library was not found"),
    # class only: make leaves the blanks before a comment in the value
    Scene("jax-switch-of-an-included-file", "D", "jax", BY_MAKE, then(program(JAX), writes({"work/Makefile": MAKEFILE}), writes({"work/.env": "JAX_PLATFORMS=cpu\nJAX_ENABLE_X64=1  # doubles\n"})), VALUE, "", "JAX_ENABLE_X64", "invalid truth value"),
    # https://github.com/lqtrung1998/mwp_ReFT/issues/36
    Scene("accelerate-with-the-answers-of-once", "D", "hub", BY_ACCELERATE, then(program(ONES), writes({ACCELERATE: ALONE}), writes({ACCELERATE: DEEPSPEED})), (*BROKEN, *VALUE), "", "eep", "DeepSpeed is not installed"),
    # https://github.com/systemd/systemd/issues/2836
    Scene("service-with-an-exported-path", "D", "ctranslate2", by_unit_with_names, then(program(CUBLAS), writes(UNIT), writes({"serve.env": f"{SEARCHED}\n"}), writes({"serve.env": f"OMP_NUM_THREADS=4\nexport {SEARCHED}\n"})), NOT_SEARCHED, "ctranslate2", "serve.", "libcublas"),
    # https://github.com/realpython/python-guide/pull/1010
    Scene("alias-of-the-systems-python", "D", "torch-2.6", BY_ALIAS, then(program(ONES), sets(SHELL="/bin/bash"), writes({".bashrc": BASHRC}), writes({".bash_aliases": "alias ll='ls -l'\nalias python=/usr/bin/python3\n"})), ELSEWHERE, "", ".bash_aliases", "No module named 'torch'"),
    # https://github.com/pytorch/pytorch/issues/134929
    Scene("jax-with-the-folders-of-the-activation", "D", "jax", BY_ACTIVATION, then(program(CUSPARSE), OLD_LINKER, adds("bin/activate", "\nexport LD_LIBRARY_PATH={home}/cuda-12.1/lib64:$LD_LIBRARY_PATH\n")), OVERRIDDEN, "", "cuda-12.1", "The cuSPARSE library was not found"),
    # class only: gunicorn sets variables for its workers
    Scene("jax-switch-of-gunicorn", "D", "jax", BY_GUNICORN, then(installs("gunicorn==23.0.0"), writes(APP, "work"), writes({"work/gunicorn.conf.py": GUNICORN.replace("{value}", "enabled")})), VALUE, "", "JAX_ENABLE_X64", "invalid truth value"),
    # class only: Slurm's way to start clean
    Scene("ctranslate2-job-that-exports-nothing", "D", "ctranslate2", BY_SBATCH, then(program(CUBLAS), searches, writes({"work/transcribe.sbatch": SBATCH.replace("{line}", "")})), NOT_SEARCHED, "ctranslate2", "transcribe.sbatch", "libcublas"),
    # === E: variables
    # https://github.com/pytorch/pytorch/issues/97244
    Scene("torch-logs-of-another-name", "E", "torch-2.8", TORCH, sets(TORCH_LOGS="+dynamo,guard"), VALUE, "torch", "TORCH_LOGS", "guard"),
    # https://github.com/Tavris1/AI-Toolkit-Easy-Install/issues/10
    Scene("hub-transfer-that-is-not-installed", "E", "hub", FETCHES, sets(HF_HUB_ENABLE_HF_TRANSFER="1"), (*VALUE, *BROKEN), "", "HF_HUB_ENABLE_HF_TRANSFER", "hf_transfer"),
    # https://github.com/bitsandbytes-foundation/bitsandbytes/issues/793
    Scene("bitsandbytes-for-a-toolkit-of-before", "E", "torch-2.8", BNB_CUDA, sets(BNB_CUDA_VERSION="117"), VALUE, "", "BNB_CUDA_VERSION", "libbitsandbytes_cuda117"),
    # https://github.com/jax-ml/jax/issues/15616
    Scene("jax-flag-with-a-long-dash", "E", "jax", runs(JAX), sets(XLA_FLAGS="\u2013xla_force_host_platform_device_count=4"), VALUE, "", "XLA_FLAGS", "XLA_FLAGS"),
    # https://github.com/google-research/proteinfer/issues/87
    Scene("tensorflow-flag-that-has-gone", "E", "tensorflow", XLA, sets(XLA_FLAGS="--xla_gpu_enable_triton_softmax_fusion=true"), VALUE, "tensorflow", "XLA_FLAGS", "Unknown flag"),
    # https://github.com/huggingface/transformers/issues/38323
    Scene("transformers-without-docstrings", "E", "hub", MODELS, sets(PYTHONOPTIMIZE="2"), VALUE, "", "PYTHONOPTIMIZE", "'NoneType' object has no attribute 'split'"),
    # https://github.com/pytorch/pytorch/issues/123054
    Scene("triton-cache-on-a-noexec-drive", "E", "torch-2.8", COMPILES, then(writes({"scratch/notes.md": ""}), sets(TRITON_CACHE_DIR="{home}/scratch/triton"), noexec("scratch")), ("noexec_mount", *VALUE), "", "scratch", "failed to map segment"),
    # class only: a mirror, by its name alone
    Scene("hub-mirror-without-a-scheme", "E", "hub", ASKS_HUB, sets(HF_ENDPOINT="hf-mirror.com"), VALUE, "", "HF_ENDPOINT", "No scheme supplied"),
    # https://github.com/woct0rdho/triton-windows/issues/91
    Scene("triton-compiler-that-has-gone", "E", "torch-2.8", COMPILES, sets(CC="/usr/bin/gcc-9"), (*VALUE, "build_tools_missing"), "", "gcc-9", "gcc-9"),
    # https://github.com/pytorch/pytorch/issues/119932
    Scene("torch-behind-a-preloaded-nccl", "E", "torch-2.8", TORCH, then(toolkit("nccl/lib", "nvidia-nccl-cu12==2.18.1", "libnccl.so.2"), sets(LD_PRELOAD="{home}/nccl/lib/libnccl.so.2")), (*OVERRIDDEN, *VALUE, "nccl_failed"), "torch", "nccl/lib", "undefined symbol: nccl"),
    # https://github.com/huggingface/datasets/issues/7900
    Scene("datasets-cache-of-another-person", "E", "hub", DATA, then(owned_by_another("shared/datasets"), sets(HF_DATASETS_CACHE="{home}/shared/datasets")), (*VALUE, "library_unreadable"), "", "HF_DATASETS_CACHE", "Permission denied"),
    # === odd, and healthy
    # the table sets the path itself
    Scene("cron-with-its-own-path", "healthy", "ctranslate2", by_cron, then(program(CUBLAS), searches, crontab(NIGHTLY.replace("{line}", f"{SEARCHED}\n")))),
    # the script adds to what it is given
    Scene("kernel-by-a-script-that-adds", "healthy", "ctranslate2", NOTEBOOK, then(searches, kernel(KERNEL_SCRIPT.replace("{line}", "export LD_LIBRARY_PATH=/usr/local/cuda-10.1/lib64:$LD_LIBRARY_PATH")))),
    # the flag is one
    Scene("envrc-of-two-folders", "healthy", "jax", BY_DIRENV, then(program(JAX), writes({"work/.envrc": "source_up\nexport JAX_LOG_COMPILES=0\n", ".envrc": "export XLA_FLAGS='--xla_force_host_platform_device_count=4 --xla_cpu_multi_thread_eigen=false'\n"}))),
    # a newer one has the older one's functions
    Scene("zsh-with-a-newer-linker", "healthy", "jax", BY_ZSH, then(program(CUSPARSE), NEW_LINKER, sets(SHELL="/usr/bin/zsh"), writes({".zshenv": ZSHENV.replace("{folder}", "$HOME/cuda-12.9/lib64")}))),
    # no blank before the comment
    Scene("included-file-with-comments", "healthy", "jax", BY_MAKE, then(program(JAX), writes({"work/Makefile": MAKEFILE, "work/.env": "# local\nJAX_PLATFORMS=cpu\nJAX_ENABLE_X64=1# doubles\n"}))),
    Scene("accelerate-with-its-answers", "healthy", "hub", BY_ACCELERATE, then(program(ONES), writes({ACCELERATE: ALONE}))),
    # systemd ignores the line that it does not understand, and nothing needs it
    Scene("service-with-an-exported-number", "healthy", "ctranslate2", by_unit_with_names, then(program(CUBLAS), writes(UNIT), writes({"serve.env": f"export OMP_NUM_THREADS=4\n{SEARCHED}\n"}))),
    # the alias leads to the environment
    Scene("alias-of-the-environments-python", "healthy", "torch-2.6", BY_ALIAS, then(program(ONES), sets(SHELL="/bin/bash"), writes({".bashrc": BASHRC, ".bash_aliases": "alias python={env}/bin/python\nalias python2=/usr/bin/python2\n"}))),
    # torch has loaded its own linker before anything asks for one
    Scene("activation-with-an-older-toolkit", "healthy", "torch-2.6", BY_ACTIVATION, then(program(ONES), OLD_LINKER, adds("bin/activate", "\nexport LD_LIBRARY_PATH={home}/cuda-12.1/lib64:$LD_LIBRARY_PATH\n"))),
    # the folder is not there
    Scene("activation-with-a-toolkit-that-has-gone", "healthy", "torch-2.6", BY_ACTIVATION, then(program(ONES), adds("bin/activate", "\nexport LD_LIBRARY_PATH=/usr/local/cuda-12.1/lib64:$LD_LIBRARY_PATH\n"))),
    Scene("gunicorn-with-its-switch", "healthy", "jax", BY_GUNICORN, then(installs("gunicorn==23.0.0"), writes(APP, "work"), writes({"work/gunicorn.conf.py": GUNICORN.replace("{value}", "true")}))),
    # the job sets what it needs
    Scene("job-that-exports-nothing-and-sets-all", "healthy", "ctranslate2", BY_SBATCH, then(program(CUBLAS), writes({"work/transcribe.sbatch": SBATCH.replace("{line}", f"export {SEARCHED}\n")}), searches)),
    # the loader says so at each start, and goes on
    Scene("preload-and-scratch-that-have-gone", "healthy", "torch-2.6", TORCH, sets(LD_PRELOAD="/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4", TMPDIR="/scratch/4711", MPLCONFIGDIR="/scratch/4711/mpl")),
    # pip warns of these, and nothing else minds
    Scene("leftovers-of-an-update", "healthy", "torch-2.6", TORCH, leftovers),
    # one folder for several environments
    Scene("libraries-behind-a-link", "healthy", "torch-2.8", TORCH, shared_libraries),
    Scene("hub-mirror-and-transfer", "healthy", "hub", FETCHES, then(installs("hf_transfer==0.1.9"), sets(HF_HUB_ENABLE_HF_TRANSFER="1", HF_ENDPOINT="https://hf-mirror.com", HF_HUB_DISABLE_XET="1"))),
    # assertions go, docstrings stay
    Scene("transformers-without-assertions", "healthy", "hub", MODELS, sets(PYTHONOPTIMIZE="1", PYTHONHASHSEED="0", TOKENIZERS_PARALLELISM="false", TRANSFORMERS_VERBOSITY="error")),
    # two majors of a library, each under its name in one folder
    Scene("runtime-of-cuda-11-beside", "healthy", "ctranslate2", runs(CUBLAS), then(searches, installs("--no-deps", "nvidia-cuda-runtime-cu11==11.8.89", "nvidia-cuda-runtime-cu12==12.8.90"))),
    # folders without modules, and files that are none
    Scene("folders-of-modules-names", "healthy", "hub", imports("torch", "requests", "numpy.random"), writes({"work/secrets/token.txt": "hf_0000\n", "work/requests/2026-01.json": "{}\n", "work/dis.ipynb": "{}\n", "work/torch.md": "# torch\n", "work/tests/requests.py": "x = 1\n"}, "work")),
    # what comes first is newer, and fits
    Scene("newer-package-of-a-layer", "healthy", "torch-2.6", TORCH, then(layered("layer/python", "--no-deps", "typing-extensions==4.15.0", "filelock==3.20.0"), sets(PYTHONPATH="{home}/layer/python:"))),
    # a compiler by its whole name
    Scene("triton-with-its-own-places", "healthy", "torch-2.8", COMPILES, sets(CC="/usr/bin/gcc", TRITON_CACHE_DIR="{home}/scratch/triton", TORCH_LOGS="-dynamo")),
    # the links that a compiler looks for
    Scene("links-for-a-compiler", "healthy", "ctranslate2", runs(CUBLAS), then(searches, development_links)),
)  # fmt: skip
