"""A night from its options to its exit code: what is measured, judged and written."""

import contextlib
import datetime
import fcntl
import os
import random
import shlex
import sys
import tempfile

from . import accuracy, building, judging, machine, measuring, report
from .errors import BadInput, NotAvailable, UsageError
from .files import write_whole
from .google_benchmark import Runner
from .history import History
from .repository import Repository
from .sides import Commits, Folders, builder

SETTINGS = ("repetitions", "rerun_pairs", "minimum_effect", "alpha", "benchmark_min_time", "benchmark_mib", "clock", "threads",
            "suites", "benchmark_filter", "accuracy", "random_seed", "cmake_argument")


def run(options, root):
    def say(text):
        if not options.quiet:
            print(f"nightly: {text}", file=sys.stderr, flush=True)

    if options.update_golden:
        return _update_golden(options, root, say)
    tonight = Tonight(options, root, say)
    if options.dry_run:
        print("\n".join(tonight.plan()))
        return 0
    with _alone(options.cache):
        return tonight.run()


class Tonight:
    def __init__(self, options, root, say):
        self._options = options
        self._say = say
        self._history = History.load(options.history)
        self._random = random.Random(options.random_seed)
        self._scope = _scope(options)
        self._sides = (Folders(root, options.builds) if options.builds else
                       Commits(root, options, self._history, self._scope, say))
        self._notes = self._sides.notes

    def plan(self):
        """What --dry-run prints."""
        options = self._options
        for side, described in self._sides.described.items():
            yield f"{side:9} {described['commit']} {described['subject'] or ''}{self._sides.state(side)}"
        yield f"measured  {self._scope or 'all suites'}"
        yield (f"rounds    {options.repetitions}, then {options.rerun_pairs} pairs of each suspect; "
               f"a run takes at least {options.benchmark_min_time:g} s")
        yield f"accuracy  {options.accuracy}"
        yield f"output    {options.output}"
        cut = "its last line is cut off: would be kept aside, " if self._history.is_cut else ""
        yield f"history   {options.history} ({cut}{len(self._history.lines)} lines)"
        yield from (f"note      {note}" for note in self._notes)

    def run(self):
        options = self._options
        self._set_history_aside()
        started = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        night = report.Night(started, **self._sides.described, machine=machine.describe(), load=machine.load(),
                             settings={name: getattr(options, name) for name in SETTINGS}, scope=self._scope,
                             rule=judging.Rule(options.minimum_effect, options.alpha), accepted=options.accept, notes=self._notes)
        self._sides.build(only_current=options.accuracy == "only")
        with tempfile.TemporaryDirectory(prefix="psgd-nightly-") as scratch:
            runner = Runner(scratch, options.benchmark_min_time, options.benchmark_mib, options.clock, options.threads,
                            options.timeout)
            try:
                night.accuracy = self._check_accuracy(runner)
                if options.accuracy != "only":
                    self._measure(runner, night)
            except KeyboardInterrupt:
                night.complete = False
        return self._finish(night)

    def _set_history_aside(self):
        aside = self._history.set_aside()
        if aside:
            self._notes.append(f"The history's last line was cut off: kept aside as {aside}, "
                               f"{len(self._history.lines)} whole lines carried over.")
            print(f"nightly: warning: {self._notes[-1]}", file=sys.stderr)

    def _check_accuracy(self, runner):
        """Deviations from the golden table of the current side; None when they are not looked for, with a note unless asked for."""
        if self._options.accuracy == "off":
            return None
        replay = os.path.join(self._sides.folders["current"], "bin", "psgd-replay")
        with self._sides.source() as source:
            table = os.path.join(source, accuracy.TABLE)
            missing = [path for path in (replay, table) if not os.path.exists(path)]
            if missing and self._options.accuracy == "only":
                raise NotAvailable(f"accuracy cannot be judged: {missing[0]} is missing")
            if missing:
                self._notes.append(f"Accuracy was not looked at: this side has no {os.path.basename(missing[0])}.")
                return None
            self._say("comparing with the golden table")
            golden = accuracy.read(table)
            rows, failed = accuracy.measure(replay, source, runner.environment, self._options.threads)
            known = {(d.dump, d.configuration) for d in failed}
            return failed + accuracy.compare({k: row for k, row in golden.items() if k not in known}, rows)

    def _measure(self, runner, night):
        options = self._options
        both, only = self._benchmarks(runner)
        night.verdicts |= {b: judging.Verdict("new" if side == "current" else "gone") for b, side in only.items()}
        if not both:
            kind = UsageError if self._scope else NotAvailable
            raise kind(f"no benchmark{f' of {self._scope}' if self._scope else ''} is in both builds")
        self._say(f"{len(both)} benchmarks, {options.repetitions} rounds")
        try:
            self._interleave(runner, both, options.repetitions, night.samples, "round")
            suspects = judging.suspects(night.samples, night.rule)
            if suspects:
                self._say(f"{len(suspects)} suspects, {options.rerun_pairs} fresh pairs of each")
                self._interleave(runner, suspects, options.rerun_pairs, night.reruns, "pair")
        except KeyboardInterrupt:
            night.verdicts |= judging.judge_interrupted(night.samples, options.repetitions, night.rule)
            raise
        night.verdicts |= judging.judge(night.samples, night.reruns, night.rule)

    def _benchmarks(self, runner):
        """The benchmarks that both sides have, and {Benchmark: side} of the others."""
        found = {side: measuring.list_benchmarks(runner, folder, self._options.suites, self._options.benchmark_filter)
                 for side, folder in self._sides.folders.items()}
        both = [b for b in found["current"] if b in set(found["baseline"])]
        return both, {b: side for side, some in found.items() for b in some if b not in set(both)}

    def _interleave(self, runner, benchmarks, rounds, samples, what):
        def tell(done, of, left):
            self._say(f"{what} {done} of {of}, {left / 60:.1f} minutes left")

        measuring.interleave(runner, self._sides.folders, benchmarks, rounds, self._random, samples, tell)

    def _finish(self, night):
        output = self._options.output
        if night.complete and self._sides.is_night:
            self._history.append(list(report.history_lines(night)))
            night.plots = self._draw(night)
        report.write_json(os.path.join(output, "nightly.json"), night)
        report.write_markdown(os.path.join(output, "summary.md"), night)
        _tell(night, output)
        if not night.complete:
            return 130
        return 1 if night.regressions() and night.accepted is None else 0

    def _draw(self, night):
        from . import plot  # Matplotlib takes a second to load, and a night that ends early does without

        os.makedirs(self._options.output, exist_ok=True)
        lines = self._history.of_machine(night.machine)
        names = []
        for suite in sorted({b.suite for b in night.verdicts}):
            name = f"trend-{suite}.png"
            if plot.draw_suite(os.path.join(self._options.output, name), suite, [line for line in lines if line["suite"] == suite]):
                names.append(name)
        return names


