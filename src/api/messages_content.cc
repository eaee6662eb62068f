// SPDX-License-Identifier: Apache-2.0
#include "api/messages_content.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace plumb {
namespace {

// Some clients begin the system prompt with a line whose check sum differs in every request, which
// would keep the prefix cache from finding anything.
constexpr std::string_view kBillingLine = "x-anthropic-billing-header:";

constexpr const char* kTextOnly = "this model reads text only";

// One turn, its blocks sorted by what they are.
struct Turn {
  std::string role{};
  std::vector<std::string> texts{};
  std::string reasoning{};
  JsonArray calls{};    // as templates expect them
  JsonArray results{};  // messages of the role tool
};

// What only the hosted service can make anything of.
bool is_hosted_block(std::string_view type) {
  return type == "server_tool_use" || type == "mcp_tool_use" || type == "browser_state" ||
         type == "container_upload" || type.ends_with("_tool_result");
}

bool is_error_text(std::string_view text) {
  const std::string begin = to_lower_ascii(trim(text).substr(0, 16));
  return begin.starts_with("error") || begin.starts_with("<error") ||
         begin.starts_with("<tool_use_error");
}

std::string item_path(const std::string& path, std::size_t i) {
  return path + "[" + std::to_string(i) + "]";
}

void without_billing_line(std::string* text) {
  while (text->starts_with(kBillingLine)) {
    const std::size_t end = text->find('\n');
    text->erase(0, end == std::string::npos ? end : end + 1);
  }
}

class ConversationReader {
 public:
  ConversationReader(FieldReader& fields, const MessagesOptions& options)
      : fields_(fields), options_(options) {}

  void read_system();
  void read_messages(const ApiLimits& limits);
  MessagesConversation finish();

 private:
  void read_message(const Json& item, const std::string& path);
  void read_content(FieldReader& message, Turn* turn);
  void read_block(FieldReader& block, Turn* turn);
  void read_tool_use(FieldReader& block, Turn* turn);
  void read_tool_result(FieldReader& block, Turn* turn);
  std::optional<std::string> text_of_block(FieldReader& block, const std::string& type);
  std::string document_text(FieldReader& block);
  std::string texts_of(FieldReader& owner, const char* name);
  void check_role(FieldReader& block, const std::string& type, const Turn& turn,
                  const char* expected);
  void add_turn(Turn turn, std::string_view separator);
  void emit(const Turn& turn);

