// SPDX-License-Identifier: Apache-2.0
#include "sampling/logit_processor.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "sampling/logits_math.h"

namespace plumb {
namespace {

constexpr std::int64_t kMaxTokenIds = 1 << 20;
constexpr std::int64_t kMaxNgram = 64;
constexpr std::int64_t kMaxCount = std::int64_t{1} << 40;

// Reads the parameters of one processor; the first error sticks.
class ParamReader {
 public:
  ParamReader(const LogitProcessorSpec& spec, std::int64_t vocab_size)
      : spec_(spec), vocab_size_(vocab_size) {}

  std::optional<std::int64_t> integer(std::string_view name, std::int64_t min, std::int64_t max) {
    const Json* value = find(name);
    std::int64_t number = 0;
    if (value == nullptr) {
      return std::nullopt;
    }
    if (!value->to_int64(&number) || number < min || number > max) {
      fail(name, "is " + to_text(*value).substr(0, 32) + ", expected an integer from " +
                     std::to_string(min) + " to " + std::to_string(max));
      return std::nullopt;
    }
    return number;
  }

  std::optional<TokenId> token(std::string_view name) {
    const std::optional<std::int64_t> id = integer(name, 0, vocab_size_ - 1);
    return id ? std::optional(static_cast<TokenId>(*id)) : std::nullopt;
  }

  std::vector<TokenId> tokens(std::string_view name) {
    const Json* value = find(name);
    std::vector<TokenId> ids;
    if (value == nullptr) {
      return ids;
    }
    if (!value->is_array() || std::ssize(value->as_array()) > kMaxTokenIds) {
      fail(name, "must be an array of at most " + std::to_string(kMaxTokenIds) + " token ids");
      return ids;
    }
    for (const Json& item : value->as_array()) {
      std::int64_t id = 0;
      if (!item.to_int64(&id) || id < 0 || id >= vocab_size_) {
        fail(name, "holds " + to_text(item).substr(0, 32) + ", expected token ids from 0 to " +
                       std::to_string(vocab_size_ - 1));
        return ids;
      }
      ids.push_back(static_cast<TokenId>(id));
    }
    return ids;
  }

  void need(std::string_view name, bool is_there) {
    if (!is_there) {
      fail(name, "is missing");
    }
  }

  // The first error, or what was given and never asked for.
  Status finish() {
    for (const JsonMember& member : spec_.params) {
      if (std::find(read_.begin(), read_.end(), member.key) == read_.end()) {
        fail(member.key.substr(0, 64), "is not known");
      }
    }
    return error_;
  }

 private:
  const Json* find(std::string_view name) {
    read_.push_back(name);
    const Json* value = spec_.params.find(name);
    return value == nullptr || value->is_null() ? nullptr : value;
  }

  void fail(std::string_view name, const std::string& what) {
    if (error_.ok()) {
      error_ = {Code::kInvalidArgument, "custom_logit_processor " + spec_.name + ": parameter '" +
                                            std::string(name) + "' " + what};
    }
  }

  const LogitProcessorSpec& spec_;
  std::int64_t vocab_size_;
  std::vector<std::string_view> read_;
  Status error_;
};

class ThinkingBudget final : public LogitProcessor {
 public:
  explicit ThinkingBudget(ParamReader& params)
      : budget_(params.integer("budget", 0, kMaxCount)),
        start_(params.token("start_token_id")),
        end_(params.token("end_token_id")) {
    params.need("budget", budget_.has_value());
    params.need("end_token_id", end_.has_value());
  }

  void apply(const LogitContext& context, std::span<float> logits) const override {
    if (num_thought(context) < *budget_) {
      return;
    }
    const auto end = static_cast<std::size_t>(*end_);
    const float kept = logits[end];
    std::fill(logits.begin(), logits.end(), kNeverDrawn);
    logits[end] = kept;
  }

 private:
  // Tokens of the thought under way; -1 outside of one.
  std::int64_t num_thought(const LogitContext& context) const {
    const std::span<const TokenId> tokens = start_ ? context.tokens : context.output();
    for (std::size_t i = tokens.size(); i > 0; --i) {
      if (tokens[i - 1] == *end_) {
        return -1;
      }
      if (tokens[i - 1] == start_) {
        return std::ssize(tokens) - static_cast<std::int64_t>(i);
      }
    }
    return start_ ? -1 : std::ssize(tokens);
  }

