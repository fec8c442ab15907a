"""Merges the files of a job's process ranks into one, step by step.

usage: python3 -m psgd_capture.merge [--gzip] [--overwrite] OUT.h5 IN.h5 [IN.h5 ...]

The inputs must be of one job: same parameters, buckets and world size, no process rank twice. The result holds the steps
that all inputs have; it is marked complete when all inputs are.
"""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import ExitStack

import h5py
import numpy as np

from .layout import FORMAT, FORMAT_VERSION, ParameterSpec
from .writer import DumpWriter


class _Source:
    """One input file, opened for reading."""

    def __init__(self, path: str, file: h5py.File):
        self.path = path
        self.attributes = dict(file.attrs)
        if self.attributes.get("format") != FORMAT:
            raise ValueError(f"{path}: not a gradient dump (attribute format is not {FORMAT!r})")
        if int(self.attributes["format_version"][0]) != FORMAT_VERSION[0]:
            raise ValueError(f"{path}: layout version {self.attributes['format_version']}; this program knows {FORMAT_VERSION[0]}")
        self.ranks = [int(r) for r in self.attributes["ranks"]]
        self.row_of = {int(step): row for row, step in enumerate(file["steps"][()])}
        self.gradients = {d.attrs["name"]: d for d in file["gradients"].values()}
        self.parameters = [self._parameter(name.decode(), int(b), int(o)) for name, b, o in file["parameters"][()]]
        self._file = file

    def _parameter(self, name: str, bucket: int, offset: int) -> ParameterSpec:
        if name not in self.gradients:
            raise ValueError(f"{self.path}: /gradients has no data for parameter {name!r}")
        dataset = self.gradients[name]
        return ParameterSpec(
            name, dataset.shape[2:], dataset.attrs["logical_dtype"], dataset.attrs["memory_format"], bucket, offset
        )

    def series(self, name: str, step: int):
        """This step's row of a per-step dataset, or None where the file has none."""
        return self._file[name][self.row_of[step]] if name in self._file else None


def merge_files(output: str, inputs: list, *, gzip: bool = False, overwrite: bool = False) -> int:
    """Writes the merged file and returns the number of its steps.

    The output appears under its name only when it is whole; an existing file is refused unless `overwrite`.
    """
    if not inputs:
        raise ValueError("no input files")
    if os.path.exists(output) and not overwrite:
        raise ValueError(f"{output}: exists already")
    with ExitStack() as stack:
        sources = [_Source(path, stack.enter_context(h5py.File(path, "r"))) for path in inputs]
        sources.sort(key=lambda s: s.ranks)
        _check_same_job(sources)
        steps = sorted(set.intersection(*(set(s.row_of) for s in sources)))
        if not steps:
            raise ValueError("the files have no step in common")
        partial = f"{output}.part"
        try:
            _write(partial, sources, steps, gzip)
            os.replace(partial, output)
        finally:
            if os.path.exists(partial):
                os.remove(partial)
        return len(steps)


def _write(path: str, sources: list, steps: list, gzip: bool) -> None:
    first = sources[0].attributes
    writer = DumpWriter(
        path,
        sources[0].parameters,
        world_size=int(first["world_size"]),
        ranks=[rank for s in sources for rank in s.ranks],
        gzip=gzip,
        overwrite=True,
        durable=False,
        **{name: first.get(name, "") for name in ("grad_kind", "framework", "framework_version", "model", "writer")},
    )
    with writer:
        for step in steps:
            writer.append(step, _joined(sources, step), **_joined_series(sources, step))
        writer.close(complete=all(s.attributes.get("complete") for s in sources))


def _check_same_job(sources: list) -> None:
    reference, seen = sources[0], {}
    for source in sources:
        for attribute in ("world_size", "grad_kind"):
            if source.attributes[attribute] != reference.attributes[attribute]:
                raise ValueError(f"{source.path} and {reference.path} differ in {attribute}")
        if source.parameters != reference.parameters:
            pairs = zip(source.parameters, reference.parameters)
            where = next((f"at parameter {a.name!r}" for a, b in pairs if a != b), "in the number of parameters")
            raise ValueError(f"{source.path} and {reference.path} differ {where} (name, shape, type or bucket)")
        for rank in source.ranks:
            if rank in seen:
                raise ValueError(f"process rank {rank} is in {seen[rank]} and in {source.path}")
            seen[rank] = source.path


def _joined(sources: list, step: int):
    for parameter in sources[0].parameters:
        yield parameter.name, np.concatenate([s.gradients[parameter.name][s.row_of[step]] for s in sources])


def _joined_series(sources: list, step: int) -> dict:
    joined = {}
    for name in ("loss_scale", "loss"):
        rows = [s.series(name, step) for s in sources]
        if all(row is not None for row in rows):
            joined[name] = np.concatenate(rows)
    joined["accumulation"] = sources[0].series("accumulation", step)
    return joined


def main(arguments: list | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="psgd-capture-merge", description=__doc__.split("usage:")[0].strip() + " " + __doc__.split("\n\n", 2)[2]
    )
    parser.add_argument("output", metavar="OUT.h5")
    parser.add_argument("inputs", metavar="IN.h5", nargs="+")
    parser.add_argument("--gzip", action="store_true", help="compress with shuffle and gzip level 1")
    parser.add_argument("--overwrite", action="store_true", help="replace OUT.h5 if it exists")
    options = parser.parse_args(arguments)
    try:
        steps = merge_files(options.output, options.inputs, gzip=options.gzip, overwrite=options.overwrite)
    except (OSError, ValueError, KeyError) as error:
        print(f"psgd-capture-merge: error: {error}", file=sys.stderr)
        return 3
    print(f"{options.output}: {steps} steps of {len(options.inputs)} files", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
