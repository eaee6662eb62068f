// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "grammar/grammar_tables.h"
#include "grammar/lark_parser.h"
#include "grammar/row_store.h"
#include "grammar/text_check.h"

namespace {

constexpr plumb::CompileBudget::Limits kLimits{
    .max_states = 2000, .max_expressions = 20'000, .max_rules = 5000};
constexpr plumb::MatcherLimits kMatcher{
    .max_row_items = 2000, .max_bytes = 1 << 20, .max_work = 200'000};

// Whether it is a grammar within the limits, or why not, is not asked; an error has a text.
void compile(std::string_view text, const plumb::NotationOptions& options) {
  plumb::CompileBudget budget(kLimits, {});
  plumb::Result<plumb::Cfg> cfg = plumb::parse_lark(text, options, &budget);
  if (!cfg.ok()) {
    PLUMB_CHECK(!cfg.status().message().empty(), "an error without a text");
    return;
  }
  const auto tables = plumb::GrammarTables::build(&cfg.value(), &budget);
  if (!tables.ok()) {
    return;
  }
  plumb::RowStore store(tables.value(), kMatcher);
  plumb::RowId row = store.start();
  for (const char c : std::string_view("a\\nb \"1\n")) {
    row = row < 0 ? row : store.next(row, static_cast<std::uint8_t>(c));
  }
}

}  // namespace

// The input is a grammar; whatever it is, reading it ends with a grammar or an error, in each form
// that it may be asked for, and a text is followed for a few steps.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const bool join : {true, false}) {
    for (const bool in_json : {true, false}) {
      compile(text, {.join_regular = join, .in_json_text = in_json});
    }
  }
  plumb::CompileBudget budget(kLimits, {});
  const auto check = plumb::TextCheck::of_lark(text, &budget);
  if (check.ok()) {
    const plumb::Status status = check.value()->check("*** a\n");
    PLUMB_CHECK(status.ok() || !status.message().empty(), "an error without a text");
  }
  return 0;
}
