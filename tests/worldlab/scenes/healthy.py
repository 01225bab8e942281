"""Healthy machines that look odd: other people's Pythons, layouts of conda and uv, links, long names, overrides, leftovers beside.

None of them had been scanned when it was written. Above each row: what people did, in a few words.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path

from tests.worldlab.environments import VERSION, _settle, uv
from tests.worldlab.scene import Oracle, Ran, Scene, World, both, imports, installs, lacks, runs, then
from tests.worldlab.scenes.closure import CUDNN
from tests.worldlab.scenes.common import Plant, drops
from tests.worldlab.scenes.held_out_8 import calls, sets, writes
from tests.worldlab.scenes.held_out_14 import linked_from
from tests.worldlab.scenes.starters import WORKS, program, started

ONES = "import torch; torch.ones(3).sum()"
TORCH = runs(ONES)
JAX = "import jax; jax.devices('cpu')"
CUBLAS = "import ctypes, ctranslate2; ctypes.CDLL('libcublas.so.12'); ctypes.CDLL('libcudnn.so.9')"

# --- what people do -----------------------------------------------------------------------------------------------------


def _interpreter(target: Path) -> None:
    """Put a Python of its own there, by hard links, without anybody's packages."""
    source = Path(sys.base_prefix)
    library = f"lib/python{VERSION}"
    (target / "bin").mkdir(parents=True)
    (target / "lib").mkdir()
    program = target / "bin" / f"python{VERSION}"
    shutil.copy2(source / "bin" / program.name, program)
    own = b"$ORIGIN/../lib"  # else it starts from the library of the other one, and takes that one's folder for its own
    found = os.fsencode(source / "lib")
    program.write_bytes(program.read_bytes().replace(found + b"\0", own.ljust(len(found), b"\0") + b"\0"))
    for name in ("python3", "python"):
        (target / "bin" / name).symlink_to(f"python{VERSION}")
    skipped = shutil.ignore_patterns("site-packages", "test", "__pycache__", "idlelib")
    shutil.copytree(source / library, target / library, symlinks=True, copy_function=os.link, ignore=skipped)
    (target / library / "site-packages").mkdir()
    for path in source.glob("lib/libpython*"):
        shutil.copy2(path, target / "lib" / path.name, follow_symlinks=False)
    shutil.copytree(source / "include", target / "include", symlinks=True, copy_function=os.link)


def _renew(world: World, base: Path, *, system: bool = False) -> None:
    """Let the environment stand on another base interpreter."""
    for name in ("python", "python3", f"python{VERSION}"):
        path = world.prefix / "bin" / name
        path.unlink(missing_ok=True)
        path.symlink_to(base / "bin" / f"python{VERSION}" if name == "python" else "python")
    text = world.own(world.prefix / "pyvenv.cfg").read_text()
    text = re.sub(r"(?m)^home = .*$", f"home = {base / 'bin'}", text)
    if system:
        text = text.replace("include-system-site-packages = false", "include-system-site-packages = true")
    (world.prefix / "pyvenv.cfg").write_text(text)


def over_packages_of_the_base(*kept: str) -> Plant:
    """Have the packages in the base interpreter, and in the environment only what is named (patterns), with the base's packages seen."""

    def plant(world: World) -> None:
        base = world.folder / "opt" / "python"
        _interpreter(base)
        below = base / "lib" / f"python{VERSION}" / "site-packages"
        stay = {path for pattern in kept for path in world.site.glob(pattern)}
        for path in sorted(world.site.iterdir()):
            if path not in stay:
                path.rename(below / path.name)
        _renew(world, base, system=True)

    return plant


