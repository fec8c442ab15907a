"""Layout v1: the names, types, links and chunk shapes of a gradient dump. Needs NumPy and h5py only.

The format is described for readers in datasets/README.md.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass

import h5py
import numpy as np

FORMAT = "psgd-gradients"
FORMAT_VERSION = (1, 0)

KIB = 1024
MIB = 1024 * KIB
LARGEST_CHUNK = 4 * MIB
LARGEST_FILTERED_CHUNK = 1 * MIB  # inflating is the slow part of reading; smaller pieces spread over more threads
SHARED_CHUNK = 64 * KIB  # parameters smaller than this put several steps into one chunk ...
SHARED_STEPS = 16  # ... but not so many that a short recording is mostly padding

MEMORY_FORMATS = ("contiguous", "channels_last", "channels_last_3d")

# bfloat16 has no HDF5 type of its own: it is stored as its 16 bits.
_STORAGE = {
    "float16": (np.dtype(np.float16), np.float16(np.nan)),
    "bfloat16": (np.dtype(np.uint16), np.uint16(0x7FC0)),
    "float32": (np.dtype(np.float32), np.float32(np.nan)),
    "float64": (np.dtype(np.float64), np.float64(np.nan)),
}

PARAMETER_RECORD = np.dtype([("name", h5py.string_dtype("utf-8")), ("bucket", np.int32), ("offset", np.int64)])


@dataclass(frozen=True)
class ParameterSpec:
    """One parameter of the model: what a dump says about it besides its values.

    `shape` is the logical shape; `bucket` and `offset` (in elements) place it in DistributedDataParallel's flat buffers,
    bucket -1 standing for "not known".
    """

    name: str
    shape: tuple
    logical_dtype: str = "float32"
    memory_format: str = "contiguous"
    bucket: int = -1
    offset: int = 0

    def __post_init__(self):
        if self.logical_dtype not in _STORAGE:
            raise ValueError(f"parameter {self.name!r} has dtype {self.logical_dtype}; layout v1 knows {', '.join(_STORAGE)}")
        if self.memory_format not in MEMORY_FORMATS:
            raise ValueError(f"parameter {self.name!r} has memory format {self.memory_format}; layout v1 knows {', '.join(MEMORY_FORMATS)}")

    @property
    def numel(self) -> int:
        return math.prod(self.shape)

    @property
    def storage_dtype(self) -> np.dtype:
        return _STORAGE[self.logical_dtype][0]

    @property
    def fill_value(self):
        """What a chunk that was never written reads as: NaN, in the parameter's own type."""
        return _STORAGE[self.logical_dtype][1]


def link_name(name: str) -> str:
    """The link under /gradients for a parameter's name: dots stay, `/` and `%` and the special names are percent-escaped."""
    if name == "":
        return "%"  # cannot stem from escaping: a real percent sign becomes %25
    if name in (".", ".."):
        return name.replace(".", "%2E")
    return name.replace("%", "%25").replace("/", "%2F")


def chunk_shape(shape: tuple, itemsize: int, filtered: bool = False) -> tuple:
    """The chunk for a dataset [T, R, *shape].

    A whole tensor of one step and process rank where that fits; a larger one is cut into pieces of equal size along its
    leading axes; a small one shares its chunk with the following steps.
    """
    limit = LARGEST_FILTERED_CHUNK if filtered else LARGEST_CHUNK
    piece = [max(1, extent) for extent in shape]
    size = math.prod(piece) * itemsize
    if size < SHARED_CHUNK:
        return (min(SHARED_STEPS, SHARED_CHUNK // size), 1, *piece)
    for axis, extent in enumerate(piece):
        pieces = -(-size // limit)
        if pieces == 1:
            break
        piece[axis] = max(1, -(-extent // pieces))
        size = math.prod(piece) * itemsize
    return (1, 1, *piece)


def rank_file(path: str, rank: int, world_size: int) -> str:
    """The file of one process rank: x.h5 -> x.rank00003-of-00008.h5."""
    stem, extension = os.path.splitext(path)
    return f"{stem}.rank{rank:05d}-of-{world_size:05d}{extension or '.h5'}"
