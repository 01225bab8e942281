"""Faults of the driver's half and of interpreters' worlds on a machine with a real GPU: ``python -m tests.faultlab.driver_on_gpu OUT [NAME...]``, with ``--held-out`` those of the second set, with ``--two-gpus`` those for two GPUs.

Run it as root on Linux, with an interpreter that can import ``core``. Each fault is planted in a mount namespace of its own, so
that nothing outlives it and nobody else sees it. An oracle, a plain Python with ctypes and nothing of ours, says there what
programs get: cuInit, cuDeviceGetCount, a kernel in PTX, NVML. Then a scan runs there. A row is right when the scan's primary
cause is one of those that were expected; where the oracle sees no fault (the plant did not take), no cause is expected.
OUT gets what the oracle said and a redacted report for each row, and the table. ``--standin FOLDER`` looks for the driver's
libraries there, for a dry run.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

SECONDS = 45
"""For one oracle, and for one scan."""
BUDGET = 520
"""Seconds for all rows; what is left then is told as not run."""

ORACLE = r"""
import ctypes, json, os, sys
os.environ["CUDA_CACHE_DISABLE"] = "1"  # else a kernel that an earlier scene compiled is taken from the driver's cache
said = {"cuInit": None, "count": None, "ptx": None, "nvml": None}
def tell(): print(json.dumps(said)); sys.stdout.flush()
tell()
try:
    ml = ctypes.CDLL("libnvidia-ml.so.1"); said["nvml"] = ml.nvmlInit_v2()
except (OSError, AttributeError) as e: said["nvml_problem"] = str(e)[:200]
try:
    cuda = ctypes.CDLL("libcuda.so.1"); tell(); said["cuInit"] = cuda.cuInit(0)
except (OSError, AttributeError) as e: said["problem"] = str(e)[:200]; tell(); sys.exit()
n = ctypes.c_int()
if said["cuInit"] == 0 and cuda.cuDeviceGetCount(ctypes.byref(n)) == 0: said["count"] = n.value
tell()
if said["count"]:
    device, context, module = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
    cuda.cuDeviceGet(ctypes.byref(device), 0)
    said["context"] = cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
    cuda.cuCtxSetCurrent(context)
    said["ptx"] = "asked"; tell()
    source = b".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry nothing() { ret; }\n\0"
    said["ptx"] = cuda.cuModuleLoadData(ctypes.byref(module), source)
    said["lazy"] = sorted({l.split()[-1].rpartition("/")[2] for l in open("/proc/self/maps") if "libnvidia" in l or "libcuda" in l})
