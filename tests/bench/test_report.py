"""The Markdown summary and the lines of the history."""

import unittest

from regression import report
from regression.accuracy import Deviation
from regression.judging import Comparison, Rule, Verdict
from regression.measuring import Benchmark

SLOW = Verdict("regression", Comparison(9, 1e-3, 1.2e-3, 1.2, 0.001, 0.02), Comparison(30, 1e-3, 1.12e-3, 1.12, 1e-6, 0.02), 4e-5)
SLOWER = Verdict("regression", SLOW.screen, Comparison(30, 2.5, 5.0, 2.0, 1e-9, 0.01), 1e-8)
STEADY = Verdict("unchanged", Comparison(9, 5e-9, 5e-9, 1.0, 0.5, 0.06))


def side(letter, subject):
    return {"commit": letter * 40, "label": letter * 12, "subject": subject}


def night(verdicts=None, **other):
    return report.Night("2024-05-01T02:30:00Z", side("a", "base"), side("b", "kernels: <faster> | neater"),
                        {"processor": "x", "processors": 2, "memory_gib": 8, "system": "Linux"}, 0.1, {}, "", Rule(),
                        verdicts=verdicts or {}, **other)


class Summary(unittest.TestCase):
    def test_regressions_come_first_and_slowest_first(self):
        lines = report.markdown(night({Benchmark("s", "a"): STEADY, Benchmark("s", "b"): SLOW, Benchmark("t", "c"): SLOWER},
                                      accuracy=[Deviation("d.h5", "r1", "numel_after is 2, was 1")])).splitlines()
        self.assertEqual(lines[0], "# 3 regressions")
        self.assertEqual(lines[2], "- **t/c: 2.000 times the baseline's time (2.5 s became 5 s; median of 30 fresh pairs, corrected p = 1e-08)**")
        self.assertTrue(lines[3].startswith("- **s/b: 1.120 times the baseline's time (1 ms became 1.12 ms"))
        self.assertEqual(lines[4], "- **accuracy: d.h5 r1: numel_after is 2, was 1**")
        self.assertIn("| b | regression | 1.120 | 1 ms | 1.12 ms | 30 | 4e-05 | 2.0 % | 2 % |", lines)
        self.assertIn("| a | unchanged | 1.000 | 5 ns | 5 ns | 9 | 0.5 | 6.0 % | 11 % |", lines)

    def test_headlines(self):
        slow = {Benchmark("s", "b"): SLOW}
        self.assertEqual(report.headline(night()), "No regression")
        self.assertEqual(report.headline(night(slow)), "1 regression")
        self.assertEqual(report.headline(night(slow, accepted="PR 1")), "1 regression, accepted: PR 1")
        self.assertEqual(report.headline(night(complete=False)), "Interrupted")

    def test_what_may_be_the_next_baseline(self):
        slow = {Benchmark("s", "b"): SLOW}
        self.assertTrue(night().good)
        self.assertFalse(night(slow).good)
        self.assertTrue(night(slow, accepted="PR 1").good)
        self.assertFalse(night(complete=False).good)
        self.assertFalse(night(accuracy=[Deviation("d", "c", "t")]).good)
        self.assertFalse(night({Benchmark("s", "b"): Verdict("broken", reason="current, bench_s: exit code 1")}).good)

    def test_markup_in_names_is_text(self):
        self.assertIn("kernels: &lt;faster> \\| neater", report.markdown(night()))

    def test_durations(self):
        self.assertEqual([report.duration(s) for s in (2, 0.00123456, 4.5e-6, 7e-10)], ["2 s", "1.235 ms", "4.5 µs", "0.7 ns"])


class HistoryLines(unittest.TestCase):
    def test_one_for_each_benchmark_measured(self):
        lines = list(report.history_lines(night({Benchmark("s", "b"): SLOW, Benchmark("s", "n"): Verdict("new")})))
        self.assertEqual(len(lines), 1)
        self.assertEqual({k: lines[0][k] for k in ("suite", "benchmark", "ratio", "p", "pairs", "verdict", "good", "accuracy")},
                         {"suite": "s", "benchmark": "b", "ratio": 1.12, "p": 4e-5, "pairs": 30, "verdict": "regression", "good": False,
                          "accuracy": "not looked at"})


if __name__ == "__main__":
    unittest.main()
