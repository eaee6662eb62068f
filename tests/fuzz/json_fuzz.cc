// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/json.h"

// What parses prints as JSON that parses to the same text again, compact and
// indented (texts, because 1e999 parses to an infinity, which prints as null).
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const plumb::JsonDuplicates duplicates :
       {plumb::JsonDuplicates::kLastWins, plumb::JsonDuplicates::kReject}) {
    const plumb::Result<plumb::Json> value = plumb::parse_json(text, {.duplicates = duplicates});
    if (!value.ok()) {
      continue;
    }
    const std::string compact = plumb::to_text(value.value());
    for (const std::string& printed : {compact, plumb::to_pretty_text(value.value())}) {
      const plumb::Result<plumb::Json> again = plumb::parse_json(printed);
      PLUMB_CHECK(again.ok(), again.status().message());
      PLUMB_CHECK(plumb::to_text(again.value()) == compact, compact);
    }
  }
  return 0;
}
