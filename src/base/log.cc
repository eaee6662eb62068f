// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <chrono>
#include <memory>
#include <mutex>
#include <spdlog/formatter.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "base/timestamp.h"

namespace plumb {
namespace {

constexpr int kMillisecondDigits = 3;

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kOff:
      break;
  }
  return spdlog::level::off;
}

LogLevel from_spdlog(spdlog::level::level_enum level) {
  switch (level) {
    case spdlog::level::trace:
    case spdlog::level::debug:
      return LogLevel::kDebug;
    case spdlog::level::info:
      return LogLevel::kInfo;
    case spdlog::level::warn:
      return LogLevel::kWarning;
    default:
      return LogLevel::kError;
  }
}

// JSON's escapes without its quotes: one line whatever the text holds.
void append_one_line(std::string* out, std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const Utf8Char c = decode_utf8(text.substr(i));
    if (c.valid && c.code_point >= 0x20 && !(c.code_point >= 0x7F && c.code_point < 0xA0) &&
        c.code_point != 0x2028 && c.code_point != 0x2029) {
      out->append(text.substr(i, static_cast<std::size_t>(c.num_bytes)));
    } else if (c.valid && c.code_point == '\n') {
      *out += "\\n";
    } else if (c.valid) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      *out += "\\u";
      for (int shift = 12; shift >= 0; shift -= 4) {
        *out += kDigits[(c.code_point >> shift) & 15];
      }
    } else {
      append_utf8(out, 0xFFFD);
    }
    i += static_cast<std::size_t>(c.num_bytes);
  }
}

std::string text_tail(std::string_view message, std::initializer_list<LogField> fields) {
  std::string line;
  append_one_line(&line, message);
  for (const LogField& field : fields) {
    line += ' ';
    line += field.key;
    line += '=';
    append_one_line(&line, field.value);
  }
  return line;
}

std::string json_tail(std::string_view message, std::initializer_list<LogField> fields) {
  std::string line = ",\"message\":";
  append_json_string(&line, to_valid_utf8(message));
  for (const LogField& field : fields) {
    line += ',';
    append_json_string(&line, to_valid_utf8(field.key));
    line += ':';
    append_json_string(&line, to_valid_utf8(field.value));
  }
  return line + "}";
}

// Puts time and level in front of a tail made by text_tail or json_tail.
class LineFormatter final : public spdlog::formatter {
 public:
  LineFormatter(LogForm form, std::string_view line_end) : form_(form), line_end_(line_end) {}

  void format(const spdlog::details::log_msg& msg, spdlog::memory_buf_t& dest) override {
    std::string line;
    const std::string_view level = to_text(from_spdlog(msg.level));
    if (form_ == LogForm::kJson) {
      line += "{\"time\":\"";
      line += to_rfc3339(msg.time, kMillisecondDigits);
      line += "\",\"level\":\"";
      line += level;
      line += '"';
    } else {
      line += to_rfc3339(msg.time, kMillisecondDigits);
      line += ' ';
      line += level;
      line += ' ';
    }
    line.append(msg.payload.data(), msg.payload.size());
    line += line_end_;
    dest.append(line.data(), line.data() + line.size());
  }

  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<LineFormatter>(form_, line_end_);
  }

 private:
  LogForm form_;
  std::string_view line_end_;
};

class FunctionSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit FunctionSink(std::function<void(std::string_view)> take_line)
      : take_line_(std::move(take_line)) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& msg) override {
    spdlog::memory_buf_t buffer;
    formatter_->format(msg, buffer);
    take_line_({buffer.data(), buffer.size()});
  }

  void flush_() override {}

 private:
  std::function<void(std::string_view)> take_line_;
};

struct LogState {
  LogForm form;
  std::shared_ptr<spdlog::logger> logger;  // spdlog hands loggers out as shared
};

LogState make_state(LogOptions options) {
  const bool to_stderr = !options.sink;
  std::shared_ptr<spdlog::sinks::sink> sink;
  if (to_stderr) {
    sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  } else {
    sink = std::make_shared<FunctionSink>(std::move(options.sink));
  }
  sink->set_formatter(std::make_unique<LineFormatter>(options.form, to_stderr ? "\n" : ""));
  auto logger = std::make_shared<spdlog::logger>("plumb", std::move(sink));
  logger->set_level(to_spdlog(options.level));
  logger->flush_on(spdlog::level::debug);
  logger->set_error_handler([](const std::string&) {});
  return {options.form, std::move(logger)};
}

// Where lines go is a fact of the process, like its standard error: the only such state in base.
// Never destroyed, so that threads may log until the very end.
LogState& state() {
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): argued above
  static auto* const state = new LogState(make_state({}));
  return *state;
}

}  // namespace

std::string_view to_text(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
    case LogLevel::kOff:
      break;
  }
  return "off";
}

void init_log(LogOptions options) {
  state() = make_state(std::move(options));
}

void set_log_level(LogLevel level) {
  state().logger->set_level(to_spdlog(level));
}

bool log_enabled(LogLevel level) {
  return level != LogLevel::kOff && state().logger->should_log(to_spdlog(level));
}

void log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) {
  if (!log_enabled(level)) {
    return;
  }
  const LogState& to = state();
  const std::string tail =
      to.form == LogForm::kJson ? json_tail(message, fields) : text_tail(message, fields);
  to.logger->log(to_spdlog(level), spdlog::string_view_t(tail.data(), tail.size()));
}

}  // namespace plumb
