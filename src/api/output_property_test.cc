// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "api/output_parser.h"
#include "base/rng.h"
#include "support/parsed_output.h"

namespace plumb {
namespace {

struct Call {
  std::string name;
  JsonObject arguments;
};

// Random calls, and how each format writes them.
class CallWriter {
 public:
  explicit CallWriter(std::uint64_t seed) : rng_(seed) {}

  std::size_t below(std::size_t num) { return rng_.next_u32() % num; }

  std::string text() {
    static const std::vector<std::string> kParts = {
        "a", "Zz", " ",    "\n", "\t",   "\"",  "\\",    "'",      "{",  "}",
        "[", "]",  "é",    "漢", "😀",    "<",   ">",     "</",     "&",  ",",
        ":", "=",  "null", "12", "\x01", "<b>", "``` x", "</tool", "|>", "functions."};
    std::string out;
    for (std::size_t i = below(6); i > 0; --i) {
      out += kParts[below(kParts.size())];
    }
    return out;
  }

  Json value(int depth) {
    switch (below(depth < 3 ? 8 : 6)) {
      case 0:
        return Json(static_cast<std::int64_t>(below(1000)) - 500);
      case 1:
        return Json(static_cast<double>(below(1000)) / 8 - 3);
      case 2:
        return Json(below(2) == 0);
      case 3:
        return {};
      case 6: {
        JsonArray items;
        for (std::size_t i = below(3); i > 0; --i) {
          items.push_back(value(depth + 1));
        }
        return items;
      }
      case 7: {
        JsonObject members;
        for (std::size_t i = below(3); i > 0; --i) {
          members.set("k" + std::to_string(below(9)), value(depth + 1));
        }
        return members;
      }
      default:
        return text();
    }
  }

  std::vector<Call> calls() {
    std::vector<Call> out;
    for (std::size_t i = 1 + below(3); i > 0; --i) {
      Call call{"tool_" + std::to_string(out.size()) + (below(2) == 0 ? ".x-y" : ""), {}};
      for (std::size_t k = below(4); k > 0; --k) {
        call.arguments.set("arg_" + std::to_string(below(9)), value(0));
      }
      out.push_back(std::move(call));
    }
    return out;
  }

