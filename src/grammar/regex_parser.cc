// SPDX-License-Identifier: Apache-2.0
#include "grammar/regex_parser.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "grammar/anchored_regex.h"
#include "grammar/regex_class.h"

namespace plumb {
namespace {

struct Flags {
  bool ignore_case = false;
  bool dot_all = false;
};

class RegexParser {
 public:
  RegexParser(std::string_view pattern, const RegexParseOptions& options, RegexSet* set)
      : pattern_(pattern), options_(options), set_(*set), classes_(pattern) {}

  Result<RegexId> parse() {
    if (std::ssize(pattern_) > options_.max_pattern_bytes) {
      return Status{Code::kInvalidArgument, "regex: its " + std::to_string(pattern_.size()) +
                                                " bytes exceed the limit " +
                                                std::to_string(options_.max_pattern_bytes)};
    }
    if (!is_valid_utf8(pattern_)) {
      return Status{Code::kInvalidArgument, "regex: it is not well-formed UTF-8"};
    }
    PLUMB_ASSIGN(const AnchoredRegex whole, parse_alternatives({}, 0));
    if (!at_end()) {
      return error(Code::kInvalidArgument, "')' closes no group", pos_);
    }
    const RegexId regex =
        options_.anchored ? whole_match(whole, &set_) : search_match(whole, &set_);
    PLUMB_RETURN_IF_ERROR(check_expressions());
    return regex;
  }

 private:
  bool at_end() const { return pos_ >= pattern_.size(); }

  bool looking_at(std::string_view text) const { return pattern_.substr(pos_).starts_with(text); }

  bool take(std::string_view text) {
    const bool found = looking_at(text);
    pos_ += found ? text.size() : 0;
    return found;
  }

  static Status error(Code code, std::string_view what, std::size_t offset) {
    return regex_error(code, what, offset);
  }

  Result<AnchoredRegex> parse_alternatives(Flags flags, int depth) {
    if (depth > options_.max_depth) {
      return error(Code::kInvalidArgument,
                   "groups nest deeper than " + std::to_string(options_.max_depth), pos_);
    }
    std::vector<AnchoredRegex> alternatives;
    do {
      PLUMB_ASSIGN(AnchoredRegex sequence, parse_sequence(&flags, depth));
      alternatives.push_back(sequence);
    } while (take("|"));
    return any_of(alternatives, &set_);
  }

  std::span<const CodePointRange> excluded_by_dot(Flags flags) const {
    static constexpr CodePointRange kLineFeed[] = {{U'\n', U'\n'}};
    if (flags.dot_all) {
      return {};
    }
    return options_.dot_takes_returns ? std::span<const CodePointRange>(kLineFeed)
                                      : std::span<const CodePointRange>(kLineTerminators);
  }

  Status check_expressions() const {
    if (set_.size() > options_.max_expressions) {
      return error(Code::kResourceExhausted,
                   "needs more than " + std::to_string(options_.max_expressions) + " expressions",
                   pos_);
    }
    return {};
  }

  // Flags set inside hold until the end of the group.
  Result<AnchoredRegex> parse_sequence(Flags* flags, int depth) {
    std::vector<AnchoredRegex> parts;
    while (!at_end() && !looking_at("|") && !looking_at(")")) {
      PLUMB_RETURN_IF_ERROR(check_expressions());
      if (num_atoms_++ % 64 == 0 && options_.is_cancelled && options_.is_cancelled()) {
        return error(Code::kDeadlineExceeded, "exceeded its time", pos_);
      }
      PLUMB_ASSIGN(const bool is_flags, take_flags(flags));
      if (is_flags) {
        continue;
      }
      const std::size_t begin = pos_;
      PLUMB_ASSIGN(AnchoredRegex atom, parse_atom(*flags, depth));
      PLUMB_ASSIGN(atom, parse_quantifier(atom, begin));
      parts.push_back(atom);
    }
    return concat(parts, &set_);
  }

  // "(?i)", "(?-s)": true if it was there.
  Result<bool> take_flags(Flags* flags) {
    const std::size_t begin = pos_;
    if (!take("(?")) {
      return false;
    }
    Flags changed = *flags;
    PLUMB_ASSIGN(const bool any, parse_flag_letters(&changed));
    if (any && take(")")) {
      *flags = changed;
      return true;
    }
    pos_ = begin;
    return false;
  }

