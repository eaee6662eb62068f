// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/choice.h"
#include "api/custom_input.h"
#include "api/error.h"
#include "api/response_envelope.h"
#include "api/responses_request.h"
#include "api/responses_tools.h"
#include "base/json.h"

namespace plumb {

/// Makes text unreadable to all but this server, for encrypted_content.
using SealText = std::function<std::string(std::string_view text)>;

/// How a response is told.
struct ResponsesStyle {
  bool shows_logprobs = false;
  bool shows_summary = false;  ///< reasoning once more as its own summary
  SealText seal;               ///< empty: reasoning has no encrypted_content
};

/// Builds one response out of what the model says: each item once, told by the events of a stream
/// and by the response alike.
///
/// Order: begin(), delta()…, end(), finish(); fail() or cancel() may come at any time instead.
/// Each returns the events that it gives, numbered without a gap. Thread: any single one.
class ResponsesAssembler {
 public:
  ResponsesAssembler(ResponseEnvelope envelope, JsonObject echo, ResponsesTools tools,
                     ResponsesStyle style);

  const std::string& id() const { return envelope_.id; }

  /// response.created, for a response in the background also response.queued, and
  /// response.in_progress.
  std::vector<Json> begin();
  std::vector<Json> delta(const ChoiceDelta& delta);
  /// Closes what is open.
  std::vector<Json> end(const ChoiceEnd& end);
  /// response.completed or response.incomplete. `now`: Unix seconds.
  std::vector<Json> finish(std::int64_t now);
  /// response.failed. Behind finish() it takes the place of that event, which nobody was told.
  std::vector<Json> fail(const ApiError& error);
  /// response.failed with the status "cancelled".
  std::vector<Json> cancel();

  /// The response as it is now.
  Json response() const;

  /// Its items so far that are whole.
  const JsonArray& output() const { return output_; }

  std::string_view status() const { return status_; }

 private:
  enum class Open : unsigned char { kNothing, kMessage, kReasoning, kFunction, kCustom };

  Json event(const char* type, JsonObject members);
  void tell_response(const char* type);
  void open_item(Open kind, JsonObject item);
  void open_message();
  void open_reasoning();
  void open_call(const ToolCallDelta& call);
  void close_item(const char* status);
  void close_message();
  void close_reasoning();
  void close_call();
  void add_text(const std::string& text, const std::vector<TokenText>& tokens);
  void add_reasoning(const std::string& text);
  void add_arguments(const std::string& arguments);
  void tell_text_delta(const char* type, const char* index_name, const std::string& delta);
  JsonObject place(const char* index_name) const;
  JsonArray logprobs(const std::vector<TokenText>& tokens, bool with_bytes) const;

  ResponseEnvelope envelope_;
  JsonObject echo_;
  ResponsesTools tools_;
  ResponsesStyle style_;
  std::string status_ = "in_progress";
  std::optional<std::int64_t> completed_at_;
  Json error_;
  Json incomplete_details_;
  Json usage_;
  JsonArray output_;  // whole items
  std::int64_t next_event_ = 0;
  std::vector<Json> events_;  // of the call that runs

  Open open_ = Open::kNothing;
  JsonObject item_;                // the open one, as it was told when it was added
  std::string text_;               // of the open item
  std::vector<TokenText> tokens_;  // of the open message
  std::string held_;               // blanks before a message that may never come
  std::vector<TokenText> held_tokens_;
  CustomInputReader custom_input_;
  bool is_call_whole_ = false;
  bool is_finished_ = false;
};

/// The members of usage as this API names them.
Json responses_usage(const Usage& usage);

}  // namespace plumb
