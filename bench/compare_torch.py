#!/usr/bin/env python3
"""Times psgd-replay against PyTorch's own PowerSGD hook on the same gradient dump, in one interleaved run.

    compare_torch.py --make-dump big.h5 --world 8 --steps 8
    compare_torch.py big.h5 --world 1,8 --ranks 1,4,16 --repeat 5

For every number of process ranks and every matrix rank, PyTorch's powerSGD_hook (one process per process rank, gloo, the
threads shared out among them) and psgd-replay (the same process ranks, simulated) take turns. What is compared is the median
time of a compressed step: for PyTorch that of its slowest process, without reading; for psgd-replay `summary.seconds_per_step`,
which leaves out reading and includes its metrics. Look at the ratio: times of one run do not carry over to another machine or hour.
PyTorch's processes hold the dump in memory, all steps of it.

--make-dump writes a synthetic dump of GPT-2-small's transformer layers (4 blocks: 28.35 million elements) in DDP's buckets.

Needs torch, h5py and NumPy (Debian: python3-torch python3-h5py).
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

# Some machines set these two as a pair for old OpenBLAS builds. They slow PyTorch down, and one without the other is worse;
# OpenBLAS reads them when it is loaded, so they go before NumPy comes.
for _variable in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
    os.environ.pop(_variable, None)

import h5py  # noqa: E402
import numpy as np  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "datasets", "capture"))
from psgd_capture import DumpWriter, ParameterSpec  # noqa: E402

MIB = 1024 * 1024
START_ITER = 2  # PyTorch's smallest with error feedback and warm start
EPSILON = 1e-8
WARM_UP = 2  # compressed steps that PyTorch is allowed for its first allocations


# --- the dump ---


def ddp_buckets(parameters):
    """{name: (bucket, offset)} by DistributedDataParallel's rule: reverse order; a bucket closes when it holds 1 MiB, later 25 MiB."""
    places, bucket, offset, limit = {}, 0, 0, 1 * MIB
    for p in reversed(parameters):
        places[p.name] = (bucket, offset)
        offset += p.numel
        if offset * p.storage_dtype.itemsize >= limit:
            bucket, offset, limit = bucket + 1, 0, 25 * MIB
    return places


class Dump:
    """A dump opened for reading bucket by bucket, as DistributedDataParallel would hand it to a hook."""

    def __init__(self, path):
        self._file = h5py.File(path)
        self.steps = len(self._file["steps"])
        self.ranks = [int(r) for r in self._file.attrs["ranks"]]
        self._gradients = {d.attrs["name"]: d for d in self._file["gradients"].values()}
        names = [name.decode() for name in self._file["parameters"]["name"]]
        types = {self._gradients[name].attrs["logical_dtype"] for name in names}
        if "bfloat16" in types:
            raise SystemExit(f"compare_torch: error: {path}: gloo cannot sum bfloat16")
        parameters = [ParameterSpec(name, self.shape(name), self._gradients[name].attrs["logical_dtype"]) for name in names]
        self.numel = sum(p.numel for p in parameters)
        places = {name.decode(): (b, o) for name, b, o in self._file["parameters"][()].tolist()}
        if min(bucket for bucket, _ in places.values()) < 0:
            places = ddp_buckets(parameters)
        self.buckets = [[] for _ in range(1 + max(bucket for bucket, _ in places.values()))]
        for name in sorted(names, key=places.get):
            self.buckets[places[name][0]].append(name)

    def shape(self, name):
        return self._gradients[name].shape[2:]

    def flat_bucket(self, step, rank, bucket):
        """One bucket's flat buffer: parameters by offset, each in its memory order."""
        column = self.ranks.index(rank)
        pieces = []
        for name in self.buckets[bucket]:
            dataset = self._gradients[name]
            values = dataset[step, column]
            if dataset.attrs["memory_format"].startswith("channels_last"):
                values = np.moveaxis(values, 1, -1)
            pieces.append(values.reshape(-1))
        return np.concatenate(pieces)


