"""The wine lab's own data; that it works is shown by every test that runs in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.windows import lab

LOCK = """# made by a tool
colorama==0.4.6 ; sys_platform == 'win32' \\
    --hash=sha256:aa \\
    --hash=sha256:bb
    # via pytest
cffi==2.1 ; platform_python_implementation != 'PyPy' and sys_platform != 'win32' \\
    --hash=sha256:ee
ruff==0.1 \\
    --hash=sha256:cc
    # via convalesce
msgspec==0.22.0 \\
    --hash=sha256:dd
    # via convalesce
"""


def test_windows_gets_the_locked_packages_that_run_there() -> None:
    assert lab.windows_lock(LOCK) == (
        "colorama==0.4.6 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\n    # via pytest\n"
        "msgspec==0.22.0 \\\n    --hash=sha256:dd\n    # via convalesce\n"
    )


def test_the_project_s_own_lock_has_what_its_tests_import() -> None:
    names = {
        line.partition("==")[0]
        for line in lab.windows_lock((lab.ROOT / "requirements/dev.txt").read_text()).splitlines()
    }
    assert {"msgspec", "pefile", "pyelftools", "pytest", "hypothesis", "pyside6-essentials"} <= names
    assert not names & set(lab.NOT_FOR_WINDOWS)


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("python311.dll", "python311.dll"),
        ("VCRUNTIME140.dll", "vcruntime140.dll"),
        ("_ctypes.pyd", "DLLs/_ctypes.pyd"),
        ("libcrypto-3.dll", "DLLs/libcrypto-3.dll"),
        ("api-ms-win-crt-heap-l1-1-0.dll", ""),
        ("python3.dll", ""),
        ("_wmi.pyd", ""),
        ("_testcapi.pyd", ""),
        ("_ssl.cp313t-win_amd64.pyd", ""),
        ("", ""),
    ],
)
def test_where_a_file_of_the_interpreter_belongs(name: str, place: str) -> None:
    assert lab._place(name, "311") == place


def test_the_cache_can_be_put_elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CONVALESCE_CACHE", str(tmp_path))
    assert lab.cache() == tmp_path
    monkeypatch.setenv("CONVALESCE_CACHE", "")
    assert lab.cache() == Path.home() / ".cache/convalesce"
