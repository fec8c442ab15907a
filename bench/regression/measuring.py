"""Two commits' programs take turns, so that whatever else the machine does meets both alike."""

import dataclasses
import os
import time

from . import building
from .google_benchmark import Broken

SIDES = ("baseline", "current")


@dataclasses.dataclass(frozen=True, order=True)
class Benchmark:
    suite: str
    name: str

    def __str__(self):
        return f"{self.suite}/{self.name}"


@dataclasses.dataclass
class Samples:
    """Seconds of an iteration, one each round and side. `broken` says why there are no more: "baseline, …"
    where the baseline fails, whether or not the current side does, else "current, …"."""

    baseline: list = dataclasses.field(default_factory=list)
    current: list = dataclasses.field(default_factory=list)
    broken: str = ""


def list_benchmarks(runner, folder, suites, pattern):
    """The benchmarks of a build folder."""
    found = [suite for suite in building.find_suites(folder) if not suites or suite in suites]
    return [Benchmark(s, name) for s in found for name in runner.names(building.program(folder, s), pattern)]


def interleave(runner, folders, benchmarks, rounds, random, samples, on_round):
    """Adds `rounds` pairs to `samples` {Benchmark: Samples}. `folders`: {side: build folder}.

    Each round runs every benchmark once on either side: benchmarks in random order, the two sides one directly after the
    other, in random order too, each in a process of its own. An interruption leaves whole pairs behind.
    """
    started = time.monotonic()
    for benchmark in benchmarks:
        samples.setdefault(benchmark, Samples())
    for done in range(1, rounds + 1):
        for benchmark in random.sample(benchmarks, len(benchmarks)):
            if not samples[benchmark].broken:
                _run_pair(runner, folders, benchmark, random, samples[benchmark])
        on_round(done, rounds, (time.monotonic() - started) / done * (rounds - done))


def _run_pair(runner, folders, benchmark, random, samples):
    pair, broken = {}, {}
    for side in random.sample(SIDES, 2):
        program = building.program(folders[side], benchmark.suite)
        try:
            pair[side] = runner.seconds(program, benchmark.name)
        except Broken as error:
            broken[side] = f"{side}, {os.path.basename(program)}: {error}"
    if broken:
        samples.broken = broken.get("baseline") or broken["current"]
        return
    samples.baseline.append(pair["baseline"])
    samples.current.append(pair["current"])
