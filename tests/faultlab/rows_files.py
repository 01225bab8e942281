"""Rows about cuDNN's files: missing, damaged, foreign, of another release, or closed to this user."""

from __future__ import annotations

import os

from tests.faultlab import bases, wheels
from tests.faultlab import plants as p
from tests.faultlab.faults import Fault

MISSING, DAMAGED, FOREIGN = "cudnn_sublibrary_missing", "corrupt_or_truncated_file", "dll_wrong_architecture"
MIXED, CLOSED = "mixed_cudnn_sublibraries", "library_unreadable"
AARCH64 = 183

FILES = (
    Fault(
        "deleted-ops", MISSING, "RECORD lists the file, and it is gone.", bases.torch_9, p.deleted("libcudnn_ops.so.9")
    ),
    Fault(
        "deleted-engines",
        MISSING,
        "It is opened by name only when a plan is made; until then all looks well.",
        bases.torch_9,
        p.deleted("libcudnn_engines_precompiled.so.9"),
    ),
    Fault(
        "deleted-cnn-infer-8",
        MISSING,
        "The shim of cuDNN 8 opens it at the first convolution.",
        bases.tensorflow_8,
        p.deleted("libcudnn_cnn_infer.so.8"),
    ),
    Fault(
        "deleted-leak-into-system",
        MISSING,
        "The loader takes the system's file of another release in silence; the gap is what let it.",
        bases.torch_9_beside_system(searched=True),
        p.deleted("libcudnn_cnn.so.9"),
    ),
    Fault(
        "deleted-shim-leak",
        MISSING,
        "The wheel's main library is gone; the loader takes the system's 9.10 in silence.",
        bases.torch_9_beside_system(searched=True),
        p.deleted("libcudnn.so.9"),
    ),
    Fault(
        "link-to-itself",
        MISSING,
        "The name is a link to itself.",
        bases.torch_9,
        p.linked_to_itself("libcudnn_adv.so.9"),
    ),
    Fault(
        "dangling-sublibrary",
        MISSING,
        "The name is there as a link, the file is not.",
        bases.torch_9,
        p.dangling("libcudnn_ops.so.9", "libcudnn_ops.so.9.1.0"),
    ),
    Fault(
        "dangling-system-shim",
        MISSING,
        "libcudnn.so.9 is a link to a file that is gone.",
        bases.system(bases.NEW),
        p.removed(f"{bases.NEW}/libcudnn.so.9.10.2"),
    ),
    Fault("truncated-cnn", DAMAGED, "1 MB of 4.5.", bases.torch_9, p.cut("libcudnn_cnn.so.9", 1 << 20)),
    Fault(
        "truncated-ops-infer-8",
        DAMAGED,
        "The last tenth of the file is missing.",
        bases.tensorflow_8,
        p.cut("libcudnn_ops_infer.so.8", 80 << 20),
    ),
    Fault(
        "truncated-to-header",
        DAMAGED,
        "64 bytes: an ELF header whose tables are gone.",
        bases.torch_9,
        p.cut("libcudnn_graph.so.9", 64),
    ),
    Fault("emptied-graph", DAMAGED, "0 bytes under the right name.", bases.torch_9, p.cut("libcudnn_graph.so.9", 0)),
    Fault("emptied-shim-8", DAMAGED, "0 bytes under the right name.", bases.tensorflow_8, p.cut("libcudnn.so.8", 0)),
    Fault(
        "header-overwritten",
        DAMAGED,
        "The first page is zero: no ELF header, so no library.",
        bases.torch_9,
        p.overwritten("libcudnn_adv.so.9", 0, bytes(p.PAGE)),
    ),
    Fault(
        "fifo-for-library",
        DAMAGED,
        "A FIFO bears the library's name; nobody may wait for it.",
        bases.torch_9,
        p.fifo("libcudnn_ops.so.9"),
    ),
    Fault(
        "replaced-by-web-page",
        DAMAGED,
        "A proxy's error page was saved under the library's name.",
        bases.torch_9,
        p.both(p.cut("libcudnn_heuristic.so.9", 0), p.overwritten("libcudnn_heuristic.so.9", 0, b"<html>403</html>\n")),
    ),
    Fault(
        "bit-flipped",
        DAMAGED,
        "One bit in the machine code: only the hash in RECORD tells.",
        bases.torch_9,
        p.bit_flipped("libcudnn_engines_precompiled.so.9"),
        thorough=True,
    ),
    Fault(
        "bit-flipped-8",
        DAMAGED,
        "One bit in the machine code: only the hash in RECORD tells.",
        bases.tensorflow_8,
        p.bit_flipped("libcudnn_cnn_infer.so.8"),
        thorough=True,
    ),
    Fault(
        "zeroed-pages",
        DAMAGED,
        "200 pages of zeros between good headers.",
        bases.torch_9,
        p.pages_zeroed("libcudnn_cnn.so.9", 200),
        thorough=True,
    ),
    Fault(
        "foreign-aarch64",
        FOREIGN,
        "The loader passes it over as if it were not there.",
        bases.torch_9,
        p.of_machine("libcudnn_ops.so.9", AARCH64),
    ),
    Fault(
        "foreign-shim-aarch64-8",
        FOREIGN,
        "The main library itself is for another processor.",
        bases.tensorflow_8,
        p.of_machine("libcudnn.so.8", AARCH64),
    ),
    Fault(
        "foreign-shim-beside-system",
        FOREIGN,
        "The loader passes the wheel's main library over and takes the system's 9.10 in silence.",
        bases.torch_9_beside_system(searched=True),
        p.of_machine("libcudnn.so.9", AARCH64),
    ),
    Fault(
        "foreign-32-bit",
        FOREIGN,
        "A 32-bit library in a 64-bit set.",
        bases.torch_9,
        p.of_32_bits("libcudnn_cnn.so.9"),
    ),
    Fault(
        "other-sublibrary",
        MIXED,
        "cuDNN 9.10's file in a set of 9.1.",
        bases.torch_9,
        p.replaced("libcudnn_cnn.so.9", wheels.CUDNN_9_10),
    ),
    Fault(
        "other-graph",
        MIXED,
        "The version that cudnnGetVersion tells is this file's, not the shim's.",
        bases.torch_9,
        p.replaced("libcudnn_graph.so.9", wheels.CUDNN_9_10),
    ),
    Fault(
        "other-shim",
        MIXED,
        "cuDNN 9.10's main library before sub-libraries of 9.1.",
        bases.torch_9,
        p.replaced("libcudnn.so.9", wheels.CUDNN_9_10),
    ),
    Fault(
        "unreadable-file",
        CLOSED,
        "The file is whole, and this user may not open it.",
        bases.torch_9,
        p.closed("libcudnn_ops.so.9"),
    ),
    Fault("unreadable-folder", CLOSED, "The folder may not be entered.", bases.torch_9, p.closed(".")),
    Fault(
        "cudnn-for-cuda-12-beside-cublas-11",
        "cudnn_cuda_major_mismatch",
        "A torch for CUDA 11 with cuBLAS 11, and the cuDNN that was built for CUDA 12.",
        bases.cuda_11_torch(wheels.CUBLAS_11, wheels.CUDNN_9_1),
    ),
    Fault(
        "two-wheels-in-one-folder",
        "cudnn_cuda_major_mismatch",
        "nvidia-cudnn-cu13 was installed over nvidia-cudnn-cu12: one folder, now with files for CUDA 13 beside cuBLAS 12.",
        bases.torch_9,
        p.packages(wheels.CUDNN_9_20_CUDA_13),
    ),
    Fault(
        "truncated-cublas",
        DAMAGED,
        "cuBLAS is cut short; cuDNN itself is whole.",
        bases.torch_9,
        p.in_site("nvidia/cublas/lib/libcublasLt.so.12", lambda path: os.truncate(path, 50 << 20)),
    ),
    Fault(
        "unreadable-nvrtc",
        CLOSED,
        "This user may not open the run-time compiler.",
        bases.torch_9,
        p.in_site("nvidia/cuda_nvrtc/lib/libnvrtc.so.12", lambda path: path.chmod(0)),
    ),
    Fault(
        "cu13-wheel-beside-system-copy",
        MIXED,
        "nvidia-cudnn-cu13 9.20.0.48 opens libcudnn_engines_tensor_ir, does not bring it, and finds that of 9.21.",
        bases.torch_13_beside_system(wheels.CUDNN_9_21_CUDA_13),
        notes=("cudnn.faulty-release",),
    ),
)
