"""Variables of another account's choice under an administrator (``sudo -E``): none makes a program load, read or write there."""

from __future__ import annotations

import importlib.util
import json
import os
import struct
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from core.common import i18n
from core.host import ownership, provenance
from tests.malice.conftest import EVE, ROOT, Box, needs_root
from tests.malice.planted import library, owned
from tests.malice.test_surroundings import WINDOW

pytestmark = needs_root

SYSTEM = str(Path(getattr(sys, "_base_executable", sys.executable)).resolve())
"""An administrator's own Python, with a user site."""
SITE = f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"


def as_root(code: str, given: Mapping[str, str], *, filtered: bool) -> str:
    """Run Python as an administrator's program of Convalesce's does; unfiltered, to see that the attack is one."""
    env = {"PATH": "/usr/bin:/bin", **given}
    env = provenance.trusted_environment(env) if filtered else env
    done = subprocess.run([SYSTEM, "-c", code], cwd="/", env=env, capture_output=True, text=True, check=False)
    return done.stdout


def user_site(box: Box, marks: Path) -> dict[str, str]:
    """A line of a .pth file in the user's packages is code."""
    site = box.eve / ".local" / SITE
    site.mkdir(parents=True)
    (site / "evil.pth").write_text(f"import os; open({str(marks / 'ran')!r}, 'w').close()\n")
    return {"HOME": str(box.eve)}


def user_base(box: Box, marks: Path) -> dict[str, str]:
    user_site(box, marks)
    return {"PYTHONUSERBASE": str(box.eve / ".local")}


def byte_code(box: Box, marks: Path) -> dict[str, str]:
    """Byte code in a place of hers that says to be json's: what is in it runs."""
    spec = importlib.util.find_spec("json.scanner")
    source = Path(str(spec.origin if spec else "")).resolve()
    source = Path(SYSTEM).parent.parent / SITE.removesuffix("/site-packages") / "json" / source.name
    seen = source.stat()
    code = compile(f"open({str(marks / 'ran')!r}, 'w').close()\nmake_scanner = c_make_scanner = None\n", "x", "exec")
    import marshal

    head = importlib.util.MAGIC_NUMBER + struct.pack("<III", 0, int(seen.st_mtime), seen.st_size & 0xFFFFFFFF)
    cached = box.eve / str(source.parent)[1:] / f"{source.stem}.{sys.implementation.cache_tag}.pyc"
    cached.parent.mkdir(parents=True)
    cached.write_bytes(head + marshal.dumps(code))
    return {"PYTHONPYCACHEPREFIX": str(box.eve)}


def modules(box: Box, marks: Path) -> dict[str, str]:
    (box.eve / "sitecustomize.py").write_text(f"open({str(marks / 'ran')!r}, 'w').close()\n")
    return {"PYTHONPATH": str(box.eve)}


def preloaded(box: Box, marks: Path) -> dict[str, str]:
    (box.eve / "evil.so").write_bytes(library(str(marks)))
    return {"LD_PRELOAD": str(box.eve / "evil.so")}


def audited(box: Box, marks: Path) -> dict[str, str]:
    return {"LD_AUDIT": preloaded(box, marks)["LD_PRELOAD"]}


def modules_of_openssl(box: Box, marks: Path) -> dict[str, str]:
    evil = preloaded(box, marks)["LD_PRELOAD"]
    text = f"openssl_conf = a\n[a]\nengines = b\n[b]\nc = d\n[d]\nengine_id = x\ndynamic_path = {evil}\ninit = 0\n"
    (box.eve / "openssl.cnf").write_text(text)
    return {"OPENSSL_CONF": str(box.eve / "openssl.cnf")}


RUNS: dict[str, tuple[Callable[[Box, Path], dict[str, str]], str]] = {
    "a line of a .pth in the user's packages": (user_site, ""),
    "another base of the user's packages": (user_base, ""),
    "byte code elsewhere": (byte_code, "import json"),
    "modules": (modules, ""),
    "a library before all": (preloaded, ""),
    "an auditor of the loader": (audited, ""),
    "OpenSSL's settings": (modules_of_openssl, "import ssl; ssl.create_default_context()"),
}
"""What runs her code, and the program that does."""
NOT_AN_ATTACK_HERE = ("an auditor of the loader", "OpenSSL's settings")
"""Which the library's form or this build's OpenSSL turns down by itself; the variables go all the same."""