 private:
  Rng rng_;
};

std::string python(const Json& value);

std::string python_string(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') {
      out += std::string("\\") + c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\x01') {
      out += "\\x01";
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::string python(const Json& value) {
  switch (value.kind()) {
    case Json::Kind::kNull:
      return "None";
    case Json::Kind::kBool:
      return value.as_bool() ? "True" : "False";
    case Json::Kind::kString:
      return python_string(value.as_string());
    case Json::Kind::kArray: {
      std::string out = "[";
      for (const Json& item : value.as_array()) {
        out += (out.size() > 1 ? ", " : "") + python(item);
      }
      return out + "]";
    }
    case Json::Kind::kObject: {
      std::string out = "{";
      for (const JsonMember& member : value.as_object()) {
        out +=
            (out.size() > 1 ? ", " : "") + python_string(member.key) + ": " + python(member.value);
      }
      return out + "}";
    }
    default:
      return to_text(value);
  }
}

std::string gemma(const Json& value) {
  if (value.is_string()) {
    return "<|\"|>" + value.as_string() + "<|\"|>";
  }
  if (value.is_array()) {
    std::string out = "[";
    for (const Json& item : value.as_array()) {
      out += (out.size() > 1 ? "," : "") + gemma(item);
    }
    return out + "]";
  }
  if (value.is_object()) {
    std::string out = "{";
    for (const JsonMember& member : value.as_object()) {
      out += (out.size() > 1 ? "," : "") + member.key + ":" + gemma(member.value);
    }
    return out + "}";
  }
  return to_text(value);
}

std::string raw(const Json& value) {
  return value.is_string() ? value.as_string() : to_text(value);
}

std::string write_marked_call(std::string_view format, const Call& call) {
  std::string out;
  if (format == "qwen3_coder") {
    out = "<tool_call>\n<function=" + call.name + ">\n";
    for (const JsonMember& member : call.arguments) {
      out += "<parameter=" + member.key + ">\n" + raw(member.value) + "\n</parameter>\n";
    }
    return out + "</function>\n</tool_call>\n";
  }
  if (format == "glm45") {
    out = "<tool_call>" + call.name + "\n";
    for (const JsonMember& member : call.arguments) {
      out += "<arg_key>" + member.key + "</arg_key>\n<arg_value>" + raw(member.value) +
             "</arg_value>\n";
    }
    return out + "</tool_call>\n";
  }
  out = "<｜DSML｜invoke name=\"" + call.name + "\">\n";
  for (const JsonMember& member : call.arguments) {
    out += "<｜DSML｜parameter name=\"" + member.key + "\" string=\"" +
           (member.value.is_string() ? "true" : "false") + "\">" + raw(member.value) +
           "</｜DSML｜parameter>\n";
  }
  return out + "</｜DSML｜invoke>\n";
}

std::string write_call(std::string_view format, const Call& call, std::size_t index) {
  const std::string json = to_text(Json(call.arguments));
  std::string out;
  if (format == "hermes") {
    return "<tool_call>\n{\"name\": \"" + call.name + "\", \"arguments\": " + json +
           "}\n</tool_call>\n";
  }
  if (format == "qwen3_coder" || format == "glm45" || format == "deepseek_v32" ||
      format == "deepseek_v4") {
    return write_marked_call(format, call);
  }
  if (format == "deepseek_v3") {
    return "<｜tool▁call▁begin｜>function<｜tool▁sep｜>" + call.name + "\n```json\n" + json +
           "\n```<｜tool▁call▁end｜>\n";
  }
  if (format == "deepseek_v31") {
    return "<｜tool▁call▁begin｜>" + call.name + "<｜tool▁sep｜>" + json + "<｜tool▁call▁end｜>";
  }
  if (format == "kimi_k2") {
    return "<|tool_call_begin|>functions." + call.name + ":" + std::to_string(index) +
           "<|tool_call_argument_begin|>" + json + "<|tool_call_end|>";
  }
  if (format == "mistral_v11") {
    return "[TOOL_CALLS]" + call.name + "[ARGS]" + json;
  }
  if (format == "gemma4") {
    return "<|tool_call>call:" + call.name + gemma(call.arguments) + "<tool_call|>";
  }
  if (format == "pythonic" || format == "llama4") {
    out = std::string(index > 0 ? ", " : "") + call.name + "(";
    for (const JsonMember& member : call.arguments) {
      out += (out.back() == '(' ? "" : ", ") + member.key + "=" + python(member.value);
    }
    return out + ")";
  }
  if (format == "harmony") {
    return std::string(index > 0 ? "<|start|>assistant" : "") +
           "<|channel|>commentary to=functions." + call.name + " <|constrain|>json<|message|>" +
           json + "<|call|>";
  }
  const std::string key = format == "mistral" ? "arguments" : "parameters";
  const std::string separator = format == "llama3" ? "; " : ", ";
  return (index > 0 ? separator : "") + "{\"name\": \"" + call.name + "\", \"" + key +
         "\": " + json + "}";
}

std::string write_calls(std::string_view format, const std::vector<Call>& calls) {
  std::string inside;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    inside += write_call(format, calls[i], i);
  }
  if (format == "mistral") {
    return "[TOOL_CALLS] [" + inside + "]";
  }
  if (format == "json" || format == "pythonic") {
    return "[" + inside + "]";
  }
  if (format == "llama4") {
    return "<|python_start|>[" + inside + "]<|python_end|>";
  }
  const ToolFormat& row = *find_tool_format(format);
  return std::string(row.section_begins[0]) + inside + std::string(row.section_ends[0]);
}

// Schemas that say of each argument what it is, for the formats that write no quotes.
std::vector<Tool> declare(const std::vector<Call>& calls) {
  constexpr const char* kNames[] = {"null",   "boolean", "number", "number",
                                    "number", "string",  "array",  "object"};
  std::vector<Tool> tools;
  for (const Call& call : calls) {
    JsonObject properties;
    for (const JsonMember& member : call.arguments) {
      properties.set(member.key,
                     JsonObject{{"type", kNames[static_cast<std::size_t>(member.value.kind())]}});
    }
    tools.push_back({call.name, "", JsonObject{{"properties", std::move(properties)}}, false});
  }
  return tools;
}

TEST(OutputProperty, random_calls_written_in_any_format_are_read_back) {
  CallWriter writer(20260701);
  std::vector<std::string> formats{"json"};
  for (const ToolFormat& format : tool_formats()) {
    formats.emplace_back(format.name);
  }
  for (int round = 0; round < 150; ++round) {
    const std::vector<Call> calls = writer.calls();
    for (const std::string& name : formats) {
      const std::string text = write_calls(name, calls);
      OutputFormat format = output_format(name, name == "harmony" ? name : "", round % 2 == 0);
      format.declared = declare(calls);
      const std::string input = format.marks.encode(text);
      const std::vector<OutputPiece> pieces =
          parse_in_pieces(format, input, 1 + writer.below(4), writer.below(9));
      std::vector<Call> read;
      std::string arguments;
      for (const OutputPiece& piece : pieces) {
        if (piece.kind == OutputPiece::Kind::kCallStart) {
          read.push_back({piece.text, {}});
          arguments.clear();
        } else if (piece.kind == OutputPiece::Kind::kArguments) {
          arguments += piece.text;
        } else if (piece.kind == OutputPiece::Kind::kCallEnd) {
          ASSERT_TRUE(piece.is_complete) << text;
          const Result<Json> json = parse_json(arguments);
          ASSERT_TRUE(json.ok() && json.value().is_object()) << arguments << "\n" << text;
          read.back().arguments = json.value().as_object();
        } else {
          EXPECT_EQ(piece.text, "") << text;
        }
      }
      ASSERT_EQ(read.size(), calls.size()) << name << ": " << text << "\n" << describe(pieces);
      for (std::size_t i = 0; i < calls.size(); ++i) {
        EXPECT_EQ(read[i].name, calls[i].name);
        EXPECT_EQ(to_text(Json(read[i].arguments)), to_text(Json(calls[i].arguments)))
            << name << ": " << text;
      }
    }
  }
}

TEST(OutputProperty, an_answer_cut_anywhere_behind_a_whole_call_has_no_text) {
  CallWriter writer(8);
  for (const ToolFormat& row : tool_formats()) {
    for (const bool with_tokens : {false, true}) {
      const std::vector<Call> calls = writer.calls();
      OutputFormat format = output_format(row.name, "", with_tokens);
      format.declared = declare(calls);
      const std::string text = format.marks.encode(write_calls(row.name, calls));
      std::string so_far;
      for (const std::string_view character : characters_of(text)) {
        so_far += character;
        bool has_call = false;
        for (const OutputPiece& piece : parse_in_pieces(format, so_far, 7, 0, /*is_cut=*/true)) {
          EXPECT_FALSE(has_call && piece.kind == OutputPiece::Kind::kText)
              << row.name << " gives '" << piece.text << "' of: " << so_far;
          has_call = has_call || (piece.kind == OutputPiece::Kind::kCallEnd && piece.is_complete);
        }
      }
    }
  }
}

TEST(OutputProperty, a_call_cut_anywhere_still_has_one_object_as_arguments) {
  CallWriter writer(7);
  for (const ToolFormat& row : tool_formats()) {
    const std::vector<Call> calls = writer.calls();
    OutputFormat format = output_format(row.name, "", false);
    format.declared = declare(calls);
    const std::string text = write_calls(row.name, calls);
    const std::vector<std::string_view> characters = characters_of(text);
    std::string so_far;
    for (const std::string_view character : characters) {
      so_far += character;
      std::string arguments;
      for (const OutputPiece& piece : parse_in_pieces(format, so_far, 1 << 20)) {
        if (piece.kind == OutputPiece::Kind::kCallStart) {
          arguments.clear();
        } else if (piece.kind == OutputPiece::Kind::kArguments) {
          arguments += piece.text;
        } else if (piece.kind == OutputPiece::Kind::kCallEnd) {
          const Result<Json> json = parse_json(arguments);
          EXPECT_TRUE(json.ok() && json.value().is_object()) << arguments << "\n" << so_far;
        }
      }
    }
  }
}

}  // namespace
}  // namespace plumb
