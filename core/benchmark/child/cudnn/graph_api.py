"""cuDNN's graph interface (backend descriptors, from 8 on), which frameworks use today and which is often faster.

Child process only.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, zip_longest
from typing import Any

from core.benchmark.child.c_api import CallError, Library
from core.benchmark.child.cudnn.api import CUDNN_DATA_TYPES, FLOAT, INT32, Buffers, Plan
from core.benchmark.shapes import Problem
from core.common.fact_text import fact_text
from core.model.facts import Direction

MAX_CONFIGURATIONS = 24
"""Maximum number of engine configurations requested."""

# cudnnBackendDescriptorType_t
_CONVOLUTION, _ENGINE, _CONFIGURATION, _HEURISTIC, _PLAN = 1, 2, 3, 4, 5
_GRAPH, _PACK, _TENSOR = 15, 16, 17
# cudnnBackendAttributeType_t
_HANDLE, _DATA_TYPE, _INT64, _FLOAT, _POINTER, _MODE, _HEURISTIC_MODE, _NOTE, _DESCRIPTOR = 0, 1, 3, 4, 6, 7, 8, 11, 15
# cudnnBackendAttributeName_t
_BYTE_ALIGNMENT, _TENSOR_TYPE, _DIMENSIONS, _STRIDES, _UNIQUE_ID = 900, 901, 902, 903, 906
_TENSOR_CORE, _FFT, _NONDETERMINISTIC, _WINOGRAD = 0, 3, 4, 5
"""cudnnBackendNumericalNote_t; 5 to 8 are all Winograd."""

_OPERATION: dict[Direction, tuple[int, int, tuple[int, int, int]]] = {
    "forward": (10, 700, (704, 703, 705)),
    "data gradient": (12, 706, (710, 709, 711)),
    "weight gradient": (11, 712, (716, 715, 717)),
}
"""The operation's descriptor type, its first attribute (alpha, beta, convolution), and those of data, filters, result."""

_MODES = (3, 1, 0, 2)
"""cudnnBackendHeurMode_t: A (from 8.2 on), B, instant, fallback."""


