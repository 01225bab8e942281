"""The nineteenth held-out set: what its scenes are made of, and how its programs are started. No scenes of its own."""

from __future__ import annotations

import json
import os
import platform
import re
import shlex
import shutil
import subprocess

from tests.worldlab.environments import VERSION
from tests.worldlab.scene import Ran, Scene, World, installs
from tests.worldlab.scenes.held_out_8 import Plant, writes
from tests.worldlab.scenes.held_out_15 import said_by

SCENES: tuple[Scene, ...] = ()


# --- how programs are started -------------------------------------------------------------------------------------------


def by_icon(world: World) -> Ran:
    """Run what a click on the program's icon starts: the session has the variables of the login, and none of ``.bashrc``."""
    (path,) = (world.home / ".local/share/applications").glob("*.desktop")
    (line,) = re.findall(r"^Exec=(.*)$", path.read_text(), re.MULTILINE)
    clean = ["PATH=/usr/local/bin:/usr/bin:/bin", f"HOME={world.home}", "LANG=C.UTF-8"]
    return said_by(world, ["env", "-i", *clean, *shlex.split(line)])


# --- what people do -----------------------------------------------------------------------------------------------------


def built_without(module: str) -> Plant:
    """Have the environment's Python from sources that were built while a library's headers were absent (pyenv's way)."""

    def plant(world: World) -> None:
        old = world.python.resolve().parent.parent
        new = world.home / ".pyenv/versions" / platform.python_version()
        library = f"lib/python{VERSION}"
        unneeded = shutil.ignore_patterns("site-packages", "test", "tests", "idlelib", "config-*", f"{module}.*.so")
        shutil.copytree(old / library, new / library, symlinks=True, ignore=unneeded)
        (new / library / "site-packages").mkdir()
        for path in (old / f"bin/python{VERSION}", *old.glob("lib/libpython3*.so*")):
            (new / path.parent.name).mkdir(exist_ok=True)
            shutil.copy2(path, new / path.relative_to(old), follow_symlinks=False)
        for link in (world.prefix / "bin").iterdir():
            if link.is_symlink() and link.readlink().is_absolute():
                link.unlink()
                link.symlink_to(new / f"bin/python{VERSION}")
        told = world.own(world.prefix / "pyvenv.cfg")
        told.write_text(told.read_text().replace(str(old), str(new)))

    return plant


def moved_from(where: str) -> Plant:
    """Have the environment moved here by ``mv``: the scripts in ``bin`` still name the interpreter in the old place."""

    def plant(world: World) -> None:
        for path in (world.prefix / "bin").iterdir():
            if path.is_file() and not path.is_symlink() and str(world.prefix).encode() in path.read_bytes():
                content, mode = path.read_bytes(), path.stat().st_mode
                path.unlink()
                path.write_bytes(content.replace(bytes(world.prefix), bytes(world.home / where)))
                path.chmod(mode)

    return plant


def toolkit_of_12_1(world: World) -> None:
    """Have the CUDA toolkit 12.1 below the home, of which one library matters here."""
    installs("--target", str(world.folder / "fetched"), "--no-deps", "nvidia-nvjitlink-cu12==12.1.105")(world)
    target = world.home / "cuda-12.1/lib64"
    target.mkdir(parents=True)
    for path in (world.folder / "fetched").glob("nvidia/nvjitlink/lib/*.so*"):
        path.rename(target / path.name)


def matlab(release: str) -> Plant:
    """Have MATLAB below the home: its C++ run time offers no version after GLIBCXX_3.4.20, and nothing behind the names."""

    def plant(world: World) -> None:
        folder = world.home / "MATLAB" / release / "sys/os/glnxa64"
        folder.mkdir(parents=True)
        (folder.parent.parent.parent / "bin/glnxa64").mkdir(parents=True)
        names = ["GLIBCXX_3.4", *(f"GLIBCXX_3.4.{n}" for n in range(1, 21)), "CXXABI_1.3"]
        names += [f"CXXABI_1.3.{n}" for n in range(1, 9)]
        script = world.folder / "versions.map"
        script.write_text("".join(f"{name} {{ }};\n" for name in names))
        made = ["gcc", "-shared", "-fPIC", "-nostdlib", "-x", "c", "/dev/null", "-Wl,-soname,libstdc++.so.6"]
        target = folder / "libstdc++.so.6.0.20"
        subprocess.run([*made, f"-Wl,--version-script={script}", "-o", str(target)], check=True)
        (folder / "libstdc++.so.6").symlink_to(target.name)

    return plant


