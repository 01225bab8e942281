"""Variables as contracts: each kind with values that keep it and values that break it, for readers and for nobody."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from msgspec.structs import replace

from core.knowledge.contracts import Contract, lacks_port, variable_contracts
from core.model.facts import (
    CudaInit,
    DeviceNode,
    Distribution,
    Driver,
    Environment,
    FrameworkBuild,
    Frameworks,
    ImportSearch,
    NamedPlace,
    Snapshot,
    Start,
    Toolkit,
    Tools,
    Variable,
    Vocabulary,
)
from core.model.findings import Finding
from core.model.remedies import PointTo, Unset
from core.model.steps import Severity
from core.rules.collectives import network_that_is_not_there
from core.rules.frameworks.environment_view import environment_views
from core.rules.root_cause import diagnose
from core.rules.variables import contracts, own_code
from core.rules.variables.findings import contract_finding, word_for_off
from tests.machines import PREFIX, SITE, linux_machine, python, wheel_machine, working_driver

JAX = (
    Distribution(name="jax", version="0.7.2", location=SITE),
    Distribution(name="jax-cuda12-plugin", version="0.7.2", location=SITE),
)
TENSORFLOW = (
    Distribution(name="tensorflow", version="2.20.0", location=SITE),
    Distribution(name="keras", version="3.11.0", location=SITE),
)
TORCH = (Distribution(name="torch", version="2.8.0", location=SITE),)


def machine(
    variable: str, value: str, *distributions: Distribution, places: tuple[NamedPlace, ...] = (), **fields
) -> Snapshot:
    """Return a machine with one variable, and an environment with these distributions."""
    said = Environment(variables=(Variable(name=variable, value=value, source="~/.profile"),), places=places)
    return replace(wheel_machine(), environment=said, pythons=(python(distributions=distributions),), **fields)


def found(seen: Snapshot) -> list[Finding]:
    return [f for rule in (*contracts.RULES, *own_code.RULES) for f in rule(seen)]


@pytest.mark.parametrize(
    ("variable", "value", "wrong"),
    [
        ("NCCL_ALGO", "RING,tree", False),
        ("NCCL_ALGO", "Ring,", False),
        ("NCCL_ALGO", "^NVLS", False),
        ("NCCL_ALGO", "allreduce:ring;broadcast:ring", False),
        ("NCCL_ALGO", "", False),
        ("NCCL_ALGO", "ring, tree", True),
        ("NCCL_ALGO", "auto", True),
        ("NCCL_ALGO", "allreduce=ring", True),
        ("NCCL_PROTO", "ll128", False),
        ("NCCL_PROTO", "LL64", True),
        ("NCCL_NET", "Socket", False),
        ("NCCL_NET", "AWS Libfabric", False),
        ("NCCL_NET", "", True),
        ("NCCL_BUFFSIZE", "4MB", True),
        ("NCCL_BUFFSIZE", "8388608", False),
        ("TORCH_NCCL_CUDA_EVENT_CACHE", "abc", True),
    ],
)
def test_values_that_end_programs_of_several_gpus(variable: str, value: str, wrong: bool):
    """As two H200s said (tests/gpu/collective_variables.py); a network's name of a plug-in is not judged."""
    its = found(machine(variable, value, *TORCH))
    assert [f.cause for f in its] == ["variable_value_wrong"] * wrong
    assert all(f.severity >= Severity.WARNING for f in its)


@pytest.mark.parametrize(
    ("variable", "value", "distribution", "told"),
    [
        ("JAX_TRANSFER_GUARD", "disallow", "jax", True),
        ("JAX_TRANSFER_GUARD", "log", "jax", False),
        ("JAX_NUMPY_RANK_PROMOTION", "raise", "jax", True),
        ("NUMBA_ENABLE_CUDASIM", "1", "numba", True),
        ("NUMBA_ENABLE_CUDASIM", "0", "numba", False),
        ("NUMBA_ENABLE_CUDASIM", "1", "torch", False),
        ("LOCAL_RANK", "0", "accelerate", True),
        ("LOCAL_RANK", "-1", "accelerate", False),
        ("LOCAL_RANK", "0", "torch", False),
    ],
)
def test_what_a_session_of_once_left_behind(variable: str, value: str, distribution: str, told: bool):
    its = found(machine(variable, value, Distribution(name=distribution, version="1.0", location=SITE)))
    assert [f.cause for f in its if f.severity >= Severity.WARNING] == ["variable_value_wrong"] * told


@pytest.mark.parametrize(
    ("kind", "value", "kept"),
    [
        ("words", "auto", "auto"),
        ("debugging", "disallow", "disallow"),
        ("flags", "--wrong", "--wrong"),
        ("flags", "--wrong --right", ""),  # the right one would go, too
        ("options", "wrong:1,right:2", ""),
        ("words", "8.9;12.1", ""),
        ("together", "0", ""),  # a launcher may have set it
        ("offline", "1", ""),
        ("header", "token", ""),  # a secret
        ("proxy", "http://me:word@proxy", ""),
    ],
)
def test_what_is_wrong_for_every_reader_can_be_kept_from_an_environment(kind: str, value: str, kept: str):
    contract = Contract(variable="A", readers="torch", kind=kind, separator=";" * (kind == "words"), fails=True)
    seen = machine("A", value, *TORCH)
    near = [h for h in environment_views(seen) if h.near <= 1]
    its = contract_finding(seen, contract, Variable(name="A", value=value), "Wrong.", near).remedy
    assert its == Unset(variable="A", value=kept, prefixes=tuple(h.python.prefix for h in near) if kept else ())
    assert len(near) == 1


@pytest.mark.parametrize(
    ("value", "ports", "told"), [("IB", (), True), ("ib", (), True), ("IB", ("mlx5_0",), False), ("Socket", (), False)]
)
def test_infiniband_that_is_not_there(value: str, ports: tuple[str, ...], told: bool):
    seen = machine("NCCL_NET", value, *TORCH, tools=Tools(infiniband=ports))
    its = list(network_that_is_not_there(seen))
    assert [(f.severity, f.cause) for f in its] == [(Severity.WARNING, "variable_value_wrong")] * told
    without = list(network_that_is_not_there(replace(seen, driver=Driver(gpus=(), pci=()))))
    assert [f.severity for f in without] == [Severity.NOTE] * told


@pytest.mark.parametrize(
    ("value", "wrong"),
    [("1e10", True), ("2GB", True), ("-1", True), ("20MB", False), ("10000000000", False), ("", False)],
)
def test_numbers_of_opencv(value: str, wrong: bool):
    opencv = Distribution(name="opencv-python", version="4.11.0.86", location=SITE)
    its = found(machine("OPENCV_IO_MAX_IMAGE_PIXELS", value, opencv))
    assert [f.severity for f in its] == [Severity.ERROR] * wrong
    assert not found(machine("OPENCV_IO_MAX_IMAGE_PIXELS", "20MB"))


@pytest.mark.parametrize(
    ("variable", "value", "wrong"),
    [("TORCH_NCCL_BLOCKING_WAIT", "Yes", False), ("TORCH_NCCL_BLOCKING_WAIT", "on", True), ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "3", False),
     ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "true", True), ("TORCH_NCCL_OF_TOMORROW", "on", False)],
)  # fmt: skip
def test_what_torch_takes_for_nccl(variable: str, value: str, wrong: bool):
    assert [f.subject for f in found(machine(variable, value, *TORCH))] == [variable] * wrong


CUPY = (Distribution(name="cupy-cuda13x", version="14.2.0", location=SITE),)
L2 = "CUDA_DEVICE_DEFAULT_PERSISTING_L2_CACHE_PERCENTAGE_LIMIT"


@pytest.mark.parametrize(
    ("variable", "value", "who", "wrong"),
    [("CUDA_FORCE_PTX_JIT", "1", TORCH, True), ("CUDA_FORCE_PTX_JIT", "yes", TORCH, False), ("CUDA_FORCE_PTX_JIT", "", TORCH, False),
     ("CUDA_FORCE_PTX_JIT", "0", TORCH, False), ("CUDA_FORCE_JIT", "1", CUPY, True), (L2, "200", TORCH, True),
     (L2, "30", TORCH, False), ("CUPY_GPU_MEMORY_LIMIT", "1%%", CUPY, True), ("CUPY_GPU_MEMORY_LIMIT", "25%", CUPY, False),
     ("CUPY_GPU_MEMORY_LIMIT", "8589934592", CUPY, False), ("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments", TORCH, True)],
)  # fmt: skip
def test_what_a_real_gpu_shows(variable: str, value: str, who: tuple[Distribution, ...], wrong: bool):
    assert [(f.subject, f.severity) for f in found(machine(variable, value, *who))] == [
        (variable, Severity.ERROR)
    ] * wrong