def managed_by_uv(world: World) -> None:
    """Let uv have fetched the interpreter: in its own folder, with a link for the minor release and its mark."""
    folder = world.home / ".local/share/uv/python"
    whole = folder / f"cpython-{sys.version.split()[0]}-linux-x86_64-gnu"
    _interpreter(whole)
    (whole / "lib" / f"python{VERSION}" / "EXTERNALLY-MANAGED").write_text(
        "[externally-managed]\nError=This Python installation is managed by uv and should not be modified.\n"
    )
    link = folder / f"cpython-{VERSION}-linux-x86_64-gnu"
    link.symlink_to(whole.name)
    (folder / ".lock").write_text("")
    (folder / ".temp").mkdir()
    _renew(world, link)
    bin_folder = world.home / ".local/bin"
    bin_folder.mkdir(parents=True)
    (bin_folder / f"python{VERSION}").symlink_to(link / "bin" / f"python{VERSION}")


def as_conda(world: World) -> None:
    """Have the interpreter in the environment itself, records of conda, and libraries in ``lib``; torch came by pip."""
    prefix, new = world.prefix, world.folder / "new"
    _interpreter(new)
    packages = new / "lib" / f"python{VERSION}" / "site-packages"
    packages.rmdir()
    world.site.rename(packages)
    shutil.rmtree(prefix)
    new.rename(prefix)
    meta = prefix / "conda-meta"
    meta.mkdir()
    (meta / "history").write_text("==> 2026-01-01 10:00:00 <==\n# cmd: conda create -n train python=3.11\n")
    for name, version in (
        ("python", sys.version.split()[0]),
        ("libstdcxx-ng", "13.2.0"),
        ("ca-certificates", "2026.1.4"),
    ):
        record = {"name": name, "version": version, "build": "0", "build_number": 0, "channel": "conda-forge", "files": [], "depends": [], "subdir": "linux-64"}  # fmt: skip
        (meta / f"{name}-{version}-0.json").write_text(json.dumps(record))
    for folder in ("activate.d", "deactivate.d"):
        (prefix / "etc/conda" / folder).mkdir(parents=True)
    (prefix / "etc/conda/activate.d/libxml2_activate.sh").write_text('export xml_catalog_files_libxml2="${XML_CATALOG_FILES:-}"\n')  # fmt: skip
    world.variables |= {
        "CONDA_PREFIX": str(prefix),
        "CONDA_DEFAULT_ENV": "train",
        "CONDA_SHLVL": "1",
        "PATH": f"{prefix}/bin:/usr/local/bin:/usr/bin:/bin",
    }


def toolkits(*folders: str) -> Plant:
    """Have toolkits of several releases in /usr/local, each with its runtime and compiler, ``cuda`` a link to the last one."""

    def plant(world: World) -> None:
        local = world.folder / "local"
        local.mkdir()
        for package, folder in (part.split(" in ") for part in folders):
            there = world.folder / "unpacked" / folder
            uv("pip", "install", "--quiet", "--no-deps", "--python", str(world.python), "--target", str(there), *package.split("+"))  # fmt: skip
            target = local / folder
            for part in ("lib64", "bin", "include"):
                (target / part).mkdir(parents=True)
                for path in sorted(there.glob(f"nvidia/*/{'lib' if part == 'lib64' else part}/*")):
                    path.rename(target / part / path.name)
            shutil.rmtree(there)
            version = folder.removeprefix("cuda-")
            (target / "version.json").write_text(
                json.dumps({"cuda": {"name": "CUDA SDK", "version": f"{version}.1"}}, indent=3)
            )
            for path in target.glob("lib64/*.so.*"):
                link = path.with_name(path.name.partition(".so.")[0] + ".so")
                if not link.exists():
                    link.symlink_to(path.name)
        (local / "cuda").symlink_to(folders[-1].split(" in ")[1])
        (local / "bin").mkdir()
        script = 'mount --bind "$1" /usr/local && shift && exec "$@"'
        world.launcher += ["unshare", "-m", "sh", "-c", script, "sh", str(local)]

    return plant


