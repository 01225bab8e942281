"""The fourteenth held-out set, classes A to E: from public threads alone, by somebody who has read no rule and no probe.

Above each row: the thread that it is made from. The last step of each fault's plant is the fault; several of the healthy
machines are a fault's twin, with what its program can use in the fault's place.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sysconfig
import tomllib
from collections.abc import Callable, Sequence

from tests.worldlab.environments import master, site
from tests.worldlab.scene import Oracle, Ran, Scene, World, imports, installs, lacks, loses, opens, runs, then

Plant = Callable[[World], None]
WORKS = "this works"

# --- what people do -----------------------------------------------------------------------------------------------------


def filled(text: str, world: World) -> str:
    """Put the scene's places into a text."""
    places = {"home": world.home, "env": world.prefix, "site": world.site}
    return re.sub(r"(?<!\$)\{(home|env|site)\}", lambda m: str(places[m[1]]), text)


def writes(files: dict[str, str], cwd: str = "", mode: int = 0o644) -> Plant:
    """Write files below the home, and work in one of its folders."""

    def plant(world: World) -> None:
        for name, text in files.items():
            path = world.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(filled(text, world))
            path.chmod(mode)
        if cwd:
            world.cwd = world.home / cwd
            world.cwd.mkdir(parents=True, exist_ok=True)

    return plant


def sets(**variables: str) -> Plant:
    """Set variables for the scan and for the program."""

    def plant(world: World) -> None:
        world.variables.update({name: filled(value, world) for name, value in variables.items()})

    return plant


def searches(world: World) -> None:
    """Let the loader search every library folder of NVIDIA's packages, as the shell's start-up file does."""
    world.variables["LD_LIBRARY_PATH"] = ":".join(map(str, sorted(world.site.glob("nvidia/*/lib"))))


def makes(*folders: str) -> Plant:
    """Make empty folders below the home."""

    def plant(world: World) -> None:
        for name in folders:
            (world.home / name).mkdir(parents=True, exist_ok=True)

    return plant


def slim(*patterns: str) -> Plant:
    """Delete whole folders of the packages, as a Dockerfile's last line does."""

    def plant(world: World) -> None:
        for pattern in patterns:
            for path in sorted(world.site.glob(pattern)):
                shutil.rmtree(path)

    return plant


def linked_from(environment: str, pattern: str, where: str) -> Plant:
    """Put a folder of another environment's packages somewhere below the home."""

    def plant(world: World) -> None:
        source = site(master(environment)) / pattern
        shutil.copytree(source, world.home / where, symlinks=True, copy_function=os.link)

    return plant


def without_module(name: str) -> Plant:
    """Start programs with a Python that was built without the headers for one of its modules."""

    def plant(world: World) -> None:
        code = f"import os, {name}; print(os.path.dirname({name}.__file__))"
        whole = world.run([world.python, "-c", code]).stdout.decode().strip()
        part = world.folder / "lib-dynload"
        shutil.copytree(whole, part, ignore=shutil.ignore_patterns(f"{name}.*"))
        script = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'
        world.launcher += ["unshare", "-m", "sh", "-c", script, "sh", str(part), whole]

    return plant


def shared_memory(size: str) -> Plant:
    """Start programs where /dev/shm has this size, as a container engine gives it."""

    def plant(world: World) -> None:
        script = 'mount -t tmpfs -o size="$1" shm /dev/shm && shift && exec "$@"'
        world.launcher += ["unshare", "-m", "sh", "-c", script, "sh", size]

    return plant


def flash_attention(abi: int) -> Plant:
    """Install a stand-in for flash_attn, with the one import that matters: an error of torch, made with a string."""

    def plant(world: World) -> None:
        suffix = sysconfig.get_config_var("EXT_SUFFIX")
        source = world.folder / "flash.cpp"
        source.write_text(
            "#include <Python.h>\n#include <string>\n#include <cstdint>\n"
            "namespace c10 { namespace detail {\n"
            "[[noreturn]] void torchCheckFail(const char*, const char*, uint32_t, const std::string&);\n}}\n"
            "static PyObject* forward(PyObject*, PyObject* given) {\n"
            '  if (given == nullptr) c10::detail::torchCheckFail("forward", "flash_api.cpp", 1, std::string("q"));\n'
            "  Py_RETURN_NONE;\n}\n"
            'static PyMethodDef methods[] = {{"fwd", forward, METH_O, ""}, {nullptr, nullptr, 0, nullptr}};\n'
            'static PyModuleDef module = {PyModuleDef_HEAD_INIT, "flash_attn_2_cuda", "", -1, methods};\n'
            "PyMODINIT_FUNC PyInit_flash_attn_2_cuda() { return PyModule_Create(&module); }\n"
        )
        libraries = world.site / "torch/lib"
        words = ["g++", "-shared", "-fPIC", "-O1", f"-D_GLIBCXX_USE_CXX11_ABI={abi}"]
        words += [f"-I{sysconfig.get_paths()['include']}", str(source), f"-L{libraries}", "-Wl,--no-as-needed", "-lc10"]
        words += ["-o", str(world.site / f"flash_attn_2_cuda{suffix}")]
        subprocess.run(words, check=True, capture_output=True)
        source.unlink()
        package, record = world.site / "flash_attn", world.site / "flash_attn-2.7.4.post1.dist-info"
        package.mkdir()
        (package / "__init__.py").write_text(
            '__version__ = "2.7.4.post1"\n\nfrom flash_attn.flash_attn_interface import flash_attn_func\n'
        )
        (package / "flash_attn_interface.py").write_text(
            "import torch\nimport flash_attn_2_cuda as flash_attn_gpu\n\n\n"
            "def flash_attn_func(q, k, v):\n    return flash_attn_gpu.fwd(q)\n"
        )
        record.mkdir()
        (record / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: flash_attn\nVersion: 2.7.4.post1\nRequires-Dist: torch\n"
        )
        (record / "WHEEL").write_text("Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: cp311-cp311-linux_x86_64\n")
        (record / "INSTALLER").write_text("pip\n")
        files = [*package.iterdir(), *record.iterdir(), world.site / f"flash_attn_2_cuda{suffix}"]
        (record / "RECORD").write_text("".join(f"{f.relative_to(world.site)},,\n" for f in files))

    return plant


