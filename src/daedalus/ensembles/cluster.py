"""Cases on other machines by Dask: the plan is sent once, blocks of cases follow, results come back in their order.

A block that goes down with its worker is run again by another one; how often that happened is told. Dask itself is an
optional extra, `daedalus[cluster]`; nothing of it is imported here but what the client brings along.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Any

import numpy as np

from daedalus.ensembles.blocks import in_blocks
from daedalus.ensembles.cases import Cases
from daedalus.ensembles.collected import CaseResults, joined_results
from daedalus.ensembles.sweep_plan import SweepPlan
from daedalus.ensembles.ways import ONE_BY_ONE, OnLanes, WayOfCases, cases_text, find_way
from daedalus.model.lazy_values import cached_property

# Blocks that wait for every thread of the cluster; results of more would pile up here.
AHEAD = 3
FEWEST, MOST = 64, 20_000
# Times that Dask tries a block that raises an error.
TRIES = 3
# Plans that a worker keeps, ready to run.
_KEPT = 8


def is_cluster(on: object) -> bool:
    """Whether something is a client of Dask."""
    return all(hasattr(on, name) for name in ("submit", "scheduler_info", "run_on_scheduler"))


class OnCluster(WayOfCases):
    """Blocks of cases on the workers of a Dask client."""

    def __init__(self, client: Any, plan: SweepPlan, cases: Cases, here: WayOfCases) -> None:
        self._client, self._cases = client, cases
        self._lanes = isinstance(here, OnLanes)
        self.again = 0
        import cloudpickle  # comes with Dask; functions that drive inputs travel by it

        self._text = cloudpickle.dumps(plan)
        self._threads = max(1, sum(worker["nthreads"] for worker in self._workers()))
        self.most = int(np.clip(cases.count // (4 * self._threads), FEWEST, MOST))

    def _workers(self) -> list[dict[str, Any]]:
        return list(self._client.scheduler_info(n_workers=-1)["workers"].values())

    @cached_property
    def _plan(self) -> Any:
        """The plan on the cluster: a plain result of it, which Dask makes again where its worker is lost."""
        name = f"daedalus-plan-{hashlib.sha256(self._text).hexdigest()[:16]}"
        return self._client.submit(bytes, self._text, key=name)

    def to_be(self) -> list[tuple[int, Any]]:
        """(cases, their results to be) of every block: graphs of Dask, run when somebody asks."""
        from dask import delayed

        count, plan, run = self._cases.count, delayed(self._text), delayed(_run_block)
        blocks = [range(begin, min(begin + self.most, count)) for begin in range(0, count, self.most)]
        return [(len(block), run(plan, delayed(self._part(block), traverse=False), self._lanes)) for block in blocks]

    def _part(self, block: range) -> Cases:
        return Cases(self._cases.columns_of(block), False, self._cases.names, self._cases.typical)

    def run(self, block: range) -> CaseResults:
        """The results of one block."""
        results: CaseResults = self._submitted(block).result()
        return results

    def _submitted(self, block: range) -> Any:
        return self._client.submit(_run_block, self._plan, self._part(block), self._lanes, pure=False, retries=TRIES)

    def in_order(self, count: int, workers: int, cancel: Any) -> Iterator[tuple[range, CaseResults]]:
        """(cases, results) of one block after the other, in the order of the cases whichever is ready first."""
        size = self.most
        blocks = iter(range(begin, min(begin + size, count)) for begin in range(0, count, size))
        waiting: deque[tuple[range, Any]] = deque()
        try:
            while True:
                while len(waiting) < AHEAD * self._threads and (block := next(blocks, None)) is not None:
                    waiting.append((block, self._submitted(block)))
                if not waiting:
                    return
                block, future = waiting.popleft()
                results = future.result()
                self.again += self._lost(future)
                future.release()
                yield block, results
        except BaseException:
            self._client.cancel([future for _, future in waiting])
            raise

    def _lost(self, future: Any) -> int:
        """How often a block went down with a worker."""
        with suppress(Exception):  # a scheduler that answers no questions
            return int(self._client.run_on_scheduler(_times_lost, key=future.key))
        return 0

    def note(self, count: int, left: int) -> str:
        """What was done."""
        how = "on lanes" if self._lanes else "one by one"
        told = f"{cases_text(count)} on {len(self._workers())} workers of a Dask cluster, {how}"
        if left:
            told += f"; {left} of them left to the scalar core"
        if self.again:
            told += f"; {self.again} {'block' if self.again == 1 else 'blocks'} run again after a worker was lost"
        return told


def _times_lost(key: Any, dask_scheduler: Any = None) -> int:
    return int(dask_scheduler.tasks[key].suspicious)


def _run_block(text: bytes, cases: Cases, lanes: bool) -> CaseResults:
    """The results of a block of cases, on a worker."""
    opened = _plan_of(text).opened(cases)
    way = find_way(opened.runs, opened.reader, "cpu" if lanes else ONE_BY_ONE)
    found = [results for _, results in in_blocks(way.run, cases.count, 1, opened.cancel, way.first, way.most)]
    return joined_results(found)


@lru_cache(_KEPT)
def _plan_of(text: bytes) -> SweepPlan:
    """The plan of a text, with its system compiled once in this process."""
    import cloudpickle

    plan: SweepPlan = cloudpickle.loads(text)
    return plan
