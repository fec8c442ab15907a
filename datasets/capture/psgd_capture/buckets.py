"""What DistributedDataParallel shows a communication hook: parameters inside flat buckets, and how to name and undo them."""

from __future__ import annotations

import numpy as np
import torch

from .layout import ParameterSpec


def parameter_specs(model: torch.nn.Module, ignored: set) -> tuple:
    """The trainable parameters of `model` in its own order, and the map id(parameter) -> specification.

    The id is the only key that holds: bucket indices and the order inside a bucket change when the buckets are rebuilt
    after the first iteration.
    """
    by_id = {}
    for name, p in model.named_parameters():
        if not p.requires_grad or name in ignored:
            continue
        by_id[id(p)] = ParameterSpec(name, tuple(p.shape), dtype_name(p.dtype), memory_format(name, p))
    return list(by_id.values()), by_id


def dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).split(".")[-1]


def memory_format(name: str, p: torch.Tensor) -> str:
    """The order of `p` in memory, which is the order of its gradient in the bucket."""
    if p.is_contiguous() or not _is_dense(p):
        return "contiguous"  # the bucket holds the gradient of a tensor with gaps contiguously
    if p.dim() == 4 and p.is_contiguous(memory_format=torch.channels_last):
        return "channels_last"
    if p.dim() == 5 and p.is_contiguous(memory_format=torch.channels_last_3d):
        return "channels_last_3d"
    raise ValueError(
        f"parameter {name!r} of shape {tuple(p.shape)} has strides {p.stride()}: layout v1 knows contiguous, channels_last "
        "and channels_last_3d; make it contiguous before wrapping the model"
    )


def read_bucket(bucket: torch.distributed.GradBucket, by_id: dict, with_values: bool) -> tuple:
    """Copies a bucket: ({name: (bucket index, offset)}, {name: array of logical values, shape [1, *shape]}).

    The copy is taken from the flat buffer, before any collective runs on it. Without `with_values` only the places are
    read, which costs no copy.
    """
    buffer = bucket.buffer()
    if buffer.is_sparse:
        raise ValueError("a bucket holds sparse gradients, which layout v1 does not know; use dense embeddings")
    places, values = {}, {}
    flat = buffer.detach().to("cpu", copy=True) if with_values else None
    for p, view in zip(bucket.parameters(), bucket.gradients()):
        spec = by_id[id(p)]
        offset = view.storage_offset() - buffer.storage_offset()
        places[spec.name] = (bucket.index(), offset)
        if with_values:
            if dtype_name(flat.dtype) != spec.logical_dtype:
                raise ValueError(f"the gradient of {spec.name!r} arrives as {flat.dtype}, its parameter is {spec.logical_dtype}")
            values[spec.name] = _as_numpy(_logical(flat[offset : offset + p.numel()], p))[np.newaxis]
    return places, values


def _logical(piece: torch.Tensor, p: torch.Tensor) -> torch.Tensor:
    """A parameter's stretch of the flat buffer as a tensor of the parameter's shape, row-major.

    `bucket.gradients()` reshapes the stretch as it lies in memory; for a channels_last parameter that scrambles the
    values. Laying the parameter's own strides over it gives the logical ones.
    """
    if not _is_dense(p):
        return piece.view(p.shape)
    return torch.as_strided(piece, p.shape, p.stride(), piece.storage_offset()).contiguous()


def _is_dense(p: torch.Tensor) -> bool:
    """Whether the elements of `p` fill its memory without gaps or overlaps, in whatever order."""
    expected = 1
    for stride, extent in sorted(zip(p.stride(), p.shape)):
        if extent == 1:
            continue
        if stride != expected:
            return False
        expected *= extent
    return True


def _as_numpy(t: torch.Tensor) -> np.ndarray:
    if t.dtype == torch.bfloat16:  # NumPy has none: its bits, as the file stores them
        return t.view(torch.int16).numpy().view(np.uint16)
    return t.numpy()
