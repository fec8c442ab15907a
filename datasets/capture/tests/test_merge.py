"""Merging the files of several process ranks."""

import contextlib
import io
import os
import tempfile
import unittest

import h5py
import numpy as np

from psgd_capture import DumpWriter, ParameterSpec, merge_files
from psgd_capture.merge import main

PARAMETERS = [ParameterSpec("w", (3, 4), bucket=0, offset=2), ParameterSpec("b", (2,), bucket=0, offset=0)]


class Merge(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.output = self.path("out.h5")

    def path(self, name):
        return os.path.join(self.directory, name)

    def part(self, rank, steps, *, parameters=PARAMETERS, complete=True, **options):
        path = self.path(f"part{rank}.h5")
        writer = DumpWriter(path, parameters, world_size=2, ranks=[rank], overwrite=True, model="m", **options)
        for step in steps:
            gradients = ((p.name, np.full((1, *p.shape), 100 * rank + step, np.float32)) for p in parameters)
            writer.append(step, gradients, loss=[rank + 0.5])
        writer.close(complete)
        return path

    def test_columns_are_ordered_by_process_rank(self):
        self.assertEqual(merge_files(self.output, [self.part(1, [3, 4]), self.part(0, [3, 4])], gzip=True), 2)
        with h5py.File(self.output) as f:
            self.assertEqual((list(f.attrs["ranks"]), f.attrs["complete"], f.attrs["model"]), ([0, 1], 1, "m"))
            self.assertEqual(list(f["steps"]), [3, 4])
            self.assertEqual(f["gradients/w"].shape, (2, 2, 3, 4))
            np.testing.assert_array_equal(f["gradients/w"][:, :, 0, 0], [[3, 103], [4, 104]])
            np.testing.assert_array_equal(f["loss"], [[0.5, 1.5]] * 2)
            self.assertEqual([tuple(p) for p in f["parameters"][()]], [(b"w", 0, 2), (b"b", 0, 0)])

    def test_only_common_steps_and_an_honest_completeness(self):
        merge_files(self.output, [self.part(0, [1, 2, 3]), self.part(1, [2, 3], complete=False)])
        with h5py.File(self.output) as f:
            self.assertEqual((list(f["steps"]), f.attrs["complete"]), ([2, 3], 0))

    def test_files_that_do_not_belong_together(self):
        whole = self.part(0, [1])
        self.refused("differ at parameter 'b'", [whole, self.part(1, [1], parameters=[PARAMETERS[0], ParameterSpec("b", (3,))])])
        self.refused("differ in the number of parameters", [whole, self.part(1, [1], parameters=PARAMETERS[:1])])
        self.refused("differ in grad_kind", [whole, self.part(1, [1], grad_kind="averaged")])
        self.refused("no step in common", [whole, self.part(1, [2])])
        self.refused("process rank 0 is in", [whole, whole])
        self.refused("no input files", [])

    def test_an_existing_output_is_kept(self):
        self.output = self.part(0, [1])
        self.refused("exists already", [self.output])

    def test_other_files(self):
        other = self.path("other.h5")
        with h5py.File(other, "w") as f:
            f.attrs["format"] = "something"
        self.refused("not a gradient dump", [other])

    def test_the_command_line(self):
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors):
            self.assertEqual(main([self.output, self.part(0, [1]), self.part(1, [1])]), 0)
            self.assertEqual(main([self.path("other.h5"), self.path("part0.h5"), self.path("missing.h5")]), 3)
        self.assertIn("1 steps of 2 files", errors.getvalue())
        self.assertIn("psgd-capture-merge: error:", errors.getvalue())

    def refused(self, message, inputs):
        before = os.path.exists(self.output)
        with self.assertRaisesRegex(ValueError, message):
            merge_files(self.output, inputs)
        self.assertEqual(os.path.exists(self.output), before)
        self.assertFalse(os.path.exists(self.output + ".part"))


if __name__ == "__main__":
    unittest.main()
