// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/chat_request.h"
#include "api/completion_request.h"
#include "api/error.h"
#include "api/generation_params.h"
#include "base/json.h"
#include "base/mutex.h"
#include "base/token_id.h"
#include "frontend/generation.h"
#include "frontend/model_output.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/tokenizer.h"

namespace plumb {

/// What a checkpoint says of itself, for routes that describe the model.
struct ModelDescription {
  std::string family;         ///< "llama"
  std::string format;         ///< "gguf", "safetensors"
  std::string quantization;   ///< type of most of its bytes: "Q4_K", "BF16"
  std::string digest;         ///< of its content: 64 hexadecimal digits
  std::string license;        ///< empty where it says none
  std::string chat_template;  ///< the source; empty without one
  JsonArray architectures;    ///< names of Hugging Face classes, or the family
  JsonObject metadata;        ///< under GGUF's keys; null for lists
};

/// What the front end knows of the served model.
struct ServedModelFacts {
  std::string served_name;
  std::string model_path;   ///< for the operator; not shown to clients
  std::string fingerprint;  ///< "plumb-0.1.0-1a2b3c4d"
  /// Identity of weights and cache format: what decides the keys and values of a prompt.
  std::string weights_version;
  std::int64_t created = 0;  ///< Unix seconds of the start
  std::int64_t context_len = 0;
  std::int64_t kv_tokens = 0;  ///< that the KV cache holds; 0 = not known
  std::int64_t num_parameters = 0;
  std::int64_t weight_bytes = 0;
  std::int64_t trained_context_len = 0;
  SamplingDefaults defaults;
  bool echoes = false;  ///< answers are the text of the last message or of the prompt
  ModelDescription description{};
};

/// What is told of the weights in use.
struct ServedWeights {
  std::string version = "default";  ///< counts the updates: "1", "2" …
  std::string fingerprint;          ///< "plumb-0.1.0-1a2b3c4d"
  std::string digest;               ///< of their content: 64 hexadecimal digits
};

/// Who may reuse the cached prefix of a request; empty parts play no part.
struct CacheScope {
  std::string salt;       ///< the request's own
  std::string principal;  ///< the server's, for the key that asks
  std::string request;    ///< of this request alone
};

/// Text on one side, token requests on the other: renders templates, tokenises, checks lengths.
/// Thread: any (immutable but for the weights).
class ServedModel {
 public:
  /// `chat_template` may be null: chat requests are then refused.
  /// `template_source` is its text, by which the formats of answers are found.
  ServedModel(ServedModelFacts facts, std::unique_ptr<Tokenizer> tokenizer,
              std::unique_ptr<ChatTemplate> chat_template, std::string_view template_source = "",
              const ParserOptions& parsers = {});

  const ServedModelFacts& facts() const { return facts_; }

  ServedWeights weights() const;
  /// Tells of other weights from now on; they are in use already.
  void set_weights(ServedWeights weights);

  const Tokenizer& tokenizer() const { return *tokenizer_; }

  /// How its answers are read.
  const ModelOutput& output() const { return output_; }

  bool has_chat_template() const { return chat_template_ != nullptr; }

  /// Whether the model can be told of tools and its calls be read.
  bool can_call_tools() const;

  /// Token ids of a rendered conversation; user text never becomes a control token.
  std::variant<std::vector<TokenId>, ApiError> chat_prompt(const ChatRequest& request) const;
  /// How many tokens the prompt of chat_choices() has, also where they would not fit.
  std::variant<std::int64_t, ApiError> count_chat_tokens(const ChatRequest& request) const;
  /// The rendered conversation itself.
  std::variant<std::string, ApiError> chat_text(const ChatRequest& request) const;

  /// The choices of a chat completion, ready for the engine.
  std::variant<std::vector<ChoiceRequest>, ApiError> chat_choices(
      const ChatRequest& request, const std::string& request_id) const;
  /// The choices of a text completion: `best_of` for each prompt. Once *is_unwanted (may be null)
  /// is set, no further prompt is tokenised and the result is an error.
  std::variant<std::vector<ChoiceRequest>, ApiError> completion_choices(
      const CompletionRequest& request, const std::string& request_id,
      const std::atomic<bool>* is_unwanted = nullptr) const;

  /// One prompt of its parts, of which the first one begins the text. A single part stays as it is.
  /// Errors  context_length: more bytes than fit.
  std::variant<Prompt, ApiError> joined_prompt(std::vector<Prompt> parts) const;

  /// The part of the prefix cache in which requests of that scope share.
  std::string namespace_of(const CacheScope& scope) const;

  /// The text of each prompt, for echo; empty without it.
  std::vector<std::string> prompt_texts(const CompletionRequest& request) const;

 private:
  std::optional<ApiError> check_bytes(const char* param, std::size_t num_bytes) const;
  std::optional<ApiError> check_length(const char* param, std::int64_t prompt_len,
                                       std::int64_t max_tokens, std::int64_t context_len) const;
  std::int64_t clamped(const GenerationParams& params, std::int64_t prompt_len,
                       std::int64_t context_len) const;
  std::optional<ApiError> put_behind(const std::vector<TokenId>& context,
                                     std::vector<TokenId>* prompt) const;
  std::optional<ApiError> fill_sampling(const GenerationParams& params,
                                        SamplingParams* sampling) const;
  std::variant<std::vector<TokenId>, ApiError> completion_prompt(
      const Prompt& prompt, const CompletionRequest& request) const;
  std::variant<ChoiceRequest, ApiError> make_choice(const char* param,
                                                    const GenerationParams& params,
                                                    std::vector<TokenId> prompt,
                                                    const std::string& request_id) const;
  ChatInput inputs_of(const ChatRequest& request) const;
  void add_script(std::string_view text, SamplingParams* sampling) const;

  ServedModelFacts facts_;
  mutable Mutex weights_mutex_;
  ServedWeights weights_ PLUMB_GUARDED_BY(weights_mutex_);
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<ChatTemplate> chat_template_;
  ModelOutput output_;
  std::int64_t longest_token_bytes_ = 1;
};

}  // namespace plumb
