"""The ninth held-out set, classes A to E: mostly from public threads of 2023 to 2026, by somebody who has read no rule and no probe.

Committed before the first run. Above each row: the thread that it is made from, or "class only". The last step of each
fault's plant is the fault, and without it the real program works; eSpeak apart, which a healthy row brings along, and
TensorFlow Probability, which has no release for this JAX.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Mapping
from pathlib import Path

from tests.worldlab.environments import VERSION
from tests.worldlab.scene import Ran, Scene, World, imports, installs, lacks, loses, opens, runs, then
from tests.worldlab.scenes.held_out_8 import (
    HUB,
    JAX,
    ONES,
    PROVIDER,
    TENSORFLOW,
    TOKENIZER,
    TORCH,
    TRANSFORMERS,
    VISION,
    Plant,
    calls,
    checkout,
    filled,
    layered,
    noexec,
    searches,
    sees_system,
    sets,
    without_system,
    writes,
)
from tests.worldlab.scenes.starters import by_unit, program, started, unit_text

# --- what the real programs do ------------------------------------------------------------------------------------------

PHONEMES = runs("from phonemizer.backend import EspeakBackend; print(EspeakBackend('en-us').phonemize(['hello']))")
TRANSCRIBES = runs(
    "import os, wave\n"
    "path = os.path.expanduser('~/talk.wav')\n"
    "with wave.open(path, 'wb') as file:\n"
    "    file.setparams((1, 2, 16000, 0, 'NONE', ''))\n"
    "    file.writeframes(bytes(32000))\n"
    "import whisper\n"
    "print(whisper.load_audio(path).shape)"
)
PLUGIN = runs("import jax; jax.devices('cpu'); import jax_plugins.xla_cuda12")
"""JAX finds its plug-ins for devices in this package; without one it uses the processor."""
MARKS = runs("import perth; perth.PerthImplicitWatermarker()")
RENDERS = runs("from OpenGL import EGL; EGL.eglGetDisplay")
KERAS = runs("import keras; keras.Sequential")
EXTENSIONS = runs("import torch; from xformers._cpp_lib import _register_extensions; _register_extensions()")
"""What ``import xformers`` tries; a failure is only warned of, and its operators are missing then."""
GRADIO = imports("gradio")
CUDNN = runs(
    "import ctypes, glob, sysconfig, ctranslate2\n"
    "bundled = glob.glob(sysconfig.get_paths()['purelib'] + '/ctranslate2.libs/libcudnn-*')\n"
    "handle = ctypes.c_void_p()\n"
    "ctypes.CDLL(bundled[0] if bundled else 'libcudnn.so.9').cudnnCreate(ctypes.byref(handle))"
)
"""The first call of a translator on a GPU: cuDNN opens its parts, or ends the process."""
LIBNVVM = runs("from numba.cuda.cudadrv.nvvm import NVVM, LibDevice; NVVM(); LibDevice()")
"""What the compilation of a kernel opens first."""
TRAINER = runs(
    "from lightning.pytorch import Trainer\n"
    "Trainer(accelerator='cpu', devices=1, logger=False, enable_checkpointing=False, enable_progress_bar=False)"
)
SPECTRUM = imports("librosa.core.notation")
COMPILES = runs(
    "from torch._inductor import codecache, cpu_vec_isa\n"
    "cpu_vec_isa.valid_vec_isa_list = list\n"
    "print(codecache.CppCodeCache.load('extern \"C\" int one() { return 1; }').one())"
)
"""What ``torch.compile`` does with the code that it wrote for a processor; no instruction set is tried before."""
PARALLEL = runs(
    "import numba, numpy\n"
    "@numba.njit(parallel=True)\n"
    "def total(x):\n"
    "    s = 0.0\n"
    "    for i in numba.prange(x.size):\n"
    "        s += x[i]\n"
    "    return s\n"
    "globals()['total'](numpy.ones(100))"
)
MODELS = runs(
    "from huggingface_hub import HfApi; import requests\n"
    "try:\n    HfApi().model_info('gpt2', timeout=2)\n"
    "except requests.ConnectionError as e:\n    print('nobody answers there:', type(e).__name__)"
)
STATUS = imports("gpustat")
GROUP = runs("import torch.distributed as d; d.init_process_group('gloo')")
RAN = "print('this works', flush=True)\n"
SUPERVISED = """
control() {{ "$1/supervisorctl" -c "$2" status; }}
"$1/supervisord" -n -c "$2" >/dev/null 2>&1 & process=$!
n=0
until control "$1" "$2" 2>/dev/null | grep -qE "EXITED|FATAL|BACKOFF" || [ $((n += 1)) -gt 200 ]; do sleep 0.3; done
kill $process; wait $process
cat "$3"; grep -q "this works" "$3"
"""
BY_SUPERVISOR = calls(
    "bash", "-c", SUPERVISED, "bash", "{env}/bin", "{home}/work/supervisord.conf", "{home}/work/serve.log"
)


def by_uv(world: World) -> Ran:
    """Run ``uv run`` in the project, as it is, without a network."""
    own = Path(sys.executable).with_name("uv")
    found = str(own) if own.exists() else shutil.which("uv") or "uv"
    done = world.run([found, "run", "--offline", "--no-sync", "--cache-dir", world.folder / "uv", "main.py"])
    said = (done.stdout + done.stderr).decode("utf-8", "replace").strip()
    return Ran(ok="this works" in said, said=said[-3000:])


def by_pycharm(world: World) -> Ran:
    """Start what PyCharm's run configuration says: its interpreter, its script, its variables."""
    root = ET.parse(world.cwd / ".idea/runConfigurations/train.xml").getroot()
    given = [f"{e.attrib['name']}={e.attrib['value']}" for e in root.iter("env")]
    told = {o.attrib["name"]: o.attrib.get("value", "") for o in root.iter("option")}
    done = world.run(["env", *given, told["SDK_HOME"], told["SCRIPT_NAME"].replace("$PROJECT_DIR$", str(world.cwd))])
    said = (done.stdout + done.stderr).decode("utf-8", "replace").strip()
    return Ran(ok="this works" in said, said=said[-3000:])


# --- what people do -----------------------------------------------------------------------------------------------------


def linked(where: str, target: str) -> Plant:
    """Have a link in the home."""

    def plant(world: World) -> None:
        path = world.home / where
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.symlink_to(filled(target, world))

    return plant