def test_a_switch_that_imports_what_is_not_there():
    hub = Distribution(name="huggingface-hub", version="0.30.0", location=SITE)
    told = Vocabulary(
        variable="HF_HUB_ENABLE_HF_TRANSFER", prefix=PREFIX, files=("/env/a.py",), known=("hf_transfer",), unknown=("1",),
        takes="module", line=390, reader="huggingface-hub", sure=False,
    )  # fmt: skip
    (its,) = found(machine("HF_HUB_ENABLE_HF_TRANSFER", "1", hub, vocabularies=(told,)))
    assert (its.cause, its.severity) == ("variable_value_wrong", Severity.WARNING)
    assert "hf_transfer" in its.title
    assert not found(machine("HF_HUB_ENABLE_HF_TRANSFER", "0", hub, vocabularies=(told,)))


def test_no_folder_for_compiled_functions():
    librosa = Distribution(name="librosa", version="0.11.0", location=SITE)
    row = Vocabulary(
        variable="NUMBA_CACHE_DIR", prefix=PREFIX, files=("/s/librosa/core/notation.py",), known=("/s/__pycache__", "/.cache/numba"), takes="cache",
        line=15, reader="librosa", sure=False,
    )  # fmt: skip
    (its,) = found(machine("TZ", "UTC", librosa, vocabularies=(row,)))
    assert (its.cause, its.severity, its.subject) == ("variable_value_wrong", Severity.WARNING, "NUMBA_CACHE_DIR")
    assert "librosa" in its.title
    assert not found(machine("TZ", "UTC", librosa, vocabularies=(replace(row, prefix="/other"),)))


@pytest.mark.parametrize(
    ("place", "beside", "wrong"),
    [({"state": "folder", "runs": False}, "", True), ({"state": "missing", "runs": False}, "", False), ({"state": "folder", "blocked": "/t"}, "", False),
     ({"state": "folder", "runs": False}, "/scratch", False), ({"state": "folder"}, "", False)],
)  # fmt: skip
def test_a_folder_for_temporary_files_matters_where_code_is_loaded_from_it(place: dict, beside: str, wrong: bool):
    named = NamedPlace(variable="TMPDIR", path="/t", **place)
    seen = machine("TMPDIR", "/t", *TORCH, places=(named,))
    more = Variable(name="TORCHINDUCTOR_CACHE_DIR", value=beside, source="environment")
    seen = replace(seen, environment=replace(seen.environment, variables=(*seen.environment.variables, more)))
    assert [(f.subject, f.severity) for f in found(seen)] == [("TMPDIR", Severity.WARNING)] * wrong


@pytest.mark.parametrize(
    ("length", "place", "wrong"),
    [(75, {"state": "folder"}, False), (76, {"state": "folder"}, True), (76, {"state": "missing"}, False), (76, {"state": "folder", "blocked": "/"}, False)],
)  # fmt: skip
def test_a_folder_for_sockets_has_a_short_path(length: int, place: dict, wrong: bool):
    path = "/scratch/".ljust(length, "x")
    its = found(machine("TMPDIR", path, *TORCH, places=(NamedPlace(variable="TMPDIR", path=path, **place),)))
    assert [(f.subject, f.severity) for f in its] == [("TMPDIR", Severity.WARNING)] * wrong


@pytest.mark.parametrize(
    ("value", "wrong"),
    [("/usr/include", True), ("/opt/include:/usr/include/", True), ("/usr/include:/opt", True), ("/usr/include/eigen3", False), ("/opt/include", False), ("", False)],
)  # fmt: skip
def test_the_systems_headers_before_those_of_cpp(value: str, wrong: bool):
    assert [f.subject for f in found(machine("CPLUS_INCLUDE_PATH", value, *TORCH))] == ["CPLUS_INCLUDE_PATH"] * wrong


TRANSFORMERS = Distribution(name="transformers", version="4.51.3", location=SITE)


@pytest.mark.parametrize(
    ("value", "beside", "wrong"),
    [("0", TORCH, True), ("No", TORCH, True), ("never", TORCH, True), ("AUTO", TORCH, False), ("TRUE", TORCH, False), ("", TORCH, False),
     ("0", (), False), ("never", (), False), ("0", (*TORCH, *TENSORFLOW), False),
     ("0", (*TORCH, Distribution(name="flax", version="0.10.0", location=SITE)), False)],
)  # fmt: skip
def test_a_switch_that_leaves_torch_aside(value: str, beside: tuple[Distribution, ...], wrong: bool):
    its = found(machine("USE_TORCH", value, TRANSFORMERS, *beside))
    assert [f.severity for f in its] == [Severity.ERROR] * wrong
    new = replace(TRANSFORMERS, version="5.0.0")
    assert not found(machine("USE_TORCH", "0", new, *beside))


def test_a_home_that_cannot_be_written_to():
    triton = Distribution(name="triton", version="3.4.0", location=SITE)
    closed = NamedPlace(variable="HOME", path="/", state="folder", blocked="/", inside=".triton")
    (its,) = found(machine("TZ", "UTC", triton, places=(closed,)))
    assert (its.subject, its.severity, its.cause) == ("HOME", Severity.WARNING, "variable_value_wrong")
    assert not found(machine("TZ", "UTC", triton, places=(replace(closed, blocked=""),)))
    assert not found(machine("TRITON_CACHE_DIR", "/var/tmp/x", triton, places=(closed,)))
    assert not found(machine("TZ", "UTC", *JAX, places=(closed,)))


@pytest.mark.parametrize(("blocked", "says"), [("K:\\", "there is no drive K:."), ("/srv", "/srv is in the way.")])
def test_a_folder_that_cannot_be_made_says_what_prevents_it(blocked: str, says: str):
    hub = Distribution(name="huggingface-hub", version="0.36.2", location=SITE)
    place = NamedPlace(variable="HF_HOME", path="K:\\hf", state="missing", blocked=blocked)
    (its,) = found(machine("HF_HOME", "K:\\hf", hub, places=(place,)))
    assert (its.subject, its.cause) == ("HF_HOME", "variable_value_wrong")
    assert says in its.title + its.why


def test_a_default_folder_of_files_that_another_user_made():
    """As after one run with sudo; a home with several such folders is told of once."""
    hub = Distribution(name="huggingface-hub", version="0.36.2", location=SITE)
    data = Distribution(name="datasets", version="3.6.0", location=SITE)
    own = NamedPlace(variable="HOME", path="/home/eve", state="folder", inside=".cache/huggingface/hub")
    closed = replace(own, blocked="/home/eve/.cache/huggingface")
    (its,) = found(machine("TZ", "UTC", hub, places=(closed,)))
    assert (its.subject, its.severity) == ("HOME", Severity.WARNING)
    assert "/home/eve/.cache/huggingface," in its.title
    assert not found(machine("TZ", "UTC", hub, places=(own,)))
    assert not found(machine("TZ", "UTC", *JAX, places=(closed,)))
    assert not found(machine("HF_HOME", "/srv/hub", hub, places=(closed,)))
    homeless = replace(own, blocked="/home/eve")
    both = (homeless, replace(homeless, inside=".cache/huggingface/datasets"))
    assert len(found(machine("TZ", "UTC", hub, data, places=both))) == 1


@pytest.mark.parametrize(("blocked", "wrong"), [("/srv/data", True), ("", False)])
def test_a_folder_that_a_package_must_write_to(blocked: str, wrong: bool):
    data = Distribution(name="datasets", version="3.6.0", location=SITE)
    place = NamedPlace(variable="HF_DATASETS_CACHE", path="/srv/data", state="folder", blocked=blocked)
    its = found(machine("HF_DATASETS_CACHE", "/srv/data", data, places=(place,)))
    assert [f.severity for f in its] == [Severity.ERROR] * wrong


def test_a_folder_for_files_that_only_a_packages_code_names():
    row = Vocabulary(variable="TOOLBOX_CACHE_DIR", prefix=PREFIX, files=("/t/config.py",), line=3, reader="toolbox", takes="own cache", unknown=("/srv/t",), known=("/srv",), sure=False)  # fmt: skip
    toolbox = Distribution(name="toolbox", version="1", location=SITE)
    (its,) = found(machine("TOOLBOX_CACHE_DIR", "/srv/t", toolbox, vocabularies=(row,)))
    assert (its.severity, its.cause) == (Severity.WARNING, "variable_value_wrong")
    assert "/srv," in its.title


@pytest.mark.parametrize(
    ("value", "installed", "wrong"),
    [("1", (), True), ("TRUE", (), True), ("0", (), False), ("AUTO", (), False), ("1", ("tensorflow",), False), ("1", ("new",), False)],
)  # fmt: skip
def test_a_switch_for_a_framework_that_is_not_there(value: str, installed: tuple[str, ...], wrong: bool):
    version = "5.0.0" if "new" in installed else "4.51.3"
    here = [Distribution(name="transformers", version=version, location=SITE), *TORCH]
    here += [Distribution(name=n, version="2.20.0", location=SITE) for n in installed if n != "new"]
    its = found(machine("USE_TF", value, *here))
    assert [f.cause for f in its] == ["variable_value_wrong"] * wrong
    assert all("TensorFlow" in f.title for f in its)


