"""The eighth held-out set, classes A to E: from the list of classes and public threads, by somebody who has read no rule and no probe.

Committed before the first run. Above each row: the thread that it is made from, or "class only". The last step of each
fault's plant is the fault, and without it the real program works; torchtext and DGL apart, which have no release for
these torches, and FFmpeg, which a healthy row brings along.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.worldlab.environments import VERSION
from tests.worldlab.scene import Oracle, Ran, Scene, World, cuts, imports, installs, lacks, loses, runs, then
from tests.worldlab.scenes.starters import by_unit, program, started, unit_text

Plant = Callable[[World], None]

# --- what the real programs do ------------------------------------------------------------------------------------------

TORCH = runs("import torch; torch.ones(3).sum()")
ONES = "import torch; torch.ones(1)"
PROVIDER = (
    "import ctypes, os, onnxruntime; there = os.path.dirname(onnxruntime.__file__)\n"
    "for name in ('shared', 'cuda'):\n"
    "    ctypes.CDLL(f'{there}/capi/libonnxruntime_providers_{name}.so', mode=os.RTLD_NOW | ctypes.RTLD_GLOBAL)"
)
"""What a session with the CUDA provider opens first."""
JAX = "import jax; jax.devices('cpu')"
SESSION = runs("import onnxruntime; onnxruntime.InferenceSession")
TENSORFLOW = imports("tensorflow")
KERAS = "import keras; keras.Sequential"
TOKENIZER = runs("import torch; from transformers import AutoTokenizer")
HUB = runs("from huggingface_hub.utils import get_session; get_session()")
"""What every call to the hub does first."""
FETCHES = runs(
    "import requests\n"
    "try:\n    requests.get('https://127.0.0.1:9/weights.h5')\n"
    "except requests.ConnectionError as e:\n    print('nobody answers there:', type(e).__name__)"
)
"""A download; without a network it fails with an error of the network, which is right here."""
GLOO = runs(
    "import os, tempfile, torch.distributed as d\n"
    "d.init_process_group('gloo', init_method='file://' + tempfile.mkdtemp() + '/store', rank=0, world_size=1)"
)
CLUSTER = runs("import tensorflow as tf; tf.distribute.cluster_resolver.TFConfigClusterResolver().cluster_spec()")
ARCHITECTURES = runs("from torch.utils.cpp_extension import _get_cuda_arch_flags as flags; print(flags())")
CODECS = runs("import torch; from torchcodec.decoders import VideoDecoder")
VISION = runs("import torch, torchvision; torchvision.ops.nms")
INDUCTOR = runs("import torch; import torch._inductor.compile_fx, torch._inductor.runtime.triton_heuristics")
DEFORMABLE = runs("import torch, MultiScaleDeformableAttention")


def activated(world: World) -> Ran:
    """Activate the environment, and start its Python by name."""
    done = world.run(
        ["bash", "-c", '. "$1/bin/activate" && python3 -c "import torch; torch.ones(1)"', "bash", world.prefix]
    )
    said = (done.stdout + done.stderr).decode("utf-8", "replace").strip()
    return Ran(ok=done.returncode == 0, said=said[-3000:] or "it works")


def in_terminal(world: World) -> Ran:
    """Start in the editor's terminal: with the variables of its settings, ``${workspaceFolder}`` replaced."""
    told = json.loads((world.home / "work/.vscode/settings.json").read_text())["terminal.integrated.env.linux"]
    given = [f"{k}={v.replace('${workspaceFolder}', str(world.home / 'work'))}" for k, v in told.items()]
    done = world.run(["env", *given, world.python, "main.py"])
    said = (done.stdout + done.stderr).decode("utf-8", "replace").strip()
    return Ran(ok="this works" in said, said=said[-3000:])


def calls(*words: str) -> Oracle:
    """Run a program; its exit status decides."""

    def oracle(world: World) -> Ran:
        try:
            done = world.run([w.format(home=world.home, env=world.prefix) for w in words])
        except OSError as e:
            return Ran(ok=False, said=str(e))
        said = (done.stdout + done.stderr).decode("utf-8", "replace").strip()
        return Ran(ok=done.returncode == 0, said=said[-3000:] or f"status {done.returncode}")

    return oracle


# --- what people do -----------------------------------------------------------------------------------------------------


def filled(text: str, world: World) -> str:
    """Put the scene's places into a text that may have braces of its own."""
    return (
        text.replace("{home}", str(world.home)).replace("{env}", str(world.prefix)).replace("{site}", str(world.site))
    )


def writes(files: Mapping[str, str], cwd: str = "", mode: int = 0o644) -> Plant:
    """Write files into the home; ``cwd``: the folder in it where the person works."""

    def plant(world: World) -> None:
        for name, text in files.items():
            path = world.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(filled(text, world).encode())
            path.chmod(mode)
        if cwd:
            world.cwd = world.home / cwd
            world.cwd.mkdir(parents=True, exist_ok=True)

    return plant


def sets(**variables: str) -> Plant:
    """Set variables."""

    def plant(world: World) -> None:
        world.variables |= {n: filled(v, world) for n, v in variables.items()}

    return plant


SYSTEM = Path("/usr/lib/x86_64-linux-gnu")
HIDING = """
mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$1" || exit 99
[ -e "$2/cache" ] || /sbin/ldconfig -X -C "$2/cache" || exit 99
mount --bind "$2/cache" /etc/ld.so.cache || exit 99
shift 2; exec "$@"
"""


