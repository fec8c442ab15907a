#!/usr/bin/env python3
"""What PyTorch's own PowerSGD hooks answer on a recorded dump (layout v1).

usage: pytorch_answers.py DUMP.h5 CONFIGURATIONS.h5 ANSWERS.h5
       pytorch_answers.py DUMP.h5 CONFIGURATIONS.h5 --check

The configurations are the groups of CONFIGURATIONS.h5 and their attributes; another file of answers will do. Each is replayed
through torch.distributed's hook by as many gloo processes as the dump has ranks, and written as a group of ANSWERS.h5 as
tests/golden/README.md describes. --check compares with the answers that CONFIGURATIONS.h5 holds instead of writing any:
it prints the largest difference of each kind and exits with 1 when one is above rounding.

Needs Debian's python3-torch, python3-h5py and python3-numpy.
"""
import argparse
import math
import os
import pickle
import sys
import tempfile

import h5py
import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as power_sgd

STATE_ARGUMENTS = (
    "matrix_approximation_rank", "start_powerSGD_iter", "min_compression_rate", "use_error_feedback", "warm_start",
    "orthogonalization_epsilon", "random_seed", "batch_tensors_with_same_shape",
)

# Since torch 1.12 the batched hook hands matrices to a function that takes batches of matrices: repaired here.
orthogonalize_batch = power_sgd._orthogonalize


def orthogonalize(matrices, epsilon=0):
    orthogonalize_batch(matrices.unsqueeze(0) if matrices.dim() == 2 else matrices, epsilon)


power_sgd._orthogonalize = orthogonalize


class Bucket:
    """The part of torch.distributed.GradBucket that the hooks use."""

    def __init__(self, index, flat, shapes, last):
        self.flat, self.shapes, self.number, self.last = flat, shapes, index, last

    def buffer(self):
        return self.flat

    def index(self):
        return self.number

    def is_last(self):
        return self.last

    def gradients(self):
        views, begin = [], 0
        for shape in self.shapes:
            count = math.prod(shape)
            views.append(self.flat[begin:begin + count].view(shape))
            begin += count
        return views


class Original:
    """The hook of 2020 on torch operations: a rank and a seed, no memory. Counts 2·s·r elements a bucket."""

    def __init__(self, matrix_approximation_rank, random_seed):
        self.rank = matrix_approximation_rank
        self.rng = np.random.RandomState(random_seed)
        self.iter = self.total_numel_before_compression = self.total_numel_after_compression = 0
        self.error_dict, self.p_memory_dict, self.q_memory_dict = {}, {}, {}

    @staticmethod
    def orthogonalize(matrix):
        for i in range(matrix.shape[1]):
            column = matrix[:, i:i + 1]
            column /= torch.sqrt(torch.sum(column ** 2))
            rest = matrix[:, i + 1:]
            rest -= torch.sum(column * rest, dim=0) * column

    def step(self, bucket):
        flat = bucket.buffer()
        length = flat.numel()
        side = math.ceil(math.sqrt(length))
        self.total_numel_before_compression += length
        self.total_numel_after_compression += 2 * side * self.rank
        matrix = torch.zeros(side * side, dtype=flat.dtype)
        matrix[:length] = flat
        matrix = matrix.view(side, side)
        torch.manual_seed(self.rng.randint(1_000_000_000))
        q = torch.randn(side, self.rank, dtype=flat.dtype)
        self.orthogonalize(q)
        p = matrix @ q
        dist.all_reduce(p)
        self.orthogonalize(p)
        q = matrix.t() @ p
        dist.all_reduce(q)
        q /= dist.get_world_size()
        flat.copy_((p @ q.t()).view(-1)[:length])
        if bucket.is_last():
            self.iter += 1


