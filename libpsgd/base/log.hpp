#pragma once

#include <functional>
#include <string>

namespace psgd {

enum class LogLevel { debug, info, warning };

/// Receives one finished line without a newline. The library never prints: whoever runs it decides where lines go.
using LogSink = std::function<void(LogLevel, const std::string&)>;

}  // namespace psgd
