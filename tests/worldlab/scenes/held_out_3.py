"""The third held-out set, classes A to C: from the list of classes and public threads, by someone who had not read the rules.

Committed before the first run, and scored once. Above each row: the thread that it is made from, or "class only".
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.worldlab.environments import VERSION, master, site
from tests.worldlab.scene import Scene, World, cuts, imports, installs, lacks, loses, runs, then
from tests.worldlab.scenes.held_out import Plant, inside, sets, writes
from tests.worldlab.scenes.held_out_2 import ALL_SEARCHED, CT2_PATHS, target

TORCH = imports("torch")
VISION = imports("torch", "torchvision")
JAX = runs("import jax; jax.devices('cpu'); jax.numpy.ones(3).sum()")
ONNX = runs("import onnxruntime; onnxruntime.InferenceSession")
CT2 = runs("import ctranslate2; ctranslate2.Translator")
TF = imports("tensorflow")
CUPY = imports("cupy")

# --- what people do -----------------------------------------------------------------------------------------------------


def hides(*names: str) -> Plant:
    """Take libraries of the system away for every program of the scene, as a slim image lacks them."""

    def plant(world: World) -> None:
        real = Path("/usr/lib/x86_64-linux-gnu")
        upper, work = world.folder / "overlay" / "upper", world.folder / "overlay" / "work"
        upper.mkdir(parents=True)
        work.mkdir()
        for path in real.iterdir():
            if any(path.name.startswith(name) for name in names):
                os.mknod(upper / path.name, 0o020000)
        options = f"lowerdir={real},upperdir={upper},workdir={work}"
        world.launcher = [
            "unshare",
            "-m",
            "sh",
            "-c",
            f'mount -t overlay overlay -o {options} {real} && exec "$@"',
            "sh",
        ]

    return plant


def alter(path: Path, old: bytes, new: bytes) -> None:
    """Exchange bytes of a file for as many others."""
    content = path.read_bytes()
    if old not in content or len(old) != len(new):
        raise LookupError(f"{old!r} in {path}")
    path.write_bytes(content.replace(old, new))


def own_python(world: World) -> Path:
    """Give the environment a base interpreter of its own below the home, as pyenv makes one; return its lib-dynload."""
    base = world.home / ".pyenv" / "versions" / "3.11.7"
    source = Path(sys.base_prefix)
    left = shutil.ignore_patterns(
        "site-packages", "__pycache__", "test", "tests", "share", "idlelib", "ensurepip", "*.a"
    )
    shutil.copytree(source, base, symlinks=True, ignore=left, copy_function=os.link)
    (base / "lib" / f"python{VERSION}" / "site-packages").mkdir()
    for name in ("python", "python3", f"python{VERSION}"):
        link = world.prefix / "bin" / name
        link.unlink(missing_ok=True)
        link.symlink_to(base / "bin" / f"python{VERSION}")
    cfg = world.own(world.prefix / "pyvenv.cfg")
    rows = cfg.read_text().splitlines()
    cfg.write_text("".join(f"home = {base}/bin\n" if row.startswith("home") else f"{row}\n" for row in rows))
    return base / "lib" / f"python{VERSION}" / "lib-dynload"


def base_wants(module: str, old: str, new: str) -> Plant:
    """Let a module of the base interpreter be linked against the library of the system before its upgrade."""

    def plant(world: World) -> None:
        (path,) = own_python(world).glob(f"{module}.*.so")
        alter(world.own(path), old.encode() + b"\0", new.encode() + b"\0")

    return plant


def base_lacks(*modules: str) -> Plant:
    """Build the base interpreter without what it found no header for."""

    def plant(world: World) -> None:
        folder = own_python(world)
        for module in modules:
            for path in folder.glob(f"{module}.*.so"):
                path.unlink()

    return plant


def foreign(pattern: str) -> Plant:
    """Let a binary be for ARM, as a volume that two machines share."""

    def plant(world: World) -> None:
        path = world.own(world.library(pattern))
        with path.open("r+b") as stream:
            stream.seek(18)
            stream.write((183).to_bytes(2, "little"))

    return plant


def empties(pattern: str) -> Plant:
    """Leave a file without bytes."""

    def plant(world: World) -> None:
        os.truncate(world.own(world.library(pattern)), 0)

    return plant


def musl(*arguments: str) -> Plant:
    """Install the wheels of Alpine's C library, as an image that was copied from there has them."""
    return installs("--no-deps", "--python-platform", "x86_64-unknown-linux-musl", "--reinstall", *arguments)


