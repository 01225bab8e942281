"""Prepare a change of packages: determine exactly what would be done, and try it in a twin. Nothing is changed."""

from __future__ import annotations

import csv
import hashlib
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from msgspec.structs import replace
from packaging.utils import canonicalize_name

from core.common.i18n import _, join_sentences, n_
from core.common.requirements import is_in_specifier, marker_applies, parse_requirement
from core.common.text import join_names, printable
from core.fixes.files import HOOK_FILE_NAME, hook_text
from core.fixes.packages.context import ExchangeContext, changed_python
from core.fixes.packages.donors import digest_of, home_of, put_files_back, with_new_folders
from core.fixes.packages.guard import guard_changes
from core.fixes.packages.installer import Installer, Wanted, cached_wheels, choose_installer
from core.fixes.packages.twin import copy_environment, files_below, records_of
from core.fixes.packages.twin_trials import try_twin
from core.host import exchange, safe_folder, scratch
from core.host.interface import Host
from core.host.with_environment import HostWithEnvironment
from core.model.changes import Change, ChangeError, ExchangePackages, FileItem, FileSet, Package
from core.model.facts import FrameworkTrial, Frozen, Snapshot, marker_facts
from core.probes.python.installed.distributions import all_requirements
from core.probes.sysroot import sysroot_of
from core.transaction.journal import Journal
from core.transaction.package_exchange import (
    TWINS,
    drop_twin,
    folder_fingerprint,
    new_twin,
    recorded_packages,
    twin_root,
)

MAX_TEXT_BYTES = 4 << 20
"""Bytes of a script or a record in which the twin's own path is looked for; torch's RECORD has about 2 MiB."""


class Prepared(Frozen, frozen=True, kw_only=True):
    """The exact change, and the result of trying it in the twin."""

    changes: tuple[Change, ...]
    trials: tuple[FrameworkTrial, ...] = ()
    """Of the frameworks in the twin."""
    problem: str = ""
    """What fails there although it should work, in one sentence; empty if everything that was tried works."""
    failed: str = ""
    """The package that cannot be imported there, if it is that."""


def prepare_exchange(change: ExchangePackages, then: Mapping[str, str], context: ExchangeContext) -> Prepared:
    """Resolve the requirements, make the twin, change it, and import its frameworks and the packages that the finding is about.

    ``then``: the variables of programs that start after the change.

    The network is used only as the sources allow, and only for the index that the change or the sources name, or that is
    configured.

    Raises:
        ChangeError, OSError: it cannot be done; the sentence says why, and nothing is left of the twin. CancelledError.
    """
    if change.restore:
        return Prepared(changes=(put_files_back(change, context),))
    journal, named = context.journal, context.sources.named
    if named and not os.path.lexists(named):
        raise ChangeError(_("{path} is neither a file nor a folder.", path=named))
    context.watch.say(_("Copying {prefix}", prefix=change.prefix))

    def tried(change: ExchangePackages, bounds: tuple[Bound, ...], *, binding: bool) -> Prepared:
        root = new_twin(change.prefix, journal)
        done = False
        try:
            moved = {n: v.replace(f"{change.prefix}{os.sep}", f"{root}{os.sep}") for n, v in then.items()}
            later = HostWithEnvironment(context.host, moved)
            found = _prepare_in(root, change, bounds, later, context, binding=binding)
            done = True
            return found
        finally:
            if not done:
                drop_twin(root, journal)

    bounds = _bounds_of_others(change, context.seen, context.host)
    if bounds:
        with suppress(ChangeError):  # no release that fits all of them: the ones that set them show whether it matters
            made = _with_older_releases(change, partial(tried, bounds=bounds, binding=True), journal)
            if not made.problem:
                return made
            discard_twins(made.changes, journal)
    return _with_older_releases(change, partial(tried, bounds=bounds, binding=False), journal)


