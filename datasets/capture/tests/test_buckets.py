"""Reading a bucket: memory formats and types that the tiny training runs do not meet."""

import unittest

import numpy as np
import torch
from torch import nn

from psgd_capture.buckets import memory_format, parameter_specs, read_bucket


class FakeBucket:
    """Holds the gradients as DistributedDataParallel lays them out: one after the other, each in its parameter's memory order."""

    def __init__(self, parameters, gradients, index=3):
        self._parameters, self._index = parameters, index
        pieces = [torch.empty_strided(p.shape, p.stride(), dtype=p.dtype).copy_(g) for p, g in zip(parameters, gradients)]
        self._flat = torch.cat([torch.as_strided(piece, (piece.numel(),), (1,)) for piece in pieces])

    def buffer(self):
        return self._flat

    def index(self):
        return self._index

    def parameters(self):
        return self._parameters

    def gradients(self):
        pieces = self._flat.split([p.numel() for p in self._parameters])
        return [piece.view(p.shape) for piece, p in zip(pieces, self._parameters)]


class Buckets(unittest.TestCase):
    def read(self, module):
        specs, by_id = parameter_specs(module, set())
        parameters = list(module.parameters())[::-1]
        gradients = [torch.randn(p.shape).to(p.dtype) for p in parameters]
        places, values = read_bucket(FakeBucket(parameters, gradients), by_id, with_values=True)
        return specs, places, values, dict(zip([s.name for s in specs][::-1], gradients))

    def test_values_are_logical_in_every_memory_format(self):
        for module, layout, expected in [
            (nn.Conv2d(3, 4, 3), torch.contiguous_format, "contiguous"),
            (nn.Conv2d(3, 4, 3), torch.channels_last, "channels_last"),
            (nn.Conv3d(3, 4, 3), torch.channels_last_3d, "channels_last_3d"),
            (nn.Conv2d(3, 4, 1), torch.channels_last, "contiguous"),  # the two orders coincide
        ]:
            with self.subTest(expected=expected):
                specs, places, values, gradients = self.read(module.to(memory_format=layout))
                self.assertEqual(specs[0].memory_format, expected)
                self.assertEqual(places, {"bias": (3, 0), "weight": (3, 4)})
                np.testing.assert_array_equal(values["weight"][0], gradients["weight"].numpy())

    def test_narrow_types_keep_their_bits(self):
        for dtype in (torch.float16, torch.bfloat16, torch.float64):
            with self.subTest(dtype=dtype):
                specs, _, values, gradients = self.read(nn.Linear(5, 3).to(dtype))
                self.assertEqual(values["weight"].dtype, specs[0].storage_dtype)
                bits = torch.int64 if dtype == torch.float64 else torch.int16
                self.assertEqual(values["weight"].tobytes(), gradients["weight"].view(bits).numpy().tobytes())

    def test_the_copy_is_independent_of_the_bucket(self):
        module = nn.Linear(2, 2)
        _, by_id = parameter_specs(module, set())
        bucket = FakeBucket([module.weight], [torch.ones(2, 2)])
        _, values = read_bucket(bucket, by_id, with_values=True)
        bucket.buffer().zero_()
        self.assertTrue((values["weight"] == 1).all())

    def test_places_alone_copy_nothing(self):
        module = nn.Linear(2, 2)
        _, by_id = parameter_specs(module, set())
        self.assertEqual(read_bucket(FakeBucket([module.weight], [torch.ones(2, 2)]), by_id, with_values=False), ({"weight": (3, 0)}, {}))

    def test_gradients_of_another_type_are_refused(self):
        module = nn.Linear(2, 2)
        _, by_id = parameter_specs(module, set())
        bucket = FakeBucket([module.weight], [torch.ones(2, 2)])
        bucket._flat = bucket._flat.half()
        with self.assertRaisesRegex(ValueError, "arrives as torch.float16"):
            read_bucket(bucket, by_id, with_values=True)

    def test_other_strides_are_refused_by_name(self):
        with self.assertRaisesRegex(ValueError, r"'w' of shape \(3, 2\) has strides \(1, 3\)"):
            memory_format("w", torch.zeros(2, 3).t())


if __name__ == "__main__":
    unittest.main()