def gpt2_parameters(blocks):
    """The parameters of `blocks` transformer blocks of GPT-2 small, weights as outputs × inputs."""
    width, shapes = 768, {}
    for k in range(blocks):
        for layer, shape in (
            ("ln_1", (width,)),
            ("attn.c_attn", (3 * width, width)),
            ("attn.c_proj", (width, width)),
            ("ln_2", (width,)),
            ("mlp.c_fc", (4 * width, width)),
            ("mlp.c_proj", (width, 4 * width)),
        ):
            shapes[f"h.{k}.{layer}.weight"] = shape
            shapes[f"h.{k}.{layer}.bias"] = shape[:1]
    return [ParameterSpec(name, shape) for name, shape in shapes.items()]


class SyntheticGradients:
    """Gradients with what matters to PowerSGD: a low-rank part that all process ranks share and that turns slowly from step to
    step, with a decaying spectrum, and noise of about the same norm that each process rank has for itself."""

    COMMON_RANK = 12
    TURN = 0.05  # radians a step

    def __init__(self, parameters, world_size, seed):
        self._world_size, self._random = world_size, np.random.default_rng(seed)
        self._parameters = parameters
        self._factors = {p.name: self._draw_factors(p) for p in parameters}

    def step(self, step):
        """Yields (name, array [W, *shape]); one parameter is in memory at a time."""
        for p in self._parameters:
            left, left_next, right = self._factors[p.name]
            angle = self.TURN * step
            common = ((math.cos(angle) * left + math.sin(angle) * left_next) @ right).reshape(p.shape)
            values = self._random.standard_normal((self._world_size, *p.shape), np.float32)
            values *= np.float32(np.linalg.norm(common) / math.sqrt(max(1, p.numel)))
            values += common
            yield p.name, values

    def _draw_factors(self, p):
        rows, columns = p.shape[0], p.numel // p.shape[0]
        rank = min(self.COMMON_RANK, rows, columns)
        spectrum = 0.6 ** np.arange(rank, dtype=np.float32) / math.sqrt(rows * columns)
        draw = lambda *shape: self._random.standard_normal(shape, np.float32)  # noqa: E731
        return draw(rows, rank) * spectrum, draw(rows, rank) * spectrum, draw(rank, columns)


def make_dump(path, world_size, steps, blocks, seed):
    parameters = gpt2_parameters(blocks)
    places = ddp_buckets(parameters)
    source = SyntheticGradients(parameters, world_size, seed)
    partial = path + ".part"
    try:
        with DumpWriter(
            partial,
            parameters,
            world_size=world_size,
            ranks=range(world_size),
            framework="synthetic",
            model=f"gpt2-small-{blocks}-blocks",
            writer="compare_torch",
            overwrite=True,
            durable=False,
        ) as dump:
            dump.set_buckets(places)
            for step in range(steps):
                dump.append(step, source.step(step))
                print(f"\r{path}: step {step + 1} of {steps}", end="", file=sys.stderr, flush=True)
        os.replace(partial, path)
    finally:
        if os.path.exists(partial):
            os.remove(partial)
    numel = sum(p.numel for p in parameters)
    print(f"\n{path}: {numel} elements, {world_size} process ranks, {os.path.getsize(path)} bytes", file=sys.stderr)


# --- the two programs ---


class Bucket:
    """The part of torch.distributed.GradBucket that the hook uses."""

    def __init__(self, buffer, shapes, index, last):
        self._buffer, self._shapes, self._index, self._last = buffer, shapes, index, last

    def buffer(self):
        return self._buffer

    def set_buffer(self, buffer):
        self._buffer = buffer

    def index(self):
        return self._index

    def is_last(self):
        return self._last

    def gradients(self):
        pieces = self._buffer.split([math.prod(shape) for shape in self._shapes])
        return [piece.view(shape) for piece, shape in zip(pieces, self._shapes)]


