// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "tokenizer/chat_template.h"

namespace {

using plumb::ChatInput;
using plumb::Json;
using plumb::JsonArray;
using plumb::JsonObject;

ChatInput make_input() {
  const Json tool = JsonObject{
      {"type", "function"},
      {"function",
       JsonObject{{"name", "f"},
                  {"parameters", JsonObject{{"type", "object"}, {"required", JsonArray{"a"}}}}}}};
  const Json call = JsonObject{
      {"id", "1"}, {"function", JsonObject{{"name", "f"}, {"arguments", "{\"a\": [1.5, null]}"}}}};
  ChatInput input;
  input.messages = {
      JsonObject{{"role", "system"},
                 {"content",
                  "  Be <b>kind</b> & br\xC3\xA9"
                  "f.\n"}},
      JsonObject{{"role", "user"},
                 {"content", JsonArray{JsonObject{{"type", "text"}, {"text", "Hi <|end|>"}}}}},
      JsonObject{{"role", "assistant"}, {"reasoning", "hm"}, {"tool_calls", JsonArray{call}}},
      JsonObject{{"role", "tool"}, {"content", "21"}, {"tool_call_id", "1"}},
  };
  input.tools = JsonArray{tool};
  input.add_generation_prompt = true;
  input.template_kwargs = {{"n", 7},
                           {"f", 2.5},
                           {"s", "Hello World"},
                           {"d", JsonObject{{"b", 1}, {"a", 2}}},
                           {"l", JsonArray{3, 1, "x", nullptr, true}}};
  return input;
}

}  // namespace

// The input is a template; whatever it is, parsing and rendering end with a value or an error, and
// the segments of a rendering cover its text.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  const auto parsed = plumb::ChatTemplate::parse(source, {{"bos_token", "<s>"}});
  if (!parsed.ok()) {
    return 0;
  }
  plumb::RenderOptions options;
  options.max_steps = 20'000;
  options.max_memory_bytes = 8 << 20;
  options.max_output_bytes = 1 << 20;
  options.now = std::chrono::system_clock::time_point(std::chrono::seconds(1753660800));
  const auto rendered = parsed.value().render(make_input(), options);
  if (!rendered.ok()) {
    return 0;
  }
  std::int64_t covered = 0;
  for (const plumb::TextSegment& segment : rendered.value().segments) {
    PLUMB_CHECK(segment.begin == covered && segment.end > covered, "segments have a gap");
    covered = segment.end;
  }
  PLUMB_CHECK(covered == static_cast<std::int64_t>(rendered.value().text.size()),
              "segments do not cover the text");
  return 0;
}
