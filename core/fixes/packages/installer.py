"""An environment's own installer, at work in the twin: pip, or uv where uv made the environment. Wheels only, by hash.

Requirements are first resolved to a list of wheels with their hashes; these are downloaded, and installed from there.
If one address is named, the installer gets no other.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from core.common.fact_text import fact_text
from core.common.i18n import _, join_sentences, translate_fact
from core.common.late_pattern import late_pattern
from core.common.progress import Progress
from core.fixes.packages.pip_script import REFUSED_REDIRECT, pip_command
from core.host.interface import CompletedProcess, Host
from core.host.provenance import may_run, trusted_environment
from core.model.changes import ChangeError, Package
from core.model.facts import Frozen
from core.transaction.package_exchange import twin_root

RESOLVE_SECONDS, FETCH_SECONDS, INSTALL_SECONDS = 300.0, 3600.0, 900.0
"""Limits for one command; a stalled connection ends after the installer's own time-out."""
_NO_WHEEL = late_pattern(
    r"No matching distribution found|Could not find a version that satisfies|no (usable )?wheels\b"
)
"""What pip and uv say where an index has no wheel of what is asked for."""
_SECRET = late_pattern(r"(?<=://)[^/@\s]+@")
_PYTHON_VARIABLES = ("PYTHONHOME", "PYTHONPATH", "VIRTUAL_ENV", "CONDA_PREFIX", "__PYVENV_LAUNCHER__")


_SETTING = late_pattern(r"([^.]+)\.([\w-]+)=['\"](.*)['\"]")
_ADDRESSES = ("index-url", "extra-index-url", "find-links")
_CONNECTION = (
    *("proxy", "cert", "client-cert", "trusted-host", "timeout", "default-timeout", "keyring-provider"),
    *("cache-dir", "no-cache-dir", "use-feature", "use-deprecated"),
)
"""Settings of pip that affect only how to reach an index, not what is installed or where."""
_UV_KEPT = late_pattern(
    r"UV_(?:CACHE_DIR|NO_CACHE|LINK_MODE|NATIVE_TLS|SYSTEM_CERTS|KEYRING_PROVIDER|INSECURE_HOST|HTTP_\w+|CONCURRENT_\w+|INDEX_\w+_(?:USERNAME|PASSWORD))"
)
_UV_ADDRESSES = ("UV_DEFAULT_INDEX", "UV_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS")


class Sources(Frozen, frozen=True, kw_only=True):
    """Where packages may come from, as the person said."""

    named: str = ""
    """A wheel, or a folder of wheels; then nothing is fetched from anywhere else unless ``index`` is named, too."""
    index: str = ""
    """An index to use instead of the one that the plan or the configuration has."""
    offline: bool = False
    """Whether nothing may be fetched: only what was named, and what is on this machine."""
    guard: bool = False
    """Whether later installations must keep the installed builds."""

    @property
    def uses_network(self) -> bool:
        """Whether the network may be used."""
        return not self.offline and (bool(self.index) or not self.named)


class Wanted(Frozen, frozen=True, kw_only=True):
    """What is to be installed, and from where."""

    requirements: tuple[str, ...]
    index: str = ""
    alone: bool = False
    folders: tuple[str, ...] = ()
    """Local folders of wheels."""
    fetches: bool = True
    fresh: bool = False
    """Whether to ignore what is already installed."""


