#pragma once

#include <atomic>

/// Stopping in good order on SIGINT, SIGTERM and SIGHUP. Only programs install the handlers; the library is handed
/// `stop_flag()` or a callable and looks at it between steps.
namespace psgd {

/// Lets SIGINT, SIGTERM and SIGHUP set the stop flag instead of ending the process. A further signal, once a quarter of
/// a second has passed since the first (`timeout` and some shells deliver one twice), ends the process at once with
/// exit code 128 + signal. A signal the process was started to ignore (nohup, a script's background job) stays ignored.
/// System calls are not restarted, so that a wait for a FIFO's reader ends too.
void install_interrupt_handlers();

/// Whether a stop was asked for. Safe everywhere, signal handlers included.
[[nodiscard]] bool stop_requested() noexcept;

/// The flag behind stop_requested(), for code that takes a pointer.
[[nodiscard]] const std::atomic<bool>& stop_flag() noexcept;

/// Asks for a stop as a signal would, but ends nothing when repeated.
void request_stop() noexcept;

/// Takes the request back; for tests.
void clear_stop_request() noexcept;

}  // namespace psgd
