"""Runs tests of bench/nightly: run.py [MODULE...], all of this folder's unless named. Ends with 77 where SciPy is missing.

run.py --golden-table BUILD compares the committed golden table with the programs of a build folder.
"""

import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
BENCH = os.path.join(os.path.dirname(os.path.dirname(HERE)), "bench")
SKIPPED = 77

missing = [name for name in ("scipy", "matplotlib") if importlib.util.find_spec(name) is None]
if missing:
    print(f"skipped: {sys.executable} has no {', '.join(missing)}")
    sys.exit(SKIPPED)

if sys.argv[1:2] == ["--golden-table"]:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, os.path.join(BENCH, "nightly"), "--quiet", "--accuracy", "only", "--builds", sys.argv[2], sys.argv[2],
                   "--output", folder, "--cache", folder, "--history", os.path.join(folder, "history.jsonl")]
        sys.exit(subprocess.run(command).returncode)

sys.path[:0] = [BENCH, HERE]
loader = unittest.defaultTestLoader
suite = loader.loadTestsFromNames(sys.argv[1:]) if sys.argv[1:] else loader.discover(HERE)
sys.exit(not unittest.TextTestRunner().run(suite).wasSuccessful())