class GraphApi:
    """Computes a convolution as an operation graph with one node."""

    name = "graph"

    def __init__(self, cudnn: Library, handle: ctypes.c_void_p, most: int = MAX_CONFIGURATIONS) -> None:
        self._cudnn, self._handle, self._most = cudnn, handle, most
        self._made: list[ctypes.c_void_p] = []

    def _make(self, kind: int) -> ctypes.c_void_p:
        out = ctypes.c_void_p()
        self._cudnn.call("cudnnBackendCreateDescriptor", kind, ctypes.byref(out))
        self._made.append(out)
        return out

    def _set(self, descriptor: ctypes.c_void_p, name: int, kind: int, values: Any) -> None:
        self._cudnn.call("cudnnBackendSetAttribute", descriptor, name, kind, len(values), values)

    def _finalize(self, descriptor: ctypes.c_void_p) -> ctypes.c_void_p:
        self._cudnn.call("cudnnBackendFinalize", descriptor)
        return descriptor

    def _get(self, descriptor: ctypes.c_void_p, name: int, kind: int, values: Any) -> int:
        """Fill ``values`` and return how many there are."""
        count = ctypes.c_int64()
        self._cudnn.call("cudnnBackendGetAttribute", descriptor, name, kind, len(values), ctypes.byref(count), values)
        return min(count.value, len(values))

    def _tensor(self, which: int, problem: Problem) -> ctypes.c_void_p:
        dims = problem.shape.dimensions[which]
        data = FLOAT if problem.type == "int8" and which == problem.written_tensor else CUDNN_DATA_TYPES[problem.type]
        out = self._make(_TENSOR)
        self._set(out, _TENSOR_TYPE, _DATA_TYPE, _integers(data))
        self._set(out, _DIMENSIONS, _INT64, _longs(*dims))
        self._set(out, _STRIDES, _INT64, _longs(*tensor_strides(dims, channels_last=problem.layout == "NHWC")))
        self._set(out, _UNIQUE_ID, _INT64, _longs(which + 1))
        self._set(out, _BYTE_ALIGNMENT, _INT64, _longs(16))
        return self._finalize(out)

    def _convolution(self, problem: Problem, *, turned: bool) -> ctypes.c_void_p:
        shape = problem.shape
        out = self._make(_CONVOLUTION)
        self._set(out, 100, _DATA_TYPE, _integers(INT32 if problem.type == "int8" else FLOAT))
        self._set(
            out, 101, _MODE, _integers(0 if turned else 1)
        )  # convolution: flipped filter; cross-correlation: unchanged filter
        self._set(out, 102, _INT64, _longs(1, 1))
        self._set(out, 103, _INT64, _longs(shape.stride, shape.stride))
        self._set(out, 104, _INT64, _longs(shape.pad, shape.pad))
        self._set(out, 105, _INT64, _longs(shape.pad, shape.pad))
        self._set(out, 106, _INT64, _longs(2))
        return self._finalize(out)

    def _graph(self, problem: Problem, *, turned: bool = False) -> ctypes.c_void_p:
        """Return a problem's graph; ``turned``: a data gradient expressed as a forward convolution (see ``can_turn``)."""
        kind, first, names = _OPERATION["forward" if turned else problem.direction]
        operation = self._make(kind)
        tensors = [self._tensor(which, problem) for which in range(3)]
        if turned:
            tensors.reverse()
        convolution = self._convolution(problem, turned=turned)
        self._set(operation, first, _FLOAT, (ctypes.c_float * 1)(1.0))
        self._set(operation, first + 1, _FLOAT, (ctypes.c_float * 1)(0.0))
        self._set(operation, first + 2, _DESCRIPTOR, _pointers(convolution))
        for name, tensor in zip(names, tensors, strict=True):
            self._set(operation, name, _DESCRIPTOR, _pointers(tensor))
        self._finalize(operation)
        graph = self._make(_GRAPH)
        self._set(graph, 800, _HANDLE, _pointers(self._handle))
        self._set(graph, 801, _DESCRIPTOR, _pointers(operation))
        return self._finalize(graph)

    def _configurations(self, graph: ctypes.c_void_p) -> Iterator[ctypes.c_void_p]:
        """Yield the engine configurations of all of cuDNN's heuristics, the best of each first."""
        failed: CallError | None = None
        count = 0
        for mode in _MODES:
            try:
                heuristic = self._make(_HEURISTIC)
                self._set(heuristic, 201, _DESCRIPTOR, _pointers(graph))
                self._set(heuristic, 200, _HEURISTIC_MODE, _integers(mode))
                self._finalize(heuristic)
                slots = _pointers(*(self._make(_CONFIGURATION) for _ in range(self._most)))
                number = self._get(heuristic, 202, _DESCRIPTOR, slots)
            except CallError as e:
                failed = failed or e
                continue
            count += number
            yield from (ctypes.c_void_p(slot) for slot in slots[:number])
        if not count:
            raise failed or CallError("cudnnBackendGetAttribute", None, detail=fact_text("no engine can do this"))

    def _offers(self, problem: Problem) -> Iterator[tuple[bool, ctypes.c_void_p]]:
        """Yield the configurations for a problem, and whether each computes it as a forward convolution."""
        if not can_turn(problem):
            yield from ((False, c) for c in self._configurations(self._graph(problem)))
            return
        failed: CallError | None = None
        offers: list[list[tuple[bool, ctypes.c_void_p]]] = []
        for turned in (False, True):
            try:
                offers.append([(turned, c) for c in self._configurations(self._graph(problem, turned=turned))])
            except CallError as e:
                failed = failed or e
        if failed is not None and not offers:
            raise failed
        # Alternate, since there is seldom time to try all of them.
        yield from (offer for offer in chain.from_iterable(zip_longest(*offers)) if offer is not None)

    def plans(self, problem: Problem, buffers: Buffers) -> Iterator[Plan]:
        """Yield the plans that cuDNN's heuristics propose and this GPU can run, in their order."""
        seen: set[tuple[Any, ...]] = set()
        failed: CallError | None = None
        count = 0
        for turned, configuration in self._offers(problem):
            try:
                engine, notes, reorders = self._notes(configuration)
                # With fp32 data, tensor cores mean tf32. An engine that needs reordered filters is skipped.
                if reorders or (problem.type == "fp32" and _TENSOR_CORE in notes):
                    continue
                plan, workspace = self._make_plan(configuration)
                pack = partial(self._pack, problem, buffers)
            except CallError as e:
                failed = failed or e
                continue
            key = (turned, engine, workspace, self._knobs(configuration))
            if key in seen:
                continue
            seen.add(key)
            count += 1
            yield Plan(
                name=_plan_name(engine, turned=turned),
                launch=_Launch(self._cudnn, self._handle, plan, pack),
                workspace=workspace,
                direct=not notes & {_FFT, 5, 6, 7, 8},
                repeatable=_NONDETERMINISTIC not in notes,
                tensor_cores=_TENSOR_CORE in notes,
            )
        if not count:
            raise failed or CallError(
                "cudnnBackendFinalize", None, detail=fact_text("no engine for this kind of number")
            )

    def _notes(self, configuration: ctypes.c_void_p) -> tuple[int, frozenset[int], bool]:
        """Return an engine's number, its numerical notes, and whether it needs reordered int8 filters."""
        engine = self._make(_ENGINE)
        self._get(configuration, 300, _DESCRIPTOR, slot := _pointers(engine))
        engine = ctypes.c_void_p(slot[0])
        number = _longs(-1)
        self._get(engine, 1301, _INT64, number)
        notes = _integers(*[-1] * 16)
        count = self._get(engine, 1303, _NOTE, notes)
        behaviour, wants = _integers(*[-1] * 16), 0
        with suppress(CallError):  # from 8.2 on
            wants = self._get(engine, 1305, 19, behaviour)
        return number[0], frozenset(notes[:count]), bool({1, 2} & set(behaviour[:wants]))

    def _knobs(self, configuration: ctypes.c_void_p) -> tuple[tuple[int, int], ...]:
        """Return the knob settings of a configuration, so that the same proposal of two heuristics is tried once."""
        with suppress(CallError):
            slots = _pointers(*(self._make(7) for _ in range(16)))
            found = []
            for slot in slots[: self._get(configuration, 302, _DESCRIPTOR, slots)]:
                kind, value = _integers(0), _longs(0)
                self._get(ctypes.c_void_p(slot), 600, 9, kind)
                self._get(ctypes.c_void_p(slot), 601, _INT64, value)
                found.append((kind[0], value[0]))
            return tuple(found)
        return ()

    def _make_plan(self, configuration: ctypes.c_void_p) -> tuple[ctypes.c_void_p, int]:
        plan = self._make(_PLAN)
        self._set(plan, 400, _HANDLE, _pointers(self._handle))
        self._set(plan, 401, _DESCRIPTOR, _pointers(configuration))
        self._finalize(plan)
        size = _longs(0)
        self._get(plan, 402, _INT64, size)
        return plan, size[0]

    def _pack(self, problem: Problem, buffers: Buffers, workspace: int) -> ctypes.c_void_p:  # noqa: ARG002 - one form
        pack = self._make(_PACK)
        self._set(pack, 1001, _POINTER, _pointers(*(ctypes.c_void_p(buffers[i]) for i in range(3))))
        self._set(pack, 1000, _INT64, _longs(1, 2, 3))
        self._set(pack, 1003, _POINTER, _pointers(ctypes.c_void_p(workspace)))
        return self._finalize(pack)

    def close(self) -> None:
        """Destroy every descriptor, the newest first."""
        while self._made:
            self._cudnn.call("cudnnBackendDestroyDescriptor", self._made.pop())