def built(name: str, version: str, module: str, symbol: str, needed: str) -> Plant:
    """Build a small extension that calls a function of the framework's library which this release has not."""

    def plant(world: World) -> None:
        source = world.folder / "extension.c"
        include = Path(sys.base_prefix) / "include" / f"python{VERSION}"
        source.write_text(
            "#include <Python.h>\n"
            f"void {symbol}(int);\n"
            f'static PyModuleDef d = {{PyModuleDef_HEAD_INIT, "{module}", 0, -1, 0}};\n'
            f"PyMODINIT_FUNC PyInit_{module}(void) {{ {symbol}(0); return PyModule_Create(&d); }}\n"
        )
        library = world.library(needed)
        file = f"{module}.cpython-{VERSION.replace('.', '')}-x86_64-linux-gnu.so"
        command = ["gcc", "-shared", "-fPIC", f"-I{include}", "-o", world.site / file, source, library]
        subprocess.run([*map(str, command), "-Wl,--allow-shlib-undefined"], check=True)
        package, info = world.site / name, world.site / f"{name}-{version}.dist-info"
        package.mkdir()
        (package / "__init__.py").write_text(f"import torch\nimport {module}\n__version__ = '{version}'\n")
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}\nRequires-Dist: torch\n"
        )
        (info / "RECORD").write_text(f"{file},,\n{name}/__init__.py,,\n{info.name}/METADATA,,\n{info.name}/RECORD,,\n")

    return plant


def preloads(of: str, pattern: str, folder: str) -> Plant:
    """Name a library of another installation in LD_PRELOAD."""

    def plant(world: World) -> None:
        (found,) = sorted(site(master(of)).glob(pattern))
        place = world.home / folder / found.name
        place.parent.mkdir(parents=True)
        os.link(found, place)
        world.variables["LD_PRELOAD"] = str(place)

    return plant


def preloads_old_cxx(world: World) -> None:
    """Name an old C++ run time in LD_PRELOAD, as people do against another message."""
    folder = world.home / "gcc-4.8" / "lib64"
    folder.mkdir(parents=True)
    source, script, made = folder / "a.c", folder / "a.map", folder / "libstdc++.so.6"
    source.write_text("void nothing(void) {}\n")
    script.write_text("GLIBCXX_3.4 { nothing; };\nGLIBCXX_3.4.19 { } GLIBCXX_3.4;\n")
    words = [
        "gcc",
        "-shared",
        "-fPIC",
        "-Wl,-soname,libstdc++.so.6",
        f"-Wl,--version-script={script}",
        "-o",
        made,
        source,
    ]
    subprocess.run(list(map(str, words)), check=True)
    world.variables["LD_PRELOAD"] = str(made)


def loses_modules(folder: str) -> Plant:
    """Leave a package's folder without its Python files."""

    def plant(world: World) -> None:
        for path in (world.site / folder).glob("*.py"):
            path.unlink()

    return plant


def cfg(old: str, new: str) -> Plant:
    """Change lines of pyvenv.cfg by their beginning."""

    def plant(world: World) -> None:
        path = world.own(world.prefix / "pyvenv.cfg")
        path.write_text("".join(new if row.startswith(old) else f"{row}\n" for row in path.read_text().splitlines()))

    return plant


def copies_python(world: World) -> None:
    """Let the interpreter be a copy and no link, as ``python -m venv --copies`` does."""
    for name in ("python", "python3"):
        path = world.prefix / "bin" / name
        real = path.resolve()
        path.unlink()
        shutil.copy2(real, path)


LOST = ("corrupt_or_truncated_file", "cuda_runtime_missing", "installation_interrupted")
FOREIGN = ("package_for_another_python", "dll_wrong_architecture")
BASE = ("python_environment_broken", "corrupt_or_truncated_file", "cuda_runtime_missing", "build_tools_missing")
SYSTEM = (
    "system_library_missing",
    "build_tools_missing",
    "cuda_runtime_missing",
    "corrupt_or_truncated_file",
    "requirement_broken",
)
NUMPY = ("numpy_abi_mismatch", "requirement_broken")
BROKEN = ("requirement_broken",)
PRELOADED = ("cuda_lib_shadowed", "ld_library_path_override", "variable_value_wrong")
SHADOWED = ("module_shadowed",)
ENVIRONMENT = ("python_environment_broken",)