def named_locally(local: str, *distributions: str, version: str = "") -> Plant:
    """Give distributions another version, as another index's wheels have: in the record's folder, METADATA and RECORD."""

    def plant(world: World) -> None:
        for name in distributions:
            (info,) = world.site.glob(f"{name}-*.dist-info")
            old = info.name.removeprefix(f"{name}-").removesuffix(".dist-info")
            new = f"{version or old}{local}"
            for file in ("METADATA", "RECORD"):
                text = world.own(info / file).read_text()
                text = text.replace(f"Version: {old}\n", f"Version: {new}\n") if file == "METADATA" else text.replace(info.name, f"{name}-{new}.dist-info")  # fmt: skip
                (info / file).write_text(text)
            info.rename(world.site / f"{name}-{new}.dist-info")

    return plant


def at(where: str) -> Plant:
    """Let the environment have been made in a folder of this name in the home."""

    def plant(world: World) -> None:
        old = world.prefix
        inner = world.home / where
        inner.mkdir(parents=True)
        old.rename(inner / "env")
        _settle(inner / "env", old)
        home = world.home
        world.__class__ = type("Elsewhere", (World,), {"home": property(lambda _: home)})
        world.folder = inner

    return plant


def behind_a_link(where: str) -> Plant:
    """Reach the environment by a link, and have it active under that name."""

    def plant(world: World) -> None:
        link = world.home / where
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(os.path.relpath(world.prefix, link.parent))
        world.variables |= {"VIRTUAL_ENV": str(link), "PATH": f"{link}/bin:/usr/local/bin:/usr/bin:/bin"}

    return plant


def read_only(world: World) -> None:
    """Have the environment on a disk that nobody may write to."""
    script = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@"'
    world.launcher += ["unshare", "-m", "sh", "-c", script, "sh", str(world.prefix)]


def another(where: str, *arguments: str) -> Plant:
    """Have another environment of the person's own, with other releases."""

    def plant(world: World) -> None:
        prefix = world.home / where
        uv("venv", "--quiet", "--python", sys.executable, str(prefix))
        uv("pip", "install", "--quiet", "--python", str(prefix), *arguments)

    return plant


def of_user(world: World) -> None:
    """Have everything in the user's own folder, for the system's Python, as ``pip install --user`` does."""
    target = world.home / f".local/lib/python{VERSION}/site-packages"
    target.parent.mkdir(parents=True)
    world.site.rename(target)
    world.site.mkdir()
    (world.home / ".local/bin").mkdir(exist_ok=True)
    world.arguments += ["--python", "/usr/bin/python3"]


def developed(build: str, *arguments: str) -> Plant:
    """Install a project of one's own by ``pip install -e``, with this backend."""
    own = f'[build-system]\n{build}\n[project]\nname = "own-nets"\nversion = "0.1"\ndependencies = ["torch>=2.1"]\n'
    more = "[tool.hatch.build.targets.wheel]\npackages = ['src/own_nets']\n" if "hatch" in build else "[tool.setuptools.packages.find]\nwhere = ['src']\n"  # fmt: skip
    return then(
        writes(
            {
                "code/nets/pyproject.toml": own + more,
                "code/nets/src/own_nets/__init__.py": "import torch\n\nfrom .layers import Block\n",
                "code/nets/src/own_nets/layers.py": "import torch.nn as nn\n\n\nclass Block(nn.Module):\n    pass\n",
                "code/nets/src/own_nets/utils/io.py": "import json\n",
            }
        ),
        lambda world: installs("--no-deps", *arguments, "-e", str(world.home / "code/nets"))(world),
    )


def elsewhere(where: str, how: str) -> Plant:
    """Have all packages in a folder of the home, which PYTHONPATH or a ``.pth`` file names."""

    def plant(world: World) -> None:
        target = world.home / where
        target.parent.mkdir(parents=True, exist_ok=True)
        world.site.rename(target)
        world.site.mkdir()
        if how == "variable":
            world.variables["PYTHONPATH"] = str(target)
        else:
            (world.site / "shared.pth").write_text(f"{target}\n")

    return plant


def older_packages_behind(world: World) -> None:
    """Have a .pth file add another Python's packages behind this one's: Python takes none of NumPy's modules from there."""
    old = world.home / "old/site-packages"
    for name in ("numpy", "numpy.libs", *(i.name for i in world.site.glob("numpy-*.dist-info"))):
        shutil.copytree(world.site / name, old / name)
    for path in [*old.rglob("*.cpython-311-*.so")]:
        path.rename(path.with_name(path.name.replace("311", "310")))
    (world.site / "shared_packages.pth").write_text(f"{old}\n")


