// SPDX-License-Identifier: Apache-2.0
#include "grammar/text_check.h"

#include <string>
#include <utility>

#include "base/text.h"
#include "grammar/lark_parser.h"
#include "grammar/notation_reader.h"
#include "grammar/regex_parser.h"
#include "grammar/row_store.h"

namespace plumb {
namespace {

// Nobody waits for such a text, but others wait for the thread that checks it.
constexpr MatcherLimits kCheckLimits{.max_row_items = 20'000,
                                     .max_bytes = std::int64_t{32} << 20,
                                     .max_work = 1'000'000,
                                     .work_per_token = 200};

// Where the character with that byte begins.
std::size_t begin_of_character(std::string_view text, std::size_t offset) {
  while (offset > 0 && (static_cast<unsigned char>(text[offset]) & 0xC0U) == 0x80U) {
    --offset;
  }
  return offset;
}

// The character there, spelled for people.
std::string character_at(std::string_view text, std::size_t offset) {
  switch (text[offset]) {
    case '\n':
      return "the line end";
    case '\r':
      return "the carriage return";
    case '\t':
      return "the tab";
    default:
      break;
  }
  const auto size = static_cast<std::size_t>(decode_utf8(text.substr(offset)).num_bytes);
  return "'" + to_valid_utf8(text.substr(offset, size)) + "'";
}

}  // namespace

Result<std::unique_ptr<const TextCheck>> TextCheck::of(Cfg cfg, CompileBudget* budget) {
  PLUMB_ASSIGN(GrammarTables tables, GrammarTables::build(&cfg, budget));
  return std::unique_ptr<const TextCheck>(new TextCheck(std::move(tables)));
}

Result<std::unique_ptr<const TextCheck>> TextCheck::of_regex(std::string_view pattern,
                                                             CompileBudget* budget) {
  Cfg cfg;
  RegexParseOptions options;
  options.max_expressions = budget->limits().max_expressions;
  options.is_cancelled = budget->is_cancelled();
  PLUMB_ASSIGN(const RegexId regex, parse_regex(pattern, options, &cfg.regexes()));
  cfg.set_start(cfg.terminal(regex));
  return of(std::move(cfg), budget);
}

// One text needs no large automata: they would take longer to make than to do without.
Result<std::unique_ptr<const TextCheck>> TextCheck::of_lark(std::string_view text,
                                                            CompileBudget* budget) {
  PLUMB_ASSIGN(Cfg cfg, parse_lark(text, {.join_regular = false}, budget));
  return of(std::move(cfg), budget);
}

Status TextCheck::check(std::string_view text) const {
  RowStore store(tables_, kCheckLimits);
  RowId row = store.start();
  for (std::size_t i = 0; i < text.size() && row >= 0; ++i) {
    store.grant_token();
    row = store.next(row, static_cast<std::uint8_t>(text[i]));
    if (row == RowStore::kDead) {
      const std::size_t at = begin_of_character(text, i);
      return {Code::kInvalidArgument,
              place_in_text(text, at) + character_at(text, at) + " may not stand here"};
    }
    if (row >= 0 && store.wants_collection()) {
      RowId* const kept[] = {&row};
      store.collect(kept);
    }
  }
  if (row < 0) {
    return store.status();
  }
  if (!store.is_complete(row)) {
    return {Code::kInvalidArgument, place_in_text(text, text.size()) + "the text ends too early"};
  }
  return {};
}

}  // namespace plumb
