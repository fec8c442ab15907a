"""The golden table: what counts as a change, and tables that are refused."""

import json
import os
import sys
import tempfile
import unittest

import stub
from regression import accuracy
from regression.errors import BadInput


def row(dtype="float32", mean=0.5, **other):
    numbers = {"relative_error_mean": mean, "relative_error_max": 1.25, "whole_model_mean": 0.25, "whole_model_max": 0.75}
    return {"dump": "d.h5", "configuration": "r1", "dtype": dtype, **numbers, "numel_after": 100} | other


def table(*rows):
    return {(r["dump"], r["configuration"]): r for r in rows}


class Comparison(unittest.TestCase):
    def deviations(self, golden, new):
        return [str(d) for d in accuracy.compare(table(golden), table(new))]

    def test_rounding_is_no_change(self):
        for dtype, change in (("float32", 1e-6), ("float64", 1e-12)):
            self.assertEqual(self.deviations(row(dtype), row(dtype, 0.5 * (1 + change))), [])

    def test_more_than_rounding_is_one_in_either_direction(self):
        for dtype, change in (("float32", 3e-5), ("float64", 3e-11)):
            for sign in (1, -1):
                found = self.deviations(row(dtype), row(dtype, 0.5 * (1 + sign * change)))
                self.assertEqual(len(found), 1)
                self.assertRegex(found[0], rf"^d.h5 r1: relative_error_mean is 0\.\d+, was 0\.5 \({'[+]' if sign > 0 else '-'}[\d.e-]+ of it\)$")

    def test_a_lossless_configuration_may_round_but_not_lose(self):
        self.assertEqual(self.deviations(row(mean=1e-7), row(mean=3e-7)), [])
        self.assertEqual(self.deviations(row("float64", mean=1e-16), row("float64", mean=5e-16)), [])
        self.assertEqual(len(self.deviations(row(mean=1e-7), row(mean=1e-5))), 1)

    def test_counts_dtypes_and_missing_numbers(self):
        self.assertEqual(self.deviations(row(), row(numel_after=101)), ["d.h5 r1: numel_after is 101, was 100"])
        self.assertEqual(self.deviations(row(), row("float64")), ["d.h5 r1: dtype is float64, was float32"])
        self.assertEqual(self.deviations(row(mean=None), row(mean=None)), [])
        self.assertEqual(self.deviations(row(), row(mean=None)), ["d.h5 r1: relative_error_mean is None, was 0.5"])
        self.assertEqual(len(self.deviations(row(), row(mean=float("nan")))), 1)

    def test_rows_on_one_side_only(self):
        golden, new = table(row(), row(configuration="old")), table(row(), row(configuration="new"))
        self.assertEqual([str(d) for d in accuracy.compare(golden, new)],
                         ["d.h5 new: is not in the golden table; bench/nightly --update-golden",
                          "d.h5 old: is in the golden table, but was not measured"])


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "accuracy.csv")
        self.replay = os.path.join(folder.name, "psgd-replay")

    def write(self, text):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(text)

    def test_every_digit_comes_back(self):
        rows = table(row(mean=0.1 + 0.2), row(configuration="r2", mean=None), row("float64", configuration="r3", mean=5e-324))
        self.write(accuracy.render(rows))
        self.assertEqual(accuracy.read(self.path), rows)

    def test_the_committed_one_has_each_dump_and_configuration(self):
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        rows = accuracy.read(os.path.join(root, accuracy.TABLE))
        self.assertEqual(set(rows), {(d, c) for d in accuracy.DUMPS for c in accuracy.CONFIGURATIONS})

    def test_others_are_refused(self):
        good = accuracy.render(table(row()))
        for text, reason in (("", "not a golden table"), ("a,b\n", "not a golden table"), (good + "x\n", ":3: not a row"),
                             (good + good.splitlines()[1], ":3: not a row"), (good.replace("0.5", "half"), ":2: not a row"),
                             (good.replace("float32", "float8"), ":2: not a row")):
            self.write(text)
            with self.subTest(reason), self.assertRaises(BadInput) as caught:
                accuracy.read(self.path)
            self.assertIn(reason, str(caught.exception))
        with self.assertRaisesRegex(BadInput, "No such file.*--update-golden"):
            accuracy.read(self.path + "x")

    def measure(self, body):
        stub.write_program(self.replay, f"#!{sys.executable} -IS\nimport sys\n{body}\n")
        return accuracy.measure(self.replay, "/recordings", os.environ, threads=2, configurations={"r1": ["-r", "1"]})

    def test_a_replay_becomes_a_row(self):
        document = {"schema": "psgd-replay", "version": 1, "dump": {"dtype": "float64"},
                    "summary": {"relative_error": {"mean": 0.5, "max": 1.0}, "relative_error_whole_model": {"mean": 0.25, "max": None},
                                "compression_stats": [2.0, 200, 100]}}
        expected = ["--threads", "2", "--quiet", "--json", "-", "-r", "1"]
        check = f"assert sys.argv[1:-1] == {expected} and sys.argv[-1].startswith('/recordings/'), sys.argv"
        rows, failed = self.measure(f"{check}\nprint({json.dumps(document)!r})")
        self.assertEqual(failed, [])
        self.assertEqual(rows[accuracy.DUMPS[0], "r1"], row("float64", dump=accuracy.DUMPS[0], relative_error_max=1.0, whole_model_max=None))

    def test_a_replay_that_fails_is_a_deviation(self):
        rows, failed = self.measure("sys.exit('psgd-replay: error: no such hook')")
        self.assertEqual(rows, {})
        self.assertEqual(str(failed[0]), f"{accuracy.DUMPS[0]} r1: is not replayed any more: psgd-replay: error: no such hook")

    def test_json_of_another_schema_is_bad_input(self):
        for text in ("", "[]", '{"schema": "psgd-sweep", "version": 1}', '{"schema": "psgd-replay", "version": 2}',
                     '{"schema": "psgd-replay", "version": 1}'):
            with self.subTest(text), self.assertRaisesRegex(BadInput, "not JSON of schema psgd-replay, version 1"):
                self.measure(f"print({text!r})")


if __name__ == "__main__":
    unittest.main()