class Bound(Frozen, frozen=True, kw_only=True):
    """What a package that stays requires of one that is exchanged."""

    by: str
    name: str
    specifier: str

    @property
    def text(self) -> str:
        """Return it as a requirement."""
        return f"{self.name}{self.specifier}"


def _bounds_of_others(change: ExchangePackages, seen: Snapshot, host: Host) -> tuple[Bound, ...]:
    """Return what holds before the change, or concerns what is not there yet: a cure must not break it without need."""
    coming = {canonicalize_name(w.name) for text in change.install if (w := parse_requirement(text))}
    there = dict(recorded_packages(change.folder))
    python = changed_python(change, seen)
    machine = seen.machine
    facts = marker_facts(machine.system, machine.architecture, python.version if python else "")
    return tuple(
        Bound(by=its.name, name=name, specifier=wish.specifier)
        for its in all_requirements(change.folder, sysroot_of(host))
        if its.name not in coming and its.name not in change.remove
        for text in its.pins
        if (wish := parse_requirement(text)) and (name := canonicalize_name(wish.name)) in coming and wish.specifier
        if marker_applies(wish, facts)
        and (name not in there or is_in_specifier(wish.specifier, there[name].partition("+")[0]) is not False)
    )


MOST_RELEASES, MOST_SECONDS = 8, 300.0
"""Releases of one package that are tried one after the other, and seconds after which no further one is begun."""


def _with_older_releases(
    change: ExchangePackages, tried: Callable[[ExchangePackages], Prepared], journal: Journal
) -> Prepared:
    """Return the change with the newest release that can be imported in the twin: what a package's metadata do not say (for which PyTorch
    it was built), its import shows.
    """
    end = time.monotonic() + MOST_SECONDS
    made = first = tried(change)
    count, more = 1, ""
    while (
        made.failed and count < MOST_RELEASES and time.monotonic() < end and (older := _one_series_older(change, made))
    ):
        try:
            made_of_older = tried(older)
        except ChangeError:
            more = _("The installer has no other release of it.")
            break
        discard_twins(made.changes, journal)
        made, change, count = made_of_older, older, count + 1
    if not made.problem or (count == 1 and not more):
        return made
    if count > 1:
        more = n_("{n} older release failed, too.", "{n} older releases failed, too.", count - 1)
    said = first.problem if first.problem.endswith((".", "!", "?")) else f"{first.problem}."
    return replace(made, problem=join_sentences(said, more))


def _one_series_older(change: ExchangePackages, made: Prepared) -> ExchangePackages | None:
    """Return the change with an older series of the package that could not be imported; None where its release was asked for."""
    its = next((c for c in made.changes if isinstance(c, ExchangePackages)), None)
    version = next((p.version for p in (its.come if its else ()) if p.name == made.failed), "")
    series = ".".join(version.split(".")[:2])
    wishes = [parse_requirement(w) for w in change.install]
    one = next((n for n, w in enumerate(wishes) if w and canonicalize_name(w.name) == made.failed), None)
    wish = wishes[one] if one is not None else None
    if one is None or wish is None or not series or "==" in wish.specifier or "~=" in wish.specifier:
        return None
    kept = [part for part in wish.specifier.split(",") if part and not part.startswith("<")]
    new = f"{wish.name}{','.join((*kept, f'<{series}'))}"
    install = (*change.install[:one], new, *change.install[one + 1 :])
    title = _("Install {packages} in {prefix}", packages=join_names(install), prefix=change.prefix)
    return replace(change, install=install, title=title)


def discard_twins(changes: tuple[Change, ...], journal: Journal) -> None:
    """Remove the twins of changes that will not be made."""
    for change in changes:
        if isinstance(change, ExchangePackages) and change.is_prepared:
            place = Path(change.twin)
            drop_twin(next(p for p in place.parents if p.parent.name == TWINS), journal)