READ_ONLY = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@"'


def read_only(world: World) -> None:
    """Start programs where the environment is on a share that nothing may be written to."""
    world.launcher += ["unshare", "-m", "sh", "-c", READ_ONLY, "sh", str(world.prefix)]


def closed(where: str) -> Plant:
    """Start programs where a folder of the home is on such a share."""

    def plant(world: World) -> None:
        world.launcher += ["unshare", "-m", "sh", "-c", READ_ONLY, "sh", str(world.home / where)]

    return plant


def keeps(where: str, *patterns: str) -> Plant:
    """Leave of a folder of the home what the patterns name."""

    def plant(world: World) -> None:
        kept = {path for pattern in patterns for path in (world.home / where).glob(pattern)}
        for path in (world.home / where).iterdir():
            if path in kept:
                continue
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()

    return plant


def unsets(*names: str) -> Plant:
    """Take variables away."""

    def plant(world: World) -> None:
        for name in names:
            del world.variables[name]

    return plant


def egg_link(world: World) -> None:
    """Leave the name of an editable project, which no Python reads."""
    (world.site / "older.egg-link").write_text("/home/ada/code/older\n.")


def removes(where: str) -> Plant:
    """Delete a file of the home."""

    def plant(world: World) -> None:
        (world.home / where).unlink()

    return plant


def takes(source: str, where: str) -> Plant:
    """Copy a file or a folder (of the home, or of the packages as ``{site}/...``) to a place in the home."""

    def plant(world: World) -> None:
        origin, target = Path(world.home, filled(source, world)), world.home / where
        target.parent.mkdir(parents=True, exist_ok=True)
        if origin.is_dir():
            shutil.copytree(origin, target)
        else:
            shutil.copy2(origin, target)

    return plant


