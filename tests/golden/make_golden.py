#!/usr/bin/env python3
"""Makes the golden data from the two full recordings and PyTorch's answers on them; README.md says what is kept.

usage: make_golden.py FULL_FOLDER GOLDEN_FOLDER

Needs what pytorch_answers.py needs. A second run writes the same values.
"""
import fnmatch
import os
import sys

import h5py
import numpy as np

import pytorch_answers

# Configurations that keep every parameter's whole output; the others leave out the outputs of LARGE parameters.
WHOLE = {"digits-cnn-f32": ("r3-batch", "sq4", "original-r3"), "char-lstm-f64": ("r3-batch", "sq4", "original-r3")}
LARGE = {"digits-cnn-f32": ("7.weight",), "char-lstm-f64": ("rnn.weight_hh_*", "rnn.weight_ih_l1", "head.weight")}
# Leading rows that a recording keeps of some parameters; all of the others.
ROWS = {"char-lstm-f64": {"rnn.*": 40, "head.*": 43}}


def kept_rows(recording, name, shape):
    for pattern, rows in ROWS.get(recording, {}).items():
        if fnmatch.fnmatchcase(name, pattern):
            return min(rows, shape[0])
    return shape[0]


def kept_answer(recording, configuration, dataset):
    kind, _, name = dataset.partition("/")
    if kind != "averaged" or configuration in WHOLE[recording]:
        return True
    return not any(fnmatch.fnmatchcase(name.partition("/")[2], pattern) for pattern in LARGE[recording])


def pack(group, name, values):
    """Writes [steps, ranks, *shape] in few chunks, losslessly packed; tiny ones plainly."""
    packed = {"compression": 9, "shuffle": True, "chunks": values.shape} if values.nbytes > 4096 else {}
    return group.create_dataset(name, data=values, **packed)


def cut_recording(recording, source, target):
    with h5py.File(source) as full, h5py.File(target, "w") as golden:
        golden.attrs.update(full.attrs)
        sizes = {}
        for link, data in full["gradients"].items():
            name = data.attrs["name"]
            values = data[:, :, :kept_rows(recording, name, data.shape[2:])]
            sizes[name] = values[0, 0].size
            pack(golden.require_group("gradients"), link, values).attrs.update(data.attrs)
        parameters = full["parameters"][()]
        ends = {}
        for index in np.argsort(parameters["offset"]):
            bucket = parameters[index]["bucket"]
            parameters[index]["offset"] = ends.get(bucket, 0)
            ends[bucket] = ends.get(bucket, 0) + sizes[parameters[index]["name"].decode()]
        golden.create_dataset("parameters", data=parameters, dtype=full["parameters"].dtype)
        for name in ("loss", "loss_scale", "steps"):
            golden[name] = full[name][()]


def cut_answers(recording, source, target):
    with h5py.File(source) as full, h5py.File(target, "w") as golden:
        golden.attrs.update(full.attrs)
        for name, item in full.items():
            if isinstance(item, h5py.Dataset):
                full.copy(item, golden)
                continue
            group = golden.create_group(name)
            group.attrs.update(item.attrs)

            def copy(key, data):
                if isinstance(data, h5py.Dataset) and kept_answer(recording, name, key):
                    pack(group, key, data[()])
            item.visititems(copy)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    for recording in WHOLE:
        full = os.path.join(sys.argv[1], recording)
        golden = os.path.join(sys.argv[2], recording)
        cut_recording(recording, full + ".h5", golden + ".h5")
        if recording in ROWS:
            configurations = pytorch_answers.read_configurations(full + ".expected.h5")
            dump, answers = pytorch_answers.all_answers(golden + ".h5", configurations)
            pytorch_answers.write(golden + ".expected.h5", configurations, dump, answers,
                                  lambda configuration, dataset: kept_answer(recording, configuration, dataset))
        else:
            cut_answers(recording, full + ".expected.h5", golden + ".expected.h5")


if __name__ == "__main__":
    main()