def clear_twin(changes: tuple[Change, ...]) -> None:
    """Reduce a twin to what an undo needs after the change, so that it does not look like an environment."""
    for change in changes:
        if isinstance(change, ExchangePackages) and change.is_prepared:
            root = next(p for p in Path(change.twin).parents if p.parent.name == TWINS)
            for part in root.iterdir():
                if not Path(change.twin).is_relative_to(part):
                    shutil.rmtree(part) if part.is_dir() and not part.is_symlink() else part.unlink()


def _prepare_in(
    root: Path,
    change: ExchangePackages,
    bounds: tuple[Bound, ...],
    later: Host,
    context: ExchangeContext,
    *,
    binding: bool,
) -> Prepared:
    """Change the twin and try it on ``later``, the machine after the change; ``binding``: only releases that fit the bounds are taken."""
    copy_environment(change.prefix, root, context.watch)
    twin = str(root / Path(change.folder).relative_to(change.prefix))
    before, was = folder_fingerprint(change.folder), recorded_packages(change.folder)
    installer = choose_installer(root, home_of(change.prefix), context.host, context.watch)
    wishes = tuple(dict.fromkeys(b.text for b in bounds)) if binding else ()
    safe_folder.make_folders(str(context.journal.staging), 0o700)
    into = scratch.make_scratch(context.journal.staging)
    try:
        _take_out((*change.remove, *_losing_files(change, twin)), twin, installer)
        come = _install(change, wishes, installer, into, context)
    finally:
        scratch.drop_scratch(into)
    _name_the_environment(root, change.prefix, twin)
    hook = tell_python(change, twin)
    now = recorded_packages(twin)
    new = {(p.name, p.version): p for p in come}
    made = replace(
        change,
        gone=tuple(Package(name=n, version=v) for n, v in sorted(was - now)),
        come=tuple(new.get((n, v), Package(name=n, version=v)) for n, v in sorted((now - was) | (now & new.keys()))),
        twin=twin,
        before=before,
        after=folder_fingerprint(twin),
        old=exchange.folder_number(change.folder),
        new=exchange.folder_number(twin),
    )
    if made.before == made.after and not hook:
        raise ChangeError(_("The packages in {prefix} are already as planned.", prefix=change.prefix))
    beside: tuple[Change, ...] = _outside_changes(change, root, twin)
    if context.sources.guard:
        beside = (*beside, *guard_changes((made,), uv=installer.name == "uv"))
    versions = {p.name: p.version.partition("+")[0] for p in made.come}
    broken = (b.by for b in bounds if b.name in versions and is_in_specifier(b.specifier, versions[b.name]) is False)
    asked = tuple(dict.fromkeys((*context.asked, *broken)))
    with _hook_of_the_twin(hook, change.prefix, str(root)):
        trials, problem, failed = try_twin(made, root, later, asked, context)
    made = replace(made, after=folder_fingerprint(twin))
    return Prepared(changes=(made, *beside), trials=trials, problem=problem, failed=failed)


def _losing_files(change: ExchangePackages, twin: str) -> tuple[str, ...]:
    """Return the packages to be installed that share files with one that goes: an installer would leave them as they are."""
    recorded: dict[str, set[str]] = {}
    for name, rows in records_of(twin):
        recorded.setdefault(name, set()).update(row.partition(",")[0] for row in rows)
    going = set().union(*(recorded.get(name, set()) for name in change.remove))
    wanted = (canonicalize_name(m[0]) for wish in change.install if (m := re.match(r"[\w.-]+", wish)))
    return tuple(n for n in wanted if n not in change.remove and recorded.get(n, set()) & going)