def wheel(name: str, version: str, files: Mapping[str, str | Path], tag: str = "py3-none-any") -> Plant:
    """Install a package of one's own from a wheel, as ``pip install .`` does."""

    def plant(world: World) -> None:
        info = f"{name}-{version}.dist-info"
        path = world.folder / f"{name}-{version}-{tag}.whl"
        content: dict[str, bytes] = {}
        for inner, told in files.items():
            content[inner] = (world.folder / told).read_bytes() if isinstance(told, Path) else told.encode()
        content[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode()
        pure = "true" if tag.endswith("any") else "false"
        content[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: own\nRoot-Is-Purelib: {pure}\nTag: {tag}\n".encode()
        content[f"{info}/RECORD"] = "".join(f"{inner},,\n" for inner in (*content, f"{info}/RECORD")).encode()
        with zipfile.ZipFile(path, "w") as archive:
            for inner, data in content.items():
                archive.writestr(inner, data)
        installs("--no-deps", "--reinstall", "--refresh", str(path))(world)

    return plant


def compiled(world: World, symbol: str, *libraries: str) -> Path:
    """Compile an extension of Python; ``symbol``: a function that it calls, which is elsewhere."""
    (world.folder / "gymtorch.c").write_text(
        "#include <Python.h>\n"
        + (f"extern void {symbol}(void);\nvoid *used = (void *){symbol};\n" if symbol else "")
        + 'static PyModuleDef module = {PyModuleDef_HEAD_INIT, "gymtorch", 0, -1, 0};\n'
        "PyMODINIT_FUNC PyInit_gymtorch(void) { return PyModule_Create(&module); }\n"
    )
    asked = [str(world.python), "-c", "import sysconfig; print(sysconfig.get_paths()['include'])"]
    told = subprocess.run(asked, check=True, capture_output=True, text=True)
    built = world.folder / "gymtorch.so"
    include, source = f"-I{told.stdout.strip()}", world.folder / "gymtorch.c"
    subprocess.run(["gcc", "-shared", "-fPIC", include, "-o", built, source, *libraries], check=True)
    return built


TAG = f"cp{VERSION.replace('.', '')}"
MODULE = f"gymtorch.cpython-{VERSION.replace('.', '')}-x86_64-linux-gnu.so"


def gymtorch(needs: str = "") -> Plant:
    """Compile and install an extension; ``needs``: the library of a Python that it was linked against."""

    def plant(world: World) -> None:
        stub = world.folder / "stub.so"
        if needs:
            subprocess.run(["gcc", "-shared", f"-Wl,-soname,{needs}", "-o", stub, "-x", "c", "/dev/null"], check=True)
        compiled(world, "", *(["-Wl,--no-as-needed", str(stub)] if needs else []))
        wheel("gymtorch", "1.0", {MODULE: Path("gymtorch.so")}, f"{TAG}-{TAG}-linux_x86_64")(world)

    return plant


def built_before(where: str) -> Plant:
    """Leave the extension in the folder of a build, made for a torch that has another name for a function."""

    def plant(world: World) -> None:
        (world.home / where).mkdir(parents=True)
        shutil.copy2(compiled(world, "_ZN3c106detail14torchCheckFailEPKcS2_jRKSs"), world.home / where / MODULE)

    return plant


def compiled_once(module: str, old: str) -> Plant:
    """Leave the byte code of an older file, of the kind that is never compared with its source."""

    def plant(world: World) -> None:
        code = (
            "import importlib.util, py_compile, sys\n"
            "py_compile.compile(sys.argv[1], cfile=importlib.util.cache_from_source(sys.argv[2]), dfile=sys.argv[2],"
            " doraise=True, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)"
        )
        (world.site / "__pycache__").mkdir(exist_ok=True)
        subprocess.run([world.python, "-c", code, world.home / old, world.site / module], check=True)

    return plant


def editable(where: str) -> Plant:
    """Install a project of the home with ``pip install -e``."""

    def plant(world: World) -> None:
        installs("--no-deps", "--editable", str(world.home / where))(world)

    return plant


def empty_environment(where: str) -> Plant:
    """Make an environment without packages."""

    def plant(world: World) -> None:
        from tests.worldlab.environments import uv

        (world.home / where).unlink(missing_ok=True)
        uv("venv", "--quiet", "--python", sys.executable, str(world.home / where))

    return plant


def supervisor(command: str) -> Plant:
    """Write a configuration of supervisord for one program."""
    text = (
        "[unix_http_server]\nfile={home}/s\n\n[supervisord]\nlogfile={home}/work/supervisord.log\n"
        "pidfile={home}/work/supervisord.pid\n\n[rpcinterface:supervisor]\n"
        "supervisor.rpcinterface_factory = supervisor.rpcinterface:make_main_rpcinterface\n\n"
        "[supervisorctl]\nserverurl=unix://{home}/s\n\n[program:serve]\n"
        'environment=VIRTUAL_ENV="{env}"\ndirectory={home}/work\n'
        f"command={command}\nautorestart=false\nstartsecs=0\nredirect_stderr=true\nstdout_logfile={{home}}/work/serve.log\n"
    )
    return writes({"work/supervisord.conf": text, "work/serve.log": ""})


def unit_with(file: str) -> Plant:
    """Write a service of the person with a file of variables."""
    unit = unit_text("WorkingDirectory=%h/work\nEnvironmentFile=%h/serve.env\n")
    return writes({".config/systemd/user/serve.service": unit, "serve.env": file})


def by_link(world: World) -> Ran:
    """Start the environment's Python by a link to its folder."""
    done = world.run([world.home / "venv/bin/python", "-c", "import torch; torch.ones(1)"])
    said = (done.stdout + done.stderr).decode("utf-8", "replace").strip()
    return Ran(ok=done.returncode == 0, said=said[-3000:] or "it works")


def ready(world: World) -> None:
    """Have ffmpeg as a program of the person."""
    installs("--target", str(world.folder / "ffmpeg"), "--no-deps", "imageio-ffmpeg==0.6.0")(world)
    (found,) = (world.folder / "ffmpeg/imageio_ffmpeg/binaries").glob("ffmpeg-*")
    (world.home / "bin").mkdir()
    os.link(found, world.home / "bin/ffmpeg")
    (world.home / "bin/ffmpeg").chmod(0o755)
    world.variables["PATH"] = f"{world.home}/bin:/usr/local/bin:/usr/bin:/bin"


NVIDIA = ("cublas", "cuda_nvrtc", "cuda_runtime", "cudnn", "cufft", "curand")
PYCHARM = """<component name="ProjectRunConfigurationManager">
  <configuration default="false" name="train" type="PythonConfigurationType" factoryName="Python">
    <envs>
      <env name="PYTHONUNBUFFERED" value="1" />
      <env name="JAX_DEFAULT_MATMUL_PRECISION" value="{value}" />
    </envs>
    <option name="SDK_HOME" value="{env}/bin/python" />
    <option name="WORKING_DIRECTORY" value="$PROJECT_DIR$" />
    <option name="SCRIPT_NAME" value="$PROJECT_DIR$/main.py" />
  </configuration>
</component>
"""
POE = """[project]
name = "serve"
version = "0.1"

[tool.poe]
env = {PYTHONPATH = "{value}"}

[tool.poe.tasks]
serve = "{env}/bin/python main.py"
"""
JUST = 'export JAX_ENABLE_X64 := "{value}"\n\nrun:\n    {env}/bin/python main.py\n'
INVOKE = {
    "work/tasks.py": 'from invoke import task\n\n\n@task\ndef train(c):\n    c.run("{env}/bin/python main.py")\n',
    "work/invoke.yaml": "run:\n  env:\n    TORCH_DISTRIBUTED_DEBUG: DETAIL\n",
}
FLASK = {
    "work/main.py": "import jax\nfrom flask import Flask\n\njax.devices('cpu')\napp = Flask(__name__)\n",
    "work/.flaskenv": "FLASK_APP=main\nJAX_NUM_CPU_DEVICES=2\n",
}
LAUNCH = (
    "#!/bin/bash\nset -e\n"
    'export PATH="$HOME/.local/bin:{env}/bin:$PATH"\n'
    "cd {home}/work\nexec torchrun --standalone --nproc-per-node 1 main.py\n"
)
OF_THE_PERSON = "#!/usr/bin/python3\nimport sys\n\nfrom torch.distributed.run import main\n\nsys.exit(main())\n"
SEGNET = {
    "code/segnet/pyproject.toml": '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n\n'
    '[project]\nname = "segnet"\nversion = "0.1"\n\n[tool.setuptools]\npackages = ["segnet", "datasets"]\n',
    "code/segnet/segnet/__init__.py": "import torch\n",
    "code/segnet/datasets/__init__.py": "class Cityscapes:\n    pass\n",
}

# --- what is expected ---------------------------------------------------------------------------------------------------

SYSTEM_LIBRARY = ("system_library_missing",)
BROKEN = ("requirement_broken",)
UNFIT = ("extension_abi_mismatch", "requirement_broken")
CUT = ("corrupt_or_truncated_file", "installation_interrupted")
SHADOWED = ("module_shadowed",)
VALUE = ("variable_value_wrong",)
ELSEWHERE = ("wrong_environment_active",)
NOT_SEARCHED = (
    "cuda_not_on_search_path",
    "ld_library_path_override",
    "process_env_not_inherited",
    "cudnn_not_on_search_path",
)
LIBRARIES = ":".join(f"{{at}}/lib/python{VERSION}/site-packages/nvidia/{name}/lib" for name in NVIDIA)
NUMBA = ("numba==0.61.2", "numpy==2.2.6")
TOOLKIT = layered("cuda", "--no-deps", "nvidia-cuda-nvcc-cu12==12.8.93")
ESPEAK = ("phonemizer-fork==3.3.2", "espeakng-loader==0.2.4")
WHISPER = "openai-whisper==20250625"
FASTER = "import sys\n\nfrom faster_whisper import WhisperModel\n\nprint('this works', WhisperModel.__name__)\n"

SCENES: tuple[Scene, ...] = (
    # === A: absent or unfit
    # https://github.com/hexgrad/kokoro/issues/101
    Scene("voice-without-espeak", "A", "onnxruntime-1.23", PHONEMES, then(searches, installs("phonemizer-fork==3.3.2")), SYSTEM_LIBRARY, "", "espeak", "espeak not installed"),
    # https://github.com/openai/whisper/pull/2776
    Scene("whisper-without-ffmpeg", "A", "torch-2.6", TRANSCRIBES, then(installs(WHISPER), ready, removes("bin/ffmpeg")), (*SYSTEM_LIBRARY, *BROKEN), "", "ffmpeg", "'ffmpeg'"),
    # https://github.com/jax-ml/jax/issues/29068
    Scene("jax-without-its-plugin", "A", "jax", PLUGIN, lacks("jax-cuda12-plugin", "jax-cuda12-pjrt"), ("framework_cpu_only_build", *BROKEN), "", "cuda", "jax_plugins"),
    # https://github.com/resemble-ai/chatterbox/issues/198
    Scene("watermark-without-pkg-resources", "A", "torch-2.8", MARKS, then(installs("resemble-perth==1.0.1", "librosa==0.11.0", "pyyaml==6.0.3", "setuptools==80.9.0"), installs("--no-deps", "setuptools==82.0.0")), BROKEN, "", "pkg_resources", "NoneType"),
    # https://github.com/mkocabas/VIBE/issues/101
    Scene("rendering-without-egl", "A", "jax", RENDERS, then(installs("PyOpenGL==3.1.7"), sets(PYOPENGL_PLATFORM="egl"), without_system("libEGL.so*")), (*SYSTEM_LIBRARY, *VALUE), "", "EGL", "eglQueryString"),
    # https://github.com/gokayfem/ComfyUI_VLM_nodes/issues/132
    Scene("cache-on-disk-without-sqlite", "A", "ctranslate2", imports("diskcache"), then(searches, installs("diskcache==5.6.3"), without_system("libsqlite3.so*")), (*SYSTEM_LIBRARY, "python_environment_broken"), "", "sqlite3", "libsqlite3.so.0"),
    # https://github.com/FFTAI/Wiki-GRx-Gym/issues/6
    Scene("extension-of-another-pythons-library", "A", "torch-2.6", imports("gymtorch"), then(gymtorch(), gymtorch("libpython3.8.so.1.0")), (*SYSTEM_LIBRARY, "package_for_another_python", *UNFIT), "", "libpython3.8.so.1.0", "libpython3.8.so.1.0"),
    # https://github.com/keras-team/keras/issues/18888
    Scene("keras-on-jax-without-a-word", "A", "jax", KERAS, then(installs("keras==3.11.3"), sets(KERAS_BACKEND="jax"), sets(KERAS_BACKEND="")), (*BROKEN, *VALUE), "", "tensorflow", "No module named 'tensorflow'"),
    # class only: a lock file that lost a package
    Scene("tensorflow-without-cufft", "A", "tensorflow", opens("nvidia/cublas/lib/libcublas.so.12", "nvidia/cufft/lib/libcufft.so.11"), lacks("nvidia-cufft-cu12"), ("cuda_runtime_missing", *BROKEN), "tensorflow", "cufft", "libcufft.so.11"),
    # class only: what a scanner for viruses took away
    Scene("xformers-lost-its-operators", "A", "torch-2.8", EXTENSIONS, loses("xformers/_C.so"), CUT, "xformers", "_C.so", "xFormers"),
    # === B: all is there and does not fit
    # https://github.com/Zeyi-Lin/HivisionIDPhotos/issues/281
    Scene("gradio-with-a-newer-hub", "B", "ctranslate2", GRADIO, then(searches, installs("gradio==4.44.1", "huggingface-hub==0.34.4", "pydantic==2.10.6"), installs("huggingface-hub==1.0.1")), BROKEN, "", "gradio", "HfFolder"),
    # https://github.com/tensorflow/probability/issues/2009
    Scene("probability-with-a-newer-jax", "B", "jax", runs("from tensorflow_probability.substrates import jax as tfp; tfp.distributions"), installs("tensorflow-probability==0.25.0"), BROKEN, "", "tensorflow", "pytype_aval_mappings"),
    # https://github.com/Comfy-Org/ComfyUI-Manager/issues/926
    Scene("xformers-of-an-older-torch", "B", "torch-2.8", EXTENSIONS, installs("--no-deps", "xformers==0.0.30"), UNFIT, "", "xformers", "xFormers"),
    # https://github.com/pytorch/vision/issues/9174
    Scene("torchvision-of-a-newer-torch", "B", "torch-2.6", VISION, installs("--no-deps", "torchvision==0.22.1"), UNFIT, "", "torchvision", "torchvision::nms"),
    # https://github.com/explosion/thinc/issues/939
    Scene("spacy-for-numpy-1", "B", "ctranslate2", imports("spacy"), then(searches, installs("spacy==3.7.5", "thinc==8.2.5", "numpy==1.26.4", "click<8.2"), installs("--no-deps", "numpy==2.2.6")), ("numpy_abi_mismatch", *UNFIT), "", "thinc", "numpy.dtype size changed"),
    # https://github.com/neonbjb/tortoise-tts/issues/395
    Scene("numba-with-an-older-llvmlite", "B", "jax", imports("numba"), then(installs(*NUMBA), installs("--no-deps", "llvmlite==0.43.0")), BROKEN, "", "llvmlite", "llvmlite"),
    # https://github.com/lanpa/tensorboardX/issues/663
    Scene("logs-written-before-protobuf-4", "B", "ctranslate2", imports("tensorboardX"), then(searches, installs("tensorboardX==2.5", "protobuf==3.20.3"), installs("--no-deps", "protobuf==5.29.5")), BROKEN, "", "protobuf", "Descriptors cannot be created directly"),
    # https://github.com/pytorch/pytorch/issues/134929
    Scene("torch-with-an-older-linker", "B", "torch-2.6", TORCH, installs("--no-deps", "nvidia-nvjitlink-cu12==12.1.105"), ("requirement_broken", "cuda_lib_shadowed", "cuda_toolkit_version_mismatch"), "torch", "nvjitlink", "__nvJitLinkComplete_12_4"),
    # https://github.com/rwth-i6/returnn/issues/1802
    Scene("torch-with-nccl-of-two-cudas", "B", "torch-2.8", TORCH, installs("--no-deps", "nvidia-nccl-cu11==2.14.3"), ("duplicate_framework_packages", "requirement_broken", "cuda_lib_shadowed", "nccl_failed", *CUT), "torch", "nccl", "undefined symbol: nccl"),
    # https://github.com/SYSTRAN/faster-whisper/issues/729
    Scene("ctranslate2-for-cudnn-8", "B", "ctranslate2", CUDNN, then(searches, installs("--no-deps", "ctranslate2==4.4.0", "setuptools==80.9.0")), ("cudnn_major_mismatch", "cudnn_not_installed", "cudnn_sublibrary_missing"), "ctranslate2", "libcudnn", "libcudnn_ops_infer.so.8"),
    # === C: Python finds another file
    # https://github.com/SYSTRAN/faster-whisper/issues/905
    Scene("script-named-as-faster-whisper", "C", "ctranslate2", calls("{env}/bin/python", "faster_whisper.py"), then(searches, installs("faster-whisper==1.2.1"), writes({"work/notes.md": ""}, "work"), writes({"work/faster_whisper.py": FASTER})), SHADOWED, "", "faster_whisper.py", "partially initialized module"),
    # https://github.com/wookayin/gpustat/issues/153
    Scene("gpustat-behind-an-old-pynvml", "C", "ctranslate2", STATUS, then(searches, installs("gpustat==1.1", "nvidia-ml-py==12.575.51"), installs("--no-deps", "pynvml==11.4.1")), (*SHADOWED, "duplicate_framework_packages", "requirement_broken", "installation_interrupted"), "", "pynvml", "pynvml"),
    # class only: what was built for the torch of before
    Scene("extension-in-the-folder-of-a-build", "C", "torch-2.6", imports("torch", "gymtorch"), then(gymtorch(), built_before("code/gymtorch/build/lib.linux-x86_64-cpython-311"), sets(PYTHONPATH="{home}/code/gymtorch/build/lib.linux-x86_64-cpython-311")), (*SHADOWED, "extension_abi_mismatch"), "", "build/lib.linux-x86_64-cpython-311", "undefined symbol"),
    # class only: a checkout of a plug-in of one's own
    Scene("jax-behind-a-package-of-plugins", "C", "jax", PLUGIN, then(writes({"code/plugin/jax_plugins/__init__.py": "", "code/plugin/jax_plugins/xla_npu/__init__.py": "def initialize():\n    pass\n"}), sets(PYTHONPATH="{home}/code/plugin")), SHADOWED, "", "jax_plugins", "jax_plugins.xla_cuda12"),
    # class only: a module of the person's own
    Scene("copy-py-in-the-project", "C", "torch-2.8", TORCH, writes({"work/copy.py": "import os\n\n\ndef run(a, b):\n    os.system(f'cp {a} {b}')\n"}, "work"), SHADOWED, "torch", "copy.py", "copy"),
    # https://github.com/matplotlib/matplotlib/issues/26827
    Scene("plots-with-the-systems-toolkits", "C", "jax", runs("from mpl_toolkits.mplot3d import Axes3D"), then(installs("matplotlib==3.10.6"), layered("dist-packages", "--no-deps", "--python-version", "3.10", "--only-binary", ":all:", "matplotlib==3.5.3"), keeps("dist-packages", "mpl_toolkits"), writes({"dist-packages/mpl_toolkits/__init__.py": ""}), sets(PYTHONPATH="{home}/dist-packages")), SHADOWED, "", "mpl_toolkits", "docstring"),
    # https://github.com/infiniflow/ragflow/issues/4466
    Scene("linker-of-the-working-folder", "C", "jax", opens("nvidia/cusparse/lib/libcusparse.so.12"), then(layered("old", "--no-deps", "nvidia-nvjitlink-cu12==12.1.105"), takes("old/nvidia/nvjitlink/lib/libnvJitLink.so.12", "work/libnvJitLink.so.12"), writes({"work/run.txt": ""}, "work"), sets(LD_LIBRARY_PATH="/usr/local/lib:")), ("cuda_lib_shadowed", "ld_library_path_override", *VALUE), "", "libnvJitLink.so.12", "nvJitLink"),
    # https://github.com/pytorch/torchtitan/issues/1738
    Scene("datasets-overwritten-by-a-project", "C", "ctranslate2", runs("from datasets import Dataset, load_dataset"), then(searches, installs("datasets==3.6.0"), wheel("segnet", "0.1", {"segnet/__init__.py": "", "datasets/__init__.py": "from datasets.cityscapes import Cityscapes\n", "datasets/cityscapes.py": "class Cityscapes:\n    pass\n"})), (*CUT, *SHADOWED, "duplicate_framework_packages", *BROKEN), "", "datasets", "cannot import name 'Dataset'"),
    # https://github.com/archlinuxcn/repo/issues/4836
    Scene("record-of-old-tokenizers-in-the-folder", "C", "torch-2.6", TOKENIZER, then(installs(TRANSFORMERS), writes({"work/main.py": RAN}, "work"), writes({"work/tokenizers-0.13.3.dist-info/METADATA": "Metadata-Version: 2.1\nName: tokenizers\nVersion: 0.13.3\n", "work/tokenizers-0.13.3.dist-info/INSTALLER": "pip\n"})), (*BROKEN, *SHADOWED, *CUT), "", "tokenizers", "found tokenizers==0.13.3"),
    # class only: an image whose byte code is never compared
    Scene("torch-with-byte-code-of-before", "C", "torch-2.6", TORCH, then(layered("old", "--no-deps", "typing-extensions==4.5.0"), compiled_once("typing_extensions.py", "old/typing_extensions.py")), (*CUT, *SHADOWED, *BROKEN, "python_environment_broken"), "", "typing_extensions", "typing_extensions"),
    # === D: started in another way
    # class only: a service that is told its environment, and not its Python
    Scene("supervisor-finds-another-python", "D", "torch-2.6", BY_SUPERVISOR, then(program(ONES), installs("supervisor==4.3.0", "setuptools<81"), supervisor("{env}/bin/python3 main.py"), supervisor("python3 main.py")), ELSEWHERE, "", "supervisord.conf", "No module named 'torch'"),
    # class only: a recipe of just
    Scene("jax-switch-of-a-justfile", "D", "jax", started("{env}/bin/just", "run"), then(program(JAX), installs("rust-just==1.42.4"), writes({"work/justfile": JUST.replace("{value}", "true")}), writes({"work/justfile": JUST.replace("{value}", "enabled")})), VALUE, "", "JAX_ENABLE_X64", "invalid truth value"),
    # class only: vendored sources for a task of poe
    Scene("sources-on-the-path-of-poe", "D", "jax", started("{env}/bin/poe", "-q", "serve"), then(program(JAX), installs("poethepoet==0.37.0"), checkout("ml_dtypes", "work/vendor"), writes({"work/pyproject.toml": POE.replace("{value}", "src")}), writes({"work/pyproject.toml": POE.replace("{value}", "vendor")})), SHADOWED, "", "vendor", "ml_dtypes"),
    # class only: Flask reads a file of its own
    Scene("jax-devices-of-a-flaskenv", "D", "jax", calls("{env}/bin/flask", "routes"), then(installs("flask==3.1.2", "python-dotenv==1.1.1"), writes(FLASK, "work"), writes({"work/.flaskenv": "FLASK_APP=main\nJAX_NUM_CPU_DEVICES=all\n"})), VALUE, "", "JAX_NUM_CPU_DEVICES", "all"),
    # class only: a folder with a file for each variable
    Scene("jax-flag-in-a-folder-of-variables", "D", "jax", started("./run.sh"), then(program(JAX), installs("envdir==1.0.1"), writes({"work/run.sh": "#!/bin/sh\nexec {env}/bin/envdir ./variables {env}/bin/python main.py\n"}, "work", 0o755), writes({"work/variables/XLA_FLAGS": "--xla_cpu_multi_thread_eigen=true"}), writes({"work/variables/XLA_FLAGS": "--xla_gpu_enable_triton_softmax_fusion=true"})), VALUE, "", "xla_gpu_enable_triton_softmax_fusion", "Unknown flag"),
    # class only: a script that is started by its name
    Scene("first-line-of-a-script", "D", "ctranslate2", calls("./transcribe.py"), then(searches, writes({"work/transcribe.py": "#!{env}/bin/python\nimport ctranslate2\n"}, "work", 0o755), writes({"work/transcribe.py": "#!/usr/bin/python3\nimport ctranslate2\n"}, "", 0o755)), ELSEWHERE, "", "transcribe.py", "No module named 'ctranslate2'"),
    # https://github.com/JVT47/RTMDet-object-detection/issues/19
    Scene("uv-takes-the-projects-environment", "D", "jax", by_uv, then(program(JAX), writes({"work/pyproject.toml": '[project]\nname = "train"\nversion = "0.1"\nrequires-python = ">=3.11"\ndependencies = ["jax"]\n'}), sets(VIRTUAL_ENV="{env}", PATH="{env}/bin:/usr/local/bin:/usr/bin:/bin"), linked("work/.venv", "{env}"), empty_environment("work/.venv")), ELSEWHERE, "", ".venv", "No module named 'jax'"),
    # https://github.com/KempnerInstitute/KempnerForge/issues/68
    Scene("torchrun-of-the-person", "D", "torch-2.6", started("./launch.sh"), then(program(ONES), writes({"work/launch.sh": LAUNCH}, "work", 0o755), writes({".local/bin/torchrun": OF_THE_PERSON}, "", 0o755)), ELSEWHERE, "", "torchrun", "No module named 'torch'"),
    # https://serverfault.com/questions/794922/how-to-use-the-home-environment-variable-in-systemd-service-files/1128132
    Scene("onnxruntime-service-with-a-home", "D", "onnxruntime-1.23", by_unit, then(program(PROVIDER), searches, linked("venv", "{env}"), unit_with(f"LD_LIBRARY_PATH={LIBRARIES.replace('{at}', '{home}/venv')}\n"), unit_with(f"LD_LIBRARY_PATH={LIBRARIES.replace('{at}', '$HOME/venv')}\n")), (*NOT_SEARCHED, *VALUE), "onnxruntime-gpu", "serve", "libcu"),
    # class only: variables of invoke
    Scene("torch-level-of-invoke", "D", "torch-2.8", started("{env}/bin/inv", "train"), then(program(ONES), installs("invoke==2.2.0"), writes(INVOKE), writes({"work/invoke.yaml": 'run:\n  env:\n    TORCH_DISTRIBUTED_DEBUG: "1"\n'})), VALUE, "", "TORCH_DISTRIBUTED_DEBUG", "must be OFF, INFO, or DETAIL"),
    # class only: a run configuration of PyCharm
    Scene("jax-precision-of-pycharm", "D", "jax", by_pycharm, then(program(JAX), writes({"work/.idea/runConfigurations/train.xml": PYCHARM.replace("{value}", "float32")}, "work"), writes({"work/.idea/runConfigurations/train.xml": PYCHARM.replace("{value}", "fp32")})), VALUE, "", "JAX_DEFAULT_MATMUL_PRECISION", "fp32"),
    # === E: variables
    # https://github.com/protocolbuffers/protobuf/issues/11934
    Scene("tensorflow-with-protobuf-of-before", "E", "tensorflow", TENSORFLOW, sets(PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION="cpp"), VALUE, "", "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION", "_message"),
    # https://github.com/numba/numba/issues/9216
    Scene("numba-with-a-list-of-toolkits", "E", "ctranslate2", LIBNVVM, then(searches, installs(*NUMBA), TOOLKIT, sets(CUDA_HOME="{home}/cuda/nvidia/cuda_nvcc"), sets(CUDA_HOME=":{home}/cuda/nvidia/cuda_nvcc")), (*VALUE, "cuda_path_env_wrong", "cuda_not_on_search_path", "libdevice_not_found"), "", "CUDA_HOME", "libdevice"),
    # https://github.com/basicmachines-co/basic-memory/issues/1541
    Scene("hub-past-a-proxy-in-brackets", "E", "ctranslate2", HUB, then(searches, installs("huggingface-hub==1.0.1"), sets(NO_PROXY="localhost,127.0.0.1,::1,[::1]")), VALUE, "", "NO_PROXY", "Invalid port"),
    # https://github.com/vllm-project/vllm/issues/34199
    Scene("gradio-port-of-a-cluster", "E", "ctranslate2", GRADIO, then(searches, installs("gradio==5.44.1", "huggingface-hub==0.34.4"), sets(GRADIO_SERVER_PORT="tcp://10.96.12.7:7860", GRADIO_SERVICE_HOST="10.96.12.7")), VALUE, "", "GRADIO_SERVER_PORT", "tcp://10.96.12.7:7860"),
    # https://github.com/Lightning-AI/pytorch-lightning/issues/20391
    Scene("lightning-in-a-job-of-many-tasks", "E", "torch-2.6", TRAINER, then(installs("lightning==2.5.5"), sets(SLURM_JOB_ID="4711", SLURM_JOB_NAME="train", SLURM_NTASKS="8", SLURM_NTASKS_PER_NODE="8"), unsets("SLURM_NTASKS_PER_NODE")), VALUE, "", "SLURM_NTASKS", "--ntasks"),
    # https://github.com/Zyphra/Zonos/issues/142
    Scene("voice-by-a-library-that-is-gone", "E", "onnxruntime-1.23", PHONEMES, then(searches, installs(*ESPEAK), sets(PHONEMIZER_ESPEAK_LIBRARY="{site}/espeakng_loader/libespeak-ng.so", ESPEAK_DATA_PATH="{site}/espeakng_loader/espeak-ng-data"), sets(PHONEMIZER_ESPEAK_LIBRARY="/opt/homebrew/lib/libespeak-ng.dylib")), VALUE, "", "PHONEMIZER_ESPEAK_LIBRARY", "espeak not installed"),
    # https://github.com/NeptuneHub/AudioMuse-AI/issues/641
    Scene("librosa-without-a-place-to-write", "E", "jax", SPECTRUM, then(installs("librosa==0.11.0", *NUMBA), writes({".cache/readme.txt": "", "scratch/readme.txt": ""}), read_only, closed(".cache"), sets(NUMBA_CACHE_DIR="{home}/scratch"), sets(NUMBA_CACHE_DIR="{home}/.cache/numba")), (*VALUE, "library_unreadable"), "", "NUMBA_CACHE_DIR", "cannot cache function"),
    # https://github.com/pytorch/pytorch/issues/91005
    Scene("inductor-on-a-noexec-drive", "E", "torch-2.8", COMPILES, then(writes({"drive/readme.txt": "scratch"}), sets(TORCHINDUCTOR_CACHE_DIR="{home}/drive/inductor"), noexec("drive")), ("noexec_mount", *VALUE), "", "drive", "failed to map segment"),
    # https://github.com/pytorch/torchtitan/pull/733
    Scene("python-seed-above-all-seeds", "E", "ctranslate2", imports("ctranslate2"), then(searches, sets(PYTHONHASHSEED="8146213095")), VALUE, "", "PYTHONHASHSEED", "PYTHONHASHSEED must be"),
    # https://github.com/huggingface/finetrainers/issues/315
    Scene("torch-group-without-a-rank", "E", "torch-2.8", GROUP, then(sets(RANK="0", WORLD_SIZE="1", LOCAL_RANK="0", MASTER_ADDR="127.0.0.1", MASTER_PORT="29517"), unsets("RANK", "LOCAL_RANK")), VALUE, "torch", "RANK", "RANK expected, but not set"),
    # class only: a person's packages, switched off for a container
    Scene("timm-without-the-persons-torchvision", "E", "torch-2.6", imports("timm"), then(installs("timm==1.0.20"), sees_system, lacks("torchvision"), layered(f".local/lib/python{VERSION}/site-packages", "--no-deps", "torchvision==0.21.0"), sets(PYTHONNOUSERSITE="1")), (*BROKEN, *VALUE), "", "torchvision", "No module named 'torchvision'"),
    # class only: the mirror's name alone
    Scene("hub-at-a-name-without-a-scheme", "E", "ctranslate2", MODELS, then(searches, installs("huggingface-hub==0.34.4"), sets(HF_ENDPOINT="https://127.0.0.1:9"), sets(HF_ENDPOINT="hf-mirror.com")), VALUE, "", "HF_ENDPOINT", "No scheme supplied"),
    # https://github.com/numba/numba/issues/6108
    Scene("numba-layer-that-is-not-there", "E", "jax", PARALLEL, then(installs(*NUMBA), sets(NUMBA_THREADING_LAYER="omp"), sets(NUMBA_THREADING_LAYER="tbb")), (*VALUE, *BROKEN), "", "NUMBA_THREADING_LAYER", "tbb"),
    # class only: a tilde that no shell has seen
    Scene("onnxruntime-path-with-a-tilde", "E", "onnxruntime-1.23", runs(PROVIDER), then(linked("venv", "{env}"), sets(LD_LIBRARY_PATH=LIBRARIES.replace("{at}", "{home}/venv")), sets(LD_LIBRARY_PATH=LIBRARIES.replace("{at}", "~/venv"))), (*NOT_SEARCHED, *VALUE), "onnxruntime-gpu", "LD_LIBRARY_PATH", "libcu"),
    # === odd, and healthy
    # a distribution of the same name, whose module Python looks at after the package
    Scene("whisper-of-two-projects", "healthy", "torch-2.6", runs("import whisper; whisper.load_model"), installs(WHISPER, "whisper==1.1.10")),
    # slow, and it works
    Scene("logs-with-protobuf-in-python", "healthy", "ctranslate2", imports("tensorboardX"), then(searches, installs("tensorboardX==2.5", "protobuf==5.29.5"), sets(PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION="python"))),
    # the finder of an editable project comes behind the folder of packages
    Scene("editable-project-with-a-folder-datasets", "healthy", "torch-2.6", runs("import segnet; from datasets import load_dataset"), then(installs("datasets==3.6.0"), writes(SEGNET), editable("code/segnet"))),
    # a link to the environment
    Scene("environment-behind-a-link", "healthy", "torch-2.6", by_link, then(linked("venv", "{env}"), sets(VIRTUAL_ENV="{home}/venv", PATH="{home}/venv/bin:/usr/local/bin:/usr/bin:/bin"))),
    # a share of the cluster
    Scene("environment-that-nobody-writes-to", "healthy", "torch-2.8", TORCH, read_only),
    # numba looks for the next place
    Scene("librosa-with-a-place-that-is-closed", "healthy", "jax", SPECTRUM, then(installs("librosa==0.11.0", *NUMBA), sets(NUMBA_CACHE_DIR="/proc/numba"))),
    # places for what is temporary, which are gone
    Scene("plots-with-places-that-are-gone", "healthy", "jax", imports("matplotlib.pyplot"), then(installs("matplotlib==3.10.6"), sets(TMPDIR="/proc/scratch", XDG_CACHE_HOME="/proc/scratch/cache", MPLCONFIGDIR="/proc/matplotlib"))),
    # a language that is not installed, and a folder with more than letters
    Scene("tensorflow-in-a-folder-with-umlauts", "healthy", "tensorflow", TENSORFLOW, then(writes({"Größe & [Läufe] 2026/daten.csv": "1\n"}, "Größe & [Läufe] 2026"), sets(LANG="tr_TR.UTF-8", LC_ALL="xx_YY.UTF-8", LC_TIME="C"))),
    # the later pynvml leaves the module to NVIDIA's package
    Scene("gpustat-with-a-later-pynvml", "healthy", "jax", STATUS, installs("gpustat==1.1.1", "nvidia-ml-py==12.575.51", "pynvml==12.0.0")),
    # the variable names a library of a wheel
    Scene("voice-by-a-library-of-a-wheel", "healthy", "onnxruntime-1.23", PHONEMES, then(searches, installs(*ESPEAK), sets(PHONEMIZER_ESPEAK_LIBRARY="{site}/espeakng_loader/libespeak-ng.so", ESPEAK_DATA_PATH="{site}/espeakng_loader/espeak-ng-data"))),
    # a stack for language
    Scene("spacy-of-today", "healthy", "ctranslate2", imports("spacy"), then(searches, installs("spacy==3.8.7", "thinc==8.3.4", "click==8.1.8"))),
    # a stack for demonstrations, with words of a cluster and of a proxy
    Scene("gradio-with-words-of-a-cluster", "healthy", "ctranslate2", GRADIO, then(searches, installs("gradio==5.44.1", "huggingface-hub==0.34.4"), sets(GRADIO_SERVER_PORT="7861", VLLM_SERVICE_HOST="10.96.12.8", REDIS_PORT="tcp://10.96.12.9:6379", NO_PROXY="localhost,127.0.0.1,::1", KUBERNETES_PORT="tcp://10.96.0.1:443"))),
    # an interactive shell of a job is no launch by srun
    Scene("lightning-in-a-shell-of-a-job", "healthy", "torch-2.6", TRAINER, then(installs("lightning==2.5.5"), sets(SLURM_JOB_ID="4711", SLURM_JOB_NAME="bash", SLURM_NTASKS="8", SLURM_PROCID="0", SLURM_LOCALID="0", SLURM_NODEID="0"))),
    # a mirror
    Scene("hub-at-a-mirror", "healthy", "ctranslate2", MODELS, then(searches, installs("huggingface-hub==0.34.4"), sets(HF_ENDPOINT="https://127.0.0.1:9/", HF_HUB_DISABLE_TELEMETRY="yes", HF_HOME="{home}/not/yet"))),
    # files for another Python, and the remains of an environment, beside
    Scene("files-for-another-python", "healthy", "jax", runs(JAX), writes({"work/.python-version": "3.9.99\n", "work/.venv/pyvenv.cfg": "home = /opt/gone/bin\nversion = 3.9.1\n", "work/Pipfile": '[requires]\npython_version = "3.8"\n', "work/.tool-versions": "python 3.7.17\n", "work/runtime.txt": "python-3.6.15\n"}, "work")),
    # contracts of the interpreter that are kept
    Scene("words-for-the-interpreter", "healthy", "tensorflow", TENSORFLOW, sets(PYTHONSAFEPATH="1", PYTHONHASHSEED="0", PYTHONOPTIMIZE="1", PYTHONPYCACHEPREFIX="{home}/pyc", PYTHONWARNINGS="ignore", PYTHONUTF8="1", PYTHONFAULTHANDLER="1")),
    # caches elsewhere
    Scene("caches-on-another-disk", "healthy", "torch-2.8", COMPILES, sets(TORCHINDUCTOR_CACHE_DIR="{home}/disk/inductor", TRITON_CACHE_DIR="{home}/disk/triton", TORCH_HOME="{home}/disk/torch", CUDA_CACHE_PATH="{home}/disk/nv", TORCH_EXTENSIONS_DIR="{home}/disk/extensions")),
    # an own copy of a package, whole
    Scene("own-copy-of-a-package", "healthy", "torch-2.8", imports("torch", "einops"), then(installs("einops==0.8.1"), takes("{site}/einops", "work/einops"), writes({"work/train.py": "import einops\n"}, "work"))),
    # supervisord, told the whole path
    Scene("supervisor-with-the-whole-path", "healthy", "torch-2.6", BY_SUPERVISOR, then(program(ONES), installs("supervisor==4.3.0", "setuptools<81"), supervisor("{env}/bin/python3 main.py"))),
    # a variable that stays as it is, and that nobody reads
    Scene("service-with-a-word-that-stays", "healthy", "jax", by_unit, then(program(JAX), unit_with("LOGS=$HOME/logs\nJAX_PLATFORMS=cpu\n"))),
    # an editable project of long ago, of which a name is left, and a project's tests among the packages
    Scene("remains-among-the-packages", "healthy", "torch-2.6", TORCH, then(wheel("oldnet", "0.2", {"tests/__init__.py": "", "tests/test_net.py": "import nothing\n", "utils/__init__.py": "", "examples/demo.py": "x = 1\n"}), egg_link)),
    # a toolkit of a wheel in the home, named
    Scene("numba-with-a-toolkit-of-a-wheel", "healthy", "ctranslate2", LIBNVVM, then(searches, installs(*NUMBA), TOOLKIT, sets(CUDA_HOME="{home}/cuda/nvidia/cuda_nvcc"))),
    # Keras on JAX
    Scene("keras-on-jax", "healthy", "jax", KERAS, then(installs("keras==3.11.3"), sets(KERAS_BACKEND="jax"))),
    # empty entries, and a folder without libraries
    Scene("torch-with-empty-entries", "healthy", "torch-2.8", TORCH, then(writes({"work/main.py": RAN, "work/lib/readme.txt": ""}, "work"), sets(LD_LIBRARY_PATH="/usr/local/cuda/lib64::", PATH="/usr/local/bin:/usr/bin:/bin:", PYTHONPATH=":{home}/code:"))),
    # uv, told to take the active environment by a link
    Scene("uv-with-a-link-to-the-environment", "healthy", "jax", by_uv, then(program(JAX), writes({"work/pyproject.toml": '[project]\nname = "train"\nversion = "0.1"\nrequires-python = ">=3.11"\ndependencies = ["jax"]\n'}), linked("work/.venv", "{env}"))),
)  # fmt: skip
