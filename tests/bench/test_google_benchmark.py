"""Google Benchmark's JSON: which time counts, and forms that are refused."""

import json
import re
import unittest

from regression.errors import BadInput
from regression.google_benchmark import Broken, escape, read_seconds


def document(*entries, **context):
    return json.dumps({"context": context, "benchmarks": list(entries)})


def entry(name="a", **other):
    return {"name": name, "run_name": name, "run_type": "iteration", "real_time": 8.0, "cpu_time": 4.0, "time_unit": "us"} | other


class Times(unittest.TestCase):
    def test_processor_time_unless_wall_time_was_asked_for(self):
        self.assertAlmostEqual(read_seconds(document(entry()), "a", "x"), 4e-6)
        for name in ("a/real_time", "a/2/real_time/threads:2", "a/manual_time"):
            self.assertAlmostEqual(read_seconds(document(entry(name)), name, "x"), 8e-6)

    def test_the_clock_asked_for(self):
        for clock, seconds in (("wall", 8e-6), ("cpu", 4e-6)):
            for name in ("a", "a/real_time"):
                self.assertAlmostEqual(read_seconds(document(entry(name)), name, "x", clock), seconds)

    def test_units(self):
        for unit, factor in (("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1)):
            self.assertAlmostEqual(read_seconds(document(entry(time_unit=unit)), "a", "x") / factor, 4.0)

    def test_repetitions_have_a_median_and_aggregates_do_not_count(self):
        entries = [entry(cpu_time=t) for t in (1.0, 9.0, 2.0)] + [entry("a_mean", run_name="a", run_type="aggregate", cpu_time=4.0)]
        self.assertAlmostEqual(read_seconds(document(*entries), "a", "x"), 2e-6)

    def test_other_benchmarks_do_not_count(self):
        self.assertAlmostEqual(read_seconds(document(entry("ab", cpu_time=1.0), entry()), "a", "x"), 4e-6)

    def test_the_schema_that_newer_versions_name(self):
        self.assertAlmostEqual(read_seconds(document(entry(), json_schema_version=1), "a", "x"), 4e-6)


class Refused(unittest.TestCase):
    def test_each_with_its_reason(self):
        for text, reason in (
            ("", "Expecting value"),
            ("[]", "no object 'context'"),
            ('{"benchmarks": []}', "no object 'context'"),
            (document(entry(), json_schema_version=2), "'json_schema_version' is 2"),
            ('{"context": {}}', "no list 'benchmarks'"),
            (document(), "no times of a"),
            (document({"real_time": 1}), "a benchmark without 'name'"),
            (document(entry(time_unit="fortnight")), "'time_unit' is 'fortnight'"),
            (document(entry(cpu_time="4")), "'cpu_time' is '4'"),
            (document(entry(cpu_time=0)), "'cpu_time' is 0"),
            (document(entry(cpu_time=float("nan"))), "'cpu_time' is nan"),
            (document(entry("b")), "no times of a"),
        ):
            with self.subTest(reason), self.assertRaises(BadInput) as caught:
                read_seconds(text, "a", "bin/bench_x")
            self.assertIn("bin/bench_x: not the JSON of Google Benchmark, schema 1: ", str(caught.exception))
            self.assertIn(reason, str(caught.exception))

    def test_an_error_in_the_benchmark_is_not_bad_json(self):
        with self.assertRaisesRegex(Broken, "read failed"):
            read_seconds(document(entry(error_occurred=True, error_message="read failed")), "a", "x")


class Names(unittest.TestCase):
    def test_are_taken_literally(self):
        for name in ("gemm<float>/8:16", "a.b(c)[d]{e}*f+g?h|i^j$k\\l", "project/1024x4/real_time"):
            self.assertTrue(re.fullmatch(escape(name), name))
            self.assertFalse(re.fullmatch(escape(name), name.replace("/", "//").replace(".", "x").replace("e", "ee")))


if __name__ == "__main__":
    unittest.main()
