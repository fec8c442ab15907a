"""Whether samples of two commits show a slowdown: two stages, so that a night neither cries wolf nor sleeps.

Stage 1, the screen, looks at every benchmark and is permissive: a one-sided Mann-Whitney U test at `screen` = 0.2, uncorrected.
With 9 repetitions at 6 % noise it lets 99 % of 10 % slowdowns through, and a fifth of everything else.
Stage 2 measures those suspects anew (30 pairs). A suspect is a regression when in the fresh samples alone
  - the U test, corrected by Holm's method for all benchmarks of the night, stays below `alpha` (a benchmark that is no suspect
    enters with p = 1), and
  - the ratio of the medians exceeds 1 + `minimum_effect`.
Fresh samples owe nothing to the screen, so that a night on an unchanged tree has a false alarm with a probability of at most
screen * alpha = 1 %, whatever the number of benchmarks (Bonferroni: m benchmarks, each screen * alpha / m), and less by the minimum effect.
A 10 % slowdown at 6 % noise is missed by the screen in 1 % of nights and by stage 2 in another 1 %: tests/bench simulates both.

Sources: Mann & Whitney, Ann. Math. Statist. 18 (1947) 50-60; Holm, Scand. J. Statist. 6 (1979) 65-70.
"""

import dataclasses
import math

import numpy as np
from scipy import stats

EXACT_BELOW = 20  # samples a side, above which the normal approximation is good and the exact distribution slow


@dataclasses.dataclass(frozen=True)
class Rule:
    minimum_effect: float = 0.05
    alpha: float = 0.05
    screen: float = 0.2


@dataclasses.dataclass(frozen=True)
class Comparison:
    """`ratio`: of the medians, current to baseline. `p`: of times as much longer if nothing had changed. `noise`: the baseline's
    relative spread, 1.4826 median absolute deviations (the standard deviation of normal noise)."""

    pairs: int
    baseline_seconds: float
    current_seconds: float
    ratio: float
    p: float
    noise: float


@dataclasses.dataclass(frozen=True)
class Verdict:
    """`kind`: regression; cleared (a suspect that was none); unchanged; faster; broken (does not run any more); failing (on the
    baseline already); new; gone; incomplete. `adjusted_p`: Holm's, of the re-run."""

    kind: str
    screen: Comparison | None = None
    rerun: Comparison | None = None
    adjusted_p: float | None = None
    reason: str = ""

    @property
    def is_regression(self):
        return self.kind in ("regression", "broken")

    @property
    def decisive(self):
        """The comparison that the verdict rests on."""
        return self.rerun or self.screen


def slowdown_p(baseline, current):
    """p of the one-sided Mann-Whitney U test that `current` is stochastically larger; along the last axis of two arrays."""
    baseline, current = np.asarray(baseline, float), np.asarray(current, float)
    both = np.sort(np.concatenate([baseline, current], axis=-1), axis=-1)
    tied = bool(np.any(both[..., 1:] == both[..., :-1]))
    small = min(baseline.shape[-1], current.shape[-1]) < EXACT_BELOW
    method = "exact" if small and not tied else "asymptotic"
    p = stats.mannwhitneyu(current, baseline, alternative="greater", axis=-1, method=method).pvalue
    # All times equal: SciPy divides zero by zero.
    return np.where(np.isnan(p), 1.0, p)


def holm(p):
    """Holm's adjusted p-values along the last axis: rejecting those below alpha keeps the family-wise error rate below alpha."""
    p = np.asarray(p, float)
    order = np.argsort(p, axis=-1)
    factors = np.arange(p.shape[-1], 0, -1)
    stepped = np.maximum.accumulate(np.take_along_axis(p, order, -1) * factors, axis=-1)
    adjusted = np.empty_like(p)
    np.put_along_axis(adjusted, order, np.minimum(stepped, 1.0), -1)
    return adjusted


def compare(samples):
    baseline, current = np.median(samples.baseline), np.median(samples.current)
    spread = 1.4826 * np.median(np.abs(np.asarray(samples.baseline) - baseline)) / baseline
    return Comparison(len(samples.baseline), float(baseline), float(current), float(current / baseline),
                      float(slowdown_p(samples.baseline, samples.current)), float(spread))


def suspects(samples, rule):
    """The benchmarks of `samples` {Benchmark: Samples} that have to be measured anew."""
    return [b for b, s in samples.items() if not s.broken and slowdown_p(s.baseline, s.current) < rule.screen]


def judge(samples, reruns, rule):
    """{Benchmark: Verdict} from the screen's samples and, of the suspects, those of the re-run."""
    adjusted = _adjusted(samples, reruns)
    faster = _faster(samples, rule)
    return {b: _verdict(s, reruns.get(b), adjusted.get(b), b in faster, rule) for b, s in samples.items()}


def judge_interrupted(samples, repetitions, rule):
    """As judge(), when a night was interrupted: no suspect has been measured anew."""
    whole = {b: s for b, s in samples.items() if s.broken or len(s.baseline) >= repetitions}
    open_ones = [b for b in samples if b not in whole] + suspects(whole, rule)
    verdicts = judge(whole, {}, rule)
    return verdicts | {b: Verdict("incomplete", compare(samples[b]) if samples[b].baseline else None) for b in open_ones}


def _verdict(screen, rerun, adjusted_p, faster, rule):
    broken = screen.broken or (rerun.broken if rerun else "")
    if broken:
        return Verdict("failing" if broken.startswith("baseline") else "broken", reason=broken)
    first = compare(screen)
    if rerun is None:
        return Verdict("faster" if faster else "unchanged", first)
    again = compare(rerun)
    slower = adjusted_p < rule.alpha and again.ratio > 1 + rule.minimum_effect
    return Verdict("regression" if slower else "cleared", first, again, adjusted_p)


def _adjusted(samples, reruns):
    measured = [b for b, s in reruns.items() if s.baseline and not s.broken]
    p = [float(slowdown_p(reruns[b].baseline, reruns[b].current)) for b in measured]
    adjusted = holm(p + [1.0] * (len(samples) - len(measured)))
    return dict(zip(measured, (float(a) for a in adjusted)))


def _faster(samples, rule):
    """Benchmarks that became faster, for information: corrected, beyond the minimum effect, without a re-run."""
    whole = [b for b, s in samples.items() if s.baseline and not s.broken]
    p = holm([float(slowdown_p(samples[b].current, samples[b].baseline)) for b in whole])
    ratios = [np.median(samples[b].current) / np.median(samples[b].baseline) for b in whole]
    return {b for b, q, r in zip(whole, p, ratios) if q < rule.alpha and r < 1 / (1 + rule.minimum_effect)}


def smallest_certain_effect(noise, pairs):
    """The slowdown that the medians of `pairs` pairs tell from none by three standard errors, for normal noise: a guide for readers."""
    return 3 * noise * math.sqrt(math.pi / 2) * math.sqrt(2 / pairs)
