"""The statistics: small cases known by counting, and how often a night is wrong (PSGD_SIMULATED_NIGHTS: in how many, 500 unless told)."""

import os
import unittest

import numpy as np

from regression import judging
from regression.judging import Rule
from regression.measuring import Benchmark, Samples


class MannWhitney(unittest.TestCase):
    def test_is_exact_in_small_samples(self):
        # All 3 of one above all 3 of the other: one of (6 choose 3) orders.
        self.assertAlmostEqual(float(judging.slowdown_p([1, 2, 3], [4, 5, 6])), 1 / 20, 12)
        self.assertAlmostEqual(float(judging.slowdown_p([4, 5, 6], [1, 2, 3])), 1, 12)
        # U = 8 or 9: two orders.
        self.assertAlmostEqual(float(judging.slowdown_p([1, 2, 4], [3, 5, 6])), 2 / 20, 12)

    def test_equal_times_are_no_slowdown(self):
        self.assertEqual(float(judging.slowdown_p([2.0] * 9, [2.0] * 9)), 1)

    def test_ties_and_large_samples(self):
        rng = np.random.default_rng(5)
        a, b = rng.normal(10, 1, 30), rng.normal(10.2, 1, 30)
        wins = np.sum(b[:, None] > a[None, :])
        z = (wins - 0.5 - 450) / np.sqrt(900 * 61 / 12)
        self.assertAlmostEqual(float(judging.slowdown_p(a, b)), judging.stats.norm.sf(z), 12)
        self.assertLess(float(judging.slowdown_p([1, 1, 1, 1, 2, 2, 2, 2, 2], [2, 3, 3, 3, 3, 3, 3, 3, 3])), 0.001)

    def test_goes_along_the_last_axis(self):
        rng = np.random.default_rng(6)
        a, b = rng.normal(size=(4, 9)), rng.normal(size=(4, 9))
        for row, p in enumerate(judging.slowdown_p(a, b)):
            self.assertEqual(p, judging.slowdown_p(a[row], b[row]))


class Holm(unittest.TestCase):
    def test_against_a_worked_example(self):
        # 0.01 * 4; 0.02 * 3; 0.03 * 2 (not below the one before); 0.04 * 1 (likewise).
        np.testing.assert_allclose(judging.holm([0.04, 0.01, 0.03, 0.02]), [0.06, 0.04, 0.06, 0.06], rtol=1e-15)

    def test_stays_a_probability(self):
        np.testing.assert_array_equal(judging.holm([0.9, 0.8]), [1, 1])
        self.assertEqual(judging.holm([]).size, 0)


def normal(rng, pairs, slowdown=1.0, noise=0.06):
    return Samples(list(np.exp(rng.normal(0, noise, pairs))), list(slowdown * np.exp(rng.normal(0, noise, pairs))))


class Verdicts(unittest.TestCase):
    def test_kinds(self):
        rng = np.random.default_rng(7)
        names = {name: Benchmark("s", name) for name in ("slow", "slight", "unlucky", "steady", "fast", "gone_wrong", "never")}
        screen = {
            names["slow"]: normal(rng, 9, 1.2), names["slight"]: normal(rng, 9, 1.03, 0.001), names["unlucky"]: normal(rng, 9, 1.2),
            names["steady"]: normal(rng, 9, 0.99, 0.001), names["fast"]: normal(rng, 9, 0.7),
            names["gone_wrong"]: Samples(broken="current, bench_s: exit code 1"), names["never"]: Samples(broken="baseline, bench_s: x"),
        }
        suspects = judging.suspects(screen, Rule())
        self.assertEqual(suspects, [names["slow"], names["slight"], names["unlucky"]])
        reruns = {names["slow"]: normal(rng, 30, 1.2), names["slight"]: normal(rng, 30, 1.03, 0.001), names["unlucky"]: normal(rng, 30)}
        kinds = {b.name: v.kind for b, v in judging.judge(screen, reruns, Rule()).items()}
        self.assertEqual(kinds, {"slow": "regression", "slight": "cleared", "unlucky": "cleared", "steady": "unchanged", "fast": "faster",
                                 "gone_wrong": "broken", "never": "failing"})
        # What is certain but slight counts when the user says so.
        self.assertEqual(judging.judge(screen, reruns, Rule(minimum_effect=0.01))[names["slight"]].kind, "regression")

    def test_the_re_run_alone_decides(self):
        rng = np.random.default_rng(8)
        b = Benchmark("s", "b")
        verdict = judging.judge({b: normal(rng, 9, 2)}, {b: normal(rng, 30, 1.5)}, Rule())[b]
        self.assertEqual(verdict.decisive.pairs, 30)
        self.assertAlmostEqual(verdict.decisive.ratio, 1.5, delta=0.1)

    def test_interrupted(self):
        rng = np.random.default_rng(9)
        whole, suspect, partial, none = (Benchmark("s", n) for n in ("whole", "suspect", "partial", "none"))
        samples = {whole: normal(rng, 9, 0.9), suspect: normal(rng, 9, 1.5), partial: normal(rng, 4), none: Samples()}
        verdicts = judging.judge_interrupted(samples, 9, Rule())
        self.assertEqual([verdicts[b].kind for b in samples], ["unchanged", "incomplete", "incomplete", "incomplete"])
        self.assertEqual((verdicts[partial].screen.pairs, verdicts[none].screen), (4, None))


