// SPDX-License-Identifier: Apache-2.0
#include "check/logits.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>

#include "base/file.h"

namespace plumb {
namespace {

double log_sum_exp(std::span<const float> x) {
  const float max = *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (const float value : x) {
    sum += std::exp(static_cast<double>(value) - static_cast<double>(max));
  }
  return static_cast<double>(max) + std::log(sum);
}

// Two most likely tokens of a position.
struct Top2 {
  std::size_t first = 0;
  float margin = 0;
};

Top2 top2(std::span<const float> x) {
  Top2 top;
  float second = -std::numeric_limits<float>::infinity();
  for (std::size_t i = 1; i < x.size(); ++i) {
    if (x[i] > x[top.first]) {
      second = x[top.first];
      top.first = i;
    } else {
      second = std::max(second, x[i]);
    }
  }
  top.margin = x[top.first] - second;
  return top;
}

class Comparison {
 public:
  Comparison(std::span<const TokenId> ids, std::span<const float> reference,
             std::int64_t vocab_size)
      : ids_(ids), reference_(reference), vocab_size_(static_cast<std::size_t>(vocab_size)) {}

  void take(std::int64_t position, std::span<const float> got) {
    const double normaliser = log_sum_exp(got);
    const auto at = static_cast<std::size_t>(position);
    ++report.num_positions;
    if (at + 1 < ids_.size()) {
      loss_ += normaliser - static_cast<double>(got[static_cast<std::size_t>(ids_[at + 1])]);
    }
    if (!reference_.empty()) {
      compare(position, reference_.subspan(at * vocab_size_, vocab_size_), got, normaliser);
    }
  }

  LogitsReport finish() {
    const double num_targets =
        static_cast<double>(std::max<std::int64_t>(report.num_positions - 1, 1));
    report.perplexity = std::exp(loss_ / num_targets);
    report.has_reference = !reference_.empty();
    if (report.has_reference) {
      report.reference_perplexity = std::exp(reference_loss_ / num_targets);
      report.mean_kl = kl_sum_ / static_cast<double>(report.num_positions);
    }
    return report;
  }

 private:
  void compare(std::int64_t position, std::span<const float> expected, std::span<const float> got,
               double normaliser) {
    const double expected_normaliser = log_sum_exp(expected);
    double max_error = 0;
    double max_magnitude = 0;
    double kl = 0;
    for (std::size_t v = 0; v < vocab_size_; ++v) {
      const auto e = static_cast<double>(expected[v]);
      const auto g = static_cast<double>(got[v]);
      max_error = std::max(max_error, std::abs(g - e));
      max_magnitude = std::max(max_magnitude, std::abs(e));
      const double log_p = e - expected_normaliser;
      kl += std::exp(log_p) * (log_p - (g - normaliser));
    }
    const double relative = max_error / max_magnitude;
    if (!(relative <= report.max_relative_error)) {
      report.max_relative_error = relative;
      report.worst_position = position;
    }
    kl_sum_ += kl;
    report.max_kl = std::max(report.max_kl, kl);
    const auto at = static_cast<std::size_t>(position);
    if (at + 1 < ids_.size()) {
      reference_loss_ += expected_normaliser -
                         static_cast<double>(expected[static_cast<std::size_t>(ids_[at + 1])]);
    }
    const Top2 top = top2(expected);
    if (top.margin > 0.5F) {
      ++report.num_clear;
      report.num_clear_equal += top2(got).first == top.first ? 1 : 0;
    }
  }

  std::span<const TokenId> ids_;
  std::span<const float> reference_;
  std::size_t vocab_size_;
  double loss_ = 0;
  double reference_loss_ = 0;
  double kl_sum_ = 0;

