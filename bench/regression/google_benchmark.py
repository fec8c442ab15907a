"""Running one benchmark of a Google Benchmark program, and reading what it measured."""

import json
import os
import re
import statistics
import subprocess

from .errors import BadInput, NotAvailable

SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
JSON_SCHEMA = 1  # context.json_schema_version; Google Benchmark before 1.8 writes the same form without saying so


class Broken(Exception):
    """A benchmark did not run to its end; says why."""


class Runner:
    """Starts programs as each other process of the night: the same environment, processors and scratch folder.

    `processors`: how many of those that this process may use, None for all. `min_time`: seconds, as --benchmark_min_time.
    `mib`: the size of what suites write to read it, PSGD_BENCH_MIB. `clock`: "auto", "wall" or "cpu", as read_seconds() takes it.
    """

    def __init__(self, scratch, min_time, mib, clock="auto", processors=None, timeout=600):
        self._scratch = scratch
        self._min_time = min_time
        self._clock = clock
        self._timeout = timeout
        self._processors = None if processors is None else set(sorted(os.sched_getaffinity(0))[:processors])
        # OpenBLAS's two settings would time another BLAS than users have; BENCHMARK_* are Google Benchmark's defaults.
        unwanted = re.compile(r"OPENBLAS_CORETYPE$|OPENBLAS_L2_SIZE$|BENCHMARK_")
        self.environment = {k: v for k, v in os.environ.items() if not unwanted.match(k)}
        self.environment |= {"TMPDIR": scratch, "PSGD_BENCH_MIB": str(mib)}

    def names(self, program, pattern=None):
        """The benchmarks of `program` whose names match the regular expression `pattern`."""
        chosen = [] if pattern is None else [f"--benchmark_filter={pattern}"]
        try:
            listing = self._start([program, "--benchmark_list_tests=true", *chosen])
        except Broken as error:
            raise NotAvailable(f"{program}: cannot list its benchmarks: {error}") from error
        return [line.strip() for line in listing.splitlines() if line.strip() and not line.startswith("Failed to match")]

    def seconds(self, program, name):
        """Time of an iteration of one benchmark, measured by a process of its own."""
        out = os.path.join(self._scratch, "benchmark.json")
        if os.path.exists(out):
            os.unlink(out)
        self._start([program, f"--benchmark_filter=^{escape(name)}$", f"--benchmark_min_time={self._min_time:g}",
                     f"--benchmark_out={out}", "--benchmark_out_format=json"])
        try:
            with open(out, encoding="utf-8") as file:
                text = file.read()
        except OSError:
            raise BadInput(f"{program}: wrote no JSON for {name}; is it a Google Benchmark program?") from None
        return read_seconds(text, name, program, self._clock)

    def _start(self, command):
        def hold_to_processors():
            os.sched_setaffinity(0, self._processors)

        try:
            done = subprocess.run(command, cwd=self._scratch, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  timeout=self._timeout, preexec_fn=hold_to_processors if self._processors else None)
        except subprocess.TimeoutExpired:
            raise Broken(f"no end after {self._timeout} seconds") from None
        except OSError as error:
            raise Broken(error.strerror) from error
        if done.returncode != 0:
            last = done.stderr.strip().splitlines()[-1:]
            raise Broken(": ".join([f"exit code {done.returncode}", *last]))
        return done.stdout


def escape(name):
    """`name` as a POSIX extended regular expression."""
    return re.sub(r"([\\.\[\]()*+?{}|^$])", r"\\\1", name)


def read_seconds(text, name, where, clock="auto"):
    """The time of benchmark `name` from the JSON `text`: the median where the benchmark repeats itself.

    `clock` auto: wall time where the benchmark asked for it (UseRealTime, UseManualTime), else the main thread's processor time.
    Raises Broken where the benchmark reports an error, BadInput (naming `where`) where the JSON has another form.
    """
    def refuse(what):
        raise BadInput(f"{where}: not the JSON of Google Benchmark, schema {JSON_SCHEMA}: {what}")

    try:
        document = json.loads(text)
    except ValueError as error:
        refuse(error)
    context = document.get("context") if isinstance(document, dict) else None
    if not isinstance(context, dict):
        refuse("no object 'context'")
    version = context.get("json_schema_version", JSON_SCHEMA)
    if version != JSON_SCHEMA:
        refuse(f"'json_schema_version' is {version!r}")
    if not isinstance(document.get("benchmarks"), list):
        refuse("no list 'benchmarks'")

    asked = re.search(r"/(real|manual)_time(/|$)", name)
    field = "real_time" if clock == "wall" or clock == "auto" and asked else "cpu_time"
    times = []
    for entry in document["benchmarks"]:
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            refuse("a benchmark without 'name'")
        if entry.get("run_type", "iteration") != "iteration" or entry.get("run_name", entry["name"]) != name:
            continue
        if entry.get("error_occurred"):
            raise Broken(str(entry.get("error_message", "error")))
        unit, time = entry.get("time_unit"), entry.get(field)
        if unit not in SECONDS:
            refuse(f"{name}: 'time_unit' is {unit!r}")
        if isinstance(time, bool) or not isinstance(time, (int, float)) or not 0 < time < float("inf"):
            refuse(f"{name}: {field!r} is {time!r}")
        times.append(time * SECONDS[unit])
    if not times:
        refuse(f"no times of {name}")
    return statistics.median(times)
