// SPDX-License-Identifier: Apache-2.0
#include "frontend/offline_input.h"

#include <optional>
#include <unordered_map>
#include <utility>

#include "api/constraint_surrogates.h"
#include "base/text.h"

namespace plumb {
namespace {

// An id may be a string or an integer.
std::string id_of(const Json& body, const char* name, std::int64_t line) {
  const Json* field = body.find(name);
  if (field != nullptr && field->is_string() && !field->as_string().empty()) {
    return field->as_string();
  }
  if (field != nullptr && field->is_int()) {
    return std::to_string(field->as_int());
  }
  return "line-" + std::to_string(line);
}

template <class Request>
void take(std::variant<Request, ApiError> read, OfflineItem* item) {
  if (auto* error = std::get_if<ApiError>(&read)) {
    item->request = std::move(*error);
    return;
  }
  Request request = std::get<Request>(std::move(read));
  item->ignored_fields.insert(item->ignored_fields.end(), request.ignored_fields.begin(),
                              request.ignored_fields.end());
  if (request.generation.stream) {
    item->request = ApiError::unsupported("stream", "results are written whole");
    return;
  }
  item->request = std::move(request);
}

void read_batch_line(const Json& json, const SamplingDefaults& defaults, const ApiLimits& limits,
                     OfflineItem* item) {
  item->format = OfflineFormat::kOpenAiBatch;
  for (const JsonMember& member : json.as_object()) {
    if (member.key != "custom_id" && member.key != "method" && member.key != "url" &&
        member.key != "body") {
      item->ignored_fields.push_back(member.key);
    }
  }
  const Json* method = json.find("method");
  const Json* url = json.find("url");
  const Json* body = json.find("body");
  if (method != nullptr && *method != Json("POST")) {
    item->request = ApiError::invalid("invalid_value", "method", "'method' must be POST");
  } else if (body == nullptr || !body->is_object()) {
    item->request = ApiError::missing("body");
  } else if (url != nullptr && *url == Json("/v1/chat/completions")) {
    take(read_chat_request(*body, defaults, limits), item);
  } else if (url != nullptr && *url == Json("/v1/completions")) {
    take(read_completion_request(*body, defaults, limits), item);
  } else {
    item->request = ApiError::invalid("invalid_value", "url",
                                      "'url' must be /v1/chat/completions or /v1/completions");
  }
}

void refuse_surrogates(std::optional<ApiError> error, OfflineItem* item) {
  if (error.has_value()) {
    item->request = std::move(*error);
  }
}

}  // namespace

OfflineItem read_offline_item(std::string_view text, std::int64_t line,
                              const SamplingDefaults& defaults, const ApiLimits& limits) {
  OfflineItem item;
  item.line = line;
  item.id = "line-" + std::to_string(line);
  const Result<Json> json = parse_json(text);
  if (!json.ok()) {
    item.request = ApiError::invalid("invalid_json", "", json.status().message());
    return item;
  }
  if (!json.value().is_object()) {
    item.request = ApiError::wrong_type("line", "a JSON object");
    return item;
  }
  if (json.value().find("custom_id") != nullptr) {
    item.id = id_of(json.value(), "custom_id", line);
    read_batch_line(json.value(), defaults, limits, &item);
    refuse_surrogates(check_constraint_surrogates(text, "body"), &item);
    return item;
  }
  item.id = id_of(json.value(), "id", line);
  JsonObject body = json.value().as_object();
  body.erase("id");
  const bool has_messages = body.find("messages") != nullptr;
  const bool has_prompt = body.find("prompt") != nullptr;
  if (has_messages == has_prompt) {
    item.request =
        ApiError::invalid(has_prompt ? "invalid_value" : "missing_required_parameter", "prompt",
                          has_prompt ? "'prompt' and 'messages' exclude each other"
                                     : "missing required parameter: 'prompt' or 'messages'");
  } else if (has_messages) {
    take(read_chat_request(body, defaults, limits), &item);
  } else {
    take(read_completion_request(body, defaults, limits), &item);
  }
  refuse_surrogates(check_constraint_surrogates(text), &item);
  return item;
}

Result<OfflineInput> read_offline_input(std::string_view content, const SamplingDefaults& defaults,
                                        const ApiLimits& limits) {
  OfflineInput input;
  std::unordered_map<std::string, std::int64_t> seen;
  std::int64_t number = 0;
  while (!content.empty()) {
    const std::size_t end = content.find('\n');
    const bool is_whole = end != std::string_view::npos;
    const std::string_view text = trim(content.substr(0, end));
    content.remove_prefix(is_whole ? end + 1 : content.size());
    ++number;
    if (text.empty()) {
      continue;
    }
    if (!is_whole && !parse_json(text).ok()) {
      input.torn_line = number;
      break;
    }
    OfflineItem item = read_offline_item(text, number, defaults, limits);
    const auto [first, is_new] = seen.emplace(item.id, number);
    if (!is_new) {
      return Status{Code::kInvalidArgument, "lines " + std::to_string(first->second) + " and " +
                                                std::to_string(number) + " have the same id '" +
                                                item.id.substr(0, 64) + "'"};
    }
    for (const std::string& name : item.ignored_fields) {
      ++input.ignored_fields[name];
    }
    input.items.push_back(std::move(item));
  }
  if (input.items.empty()) {
    return Status{Code::kInvalidArgument, "the input holds no complete line"};
  }
  return input;
}

}  // namespace plumb
