"""Records the gradients of a DistributedDataParallel job into HDF5 files of layout v1.

    recorder = psgd_capture.Recorder(ddp_model, "run.h5", steps=range(1000, 1020))
    ...                      # train as before
    recorder.close()

torch is imported only when `Recorder` is used: the layout, the writer and the merge serve programs that have just NumPy
and h5py.
"""

import importlib

from .layout import ParameterSpec, rank_file
from .writer import DumpWriter

__version__ = "0.1.0"
__all__ = ["DumpWriter", "ParameterSpec", "Recorder", "merge_files", "rank_file"]

_LATER = {"Recorder": ".recorder", "merge_files": ".merge"}


def __getattr__(name):
    if name in _LATER:
        return getattr(importlib.import_module(_LATER[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
