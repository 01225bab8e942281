"""What the held-out sets left open: programs that change what they are started with, notebooks that nobody named, jobs whose shell has no
``source``, jobs of other CI systems, headers that an image left out, and ``~`` where nothing replaces it.
"""

from __future__ import annotations

import shutil

from tests.worldlab.scene import Ran, Scene, World, then
from tests.worldlab.scenes.held_out_8 import JAX, ONES, sets, writes
from tests.worldlab.scenes.held_out_15 import BLAS, by_run, said_by
from tests.worldlab.scenes.held_out_17_machines import batch, by_notebook, notebook, toolkit_of
from tests.worldlab.scenes.starters import program

VALUE = ("variable_value_wrong",)
NOT_SEARCHED = ("cuda_not_on_search_path", "cudnn_not_on_search_path", "process_env_not_inherited", "ld_library_path_override")  # fmt: skip
ELSEWHERE = ("wrong_environment_active", "process_env_not_inherited")
KERAS = "import keras\nkeras.Sequential"
SITE = "{env}/lib/python3.11/site-packages"
HEADERS = (
    "from cupy.cuda import compiler\n"
    "compiler.compile_using_nvrtc('#include <cupy/complex.cuh>\\n#include <cuda_fp16.h>\\n"
    "extern \"C\" __global__ void f(float* x) { x[0] = 1; }', "
    "(*compiler._get_extra_include_dir_opts(),) if hasattr(compiler, '_get_extra_include_dir_opts') else (), '80')"
)


def by_sh(world: World) -> Ran:
    """Run the job by the shell of its first line."""
    return said_by(world, ["env", "-i", "PATH=/usr/bin:/bin", f"HOME={world.home}", "sh", "job.sh"])


def by_azure(world: World) -> Ran:
    return said_by(world, ["env", "PYTHONPATH=" + str(world.home / "work/stubs"), str(world.python), "main.py"])


STUB = {"work/stubs/torch/__init__.py": "__version__ = '0'\n"}
AZURE = "trigger: none\npool: gpu\nvariables:\n  PYTHONPATH: {home}/work/stubs\nsteps:\n- script: {env}/bin/python main.py\n  displayName: Train\n"
AZURE_LIST = "trigger: none\npool: gpu\nvariables:\n- name: PYTHONPATH\n  value: {home}/work/stubs\njobs:\n- job: train\n  steps:\n  - bash: |\n      {env}/bin/python main.py\n"
CIRCLE = "version: 2.1\njobs:\n  train:\n    machine: true\n    resource_class: me/gpu\n    environment:\n      PYTHONPATH: {home}/work/stubs\n    steps:\n      - checkout\n      - run: {env}/bin/python main.py\n"
JENKINS = "pipeline {\n  agent { label 'gpu' }\n  environment {\n    PYTHONPATH = '{home}/work/stubs'\n  }\n  stages {\n    stage('Train') {\n      steps {\n        sh '{env}/bin/python main.py'\n      }\n    }\n  }\n}\n"


def loses_headers(world: World) -> None:
    shutil.rmtree(world.site / "nvidia/cuda_runtime/include")


SCENES: tuple[Scene, ...] = (
    Scene("jax-flag-of-the-program", "E", "jax", by_run, program(JAX, "import os\nos.environ['XLA_FLAGS'] = '--xla_gpu_enable_turbo=true'"), VALUE, "", "XLA_FLAGS", "Unknown flag"),
    Scene("keras-backend-of-the-program", "E", "tensorflow", by_run, program(KERAS, "import os\nos.environ.setdefault('KERAS_BACKEND', 'pytorch')"), VALUE, "", "KERAS_BACKEND", "backend"),
    Scene("jax-platform-of-the-programs-module", "E", "jax", by_run, then(program(JAX, "import settings"), writes({"work/settings.py": "import os\nos.environ['JAX_PLATFORMS'] = 'gpuu'\n"}, "work")), VALUE, "", "JAX_PLATFORMS", "gpuu"),
    Scene("program-opens-what-is-not-there", "A", "torch-2.8", by_run, program(ONES, "import ctypes\nctypes.CDLL('libcudart.so.11.0')"), ("cuda_runtime_missing", "cuda_not_on_search_path", "program_error", "requirement_broken"), "", "libcudart.so.11.0", "libcudart.so.11.0"),
    Scene("program-opens-anothers-first", "B", "cupy", by_run, then(toolkit_of("torch-2.6", "old", "nvjitlink"), program("import cupy.cusparse" if 0 else "import cupy_backends.cuda.libs.cusparse", "import ctypes\nctypes.CDLL('{home}/old/lib64/libnvJitLink.so.12', mode=ctypes.RTLD_GLOBAL)"), sets(LD_LIBRARY_PATH=":".join(f"{SITE}/nvidia/{n}/lib" for n in ("cublas", "cusparse", "cuda_nvrtc", "nvjitlink", "cuda_runtime", "cusolver", "cufft", "curand")))), ("cuda_lib_shadowed", "ld_library_path_override", "program_error"), "", "libnvJitLink", "undefined symbol"),
    Scene("notebook-that-nobody-named", "D", "torch-2.8", by_notebook, then(program(ONES), writes(notebook(ONES, dl="/usr/bin/python3"))), ELSEWHERE, "", "kernels/dl", "No module named 'torch'"),
    Scene("job-whose-shell-has-no-source", "D", "torch-2.6", by_sh, then(program(ONES), writes({"work/job.sh": "#!/bin/sh\nset -e\ncd {home}/work\nsource {env}/bin/activate && python main.py\n"}, mode=0o755)), (*ELSEWHERE, "program_error"), "", "job.sh", "not found"),
    Scene("job-of-azure", "D", "torch-2.6", by_azure, then(program(ONES), writes({**STUB, "work/azure-pipelines.yml": AZURE})), ("module_shadowed",), "", "azure-pipelines.yml", "has no attribute"),
    Scene("job-of-azure-with-a-list", "D", "torch-2.6", by_azure, then(program(ONES), writes({**STUB, "work/azure-pipelines.yml": AZURE_LIST})), ("module_shadowed",), "", "azure-pipelines.yml", "has no attribute"),
    Scene("job-of-circleci", "D", "torch-2.6", by_azure, then(program(ONES), writes({**STUB, "work/.circleci/config.yml": CIRCLE})), ("module_shadowed",), "", ".circleci/config.yml", "has no attribute"),
    Scene("job-of-jenkins", "D", "torch-2.6", by_azure, then(program(ONES), writes({**STUB, "work/Jenkinsfile": JENKINS})), ("module_shadowed",), "", "Jenkinsfile", "has no attribute"),
    Scene("cupy-without-headers", "A", "cupy", by_run, then(program(HEADERS), loses_headers), ("corrupt_or_truncated_file", "build_tools_missing", "nvrtc_missing_or_mismatch", "cuda_runtime_missing", "installation_interrupted"), "", "include", "cuda_fp16.h"),
)  # fmt: skip
