"""The trend's picture: drawn without a complaint whatever the history's length, and only of what was measured."""

import datetime
import os
import tempfile
import unittest
import warnings

from regression import plot


def nights(count, apart, benchmark="b", seconds=1e-3):
    start = datetime.datetime(2024, 5, 1, 2, 30)
    for n in range(count):
        when = (start + n * apart).strftime("%Y-%m-%dT%H:%M:%SZ")
        yield {"night": when, "benchmark": benchmark, "baseline_seconds": seconds, "current_seconds": seconds * (1 + n % 3 / 100),
               "verdict": "regression" if n == 1 else "unchanged"}


class Pictures(unittest.TestCase):
    def draw(self, lines):
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("error")
            path = os.path.join(folder, "trend.png")
            if not plot.draw_suite(path, "s", lines):
                return None
            with open(path, "rb") as file:
                return size(file.read())

    def test_one_night_some_minutes_and_years(self):
        for count, apart in ((1, datetime.timedelta()), (2, datetime.timedelta(minutes=1)), (2, datetime.timedelta(seconds=20)),
                             (3, datetime.timedelta(days=1)), (130, datetime.timedelta(days=1)), (130, datetime.timedelta(days=7))):
            with self.subTest(count=count, apart=apart):
                self.assertIsNotNone(self.draw(list(nights(count, apart))))

    def test_a_panel_for_each_benchmark(self):
        widths = [self.draw([line for b in range(count) for line in nights(2, datetime.timedelta(days=1), f"benchmark {b}")])
                  for count in (1, 4, 5)]
        self.assertEqual([w[0] // widths[0][0] for w in widths], [1, 4, 4])
        self.assertGreater(widths[2][1], widths[1][1])

    def test_nothing_measured(self):
        self.assertIsNone(self.draw([]))
        self.assertIsNone(self.draw([line | {"current_seconds": None} for line in nights(2, datetime.timedelta(days=1))]))


def size(png):
    """Width and height out of a PNG's header."""
    return int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")


if __name__ == "__main__":
    unittest.main()
