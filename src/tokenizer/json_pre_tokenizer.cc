// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/json_pre_tokenizer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tokenizer/bert_text.h"
#include "tokenizer/json_fields.h"
#include "tokenizer/split_rules.h"

namespace plumb {
namespace {

enum class Behavior : unsigned char {
  kIsolated,
  kRemoved,
  kMergedWithPrevious,
  kMergedWithNext,
  kContiguous,
};

struct Part {
  std::size_t begin;
  std::size_t end;
  bool is_match;
};

std::optional<Behavior> parse_behavior(std::string_view name) {
  if (name == "Isolated") {
    return Behavior::kIsolated;
  }
  if (name == "Removed") {
    return Behavior::kRemoved;
  }
  if (name == "MergedWithPrevious") {
    return Behavior::kMergedWithPrevious;
  }
  if (name == "MergedWithNext") {
    return Behavior::kMergedWithNext;
  }
  return name == "Contiguous" ? std::optional(Behavior::kContiguous) : std::nullopt;
}

// Matches and gaps of a piece, in order.
std::vector<Part> find_parts(std::string_view piece, const JsonPattern& text,
                             const std::optional<Regex>& regex, bool invert,
                             RegexScratch* scratch) {
  std::vector<Part> parts;
  std::size_t done = 0;
  while (done < piece.size()) {
    std::optional<Regex::Match> match;
    if (regex) {
      match = regex->find(piece, done, scratch);
    } else if (const std::size_t at = piece.find(text.text, done); at != std::string_view::npos) {
      match = Regex::Match{at, at + text.text.size()};
    }
    if (!match) {
      break;
    }
    if (done < match->begin) {
      parts.push_back({done, match->begin, invert});
    }
    parts.push_back({match->begin, match->end, !invert});
    done = match->end;
  }
  if (done < piece.size()) {
    parts.push_back({done, piece.size(), invert});
  }
  return parts;
}

// A match joins the part before it unless that is itself a match; a list read backwards gives the
// same rule for the part after it.
std::vector<Part> join_matches(const std::vector<Part>& parts) {
  std::vector<Part> joined;
  bool after_match = false;
  for (const Part& part : parts) {
    if (part.is_match && !after_match && !joined.empty()) {
      joined.back().begin = std::min(joined.back().begin, part.begin);
      joined.back().end = std::max(joined.back().end, part.end);
    } else {
      joined.push_back(part);
    }
    after_match = part.is_match;
  }
  return joined;
}

std::vector<Part> join_equal(const std::vector<Part>& parts) {
  std::vector<Part> joined;
  for (const Part& part : parts) {
    if (!joined.empty() && joined.back().is_match == part.is_match) {
      joined.back().end = part.end;
    } else {
      joined.push_back(part);
    }
  }
  return joined;
}

std::vector<Part> arrange(std::vector<Part> parts, Behavior behavior) {
  switch (behavior) {
    case Behavior::kIsolated:
      return parts;
    case Behavior::kRemoved:
      std::erase_if(parts, [](const Part& part) { return part.is_match; });
      return parts;
    case Behavior::kMergedWithPrevious:
      return join_matches(parts);
    case Behavior::kMergedWithNext:
      std::reverse(parts.begin(), parts.end());
      parts = join_matches(parts);
      std::reverse(parts.begin(), parts.end());
      return parts;
    case Behavior::kContiguous:
      return join_equal(parts);
  }
  return parts;
}

class SplitStep final : public PreTokenizerStep {
 public:
  static Result<std::unique_ptr<const PreTokenizerStep>> create(JsonPattern pattern,
                                                                Behavior behavior, bool invert) {
    auto step = std::make_unique<SplitStep>();
    if (pattern.is_regex) {
      PLUMB_ASSIGN(step->regex_, Regex::compile(pattern.text));
    } else if (pattern.text.empty()) {
      return Status{Code::kInvalidArgument, "pre_tokenizer Split: the pattern is empty"};
    }
    step->pattern_ = std::move(pattern);
    step->behavior_ = behavior;
    step->invert_ = invert;
    return std::unique_ptr<const PreTokenizerStep>(std::move(step));
  }