tell()
"""
"""What programs get; each step is told, so that a crash leaves behind how far it came. The last line counts."""

DENY = r"""
import ctypes, os, struct, sys
folder, major = sys.argv[1], int(sys.argv[2])
bpf = ctypes.CDLL(None, use_errno=True).syscall
# r2 = ctx->major; r0 = 1; if r2 != major goto +1; r0 = 0; exit
code = b"".join(struct.pack("<BBhi", *i) for i in ((0x61, 0x12, 4, 0), (0xb7, 0, 0, 1), (0x55, 2, 1, major), (0xb7, 0, 0, 0), (0x95, 0, 0, 0)))
program, licence = ctypes.create_string_buffer(code, len(code)), ctypes.create_string_buffer(b"GPL")
load = struct.pack("<IIQQIIQII", 15, 5, ctypes.addressof(program), ctypes.addressof(licence), 0, 0, 0, 0, 0)
load = ctypes.create_string_buffer(load.ljust(128, b"\0"), 128)
fd = bpf(321, 5, load, 128)
if fd < 0: sys.exit(f"BPF_PROG_LOAD: {os.strerror(ctypes.get_errno())}")
group = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
attach = ctypes.create_string_buffer(struct.pack("<IIII", group, fd, 6, 0).ljust(128, b"\0"), 128)
if bpf(321, 8, attach, 128) < 0: sys.exit(f"BPF_PROG_ATTACH: {os.strerror(ctypes.get_errno())}")
"""
"""Deny a control group every device of one major number: BPF_PROG_TYPE_CGROUP_DEVICE (linux/bpf.h; x86-64's number of bpf)."""


@dataclass(frozen=True)
class Place:
    """Where things are on this machine."""

    folder: Path
    """The driver's libraries."""
    version: str
    work: Path
    """A folder of ours that everybody can read, on no path that others can change."""
    library_path: str = ""

    def real(self, stem: str) -> Path:
        """Return the file of a library of the driver, links followed."""
        return (self.folder / f"{stem}.so.1").resolve()


@dataclass(frozen=True)
class Scene:
    """A fault: shell lines that plant it, variables, and the causes that are right for it."""

    name: str
    causes: tuple[str, ...]
    plant: Callable[[Place], str] = lambda _place: ""
    env: dict[str, str] = field(default_factory=dict)
    user: str = ""
    python: str = ""
    """A folder below ``work`` that becomes an environment, whose interpreter the oracle and the scan are given."""
    start: str = ""
    """What that environment runs at every start: its sitecustomize, or a line of a .pth file (which begins with "import")."""
    wanted: Callable[[dict[str, object]], bool] = lambda said: not works(said)
    """Whether the oracle saw the fault."""
    says: str = ""
    """A pattern that the finding must hold where no word of the vocabulary tells this fault from others."""
    oracle: str = ORACLE


def works(said: dict[str, object]) -> bool:
    """Whether a program got a GPU."""
    return said.get("cuInit") == 0 and bool(said.get("count"))


def emptied(stem: str) -> Callable[[Place], str]:
    """Put a file of no bytes over a library of the driver."""
    return lambda place: f"touch {place.work}/empty; mount --bind {place.work}/empty {place.real(stem)}"


def cut(stem: str) -> Callable[[Place], str]:
    """Put the first half of a library over it."""
    size = "$(($(stat -c %s {file}) / 2))"
    return lambda p: (
        f"head -c {size.format(file=p.real(stem))} {p.real(stem)} > {p.work}/cut; mount --bind {p.work}/cut {p.real(stem)}"
    )


def closed(stem: str) -> Callable[[Place], str]:
    """Put a copy that only root may read over a library."""
    return lambda p: (
        f"cp {p.real(stem)} {p.work}/closed; chmod 600 {p.work}/closed; mount --bind {p.work}/closed {p.real(stem)}"
    )


def removed(stem: str) -> Callable[[Place], str]:
    """Let the driver's folder lack a library, by an overlay over the folder."""

    def plant(place: Place) -> str:
        at, real = place.work / "overlay", place.folder.resolve()
        return (
            f"mkdir -p {at}; mount -t tmpfs tmpfs {at}; mkdir {at}/u {at}/w; "
            f"mount -t overlay overlay -o lowerdir={real},upperdir={at}/u,workdir={at}/w {real}; "
            f"test -e {real}/libcuda.so.1; rm {real}/{stem}.so*"
        )

    return plant


def of_other_version(stem: str, *, by_path: bool = False) -> Callable[[Place], str]:
    """Put a library of another driver version over the driver's, or (``by_path``) in a folder of its own.

    One that a package for forward compatibility brings is taken where there is one; else another version is written into a copy.
    """

    def plant(place: Place) -> str:
        other = place.version[:-1] + ("1" if place.version[-1] != "1" else "2")
        copy = f"LC_ALL=C sed 's/{place.version.replace('.', '[.]')}/{other}/g' {place.real(stem)}"
        for file in sorted(Path("/usr/local").glob(f"cuda*/compat/{stem}.so.*.*")):
            if place.version not in file.name:
                other, copy = file.name.rpartition(".so.")[2], f"cat {file}"
        folder = place.work / "other"
        name = f"{stem}.so.{other}"
        made = f"mkdir -p {folder}; {copy} > {folder}/{name}; chmod 755 {folder}/{name}; "
        return made + (
            f"ln -sf {name} {folder}/{stem}.so.1" if by_path else f"mount --bind {folder}/{name} {place.real(stem)}"
        )

    return plant


def node(name: str, over: str) -> Callable[[Place], str]:
    """Put another device, or a plain file, over a device node."""
    return lambda p: f"touch {p.work}/plain; mount --bind {over.format(work=p.work)} /dev/{name}"


def without_nodes(*left: str) -> Callable[[Place], str]:
    """A /dev in which only some of the driver's nodes are, and in which nobody can create one."""

    def plant(place: Place) -> str:
        keep = " ".join(("null", "zero", "full", "random", "urandom", "tty", *left))
        return (
            f"mkdir -p {place.work}/dev; mount --rbind /dev {place.work}/dev; mount -t tmpfs -o mode=755 tmpfs /dev; "
            f'for n in {keep}; do test -e {place.work}/dev/"$n" && touch /dev/"$n" && mount --bind {place.work}/dev/"$n" /dev/"$n"; done; '
            "ln -s /proc/self/fd /dev/fd; mkdir /dev/shm; mount -t tmpfs -o mode=1777 tmpfs /dev/shm; mount -o remount,ro /dev"
        )

    return plant


def closed_nodes(place: Place) -> str:
    """The driver's nodes under a /dev of ours, for root alone."""
    return (
        f"mkdir -p {place.work}/nodes; mount -t tmpfs -o dev tmpfs {place.work}/nodes; for f in /dev/nvidia0 /dev/nvidiactl /dev/nvidia-uvm; do "
        f"n=$(basename $f); mknod -m 660 {place.work}/nodes/$n c $((0x$(stat -c %t $f))) $((0x$(stat -c %T $f))); mount --bind {place.work}/nodes/$n $f; done"
    )


def denied(place: Place) -> str:
    """A control group that may not use the driver's devices, entered by this shell."""
    deny = place.work / "deny.py"
    deny.write_text(DENY)
    one = "/sys/fs/cgroup/devices/convalesce-lab"
    two = "/sys/fs/cgroup/convalesce-lab"
    major = "$((0x$(stat -c %t /dev/nvidia0)))"
    return (
        f"if test -e /sys/fs/cgroup/devices/devices.deny || test -d /sys/fs/cgroup/devices; then mkdir -p {one}; echo 'c '{major}':* rwm' > {one}/devices.deny; "
        f"echo $$ > {one}/cgroup.procs; else mkdir -p {two}; {sys.executable} {deny} {two} {major}; echo $$ > {two}/cgroup.procs; fi"
    )


JIT, MISSING = "libnvidia-ptxjitcompiler", "driver_component_missing"
NODE = "device_node_wrong"
HIDE = "import os; os.environ['CUDA_VISIBLE_DEVICES'] = '-1'"


def without_compiler(said: dict[str, object]) -> bool:
    """Whether CUDA starts and PTX does not compile."""
    return works(said) and said.get("ptx") not in (0, None)


def without_nvml(said: dict[str, object]) -> bool:
    """Whether CUDA starts and NVML does not."""
    return works(said) and said.get("nvml") != 0


SCENES = (
    Scene("healthy", (), wanted=lambda _said: False),
    Scene("compiler-for-ptx-emptied", (MISSING,), emptied(JIT), wanted=without_compiler),
    Scene("compiler-for-ptx-absent", (MISSING,), removed(JIT), wanted=without_compiler),
    Scene("compiler-for-ptx-cut", (MISSING, "corrupt_or_truncated_file"), cut(JIT), wanted=without_compiler),
    Scene(
        "compiler-for-ptx-closed", (MISSING, "library_unreadable"), closed(JIT), user="nobody", wanted=without_compiler
    ),
    Scene("nvml-emptied", (MISSING,), emptied("libnvidia-ml"), wanted=without_nvml),
    Scene("nvml-absent", (MISSING,), removed("libnvidia-ml"), wanted=without_nvml),
    Scene("nvml-of-other-version", ("driver_library_mismatch",), of_other_version("libnvidia-ml"), wanted=without_nvml),
    Scene("libcuda-of-other-version", ("driver_library_mismatch",), of_other_version("libcuda")),
    Scene(
        "libcuda-of-other-version-by-path",
        ("libcuda_wrong_library", "cuda_compat_mismatch", "driver_library_mismatch"),
        of_other_version("libcuda", by_path=True),
        env={"LD_LIBRARY_PATH": "{work}/other"},
    ),
    Scene(
        "libcuda-of-other-version-preloaded",
        ("driver_broken_by_env", "libcuda_wrong_library", "cuda_compat_mismatch", "driver_library_mismatch"),
        of_other_version("libcuda", by_path=True),
        env={"LD_PRELOAD": "{work}/other/libcuda.so.1"},
    ),
    Scene("libcuda-cut", ("libcuda_wrong_library", "corrupt_or_truncated_file"), cut("libcuda")),
    Scene("uvm-absent", (NODE,), without_nodes("nvidia0", "nvidiactl")),
    Scene("uvm-is-null", (NODE,), node("nvidia-uvm", "/dev/null")),
    Scene("control-is-zero", (NODE,), node("nvidiactl", "/dev/zero")),
    Scene("gpu-is-a-file", (NODE,), node("nvidia0", "{work}/plain")),
    Scene("no-nodes", (NODE, "container_no_gpu_runtime"), without_nodes()),
    Scene("nodes-for-root-alone", ("device_node_permission",), closed_nodes, user="nobody"),
    Scene("nodes-denied-by-control-group", ("container_lost_devices",), denied),
    Scene("hidden-in-sitecustomize", ("gpu_hidden_by_env",), python="site", start=HIDE),
    Scene("hidden-in-a-pth-line", ("gpu_hidden_by_env",), python="pth", start=HIDE),
    Scene("hidden-by-quotes", ("gpu_hidden_by_env",), env={"CUDA_VISIBLE_DEVICES": '"0"'}),
)

STUB = "/usr/local/cuda/lib64/stubs/libcuda.so"
BY_VARIABLE = ("driver_broken_by_env", "variable_value_wrong")
LIMITED = "ulimit|address space|virtual memory|RLIMIT_AS"
LIBCUDA = ("libcuda_wrong_library", "cuda_not_on_search_path", MISSING)


def closed_node(name: str) -> Callable[[Place], str]:
    """One node of the driver for root alone."""
    return lambda p: (
        f"mkdir -p {p.work}/node; mount -t tmpfs -o dev tmpfs {p.work}/node; "
        f"mknod -m 600 {p.work}/node/it c $((0x$(stat -c %t /dev/{name}))) $((0x$(stat -c %T /dev/{name}))); "
        f"mount --bind {p.work}/node/it /dev/{name}"
    )


def next_minor(place: Place) -> str:
    """The first GPU's node leads to a second GPU, which is not there."""
    return (
        f"mkdir -p {place.work}/node; mount -t tmpfs -o dev tmpfs {place.work}/node; "
        f"mknod -m 666 {place.work}/node/it c $((0x$(stat -c %t /dev/nvidia0))) 1; mount --bind {place.work}/node/it /dev/nvidia0"
    )


def forgotten(place: Place) -> str:
    """The loader's cache, and what names folders to it, say nothing of the driver's folder."""
    return (
        f"mkdir {place.work}/none; mount --bind {place.work}/none /etc/ld.so.conf.d; ldconfig -C {place.work}/cache; "
        f"mount --bind {place.work}/cache /etc/ld.so.cache"
    )


def dangling(place: Place) -> str:
    """libcuda.so.1 leads to a release of the driver that is gone."""
    return removed("libcuda")(place) + f"; ln -s libcuda.so.535.54.03 {place.folder.resolve()}/libcuda.so.1"


def never(_said: dict[str, object]) -> bool:
    """Nothing is wrong."""
    return False


HELD_OUT = (
    Scene("healthy", (), wanted=never),
    Scene(
        "mps-server-is-gone",
        BY_VARIABLE,
        lambda p: (
            f"mkdir {p.work}/mps; mkfifo {p.work}/mps/control; echo 99999 > {p.work}/mps/nvidia-cuda-mps-control.pid"
        ),
        env={"CUDA_MPS_PIPE_DIRECTORY": "{work}/mps"},
    ),
    Scene("injected-library-is-gone", BY_VARIABLE, env={"CUDA_INJECTION64_PATH": "{work}/gone.so"}),
    Scene("compiling-ptx-is-switched-off", BY_VARIABLE, env={"CUDA_DISABLE_PTX_JIT": "1"}, wanted=without_compiler),
    Scene("address-space-is-limited", (), lambda _p: "ulimit -v 6000000", says=LIMITED),
    Scene("uvm-for-root-alone", ("device_node_permission",), closed_node("nvidia-uvm"), user="nobody"),
    Scene("control-for-root-alone", ("device_node_permission",), closed_node("nvidiactl"), user="nobody"),
    Scene("gpu-leads-to-a-second-one", (NODE,), next_minor),
    Scene("libcuda-dangles", ("libcuda_wrong_library", MISSING), dangling),
    Scene("libcuda-absent", (*LIBCUDA, "container_no_gpu_runtime"), removed("libcuda")),
    Scene("loader-forgot-the-driver", LIBCUDA, forgotten),
    Scene(
        "compiler-for-ptx-of-other-version",
        ("driver_library_mismatch", MISSING),
        of_other_version(JIT),
        wanted=without_compiler,
    ),
    Scene("stub-preloaded", ("libcuda_wrong_library", "driver_broken_by_env"), env={"LD_PRELOAD": STUB}),
    Scene(
        "uuid-of-another-machine",
        ("gpu_hidden_by_env",),
        env={"CUDA_VISIBLE_DEVICES": "GPU-01234567-89ab-cdef-0123-456789abcdef"},
    ),
    Scene("one-device-twice", ("gpu_hidden_by_env",), env={"CUDA_VISIBLE_DEVICES": "0,0"}),
    Scene("no-device-files", ("gpu_hidden_by_env",), env={"CUDA_VISIBLE_DEVICES": "NoDevFiles"}),
    Scene(
        "second-gpu-by-start-code",
        ("gpu_hidden_by_env",),
        python="site",
        start="import os; os.environ['CUDA_VISIBLE_DEVICES'] = '1'",
    ),
    Scene(
        "stub-by-start-code",
        ("libcuda_wrong_library", "driver_broken_by_env"),
        python="pth",
        start=f"import ctypes; ctypes.CDLL('{STUB}', ctypes.RTLD_GLOBAL)",
    ),
    Scene("containers-variable-says-void", (), env={"NVIDIA_VISIBLE_DEVICES": "void"}, wanted=never),
    Scene("cache-nobody-can-write", (), env={"CUDA_CACHE_PATH": "/proc"}, wanted=never),
    Scene("order-of-devices-misspelt", ("gpu_hidden_by_env",), env={"CUDA_DEVICE_ORDER": "BY_SIZE"}),
    Scene("list-ends-in-a-comma", (), env={"CUDA_VISIBLE_DEVICES": "0,"}, wanted=never),
    Scene("stubs-folder-without-so-1", (), env={"LD_LIBRARY_PATH": "/usr/local/cuda/lib64/stubs"}, wanted=never),
    Scene("tools-node-is-null", (), node("nvidia-uvm-tools", "/dev/null"), wanted=never),
    Scene(
        "hidden-only-in-a-comment", (), python="pth", start="# os.environ['CUDA_VISIBLE_DEVICES'] = '-1'", wanted=never
    ),
)
"""Written after the rules, and committed before its first run; one was expected to be harmless and is not: a misspelt order of devices."""


def main(argv: list[str]) -> int:
    """Run the scenes named (all of them by default) and print the table; exit status 1 on any miss."""
    parser = argparse.ArgumentParser(prog="python -m tests.faultlab.driver_on_gpu")
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help="faults to plant beside none; all by default")
    parser.add_argument(
        "--standin", default="", metavar="FOLDER", help="where the driver's libraries are, for a dry run"
    )
    parser.add_argument("--held-out", action="store_true", help="the second set, written after the rules")
    parser.add_argument("--two-gpus", action="store_true", help="scenes for a machine with two GPUs")
    chosen = parser.parse_args(argv)
    out: Path = chosen.out
    out.mkdir(parents=True, exist_ok=True)
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], check=False).returncode:
        print("this needs root and mount namespaces (unshare -m)")
        return 3
    rows, misses, began = [], 0, time.monotonic()
    base = next((b for b in ("/opt", "/usr/local", "/var/lib") if Path(b).is_dir()), "/")
    with tempfile.TemporaryDirectory(prefix="driver-lab-", dir=base) as work:
        Path(work).chmod(0o755)
        place = find(Path(work), chosen.standin)
        print(f"driver {place.version} in {place.folder}, {sys.executable}, work in {work}", flush=True)
        for scene in chosen_set(two_gpus=chosen.two_gpus, held_out=chosen.held_out):
            if chosen.names and scene.name not in (*chosen.names, "healthy"):
                continue
            if time.monotonic() - began > BUDGET:
                row = f"left out  {scene.name:<38} no time left"
            else:
                good, row = told(scene, place, out)
                misses += not good
            rows.append(row)
            print(row, flush=True)
    (out / "table.txt").write_text("\n".join(rows) + "\n")
    print(f"{len(rows)} rows, {misses} not as expected, {time.monotonic() - began:.0f} s")
    return 1 if misses else 0


