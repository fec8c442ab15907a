"""Appends steps to a gradient dump so that a crash at any moment leaves every complete step readable.

HDF5 keeps metadata in memory until it is flushed, so the order matters: write and flush the step's data, then extend
/steps, then flush again. Whoever reads the file trusts the length of /steps alone. The library's default version bounds
are kept on purpose: with the latest file format a killed writer can leave a file that does not open.
"""

from __future__ import annotations

from typing import Iterable, Sequence

import h5py
import numpy as np

from .layout import FORMAT, FORMAT_VERSION, PARAMETER_RECORD, ParameterSpec, chunk_shape, link_name

_SERIES_CHUNK = 1024  # steps in one chunk of the small per-step datasets

# Optional per-step datasets: dtype, whether there is a value for each process rank, and what a step without a value holds.
_SERIES = {
    "loss_scale": (np.float32, True, 1.0),
    "loss": (np.float64, True, np.nan),
    "accumulation": (np.int32, False, 1),
}


class DumpWriter:
    """Writes one file of layout v1 holding the process ranks `ranks` of a job of `world_size`.

    Usable as a context manager: the file is marked complete when the block ends without an exception. `durable=False`
    leaves out the flushes, for programs that can simply be run again. An existing file is refused unless `overwrite`.
    """

    def __init__(
        self,
        path: str,
        parameters: Sequence[ParameterSpec],
        *,
        world_size: int,
        ranks: Sequence[int],
        grad_kind: str = "local",
        framework: str = "",
        framework_version: str = "",
        model: str = "",
        writer: str = "psgd-capture",
        gzip: bool = False,
        overwrite: bool = False,
        durable: bool = True,
    ):
        names = [p.name for p in parameters]
        if len(set(names)) != len(names):
            raise ValueError("two parameters have the same name")
        self._parameters = list(parameters)
        self._ranks = len(ranks)
        self._durable = durable
        self._steps_written = 0
        self._last_step = None
        self._file = h5py.File(path, "w" if overwrite else "x")
        try:
            self._write_attributes(
                format=FORMAT,
                format_version=np.array(FORMAT_VERSION, np.int32),
                world_size=np.int32(world_size),
                ranks=np.array(ranks, np.int32),
                grad_kind=grad_kind,
                complete=np.int32(0),
                framework=framework,
                framework_version=framework_version,
                model=model,
                writer=writer,
            )
            self._create_datasets(gzip)
            self._flush()
        except BaseException:
            self._file.close()
            raise

    def append(self, step: int, gradients: Iterable[tuple], *, loss_scale=None, loss=None, accumulation=None) -> None:
        """Adds one step.

        `gradients` yields (name, array [R, *shape]) once for every parameter, in any order; a generator keeps only one
        parameter in memory. `loss_scale` and `loss` have a value per process rank, `accumulation` has one; None stands
        for "not given".
        """
        if self._last_step is not None and step <= self._last_step:
            raise ValueError(f"step {step} does not follow step {self._last_step}")
        row = self._steps_written
        missing = set(self._gradients)
        for name, values in gradients:
            dataset = self._gradients[name]
            if values.dtype != dataset.dtype or values.shape != dataset.shape[1:]:
                raise ValueError(
                    f"parameter {name!r}: got {values.dtype} {values.shape}, the file holds {dataset.dtype} {dataset.shape[1:]}"
                )
            dataset.resize(row + 1, axis=0)
            dataset[row] = values
            missing.discard(name)
        if missing:
            raise ValueError(f"step {step} lacks {len(missing)} parameters, among them {min(missing)!r}")
        self._append_series(row, loss_scale=loss_scale, loss=loss, accumulation=accumulation)
        self._flush()

        self._file["steps"].resize(row + 1, axis=0)
        self._file["steps"][row] = step
        self._flush()
        self._steps_written = row + 1
        self._last_step = step

    def set_buckets(self, places: dict) -> None:
        """Replaces the bucket layout in /parameters; `places` maps every name to (bucket, offset)."""
        table = self._file["parameters"]
        # Field by field: writing whole records would store every name a second time.
        table["bucket"] = np.array([places[p.name][0] for p in self._parameters], np.int32)
        table["offset"] = np.array([places[p.name][1] for p in self._parameters], np.int64)

    def close(self, complete: bool = True) -> None:
        """Closes the file, marking it complete unless told otherwise. Closing twice is harmless."""
        if not self._file:
            return
        try:
            if complete:
                self._flush()  # the mark must not reach the disk before what it vouches for
                self._file.attrs.modify("complete", np.int32(1))
        finally:
            self._file.close()

    def __enter__(self) -> DumpWriter:
        return self

    def __exit__(self, kind, value, traceback) -> None:
        self.close(complete=kind is None)

    def _flush(self) -> None:
        if self._durable:
            self._file.flush()

    def _write_attributes(self, **attributes) -> None:
        for name, value in attributes.items():
            self._file.attrs[name] = value

    def _create_datasets(self, gzip: bool) -> None:
        self._file.create_dataset("steps", (0,), np.int64, maxshape=(None,), chunks=(_SERIES_CHUNK,))
        self._file["parameters"] = np.array([(p.name, p.bucket, p.offset) for p in self._parameters], PARAMETER_RECORD)
        self._create_series("loss_scale", 0)
        filters = {"compression": "gzip", "compression_opts": 1, "shuffle": True} if gzip else {}
        group = self._file.create_group("gradients")
        self._gradients = {}
        for p in self._parameters:
            dataset = group.create_dataset(
                link_name(p.name),
                (0, self._ranks, *p.shape),
                p.storage_dtype,
                maxshape=(None, self._ranks, *p.shape),
                chunks=chunk_shape(p.shape, p.storage_dtype.itemsize, filtered=gzip),
                fillvalue=p.fill_value,
                **filters,
            )
            dataset.attrs["name"] = p.name
            dataset.attrs["logical_dtype"] = p.logical_dtype
            dataset.attrs["memory_format"] = p.memory_format
            self._gradients[p.name] = dataset

    def _append_series(self, row: int, **series) -> None:
        for name, value in series.items():
            if value is not None and name not in self._file:
                self._create_series(name, row)
            if name in self._file:
                self._file[name].resize(row + 1, axis=0)  # the new row holds the fill value
            if value is not None:
                self._file[name][row] = value

    def _create_series(self, name: str, rows: int) -> None:
        dtype, per_rank, fill = _SERIES[name]
        columns = (self._ranks,) if per_rank else ()
        self._file.create_dataset(
            name,
            (rows, *columns),
            dtype,
            maxshape=(None, *columns),
            chunks=(_SERIES_CHUNK, *columns),
            fillvalue=fill,
        )
