"""What dev.py says before it runs the tests."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import dev


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_a_folder_that_a_second_user_cannot_enter_is_named() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as made:
        closed, checkout = Path(made), Path(made, "checkout")
        checkout.mkdir(mode=0o755)
        assert dev.closed_folder(checkout) == closed
        closed.chmod(0o755)
        assert dev.closed_folder(checkout) is None


def test_modules_are_compiled_before_the_tests_even_where_no_process_writes_byte_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    module = tmp_path / "core" / "one.py"
    module.parent.mkdir()
    module.write_text("found = 1\n")
    monkeypatch.setattr(dev, "ROOT", tmp_path)
    monkeypatch.setattr(dev, "PYTHON", sys.executable)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    dev.compile_modules()
    compiled = module.parent / "__pycache__" / f"one.{sys.implementation.cache_tag}.pyc"
    module.with_name("two.py").write_text("import one\nprint(one.__cached__)\n")
    done = subprocess.run(
        [sys.executable, "-v", "two.py"], cwd=module.parent, capture_output=True, text=True, check=True
    )
    assert Path(done.stdout.strip()) == compiled
    assert f"code object from {str(compiled)!r}" in done.stderr
