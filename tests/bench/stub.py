"""Build folders whose programs only pretend: Google Benchmark's command line and JSON, with times that are drawn, not measured."""

import json
import os
import stat
import sys

# Every call of a benchmark draws the next number of a sequence of its own, so that a test finds the same each time.
PROGRAM = '''#!{python} -IS
import json, math, os, random, re, sys, time
settings = json.loads({settings!r})
flags = dict(a[2:].partition("=")[::2] for a in sys.argv[1:])
names = [n for n in settings["seconds"] if re.search(flags.get("benchmark_filter", ""), n)]
if "benchmark_list_tests" in flags:
    print("\\n".join(names))
    sys.exit()
name, = names
calls = os.path.join({folder!r}, "calls-" + re.sub(r"\\W", "_", name))
with open(calls, "a") as file:
    file.write(".")
    number = file.tell()
with open(os.path.join({folder!r}, os.pardir, "order"), "a") as file:
    file.write({folder!r} + " " + name + "\\n")
if name == settings.get("hangs") and number > 3:
    open(calls + ".hangs", "w").close()
    time.sleep(60)
if name == settings.get("breaks"):
    sys.exit("out of cheese")
draw = random.Random(f"{{settings['seed']}} {{name}} {{number}}").gauss(0, settings["noise"])
seconds = settings["seconds"][name] * math.exp(draw)
entry = {{"name": name, "run_name": name, "run_type": "iteration", "iterations": 1, "real_time": seconds * 1e3, "cpu_time": seconds * 1e3, "time_unit": "ms"}}
document = {{"context": {{"host_name": "secret-host"}} | settings.get("context", {{}}), "benchmarks": [entry]}}
open(flags["benchmark_out"], "w").write(json.dumps(document))
'''


def write_program(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(content)
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)


def write_suite(folder, suite, seconds, seed, noise=0.02, **settings):
    """bin/bench_SUITE in `folder`, with benchmarks {name: seconds}."""
    os.makedirs(folder, exist_ok=True)
    chosen = json.dumps({"seconds": seconds, "seed": seed, "noise": noise} | settings)
    write_program(os.path.join(folder, "bin", f"bench_{suite}"), PROGRAM.format(python=sys.executable, settings=chosen, folder=folder))
