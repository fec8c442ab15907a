"""The committed golden table: what each configuration loses on each dump, to notice when a number moves.

bench/accuracy.csv has a row for each dump and configuration. Relative errors are norms of differences over norms of gradients
already, so that they compare as they are: a row holds while each |new - golden| <= relative * |golden| + absolute. Rounding alone
stays well below: between the SIMD levels, scalar code with another of OpenBLAS's kernels included, all rows differed by at most 6e-7 of
a float32 error and 1.7e-14 of a float64 one. Smaller errors are a change as well: `bench/nightly --update-golden` takes them
over, for a commit that says why.
"""

import csv
import dataclasses
import io
import json
import math
import os
import subprocess

from .errors import BadInput

TABLE = "bench/accuracy.csv"
DUMPS = ("datasets/digits-vit.h5", "tests/golden/digits-cnn-f32.h5", "tests/golden/char-lstm-f64.h5")

# One line a configuration: its name in the table, and psgd-replay's options.
CONFIGURATIONS = {
    "powersgd-r1": ["-r", "1"],
    "powersgd-r4": ["-r", "4"],
    "powersgd-r2-gram-schmidt-eps": ["-r", "2", "--orthogonalization-epsilon", "1e-8"],
    "powersgd-r4-gram-schmidt": ["-r", "4", "--orthogonalization", "gram-schmidt"],
    "powersgd-r4-stacked": ["-r", "4", "--batch-tensors-with-same-shape", "on"],
    "powersgd-r2-no-feedback": ["-r", "2", "--use-error-feedback", "off"],
    "powersgd-r2-cold": ["-r", "2", "--warm-start", "off"],
    "powersgd-r2-per-rank": ["-r", "2", "--arithmetic", "per-rank"],
    "powersgd-r2-local": ["-r", "2", "--residual", "local"],
    "batched-r4": ["-r", "4", "--hook", "batched"],
    "original-r4": ["-r", "4", "--hook", "original"],
    "powersgd-alternating-r2": ["-r", "2", "--hook", "powersgd-alternating"],
    "acp-sgd-r2": ["-r", "2", "--hook", "acp-sgd"],
    "svd-r2": ["-r", "2", "--hook", "svd"],
    "top-k": ["--hook", "top-k"],
    "sign-norm": ["--hook", "sign-norm"],
}

NUMBERS = ("relative_error_mean", "relative_error_max", "whole_model_mean", "whole_model_max")
COLUMNS = ("dump", "configuration", "dtype", *NUMBERS, "numel_after")


@dataclasses.dataclass(frozen=True)
class Tolerance:
    relative: float
    absolute: float


TOLERANCES = {"float32": Tolerance(2e-5, 1e-6), "float64": Tolerance(1e-11, 1e-14)}


@dataclasses.dataclass(frozen=True)
class Deviation:
    dump: str
    configuration: str
    text: str

    def __str__(self):
        return f"{self.dump} {self.configuration}: {self.text}"


def measure(replay, root, environment, threads=None, configurations=None):
    """Rows {(dump, configuration): {column: value}} from the program `replay` on the dumps below `root`, and the Deviations of
    those configurations that it did not replay."""
    rows, failed = {}, []
    for dump in DUMPS:
        for name, options in (configurations or CONFIGURATIONS).items():
            command = [replay, "--quiet", "--json", "-", *options, os.path.join(root, dump)]
            if threads is not None:
                command[1:1] = ["--threads", str(threads)]
            done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
            if done.returncode == 0:
                rows[dump, name] = _row(dump, name, done.stdout, replay)
            else:
                last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
                failed.append(Deviation(dump, name, f"is not replayed any more: {last[0]}"))
    return rows, failed


def _row(dump, configuration, text, replay):
    try:
        document = json.loads(text)
        if (document["schema"], document["version"]) != ("psgd-replay", 1):
            raise ValueError(f"schema {document['schema']!r}, version {document['version']!r}")
        summary = document["summary"]
        tensors, model = summary["relative_error"], summary["relative_error_whole_model"]
        numbers = (tensors["mean"], tensors["max"], model["mean"], model["max"])
        values = (dump, configuration, document["dump"]["dtype"], *numbers, int(summary["compression_stats"][2]))
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise BadInput(f"{replay}: not JSON of schema psgd-replay, version 1: {error}") from error
    return dict(zip(COLUMNS, values))


def render(rows):
    """The table's text: every number with all its digits, so that reading it gives the same number."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows.values():
        writer.writerow("" if row[c] is None else repr(row[c]) if isinstance(row[c], float) else row[c] for c in COLUMNS)
    return out.getvalue()


def read(path):
    """Rows of the table in a file, as measure() gives them."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            if tuple(reader.fieldnames or ()) != COLUMNS:
                raise BadInput(f"{path}: not a golden table: its first line has to be {','.join(COLUMNS)}")
            rows = {}
            for row in reader:
                parsed = row | {n: float(row[n]) if row[n] else None for n in NUMBERS} | {"numel_after": int(row["numel_after"])}
                if None in row or (row["dump"], row["configuration"]) in rows or row["dtype"] not in TOLERANCES:
                    raise ValueError("columns, a row that is there already, or a dtype without tolerance")
                rows[row["dump"], row["configuration"]] = parsed
            return rows
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}; bench/nightly --update-golden writes it") from error
    except (ValueError, TypeError) as error:
        raise BadInput(f"{path}:{reader.line_num}: not a row of the golden table: {error}") from error


def compare(golden, rows):
    """The Deviations of measured `rows` from the `golden` ones, rows that only one of them has included."""
    deviations = []
    for key in golden.keys() | rows.keys():
        if key not in rows:
            texts = ["is in the golden table, but was not measured"]
        elif key not in golden:
            texts = ["is not in the golden table; bench/nightly --update-golden"]
        else:
            texts = _differences(golden[key], rows[key])
        deviations += [Deviation(*key, text) for text in texts]
    return sorted(deviations, key=str)


def _differences(golden, row):
    tolerance = TOLERANCES[golden["dtype"]]
    texts = [f"{c} is {row[c]}, was {golden[c]}" for c in ("dtype", "numel_after") if row[c] != golden[c]]
    for name in NUMBERS:
        old, new = golden[name], row[name]
        if old is None or new is None:
            same = old is new
        else:
            same = math.isfinite(new) and abs(new - old) <= tolerance.relative * abs(old) + tolerance.absolute
        if not same:
            change = f" ({(new - old) / old:+.2g} of it)" if old and new is not None else ""
            texts.append(f"{name} is {new!r}, was {old!r}{change}")
    return texts
