// SPDX-License-Identifier: Apache-2.0
#include "server/parse_routes.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "api/output_parser.h"

namespace plumb {
namespace {

std::vector<OutputPiece> parse(OutputFormat format, const std::string& text) {
  const std::unique_ptr<OutputParser> parser = make_output_parser(std::move(format));
  std::vector<OutputPiece> pieces;
  // In parts: a parser looks for several marks in what it was given, and again behind each.
  constexpr std::size_t kPartBytes = 4096;
  std::string_view rest = text;
  while (!rest.empty()) {
    std::size_t size = std::min(rest.size(), kPartBytes);
    while (size < rest.size() && (static_cast<unsigned char>(rest[size]) & 0xC0U) == 0x80U) {
      --size;  // whole characters
    }
    parser->push(rest.substr(0, size), &pieces);
    rest.remove_prefix(size);
  }
  parser->finish(&pieces, /*is_cut=*/false);
  return pieces;
}

// The format that a field names, or the model's own.
template <class Format>
const Format* named(FieldReader& fields, const char* name, const Format* own,
                    const Format* (*find)(std::string_view), const std::string& known) {
  const std::optional<std::string> given = fields.text(name);
  const Format* format = given.has_value() && *given != "auto" ? find(*given) : own;
  if (fields.ok() && format == nullptr) {
    fields.fail(ApiError::invalid(
        "invalid_value", name,
        "'" + std::string(name) +
            (given.has_value() ? "' is '" + given->substr(0, 64) + "', expected one of " + known
                               : "' is needed for this model, one of " + known)));
  }
  return format;
}

// The text may begin inside the reasoning: then it has only the mark that ends it.
bool starts_inside(const ReasoningFormat& format, const std::string& text) {
  const std::size_t end = format.end.empty() ? std::string::npos : text.find(format.end);
  return end != std::string::npos && text.find(format.begin) > end;
}

}  // namespace

void ParseRoutes::add_routes(BodyPreparation& bodies) const {
  bodies.post_route("/separate_reasoning",
                    std::bind_front(&ParseRoutes::prepare_separate_reasoning, this));
  bodies.post_route("/parse_function_call",
                    std::bind_front(&ParseRoutes::prepare_parse_function_call, this));
}

// {text, reasoning_parser} -> {reasoning_text, text}
Prepared ParseRoutes::prepare_separate_reasoning(const Json& body, const Asker& /*asker*/) const {
  if (!body.is_object()) {
    return ApiError::wrong_type("body", "a JSON object");
  }
  FieldReader fields(body.as_object());
  const std::string text = fields.needed_text("text");
  OutputFormat format;
  format.reasoning = named(fields, "reasoning_parser", context_.model().output().reasoning(),
                           &find_reasoning_format, list_reasoning_formats());
  if (!fields.ok()) {
    return *fields.error();
  }
  if (std::optional<ApiError> error = context_.check_fields(fields.ignored())) {
    return *std::move(error);
  }
  format.starts_in_reasoning = starts_inside(*format.reasoning, text);
  std::string reasoning;
  std::string rest;
  for (const OutputPiece& piece : parse(std::move(format), text)) {
    (piece.kind == OutputPiece::Kind::kReasoning ? reasoning : rest) += piece.text;
  }
  return answer_with(Json(JsonObject{{"reasoning_text", reasoning}, {"text", rest}}),
                     fields.ignored());
}

// {text, tools, tool_call_parser} -> {normal_text, calls: [{tool_index, name, parameters}]}
Prepared ParseRoutes::prepare_parse_function_call(const Json& body, const Asker& /*asker*/) const {
  if (!body.is_object()) {
    return ApiError::wrong_type("body", "a JSON object");
  }
  FieldReader fields(body.as_object());
  const std::string text = fields.needed_text("text");
  OutputFormat format;
  format.tools = named(fields, "tool_call_parser", context_.model().output().tools(),
                       &find_tool_format, list_tool_formats());
  format.declared = read_tool_use(fields).tools;
  if (!fields.ok()) {
    return *fields.error();
  }
  if (std::optional<ApiError> error = context_.check_fields(fields.ignored())) {
    return *std::move(error);
  }
  std::string rest;
  JsonArray calls;
  for (const OutputPiece& piece : parse(std::move(format), text)) {
    switch (piece.kind) {
      case OutputPiece::Kind::kCallStart:
        calls.emplace_back(JsonObject{
            {"tool_index", std::ssize(calls)}, {"name", piece.text}, {"parameters", ""}});
        break;
      case OutputPiece::Kind::kArguments:
        calls.back().as_object().find("parameters")->as_string() += piece.text;
        break;
      case OutputPiece::Kind::kCallEnd:
        break;
      default:
        rest += piece.text;
        break;
    }
  }
  return answer_with(Json(JsonObject{{"normal_text", rest}, {"calls", std::move(calls)}}),
                     fields.ignored());
}

}  // namespace plumb