def of_a_toolkit(world: World) -> None:
    """Have CUDA, cuDNN and NCCL in a toolkit's folder alone, which the loader searches."""
    target = world.folder / "cuda/lib64"
    target.mkdir(parents=True)
    for path in sorted(world.site.glob("nvidia/*/lib/lib*.so*")):
        path.rename(target / path.name)
    for name in ("bin", "nvvm"):
        if (world.site / "nvidia/cuda_nvcc" / name).is_dir():
            (world.site / "nvidia/cuda_nvcc" / name).rename(world.folder / "cuda" / name)
    world.variables["XLA_FLAGS"] = f"--xla_gpu_cuda_data_dir={world.folder}/cuda"
    shutil.rmtree(world.site / "nvidia")
    for info in world.site.glob("nvidia_*.dist-info"):
        shutil.rmtree(info)
    world.variables["LD_LIBRARY_PATH"] = str(target)
    (world.home / ".profile").write_text(f"export LD_LIBRARY_PATH={target}\n")


def by_the_systems_python(code: str) -> Oracle:
    """Run code in the system's Python."""

    def oracle(world: World) -> Ran:
        done = world.run(["/usr/bin/python3", "-c", f"{code}; print('{WORKS}')"])
        said = (done.stdout + done.stderr).decode("utf-8", "replace").strip()
        return Ran(ok=WORKS in said, said=said[-3000:])

    return oracle


def searches(world: World) -> None:
    """Let the loader search every library folder of NVIDIA's packages."""
    world.variables["LD_LIBRARY_PATH"] = ":".join(map(str, sorted(world.site.glob("nvidia/*/lib"))))


GONE = '{"argv": ["{home}/old/bin/python", "-m", "ipykernel_launcher", "-f", "{connection_file}"], "display_name": "old", "language": "python"}\n'
BASHRC = """# ~/.bashrc
case $- in *i*) ;; *) return;; esac
HISTCONTROL=ignoreboth
# export LD_LIBRARY_PATH=/usr/local/cuda-10.0/lib64
# >>> conda initialize >>>
__conda_setup="$('/opt/gone/miniconda3/bin/conda' 'shell.bash' 'hook' 2> /dev/null)"
if [ $? -eq 0 ]; then
    eval "$__conda_setup"
else
    if [ -f "/opt/gone/miniconda3/etc/profile.d/conda.sh" ]; then
        . "/opt/gone/miniconda3/etc/profile.d/conda.sh"
    else
        export PATH="/opt/gone/miniconda3/bin:$PATH"
    fi
fi
unset __conda_setup
# <<< conda initialize <<<
export NVM_DIR="$HOME/.nvm"
[ -s "$NVM_DIR/nvm.sh" ] && . "$NVM_DIR/nvm.sh"
export PYENV_ROOT="$HOME/.pyenv"
[[ -d $PYENV_ROOT/bin ]] && export PATH="$PYENV_ROOT/bin:$PATH"
command -v pyenv > /dev/null && eval "$(pyenv init -)"
"""
DOTENV = """# for compose
DATABASE_URL="postgres://ada:secret@db:5432/app"
CUDA_VISIBLE_DEVICES=0
PRIVATE_KEY="-----BEGIN KEY-----
MIIE
-----END KEY-----"
PYTHONPATH=./src
"""
IN_ORDER = runs(
    "import torch, ctypes, os, onnxruntime; there = os.path.dirname(onnxruntime.__file__)\n"
    "for name in ('shared', 'cuda'):\n"
    "    ctypes.CDLL(f'{there}/capi/libonnxruntime_providers_{name}.so', mode=os.RTLD_NOW | ctypes.RTLD_GLOBAL)"
)
"""What a session with the CUDA provider opens, after torch has loaded CUDA's libraries."""
STARTUP = "import rich.pretty\nrich.pretty.install()\nimport numpy as np\n"
CUDA_13 = ("nvidia-cuda-nvrtc==13.0.88", "nvidia-cuda-runtime==13.0.96", "nvidia-nvjitlink==13.0.88")
TOOLKITS = toolkits(
    "nvidia-cuda-runtime-cu11==11.8.89 in cuda-11.8",
    "nvidia-cuda-runtime-cu12==12.1.105+nvidia-nvjitlink-cu12==12.1.105 in cuda-12.1",
    "nvidia-cuda-runtime-cu12==12.8.90+nvidia-nvjitlink-cu12==12.8.93 in cuda-12.8",
)

