"""The hook in real training: two processes, gloo, a tiny model; what is recorded is compared with gradients computed apart."""

import copy
import glob
import os
import signal
import tempfile
import time
import unittest
import warnings

import h5py
import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook
from torch.nn.parallel import DistributedDataParallel

from psgd_capture import Recorder, merge_files, rank_file
from psgd_capture.recorder import _refuse_unsupported

WORLD_SIZE = 2
JOB_SECONDS = 120  # far more than a job takes; a hang becomes a failure


class TinyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.norm = nn.BatchNorm2d(8)
        self.embedding = nn.Embedding(5, 6)
        self.first = nn.Linear(8 + 6, 20)
        self.second = nn.Linear(20, 4)
        self.unused = nn.Linear(3, 2)
        self.frozen = nn.Linear(2, 2).requires_grad_(False)

    def forward(self, images, words):
        features = self.norm(self.conv(images)).relu().mean((2, 3))
        return self.second(self.first(torch.cat([features, self.embedding(words)], 1)).relu())


def batch(rank, iteration):
    generator = torch.Generator().manual_seed(1000 * rank + iteration)
    images = torch.randn(4, 3, 6, 6, generator=generator)
    return images, torch.randint(5, (4,), generator=generator), torch.randint(4, (4,), generator=generator)


def loss_of(model, images, words, labels):
    return nn.functional.cross_entropy(model(images, words), labels)


def start(rank, directory, channels_last=False, find_unused=True):
    torch.set_num_threads(1)
    torch.manual_seed(7)
    dist._DEFAULT_FIRST_BUCKET_BYTES = 400  # several buckets, even here
    dist.init_process_group("gloo", init_method=f"file://{directory}/store", rank=rank, world_size=WORLD_SIZE)
    model = TinyModel()
    if not find_unused:
        del model.unused
    if channels_last:
        model = model.to(memory_format=torch.channels_last)
    return DistributedDataParallel(model, find_unused_parameters=find_unused, bucket_cap_mb=0.001)


def train(ddp, rank, iterations, recorder, directory, scale=1.0):
    """Trains, and leaves beside the recording what each step's local and averaged gradients were."""
    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.1)
    for iteration in range(iterations):
        data = batch(rank, iteration)
        apart = copy.deepcopy(ddp.module)
        (loss_of(apart, *data) * scale).backward()
        optimizer.zero_grad()
        loss = loss_of(ddp, *data)
        recorder.annotate(loss=loss.detach(), loss_scale=scale)
        (loss * scale).backward()
        np.savez(
            f"{directory}/expected-{rank}-{iteration}.npz",
            loss=loss.item(),
            **{"local:" + n: zero_if_none(p) for n, p in apart.named_parameters() if p.requires_grad},
            **{"mean:" + n: zero_if_none(p) for n, p in ddp.module.named_parameters() if p.requires_grad},
        )
        optimizer.step()


def zero_if_none(p):
    return (torch.zeros_like(p) if p.grad is None else p.grad).detach().contiguous().numpy()


def finish(recorder):
    recorder.close()
    assert recorder.error is None, recorder.error
    dist.barrier()


def plain_job(rank, directory, channels_last, find_unused):
    ddp = start(rank, directory, channels_last, find_unused)
    recorder = Recorder(ddp, f"{directory}/x.h5", model="tiny")
    train(ddp, rank, 5, recorder, directory, scale=8.0)
    finish(recorder)


def window_job(rank, directory):
    ddp = start(rank, directory, find_unused=False)
    recorder = Recorder(ddp, f"{directory}/x.h5", steps=range(0, 5, 2))
    train(ddp, rank, 6, recorder, directory)
    finish(recorder)


def accumulation_job(rank, directory):
    ddp = start(rank, directory)
    with Recorder(ddp, f"{directory}/x.h5") as recorder:
        for _ in range(3):
            ddp.zero_grad()
            with ddp.no_sync():
                loss_of(ddp, *batch(rank, 0)).backward()
            recorder.annotate(accumulation=2)
            loss_of(ddp, *batch(rank, 1)).backward()
    apart = copy.deepcopy(ddp.module)
    apart.zero_grad()
    for k in range(2):
        loss_of(apart, *batch(rank, k)).backward()
    np.savez(f"{directory}/sum-{rank}.npz", **{n: zero_if_none(p) for n, p in apart.named_parameters() if p.requires_grad})
    dist.barrier()


