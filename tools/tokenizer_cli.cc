// SPDX-License-Identifier: Apache-2.0
// tokenizer_cli VOCABULARY.gguf|TOKENIZER.json [--pre NAME] [--parse-special] [--add-special]
// [--decode] < lines
//
// Reads one JSON string a line and prints the array of its token ids; with --decode reads arrays
// of ids and prints strings. For tests that compare with other implementations.
#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "support/gguf_vocab.h"
#include "tokenizer/tokenizer.h"

namespace {

using plumb::Json;
using plumb::TokenId;

struct Arguments {
  std::string path;
  std::string pre;
  plumb::EncodeOptions encode{.add_special = false, .parse_special = false};
  bool decode = false;
};

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--parse-special") {
      arguments.encode.parse_special = true;
    } else if (word == "--add-special") {
      arguments.encode.add_special = true;
    } else if (word == "--decode") {
      arguments.decode = true;
    } else if (word == "--pre" && i + 1 < argc) {
      arguments.pre = argv[++i];
    } else {
      arguments.path = word;
    }
  }
  return arguments;
}

plumb::Result<std::unique_ptr<plumb::Tokenizer>> load(const Arguments& arguments) {
  if (arguments.path.ends_with(".json")) {
    PLUMB_ASSIGN(const std::string text, plumb::read_file(arguments.path));
    return plumb::Tokenizer::from_tokenizer_json(text);
  }
  PLUMB_ASSIGN(plumb::Metadata metadata, plumb::read_gguf_vocab(arguments.path));
  if (!arguments.pre.empty()) {
    metadata.set("tokenizer.ggml.pre", arguments.pre);
  }
  return plumb::Tokenizer::from_metadata(metadata);
}

std::string answer(const plumb::Tokenizer& tokenizer, const Arguments& arguments,
                   const Json& line) {
  if (!arguments.decode) {
    plumb::JsonArray ids;
    for (const TokenId id : tokenizer.encode(line.as_string(), arguments.encode)) {
      ids.emplace_back(id);
    }
    return plumb::to_text(Json(std::move(ids)));
  }
  std::vector<TokenId> ids;
  for (const Json& id : line.as_array()) {
    ids.push_back(static_cast<TokenId>(id.as_int()));
  }
  return plumb::to_text(Json(tokenizer.decode(ids, {.skip_special = false})));
}

int run(const Arguments& arguments) {
  const auto tokenizer = load(arguments);
  if (!tokenizer.ok()) {
    std::fprintf(stderr, "%s\n", tokenizer.status().message().c_str());
    return 1;
  }
  std::string line;
  while (std::getline(std::cin, line)) {
    const plumb::Result<Json> value = plumb::parse_json(line);
    const Json::Kind wanted = arguments.decode ? Json::Kind::kArray : Json::Kind::kString;
    if (!value.ok() || value.value().kind() != wanted) {
      std::fprintf(stderr, "not the JSON that is expected: %s\n", line.c_str());
      return 1;
    }
    std::printf("%s\n", answer(*tokenizer.value(), arguments, value.value()).c_str());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return run(parse(argc, argv));
}
