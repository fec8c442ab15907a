"""The command itself, on programs that pretend: exit codes, what is printed, and what is written."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import stub

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NIGHTLY = os.path.join(ROOT, "bench", "nightly")
# A background job of a shell ignores SIGINT, and so would what it starts; with a handler here, programs start with the default.
signal.signal(signal.SIGINT, signal.default_int_handler)

TIMES = {"project/real_time": 0.01, "orthogonalize": 0.002, "read": 0.3}


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.sides = [os.path.join(self.folder, side) for side in ("baseline", "current")]
        self.output = os.path.join(self.folder, "output")
        self.history = os.path.join(self.folder, "history.jsonl")
        self.places = ["--output", self.output, "--history", self.history, "--cache", os.path.join(self.folder, "cache")]

    def suites(self, current=None, baseline=None, **settings):
        stub.write_suite(self.sides[0], "x", baseline or TIMES, seed="baseline", **settings)
        stub.write_suite(self.sides[1], "x", current or TIMES, seed="current", **settings)

    def command(self, *arguments, builds=True, accuracy="off"):
        compared = ["--builds", *self.sides] if builds else []
        measured = ["--accuracy", accuracy, "--random-seed", "1", "--rerun-pairs", "12"]
        return [sys.executable, NIGHTLY, *compared, *self.places, *measured, *arguments]

    def run_nightly(self, *arguments, environment=None, **options):
        done = subprocess.run(self.command(*arguments, **options), capture_output=True, text=True, env=environment, cwd=self.folder)
        self.assertNotIn("Traceback", done.stderr)
        return done

    def document(self):
        with open(os.path.join(self.output, "nightly.json"), encoding="utf-8") as file:
            return json.load(file)

    def assert_error(self, done, code, pattern):
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        self.assertRegex(done.stderr, rf"\A(nightly: \w[^\n]*\n)*nightly: error: [^\n]*{pattern}[^\n]*\n\Z")


class Judging(Command):
    def test_an_unchanged_tree(self):
        self.suites()
        done = self.run_nightly("--quiet")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(done.stdout.startswith("No regression\nBenchmarks: "), done.stdout)
        document = self.document()
        self.assertEqual((document["schema"], document["version"], document["complete"], document["regressions"]), ("psgd-nightly", 1, True, []))
        self.assertNotIn("secret-host", json.dumps(document))
        for found in document["benchmarks"]:
            self.assertEqual(len(found["screen_seconds"]["baseline"]), 9)
            self.assertIn(found["verdict"], ("unchanged", "cleared"))

    def test_a_planted_slowdown_is_named(self):
        self.suites(current=TIMES | {"orthogonalize": 0.0022})
        done = self.run_nightly()
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"\A1 regression\nregression: x/orthogonalize: 1\.\d+ times the baseline's time ")
        found = {b["benchmark"]: b for b in self.document()["benchmarks"]}
        self.assertEqual(found["orthogonalize"]["verdict"], "regression")
        self.assertEqual([len(found["orthogonalize"]["rerun_seconds"][side]) for side in ("baseline", "current")], [12, 12])
        self.assertAlmostEqual(found["orthogonalize"]["rerun"]["ratio"], 1.1, delta=0.03)
        with open(os.path.join(self.output, "summary.md"), encoding="utf-8") as file:
            self.assertTrue(file.read().startswith("# 1 regression\n\n- **x/orthogonalize: "))
        self.assertIn("nightly: round 9 of 9", done.stderr)

    def test_the_two_sides_take_turns_in_random_order(self):
        self.suites()
        self.run_nightly()
        with open(os.path.join(self.folder, "order"), encoding="utf-8") as file:
            calls = [line.split() for line in file][: 2 * 3 * 9]
        pairs = list(zip(calls[::2], calls[1::2]))
        for (side_a, name_a), (side_b, name_b) in pairs:
            self.assertEqual((name_a, {side_a, side_b}), (name_b, {"baseline", "current"}))
        self.assertEqual({a[0] for a, _ in pairs}, {"baseline", "current"})
        self.assertGreater(len({tuple(p[0][1] for p in pairs[i : i + 3]) for i in range(0, 27, 3)}), 1)

    def test_what_is_new_gone_or_broken(self):
        self.suites({"project/real_time": 0.01, "added": 1}, {"project/real_time": 0.01, "removed": 1}, breaks="project/real_time")
        done = self.run_nightly()
        self.assertEqual(done.returncode, 0)
        kinds = {b["benchmark"]: b["verdict"] for b in self.document()["benchmarks"]}
        self.assertEqual(kinds, {"added": "new", "removed": "gone", "project/real_time": "failing"})
        self.suites()
        stub.write_suite(self.sides[1], "x", TIMES, seed="current", breaks="read")
        done = self.run_nightly()
        self.assertEqual(done.returncode, 1)
        self.assertIn("regression: x/read: broken: current, bench_x: exit code 1: out of cheese\n", done.stdout)

    def test_a_slowdown_that_is_accepted(self):
        self.suites(current=TIMES | {"read": 0.6})
        done = self.run_nightly("--accept", "checks its input")
        self.assertEqual(done.returncode, 0)
        self.assertIn("1 regression, accepted: checks its input\nregression: x/read: ", done.stdout)

    def test_filters(self):
        self.suites()
        stub.write_suite(self.sides[0], "y", {"b": 1}, seed="b")
        stub.write_suite(self.sides[1], "y", {"b": 1}, seed="c")
        self.run_nightly("--suites", "bench_x", "--benchmark-filter", "o.*e$")
        self.assertEqual({b["benchmark"] for b in self.document()["benchmarks"]}, {"orthogonalize", "project/real_time"})
        self.assert_error(self.run_nightly("--suites", "z"), 2, "no benchmark of suites z is in both builds")


class Endings(Command):
    def test_usage(self):
        self.suites()
        for arguments, pattern in (
            (["--repetitions", "8"], "--repetitions: 8 is not at least 9"),
            (["--rerun-pairs", "x"], "--rerun-pairs: 'x' is not a number"),
            (["--alpha", "0"], "--alpha: 0 is not above 0"),
            (["--minimum-effect", "nan"], "--minimum-effect: nan is not at least 0"),
            (["--suites", "a/b"], "names of suites"),
            (["--benchmark-filter", "("], "--benchmark-filter: missing"),
            (["--benchmark-filter=-("], "--benchmark-filter: missing"),
            (["--rep", "9"], "unrecognized arguments: --rep 9"),
            (["--baseline", "HEAD"], "--builds names both sides"),
            (["--accept", " "], "--accept needs a reason"),
        ):
            with self.subTest(arguments):
                self.assert_error(self.run_nightly(*arguments), 2, pattern)
        self.assert_error(self.run_nightly("--baseline", "no-such-commit", builds=False), 2, "no commit 'no-such-commit'")
        os.rename(self.sides[0], self.sides[0] + "x")
        self.assert_error(self.run_nightly(), 2, "baseline: not a build folder")

    def test_a_place_that_cannot_be_written(self):
        self.suites()
        self.assert_error(self.run_nightly("--output", os.path.join(NIGHTLY, "x")), 3, "nightly/x.*: Not a directory")
        self.assert_error(self.run_nightly("--cache", os.path.join(NIGHTLY, "x")), 3, "nightly/x: Not a directory")

    def test_help_needs_no_packages(self):
        done = subprocess.run([sys.executable, "-IS", NIGHTLY, "--help"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0)
        self.assertIn("Exit codes: 0 no regression, 1 regression", done.stdout)

    def test_missing_packages(self):
        self.suites()
        command = self.command()
        done = subprocess.run([command[0], "-IS", *command[1:]], capture_output=True, text=True)
        self.assert_error(done, 4, "has no numpy, scipy, matplotlib .Debian: python3-numpy python3-scipy python3-matplotlib")

    def test_json_of_another_schema(self):
        self.suites(context={"json_schema_version": 7})
        self.assert_error(self.run_nightly(), 3, "bench_x: not the JSON of Google Benchmark, schema 1: 'json_schema_version' is 7")

    def test_a_history_of_another_schema_is_left_alone(self):
        self.suites()
        with open(self.history, "w", encoding="utf-8") as file:
            file.write('{"schema": "mine"}\n')
        self.assert_error(self.run_nightly(), 3, "history.jsonl:1: not a line of schema psgd-nightly-history")
        with open(self.history, encoding="utf-8") as file:
            self.assertEqual(file.read(), '{"schema": "mine"}\n')

    def test_a_cut_history_is_kept_aside(self):
        self.suites()
        with open(self.history, "w", encoding="utf-8") as file:
            file.write('{"schema": "psgd-nightly-history", "ver')
        self.assertIn("history   " + self.history + " (its last line is cut off", self.run_nightly("--dry-run").stdout)
        self.assertEqual([n for n in os.listdir(self.folder) if "cut" in n], [])
        done = self.run_nightly("--quiet")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"\Anightly: warning: The history's last line was cut off: kept aside as \S+\.cut-\S+, "
                         r"0 whole lines carried over\.\n\Z")
        self.assertEqual(len([n for n in os.listdir(self.folder) if ".cut-" in n]), 1)

    def test_a_dry_run_runs_nothing(self):
        self.suites()
        done = self.run_nightly("--dry-run")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(sorted(os.listdir(self.folder)), ["baseline", "current"])

    def test_two_nights_at_once(self):
        self.suites(hangs="read")
        with subprocess.Popen(self.command(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as first:
            self.wait_until_it_hangs()
            self.assert_error(self.run_nightly(), 4, "another night is running")
            first.send_signal(signal.SIGINT)

    def wait_until_it_hangs(self):
        deadline = time.monotonic() + 60
        while not any(os.path.exists(os.path.join(side, "hangs")) for side in self.sides):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)

    def test_interrupted(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            self.suites(hangs="read")
            night = subprocess.Popen(self.command("--quiet"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.wait_until_it_hangs()
            night.send_signal(number)
            out, err = night.communicate(timeout=60)
            self.assertEqual((night.returncode, err), (130, ""), out)
            self.assertTrue(out.startswith("Interrupted"), out)
            document = self.document()
            self.assertFalse(document["complete"] or document["good"])
            pairs = {b["benchmark"]: [len(b["screen_seconds"][s]) for s in ("baseline", "current")] for b in document["benchmarks"]}
            self.assertEqual(pairs["read"], [3, 3])
            self.assertEqual({b["verdict"] for b in document["benchmarks"]}, {"incomplete"})
            self.assertFalse(os.path.exists(self.history))
            for side in self.sides:
                if os.path.exists(os.path.join(side, "hangs")):
                    os.unlink(os.path.join(side, "hangs"))


class Nights(Command):
    """A repository of its own, whose commits build programs that pretend."""

    CMAKE = """cmake_minimum_required(VERSION 3.25)
