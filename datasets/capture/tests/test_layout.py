"""Names, links and chunk shapes of layout v1."""

import math
import unittest

from psgd_capture.layout import KIB, MIB, ParameterSpec, chunk_shape, link_name, rank_file


class Links(unittest.TestCase):
    def test_dots_stay_and_separators_are_escaped(self):
        self.assertEqual(link_name("layer1.0.weight"), "layer1.0.weight")
        self.assertEqual(link_name("experts/3%.weight"), "experts%2F3%25.weight")

    def test_names_that_hdf5_reserves(self):
        self.assertEqual([link_name(n) for n in (".", "..", "")], ["%2E", "%2E%2E", "%"])
        self.assertEqual(link_name("..."), "...")

    def test_different_names_have_different_links(self):
        names = ["", "%", ".", "..", "%2E", "a/b", "a%2Fb", "%25"]
        self.assertEqual(len({link_name(n) for n in names}), len(names))


class Chunks(unittest.TestCase):
    def test_a_middling_tensor_is_one_chunk(self):
        self.assertEqual(chunk_shape((768, 768), 4), (1, 1, 768, 768))

    def test_small_tensors_share_a_chunk_over_steps(self):
        self.assertEqual(chunk_shape((60, 60), 4), (4, 1, 60, 60))
        self.assertEqual(chunk_shape((10,), 4), (16, 1, 10))
        self.assertEqual(chunk_shape((), 4), (16, 1))

    def test_large_tensors_are_cut_by_leading_rows(self):
        for shape in [(3072, 768), (50257, 768), (1025, 1024), (7, 1 << 20), (1, 1 << 22), (1, 3, 1 << 21)]:
            for filtered, limit in [(False, 4 * MIB), (True, MIB)]:
                with self.subTest(shape=shape, filtered=filtered):
                    chunk = chunk_shape(shape, 4, filtered)
                    size = math.prod(chunk) * 4
                    self.assertEqual(chunk[:2], (1, 1))
                    self.assertLessEqual(size, limit)
                    self.assertGreater(size, limit // 4)

    def test_empty_tensors_get_a_valid_chunk(self):
        self.assertTrue(all(extent > 0 for extent in chunk_shape((0, 5), 4)))

    def test_shared_chunks_stay_below_64_kib(self):
        for numel in (1, 17, 500, 5000, 16383):
            self.assertLessEqual(math.prod(chunk_shape((numel,), 4)) * 4, 64 * KIB)


class Files(unittest.TestCase):
    def test_a_file_for_each_process_rank(self):
        self.assertEqual(rank_file("out/x.h5", 3, 8), "out/x.rank00003-of-00008.h5")
        self.assertEqual(rank_file("x", 0, 2), "x.rank00000-of-00002.h5")


class Parameters(unittest.TestCase):
    def test_types_outside_the_layout_are_refused(self):
        with self.assertRaisesRegex(ValueError, "'w' has dtype complex64"):
            ParameterSpec("w", (2,), "complex64")


if __name__ == "__main__":
    unittest.main()
