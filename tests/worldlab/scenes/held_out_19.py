"""The nineteenth held-out set, classes A to E: faults as common as they are in the field.

By somebody who has read no rule and no probe, and committed before the first scan. The sets before it avoided each other's
rows; this one does not: it takes what people report most, with details from threads. Above each row: the thread that it is
made from, or what people do. The last step of each fault's plant is the fault.
"""

from __future__ import annotations

from tests.worldlab.scene import Scene, installs, lacks, runs, then
from tests.worldlab.scenes.closure import CUPY
from tests.worldlab.scenes.held_out import JAX_PLUGIN
from tests.worldlab.scenes.held_out_8 import JAX, ONES, layered, sets, without_system, writes
from tests.worldlab.scenes.held_out_10 import another_environment, by_cron
from tests.worldlab.scenes.held_out_15 import BLAS, by_code, by_run, by_script
from tests.worldlab.scenes.held_out_16 import PROVIDER
from tests.worldlab.scenes.held_out_17_machines import UBUNTUS, by_notebook, notebook, script, toolkit_of
from tests.worldlab.scenes.held_out_19_machines import (
    ROS,
    YOLO,
    built_without,
    by_icon,
    crontab,
    empties,
    icon,
    launch,
    matlab,
    moved_from,
    remains,
    toolkit_of_12_1,
)
from tests.worldlab.scenes.starters import by_unit, program, unit_text

# --- what the real programs do ------------------------------------------------------------------------------------------

SEES = "import torch, cv2\nframe = torch.zeros(8, 8).numpy()\ncv2.resize(frame, (4, 4))"
TRANSFORMS = "import torch, torchvision\ntorchvision.ops.nms(torch.zeros(1, 4), torch.zeros(1), 0.5)"
IMAGES = "import torch\nfrom PIL import Image\nfrom torchvision import transforms\ntransforms.ToTensor()(Image.new('RGB', (4, 4)))"
TOKENS = "from transformers import AutoTokenizer, pipeline"
PAINTS = "import torch\nfrom diffusers import DDPMScheduler\nDDPMScheduler()"
NETWORK = "import tensorflow as tf\ntf.keras.Sequential([tf.keras.layers.Dense(2)])"
LAUNCHED = "from accelerate import Accelerator\nAccelerator(cpu=True).device"
DETECTS = (
    "import sys, torch\nsys.path.{how}'yolov5')\nfrom models.common import xyxy2xywh\nxyxy2xywh(torch.zeros(1, 4))"
)
ALLOCATES = (
    "import os, torch\n"
    "torch._C._cuda_cudaCachingAllocator_set_allocator_settings(os.environ.get('PYTORCH_CUDA_ALLOC_CONF', ''))"
)
"""What the first tensor on the GPU makes torch read."""
NODES = "import torch\nprint(len(torch.cuda.nccl.unique_id()))"
"""What the first rank does before any other: NCCL looks for its network."""
FETCHES = (
    "import tempfile, requests, transformers\nfrom huggingface_hub.file_download import http_get\n"
    "try:\n    with tempfile.TemporaryFile() as f:\n        http_get('http://127.0.0.1:9/model.safetensors', f, expected_size=4)\n"
    "except Exception as e:\n    if 'hf_transfer' in str(e) and 'not available' in str(e): raise\n"
    "    print('nobody answers there:', type(e).__name__)"
)
"""A download of a model; without a network it ends with an error of the network, which is right here."""
LIBRARIES = runs(
    "import torch, ctypes, os\n"
    "ctypes.CDLL(os.path.join(os.path.dirname(torch.__file__), 'lib/libtorch_cuda_linalg.so'), os.RTLD_NOW)"
)

# --- what is expected ---------------------------------------------------------------------------------------------------

BROKEN = ("requirement_broken",)
SYSTEM = ("system_library_missing",)
SHADOWED = ("module_shadowed",)
VALUE = ("variable_value_wrong",)
LOST = ("corrupt_or_truncated_file", "installation_interrupted")
MISMATCH = ("extension_abi_mismatch", *BROKEN)
ELSEWHERE = ("wrong_environment_active", "process_env_not_inherited")
NOT_SEARCHED = ("cuda_not_on_search_path", "cudnn_not_on_search_path", "process_env_not_inherited", "ld_library_path_override")  # fmt: skip