def chosen_set(*, two_gpus: bool, held_out: bool) -> tuple[Scene, ...]:
    """Return the scenes that were asked for."""
    from tests.faultlab.two_gpus import TWO_GPUS

    return TWO_GPUS if two_gpus else HELD_OUT if held_out else SCENES


def find(work: Path, standin: str) -> Place:
    """Find the driver's libraries by the loader's own list, and its version by the kernel module, else by the file's name."""
    folder = Path(standin or "/usr/local/nvidia/lib64")
    if not (folder / "libcuda.so.1").exists():
        listed = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
        found = [
            line.rpartition("=> ")[2] for line in listed.splitlines() if "libcuda.so.1 " in line and "x86-64" in line
        ]
        folder = Path(found[0]).parent if found else folder
    real = (folder / "libcuda.so.1").resolve()
    return Place(
        folder=real.parent,
        version=real.name.rpartition(".so.")[2],
        work=work,
        library_path=standin,
    )


def told(scene: Scene, place: Place, out: Path) -> tuple[bool, str]:
    """Run one scene; return whether it is right, and its row."""
    began = time.monotonic()
    try:
        said, head, note = play(scene, place, out)
    except (OSError, ValueError, KeyError, subprocess.SubprocessError) as e:
        return False, f"BROKEN    {scene.name:<38} {type(e).__name__}: {' '.join(str(e).split())[:160]}"
    seconds = time.monotonic() - began
    answers = " ".join(f"{k}={said[k]}" for k in ("cuInit", "count", "ptx", "nvml") if k in said)
    if note:
        return True, f"not made  {scene.name:<38} {note}"
    taken = scene.wanted(said)
    cause, title = str(head.get("cause") or ("(open)" if head else "")), str(head.get("title", "nothing wrong"))
    named = bool(re.search(scene.says, json.dumps(head), re.IGNORECASE)) if scene.says else cause in scene.causes
    good = named if taken else not head
    word = ("ok" if good else "MISS") if taken or scene.name == "healthy" else ("no fault" if good else "ALARM")
    expected = " or ".join(scene.causes) or "-"
    return (
        good,
        f"{word:<9} {scene.name:<38} {answers:<42} {cause or '-':<26} (expected {expected}) {seconds:4.1f} s  {title}",
    )


