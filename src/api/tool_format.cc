// SPDX-License-Identifier: Apache-2.0
#include "api/tool_format.h"

#include <algorithm>

namespace plumb {
namespace {

constexpr XmlMarks kQwenXml{.name_begin = "<function=",
                            .name_end = ">",
                            .key_begin = "<parameter=",
                            .key_end = ">",
                            .value_begin = "",
                            .value_end = "</parameter>",
                            .end = "</function>",
                            .has_line_ends = true,
                            .tag_style = "qwen_xml"};

constexpr XmlMarks kGlmXml{.name_begin = "",
                           .name_end = "",
                           .key_begin = "<arg_key>",
                           .key_end = "</arg_key>",
                           .value_begin = "<arg_value>",
                           .value_end = "</arg_value>",
                           .end = "</tool_call>",
                           .guesses_types = true,
                           .tag_style = "glm_xml"};

constexpr XmlMarks kDsml{.name_begin = "<｜DSML｜invoke name=\"",
                         .name_end = "\">",
                         .key_begin = "<｜DSML｜parameter name=\"",
                         .key_end = "\"",
                         .value_begin = "",
                         .value_end = "</｜DSML｜parameter>",
                         .end = "</｜DSML｜invoke>",
                         .says_string = true,
                         .tag_style = "deepseek_xml"};

// In the order in which they are tried; a row with more signs before one with fewer of them.
constexpr std::array kToolFormats = {
    ToolFormat{
        .name = "harmony",
        .models = "gpt-oss",
        .syntax = CallSyntax::kHarmony,
        .written_begin = "<|channel|>commentary to=functions.{} <|constrain|>json<|message|>",
        .tokens = {"<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|constrain|>",
                   "<|call|>", "<|return|>"},
        .signs = {"<|channel|>", "<|message|>"}},
    ToolFormat{.name = "deepseek_v4",
               .models = "DeepSeek V4",
               .syntax = CallSyntax::kXml,
               .section_begins = {"<｜DSML｜tool_calls>", "<｜DSML｜function_calls>"},
               .section_ends = {"</｜DSML｜tool_calls>", "</｜DSML｜function_calls>"},
               .call_sign = "<｜DSML｜invoke",
               .xml = kDsml,
               .written_begin = "<｜DSML｜invoke name=\"{}\">\n",
               .written_end = "</｜DSML｜invoke>\n",
               .written_open = "<｜DSML｜tool_calls>\n",
               .written_close = "</｜DSML｜tool_calls>",
               .tokens = {"｜DSML｜"},
               .signs = {"｜DSML｜", "tool_calls>"}},
    ToolFormat{.name = "deepseek_v32",
               .models = "DeepSeek V3.2",
               .syntax = CallSyntax::kXml,
               .section_begins = {"<｜DSML｜function_calls>", "<｜DSML｜tool_calls>"},
               .section_ends = {"</｜DSML｜function_calls>", "</｜DSML｜tool_calls>"},
               .call_sign = "<｜DSML｜invoke",
               .xml = kDsml,
               .written_begin = "<｜DSML｜invoke name=\"{}\">\n",
               .written_end = "</｜DSML｜invoke>\n",
               .written_open = "<｜DSML｜function_calls>\n",
               .written_close = "</｜DSML｜function_calls>",
               .tokens = {"｜DSML｜"},
               .signs = {"｜DSML｜"}},
    ToolFormat{.name = "deepseek_v3",
               .models = "DeepSeek V3, R1",
               .syntax = CallSyntax::kNamed,
               .section_begins = {"<｜tool▁calls▁begin｜>"},
               .section_ends = {"<｜tool▁calls▁end｜>"},
               .call_begin = "<｜tool▁call▁begin｜>",
               .call_end = "<｜tool▁call▁end｜>",
               .name_prefix = "function<｜tool▁sep｜>",
               .name_ends = {"\n```json"},
               .arguments_end = "```",
               .written_begin = "<｜tool▁call▁begin｜>function<｜tool▁sep｜>{}\n```json\n",
               .written_end = "\n```<｜tool▁call▁end｜>",
               .separator = "\n",
               .written_open = "<｜tool▁calls▁begin｜>",
               .written_close = "<｜tool▁calls▁end｜>",
               .tokens = {"<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", "<｜tool▁call▁begin｜>",
                          "<｜tool▁call▁end｜>", "<｜tool▁sep｜>"},
               .signs = {"<｜tool▁calls▁begin｜>", "```json"}},
    ToolFormat{.name = "deepseek_v31",
               .models = "DeepSeek V3.1",
               .syntax = CallSyntax::kNamed,
               .section_begins = {"<｜tool▁calls▁begin｜>"},
               .section_ends = {"<｜tool▁calls▁end｜>"},
               .call_begin = "<｜tool▁call▁begin｜>",
               .call_end = "<｜tool▁call▁end｜>",
               .name_ends = {"<｜tool▁sep｜>"},
               .written_begin = "<｜tool▁call▁begin｜>{}<｜tool▁sep｜>",
               .written_end = "<｜tool▁call▁end｜>",
               .written_open = "<｜tool▁calls▁begin｜>",
               .written_close = "<｜tool▁calls▁end｜>",
               .tokens = {"<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", "<｜tool▁call▁begin｜>",
                          "<｜tool▁call▁end｜>", "<｜tool▁sep｜>"},
               .signs = {"<｜tool▁calls▁begin｜>"}},
    ToolFormat{
        .name = "kimi_k2",
        .models = "Kimi K2",
        .syntax = CallSyntax::kNamed,
        .section_begins = {"<|tool_calls_section_begin|>"},
        .section_ends = {"<|tool_calls_section_end|>"},
        .call_begin = "<|tool_call_begin|>",
        .call_end = "<|tool_call_end|>",
        .name_ends = {"<|tool_call_argument_begin|>"},
        .ids = CallIds::kKimi,
        .written_begin = "<|tool_call_begin|>functions.{}:{#}<|tool_call_argument_begin|>",
        .written_end = "<|tool_call_end|>",
        .written_open = "<|tool_calls_section_begin|>",
        .written_close = "<|tool_calls_section_end|>",
        .tokens = {"<|tool_calls_section_begin|>", "<|tool_calls_section_end|>",
                   "<|tool_call_begin|>", "<|tool_call_end|>", "<|tool_call_argument_begin|>"},
        .signs = {"<|tool_calls_section_begin|>"}},
    ToolFormat{.name = "gemma4",
               .models = "Gemma 4",
               .syntax = CallSyntax::kGemma,
               .call_begin = "<|tool_call>",
               .call_end = "<tool_call|>",
               .written_begin = "<|tool_call>call:{}",
               .written_end = "<tool_call|>",
               .tokens = {"<|tool_call>", "<tool_call|>", "<|\"|>"},
               .signs = {"<|tool_call>"}},
    ToolFormat{.name = "mistral_v11",
               .models = "Mistral, tokenizer v11 and newer",
               .syntax = CallSyntax::kNamed,
               .call_begin = "[TOOL_CALLS]",
               .name_ends = {"[ARGS]", "{"},
               .ids = CallIds::kMistral,
               .written_begin = "[TOOL_CALLS]{}[ARGS]",
               .tokens = {"[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"},
               .signs = {"[TOOL_CALLS]", "[ARGS]"}},
    ToolFormat{.name = "mistral",
               .models = "Mistral, tokenizer v7 and older",
               .syntax = CallSyntax::kObject,
               .section_begins = {"[TOOL_CALLS]"},
               .section_ends = {"]"},
               .between = "[,",
               .ids = CallIds::kMistral,
               .written_begin = "{\"name\": \"{}\", \"arguments\": ",
               .written_end = "}",
               .separator = ", ",
               .written_open = "[TOOL_CALLS] [",
               .written_close = "]",
               .tokens = {"[TOOL_CALLS]"},
               .signs = {"[TOOL_CALLS]"}},
    ToolFormat{.name = "glm45",
               .models = "GLM-4.5 and newer",
               .syntax = CallSyntax::kXml,
               .call_begin = "<tool_call>",
               .call_end = "</tool_call>",
               .xml = kGlmXml,
               .written_begin = "<tool_call>{}\n",
               .written_end = "</tool_call>",
               .separator = "\n",
               .tokens = {"<tool_call>", "</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>",
                          "</arg_value>"},
               .signs = {"<arg_key>", "<tool_call>"}},
    ToolFormat{.name = "qwen3_coder",
               .models = "Qwen3-Coder, Qwen3.5",
               .syntax = CallSyntax::kXml,
               .call_begin = "<tool_call>",
               .call_sign = "<function=",
               .call_end = "</tool_call>",
               .xml = kQwenXml,
               .written_begin = "<tool_call>\n<function={}>\n",
               .written_end = "</function>\n</tool_call>",
               .separator = "\n",
               .tokens = {"<tool_call>", "</tool_call>"},
               .signs = {"<function=", "<parameter=", "<tool_call>"}},
    ToolFormat{.name = "hermes",
               .models = "Hermes, Qwen2.5, Qwen3",
               .syntax = CallSyntax::kObject,
               .call_begin = "<tool_call>",
               .call_end = "</tool_call>",
               .written_begin = "<tool_call>\n{\"name\": \"{}\", \"arguments\": ",
               .written_end = "}\n</tool_call>",
               .separator = "\n",
               .tokens = {"<tool_call>", "</tool_call>"},
               .signs = {"<tool_call>"}},
    ToolFormat{.name = "llama4",
               .models = "Llama 4, pythonic",
               .syntax = CallSyntax::kPython,
               .section_begins = {"<|python_start|>"},
               .section_ends = {"<|python_end|>"},
               .between = "[,]",
               .bare = "[",
               .written_begin = "{}(",
               .written_end = ")",
               .separator = ", ",
               .written_open = "<|python_start|>[",
               .written_close = "]<|python_end|>",
               .tokens = {"<|python_start|>", "<|python_end|>"},
               .signs = {"<|python_start|>"}},
    ToolFormat{.name = "pythonic",
               .models = "Llama 3.2 and others with Python lists",
               .syntax = CallSyntax::kPython,
               .section_ends = {"]"},
               .between = "[,",
               .bare = "[",
               .written_begin = "{}(",
               .written_end = ")",
               .separator = ", ",
               .written_open = "[",
               .written_close = "]",
               .signs = {"func_name1(params_name1"}},
    ToolFormat{.name = "llama3",
               .models = "Llama 3.1, 3.2, 3.3",
               .syntax = CallSyntax::kObject,
               .section_begins = {"<|python_tag|>"},
               .between = ";",
               .bare = "{",
               .has_builtins = true,
               .written_begin = "{\"name\": \"{}\", \"parameters\": ",
               .written_end = "}",
               .separator = "; ",
               .tokens = {"<|python_tag|>"},
               .signs = {"\"parameters\":", "<|start_header_id|>"}},
};

constexpr ToolFormat kJsonFormat{.name = "json",
                                 .models = "models without a format of their own",
                                 .syntax = CallSyntax::kObject,
                                 .section_ends = {"]"},
                                 .between = "[,",
                                 .bare = "[{",
                                 .written_begin = "{\"name\": \"{}\", \"parameters\": ",
                                 .written_end = "}",
                                 .separator = ", ",
                                 .written_open = "[",
                                 .written_close = "]"};

constexpr std::array kReasoningFormats = {
    ReasoningFormat{
        .name = "harmony", .models = "gpt-oss", .begin = "", .end = "", .sign = "<|channel|>"},
    ReasoningFormat{.name = "gemma4",
                    .models = "Gemma 4",
                    .begin = "<|channel>thought\n",
                    .end = "<channel|>",
                    .tokens = {"<|channel>", "<channel|>"},
                    .sign = "<|channel>"},
    ReasoningFormat{.name = "mistral",
                    .models = "Magistral",
                    .begin = "[THINK]",
                    .end = "[/THINK]",
                    .tokens = {"[THINK]", "[/THINK]"},
                    .sign = "[THINK]"},
    ReasoningFormat{.name = "think",
                    .models = "DeepSeek, Qwen3, QwQ, GLM-4.5 and newer, Kimi K2",
                    .begin = "<think>",
                    .end = "</think>",
                    .tokens = {"<think>", "</think>"},
                    .sign = "<think>"},
};

template <class Formats>
std::string list_names(const Formats& formats) {
  std::string out = "auto, none";
  for (const auto& format : formats) {
    out += ", " + std::string(format.name);
  }
  return out;
}

template <class Formats>
auto find_name(const Formats& formats, std::string_view name) -> decltype(&formats[0]) {
  const auto found = std::find_if(formats.begin(), formats.end(),
                                  [name](const auto& format) { return format.name == name; });
  return found == formats.end() ? nullptr : &*found;
}

}  // namespace

std::span<const ToolFormat> tool_formats() {
  return kToolFormats;
}

std::span<const ReasoningFormat> reasoning_formats() {
  return kReasoningFormats;
}

const ToolFormat& json_tool_format() {
  return kJsonFormat;
}

const ToolFormat* find_tool_format(std::string_view name) {
  return name == kJsonFormat.name ? &kJsonFormat : find_name(kToolFormats, name);
}

const ReasoningFormat* find_reasoning_format(std::string_view name) {
  return find_name(kReasoningFormats, name);
}

const ToolFormat* detect_tool_format(std::string_view chat_template,
                                     const std::function<bool(std::string_view)>& has_token) {
  for (const ToolFormat& format : kToolFormats) {
    const bool fits =
        std::all_of(format.signs.begin(), format.signs.end(), [&](std::string_view sign) {
          const bool is_token =
              std::find(format.tokens.begin(), format.tokens.end(), sign) != format.tokens.end();
          return chat_template.find(sign) != std::string_view::npos ||
                 (is_token && has_token(sign));
        });
    // A vocabulary alone does not say that the model was trained to call.
    const bool is_in_template =
        std::any_of(format.signs.begin(), format.signs.end(), [&](std::string_view sign) {
          return !sign.empty() && chat_template.find(sign) != std::string_view::npos;
        });
    if (fits && is_in_template) {
      return &format;
    }
  }
  return nullptr;
}

const ReasoningFormat* detect_reasoning_format(
    std::string_view chat_template, const std::function<bool(std::string_view)>& has_token) {
  for (const ReasoningFormat& format : kReasoningFormats) {
    if (chat_template.find(format.sign) != std::string_view::npos || has_token(format.sign)) {
      return &format;
    }
  }
  return nullptr;
}

std::string list_tool_formats() {
  return list_names(kToolFormats) + ", " + std::string(kJsonFormat.name);
}

std::string list_reasoning_formats() {
  return list_names(kReasoningFormats);
}

}  // namespace plumb