UNIT = ".config/systemd/user/upscale.service"
TOOLKIT = "LD_LIBRARY_PATH={home}/cuda-12.8/lib64"
SETS = sets(LD_LIBRARY_PATH="{home}/cuda-12.8/lib64")
TIPS = "--xla_gpu_triton_gemm_any=True --xla_gpu_enable_latency_hiding_scheduler=true --xla_gpu_enable_highest_priority_async_stream=true"
DIST = "usr/lib/python3/dist-packages"

SCENES: tuple[Scene, ...] = (
    # === A: a library is absent or unfit
    # https://github.com/alesaccoia/VoiceStreamAI/issues/17: an image with CUDA's run time and cuBLAS, and no cuDNN
    Scene("speech-in-an-image-without-cudnn", "A", "ctranslate2", by_run, then(program(BLAS), lacks("nvidia-cublas-cu12"), toolkit_of("ctranslate2", "cuda-12.8", "cublas"), SETS, lacks("nvidia-cudnn-cu12")), ("cudnn_not_installed", "cuda_runtime_missing"), "", "cudnn", "libcudnn.so.9"),
    # https://github.com/cnstark/pytorch-docker/issues/21: the packages for speech are installed, and that is not all
    Scene("faces-with-cublas-and-cudnn-alone", "A", "onnxruntime-1.23", by_run, then(program(PROVIDER), toolkit_of("onnxruntime-1.23", "cuda-12.8", "cublas", "cudnn", "cuda_runtime", "cuda_nvrtc", "curand", "nvjitlink"), SETS, lacks("nvidia-cufft-cu12")), ("cuda_runtime_missing", "cuda_not_on_search_path"), "", "libcufft", "libcufft.so.11"),
    # https://github.com/bghira/SimpleTuner/issues/2079
    Scene("torch-2-6-without-cusparselt", "A", "torch-2.6", by_run, then(program(ONES), lacks("nvidia-cusparselt-cu12")), ("cuda_runtime_missing", *BROKEN), "torch", "cusparse", "libcusparseLt.so.0"),
    # https://github.com/ultralytics/ultralytics/issues/1270
    Scene("contributed-opencv-in-a-slim-image", "A", "torch-2.8", by_run, then(program(SEES), installs("--no-deps", "opencv-contrib-python==4.11.0.86"), without_system("libGL.so*", "libGLX.so*", "libOpenGL.so*")), SYSTEM, "", "libGL", "libGL.so.1"),
    # https://github.com/pytorch/vision/issues/2921: pyenv install, before liblzma-dev was there
    Scene("python-built-without-lzma", "A", "torch-2.6", by_run, then(program(TRANSFORMS), built_without("_lzma")), ("python_environment_broken", *SYSTEM, "build_tools_missing"), "", "lzma", "No module named '_lzma'"),
    # === B: all files are there, and do not fit
    # https://github.com/GaParmar/img2img-turbo/issues/97
    Scene("diffusers-of-0-25-and-a-newer-hub", "B", "hub", by_run, then(program(PAINTS), installs("importlib-metadata", "pillow"), installs("--no-deps", "diffusers==0.25.1")), BROKEN, "", "diffusers", "cached_download"),
    # https://github.com/Comfy-Org/ComfyUI/issues/6515: another package wanted protobuf below 5
    Scene("protobuf-older-than-tensorflow", "B", "tensorflow", by_run, then(program(NETWORK), installs("--no-deps", "protobuf==4.25.8")), BROKEN, "", "protobuf", "runtime_version"),
    # an old pin of opencv, and NumPy 2 since
    Scene("opencv-of-before-numpy-2", "B", "torch-2.8", by_run, then(program(SEES), installs("--no-deps", "opencv-python==4.9.0.80")), ("numpy_abi_mismatch", *BROKEN), "", "cv", "numpy.core.multiarray failed to import"),
    # https://github.com/vladmandic/sdnext/issues/3531: another package brought another torch, and torchvision is as it was
    Scene("torchvision-of-the-release-before", "B", "torch-2.6", by_run, then(program(TRANSFORMS), installs("--no-deps", "torchvision==0.20.1")), MISMATCH, "", "torchvision", "torchvision::nms does not exist"),
    # https://github.com/jax-ml/jax/issues/24901: another package asked for an older JAX, and the plug-in stayed
    Scene("jax-older-than-its-plugin", "B", "jax", JAX_PLUGIN, installs("--no-deps", "jax==0.6.2", "jaxlib==0.6.2"), (*MISMATCH, "framework_cpu_only_build"), "", "jax", "not compatible"),
    # === C: Python finds another file
    # https://github.com/huggingface/transformers/issues/28702
    Scene("numpy-without-its-metadata", "C", "hub", by_run, then(program(TOKENS), empties("numpy-*.dist-info/METADATA")), LOST, "", "numpy", "found=None"),
    # https://github.com/dog-qiuqiu/Yolo-FastestV2/issues/17: pip install utils
    Scene("utils-of-the-index-before-the-clones", "C", "torch-2.6", by_run, then(program(DETECTS.replace("{how}", "append(")), writes(YOLO), installs("--no-deps", "utils==1.0.2")), SHADOWED, "", "utils", "No module named 'utils.general'"),
    # https://github.com/bes-dev/stable_diffusion.openvino/issues/87: the system's packages in PYTHONPATH
    Scene("pillow-of-the-system-for-another-python", "C", "torch-2.6", by_run, then(program(IMAGES), layered(DIST, "--no-deps", "--python-version", "3.10", "pillow==9.4.0"), sets(PYTHONPATH="{home}/" + DIST)), (*SHADOWED, "package_for_another_python"), "", "PIL", "cannot import name '_imaging'"),
    # the exercise of another day in the same folder
    Scene("exercise-named-random-py", "C", "tensorflow", by_run, then(program(NETWORK), writes({"work/random.py": "import time\n\n\ndef roll():\n    return int(time.time() * 1000) % 6 + 1\n\n\nif __name__ == '__main__':\n    print(roll())\n"})), SHADOWED, "", "random.py", "random"),
    # mv project project-final
    Scene("environment-in-a-folder-that-was-renamed", "C", "hub", by_script, then(program(LAUNCHED), writes(script("{env}/bin/accelerate launch --cpu main.py"), mode=0o755), moved_from("project/.venv")), ("python_environment_broken",), "", "project/.venv", "bin/accelerate"),
    # === D: started in another way
    # "works in the terminal and not in cron": the terminal has the environment activated
    Scene("job-of-cron-without-the-environment", "D", "torch-2.8", by_cron, then(program(ONES), writes(crontab("30 2 * * * cd {home}/work && python3 main.py >> {home}/work/train.log 2>&1; cat {home}/work/train.log"))), ELSEWHERE, "", "crontab", "No module named 'torch'"),
    # https://github.com/jupyter/notebook/issues/2120
    Scene("notebook-in-the-kernel-of-another-environment", "D", "tensorflow", by_notebook, then(program(NETWORK), another_environment(".venvs/course"), writes(notebook(NETWORK, python3="{home}/.venvs/course/bin/python"))), ELSEWHERE, "", "kernels/python3", "No module named 'tensorflow'"),
    # an export of .bashrc, copied into a unit: systemd knows no $HOME and no $LD_LIBRARY_PATH there
    Scene("service-with-a-line-of-bashrc", "D", "onnxruntime-1.23", by_unit, then(program(PROVIDER), toolkit_of("onnxruntime-1.23", "cuda-12.8"), SETS, writes({".bashrc": f"export {TOOLKIT}\n", UNIT: unit_text("WorkingDirectory=%h/work\nEnvironment=LD_LIBRARY_PATH=$HOME/cuda-12.8/lib64:$LD_LIBRARY_PATH\n")})), (*NOT_SEARCHED, *VALUE, "cuda_runtime_missing"), "", "upscale.service", "cannot open shared object file"),
    # https://github.com/jupyter/notebook/issues/2120 (second answer): what a desktop starts has nothing of .bashrc
    Scene("icon-beside-an-export-in-bashrc", "D", "ctranslate2", by_icon, then(program(BLAS), toolkit_of("ctranslate2", "cuda-12.8"), SETS, writes({".bashrc": f"{UBUNTUS}export {TOOLKIT}\n", **icon("{env}/bin/python {home}/work/main.py")})), NOT_SEARCHED, "", "dictate.desktop", "libcublas.so.12"),
    # a launch.json from a tutorial
    Scene("debugger-with-the-systems-python", "D", "jax", by_code, then(program(JAX), writes(launch(("Train", "main.py", "/usr/bin/python3")))), ELSEWHERE, "", "launch.json", "No module named 'jax'"),
    # === E: variables
    # https://github.com/AaronJackson/vrn/issues/26: MATLAB's own C++ run time comes first
    Scene("onnxruntime-behind-the-libraries-of-matlab", "E", "onnxruntime-1.23", by_run, then(program("import onnxruntime\nonnxruntime.get_available_providers()"), matlab("R2017b"), sets(LD_LIBRARY_PATH="{home}/MATLAB/R2017b/sys/os/glnxa64:{home}/MATLAB/R2017b/bin/glnxa64")), ("cxx_runtime_too_old", "ld_library_path_override"), "", "libstdc++", "GLIBCXX_3.4.2"),
    # the advice of every message about memory, with a sign of equality in place of the colon
    Scene("allocator-with-an-equals-sign", "E", "torch-2.8", by_run, then(program(ALLOCATES), sets(PYTORCH_CUDA_ALLOC_CONF="max_split_size_mb=512")), VALUE, "", "PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb=512"),
    # https://github.com/jax-ml/jax/issues/25430: JAX's tips for GPUs, as they were once
    Scene("tips-for-jax-of-2023", "E", "jax", by_run, then(program(JAX), sets(XLA_FLAGS=f"{TIPS} --xla_gpu_enable_async_collectives=true")), VALUE, "", "xla_gpu_enable_async_collectives", "Unknown flag"),
    # https://github.com/vllm-project/semantic-router/pull/286
    Scene("transfer-that-is-not-installed", "E", "hub", by_run, then(program(FETCHES), sets(HF_HUB_ENABLE_HF_TRANSFER="1")), (*VALUE, *BROKEN), "", "HF_HUB_ENABLE_HF_TRANSFER", "hf_transfer"),
    # https://github.com/NVIDIA/nccl/issues/1837: a script of the cluster, on another machine
    Scene("interface-of-the-cluster", "E", "torch-2.8", by_run, then(program(NODES), sets(NCCL_SOCKET_IFNAME="ib0", NCCL_IB_DISABLE="0", NCCL_DEBUG="WARN")), (*VALUE, "nccl_failed"), "", "NCCL_SOCKET_IFNAME", "NCCL"),
    # === odd, and healthy
    # https://github.com/infiniflow/ragflow/issues/4466: since torch 2.6 its own nvJitLink is loaded before the toolkit's is looked for
    Scene("torch-behind-the-toolkit-12-1", "healthy", "torch-2.6", LIBRARIES, then(toolkit_of_12_1, sets(LD_LIBRARY_PATH="{home}/cuda-12.1/lib64:"))),
    Scene("allocator-as-the-message-says", "healthy", "torch-2.8", by_run, then(program(ALLOCATES), sets(PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True,max_split_size_mb:512"))),
    Scene("tips-for-jax-of-today", "healthy", "jax", by_run, then(program(JAX), sets(XLA_FLAGS=TIPS, XLA_PYTHON_CLIENT_PREALLOCATE="false", XLA_PYTHON_CLIENT_MEM_FRACTION=".75"))),
    Scene("transfer-that-is-installed", "healthy", "hub", by_run, then(program(FETCHES), installs("hf_transfer==0.1.9"), sets(HF_HUB_ENABLE_HF_TRANSFER="1"))),
    Scene("utils-of-the-index-behind-the-clones", "healthy", "torch-2.6", by_run, then(program(DETECTS.replace("{how}", "insert(0, ")), writes(YOLO), installs("--no-deps", "utils==1.0.2"))),
    # "WARNING: Ignoring invalid distribution ~umpy"
    Scene("numpy-with-remains-of-the-one-before", "healthy", "hub", by_run, then(program(TOKENS), remains("numpy", "1.26.4"))),
    # a folder and files of everyday names, none of which Python takes
    Scene("exercise-named-random-numbers-py", "healthy", "tensorflow", by_run, then(program(NETWORK), writes({"work/random_numbers.py": "import random\n", "work/random/seeds.csv": "1\n2\n", "work/test.py": "import tensorflow\n", "work/tensorflow.ipynb": "{}"}))),
    # cron by the environment's own Python, with the variable in the table
    Scene("job-of-cron-with-all-it-needs", "healthy", "ctranslate2", by_cron, then(program(BLAS), toolkit_of("ctranslate2", "cuda-12.8"), SETS, writes(crontab("MAILTO=\"\"", TOOLKIT, "30 2 * * * cd {home}/work && {env}/bin/python main.py 2>&1")))),
    Scene("service-with-whole-paths", "healthy", "onnxruntime-1.23", by_unit, then(program(PROVIDER), toolkit_of("onnxruntime-1.23", "cuda-12.8"), SETS, writes({".bashrc": f"export {TOOLKIT}\n", UNIT: unit_text(f"WorkingDirectory=%h/work\nEnvironment={TOOLKIT}\nEnvironment=PYTHONUNBUFFERED=1\n")}))),
    # a second configuration, for a script that needs nothing
    Scene("debugger-with-two-configurations", "healthy", "jax", by_code, then(program(JAX), writes({**launch(("Train", "main.py", "{env}/bin/python"), ("Rename", "rename.py", "/usr/bin/python3")), "work/rename.py": "import pathlib\n\nfor path in pathlib.Path('images').glob('*.JPG'):\n    path.rename(path.with_suffix('.jpg'))\n"}))),
    # an old release of both
    Scene("opencv-and-numpy-of-before-numpy-2", "healthy", "torch-2.6", by_run, then(program(SEES), installs("--no-deps", "numpy==1.26.4"), installs("--no-deps", "opencv-python==4.9.0.80"))),
    # one package asked for this and another for that: both write the same folder, and it works
    Scene("opencv-and-opencv-headless", "healthy", "torch-2.8", by_run, then(program(SEES), installs("--no-deps", "opencv-python==4.11.0.86"), installs("--no-deps", "opencv-python-headless==4.11.0.86"))),
    # source /opt/ros/humble/setup.bash in .bashrc
    Scene("shell-with-ros", "healthy", "torch-2.6", by_run, then(program(TRANSFORMS), ROS, sets(ROS_DISTRO="humble", PYTHONPATH="{home}/ros/humble/lib/python3.10/site-packages:{home}/ros/humble/local/lib/python3.10/dist-packages", LD_LIBRARY_PATH="{home}/ros/humble/opt/rviz_ogre_vendor/lib:{home}/ros/humble/lib"))),
    # the variables of many a notebook
    Scene("tensorflow-with-the-usual-variables", "healthy", "tensorflow", by_run, then(program(NETWORK), sets(TF_ENABLE_ONEDNN_OPTS="0", TF_CPP_MIN_LOG_LEVEL="3", TF_FORCE_GPU_ALLOW_GROWTH="true", TF_GPU_ALLOCATOR="cuda_malloc_async", KERAS_BACKEND="tensorflow"))),
    # a toolkit's folder in CUDA_PATH, as pip's packages are there, too
    Scene("cupy-with-a-toolkit-and-packages", "healthy", "cupy", CUPY, then(toolkit_of("cupy", "cuda-12.8"), sets(CUDA_PATH="{home}/cuda-12.8", LD_LIBRARY_PATH="{home}/cuda-12.8/lib64"))),
)  # fmt: skip
