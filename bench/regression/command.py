"""The command's edge: options in, exit code out, one line for an error."""

import importlib.util
import os
import signal
import sys

from . import options as command_line
from .errors import BadInput, Failure, NotAvailable

PACKAGES = ("numpy", "scipy", "matplotlib")
INTERRUPTED = 130


def main(arguments):
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # systemd stops a service so; what is complete is written
    try:
        options = command_line.parse(arguments)
        _require_packages()
        from . import night  # not before it is known that SciPy is here
        return night.run(options, _root())
    except Failure as error:
        print(f"nightly: error: {error}", file=sys.stderr)
        return error.exit_code
    except OSError as error:
        print(f"nightly: error: {error.filename or 'input or output'}: {error.strerror or error}", file=sys.stderr)
        return BadInput.exit_code
    except KeyboardInterrupt:
        print("nightly: interrupted", file=sys.stderr)
        return INTERRUPTED


def _root():
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def _require_packages():
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        debian = " ".join(f"python3-{name}" for name in missing)
        raise NotAvailable(f"{sys.executable} has no {', '.join(missing)} (Debian: {debian}, for /usr/bin/python3)")
