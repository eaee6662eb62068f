// SPDX-License-Identifier: Apache-2.0
// Input: the text of a tokenizer.json, a byte FF, then text to encode. Whatever loads must encode
// any text and decode any ids to well-formed UTF-8.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "tokenizer/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t num_bytes) {
  constexpr std::size_t kMaxText = 2000;
  const std::string_view input(reinterpret_cast<const char*>(bytes), num_bytes);
  const std::size_t cut = input.find('\xFF');
  const std::string_view json = input.substr(0, cut);
  const std::string_view text =
      cut == std::string_view::npos ? "Hello <s> 12\n" : input.substr(cut + 1, kMaxText);
  const auto tokenizer = plumb::Tokenizer::from_tokenizer_json(json);
  if (!tokenizer.ok()) {
    return 0;
  }
  const plumb::Tokenizer& t = *tokenizer.value();
  for (const bool parse_special : {false, true}) {
    const auto ids = t.encode(text, {.add_special = true, .parse_special = parse_special});
    for (const plumb::TokenId id : ids) {
      PLUMB_CHECK(id >= 0 && id < t.vocab_size(), "an id outside the vocabulary");
    }
    PLUMB_CHECK(plumb::is_valid_utf8(t.decode(ids, {.skip_special = false})), "ill-formed text");
  }
  const plumb::Segment segments[] = {{"<s>", true}, {std::string(text), false}};
  t.encode_segments(segments, true);
  return 0;
}
