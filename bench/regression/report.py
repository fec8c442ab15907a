"""What a night found, as JSON, as a Markdown summary, and as lines of the history."""

import dataclasses
import json

from . import judging
from .files import write_whole

ORDER = ("regression", "broken", "cleared", "faster", "incomplete", "failing", "new", "gone", "unchanged")
MEANINGS = {
    "regression": "slower, and slower again when measured anew",
    "broken": "does not run to its end any more",
    "cleared": "looked slower at first; measured anew it was not, or not by the minimum effect",
    "faster": "faster by more than the minimum effect (not measured anew)",
    "incomplete": "interrupted before it was judged",
    "failing": "does not run on the baseline",
    "new": "the baseline has no such benchmark",
    "gone": "only the baseline has it",
    "unchanged": "no slowdown that can be told from noise",
}


@dataclasses.dataclass
class Night:
    """Everything that a night found. `verdicts` {Benchmark: Verdict}; `samples`, `reruns` {Benchmark: Samples}; `baseline`, `current`:
    what was compared, {commit, label, subject}; `accuracy`: None where it was not looked at, else its Deviations."""

    started: str
    baseline: dict
    current: dict
    machine: dict
    load: float
    settings: dict
    scope: str
    rule: judging.Rule
    complete: bool = True
    accepted: str | None = None
    verdicts: dict = dataclasses.field(default_factory=dict)
    samples: dict = dataclasses.field(default_factory=dict)
    reruns: dict = dataclasses.field(default_factory=dict)
    accuracy: list | None = None
    notes: list = dataclasses.field(default_factory=list)
    plots: list = dataclasses.field(default_factory=list)

    def regressions(self):
        """One line each, slowest first, then what became inaccurate."""
        slow = [(b, v) for b, v in self.verdicts.items() if v.is_regression]
        slow.sort(key=lambda item: -item[1].decisive.ratio if item[1].decisive else float("-inf"))
        return [f"{b}: {describe(v)}" for b, v in slow] + [f"accuracy: {d}" for d in self.accuracy or []]

    @property
    def good(self):
        """Whether this commit may be the next nights' baseline."""
        return self.complete and (not self.regressions() or self.accepted is not None)


def describe(verdict):
    if verdict.kind == "broken":
        return f"broken: {verdict.reason}"
    c = verdict.decisive
    return (f"{c.ratio:.3f} times the baseline's time ({duration(c.baseline_seconds)} became {duration(c.current_seconds)}; "
            f"median of {c.pairs} fresh pairs, corrected p = {verdict.adjusted_p:.2g})")


def duration(seconds):
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= scale:
            return f"{seconds / scale:.4g} {unit}"
    return f"{seconds / 1e-9:.4g} ns"


def headline(night):
    regressions = len(night.regressions())
    if not night.complete:
        return f"Interrupted; {regressions} regressions so far" if regressions else "Interrupted"
    if not regressions:
        return "No regression"
    text = f"{regressions} regression{'s' if regressions > 1 else ''}"
    return f"{text}, accepted: {night.accepted}" if night.accepted is not None else text


def counts(night):
    kinds = [v.kind for v in night.verdicts.values()]
    return ", ".join(f"{kinds.count(kind)} {kind}" for kind in ORDER if kind in kinds) or "none measured"


def write_json(path, night):
    def samples_of(some):
        return {side: getattr(some, side) for side in ("baseline", "current")} if some else None

    document = {
        "schema": "psgd-nightly", "version": 1, "complete": night.complete, "good": night.good, "night": night.started,
        "baseline": night.baseline, "current": night.current, "machine": night.machine, "load": night.load,
        "settings": night.settings, "accepted": night.accepted, "regressions": night.regressions(), "notes": night.notes,
        "benchmarks": [
            {"suite": b.suite, "benchmark": b.name, "verdict": v.kind, "reason": v.reason, "adjusted_p": v.adjusted_p,
             "screen": v.screen and dataclasses.asdict(v.screen), "rerun": v.rerun and dataclasses.asdict(v.rerun),
             "screen_seconds": samples_of(night.samples.get(b)), "rerun_seconds": samples_of(night.reruns.get(b))}
            for b, v in night.verdicts.items()],
        "accuracy": None if night.accuracy is None else [dataclasses.asdict(d) for d in night.accuracy],
        "plots": night.plots,
    }
    write_whole(path, json.dumps(document, indent=1) + "\n")


