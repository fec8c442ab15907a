"""The history's file: nothing in it is lost, and nothing else is taken for one."""

import json
import os
import tempfile
import unittest

from regression.errors import BadInput
from regression.history import SCHEMA, History

MACHINE = {"processor": "x", "processors": 2}


def line(commit="c1", good=True, scope="", benchmark="b", machine=None):
    return {"night": "2024-05-01T02:30:00Z", "commit": commit, "baseline": "c0", "suite": "s", "benchmark": benchmark, "baseline_seconds": 1.0,
            "current_seconds": 1.5, "ratio": 1.5, "p": 0.5, "noise": 0.01, "pairs": 9, "verdict": "unchanged", "accuracy": "not looked at",
            "good": good, "scope": scope, "machine": machine or MACHINE}


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path = os.path.join(self.folder, "history.jsonl")

    def write(self, content):
        with open(self.path, "wb") as file:
            file.write(content)

    def read(self, path=None):
        with open(path or self.path, "rb") as file:
            return file.read()

    def encoded(self, *lines):
        return b"".join(json.dumps(SCHEMA | x).encode() + b"\n" for x in lines)

    def test_grows_by_a_night_at_a_time(self):
        History.load(self.path).append([line(benchmark="a"), line(benchmark="b")])
        History.load(self.path).append([line("c2")])
        history = History.load(self.path)
        self.assertEqual([(x["commit"], x["benchmark"]) for x in history.lines], [("c1", "a"), ("c1", "b"), ("c2", "b")])
        self.assertEqual(self.read(), self.encoded(line(benchmark="a"), line(benchmark="b"), line("c2")))
        self.assertEqual(os.listdir(self.folder), ["history.jsonl"])

    def test_a_cut_last_line_is_kept_aside(self):
        whole, cut = self.encoded(line("c1"), line("c2")), self.encoded(line("c3"))
        for length in (1, 20, len(cut) // 2, len(cut) - 2):
            for name in os.listdir(self.folder):
                os.unlink(os.path.join(self.folder, name))
            self.write(whole + cut[:length])
            history = History.load(self.path)
            self.assertTrue(history.is_cut)
            self.assertEqual(self.read(), whole + cut[:length])  # loading alone changes nothing
            aside = history.set_aside()
            self.assertRegex(os.path.basename(aside), r"^history\.jsonl\.cut-\d{8}T\d{6}Z$")
            self.assertEqual(self.read(aside), whole + cut[:length])
            self.assertEqual(self.read(), whole)
            self.assertFalse(History.load(self.path).is_cut)

    def test_a_second_cut_within_a_second_keeps_both(self):
        for content in (b'{"schema": "psgd-ni', b'{"schema": "psgd-n'):
            self.write(self.encoded(line()) + content)
            History.load(self.path).set_aside()
        kept = [self.read(os.path.join(self.folder, n)) for n in os.listdir(self.folder) if ".cut-" in n]
        self.assertEqual(len(set(kept)), 2)

    def test_only_the_newline_missing_is_not_cut(self):
        self.write(self.encoded(line("c1"), line("c2"))[:-1])
        history = History.load(self.path)
        self.assertFalse(history.is_cut)
        self.assertEqual(len(history.lines), 2)
        self.assertIsNone(history.set_aside())

    def test_zeros_at_the_end_are_cut_off_too(self):
        self.write(self.encoded(line()) + bytes(100))
        self.assertTrue(History.load(self.path).is_cut)

    def test_through_a_symbolic_link(self):
        os.symlink("real.jsonl", self.path)
        History.load(self.path).append([line()])
        self.assertTrue(os.path.islink(self.path))
        self.assertEqual(self.read(os.path.join(self.folder, "real.jsonl")), self.encoded(line()))

    def test_other_files_are_refused_and_left_alone(self):
        good = self.encoded(line())
        for content, reason in (
            (b'{"a": 1}\n', "history.jsonl:1: not a line of schema psgd-nightly-history"),
            (b"hello", "not a history of nights"),
            (good + b"hello\n" + good, "history.jsonl:2: not a line of a history"),
            (good + b"\xff\n", "history.jsonl:2: not a line of a history"),
            (good + json.dumps(SCHEMA | {"version": 2}).encode() + b"\n", "history.jsonl:2: version 2 of the history; this program knows 1"),
            (good + json.dumps(SCHEMA | line() | {"good": 1}).encode() + b"\n", "history.jsonl:2: fields"),
            (good + json.dumps(SCHEMA | line() | {"ratio": "1"}).encode() + b"\n", "history.jsonl:2: fields"),
        ):
            self.write(content)
            with self.subTest(reason), self.assertRaises(BadInput) as caught:
                History.load(self.path)
            self.assertIn(reason, str(caught.exception))
            self.assertEqual(self.read(), content)
            self.assertEqual(os.listdir(self.folder), ["history.jsonl"])

    def test_a_folder_is_refused(self):
        with self.assertRaisesRegex(BadInput, "Is a directory"):
            History.load(self.folder)


class Contents(unittest.TestCase):
    def history(self, *lines):
        return History("unused", list(lines), False)

    def test_good_commits_latest_first(self):
        history = self.history(line("c1"), line("c2"), line("c2"), line("c3", good=False), line("c1"))
        self.assertEqual(history.good_commits(""), ["c1", "c2"])

    def test_a_night_of_some_suites_says_nothing_about_all(self):
        history = self.history(line("c1"), line("c2", scope="suites reader"), line("c3", scope="suites kernels"))
        self.assertEqual(history.good_commits(""), ["c1"])
        self.assertEqual(history.good_commits("suites reader"), ["c2", "c1"])

    def test_machines_are_told_apart(self):
        history = self.history(line("c1"), line("c2", machine=MACHINE | {"processor": "y"}), line("c3", machine=MACHINE | {"system": "newer"}))
        self.assertEqual([x["commit"] for x in history.of_machine(MACHINE)], ["c1", "c3"])


if __name__ == "__main__":
    unittest.main()
