#pragma once

namespace psgd::dump {

/// Keeps HDF5 from closing at exit what is still open, for programs that close everything themselves; to be called
/// first. A file that could not be written to its end stays open in HDF5's eyes, and its exit handler (1.10) crashes on
/// that. Not for a program that leaves files of its own to the handler.
void forgo_hdf5_exit_handler() noexcept;

}  // namespace psgd::dump
