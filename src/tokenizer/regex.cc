// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/regex.h"

#include <array>
#include <string>
#include <utility>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "tokenizer/regex_dialect.h"

namespace plumb {
namespace {

constexpr std::size_t kMaxPatternBytes = std::size_t{1} << 16;
constexpr std::size_t kFirstJitStack = std::size_t{1} << 16;
constexpr std::size_t kMaxJitStack = std::size_t{1} << 26;
constexpr std::uint32_t kMatchLimit = 10'000'000;
constexpr int kMaxFailures = 3;
constexpr std::uint32_t kHeapLimitKib = 1U << 18;

}  // namespace

RegexScratch::~RegexScratch() {
  pcre2_match_data_free(match_);
  pcre2_match_context_free(context_);
  pcre2_jit_stack_free(jit_stack_);
}

Result<Regex> Regex::compile(std::string_view pattern) {
  if (pattern.size() > kMaxPatternBytes) {
    return Status{Code::kInvalidArgument, "split pattern: " + std::to_string(pattern.size()) +
                                              " bytes, at most " +
                                              std::to_string(kMaxPatternBytes)};
  }
  PLUMB_ASSIGN(const std::string translated, to_pcre2_pattern(pattern));
  int error = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_NO_UTF_CHECK, &error, &offset, nullptr);
  if (code == nullptr) {
    std::array<PCRE2_UCHAR, 128> text{};
    pcre2_get_error_message(error, text.data(), text.size());
    return Status{Code::kInvalidArgument,
                  std::string("split pattern: ") + reinterpret_cast<const char*>(text.data()) +
                      " at byte " + std::to_string(offset) + " of '" + translated + "'"};
  }
  // Without JIT the interpreter gives the same matches, only slower.
  static_cast<void>(pcre2_jit_compile(code, PCRE2_JIT_COMPLETE));
  return Regex(code);
}

Regex::Regex(Regex&& other) noexcept : code_(std::exchange(other.code_, nullptr)) {}

Regex& Regex::operator=(Regex&& other) noexcept {
  std::swap(code_, other.code_);
  return *this;
}

Regex::~Regex() {
  pcre2_code_free(code_);
}

int Regex::search(std::string_view subject, std::size_t from, RegexScratch* scratch) const {
  return pcre2_match(code_, reinterpret_cast<PCRE2_SPTR>(subject.data()), subject.size(), from,
                     PCRE2_NOTEMPTY | PCRE2_NO_UTF_CHECK, scratch->match_, scratch->context_);
}

std::optional<Regex::Match> Regex::find(std::string_view subject, std::size_t from,
                                        RegexScratch* scratch) const {
  if (scratch->num_failures_ >= kMaxFailures) {
    return std::nullopt;
  }
  if (scratch->match_ == nullptr) {
    scratch->match_ = pcre2_match_data_create(1, nullptr);
    scratch->context_ = pcre2_match_context_create(nullptr);
    pcre2_set_match_limit(scratch->context_, kMatchLimit);
    pcre2_set_heap_limit(scratch->context_, kHeapLimitKib);
  }
  int rc = search(subject, from, scratch);
  if (rc == PCRE2_ERROR_JIT_STACKLIMIT && scratch->jit_stack_ == nullptr) {
    scratch->jit_stack_ = pcre2_jit_stack_create(kFirstJitStack, kMaxJitStack, nullptr);
    pcre2_jit_stack_assign(scratch->context_, nullptr, scratch->jit_stack_);
    rc = search(subject, from, scratch);
  }
  if (rc < 0) {
    scratch->num_failures_ += rc == PCRE2_ERROR_NOMATCH ? 0 : 1;
    return std::nullopt;
  }
  const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(scratch->match_);
  return Match{ends[0], ends[1]};
}

}  // namespace plumb
