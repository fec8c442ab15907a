"""Build folders whose programs only pretend: Google Benchmark's command line and JSON, with times that are drawn, not measured."""

import json
import math
import os
import random
import stat

CALLS = 400  # numbers drawn beforehand for a benchmark

# In sh without any other program, which takes a millisecond. Each benchmark has a sequence of its own, so that a test finds the
# same each time. Names must be without characters that mean something in a regular expression: bench/nightly quotes them.
PROGRAM = r"""#!/bin/sh
cd {data} || exit 9
filter=.
for flag; do
  case $flag in
    --benchmark_list_tests=true) list=yes ;;
    --benchmark_filter=*) filter=${{flag#*=}} ;;
    --benchmark_out=*) out=${{flag#*=}} ;;
  esac
done
if [ -n "$list" ]; then grep -E -- "$filter" names; exit 0; fi
name=${{filter#^}} name=${{name%$}} number=0 found=
while [ "$found" != "$name" ]; do read -r found || exit 8; number=$((number + 1)); done < names
[ "$name" != '{breaks}' ] || {{ echo out of cheese >&2; exit 1; }}
echo "{side} $name" >> ../../order
read -r calls < calls-$number
calls=$((calls + 1))
echo $calls > calls-$number
[ "$name" != '{hangs}' ] || [ $calls -le 3 ] || {{ : > ../hangs; exec sleep 60; }}
line=0
while [ $line -lt $calls ]; do read -r time || exit 7; line=$((line + 1)); done < times-$number
echo "{{\"context\": {context}, \"benchmarks\": [{{\"name\": \"$name\", \"run_name\": \"$name\", \"run_type\": \"iteration\", \"iterations\": 1,
  \"real_time\": $time, \"cpu_time\": $time, \"time_unit\": \"ms\"}}]}}" > "$out"
"""


def write(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(content)


def write_program(path, content):
    write(path, content)
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)


def write_suite(folder, suite, seconds, seed, noise=0.02, breaks="", hangs="", context=None):
    """bin/bench_SUITE in `folder`, with benchmarks {name: seconds}: their times in turn, `noise` the standard deviation of their
    logarithm. The benchmark `breaks` fails; `hangs` does from its fourth time on, and leaves a file FOLDER/hangs."""
    data = os.path.join(folder, f"data-{suite}")
    write(os.path.join(data, "names"), "".join(f"{name}\n" for name in seconds))
    for number, (name, mean) in enumerate(seconds.items(), 1):
        draw = random.Random(f"{seed} {name}")
        write(os.path.join(data, f"times-{number}"), "".join(f"{1e3 * mean * math.exp(draw.gauss(0, noise))}\n" for _ in range(CALLS)))
        write(os.path.join(data, f"calls-{number}"), "0\n")
    described = json.dumps({"host_name": "secret-host"} | (context or {})).replace('"', '\\"')
    write_program(os.path.join(folder, "bin", f"bench_{suite}"),
                  PROGRAM.format(data=data, side=os.path.basename(folder), breaks=breaks, hangs=hangs, context=described))