  std::optional<std::int64_t> budget_;
  std::optional<TokenId> start_;
  std::optional<TokenId> end_;
};

class AllowList final : public LogitProcessor {
 public:
  explicit AllowList(ParamReader& params) : ids_(params.tokens("token_ids")) {
    params.need("token_ids", !ids_.empty());
    std::sort(ids_.begin(), ids_.end());
  }

  void apply(const LogitContext&, std::span<float> logits) const override {
    auto next = ids_.begin();
    for (std::size_t i = 0; i < logits.size(); ++i) {
      while (next != ids_.end() && static_cast<std::size_t>(*next) < i) {
        ++next;
      }
      if (next == ids_.end() || static_cast<std::size_t>(*next) != i) {
        logits[i] = kNeverDrawn;
      }
    }
  }

 private:
  std::vector<TokenId> ids_;
};

class NgramBan final : public LogitProcessor {
 public:
  explicit NgramBan(ParamReader& params)
      : size_(params.integer("ngram_size", 1, kMaxNgram)),
        window_(params.integer("window_size", 1, kMaxCount)),
        whitelist_(params.tokens("whitelist_token_ids")) {
    params.need("ngram_size", size_.has_value());
    std::sort(whitelist_.begin(), whitelist_.end());
  }

  void apply(const LogitContext& context, std::span<float> logits) const override {
    std::span<const TokenId> seen = context.output();
    if (window_ && std::ssize(seen) > *window_) {
      seen = seen.last(static_cast<std::size_t>(*window_));
    }
    const auto prefix_len = static_cast<std::size_t>(*size_ - 1);
    if (seen.size() < prefix_len + 1) {
      return;
    }
    const std::span<const TokenId> prefix = seen.last(prefix_len);
    for (std::size_t i = 0; i + prefix_len < seen.size(); ++i) {
      const TokenId next = seen[i + prefix_len];
      if (std::equal(prefix.begin(), prefix.end(), seen.begin() + static_cast<std::ptrdiff_t>(i)) &&
          !std::binary_search(whitelist_.begin(), whitelist_.end(), next)) {
        logits[static_cast<std::size_t>(next)] = kNeverDrawn;
      }
    }
  }

 private:
  std::optional<std::int64_t> size_;
  std::optional<std::int64_t> window_;
  std::vector<TokenId> whitelist_;
};

class Script final : public LogitProcessor {
 public:
  explicit Script(ParamReader& params)
      : ids_(params.tokens("token_ids")), end_(params.token("end_token_id")) {
    params.need("end_token_id", end_.has_value());
  }

  void apply(const LogitContext& context, std::span<float> logits) const override {
    const std::size_t num_said = context.output().size();
    const auto next = static_cast<std::size_t>(num_said < ids_.size() ? ids_[num_said] : *end_);
    const float kept = logits[next];
    if (kept > kNeverDrawn) {
      std::fill(logits.begin(), logits.end(), kNeverDrawn);
      logits[next] = kept;
    }
  }

 private:
  std::vector<TokenId> ids_;
  std::optional<TokenId> end_;
};

template <class Processor>
std::unique_ptr<LogitProcessor> make(ParamReader& params) {
  return std::make_unique<Processor>(params);
}

struct Entry {
  std::string_view name;
  std::unique_ptr<LogitProcessor> (*make)(ParamReader&);
};

constexpr std::array<Entry, 4> kRegistry{{{"thinking_budget", make<ThinkingBudget>},
                                          {"allow_list", make<AllowList>},
                                          {"ngram_ban", make<NgramBan>},
                                          {"script", make<Script>}}};

}  // namespace

Result<std::unique_ptr<LogitProcessor>> make_logit_processor(const LogitProcessorSpec& spec,
                                                             std::int64_t vocab_size) {
  for (const Entry& entry : kRegistry) {
    if (entry.name == spec.name) {
      ParamReader params(spec, vocab_size);
      std::unique_ptr<LogitProcessor> processor = entry.make(params);
      PLUMB_RETURN_IF_ERROR(params.finish());
      return processor;
    }
  }
  return Status{Code::kInvalidArgument, "custom_logit_processor '" + spec.name.substr(0, 64) +
                                            "' is not known, expected one of " +
                                            logit_processor_names()};
}

std::string logit_processor_names() {
  std::string names;
  for (const Entry& entry : kRegistry) {
    names += (names.empty() ? "" : ", ") + std::string(entry.name);
  }
  return names;
}

}  // namespace plumb