@pytest.mark.parametrize(
    ("variable", "reader", "version", "state", "wrong"),
    [("REQUESTS_CA_BUNDLE", "requests", "2.34.2", "missing", True), ("REQUESTS_CA_BUNDLE", "requests", "2.34.2", "file", False),
     ("REQUESTS_CA_BUNDLE", "requests", "2.34.2", "folder", False), ("REQUESTS_CA_BUNDLE", "httpx", "0.28.1", "missing", False),
     ("SSL_CERT_FILE", "httpx", "0.28.1", "missing", True), ("SSL_CERT_FILE", "httpx", "0.28.1", "file", False),
     ("SSL_CERT_FILE", "httpx", "0.27.2", "missing", False), ("SSL_CERT_FILE", "requests", "2.34.2", "missing", False)],
)  # fmt: skip
def test_certificates_that_are_gone(variable: str, reader: str, version: str, state, wrong: bool):
    place = NamedPlace(variable=variable, path="/opt/gone.pem", state=state)
    here = Distribution(name=reader, version=version, location=SITE)
    its = found(machine(variable, "/opt/gone.pem", *TORCH, here, places=(place,)))
    assert [(f.subject, f.severity) for f in its] == [(variable, Severity.WARNING)] * wrong


@pytest.mark.parametrize(("idle", "severity"), [((), Severity.ERROR), (("torch",), Severity.NOTE)])
def test_a_variable_of_a_framework_that_no_program_of_the_folder_uses(idle: tuple[str, ...], severity: Severity):
    contract = Contract(variable="A", readers="torch", kind="words", fails=True)
    seen = machine("A", "b", *TORCH)
    seen = replace(seen, imports=tuple(ImportSearch(prefix=p.prefix, idle=idle) for p in seen.pythons or ()))
    near = [h for h in environment_views(seen) if h.near <= 1]
    assert contract_finding(seen, contract, Variable(name="A", value="b"), "Wrong.", near).severity is severity


def test_a_variable_that_its_readers_pass_over():
    place = NamedPlace(variable="CURL_CA_BUNDLE", path="/opt/gone.pem", state="missing")
    seen = machine(
        "CURL_CA_BUNDLE",
        "/opt/gone.pem",
        Distribution(name="requests", version="2.34.2", location=SITE),
        places=(place,),
    )
    assert [f.subject for f in found(seen)] == ["CURL_CA_BUNDLE"]
    assert seen.environment is not None
    other = Variable(name="REQUESTS_CA_BUNDLE", value="/etc/ssl/cert.pem")
    said = replace(seen.environment, variables=(*seen.environment.variables, other))
    assert not found(replace(seen, environment=said))


@pytest.mark.parametrize(
    ("value", "installed", "wrong"),
    [("socks://127.0.0.1:7897/", ("httpx", "socksio"), True), ("socks://127.0.0.1:7897/", (), False),
     ("socks5://127.0.0.1:7897", ("httpx", "socksio"), False), ("socks5://127.0.0.1:7897", ("httpx",), True),
     ("http://proxy:3128", ("httpx", "requests"), False), ("HTTP://proxy:3128", ("httpx",), False), ("proxy:3128", ("httpx",), False),
     ("", ("httpx", "requests"), False), ("socks4://proxy:1080", ("requests", "pysocks"), False),


     ("socks5h://proxy:1080", ("requests",), True), ("socks://proxy:1080", ("requests", "pysocks"), True)],
)  # fmt: skip
@pytest.mark.parametrize("variable", ["ALL_PROXY", "https_proxy"])
def test_proxies_of_a_scheme_that_its_readers_do_not_speak(
    variable: str, value: str, installed: tuple[str, ...], wrong: bool
):
    here = [Distribution(name=n, version="2.0", location=SITE) for n in installed]
    its = found(machine(variable, value, *TORCH, *here))
    assert [(f.cause, f.severity) for f in its] == [("variable_value_wrong", Severity.WARNING)] * wrong


@pytest.mark.parametrize(
    ("installed", "other", "told"),
    [(("requests",), "", True), (("requests", "pysocks"), "", False), (("httpx",), "", False), (("requests",), "HTTP_PROXY", False)],
)  # fmt: skip
def test_a_socks_proxy_of_windows_own_settings(installed: tuple[str, ...], other: str, told: bool):
    seen = machine("X", "1", *TORCH, *(Distribution(name=n, version="2.0", location=SITE) for n in installed))
    assert seen.environment is not None
    key = r"HKCU\Software\Microsoft\Windows\CurrentVersion\Internet Settings"
    its = [Variable(name="ProxyServer", value="socks4://127.0.0.1:10808", scope="login", source=key)]
    its += [Variable(name=other, value="http://proxy:3128")] if other else []
    seen = replace(seen, environment=replace(seen.environment, variables=(*seen.environment.variables, *its)))
    said = [(f.cause, "setting ProxyServer of Windows" in f.title) for f in found(seen)]
    assert said == [("variable_value_wrong", True)] * told


def test_urllib_prefers_the_proxy_in_small_letters():
    seen = machine("HTTP_PROXY", "socks://proxy:1080", Distribution(name="httpx", version="0.28.1", location=SITE))
    assert found(seen)
    assert seen.environment is not None
    small = Variable(name="http_proxy", value="http://proxy:3128")
    said = replace(seen.environment, variables=(*seen.environment.variables, small))
    assert not found(replace(seen, environment=said))


@pytest.mark.parametrize(
    ("variable", "value", "wrong"),
    [("KERAS_BACKEND", "tensorflow\r", True), ("KERAS_BACKEND", "tensorflow", False), ("TF_CPP_MIN_LOG_LEVEL", "2\r", False),
     ("TF_XLA_FLAGS", "--tf_xla_auto_jit=2\r", False)],
)  # fmt: skip
def test_a_value_from_a_file_that_was_written_on_windows(variable: str, value: str, wrong: bool):
    its = found(machine(variable, value, *TENSORFLOW))
    assert [f.subject for f in its] == [variable] * wrong
    assert all("carriage return" in f.title for f in its)


def test_a_user_without_a_name():
    told = Vocabulary(
        variable="USER", prefix=PREFIX, files=("/env/a.py",), unknown=("12345",), takes="account", line=19, reader="torch", sure=False
    )  # fmt: skip
    (its,) = found(machine("X", "1", *TORCH, vocabularies=(told,)))
    assert (its.cause, its.severity, its.id) == (
        "variable_value_wrong",
        Severity.WARNING,
        "environment.user-without-a-name",
    )
    assert "12345" in its.title
    assert not found(machine("USER", "app", *TORCH, vocabularies=(told,)))
    assert not found(machine("X", "1", *TORCH))


@pytest.mark.parametrize(
    ("variable", "value", "severity"),
    [
        ("JAX_PLATFORMS", "gpuu", None),  # no file was read that tells whether a plug-in brings it
        ("JAX_PLATFORMS", "cuda,cpu", None),
        ("JAX_PLATFORMS", "rocm", Severity.ERROR),
        ("JAX_PLATFORMS", "tpu,cpu", Severity.ERROR),
        ("JAX_ENABLE_X64", "maybe", Severity.ERROR),
        ("JAX_ENABLE_X64", "True", None),
        ("JAX_ENABLE_X64", "", Severity.ERROR),
        ("JAX_ENABLE_X64", "1  ", Severity.ERROR),
        ("JAX_NUMPY_DTYPE_PROMOTION", "Strict", Severity.ERROR),
        ("JAX_NUMPY_DTYPE_PROMOTION", "", Severity.ERROR),
        ("JAX_LOGGING_LEVEL", "debug", Severity.ERROR),
        ("JAX_LOGGING_LEVEL", "DEBUG", None),
        ("JAX_PLATFORMS", "cpu, cuda", Severity.ERROR),
        ("JAX_PLATFORMS", "CPU", Severity.ERROR),
        ("JAX_PLATFORMS", "", None),
        ("JAX_PLATFORM_NAME", "CPU", None),
        ("JAX_TRACEBACK_FILTERING", "xx", Severity.ERROR),
        ("XLA_FLAGS", "--xla_dump_to=/tmp", None),
        ("XLA_FLAGS", "xla_gpu_autotune_level=0", Severity.ERROR),
        ("XLA_FLAGS", "--xla_gpu_autotune_level=0 --xla_gpu_enable_triton_gemm=True", None),
        ("XLA_FLAGS", "--xla_gpu_autotune_level=high", Severity.ERROR),
        ("XLA_FLAGS", "--xla_gpu_enable_triton_gemm", None),
        ("XLA_FLAGS", "--xla_gpu_enable_triton_gemm=yes", Severity.ERROR),
        ("XLA_FLAGS", "--xla_dump_to=a --xla_force_host_platform_device_count", Severity.ERROR),
        ("XLA_FLAGS", "--xla_force_host_platform_device_count='8'", None),
        ("XLA_PYTHON_CLIENT_MEM_FRACTION", ".75", None),
        ("XLA_PYTHON_CLIENT_MEM_FRACTION", "75", Severity.NOTE),
        ("NCCL_P2P_LEVEL", "NVL", None),
        ("NCCL_P2P_LEVEL", "nvlink", Severity.NOTE),
        ("CUBLAS_WORKSPACE_CONFIG", ":4096:8", None),
        ("CUBLAS_WORKSPACE_CONFIG", "4096", Severity.NOTE),
    ],
)
def test_values_for_jax(variable: str, value: str, severity: Severity | None):
    its = found(machine(variable, value, *JAX))
    assert [f.severity for f in its] == ([] if severity is None else [severity])
    assert all(f.cause == "variable_value_wrong" and f.consumers and variable in f.title for f in its)