def power_sgd_job(rank, directory, recorded):
    ddp = start(rank, directory)
    state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=1, start_powerSGD_iter=2, orthogonalization_epsilon=1e-8)
    if recorded:
        recorder = Recorder(ddp, f"{directory}/x.h5", hook=powerSGD_hook.powerSGD_hook, hook_state=state)
    else:
        ddp.register_comm_hook(state, wait_for(powerSGD_hook.powerSGD_hook))
    for iteration in range(6):
        ddp.zero_grad()
        loss_of(ddp, *batch(rank, iteration)).backward()
    np.savez(f"{directory}/averaged-{recorded}-{rank}.npz", *[zero_if_none(p) for p in ddp.module.parameters() if p.requires_grad])
    if recorded:
        finish(recorder)
    dist.barrier()


def wait_for(hook):
    """Gloo may abort when collectives of two buckets are in flight; the recorder takes care of that itself."""

    def waiting_hook(state, bucket):
        future = hook(state, bucket)
        future.wait()
        return future

    return waiting_hook


def killed_job(rank, directory):
    ddp = start(rank, directory)
    recorder = Recorder(ddp, f"{directory}/x.h5")
    if rank == 1:
        write = recorder._writer._append_series

        def write_and_die(row, **series):
            write(row, **series)
            if row == 3:  # the step's data is written, but neither flushed nor committed
                os.kill(os.getpid(), signal.SIGKILL)

        recorder._writer._append_series = write_and_die
    train(ddp, rank, 6, recorder, directory)


def full_disk_job(rank, directory):
    ddp = start(rank, directory)
    recorder = Recorder(ddp, f"{directory}/x.h5")
    append = recorder._writer.append

    def fail(step, *arguments, **options):
        if step == 2:
            raise OSError(28, "No space left on device")
        append(step, *arguments, **options)

    recorder._writer.append = fail
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        train(ddp, rank, 5, recorder, directory)
    recorder.close()
    messages = [str(w.message) for w in caught if w.category is RuntimeWarning]
    assert len(messages) == 1 and "training goes on: [Errno 28]" in messages[0], messages
    dist.barrier()


class RecorderTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def run_job(self, job, *arguments):
        context = mp.spawn(job, (self.directory, *arguments), nprocs=WORLD_SIZE, join=False)
        deadline = time.monotonic() + JOB_SECONDS
        try:
            while not context.join(timeout=1):
                self.assertLess(time.monotonic(), deadline, "the job hangs")
        finally:
            for process in context.processes:
                process.kill()

    def file(self, rank):
        return h5py.File(rank_file(f"{self.directory}/x.h5", rank, WORLD_SIZE))

    def check_local_gradients(self, file, rank):
        """Every recorded value is this process rank's own gradient of that step; returns the recorded steps."""
        steps = list(file["steps"])
        for row, step in enumerate(steps):
            expected = np.load(f"{self.directory}/expected-{rank}-{step}.npz")
            for name in self.names(file):
                recorded, local = file["gradients"][name][row, 0], expected["local:" + name]
                np.testing.assert_allclose(recorded, local, rtol=1e-5, atol=1e-6, err_msg=f"{name} step {step}")
            self.assertAlmostEqual(file["loss"][row, 0], float(expected["loss"]), places=6)
        return steps

    def check_buckets(self, file):
        """The parameters tile each bucket without gaps."""
        ends = {}
        for name, bucket, offset in sorted(file["parameters"][()].tolist(), key=lambda p: (p[1], p[2])):
            self.assertEqual(offset, ends.get(bucket, 0), name)
            ends[bucket] = offset + file["gradients"][name.decode()][0, 0].size
        self.assertEqual(sorted(ends), list(range(len(ends))))
        return len(ends)

    def names(self, file):
        return [name.decode() for name in file["parameters"]["name"]]


