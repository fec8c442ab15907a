"""Records a DistributedDataParallel job: a communication hook that copies the local gradients and hands over to the user's hook."""

from __future__ import annotations

import warnings
from typing import Callable, Container

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook

from . import __version__
from .buckets import parameter_specs, read_bucket
from .layout import rank_file
from .writer import DumpWriter

_SHARDED = ("FullyShardedDataParallel", "FSDPModule")


class Recorder:
    """Records the gradients that this process computes into its own file, `x.rank00000-of-00002.h5` for path `x.h5`.

    Create it in every process, after wrapping the model and before the first backward pass:

        recorder = Recorder(ddp_model, "x.h5", steps=range(1000, 1020), model="resnet50")
        for inputs, targets in loader:
            loss = criterion(ddp_model(inputs), targets)
            recorder.annotate(loss=loss.detach())      # optional, before backward()
            loss.backward()
            ...
        recorder.close()

    `hook` and `hook_state` are what would otherwise go to `ddp_model.register_comm_hook` (default: the mean by
    all-reduce); the hook receives the bucket untouched. `steps` is any container of training iterations, counted from 0
    by synchronising backward passes; None records all of them.

    Recording never stops training: when it fails (a full disk, say) it warns once, `error` holds the reason, and the
    steps written until then stay readable.
    """

    def __init__(
        self,
        ddp_model: torch.nn.parallel.DistributedDataParallel,
        path: str,
        *,
        hook: Callable | None = None,
        hook_state: object = None,
        steps: Container[int] | None = None,
        model: str = "",
        gzip: bool = False,
        overwrite: bool = False,
    ):
        _refuse_unsupported(ddp_model)
        group = ddp_model.process_group
        rank, world_size = dist.get_rank(group), dist.get_world_size(group)
        self.path = rank_file(path, rank, world_size)
        self.error = None
        self._steps = steps
        self._hook = hook or allreduce_hook
        self._hook_state = hook_state if hook else group
        # Two collectives of different buckets in flight can abort the process inside gloo; NCCL orders them itself.
        self._wait = "gloo" in str(dist.get_backend(group))
        self._iteration = 0
        self._notes = {}
        self._places, self._values, self._written_places = {}, {}, None

        ignored = set(getattr(ddp_model, "parameters_to_ignore", ()))
        specs, self._by_id = parameter_specs(ddp_model.module, ignored)
        # The buckets are not known yet, and will change once: they are filled in as they are seen.
        self._writer = DumpWriter(
            self.path,
            specs,
            world_size=world_size,
            ranks=[rank],
            framework="pytorch",
            framework_version=str(torch.__version__),  # h5py does not know its own kind of string
            writer=f"psgd-capture {__version__}",
            model=model or type(ddp_model.module).__name__,
            gzip=gzip,
            overwrite=overwrite,
        )
        ddp_model.register_comm_hook(self, _record_and_communicate)

    def annotate(self, *, step=None, loss=None, loss_scale=None, accumulation=None) -> None:
        """Says more about the next backward pass; call it before that.

        `step`: its training iteration, where the own count is not the wanted one (a resumed job). `loss`: a number or a
        one-element tensor. `loss_scale`: what the loss was multiplied by (`GradScaler.get_scale()`); gradients are
        recorded with it still applied. `accumulation`: how many backward passes the step's gradient sums.
        """
        if step is not None:
            self._iteration = int(step)
        given = {"loss": loss, "loss_scale": loss_scale, "accumulation": accumulation}
        self._notes.update((name, value) for name, value in given.items() if value is not None)

    def close(self, complete: bool = True) -> None:
        """Ends the recording. The hook stays in place and goes on calling the user's hook."""
        if self._writer is None:
            return
        writer, self._writer = self._writer, None
        try:
            writer.close(complete and self.error is None)
        except Exception as error:  # closing flushes, so it can meet the full disk too
            self._fail(error)

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, kind, value, traceback) -> None:
        self.close(complete=kind is None)

    def _see(self, bucket: dist.GradBucket) -> None:
        """Takes in one bucket; the last one of a backward pass completes the step."""
        recording = self._writer is not None and (self._steps is None or self._iteration in self._steps)
        try:
            if self._writer is not None:
                places, values = read_bucket(bucket, self._by_id, with_values=recording)
                self._places.update(places)
                self._values.update(values)
                if bucket.is_last():
                    self._finish_step(recording)
        except Exception as error:
            self._fail(error)
        if bucket.is_last():
            self._iteration += 1
            self._places, self._values, self._notes = {}, {}, {}

    def _finish_step(self, recording: bool) -> None:
        # Also outside the recorded steps: a file that holds only iteration 0 should still say what the buckets became.
        if self._places != self._written_places:
            self._writer.set_buckets(self._places)
            self._written_places = self._places
        if recording:
            notes = {name: value.item() if isinstance(value, torch.Tensor) else value for name, value in self._notes.items()}
            self._writer.append(self._iteration, self._values.items(), **notes)

    def _fail(self, error: Exception) -> None:
        if self.error is not None:
            return
        self.error = error
        warnings.warn(f"recording of gradients into {self.path} has stopped, training goes on: {error}", RuntimeWarning, stacklevel=2)
        self.close(complete=False)


# DistributedDataParallel compares the annotations of a hook with types; a function without any is accepted.
def _record_and_communicate(recorder, bucket):
    recorder._see(bucket)
    future = recorder._hook(recorder._hook_state, bucket)
    if recorder._wait:
        future.wait()
    return future


def _refuse_unsupported(ddp_model) -> None:
    for module in ddp_model.modules():
        if any(kind.__name__ in _SHARDED for kind in type(module).__mro__):
            raise TypeError(
                "the model is sharded by FSDP, whose hooks see flat shards without parameter names or shapes; "
                "record a DistributedDataParallel run of the model instead"
            )
    if not isinstance(ddp_model, torch.nn.parallel.DistributedDataParallel):
        raise TypeError(f"expected a model wrapped in DistributedDataParallel, got {type(ddp_model).__name__}")