@pytest.mark.parametrize(
    ("variable", "value", "distributions", "severity"),
    [
        ("KERAS_BACKEND", "foo", TENSORFLOW, None),  # no file was read that tells
        ("KERAS_BACKEND", "tensorflow", TENSORFLOW, None),
        ("KERAS_BACKEND", "torch", TENSORFLOW, Severity.ERROR),
        ("TORCH_DISTRIBUTED_DEBUG", "verbose", TORCH, Severity.ERROR),
        ("TORCH_DISTRIBUTED_DEBUG", "detail", TORCH, None),
        ("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True,max_split_size_mb:128", TORCH, None),
        ("PYTORCH_CUDA_ALLOC_CONF", "roundup_power2_divisions:[256:1,512:2,>:4]", TORCH, None),
        ("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments=True", TORCH, None),
        ("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:true", TORCH, Severity.ERROR),
        ("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:16", TORCH, Severity.ERROR),
        ("JAX_NUM_CPU_DEVICES", "0", JAX, Severity.ERROR),
        ("JAX_NUM_CPU_DEVICES", "-2", JAX, None),
        ("JAX_NUM_CPU_DEVICES", "+10", JAX, None),
        ("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:-1", TORCH, None),
        ("PYTORCH_CUDA_ALLOC_CONF", "max_non_split_rounding_mb:10", TORCH, Severity.ERROR),
        ("PYTORCH_CUDA_ALLOC_CONF", "pinned_num_register_threads:8", TORCH, None),
        ("PYTORCH_CUDA_ALLOC_CONF", "pinned_num_register_threads:200", TORCH, Severity.ERROR),
        ("PYTORCH_CUDA_ALLOC_CONF", "roundup_power2_divisions:[256:1,512:2,>:8]", TORCH, None),
        ("PYTORCH_CUDA_ALLOC_CONF", "roundup_power2_divisions:[256:3]", TORCH, Severity.ERROR),
        ("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb: 512,garbage_collection_threshold:0.8,", TORCH, None),
        ("JAX_NUM_CPU_DEVICES", "four", JAX, Severity.ERROR),
        ("TORCHINDUCTOR_COMPILE_THREADS", "auto", TORCH, Severity.ERROR),
        ("KERAS_BACKEND", "torch", TORCH, None),
        ("PYTHONHASHSEED", "fixed", (), Severity.ERROR),
        ("PYTHONHASHSEED", "0", (), None),
        ("PATHEXT", ".PY;.PYW", (), None),
        ("PYTHONIOENCODING", "utf-9", (), Severity.ERROR),
        ("PYTHONIOENCODING", "UTF-8:surrogateescape", (), None),
        ("PYTHONIOENCODING", ":replace", (), None),
        ("PYTHONUTF8", "yes", (), Severity.ERROR),
        ("PYTHONINTMAXSTRDIGITS", "100", (), Severity.ERROR),
        ("PYTHONINTMAXSTRDIGITS", "639", (), Severity.ERROR),
        ("PYTHONINTMAXSTRDIGITS", "640", (), None),
        ("PYTHONINTMAXSTRDIGITS", "0", (), None),
        ("MASTER_PORT", "123456", TORCH, Severity.ERROR),
        ("MASTER_PORT", "tcp://10.0.0.1:29500", TORCH, Severity.ERROR),
        ("MASTER_PORT", "29500", TORCH, None),
        ("PYTHONOPTIMIZE", "2", TENSORFLOW, Severity.ERROR),
        ("PYTHONOPTIMIZE", "2", TORCH, None),
        ("PYTHONOPTIMIZE", "1", TENSORFLOW, None),
        ("TF_USE_LEGACY_KERAS", "1", TENSORFLOW, Severity.ERROR),
        ("TF_USE_LEGACY_KERAS", "0", TENSORFLOW, None),
        ("TRITON_OVERRIDE_ARCH", "sm90a", TORCH, None),
        (
            "NPY_DISABLE_CPU_FEATURES",
            "AVX2 SSE",
            (Distribution(name="numpy", version="2.2.6", location=SITE),),
            Severity.ERROR,
        ),
        ("NPY_DISABLE_CPU_FEATURES", "AVX512F", (Distribution(name="numpy", version="2.2.6", location=SITE),), None),
    ],
)
def test_only_its_readers_mind(
    variable: str, value: str, distributions: tuple[Distribution, ...], severity: Severity | None
):
    its = found(machine(variable, value, *distributions))
    assert [f.severity for f in its] == ([] if severity is None else [severity])


@pytest.mark.parametrize("value", [".PY;.PYW", "%PATHEXT%;.PY"])
def test_windows_alone_looks_for_programs_by_their_endings(value: str) -> None:
    seen = machine("PATHEXT", value)
    windows = replace(seen, machine=replace(seen.machine, system="windows"))
    assert [f.severity for f in found(windows)] == [Severity.ERROR]
    assert not found(seen)


@pytest.mark.parametrize("value", [".COM;.EXE;.BAT;.CMD;.PY", ".com;.exe", ".EXE", ""])
def test_endings_with_that_of_programs_are_right(value: str) -> None:
    seen = machine("PATHEXT", value)
    assert not found(replace(seen, machine=replace(seen.machine, system="windows")))


@pytest.mark.parametrize(
    ("variable", "value", "unknown", "prefix", "wrong"),
    [
        ("JAX_PLATFORMS", "cuda,gpuu", ("gpuu",), "/env", ("gpuu",)),
        ("XLA_FLAGS", "--xla_a=1 --xla_b", ("xla_b",), "/env", ("xla_b",)),
        ("XLA_FLAGS", "--xla_a=1", ("xla_b",), "/env", ()),  # another way's value has the unknown one
        ("XLA_FLAGS", "--xla_b", ("xla_b",), "/other", ()),  # whose release knows it
        ("XLA_FLAGS", "", ("xla_b",), "/env", ()),
    ],
)
def test_words_that_the_readers_own_files_do_not_have(variable: str, value: str, unknown, prefix: str, wrong):
    seen = machine(variable, value, *JAX)
    at = seen.pythons[0].prefix if prefix == "/env" else prefix
    rows = (Vocabulary(variable=variable, prefix=at, files=("/lib/libjax_common.so",), unknown=unknown),)
    its = [f for f in found(replace(seen, vocabularies=rows)) if f.severity is Severity.ERROR]
    assert [all(w in f.title for w in wrong) for f in its] == ([True] if wrong else [])


@pytest.mark.parametrize(
    ("variable", "distributions", "place", "wrong"),
    [
        ("CUPY_CACHE_DIR", "cupy-cuda12x", {"state": "missing"}, False),
        ("CUPY_CACHE_DIR", "cupy-cuda12x", {"state": "missing", "blocked": "/srv/file"}, True),
        ("CUPY_CACHE_DIR", "cupy-cuda12x", {"state": "folder", "blocked": "/srv"}, True),
        ("CC", "triton", {"state": "missing"}, True),
        ("CC", "triton", {"state": "file"}, False),
        ("CC", "triton", {"state": "file", "runs": False}, True),
        ("CC", "triton", {"state": "folder"}, True),
        ("NCCL_SOCKET_IFNAME", "torch", {"state": "folder", "holds": ("lo", "eth0")}, True),
        ("NCCL_SOCKET_IFNAME", "torch", {"state": "folder", "holds": ("lo", "/srv0")}, False),
        ("NCCL_SOCKET_IFNAME", "torch", {"state": "missing"}, False),
    ],
)
def test_what_a_variable_names_must_serve(variable: str, distributions: str, place: dict, wrong: bool):
    named = NamedPlace(variable=variable, path="/sys/class/net" if "IFNAME" in variable else "/srv", **place)
    its = found(machine(variable, "/srv", Distribution(name=distributions, version="3.4.0"), places=(named,)))
    assert [(f.severity, f.cause) for f in its] == ([(Severity.ERROR, "variable_value_wrong")] if wrong else [])


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        ("eth", True),
        ("=eth0", True),
        ("=eth", False),
        ("^docker,lo", True),
        ("^eth,lo", False),
        ("ib", False),
        ("ib,eth", True),
    ],
)
def test_how_nccl_reads_names_of_interfaces(value: str, fits: bool):
    place = NamedPlace(variable="NCCL_SOCKET_IFNAME", path="/sys/class/net", state="folder", holds=("lo", "eth0"))
    assert bool(found(machine("NCCL_SOCKET_IFNAME", value, *TORCH, places=(place,)))) is not fits


