// SPDX-License-Identifier: Apache-2.0
#include "api/tool_constraint.h"

#include <algorithm>
#include <utility>

#include "api/custom_tool.h"
#include "base/json.h"

namespace plumb {
namespace {

using Kind = ConstraintSpec::Kind;
using Mode = ToolChoice::Mode;

// Python arguments; KEY stands for the names of them.
constexpr const char* kPythonArguments = R"GBNF(root ::= (pair (", " pair)*)?
pair ::= KEY "=" value
value ::= string | number | "True" | "False" | "None" | list | dict
list ::= "[" (value (", " value)*)? "]"
dict ::= "{" (string ": " value (", " string ": " value)*)? "}"
string ::= "\"" ([^"\\\n] | "\\" [^\n])* "\""
number ::= "-"? [0-9]+ ("." [0-9]+)?
)GBNF";

Json const_string(std::string_view text) {
  return JsonObject{{"type", "const_string"}, {"value", text}};
}

Json sequence(JsonArray elements) {
  return elements.size() == 1 ? std::move(elements.front())
                              : Json(JsonObject{{"type", "sequence"}, {"elements", elements}});
}

Json any_of(JsonArray elements) {
  return elements.size() == 1 ? std::move(elements.front())
                              : Json(JsonObject{{"type", "or"}, {"elements", elements}});
}

Json token(std::string_view text) {
  return JsonObject{{"type", "token"}, {"token", text}};
}

Json regex(std::string_view pattern) {
  return JsonObject{{"type", "regex"}, {"pattern", pattern}};
}

std::string replaced(std::string_view text, std::string_view what, std::string_view by) {
  const std::size_t at = text.find(what);
  return at == std::string_view::npos ? std::string(text)
                                      : std::string(text.substr(0, at)) + std::string(by) +
                                            std::string(text.substr(at + what.size()));
}

Json lark(std::string_view grammar, bool in_json_string) {
  return JsonObject{{"type", "grammar"},
                    {"syntax", "lark"},
                    {"in_json_string", in_json_string},
                    {"grammar", grammar}};
}

bool has_name(const std::vector<std::string>& names, const Tool& tool) {
  return std::find(names.begin(), names.end(), tool.name) != names.end();
}

// Writes structural tags for one request.
class TagBuilder {
 public:
  TagBuilder(const ToolUse& use, const OutputFormat& format,
             const std::vector<std::string>& free_inputs)
      : use_(use), format_(format), tools_(*format.tools), free_inputs_(free_inputs) {}

  // Calls and nothing else; without so much of the text that opens them.
  Json calls(std::size_t num_open_bytes = 0) const {
    const Json call = one_call("");
    JsonArray elements;
    append(tools_.written_open.substr(num_open_bytes), &elements);
    elements.push_back(call);
    if (!is_single()) {
      JsonArray next;
      append(tools_.separator, &next);
      next.push_back(call);
      elements.emplace_back(JsonObject{{"type", "star"}, {"content", sequence(std::move(next))}});
    }
    append(tools_.written_close, &elements);
    return sequence(std::move(elements));
  }

  // Free text, and calls where it says so.
  Json text_or_calls() const {
    const std::string trigger = this->trigger();
    if (trigger.empty()) {  // a call is told by how the whole answer begins
      return any_of({regex(R"(([^\[{][\s\S]*)?)"), calls()});
    }
    const bool is_token = format_.marks.contains(trigger);
    const Json mark = is_token ? token(trigger) : Json(trigger);
    Json content = tools_.written_open.empty() ? one_call(trigger) : calls(trigger.size());
    const Json tag =
        JsonObject{{"type", "tag"}, {"begin", mark}, {"content", std::move(content)}, {"end", ""}};
    return JsonObject{
        {"type", is_token ? "token_triggered_tags" : "triggered_tags"},
        {is_token ? "trigger_tokens" : "triggers", JsonArray{is_token ? Json(trigger) : mark}},
        {"tags", JsonArray{tag}},
        {"stop_after_first", is_single()}};
  }

 private:
  bool is_single() const {
    return use_.choice.is_named || !use_.parallel || tools_.syntax == CallSyntax::kHarmony;
  }

  // What tells text and calls apart: the mark with which they begin.
  std::string trigger() const {
    if (!tools_.bare.empty()) {
      return "";
    }
    return std::string(tools_.written_open.empty() ? tools_.call_begin : tools_.section_begins[0]);
  }

  // The text with its control tokens as such.
  void append(std::string_view text, JsonArray* out) const {
    std::string plain;
    const auto flush = [&] {
      if (!plain.empty()) {
        out->push_back(const_string(std::exchange(plain, {})));
      }
    };
    while (!text.empty()) {
      const auto& marks = format_.marks.texts();
      const auto mark = std::find_if(marks.begin(), marks.end(),
                                     [text](const std::string& m) { return text.starts_with(m); });
      if (mark == marks.end()) {
        plain += text.front();
        text.remove_prefix(1);
        continue;
      }
      flush();
      out->push_back(token(*mark));
      text.remove_prefix(mark->size());
    }
    flush();
  }

  // A call of any of the tools, without the text with which all begin.
  Json one_call(std::string_view behind) const {
    JsonArray calls;
    for (const Tool* tool : use_.callable()) {
      JsonArray elements;
      const std::string begin = replaced(tools_.written_begin, "{}", tool->name);
      const std::size_t number = begin.find("{#}");
      append(std::string_view(begin).substr(behind.size(), number == std::string::npos
                                                               ? std::string::npos
                                                               : number - behind.size()),
             &elements);
      if (number != std::string::npos) {
        elements.push_back(regex("[0-9]+"));
        append(std::string_view(begin).substr(number + 3), &elements);
      }
      append_arguments(*tool, &elements);
      calls.push_back(sequence(std::move(elements)));
    }
    return any_of(std::move(calls));
  }

  void append_arguments(const Tool& tool, JsonArray* out) const {
    if (tools_.syntax == CallSyntax::kGemma) {
      append_gemma(out);
      return;
    }
    const bool is_free = has_name(free_inputs_, tool);
    if (tools_.syntax == CallSyntax::kPython) {
      out->push_back(JsonObject{{"type", "grammar"},
                                {"grammar", replaced(kPythonArguments, "KEY", keys(tool))}});
    } else if (tool.input && tool.input->syntax == InputFormat::Syntax::kLark && !is_free) {
      append_input(tool.input->definition, out);
    } else {
      append_schema(tool, is_free ? custom_parameters() : tool.parameters, out);
      return;
    }
    append(tools_.written_end, out);
  }

  void append_schema(const Tool& tool, Json schema, JsonArray* out) const {
    // The XML styles have none for objects that say nothing about their members.
    const bool is_xml = tools_.syntax == CallSyntax::kXml;
    const bool is_free = use_.choice.mode != Mode::kRequired && !tool.strict;
    if (is_xml && is_free && !has_mark_inside(tools_.xml.end)) {
      append_free_xml(out);
      return;
    }
    const bool is_held = is_xml || !is_free;
    JsonObject leaf{{"type", "json_schema"}};
    leaf.set("json_schema", is_held ? std::move(schema) : Json(JsonObject{{"type", "object"}}));
    if (is_held) {
      leaf.set("name", tool.name);
      leaf.set("lenient", !tool.strict || tool.is_custom);
    }
    if (is_xml) {
      leaf.set("style", tools_.xml.tag_style);
    }
    out->emplace_back(std::move(leaf));
    append(tools_.written_end, out);
  }

  // Whether a control token is a part of the text.
  bool has_mark_inside(std::string_view text) const {
    const auto& marks = format_.marks.texts();
    return std::any_of(marks.begin(), marks.end(), [text](const std::string& mark) {
      return mark.size() < text.size() && text.find(mark) != std::string_view::npos;
    });
  }

  // Any text up to the end of the call, or any tokens before a control token.
  void append_free_xml(JsonArray* out) const {
    const std::string end(tools_.xml.end);
    const bool is_token = format_.marks.contains(end);
    out->push_back(
        JsonObject{{"type", "tag"},
                   {"begin", ""},
                   {"content", JsonObject{{"type", is_token ? "any_tokens" : "any_text"}}},
                   {"end", is_token ? token(end) : Json(end)}});
    append(tools_.written_end.substr(end.size()), out);
  }

  // The one argument of a custom tool. Where a line end around a value is no part of it, both have
  // to be there: the grammar may want line ends of its own.
  void append_input(std::string_view grammar, JsonArray* out) const {
    if (tools_.syntax != CallSyntax::kXml) {
      out->push_back(regex(R"(\{ ?"input" ?: ?")"));
      out->push_back(lark(grammar, true));
      out->push_back(regex(R"(" ?\})"));
      return;
    }
    const XmlMarks& xml = tools_.xml;
    const std::string line_end = xml.has_line_ends ? "\n" : "";
    std::string before = std::string(xml.key_begin) + "input" + std::string(xml.key_end);
    before += xml.says_string ? " string=\"true\">" : "";
    before += xml.value_begin.empty() ? "" : "\n" + std::string(xml.value_begin);
    append(before + line_end, out);
    out->push_back(lark(grammar, false));
    append(line_end + std::string(xml.value_end) + "\n", out);
  }

  // Any text between the braces: quotes may be control tokens there.
  void append_gemma(JsonArray* out) const {
    const std::string end(tools_.written_end);
    out->push_back(const_string("{"));
    const bool is_token = format_.marks.contains(end);
    out->push_back(
        JsonObject{{"type", "tag"},
                   {"begin", ""},
                   {"content", JsonObject{{"type", is_token ? "any_tokens" : "any_text"}}},
                   {"end", is_token ? token(end) : Json("}" + end)}});
  }

  static std::string keys(const Tool& tool) {
    const Json* properties = tool.parameters.find("properties");
    std::string out;
    if (properties != nullptr && properties->is_object()) {
      for (const JsonMember& member : properties->as_object()) {
        std::string quoted;
        append_json_string(&quoted, member.key);
        out += (out.empty() ? "" : " | ") + quoted;
      }
    }
    return out.empty() ? "[a-zA-Z_] [a-zA-Z0-9_]*" : "(" + out + ")";
  }

  const ToolUse& use_;
  const OutputFormat& format_;
  const ToolFormat& tools_;
  const std::vector<std::string>& free_inputs_;
};

// A constraint as a part of a structural tag.
Json part_of(const ConstraintSpec& text) {
  switch (text.kind) {
    case Kind::kJsonObject:
      return JsonObject{{"type", "json_schema"}, {"json_schema", JsonObject{{"type", "object"}}}};
    case Kind::kJsonSchema:
      return JsonObject{{"type", "json_schema"}, {"json_schema", text.text}};
    case Kind::kRegex:
      return regex(text.text);
    case Kind::kGrammar:
      return JsonObject{{"type", "grammar"}, {"grammar", text.text}};
    case Kind::kChoice: {
      JsonArray choices;
      for (const std::string& choice : text.choices) {
        choices.push_back(const_string(choice));
      }
      return any_of(std::move(choices));
    }
    default: {
      const Result<Json> tag = parse_json(text.text);
      const Json* format = tag.ok() ? tag.value().find("format") : nullptr;
      return format != nullptr ? *format : Json();
    }
  }
}

// The reasoning before what is enforced.
void append_reasoning(const OutputFormat& format, ReasoningStart start, JsonArray* out) {
  const ReasoningFormat& reasoning = *format.reasoning;
  const bool is_harmony = reasoning.end.empty();
  const std::string begin =
      is_harmony ? "<|channel|>analysis<|message|>" : std::string(reasoning.begin);
  const std::string end(is_harmony ? "<|end|>" : reasoning.end);
  const bool ends_with_token = format.marks.contains(end);
  const Json thought =
      JsonObject{{"type", "tag"},
                 {"begin", start == ReasoningStart::kInside || ends_with_token ? "" : begin},
                 {"content", JsonObject{{"type", ends_with_token ? "any_tokens" : "any_text"}}},
                 {"end", ends_with_token ? token(end) : Json(end)}};
  const Json blanks = regex(R"(\n{0,2})");
  if (start == ReasoningStart::kInside) {
    out->push_back(thought);
    out->push_back(blanks);
    return;
  }
  JsonArray parts;
  if (is_harmony) {
    parts = {token("<|channel|>"), const_string("analysis"), token("<|message|>"), thought,
             token("<|start|>"),   const_string("assistant")};
  } else if (ends_with_token) {
    const std::string first(reasoning.tokens[0]);
    parts.push_back(token(first));
    if (begin.size() > first.size()) {
      parts.push_back(const_string(begin.substr(first.size())));
    }
    parts.push_back(thought);
    parts.push_back(blanks);
  } else {
    parts = {thought, blanks};
  }
  out->push_back(JsonObject{{"type", "optional"}, {"content", sequence(std::move(parts))}});
}

}  // namespace

std::optional<ApiError> check_constraint_beside(const ConstraintSpec& text, const ToolUse& use) {
  constexpr std::string_view kOfText[] = {"response_format", "text.format", "output_config",
                                          "output_format"};
  const bool is_of_text =
      std::any_of(std::begin(kOfText), std::end(kOfText),
                  [&text](std::string_view field) { return text.param.starts_with(field); });
  if (text.is_none() || is_of_text || !use.is_on() || use.choice.mode != Mode::kRequired) {
    return std::nullopt;
  }
  return ApiError::invalid("invalid_value", text.param,
                           "'" + text.param + "' says what the text of the answer is, but '" +
                               use.choice.param + "' wants calls alone; send '" + use.choice.param +
                               "' auto or none, or no '" + text.param + "'");
}

ConstraintSpec constrain_answer(const ConstraintSpec& text, const ToolUse& use,
                                const OutputFormat& format, ReasoningStart start,
                                const std::vector<std::string>& free_inputs) {
  const bool is_required = use.is_on() && use.choice.mode == Mode::kRequired;
  const std::vector<const Tool*> callable = use.callable();
  const bool has_strict = std::any_of(callable.begin(), callable.end(), [&](const Tool* tool) {
    return tool->strict && !has_name(free_inputs, *tool);
  });
  // In harmony every message begins alike, so calls cannot be told from text as they begin.
  const bool is_harmony =
      format.reasoning != nullptr && format.reasoning->end.empty() && !is_required;
  const bool has_calls = use.is_on() && format.tools != nullptr && !is_harmony &&
                         (is_required || has_strict || !text.is_none());
  // A constraint that speaks of reasoning itself stays as it is.
  const bool has_reasoning = format.reasoning != nullptr && start != ReasoningStart::kClosed &&
                             text.kind != Kind::kStructuralTag;
  if (!has_calls && (text.is_none() || !has_reasoning)) {
    return text;
  }
  JsonArray elements;
  if (has_reasoning) {
    append_reasoning(format, start, &elements);
  }
  if (is_harmony && !text.is_none()) {
    for (Json part : {token("<|channel|>"), const_string("final"), token("<|message|>")}) {
      elements.push_back(std::move(part));
    }
  }
  if (!has_calls) {
    elements.push_back(part_of(text));
  } else if (is_required) {
    elements.push_back(TagBuilder(use, format, free_inputs).calls());
  } else if (text.is_none()) {
    elements.push_back(TagBuilder(use, format, free_inputs).text_or_calls());
  } else {
    elements.push_back(any_of({part_of(text), TagBuilder(use, format, free_inputs).calls()}));
  }
  ConstraintSpec out = text;
  out.strict = text.strict && !has_calls;
  out.kind = Kind::kStructuralTag;
  out.choices.clear();
  out.text = to_text(JsonObject{{"type", "structural_tag"}, {"format", sequence(elements)}});
  for (const Tool* tool : callable) {
    if (has_calls && !tool->param.empty()) {
      out.schemas.push_back({tool->name, tool->param});
    }
  }
  if (has_calls && text.is_none()) {
    out.param = use.is_function_form ? "functions" : "tools";
  }
  return out;
}

}  // namespace plumb
