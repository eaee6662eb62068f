// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/text.h"
#include "tokenizer/stop_matcher.h"

// The input is a pattern, a line end and a text; whatever they are, no text is invented: what comes
// out and what matched follow each other in it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = input.find('\n');
  const std::string text =
      plumb::to_valid_utf8(cut == std::string_view::npos ? "" : input.substr(cut + 1));
  auto regex = plumb::StopRegex::compile({std::string(input.substr(0, cut))});
  if (!regex.ok()) {
    return 0;
  }
  plumb::StopMatcher matcher({"stop"}, std::move(regex).value());
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at + 1;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) {
      ++end;
    }
    matcher.push(std::string_view(text).substr(at, end - at), &out);
    at = end;
  }
  matcher.flush(&out);
  const std::string seen = out + (matcher.has_matched() ? matcher.matched_text() : "");
  PLUMB_CHECK(text.starts_with(seen), "the text came out changed");
  PLUMB_CHECK(matcher.has_matched() || out.size() == text.size(), "text is missing");
  return 0;
}
