"""The command line of bench/nightly."""

import argparse
import os
import re

from .errors import UsageError

EPILOG = """\
Two commits are built in a cache folder, in worktrees of their own; the tree that you work in is not touched. Each round runs every
benchmark of both builds, one process each, in random order. Suspects (Mann-Whitney U, p < 0.2) are measured anew in interleaved
pairs, and are regressions when these fresh times alone say so: Holm-corrected p below --alpha, and medians apart by more than
--minimum-effect. Every configuration of the golden table bench/accuracy.csv is replayed and compared as well.

Written: OUTPUT/nightly.json (schema "psgd-nightly", version 1), OUTPUT/summary.md, OUTPUT/trend-SUITE.png, and to the history a JSON
line a benchmark. A history whose last line is cut off is kept aside as FILE.cut-DATE, and its whole lines are carried over.

Exit codes: 0 no regression, 1 regression (named on standard output), 2 usage, 3 bad input (a history or JSON of another schema),
4 not available here (packages, a commit that does not build, another night still running), 130 interrupted: what was measured is written.

Examples:
  bench/nightly                                          HEAD against the last good commit (at first: its parent)
  bench/nightly --baseline v0.1.0 --suites kernels       against a release, one suite
  bench/nightly --benchmark-filter=-/blas_               leaves out what is there for comparison only
  bench/nightly --current tree --baseline HEAD           what is not committed yet against HEAD; nothing goes into the history
  bench/nightly --accept "PR 12: checks its input"       a slowdown that is wanted: named, but the next nights' baseline
  bench/nightly --update-golden                          writes bench/accuracy.csv anew from the tree
"""


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise UsageError(f"{message} (--help lists the options)")


def _number(kind, low, high, open_low=False):
    def parse(text):
        try:
            value = kind(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
        if not (low < value if open_low else low <= value) or not value <= high:
            raise argparse.ArgumentTypeError(f"{text} is not {'above' if open_low else 'at least'} {low:g} and at most {high:g}")
        return value
    return parse


def _names(text):
    names = [name.strip().removeprefix("bench_") for name in text.split(",")]
    if not all(re.fullmatch(r"\w+", name) for name in names):
        raise argparse.ArgumentTypeError(f"{text!r}: names of suites between commas, as kernels,reader")
    return sorted(set(names))


def parse(arguments):
    state = os.path.join(os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state"), "psgd-nightly")
    cache = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "psgd-nightly")
    parser = Parser(prog="nightly", description="Compares the speed and accuracy of a commit with the last good one, side by side.",
                    epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)

    what = parser.add_argument_group("What is compared")
    what.add_argument("--baseline", metavar="REV|auto", default="auto",
                      help="the commit to be no slower than; auto: the last good one of the history (default)")
    what.add_argument("--current", metavar="REV|tree", default="HEAD",
                      help="the commit to judge; tree: the files as they are now (default: HEAD)")
    what.add_argument("--builds", metavar=("BASELINE", "CURRENT"), nargs=2,
                      help="compare two build folders instead; nothing is built, nothing goes into the history")
    what.add_argument("--suites", metavar="NAME,…", type=_names, default=[], help="the programs bin/bench_NAME to run (default: all)")
    what.add_argument("--benchmark-filter", metavar="REGEX", help="only benchmarks whose name matches; =-REGEX: all but those")
    what.add_argument("--accuracy", choices=("on", "off", "only"), default="on",
                      help="compare with the golden table; only: nothing else (default: on)")
    what.add_argument("--accept", metavar="REASON", help="name regressions, but exit 0 and take this commit as good")
    what.add_argument("--update-golden", action="store_true",
                      help="write bench/accuracy.csv anew from the tree, or the second of --builds, and stop")

    how = parser.add_argument_group("How it is measured and judged")
    how.add_argument("--repetitions", metavar="N", type=_number(int, 9, 1000), default=9,
                     help="rounds of the first stage, at least 9 (default: 9)")
    how.add_argument("--rerun-pairs", metavar="N", type=_number(int, 9, 1000), default=30,
                     help="fresh pairs for a suspect, at least 9 (default: 30)")
    how.add_argument("--minimum-effect", metavar="X", type=_number(float, 0, 10), default=0.05,
                     help="relative slowdown that counts (default: 0.05)")
    how.add_argument("--alpha", metavar="P", type=_number(float, 0, 0.5, True), default=0.05,
                     help="level of the corrected test (default: 0.05)")
    how.add_argument("--benchmark-min-time", metavar="SECONDS", type=_number(float, 0, 60, True), default=0.1,
                     help="of one benchmark in one process (default: 0.1)")
    how.add_argument("--benchmark-mib", metavar="N", type=_number(int, 1, 65536), default=16,
                     help="PSGD_BENCH_MIB of the programs: the size of a step that reader and replay write first (default: 16)")
    how.add_argument("--clock", choices=("auto", "wall", "cpu"), default="auto",
                     help="auto: wall time where a benchmark asks for it; cpu: the main thread's processor time, for benchmarks of one "
                          "thread on a machine that others use too (default: auto)")
    how.add_argument("--threads", metavar="N", type=_number(int, 1, os.cpu_count() or 1),
                     help="processors that the programs may use (default: all)")
    how.add_argument("--timeout", metavar="SECONDS", type=_number(float, 1, 86400), default=600,
                     help="after which a benchmark counts as broken (default: 600)")
    how.add_argument("--random-seed", metavar="N", type=int, help="of the order of runs (default: another one each night)")

    building = parser.add_argument_group("Building")
    building.add_argument("--jobs", metavar="N", type=_number(int, 1, 1024), help="compile jobs at a time (default: CMake's)")
    building.add_argument("--cmake-argument", metavar="ARG", action="append", default=[], help="goes to CMake, both times; may be repeated")
    building.add_argument("--cache", metavar="DIR", default=cache, help=f"where builds are kept (default: {cache})")

    results = parser.add_argument_group("Results")
    results.add_argument("--output", metavar="DIR", default=os.path.join(state, "results"), help=f"(default: {state}/results)")
    results.add_argument("--history", metavar="FILE", default=os.path.join(state, "history.jsonl"),
                         help=f"(default: {state}/history.jsonl)")
    results.add_argument("--dry-run", action="store_true", help="say what would be compared, and stop")
    results.add_argument("--quiet", action="store_true", help="no progress on standard error")

    options = parser.parse_args(arguments)
    _check(options)
    return options


def _check(options):
    for name in ("output", "history", "cache"):
        setattr(options, name, os.path.abspath(os.path.expanduser(getattr(options, name))))
    if options.builds and (options.baseline != "auto" or options.current != "HEAD"):
        raise UsageError("--builds names both sides; leave --baseline and --current out")
    if options.update_golden and options.accuracy == "off":
        raise UsageError("--update-golden measures accuracy; leave --accuracy off out")
    if options.benchmark_filter is not None:
        try:
            re.compile(options.benchmark_filter.removeprefix("-"))
        except re.error as error:
            raise UsageError(f"--benchmark-filter: {error}") from error
    if options.accept is not None and not options.accept.strip():
        raise UsageError("--accept needs a reason")