class _Launch:
    """Starts a plan; the variant pack of addresses is built once for each workspace."""

    def __init__(self, cudnn: Library, handle: ctypes.c_void_p, plan: ctypes.c_void_p, pack: Any) -> None:
        self._cudnn, self._handle, self._plan, self._pack = cudnn, handle, plan, pack
        self._packs: dict[int, ctypes.c_void_p] = {}

    def __call__(self, workspace: int, _size: int) -> None:
        if workspace not in self._packs:
            self._packs[workspace] = self._pack(workspace)
        self._cudnn.call("cudnnBackendExecute", self._handle, self._plan, self._packs[workspace])


def can_turn(problem: Problem) -> bool:
    """Whether a data gradient equals a forward convolution of the result's gradient with the flipped filter.

    This holds where stride and padding keep the size and each channel has its own filter: with more channels the
    filter's two channel dimensions would have to be swapped as well. XLA computes it this way.
    """
    shape = problem.shape
    each = shape.groups == shape.c == shape.k
    return problem.direction == "data gradient" and each and shape.stride == 1 and shape.r % 2 == 1


def _plan_name(engine: int, *, turned: bool) -> str:
    if engine < 0:
        return "engine"
    if turned:
        return fact_text("engine {engine}, forward with the filter turned round", engine=engine)
    return fact_text("engine {engine}", engine=engine)


def tensor_strides(dims: Sequence[int], *, channels_last: bool) -> tuple[int, int, int, int]:
    """Return a tensor's strides in elements, in the order of its dimensions (n, c, h, w)."""
    _, c, h, w = dims
    return (c * h * w, 1, w * c, c) if channels_last else (c * h * w, h * w, w, 1)


def _integers(*values: int) -> ctypes.Array[ctypes.c_int]:
    return (ctypes.c_int * len(values))(*values)


def _longs(*values: int) -> ctypes.Array[ctypes.c_int64]:
    return (ctypes.c_int64 * len(values))(*values)


def _pointers(*values: ctypes.c_void_p) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * len(values))(*(v.value if isinstance(v, ctypes.c_void_p) else v for v in values))