def empties(pattern: str) -> Plant:
    """Leave a file of no bytes, as a full disk does."""

    def plant(world: World) -> None:
        os.truncate(world.own(world.library(pattern)), 0)

    return plant


def remains(name: str, release: str) -> Plant:
    """Leave what pip renamed and could not remove: a record with a tilde, and a folder with a library that was in use."""

    def plant(world: World) -> None:
        (info,) = world.site.glob(f"{name}-*.dist-info")
        left = world.site / f"~{name[1:]}-{release}.dist-info"
        left.mkdir()
        metadata = (info / "METADATA").read_text()
        (left / "METADATA").write_text(re.sub(r"(?m)^Version: .*$", f"Version: {release}", metadata))
        (left / "INSTALLER").write_text("pip\n")
        (world.site / f"~{name[1:]}.libs").mkdir()

    return plant


# --- the files of their tools -------------------------------------------------------------------------------------------


def icon(start: str) -> dict[str, str]:
    """Return the file of a program's icon."""
    return {
        ".local/share/applications/dictate.desktop": "[Desktop Entry]\nType=Application\nName=Dictate\n"
        f"Exec={start}\nIcon=audio-input-microphone\nTerminal=false\nCategories=AudioVideo;\n"
    }


def launch(*configurations: tuple[str, str, str]) -> dict[str, str]:
    """Return VS Code's file of what F5 starts: name, program and interpreter of each configuration."""
    told = [
        {
            "name": name,
            "type": "debugpy",
            "request": "launch",
            "program": "${workspaceFolder}/" + program,
            "console": "integratedTerminal",
            "justMyCode": True,
            "python": python,
        }
        for name, program, python in configurations
    ]
    return {"work/.vscode/launch.json": json.dumps({"version": "0.2.0", "configurations": told}, indent=4)}


def crontab(*lines: str) -> dict[str, str]:
    """Return a person's table of jobs, as ``crontab work/crontab`` takes it."""
    head = "# m h  dom mon dow   command\n"
    return {"work/crontab": head + "".join(f"{line}\n" for line in lines)}


YOLO = {
    "work/yolov5/utils/__init__.py": "",
    "work/yolov5/utils/general.py": "import torch\n\n\ndef xyxy2xywh(x):\n    return x\n",
    "work/yolov5/models/__init__.py": "",
    "work/yolov5/models/common.py": "import torch\n\nfrom utils.general import xyxy2xywh\n",
    "work/yolov5/detect.py": "from utils.general import xyxy2xywh\n",
    "work/yolov5/hubconf.py": "dependencies = ['torch']\n",
}
"""A clone of YOLOv5, with the names of folders that it has."""
ROS = writes(
    {
        "ros/humble/lib/python3.10/site-packages/rclpy/__init__.py": "from rclpy import impl\n",
        "ros/humble/lib/python3.10/site-packages/rclpy/impl.py": "import rclpy._rclpy_pybind11\n",
        "ros/humble/lib/python3.10/site-packages/rclpy/_rclpy_pybind11.cpython-310-x86_64-linux-gnu.so": "",
        "ros/humble/lib/python3.10/site-packages/launch/__init__.py": "",
        "ros/humble/lib/python3.10/site-packages/sensor_msgs/__init__.py": "",
        "ros/humble/lib/python3.10/site-packages/sensor_msgs/msg/__init__.py": "",
        "ros/humble/local/lib/python3.10/dist-packages/ament_package/__init__.py": "",
        "ros/humble/lib/librcl.so": "",
        "ros/humble/setup.bash": "export ROS_DISTRO=humble\n",
    }
)
"""What is in the folders that ``source setup.bash`` of ROS 2 puts into PYTHONPATH and LD_LIBRARY_PATH."""
