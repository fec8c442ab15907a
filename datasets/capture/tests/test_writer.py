"""The writer: what it puts into a file, what it refuses, and what is left when it is killed."""

import os
import random
import signal
import tempfile
import time
import unittest

import h5py
import numpy as np

from psgd_capture import DumpWriter, ParameterSpec

PARAMETERS = [
    ParameterSpec("w", (300, 70)),
    ParameterSpec("a/b", (5,), "float64"),
    ParameterSpec("half", (3, 2), "bfloat16"),
]


def values(step, process_ranks=1):
    for p in PARAMETERS:
        yield p.name, np.full((process_ranks, *p.shape), step + 1, p.storage_dtype)


class WriterTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = os.path.join(directory.name, "x.h5")

    def writer(self, **options):
        return DumpWriter(self.path, PARAMETERS, world_size=4, ranks=options.pop("ranks", [2]), **options)


class Contents(WriterTest):
    def test_attributes_and_datasets(self):
        with self.writer(model="m", framework="pytorch", framework_version="1.13") as w:
            w.append(7, values(7), loss=[0.5])
            w.append(9, values(9), loss_scale=[1024.0])
        with h5py.File(self.path) as f:
            self.assertEqual(f.attrs["format"], "psgd-gradients")
            self.assertEqual(list(f.attrs["format_version"]), [1, 0])
            self.assertEqual((f.attrs["world_size"], list(f.attrs["ranks"]), f.attrs["complete"]), (4, [2], 1))
            self.assertEqual((f.attrs["grad_kind"], f.attrs["model"], f.attrs["framework"]), ("local", "m", "pytorch"))
            self.assertEqual(list(f["steps"]), [7, 9])
            self.assertEqual(f["parameters"]["name"].astype(object).tolist(), [b"w", b"a/b", b"half"])
            self.assertEqual(list(f["parameters"]["bucket"]), [-1, -1, -1])
            self.assertEqual(set(f["gradients"]), {"w", "a%2Fb", "half"})
            d = f["gradients/a%2Fb"]
            self.assertEqual((d.attrs["name"], d.attrs["logical_dtype"], d.dtype, d.maxshape), ("a/b", "float64", "f8", (None, 1, 5)))
            self.assertTrue(np.isnan(d.fillvalue))
            self.assertEqual((f["gradients/half"].dtype, f["gradients/half"].fillvalue), (np.uint16, 0x7FC0))
            np.testing.assert_array_equal(f["gradients/w"][1, 0], np.full((300, 70), 10.0))
            np.testing.assert_array_equal(f["loss_scale"], [[1], [1024]])
            np.testing.assert_array_equal(f["loss"], [[0.5], [np.nan]])
            self.assertNotIn("accumulation", f)

    def test_a_series_that_starts_late_is_filled_in(self):
        with self.writer() as w:
            w.append(0, values(0))
            w.append(1, values(1), loss=[2.0], accumulation=4)
        with h5py.File(self.path) as f:
            np.testing.assert_array_equal(f["loss"], [[np.nan], [2.0]])
            np.testing.assert_array_equal(f["accumulation"], [1, 4])

    def test_buckets_can_be_replaced(self):
        with self.writer() as w:
            w.append(0, values(0))
            w.set_buckets({"w": (1, 0), "a/b": (0, 6), "half": (0, 0)})
        with h5py.File(self.path) as f:
            self.assertEqual([tuple(p) for p in f["parameters"][()]], [(b"w", 1, 0), (b"a/b", 0, 6), (b"half", 0, 0)])

    def test_gzip_is_opt_in(self):
        with self.writer(gzip=True) as w:
            w.append(0, values(0))
        with h5py.File(self.path) as f:
            d = f["gradients/w"]
            self.assertEqual((d.compression, d.compression_opts, d.shuffle), ("gzip", 1, True))
            np.testing.assert_array_equal(d[0, 0], np.ones((300, 70)))

    def test_several_process_ranks(self):
        with self.writer(ranks=[0, 3]) as w:
            w.append(0, values(0, process_ranks=2), loss=[1.0, 2.0])
        with h5py.File(self.path) as f:
            self.assertEqual((f["gradients/w"].shape, f["gradients/w"].chunks[1]), ((1, 2, 300, 70), 1))
            np.testing.assert_array_equal(f["loss"], [[1.0, 2.0]])

    def test_an_exception_leaves_the_file_incomplete(self):
        with self.assertRaises(KeyboardInterrupt), self.writer() as w:
            w.append(0, values(0))
            raise KeyboardInterrupt
        with h5py.File(self.path) as f:
            self.assertEqual((f.attrs["complete"], list(f["steps"])), (0, [0]))


