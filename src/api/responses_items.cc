// SPDX-License-Identifier: Apache-2.0
#include "api/responses_items.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "api/ids.h"

namespace plumb {
namespace {

constexpr std::int64_t kMaxParts = 10'000;
constexpr std::size_t kMaxShownType = 64;
constexpr std::size_t kMaxIdBytes = 512;

constexpr std::string_view kHostedItems[] = {
    "web_search_call",       "file_search_call", "image_generation_call",
    "code_interpreter_call", "compaction",       "compaction_trigger",
};
constexpr std::string_view kHostedPrefixes[] = {
    "computer_call", "mcp_", "local_shell_call", "shell_call", "apply_patch_call", "program"};

bool is_hosted_item(std::string_view type) {
  return std::find(std::begin(kHostedItems), std::end(kHostedItems), type) !=
             std::end(kHostedItems) ||
         std::any_of(std::begin(kHostedPrefixes), std::end(kHostedPrefixes),
                     [&](std::string_view prefix) { return type.starts_with(prefix); });
}

void need(FieldReader& item, const char* name) {
  if (item.ok() && !item.has(name)) {
    item.fail(ApiError::missing(item.path(name)));
  }
}

// An id by which the item can be found again.
std::optional<std::string> own_id(FieldReader& item) {
  std::optional<std::string> id = item.text("id");
  if (id.has_value() && id->size() > kMaxIdBytes) {
    item.fail(ApiError::invalid("invalid_value", item.path("id"),
                                "'" + item.path("id") + "' has " + std::to_string(id->size()) +
                                    " bytes, expected at most " + std::to_string(kMaxIdBytes)));
  }
  return id;
}

// Its own id, or a new one.
Json id_of(FieldReader& item, std::string_view prefix) {
  const std::optional<std::string> id = own_id(item);
  return id.has_value() && !id->empty() ? *id : new_item_id(prefix);
}

Json status_of(FieldReader& item) {
  return item.choice("status", {"in_progress", "completed", "incomplete", "failed"})
      .value_or("completed");
}

void keep_text(FieldReader& item, const char* name, JsonObject* out) {
  if (const std::optional<std::string> text = item.text(name)) {
    out->append(name, *text);
  }
}

// One part of a content, in its stored form.
Json read_part(FieldReader& part, bool is_output) {
  const std::string type = part.text("type").value_or("");
  part.find("prompt_cache_breakpoint");
  if (type == "refusal") {
    return JsonObject{{"type", type}, {"refusal", part.needed_text("refusal")}};
  }
  if (type == "input_text" || type == "output_text" || type == "text" || type == "summary_text" ||
      type == "reasoning_text") {
    for (const char* sent_back : {"annotations", "logprobs"}) {
      part.find(sent_back);
    }
    JsonObject out{{"type", type == "text" ? (is_output ? "output_text" : "input_text") : type},
                   {"text", part.needed_text("text")}};
    if (out.find("type")->as_string() == "output_text") {
      out.append("annotations", JsonArray());
    }
    return out;
  }
  if (type == "input_image" || type == "input_file" || type == "input_audio") {
    part.fail(ApiError::unsupported(part.path("type"), "this model reads text only"));
  } else if (part.ok() && type.empty()) {
    part.fail(ApiError::missing(part.path("type")));
  } else if (part.ok()) {
    part.fail(ApiError::invalid("invalid_value", part.path("type"),
                                "'" + part.path("type") + "' is '" + type.substr(0, kMaxShownType) +
                                    "', expected 'input_text' or 'output_text'"));
  }
  return {};
}

JsonArray read_parts(FieldReader& item, const char* name, bool is_output) {
  const Json* content = item.find(name);
  if (content == nullptr) {
    return {};
  }
  if (content->is_string()) {
    JsonObject part{{"type", is_output ? "output_text" : "input_text"},
                    {"text", content->as_string()}};
    if (is_output) {
      part.append("annotations", JsonArray());
    }
    return JsonArray{std::move(part)};
  }
  const std::string path = item.path(name);
  if (!content->is_array()) {
    item.fail(ApiError::wrong_type(path, "a string or an array of content parts"));
    return {};
  }
  JsonArray out;
  item.array(name, kMaxParts);
  for (std::size_t i = 0; i < content->as_array().size() && item.ok(); ++i) {
    const Json& value = content->as_array()[i];
    const std::string at = path + "[" + std::to_string(i) + "]";
    if (!value.is_object()) {
      item.fail(ApiError::wrong_type(at, "an object"));
      break;
    }
    FieldReader part(value.as_object(), at);
    out.push_back(read_part(part, is_output));
    item.absorb(part);
  }
  return out;
}

Json read_message(FieldReader& item) {
  const auto role = item.choice("role", {"user", "assistant", "system", "developer"});
  need(item, "role");
  const bool is_assistant = role == "assistant";
  if (!is_assistant) {
    need(item, "content");
  }
  JsonObject out{{"id", id_of(item, "msg")},
                 {"type", "message"},
                 {"role", role.value_or("")},
                 {"status", status_of(item)},
                 {"content", read_parts(item, "content", is_assistant)}};
  if (const auto phase = item.choice("phase", {"commentary", "final_answer"})) {
    out.append("phase", *phase);
  }
  return out;
}

Json read_reasoning(FieldReader& item) {
  JsonObject out{{"id", id_of(item, "rs")},
                 {"type", "reasoning"},
                 {"summary", read_parts(item, "summary", false)}};
  if (item.has("content")) {
    out.append("content", read_parts(item, "content", false));
  }
  keep_text(item, "encrypted_content", &out);
  if (item.has("status")) {
    out.append("status", status_of(item));
  }
  return out;
}

Json read_call_of_function(FieldReader& item) {
  JsonObject out{{"id", id_of(item, "fc")},
                 {"type", "function_call"},
                 {"call_id", item.needed_text("call_id")},
                 {"name", item.needed_text("name")},
                 {"arguments", item.needed_text("arguments")},
                 {"status", status_of(item)}};
  keep_text(item, "namespace", &out);
  for (const char* harmless : {"caller", "async"}) {
    item.find(harmless);
  }
  return out;
}

Json read_custom_call(FieldReader& item) {
  JsonObject out{{"id", id_of(item, "ctc")},
                 {"type", "custom_tool_call"},
                 {"call_id", item.needed_text("call_id")},
                 {"name", item.needed_text("name")},
                 {"input", item.needed_text("input")},
                 {"status", status_of(item)}};
  keep_text(item, "namespace", &out);
  return out;
}

Json read_output(FieldReader& item, const std::string& type) {
  const bool is_custom = type == "custom_tool_call_output";
  need(item, "output");
  const Json* output = item.find("output");
  Json text =
      output != nullptr && output->is_string() ? *output : Json(read_parts(item, "output", false));
  JsonObject out{{"id", id_of(item, is_custom ? "ctco" : "fco")}, {"type", type}};
  keep_text(item, "call_id", &out);
  for (const char* name : {"name", "namespace"}) {
    keep_text(item, name, &out);
  }
  if (item.ok() && out.find("call_id") == nullptr && (is_custom || out.find("name") == nullptr)) {
    item.fail(ApiError::missing(item.path("call_id")));
  }
  out.append("output", std::move(text));
  out.append("status", status_of(item));
  return out;
}

Json read_tool_search(FieldReader& item, const std::string& type) {
  const bool is_call = type == "tool_search_call";
  JsonObject out{{"id", id_of(item, is_call ? "tsc" : "tso")}, {"type", type}};
  keep_text(item, "call_id", &out);
  if (const auto execution = item.choice("execution", {"server", "client"})) {
    out.append("execution", *execution);
  }
  if (is_call) {
    need(item, "arguments");
    const Json* arguments = item.find("arguments");
    out.append("arguments", arguments != nullptr ? *arguments : Json());
  } else {
    need(item, "tools");
    const JsonArray* tools = item.array("tools", kMaxParts);
    out.append("tools", tools != nullptr ? *tools : JsonArray());
  }
  out.append("status", status_of(item));
  return out;
}

Json read_additional_tools(FieldReader& item) {
  item.choice("role", {"developer"});
  need(item, "tools");
  const JsonArray* tools = item.array("tools", kMaxParts);
  return JsonObject{{"id", id_of(item, "at")},
                    {"type", "additional_tools"},
                    {"role", "developer"},
                    {"tools", tools != nullptr ? *tools : JsonArray()}};
}

Json read_configuration_update(FieldReader& item) {
  JsonObject out{{"id", id_of(item, "cu")}, {"type", "configuration_update"}};
  for (const char* name : {"reasoning", "text"}) {
    if (const JsonObject* object = item.object(name)) {
      out.append(name, *object);
    }
  }
  return out;
}

Json read_item(FieldReader& item, const std::string& type) {
  if (type == "message") {
    return read_message(item);
  }
  if (type == "reasoning") {
    return read_reasoning(item);
  }
  if (type == "function_call") {
    return read_call_of_function(item);
  }
  if (type == "custom_tool_call") {
    return read_custom_call(item);
  }
  if (type == "function_call_output" || type == "custom_tool_call_output") {
    return read_output(item, type);
  }
  if (type == "tool_search_call" || type == "tool_search_output") {
    return read_tool_search(item, type);
  }
  if (type == "additional_tools") {
    return read_additional_tools(item);
  }
  if (type == "configuration_update") {
    return read_configuration_update(item);
  }
  if (type == "item_reference") {
    const std::optional<std::string> id = own_id(item);
    need(item, "id");
    return JsonObject{{"type", type}, {"id", id.value_or("")}};
  }
  item.fail(ApiError::invalid(
      "invalid_value", item.path("type"),
      "'" + item.path("type") + "' is '" + type.substr(0, kMaxShownType) +
          "', expected 'message', 'reasoning', 'function_call', 'function_call_output', "
          "'custom_tool_call', 'custom_tool_call_output', 'item_reference', 'additional_tools', "
          "'tool_search_call', 'tool_search_output' or 'configuration_update'"));
  return {};
}

// A message may leave its type out, as may a reference.
std::string type_of(FieldReader& item) {
  if (const std::optional<std::string> type = item.text("type")) {
    return *type;
  }
  if (item.has("role") || !item.ok()) {
    return "message";
  }
  if (item.has("id")) {
    return "item_reference";
  }
  item.fail(ApiError::missing(item.path("type")));
  return "message";
}

}  // namespace

std::string_view item_type(const Json& item) {
  const Json* type = item.find("type");
  return type != nullptr && type->is_string() ? std::string_view(type->as_string())
                                              : std::string_view();
}

std::string item_text(const Json& item, std::string_view member, std::string_view part_type) {
  const Json* parts = item.find(member);
  if (parts == nullptr || !parts->is_array()) {
    return parts != nullptr && parts->is_string() ? parts->as_string() : "";
  }
  std::string out;
  for (const Json& part : parts->as_array()) {
    const Json* text = part.find(item_type(part) == "refusal" ? "refusal" : "text");
    if (text != nullptr && text->is_string() &&
        (part_type.empty() || item_type(part) == part_type)) {
      out += text->as_string();
    }
  }
  return out;
}

ResponsesItems read_responses_items(FieldReader& fields, std::int64_t max_items) {
  ResponsesItems out;
  const Json* input = fields.find("input");
  if (input == nullptr) {
    return out;
  }
  const std::string path = fields.path("input");
  if (input->is_string()) {
    if (!input->as_string().empty()) {
      const JsonObject message{{"role", "user"}, {"content", input->as_string()}};
      FieldReader item(message, path);
      out.items.push_back(read_message(item));
      out.paths.push_back(path);
    }
    return out;
  }
  if (!input->is_array()) {
    fields.fail(ApiError::wrong_type(path, "a string or an array of items"));
    return out;
  }
  fields.array("input", max_items);
  for (std::size_t i = 0; i < input->as_array().size() && fields.ok(); ++i) {
    const Json& value = input->as_array()[i];
    const std::string at = path + "[" + std::to_string(i) + "]";
    if (!value.is_object()) {
      fields.fail(ApiError::wrong_type(at, "an object"));
      break;
    }
    FieldReader item(value.as_object(), at);
    const std::string type = type_of(item);
    if (is_hosted_item(type)) {
      if (std::find(out.left_out.begin(), out.left_out.end(), type) == out.left_out.end()) {
        out.left_out.push_back(type);
      }
      continue;
    }
    out.items.push_back(read_item(item, type));
    out.paths.push_back(at);
    fields.absorb(item);
  }
  return out;
}

}  // namespace plumb