  void apply(std::string_view piece, bool /*is_first*/, PieceList* list) const override {
    std::vector<Part> parts = find_parts(piece, pattern_, regex_, invert_, &list->regex);
    for (const Part& part : arrange(std::move(parts), behavior_)) {
      list->cut.push_back(piece.substr(part.begin, part.end - part.begin));
    }
  }

 private:
  JsonPattern pattern_;
  std::optional<Regex> regex_;
  Behavior behavior_ = Behavior::kIsolated;
  bool invert_ = false;
};

// Puts a space before pieces that do not begin with one.
class PrefixSpaceStep final : public PreTokenizerStep {
 public:
  void apply(std::string_view piece, bool /*is_first*/, PieceList* list) const override {
    if (piece.front() != ' ') {
      list->texts.push_back(" " + std::string(piece));
      piece = list->texts.back();
    }
    list->cut.push_back(piece);
  }
};

class BertWordsStep final : public PreTokenizerStep {
 public:
  void apply(std::string_view piece, bool /*is_first*/, PieceList* list) const override {
    split_bert_words(piece, &list->cut);
  }
};

// Writes spaces as the replacement and may put one in front.
class MetaspaceStep final : public PreTokenizerStep {
 public:
  enum class Prepend : unsigned char { kNever, kFirst, kAlways };

  MetaspaceStep(std::string replacement, Prepend prepend)
      : replacement_(std::move(replacement)), prepend_(prepend) {}

  void apply(std::string_view piece, bool is_first, PieceList* list) const override {
    std::string text;
    for (const char c : piece) {
      if (c == ' ') {
        text.append(replacement_);
      } else {
        text.push_back(c);
      }
    }
    const bool wanted = prepend_ == Prepend::kAlways || (prepend_ == Prepend::kFirst && is_first);
    if (wanted && text.compare(0, replacement_.size(), replacement_) != 0) {
      text.insert(0, replacement_);
    }
    list->texts.push_back(std::move(text));
    list->cut.push_back(list->texts.back());
  }