@pytest.mark.parametrize(
    ("state", "holds", "says"),
    [
        ("missing", (), "does not exist"),
        ("file", (), "not a folder"),
        ("folder", (), "lacks what programs look for"),
        ("folder", ("bin/ptxas",), ""),
    ],
)
def test_a_folder_behind_a_flag(state, holds: tuple[str, ...], says: str):
    place = NamedPlace(variable="XLA_FLAGS", path="/opt/cuda", state=state, holds=holds)
    its = found(machine("XLA_FLAGS", "--xla_gpu_cuda_data_dir=/opt/cuda --xla_x=1", *JAX, places=(place,)))
    assert [says in f.title for f in its] == ([True] if says else [])


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        ("cuda>=12.0", False),
        ("cuda>=13.1", True),
        ("cuda>=13.1 brand=tesla,driver>=580,driver<581", False),
        ("cuda>=13.1 brand=tesla,driver>=535,driver<536", True),
        ("", False),
        ("nonsense", False),
    ],
)
def test_what_an_image_asks_of_the_driver(value: str, wrong: bool):
    inside = linux_machine(container="docker")
    assert bool(found(machine("NVIDIA_REQUIRE_CUDA", value, *TORCH, machine=inside))) is wrong
    assert not found(machine("NVIDIA_REQUIRE_CUDA", value, *TORCH))
    assert not found(machine("NVIDIA_REQUIRE_CUDA", value, *TORCH, machine=inside, driver=None))


def test_a_working_driver_outweighs_what_a_container_was_asked_for():
    inside = linux_machine(container="docker")
    for variable, value in (("NVIDIA_VISIBLE_DEVICES", "void"), ("NVIDIA_DRIVER_CAPABILITIES", "utility")):
        assert not found(machine(variable, value, *TORCH, machine=inside))
    gone = working_driver(pci=(), gpus=(), nvml=None, cuda=None, nodes=(), modules=(), libraries=())
    (told,) = found(machine("NVIDIA_VISIBLE_DEVICES", "void", *TORCH, machine=inside, driver=gone))
    assert told.cause == "container_no_gpu_runtime"


@pytest.mark.parametrize(
    ("capabilities", "exact"),
    [("utility", True), ("graphics,video", True), ("compute,utility", False), ("all", False), ("", False)],
)
def test_a_container_without_cuda_leads_with_what_it_was_asked_for(capabilities: str, exact: bool):
    nodes = (DeviceNode(path="/dev/nvidia0"), DeviceNode(path="/dev/nvidiactl"))
    without = working_driver(cuda=CudaInit(problem="libcuda.so.1: cannot open"), libraries=(), nodes=nodes)
    inside = linux_machine(container="docker")
    seen = machine("NVIDIA_DRIVER_CAPABILITIES", capabilities, *TORCH, machine=inside, driver=without)
    head = diagnose(seen)[0]
    assert head.cause == "container_no_gpu_runtime"
    assert (head.id, "NVIDIA_DRIVER_CAPABILITIES" in head.title) == (
        ("driver.container-without-compute", True) if exact else ("driver.container-without-gpu", False)
    )
    assert not [f for f in found(seen) if f.subject == "NVIDIA_DRIVER_CAPABILITIES"]


@pytest.mark.parametrize(
    ("value", "unknown", "prefix", "wrong"),
    [("10G", ("10G",), "/env", True), ("10", ("10G",), "/env", False), ("10G", ("10G",), "/other", False)],
)
def test_values_that_a_frameworks_code_cannot_convert(value: str, unknown: tuple[str, ...], prefix: str, wrong: bool):
    seen = machine("JAX_COMPILATION_CACHE_MAX_SIZE", value, *JAX)
    at = seen.pythons[0].prefix if prefix == "/env" else prefix
    row = Vocabulary(
        variable="JAX_COMPILATION_CACHE_MAX_SIZE",
        prefix=at,
        files=("/s/config.py",),
        unknown=unknown,
        takes="whole number",
        line=7,
        reader="jax",
    )
    its = found(replace(seen, vocabularies=(row, row)))
    assert [(f.severity, f.subject) for f in its] == [(Severity.ERROR, row.variable)] * wrong
    assert all(any(e.source == "/s/config.py:7" for e in f.evidence) for f in its)


def test_code_that_an_import_need_not_come_to_is_a_warning():
    seen = machine("HF_DATASETS_SIZE", "10GB", *TORCH)
    row = Vocabulary(
        variable="HF_DATASETS_SIZE", prefix=seen.pythons[0].prefix, files=("/s/config.py",), unknown=("10GB",),
        takes="number", line=7, reader="datasets", sure=False,
    )  # fmt: skip
    assert [f.severity for f in found(replace(seen, vocabularies=(row,)))] == [Severity.WARNING]
    assert [f.severity for f in found(replace(seen, vocabularies=(replace(row, sure=True),)))] == [Severity.ERROR]
    idle = replace(row, sure=True, idle=True)  # no program in the folder uses it
    assert [f.severity for f in found(replace(seen, vocabularies=(idle,)))] == [Severity.NOTE]


@pytest.mark.parametrize(
    ("value", "unknown", "distributions", "wrong"),
    [
        ("theano", True, TENSORFLOW, True),
        ("tensorflow", False, TENSORFLOW, False),
        ("torch", False, TENSORFLOW, True),  # it is not installed here
        ("torch", False, (*TENSORFLOW, *TORCH), False),
    ],
)
def test_a_setting_that_a_framework_cannot_use(
    value: str, unknown: bool, distributions: tuple[Distribution, ...], wrong: bool
):
    seen = machine("PATH", "/usr/bin", *distributions)
    row = Vocabulary(
        variable="backend", prefix=seen.pythons[0].prefix, files=(), takes="words", reader="keras",
        setting="/home/ada/.keras/keras.json:4", unknown=(value,) if unknown else (), known=() if unknown else (value,),
    )  # fmt: skip
    its = found(replace(seen, vocabularies=(row,)))
    assert [(f.severity, f.cause) for f in its] == [(Severity.ERROR, "variable_value_wrong")] * wrong
    assert all(value in f.title and any(e.source == row.setting for e in f.evidence) for f in its)
    own = Start(
        id="script:/w/main.py",
        kind="script",
        at="/w/main.py",
        variables=(Variable(name="KERAS_BACKEND", value="torch"),),
    )
    assert not found(replace(seen, vocabularies=(row,), starts=(own,))), "the program sets what counts before the file"
    given = machine("KERAS_BACKEND", "tensorflow", *TENSORFLOW)
    assert not found(replace(given, vocabularies=(row,))), "and so does this way of starting"


@pytest.mark.parametrize(("version", "severity"), [("3.2.0", Severity.NOTE), ("3.4.0", Severity.ERROR)])
def test_a_folder_in_a_programs_place_by_release(version: str, severity: Severity):
    triton = Distribution(name="triton", version=version, location=SITE)
    place = NamedPlace(variable="TRITON_PTXAS_PATH", path="/srv", state="folder")
    (told,) = found(machine("TRITON_PTXAS_PATH", "/srv", triton, *TORCH, places=(place,)))
    assert told.severity is severity


@pytest.mark.parametrize("state", ["folder", "missing"])
def test_a_store_that_may_only_be_read_serves(state):
    place = NamedPlace(variable="TORCH_HOME", path="/srv", state=state, blocked="/srv")
    assert bool(found(machine("TORCH_HOME", "/srv", *TORCH, places=(place,)))) is (state == "missing")


def test_the_table_can_be_used():
    for contract in variable_contracts():
        assert contract.source.startswith("https://")
        re.compile(contract.readers)
        re.compile(contract.pattern)
        assert contract.kind not in ("words", "options", "capabilities", "devices") or contract.words
        assert contract.kind != "number" or contract.least < contract.most


@pytest.mark.parametrize(
    ("variable", "value", "wrong"),
    [("PYTHONHASHSEED", "8146213095", True), ("PYTHONHASHSEED", "4294967296", True), ("PYTHONHASHSEED", "4294967295", False),
     ("PYTHONHASHSEED", "random", False), ("PYTHONHASHSEED", "0042", False), ("PYTHONHASHSEED", "-1", True),
     ("PYTHONHASHSEED", "42 ", True), ("PYTHONHASHSEED", " 42", False), ("PYTHONHASHSEED", "random ", True), ("PYTHONHASHSEED", "", False),
     ("PYTHONTRACEMALLOC", "1 ", True), ("PYTHONTRACEMALLOC", " 1", False),
     ("PYTHONTRACEMALLOC", "65535", False), ("PYTHONTRACEMALLOC", "65536", True), ("PYTHONTRACEMALLOC", "99999999999", True),
     ("PYTHONUTF8", "true", True), ("PYTHONIOENCODING", "utf-8:replace", False), ("PYTHONMALLOC", "jemalloc", True)],
)  # fmt: skip
def test_values_that_the_interpreter_does_not_start_with(variable: str, value: str, wrong: bool):
    its = found(machine(variable, value, *TORCH))
    assert [f.severity for f in its] == [Severity.ERROR] * wrong
    run = subprocess.run(
        [sys.executable, "-c", ""], env={variable: value}, capture_output=True, check=False, timeout=60
    )
    assert (run.returncode != 0) is wrong  # so says the interpreter itself