def _take_out(names: tuple[str, ...], twin: str, installer: Installer) -> None:
    """Uninstall distributions, each as often as it is recorded, and remove what an interrupted installer left."""
    left = [n for n in names if n.startswith("~") or n.endswith(".dist-info")]
    for name in left:
        if Path(name).name != name:
            raise ChangeError(_("{name} is not a plain file name.", name=repr(name)))
        path = Path(twin) / name
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)
    wanted = [n for n in names if n not in left]
    for _time in range(3):
        there = {n for n, _v in recorded_packages(twin)}
        left = [n for n in wanted if n in there]
        if left:
            _refuse_ways_out(left, twin)
            installer.remove(left)


def _refuse_ways_out(names: list[str], twin: str) -> None:
    """Refuse to uninstall what lists files elsewhere: not every installer leaves those, or follows no link to them.

    Raises:
        ChangeError: a RECORD names a file outside the twin.
    """
    root = str(twin_root(twin))
    for record in Path(twin).glob("*.dist-info/RECORD"):
        if re.sub(r"[-_.]+", "-", record.parent.name.removesuffix(".dist-info").partition("-")[0]).lower() not in names:
            continue
        for row in csv.reader(record.read_text(encoding="utf-8", errors="surrogateescape").splitlines()):
            path = Path(twin, row[0]) if row else Path(twin)
            place = os.path.join(os.path.realpath(path.parent), path.name)  # noqa: PTH118 - ".." is a name, too
            if path.name == ".." or not Path(place).is_relative_to(os.path.realpath(root)):
                raise ChangeError(
                    _("{record} lists {path}, which is outside the environment.", record=record, path=printable(row[0]))
                )


def _install(
    change: ExchangePackages, wishes: tuple[str, ...], installer: Installer, into: Path, context: ExchangeContext
) -> tuple[Package, ...]:
    """Install what the change asks for, in releases that fit further wishes."""
    if not change.install:
        return ()
    sources, watch = context.sources, context.watch
    folders = []
    if sources.named:
        named = Path(os.path.realpath(sources.named))
        folders.append(str(named if named.is_dir() else _in_own_folder(named, into)))
    if not sources.uses_network and (kept := cached_wheels(context.host, into)):
        folders.append(str(kept))
    wanted = Wanted(
        requirements=(*change.install, *wishes),
        index=sources.index or change.index,
        alone=change.alone,
        folders=tuple(folders),
        fetches=sources.uses_network,
    )
    watch.say(_("Resolving the packages"))
    packages = installer.resolve(wanted, into)
    if not packages:
        return ()
    watch.say(n_("Fetching {n} package", "Fetching {n} packages", len(packages)))
    packages = installer.fetch(packages, wanted, into)
    watch.say(_("Installing into the copy"))
    installer.install(packages, into)
    return packages


def _in_own_folder(wheel: Path, into: Path) -> Path:
    """Return a folder that holds one wheel only: a folder of downloads holds much else."""
    place = into / "named"
    place.mkdir()
    (place / wheel.name).symlink_to(wheel)
    return place


# --- Python is told where its DLLs are ---------------------------------------------------------------------------------


def tell_python(change: ExchangePackages, twin: str) -> Path | None:
    """Write into the twin which folders its Python searches for DLLs, beside what is told there already; return the file."""
    if not change.dll_folders:
        return None
    path = Path(twin, HOOK_FILE_NAME)
    there = path.read_text(encoding="ascii", errors="replace") if path.is_file() else ""
    new = [line for line in hook_text(*change.dll_folders).splitlines(keepends=True) if line not in there]
    path.unlink(missing_ok=True)  # it may be the environment's own file under a second name
    path.write_text("".join((there, *new)), encoding="ascii", newline="\n")
    return path


@contextmanager
def _hook_of_the_twin(hook: Path | None, prefix: str, root: str) -> Iterator[None]:
    """Let the hook name the twin's own folders while that is tried: the environment does not have them yet."""
    if hook is None:
        yield
        return
    final = hook.read_bytes()
    try:
        mine, its = (f"{p}{os.sep}".encode("unicode_escape") for p in (prefix, root))
        hook.write_bytes(final.replace(mine, its))
        yield
    finally:
        hook.write_bytes(final)