class Dump:
    """A dump's parameters in their buckets, each bucket's by ascending offset."""

    def __init__(self, path):
        with h5py.File(path) as file:
            recorded = [(row["name"].decode(), int(row["bucket"]), int(row["offset"])) for row in file["parameters"][()]]
            self.names = [name for name, _, _ in recorded]
            self.world_size = int(file.attrs["world_size"])
            self.steps = file["steps"][()]
            values = {data.attrs["name"]: data[()] for data in file["gradients"].values()}
        self.values = [values[name] for name in self.names]
        self.shapes = [value.shape[2:] for value in self.values]
        self.buckets = {}
        for index, (_, bucket, _) in sorted(enumerate(recorded), key=lambda item: item[1][1:]):
            self.buckets.setdefault(bucket, []).append(index)

    def flat(self, step, rank, bucket):
        return np.concatenate([self.values[index][step, rank].reshape(-1) for index in self.buckets[bucket]])

    def split(self, bucket, flat):
        """(parameter, its part of a bucket's flat vector) for each parameter of the bucket."""
        begin = 0
        for index in self.buckets[bucket]:
            count = math.prod(self.shapes[index])
            yield index, flat[begin:begin + count].reshape(self.shapes[index])
            begin += count

    def mean(self, step, index):
        return self.values[index][step].astype(np.float64).mean(axis=0)


def replay(dump, rank, attributes):
    """One process rank through one configuration; the answers that this rank knows."""
    arguments = {name: attributes[name] for name in STATE_ARGUMENTS if name in attributes}
    if attributes["hook"] == "original":
        state = Original(arguments["matrix_approximation_rank"], arguments.get("random_seed", 0))
    else:
        state = power_sgd.PowerSGDState(None, **arguments)
        hook = power_sgd.batched_powerSGD_hook if attributes["hook"] == "batched" else power_sgd.powerSGD_hook
    steps, parameters = len(dump.steps), len(dump.names)
    averaged = np.zeros((steps, parameters))
    relative = np.zeros((steps, parameters))
    error = np.zeros((steps, parameters))
    counts = np.zeros((steps, 3))
    for step in range(steps):
        for number in dump.buckets:
            flat = torch.tensor(dump.flat(step, rank, number))
            shapes = [dump.shapes[index] for index in dump.buckets[number]]
            bucket = Bucket(number, flat, shapes, number == max(dump.buckets))
            if attributes["hook"] == "original":
                state.step(bucket)
                outputs = flat
            else:
                outputs = hook(state, bucket).wait()
                outputs = outputs[0] if isinstance(outputs, list) else outputs
            last = {} if number == min(dump.buckets) else last
            for index, output in dump.split(number, outputs.numpy()):
                last[index] = output.copy()
                output = output.astype(np.float64)
                mean = dump.mean(step, index)
                averaged[step, index] = np.linalg.norm(output)
                relative[step, index] = np.linalg.norm(output - mean) / np.linalg.norm(mean)
            if number in state.error_dict:
                for index, value in dump.split(number, state.error_dict[number].numpy()):
                    error[step, index] = np.linalg.norm(value.astype(np.float64))
        counts[step] = state.iter, state.total_numel_before_compression, state.total_numel_after_compression
    memory = {kind: {number: value.numpy().reshape(-1).copy() for number, value in dictionary.items()}
              for kind, dictionary in (("p_memory", state.p_memory_dict), ("q_memory", state.q_memory_dict))}
    return {"averaged_norm": averaged, "relative_error": relative, "error": error, "counts": counts, "last": last, **memory}


def worker(rank, dump_path, configurations, folder):
    torch.set_num_threads(1)
    dump = Dump(dump_path)
    dist.init_process_group("gloo", init_method=f"file://{folder}/group", rank=rank, world_size=dump.world_size)
    answers = {name: replay(dump, rank, attributes) for name, attributes in configurations.items()}
    with open(f"{folder}/{rank}", "wb") as file:
        pickle.dump(answers, file)
    dist.barrier()
    os._exit(0)  # gloo's threads may still be closing