@pytest.mark.parametrize(
    ("value", "meant"), [("42 ", "42"), (" 42\r", "42"), ('"42"', "42"), ("forty-two ", ""), ("42", "")],
    ids=["blank", "end of line", "quotation marks", "wrong besides", "right"],
)  # fmt: skip
def test_a_value_with_blanks_around_it_is_set_to_what_is_meant(value: str, meant: str):
    for one in found(machine("PYTHONHASHSEED", value, *TORCH)):
        right = PointTo(variable="PYTHONHASHSEED", folder=meant) if meant else None
        assert (one.remedy == right) is bool(meant)
        assert one.fix
        assert (one.fix.title == "Set PYTHONHASHSEED to 42") is bool(meant)


@pytest.mark.parametrize(
    ("variable", "value", "system", "told"),
    [
        ("HF_HOME", '"D:\\models"', "windows", True),
        ("SSL_CERT_FILE", '"D:\\certificates.pem"', "windows", True),
        ("HF_HOME", "D:\\models", "windows", False),
        ("HF_HOME", '"/models"', "linux", False),
        ("TOKENIZERS_PARALLELISM", '"true"', "windows", False),
    ],
)
def test_quotation_marks_that_the_name_of_a_folder_cannot_have(variable: str, value: str, system: str, told: bool):
    some = (
        *TORCH,
        *(Distribution(name=n, version="1.0", location=SITE) for n in ("huggingface-hub", "httpx", "requests")),
    )
    seen = machine(variable, value, *some)
    its = [
        f for f in found(replace(seen, machine=replace(seen.machine, system=system))) if "quotation marks" in f.title
    ]
    assert [(f.subject, f.cause) for f in its] == [(variable, "variable_value_wrong")] * told
    assert all(f.remedy == PointTo(variable=variable, folder=value.strip('"')) for f in its)


@pytest.mark.parametrize(("value", "told"), [("D:\new\\hf", True), ("D:\\new\\hf", False)])
def test_an_escape_of_a_file_of_variables_that_no_path_has(value: str, told: bool):
    seen = machine("HF_HOME", value, *TORCH, Distribution(name="huggingface-hub", version="1.0", location=SITE))
    its = found(replace(seen, machine=replace(seen.machine, system="windows")))
    assert [f.subject for f in its if "control character" in f.title] == ["HF_HOME"] * told


@pytest.mark.parametrize(("below", "there"), [("\\bin", True), ("\\bin", False), ("", True)])
def test_a_variable_of_the_toolkit_that_names_a_folder_of_one(below: str, there: bool):
    root = "C:\\CUDA\\v12.4"
    value = f"{root}{below}"
    row = Vocabulary(
        variable="CUDA_PATH", prefix=PREFIX, files=("C:\\s\\llama_cpp\\_ctypes_extensions.py",), unknown=(value,), takes="code", line=16,
        reader="llama-cpp-python", says="FileNotFoundError", sure=True,
    )  # fmt: skip
    llama = Distribution(name="llama-cpp-python", version="0.3.16", location=SITE)
    toolkits = (Toolkit(root=root, origin="installer", version="12.4"),) if there else ()
    seen = machine("CUDA_PATH", value, llama, vocabularies=(row,), toolkits=toolkits)
    (told,) = found(replace(seen, machine=replace(seen.machine, system="windows")))
    assert (told.cause, told.severity) == ("cuda_path_env_wrong", Severity.ERROR)
    names_it = told.remedy == PointTo(variable="CUDA_PATH", folder=root, right=(root,))
    assert names_it is bool(there and below)


def test_a_secret_with_a_blank_is_not_written_out():
    httpx = Distribution(name="httpx", version="0.28.1", location=SITE)
    (told,) = found(machine("HTTPS_PROXY", "http://ada:secret@proxy:8080\r", httpx))
    assert "secret" not in f"{told.fix} {told.remedy}"


@pytest.mark.parametrize(
    ("variable", "value", "reader", "wrong"),
    [("HF_ENDPOINT", "hf-mirror.com", "huggingface-hub", True), ("HF_ENDPOINT", "https://hf-mirror.com", "huggingface-hub", False),
     ("HF_ENDPOINT", "https://hf-mirror.com ", "huggingface-hub", True), ("HF_ENDPOINT", " https://hf-mirror.com", "huggingface-hub", False),
     ("HF_ENDPOINT", "hf-mirror.com", "numpy", False), ("HF_ENDPOINT", "", "huggingface-hub", False),
     ("NO_PROXY", "localhost,127.0.0.1,::1,[::1]", "httpx", True), ("no_proxy", "[::1]", "httpx", True),
     ("NO_PROXY", "localhost,127.0.0.1,::1,.local,10.0.0.0/8", "httpx", False), ("NO_PROXY", "http://[::1],a.org", "httpx", False),
     ("NO_PROXY", "*,[::1]", "httpx", False), ("NO_PROXY", "[::1]", "requests", False), ("NO_PROXY", "10.0.0.0/8,fc00::/7", "httpx", True),
     ("NO_PROXY", "fc00::/7,[::1]", "httpx==0.23.3", False), ("no_proxy", "localhost, 127.0.0.1, ::1", "httpx==0.24.0", True),
     ("NO_PROXY", "[::1]", "httpx==0.24.0", True), ("NO_PROXY", "localhost:8080,*", "httpx==0.24.0", False),
     ("NO_PROXY", "localhost,::1", "httpx==0.24.1", False), ("NO_PROXY", "fe80::1/64", "httpx==0.24.1", True)],
)  # fmt: skip
def test_addresses_that_their_readers_cannot_use(variable: str, value: str, reader: str, wrong: bool):
    name, _, release = reader.partition("==")
    its = found(machine(variable, value, Distribution(name=name, version=release or "1.0", location=SITE)))
    assert [(f.subject, f.severity) for f in its] == [(variable.upper(), Severity.WARNING)] * wrong


