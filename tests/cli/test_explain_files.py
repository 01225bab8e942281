"""What the command explain takes as its text: a file that is there, and no name of one that is not."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest

from core.cli.main import main


@pytest.mark.parametrize(
    "name", ["nosuch.log", "logs/nosuch.txt", r"C:\logs\no such.log", "error.png", "/var/nosuch", "~/nosuch"]
)
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


@pytest.mark.parametrize("content", [b"", b" \r\n\n", "\ufeff\n".encode("utf-16-le"), b"\xef\xbb\xbf"])
def test_an_empty_file_is_told_as_one(content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "message.txt"
    file.write_bytes(content)
    assert main(["explain", "--text-only", str(file)]) == 2
    assert "message.txt is empty. Specify the whole message" in capsys.readouterr().err


def test_an_empty_argument_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--text-only", ""]) == 2
    assert "The text is empty." in capsys.readouterr().err


def test_a_folder_holds_no_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--text-only", str(tmp_path)]) == 2
    assert "is a folder" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="shells have no such pipes there")
def test_a_pipe_that_a_shell_names_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``convalesce explain <(COMMAND)``."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b"CUDNN_STATUS_NOT_INITIALIZED",))
    writer.start()
    assert main(["explain", "--text-only", str(pipe)]) == 0
    writer.join()
    assert "CUDNN_STATUS_NOT_INITIALIZED" in capsys.readouterr().out


@pytest.mark.parametrize(
    "text", ["libcudnn.so.9", "cudnn64_8.dll", "CUDNN_STATUS_NOT_INITIALIZED", "RTX 4090: out of memory"]
)
def test_names_and_messages_stay_texts(text: str) -> None:
    assert main(["explain", "--text-only", text]) == 0