@pytest.mark.parametrize("kind", RUNS)
def test_an_administrators_program_runs_nothing_of_hers(box: Box, marks: Path, kind: str) -> None:
    make, code = RUNS[kind]
    given = make(box, marks)
    owned(box.eve, EVE)
    as_root(code, given, filtered=True)
    assert list(marks.iterdir()) == []
    as_root(code, given, filtered=False)
    assert kind in NOT_AN_ATTACK_HERE or [p.stat().st_uid for p in marks.iterdir()] == [0]


def keys_of_tls(box: Box, precious: Path) -> tuple[dict[str, str], str]:
    """Python appends the keys of each connection to a file: through a link of hers, to any."""
    (box.eve / "keys").symlink_to(precious.with_name("made"))
    return {"SSLKEYLOGFILE": str(box.eve / "keys")}, "import ssl; ssl.create_default_context()"


def words_of_the_loader(box: Box, precious: Path) -> tuple[dict[str, str], str]:
    """The loader writes what it does into NAME.PID."""
    for number in range(1, 1 << 15):
        (box.eve / f"said.{number}").symlink_to(precious)
    return {"LD_DEBUG": "libs", "LD_DEBUG_OUTPUT": str(box.eve / "said")}, ""


def byte_code_kept(box: Box, precious: Path) -> tuple[dict[str, str], str]:
    """Byte code that is kept in a place of hers takes the name that she chose."""
    (box.eve / "kept").symlink_to(precious.parent)
    (box.root / "opt/evil.py").write_text("")
    code = f"import sys; sys.path.insert(0, {str(box.root / 'opt')!r}); import evil"
    return {"PYTHONPYCACHEPREFIX": str(box.eve / "kept")}, code


@pytest.mark.parametrize("plant", [keys_of_tls, words_of_the_loader, byte_code_kept])
def test_an_administrators_program_writes_nothing_where_she_leads_it(
    box: Box, plant: Callable[[Box, Path], tuple[dict[str, str], str]]
) -> None:
    precious = box.root / "etc/precious"
    precious.write_text("precious")
    given, code = plant(box, precious)
    owned(box.eve, EVE)
    before = {p: p.read_bytes() for p in box.root.joinpath("etc").rglob("*") if p.is_file()}
    as_root(code, given, filtered=True)
    assert {p: p.read_bytes() for p in box.root.joinpath("etc").rglob("*") if p.is_file()} == before
    if plant is not words_of_the_loader:  # its number may be beyond those that were planted
        as_root(code, given, filtered=False)
        assert {p: p.read_bytes() for p in box.root.joinpath("etc").rglob("*") if p.is_file()} != before


LEADS: dict[str, str] = {
    **dict.fromkeys(("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT"), "{eve}/ca"),
    **dict.fromkeys(("NETRC", "CURL_HOME", "HOSTALIASES", "PIP_CONFIG_FILE", "UV_CONFIG_FILE"), "{eve}/it"),
    **dict.fromkeys(("PIP_CACHE_DIR", "UV_CACHE_DIR", "UV_PYTHON", "UV_PYTHON_INSTALL_DIR"), "{eve}"),
    **dict.fromkeys(("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"), "{eve}"),
    "XDG_DATA_DIRS": "/usr/share:{eve}",
    "XDG_CONFIG_DIRS": "{eve}:/etc/xdg",
    **dict.fromkeys(("FONTCONFIG_FILE", "FONTCONFIG_PATH", "FONTCONFIG_SYSROOT", "QT_QPA_FONTDIR"), "{eve}"),
    **dict.fromkeys(("QML2_IMPORT_PATH", "QML_IMPORT_PATH", "QT_LOGGING_CONF", "QTWEBENGINEPROCESS_PATH"), "{eve}"),
    **dict.fromkeys(
        ("GTK_PATH", "GTK_MODULES", "GIO_MODULE_DIR", "GIO_EXTRA_MODULES", "GDK_PIXBUF_MODULE_FILE"), "{eve}"
    ),
    **dict.fromkeys(("LIBGL_DRIVERS_PATH", "GBM_BACKENDS_PATH", "__EGL_VENDOR_LIBRARY_DIRS"), "{eve}"),
    **dict.fromkeys(("VK_ICD_FILENAMES", "VK_LAYER_PATH", "VK_DRIVER_FILES", "OCL_ICD_VENDORS"), "{eve}/icd.json"),
    **dict.fromkeys(("LOCPATH", "TEXTDOMAINDIR", "TZDIR", "TERMINFO"), "{eve}"),
    "NLSPATH": "{eve}/%N",
    "LANGUAGE": "../../../../../..{eve}",
    "TZ": ":{eve}/zone",
    **dict.fromkeys(
        ("CUDA_HOME", "CUDA_PATH", "CUDNN_PATH", "NUMBA_CUDA_DRIVER", "NVRTC_PATH", "TRITON_LIBCUDA_PATH"), "{eve}"
    ),
    "XLA_FLAGS": "--xla_dump_to=/tmp --xla_gpu_cuda_data_dir={eve}",
    "TF_XLA_FLAGS": "--flagfile={eve}/flags",
    "PYTORCH_KERNEL_CACHE_PATH": "{eve}",
    "PYTHONPLATLIBDIR": "../../../..{eve}",
    "PYTHONPYCACHEPREFIX": "{eve}/none/such",
    "SSLKEYLOGFILE": "{eve}/none",
    "LD_DEBUG_OUTPUT": "{eve}/said",
    "LD_PROFILE_OUTPUT": "{eve}",
    "MALLOC_TRACE": "{eve}/trace",
    "GCONV_PATH": "{eve}",
    "HOME": "{eve}",
    "DBUS_SESSION_BUS_ADDRESS": "unix:path={eve}/bus",
}
"""Variables by which programs load, read or write, as an administrator who keeps another's session has them."""


