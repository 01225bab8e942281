"""Rows whose cure lies at hand: a sound set of the same release elsewhere, a value that is kept in the user's own file."""

from __future__ import annotations

from tests.faultlab import bases, wheels
from tests.faultlab import plants as p
from tests.faultlab.bases import CUDA, in_home
from tests.faultlab.faults import Fault
from tests.faultlab.rows_files import AARCH64, DAMAGED, FOREIGN, MISSING, MIXED
from tests.faultlab.setups import HOME

SPARE = p.copied_folder("/usr/local/cudnn-9.1/lib64", (wheels.CUDNN_9_1, "*"))
SESSIONS = f"{HOME}/.config/environment.d"
OLD = in_home("old")


def kept(text: str) -> p.Plant:
    """Let a file of the user's set variables for every session."""
    return p.written(f"{SESSIONS}/10-gpu.conf", text.encode())


CURABLE = (
    Fault(
        "deleted-with-spare",
        MISSING,
        "The same release lies in /usr/local.",
        bases.torch_9,
        p.both(p.deleted("libcudnn_ops.so.9"), SPARE),
        offer="files",
    ),
    Fault(
        "dangling-with-spare",
        MISSING,
        "A link that leads nowhere; the same release lies in /usr/local.",
        bases.torch_9,
        p.both(p.dangling("libcudnn_cnn.so.9", "gone"), SPARE),
        offer="files",
    ),
    Fault(
        "truncated-with-spare",
        DAMAGED,
        "100,000 bytes of 4.5 million; the same release lies in /usr/local.",
        bases.torch_9,
        p.both(p.cut("libcudnn_cnn.so.9", 100_000), SPARE),
        offer="files",
    ),
    Fault(
        "bit-flipped-with-spare",
        DAMAGED,
        "One bit; the same release lies in /usr/local.",
        bases.torch_9,
        p.both(p.bit_flipped("libcudnn_graph.so.9"), SPARE),
        thorough=True,
        offer="files",
    ),
    Fault(
        "other-sublibrary-with-spare",
        MIXED,
        "cuDNN 9.10's file in a set of 9.1; the right one lies in /usr/local.",
        bases.torch_9,
        p.both(p.replaced("libcudnn_cnn.so.9", wheels.CUDNN_9_10), SPARE),
        offer="files",
    ),
    Fault(
        "foreign-with-spare",
        FOREIGN,
        "A file for another processor; the right one lies in /usr/local.",
        bases.torch_9,
        p.both(p.of_machine("libcudnn_cnn.so.9", AARCH64), SPARE),
        offer="files",
    ),
    Fault(
        "hidden-for-every-session",
        "gpu_hidden_by_env",
        "-1 is kept in ~/.config/environment.d.",
        bases.torch_9,
        kept("LANG=C\nCUDA_VISIBLE_DEVICES=-1\nX=1"),
        environment={"CUDA_VISIBLE_DEVICES": "-1"},
        offer="variable",
    ),
    Fault(
        "cuda-path-wrong-for-every-session",
        "cuda_path_env_wrong",
        "A toolkit that was removed is kept in ~/.config/environment.d.",
        bases.torch_9_that_builds,
        kept("CUDA_PATH=/usr/local/cuda-11.8\n"),
        environment={"CUDA_PATH": "/usr/local/cuda-11.8"},
        offer="variable",
    ),
    Fault(
        "override-for-every-session",
        "ld_library_path_override",
        "The variable with another cuDNN first is kept in ~/.config/environment.d.",
        bases.torch_9,
        p.both(
            p.copied_folder(OLD, (wheels.CUDNN_9_10, "libcudnn_graph.so.9")), kept(f"LD_LIBRARY_PATH=/srv/x:{OLD}:/y\n")
        ),
        environment={"LD_LIBRARY_PATH": f"/srv/x:{OLD}:/y"},
        offer="variable",
    ),
    Fault(
        "override-between-semicolons",
        "ld_library_path_override",
        "ld.so(8) takes a semicolon, too; the folder is written with two slashes, and kept in ~/.config/environment.d.",
        bases.torch_9,
        p.both(
            p.copied_folder(OLD, (wheels.CUDNN_9_10, "libcudnn_graph.so.9")),
            kept(f"LD_LIBRARY_PATH=/srv/x;/{OLD}/:/y\n"),
        ),
        environment={"LD_LIBRARY_PATH": f"/srv/x;/{OLD}/:/y"},
        offer="variable",
    ),
    Fault(
        "override-between-semicolons-in-a-terminal",
        "ld_library_path_override",
        "The same, set in a terminal alone.",
        bases.torch_9,
        p.copied_folder(OLD, (wheels.CUDNN_9_10, "libcudnn_graph.so.9")),
        environment={"LD_LIBRARY_PATH": f"/srv/x;{OLD.replace('/old', '//old')}/;/y"},
        offer="variable",
    ),
    Fault(
        "stub-for-every-session",
        "libcuda_wrong_library",
        "The toolkit's stub folder is kept in ~/.config/environment.d.",
        bases.torch_9_beside_toolkit,
        p.both(p.stub_libcuda(f"{CUDA}/stubs"), kept(f"LD_LIBRARY_PATH={CUDA}/stubs\n")),
        environment={"LD_LIBRARY_PATH": f"{CUDA}/stubs"},
        offer="variable",
    ),
    Fault(
        "nvrtc-builtins-renamed",
        "nvrtc_missing_or_mismatch",
        "A packager's tool gave the compiler's built-ins a name that the compiler does not know.",
        bases.torch_9,
        p.site_file_renamed("nvidia/cuda_nvrtc/lib/libnvrtc-builtins.so.12.4", "libnvrtc-builtins-2dc4bf68.so.12.4"),
        offer="files",
    ),
    Fault(
        "kernel-cache-of-another",
        "nv_compute_cache_bad",
        "The cache is another user's; the folder that holds it is one's own.",
        bases.torch_9,
        p.compute_cache_closed(f"{HOME}/.nv/ComputeCache"),
        offer="files",
    ),
)