def play(scene: Scene, place: Place, out: Path) -> tuple[dict[str, object], dict[str, object], str]:
    """Plant, ask the oracle and scan in one mount namespace; return the oracle's answer, the headline, and what was not made."""
    work = place.work / scene.name
    work.mkdir()
    work.chmod(0o755)
    here = Place(place.folder, place.version, work, place.library_path)
    python = environment(scene, work) if scene.python else sys.executable
    env = {k: v for k, v in os.environ.items() if k not in ("LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "LD_PRELOAD")}
    if place.library_path:
        env["LD_LIBRARY_PATH"] = place.library_path
    env |= {k: v.format(work=work) for k, v in scene.env.items()}
    (work / "oracle.py").write_text(scene.oracle)
    named = ["--python", str(Path(python).parents[1])] if scene.python else []
    command = [sys.executable, "-m", "core.cli.main", "scan", "--json", *named]
    oracle = [python, str(work / "oracle.py")]
    if scene.user:
        change = ["setpriv", "--reuid", scene.user, "--regid", "65534", "--clear-groups"]
        command, oracle = [*change, *command], [*change, *oracle]
        env["HOME"] = "/nonexistent"
    job = {"plant": scene.plant(here), "oracle": oracle, "scan": command, "env": env, "out": str(work)}
    (work / "job.json").write_text(json.dumps(job))
    plain = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    subprocess.run(
        [
            "unshare",
            "-m",
            "--propagation",
            "private",
            sys.executable,
            "-m",
            "tests.faultlab.driver_on_gpu",
            "--inside",
            str(work / "job.json"),
        ],
        env=plain,
        timeout=3 * SECONDS,
        check=False,
    )
    done = json.loads((work / "done.json").read_text())
    (out / f"{scene.name}.oracle.json").write_text(json.dumps(done, indent=1))
    for f in ("closed", "cut", "other"):
        big = work / f
        shutil.rmtree(big, ignore_errors=True) if big.is_dir() else big.unlink(missing_ok=True)
    if done["plant"]:
        return {}, {}, f"planting failed: {done['plant'][:160]}"
    report = json.loads(done["scan"])
    (out / f"{scene.name}.json").write_text(done["scan"])
    faults = [f for f in report["findings"] if f["severity"] in ("error", "warning")]
    if scene.name == "healthy":
        (place.work / "before.json").write_text(json.dumps([[f["id"], f["subject"]] for f in faults]))
    before = json.loads((place.work / "before.json").read_text()) if scene.name != "healthy" else []
    # the headline comes first; what the machine has without any plant is not this scene's
    head = next((f for f in faults if [f["id"], f["subject"]] not in before), {})
    lines = [line for line in done["oracle"].splitlines() if line.startswith("{")]
    return json.loads(lines[-1]) if lines else {}, head, ""


def inside(job_file: str) -> int:
    """Do one scene's work inside its mount namespace, and write what came of it."""
    job = json.loads(Path(job_file).read_text())
    out = Path(job["out"])
    done = {"plant": "", "oracle": "", "scan": "", "err": ""}
    preload = job["env"].get("LD_PRELOAD", "")
    before = f"timeout {SECONDS} " + (f"env LD_PRELOAD={preload} " if preload else "")
    # the shell, which may have entered a control group, starts the others: they are its children
    script = f"set -e\n{job['plant']}\necho planted >&2\nset +e\n" + "".join(
        f"{before}{quoted(job[k])} > {out}/{k}.out 2> {out}/{k}.err\n" for k in ("oracle", "scan")
    )
    plain = {k: v for k, v in job["env"].items() if k != "LD_PRELOAD"}
    ran = subprocess.run(["sh", "-c", script], env=plain, capture_output=True, text=True, check=False)
    if "planted" not in ran.stderr:
        done["plant"] = " ".join(ran.stderr.split()) or f"exit {ran.returncode}"
    for k in ("oracle", "scan"):
        file = out / f"{k}.out"
        done[k] = file.read_text(errors="replace") if file.exists() else ""
        problem = out / f"{k}.err"
        done["err"] += problem.read_text(errors="replace")[-2000:] if problem.exists() else ""
    (out / "done.json").write_text(json.dumps(done))
    return 0


def quoted(words: list[str]) -> str:
    """Return words as a command of sh."""
    return " ".join("'" + w.replace("'", "'\\''") + "'" for w in words)


def environment(scene: Scene, work: Path) -> str:
    """Make an environment whose interpreter runs the scene's line at every start; return its python."""
    prefix = work / scene.python
    site = prefix / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    site.mkdir(parents=True)
    (prefix / "bin").mkdir()
    base = Path(getattr(sys, "_base_executable", sys.executable)).resolve()  # an environment's own may be a copy
    (prefix / "bin" / "python").symlink_to(base)
    home = base.parent
    (prefix / "pyvenv.cfg").write_text(f"home = {home}\nversion = {sys.version.split()[0]}\n")
    name = "sitecustomize.py" if scene.python == "site" else "devices.pth"
    if scene.python == "site" and has_sitecustomize(base):  # a distribution's own is found first: usercustomize is left
        name = "usercustomize.py"
        with (prefix / "pyvenv.cfg").open("a") as settings:
            settings.write("include-system-site-packages = true\n")
    (site / name).write_text(scene.start + "\n")
    return str(prefix / "bin" / "python")


def has_sitecustomize(python: Path) -> bool:
    """Whether an interpreter's standard library brings a sitecustomize, as Debian's does."""
    code = "import os, sysconfig, sys; sys.exit(not os.path.exists(sysconfig.get_path('stdlib') + '/sitecustomize.py'))"
    return subprocess.run([str(python), "-I", "-c", code], check=False).returncode == 0


if __name__ == "__main__":
    raise SystemExit(inside(sys.argv[2]) if sys.argv[1:2] == ["--inside"] else main(sys.argv[1:]))
