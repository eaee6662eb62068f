// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "api/choice.h"
#include "api/response_envelope.h"
#include "base/json.h"

namespace plumb {

/// Turns an answer into the objects of Anthropic's Messages: events of a stream, or one message at
/// the end.
///
/// Stream order: message_start with the first delta or the end, blocks one after the other,
/// message_delta with the end, then stop(). Thread: any single one.
class MessagesResponse {
 public:
  struct Options {
    bool omits_thinking = false;  ///< blocks of thinking come without their text
    bool is_clamped = false;      ///< the context ends the answer before max_tokens would
    std::string signature_key;    ///< signs the blocks of thinking
    Usage prompt{};               ///< its tokens; see begin()
  };

  MessagesResponse(ResponseEnvelope envelope, Options options)
      : envelope_(std::move(envelope)), options_(std::move(options)) {}

  /// What the cache held of the prompt is known: before the first delta.
  void begin(const Usage& prompt) { options_.prompt = prompt; }

  std::vector<Json> delta(const ChoiceDelta& delta);
  std::vector<Json> end(const ChoiceEnd& end);
  Json stop() const;

  /// The whole message.
  Json complete(const std::vector<AnswerPart>& answer, const ChoiceEnd& end) const;

 private:
  enum class Block : unsigned char { kNone, kThinking, kText, kToolUse };

  void start(std::vector<Json>* events);
  void open(Block kind, JsonObject block, std::vector<Json>* events);
  void close(std::vector<Json>* events);
  void add(JsonObject delta, std::vector<Json>* events) const;
  void add_call(const ToolCallDelta& call, std::vector<Json>* events);
  JsonObject message(JsonArray content, Json reason, Json sequence, Json usage) const;
  std::string signature(const std::string& thinking) const;
  const char* stop_reason(const ChoiceEnd& end) const;

  ResponseEnvelope envelope_;
  Options options_;
  bool has_started_ = false;
  Block block_ = Block::kNone;
  std::int64_t index_ = 0;  // of the block
  std::string thinking_;    // of the block
  std::string held_input_;  // of a call: no more than the brace that opens it
  bool has_input_ = false;
};

}  // namespace plumb
