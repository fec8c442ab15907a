"""What earlier nights found: a file with a JSON line for each benchmark and night.

A night's lines are written all together, the file being replaced as a whole. Where the last line is cut off, as a full disk or an
interrupted copy leaves it, the file as found is kept aside and its whole lines are carried over. Anything else that is not a
history is refused and left alone.
"""

import datetime
import json
import os
import shutil

from .errors import BadInput
from .files import write_whole

SCHEMA = {"schema": "psgd-nightly-history", "version": 1}
TEXTS = ("night", "commit", "baseline", "suite", "benchmark", "verdict", "scope")
NUMBERS = ("baseline_seconds", "current_seconds", "ratio", "p", "noise")


class History:
    def __init__(self, path, lines, cut):
        self.path = path
        self.lines = lines
        self._cut = cut

    @property
    def is_cut(self):
        """Whether the file's last line is not whole."""
        return self._cut

    @classmethod
    def load(cls, path):
        """The history in the file `path`, empty where there is none. Changes nothing. Raises BadInput for anything else."""
        try:
            with open(path, "rb") as file:
                pieces = file.read().split(b"\n")
        except FileNotFoundError:
            return cls(path, [], False)
        except OSError as error:
            raise BadInput(f"{path}: {error.strerror}") from error
        last = pieces.pop()
        lines = [_parse(piece, f"{path}:{number}") for number, piece in enumerate(pieces, 1) if piece.strip()]
        cut = bool(last.strip())
        if cut:
            try:  # Only the newline is missing, as after an editor.
                lines.append(_parse(last, path))
                cut = False
            except BadInput as error:
                if not lines and not last.lstrip().startswith(b'{"schema": "psgd-nightly-history"'[: len(last.lstrip())]):
                    raise BadInput(f"{path}: not a history of nights; name another file with --history") from error
        return cls(path, lines, cut)

    def set_aside(self):
        """Where the last line is cut off: keeps the file under another name, whose path it returns, and writes the whole lines anew."""
        if not self._cut:
            return None
        path = os.path.realpath(self.path)
        stamp = f"{path}.cut-{datetime.datetime.now(datetime.timezone.utc):%Y%m%dT%H%M%SZ}"
        aside, number = stamp, 1
        while os.path.lexists(aside):
            number += 1
            aside = f"{stamp}-{number}"
        shutil.copy2(path, aside)
        self._write()
        self._cut = False
        return aside

    def append(self, lines):
        self.lines = self.lines + [SCHEMA | line for line in lines]
        self._write()

    def good_commits(self, scope):
        """Commits of nights that ended well, the latest first, which measured all benchmarks or those that `scope` names."""
        good = (line["commit"] for line in reversed(self.lines) if line["good"] and line["scope"] in ("", scope))
        return list(dict.fromkeys(good))

    def of_machine(self, machine):
        """The lines measured on machines like `machine`; absolute times of others do not compare."""
        same = ("processor", "processors")
        return [line for line in self.lines if all(line["machine"].get(k) == machine.get(k) for k in same)]

    def _write(self):
        write_whole(self.path, "".join(json.dumps(line) + "\n" for line in self.lines))


def _parse(piece, where):
    try:
        line = json.loads(piece)
    except ValueError as error:
        raise BadInput(f"{where}: not a line of a history: {error}; mend or remove it, or name another file with --history") from error
    if not isinstance(line, dict) or line.get("schema") != SCHEMA["schema"]:
        raise BadInput(f"{where}: not a line of schema {SCHEMA['schema']}; name another file with --history")
    if line.get("version") != SCHEMA["version"]:
        raise BadInput(f"{where}: version {line.get('version')!r} of the history; this program knows {SCHEMA['version']}")
    numbers = all(line.get(n) is None or isinstance(line[n], (int, float)) for n in NUMBERS)
    texts = all(isinstance(line.get(t), str) for t in TEXTS)
    if not (numbers and texts and isinstance(line.get("good"), bool) and isinstance(line.get("machine"), dict)):
        raise BadInput(f"{where}: fields of a history's line are missing or of another type; mend or remove it")
    return line
