"""The two sides that are compared: which commits or folders they are, and their programs."""

import contextlib
import os

from . import building
from .measuring import SIDES
from .repository import Repository


class Folders:
    """Two build folders of the user's, --builds. The golden table is that of the tree which this program lies in."""

    is_night = False  # whether the history takes what is found

    def __init__(self, root, folders):
        self._root = root
        self.folders = dict(zip(SIDES, (building.existing(folder) for folder in folders)))
        self.described = {side: {"commit": folder, "label": folder, "subject": None} for side, folder in self.folders.items()}
        self.notes = []

    def build(self, only_current=False):
        """Nothing: they are built."""

    def state(self, side):
        return ""

    def source(self):
        """The current side's files, while the context lasts."""
        return contextlib.nullcontext(self._root)


class Commits:
    """A commit, or the tree as it is, beside the last good commit or another one."""

    def __init__(self, root, options, history, scope, say):
        self._root = root
        self._options = options
        self._repository = Repository(root)
        self._builder = builder(self._repository, options, say)
        self._is_tree = options.current == "tree"
        self.is_night = not self._is_tree
        self.notes = []
        self.folders = {}
        current = self._repository.commit("HEAD" if self._is_tree else options.current)
        baseline = self._choose_baseline(current, history, scope)
        self._commits = dict(zip(SIDES, (baseline, current)))
        self.described = {side: {"commit": commit, "label": commit[:12], "subject": self._repository.subject(commit)}
                          for side, commit in self._commits.items()}
        if self._is_tree:
            self.described["current"]["label"] += " and changes"
            self.notes.append("The tree was measured with its changes; the history stays as it was.")
        elif baseline == current:
            self.notes.append("Both sides are the same commit: what is found is noise.")
        if options.current == "HEAD" and self._repository.is_modified():
            self.notes.append("The tree has changes that are not committed; HEAD was measured, without them (--current tree).")

    def _choose_baseline(self, current, history, scope):
        if self._options.baseline != "auto":
            return self._repository.commit(self._options.baseline)
        good = next(filter(self._repository.find, history.good_commits(scope)), None)
        if good is not None:
            return good
        parent = None if self._is_tree else self._repository.find(f"{current}^")
        what = "its parent" if parent else "HEAD" if self._is_tree else "the commit itself"
        self.notes.append(f"The history knows no good commit of these benchmarks: compared with {what}.")
        return parent or current

    def state(self, side):
        """Whether a side is built, for --dry-run."""
        tree = side == "current" and self._is_tree
        return ", to be built" if tree or not self._builder.is_built(self._commits[side]) else ", built already"

    def build(self, only_current=False):
        """Builds both sides, the current one first, and drops the builds of other commits."""
        current = self._builder.build_tree(self._root) if self._is_tree else self._builder.build_commit(self._commits["current"])
        self.folders = {"baseline": current if only_current else self._builder.build_commit(self._commits["baseline"]), "current": current}
        if not only_current:
            self._builder.forget_all_but(self._commits.values())

    def source(self):
        if self._is_tree:
            return contextlib.nullcontext(self._root)
        return self._repository.worktree(self._commits["current"], self._builder.checkout)


def builder(repository, options, say):
    os.makedirs(options.cache, exist_ok=True)
    return building.Builder(repository, options.cache, options.suites, options.cmake_argument, options.jobs, options.output, say)
