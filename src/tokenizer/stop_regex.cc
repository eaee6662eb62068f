// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/stop_regex.h"

#include <array>
#include <utility>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/processor_time.h"
#include "base/text.h"

namespace plumb {
namespace {

// Steps from one place of the text, of which there are 4 KiB at most; what backtracks more often
// does so without end.
constexpr std::uint32_t kStopMatchLimit = 20'000;
constexpr int kEveryPlace = 1;  // number of the callout before each place
constexpr std::uint32_t kStopHeapLimitKib = 1024;
constexpr std::uint32_t kMaxNesting = 64;
constexpr std::uint32_t kMaxLookbehind = 64;

Status invalid(const std::string& what) {
  return {Code::kInvalidArgument, "stop_regex " + what};
}

int stop_when_late(pcre2_callout_block* /*block*/, void* deadline) {
  const bool is_late =
      thread_processor_time() > *static_cast<const std::chrono::nanoseconds*>(deadline);
  return is_late ? PCRE2_ERROR_CALLOUT : 0;
}

// Null with *error set.
pcre2_code* compile_code(const std::string& pattern, Status* error) {
  pcre2_compile_context* context = pcre2_compile_context_create(nullptr);
  pcre2_set_parens_nest_limit(context, kMaxNesting);
  int code = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* compiled =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_NO_UTF_CHECK | PCRE2_NEVER_BACKSLASH_C, &code,
                    &offset, context);
  pcre2_compile_context_free(context);
  if (compiled == nullptr) {
    std::array<PCRE2_UCHAR, 128> text{};
    pcre2_get_error_message(code, text.data(), text.size());
    *error = invalid(std::string("is no pattern: ") + reinterpret_cast<const char*>(text.data()) +
                     " at byte " + std::to_string(offset));
  }
  return compiled;
}

Status check_pattern(const std::string& pattern) {
  if (pattern.empty() || pattern.size() > StopRegex::kMaxPatternBytes) {
    return invalid("has " + std::to_string(pattern.size()) + " bytes, expected 1 to " +
                   std::to_string(StopRegex::kMaxPatternBytes));
  }
  if (!is_valid_utf8(pattern)) {
    return invalid("is not valid UTF-8");
  }
  for (const char* left_out : {"(*", "(?C"}) {
    if (pattern.find(left_out) != std::string::npos) {
      return {Code::kUnsupported,
              std::string("stop_regex holds '") + left_out + "', which is not offered"};
    }
  }
  // By itself, so that places in messages are right and nothing reaches into the next one.
  Status error;
  pcre2_code_free(compile_code(pattern, &error));
  return error;
}

}  // namespace

Result<std::shared_ptr<const StopRegex>> StopRegex::compile(
    const std::vector<std::string>& patterns) {
  if (patterns.empty() || patterns.size() > kMaxPatterns) {
    return invalid("has " + std::to_string(patterns.size()) + " patterns, expected 1 to " +
                   std::to_string(kMaxPatterns));
  }
  // The mark says which alternative it was; groups are numbered anew in each.
  std::string joined = "(?C" + std::to_string(kEveryPlace) + ")(?|";
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    PLUMB_RETURN_IF_ERROR(check_pattern(patterns[i]));
    joined += (i > 0 ? "|(*MARK:" : "(*MARK:") + std::to_string(i) + ")(?:" + patterns[i] + ")";
  }
  joined += ")";
  const std::shared_ptr<StopRegex> regex(new StopRegex());
  Status error;
  regex->code_ = compile_code(joined, &error);
  PLUMB_RETURN_IF_ERROR(error);
  regex->patterns_ = patterns;
  std::uint32_t lookbehind = 0;
  pcre2_pattern_info(regex->code_, PCRE2_INFO_MAXLOOKBEHIND, &lookbehind);
  if (lookbehind > kMaxLookbehind) {
    return invalid("looks back " + std::to_string(lookbehind) + " characters, expected at most " +
                   std::to_string(kMaxLookbehind));
  }
  regex->num_context_chars_ = lookbehind + 1;
  return std::shared_ptr<const StopRegex>(regex);
}

StopRegex::~StopRegex() {
  pcre2_code_free(code_);
}

StopRegexSearch::StopRegexSearch(const StopRegex& regex)
    : regex_(regex),
      match_(pcre2_match_data_create(1, nullptr)),
      context_(pcre2_match_context_create(nullptr)) {
  pcre2_set_match_limit(context_, kStopMatchLimit);
  pcre2_set_depth_limit(context_, kStopMatchLimit);
  pcre2_set_heap_limit(context_, kStopHeapLimitKib);
}

StopRegexSearch::~StopRegexSearch() {
  pcre2_match_data_free(match_);
  pcre2_match_context_free(context_);
}

Result<StopRegexSearch::Found> StopRegexSearch::find(std::string_view subject, std::size_t from,
                                                     bool is_end) {
  const std::uint32_t options =
      PCRE2_NOTEMPTY | PCRE2_NO_UTF_CHECK | (is_end ? 0U : PCRE2_PARTIAL_HARD);
  const std::chrono::nanoseconds begin = thread_processor_time();
  std::chrono::nanoseconds deadline = begin + StopRegex::kMaxTime - spent_;
  pcre2_set_callout(context_, stop_when_late, &deadline);
  const int rc = pcre2_match(regex_.code_, reinterpret_cast<PCRE2_SPTR>(subject.data()),
                             subject.size(), from, options, match_, context_);
  spent_ += thread_processor_time() - begin;
  if (rc == PCRE2_ERROR_NOMATCH) {
    return Found{};
  }
  const PCRE2_SIZE* place = pcre2_get_ovector_pointer(match_);
  if (rc == PCRE2_ERROR_PARTIAL) {
    return Found{Found::Kind::kPartial, place[0], place[1], 0};
  }
  if (rc < 0) {
    const std::string limit = rc == PCRE2_ERROR_CALLOUT
                                  ? std::to_string(StopRegex::kMaxTime.count()) + " ms in all"
                                  : std::to_string(kStopMatchLimit) + " steps at one place";
    return invalid("takes more than " + limit +
                   " on the generated text; use a pattern that backtracks less");
  }
  Found found{Found::Kind::kMatch, place[0], place[1], 0};
  if (PCRE2_SPTR mark = pcre2_get_mark(match_); mark != nullptr) {
    parse_int64(reinterpret_cast<const char*>(mark), &found.pattern);
  }
  return found;
}

}  // namespace plumb
