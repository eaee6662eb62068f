// SPDX-License-Identifier: Apache-2.0
#include "grammar/json_grammar.h"

#include <array>
#include <string_view>
#include <vector>

namespace plumb {
namespace {

RegexId chars(RegexSet* set, std::string_view any_of) {
  ByteSet bytes;
  for (const char c : any_of) {
    bytes.insert(static_cast<std::uint8_t>(c));
  }
  return set->byte_set(bytes);
}

RegexId digits(RegexSet* set, std::int64_t min) {
  return set->repeat(set->byte_range('0', '9'), min, kUnbounded);
}

}  // namespace

RegexId json_blanks(RegexSet* set) {
  return set->repeat(chars(set, " \t\n\r"), 0, kMaxJsonBlanks);
}

RegexId json_string(RegexSet* set) {
  const std::array special = {CodePointRange{0, 0x1F}, CodePointRange{'"', '"'},
                              CodePointRange{'\\', '\\'}};
  const RegexId hex = set->any_of(
      std::array{set->byte_range('0', '9'), set->byte_range('a', 'f'), set->byte_range('A', 'F')});
  const RegexId escape = set->concat(std::array{
      set->literal("\\"),
      set->any_of(std::array{chars(set, "\"\\/bfnrt"),
                             set->concat(std::array{set->literal("u"), set->repeat(hex, 4, 4)})})});
  const RegexId content =
      set->repeat(set->any_of(std::array{set->other_char(special), escape}), 0, kUnbounded);
  return set->concat(std::array{set->literal("\""), content, set->literal("\"")});
}

RegexId json_number(RegexSet* set) {
  const RegexId whole = set->any_of(std::array{
      set->literal("0"), set->concat(std::array{set->byte_range('1', '9'), digits(set, 0)})});
  const RegexId fraction = set->concat(std::array{set->literal("."), digits(set, 1)});
  const RegexId exponent = set->concat(
      std::array{chars(set, "eE"), set->repeat(chars(set, "+-"), 0, 1), digits(set, 1)});
  return set->concat(std::array{set->repeat(set->literal("-"), 0, 1), whole,
                                set->repeat(fraction, 0, 1), set->repeat(exponent, 0, 1)});
}

Cfg json_object_grammar() {
  Cfg cfg;
  RegexSet& set = cfg.regexes();
  const RegexId blanks = json_blanks(&set);
  const auto token = [&](RegexId regex) {  // with the blanks after it
    return cfg.terminal(set.concat(std::array{regex, blanks}));
  };
  const RegexId scalar =
      set.any_of(std::array{json_string(&set), json_number(&set), set.literal("true"),
                            set.literal("false"), set.literal("null")});
  const RegexId key = set.concat(std::array{json_string(&set), blanks, set.literal(":")});
  const SymbolId comma = token(set.literal(","));
  const SymbolId blank = cfg.terminal(blanks);
  const SymbolId value = cfg.nonterminal("value");
  const auto bracketed = [&](std::string_view open, std::string_view close, SymbolId item) {
    const SymbolId items = cfg.nonterminal("items");
    cfg.add_rule(items, {item});
    cfg.add_rule(items, {items, comma, item});
    return cfg.sequence({token(set.literal(open)), cfg.optional(items), cfg.terminal(close)});
  };
  const SymbolId object = bracketed("{", "}", cfg.sequence({token(key), value}));
  const SymbolId array = bracketed("[", "]", value);
  cfg.add_rule(value, {token(scalar)});
  cfg.add_rule(value, {object, blank});
  cfg.add_rule(value, {array, blank});
  cfg.set_start(object);
  return cfg;
}

}  // namespace plumb
