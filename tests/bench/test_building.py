"""Commits of a small repository become build folders; the user's tree does not notice."""

import os
import subprocess
import tempfile
import unittest

from regression.building import Builder, find_suites, program
from regression.errors import NotAvailable, UsageError
from regression.repository import Repository

CMAKE = """cmake_minimum_required(VERSION 3.25)
project(small LANGUAGES NONE)
foreach(suite IN ITEMS @SUITES@)
  add_custom_target(bench_${suite} COMMAND ${CMAKE_COMMAND} -E make_directory bin
    COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_SOURCE_DIR}/program bin/bench_${suite})
endforeach()
"""


class Commits(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root, self.cache = os.path.join(folder.name, "tree"), os.path.join(folder.name, "cache")
        os.mkdir(self.root)
        self.git("init", "--quiet", "--initial-branch=main")
        self.first = self.commit("first", "one two")
        self.second = self.commit("second", "two three")
        self.repository = Repository(self.root)
        self.said = []

    def git(self, *arguments):
        identity = ["-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
        return subprocess.run(["git", "-C", self.root, *identity, *arguments], check=True, capture_output=True, text=True).stdout.strip()

    def write(self, name, text):
        with open(os.path.join(self.root, name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(os.path.join(self.root, name), 0o755)

    def commit(self, text, suites):
        self.write("CMakeLists.txt", CMAKE.replace("@SUITES@", suites))
        self.write("program", f"#!/bin/sh\necho {text}\n")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", text)
        return self.git("rev-parse", "HEAD")

    def builder(self, suites=(), *arguments):
        return Builder(self.repository, self.cache, list(suites), list(arguments), 1, os.path.join(self.cache, "logs"), self.said.append)

    def output_of(self, folder, suite):
        return subprocess.run([program(folder, suite)], capture_output=True, text=True).stdout.strip()

    def test_each_commit_has_its_programs_and_the_tree_stays(self):
        self.write("program", "not committed")
        self.write("untracked", "mine")
        before = self.git("status", "--porcelain"), self.git("worktree", "list"), self.git("rev-parse", "HEAD")
        folders = [self.builder().build_commit(c) for c in (self.first, self.second)]
        self.assertEqual([find_suites(f) for f in folders], [["one", "two"], ["three", "two"]])
        self.assertEqual([self.output_of(f, "two") for f in folders], ["first", "second"])
        self.assertEqual((self.git("status", "--porcelain"), self.git("worktree", "list"), self.git("rev-parse", "HEAD")), before)
        self.assertEqual(sorted(os.listdir(self.cache)), ["builds", "logs"])

    def test_a_build_is_kept_and_others_are_forgotten(self):
        builder = self.builder()
        self.assertFalse(builder.is_built(self.first))
        folder = builder.build_commit(self.first)
        self.assertTrue(builder.is_built(self.first))
        os.unlink(program(folder, "one"))
        self.assertEqual(builder.build_commit(self.first), folder)
        self.assertEqual(find_suites(folder), ["two"])  # nothing was built again
        self.assertTrue(self.builder(["two"]).is_built(self.first))
        self.assertNotEqual(self.builder([], "-DX=1").folder(self.first), folder)
        builder.build_commit(self.second)
        builder.forget_all_but([self.second])
        self.assertEqual(os.listdir(os.path.join(self.cache, "builds")), [os.path.basename(builder.folder(self.second))])

    def test_only_the_suites_asked_for(self):
        self.assertEqual(find_suites(self.builder(["two"]).build_commit(self.first)), ["two"])
        self.assertFalse(self.builder().is_built(self.first) or self.builder(["one", "two"]).is_built(self.first))
        self.assertEqual(find_suites(self.builder().build_commit(self.first)), ["one", "two"])

    def test_the_tree_as_it_is(self):
        self.write("program", "#!/bin/sh\necho changed\n")
        self.assertTrue(self.repository.is_modified())
        builder = self.builder()
        self.assertEqual(self.output_of(builder.build_tree(self.root), "two"), "changed")
        # A suite that is there no longer is not found in the folder of before.
        self.write("CMakeLists.txt", CMAKE.replace("@SUITES@", "two"))
        self.assertEqual(find_suites(builder.build_tree(self.root)), ["two"])

    def test_a_killed_night_left_its_checkout_behind(self):
        builder = self.builder()
        self.git("worktree", "add", "--quiet", "--detach", builder.checkout, self.first)
        self.assertEqual(find_suites(builder.build_commit(self.first)), ["one", "two"])
        self.assertEqual(len(self.git("worktree", "list").splitlines()), 1)

    def test_what_does_not_build(self):
        self.write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.25)\nproject(x LANGUAGES NONE)\nmessage(FATAL_ERROR lost)\n")
        self.git("commit", "--quiet", "--all", "--message", "broken")
        broken = self.git("rev-parse", "HEAD")
        with self.assertRaisesRegex(NotAvailable, rf"^{broken[:12]} does not build: CMake Error .*; all of it in .*build-{broken[:12]}\.log$"):
            self.builder().build_commit(broken)
        self.assertFalse(self.builder().is_built(broken))
        self.assertEqual(len(self.git("worktree", "list").splitlines()), 1)

    def test_revisions(self):
        self.assertEqual(self.repository.commit("HEAD^"), self.first)
        self.assertIsNone(self.repository.find("0" * 40))
        for revision in ("nowhere", "--help", "HEAD:program"):
            with self.assertRaises(UsageError):
                self.repository.commit(revision)
        with self.assertRaisesRegex(NotAvailable, "not a git repository"):
            Repository(self.cache)


if __name__ == "__main__":
    unittest.main()
