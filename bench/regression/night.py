"""A night from its options to its exit code: what is compared, measured, judged and written."""

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
    """The two sides that a night compares, and what it does with them."""

    def __init__(self, options, root, say):
        self._options = options
        self._root = root
        self._say = say
        self._notes = []
        self._history = History.load(options.history)
        self._random = random.Random(options.random_seed)
        self._repository = self._builder = None
        if options.builds:
            self._folders = dict(zip(measuring.SIDES, (building.existing(folder) for folder in options.builds)))
            self._sides = {side: {"commit": folder, "label": folder, "subject": None} for side, folder in self._folders.items()}
        else:
            self._repository = Repository(root)
            self._builder = _builder(self._repository, options, say)
            self._sides = self._choose_commits()

    @property
    def _is_tree(self):
        return self._options.current == "tree"

    @property
    def _scope(self):
        """Which benchmarks this night measures: "" for all."""
        suites = f"suites {','.join(self._options.suites)}" if self._options.suites else ""
        chosen = f"filter {self._options.benchmark_filter}" if self._options.benchmark_filter else ""
        return " ".join(filter(None, (suites, chosen)))

    def _choose_commits(self):
        repository, options = self._repository, self._options
        current = repository.commit("HEAD" if self._is_tree else options.current)
        if options.baseline == "auto":
            good = next(filter(repository.find, self._history.good_commits(self._scope)), None)
            baseline = good or (not self._is_tree and repository.find(f"{current}^")) or current
            if good is None:
                what = "HEAD" if self._is_tree else "the commit itself" if baseline == current else "its parent"
                self._notes.append(f"The history knows no good commit of these benchmarks: compared with {what}.")
        else:
            baseline = repository.commit(options.baseline)
        if not self._is_tree and options.current == "HEAD" and repository.is_modified():
            self._notes.append("The tree has changes that are not committed; HEAD was measured, without them (--current tree).")
        if self._is_tree:
            self._notes.append("The tree was measured with its changes; the history stays as it was.")
        elif baseline == current:
            self._notes.append("Both sides are the same commit: what is found is noise.")
        sides = {side: {"commit": commit, "label": commit[:12], "subject": repository.subject(commit)}
                 for side, commit in (("baseline", baseline), ("current", current))}
        if self._is_tree:
            sides["current"]["label"] += " and changes"
        return sides

    def plan(self):
        """What --dry-run prints."""
        options = self._options
        for side in measuring.SIDES:
            built = ""
            if self._builder is not None:
                tree = side == "current" and self._is_tree
                built = ", to be built" if tree or not self._builder.is_built(self._sides[side]["commit"]) else ", built already"
            yield f"{side:9} {self._sides[side]['commit']} {self._sides[side]['subject'] or ''}{built}"
        yield f"suites    {', '.join(options.suites) or 'all'}{f', benchmarks matching {options.benchmark_filter}' if options.benchmark_filter else ''}"
        yield f"rounds    {options.repetitions}, then {options.rerun_pairs} pairs of each suspect, {options.benchmark_min_time:g} s a run at least"
        yield f"accuracy  {options.accuracy}"
        yield f"output    {options.output}"
        state = "its last line is cut off: would be kept aside, " if self._history.is_cut else ""
        yield f"history   {options.history} ({state}{len(self._history.lines)} lines)"
        yield from (f"note      {note}" for note in self._notes)

    def run(self):
        options = self._options
        aside = self._history.set_aside()
        if aside:
            self._notes.append(f"The history's last line was cut off: kept aside as {aside}, {len(self._history.lines)} whole lines carried over.")
            print(f"nightly: warning: {self._notes[-1]}", file=sys.stderr)
        started = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        rule = judging.Rule(options.minimum_effect, options.alpha)
        night = report.Night(started, **self._sides, machine=machine.describe(), load=machine.load(), settings=self._settings(),
                             scope=self._scope, rule=rule, accepted=options.accept, notes=self._notes)
        with tempfile.TemporaryDirectory(prefix="psgd-nightly-") as scratch:
            runner = Runner(scratch, options.benchmark_min_time, options.benchmark_mib, options.threads, options.timeout)
            self._build()
            try:
                night.accuracy = self._check_accuracy(runner)
                if options.accuracy != "only":
                    self._measure(runner, night)
            except KeyboardInterrupt:
                night.complete = False
        return self._finish(night)

    def _build(self):
        if self._builder is None:
            return
        commits = [self._sides[side]["commit"] for side in measuring.SIDES]
        os.makedirs(self._options.cache, exist_ok=True)
        current = self._builder.build_tree(self._root) if self._is_tree else self._builder.build_commit(commits[1])
        only = self._options.accuracy == "only"
        self._folders = {"baseline": current if only else self._builder.build_commit(commits[0]), "current": current}
        if not only:
            self._builder.forget_all_but(commits)

    def _check_accuracy(self, runner):
        """Deviations from the golden table of the current side; None when they are not looked for, with a note unless asked for."""
        if self._options.accuracy == "off":
            return None
        replay = os.path.join(self._folders["current"], "bin", "psgd-replay")
        with self._current_source() as source:
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

    def _current_source(self):
        if self._repository is None or self._is_tree:
            return contextlib.nullcontext(self._root)
        commit = self._sides["current"]["commit"]
        return self._repository.worktree(commit, self._builder.checkout)

    def _measure(self, runner, night):
        options = self._options
        both, only = self._benchmarks(runner)
        night.verdicts |= {b: judging.Verdict("new" if side == "current" else "gone") for b, side in only.items()}
        if not both:
            missing = "no benchmark" + (f" of {self._scope}" if self._scope else "")
            raise (UsageError if self._scope else NotAvailable)(f"{missing} is in both builds")
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

    def _interleave(self, runner, benchmarks, rounds, samples, what):
        def tell(done, of, left):
            self._say(f"{what} {done} of {of}, {left / 60:.1f} minutes left")

        measuring.interleave(runner, self._folders, benchmarks, rounds, self._random, samples, tell)

    def _benchmarks(self, runner):
        """The benchmarks that both sides have, and {Benchmark: side} of the others."""
        found = {side: measuring.list_benchmarks(runner, folder, self._options.suites, self._options.benchmark_filter)
                 for side, folder in self._folders.items()}
        both = [b for b in found["current"] if b in set(found["baseline"])]
        return both, {b: side for side, some in found.items() for b in some if b not in set(both)}

    def _settings(self):
        o = self._options
        names = ("repetitions", "rerun_pairs", "minimum_effect", "alpha", "benchmark_min_time", "benchmark_mib", "threads", "suites",
                 "benchmark_filter", "accuracy", "random_seed", "cmake_argument")
        return {name: getattr(o, name) for name in names}

    def _finish(self, night):
        output = self._options.output
        if night.complete and self._builder is not None and not self._is_tree:
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


