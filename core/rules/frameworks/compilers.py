"""The toolkit whose compiler builds extensions for an environment's PyTorch, which refuses that of another major release.

Source: torch/utils/cpp_extension.py of 2.8, _check_cuda_version: another major release ends the build, another minor one is a warning.
"""

from __future__ import annotations

from core.common.i18n import _
from core.common.shell import quote
from core.common.versions import version_tuple
from core.model.facts import Snapshot, Toolkit
from core.model.findings import Fix
from core.rules.frameworks.environment_view import EnvironmentView, is_asked_for
from core.rules.wording import manual_fix


def compiles_for(home: EnvironmentView) -> str:
    """Return the CUDA that an environment's PyTorch was built for, if extensions seem to be built there: setuptools, which its build
    imports, is installed for its own sake. Empty otherwise.
    """
    build = home.build("torch")
    own = home.installed("setuptools") and not is_asked_for(home, "setuptools")
    return (build.cuda or "") if build and own else ""


def fitting_toolkit(seen: Snapshot, cuda: str) -> Toolkit | None:
    """Return the toolkit with a compiler that fits a build for this CUDA: of the same minor release, else the newest of its major."""
    wanted = version_tuple(cuda)[:2]
    whole = [
        t for t in seen.toolkits or () if t.root and t.nvcc and t.origin in ("installer", "folder", "distribution")
    ]
    its = [t for t in whole if _release(t)[:1] == wanted[:1]]
    return max(its, key=lambda t: (_release(t)[:2] == wanted, _release(t)), default=None)


def _release(toolkit: Toolkit) -> tuple[int, ...]:
    return version_tuple(toolkit.version or toolkit.nvcc_version or "")


def name_fitting_toolkit(seen: Snapshot, variable: str, cuda: str) -> Fix:
    """Return how a variable comes to name a toolkit that fits: one that is here, or one to be installed beside the others."""
    there = fitting_toolkit(seen, cuda)
    if there is None:
        return manual_fix(
            _("Install the CUDA {cuda} toolkit, and set {name} to its folder", cuda=cuda, name=variable),
            _("Install the CUDA {cuda} toolkit next to this one; several versions can coexist.", cuda=cuda),
            _("Then, in this terminal: export {name}={value}", name=variable, value=f"/usr/local/cuda-{cuda}")
            if seen.machine.system != "windows"
            else "",
            restart="terminal",
        )
    return name_toolkit(seen, variable, there)


def name_toolkit(seen: Snapshot, variable: str, toolkit: Toolkit) -> Fix:
    """Return how a variable comes to name this toolkit."""
    line = (
        _("Start menu: Edit environment variables. Set {name} to {root}", name=variable, root=toolkit.root)
        if seen.machine.system == "windows"
        else f"export {variable}={quote(toolkit.root)}"
    )
    return manual_fix(_("Set {name} to {root}", name=variable, root=toolkit.root), line, restart="terminal")
