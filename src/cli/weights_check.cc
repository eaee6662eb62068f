// SPDX-License-Identifier: Apache-2.0
#include "cli/weights_check.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "checkpoint/compare.h"
#include "cli/loaded_model.h"
#include "model/families.h"

namespace plumb {
namespace {

Status differs(const std::string& what, const std::string& is, const std::string& expected) {
  return {Code::kInvalidArgument, "other weights must be of the same model: " + what + " is " + is +
                                      ", expected " + expected};
}

bool is_integer(double value) {
  constexpr double kMaxWhole = 1e15;
  return std::abs(value) < kMaxWhole && std::trunc(value) == value;
}

std::string number_text(double value) {
  return is_integer(value) ? std::to_string(static_cast<std::int64_t>(value))
                           : to_text(Json(value));
}

struct Number {
  const char* name;
  double served;
  double found;

  /// Fractions as floats, which is what models compute with and GGUF files hold.
  bool is_same() const {
    return served == found ||
           (!is_integer(served) && static_cast<float>(served) == static_cast<float>(found));
  }
};

Status check_rope(const char* name, const RopeConfig& served, const RopeConfig& found) {
  const Number numbers[] = {
      {"theta", served.theta, found.theta},
      {"rotary_dim", static_cast<double>(served.rotary_dim), static_cast<double>(found.rotary_dim)},
      {"style", static_cast<double>(served.style), static_cast<double>(found.style)},
      {"scaling", static_cast<double>(served.scaling), static_cast<double>(found.scaling)},
      {"factor", served.factor, found.factor}};
  for (const Number& number : numbers) {
    if (!number.is_same()) {
      return differs(std::string(name) + "." + number.name, number_text(number.found),
                     number_text(number.served));
    }
  }
  return {};
}

Status check_config(const ModelConfig& served, const ModelConfig& found) {
  if (served.family != found.family) {
    return differs("family", found.family, served.family);
  }
  const auto number = [](std::int64_t n) { return static_cast<double>(n); };
  const Number numbers[] = {
      {"hidden_size", number(served.hidden_size), number(found.hidden_size)},
      {"num_layers", number(served.num_layers), number(found.num_layers)},
      {"num_q_heads", number(served.num_q_heads), number(found.num_q_heads)},
      {"num_kv_heads", number(served.num_kv_heads), number(found.num_kv_heads)},
      {"head_dim", number(served.head_dim), number(found.head_dim)},
      {"intermediate_size", number(served.intermediate_size), number(found.intermediate_size)},
      {"vocab_size", number(served.vocab_size), number(found.vocab_size)},
      {"max_context_len", number(served.max_context_len), number(found.max_context_len)},
      {"sliding_window", number(served.sliding_window), number(found.sliding_window)},
      {"rms_norm_eps", served.rms_norm_eps, found.rms_norm_eps},
      {"norm_weight_offset", served.norm_weight_offset, found.norm_weight_offset},
      {"attention_scale", served.attention_scale, found.attention_scale},
      {"embedding_scale", served.embedding_scale, found.embedding_scale},
      {"activation", number(static_cast<int>(served.activation)),
       number(static_cast<int>(found.activation))}};
  for (const Number& field : numbers) {
    if (!field.is_same()) {
      return differs(field.name, number_text(field.found), number_text(field.served));
    }
  }
  const auto windows_of = [](const ModelConfig& config) {  // none is also an empty list
    std::vector<bool> windows(config.is_window_layer.begin(), config.is_window_layer.end());
    windows.resize(static_cast<std::size_t>(config.num_layers));
    return windows;
  };
  if (windows_of(served) != windows_of(found)) {
    return differs("the list of layers with a window", "another one", "the same");
  }
  PLUMB_RETURN_IF_ERROR(check_rope("rope", served.rope, found.rope));
  return check_rope("local_rope", served.local_rope, found.local_rope);
}

Status check_vocabulary(const Tokenizer& served, const Tokenizer& found) {
  if (served.vocab_size() != found.vocab_size()) {
    return differs("the number of tokens", std::to_string(found.vocab_size()),
                   std::to_string(served.vocab_size()));
  }
  for (TokenId id = 0; id < served.vocab_size(); ++id) {
    if (served.token_text(id) != found.token_text(id)) {
      return differs("token " + std::to_string(id),
                     to_text(Json(std::string(found.token_text(id).substr(0, 64)))),
                     to_text(Json(std::string(served.token_text(id).substr(0, 64)))));
    }
  }
  if (served.end_of_generation() != found.end_of_generation()) {
    return differs("the list of tokens that end an answer", "another one", "the same");
  }
  return {};
}

}  // namespace

Status check_interchangeable(const Checkpoint& served, const Tokenizer& tokenizer,
                             const Checkpoint& found) {
  PLUMB_ASSIGN(const ModelConfig served_config, read_config(served));
  PLUMB_ASSIGN(const ModelConfig found_config, read_config(found));
  PLUMB_RETURN_IF_ERROR(check_config(served_config, found_config));
  if (Status status = check_same_tensors(served, found); !status.ok()) {
    return std::move(status).with("other weights must be of the same model");
  }
  PLUMB_ASSIGN(const std::unique_ptr<Tokenizer> other, load_tokenizer(found));
  return check_vocabulary(tokenizer, *other);
}

}  // namespace plumb