SCENES: tuple[Scene, ...] = (
    # python -m venv --system-site-packages over a Python that has the framework; numpy is the environment's own
    Scene("odd-venv-over-the-bases-packages", "healthy", "torch-2.6", imports("torch", "torchvision"), over_packages_of_the_base("numpy*")),
    # uv venv, with a Python that uv fetched
    Scene("odd-python-managed-by-uv", "healthy", "torch-2.6", both(TORCH, imports("torchvision")), managed_by_uv),
    # conda create -n train python; pip install torch
    Scene("odd-conda-with-torch-of-pip", "healthy", "torch-2.6", both(TORCH, imports("torchvision")), as_conda),
    # three toolkits, an old one in LD_LIBRARY_PATH, another on PATH
    Scene("odd-three-toolkits", "healthy", "torch-2.8", TORCH, then(TOOLKITS, sets(LD_LIBRARY_PATH="/usr/local/cuda-12.1/lib64:/usr/local/cuda-11.8/lib64", PATH="/usr/local/cuda-11.8/bin:/usr/local/bin:/usr/bin:/bin", CUDA_HOME="/usr/local/cuda"))),
    # pip install jax, on a computer without a card
    Scene("odd-jax-for-the-processor", "healthy", "jax", runs(JAX), then(lacks("jax-cuda12-plugin", "jax-cuda12-pjrt"), drops("nvidia*")), no_card=True),
    # pip install tensorflow, on a computer without a card
    Scene("odd-tensorflow-for-the-processor", "healthy", "tensorflow", imports("tensorflow", "keras"), drops("nvidia*"), no_card=True),
    # an old project with cuDNN 8 in an environment of its own
    Scene("odd-cudnn-8-in-another-environment", "healthy", "ctranslate2", runs(CUBLAS), then(searches, another("projects/old/.venv", "nvidia-cudnn-cu12==8.9.7.29", "nvidia-cublas-cu12==12.4.5.8", "ctranslate2==4.4.0", "setuptools<81", "numpy<2"))),
    # another index's wheels say which CUDA they are for
    Scene("odd-local-versions", "healthy", "torch-2.8", imports("torch", "torchvision", "torchaudio", "xformers"), named_locally("+cu128", "torch", "torchvision", "torchaudio")),
    # a nightly, with what goes with it
    Scene("odd-nightly", "healthy", "torch-2.6", both(TORCH, imports("accelerate")), then(installs("accelerate==1.6.0", "numpy==2.2.6"), lacks("torchvision"), named_locally(".dev20250115+cu124", "torch", version="2.7.0"))),
    # pip keeps to the older pins, a person overrode them, and it works
    Scene("odd-overridden-pins", "healthy", "hub", imports("torch", "datasets", "accelerate", "transformers"), installs("--no-deps", "sympy==1.14.0", "nvidia-cublas-cu12==12.6.4.1", "fsspec==2025.9.0", "dill==0.4.0")),
    # NVIDIA's packages for CUDA 13 beside those for 12
    Scene("odd-cuda-13-beside-cupy-for-12", "healthy", "cupy", imports("cupy"), then(searches, installs("--no-deps", *CUDA_13))),
    # more in the folder nvidia/ than libraries
    Scene("odd-more-in-nvidias-folder", "healthy", "torch-2.8", both(TORCH, imports("nvidia.nvimgcodec", "pynvml", "nvtx")), installs("--no-deps", "nvidia-ml-py==12.575.51", "nvtx==0.2.13", "nvidia-nvimgcodec-cu12==0.6.0.32", "nvidia-cuda-cccl-cu12==12.8.90")),
    # nobody may write there
    Scene("odd-read-only-environment", "healthy", "torch-2.8", TORCH, read_only),
    # a link to the environment of the day
    Scene("odd-environment-behind-a-link", "healthy", "torch-2.6", both(TORCH, calls("sh", "-c", "python -c 'import torch'")), behind_a_link("envs/current")),
    # blanks, umlauts and a long name
    Scene("odd-long-name-with-blanks", "healthy", "torch-2.6", TORCH, at("Eigene Projekte/Größere Übungen im Wintersemester (alt)/" + "/".join(["Messwerte aus dem Labor für Bildverarbeitung"] * 2))),
    Scene("odd-long-name-with-blanks-and-libraries", "healthy", "ctranslate2", runs(CUBLAS), then(at("Eigene Dateien/Übung 3"), searches)),
    # the prompt's start-up file wants what only the prompt has
    Scene("odd-startup-file-of-the-prompt", "healthy", "jax", runs(JAX), then(writes({".pythonrc.py": STARTUP}), sets(PYTHONSTARTUP="{home}/.pythonrc.py", PYTHONBREAKPOINT="ipdb.set_trace", PYTHONINSPECT=""))),
    # pip install -e, by setuptools
    Scene("odd-editable-by-setuptools", "healthy", "torch-2.6", imports("torch", "own_nets.utils.io"), developed('requires = ["setuptools>=68"]\nbuild-backend = "setuptools.build_meta"')),
    # the same, by a finder
    Scene("odd-editable-by-a-finder", "healthy", "torch-2.6", imports("torch", "own_nets.layers"), developed('requires = ["setuptools>=68"]\nbuild-backend = "setuptools.build_meta"', "--config-setting", "editable_mode=strict")),
    # pip install --user
    Scene("odd-packages-of-the-user", "healthy", "torch-2.6", by_the_systems_python("import torch, torchvision"), of_user),
    # ONNX Runtime for the processor, beside torch for the card
    Scene("odd-onnxruntime-for-the-processor-beside-torch", "healthy", "torch-2.8", imports("torch", "onnxruntime"), installs("onnxruntime==1.23.2")),
    # two frameworks share NVIDIA's packages
    Scene("odd-torch-and-jax-together", "healthy", "jax", both(runs(JAX), TORCH), installs("--no-deps", "torch==2.8.0", "triton==3.4.0", "sympy==1.14.0", "mpmath==1.3.0", "networkx==3.5", "jinja2", "markupsafe", "fsspec", "filelock", "typing-extensions", "setuptools", "nvidia-cufile-cu12==1.13.1.3", "nvidia-cusparselt-cu12==0.7.1", "nvidia-nvtx-cu12==12.8.90")),
    # a script that activates by a relative path
    Scene("odd-activation-by-a-relative-path", "healthy", "torch-2.6", started("bash", "-c", "cd .. && source ../env/bin/activate && cd work && ./run.sh"), then(program(ONES), writes({"work/run.sh": "#!/usr/bin/env bash\nset -euo pipefail\nexec python main.py \"$@\"\n"}, "", 0o755), writes({}, "work"))),
    # an archive of packages for all jobs, in one folder
    Scene("odd-everything-on-pythonpath", "healthy", "torch-2.6", imports("torch", "torchvision"), elsewhere("deps/cp311", "variable")),
    Scene("odd-older-packages-behind", "healthy", "torch-2.6", imports("torch", "numpy"), older_packages_behind),
    Scene("odd-everything-by-a-pth", "healthy", "torch-2.6", imports("torch", "torchvision"), elsewhere("shared/site", "pth")),
    Scene("odd-libraries-of-a-pth", "healthy", "ctranslate2", runs(CUBLAS), then(elsewhere("shared/site", "pth"), sets(LD_LIBRARY_PATH="{home}/shared/site/nvidia/cublas/lib:{home}/shared/site/nvidia/cudnn/lib"))),
    # an image with one copy of CUDA for all
    Scene("odd-torch-with-the-toolkits-libraries", "healthy", "torch-2.6", TORCH, of_a_toolkit),
    Scene("odd-jax-with-a-local-toolkit", "healthy", "jax", runs(JAX), of_a_toolkit),
    Scene("odd-tensorflow-with-a-local-toolkit", "healthy", "tensorflow", imports("tensorflow"), of_a_toolkit),
    # what comes from an index, on computers without a card
    Scene("odd-torch-without-a-card", "healthy", "torch-2.8", both(TORCH, imports("torchvision", "xformers", "bitsandbytes")), no_card=True),
    Scene("odd-jax-without-a-card", "healthy", "jax", runs(JAX), no_card=True),
    Scene("odd-cupy-without-a-card", "healthy", "cupy", imports("cupy"), no_card=True),
    Scene("odd-onnxruntime-without-a-card", "healthy", "onnxruntime-1.23", imports("onnxruntime"), drops("nvidia*"), no_card=True),
    Scene("odd-ctranslate2-without-a-card", "healthy", "ctranslate2", imports("ctranslate2"), drops("nvidia*"), no_card=True),
    # the documentation: import torch first
    Scene("odd-onnxruntime-behind-torch", "healthy", "torch-2.8", IN_ORDER, then(installs("onnxruntime-gpu==1.23.2"), program("import torch\nimport onnxruntime"))),
    # a kernel of an environment that has gone, a start-up file of years, a file for compose
    Scene("odd-kernel-of-once", "healthy", "torch-2.6", TORCH, writes({".local/share/jupyter/kernels/old/kernel.json": GONE})),
    Scene("odd-startup-file-of-years", "healthy", "torch-2.6", calls("bash", "-ic", "{env}/bin/python -c 'import torch'"), then(writes({".bashrc": BASHRC, ".profile": '[ -n "$BASH_VERSION" ] && . "$HOME/.bashrc"\nPATH="$HOME/bin:$PATH"\n'}), sets(SHELL="/bin/bash"))),
    Scene("odd-file-for-compose", "healthy", "jax", started("{env}/bin/python", "main.py"), then(program(JAX), writes({"work/.env": DOTENV, "work/compose.yaml": "services:\n  db:\n    image: postgres:16\n    env_file: .env\n"}))),
    # variables of a cluster and of a container's image
    Scene("odd-words-of-a-cluster", "healthy", "torch-2.8", TORCH, sets(CUDA_HOME="/usr/local/cuda-11.0", CUDA_PATH="/usr/local/cuda-11.0", EBROOTCUDA="/apps/CUDA/12.4.0", LMOD_CMD="/apps/lmod/libexec/lmod", MODULEPATH="/apps/modules", SLURM_JOB_GPUS="2", CUDA_VISIBLE_DEVICES="GPU-5f3c1d2e-0000-0000-0000-000000000000", NVIDIA_VISIBLE_DEVICES="void", NVIDIA_DRIVER_CAPABILITIES="compute,utility", NVARCH="x86_64", NV_CUDA_CUDART_VERSION="12.4.127-1", XDG_RUNTIME_DIR="/run/user/0", OMP_NUM_THREADS="8", MKL_THREADING_LAYER="GNU")),
    # an environment of Poetry's
    Scene("odd-environment-of-poetry", "healthy", "torch-2.6", TORCH, at(".cache/pypoetry/virtualenvs/train-u9_8Kd-1-py3.11")),
    # a cluster's module with a newer cuDNN
    Scene("odd-newer-cudnn-by-a-variable", "healthy", "torch-2.6", CUDNN, then(linked_from("torch-2.8", "nvidia/cudnn/lib", "cuda/lib64"), sets(LD_LIBRARY_PATH="{home}/cuda/lib64"))),
)  # fmt: skip