 private:
  std::string replacement_;
  Prepend prepend_;
};

using PreTokenizerStepPtr = std::unique_ptr<const PreTokenizerStep>;
using Steps = std::vector<PreTokenizerStepPtr>;

Status add_split(JsonPattern pattern, Behavior behavior, bool invert, Steps* steps) {
  PLUMB_ASSIGN(PreTokenizerStepPtr step, SplitStep::create(std::move(pattern), behavior, invert));
  steps->push_back(std::move(step));
  return {};
}

Status add_regex(std::string_view regex, Behavior behavior, Steps* steps) {
  return add_split({std::string(regex), true}, behavior, false, steps);
}

Status add_configured_split(const Json& config, Steps* steps) {
  PLUMB_ASSIGN(JsonPattern pattern, pattern_field(config, "pattern"));
  PLUMB_ASSIGN(const std::string name, string_field(config, "behavior"));
  const auto behavior = parse_behavior(name);
  if (!behavior) {
    return {Code::kUnsupported, "pre_tokenizer Split: behavior '" + name + "' is not known"};
  }
  return add_split(std::move(pattern), *behavior, bool_field(config, "invert", false), steps);
}

Status add_byte_level(const Json& config, Steps* steps) {
  if (bool_field(config, "add_prefix_space", true)) {
    steps->push_back(std::make_unique<PrefixSpaceStep>());
  }
  if (!bool_field(config, "use_regex", true)) {
    return {};
  }
  PLUMB_ASSIGN(const SplitRule rule, find_split_rule("gpt-2"));
  return add_regex(rule.patterns.front(), Behavior::kIsolated, steps);
}

Status add_metaspace(const Json& config, Steps* steps) {
  PLUMB_ASSIGN(std::string replacement, string_field(config, "replacement"));
  constexpr std::size_t kMaxReplacement = 16;
  if (replacement.empty() || replacement.size() > kMaxReplacement) {
    return {Code::kInvalidArgument, "pre_tokenizer Metaspace: the replacement has " +
                                        std::to_string(replacement.size()) +
                                        " bytes, expected 1 to 16"};
  }
  std::string scheme = bool_field(config, "add_prefix_space", true) ? "always" : "never";
  if (const Json* named = config.find("prepend_scheme"); named != nullptr && named->is_string()) {
    scheme = named->as_string();
  }
  const auto prepend = scheme == "always"  ? MetaspaceStep::Prepend::kAlways
                       : scheme == "first" ? MetaspaceStep::Prepend::kFirst
                                           : MetaspaceStep::Prepend::kNever;
  steps->push_back(std::make_unique<MetaspaceStep>(replacement, prepend));
  if (!bool_field(config, "split", true)) {
    return {};
  }
  return add_split({std::move(replacement), false}, Behavior::kMergedWithNext, false, steps);
}

Status add_punctuation(const Json& config, Steps* steps) {
  const Json* name = config.find("behavior");
  const auto behavior = parse_behavior(
      name != nullptr && name->is_string() ? name->as_string() : std::string("Isolated"));
  if (!behavior) {
    return {Code::kUnsupported, "pre_tokenizer Punctuation: behavior is not known"};
  }
  return add_regex(R"re([!-/:-@\[-`{-~\p{P}])re", *behavior, steps);
}

Status add_step(const Json& config, bool* is_byte_level, Steps* steps) {
  PLUMB_ASSIGN(const std::string type, string_field(config, "type"));
  if (type == "ByteLevel") {
    *is_byte_level = true;
    return add_byte_level(config, steps);
  }
  if (*is_byte_level) {
    return {Code::kUnsupported, "pre_tokenizer '" + type + "' after ByteLevel is not supported"};
  }
  if (type == "Split") {
    return add_configured_split(config, steps);
  }
  if (type == "Metaspace") {
    return add_metaspace(config, steps);
  }
  if (type == "Digits") {
    const bool individual = bool_field(config, "individual_digits", false);
    return add_regex(individual ? R"re(\p{N})re" : R"re(\p{N}+)re", Behavior::kIsolated, steps);
  }
  if (type == "Punctuation") {
    return add_punctuation(config, steps);
  }
  if (type == "BertPreTokenizer") {
    steps->push_back(std::make_unique<BertWordsStep>());
    return {};
  }
  if (type == "Whitespace") {
    PLUMB_RETURN_IF_ERROR(add_regex(R"re(\s+)re", Behavior::kRemoved, steps));
    // Word characters of the package's other regular-expression engine, which are not those of \w.
    return add_regex(R"re([\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u200C\u200D]+)re", Behavior::kIsolated,
                     steps);
  }
  if (type == "WhitespaceSplit") {
    return add_regex(R"re(\s)re", Behavior::kRemoved, steps);
  }
  return {Code::kUnsupported, "pre_tokenizer '" + type + "' is not supported"};
}

}  // namespace

Result<JsonPreTokenizer> JsonPreTokenizer::create(const Json& config) {
  JsonPreTokenizer result;
  PLUMB_ASSIGN(const std::vector<const Json*> list, flatten_sequence(config, "pretokenizers"));
  for (const Json* entry : list) {
    PLUMB_RETURN_IF_ERROR(add_step(*entry, &result.is_byte_level_, &result.steps_));
  }
  return result;
}

void JsonPreTokenizer::split(std::string_view text, bool is_first, PieceList* list) const {
  list->pieces.clear();
  list->texts.clear();
  if (!text.empty()) {
    list->pieces.push_back(text);
  }
  for (const auto& step : steps_) {
    list->cut.clear();
    for (std::size_t i = 0; i < list->pieces.size(); ++i) {
      step->apply(list->pieces[i], is_first && i == 0, list);
    }
    std::swap(list->pieces, list->cut);
  }
}

}  // namespace plumb
