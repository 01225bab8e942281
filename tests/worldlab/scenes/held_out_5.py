"""The fifth held-out set, classes A, B, C and E: from public threads, by the person who had just mended what the fourth set showed.

Committed before the first run, and scored once. Above each row: the thread that it is made from, or "class only".
"""

from __future__ import annotations

from tests.worldlab.scene import Scene, imports, installs, loses, runs, then
from tests.worldlab.scenes.held_out import mode, sets
from tests.worldlab.scenes.held_out_2 import ALL_SEARCHED, TF_KERAS, target
from tests.worldlab.scenes.held_out_3 import TORCH

TRANSFORMERS = installs("transformers==4.51.3", "numpy==2.2.6")

LOST = ("corrupt_or_truncated_file", "cuda_runtime_missing", "installation_interrupted")
BROKEN = ("requirement_broken", "extension_abi_mismatch", "installation_interrupted")
SHADOWED = ("module_shadowed",)

SCENES: tuple[Scene, ...] = (
    # --- A
    # class only
    Scene("safetensors-lost-its-core", "A", "torch-2.6", imports("torch", "safetensors.torch"), then(TRANSFORMERS, loses("safetensors/_safetensors_rust*.so")), LOST, "", "_safetensors_rust", "safetensors"),
    # class only
    Scene("sklearn-lost-libgomp", "A", "torch-2.8", imports("torch", "sklearn.cluster"), then(installs("scikit-learn==1.7.2", "numpy==2.2.6"), loses("scikit_learn.libs/libgomp*")), LOST, "", "libgomp", "libgomp"),
    # class only: made by root with a closed umask
    Scene("tensorflow-closed-keras", "A", "tensorflow", TF_KERAS, mode("keras", 0o000, rights=True), ("library_unreadable",), "", "keras", "keras"),
    # https://github.com/numba/llvmlite/issues/693
    Scene("llvmlite-lost-its-library", "A", "torch-2.8", imports("torch", "numba"), then(installs("numba==0.61.2", "numpy==2.2.6"), loses("llvmlite/binding/libllvmlite.so")), LOST, "", "libllvmlite", "llvmlite"),
    # --- B
    # https://github.com/UKPLab/sentence-transformers/issues/3173
    Scene("sentence-transformers-wants-cached-download", "B", "torch-2.6", imports("torch", "sentence_transformers"), then(installs("transformers==4.51.3", "scikit-learn", "nltk", "numpy==2.2.6"), installs("--no-deps", "sentence-transformers==2.2.2")), BROKEN, "", "cached_download", "cached_download"),
    # https://github.com/huggingface/trl/issues/1409
    Scene("trl-wants-a-filter-of-transformers", "B", "torch-2.6", runs("import torch; from trl import PPOTrainer"), then(installs("transformers==4.51.3", "accelerate==1.6.0", "datasets==3.6.0", "tyro==0.9.20", "numpy==2.2.6"), installs("--no-deps", "trl==0.7.11")), BROKEN, "", "top_k_top_p_filtering", "top_k_top_p_filtering"),
    # https://github.com/google-deepmind/optax/issues/546
    Scene("optax-older-than-jax", "B", "jax", imports("jax", "optax"), installs("--no-deps", "optax==0.1.4", "chex==0.1.90", "toolz", "absl-py", "typing-extensions"), BROKEN, "", "optax", "optax"),
    # https://github.com/tensorflow/probability/issues/1774
    Scene("tensorflow-probability-without-tf-keras", "B", "tensorflow", imports("tensorflow", "tensorflow_probability"), installs("--no-deps", "tensorflow-probability==0.24.0", "cloudpickle", "decorator", "dm-tree"), BROKEN, "", "keras", "keras"),
    # https://github.com/cupy/cupy/issues/8306
    Scene("cupy-12-with-numpy-2", "B", "cupy", imports("cupy"), then(ALL_SEARCHED, installs("--no-deps", "cupy-cuda12x==12.3.0")), (*BROKEN, "numpy_abi_mismatch"), "", "numpy", "numpy"),
    # --- C
    # https://github.com/python/typing/issues/573: a backport in a folder of --target
    Scene("torch-behind-a-backport-of-typing", "C", "torch-2.6", TORCH, then(target("layer", "typing==3.7.4.3"), sets(PYTHONPATH="{home}/layer")), SHADOWED, "", "layer/typing.py", "typing"),
    # --- E
    # class only
    Scene("datasets-size-with-a-unit", "E", "torch-2.6", imports("torch", "datasets"), then(installs("datasets==3.6.0", "numpy==2.2.6"), sets(HF_DATASETS_IN_MEMORY_MAX_SIZE="10GB")), ("variable_value_wrong",), "", "HF_DATASETS_IN_MEMORY_MAX_SIZE", "10GB"),
    # --- odd, and healthy
    # class only
    Scene("odd-timm-and-sentence-transformers", "healthy", "torch-2.6", imports("torch", "timm", "sentence_transformers"), installs("timm==1.0.15", "sentence-transformers==4.1.0", "transformers==4.51.3", "numpy==2.2.6")),
    # class only
    Scene("odd-numba-and-sklearn", "healthy", "torch-2.8", imports("torch", "numba", "sklearn.cluster"), installs("numba==0.61.2", "scikit-learn==1.7.2", "numpy==2.2.6")),
    # class only
    Scene("odd-lightning-and-trl", "healthy", "torch-2.6", runs("import torch, lightning; from trl import SFTTrainer"), installs("lightning==2.5.1", "trl==0.17.0", "transformers==4.51.3", "numpy==2.2.6")),
    # class only
    Scene("odd-probability-with-tf-keras", "healthy", "tensorflow", imports("tensorflow", "tensorflow_probability"), installs("tensorflow-probability==0.25.0", "tf-keras==2.20.1", "tensorflow==2.20.0", "numpy<2.5")),
)  # fmt: skip