SCENES: tuple[Scene, ...] = (
    # --- A: a library is absent or unfit
    # https://github.com/pytorch/ignite/issues/1615
    Scene("opencv-in-a-slim-image", "A", "torch-2.6", imports("torch", "cv2"), then(installs("--no-deps", "opencv-python==4.11.0.86"), hides("libGL.so")), SYSTEM, "", "libGL.so.1", "libGL"),
    # https://github.com/yle-dl/yle-dl/issues/256, with torch
    Scene("base-python-wants-old-libffi", "A", "torch-2.6", TORCH, base_wants("_ctypes", "libffi.so.8", "libffi.so.6"), BASE, "torch", "libffi.so.6", "libffi.so.6"),
    # https://github.com/pytorch/vision/issues/2921
    Scene("base-python-without-lzma", "A", "torch-2.6", VISION, base_lacks("_lzma"), BASE, "torchvision", "lzma", "_lzma"),
    # class only: a system whose OpenSSL was replaced
    Scene("base-python-wants-old-openssl", "A", "tensorflow", imports("tensorflow", "ssl"), base_wants("_ssl", "libssl.so.3", "libssl.so.1"), BASE, "", "libssl.so.1", "libssl.so.1"),
    # class only
    Scene("scipy-lost-openblas", "A", "jax", imports("jax", "scipy.linalg"), loses("scipy.libs/libscipy_openblas*"), LOST, "", "openblas", "openblas"),
    # class only: the download was cut short
    Scene("pandas-cut-extension", "A", "torch-2.6", imports("torch", "pandas"), then(installs("pandas==2.3.3"), cuts("pandas/_libs/hashtable.cpython-*.so", 0.3)), LOST, "", "hashtable"),
    # class only: a volume that two machines share
    Scene("sentencepiece-for-arm", "A", "torch-2.8", imports("torch", "sentencepiece"), then(installs("--no-deps", "sentencepiece==0.2.1"), foreign("sentencepiece/_sentencepiece.cpython-311-*.so")), FOREIGN, "", "_sentencepiece", "_sentencepiece"),
    # class only: as numpy of Alpine, for a package that is used with a framework
    Scene("tokenizers-of-alpine", "A", "torch-2.8", imports("torch", "tokenizers"), musl("tokenizers==0.21.4"), (*FOREIGN, *SYSTEM), "", "tokenizers", "libc.so"),
    # class only: what Keras saves with
    Scene("h5py-lost-hdf5", "A", "tensorflow", imports("tensorflow", "h5py"), loses("h5py.libs/libhdf5-*"), LOST, "", "libhdf5", "libhdf5"),
    # class only: a full disk
    Scene("cupy-empty-core", "A", "cupy", CUPY, then(ALL_SEARCHED, empties("cupy/_core/core.cpython-*.so")), LOST, "cupy-cuda12x", "core.cpython", "core"),
    # class only
    Scene("onnxruntime-cut-binding", "A", "onnxruntime-1.23", ONNX, then(ALL_SEARCHED, cuts("onnxruntime/capi/onnxruntime_pybind11_state*.so", 0.4)), LOST, "onnxruntime-gpu", "onnxruntime_pybind11_state"),
    # class only: the file that PyTorch starts, and asks for at its import
    Scene("torch-lost-shm-manager", "A", "torch-2.6", TORCH, loses("torch/bin/torch_shm_manager"), (*LOST, "build_tools_missing"), "torch", "torch_shm_manager", "torch_shm_manager"),
    # class only
    Scene("yaml-of-ctranslate2-for-arm", "A", "ctranslate2", imports("ctranslate2", "yaml._yaml"), then(CT2_PATHS, foreign("yaml/_yaml.cpython-*.so")), FOREIGN, "", "_yaml", "_yaml"),
    # --- B: all files are there and do not fit each other
    # https://github.com/Dao-AILab/flash-attention/issues/931
    Scene("flash-attn-of-another-torch", "B", "torch-2.8", imports("flash_attn"), built("flash_attn", "2.5.7", "flash_attn_2_cuda", "_ZN3c104cuda9SetDeviceEi", "torch/lib/libc10_cuda.so"), ("extension_abi_mismatch", "requirement_broken"), "", "flash_attn_2_cuda", "undefined symbol"),
    # class only
    Scene("pandas-of-numpy-1", "B", "torch-2.8", imports("torch", "pandas"), then(installs("pandas==2.3.3", "numpy==2.2.6"), installs("--no-deps", "pandas==2.1.4")), NUMPY, "", "pandas", "numpy"),
    # class only
    Scene("scipy-of-numpy-1", "B", "jax", imports("jax", "scipy.linalg"), installs("--no-deps", "scipy==1.11.4"), NUMPY, "", "scipy", "scipy"),
    # class only
    Scene("opencv-of-numpy-1", "B", "torch-2.8", imports("torch", "cv2"), installs("--no-deps", "opencv-python-headless==4.8.0.74"), NUMPY, "", "opencv", "numpy"),
    # https://github.com/numba/numba/issues/10033
    Scene("numba-older-than-numpy", "B", "torch-2.8", imports("torch", "numba"), installs("--no-deps", "numba==0.60.0", "llvmlite==0.43.0"), BROKEN, "", "numba", "Numba needs NumPy"),
    # class only
    Scene("transformers-older-tokenizers", "B", "torch-2.6", imports("torch", "transformers"), then(installs("transformers==4.51.3", "numpy==2.2.6"), installs("--no-deps", "tokenizers==0.19.1")), BROKEN, "", "tokenizers", "tokenizers"),
    # class only: taken away with the package that asked for it
    Scene("keras-without-rich", "B", "tensorflow", runs("import tensorflow as tf; tf.keras.layers.Dense(3)"), lacks("rich"), BROKEN, "", "rich", "rich"),
    # class only: LD_PRELOAD, as people set it against another message
    Scene("jax-preloads-older-nvjitlink", "B", "jax", runs("import jax_plugins.xla_cuda12 as p; p._load_nvidia_libraries(); from jax_cuda12_plugin import _versions as v; v.cusparse_get_version()"), preloads("torch-2.6", "nvidia/nvjitlink/lib/libnvJitLink.so.12", "cuda-12.4/lib64"), PRELOADED, "", "cuda-12.4", "cuSPARSE"),
    # class only
    Scene("torch-preloads-old-libstdcxx", "B", "torch-2.8", TORCH, preloads_old_cxx, (*PRELOADED, "cxx_runtime_too_old"), "torch", "gcc-4.8", "not found"),
    # --- C: Python finds another file than one thinks
    # https://github.com/jupyter/jupyter/issues/723
    Scene("ctranslate2-beside-own-secrets", "C", "ctranslate2", imports("ctranslate2", "numpy.random"), then(CT2_PATHS, writes({"bot/secrets.py": "API_KEY = 'x'\n"}, "bot")), SHADOWED, "", "secrets.py", "randbits"),
    # class only: a project with a package of that name
    Scene("onnxruntime-beside-own-platform", "C", "onnxruntime-1.23", ONNX, then(ALL_SEARCHED, writes({"shop/platform/__init__.py": "", "shop/platform/models.py": ""}, "shop")), SHADOWED, "", "shop/platform", "platform"),
    # class only: a tool's start-up code, on PYTHONPATH
    Scene("torch-behind-sitecustomize-of-a-tool", "C", "torch-2.8", TORCH, then(writes({"agent/sitecustomize.py": "import os, sys\nhere = os.path.dirname(os.path.abspath(__file__))\nsys.path.insert(0, os.path.join(here, 'vendor'))\n", "agent/vendor/typing_extensions.py": "Literal = None\n"}), sets(PYTHONPATH="{home}/agent")), SHADOWED, "torch", "vendor/typing_extensions.py", "typing_extensions"),
    # class only: start-up code that takes folders away
    Scene("onnxruntime-behind-a-cleaner", "C", "onnxruntime-1.23", ONNX, then(ALL_SEARCHED, inside("zz-clean.pth", "import sys; sys.path[:] = [p for p in sys.path if 'site-packages' not in p]\n")), (*SHADOWED, *ENVIRONMENT), "", "zz-clean.pth", "onnxruntime"),
    # class only: start-up code that ends Python
    Scene("torch-behind-a-licence-check", "C", "torch-2.6", TORCH, inside("sitecustomize.py", "import os, sys\nif not os.path.exists('/opt/licence/key'):\n    sys.exit('no licence: ask the administrator')\n"), (*ENVIRONMENT, *SHADOWED), "", "sitecustomize.py", "licence"),
    # class only: pyvenv.cfg with the home of a Python that is another one
    Scene("jax-cfg-names-another-home", "C", "jax", JAX, cfg("home", "home = /usr/bin-of-old\n"), ENVIRONMENT, "", "/usr/bin-of-old", ""),
    # class only: what is left of Pillow
    Scene("pillow-without-modules", "C", "torch-2.8", VISION, loses_modules("PIL"), (*LOST, "requirement_broken"), "", "PIL", "PIL"),
    # class only: a package's own folder of the same name, of a checkout
    Scene("keras-in-its-checkout", "C", "tensorflow", runs("import tensorflow as tf; tf.keras.layers.Dense(3)"), writes({"src/keras/__init__.py": "\"\"\"Sources.\"\"\"\n", "src/keras/src/__init__.py": ""}, "src"), SHADOWED, "", "src/keras", "keras"),
    # class only: a folder of packages of the person's other environment, first
    Scene("tensorflow-protobuf-by-variable", "C", "tensorflow", TF, then(target("tools", "protobuf==3.20.3"), sets(PYTHONPATH="{home}/tools")), (*SHADOWED, *BROKEN), "", "tools", ""),
    # --- odd, and healthy
    # class only: the loader says so, and goes on
    Scene("odd-preload-gone", "healthy", "torch-2.8", TORCH, sets(LD_PRELOAD="/usr/lib/x86_64-linux-gnu/libjemalloc.so.99")),
    # class only: modules that only NumPy's tests import
    Scene("odd-lost-test-extension", "healthy", "torch-2.6", imports("torch", "numpy"), loses("numpy/_core/_struct_ufunc_tests.cpython-*.so")),
    # class only: Pillow goes on without a format
    Scene("odd-pillow-without-webp", "healthy", "torch-2.6", VISION, loses("PIL/_webp.cpython-*.so")),
    # class only: an interpreter that was built without some headers
    Scene("odd-base-without-sqlite-and-tk", "healthy", "torch-2.6", VISION, base_lacks("_sqlite3", "_tkinter", "_curses", "_gdbm", "readline")),
    # class only: nobody reads that line
    Scene("odd-cfg-of-another-release", "healthy", "torch-2.8", TORCH, cfg("version_info", "version_info = 3.10.2\n")),
    # class only: venv --copies
    Scene("odd-copied-interpreter", "healthy", "jax", JAX, copies_python),
    # class only: the environment does not read it
    Scene("odd-usercustomize-of-the-user", "healthy", "torch-2.6", TORCH, writes({".local/lib/python3.11/site-packages/usercustomize.py": "raise SystemExit(3)\n"})),
    # class only: Python tells of it and goes on
    Scene("odd-sitecustomize-that-fails", "healthy", "torch-2.8", TORCH, then(writes({"agent/sitecustomize.py": "import a_tool_that_is_gone\n"}), sets(PYTHONPATH="{home}/agent"))),
    # class only: a folder without __init__ gives way to the module that comes later
    Scene("odd-folders-named-as-modules", "healthy", "tensorflow", TF, writes({"work/logging/run.log": "x\n", "work/numpy/data.txt": "x\n", "work/secrets/key.txt": "x\n"}, "work")),
    # class only: a server needs no screen
    Scene("odd-headless-opencv-in-a-slim-image", "healthy", "torch-2.6", imports("torch", "cv2"), then(installs("--no-deps", "opencv-python-headless==4.11.0.86"), hides("libGL.so", "libgthread"))),
    # class only: one of three thread layers lacks its library
    Scene("odd-numba-without-tbb", "healthy", "torch-2.8", runs("import torch, numba; numba.njit(lambda x: x + 1)(1)"), installs("--no-deps", "numba==0.61.2", "llvmlite==0.44.0")),
    # class only: OpenCV with a screen, on this system
    Scene("odd-opencv-and-pandas", "healthy", "torch-2.8", imports("torch", "cv2", "pandas", "sentencepiece"), installs("numpy==2.2.6", "opencv-python==4.11.0.86", "pandas==2.3.3", "sentencepiece==0.2.1")),
    # class only: the other provider wants TensorRT, which nobody asked for
    Scene("odd-preload-of-the-system", "healthy", "onnxruntime-1.23", ONNX, then(ALL_SEARCHED, sets(LD_PRELOAD="libgomp.so.1"))),
    # class only: an environment that was made on Windows or in WSL; CPython finds its library all the same
    Scene("odd-cfg-of-windows", "healthy", "torch-2.6", TORCH, cfg("home", "home = C:\\Python311\n")),
)  # fmt: skip