# --- nothing names the twin ----------------------------------------------------------------------------------------


def _name_the_environment(root: Path, prefix: str, twin: str) -> None:
    """Put the environment's path where an installer wrote the twin's: into scripts, and into their lines of RECORD."""
    wrong, right = os.fsencode(str(root)), os.fsencode(prefix)
    changed: dict[str, bytes] = {}
    for path in _texts(root, twin):
        data = Path(path).read_bytes()
        if wrong in data:
            changed[path] = data.replace(wrong, right)
            Path(path).write_bytes(changed[path])
    if not changed:
        return
    names = {os.path.relpath(path, twin).replace(os.sep, "/"): data for path, data in changed.items()}
    for record in Path(twin).glob("*.dist-info/RECORD"):
        rows = record.read_text(encoding="utf-8").splitlines(keepends=True)
        if any(row.partition(",")[0].strip('"') in names for row in rows):
            record.write_text("".join(_row(row, names) for row in rows), encoding="utf-8")


def _texts(root: Path, twin: str) -> Iterator[str]:
    """Yield the files that installers write paths into and that the twin does not share with the environment."""
    records = (p for folder in Path(twin).glob("*.*-info") for p in files_below(str(folder)))
    tops = (str(p) for p in Path(twin).iterdir() if p.suffix in (".pth", ".egg-link"))
    for path in (*files_below(str(root), without=twin), *records, *tops):
        if Path(path).is_file() and not Path(path).is_symlink() and Path(path).stat().st_size < MAX_TEXT_BYTES:
            yield path


def _row(row: str, names: dict[str, bytes]) -> str:
    import base64

    name = row.partition(",")[0]
    data = names.get(name.strip('"'))
    if data is None or name.strip('"').endswith("/RECORD"):
        return row
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def _outside_changes(change: ExchangePackages, root: Path, twin: str) -> tuple[FileSet, ...]:
    """Return the change of what is outside the folder of packages: scripts, and what else wheels bring."""
    then = {os.path.relpath(p, change.prefix): p for p in _outside(change.prefix, change.folder)}
    now = {os.path.relpath(p, root): p for p in _outside(str(root), twin)}
    items = []
    for name in sorted(then.keys() | now.keys()):
        old, new = _state(then.get(name)), _state(now.get(name))
        if old != new and not new.startswith("-> "):
            size = Path(now[name]).stat().st_size if new else 0
            path = str(Path(os.path.realpath(Path(change.prefix, name).parent)) / Path(name).name)
            items.append(FileItem(path=path, before=old, after=new, size=size, source=now[name] if new else ""))
    if not items:
        return ()
    title = _("Scripts and data of these packages in {prefix}", prefix=change.prefix)
    return (with_new_folders(title, items),)


def _outside(prefix: str, folder: str) -> Iterator[str]:
    """Yield an environment's files outside its folder of packages, the links to its interpreter and our own apart."""
    for name in ("bin", "Scripts", "share", "etc", "include", "man", "Include"):
        top = str(Path(prefix) / name)
        if Path(top).is_dir() and not Path(top).is_symlink():
            yield from files_below(top, without=folder)
        elif os.path.lexists(top):
            yield top


def _state(path: str | None) -> str:
    if path is None:
        return ""
    return f"-> {Path(path).readlink()}" if Path(path).is_symlink() else digest_of(path)


def trial_summary(prepared: Prepared) -> str:
    """Return in words the result of trying it in the twin."""
    worked = [f"{t.framework} {t.version}" for t in prepared.trials if t.reached != "nothing"]
    convolved = [f"{t.framework} {t.version}" for t in prepared.trials if t.gpu and t.right]
    return join_sentences(
        _("Imported in a copy of the environment: {names}.", names=join_names(worked)) if worked else "",
        _("Ran a convolution there on the GPU: {names}.", names=join_names(convolved)) if convolved else "",
    )