 public:
  LogitsReport report;
};

}  // namespace

Result<std::vector<TokenId>> read_ids(const std::string& path) {
  PLUMB_ASSIGN(const std::string content, read_file(path));
  const Result<Json> json = parse_json(content);
  if (!json.ok()) {
    return json.status().with(path);
  }
  std::vector<TokenId> ids;
  for (const Json& item : json.value().is_array() ? json.value().as_array() : JsonArray()) {
    std::int64_t id = 0;
    if (!item.to_int64(&id) || id < 0 || id > std::numeric_limits<TokenId>::max()) {
      return Status{Code::kInvalidArgument, path + ": expected an array of token ids"};
    }
    ids.push_back(static_cast<TokenId>(id));
  }
  if (ids.empty()) {
    return Status{Code::kInvalidArgument, path + ": expected an array of at least one token id"};
  }
  return ids;
}

Result<LogitsReport> check_logits(Forward& forward, std::span<const TokenId> ids,
                                  std::int64_t vocab_size, const LogitsFiles& files) {
  for (const TokenId id : ids) {
    if (id >= vocab_size) {
      return Status{
          Code::kInvalidArgument,
          "token id " + std::to_string(id) + ", expected less than " + std::to_string(vocab_size)};
    }
  }
  MappedFile mapped;
  std::span<const float> reference;
  if (!files.reference.empty()) {
    PLUMB_ASSIGN(mapped, MappedFile::open(files.reference));
    const std::size_t expected = ids.size() * static_cast<std::size_t>(vocab_size) * sizeof(float);
    if (mapped.bytes().size() != expected) {
      return Status{Code::kInvalidArgument,
                    files.reference + ": has " + std::to_string(mapped.bytes().size()) +
                        " bytes, expected " + std::to_string(expected) + " for " +
                        std::to_string(ids.size()) + " positions"};
    }
    reference = {reinterpret_cast<const float*>(mapped.bytes().data()), expected / sizeof(float)};
  }
  std::optional<AppendFile> dump;
  if (!files.dump.empty()) {
    PLUMB_ASSIGN(dump, AppendFile::open(files.dump));
    PLUMB_RETURN_IF_ERROR(dump->truncate(0));
  }
  Comparison comparison(ids, reference, vocab_size);
  Status written;
  PLUMB_RETURN_IF_ERROR(forward.run(ids, [&](std::int64_t position, std::span<const float> logits) {
    comparison.take(position, logits);
    if (dump.has_value() && written.ok()) {
      written = dump->append({reinterpret_cast<const char*>(logits.data()), logits.size_bytes()});
    }
  }));
  PLUMB_RETURN_IF_ERROR(written);
  return comparison.finish();
}

Json to_json(const LogitsReport& r) {
  JsonObject out{{"num_positions", r.num_positions}, {"perplexity", r.perplexity}};
  if (r.has_reference) {
    out.append("reference_perplexity", r.reference_perplexity);
    out.append("max_relative_error", r.max_relative_error);
    out.append("worst_position", r.worst_position < 0 ? Json() : Json(r.worst_position));
    out.append("mean_kl", r.mean_kl);
    out.append("max_kl", r.max_kl);
    out.append("num_clear", r.num_clear);
    out.append("num_clear_equal", r.num_clear_equal);
  }
  return out;
}

std::string to_text(const LogitsReport& r) {
  char buffer[512];
  std::snprintf(buffer, sizeof buffer, "positions %lld, perplexity %.4f",
                static_cast<long long>(r.num_positions), r.perplexity);
  std::string text = buffer;
  if (r.has_reference) {
    const double share = r.num_clear > 0 ? 100.0 * static_cast<double>(r.num_clear_equal) /
                                               static_cast<double>(r.num_clear)
                                         : 100.0;
    const std::string worst =
        r.worst_position < 0 ? "" : " at position " + std::to_string(r.worst_position);
    std::snprintf(buffer, sizeof buffer,
                  "\nreference perplexity %.4f (%+.3f %%)\nmax |difference| / max |logit| %.3e%s\n"
                  "mean KL %.3e nat, max %.3e\nsame most likely token at %.2f %% of %lld positions "
                  "with a margin above 0.5 nat",
                  r.reference_perplexity, 100.0 * (r.perplexity / r.reference_perplexity - 1.0),
                  r.max_relative_error, worst.c_str(), r.mean_kl, r.max_kl, share,
                  static_cast<long long>(r.num_clear));
    text += buffer;
  }
  return text;
}

}  // namespace plumb