def torch_process(rank, path, world_size, matrix_rank, threads, directory):
    """One process rank of the PyTorch job; writes its seconds for each timed step."""
    import torch
    import torch.distributed as dist
    from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook

    torch.set_num_threads(max(1, threads // world_size))
    dist.init_process_group("gloo", init_method=f"file://{directory}/store", rank=rank, world_size=world_size)
    state = powerSGD_hook.PowerSGDState(
        None, matrix_approximation_rank=matrix_rank, start_powerSGD_iter=START_ITER, orthogonalization_epsilon=EPSILON
    )
    dump = Dump(path)
    shapes = [[dump.shape(name) for name in names] for names in dump.buckets]
    last = len(shapes) - 1
    # All reading comes first: between the steps it would take PyTorch's freed memory and slow its next step down.
    steps = [[dump.flat_bucket(step, rank, k) for k in range(last + 1)] for step in range(dump.steps)]
    seconds = []
    for flat_buckets in steps:
        buckets = [Bucket(torch.tensor(flat), shapes[k], k, k == last) for k, flat in enumerate(flat_buckets)]
        dist.barrier()
        begin = time.perf_counter()
        for bucket in buckets:
            powerSGD_hook.powerSGD_hook(state, bucket).wait()  # gloo can abort with two in flight
        seconds.append(time.perf_counter() - begin)
    with open(f"{directory}/seconds{rank}", "w") as out:
        json.dump(seconds[START_ITER + WARM_UP :], out)
    dist.barrier()
    os._exit(0)  # gloo's threads may still be closing


def torch_seconds(path, world_size, matrix_rank, threads):
    import torch.multiprocessing as mp

    with tempfile.TemporaryDirectory() as directory:
        mp.spawn(torch_process, (path, world_size, matrix_rank, threads, directory), nprocs=world_size)
        ranks = []
        for rank in range(world_size):
            with open(f"{directory}/seconds{rank}") as file:
                ranks.append(json.load(file))
    return statistics.median(max(step) for step in zip(*ranks))


def psgd_seconds(program, path, world_size, matrix_rank, threads, extra):
    command = [program, path, "-r", str(matrix_rank), "--threads", str(threads), "--json", "-"]
    command += ["--start-powerSGD-iter", str(START_ITER), "--orthogonalization-epsilon", str(EPSILON)]
    command += ["--process-ranks", ",".join(map(str, range(world_size))), *extra]
    return json.loads(run_program(command))["summary"]["seconds_per_step"]


def run_program(command):
    """The program's standard output; ends the comparison when it fails."""
    try:
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True).stdout
    except OSError as error:
        raise SystemExit(f"compare_torch: error: {command[0]}: {error.strerror}; build it, or name it with --psgd-replay")
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"compare_torch: error: {' '.join(command)}: exit code {error.returncode}: {error.stderr.strip()}")


# --- the comparison ---


def compare(options):
    """Yields a record for each number of process ranks and matrix rank."""
    for world_size in options.world:
        for matrix_rank in options.ranks:
            run = {
                "torch": lambda: torch_seconds(options.dump, world_size, matrix_rank, options.threads),
                "psgd": lambda: psgd_seconds(
                    options.psgd_replay, options.dump, world_size, matrix_rank, options.threads, options.psgd_args.split()
                ),
            }
            seconds = {"torch": [], "psgd": []}
            for repeat in range(options.repeat):
                # The two change places, so that neither always runs in the other's wake.
                for name in ("torch", "psgd") if repeat % 2 == 0 else ("psgd", "torch"):
                    seconds[name].append(run[name]())
            medians = {name: statistics.median(values) for name, values in seconds.items()}
            ratios = [t / p for t, p in zip(seconds["torch"], seconds["psgd"])]
            yield {
                "process_ranks": world_size,
                "rank": matrix_rank,
                "torch_seconds": medians["torch"],
                "psgd_seconds": medians["psgd"],
                "ratio": medians["torch"] / medians["psgd"],
                "ratio_lowest": min(ratios),
                "ratio_highest": max(ratios),
                "torch_seconds_all": seconds["torch"],
                "psgd_seconds_all": seconds["psgd"],
            }