def read_configurations(path):
    with h5py.File(path) as file:
        groups = {name: group.attrs for name, group in file.items() if isinstance(group, h5py.Group)}
        return {name: {key: value.item() if isinstance(value, np.generic) else value
                       for key, value in attributes.items() if key != "compression_stats"}
                for name, attributes in groups.items()}


def all_answers(dump_path, configurations):
    """{configuration: {name of a dataset: array}}, named as in a file of answers."""
    dump = Dump(dump_path)
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(worker, (dump_path, configurations, folder), nprocs=dump.world_size)
        ranks = []
        for rank in range(dump.world_size):
            with open(f"{folder}/{rank}", "rb") as file:
                ranks.append(pickle.load(file))
    exact = np.array([[np.linalg.norm(dump.mean(step, index)) for index in range(len(dump.names))]
                      for step in range(len(dump.steps))])
    result = {}
    for name in configurations:
        first = ranks[0][name]
        data = {"exact_mean_norm": exact, "averaged_norm": first["averaged_norm"],
                "relative_error": first["relative_error"], "iter_numel_before_after": first["counts"],
                "error_feedback_norm": np.stack([answers[name]["error"] for answers in ranks], axis=1)}
        for index, value in first["last"].items():
            data[f"averaged/{dump.steps[-1]}/{dump.names[index]}"] = value
        for kind in ("p_memory", "q_memory"):
            data.update({f"{kind}/{number}": value for number, value in first[kind].items()})
        result[name] = data
    return dump, result


def write(path, configurations, dump, answers, keep=lambda configuration, dataset: True):
    """Writes a file of answers; `keep` may leave out datasets."""
    with h5py.File(path, "w") as file:
        file.attrs["made_with"] = f"torch {torch.__version__}, hooks of torch.distributed.algorithms.ddp_comm_hooks"
        file["steps"] = dump.steps
        file.create_dataset("parameters", data=dump.names, dtype=h5py.string_dtype())
        for name, attributes in configurations.items():
            group = file.create_group(name)
            group.attrs.update(attributes)
            before, after = answers[name]["iter_numel_before_after"][-1, 1:]
            group.attrs["compression_stats"] = [before / after if after else 0, before, after]
            for dataset, value in answers[name].items():
                if not keep(name, dataset):
                    continue
                packed = {"compression": 9, "shuffle": True, "chunks": value.shape} if value.nbytes > 1024 else {}
                group.create_dataset(dataset, data=value, **packed)


def check(path, answers):
    """Prints the largest difference of each kind from the file's answers, relative to the largest value of its dataset."""
    worst = {}
    with h5py.File(path) as file:
        for name, data in answers.items():
            theirs = {}
            file[name].visititems(lambda key, item: theirs.update({key: item[()]}) if isinstance(item, h5py.Dataset) else None)
            for missing in theirs.keys() - data.keys():
                sys.exit(f"{name}/{missing}: not answered")
            for key, value in theirs.items():
                scale = np.max(np.abs(value), initial=0) or 1
                kind = key.split("/")[0]
                difference = np.max(np.abs(data[key].reshape(value.shape).astype(np.float64) - value), initial=0) / scale
                entry = kind, str(value.dtype)
                worst[entry] = max(worst.get(entry, (0, "")), (difference, name))
    for (kind, dtype), (difference, name) in worst.items():
        print(f"{kind:26} {dtype:8} {difference:.1e} {name}")
    if any(not difference <= (1e-4 if dtype == "float32" else 1e-10) for (_, dtype), (difference, _) in worst.items()):
        sys.exit(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dump")
    parser.add_argument("configurations")
    parser.add_argument("answers", nargs="?")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.check == (options.answers is not None):
        parser.error("give either a file to write or --check")
    configurations = read_configurations(options.configurations)
    dump, answers = all_answers(options.dump, configurations)
    if options.check:
        check(options.configurations, answers)
    else:
        write(options.answers, configurations, dump, answers)


if __name__ == "__main__":
    main()
