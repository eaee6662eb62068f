// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/output_marks.h"
#include "api/tool_format.h"
#include "api/tools.h"

namespace plumb {

/// What a parser found in an answer, in the order of the text.
struct OutputPiece {
  enum class Kind : unsigned char {
    kText,
    kReasoning,  ///< without text: the mark that ends it
    kCallStart,  ///< text = the name
    kArguments,  ///< text = a fragment
    kCallEnd,    ///< text is empty
  };

  Kind kind = Kind::kText;
  std::string text{};
  std::string id{};            ///< of kCallStart, if the model wrote one
  bool is_complete = true;     ///< of kCallEnd: the model wrote it to its end, and well
  std::int64_t input_end = 0;  ///< bytes of the input up to behind the piece
};

/// How an answer is to be read.
struct OutputFormat {
  const ToolFormat* tools = nullptr;           ///< null: calls are text
  const ReasoningFormat* reasoning = nullptr;  ///< null: reasoning is text
  /// Control tokens that the formats speak of; the formats' other tokens are text.
  OutputMarks marks{};
  bool starts_in_reasoning = false;  ///< the prompt ends inside it
  bool shows_marks = false;          ///< control tokens that mark nothing are text
  std::vector<Tool> declared{};      ///< for the types of arguments that are written without quotes
};

/// Reads an answer as it arrives. However the input is cut, the pieces are the same but for where
/// text, reasoning and arguments are cut; held back is only what may become a mark, and white space
/// before one.
///
/// Each call gives a start, fragments of arguments that are together one JSON object, and an end. A
/// call that turns out to be none before its name is known is text; later it is closed, and told as
/// incomplete.
/// Thread: one. Cost: linear.
class OutputParser {
 public:
  virtual ~OutputParser() = default;

  /// Takes UTF-8 in which control tokens are OutputMarks::code().
  virtual void push(std::string_view input, std::vector<OutputPiece>* out) = 0;

  /// The answer ends here. is_cut: at its limit, not where the model ended it; then what was begun
  /// of the format's marks behind a complete call is no text.
  /// Requires nothing is pushed afterwards.
  virtual void finish(std::vector<OutputPiece>* out, bool is_cut) = 0;

  /// Whether what comes next belongs to reasoning.
  virtual bool is_in_reasoning() const = 0;

  /// What the model wrote of calls that are none, as text.
  virtual const std::string& malformed() const = 0;
};

/// Requires format.marks are of the formats' tokens.
std::unique_ptr<OutputParser> make_output_parser(OutputFormat format);

}  // namespace plumb
