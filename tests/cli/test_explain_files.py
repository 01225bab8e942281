"""What the command explain takes as its text: a file that is there, and no name of one that is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.cli.main import main


@pytest.mark.parametrize("name", ["nosuch.log", "logs/nosuch.txt", r"C:\logs\no such.log", "error.png"])
def test_a_file_that_is_not_there_is_an_error(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["explain", "--text-only", name]) == 2
    assert f"There is no file {name}." in capsys.readouterr().err


def test_a_picture_is_no_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "shot.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n")
    assert main(["explain", "--text-only", str(picture)]) == 2
    assert "is a picture" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text", ["libcudnn.so.9", "cudnn64_8.dll", "CUDNN_STATUS_NOT_INITIALIZED", "RTX 4090: out of memory"]
)
def test_names_and_messages_stay_texts(text: str) -> None:
    assert main(["explain", "--text-only", text]) == 0
