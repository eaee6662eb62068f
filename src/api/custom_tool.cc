// SPDX-License-Identifier: Apache-2.0
#include "api/custom_tool.h"

#include <string>
#include <utility>

namespace plumb {
namespace {

void read_input_grammar(FieldReader& format, Tool* out) {
  const auto syntax = format.choice("syntax", {"lark", "regex"});
  auto definition = format.text("definition");
  if (format.ok() && (!syntax.has_value() || !definition.has_value())) {
    format.fail(ApiError::missing(format.path(!syntax.has_value() ? "syntax" : "definition")));
  }
  if (!format.ok()) {
    return;
  }
  const bool is_lark = syntax == "lark";
  if (is_lark) {
    out->description += (out->description.empty() ? "" : "\n\n") +
                        std::string("The input follows this Lark grammar:\n") + *definition;
  } else {
    out->parameters = custom_parameters(*definition);
  }
  out->strict = true;
  out->input = InputFormat{is_lark ? InputFormat::Syntax::kLark : InputFormat::Syntax::kRegex,
                           *std::move(definition), format.path("definition")};
}

}  // namespace

Json custom_parameters(std::string_view pattern) {
  JsonObject input{{"type", "string"}};
  if (!pattern.empty()) {
    input.append("pattern", "^(?:" + std::string(pattern) + ")$");
  }
  return JsonObject{{"type", "object"},
                    {"properties", JsonObject{{"input", std::move(input)}}},
                    {"required", JsonArray{"input"}},
                    {"additionalProperties", false}};
}

std::string_view syntax_name(InputFormat::Syntax syntax) {
  return syntax == InputFormat::Syntax::kLark ? "lark" : "regex";
}

ApiError invalid_custom_input(std::string_view tool, const InputFormat& format,
                              std::string_view place) {
  return ApiError::invalid(std::string(kInvalidInputCode), format.param,
                           "the model's input for the custom tool '" + std::string(tool) +
                               "' does not match its " + std::string(syntax_name(format.syntax)) +
                               " format: " + std::string(place));
}

void read_custom_format(FieldReader& tool, GrammarForm form, Tool* out) {
  out->is_custom = true;
  out->parameters = custom_parameters();
  const JsonObject* format = tool.object("format");
  if (format == nullptr) {
    return;
  }
  FieldReader inner(*format, tool.path("format"));
  if (inner.choice("type", {"text", "grammar"}) == "grammar") {
    if (form == GrammarForm::kFlat) {
      read_input_grammar(inner, out);
    } else if (const JsonObject* grammar = inner.object("grammar")) {
      FieldReader nested(*grammar, inner.path("grammar"));
      read_input_grammar(nested, out);
      inner.absorb(nested);
    } else if (inner.ok()) {
      inner.fail(ApiError::missing(inner.path("grammar")));
    }
  }
  tool.absorb(inner);
}

}  // namespace plumb