def print_table(records, out):
    print("process ranks  rank   torch ms/step    psgd ms/step   torch/psgd   lowest  highest", file=out, flush=True)
    for r in records:
        print(
            f"{r['process_ranks']:13d} {r['rank']:5d} {1e3 * r['torch_seconds']:15.2f} {1e3 * r['psgd_seconds']:15.2f}"
            f" {r['ratio']:12.2f} {r['ratio_lowest']:8.2f} {r['ratio_highest']:8.2f}",
            file=out,
            flush=True,
        )


def run_comparison(options):
    dump = Dump(options.dump)
    if dump.steps <= START_ITER + WARM_UP:
        raise SystemExit(f"compare_torch: error: {options.dump}: {dump.steps} steps; at least {START_ITER + WARM_UP + 1} are needed")
    if any(set(range(world_size)) - set(dump.ranks) for world_size in options.world):
        raise SystemExit(f"compare_torch: error: {options.dump}: holds process ranks {dump.ranks}; choose --world accordingly")
    import torch

    version = run_program([options.psgd_replay, "--version"]).strip()
    print(f"torch {torch.__version__} against {version}: {dump.numel} elements, {options.threads} threads", file=sys.stderr)
    records = []
    print_table((records.append(r) or r for r in compare(options)), sys.stderr if options.json == "-" else sys.stdout)
    if options.json:
        result = {
            "schema": "compare-torch",
            "version": 1,
            "dump": options.dump,
            "numel": dump.numel,
            "threads": options.threads,
            "repeat": options.repeat,
            "torch": str(torch.__version__),
            "psgd_replay": version,
            "psgd_args": options.psgd_args,
            "records": records,
        }
        text = json.dumps(result, indent=1) + "\n"
        if options.json == "-":
            sys.stdout.write(text)
        else:
            with open(options.json, "w") as out:
                out.write(text)
    slow = [r for r in records if options.require is not None and r["ratio"] < options.require]
    for r in slow:
        print(f"W = {r['process_ranks']}, rank {r['rank']}: ratio {r['ratio']:.2f} is below {options.require}", file=sys.stderr)
    return 1 if slow else 0


def numbers(text):
    return [int(item) for item in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dump", nargs="?", metavar="DUMP.h5", help="dump to replay")
    parser.add_argument("--world", type=numbers, default=[1], metavar="W,...", help="numbers of process ranks (default: 1)")
    parser.add_argument("--ranks", type=numbers, default=[1, 2, 4, 8], metavar="R,...", help="matrix ranks (default: 1,2,4,8)")
    parser.add_argument("--repeat", type=int, default=5, metavar="N", help="runs of each program (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), metavar="N", help="threads in all (default: %(default)s)")
    parser.add_argument("--psgd-replay", default="build/bin/psgd-replay", metavar="PATH", help="the program (default: %(default)s)")
    parser.add_argument("--psgd-args", default="", metavar="OPTIONS", help="more options for psgd-replay, in one argument")
    parser.add_argument("--json", metavar="FILE", help="also write the records as JSON (- is stdout, the table then goes to stderr)")
    parser.add_argument("--require", type=float, metavar="RATIO", help="exit with 1 when a ratio torch/psgd is lower")
    group = parser.add_argument_group("writing a synthetic dump instead")
    group.add_argument("--make-dump", metavar="FILE.h5", help="write it, for the largest of --world")
    group.add_argument("--steps", type=int, default=8, metavar="N", help="steps (default: %(default)s)")
    group.add_argument("--blocks", type=int, default=4, metavar="N", help="transformer blocks (default: %(default)s)")
    group.add_argument("--seed", type=int, default=0, metavar="N", help="seed (default: %(default)s)")
    options = parser.parse_args()
    if bool(options.dump) == bool(options.make_dump):
        parser.error("give either a dump or --make-dump")
    if options.make_dump:
        make_dump(options.make_dump, max(options.world), options.steps, options.blocks, options.seed)
        return 0
    return run_comparison(options)


if __name__ == "__main__":
    sys.exit(main())
