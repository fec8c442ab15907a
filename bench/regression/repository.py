"""Commits of the repository, checked out beside the user's tree, which stays as it is."""

import contextlib
import os
import shutil
import subprocess

from .errors import NotAvailable, UsageError


class Repository:
    def __init__(self, root):
        self.root = root
        if shutil.which("git") is None:
            raise NotAvailable("git is missing (Debian: git)")
        if self._git("rev-parse", "--git-dir", check=False) is None:
            raise NotAvailable(f"{root}: not a git repository; --builds compares two build folders without one")

    def commit(self, revision):
        """The full name of the commit that `revision` means."""
        name = self.find(revision)
        if name is None:
            raise UsageError(f"no commit {revision!r} in {self.root}")
        return name

    def find(self, revision):
        """As commit(), but None where there is none."""
        return self._git("rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}", check=False)

    def subject(self, commit):
        return self._git("log", "-1", "--format=%s", commit)

    def is_modified(self):
        """Whether tracked files differ from HEAD."""
        return bool(self._git("status", "--porcelain", "--untracked-files=no"))

    @contextlib.contextmanager
    def worktree(self, commit, folder):
        """`commit` checked out in `folder` for as long as the context lasts."""
        self._remove(folder)
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        try:
            self._git("worktree", "add", "--quiet", "--detach", folder, commit)
            yield folder
        finally:
            self._remove(folder)

    def _remove(self, folder):
        # Not "worktree prune": it would forget the user's own worktrees on a disk that is not mounted just now.
        self._git("worktree", "remove", "--force", folder, check=False)
        shutil.rmtree(folder, ignore_errors=True)

    def _git(self, *arguments, check=True):
        """What git prints, stripped; None where it fails and `check` is off."""
        command = ["git", "-C", self.root, "-c", "core.hooksPath=/dev/null", *arguments]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode == 0:
            return done.stdout.strip()
        if check:
            raise NotAvailable(f"git {arguments[0]} failed: {' '.join(done.stderr.split())}")
        return None