def _scope(options):
    """Which benchmarks are measured: "" for all."""
    suites = f"suites {','.join(options.suites)}" if options.suites else ""
    chosen = f"filter {options.benchmark_filter}" if options.benchmark_filter else ""
    return " ".join(filter(None, (suites, chosen)))


def _tell(night, output):
    print(report.headline(night))
    for line in night.regressions():
        print(f"regression: {line}")
    for note in night.notes:
        print(f"note: {note}")
    print(f"Benchmarks: {report.counts(night)}. Accuracy: {report.accuracy(night)}.")
    print(f"More in {shlex.quote(os.path.join(output, 'summary.md'))}")


@contextlib.contextmanager
def _alone(cache):
    """No second night at the same time: it would be the first one's noise, and build in its folders."""
    os.makedirs(cache, exist_ok=True)
    with open(os.path.join(cache, "lock"), "w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise NotAvailable(f"another night is running with the cache {cache}; wait for it, or name another --cache") from None
        yield


def _update_golden(options, root, say):
    with _alone(options.cache), tempfile.TemporaryDirectory(prefix="psgd-nightly-") as scratch:
        folder = building.existing(options.builds[1]) if options.builds else builder(Repository(root), options, say).build_tree(root)
        replay = os.path.join(folder, "bin", "psgd-replay")
        if not os.path.exists(replay):
            raise NotAvailable(f"{replay} is missing")
        runner = Runner(scratch, options.benchmark_min_time, options.benchmark_mib)
        rows, failed = accuracy.measure(replay, root, runner.environment, options.threads)
    if failed:
        raise BadInput(f"{failed[0]}; the golden table stays as it was")
    table = os.path.join(root, accuracy.TABLE)
    changes = accuracy.compare(accuracy.read(table), rows) if os.path.exists(table) else []
    write_whole(table, accuracy.render(rows))
    print("".join(f"changed: {change}\n" for change in changes), end="")
    print(f"{table}: {len(rows)} rows written, {len(changes)} numbers beyond their tolerance")
    return 0
