// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "base/status.h"

struct pcre2_real_code_8;
struct pcre2_real_match_data_8;
struct pcre2_real_match_context_8;
struct pcre2_real_jit_stack_8;

namespace plumb {

/// Working memory of searches; reused from one to the next. Thread: one.
class RegexScratch {
 public:
  RegexScratch() = default;
  RegexScratch(const RegexScratch&) = delete;
  RegexScratch& operator=(const RegexScratch&) = delete;
  ~RegexScratch();

 private:
  friend class Regex;
  pcre2_real_match_data_8* match_ = nullptr;
  pcre2_real_match_context_8* context_ = nullptr;
  pcre2_real_jit_stack_8* jit_stack_ = nullptr;
  int num_failures_ = 0;
};

/// A compiled split pattern. Thread: any (immutable), with a RegexScratch per thread.
class Regex {
 public:
  /// A match: bytes [begin, end) of the subject.
  struct Match {
    std::size_t begin;
    std::size_t end;
  };

  /// Compiles a pattern in the dialect of tokenizer files (see regex_dialect.h).
  /// Errors: kInvalidArgument, kUnsupported, naming the place.
  static Result<Regex> compile(std::string_view pattern);

  Regex(Regex&& other) noexcept;
  Regex& operator=(Regex&& other) noexcept;
  ~Regex();

  /// The leftmost match that is not empty and begins at or after `from`.
  ///
  /// A search that exceeds the limits of steps or memory (a pattern made to be slow) counts as no
  /// match; after three of them the scratch finds nothing more. Requires subject is valid UTF-8 and
  /// `from` a character boundary.
  std::optional<Match> find(std::string_view subject, std::size_t from,
                            RegexScratch* scratch) const;

 private:
  explicit Regex(pcre2_real_code_8* code) : code_(code) {}

  int search(std::string_view subject, std::size_t from, RegexScratch* scratch) const;

  pcre2_real_code_8* code_ = nullptr;
};

}  // namespace plumb