def compiled_rest(world: World) -> None:
    """Leave a package's compiled modules behind when an older release of it, without any, is put over it."""
    kept = {p: p.read_bytes() for p in world.site.glob("charset_normalizer/*.so")}
    installs("--no-deps", "charset-normalizer==2.0.12")(world)
    for path, content in kept.items():
        path.write_bytes(content)


def packages_of_pdm(world: World) -> None:
    """Have PDM's own start-up file on the path, as ``pdm --pep582`` sets it, and a project that keeps its packages itself."""
    home = world.home
    installs("--no-deps", "--target", str(home / "pdm"), "pdm==2.25.4")(world)
    shutil.move(home / "pdm/pdm/pep582", home / ".local/share/pdm/pep582")
    shutil.rmtree(home / "pdm")
    folder = home / "work/__pypackages__/3.11/lib"
    installs("--no-deps", "--target", str(folder), "huggingface-hub==0.16.4")(world)
    writes(
        {
            "work/pyproject.toml": '[project]\nname = "demo"\nversion = "0.1"\ndependencies = ["huggingface-hub==0.16.4"]\n'
        },
        "work",
    )(world)
    sets(PYTHONPATH="{home}/.local/share/pdm/pep582")(world)


def namespace_pth(name: str, *parts: str) -> str:
    """Return the line that setuptools wrote for a namespace package, up to its release 80."""
    return (
        "import sys, types, os;p = os.path.join(sys._getframe(1).f_locals['sitedir'], *"
        + repr(parts)
        + ");importlib = __import__('importlib.util');__import__('importlib.machinery');"
        f"m = sys.modules.setdefault({name!r}, importlib.util.module_from_spec(importlib.machinery.PathFinder.find_spec("
        f"{name!r}, [os.path.dirname(p)])));m = m or sys.modules.setdefault({name!r}, types.ModuleType({name!r}));"
        "mp = (m or []) and m.__dict__.setdefault('__path__',[]);(p not in mp) and mp.append(p)\n"
    )


def layer_of_cloud_packages(world: World) -> None:
    """Share a folder with google-cloud packages of 2020 among environments, by a line that adds it as a site folder."""
    shared = world.home / "shared/site-packages"
    (shared / "google/cloud/storage").mkdir(parents=True)
    (shared / "google/cloud/storage/__init__.py").write_text('__version__ = "1.28.1"\n')
    (shared / "google_cloud_storage-1.28.1-py3.8-nspkg.pth").write_text(namespace_pth("google", "google"))
    # before the packages' own files, in the order of names
    (world.site / "_shared.pth").write_text(f"import site; site.addsitedir({str(shared)!r})\n")


def notes_of_conda(world: World) -> None:
    """Have what conda keeps of the PyTorch that pip has replaced since."""
    notes = world.prefix / "conda-meta"
    notes.mkdir()
    (notes / "history").write_text("==> 2024-11-02 10:11:12 <==\n# cmd: /opt/conda/bin/conda create -n train pytorch\n")
    for name, version, build in (
        ("pytorch", "2.5.1", "py3.11_cuda12.1_cudnn9.1.0_0"),
        ("pytorch-cuda", "12.1", "ha16c6d3_6"),
        ("numpy", "1.26.4", "py311h24aa872_0"),
    ):
        record = {"name": name, "version": version, "build": build, "channel": "pytorch", "files": [], "depends": []}
        (notes / f"{name}-{version}-{build}.json").write_text(json.dumps(record))


