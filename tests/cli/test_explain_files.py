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


@pytest.mark.parametrize("content", [b"\x7fELF\x02\x01\x01", b"PK\x03\x04\x14\x00", bytes(range(256)) * 9])
def test_a_binary_file_is_no_text(content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "libcudnn.so.9"
    file.write_bytes(content)
    assert main(["explain", "--text-only", str(file)]) == 2
    assert "libcudnn.so.9 is no text file. Save the message as text" in capsys.readouterr().err


@pytest.mark.parametrize(
    "content",
    [
        b"\x00" * 4096 + b"\x1b[31mCUDNN_STATUS_NOT_INITIALIZED\x1b[0m\r\n",
        "Fehler: CUDNN_STATUS_NOT_INITIALIZED, schließe".encode("utf-16"),
        "Fehler: CUDNN_STATUS_NOT_INITIALIZED, schließe".encode("cp1252"),
        "\u932f\u8aa4: CUDNN_STATUS_NOT_INITIALIZED".encode("big5"),
    ],
)
def test_a_log_with_a_hole_colours_or_another_encoding_is_text(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.log"
    file.write_bytes(content)
    assert main(["explain", "--text-only", str(file)]) == 0
    assert "CUDNN_STATUS_NOT_INITIALIZED" in capsys.readouterr().out


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


def test_a_folder_may_have_the_name_of_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("logs", "driver"):
        (tmp_path / name).mkdir()
    assert main(["explain", "--text-only", "logs"]) == 2
    assert "logs is a folder" in capsys.readouterr().err
    assert main(["explain", "--text-only", "driver"]) == 0
    assert "driver" in capsys.readouterr().out


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
