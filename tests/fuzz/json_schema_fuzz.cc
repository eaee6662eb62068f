// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "grammar/json_schema.h"

// The input is a schema behind one byte of options; compilation ends with a grammar or an error
// that says something.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  plumb::JsonSchemaOptions options;
  options.strict = (data[0] & 1U) != 0;
  options.lenient = (data[0] & 2U) != 0;
  options.any_order = (data[0] & 4U) != 0;
  options.compact = (data[0] & 8U) != 0;
  const std::string_view schema(reinterpret_cast<const char*>(data) + 1, size - 1);
  plumb::CompileBudget::Limits limits;
  limits.max_states = 5'000;
  limits.max_expressions = 20'000;
  limits.max_rules = 5'000;
  plumb::CompileBudget budget(limits, {});
  const auto grammar = plumb::compile_json_schema(schema, options, &budget);
  if (grammar.ok()) {
    PLUMB_CHECK(!grammar.value().cfg.rules().empty(), "a grammar without rules");
  } else {
    PLUMB_CHECK(!grammar.status().message().empty(), "an error without a message");
  }
  return 0;
}
