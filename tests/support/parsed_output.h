// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "api/output_parser.h"
#include "base/text.h"

namespace plumb {

/// The pieces of an answer, one a line, neighbours of one kind joined: "text: …", "reasoning: …",
/// "call: NAME ID", "arguments: …", "end" or "broken end".
inline std::string describe(const std::vector<OutputPiece>& pieces) {
  using Kind = OutputPiece::Kind;
  std::string out;
  const OutputPiece* last = nullptr;
  for (const OutputPiece& piece : pieces) {
    if (piece.text.empty() && piece.kind == Kind::kReasoning) {
      continue;
    }
    const bool goes_on =
        last != nullptr && last->kind == piece.kind && piece.kind != Kind::kCallEnd;
    if (!goes_on) {
      out += out.empty() ? "" : "\n";
      switch (piece.kind) {
        case Kind::kText:
          out += "text: ";
          break;
        case Kind::kReasoning:
          out += "reasoning: ";
          break;
        case Kind::kCallStart:
          out += "call: ";
          break;
        case Kind::kArguments:
          out += "arguments: ";
          break;
        case Kind::kCallEnd:
          out += piece.is_complete ? "end" : "broken end";
          break;
      }
    }
    out += piece.text + (piece.id.empty() ? "" : " " + piece.id);
    last = &piece;
  }
  return out;
}

/// The characters of a parser's input; the code of a mark counts as one.
inline std::vector<std::string_view> characters_of(std::string_view input) {
  std::vector<std::string_view> out;
  while (!input.empty()) {
    const std::size_t size = input.front() == '\xFF'
                                 ? OutputMarks::kCodeBytes
                                 : static_cast<std::size_t>(decode_utf8(input).num_bytes);
    out.push_back(input.substr(0, size));
    input.remove_prefix(out.back().size());
  }
  return out;
}

/// What a parser makes of an input that comes in pieces of so many characters, the first one apart;
/// is_cut: the limit ended it.
inline std::vector<OutputPiece> parse_in_pieces(OutputFormat format, std::string_view input,
                                                std::size_t piece, std::size_t first = 0,
                                                bool is_cut = false) {
  const std::unique_ptr<OutputParser> parser = make_output_parser(std::move(format));
  std::vector<OutputPiece> out;
  std::string waiting;
  std::size_t num_waiting = 0;
  std::size_t wanted = first > 0 ? first : piece;
  for (const std::string_view character : characters_of(input)) {
    waiting += character;
    if (++num_waiting == wanted) {
      parser->push(waiting, &out);
      waiting.clear();
      num_waiting = 0;
      wanted = piece;
    }
  }
  parser->push(waiting, &out);
  parser->finish(&out, is_cut);
  return out;
}

/// The format of that name with all its tokens as control tokens, or all of them as text.
inline OutputFormat output_format(std::string_view tools, std::string_view reasoning,
                                  bool with_tokens) {
  OutputFormat format;
  format.tools = find_tool_format(tools);
  format.reasoning = find_reasoning_format(reasoning);
  std::vector<std::string> marks;
  const auto add = [&](const auto& tokens) {
    for (const std::string_view token : tokens) {
      if (with_tokens && !token.empty()) {
        marks.emplace_back(token);
      }
    }
  };
  if (format.tools != nullptr) {
    add(format.tools->tokens);
  }
  if (format.reasoning != nullptr) {
    add(format.reasoning->tokens);
  }
  format.marks = OutputMarks(std::move(marks));
  return format;
}

}  // namespace plumb