def without_system(*names: str) -> Plant:
    """Start programs where libraries of the system (patterns of names) are not installed."""

    def plant(world: World) -> None:
        hidden = world.folder / "hidden"
        for part in ("upper", "work"):
            (hidden / part).mkdir(parents=True)
        found = [path for name in names for path in SYSTEM.glob(name)]
        if not found:
            raise LookupError(f"{names} name nothing in {SYSTEM}")
        for path in found:
            os.mknod(hidden / "upper" / path.name, 0o020000, 0)  # how overlayfs marks what is not there
        world.launcher += ["unshare", "-m", "sh", "-c", HIDING, "sh", str(SYSTEM), str(hidden)]

    return plant


def noexec(where: str) -> Plant:
    """Start programs where a folder of the home is a drive that nothing may be run from."""

    def plant(world: World) -> None:
        script = 'mount --bind "$1" "$1" && mount -o remount,bind,noexec "$1" && shift && exec "$@"'
        world.launcher += ["unshare", "-m", "sh", "-c", script, "sh", str(world.home / where)]

    return plant


def layered(where: str, *arguments: str) -> Plant:
    """Install into a folder of the home, as ``pip install --target`` does."""

    def plant(world: World) -> None:
        installs("--target", str(world.home / where), *arguments)(world)

    return plant


def linked(*arguments: str) -> Plant:
    """Install by links into uv's cache, as a person with UV_LINK_MODE=symlink does."""

    def plant(world: World) -> None:
        from tests.worldlab.environments import uv

        own = world.folder / "uv"
        uv(
            "pip",
            "install",
            "--quiet",
            "--link-mode",
            "symlink",
            "--cache-dir",
            str(own),
            "--python",
            str(world.python),
            *arguments,
        )

    return plant


def without_hack(world: World) -> None:
    """Leave setuptools' start-up file when setuptools has gone."""
    line = "import os; var = 'SETUPTOOLS_USE_DISTUTILS'; enabled = os.environ.get(var, 'local') == 'local'; "
    (world.site / "distutils-precedence.pth").write_text(
        f"{line}enabled and __import__('_distutils_hack').add_shim();\n"
    )


def cleans_cache(world: World) -> None:
    """Run ``uv cache clean``."""
    shutil.rmtree(world.folder / "uv")


def points(pattern: str) -> Plant:
    """Leave Git LFS's pointer in the place of a file."""

    def plant(world: World) -> None:
        path = world.library(pattern)
        size = path.stat().st_size
        path.unlink()
        path.write_text(
            f"version https://git-lfs.github.com/spec/v1\noid sha256:{'4d7a214614ab2935c943f9e0ff69d22e' * 2}\nsize {size}\n"
        )

    return plant


def of_another(*folders: str) -> Plant:
    """Let folders of the packages belong to another person, who keeps them closed."""

    def plant(world: World) -> None:
        for name in folders:
            os.chown(world.site / name, 12345, 12345)
            (world.site / name).chmod(0o700)
        world.plain_rights = True

    return plant


def remains(name: str, *versions: str) -> Plant:
    """Leave the folder of an older release's record, emptied, where the installed one's is found after it."""

    def plant(world: World) -> None:
        (real,) = world.site.glob(f"{name}-*.dist-info")
        for version in versions:
            stale = world.site / f"{name}-{version}.dist-info"
            stale.mkdir()
            listed = [path.name for path in world.site.iterdir()]
            if listed.index(stale.name) < listed.index(real.name):
                return
            stale.rmdir()
        raise LookupError(f"every remains of {name} come behind {real.name} here")

    return plant


def zipped(name: str, where: str) -> Plant:
    """Pack a package into an archive, as jobs on a cluster are given theirs."""

    def plant(world: World) -> None:
        (world.home / where).parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(world.home / where, "w") as archive:
            for path in sorted((world.site / name).rglob("*")):
                if path.is_file():
                    archive.write(path, path.relative_to(world.site))

    return plant


def egg(symbol: str) -> Plant:
    """Compile an extension that calls one function of torch, and install it as ``setup.py install`` did."""
    source = (
        "#include <Python.h>\n"
        f'extern "C" void {symbol}();\n'
        f"void *used = (void *){symbol};\n"
        'static PyModuleDef module = {PyModuleDef_HEAD_INIT, "MultiScaleDeformableAttention", 0, -1, 0};\n'
        "PyMODINIT_FUNC PyInit_MultiScaleDeformableAttention() { return PyModule_Create(&module); }\n"
    )

    def plant(world: World) -> None:
        name = f"MultiScaleDeformableAttention-1.0-py{VERSION}-linux-x86_64.egg"
        target = world.site / name
        shutil.rmtree(target, ignore_errors=True)
        (target / "EGG-INFO").mkdir(parents=True)
        (target / "EGG-INFO/PKG-INFO").write_text(
            "Metadata-Version: 2.1\nName: MultiScaleDeformableAttention\nVersion: 1.0\n"
        )
        (target / "EGG-INFO/top_level.txt").write_text("MultiScaleDeformableAttention\n")
        (world.folder / "msda.cpp").write_text(source)
        include = subprocess.check_output(
            [str(world.python), "-c", "import sysconfig; print(sysconfig.get_paths()['include'])"], text=True
        ).strip()
        module = f"MultiScaleDeformableAttention.cpython-{VERSION.replace('.', '')}-x86_64-linux-gnu.so"
        subprocess.run(
            ["g++", "-shared", "-fPIC", f"-I{include}", "-o", target / module, world.folder / "msda.cpp", f"-L{world.site}/torch/lib", "-lc10"],
            check=True,
        )  # fmt: skip
        (world.site / "easy-install.pth").write_text(f"./{name}\n")

    return plant


