// SPDX-License-Identifier: Apache-2.0
// json_schema_cli < lines
//
// Reads one {"schema": S, "seeds": [N...], "soft_bytes": B, "any_order": A, "compact": C} a line
// and prints {"texts": [T...]}, a random text of the schema's grammar for each seed ("" if it found
// no end), or {"error": E}. For tests that validate the texts with another implementation.
#include <cstdio>
#include <string>

#include "base/json.h"
#include "base/rng.h"
#include "support/byte_grammar.h"

namespace {

using plumb::Json;
using plumb::JsonArray;
using plumb::JsonObject;

bool read_line(std::string* line) {
  line->clear();
  int c = std::getchar();
  for (; c != EOF && c != '\n'; c = std::getchar()) {
    *line += static_cast<char>(c);
  }
  return c != EOF;
}

Json answer(const Json& request) {
  plumb::JsonSchemaOptions options;
  options.any_order = *request.find("any_order") == Json(true);
  options.compact = *request.find("compact") == Json(true);
  const auto grammar =
      plumb::ByteGrammar::from_schema(plumb::to_text(*request.find("schema")), options);
  if (!grammar.ok()) {
    return JsonObject{{"error", grammar.status().message()}};
  }
  std::int64_t soft_bytes = 0;
  JsonArray texts;
  if (!request.find("soft_bytes")->to_int64(&soft_bytes)) {
    return JsonObject{{"error", "soft_bytes must be an integer"}};
  }
  for (const Json& seed : request.find("seeds")->as_array()) {
    plumb::Rng rng(static_cast<std::uint64_t>(seed.as_double()));
    texts.emplace_back(grammar.value().sample(&rng, soft_bytes));
  }
  return JsonObject{{"texts", std::move(texts)}};
}

}  // namespace

int main() {
  std::string line;
  while (read_line(&line)) {
    const auto request = plumb::parse_json(line);
    if (!request.ok()) {
      std::fprintf(stderr, "%s\n", request.status().message().c_str());
      return 1;
    }
    std::printf("%s\n", plumb::to_text(answer(request.value())).c_str());
    std::fflush(stdout);
  }
  return 0;
}
