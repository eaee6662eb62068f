// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

struct pcre2_real_code_8;
struct pcre2_real_match_data_8;
struct pcre2_real_match_context_8;

namespace plumb {

/// Regular expressions that end a text, compiled together: the leftmost match of any of them.
///
/// Syntax: PCRE2 with Unicode, without verbs "(*", callouts and \C; look-behind reaches back at
/// most 64 characters. `^` and `\A` stand for the begin of the generated text, `$` and `\z` for its
/// end. An empty match ends nothing.
/// Thread  any (immutable).
class StopRegex {
 public:
  static constexpr std::size_t kMaxPatternBytes = 1024;
  static constexpr std::size_t kMaxPatterns = 16;
  /// A match of more bytes is not found: text that could only be part of a longer one is released.
  static constexpr std::size_t kMaxMatchBytes = 4096;
  /// Processor time of all searches in one text: they run where other texts wait.
  static constexpr std::chrono::milliseconds kMaxTime{20};

  /// Errors  kInvalidArgument: too many, too long, not a pattern (with its place); kUnsupported:
  ///         verbs and what else is left out.
  static Result<std::shared_ptr<const StopRegex>> compile(const std::vector<std::string>& patterns);
  ~StopRegex();
  StopRegex(const StopRegex&) = delete;
  StopRegex& operator=(const StopRegex&) = delete;

  const std::string& pattern(std::int64_t index) const {
    return patterns_[static_cast<std::size_t>(index)];
  }

  /// Characters before a place that a match beginning there can depend on.
  std::size_t num_context_chars() const { return num_context_chars_; }

 private:
  friend class StopRegexSearch;
  StopRegex() = default;

  std::vector<std::string> patterns_;
  pcre2_real_code_8* code_ = nullptr;
  std::size_t num_context_chars_ = 1;
};

/// Searches of one text as it grows.
/// Thread  one.
class StopRegexSearch {
 public:
  /// `regex` outlives it.
  explicit StopRegexSearch(const StopRegex& regex);
  ~StopRegexSearch();
  StopRegexSearch(const StopRegexSearch&) = delete;
  StopRegexSearch& operator=(const StopRegexSearch&) = delete;

  struct Found {
    enum class Kind : unsigned char { kNone, kPartial, kMatch };
    Kind kind = Kind::kNone;
    std::size_t begin = 0;  ///< with kMatch and kPartial
    std::size_t end = 0;    ///< with kMatch
    std::int64_t pattern = 0;
  };

  /// The leftmost match that begins at or after `from`; unless `is_end`, kPartial as soon as more
  /// text could make or change one.
  ///
  /// Requires  subject valid UTF-8, `from` a character boundary in it.
  /// Errors    kInvalidArgument: the search takes more steps from one place, or the searches of
  ///           this text more time together, than sensible patterns do.
  Result<Found> find(std::string_view subject, std::size_t from, bool is_end);

 private:
  const StopRegex& regex_;
  pcre2_real_match_data_8* match_ = nullptr;
  pcre2_real_match_context_8* context_ = nullptr;
  std::chrono::nanoseconds spent_{};  ///< processor time so far
};

}  // namespace plumb
