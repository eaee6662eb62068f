// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/status.h"

namespace plumb {

enum class LogLevel : unsigned char { kDebug, kInfo, kWarning, kError, kOff };
enum class LogForm : unsigned char { kText, kJson };

/// "debug", "info", "warning", "error", "off".
std::string_view to_text(LogLevel level);

/// One named fact of a line: `key=value` in text, a member in JSON. Never a secret.
struct LogField {
  std::string_view key;
  std::string value;
};

struct LogOptions {
  LogLevel level = LogLevel::kInfo;
  LogForm form = LogForm::kText;
  /// Takes each finished line, without its line end; empty = standard error.
  std::function<void(std::string_view)> sink;
};

/// Sets how this process logs; before it, lines of level info and above go to standard error as
/// text. Called once by the composition root, before it starts threads.
void init_log(LogOptions options);

/// From now on lines below that level are dropped.
/// Thread  any.
void set_log_level(LogLevel level);

/// Whether a line of that level would be written: guards the building of costly messages.
bool log_enabled(LogLevel level);

/// Writes one line. Control characters and ill-formed UTF-8 in message and values are escaped or
/// replaced, so that no input can forge a line.
///
/// Text  2026-01-31T12:00:00.123Z warning message key=value
/// JSON  {"time":"2026-01-31T12:00:00.123Z","level":"warning","message":"…","key":"value"}
/// Errors  none: what cannot be written is lost.
/// Thread  any; lines never mix.
void log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields = {});

inline void log_debug(std::string_view message, std::initializer_list<LogField> fields = {}) {
  log(LogLevel::kDebug, message, fields);
}

inline void log_info(std::string_view message, std::initializer_list<LogField> fields = {}) {
  log(LogLevel::kInfo, message, fields);
}

inline void log_warning(std::string_view message, std::initializer_list<LogField> fields = {}) {
  log(LogLevel::kWarning, message, fields);
}

inline void log_error(std::string_view message, std::initializer_list<LogField> fields = {}) {
  log(LogLevel::kError, message, fields);
}

}  // namespace plumb
