"""cuDNN's file names, and the names that it asks a loader for."""

from __future__ import annotations

import pytest

from core.explain.context import compiled_and_loaded, decode_cudnn_version
from core.knowledge.cudnn_file_names import (
    is_link_library,
    names_tried,
    parse_cudnn_name,
    role_of,
    shipped_name,
    sub_libraries,
    version_text,
)
from core.knowledge.library_names import parse_library_name
from core.loader.cudnn_version import _decimal_version as from_code
from core.model.facts import System
from core.probes.python.trials.run import cudnn_version


@pytest.mark.parametrize(
    ("name", "system", "expected"),
    [
        ("libcudnn.so.9", "linux", ("", 9, "9", False)),
        ("libcudnn.so.8.9.7", "linux", ("", 8, "8.9.7", False)),
        ("libcudnn_engines_runtime_compiled.so.9.1.0", "linux", ("engines_runtime_compiled", 9, "9.1.0", False)),
        ("libcudnn_cnn_infer.so.8", "linux", ("cnn_infer", 8, "8", False)),
        ("libcudnn.so", "linux", ("", None, "", False)),
        ("libcudnn-f0ff4753.so.8.1.1", "linux", ("", 8, "8.1.1", True)),
        ("cudnn64_7.dll", "windows", ("", 7, "7", False)),
        ("cudnn_cnn_infer64_8.dll", "windows", ("cnn_infer", 8, "8", False)),
        ("CUDNN_Engines_Precompiled64_9.DLL", "windows", ("engines_precompiled", 9, "9", False)),
    ],
)
def test_a_name_says_role_and_major(name: str, system: System, expected: tuple[str, int | None, str, bool]) -> None:
    what = parse_cudnn_name(name, system)
    assert what is not None
    assert (what.role, what.major, what.release, what.hashed) == expected


@pytest.mark.parametrize(
    ("name", "system"),
    [
        ("libcudnn_static.a", "linux"),
        ("libcudnn.so.9.bak", "linux"),
        ("libcudnn_frontend.py", "linux"),
        ("libcudnnx.so.9", "linux"),
        ("cudnn64_9.dll", "linux"),
        ("cudnn64_9.dll.old", "windows"),
        ("cudnn.lib", "windows"),
        ("libcudnn.so.9", "windows"),
    ],
)
def test_other_files_are_none_of_it(name: str, system: System) -> None:
    assert parse_cudnn_name(name, system) is None


def test_files_for_compilers() -> None:
    names = ("cudnn.lib", "cudnn64_9.lib", "CUDNN64_8.LIB", "cudnn_ops64_9.lib", "libcudnn_static.a", "cudnn64_9.dll")
    assert [n for n in names if is_link_library(n)] == ["cudnn.lib", "cudnn64_9.lib", "CUDNN64_8.LIB"]


@pytest.mark.parametrize(
    ("major", "version", "system", "names"),
    [
        (
            9,
            "9.10.2",
            "linux",
            ("libcudnn_ops.so.9.10.2", "libcudnn_ops.so.9.10", "libcudnn_ops.so.9", "libcudnn_ops.so"),
        ),
        (9, None, "linux", ("libcudnn_ops.so.9", "libcudnn_ops.so")),
        (9, "9.10.2", "windows", ("cudnn_ops64_9.dll",)),
        (8, "8.9.7", "linux", ("libcudnn_ops.so.8",)),
    ],
)
def test_the_names_that_are_asked_for_in_order(
    major: int, version: str | None, system: System, names: tuple[str, ...]
) -> None:
    assert names_tried("ops", major, version, system) == names


def test_sub_libraries_are_those_of_this_major_or_unversioned() -> None:
    words = ("libcudnn_graph.so", "libcudnn.so.9", "libcudnn_ops_infer.so.8", "libcublas.so.12", "libcudnn_graph.so.9")
    assert sub_libraries(words, 9, "linux") == ("graph",)
    assert sub_libraries(words, 8, "linux") == ("ops_infer",)


@pytest.mark.parametrize(
    ("code", "version"),
    [(7605, "7.6.5"), (8907, "8.9.7"), (90100, "9.1.0"), (92800, "9.28.0"), (0, None), (-1, None), (6021, "6.0.21")],
)
def test_the_number_that_cudnn_returns(code: int, version: str | None) -> None:
    assert version_text(code) == version


def test_names_of_shipped_files() -> None:
    assert shipped_name("", 9, "linux") == "libcudnn.so.9"
    assert shipped_name("adv_train", 8, "windows") == "cudnn_adv_train64_8.dll"


NAMES: list[tuple[str, str, int | None]] = [
    ("libcudnn.so.9", "", 9),
    ("libcudnn.so.8.9.7", "", 8),
    ("libcudnn.so", "", None),
    ("libcudnn-f0ff4753.so.8.1.1", "", 8),
    ("libcudnn_engines_precompiled.so.9.1.0", "engines_precompiled", 9),
    ("libcudnn_ops_infer.so.8", "ops_infer", 8),
    ("cudnn64_9.dll", "", 9),
    ("cudnn64_10.dll", "", 10),
    ("cudnn_cnn_infer64_8.dll", "cnn_infer", 8),
]


@pytest.mark.parametrize(("name", "role", "major"), NAMES)
def test_a_name_means_the_same_to_probes_rules_and_explanations(name: str, role: str, major: int | None) -> None:
    system: System = "windows" if name.endswith(".dll") else "linux"
    known, seen, named = parse_cudnn_name(name), parse_cudnn_name(name, system), parse_library_name(name)
    assert known == seen
    assert seen is not None
    assert named is not None
    assert (seen.role, seen.major) == (role_of(name), major) == (role, major)
    assert (named.family, named.part, named.major, named.platform) == ("cudnn", role, major, system)


@pytest.mark.parametrize("name", ["libcudnn.so.9.bak", "libcudnnx.so.9", "cudnn64_9.dll.old", "libcudnn_static.so.9"])
def test_what_is_no_library_of_cudnn_has_no_part(name: str) -> None:
    assert parse_cudnn_name(name) is None
    assert role_of(name) is None


def test_a_module_that_is_named_after_cudnn_is_no_part_of_it() -> None:
    module = parse_library_name("cudnn.cp310-win_amd64.pyd")
    assert module is not None
    assert (module.family, module.part, module.major) == ("cudnn", "", None)


@pytest.mark.parametrize("code", [90_000, 90_100, 91_002, 92_800, 100_000, 120_304])
def test_a_number_means_the_same_in_a_binary_in_a_text_and_from_a_child(code: int) -> None:
    version = version_text(code)
    assert version is not None
    assert version == from_code(code) == cudnn_version(str(code))
    if code < 100_000:
        assert compiled_and_loaded(f"cudnn: loaded runtime {code} but source was compiled with 9.99.9") is not None
        assert ".".join(map(str, decode_cudnn_version(str(code)))) == version


@pytest.mark.parametrize("code", [0, 999, 12_345, 89_999, 1_000_000])
def test_a_number_of_no_cudnn_is_no_version(code: int) -> None:
    """10,000 to 89,999 were read as 10.0.0 to 89.9.99 in one place and as 1.0.0 to 8.99.99 in another."""
    assert version_text(code) is None
    assert decode_cudnn_version(str(code)) == ()
    assert cudnn_version(str(code)) == str(code)
