"""Functions that a PE file imports, and those that a DLL does not export."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.loader import pe_symbols
from core.loader.files import BLOCK_BYTES, BlockSource, open_source
from core.loader.pe_symbols import imported_functions, lacking_functions
from tests.loader import build

WANTS = {"cublas64_12.dll": ("cublasCreate_v2", "cublasDgemm", "cublasSgemm_v2"), "cudart64_12.dll": ("cudaFree",)}


@pytest.fixture
def consumer(tmp_path: Path) -> Path:
    path = tmp_path / "provider.dll"
    path.write_bytes(build.pe((*WANTS, "KERNEL32.dll"), functions=WANTS))
    return path


def test_what_is_imported_by_name(consumer: Path) -> None:
    assert imported_functions(consumer) == {**WANTS, "kernel32.dll": ()}


@pytest.mark.parametrize("several", [1, 500])
@pytest.mark.parametrize("lacking", [(), ("cublasDgemm",), ("cublasCreate_v2", "cublasSgemm_v2")])
def test_what_is_not_exported(
    consumer: Path, tmp_path: Path, lacking: tuple[str, ...], several: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pe_symbols, "SEVERAL", several)
    offers = tuple(f for f in ("aaa", *WANTS["cublas64_12.dll"], "zzz") if f not in lacking)
    provider = tmp_path / "cublas64_12.dll"
    provider.write_bytes(build.pe(exports=offers))
    assert lacking_functions(consumer, "CUBLAS64_12.dll", provider) == lacking


@pytest.mark.parametrize("several", [1, 500])
@pytest.mark.parametrize("content", [b"", b"MZ short", b"\x7fELF", build.pe(tuple(WANTS))[:600]])
def test_what_cannot_be_read_lacks_nothing_that_is_known(
    consumer: Path, tmp_path: Path, content: bytes, several: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pe_symbols, "SEVERAL", several)
    provider = tmp_path / "cublas64_12.dll"
    provider.write_bytes(content)
    assert imported_functions(provider) == {}
    lacking_functions(consumer, "cublas64_12.dll", provider)  # no exception


def test_a_name_that_nobody_imports(consumer: Path) -> None:
    assert lacking_functions(consumer, "cufft64_11.dll", consumer) == ()


@pytest.mark.parametrize("several", [1, 500])
def test_long_decorated_names_are_compared_whole(tmp_path: Path, several: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pe_symbols, "SEVERAL", several)
    long = "?generate@" + "V?$vector@" * 380
    wants = {"ctranslate2.dll": (long, "x" * 20_000)}
    consumer, provider = tmp_path / "_ext.pyd", tmp_path / "ctranslate2.dll"
    consumer.write_bytes(build.pe(tuple(wants), functions=wants))
    provider.write_bytes(build.pe(exports=(long,)))
    assert imported_functions(consumer) == {"ctranslate2.dll": (long,)}
    assert lacking_functions(consumer, "ctranslate2.dll", provider) == ()


def test_blocks_give_what_the_file_has(tmp_path: Path) -> None:
    path = tmp_path / "long"
    path.write_bytes(bytes(n % 251 for n in range(3 * BLOCK_BYTES + 17)))
    with open_source(path) as source:
        blocks = BlockSource(source)
        for at in (-1, 0, BLOCK_BYTES - 3, 2 * BLOCK_BYTES, 3 * BLOCK_BYTES + 10, 4 * BLOCK_BYTES):
            for size in (0, 1, 8, BLOCK_BYTES + 9, 3 * BLOCK_BYTES):
                assert blocks.read(at, size) == source.read(at, size)
