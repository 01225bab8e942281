"""Builds and releases of frameworks: typed rows of resources/knowledge/frameworks.json."""

from __future__ import annotations

from core.knowledge.releases import QuotedFact, SourcedRow
from core.knowledge.tables import read_table
from core.model.facts import Frozen, System


class TorchBuild(SourcedRow, frozen=True, kw_only=True):
    """One build in which a PyTorch release is published; ``torch`` is major.minor."""

    torch: str
    cuda: str
    processors: tuple[str, ...] = ("x86_64",)
    """Processors on Linux; on Windows it is x86_64 only."""
    python: str
    """In PyTorch's notation: ">=3.10, <=(3.14 exp.)"."""
    stable: bool
    """False for a build that PyTorch calls experimental."""


class TorchCode(SourcedRow, frozen=True, kw_only=True, rename={"first": "from", "last": "to"}):
    """The GPU code in the builds of some releases."""

    first: str
    last: str
    cuda: str
    system: System
    processor: str = "x86_64"
    sass: tuple[int, ...]
    ptx: tuple[int, ...]


class TensorFlowBuild(SourcedRow, frozen=True, kw_only=True):
    """A tested build of TensorFlow with GPU support; ``tensorflow`` is major.minor."""

    tensorflow: str
    package: str
    system: System
    python: str
    cudnn: str
    cuda: str


class JaxPlugin(SourcedRow, frozen=True, kw_only=True):
    """The requirements of a CUDA plugin of JAX."""

    plugin: str
    first: str
    """The first release of JAX that it is published for."""
    first_source: str
    driver: str
    capability: str


class RequiredInstructions(SourcedRow, frozen=True, kw_only=True):
    """x86-64 instruction sets that published builds of a distribution (a pattern) need, from a release on."""

    distribution: str
    first: str
    needs: tuple[str, ...]


class Companions(SourcedRow, frozen=True, kw_only=True):
    """The releases of the packages built for one release of PyTorch."""

    torch: str
    torchvision: str
    torchaudio: str = ""
    """Empty: its wheels ask for no PyTorch, so none is known to fit best."""
    torchcodec: str = ""
    """The newest that is built for this PyTorch; no wheel of it says so. Empty if unknown."""


class TorchIndex(SourcedRow, frozen=True, kw_only=True):
    """PyTorch's own index of packages."""

    url: str


class FrameworkTables(Frozen, frozen=True, kw_only=True):
    """frameworks.json."""

    known_until: str
    processors: tuple[str, ...]
    """The processors that the table covers."""
    torch_index: TorchIndex
    torch: tuple[TorchBuild, ...]
    torch_code: tuple[TorchCode, ...]
    companions: tuple[Companions, ...]
    tensorflow: tuple[TensorFlowBuild, ...]
    jax: tuple[JaxPlugin, ...]
    instructions: tuple[RequiredInstructions, ...]
    facts: tuple[QuotedFact, ...]

    def fact(self, id: str) -> QuotedFact:
        """Return the fact with that id, which must exist."""
        return next(f for f in self.facts if f.id == id)


def framework_tables() -> FrameworkTables:
    """Read frameworks.json."""
    return read_table("frameworks", FrameworkTables)
