// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/normalizer.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/text.h"
#include "tokenizer/base64.h"
#include "tokenizer/bert_text.h"
#include "tokenizer/charsmap.h"
#include "tokenizer/json_fields.h"
#include "tokenizer/unicode.h"

namespace plumb {
namespace {

class FormStep final : public NormalizerStep {
 public:
  explicit FormStep(UnicodeForm form) : form_(form) {}

  void apply(std::string* text, RegexScratch* /*scratch*/) const override {
    *text = to_unicode_form(*text, form_);
  }

 private:
  UnicodeForm form_;
};

class LowercaseStep final : public NormalizerStep {
 public:
  void apply(std::string* text, RegexScratch* /*scratch*/) const override {
    *text = to_lower_unicode(*text);
  }
};

class StripAccentsStep final : public NormalizerStep {
 public:
  void apply(std::string* text, RegexScratch* /*scratch*/) const override {
    *text = drop_marks(*text);
  }
};

class PrependStep final : public NormalizerStep {
 public:
  explicit PrependStep(std::string prefix) : prefix_(std::move(prefix)) {}

  void apply(std::string* text, RegexScratch* /*scratch*/) const override {
    if (!text->empty()) {
      text->insert(0, prefix_);
    }
  }

 private:
  std::string prefix_;
};

class StripStep final : public NormalizerStep {
 public:
  StripStep(bool left, bool right) : left_(left), right_(right) {}

  void apply(std::string* text, RegexScratch* /*scratch*/) const override {
    std::size_t begin = left_ ? text->size() : 0;
    std::size_t end = right_ ? 0 : text->size();
    for (std::size_t at = 0; at < text->size();) {
      const Utf8Char c = decode_utf8(std::string_view(*text).substr(at));
      const std::size_t next = at + static_cast<std::size_t>(c.num_bytes);
      if (!is_white_space(c.code_point)) {
        begin = std::min(begin, at);
        end = std::max(end, next);
      }
      at = next;
    }
    *text = begin < end ? text->substr(begin, end - begin) : std::string();
  }

 private:
  bool left_;
  bool right_;
};

class ReplaceTextStep final : public NormalizerStep {
 public:
  ReplaceTextStep(std::string from, std::string to) : from_(std::move(from)), to_(std::move(to)) {}

  void apply(std::string* text, RegexScratch* /*scratch*/) const override {
    std::string out;
    std::size_t done = 0;
    for (std::size_t at = text->find(from_); at != std::string::npos;
         at = text->find(from_, done)) {
      out.append(*text, done, at - done).append(to_);
      done = at + from_.size();
    }
    out.append(*text, done);
    *text = std::move(out);
  }

 private:
  std::string from_;
  std::string to_;
};

class ReplaceRegexStep final : public NormalizerStep {
 public:
  ReplaceRegexStep(Regex from, std::string to) : from_(std::move(from)), to_(std::move(to)) {}

  void apply(std::string* text, RegexScratch* scratch) const override {
    std::string out;
    std::size_t done = 0;
    while (const auto match = from_.find(*text, done, scratch)) {
      out.append(*text, done, match->begin - done).append(to_);
      done = match->end;
    }
    out.append(*text, done);
    *text = std::move(out);
  }

 private:
  Regex from_;
  std::string to_;
};

// The package looks up whole grapheme clusters of fewer than 6 bytes first, then single
// characters, and takes the shortest entry that is a prefix; the rest of such a cluster is lost.
class CharsmapStep final : public NormalizerStep {
 public:
  explicit CharsmapStep(Charsmap map) : map_(std::move(map)) {}

  void apply(std::string* text, RegexScratch* /*scratch*/) const override {
    constexpr std::size_t kMaxCluster = 5;
    std::string out;
    for (std::string_view rest = *text; !rest.empty();) {
      const std::size_t len = grapheme_len(rest);
      const std::string_view cluster = rest.substr(0, len);
      const Charsmap::Match match =
          len <= kMaxCluster ? map_.shortest_match(cluster) : Charsmap::Match{};
      if (match.num_bytes > 0) {
        out.append(match.replacement);
      } else {
        put_characters(cluster, &out);
      }
      rest.remove_prefix(len);
    }
    *text = to_valid_utf8(out);
  }

 private:
  void put_characters(std::string_view cluster, std::string* out) const {
    while (!cluster.empty()) {
      const auto len = static_cast<std::size_t>(decode_utf8(cluster).num_bytes);
      const Charsmap::Match match = map_.shortest_match(cluster.substr(0, len));
      out->append(match.num_bytes > 0 ? match.replacement : cluster.substr(0, len));
      cluster.remove_prefix(len);
    }
  }

  Charsmap map_;
};

class BertStep final : public NormalizerStep {
 public:
  explicit BertStep(const BertTextOptions& options) : options_(options) {}

