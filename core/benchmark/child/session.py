"""The session of one GPU: a cuDNN handle, the interfaces to use, and reused memory. Child process only."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from core.benchmark.child.c_api import CallError, Library
from core.benchmark.child.cuda_api import Device
from core.benchmark.child.cudnn.api import Buffers, ConvolutionApi, Plan, error_message
from core.benchmark.number_types import random_data
from core.benchmark.shapes import Problem
from core.common.fact_text import fact_text

MAX_WORKSPACE_BYTES = 8 << 30
"""Maximum workspace of a plan in bytes; on a small card, a quarter of the free memory."""


class CudnnSession:
    """The state that all checks and measurements share."""

    def __init__(
        self, device: Device, cudnn: Library, major: int, ways: tuple[Callable[[], ConvolutionApi], ...]
    ) -> None:
        self.device, self.cudnn, self.major = device, cudnn, major
        self.capability = device.compute_capability
        self.refused: dict[str, CallError] = {}
        """Why an interface returned no plan at the last call of ``plans``."""
        self._ways = ways
        self._open: list[ConvolutionApi] = []
        self._memory: dict[str, tuple[int, int]] = {}
        self.warm = False
        """Whether the GPU has worked long enough to raise its clocks."""

    def reserve_memory(self, name: str, size: int) -> int:
        """Return memory of at least ``size`` bytes; the memory that had this name before is freed."""
        address, has = self._memory.get(name, (0, 0))
        if has < size:
            if address:
                del self._memory[name]
                self.device.free(address)
            address = self.device.allocate(size)
            self._memory[name] = address, size
        return address

    def allocated_blocks(self) -> tuple[tuple[int, int], ...]:
        """Return address and size of the memory that is kept."""
        return tuple(self._memory.values())

    def buffers(self, problem: Problem) -> Buffers:
        """Return memory for the three tensors of a problem."""
        return Buffers(*(self.reserve_memory(name, problem.tensor_bytes(which)) for which, name in enumerate("xwy")))

    def filled_buffers(self, problem: Problem) -> Buffers:
        """Return memory for the three tensors, with random numbers in those that a convolution reads."""
        buffers = self.buffers(problem)
        for which in range(3):
            if which != problem.written_tensor:
                self.device.repeat(buffers[which], random_data(problem.type, which), problem.tensor_bytes(which))
        return buffers

    def nothing_offered(self) -> CallError:
        """Return why no algorithm was tried."""
        return self.most_telling_error or CallError("", None, detail=fact_text("no algorithm is offered for it"))

    def plans(
        self, problem: Problem, buffers: Buffers, enough: Callable[[str], bool] = lambda _way: False
    ) -> Iterator[tuple[str, Plan]]:
        """Yield the plans of every interface, with the interface's name, leaving out those that need too much memory.

        Making a plan may mean compiling it: once ``enough`` says so, no more plans of that interface are made. fp32
        without tensor cores starts with the legacy functions, whose FFT is faster (50 against 44 TFLOP/s on an H200).
        """
        self.refused.clear()
        limit = min(
            MAX_WORKSPACE_BYTES, self.device.free_and_total_memory()[0] // 4 + self._memory.get("workspace", (0, 0))[1]
        )
        for make in self._ways[::-1] if problem.type == "fp32" else self._ways:
            way = make()
            self._open.append(way)
            try:
                for plan in way.plans(problem, buffers):
                    if plan.workspace <= limit:
                        yield way.name, plan
                    if enough(way.name):
                        break
            except CallError as e:
                self.refused[way.name] = CallError(e.call, e.status, e.name, e.detail or error_message(self.cudnn))

    @property
    def most_telling_error(self) -> CallError | None:
        """The most informative error: one with a status."""
        return min(self.refused.values(), key=lambda e: not e.status, default=None)

    def run(self, plan: Plan) -> None:
        """Start a plan."""
        plan.launch(self.workspace(plan), plan.workspace)

    def workspace(self, plan: Plan) -> int:
        """Return the workspace's address."""
        return self.reserve_memory("workspace", plan.workspace) if plan.workspace else 0

    def close(self) -> None:
        """Free what the last problem's plans hold; memory stays for the next problem."""
        while self._open:
            self._open.pop().close()