def plugins_that_went(world: World) -> None:
    """Leave the records of packages that registered plug-ins with others, without the packages themselves."""
    for name, group, line in (
        ("nx_cugraph-24.12.0", "networkx.backends", "cugraph = nx_cugraph.interface:BackendInterface"),
        ("nx_cugraph_info-24.12.0", "networkx.backend_info", "cugraph = _nx_cugraph:get_info"),
    ):
        record = world.site / f"{name}.dist-info"
        record.mkdir()
        distribution, _, version = name.rpartition("-")
        (record / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
        (record / "entry_points.txt").write_text(f"[{group}]\n{line}\n")


# --- what the real programs do ------------------------------------------------------------------------------------------

TORCH = imports("torch")
JAX = "import jax; jax.devices('cpu')"
CUBLAS = "import ctypes, ctranslate2; ctypes.CDLL('libcublas.so.12'); ctypes.CDLL('libcudnn.so.9')"
"""What CTranslate2 opens by its bare name for its first matrix."""
CUDNN = (
    "import jax_plugins.xla_cuda12 as plugin; plugin._load_nvidia_libraries()\n"
    "from jax_cuda12_plugin import _versions as v\n"
    "assert v.cudnn_get_version() // 100 >= v.cudnn_build_version() // 100, "
    "f'cuDNN {v.cudnn_get_version()} was found, {v.cudnn_build_version()} was built with'"
)
"""What JAX loads and compares before it uses a card."""
HALF = runs(
    "import cupy\nfrom cupy.cuda import compiler\n"
    "source = '#include <cuda_fp16.h>\\nextern \"C\" __global__ void f(__half *x) { x[0] = __float2half(1.f); }'\n"
    "from cupy._core import core\n"
    "options = ('--gpu-architecture=compute_80', *core.assemble_cupy_compiler_options(()))\n"
    "compiler._NVRTCProgram(source, 'f.cu').compile((*options, *compiler._get_extra_include_dir_opts()))"
)
"""A kernel of half precision, compiled with the folders of headers that CuPy looks for."""
NUMBA = imports("numba")
LINALG = opens("torch/lib/libtorch_cuda_linalg.so", after="import torch")
"""What PyTorch opens for its first decomposition on the card."""
CHAT = runs("from transformers import AutoTokenizer, PreTrainedModel")
SETTINGS = runs("from omegaconf import OmegaConf; print(OmegaConf.create({'a': 1, 'b': '${a}'}).b)")
BOARD = runs(
    "import os, tensorboard.program as p, tensorboard.default as d\n"
    "os.makedirs('runs', exist_ok=True)\n"
    "board = p.TensorBoard(d.get_plugins()); board.configure(argv=[None, '--logdir', 'runs', '--port', '0'])\n"
    "board._make_server()"
)
WORKERS = (
    "import torch\nfrom torch.utils.data import DataLoader\n"
    "for batch in DataLoader(torch.zeros(40, 3, 640, 640), batch_size=20, num_workers=1):\n    pass"
)
"""Batches of 98 MB from a worker."""
WIDE = (
    "import torch\nfrom torch.utils.data import DataLoader\n"
    "for batch in DataLoader(torch.zeros(8, 4), batch_size=4, num_workers=1, timeout=60):\n    pass"
)
COMPILED = runs("import torch; print(torch.compile(lambda x: torch.sin(x) + 1)(torch.ones(8)).sum())")
PROBE = (
    "#include <Python.h>\n"
    'static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "probe", 0, -1, 0};\n'
    "PyMODINIT_FUNC PyInit_probe(void) { return PyModule_Create(&module); }\n"
)
LAUNCHER = runs(
    f"import torch; from triton.runtime.build import compile_module_from_src as build; build({PROBE!r}, 'probe')"
)
"""How Triton makes its launchers: with the C compiler, into its cache, and from there into the process."""
FLASH = runs("import torch, flash_attn")
TENSORFLOW = imports("tensorflow")
KERNEL = (
    "import os, sys\nfrom traitlets.config.loader import PyFileConfigLoader\n"
    "PyFileConfigLoader('jupyter_server_config.py', path=os.path.expanduser('~/.jupyter')).load_config()\n"
    "from jupyter_client.manager import start_new_kernel\n"
    "manager, client = start_new_kernel(kernel_name='python3', startup_timeout=120)\n"
    "reply = client.execute_interactive({code!r}, timeout=120)\n"
    "manager.shutdown_kernel(now=True)\n"
    "sys.exit(reply['content']['status'] != 'ok')"
)
"""What a server does: its own file of settings is a program, and a notebook's kernel inherits what that sets."""


def said_by(done: subprocess.CompletedProcess[bytes]) -> str:
    """Return the end of what a program said."""
    return (done.stdout + done.stderr).decode("utf-8", "replace").strip()[-3000:]


def started(world: World, words: Sequence[str], given: dict[str, str] | None = None, where: str = "work") -> Ran:
    """Run a command as some starter does, with variables of the starter's own."""
    setting = [f"{name}={value}" for name, value in (given or {}).items()]
    done = world.run(["env", f"--chdir={world.home / where}", *setting, *words])
    said = said_by(done)
    return Ran(ok=WORKS in said, said=said or f"status {done.returncode}")


def by_dvc(world: World) -> Ran:
    """Run the one stage of dvc.yaml: its ``cmd``, by the shell, in the folder of the file."""
    text = (world.home / "work/dvc.yaml").read_text()
    (command,) = re.findall(r"^ +cmd: (.*)$", text, re.MULTILINE)
    return started(world, ["sh", "-c", command])


def by_gitlab(world: World) -> Ran:
    """Run the one job as GitLab's runner does with the shell executor: in the clone, with the file's variables expanded."""
    text = (world.home / "work/.gitlab-ci.yml").read_text()
    given = dict(re.findall(r'^  ([A-Z_]+): "(.*)"$', text, re.MULTILINE))
    folder = str(world.home / "work")
    given = {name: value.replace("$CI_PROJECT_DIR", folder) for name, value in given.items()}
    (line,) = re.findall(r"^    - (.*)$", text, re.MULTILINE)
    return started(world, ["bash", "-c", line], {**given, "CI_PROJECT_DIR": folder, "CI": "true"})


def by_sweep(world: World) -> Ran:
    """Run what the sweep's ``command`` lists, as an agent does: ``${env}`` is /usr/bin/env."""
    text = (world.home / "work/sweep.yaml").read_text()
    (program,) = re.findall(r"^program: (.*)$", text, re.MULTILINE)
    words = re.findall(r"^  - (.*)$", text.partition("command:")[2], re.MULTILINE)
    known = {"${env}": ["/usr/bin/env"], "${program}": [program], "${args}": []}
    return started(world, [w for word in words for w in known.get(word, [word])])


def by_hatch(world: World) -> Ran:
    """Run the script of Hatch's default environment, with that environment's variables; its folder stands first in PATH."""
    settings = tomllib.loads((world.home / "work/pyproject.toml").read_text())["tool"]["hatch"]["envs"]["default"]
    given = {"PATH": f"{settings['path']}/bin:/usr/bin:/bin", "VIRTUAL_ENV": settings["path"], **settings["env-vars"]}
    return started(world, shlex.split(settings["scripts"]["train"]), given)


def notebook(code: str) -> Oracle:
    """Run a line in a notebook's kernel that the environment's server starts."""

    def oracle(world: World) -> Ran:
        done = world.run([world.python, "-c", KERNEL.replace("{code!r}", repr(code))])
        return Ran(ok=done.returncode == 0, said=said_by(done) or f"status {done.returncode}")

    return oracle


def in_parts(*codes: str) -> Oracle:
    """Run code as a file: a worker of a DataLoader must not start it again."""

    def oracle(world: World) -> Ran:
        path = world.home / "program.py"
        path.write_text("\n".join(codes) + f"\nprint({WORKS!r}, flush=True)\n")
        try:
            done = world.run([world.python, path], timeout=150)
        except subprocess.TimeoutExpired:
            return Ran(ok=False, said="it gave no answer")
        finally:
            path.unlink()
        said = said_by(done)
        return Ran(ok=WORKS in said and done.returncode == 0, said=said or f"status {done.returncode}")

    return oracle


def program(code: str) -> Plant:
    """Write the person's program, ``work/main.py``."""
    return writes({"work/main.py": f"{code}\nprint('{WORKS}', flush=True)\nimport os; os._exit(0)\n"}, "work")


# --- what is expected ---------------------------------------------------------------------------------------------------

BROKEN = ("requirement_broken",)
ABSENT = ("cuda_runtime_missing", "requirement_broken")
CUT = ("corrupt_or_truncated_file", "installation_interrupted")
SHADOWED = ("module_shadowed",)
TWINS = ("duplicate_framework_packages", "module_shadowed", "requirement_broken", "corrupt_or_truncated_file")
VALUE = ("variable_value_wrong",)
ELSEWHERE = ("wrong_environment_active", "process_env_not_inherited")
NOT_SEARCHED = (
    "cuda_not_on_search_path",
    "cudnn_not_on_search_path",
    "ld_library_path_override",
    "process_env_not_inherited",
)

NOTEBOOKS = then(
    searches,
    installs("ipykernel==6.30.1", "jupyter_client==8.6.3"),
    writes(
        {
            "work/transcribe.ipynb": '{"cells": [], "metadata": {"kernelspec": {"name": "python3", "language": "python", "display_name": "Python 3"}}, "nbformat": 4, "nbformat_minor": 5}\n'
        },
        "work",
    ),
)
SERVER = "c = get_config()  # noqa\nc.ServerApp.ip = '0.0.0.0'\nc.ServerApp.open_browser = False\n{lines}"
KERNEL_OF_ONCE = '{"argv": ["{home}/venvs/old/bin/python", "-m", "ipykernel_launcher", "-f", "{connection_file}"], "display_name": "Python 3", "language": "python"}\n'
DVC = "stages:\n  train:\n    cmd: {words} {env}/bin/python main.py\n    deps:\n      - main.py\n"
GITLAB = 'variables:\n  PYTHONPATH: "$CI_PROJECT_DIR/{folder}"\n  PIP_CACHE_DIR: "$CI_PROJECT_DIR/.cache/pip"\n\nevaluate:\n  tags: [gpu]\n  script:\n    - {env}/bin/python main.py\n'
SWEEP = "program: main.py\nmethod: random\nmetric:\n  name: loss\n  goal: minimize\nparameters:\n  lr:\n    values: [0.1, 0.01]\ncommand:\n  - ${env}\n  - {python}\n  - ${program}\n  - ${args}\n"
HATCH = '[project]\nname = "simulation"\nversion = "0.1.0"\n\n[tool.hatch.envs.default]\npath = "{env}"\n\n[tool.hatch.envs.default.env-vars]\n{line}\n\n[tool.hatch.envs.default.scripts]\ntrain = "python main.py"\n'
SLOW_FLAG = "--xla_gpu_enable_triton_softmax_fusion=true"
LONG = "{home}/" + "scratch/users/m.mustermann/projects/segmentation-of-cells/jobs/4711234/temporary/files-of-this-job"

SCENES: tuple[Scene, ...] = (
    # === A: absent or unfit
    # https://github.com/triton-inference-server/server/issues/4934
    Scene("torch-without-its-linear-algebra", "A", "torch-2.6", LINALG, loses("torch/lib/libtorch_cuda_linalg.so"), CUT, "torch", "libtorch_cuda_linalg", "libtorch_cuda_linalg.so"),
    # https://github.com/NVIDIA/TensorRT/issues/3936
    Scene("tensorrt-bindings-alone", "A", "onnxruntime-1.23", imports("tensorrt_bindings"), then(searches, installs("--no-deps", "tensorrt-cu12-bindings==10.13.3.9")), (*ABSENT, "cuda_not_on_search_path"), "", "nvinfer", "libnvinfer.so.10"),
    # https://github.com/cupy/cupy/issues/8466
    Scene("cupy-in-an-image-without-headers", "A", "cupy", HALF, then(searches, slim("nvidia/*/include")), ("build_tools_missing", "nvrtc_missing_or_mismatch", *CUT, *ABSENT), "", "include", "cuda_fp16.h"),
    # https://github.com/pytorch/vision/issues/2921
    Scene("torchvision-in-a-python-without-lzma", "A", "torch-2.8", imports("torchvision"), without_module("_lzma"), ("python_environment_broken", "system_library_missing", "build_tools_missing"), "", "lzma", "_lzma"),
    # https://github.com/modelscope/ms-swift/issues/3390
    Scene("jax-lost-the-graph-of-cudnn", "A", "jax", runs(CUDNN), loses("nvidia/cudnn/lib/libcudnn_graph.so.9"), ("cudnn_sublibrary_missing", *CUT), "", "libcudnn_graph", "libcudnn_graph"),
    # https://github.com/pytorch/TensorRT/pull/4659
    Scene("torch-with-the-runtime-of-the-new-name", "A", "torch-2.8", TORCH, then(installs("--no-deps", "nvidia-cuda-runtime==13.0.48"), lacks("nvidia-cuda-runtime-cu12")), ("cuda_toolkit_version_mismatch", *ABSENT), "torch", "cudart", "libcudart.so.12"),
    # === B: all is there and does not fit
    # https://github.com/huggingface/open-r1/issues/684
    Scene("flash-attention-of-the-other-strings", "B", "torch-2.6", FLASH, flash_attention(1), ("extension_abi_mismatch", *BROKEN), "", "flash_attn", "__cxx11"),
    # https://github.com/Fictionarry/ER-NeRF/issues/122
    Scene("torch-with-an-older-solver", "B", "torch-2.8", LINALG, installs("--no-deps", "nvidia-cusolver-cu12==11.6.1.9"), ("cuda_lib_shadowed", "cuda_toolkit_version_mismatch", "extension_abi_mismatch", *BROKEN), "", "cusolver", "cusolverDnXsyevBatched"),
    # https://github.com/numba/numba/issues/10239
    Scene("numba-newer-than-coverage", "B", "torch-2.6", NUMBA, then(installs("numba==0.62.1"), installs("--no-deps", "coverage==6.5.0")), BROKEN, "", "coverage", "module 'coverage"),
    # https://github.com/hiyouga/LlamaFactory/issues/4852
    Scene("transformers-with-a-jinja-of-before", "B", "hub", CHAT, installs("--no-deps", "jinja2==2.11.3"), BROKEN, "", "jinja2", "soft_unicode"),
    # https://github.com/EleutherAI/lm-evaluation-harness/issues/1590
    Scene("omegaconf-with-the-grammar-of-latex", "B", "torch-2.6", SETTINGS, then(installs("omegaconf==2.3.0"), installs("--no-deps", "antlr4-python3-runtime==4.13.2")), BROKEN, "", "antlr4", "Could not deserialize ATN"),
    # https://github.com/modelscope/ms-swift/pull/9789
    Scene("wandb-older-than-protobuf", "B", "torch-2.6", imports("wandb"), then(installs("wandb==0.18.7"), installs("--no-deps", "protobuf==7.36.2")), BROKEN, "", "wandb", "wandb_telemetry_pb2"),
    # === C: Python finds another file
    # https://github.com/jupyter/jupyter/issues/723
    Scene("secrets-py-in-the-project", "C", "jax", runs(JAX), writes({"work/secrets.py": 'HF_TOKEN = "hf_notarealtoken"\nWANDB_API_KEY = ""\n', "work/train.py": "import jax\n"}, "work"), SHADOWED, "", "secrets.py", "randbits"),
    # https://github.com/numba/numba/pull/10725
    Scene("coverage-folder-in-the-project", "C", "ctranslate2", NUMBA, then(installs("numba==0.62.1"), writes({"work/coverage/lcov.info": "TN:\n", "work/coverage/index.html": "<html></html>\n", "work/train.py": "import numba\n"}, "work")), SHADOWED, "", "coverage", "module 'coverage'"),
    # https://github.com/huggingface/huggingface_hub/issues/2387
    Scene("charset-normalizer-with-compiled-remains", "C", "hub", imports("charset_normalizer"), compiled_rest, (*CUT, *SHADOWED, *BROKEN, "extension_abi_mismatch"), "", "charset_normalizer", "charset_normalizer"),
    # https://github.com/pdm-project/pdm/pull/186
    Scene("packages-of-pdm-in-the-project", "C", "hub", imports("transformers"), packages_of_pdm, (*SHADOWED, *BROKEN), "", "__pypackages__", "huggingface_hub"),
    # https://github.com/tensorflow/tensorboard/issues/5815
    Scene("tensorboard-and-its-nightly", "C", "torch-2.6", BOARD, then(installs("tensorboard==2.20.0", "setuptools==80.9.0", "protobuf==6.31.1"), installs("--no-deps", "tb-nightly==2.21.0a20251023")), TWINS, "", "tb", "Duplicate plugins"),
    # https://github.com/jax-ml/jax/issues/15268
    Scene("jax-finds-the-cudnn-of-a-layer", "C", "jax", runs(CUDNN), then(linked_from("torch-2.6", "nvidia/cudnn", "layer/nvidia/cudnn"), writes({"layer/nvidia/__init__.py": ""}), sets(PYTHONPATH="{home}/layer")), ("cudnn_shadowed", "cudnn_minor_too_old", "mixed_cudnn_sublibraries", "cuda_lib_shadowed", *SHADOWED), "", "layer", "was built with"),
    # === D: started in another way
    # https://github.com/jupyter/notebook/issues/1290
    Scene("notebooks-of-a-server-with-its-own-path", "D", "ctranslate2", notebook(CUBLAS), then(NOTEBOOKS, writes({".jupyter/jupyter_server_config.py": SERVER.replace("{lines}", "import os\nos.environ['LD_LIBRARY_PATH'] = '/usr/local/cuda-11.8/lib64'\n")})), NOT_SEARCHED, "ctranslate2", "jupyter_server_config.py"),
    # https://github.com/treeverse/dvc/issues/10825
    Scene("jax-flag-of-a-stage-of-dvc", "D", "jax", by_dvc, then(program(JAX), writes({"work/dvc.yaml": DVC.replace("{words}", "XLA_FLAGS=" + SLOW_FLAG)})), VALUE, "", "dvc.yaml", "Unknown flag"),
    # https://github.com/firecow/gitlab-ci-local/issues/154
    Scene("filelock-py-of-a-gitlab-job", "D", "hub", by_gitlab, then(program("import transformers; transformers.PreTrainedModel"), writes({"work/tools/filelock.py": "import fcntl\n\n\ndef lock(path):\n    fcntl.flock(open(path), fcntl.LOCK_EX)\n", "work/.gitlab-ci.yml": GITLAB.replace("{folder}", "tools")})), SHADOWED, "", "filelock.py", "filelock"),
    # https://github.com/wandb/wandb/issues/1190
    Scene("sweep-takes-the-systems-python", "D", "torch-2.6", by_sweep, then(program("import torch; torch.ones(1)"), writes({"work/sweep.yaml": SWEEP.replace("{python}", "python3")})), ELSEWHERE, "", "sweep.yaml", "No module named 'torch'"),
    # https://github.com/pytorch/pytorch/issues/5040
    Scene("torch-in-a-container-with-its-shared-memory", "D", "torch-2.8", in_parts(WORKERS), shared_memory("64m"), ("shared_memory_too_small",), "", "/dev/shm", "shared memory"),
    # https://github.com/pypa/hatch/issues/1362
    Scene("cupy-with-the-variables-of-hatch", "D", "cupy", by_hatch, then(searches, program("import cupy; from cupy_backends.cuda.libs import cublas, curand"), writes({"work/pyproject.toml": HATCH.replace("{line}", 'LD_LIBRARY_PATH = "/usr/local/cuda/lib64"')})), NOT_SEARCHED, "", "pyproject.toml", "libcublas.so.12"),
    # === E: variables
    # https://github.com/conda-forge/python-feedstock/issues/584
    Scene("triton-with-condas-name-for-pythons-settings", "E", "torch-2.8", LAUNCHER, sets(_PYTHON_SYSCONFIGDATA_NAME="_sysconfigdata_x86_64_conda_cos7_linux_gnu", CONDA_BUILD_SYSROOT="/opt/conda/x86_64-conda-linux-gnu/sysroot"), (*VALUE, "python_environment_broken"), "", "_PYTHON_SYSCONFIGDATA_NAME", "_sysconfigdata_x86_64_conda"),
    # https://github.com/tqdm/tqdm/pull/1572
    Scene("progress-in-seconds-with-a-unit", "E", "hub", imports("transformers"), sets(TQDM_MININTERVAL="10s"), VALUE, "", "TQDM_MININTERVAL", "10s"),
    # https://github.com/hzi-bifo/RiboDetector/issues/57
    Scene("workers-with-too-long-a-temporary-folder", "E", "torch-2.6", in_parts(WIDE), then(makes(LONG.removeprefix("{home}/")), sets(TMPDIR=LONG)), (*VALUE, "install_path_characters"), "", "TMPDIR", "AF_UNIX path too long"),
    # https://github.com/pytorch/pytorch/issues/16285
    Scene("torch-script-switched-off-by-a-word", "E", "torch-2.8", TORCH, sets(PYTORCH_JIT="off"), VALUE, "", "PYTORCH_JIT", "PYTORCH_JIT"),
    # https://github.com/tensorflow/tensorflow/pull/43610
    Scene("tensorflow-with-a-folder-of-devices-that-went", "E", "tensorflow", TENSORFLOW, sets(TF_PLUGGABLE_DEVICE_LIBRARY_PATH="{home}/itex/lib"), VALUE, "", "TF_PLUGGABLE_DEVICE_LIBRARY_PATH", "itex/lib"),
    # https://github.com/pytorch/pytorch/issues/73688
    Scene("inductor-with-the-systems-headers-first", "E", "torch-2.8", COMPILED, sets(CPLUS_INCLUDE_PATH="/usr/include", TORCHINDUCTOR_CACHE_DIR="{home}/inductor"), (*VALUE, "build_tools_missing", "host_compiler_unsupported"), "", "CPLUS_INCLUDE_PATH", "stdlib.h"),
    # https://github.com/jax-ml/jax/issues/16038
    Scene("jax-with-an-older-cudnn-on-the-path", "E", "jax", runs(CUDNN), then(linked_from("torch-2.6", "nvidia/cudnn/lib", "cuda/lib64"), sets(LD_LIBRARY_PATH="{home}/cuda/lib64")), ("ld_library_path_override", "mixed_cudnn_sublibraries", "cudnn_shadowed", "cudnn_minor_too_old", "cuda_lib_shadowed"), "", "cuda/lib64", "was built with"),
    # === odd and healthy
    # https://github.com/jupyter/jupyter_core/issues/283
    Scene("kernel-of-once-behind-the-environments-own", "healthy", "ctranslate2", notebook(CUBLAS), then(NOTEBOOKS, writes({".jupyter/jupyter_server_config.py": SERVER.replace("{lines}", ""), ".local/share/jupyter/kernels/python3/kernel.json": KERNEL_OF_ONCE}))),
    # https://github.com/mlcommons/inference/issues/378
    Scene("submodules-that-were-not-fetched", "healthy", "hub", imports("transformers", "accelerate", "datasets"), then(makes("work/third_party/accelerate", "work/third_party/transformers", "work/third_party/datasets"), writes({"work/.gitmodules": '[submodule "third_party/accelerate"]\n\tpath = third_party/accelerate\n\turl = https://github.com/huggingface/accelerate\n'}, "work"), sets(PYTHONPATH="{home}/work/third_party"))),
    # https://github.com/ammar-n-abbas/FoundationPoseROS2/issues/10
    Scene("torch-behind-the-packages-of-ros", "healthy", "torch-2.6", imports("torch", "torchvision"), then(makes("ros/lib/python3.10/site-packages/rclpy", "ros/local/lib/python3.10/dist-packages/rosidl_runtime_py"), writes({"ros/lib/python3.10/site-packages/rclpy/__init__.py": "", "ros/lib/python3.10/site-packages/rclpy/_rclpy_pybind11.cpython-310-x86_64-linux-gnu.so": "", "ros/lib/python3.10/site-packages/std_msgs/__init__.py": ""}), sets(PYTHONPATH="{home}/ros/lib/python3.10/site-packages:{home}/ros/local/lib/python3.10/dist-packages", AMENT_PREFIX_PATH="{home}/ros", ROS_DISTRO="humble", ROS_PYTHON_VERSION="3"))),
    # https://github.com/tf-encrypted/tf-encrypted/pull/35
    Scene("types-without-programs-on-the-path", "healthy", "jax", runs(JAX), then(writes({"work/typings/numpy/__init__.pyi": "class ndarray: ...\n", "work/typings/jax/__init__.pyi": "def jit(f): ...\n", "work/typings/scipy/py.typed": ""}, "work"), installs("types-protobuf==6.30.2.20250809", "--no-deps"), sets(PYTHONPATH="{home}/work/typings"))),
    # https://github.com/ai-dynamo/modelexpress/issues/277
    Scene("hub-token-with-the-end-of-its-line", "healthy", "hub", runs("from huggingface_hub import get_token; assert get_token() == 'hf_notarealtoken'\nfrom transformers import AutoTokenizer; import datasets"), sets(HF_TOKEN="hf_notarealtoken\n", TRANSFORMERS_VERBOSITY="warn", DATASETS_VERBOSITY="quiet", TOKENIZERS_PARALLELISM="no", TRANSFORMERS_CACHE="{home}/.cache/hub")),
    # https://github.com/pytorch/pytorch/issues/22338
    Scene("words-for-processors", "healthy", "torch-2.8", runs("import torch; print(torch.ones(8, 8) @ torch.ones(8, 8))"), sets(ATEN_CPU_CAPABILITY="avx3", MKL_DEBUG_CPU_TYPE="5", OPENBLAS_CORETYPE="Zen9", ONEDNN_MAX_CPU_ISA="AVX2", KMP_AFFINITY="granularity=fine,compact,1,0", MKL_THREADING_LAYER="GNU")),
    # https://github.com/IDEA-Research/GroundingDINO/issues/64
    Scene("torch-with-the-words-of-windows", "healthy", "torch-2.6", imports("torch", "torchvision"), sets(PATH="/usr/local/bin:/usr/bin:/bin:/usr/lib/wsl/lib:/mnt/c/Program Files/NVIDIA GPU Computing Toolkit/CUDA/v12.1/bin:/mnt/c/Program Files (x86)/NVIDIA Corporation/PhysX/Common", CUDA_PATH="C:\\Program Files\\NVIDIA GPU Computing Toolkit\\CUDA\\v12.1", WSLENV="CUDA_PATH:USERPROFILE/p", WSL_DISTRO_NAME="Ubuntu-22.04")),
    # https://github.com/EleutherAI/lm-evaluation-harness/issues/1590
    Scene("omegaconf-with-its-grammar", "healthy", "torch-2.6", SETTINGS, installs("omegaconf==2.3.0")),
    # https://github.com/numba/numba/pull/10725
    Scene("coverage-folder-beside-coverage", "healthy", "ctranslate2", NUMBA, then(installs("numba==0.62.1", "coverage==7.10.7"), writes({"work/coverage/lcov.info": "TN:\n", "work/train.py": "import numba\n"}, "work"))),
    # https://github.com/Dao-AILab/flash-attention/issues/1783
    Scene("flash-attention-of-the-same-strings", "healthy", "torch-2.6", FLASH, flash_attention(0)),
    # https://github.com/googleapis/google-auth-library-python/issues/269
    Scene("google-namespace-of-a-shared-layer", "healthy", "tensorflow", TENSORFLOW, layer_of_cloud_packages),
    # https://github.com/treeverse/dvc/issues/10825
    Scene("stage-of-dvc-with-a-flag", "healthy", "jax", by_dvc, then(program(JAX), writes({"work/dvc.yaml": DVC.replace("{words}", "XLA_FLAGS=--xla_gpu_autotune_level=2 JAX_COMPILATION_CACHE_DIR=gs://bucket/jax")}))),
    # https://github.com/tensorchord/envd/issues/1429
    Scene("torch-in-a-container-with-more-shared-memory", "healthy", "torch-2.8", in_parts(WORKERS), shared_memory("2g")),
    # https://github.com/conda/conda/issues/14161
    Scene("conda-remembers-what-pip-has-replaced", "healthy", "torch-2.8", imports("torch", "torchvision"), then(notes_of_conda, plugins_that_went)),
    # https://github.com/jupyter/jupyter/issues/723
    Scene("secrets-folder-in-the-project", "healthy", "jax", runs(JAX), writes({"work/secrets/token.txt": "hf_notarealtoken\n", "work/secrets/db.yaml": "password: x\n", "work/train.py": "import jax\n"}, "work")),
)  # fmt: skip