def write_markdown(path, night):
    write_whole(path, markdown(night))


def markdown(night):
    """The summary, regressions first."""
    lines = [f"# {headline(night)}", ""]
    lines += [f"- **{_escape(r)}**" for r in night.regressions()]
    lines += [""] if night.regressions() else []
    lines += [f"{night.started}: {_commit(night.current)} against {_commit(night.baseline)}. Benchmarks: {counts(night)}. "
              f"Accuracy: {accuracy(night)}.", ""]
    lines += [f"- {_escape(note)}" for note in night.notes]
    lines += [""] if night.notes else []
    lines += _tables(night)
    lines += [f"![{plot}]({plot})" for plot in night.plots]
    lines += ["", "Ratio: of median times, current to baseline (of the re-run, where there is one). p: one-sided Mann-Whitney U; of a re-run "
              f"corrected by Holm's method. A regression has p below {night.rule.alpha:g} and a ratio above {1 + night.rule.minimum_effect:g} "
              f"in a re-run; a re-run follows a first p below {night.rule.screen:g}. Noise: the baseline's relative spread. "
              "Seen: the slowdown that these pairs tell from none at this noise (three standard errors).", ""]
    kinds = {v.kind for v in night.verdicts.values()}
    lines += [f"- {kind}: {MEANINGS[kind]}" for kind in ORDER if kind in kinds]
    machine = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in night.machine.items())
    lines += ["", f"Machine: {_escape(machine)}; load {night.load:g} at the start."]
    return "\n".join(lines) + "\n"


def _tables(night):
    lines = []
    for suite in sorted({b.suite for b in night.verdicts}):
        lines += [f"## {suite}", "", "| benchmark | verdict | ratio | baseline | current | pairs | p | noise | seen |",
                  "|---|---|--:|--:|--:|--:|--:|--:|--:|"]
        chosen = [(b, v) for b, v in night.verdicts.items() if b.suite == suite]
        for b, v in sorted(chosen, key=lambda item: (ORDER.index(item[1].kind), item[0])):
            lines.append(f"| {_escape(b.name)} | {v.kind} | {_cells(v)} |")
        lines.append("")
    return lines


def _cells(verdict):
    c = verdict.decisive
    if c is None:
        return " | ".join([_escape(verdict.reason), *[""] * 6])
    p = c.p if verdict.adjusted_p is None else verdict.adjusted_p
    seen = judging.smallest_certain_effect(c.noise, c.pairs)
    return (f"{c.ratio:.3f} | {duration(c.baseline_seconds)} | {duration(c.current_seconds)} | {c.pairs} | {p:.2g} | "
            f"{100 * c.noise:.1f} % | {100 * seen:.0f} %")


def history_lines(night):
    """The night's lines: a benchmark each, of those that were measured on both sides."""
    for b, v in night.verdicts.items():
        if v.decisive is not None:
            c = v.decisive
            yield {"night": night.started, "commit": night.current["commit"], "baseline": night.baseline["commit"], "suite": b.suite,
                   "benchmark": b.name, "baseline_seconds": c.baseline_seconds, "current_seconds": c.current_seconds, "ratio": c.ratio,
                   "p": c.p if v.adjusted_p is None else v.adjusted_p, "noise": c.noise, "pairs": c.pairs, "verdict": v.kind,
                   "accuracy": accuracy(night), "good": night.good, "scope": night.scope, "machine": night.machine}


def accuracy(night):
    if night.accuracy is None:
        return "not looked at"
    return f"{len(night.accuracy)} deviations from the golden table" if night.accuracy else "as in the golden table"


def _commit(side):
    subject = f" ({_escape(side['subject'])})" if side["subject"] else ""
    return f"`{side['label']}`{subject}"


def _escape(text):
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*").replace("\n", " ")
