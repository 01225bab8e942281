"""Scenes on a machine with two GPUs: what hides one of them, and what ends NCCL between them.

``python -m tests.faultlab.driver_on_gpu OUT --two-gpus`` plants them, with an interpreter that can import PyTorch.
Committed before their first run, by somebody who knows the code.
"""

from __future__ import annotations

from tests.faultlab.driver_on_gpu import Place, Scene, closed_node, never, node, without_nodes

HIDDEN, VALUE = ("gpu_hidden_by_env",), ("variable_value_wrong", "nccl_failed")

NCCL_ORACLE = r"""
import json, os, sys, tempfile
import torch, torch.distributed as dist, torch.multiprocessing as mp
from datetime import timedelta

def sum_of_two(rank, file):
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method="file://" + file, rank=rank, world_size=2, timeout=timedelta(seconds=20))
    t = torch.full((1 << 20,), rank + 1.0, device="cuda")
    dist.all_reduce(t)
    torch.cuda.synchronize()
    if not bool((t == 3).all()): os._exit(9)
    os._exit(0)

if __name__ == "__main__":
    said = {"cuInit": 0, "count": torch.cuda.device_count(), "nccl": ".".join(map(str, torch.cuda.nccl.version()))}
    with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(__file__))) as folder:
        os.chmod(folder, 0o777)
        both = mp.start_processes(sum_of_two, (folder + "/store",), nprocs=2, join=False, start_method="spawn")
        try:
            both.join(timeout=30) or both.join(timeout=5)
            said["ptx"] = "sum" if all(p.exitcode == 0 for p in both.processes) else "ended"
        except Exception as e:
            said["ptx"] = "ended"
            said["problem"] = str(e)[-400:]
        for p in both.processes:
            p.kill()
    print(json.dumps(said)); sys.stdout.flush(); os._exit(0)
"""
"""Two processes sum a tensor through NCCL; what came of it stands where the driver's oracle tells of PTX."""


def fewer(said: dict[str, object]) -> bool:
    """Whether a program gets fewer than two GPUs."""
    return said.get("count") != 2


def ended(said: dict[str, object]) -> bool:
    """Whether the sum of two GPUs was not had."""
    return said.get("ptx") != "sum"


def visible(name: str, value: str, causes: tuple[str, ...] = HIDDEN, *, wanted: bool = True) -> Scene:
    """CUDA_VISIBLE_DEVICES with a value."""
    return Scene(name, causes, env={"CUDA_VISIBLE_DEVICES": value}, wanted=fewer if wanted else never)


def collective(name: str, causes: tuple[str, ...], plant: str = "", **env: str) -> Scene:
    """Two processes of PyTorch that speak through NCCL, under these variables."""
    return Scene(name, causes, lambda _place: plant, env=env, wanted=ended, oracle=NCCL_ORACLE)


def swapped(place: Place) -> str:
    """Each GPU's node is that of the other."""
    return (
        f"mkdir -p {place.work}/node; mount -t tmpfs -o dev tmpfs {place.work}/node; m=$((0x$(stat -c %t /dev/nvidia0))); "
        f"mknod -m 666 {place.work}/node/a c $m 1; mknod -m 666 {place.work}/node/b c $m 0; "
        f"mount --bind {place.work}/node/a /dev/nvidia0; mount --bind {place.work}/node/b /dev/nvidia1"
    )


SHM = "mount -t tmpfs -o size={size},mode=1777 tmpfs /dev/shm"

TWO_GPUS = (
    Scene("healthy", (), wanted=never),
    Scene("first-gpu-for-root-alone", ("device_node_permission",), closed_node("nvidia0"), user="nobody", wanted=fewer),
    Scene(
        "second-gpu-for-root-alone", ("device_node_permission",), closed_node("nvidia1"), user="nobody", wanted=fewer
    ),
    Scene(
        "second-gpu-without-node",
        ("device_node_wrong", "container_lost_devices"),
        without_nodes("nvidia0", "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"),
        wanted=fewer,
    ),
    Scene("second-gpu-is-a-file", ("device_node_wrong",), node("nvidia1", "{work}/plain"), wanted=fewer),
    Scene("nodes-are-swapped", ("device_node_wrong",), swapped, wanted=fewer),
    visible("second-of-the-list-is-not-there", "0,5"),
    visible("list-with-a-blank", "0 1"),
    visible("list-with-semicolons", "0;1"),
    visible("name-of-pytorch", "cuda:0"),
    visible("all-as-a-word", "all"),
    visible("none-before-the-first", "-1,0"),
    visible("one-twice", "1,1"),
    visible("only-the-second", "1", (), wanted=False),
    visible("in-another-order", "1,0", (), wanted=False),
    visible("one-more-than-there-is", "0,1,2", (), wanted=False),
    Scene("order-of-the-bus", (), env={"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, wanted=never),
    collective("nccl-as-it-is", ()),
    collective("nccl-interface-that-is-not-there", VALUE, NCCL_SOCKET_IFNAME="eth9"),
    collective("nccl-network-that-is-not-there", VALUE, NCCL_NET="IB"),
    collective("nccl-algorithm-misspelt", VALUE, NCCL_ALGO="Rings"),
    collective("nccl-protocol-misspelt", VALUE, NCCL_PROTO="Simpel"),
    collective("nccl-topology-file-is-gone", VALUE, NCCL_TOPO_FILE="/opt/topology-of-before.xml"),
    collective("nccl-address-without-port", VALUE, NCCL_COMM_ID="localhost"),
    collective("nccl-more-channels-than-allowed", VALUE, NCCL_MIN_NCHANNELS="64", NCCL_MAX_NCHANNELS="2"),
    collective("nccl-plugin-is-gone", VALUE, NCCL_NET_PLUGIN="gone"),
    collective("nccl-through-little-memory", ("shared_memory_too_small",), SHM.format(size="1m"), NCCL_P2P_DISABLE="1"),
    collective(
        "nccl-through-little-shared-memory",
        ("shared_memory_too_small",),
        SHM.format(size="1m"),
        NCCL_P2P_DISABLE="1",
        NCCL_CUMEM_HOST_ENABLE="0",
    ),
    collective("little-memory-that-nccl-does-not-need", ("shared_memory_too_small",), SHM.format(size="64m")),
    collective("nccl-without-peers", (), NCCL_P2P_DISABLE="1"),
)
