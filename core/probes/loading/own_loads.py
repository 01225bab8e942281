r"""What the person's programs do on Windows before a framework opens its DLLs: they load some by their paths, or make folders known.

A DLL that is loaded serves whatever asks for it by its name. Only what each program of the folder that imports the framework does counts; where
its text does not tell which files or folders, they are those in which packages keep CUDA's libraries, and the toolkit's.

Sources: onnxruntime/__init__.py of 1.21 to 1.23, preload_dlls; Python's documentation, "os.add_dll_directory" and "ctypes".
"""

from __future__ import annotations

import ast
import ntpath
from collections.abc import Iterable, Iterator

from core.common.late_pattern import late_pattern
from core.common.syntax_tree import nodes_of
from core.common.versions import is_older
from core.knowledge.modules import module_of
from core.model.facts import Distribution, Frozen, PythonEnvironment
from core.probes.loading.asked_parts import SERVES_OTHERS, is_served, programs_importing
from core.probes.loading.package_folders import nvidias_folders, torchs_folders
from core.probes.probe import ProbeRequest
from core.probes.python.text.path_expressions import PathNames
from core.probes.sysroot import Sysroot

PRELOADS = late_pattern(r"\bpreload_dlls\(([^()]*)\)")
PRELOADS_SINCE = "1.21"
LOADS = late_pattern(r"\b(?:CDLL|WinDLL|OleDLL|PyDLL|LoadLibrary(?:Ex[AW]?)?)\((?!\s*[rR]?[\"'][\w.-]*[\"'])")
"""A call that loads something else than a bare name, which is searched for, as others are."""
BY_NAME = late_pattern(r"\b(?:CDLL|WinDLL|LoadLibrary)\(\s*[rR]?[\"']([\w.-]*)[\"']([^()]*)\)")
"""A call that loads a bare name: where it does not say ``winmode``, also from folders that are given to os.add_dll_directory."""
REGISTERS = late_pattern(r"\badd_dll_directory\(")
OF_NVIDIAS = late_pattern(r"(?i)\bnvidia\b")
OF_TORCHS = late_pattern(r"(?i)\btorch\b[^\r\n]{1,40}\blib\b")
"""Where a text means the folders in which packages keep CUDA's libraries."""
OF_CUDA = late_pattern(r"(?i)(?:cublas|cublasLt|cufft|cufftw|cudart|curand|cusolver|cusparse|nvrtc|nvJitLink)\w*\.dll")
OF_CUDNN = late_pattern(r"(?i)cudnn\w*\.dll")
MOST_FILES = 80


class OwnLoads(Frozen, frozen=True):
    """What is done before a framework opens its DLLs."""

    files: tuple[str, ...] = ()
    """DLLs that are loaded by their paths, in this order."""
    folders: tuple[str, ...] = ()
    """Folders that are given to os.add_dll_directory."""


class _Reader:
    """What the programs here do, as their texts tell it."""

    def __init__(self, its: Distribution, python: PythonEnvironment, request: ProbeRequest, where: Sysroot) -> None:
        self._its, self._request, self._where = its, request, where
        self._torchs = tuple(torchs_folders(python.site_packages, where))
        self._nvidias = tuple(nvidias_folders(python.site_packages, where))

    def of_program(self, path: str, text: str) -> OwnLoads:
        """Return what one program does."""
        files: list[str] = []
        preloads = PRELOADS.search(text)
        new = is_older(self._its.version, PRELOADS_SINCE) is False
        if preloads and new and module_of(self._its.name) == "onnxruntime":
            files += self._preloaded(preloads[1])
        if LOADS.search(text) or _loads_from_given_folders(text):
            files += self.libraries(self._torchs if OF_TORCHS.search(text) else ())
            files += self.libraries(self._nvidias if OF_NVIDIAS.search(text) else ())
        folders = self._registered(text, path) if REGISTERS.search(text) else ()
        return OwnLoads(tuple(dict.fromkeys(files)), tuple(dict.fromkeys(folders)))

    def of_torch(self) -> tuple[str, ...]:
        """Return what PyTorch loads of CUDA as it is imported."""
        return tuple(self.libraries(self._torchs))

    def _preloaded(self, arguments: str) -> Iterator[str]:
        """Yield what preload_dlls loads: PyTorch's own where it is there, else that of NVIDIA's packages."""
        for path in self.libraries(self._torchs or self._nvidias):
            left_out = "cudnn" if OF_CUDNN.fullmatch(ntpath.basename(path)) else "cuda"
            if f"{left_out}=False" not in arguments.replace(" ", ""):
                yield path

    def libraries(self, folders: Iterable[str]) -> Iterator[str]:
        """Yield CUDA's and cuDNN's libraries in these folders, those first that others need."""
        where = self._where
        for pattern in (OF_CUDA, OF_CUDNN):
            for folder in folders:
                names = [n for n in where.names(folder) or () if pattern.fullmatch(n)]
                names.sort(key=lambda n: (not n.lower().startswith("cublaslt"), n))
                yield from (where.join(folder, n) for n in names)

    def _registered(self, text: str, path: str) -> Iterator[str]:
        """Yield the folders that a program gives to Windows; where it computes one, all that it may mean."""
        home, env = self._request.seen.machine.home, self._request.env
        names = PathNames(path, folder=ntpath.dirname(path), home=home, paths=ntpath, env=env)
        for node in nodes_of(text):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    names.assign(name, value)
                case ast.Call(
                    func=ast.Attribute(attr="add_dll_directory") | ast.Name(id="add_dll_directory"), args=[one]
                ):
                    folder = names.value_of(one)
                    yield from (folder,) if folder else self._all_of_cuda()

    def _all_of_cuda(self) -> Iterator[str]:
        yield from (*self._torchs, *self._nvidias)
        for name, value in self._request.env.items():
            if name.upper().startswith("CUDA_PATH"):
                yield from (ntpath.join(value, "bin"), ntpath.join(value, "bin", "x64"))
            elif name.upper() == "PATH":
                yield from (e for e in value.split(";") if ntpath.isabs(e))


def _loads_from_given_folders(text: str) -> bool:
    """Whether a text gives folders to os.add_dll_directory, and loads a library of CUDA's by a name that is searched for in these."""
    named = BY_NAME.findall(text) if REGISTERS.search(text) else ()
    return any("winmode" not in more and (OF_CUDA.fullmatch(n) or OF_CUDNN.fullmatch(n)) for n, more in named)


def own_loads(its: Distribution, python: PythonEnvironment, request: ProbeRequest, where: Sysroot) -> OwnLoads:
    """Return what each program here that imports a distribution does."""
    reader = _Reader(its, python, request, where)
    found = [reader.of_program(p.path, p.text) for p in programs_importing(module_of(its.name), request, where)]
    if not found:
        return OwnLoads()
    files = [f for f in found[0].files if all(f in one.files for one in found)]
    folders = [f for f in found[0].folders if all(f in one.folders for one in found)]
    return OwnLoads(tuple(files[:MOST_FILES]), tuple(folders))


def served_files(
    its: Distribution, python: PythonEnvironment, request: ProbeRequest, where: Sysroot
) -> tuple[str, ...]:
    """Return the DLLs of CUDA that are loaded before a distribution asks for them: by the programs themselves, or by PyTorch, which each of
    them imports before.
    """
    served = any(d.name == SERVES_OTHERS for d in python.distributions) and is_served(its.name, request, where)
    torchs = _Reader(its, python, request, where).of_torch() if served else ()
    return tuple(dict.fromkeys((*torchs, *own_loads(its, python, request, where).files)))