class Installer:
    """pip, as its commands in the twin."""

    name = "pip"
    index_option = "--index-url"

    def __init__(self, command: Sequence[str], host: Host, watch: Progress) -> None:
        self._command = tuple(command)
        self._host = host
        self._watch = watch

    def configured_indexes(self) -> tuple[str, ...]:
        """Return the addresses that pip is configured to ask here, without what is secret in them; empty: its default."""
        known = (self._settings[n] for n in _ADDRESSES if n in self._settings)
        return tuple(dict.fromkeys(without_secrets(w) for text in known for w in text.split()))

    @cached_property
    def _settings(self) -> dict[str, str]:
        """What pip's files and variables set, by the option's name: a variable before a command's section, that before all."""
        done = self._host.run([*self._command, "config", "list"], timeout=30, env=self._plain_env(), watch=self._watch)
        rows = [m.groups() for line in done.out.splitlines() if (m := _SETTING.fullmatch(line))]
        ranks = {"global": 0, ":env:": 2}
        ordered = sorted((ranks.get(section, 1), name, value) for section, name, value in rows)
        return {name: value.replace("\\n", "\n") for _rank, name, value in ordered}

    def remove(self, names: Sequence[str]) -> None:
        """Uninstall distributions.

        Raises:
            ChangeError: the installer refused.
        """
        self._run("uninstall", "-y", *names, timeout=INSTALL_SECONDS, env=self._env())

    def resolve(self, wanted: Wanted, into: Path) -> tuple[Package, ...]:
        """Return the wheels that would come, each with its hash. Nothing is installed.

        Raises:
            ChangeError: there is no solution, or the index does not answer as one should: it leads to a file of this
                computer, which pip would follow.
        """
        report = into / "report.json"
        self._run(
            "install",
            "--dry-run",
            "--quiet",
            "--report",
            str(report),
            *self._index_options(wanted),
            *(("--no-deps",) if wanted.alone else ()),
            *(("--ignore-installed",) if wanted.fresh else ()),
            *wanted.requirements,
            timeout=RESOLVE_SECONDS,
            env=self._env_for(wanted),
        )
        packages = tuple(_packages(report))
        known = (
            *wanted.folders,
            *((wanted.index,) if wanted.index else self.configured_indexes() if wanted.fetches else ()),
        )
        if any(p.source.startswith("file:") and not _is_known(p.source, known) for p in packages):
            raise ChangeError(refused_address())
        return packages

    def fetch(self, packages: Sequence[Package], wanted: Wanted, into: Path) -> tuple[Package, ...]:
        """Fetch wheels by hash into a folder; return them with their sizes.

        Raises:
            ChangeError: one could not be had whole.
        """
        wheels = into / "wheels"
        wheels.mkdir(exist_ok=True)
        self._download(wanted, wheels, "--require-hashes", "--requirement", str(_requirements(packages, into)))
        sizes = {_digest(p): p.stat().st_size for p in wheels.iterdir()}
        if any(p.sha256 not in sizes for p in packages):
            raise ChangeError(_("The hashes of the downloaded files differ from those in the list of packages."))
        return tuple(msgspec.structs.replace(p, size=sizes[p.sha256]) for p in packages)

    def download(self, wanted: Wanted, into: Path) -> None:
        """Fetch wheels of exact releases into a folder; who takes files from them knows their hashes.

        Raises:
            ChangeError: one could not be had.
        """
        self._download(wanted, into, *wanted.requirements)

    def _download(self, wanted: Wanted, into: Path, *what: str) -> None:
        options = ("--quiet", "--no-deps", *self._index_options(wanted), "--dest", str(into))
        self._run("download", *options, *what, timeout=FETCH_SECONDS, env=self._env_for(wanted))

    def install(self, packages: Sequence[Package], into: Path) -> None:
        """Install the wheels that were fetched; nothing else, and from nowhere else.

        Raises:
            ChangeError: the installer refused.
        """
        local = Wanted(requirements=(), folders=(str(into / "wheels"),), fetches=False)
        self._run(
            "install",
            "--quiet",
            "--no-deps",
            "--no-compile",
            *self._index_options(local),
            "--require-hashes",
            "--requirement",
            str(_requirements(packages, into)),
            timeout=INSTALL_SECONDS,
            env=self._env_for(local),
        )

    def _index_options(self, wanted: Wanted) -> list[str]:
        found = ["--only-binary", ":all:"]
        found += [w for folder in wanted.folders for w in ("--find-links", folder)]
        if not wanted.fetches:
            return [*found, "--no-index"]
        return [*found, self.index_option, wanted.index] if wanted.index else found

    def _plain_env(self) -> dict[str, str]:
        given = trusted_environment(self._host.fresh_environment())
        env = {n: v for n, v in given.items() if n not in _PYTHON_VARIABLES}
        return {**env, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1", "PYTHONDONTWRITEBYTECODE": "1"}

    def _env(self, kept: Sequence[str] = _CONNECTION) -> dict[str, str]:
        """Return variables with the configured settings that are kept, and no other: none may send files elsewhere than
        into the twin, or add to what is installed.
        """
        env = {n: v for n, v in self._plain_env().items() if not n.startswith("PIP_")}
        settings = {f"PIP_{n.upper().replace('-', '_')}": v for n, v in self._settings.items() if n in kept}
        quiet = {
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_NO_INPUT": "1",
            "PIP_ROOT_USER_ACTION": "ignore",
            "PIP_RETRIES": "1",
        }
        return {**env, **settings, **quiet}

    def _env_for(self, wanted: Wanted) -> dict[str, str]:
        """Return variables that restrict the installer to the named address."""
        named = bool(wanted.index) or not wanted.fetches
        return self._env(_CONNECTION if named else (*_CONNECTION, *_ADDRESSES, "no-index", "constraint"))

    def _run(self, *arguments: str, timeout: float, env: Mapping[str, str]) -> CompletedProcess:
        done = self._host.run([*self._command, *arguments], timeout=timeout, env=env, watch=self._watch)
        self._watch.check()
        if done.status != 0:
            raise ChangeError(_installer_sentence(self.name, done))
        return done


class UvInstaller(Installer):
    """uv, by the same verbs."""

    name = "uv"
    index_option = "--default-index"

    def __init__(self, uv: str, python: str, host: Host, watch: Progress) -> None:
        super().__init__((uv, "pip"), host, watch)
        self._python = python

    def configured_indexes(self) -> tuple[str, ...]:
        """Return the addresses that variables give uv; empty: what its own files say, or its default."""
        env = self._host.fresh_environment()
        return tuple(dict.fromkeys(without_secrets(w) for n in _UV_ADDRESSES for w in env.get(n, "").split()))

    def remove(self, names: Sequence[str]) -> None:
        """See Installer."""
        self._run("uninstall", "--python", self._python, *names, timeout=INSTALL_SECONDS, env=self._env())

    def resolve(self, wanted: Wanted, into: Path) -> tuple[Package, ...]:
        """See Installer."""
        options = (*self._index_options(wanted), *(("--no-deps",) if wanted.alone else ()))
        done = self._run(
            *("install", "--dry-run", "--python", self._python, *options, *wanted.requirements),
            timeout=RESOLVE_SECONDS,
            env=self._env_for(wanted),
        )
        found = re.findall(r"^ \+ ([\w.-]+)==(\S+)", done.err, re.MULTILINE)
        if not found:
            return ()
        exact = into / "exact.txt"
        exact.write_text("".join(f"{n}=={v}\n" for n, v in found), encoding="utf-8")
        done = self._run(
            *(
                "compile",
                "--quiet",
                "--python",
                self._python,
                *self._index_options(wanted),
                "--no-deps",
                "--generate-hashes",
            ),
            *("--no-header", "--no-annotate", str(exact)),
            timeout=RESOLVE_SECONDS,
            env=self._env_for(wanted),
        )
        hashes = dict(re.findall(r"^([\w.-]+)==\S+((?:\s+\\?\s*--hash=sha256:[0-9a-f]{64})+)", done.out, re.MULTILINE))
        rows = [
            (n, v, re.findall(r"[0-9a-f]{64}", hashes.get(n, "")) or _hashes_here(n, v, wanted.folders))
            for n, v in found
        ]
        if any(not its for _n, _v, its in rows):
            raise ChangeError(_("The index gives no hash for {name}.", name=next(n for n, _v, its in rows if not its)))
        source = without_secrets(wanted.index)
        return tuple(Package(name=n, version=v, sha256=",".join(its), source=source) for n, v, its in rows)

    def download(self, wanted: Wanted, into: Path) -> None:
        """Unpack the releases into the folder: uv keeps no wheel."""
        self._run(
            *("install", "--quiet", "--python", self._python, "--no-deps", "--target", str(into)),
            *(*self._index_options(wanted), *wanted.requirements),
            timeout=FETCH_SECONDS,
            env=self._env_for(wanted),
        )

    def fetch(self, packages: Sequence[Package], wanted: Wanted, into: Path) -> tuple[Package, ...]:
        """Return them as they are: uv fetches while it installs, into its own cache, by the same hashes."""
        self._wanted = wanted
        del into
        return tuple(packages)

    def install(self, packages: Sequence[Package], into: Path) -> None:
        """See Installer."""
        self._run(
            *("install", "--quiet", "--python", self._python, *self._index_options(self._wanted), "--no-deps"),
            *("--require-hashes", "--requirement", str(_requirements(packages, into))),
            timeout=FETCH_SECONDS,
            env=self._env_for(self._wanted),
        )

    def _env(self, kept: Sequence[str] = ()) -> dict[str, str]:
        env = {
            n: v for n, v in self._plain_env().items() if not n.startswith("UV_") or n in kept or _UV_KEPT.fullmatch(n)
        }
        return {**env, "UV_HTTP_RETRIES": "1", "UV_NO_PROGRESS": "1"}

    def _env_for(self, wanted: Wanted) -> dict[str, str]:
        if wanted.index or not wanted.fetches:
            return {**self._env(), "UV_NO_CONFIG": "1"}
        return self._env((*_UV_ADDRESSES, "UV_INDEX_STRATEGY", "UV_NO_INDEX", "UV_CONSTRAINT"))


def choose_installer(root: Path, home: str, host: Host, watch: Progress) -> Installer:
    """Return what installs packages in a twin: the pip in it; else uv; else the pip of the Python that it was made from.

    Raises:
        ChangeError: there is none.
    """
    windows = host.system == "windows"
    python = str(root / ("Scripts/python.exe" if windows else "bin/python"))
    packages = root.glob("[Ll]ib/python*/site-packages/pip/__main__.py")
    if (any(packages) or (root / "Lib/site-packages/pip/__main__.py").is_file()) and may_start(python):
        return Installer(pip_command(python), host, watch)
    env = trusted_environment(host.fresh_environment())
    places = [env.get("PATH", ""), *(f"{env['HOME']}/{d}/bin" for d in (".local", ".cargo") if env.get("HOME"))]
    found = (shutil.which("uv", path=place) for place in os.pathsep.join(places).split(os.pathsep))
    if uv := next((f for f in found if f and may_start(f)), ""):
        return UvInstaller(uv, python, host, watch)
    base = str(Path(home) / ("python.exe" if windows else "python3"))
    if may_start(base) and may_start(python) and (place := pip_place(base, host, watch)):
        return Installer(pip_command(python, place), host, watch)
    prefix = root.parent.parent if twin_root(str(root)) == root else root
    raise ChangeError(_("There is neither pip nor uv that could install into {prefix}.", prefix=prefix))


def may_start(program: str) -> bool:
    """Whether a program may install; with an administrator's rights only one that nobody else can change."""
    verdict = may_run({os.path.abspath(program): True})  # noqa: PTH100 - links stay
    return verdict.may and verdict.account is None


def pip_place(python: str, host: Host, watch: Progress) -> str:
    """Return the folder that a Python's own pip lies in; empty where it has none."""
    env = trusted_environment(host.fresh_environment())
    ask = "import os, pip; print(os.path.dirname(os.path.dirname(os.path.abspath(pip.__file__))))"
    done = host.run([python, "-I", "-B", "-c", ask], timeout=30, env=env, watch=watch)
    return done.out.strip() if done.status == 0 else ""


def without_secrets(address: str) -> str:
    """Return an address without a user's name and password in it."""
    return _SECRET.sub("", address)


def _hashes_here(name: str, version: str, folders: Sequence[str]) -> list[str]:
    """Return the hashes of the wheels of a release in folders, which uv does not list."""
    wheels = (p for folder in folders for p in sorted(Path(folder).glob("*.whl")))
    parts = ((p, p.name.split("-")) for p in wheels)
    spelt = re.sub(r"[-_.]+", "-", name).lower()
    return [_digest(p) for p, part in parts if (re.sub(r"[-_.]+", "-", part[0]).lower(), part[1]) == (spelt, version)]


def _packages(report: Path) -> Iterator[Package]:
    try:
        said: Any = msgspec.json.decode(report.read_bytes())
        for one in said["install"]:
            about, origin = one["metadata"], one["download_info"]
            digest = origin["archive_info"]["hashes"]["sha256"]
            yield Package(
                name=re.sub(r"[-_.]+", "-", about["name"]).lower(),
                version=about["version"],
                sha256=digest,
                source=without_secrets(origin["url"]),
            )
    except (msgspec.DecodeError, KeyError, TypeError, OSError):
        raise ChangeError(_("pip's report about what would be installed cannot be read.")) from None


def refused_address() -> str:
    """Return the sentence about an index that leads to a file."""
    return _("The index redirects to a file on this computer, so nothing is taken from it.")


def _is_known(source: str, places: Sequence[str]) -> bool:
    """Whether an address of a file comes from a folder that was named or configured, or from an index of files."""
    from urllib.request import url2pathname  # it brings the whole of HTTP and TLS, which nothing else needs

    path = os.path.abspath(url2pathname(urlsplit(source).path))  # noqa: PTH100 - links stay
    folders = (os.path.abspath(p) for p in places if "://" not in p)  # noqa: PTH100 - links stay
    return any(p.startswith("file:") for p in places) or any(Path(path).is_relative_to(folder) for folder in folders)


def _requirements(packages: Sequence[Package], into: Path) -> Path:
    path = into / "requirements.txt"
    rows = (
        f"{p.name}=={p.version} " + " ".join(f"--hash=sha256:{h}" for h in p.sha256.split(",")) + "\n" for p in packages
    )
    path.write_text("".join(rows), encoding="utf-8")
    return path


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _installer_sentence(name: str, done: CompletedProcess) -> str:
    """Return why an installer failed, in its own words: the first line that it calls an error."""
    if REFUSED_REDIRECT in done.err:
        return refused_address()
    lines = [line.strip() for line in (*done.err.splitlines(), *done.out.splitlines()) if line.strip()]
    said = next((x for x in lines if re.match(r"(ERROR|error|  ×|×)", x)), lines[-1] if lines else "")
    said = without_secrets(re.sub(r"^(ERROR|error):?\s*", "", said))[:300]
    if done.timed_out or not said:
        said = translate_fact(done.ended or fact_text("ended without a word"))
    failed = _("{name} could not do it: {said}", name=name, said=said if said.endswith(".") else f"{said}.")
    if not _NO_WHEEL.search(f"{done.err} {done.out}"):
        return failed
    return join_sentences(
        failed,
        _(
            "Only wheels are installed here: a release that is published as sources alone runs code of its own when it is built."
        ),
    )


# --- wheels that are here ------------------------------------------------------------------------------------------


def cached_wheels(host: Host, into: Path) -> Path | None:
    """Give the wheels of pip's own cache their names in a folder, by links; None where there are none.

    One that others can change is left: nobody named it, and its code would run.
    """
    cache = _pip_cache(host)
    made = into / "cached"
    count = 0
    for body in sorted(cache.rglob("*.body")) if cache.is_dir() else ():
        name = wheel_name(body) if may_run({os.path.abspath(body): False}).may else ""  # noqa: PTH100 - links stay
        if name:
            made.mkdir(exist_ok=True)
            target = made / name
            if not target.exists():
                target.symlink_to(body)
                count += 1
    return made if count else None


def _pip_cache(host: Host) -> Path:
    env = host.fresh_environment()
    home = env.get("XDG_CACHE_HOME") or (f"{env['HOME']}/.cache" if env.get("HOME") else "")
    return Path(env.get("PIP_CACHE_DIR") or f"{home}/pip") if home or env.get("PIP_CACHE_DIR") else Path("/nonexistent")


def wheel_name(path: Path) -> str:
    """Return the file name of the wheel whose bytes a file holds; empty where it holds none."""
    try:
        with path.open("rb") as stream:
            if stream.read(4) != b"PK\x03\x04":
                return ""
        with zipfile.ZipFile(path) as archive:
            info = next((n for n in archive.namelist() if re.fullmatch(r"[^/]+\.dist-info/WHEEL", n)), "")
            tags = re.findall(r"^Tag: *(\S+)", archive.read(info).decode("utf-8", "replace"), re.MULTILINE)
    except (OSError, KeyError, ValueError, zipfile.BadZipFile):
        return ""
    parts = [tag.split("-") for tag in tags]
    if not info or not parts or any(len(p) != 3 or not all(re.fullmatch(r"\w+", w) for w in p) for p in parts):
        return ""
    joined = "-".join(".".join(dict.fromkeys(p[i] for p in parts)) for i in range(3))
    return f"{info.partition('.dist-info')[0]}-{joined}.whl"