def editable(name: str, folder: str) -> Plant:
    """Install a project of the person's own as ``pip install -e`` does."""

    def plant(world: World) -> None:
        writes(
            {
                f"{folder}/pyproject.toml": f'[project]\nname = "{name}"\nversion = "0.3"\ndependencies = ["torch"]\n',
                f"{folder}/src/{name}/__init__.py": "import torch\n",
            }
        )(world)
        (world.site / f"__editable__.{name}-0.3.pth").write_text(f"{world.home}/{folder}/src\n")
        info = world.site / f"{name}-0.3.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.3\nRequires-Dist: torch\n")
        (info / "INSTALLER").write_text("pip\n")
        (info / "direct_url.json").write_text(
            json.dumps({"dir_info": {"editable": True}, "url": f"file://{world.home}/{folder}"})
        )
        (info / "RECORD").write_text(
            f"__editable__.{name}-0.3.pth,,\n"
            + "".join(f"{info.name}/{n},,\n" for n in ("METADATA", "INSTALLER", "direct_url.json", "RECORD"))
        )

    return plant


def moves(old: str, new: str) -> Plant:
    """Give a folder of the home another name."""

    def plant(world: World) -> None:
        (world.home / new).parent.mkdir(parents=True, exist_ok=True)
        (world.home / old).rename(world.home / new)

    return plant


def moved(world: World) -> None:
    """Let the activation name the folder that the environment had before it was moved."""
    for path in (world.prefix / "bin").glob("activate*"):
        text = path.read_text()
        world.own(path).write_text(text.replace(str(world.prefix), "/home/ada/projects/old/.venv"))


def sees_system(world: World) -> None:
    """Let the environment see the system's packages, and the person's own."""
    file = world.prefix / "pyvenv.cfg"
    text = file.read_text().replace("include-system-site-packages = false", "include-system-site-packages = true")
    world.own(file).write_text(text)


def ffmpeg(world: World) -> None:
    """Have FFmpeg's libraries in a folder that the loader searches (PyAV brings them, under names of its own)."""
    installs("--no-deps", "--target", str(world.folder / "av"), "av==15.1.0")(world)
    folder = world.home / "ffmpeg/lib"
    folder.mkdir(parents=True)
    for path in sorted((world.folder / "av/av.libs").iterdir()):
        (folder / path.name).symlink_to(path)
        name, _, rest = path.name.partition("-")
        if name.startswith(("libav", "libsw")):
            (folder / f"{name}.so.{rest.partition('.so.')[2].partition('.')[0]}").symlink_to(path)
    world.variables["LD_LIBRARY_PATH"] = str(folder)


def searches(world: World) -> None:
    """Let the loader search every library folder of NVIDIA's packages, as the shell's start-up file does."""
    world.variables["LD_LIBRARY_PATH"] = ":".join(map(str, sorted(world.site.glob("nvidia/*/lib"))))


def checkout(package: str, where: str, *parts: str) -> Plant:
    """Have the sources of a package in the home: its Python files, and nothing that was compiled."""

    def plant(world: World) -> None:
        target = world.home / where / package
        for part in parts or ("**/*.py",):
            for path in (world.site / package).glob(part):
                copy = target / path.relative_to(world.site / package)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, copy)

    return plant


def universal(**variables: str) -> Plant:
    """Set variables as ``set -Ux`` of fish keeps them."""

    def plant(world: World) -> None:
        world.variables["SHELL"] = "/usr/bin/fish"
        for name, value in variables.items():
            world.run(["fish", "-c", f"set -Ux {name} {filled(value, world)}"]).check_returncode()

    return plant


BY_FISH = calls("fish", "-c", "{env}/bin/python -c 'import torch, triton'")
JOB = """#!/bin/bash
#SBATCH --job-name=finetune
#SBATCH --gres=gpu:1
#SBATCH --time=08:00:00
set -euo pipefail
cd {home}/work
{line}
{env}/bin/python main.py
"""
MAKEFILE = "export JAX_PLATFORMS = {value}\n\n.PHONY: run\nrun:\n\t{env}/bin/python main.py\n"
PROCFILE = {"work/Procfile": "worker: {env}/bin/python main.py\n"}
TESTS = {"work/test_model.py": "def test_model():\n    import keras\n\n    assert keras.Sequential\n"}
TERMINAL = {
    "work/.vscode/settings.json": '{"terminal.integrated.env.linux": {"PYTHONPATH": "${workspaceFolder}/third_party"}}\n'
}
SCRIPTS = '{"name": "site", "version": "1.0.0", "scripts": {"worker": "{python} main.py"}}\n'
OWN_UNIT = ".config/systemd/user/subtitles.service"
SOURCED = "#!/bin/bash\nset -a\n. ./.env\nset +a\nexec {env}/bin/python main.py\n"

# --- what is expected ---------------------------------------------------------------------------------------------------

SYSTEM_LIBRARY = ("system_library_missing",)
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
ELSEWHERE = ("wrong_environment_active",)
CV = "opencv-python==4.10.0.84"
HEADLESS = "opencv-python-headless==4.10.0.84"
TRANSFORMERS = "transformers==4.46.3"

