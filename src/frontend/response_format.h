// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/chat_request.h"
#include "api/chat_style.h"
#include "api/choice.h"
#include "api/completion_request.h"
#include "api/error.h"
#include "api/generation_params.h"
#include "api/response_envelope.h"
#include "base/json.h"
#include "frontend/generation.h"

namespace plumb {

/// Everything one choice has said, kept until a response that is not streamed is complete.
struct ChoiceRecord {
  std::vector<AnswerPart> parts;
  std::vector<TokenText> prompt;  ///< with log probabilities, when they were asked for
  std::vector<TokenText> tokens;
  std::optional<ChoiceEnd> end;

  void append(ChoiceDelta delta);
};

/// How the chunks of a stream stand on the wire.
enum class StreamFraming : unsigned char {
  kEvents,       ///< server-sent events without names, [DONE] at the end
  kBareEvents,   ///< server-sent events without names, and nothing at the end
  kNamedEvents,  ///< server-sent events, each under the name that its member "type" says
  kJsonLines,    ///< one object a line, and nothing else
};

/// How a kind of response looks: as chunks, or whole.
///
/// Order of a stream: start() of every choice, then begin(), prompt(), delta() and end() of each as
/// they come (begin() of the first may precede start()), finish() after the last; fail() may end it
/// at any time. A cumulative one gives what it has of a choice by newest(). Thread: the server's
/// loop.
class ResponseFormat {
 public:
  virtual ~ResponseFormat() = default;

  virtual StreamFraming framing() const { return StreamFraming::kEvents; }

  /// What keeps a silent stream open, as bytes of the framing; empty for nothing.
  virtual std::string heartbeat() const { return ":\n\n"; }

  /// The tokens of a choice's prompt and those that the cache held are known: before its first
  /// delta.
  virtual void begin(std::int64_t /*index*/, const Usage& /*prompt*/) {}

  /// Whether it keeps itself what the choices say: then it is given their deltas and ends even
  /// where the response is not streamed, and complete() gets no parts.
  virtual bool gathers() const { return false; }

  /// Whether a chunk holds all that its choice has said so far. Then prompt(), delta() and end()
  /// only take in what is new, for newest() to tell.
  virtual bool is_cumulative() const { return false; }

  /// The text of the chunk with all that a choice has said; empty if there is none to be shown. It
  /// makes all older ones needless: to be asked for when it can be sent, and after end() at least.
  /// Requires is_cumulative().
  virtual std::string newest(std::int64_t /*index*/) { return {}; }

  /// Chunks that open a choice, if the format has some.
  virtual std::vector<Json> start(std::int64_t index) = 0;
  /// The prompt's tokens with log probabilities (echo).
  virtual std::optional<Json> prompt(std::int64_t index, std::vector<TokenText> tokens) = 0;
  /// The chunks that a delta gives, if any.
  virtual std::vector<Json> delta(const ChoiceDelta& delta) = 0;
  virtual std::vector<Json> end(const ChoiceEnd& end) = 0;
  /// Chunks behind the end of the last choice.
  virtual std::vector<Json> finish(const std::vector<ChoiceRecord>& choices) = 0;
  /// The whole response in one object.
  virtual Json complete(std::vector<ChoiceRecord> choices) = 0;

  /// The whole response that tells of a failure, if the dialect has one.
  virtual std::optional<Json> failed(const ApiError& /*error*/) { return std::nullopt; }

  /// The chunks that end a stream which has begun with an error; `body` is the error as the route's
  /// dialect tells it.
  virtual std::vector<Json> fail(const ApiError& error, Json body);
};

/// Adds to an envelope what the request asked to be told about its choices.
void describe_choices(const GenerationParams& params, const std::vector<ChoiceRequest>& choices,
                      std::size_t choices_per_prompt, ResponseEnvelope* envelope);

std::unique_ptr<ResponseFormat> make_chat_format(ResponseEnvelope envelope,
                                                 const ChatRequest& request,
                                                 const ChatStyle& style = {});
/// `prompt_texts`: text of each prompt, for echo.
std::unique_ptr<ResponseFormat> make_completion_format(ResponseEnvelope envelope,
                                                       const CompletionRequest& request,
                                                       std::vector<std::string> prompt_texts);

}  // namespace plumb