  // Letters up to ')' or ':'; false, if something else stands there.
  Result<bool> parse_flag_letters(Flags* flags) {
    bool value = true;
    bool any = false;
    for (; !at_end(); ++pos_) {
      switch (pattern_[pos_]) {
        case 'i':
          flags->ignore_case = value;
          break;
        case 's':
          flags->dot_all = value;
          break;
        case 'u':
          break;
        case '-':
          value = false;
          break;
        case 'm':
        case 'x':
        case 'a':
        case 'L':
          return error(Code::kUnsupported, "flag " + std::string(1, pattern_[pos_]), pos_);
        default:
          return any;
      }
      any = true;
    }
    return any;
  }

  Result<AnchoredRegex> parse_atom(Flags flags, int depth) {
    const std::size_t begin = pos_;
    switch (pattern_[pos_]) {
      case '(':
        return parse_group(flags, depth);
      case '[': {
        PLUMB_ASSIGN(const CharSet chars, classes_.parse_class(&pos_));
        return of_chars(chars, flags, begin);
      }
      case '.':
        ++pos_;
        return plain(set_.other_char(excluded_by_dot(flags)), set_);
      case '^':
        ++pos_;
        return at_begin(set_);
      case '$':
        ++pos_;
        return at_text_end(set_);
      case '*':
      case '+':
      case '?':
        return error(Code::kInvalidArgument,
                     "'" + std::string(1, pattern_[pos_]) + "' has nothing to repeat", begin);
      case '\\':
        return parse_escape(flags);
      default: {
        const Utf8Char c = decode_utf8(pattern_.substr(pos_));
        pos_ += static_cast<std::size_t>(c.num_bytes);
        return of_chars({{{c.code_point, c.code_point}}, {}, false}, flags, begin);
      }
    }
  }

  // Large classes take a while to spell in bytes, so each way to write one is spelled once.
  Result<AnchoredRegex> of_chars(const CharSet& chars, Flags flags, std::size_t begin) {
    std::string key(pattern_.substr(begin, pos_ - begin));
    key.push_back(flags.ignore_case ? 'i' : '-');
    const auto [it, is_new] = spelled_.try_emplace(std::move(key), RegexId{});
    if (is_new) {
      it->second = char_set_regex(chars, flags.ignore_case, &set_);
    }
    return plain(it->second, set_);
  }

  Result<AnchoredRegex> parse_escape(Flags flags) {
    const std::size_t begin = pos_;
    if (pos_ + 1 < pattern_.size()) {
      const char c = pattern_[pos_ + 1];
      if (c == 'b' || c == 'B') {
        return error(Code::kUnsupported, "word boundary \\" + std::string(1, c), begin);
      }
      if ((c >= '1' && c <= '9') || c == 'k') {
        return error(Code::kUnsupported, "back-reference", begin);
      }
      if (c == 'A' || c == 'Z' || c == 'z') {
        pos_ += 2;
        return c == 'A' ? at_begin(set_) : at_text_end(set_);
      }
    }
    PLUMB_ASSIGN(const CharSet chars, classes_.parse_escape(&pos_, /*in_class=*/false));
    return of_chars(chars, flags, begin);
  }

  Result<AnchoredRegex> parse_group(Flags flags, int depth) {
    const std::size_t begin = pos_;
    ++pos_;
    if (take("?")) {
      PLUMB_RETURN_IF_ERROR(parse_group_head(&flags, begin));
    } else if (looking_at("*")) {
      return error(Code::kUnsupported, "verb (*", begin);
    }
    PLUMB_ASSIGN(const AnchoredRegex inner, parse_alternatives(flags, depth + 1));
    if (!take(")")) {
      return error(Code::kInvalidArgument, "group is not closed", begin);
    }
    return inner;
  }