@pytest.mark.parametrize("name", LEADS)
def test_no_variable_leads_an_administrators_programs_to_her(box: Box, name: str) -> None:
    owned(box.eve, EVE)
    kept = provenance.trusted_environment({"PATH": "/usr/bin", name: LEADS[name].format(eve=box.eve)})
    assert str(box.eve) not in " ".join(kept.values())
    own = LEADS[name].format(eve=box.root / "opt/cuda")
    if "/tmp" not in own:
        assert provenance.trusted_environment({name: own}).get(name) == own, "one's own is followed as ever"


@pytest.mark.parametrize("name", LEADS)
def test_without_more_rights_every_variable_is_followed(box: Box, name: str) -> None:
    her = provenance.Person(trusted=ownership.ADMINISTRATORS | {f"uid:{EVE}"})
    value = LEADS[name].format(eve=box.root / "home")
    assert provenance.trusted_environment({name: value}, her) == {name: value}


def test_an_administrators_window_is_led_nowhere_and_still_finds_its_display(box: Box) -> None:
    led = {n: v.format(eve=box.eve) for n, v in LEADS.items()}
    display = {
        "DISPLAY": ":7",
        "XAUTHORITY": f"{box.eve}/.Xauthority",
        "XDG_RUNTIME_DIR": str(box.eve),
        "TERM": "xterm",
    }
    (box.eve / ".Xauthority").write_text("")
    owned(box.eve, EVE)
    env = {"PATH": "/usr/bin:/bin", "QT_QPA_PLATFORM": "offscreen", **led, **display}
    del env["PYTHONPLATLIBDIR"]  # which our own interpreter would follow before any of our code
    done = subprocess.run(
        [sys.executable, "-I", "-c", WINDOW, str(ROOT)], cwd="/", env=env, capture_output=True, text=True, check=True
    )
    kept = json.loads(done.stdout)
    assert {n: kept.get(n) for n in display} == display
    assert [n for n, v in kept.items() if str(box.eve) in v and n not in display] == []


@pytest.mark.parametrize("wanted", ["../../../..{eve}", "{eve}", "de/../../../..{eve}", "de:{eve}", "\0{eve}"])
def test_no_language_leads_to_a_catalogue_of_hers(box: Box, wanted: str) -> None:
    place = box.eve / "LC_MESSAGES"
    place.mkdir()
    (place / "convalesce.po").write_bytes((ROOT / "resources/locale/de/LC_MESSAGES/convalesce.po").read_bytes())
    owned(box.eve, EVE)
    text = wanted.format(eve=box.eve)
    chosen = {i18n.choose_language({name: text}) for name in ("LANGUAGE", "LC_ALL", i18n.LANGUAGE_VARIABLE)}
    assert chosen <= set(i18n.available_languages()) - {str(box.eve)}


def test_a_null_device_that_everybody_may_write_is_no_place_of_others() -> None:
    assert provenance.trusted_environment({"PIP_CONFIG_FILE": os.devnull}) == {"PIP_CONFIG_FILE": os.devnull}