  FieldReader& fields_;
  MessagesOptions options_;
  std::string system_;
  std::vector<Turn> turns_;
  MessagesConversation out_;
};

void add_line(const std::string& text, std::string* lines) {
  if (!text.empty()) {
    *lines += (lines->empty() ? "" : "\n") + text;
  }
}

void ConversationReader::read_system() {
  system_ = texts_of(fields_, "system");
}

// A string, or blocks of text joined by newlines. Absent: empty.
std::string ConversationReader::texts_of(FieldReader& owner, const char* name) {
  const Json* content = owner.find(name);
  const std::string path = owner.path(name);
  if (content == nullptr) {
    return "";
  }
  if (content->is_string()) {
    return content->as_string();
  }
  if (!content->is_array()) {
    owner.fail(ApiError::wrong_type(path, "a string or an array of content blocks"));
    return "";
  }
  std::string lines;
  for (std::size_t i = 0; i < content->as_array().size() && owner.ok(); ++i) {
    const Json& item = content->as_array()[i];
    if (!item.is_object()) {
      owner.fail(ApiError::wrong_type(item_path(path, i), "an object"));
      break;
    }
    FieldReader block(item.as_object(), item_path(path, i));
    const std::string type = block.needed_text("type");
    if (std::optional<std::string> text = text_of_block(block, type)) {
      add_line(*text, &lines);
    } else if (is_hosted_block(type)) {
      out_.ignored.push_back(item_path(path, i));
      continue;  // what it holds is not looked at
    } else if (block.ok()) {
      block.fail(ApiError::invalid(
          "invalid_value", block.path("type"),
          "'" + block.path("type") + "' is '" + type.substr(0, 64) + "', expected 'text'"));
    }
    owner.absorb(block);
  }
  return lines;
}

// Nothing for a block that is no text.
std::optional<std::string> ConversationReader::text_of_block(FieldReader& block,
                                                             const std::string& type) {
  for (const char* name : {"cache_control", "citations"}) {
    block.find(name);
  }
  if (type == "text") {
    return block.needed_text("text");
  }
  if (type == "document") {
    return document_text(block);
  }
  if (type == "search_result") {
    std::string lines = block.text("title").value_or("");
    add_line(block.text("source").value_or(""), &lines);
    add_line(texts_of(block, "content"), &lines);
    return lines;
  }
  if (type == "tool_reference") {
    return block.needed_text("tool_name");
  }
  if (type == "image") {
    block.fail(ApiError::unsupported(block.path("type"), kTextOnly));
    return "";
  }
  return std::nullopt;
}

std::string ConversationReader::document_text(FieldReader& block) {
  std::string lines = block.text("title").value_or("");
  add_line(block.text("context").value_or(""), &lines);
  const JsonObject* object = block.object("source");
  if (object == nullptr) {
    block.fail(ApiError::missing(block.path("source")));
    return "";
  }
  FieldReader source(*object, block.path("source"));
  const std::string type = source.needed_text("type");
  if (type == "text") {
    source.text("media_type");
    add_line(source.needed_text("data"), &lines);
  } else if (type == "content") {
    add_line(texts_of(source, "content"), &lines);
  } else {
    source.fail(ApiError::unsupported(source.path("type"), kTextOnly));
  }
  block.absorb(source);
  return lines;
}

void ConversationReader::check_role(FieldReader& block, const std::string& type, const Turn& turn,
                                    const char* expected) {
  if (turn.role != expected) {
    block.fail(ApiError::invalid("invalid_value", block.path("type"),
                                 "'" + block.path("type") + "' is '" + type +
                                     "', which only messages of the role '" + expected +
                                     "' may have"));
  }
}

void ConversationReader::read_tool_use(FieldReader& block, Turn* turn) {
  const std::string id = block.needed_text("id");
  const std::string name = block.needed_text("name");
  const JsonObject* input = block.object("input");
  for (const char* member : {"caller", "toolset_name", "cache_control"}) {
    block.find(member);
  }
  const std::string arguments = input == nullptr ? "{}" : to_text(*input);
  turn->calls.emplace_back(
      JsonObject{{"id", id},
                 {"type", "function"},
                 {"function", JsonObject{{"name", name}, {"arguments", arguments}}}});
}

void ConversationReader::read_tool_result(FieldReader& block, Turn* turn) {
  const std::string id = block.needed_text("tool_use_id");
  std::string text = texts_of(block, "content");
  if (block.boolean("is_error").value_or(false) && !is_error_text(text)) {
    text.insert(0, "Error: ");
  }
  for (const char* member : {"cache_control", "toolset_name"}) {
    block.find(member);
  }
  turn->results.emplace_back(
      JsonObject{{"role", "tool"}, {"tool_call_id", id}, {"content", std::move(text)}});
}

void ConversationReader::read_block(FieldReader& block, Turn* turn) {
  const std::string type = block.needed_text("type");
  if (!block.ok()) {
    return;
  }
  if (type == "tool_use") {
    check_role(block, type, *turn, "assistant");
    read_tool_use(block, turn);
  } else if (type == "tool_result") {
    check_role(block, type, *turn, "user");
    read_tool_result(block, turn);
  } else if (type == "thinking") {
    check_role(block, type, *turn, "assistant");
    turn->reasoning += block.needed_text("thinking");
    block.find("signature");
  } else if (type == "redacted_thinking") {
    check_role(block, type, *turn, "assistant");
    block.find("data");
  } else if (std::optional<std::string> text = text_of_block(block, type)) {
    if (!text->empty()) {
      turn->texts.push_back(*std::move(text));
    }
  } else {
    block.fail(ApiError::invalid(
        "invalid_value", block.path("type"),
        "'" + block.path("type") + "' is '" + type.substr(0, 64) +
            "', expected 'text', 'tool_use', 'tool_result', 'thinking', 'redacted_thinking', "
            "'document' or 'search_result'"));
  }
}

void ConversationReader::read_content(FieldReader& message, Turn* turn) {
  const Json* content = message.find("content");
  const std::string path = message.path("content");
  if (content == nullptr) {
    message.fail(ApiError::missing(path));
  } else if (content->is_string()) {
    if (!content->as_string().empty()) {
      turn->texts.push_back(content->as_string());
    }
  } else if (!content->is_array()) {
    message.fail(ApiError::wrong_type(path, "a string or an array of content blocks"));
  } else {
    const JsonArray& blocks = content->as_array();
    for (std::size_t i = 0; i < blocks.size() && message.ok(); ++i) {
      if (!blocks[i].is_object()) {
        message.fail(ApiError::wrong_type(item_path(path, i), "an object"));
        break;
      }
      const Json* type = blocks[i].find("type");
      if (type != nullptr && type->is_string() && is_hosted_block(type->as_string())) {
        out_.ignored.push_back(item_path(path, i));
        continue;
      }
      FieldReader block(blocks[i].as_object(), item_path(path, i));
      read_block(block, turn);
      message.absorb(block);
    }
  }
}

void ConversationReader::add_turn(Turn turn, std::string_view separator) {
  if (turns_.empty() || turns_.back().role != turn.role) {
    turns_.push_back(std::move(turn));
    return;
  }
  Turn& last = turns_.back();
  if (!last.texts.empty() && !turn.texts.empty()) {
    last.texts.back() += separator;
  }
  std::move(turn.texts.begin(), turn.texts.end(), std::back_inserter(last.texts));
  last.reasoning += turn.reasoning;
  std::move(turn.calls.begin(), turn.calls.end(), std::back_inserter(last.calls));
  std::move(turn.results.begin(), turn.results.end(), std::back_inserter(last.results));
}

void ConversationReader::read_message(const Json& item, const std::string& path) {
  if (!item.is_object()) {
    fields_.fail(ApiError::wrong_type(path, "an object"));
    return;
  }
  FieldReader message(item.as_object(), path);
  // Coding clients send the last two for what they put into the user's turn.
  std::string role =
      message.choice("role", {"user", "assistant", "system", "ctx", "msg"}).value_or("");
  if (message.ok() && role.empty()) {
    message.fail(ApiError::missing(message.path("role")));
  }
  if (role == "ctx" || role == "msg") {
    role = "user";
  }
  Turn turn{role};
  read_content(message, &turn);
  fields_.absorb(message);
  if (role != "system") {
    add_turn(std::move(turn), role == "user" ? "\n\n" : "");
    return;
  }
  const std::string text = join(turn.texts, "\n");
  if (turns_.empty()) {
    add_line(text, &system_);
    return;
  }
  out_.has_late_system = true;
  if (options_.late_system_as_user) {
    add_turn({"user", {"\n" + text + "\n"}}, "");
  } else {
    add_turn({role, {text}}, "\n");
  }
}

void ConversationReader::read_messages(const ApiLimits& limits) {
  const std::string path = fields_.path("messages");
  const JsonArray* messages = fields_.array("messages", limits.max_messages);
  if (messages == nullptr) {
    fields_.fail(ApiError::missing(path));
    return;
  }
  if (messages->empty()) {
    fields_.fail(
        ApiError::invalid("invalid_value", path, "'messages' is empty, expected at least 1"));
  }
  for (std::size_t i = 0; i < messages->size() && fields_.ok(); ++i) {
    read_message((*messages)[i], item_path(path, i));
  }
}

Json content_of(const std::vector<std::string>& texts) {
  if (texts.size() < 2) {
    return texts.empty() ? "" : texts.front();
  }
  JsonArray parts;
  for (const std::string& text : texts) {
    parts.emplace_back(JsonObject{{"type", "text"}, {"text", text}});
  }
  return parts;
}

void ConversationReader::emit(const Turn& turn) {
  std::copy(turn.results.begin(), turn.results.end(), std::back_inserter(out_.messages));
  if (turn.texts.empty() && !turn.results.empty()) {
    return;
  }
  JsonObject message{{"role", turn.role}};
  if (turn.role == "system") {
    message.append("content", join(turn.texts, ""));
  } else if (turn.calls.empty() || !turn.texts.empty()) {
    message.append("content", content_of(turn.texts));
  }
  if (!turn.reasoning.empty()) {
    message.append("reasoning_content", turn.reasoning);
  }
  if (!turn.calls.empty()) {
    message.append("tool_calls", turn.calls);
  }
  out_.messages.emplace_back(std::move(message));
}

MessagesConversation ConversationReader::finish() {
  if (!options_.keep_billing_line) {
    without_billing_line(&system_);
  }
  if (!system_.empty()) {
    out_.messages.emplace_back(JsonObject{{"role", "system"}, {"content", system_}});
  }
  for (const Turn& turn : turns_) {
    emit(turn);
  }
  out_.has_prefill =
      !turns_.empty() && turns_.back().role == "assistant" && turns_.back().calls.empty();
  return std::move(out_);
}

}  // namespace

MessagesConversation read_conversation(FieldReader& fields, const MessagesOptions& options,
                                       const ApiLimits& limits) {
  ConversationReader reader(fields, options);
  reader.read_system();
  reader.read_messages(limits);
  return reader.finish();
}

}  // namespace plumb