class Training(RecorderTest):
    def test_local_gradients_of_every_step(self):
        self.run_job(plain_job, False, True)
        for rank in range(WORLD_SIZE):
            with self.file(rank) as f:
                self.assertEqual(self.check_local_gradients(f, rank), [0, 1, 2, 3, 4])
                self.assertGreater(self.check_buckets(f), 1)
                self.assertEqual((f.attrs["complete"], list(f.attrs["ranks"]), f.attrs["world_size"]), (1, [rank], 2))
                self.assertEqual((f.attrs["model"], f.attrs["framework"]), ("tiny", "pytorch"))
                np.testing.assert_array_equal(f["loss_scale"], [[8.0]] * 5)
                self.assertEqual(self.names(f)[:2], ["conv.weight", "conv.bias"])
                self.assertNotIn("frozen.weight", self.names(f))
                self.assertFalse(f["gradients/unused.weight"][()].any())

    def test_training_receives_the_mean(self):
        self.run_job(plain_job, False, True)
        expected = [np.load(f"{self.directory}/expected-{rank}-4.npz") for rank in range(WORLD_SIZE)]
        for key in expected[0]:
            if key.startswith("local:"):
                mean = (expected[0][key] + expected[1][key]) / 2
                np.testing.assert_allclose(expected[0]["mean:" + key[6:]], mean, rtol=1e-5, atol=1e-6, err_msg=key)

    def test_channels_last_holds_logical_values(self):
        self.run_job(plain_job, True, True)
        with self.file(1) as f:
            self.assertEqual(f["gradients/conv.weight"].attrs["memory_format"], "channels_last")
            self.assertEqual(f["gradients/first.weight"].attrs["memory_format"], "contiguous")
            self.check_local_gradients(f, 1)

    def test_buckets_are_those_after_the_rebuild(self):
        self.run_job(plain_job, False, False)
        merge_files(f"{self.directory}/both.h5", [rank_file(f"{self.directory}/x.h5", rank, WORLD_SIZE) for rank in range(WORLD_SIZE)])
        with h5py.File(f"{self.directory}/both.h5") as f:
            # Before the rebuild there is one bucket in the model's order; after it the last layer comes first.
            self.assertGreater(self.check_buckets(f), 1)
            places = {name.decode(): (bucket, offset) for name, bucket, offset in f["parameters"][()].tolist()}
            self.assertEqual(min(places, key=places.get).split(".")[0], "second")
            self.check_local_gradients(f, 0)

    def test_only_chosen_steps(self):
        self.run_job(window_job)
        with self.file(0) as f:
            self.assertEqual(self.check_local_gradients(f, 0), [0, 2, 4])

    def test_no_sync_records_the_accumulated_sum(self):
        self.run_job(accumulation_job)
        for rank in range(WORLD_SIZE):
            expected = np.load(f"{self.directory}/sum-{rank}.npz")
            with self.file(rank) as f:
                self.assertEqual((list(f["steps"]), list(f["accumulation"])), ([0, 1, 2], [2, 2, 2]))
                for name in self.names(f):
                    np.testing.assert_allclose(f["gradients"][name][2, 0], expected[name], rtol=1e-4, atol=1e-5, err_msg=name)

    def test_the_users_hook_is_not_disturbed(self):
        for recorded in (False, True):
            self.run_job(power_sgd_job, recorded)
        alone, beside = (np.load(f"{self.directory}/averaged-{recorded}-1.npz") for recorded in (False, True))
        for key in alone:
            np.testing.assert_array_equal(alone[key], beside[key])
        with self.file(0) as f:
            self.assertEqual(list(f["steps"]), [0, 1, 2, 3, 4, 5])


class Accidents(RecorderTest):
    def test_a_killed_process_rank_leaves_its_steps(self):
        with self.assertRaises(Exception):
            self.run_job(killed_job)
        with self.file(1) as f:
            self.assertEqual(f.attrs["complete"], 0)
            self.assertEqual(self.check_local_gradients(f, 1), [0, 1, 2])
        parts = sorted(glob.glob(f"{self.directory}/x.rank*"))
        self.assertEqual(merge_files(f"{self.directory}/both.h5", parts), 3)

    def test_a_full_disk_does_not_stop_training(self):
        self.run_job(full_disk_job)
        with self.file(0) as f:
            self.assertEqual(f.attrs["complete"], 0)
            self.assertEqual(self.check_local_gradients(f, 0), [0, 1])
        self.assertTrue(os.path.exists(f"{self.directory}/expected-0-4.npz"))


class Refusals(unittest.TestCase):
    def test_sharded_models(self):
        class FullyShardedDataParallel(nn.Module):
            pass

        for model in (FullyShardedDataParallel(), nn.Sequential(FullyShardedDataParallel())):
            with self.assertRaisesRegex(TypeError, "sharded by FSDP"):
                _refuse_unsupported(model)

    def test_models_that_are_not_wrapped(self):
        with self.assertRaisesRegex(TypeError, "DistributedDataParallel, got Linear"):
            Recorder(nn.Linear(2, 2), "x.h5")


if __name__ == "__main__":
    unittest.main()