@pytest.mark.parametrize(
    ("reader", "values", "wrong"),
    [("torch", {"WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1"}, "RANK"),
     ("torch", {"WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "RANK": "0"}, ""),
     ("torch", {"WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "SLURM_PROCID": "0"}, ""),
     ("torch", {"WORLD_SIZE": "1"}, ""), ("numpy", {"WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1"}, ""),
     ("lightning", {"SLURM_NTASKS": "8", "SLURM_JOB_NAME": "train"}, "SLURM_NTASKS_PER_NODE"),
     ("lightning", {"SLURM_NTASKS": "8", "SLURM_JOB_NAME": "train", "SLURM_NTASKS_PER_NODE": "8"}, ""),
     ("lightning", {"SLURM_NTASKS": "8", "SLURM_JOB_NAME": "bash"}, ""),
     ("lightning", {"SLURM_NTASKS": "1", "SLURM_JOB_NAME": "train"}, ""), ("torch", {"SLURM_NTASKS": "8", "SLURM_JOB_NAME": "train"}, "")],
)  # fmt: skip
def test_variables_that_need_another(reader: str, values: dict[str, str], wrong: str):
    seen = machine("LANG", "C", Distribution(name=reader, version="2.6.0", location=SITE))
    given = tuple(Variable(name=n, value=v, source="job") for n, v in values.items())
    its = found(replace(seen, environment=Environment(variables=given)))
    assert [f.severity for f in its] == [Severity.WARNING] * bool(wrong)
    assert all(wrong in f.title for f in its)


@pytest.mark.parametrize(("runs", "wrong"), [(False, True), (True, False)])
@pytest.mark.parametrize("variable", ["TORCHINDUCTOR_CACHE_DIR", "TORCH_EXTENSIONS_DIR"])
def test_a_cache_that_nothing_can_be_loaded_from(variable: str, runs: bool, wrong: bool):
    place = NamedPlace(variable=variable, path="/drive/cache", state="missing", runs=runs)
    its = found(machine(variable, "/drive/cache", *TORCH, places=(place,)))
    assert [("noexec" in f.title, f.severity) for f in its] == [
        (True, Severity.WARNING)
    ] * wrong  # only compiling fails


def test_a_value_that_code_refuses_of_a_variable_that_no_report_lists():
    row = Vocabulary(
        variable="GRADIO_SERVER_PORT", prefix=PREFIX, files=("/s/gradio/http_server.py",), unknown=("tcp://10.0.0.1:80",), takes="whole number",
        line=30, reader="gradio", sure=True,
    )  # fmt: skip
    gradio = Distribution(name="gradio", version="5.44.1", location=SITE)
    value = row.unknown[0]
    (its,) = found(machine("GRADIO_SERVER_PORT", value, gradio, vocabularies=(row,)))
    assert (its.severity, its.subject, its.cause) == (Severity.ERROR, "GRADIO_SERVER_PORT", "variable_value_wrong")
    assert "tcp://10.0.0.1:80" in its.title
    assert not found(machine("LANG", "C", gradio, vocabularies=(row,)))  # the same machine without the variable


@pytest.mark.parametrize(("unknown", "wrong"), [(("tbb",), True), ((), False)])
def test_a_layer_whose_library_is_not_there(unknown: tuple[str, ...], wrong: bool):
    numba = Distribution(name="numba", version="0.61.2", location=SITE)
    row = Vocabulary(variable="NUMBA_THREADING_LAYER", prefix=PREFIX, files=("/s/tbbpool.so",), unknown=unknown)
    its = found(machine("NUMBA_THREADING_LAYER", "tbb", numba, vocabularies=(row,)))
    assert [(f.severity, "libtbb.so.12" in f.title) for f in its] == [(Severity.WARNING, True)] * wrong


@pytest.mark.parametrize(
    ("value", "other", "wrong"),
    [
        ("1", "1", True),
        ("true", "y", True),
        ("1", "0", False),
        ("0", "1", False),
        ("1", "", False),
        ("1", "TRUE", False),
    ],
)
def test_two_variables_of_which_one_excludes_the_other(value: str, other: str, wrong: bool):
    seen = machine("TORCH_FORCE_WEIGHTS_ONLY_LOAD", value, *TORCH)
    more = Variable(name="TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", value=other, source="environment")
    seen = replace(seen, environment=replace(seen.environment, variables=(*seen.environment.variables, more)))
    its = found(seen)
    assert [f.subject for f in its] == ["TORCH_FORCE_WEIGHTS_ONLY_LOAD"] * wrong
    assert all(more.name in f.title for f in its)


@pytest.mark.parametrize(
    ("value", "wrong"),
    [("FileCacheManager", True), ("triton.runtime.cache.FileCacheManager", True), ("a:b:C", True), ("triton.runtime.cache:FileCacheManager", False), ("", False)],
)  # fmt: skip
def test_a_class_without_its_module(value: str, wrong: bool):
    triton = Distribution(name="triton", version="3.4.0", location=SITE)
    its = found(machine("TRITON_CACHE_MANAGER", value, triton))
    assert [f.subject for f in its] == ["TRITON_CACHE_MANAGER"] * wrong
    assert all("MODULE:CLASS" in f"{f.evidence}" for f in its)


@pytest.mark.parametrize("state", ["missing", "file", "folder"])
def test_plugins_of_jax_by_name_and_path(state: str):
    named = NamedPlace(variable="PJRT_NAMES_AND_LIBRARY_PATHS", path="/opt/b.so", state=state)
    its = found(machine(named.variable, "cuda:/opt/a.so,other:/opt/b.so", *JAX, places=(named,)))
    assert [f.subject for f in its] == [named.variable] * (state != "file")
    assert all("/opt/b.so" in f.title for f in its)


def test_flags_in_a_file_that_the_variable_names():
    file = NamedPlace(variable="XLA_FLAGS", path="/home/a/xla.flags", state="file", holds=("--xla_of_tomorrow=true",))
    row = Vocabulary(
        variable="XLA_FLAGS", prefix=PREFIX, files=("/s/libjax_common.so",), known=(), unknown=("xla_of_tomorrow",)
    )
    (its,) = found(machine("XLA_FLAGS", file.path, *JAX, places=(file,), vocabularies=(row,)))
    assert "xla_of_tomorrow" in its.title
    assert file.path in f"{its.evidence}"
    assert not found(machine("XLA_FLAGS", file.path, *JAX, places=(file,), vocabularies=()))
    wrong = replace(file, holds=("--xla_gpu_autotune_level=high",))
    assert len(found(machine("XLA_FLAGS", file.path, *JAX, places=(wrong,), vocabularies=()))) == 1


def test_a_secret_with_letters_that_no_header_takes():
    hub = Distribution(name="huggingface-hub", version="0.36.0", location=SITE)
    row = Vocabulary(
        variable="HF_TOKEN", prefix=PREFIX, files=(), unknown=("“", "”"), takes="header", reader=hub.name, sure=False
    )
    (its,) = found(machine("TZ", "UTC", hub, vocabularies=(row,)))
    assert (its.subject, its.cause, its.severity) == ("HF_TOKEN", "variable_value_wrong", Severity.WARNING)
    assert "“" in its.title
    assert not found(machine("TZ", "UTC", hub, vocabularies=(replace(row, prefix="/other"),)))


def test_a_program_whose_own_module_a_variable_leaves_out():
    row = Vocabulary(
        variable="PYTHONSAFEPATH", prefix=PREFIX, files=("/w/main.py",), known=("model",), unknown=("1",), takes="beside",
        line=1, sure=False,
    )  # fmt: skip
    (its,) = found(machine("PYTHONSAFEPATH", "1", *TORCH, vocabularies=(row,)))
    assert (its.subject, its.cause, its.severity) == ("PYTHONSAFEPATH", "variable_value_wrong", Severity.WARNING)
    assert not found(machine("PYTHONSAFEPATH", "1", *TORCH, vocabularies=()))


def test_a_proxy_for_this_machine_too():
    place = NamedPlace(variable="HTTP_PROXY", path="/home/ada/work/main.py", state="file", holds=("127.0.0.1",))
    its = Distribution(name="requests", version="2.32.3", location=SITE)
    seen = machine("http_proxy", "http://proxy.lab:3128", its, places=(place,))
    (one,) = found(replace(seen, imports=(ImportSearch(prefix=PREFIX, idle=("requests",)),)))  # Gradio may ask by it
    assert (one.cause, one.severity) == ("variable_value_wrong", Severity.WARNING)
    assert "main.py" in one.title
    assert one.fix is not None
    assert "NO_PROXY" in one.fix.title
    assert not found(machine("http_proxy", "http://proxy.lab:3128", its))


def test_a_program_whose_package_lies_among_the_users_own():
    row = Vocabulary(
        variable="PYTHONNOUSERSITE", prefix=PREFIX, files=("/w/main.py", "/u/site-packages"), known=("torch",), unknown=("1",),
        takes="beside", line=1, sure=False,
    )  # fmt: skip
    (its,) = found(machine("PYTHONNOUSERSITE", "1", *TORCH, vocabularies=(row,)))
    assert (its.subject, its.cause, its.severity) == ("PYTHONNOUSERSITE", "variable_value_wrong", Severity.WARNING)
    assert "among the user's own packages" in its.title
    assert "/u/site-packages" in its.why


def test_a_list_where_one_folder_must_stand():
    value = ":/usr/local/cuda-12.8"
    place = NamedPlace(variable="CUDA_HOME", path=value, state="missing")
    (one,) = [f for f in found(machine("CUDA_HOME", value, *TORCH, places=(place,))) if f.id.startswith("environment.")]
    assert (one.cause, one.severity) == ("cuda_path_env_wrong", Severity.WARNING)
    whole = NamedPlace(variable="CUDA_HOME", path="/usr/local/cuda-12.8", state="missing")
    for its in ((), (whole,)):
        assert not found(machine("CUDA_HOME", value if not its else whole.path, *TORCH, places=its))


@pytest.mark.parametrize(("version", "remedy"), [("12.4", PointTo), ("13.0", type(None)), ("", Unset)])
def test_a_wrong_cuda_home_leads_to_a_toolkit_that_fits_or_is_left(version: str, remedy: type):
    """Without the variable PyTorch takes the compiler that it finds, and refuses one of another major release."""
    value = ":/usr/local/cuda-12.8"
    place = NamedPlace(variable="CUDA_HOME", path=value, state="missing")
    build = FrameworkBuild(prefix=PREFIX, distribution="torch", version="2.8.0", cuda="12.8")
    root = f"/usr/local/cuda-{version}"
    there = (Toolkit(root=root, origin="installer", version=version, nvcc=f"{root}/bin/nvcc"),) if version else ()
    seen = machine("CUDA_HOME", value, *TORCH, places=(place,), frameworks=Frameworks(builds=(build,)), toolkits=there)
    (one,) = [f for f in found(seen) if f.id.startswith("environment.")]
    assert type(one.remedy) is remedy


@pytest.mark.parametrize(
    ("value", "words", "word"),
    [
        ("off", ("online", "offline", "disabled"), "disabled"),
        ("False", ("OFF", "INFO", "DETAIL"), "OFF"),
        ("of", ("online", "offline", "disabled"), ""),
        ("off", ("off", "no", "yes"), ""),
        ("off", ("", "cpu", "cuda"), ""),
    ],
)
def test_a_word_for_off_that_the_reader_does_not_know_has_one_that_it_knows(
    value: str, words: tuple[str, ...], word: str
):
    assert word_for_off(value, words) == word


def test_a_value_that_means_off_is_said_in_the_readers_own_word():
    (its,) = found(machine("TORCH_DISTRIBUTED_DEBUG", "none", *TORCH))
    assert its.remedy == PointTo(variable="TORCH_DISTRIBUTED_DEBUG", folder="OFF", right=("OFF",))
    (other,) = found(machine("TORCH_DISTRIBUTED_DEBUG", "much", *TORCH))
    assert isinstance(other.remedy, Unset)


@pytest.mark.parametrize(
    ("variable", "value", "holds", "severity"),
    [
        ("LC_ALL", "de_DE.UTF-8", ("de_DE.UTF-8",), Severity.WARNING),
        ("LC_ALL", "fr_FR.UTF-8", ("de_DE.UTF-8",), None),
        ("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "1", ("argparse.Namespace",), Severity.ERROR),
        ("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "1", (), None),
    ],
)
def test_a_value_against_what_a_program_of_the_folder_does(
    variable: str, value: str, holds: tuple[str, ...], severity: Severity | None
):
    seen = machine(variable, value, *TORCH)
    assert seen.environment is not None
    place = NamedPlace(variable=variable, path="/w/main.py", state="file", holds=holds)
    its = found(replace(seen, environment=replace(seen.environment, places=(place,))))
    assert [(f.severity, f.subject) for f in its] == [(severity, variable)] * bool(severity)
    assert all("/w/main.py" in f.title for f in its)


def test_a_key_that_an_older_release_refuses_and_that_is_not_shown():
    row = Vocabulary(
        variable="WANDB_API_KEY", prefix=PREFIX, files=("/w/apikey.py",), known=("40",), unknown=("86",),
        takes="key length", reader="wandb 0.19.11", sure=False,
    )  # fmt: skip
    seen = machine("OTHER", "1", *TORCH, Distribution(name="wandb", version="0.19.11", location=SITE))
    (one,) = own_code.keys_of_another_length(replace(seen, vocabularies=(row,)))
    assert (one.cause, one.severity, one.remedy) == ("variable_value_wrong", Severity.WARNING, None)
    assert all(word in one.title for word in ("86", "40", "wandb 0.19.11"))
    assert one.fix is not None
    assert "wandb" in one.fix.advice


@pytest.mark.parametrize(
    ("values", "asks", "wrong"),
    [
        ({"RANK": "0", "WORLD_SIZE": "1"}, True, "MASTER_ADDR and MASTER_PORT are not."),
        ({"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "localhost"}, True, "MASTER_PORT is not."),
        ({"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "localhost", "MASTER_PORT": "29500"}, True, ""),
        ({"RANK": "0", "WORLD_SIZE": "1", "SLURM_JOB_ID": "7"}, True, ""),
        ({"RANK": "0"}, True, ""),
        ({"RANK": "0", "WORLD_SIZE": "1"}, False, ""),
    ],
)
def test_a_rank_without_the_address_of_its_group(values: dict[str, str], asks: bool, wrong: str):
    seen = machine("LANG", "C", Distribution(name="torch", version="2.6.0", location=SITE))
    asking = NamedPlace(variable="RANK", path="/work/main.py", state="file", holds=("0",))
    given = tuple(Variable(name=n, value=v, source="job") for n, v in values.items())
    its = found(replace(seen, environment=Environment(variables=given, places=(asking,) if asks else ())))
    assert [f.title.partition("but ")[2] for f in its] == ([wrong] if wrong else [])


@pytest.mark.parametrize(
    ("value", "asks", "others", "wrong"),
    [("true", True, (), True), ("True", True, (), False), ("false", True, (), False), ("true", False, (), False), ("true", True, ("deepspeed",), False)],
)  # fmt: skip
def test_a_package_that_a_variable_of_accelerate_asks_for(value: str, asks: bool, others: tuple[str, ...], wrong: bool):
    installed = [Distribution(name=n, version="1.6.0", location=SITE) for n in ("accelerate", *others)]
    asking = NamedPlace(variable="ACCELERATE_USE_DEEPSPEED", path="/work/main.py", state="file", holds=(value,))
    seen = machine("ACCELERATE_USE_DEEPSPEED", value, *installed, places=(asking,) if asks else ())
    assert ["'DeepSpeed', which is not installed" in f.title for f in found(seen)] == [True] * wrong


@pytest.mark.parametrize(
    ("value", "asks", "wrong"),
    [("info", True, True), ("INFO", True, False), ("info", False, False), ("20", True, True)],
)
def test_a_word_that_only_a_starter_of_several_processes_reads(value: str, asks: bool, wrong: bool):
    torch = Distribution(name="torch", version="2.6.0", location=SITE)
    asking = NamedPlace(variable="LOGLEVEL", path="/work/run.sh", state="file", holds=(value,))
    its = [f for f in found(machine("LOGLEVEL", value, torch, places=(asking,) if asks else ())) if f.subject]
    assert [f.subject for f in its] == (["LOGLEVEL"] if wrong else [])


def test_a_layer_of_numba_that_is_none():
    numba = Distribution(name="numba", version="0.61.2", location=SITE)
    (its,) = found(machine("NUMBA_THREADING_LAYER", "openmp", numba))
    assert its.severity == Severity.WARNING
    assert not found(machine("NUMBA_THREADING_LAYER", "omp", numba))


@pytest.mark.parametrize(("sure", "idle", "severity"), [(True, False, Severity.ERROR), (False, False, Severity.WARNING), (True, True, Severity.NOTE)])  # fmt: skip
def test_a_file_of_settings_that_is_not_in_its_form(sure: bool, idle: bool, severity: Severity):
    row = Vocabulary(variable="YAML", prefix=PREFIX, files=("/h/dask.yaml", "dask"), takes="form", line=2, reader="dask", says="a tab", sure=sure, idle=idle)  # fmt: skip
    (told,) = found(replace(machine("LANG", "C", *TORCH), vocabularies=(row,)))
    assert (told.cause, told.severity, told.subject) == ("variable_value_wrong", severity, "/h/dask.yaml")


@pytest.mark.parametrize(
    ("value", "wrong"),
    [("http://ada:p#x@proxy:3128", True), ("http://ada:p/x@proxy:3128", True), ("http://ada:p%23x@proxy:3128", False), ("http://ada:@[::1]:3128/", False),
     ("http://proxy:", False), ("proxy:3128", False), ("", False)],
)  # fmt: skip
def test_an_address_that_ends_within_its_password(value: str, wrong: bool):
    assert lacks_port(value) is wrong


def test_a_proxy_whose_address_ends_early_is_told_without_its_password():
    row = Vocabulary(variable="HTTPS_PROXY", prefix=PREFIX, files=(), known=("https_proxy",), takes="address", reader="httpx", sure=False)  # fmt: skip
    (told,) = found(replace(machine("LANG", "C", *TORCH), vocabularies=(row,)))
    assert (told.cause, told.severity, told.remedy) == ("variable_value_wrong", Severity.WARNING, None)
    assert "https_proxy" in [e.value for e in told.evidence]


def test_a_folder_near_the_named_one_is_told_and_offered():
    place = NamedPlace(variable="KAGGLE_CONFIG_DIR", path="/keys", state="folder", near="/keys/kaggle")
    kaggle = Distribution(name="kaggle", version="1.6.17", location=SITE)
    (told,) = found(machine("KAGGLE_CONFIG_DIR", "/keys", kaggle, places=(place,)))
    assert (told.severity, told.remedy) == (
        Severity.WARNING,
        PointTo(variable="KAGGLE_CONFIG_DIR", folder="/keys/kaggle"),
    )
    assert "/keys/kaggle has it" in told.title


@pytest.mark.parametrize(
    ("host", "container", "loud"),
    [("10.0.0.6", None, True), ("node.cluster", None, True), ("node.cluster", "docker", True), ("master", "docker", False), ("10.0.0.6", "docker", False)],
)  # fmt: skip
def test_the_first_rank_asks_itself_at_another_machine(host: str, container: str | None, loud: bool):
    """A container is reached by its host's address and by the name of a service."""
    place = NamedPlace(variable="MASTER_ADDR", path="/w/main.py", state="file", holds=(host,))
    seen = machine("MASTER_ADDR", host, *TORCH, places=(place,))
    assert seen.environment
    ranks = (Variable(name="RANK", value="0"), Variable(name="WORLD_SIZE", value="2"))
    here = replace(seen.environment, variables=(*seen.environment.variables, *ranks))
    seen = replace(seen, environment=here, machine=replace(seen.machine, container=container))
    assert any("MASTER_ADDR" in f.title for f in found(seen)) is loud
    assert not [f for f in found(replace(seen, environment=replace(here, places=()))) if "MASTER_ADDR" in f.title]