  // What follows "(?", up to where the group's content begins.
  Status parse_group_head(Flags* flags, std::size_t begin) {
    if (take(":")) {
      return {};
    }
    if (looking_at("=") || looking_at("!")) {
      return error(Code::kUnsupported, "look-ahead", begin);
    }
    if (looking_at("<=") || looking_at("<!")) {
      return error(Code::kUnsupported, "look-behind", begin);
    }
    if (looking_at("P=")) {
      return error(Code::kUnsupported, "back-reference", begin);
    }
    if (looking_at(">")) {
      return error(Code::kUnsupported, "atomic group", begin);
    }
    if (take("P<") || take("<")) {
      const std::size_t close = pattern_.find('>', pos_);
      const std::string_view name = pattern_.substr(pos_, close - pos_);
      const auto is_name_char = [](char c) {
        return c == '_' || (c & 0x80) != 0 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
               (c >= 'A' && c <= 'Z');
      };
      if (close == std::string_view::npos || name.empty() ||
          !std::all_of(name.begin(), name.end(), is_name_char)) {
        return error(Code::kInvalidArgument, "group name is malformed", begin);
      }
      pos_ = close + 1;
      return {};
    }
    PLUMB_ASSIGN(const bool is_flags, parse_flag_letters(flags));
    if (is_flags && take(":")) {
      return {};
    }
    return error(Code::kUnsupported,
                 "group that begins '" + std::string(pattern_.substr(begin, 3)) + "'", begin);
  }

  struct Counts {
    std::int64_t min = 0;
    std::int64_t max = 0;
  };

  Result<AnchoredRegex> parse_quantifier(AnchoredRegex atom, std::size_t begin) {
    PLUMB_ASSIGN(const std::optional<Counts> counts, take_counts());
    if (!counts.has_value()) {
      return atom;
    }
    const std::size_t after = pos_;
    if (!take("?") && looking_at("+")) {
      return error(Code::kUnsupported, "possessive quantifier", after);
    }
    PLUMB_ASSIGN(const std::optional<Counts> second, take_counts());
    if (second.has_value()) {
      return error(Code::kInvalidArgument, "second quantifier has nothing to repeat", after);
    }
    if (counts->max != kUnbounded && counts->max < counts->min) {
      return error(Code::kInvalidArgument,
                   "quantifier {" + std::to_string(counts->min) + "," +
                       std::to_string(counts->max) + "} has its bounds in the wrong order",
                   begin);
    }
    return repeat(atom, counts->min, counts->max, &set_);
  }

  Result<std::optional<Counts>> take_counts() {
    using Taken = std::optional<Counts>;
    if (take("*")) {
      return Taken(Counts{0, kUnbounded});
    }
    if (take("+")) {
      return Taken(Counts{1, kUnbounded});
    }
    if (take("?")) {
      return Taken(Counts{0, 1});
    }
    const std::size_t begin = pos_;
    if (!take("{")) {
      return Taken();
    }
    if (looking_at(",")) {
      return error(Code::kInvalidArgument,
                   "'{,' is read differently by different engines; write {0,n} or \\{", begin);
    }
    PLUMB_ASSIGN(const std::optional<std::int64_t> min, take_number());
    if (min.has_value() && take("}")) {
      return Taken(Counts{*min, *min});
    }
    if (min.has_value() && take(",")) {
      PLUMB_ASSIGN(const std::optional<std::int64_t> max, take_number());
      if (take("}")) {
        return Taken(Counts{*min, max.value_or(kUnbounded)});
      }
    }
    pos_ = begin;  // a brace that begins no quantifier stands for itself
    return Taken();
  }

  Result<std::optional<std::int64_t>> take_number() {
    constexpr std::int64_t kMaxCount = 1'000'000;
    const std::size_t begin = pos_;
    std::int64_t value = 0;
    for (; !at_end() && pattern_[pos_] >= '0' && pattern_[pos_] <= '9'; ++pos_) {
      value = std::min(value * 10 + (pattern_[pos_] - '0'), kMaxCount + 1);
    }
    if (value > kMaxCount) {
      return error(
          Code::kInvalidArgument,
          "count " + std::string(pattern_.substr(begin, std::min<std::size_t>(pos_ - begin, 20))) +
              " exceeds the limit " + std::to_string(kMaxCount),
          begin);
    }
    return pos_ == begin ? std::optional<std::int64_t>() : std::optional(value);
  }

  std::string_view pattern_;
  const RegexParseOptions& options_;
  RegexSet& set_;
  RegexClassParser classes_;
  std::unordered_map<std::string, RegexId> spelled_;  // by the text of an atom and flag i
  std::size_t pos_ = 0;
  std::int64_t num_atoms_ = 0;
};

}  // namespace

Result<RegexId> parse_regex(std::string_view pattern, const RegexParseOptions& options,
                            RegexSet* set) {
  return RegexParser(pattern, options, set).parse();
}

}  // namespace plumb