project(small LANGUAGES NONE)
add_custom_target(bench_x COMMAND ${CMAKE_COMMAND} -E make_directory bin
  COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_SOURCE_DIR}/program bin/bench_x)
"""

    def setUp(self):
        super().setUp()
        self.root = os.path.join(self.folder, "tree")
        os.mkdir(self.root)
        # The command judges the repository that it lies in.
        os.makedirs(os.path.join(self.root, "bench"))
        os.symlink(os.path.join(ROOT, "bench", "regression"), os.path.join(self.root, "bench", "regression"))
        with open(NIGHTLY, encoding="utf-8") as source, open(os.path.join(self.root, "bench", "nightly"), "w", encoding="utf-8") as copy:
            copy.write(source.read())
        with open(os.path.join(self.root, "CMakeLists.txt"), "w", encoding="utf-8") as file:
            file.write(self.CMAKE)
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments):
        identity = ["-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
        return subprocess.run(["git", "-C", self.root, *identity, *arguments], check=True, capture_output=True, text=True).stdout.strip()

    def commit(self, text, seconds):
        side = os.path.join(self.folder, text)
        stub.write_suite(side, "x", seconds, seed=text)
        os.replace(os.path.join(side, "bin", "bench_x"), os.path.join(self.root, "program"))
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", text)
        return self.git("rev-parse", "HEAD")

    def night(self, *arguments):
        measured = ["--accuracy", "off", "--rerun-pairs", "9", "--quiet"]
        command = [sys.executable, "-B", os.path.join(self.root, "bench", "nightly"), *self.places, *measured, *arguments]
        return subprocess.run(command, capture_output=True, text=True, cwd=self.folder)

    def lines(self):
        with open(self.history, encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def test_a_week(self):
        first, second = self.commit("first", TIMES), self.commit("second", TIMES)
        done = self.night()
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        self.assertIn("note: The history knows no good commit of these benchmarks: compared with its parent.", done.stdout)
        self.assertEqual({(x["baseline"], x["commit"], x["good"]) for x in self.lines()}, {(first, second, True)})
        self.assertEqual(len(self.lines()), 3)

        third = self.commit("third", TIMES | {"read": 0.45})
        for _ in range(2):  # still so the night after: the baseline stays the last good commit
            done = self.night()
            self.assertEqual(done.returncode, 1)
            self.assertIn("regression: x/read: 1.", done.stdout)
            self.assertEqual({(x["baseline"], x["commit"], x["good"]) for x in self.lines()[-3:]}, {(second, third, False)})
        self.assertEqual(self.night("--accept", "it does more now").returncode, 0)

        fourth = self.commit("fourth", TIMES | {"read": 0.45})
        self.assertIn(f"baseline  {third} third, built already\ncurrent   {fourth} fourth, to be built\n", self.night("--dry-run").stdout)
        self.assertEqual(self.night().returncode, 0)
        self.assertEqual({x["baseline"] for x in self.lines()[-3:]}, {third})
        self.assertEqual(len(self.lines()), 15)
        with open(os.path.join(self.output, "trend-x.png"), "rb") as file:
            self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")
        self.assertEqual(self.git("worktree", "list").count("\n"), 0)

    def test_the_tree_is_not_a_night(self):
        self.commit("first", TIMES)
        side = os.path.join(self.folder, "edited")
        stub.write_suite(side, "x", TIMES | {"read": 0.45}, seed="edited")
        os.replace(os.path.join(side, "bin", "bench_x"), os.path.join(self.root, "program"))
        done = self.night("--current", "tree")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("note: The tree was measured with its changes; the history stays as it was.", done.stdout)
        self.assertFalse(os.path.exists(self.history))

    def test_a_commit_that_does_not_build(self):
        self.commit("first", TIMES)
        with open(os.path.join(self.root, "CMakeLists.txt"), "a", encoding="utf-8") as file:
            file.write("message(FATAL_ERROR lost)\n")
        self.commit("second", TIMES)
        self.assert_error(self.night(), 4, "does not build: CMake Error")


if __name__ == "__main__":
    unittest.main()
