// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/output_parser.h"
#include "base/check.h"
#include "base/json.h"
#include "base/text.h"
#include "support/parsed_output.h"

namespace {

// Every call has a name, and arguments that are together one object.
void check_calls(const std::vector<plumb::OutputPiece>& pieces) {
  using Kind = plumb::OutputPiece::Kind;
  std::string arguments;
  bool is_open = false;
  for (const plumb::OutputPiece& piece : pieces) {
    if (piece.kind == Kind::kCallStart) {
      PLUMB_CHECK(!is_open && !piece.text.empty(), "a call inside a call, or without a name");
      is_open = true;
      arguments.clear();
    } else if (piece.kind == Kind::kArguments) {
      PLUMB_CHECK(is_open, "arguments without a call");
      arguments += piece.text;
    } else if (piece.kind == Kind::kCallEnd) {
      const plumb::Result<plumb::Json> json = plumb::parse_json(arguments, {.max_depth = 256});
      PLUMB_CHECK(is_open && json.ok() && json.value().is_object(), arguments);
      is_open = false;
    } else {
      PLUMB_CHECK(!is_open, "text inside a call");
    }
  }
  PLUMB_CHECK(!is_open, "a call without an end");
}

}  // namespace

// Two bytes choose the formats and the cut, the rest is an answer: it gives the same pieces whole
// and cut, and calls that hold what parsers promise.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) {
    return 0;
  }
  const std::size_t num_tools = plumb::tool_formats().size();
  const std::size_t choice = data[0] % (num_tools + 1);
  const std::string_view tools = choice < num_tools ? plumb::tool_formats()[choice].name : "json";
  const std::string_view reasoning = tools == "harmony" ? "harmony" : "think";
  plumb::OutputFormat format = plumb::output_format(tools, reasoning, (data[1] & 1U) != 0);
  format.starts_in_reasoning = (data[1] & 2U) != 0;
  format.shows_marks = (data[1] & 4U) != 0;
  format.declared = {{"f", "",
                      plumb::parse_json(R"({"properties":{"a":{"type":"string"},)"
                                        R"("b":{"type":["integer","null"]},"c":{}}})")
                          .value(),
                      false}};
  const std::string text =
      plumb::to_valid_utf8(std::string_view(reinterpret_cast<const char*>(data + 2), size - 2));
  const std::string input = format.marks.encode(text);
  const std::vector<plumb::OutputPiece> whole =
      plumb::parse_in_pieces(format, input, input.size() + 1);
  check_calls(whole);
  const std::vector<plumb::OutputPiece> cut =
      plumb::parse_in_pieces(format, input, 1 + data[1] / 8 % 4, data[1] / 32);
  PLUMB_CHECK(plumb::describe(whole) == plumb::describe(cut),
              plumb::describe(whole) + "\n--- cut:\n" + plumb::describe(cut));
  return 0;
}