class ErrorRates(unittest.TestCase):
    """Whole nights, simulated: 40 benchmarks at 6 % noise."""

    benchmarks = 40
    simulated = int(os.environ.get("PSGD_SIMULATED_NIGHTS", "500"))

    def nights(self, count, seed, slowdown):
        """How many of `count` nights name one of 39 unchanged benchmarks, and how many the last one, slower by `slowdown`."""
        rng = np.random.default_rng(seed)
        rule = Rule()
        names = [Benchmark("s", str(i)) for i in range(self.benchmarks)]
        false_alarms = caught = 0
        factors = [1.0] * (self.benchmarks - 1) + [slowdown]
        for _ in range(count):
            screen = {b: normal(rng, 9, f) for b, f in zip(names, factors)}
            reruns = {b: normal(rng, 30, factors[names.index(b)]) for b in judging.suspects(screen, rule)}
            named = [b for b, v in judging.judge(screen, reruns, rule).items() if v.is_regression]
            caught += names[-1] in named
            false_alarms += any(b != names[-1] for b in named)
        return false_alarms, caught

    def test_the_two_stages_of_many_nights(self):
        # The same decisions as arrays, for nights without a change and for planted slowdowns of 10 %.
        rng = np.random.default_rng(10)
        rule = Rule()
        for slowdown, count in ((1.0, self.simulated * self.benchmarks), (1.1, self.simulated)):
            screened = 0.2 > judging.slowdown_p(*self.draw(rng, count, 9, slowdown))
            again = self.draw(rng, int(screened.sum()), 30, slowdown)
            # Alone among 40, a suspect's Holm-adjusted p is 40 p.
            p = np.minimum(1, self.benchmarks * judging.slowdown_p(*again))
            ratio = np.median(again[1], -1) / np.median(again[0], -1)
            rate = np.sum((p < rule.alpha) & (ratio > 1 + rule.minimum_effect)) / count
            if self.simulated > 500:
                what = f"false alarms in {rate * self.benchmarks:.2%} of nights" if slowdown == 1.0 else f"10 % slowdowns caught: {rate:.1%}"
                print(f"{self.simulated} nights of {self.benchmarks} benchmarks at 6 % noise: {what}")
            if slowdown == 1.0:
                self.assertLess(rate * self.benchmarks, 0.02)  # nights with a false alarm
            else:
                self.assertGreater(rate, 0.95)

    @staticmethod
    def draw(rng, count, pairs, slowdown):
        return np.exp(rng.normal(0, 0.06, (count, pairs))), slowdown * np.exp(rng.normal(0, 0.06, (count, pairs)))

    def test_whole_nights_through_judge(self):
        # One slow benchmark among 40. More than 1 false alarm in 10 nights has a probability below 0.5 % at a rate of 1 %, and more
        # than 2 misses one below 0.1 % at a power of 98 %.
        false_alarms, caught = self.nights(10, 11, 1.1)
        self.assertLessEqual(false_alarms, 1)
        self.assertGreaterEqual(caught, 8)

    def test_one_stage_alone_would_not_do(self):
        # Why there are two: uncorrected, false alarms on most nights; corrected, most slowdowns missed.
        rng = np.random.default_rng(12)
        unchanged = judging.slowdown_p(*self.draw(rng, 100 * self.benchmarks, 9, 1.0)).reshape(100, -1)
        self.assertGreater(np.mean(np.any(unchanged < 0.05, -1)), 0.5)
        slow = judging.slowdown_p(*self.draw(rng, 400, 9, 1.1))
        self.assertLess(np.mean(self.benchmarks * slow < 0.05), 0.6)


if __name__ == "__main__":
    unittest.main()
