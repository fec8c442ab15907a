"""A commit becomes a folder of programs, kept for the next night, whose baseline it will probably be."""

import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess

from .errors import NotAvailable, UsageError
from .files import write_whole

STAMP = "psgd-nightly.json"


class Builder:
    """Builds commits below `cache`/builds. `arguments` go to CMake; of the suites only those in `suites`, where it is not empty."""

    def __init__(self, repository, cache, suites, arguments, jobs, logs, say):
        self._repository = repository
        self._cache = cache
        self._suites = suites
        self._arguments = ["-DCMAKE_BUILD_TYPE=Release", "-DPSGD_BUILD_TESTS=OFF", "-DPSGD_BUILD_BENCHMARKS=ON", *arguments]
        self._jobs = jobs
        self._logs = logs
        self._say = say
        self._key = self._fingerprint()

    def folder(self, commit):
        return os.path.join(self._cache, "builds", f"{commit[:12]}-{self._key}")

    def is_built(self, commit):
        suites = self._stamp(self.folder(commit))
        return suites is not None and (not suites or bool(self._suites) and set(self._suites) <= set(suites))

    def build_commit(self, commit):
        """The build folder of `commit`, from the cache where it lies there."""
        folder = self.folder(commit)
        if self.is_built(commit):
            self._say(f"{commit[:12]} is built")
            return folder
        with self._repository.worktree(commit, self.checkout) as source:
            self._build(source, folder, commit[:12])
        write_whole(os.path.join(folder, STAMP), json.dumps({"suites": sorted(self._suites)}))
        return folder

    def build_tree(self, root):
        """The build folder of the files at `root` as they are now."""
        folder = os.path.join(self._cache, "builds", f"tree-{self._key}")
        self._build(root, folder, "tree")
        return folder

    @property
    def checkout(self):
        """Where a commit is checked out while it is needed. The same place for all: the paths that a compiler writes into programs are
        then the same on both sides, and ccache finds what the other side compiled."""
        return os.path.join(self._cache, "checkout")

    def forget_all_but(self, commits):
        """Removes the builds of other commits."""
        kept = {os.path.basename(self.folder(commit)) for commit in commits} | {f"tree-{self._key}"}
        builds = os.path.join(self._cache, "builds")
        for name in os.listdir(builds) if os.path.isdir(builds) else []:
            if name not in kept:
                shutil.rmtree(os.path.join(builds, name), ignore_errors=True)

    def _fingerprint(self):
        compiler = next((a.partition("=")[2] for a in self._arguments if a.startswith("-DCMAKE_CXX_COMPILER=")), None)
        compiler = compiler or os.environ.get("CXX", "c++")
        with contextlib.suppress(OSError):
            compiler = subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout
        return hashlib.sha256("\n".join([compiler, *self._arguments]).encode()).hexdigest()[:8]

    @staticmethod
    def _stamp(folder):
        """The suites that a finished build was asked for, [] for all; None where none was finished."""
        try:
            with open(os.path.join(folder, STAMP), encoding="utf-8") as file:
                return json.load(file)["suites"]
        except (OSError, ValueError):
            return None

    def _build(self, source, folder, label):
        os.makedirs(folder, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(folder, STAMP))
        log = os.path.join(self._logs, f"build-{label}.log")
        os.makedirs(self._logs, exist_ok=True)
        self._say(f"building {label}")
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        with open(log, "w", encoding="utf-8") as file:
            self._run(["cmake", "-S", source, "-B", folder, *generator, *self._arguments], file, label)
            targets = self._targets(folder)
            if targets:
                parallel = [] if self._jobs is None else [str(self._jobs)]
                self._run(["cmake", "--build", folder, "--parallel", *parallel, "--target", *targets], file, label)
        # A suite that this commit no longer has must not be found in the folder of an earlier one.
        for suite in find_suites(folder):
            if f"bench_{suite}" not in targets:
                os.unlink(program(folder, suite))

    def _targets(self, folder):
        listing = subprocess.run(["cmake", "--build", folder, "--target", "help"], capture_output=True, text=True).stdout
        # Ninja says "bench_reader: phony", make "... bench_reader".
        names = set(re.findall(r"^(?:\.\.\. )?([\w-]+)(?::.*)?$", listing, re.MULTILINE))
        benches = {name for name in names if name.startswith("bench_")}
        if self._suites:
            benches &= {f"bench_{suite}" for suite in self._suites}
        return sorted(benches | (names & {"psgd-replay"}))

    @staticmethod
    def _run(command, log, label):
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        except FileNotFoundError:
            raise NotAvailable(f"{command[0]} is missing (Debian: {command[0]})") from None
        if done.returncode != 0:
            log.flush()
            raise NotAvailable(f"{label} does not build{_first_error(log.name)}; all of it in {log.name}")


def program(folder, suite):
    return os.path.join(folder, "bin", f"bench_{suite}")


def find_suites(folder):
    """Names of the suites in a build folder: its programs bin/bench_NAME."""
    try:
        names = os.listdir(os.path.join(folder, "bin"))
    except OSError:
        return []
    return sorted(n[6:] for n in names if n.startswith("bench_") and os.access(os.path.join(folder, "bin", n), os.X_OK))


def existing(folder):
    """`folder`, which the user built."""
    if not os.path.isdir(os.path.join(folder, "bin")):
        raise UsageError(f"{folder}: not a build folder (it has no bin/)")
    return os.path.abspath(folder)


def _first_error(log):
    with open(log, encoding="utf-8", errors="replace") as file:
        for line in file:
            if re.search(r"\berror\b", line, re.IGNORECASE):
                return f": {line.strip()}"
    return ""
