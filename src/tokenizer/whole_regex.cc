// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/whole_regex.h"

#include <array>
#include <cstdint>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/text.h"

namespace plumb {
namespace {

constexpr std::uint32_t kWholeMatchLimit = 400'000;
constexpr std::uint32_t kWholeHeapLimitKib = 16 << 10;
constexpr std::uint32_t kWholeMaxNesting = 64;

// One search, anchored where the text begins.
struct AnchoredMatch {
  int rc = 0;  // of PCRE2
  std::size_t end = 0;
};

AnchoredMatch match_from_begin(const pcre2_real_code_8* code, std::string_view text,
                               std::uint32_t options) {
  pcre2_match_data* const match = pcre2_match_data_create(1, nullptr);
  pcre2_match_context* const context = pcre2_match_context_create(nullptr);
  pcre2_set_match_limit(context, kWholeMatchLimit);
  pcre2_set_depth_limit(context, kWholeMatchLimit);
  pcre2_set_heap_limit(context, kWholeHeapLimitKib);
  AnchoredMatch out;
  out.rc = pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), 0,
                       PCRE2_ANCHORED | PCRE2_NO_UTF_CHECK | options, match, context);
  out.end = out.rc < 0 ? 0 : pcre2_get_ovector_pointer(match)[1];
  pcre2_match_context_free(context);
  pcre2_match_data_free(match);
  return out;
}

}  // namespace

Result<std::unique_ptr<const WholeRegex>> WholeRegex::compile(const std::string& pattern) {
  if (pattern.size() > kMaxPatternBytes) {
    return Status{Code::kInvalidArgument,
                  "regex: its " + std::to_string(pattern.size()) + " bytes exceed the limit " +
                      std::to_string(kMaxPatternBytes) + " of what no automaton decides"};
  }
  if (!is_valid_utf8(pattern)) {
    return Status{Code::kInvalidArgument, "regex: it is not well-formed UTF-8"};
  }
  for (const char* left_out : {"(*", "(?C"}) {
    if (const std::size_t at = pattern.find(left_out); at != std::string::npos) {
      return Status{Code::kUnsupported, "regex: '" + std::string(left_out) +
                                            "' is not supported at offset " + std::to_string(at)};
    }
  }
  pcre2_compile_context* const context = pcre2_compile_context_create(nullptr);
  pcre2_set_parens_nest_limit(context, kWholeMaxNesting);
  int code = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* const compiled =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                    PCRE2_UTF | PCRE2_NO_UTF_CHECK | PCRE2_NEVER_BACKSLASH_C |
                        PCRE2_DOLLAR_ENDONLY | PCRE2_ALT_BSUX,
                    &code, &offset, context);
  pcre2_compile_context_free(context);
  if (compiled == nullptr) {
    std::array<PCRE2_UCHAR, 128> text{};
    pcre2_get_error_message(code, text.data(), text.size());
    return Status{Code::kInvalidArgument, std::string("regex: ") +
                                              reinterpret_cast<const char*>(text.data()) +
                                              " at offset " + std::to_string(offset)};
  }
  return std::unique_ptr<const WholeRegex>(new WholeRegex(compiled));
}

WholeRegex::~WholeRegex() {
  pcre2_code_free(code_);
}

Status WholeRegex::check(std::string_view text) const {
  const AnchoredMatch whole = match_from_begin(code_, text, PCRE2_ENDANCHORED);
  if (whole.rc >= 0) {
    return {};
  }
  if (whole.rc != PCRE2_ERROR_NOMATCH) {
    return {Code::kResourceExhausted, "matching takes more than " +
                                          std::to_string(kWholeMatchLimit) +
                                          " steps; use a pattern that backtracks less"};
  }
  const AnchoredMatch part = match_from_begin(code_, text, 0);
  return {Code::kInvalidArgument, part.rc >= 0
                                      ? "only its first " + std::to_string(part.end) + " of " +
                                            std::to_string(text.size()) + " bytes match"
                                      : std::string("no part of it from offset 0 matches")};
}

}  // namespace plumb
