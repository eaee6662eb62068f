// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace plumb {

namespace jinja {
struct Program;
}

/// A range of bytes of a rendered text.
struct TextSegment {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool is_data = false;  ///< from a variable or derived from one, not written in the template

  bool operator==(const TextSegment&) const = default;
};

struct GeneratedRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  bool operator==(const GeneratedRange&) const = default;
};

struct Rendering {
  std::string text;
  /// Cover the text in order, neighbours differ in is_data. Text that joins data with template text
  /// keeps the origin of each byte, except in JSON and repr output, which is data as a whole if any
  /// string in it is. A special token is genuine only if all its bytes are template text.
  std::vector<TextSegment> segments;
  /// What stood inside `generation` blocks of the top level, in order.
  std::vector<GeneratedRange> generations;
};

struct RenderOptions {
  /// Time that strftime_now prints, in UTC; absent: the current local time.
  std::optional<std::chrono::system_clock::time_point> now;
  std::int64_t max_output_bytes = std::int64_t{16} << 20;
  std::int64_t max_memory_bytes = std::int64_t{512} << 20;  ///< of all values built meanwhile
  std::int64_t max_steps = 10'000'000;  ///< expressions, statements and units of bulk work
  int max_depth = 1500;                 ///< nested evaluations; bounds the stack
  /// Top-level variables whose strings count as template text (bos_token ...).
  std::vector<std::string> trusted_variables;
  /// Values of members named "role" that count as template text.
  std::vector<std::string> trusted_roles;
};

/// A compiled Jinja template in the dialect of chat templates.
///
/// The language is that of jinja2 3.1 with trim_blocks, lstrip_blocks, no autoescape, loop
/// controls, the immutable sandbox (but lists may append and pop), the `generation` tag and the
/// functions tojson, from_json, raise_exception and strftime_now. What raises there, fails here.
///
/// Thread   any; rendering changes nothing.
/// Cost     rendering is linear in the text it produces and reads, for templates that are.
class JinjaTemplate {
 public:
  /// Errors: kInvalidArgument "template line N: ..." with what is wrong.
  static Result<JinjaTemplate> parse(std::string_view source);

  /// Errors  kInvalidArgument: the template raised (exactly the text given to raise_exception) or
  ///         used values in a way Python forbids; kUnsupported: a feature this engine lacks;
  ///         kResourceExhausted: a limit of the options.
  Result<Rendering> render(const JsonObject& variables, const RenderOptions& options = {}) const;

  /// The syntax tree, for code that asks what a template uses.
  const jinja::Program& program() const { return *program_; }

 private:
  explicit JinjaTemplate(std::shared_ptr<const jinja::Program> program)
      : program_(std::move(program)) {}

  // Shared because templates are copied between requests while nothing in them ever changes.
  std::shared_ptr<const jinja::Program> program_;
};

}  // namespace plumb