def _tell(night, output):
    print(report.headline(night))
    for line in night.regressions():
        print(f"regression: {line}")
    for note in night.notes:
        print(f"note: {note}")
    print(f"Benchmarks: {report.counts(night)}. More in {shlex.quote(os.path.join(output, 'summary.md'))}")


def _builder(repository, options, say):
    return building.Builder(repository, options.cache, options.suites, options.cmake_argument, options.jobs, options.output, say)


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
        folder = building.existing(options.builds[1]) if options.builds else _builder(Repository(root), options, say).build_tree(root)
        replay = os.path.join(folder, "bin", "psgd-replay")
        if not os.path.exists(replay):
            raise NotAvailable(f"{replay} is missing")
        rows, failed = accuracy.measure(replay, root, Runner(scratch, options.benchmark_min_time, options.benchmark_mib).environment, options.threads)
    if failed:
        raise BadInput(f"{failed[0]}; the golden table stays as it was")
    table = os.path.join(root, accuracy.TABLE)
    changes = accuracy.compare(accuracy.read(table), rows) if os.path.exists(table) else []
    write_whole(table, accuracy.render(rows))
    print("\n".join(f"changed: {change}" for change in changes))
    print(f"{table}: {len(rows)} rows written, {len(changes)} numbers beyond their tolerance")
    return 0
