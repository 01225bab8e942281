"""What the imports of one environment are examined for, in parts that do not need each other: a child can do some of them ahead
(``core.probes.python.following.read_ahead``).
"""

from __future__ import annotations

from functools import cached_property

from msgspec.structs import replace

from core.model.facts import EndedImport, FoundModule, PythonEnvironment
from core.model.facts.imports import ByteCode
from core.probes.probe import ProbeRequest
from core.probes.python.following.dotted_modules import ALWAYS_THERE, STANDARD
from core.probes.python.following.import_closure import Late, ended_imports
from core.probes.python.following.read_ahead import BYTE_CODE, EXTENSIONS, FOLLOWED, read_ahead
from core.probes.python.installed.byte_code import unfit_byte_code
from core.probes.python.installed.gone_files import unlike_files
from core.probes.python.installed.plugins import framework_plugins
from core.probes.python.installed.records import unfit_modules
from core.probes.python.installed.unfit_extensions import Suspects, UnfitExtension, lacking_modules, unfit_extensions
from core.probes.python.programs.own_programs import is_spelt
from core.probes.python.programs.program_folder import own_texts
from core.probes.python.search.likeness import is_never_asked, stands_in
from core.probes.python.search.modules import (
    ModuleSearch,
    extension_suffixes,
    hidden_standard_modules,
    replaced_standard_modules,
)
from core.probes.python.search.search_path import Interpreter, PythonSearch
from core.probes.sysroot import Sysroot


class SearchParts:
    """One environment, as a program that starts in one folder imports from it."""

    def __init__(
        self,
        python: PythonEnvironment,
        interpreter: Interpreter,
        path: PythonSearch,
        request: ProbeRequest,
        where: Sysroot,
    ) -> None:
        self._python, self._interpreter, self._request, self._where = python, interpreter, request, where
        self._architecture = python.architecture or request.seen.machine.architecture
        self.modules = ModuleSearch(interpreter, path, self._architecture, where)
        self.plugins = framework_plugins(python, request.env, where)
        self.known: dict[str, str] = request.shared.setdefault("identities", {})
        """See ``kept_look``."""
        self.spent: list[float] = request.shared.setdefault("seconds for users of frameworks", [])
        """See ``ended_imports``."""

    @cached_property
    def hidden(self) -> tuple[FoundModule, ...]:
        """The modules of Python's own that another file hides."""
        found = hidden_standard_modules(self.modules, self._python.distributions)
        version = self._interpreter.version
        return tuple(f for f in found if not stands_in(f, self._where) and not is_never_asked(f, version, self._where))

    @cached_property
    def extensions(self) -> tuple[UnfitExtension, ...]:
        """Return the extension modules that do not load, without those of a plug-in that is turned off and that no program names."""
        suffixes = extension_suffixes(self._interpreter, self._architecture, self._where)
        found = unfit_extensions(
            self._python, self._interpreter, suffixes, self._request, self._where, plugins=self.plugins
        )
        idle = [p for p in framework_plugins(self._python, self._request.env, self._where, off=True) if found]
        texts = (own_texts(self._request, self._where) if idle else None) or {}
        spelt = {p.owner for p in idle if any(is_spelt({p.module.partition(".")[0]}, t) for t in texts.values())}
        return tuple(u for u in found if u.owner in spelt or u.owner not in {p.owner for p in idle})

    def byte_code(self) -> tuple[ByteCode, ...]:
        """Return the byte code that ends an import."""
        return unfit_byte_code(self._python, self._interpreter, self._request, self._where)

    @cached_property
    def recorded(self) -> Suspects:
        """Return the files that differ from what the packages recorded."""
        unlike = unlike_files(self._python, self._request, self._where)
        of_modules = unfit_modules(self._python, self._request, self._where)
        return Suspects(
            gone=(*(d for d in of_modules if d.state == "missing"), *unlike.gone),
            odd=(*(d for d in of_modules if d.state in ("size differs", "unreadable")), *unlike.odd),
        )

    @cached_property
    def presumed(self) -> Suspects:
        """What is suspect if all packages are whole."""
        replaced = replaced_standard_modules(self.modules, STANDARD - ALWAYS_THERE, self.hidden)
        return Suspects(
            lacking=lacking_modules(self._interpreter, self._where),
            hidden=tuple(f.name for f in (*self.hidden, *replaced)),
        )

    def read_beside_children(self) -> None:
        """Read, for later, what no child reads ahead."""
        ahead = read_ahead(self._request)
        _ = self.recorded
        if not ahead.does(EXTENSIONS):
            _ = self.extensions
        if not ahead.does(BYTE_CODE):
            self.byte_code()

    def ended(self, late: Late) -> tuple[EndedImport, ...]:
        """Return where imports end; ``late``: see ``ended_imports``. What a child does ahead is waited for."""
        ahead = read_ahead(self._request)
        recorded = self.recorded
        ahead.wait(EXTENSIONS)
        unfit = self.extensions
        ahead.wait(BYTE_CODE)
        suspects = replace(self.presumed, unfit=unfit, gone=recorded.gone, odd=recorded.odd, byte_code=self.byte_code())
        if suspects == self.presumed:
            ahead.wait(FOLLOWED)
            self.spent.extend(ahead.take_spent(self._python.prefix))
        return self.followed(suspects, late)

    def followed(self, suspects: Suspects, late: Late) -> tuple[EndedImport, ...]:
        """Return where imports end by what is suspect."""
        return ended_imports(
            self.modules,
            self._python.distributions,
            self._where,
            suspects,
            plugins=self.plugins,
            known=self.known,
            spent=self.spent,
            late=late,
        )