  void apply(std::string* text, RegexScratch* /*scratch*/) const override {
    *text = normalize_bert(*text, options_);
  }

 private:
  BertTextOptions options_;
};

using StepPtr = std::unique_ptr<const NormalizerStep>;

// Bytes a Replace may make of one byte. The product over all steps is limited, so that a file
// cannot turn a short text into a huge one.
std::int64_t growth_of(const Json& config) {
  const Json* content = config.find("content");
  if (content == nullptr || !content->is_string()) {
    return 1;
  }
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(content->as_string().size()));
}

Result<StepPtr> make_replace(const Json& config) {
  PLUMB_ASSIGN(std::string to, string_field(config, "content"));
  PLUMB_ASSIGN(JsonPattern pattern, pattern_field(config, "pattern"));
  if (!pattern.is_regex) {
    if (pattern.text.empty()) {
      return Status{Code::kInvalidArgument, "normalizer Replace: the pattern is empty"};
    }
    return StepPtr(std::make_unique<ReplaceTextStep>(std::move(pattern.text), std::move(to)));
  }
  PLUMB_ASSIGN(Regex regex, Regex::compile(pattern.text));
  return StepPtr(std::make_unique<ReplaceRegexStep>(std::move(regex), std::move(to)));
}

Result<StepPtr> make_charsmap(const Json& config) {
  PLUMB_ASSIGN(const std::string text, string_field(config, "precompiled_charsmap"));
  std::string bytes;
  if (!decode_base64(text, &bytes)) {
    return Status{Code::kInvalidArgument, "precompiled_charsmap is not base64"};
  }
  PLUMB_ASSIGN(Charsmap map, Charsmap::create(bytes));
  return StepPtr(std::make_unique<CharsmapStep>(std::move(map)));
}

StepPtr make_bert(const Json& config) {
  BertTextOptions options;
  options.clean_text = bool_field(config, "clean_text", true);
  options.space_cjk = bool_field(config, "handle_chinese_chars", true);
  options.lowercase = bool_field(config, "lowercase", true);
  options.strip_accents = bool_field(config, "strip_accents", options.lowercase);  // null: the same
  return std::make_unique<BertStep>(options);
}

std::optional<UnicodeForm> form_of(std::string_view type) {
  if (type == "NFC") {
    return UnicodeForm::kNfc;
  }
  if (type == "NFD") {
    return UnicodeForm::kNfd;
  }
  if (type == "NFKC") {
    return UnicodeForm::kNfkc;
  }
  return type == "NFKD" ? std::optional(UnicodeForm::kNfkd) : std::nullopt;
}

Result<StepPtr> make_step(const Json& config) {
  PLUMB_ASSIGN(const std::string type, string_field(config, "type"));
  if (const auto form = form_of(type)) {
    return StepPtr(std::make_unique<FormStep>(*form));
  }
  if (type == "Lowercase") {
    return StepPtr(std::make_unique<LowercaseStep>());
  }
  if (type == "StripAccents") {
    return StepPtr(std::make_unique<StripAccentsStep>());
  }
  if (type == "Strip") {
    return StepPtr(std::make_unique<StripStep>(bool_field(config, "strip_left", true),
                                               bool_field(config, "strip_right", true)));
  }
  if (type == "Prepend") {
    PLUMB_ASSIGN(std::string prefix, string_field(config, "prepend"));
    constexpr std::size_t kMaxPrefix = 64;
    if (prefix.size() > kMaxPrefix) {
      return Status{Code::kUnsupported, "normalizer Prepend: the prefix is too long"};
    }
    return StepPtr(std::make_unique<PrependStep>(std::move(prefix)));
  }
  if (type == "Replace") {
    return make_replace(config);
  }
  if (type == "BertNormalizer") {
    return make_bert(config);
  }
  if (type == "Precompiled") {
    return make_charsmap(config);
  }
  return Status{Code::kUnsupported, "normalizer '" + type + "' is not supported"};
}

}  // namespace

Result<Normalizer> Normalizer::create(const Json& config) {
  Normalizer normalizer;
  PLUMB_ASSIGN(const std::vector<const Json*> list, flatten_sequence(config, "normalizers"));
  constexpr std::int64_t kMaxGrowth = 4096;
  std::int64_t growth = 1;
  for (const Json* entry : list) {
    growth *= growth_of(*entry);
    if (growth > kMaxGrowth) {
      return Status{Code::kUnsupported, "normalizer: the replacements are too long"};
    }
    PLUMB_ASSIGN(StepPtr step, make_step(*entry));
    normalizer.steps_.push_back(std::move(step));
  }
  return normalizer;
}

void Normalizer::apply(std::string* text, RegexScratch* scratch) const {
  for (const auto& step : steps_) {
    step->apply(text, scratch);
  }
}

}  // namespace plumb