SCENES: tuple[Scene, ...] = (
    # === A: absent or unfit
    # https://github.com/timerring/bilive/issues/106
    Scene("speech-without-libsndfile", "A", "ctranslate2", imports("soundfile"), then(installs("soundfile==0.10.3.post1"), without_system("libsndfile.so.1*")), SYSTEM_LIBRARY, "", "sndfile", "sndfile library not found"),
    # https://github.com/danforthcenter/plantcv/issues/579
    Scene("vision-without-libgl", "A", "torch-2.6", imports("torch", "cv2"), then(installs("--no-deps", CV), without_system("libGL.so.1*")), SYSTEM_LIBRARY, "", "libGL.so.1", "libGL.so.1"),
    # class only: boosting in slim containers
    Scene("boosting-without-libgomp", "A", "jax", imports("lightgbm"), then(installs("--no-deps", "lightgbm==4.6.0"), without_system("libgomp.so.1*")), SYSTEM_LIBRARY, "", "libgomp.so.1", "libgomp.so.1"),
    # https://github.com/meta-pytorch/torchcodec/issues/1023
    Scene("video-without-ffmpeg", "A", "torch-2.8", CODECS, then(installs("--no-deps", "torchcodec==0.7.0"), without_system("libavutil.so*", "libavcodec.so*", "libavformat.so*", "libavdevice.so*", "libavfilter.so*", "libswscale.so*", "libswresample.so*")), SYSTEM_LIBRARY, "", "libav", "libavutil"),
    # class only: a lock file that lost a platform's packages
    Scene("torch-without-its-cufile", "A", "torch-2.8", TORCH, lacks("nvidia-cufile-cu12"), ("requirement_broken", "cuda_runtime_missing"), "torch", "cufile", "libcufile"),
    # class only: search by vectors, installed without its dependencies
    Scene("faiss-without-a-runtime", "A", "ctranslate2", imports("faiss"), then(installs("--no-deps", "faiss-gpu-cu12==1.12.0", "nvidia-cuda-runtime-cu12==12.8.90", "packaging", "numpy==1.26.4"), lacks("nvidia-cuda-runtime-cu12")), ("cuda_runtime_missing", "requirement_broken"), "", "cuda", "nvidia-cuda-runtime-cu12"),
    # class only: packages on a drive for data
    Scene("tokenizers-on-a-noexec-drive", "A", "onnxruntime-1.20", imports("onnxruntime", "tokenizers"), then(layered("drive/packages", "--no-deps", "tokenizers==0.21.4"), sets(PYTHONPATH="{home}/drive/packages"), noexec("drive")), ("noexec_mount",), "", "drive", "failed to map segment"),
    # class only: an image that was built on a computer with another processor
    Scene("safetensors-for-another-processor", "A", "torch-2.8", imports("torch", "safetensors.torch"), then(installs("--no-deps", "safetensors==0.5.3"), installs("--no-deps", "--reinstall", "--python-platform", "aarch64-manylinux_2_28", "safetensors==0.5.3")), ("package_for_another_python", "dll_wrong_architecture"), "", "safetensors", "_safetensors_rust"),
    # class only: installed by the administrator with a narrow umask
    Scene("ctranslate2-libraries-of-another-person", "A", "ctranslate2", imports("ctranslate2"), of_another("ctranslate2.libs"), ("library_unreadable",), "ctranslate2", "ctranslate2.libs", "libctranslate2"),
    # class only: uv warns of this itself
    Scene("ml-dtypes-linked-to-a-cleaned-cache", "A", "jax", runs(JAX), then(linked("--no-deps", "--reinstall", "ml-dtypes==0.5.3"), cleans_cache), (*CUT, "requirement_broken"), "", "ml_dtypes", "ml_dtypes"),
    # class only: an environment that was committed with Git LFS
    Scene("onnxruntime-is-a-pointer", "A", "onnxruntime-1.20", SESSION, points("onnxruntime/capi/onnxruntime_pybind11_state*.so"), ("corrupt_or_truncated_file",), "onnxruntime-gpu", "onnxruntime_pybind11_state", "onnxruntime"),
    # class only: the disk was full
    Scene("torchaudio-cut-off", "A", "torch-2.8", imports("torchaudio"), cuts("torchaudio/lib/libtorchaudio.so", 0.3), ("corrupt_or_truncated_file",), "torchaudio", "libtorchaudio", "status -7"),
    # class only: certificates that a cleaning tool took
    Scene("weights-without-certificates", "A", "tensorflow", FETCHES, loses("certifi/cacert.pem"), CUT, "", "cacert.pem", "cacert.pem"),
    # === B: all is there and does not fit
    # https://github.com/dmlc/dgl/issues/7822
    Scene("dgl-for-another-torch", "B", "torch-2.6", imports("torch", "dgl"), installs("--no-deps", "dgl==2.1.0", "setuptools==70.3.0", "scipy<1.16", "networkx", "requests", "urllib3", "idna", "certifi", "charset-normalizer", "tqdm", "psutil", "torchdata==0.7.1", "pandas<2.3", "python-dateutil", "pytz", "tzdata", "six", "pydantic<2", "pyyaml"), (*UNFIT, "corrupt_or_truncated_file"), "", "dgl", "graphbolt"),
    # https://github.com/pytorch/text/issues/2288
    Scene("torchtext-for-another-torch", "B", "torch-2.6", imports("torchtext"), installs("--no-deps", "torchtext==0.18.0", "tqdm", "requests", "urllib3", "idna", "certifi", "charset-normalizer"), UNFIT, "", "torchtext", "undefined symbol"),
    # https://github.com/meta-pytorch/torchcodec/issues/1143
    Scene("torchcodec-for-another-torch", "B", "torch-2.8", CODECS, then(installs("--no-deps", "torchcodec==0.7.0"), ffmpeg, installs("--no-deps", "torchcodec==0.2.0")), UNFIT, "", "torchcodec", "undefined symbol"),
    # https://github.com/huggingface/huggingface_hub/issues/2377
    Scene("transformers-with-a-newer-hub", "B", "torch-2.6", TOKENIZER, then(installs(TRANSFORMERS), installs("--no-deps", "huggingface-hub==1.0.1", "httpx", "httpcore", "h11", "anyio", "sniffio", "shellingham", "typer-slim", "click")), BROKEN, "", "huggingface", "huggingface-hub"),
    # https://github.com/easydiffusion/easydiffusion/issues/1851
    Scene("diffusers-with-a-newer-hub", "B", "torch-2.6", imports("diffusers"), then(installs("diffusers==0.25.0", "huggingface-hub==0.25.2"), installs("--no-deps", "huggingface-hub==0.34.4", "hf-xet")), BROKEN, "", "huggingface", "cached_download"),
    # https://github.com/yuvraj108c/ComfyUI-Whisper/issues/47
    Scene("numba-with-a-newer-numpy", "B", "ctranslate2", imports("numba"), then(installs("numba==0.61.2"), installs("--no-deps", "numpy==2.4.6")), (*BROKEN, "numpy_abi_mismatch"), "", "numba", "Numba needs NumPy"),
    # class only: the wheel of the NumPy 1 days
    Scene("opencv-for-numpy-1", "B", "torch-2.6", imports("torch", "cv2"), then(installs("--no-deps", "opencv-python-headless==4.9.0.80", "numpy==1.26.4"), installs("--no-deps", "numpy==2.2.6")), ("numpy_abi_mismatch", *UNFIT), "", "opencv", "numpy"),
    # https://github.com/tensorflow/models/issues/11192
    Scene("tensorflow-with-older-protobuf", "B", "tensorflow", TENSORFLOW, installs("--no-deps", "protobuf==4.25.8"), BROKEN, "tensorflow", "protobuf", "runtime_version"),
    # class only: a library of networks from before the interfaces went
    Scene("haiku-for-an-older-jax", "B", "jax", imports("haiku"), then(installs("dm-haiku==0.0.15", "typing-extensions"), installs("--no-deps", "dm-haiku==0.0.10")), BROKEN, "", "haiku", "has no attribute"),
    # https://github.com/woct0rdho/triton-windows/issues/97
    Scene("triton-of-a-newer-torch", "B", "torch-2.6", INDUCTOR, installs("--no-deps", "triton==3.4.0"), BROKEN, "", "triton", "triton"),
    # https://github.com/huggingface/pytorch-image-models/issues/420
    Scene("timm-of-an-older-torch", "B", "torch-2.6", imports("timm"), then(installs("timm==1.0.20"), installs("--no-deps", "timm==0.3.2")), BROKEN, "", "timm", "torch._six"),
    # https://github.com/fundamentalvision/Deformable-DETR/issues/51
    Scene("deformable-attention-of-an-older-torch", "B", "torch-2.8", DEFORMABLE, then(egg("_ZN3c106detail14torchCheckFailEPKcS2_jRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"), egg("_ZN3c106detail14torchCheckFailEPKcS2_jRKSs")), ("extension_abi_mismatch",), "", "MultiScaleDeformableAttention", "undefined symbol"),
    # class only: what an older package pulled back
    Scene("jax-with-older-ml-dtypes", "B", "jax", runs(JAX), installs("--no-deps", "ml-dtypes==0.4.1"), BROKEN, "", "ml", "ml_dtypes"),
    # https://github.com/pytorch/pytorch/issues/119072
    Scene("torch-with-older-nccl", "B", "torch-2.8", TORCH, installs("--no-deps", "nvidia-nccl-cu12==2.21.5"), ("requirement_broken", "cuda_lib_shadowed", "nccl_failed"), "torch", "nccl", "undefined symbol: nccl"),
    # === C: Python finds another file
    # https://github.com/huggingface/transformers/issues/23076
    Scene("numpy-with-remains-of-a-record", "C", "torch-2.6", TOKENIZER, then(installs(TRANSFORMERS), remains("numpy", *(f"{a}.{b}.{c}" for a, b, c in ((1, 26, 4), (1, 26, 3), (1, 26, 2), (1, 26, 1), (1, 26, 0), (1, 25, 2), (1, 24, 4), (2, 0, 2), (2, 1, 3), (2, 2, 0))))), CUT, "", "numpy", "found=None"),
    # class only: dependencies of a cluster's job in an archive
    Scene("numpy-in-an-archive-on-pythonpath", "C", "ctranslate2", imports("ctranslate2", "numpy"), then(zipped("numpy", "jobs/deps.zip"), sets(PYTHONPATH="{home}/jobs/deps.zip")), (*SHADOWED, "package_for_another_python", "python_environment_broken"), "", "deps.zip", "numpy"),
    # class only: a layer of packages before the environment's
    Scene("typing-extensions-of-a-layer", "C", "torch-2.8", TORCH, then(layered("layer/python", "--no-deps", "typing-extensions==4.5.0"), sets(PYTHONPATH="{home}/layer/python")), (*SHADOWED, "requirement_broken"), "torch", "layer/python", "typing_extensions"),
    # class only: two builds of OpenCV share a folder, and one was removed
    Scene("opencv-after-its-twin-was-removed", "C", "torch-2.6", runs("import cv2; cv2.imread"), then(installs("--no-deps", CV), installs("--no-deps", HEADLESS), lacks("opencv-python-headless")), (*CUT, "duplicate_framework_packages"), "", "opencv", "cv2"),
    # class only: two builds of CuPy share a folder, too
    Scene("cupy-after-its-twin-was-removed", "C", "cupy-alone", runs("import cupy; cupy.ndarray"), then(installs("--no-deps", "cupy-cuda11x==13.6.0"), lacks("cupy-cuda11x")), (*CUT, "duplicate_framework_packages"), "", "cupy", "cupy"),
    # class only: a module of the person's own
    Scene("tokenizers-py-in-the-project", "C", "torch-2.6", runs("import torch; from transformers import PreTrainedTokenizerFast"), then(installs(TRANSFORMERS), writes({"work/tokenizers.py": "class WordTokenizer:\n    pass\n"}, "work")), SHADOWED, "", "tokenizers.py", "tokenizers"),
    # https://github.com/google/ci_edit/issues/192
    Scene("profile-py-in-the-project", "C", "torch-2.8", imports("torch._dynamo"), writes({"work/profile.py": "import time\n\nSTARTED = time.time()\n"}, "work"), SHADOWED, "torch", "profile.py", "profile"),
    # https://github.com/pytorch/vision/issues/8985
    Scene("torchvision-of-the-person", "C", "torch-2.8", imports("torchvision"), then(sees_system, then(lacks("torchvision"), layered(f".local/lib/python{VERSION}/site-packages", "--no-deps", "torchvision==0.21.0"))), (*UNFIT, "module_shadowed"), "", "torchvision", "torchvision"),
    # class only: the checkout was renamed
    Scene("editable-project-was-renamed", "C", "torch-2.6", imports("torch", "depthnet"), then(editable("depthnet", "code/depthnet"), moves("code/depthnet", "code/depthnet-main")), ("python_environment_broken", "installation_interrupted", "requirement_broken"), "", "depthnet", "depthnet"),
    # class only: the environment was moved with its project
    Scene("activation-of-a-moved-environment", "C", "torch-2.6", activated, moved, ("python_environment_broken", "wrong_environment_active"), "", "/home/ada/projects/old/.venv", "No module named 'torch'"),
    # class only: started in the folder of the sources
    Scene("onnxruntime-in-its-sources", "C", "onnxruntime-1.23", SESSION, then(checkout("onnxruntime", "onnxruntime", "__init__.py", "tools/*.py"), writes({"onnxruntime/README.md": "sources\n"}, "onnxruntime")), SHADOWED, "onnxruntime-gpu", "onnxruntime/onnxruntime", "onnxruntime.capi"),
    # === D: started in another way
    # class only: make keeps quotation marks
    Scene("jax-platform-quoted-in-a-makefile", "D", "jax", started("make", "run"), then(program(JAX), writes({"work/Makefile": MAKEFILE.replace("{value}", "cpu")}), writes({"work/Makefile": MAKEFILE.replace("{value}", '"cpu"')})), VALUE, "", "JAX_PLATFORMS", "cpu"),
    # class only: a file of variables that was written on Windows
    Scene("keras-backend-with-a-carriage-return", "D", "tensorflow", started("./run.sh"), then(program(KERAS), writes({"work/run.sh": SOURCED}, "work", 0o755), writes({"work/.env": "MODEL=base\r\nKERAS_BACKEND=tensorflow\r\n"})), VALUE, "", "KERAS_BACKEND", "Unable to import backend"),
    # class only: a job that sets the path anew, instead of adding to it
    Scene("onnxruntime-job-that-replaces-the-path", "D", "onnxruntime-1.23", calls("bash", "{home}/work/infer.sbatch"), then(program(PROVIDER), searches, writes({"work/infer.sbatch": JOB.replace("{line}", "export OMP_NUM_THREADS=${SLURM_CPUS_PER_TASK:-4}")}), writes({"work/infer.sbatch": JOB.replace("{line}", "export LD_LIBRARY_PATH=/usr/local/cuda-11.8/lib64")})), NOT_SEARCHED, "onnxruntime-gpu", "infer.sbatch", "libcu"),
    # https://github.com/jax-ml/jax/pull/25447
    Scene("jax-flag-that-went-in-a-procfile", "D", "jax", started("{env}/bin/honcho", "start"), then(program(JAX), installs("--no-deps", "honcho==2.0.0"), writes(PROCFILE), writes({"work/.env": "XLA_FLAGS=--xla_gpu_enable_async_collectives=true\n"})), VALUE, "", "xla_gpu_enable_async_collectives", "Unknown flag"),
    # class only: a variable that fish keeps for ever
    Scene("triton-sources-kept-by-fish", "D", "torch-2.8", BY_FISH, then(checkout("triton", "code/triton/python"), universal(PYTHONPATH="{home}/code/triton/python")), SHADOWED, "", "code/triton/python", "libtriton"),
    # class only: a folder of vendored code on the editor's path
    Scene("google-folder-of-the-editor", "D", "tensorflow", in_terminal, then(program("import tensorflow"), writes({**TERMINAL, "work/third_party/plots/__init__.py": ""}), writes({"work/third_party/google/__init__.py": "", "work/third_party/google/maps.py": ""})), SHADOWED, "tensorflow", "third_party", "google"),
    # class only: a service without the environment
    Scene("ctranslate2-service-of-the-systems-python", "D", "ctranslate2", by_unit, then(program("import ctranslate2"), writes({OWN_UNIT: unit_text("WorkingDirectory=%h/work\n")}), writes({OWN_UNIT: unit_text("WorkingDirectory=%h/work\n", "/usr/bin/python3 {home}/work/main.py")})), ELSEWHERE, "", "subtitles.service", "No module named 'ctranslate2'"),
    # class only: the system's Python by npm
    Scene("torch-by-npm-without-the-environment", "D", "torch-2.6", started("npm", "run", "--no-update-notifier", "worker"), then(program(ONES), writes({"work/package.json": SCRIPTS.replace("{python}", "{env}/bin/python")}), writes({"work/package.json": SCRIPTS.replace("{python}", "python3")})), ELSEWHERE, "", "package.json", "No module named 'torch'"),
    # class only: variables of the tests
    Scene("keras-backend-of-the-tests", "D", "tensorflow", calls("{env}/bin/python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_model.py"), then(installs("pytest==8.4.2", "pytest-env==1.1.5"), writes({**TESTS, "work/pyproject.toml": '[tool.pytest.ini_options]\nenv = ["KERAS_BACKEND=tensorflow"]\n'}, "work"), writes({"work/pyproject.toml": '[tool.pytest.ini_options]\nenv = ["KERAS_BACKEND=torch"]\n'})), (*VALUE, "requirement_broken"), "", "KERAS_BACKEND", "torch"),
    # === E: variables
    # https://github.com/lllyasviel/Fooocus/issues/1745
    Scene("hub-by-an-unknown-proxy", "E", "torch-2.6", HUB, then(installs("huggingface-hub==1.0.1"), sets(ALL_PROXY="socks://127.0.0.1:7897/", http_proxy="http://127.0.0.1:7897/", https_proxy="http://127.0.0.1:7897/")), VALUE, "", "ALL_PROXY", "socks"),
    # https://github.com/Aider-AI/aider/issues/3710
    Scene("hub-with-certificates-that-are-gone", "E", "torch-2.6", HUB, then(installs("huggingface-hub==1.0.1"), sets(SSL_CERT_FILE="{home}/miniconda3/ssl/cacert.pem")), VALUE, "", "SSL_CERT_FILE", "No such file"),
    # class only: a company's certificates
    Scene("weights-with-certificates-that-are-gone", "E", "tensorflow", FETCHES, sets(REQUESTS_CA_BUNDLE="/etc/company/ca-bundle.crt"), VALUE, "", "REQUESTS_CA_BUNDLE", "ca-bundle.crt"),
    # https://github.com/bmaltais/kohya_ss/issues/2521
    Scene("plots-for-a-notebook-that-is-not-there", "E", "torch-2.6", imports("torch", "matplotlib.pyplot"), then(installs("matplotlib==3.10.6"), sets(MPLBACKEND="module://matplotlib_inline.backend_inline")), (*VALUE, "requirement_broken"), "", "MPLBACKEND", "matplotlib_inline"),
    # https://github.com/Megvii-BaseDetection/YOLOX/issues/139
    Scene("gloo-interface-that-is-not-there", "E", "torch-2.8", GLOO, sets(GLOO_SOCKET_IFNAME="ib0"), VALUE, "torch", "GLOO_SOCKET_IFNAME", "ib0"),
    # class only: a text with the wrong quotation marks
    Scene("tensorflow-cluster-in-single-quotes", "E", "tensorflow", CLUSTER, sets(TF_CONFIG="{'cluster': {'worker': ['localhost:12345']}, 'task': {'type': 'worker', 'index': 0}}"), VALUE, "", "TF_CONFIG", "quotes"),
    # class only: the architecture of a newer card
    Scene("torch-architecture-of-a-newer-card", "E", "torch-2.6", ARCHITECTURES, then(installs("setuptools<81"), sets(TORCH_CUDA_ARCH_LIST="8.9"), sets(TORCH_CUDA_ARCH_LIST="8.9;12.1")), (*VALUE, "gpu_arch_too_new"), "", "TORCH_CUDA_ARCH_LIST", "Unknown CUDA arch"),
    # class only: a number with its unit
    Scene("hub-timeout-with-a-unit", "E", "ctranslate2", imports("huggingface_hub.constants"), then(installs("huggingface-hub==0.34.4"), sets(HF_HUB_DOWNLOAD_TIMEOUT="30s")), VALUE, "", "HF_HUB_DOWNLOAD_TIMEOUT", "30s"),
    # === odd, and healthy
    # no FFmpeg, no sound, no OpenGL in the container, and nothing that needs them
    Scene("container-without-media-libraries", "healthy", "torch-2.8", imports("torch", "torchvision", "torchaudio"), without_system("libavutil.so*", "libavcodec.so*", "libsndfile.so.1*", "libGL.so.1*")),
    # the build for servers needs no OpenGL
    Scene("opencv-for-servers-without-libgl", "healthy", "torch-2.6", imports("torch", "cv2"), then(installs("--no-deps", HEADLESS), without_system("libGL.so.1*", "libX11.so*"))),
    # the wheel has its own libsndfile
    Scene("speech-with-its-own-libsndfile", "healthy", "ctranslate2", imports("ctranslate2", "soundfile"), then(installs("soundfile==0.13.1"), without_system("libsndfile.so.1*"))),
    # FFmpeg of one release is enough of the five that the package has a library for
    Scene("video-with-one-ffmpeg", "healthy", "torch-2.8", CODECS, then(installs("--no-deps", "torchcodec==0.7.0"), ffmpeg)),
    # of the many frameworks that it supports, one is installed
    Scene("transformers-with-torch-alone", "healthy", "torch-2.6", TOKENIZER, installs(TRANSFORMERS)),
    # the interpreter says so at each start, and goes on
    Scene("precedence-file-without-setuptools", "healthy", "torch-2.6", TORCH, without_hack),
    # folders without modules do not stand before packages
    Scene("folders-of-runs-and-data", "healthy", "jax", runs("import jax; jax.devices('cpu'); import scipy.linalg"), writes({"work/jax/notes.md": "x", "work/scipy/data.csv": "1", "work/numpy/run-1/a.npz": "", "work/wandb/run-1/files/config.yaml": "a: 1\n"}, "work")),
    # links into uv's cache, which is there
    Scene("ml-dtypes-linked-to-the-cache", "healthy", "jax", runs(JAX), linked("--no-deps", "--reinstall", "ml-dtypes==0.5.3")),
    # two majors of a small library, each under its name
    Scene("runtimes-of-two-majors", "healthy", "torch-2.8", TORCH, installs("--no-deps", "nvidia-cuda-runtime==13.0.96", "nvidia-nvtx==13.0.85")),
    # an old toolkit that nothing searches
    Scene("old-toolkit-in-the-home", "healthy", "torch-2.6", TORCH, then(writes({"cuda-11.8/version.json": '{"cuda": {"name": "CUDA SDK", "version": "11.8.0"}}\n', "cuda-11.8/bin/nvcc": "#!/bin/sh\necho 'Cuda compilation tools, release 11.8, V11.8.89'\n", "cuda-11.8/lib64/libcudart.so.11.0": "", "cuda-11.8/lib64/libcudnn.so.8": ""}, "", 0o755))),
    # a proxy of a scheme that is known, with the package that speaks it
    Scene("hub-by-a-socks-proxy", "healthy", "torch-2.6", HUB, then(installs("huggingface-hub==1.0.1", "socksio"), sets(ALL_PROXY="socks5://127.0.0.1:7897", NO_PROXY="localhost,127.0.0.1,::1"))),
    # a program that a notebook started
    Scene("plots-for-a-notebook", "healthy", "torch-2.6", imports("torch", "matplotlib.pyplot"), then(installs("matplotlib==3.10.6", "matplotlib-inline==0.1.7", "ipython==8.37.0"), sets(MPLBACKEND="module://matplotlib_inline.backend_inline"))),
    # a namespace that several folders share
    Scene("google-namespace-in-two-places", "healthy", "tensorflow", TENSORFLOW, then(writes({"code/google/company/__init__.py": "", "code/google/company/api.py": ""}), sets(PYTHONPATH="{home}/code"))),
    # an egg that fits
    Scene("deformable-attention-of-this-torch", "healthy", "torch-2.8", DEFORMABLE, egg("_ZN3c106detail14torchCheckFailEPKcS2_jRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE")),
    # what NumPy 1 was there for works with NumPy 1
    Scene("opencv-with-numpy-1", "healthy", "torch-2.6", runs("import torch, cv2; torch.ones(2).numpy()"), installs("--no-deps", "opencv-python-headless==4.9.0.80", "numpy==1.26.4")),
    # a project of the person's own
    Scene("editable-project", "healthy", "torch-2.6", imports("torch", "depthnet"), editable("depthnet", "code/depthnet")),
    # systemd takes quotation marks away
    Scene("jax-service-with-quotation-marks", "healthy", "jax", by_unit, then(program(JAX), writes({".config/systemd/user/serve.service": unit_text('Environment="JAX_ENABLE_X64=True"\nEnvironmentFile=%h/serve.env\n'), "serve.env": "JAX_PLATFORMS=\"cpu\"\nXLA_FLAGS='--xla_cpu_multi_thread_eigen=true'\n"}))),
    # honcho does, too
    Scene("keras-procfile-with-quotation-marks", "healthy", "tensorflow", started("{env}/bin/honcho", "start"), then(program(KERAS), installs("--no-deps", "honcho==2.0.0"), writes({**PROCFILE, "work/.env": 'KERAS_BACKEND="tensorflow"\n'}, "work"))),
    # folders that are not there do no harm
    Scene("cupy-with-places-that-are-gone", "healthy", "cupy", runs("import cupy"), then(searches, sets(PYTHONPATH="/opt/gone:{home}/code", CUPY_CACHE_DIR="{home}/not/yet", CUDA_PATH="{site}/nvidia/cuda_runtime"), writes({"code/tools.py": "x = 1\n"}))),
    # contracts that are kept
    Scene("cluster-and-interface-that-are-there", "healthy", "torch-2.8", GLOO, sets(GLOO_SOCKET_IFNAME="lo", TF_CONFIG="{'cluster': 1}", MASTER_ADDR="127.0.0.1", MASTER_PORT="29500", KERAS_BACKEND="torch\r")),
    Scene("tensorflow-cluster-of-one", "healthy", "tensorflow", CLUSTER, sets(TF_CONFIG='{"cluster": {"worker": ["localhost:12345"]}, "task": {"type": "worker", "index": 0}}')),
)  # fmt: skip