class Refusals(WriterTest):
    def test_an_existing_file_is_kept(self):
        self.writer().close()
        with self.assertRaises(OSError):
            self.writer()
        self.writer(overwrite=True).close()

    def test_a_step_that_lacks_a_parameter_does_not_count(self):
        with self.writer() as w:
            with self.assertRaisesRegex(ValueError, "lacks 1 parameters, among them 'half'"):
                w.append(0, list(values(0))[:2])
            w.append(1, values(1))
        with h5py.File(self.path) as f:
            self.assertEqual(list(f["steps"]), [1])
            self.assertEqual(f["gradients/w"][0, 0, 0, 0], 2)

    def test_wrong_shapes_types_and_order(self):
        with self.writer() as w:
            with self.assertRaisesRegex(ValueError, "parameter 'w'"):
                w.append(0, [("w", np.zeros((1, 70, 300), np.float32))])
            with self.assertRaisesRegex(ValueError, "parameter 'w'"):
                w.append(0, [("w", np.zeros((1, 300, 70), np.float64))])
            w.append(5, values(5))
            with self.assertRaisesRegex(ValueError, "step 5 does not follow step 5"):
                w.append(5, values(5))

    def test_names_must_differ(self):
        with self.assertRaisesRegex(ValueError, "same name"):
            DumpWriter(self.path, [ParameterSpec("w", (1,))] * 2, world_size=1, ranks=[0])


class DyingWriter(DumpWriter):
    """Kills its own process at the n-th flush, just before or just after it."""

    def __init__(self, *arguments, deadly_flush, after, **options):
        self._left, self._after = deadly_flush, after
        super().__init__(*arguments, **options)

    def _flush(self):
        self._left -= 1
        if self._left == 0 and not self._after:
            os.kill(os.getpid(), signal.SIGKILL)
        super()._flush()
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


class Killed(WriterTest):
    """A writer that dies leaves a file that opens and holds every step it committed, and none beyond."""

    def test_at_every_point_of_a_step(self):
        # Flush 1 ends the creation; flush 2k ends the data of the k-th step, flush 2k + 1 the step itself.
        for flush in range(2, 9):
            for after in (False, True):
                with self.subTest(flush=flush, after=after):
                    self.path = f"{self.path}.{flush}{after}"
                    child = self.start_child(DyingWriter, deadly_flush=flush, after=after)
                    self.assertEqual(os.waitpid(child, 0)[1], signal.SIGKILL)
                    committed = (flush - 1) // 2 if after or flush % 2 == 0 else (flush - 1) // 2 - 1
                    self.assertEqual(self.read_steps(), committed)

    def test_at_any_time(self):
        for seed in range(5):
            with self.subTest(seed=seed):
                self.path = f"{self.path}.{seed}"
                reader, committed = os.pipe()
                child = self.start_child(DumpWriter, committed)
                os.close(committed)
                self.assertEqual(os.read(reader, 1), b"!")  # however slow the machine, a first step is there
                os.close(reader)
                time.sleep(random.Random(seed).uniform(0, 0.3))
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                self.assertGreater(self.read_steps(), 0)

    def start_child(self, kind, committed=None, **options):
        """A process that writes step after step until it is killed. After the first it writes a byte to `committed`."""
        child = os.fork()
        if child == 0:
            try:
                w = kind(self.path, PARAMETERS, world_size=4, ranks=[2], **options)
                for step in range(10**6):
                    w.append(step, values(step))
                    if step == 0 and committed is not None:
                        os.write(committed, b"!")
            finally:
                os._exit(1)
        return child

    def read_steps(self):
        """Checks every value of the committed steps; returns their number."""
        with h5py.File(self.path) as f:
            steps = f["steps"][()]
            self.assertEqual(f.attrs["complete"], 0)
            np.testing.assert_array_equal(steps, np.arange(len(steps)))
            for p in PARAMETERS:
                dataset = next(d for d in f["gradients"].values() if d.attrs["name"] == p.name)
                for row in range(len(steps)):
                    self.assertTrue((dataset[row] == row + 1).all(), (p.name, row))
            return len(steps)


if __name__ == "__main__":
    unittest.main()
