// SPDX-License-Identifier: Apache-2.0
#include "grammar/lark_parser.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "grammar/grammar_tables.h"
#include "grammar/row_store.h"

namespace plumb {
namespace {

Result<Cfg> read(std::string_view text, const NotationOptions& options = {}) {
  CompileBudget budget;
  return parse_lark(text, options, &budget);
}

bool matches(std::string_view grammar, std::string_view text, const NotationOptions& options) {
  CompileBudget budget;
  Result<Cfg> cfg = parse_lark(grammar, options, &budget);
  EXPECT_TRUE(cfg.ok()) << grammar << ": " << cfg.status().message();
  if (!cfg.ok()) {
    return false;
  }
  const Result<GrammarTables> tables = GrammarTables::build(&cfg.value(), &budget);
  EXPECT_TRUE(tables.ok()) << grammar << ": " << tables.status().message();
  RowStore store(tables.value(), MatcherLimits());
  RowId row = store.start();
  for (const char c : text) {
    row = store.next(row, static_cast<std::uint8_t>(c));
    if (row < 0) {
      return false;
    }
  }
  return store.is_complete(row);
}

struct Row {
  const char* grammar;
  std::vector<std::string> accepted;
  std::vector<std::string> rejected;
};

// Both ways to build a grammar give the same language.
void check(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    for (const bool join : {true, false}) {
      for (const std::string& text : row.accepted) {
        EXPECT_TRUE(matches(row.grammar, text, {.join_regular = join}))
            << row.grammar << " rejects " << text;
      }
      for (const std::string& text : row.rejected) {
        EXPECT_FALSE(matches(row.grammar, text, {.join_regular = join}))
            << row.grammar << " accepts " << text;
      }
    }
  }
}

TEST(LarkParser, reads_every_form_of_expression) {
  check({
      {"start: \"a\" \"b\"", {"ab"}, {"", "a", "abc"}},
      {"start: \"a\" | \"b\"", {"a", "b"}, {"ab", ""}},
      {"start: \"a\"\n     | \"b\"\n  |", {"a", "b", ""}, {"ab"}},
      {"start:\n  | \"a\"\n", {"", "a"}, {"b"}},
      {"start: \"ab\"i \"é\"i", {"abé", "ABÉ", "aBé"}, {"abe"}},
      {"start: \"a.c+\"i", {"a.c+", "A.C+"}, {"abc+", "a.cc"}},
      {"start: \"\\\"\\\\\\n\\t\\x41\\u00e9\\U0001F642\"", {"\"\\\n\tAé🙂"}, {"\"\\nA"}},
      {"start: \"a\"..\"e\" \"0\"..\"9\"", {"a0", "e9"}, {"f0", "a"}},
      {"start: \"α\" .. \"ω\"", {"β"}, {"b"}},
      {"start: \"a\"? \"b\"* \"c\"+", {"c", "acc", "bbc"}, {"", "ab", "aac"}},
      {"start: \"a\"~3", {"aaa"}, {"aa", "aaaa"}},
      {"start: \"a\" ~ 1..3", {"a", "aaa"}, {"", "aaaa"}},
      {"start: (\"a\" | \"b\" \"c\")+", {"abc", "bca"}, {"b", ""}},
      {"start: (\n  \"a\"\n  | \"b\"\n)~2", {"ab"}, {"a"}},
      {"start: [\"a\"] [\"b\" | \"c\"]", {"", "a", "ac", "b"}, {"bc"}},
      {"start: /a+|b/ /[^x]/", {"aaq", "b\n"}, {"ax", "a"}},
      {"start: /A\\/b./is", {"a/B\n"}, {"a/b"}},
      {"start: /a./", {"ab", "a\r", "aé"}, {"a\n"}},
      {"start: /(?:)/ \"a\"", {"a"}, {"", "b"}},
  });
}

TEST(LarkParser, reads_definitions_comments_and_imports) {
  check({
      {"start: a B\na: \"x\" -> first\n | \"y\" -> second\nB: \"1\" C\nC: /[2-3]/",
       {"x12", "y13"},
       {"x1", "z12"}},
      {"// head\n# too\nstart: A // \"x\"\n# between\nA: \"a\" # tail", {"a"}, {"x"}},
      {"?start: _b\n!_b: \"x\"\n?c.2: \"y\"\nD.-1: \"z\"", {"x"}, {"y", "z"}},
      {"start: a?\n?a: \"x\"", {"", "x"}, {"xx"}},
      {"start: start \"a\" | \"(\" start \")\" | \"x\"", {"xa", "(xa)a"}, {"a", "(x"}},
      {"%import common.INT\n%import common.CNAME -> NAME\nstart: NAME \"=\" INT",
       {"a_1=07"},
       {"1=1", "a="}},
      {"%import common (LF, WS_INLINE, LETTER)\nstart: LETTER WS_INLINE LF", {"a \t\n"}, {"a\n"}},
      {"start: NUMBER | SIGNED_INT\n%import common.NUMBER\n%import common.SIGNED_INT",
       {"1", "1.5e-3", ".5", "-7", "2."},
       {"-1.5", "e3", "."}},
      {"start: ESCAPED_STRING\n%import common.ESCAPED_STRING",
       {"\"\"", "\"a\\\"b\"", "\"\\\\\""},
       {"\"a", "\"\\\"", "\"a\nb\""}},
      {"start: C_COMMENT NEWLINE\n%import common.C_COMMENT\n%import common.NEWLINE",
       {"/* a * b */\n", "/**/\r\n\n"},
       {"/* */ */\n", "/*\n"}},
      {"start: FLOAT\n%import common.FLOAT", {"1.", "1e5", ".5E+2"}, {"1", "e5"}},
  });
}

TEST(LarkParser, ignores_between_terminals_only) {
  check({
      {"start: \"a\" B+\nB: \"b\" \"c\"\n%ignore \" \"", {"abc", " a  bc bc "}, {"ab c", "a"}},
      {"%import common.WS\n%ignore WS\n%ignore /#[^\\n]*/\nstart: \"(\" start* \")\"",
       {"()", "( ( )#x\n() ) # end"},
       {"(", "# )"}},
  });
}

// A grammar of the shape that coding clients send for patches.
constexpr const char* kPatch = R"(start: begin_patch hunk+ end_patch
begin_patch: "*** Begin Patch" LF
end_patch: "*** End Patch" LF?

hunk: add_hunk | delete_hunk | update_hunk
add_hunk: "*** Add File: " filename LF add_line+
delete_hunk: "*** Delete File: " filename LF
update_hunk: "*** Update File: " filename LF move? change?

filename: /(.+)/
add_line: "+" /(.*)/ LF -> line

move: "*** Move to: " filename LF
change: (context | changed_line)+ eof_line?
context: ("@@" | "@@ " /(.+)/) LF
changed_line: ("+" | "-" | " ") /(.*)/ LF
eof_line: "*** End of File" LF

%import common.LF
)";

TEST(LarkParser, a_grammar_of_patches_holds_patches) {
  check({{kPatch,
          {"*** Begin Patch\n*** Add File: a/b.py\n+x = 1\n+\n*** End Patch",
           "*** Begin Patch\n*** Delete File: é\n*** Update File: q\n*** Move to: r\n@@ def f():\n"
           " a\n-b\r\n+c\n*** End of File\n*** End Patch\n"},
          {"*** Begin Patch\n*** End Patch", "*** Begin Patch\n*** Add File: \n+x\n*** End Patch",
           "*** Begin Patch\n*** Add File: a\nx\n*** End Patch",
           "*** Begin Patch\n*** Update File: a\n*** End of File\n*** End Patch"}}});
}

TEST(LarkParser, texts_inside_json_strings_are_escaped) {
  for (const bool join : {true, false}) {
    const NotationOptions options{.join_regular = join, .in_json_text = true};
    EXPECT_TRUE(matches(
        kPatch, R"(*** Begin Patch\n*** Add File: a\"b\\c\n+\tx\u0001\u001fé\n*** End Patch)",
        options));
    EXPECT_FALSE(matches(kPatch, "*** Begin Patch\n*** Delete File: a\n*** End Patch", options));
    EXPECT_FALSE(
        matches(kPatch, R"(*** Begin Patch\n*** Delete File: a"\n*** End Patch)", options));
    EXPECT_TRUE(matches("start: \"\\\\\" start \"/\" | \"\\\"\"", R"(\\\\\"//)", options));
    EXPECT_FALSE(matches("start: \"\\\\\" start \"/\" | \"\\\"\"", R"(\\\"\/)", options));
  }
}

struct Fault {
  const char* grammar;
  Code code;
  const char* message;
};

constexpr Fault kFaults[] = {
    {"start: \"a", Code::kInvalidArgument, "lark: line 1, column 8: literal is not closed"},
    {"start: /a\n", Code::kInvalidArgument,
     "lark: line 1, column 8: regular expression is not closed"},
    {"start: (\"a\"", Code::kInvalidArgument, "lark: line 1, column 8: group is not closed"},
    {"start: \"a\" )", Code::kInvalidArgument, "lark: line 1, column 12: ')' is not expected here"},
    {"start: b", Code::kInvalidArgument, "lark: line 1, column 8: rule b is not defined"},
    {"start: B", Code::kInvalidArgument, "lark: line 1, column 8: terminal B is not defined"},
    {"a: \"x\"", Code::kInvalidArgument, "lark: there is no rule start"},
    {"", Code::kInvalidArgument, "lark: there is no rule start"},
    {"start: \"x\"\nstart: \"y\"", Code::kInvalidArgument,
     "lark: line 2, column 1: start is defined twice"},
    {"start: A\nA: b\nb: \"x\"", Code::kInvalidArgument,
     "lark: line 2, column 4: A uses the rule b; terminals are made of terminals, literals and "
     "expressions"},
    {"start: A\nA: \"x\" B\nB: A?", Code::kInvalidArgument,
     "lark: line 1, column 8: terminal A recurs; terminals are regular, write a rule"},
    {"start: Ab", Code::kInvalidArgument,
     "lark: line 1, column 8: 'Ab' is no name: rules are written in small letters, terminals in "
     "capitals"},
    {"start \"a\"", Code::kInvalidArgument,
     "lark: line 1, column 7: ':' is expected after the name start"},
    {"start: \"a\"+*", Code::kInvalidArgument,
     "lark: line 1, column 12: a second quantifier; put the first one into a group"},
    {"start: \"a\"~3..2", Code::kInvalidArgument,
     "lark: line 1, column 11: quantifier has its bounds in the wrong order"},
    {"start: \"a\"~2000000", Code::kInvalidArgument,
     "lark: line 1, column 12: number exceeds the limit 1000000"},
    {"start: \"ab\"..\"c\"", Code::kInvalidArgument,
     "lark: line 1, column 8: a range goes from one character to another, without flags"},
    {"start: \"\\q\"", Code::kInvalidArgument, "lark: line 1, column 9: escape \\q is not known"},
    {"start: (\"a\" -> b)", Code::kInvalidArgument,
     "lark: line 1, column 13: an alias inside a group"},
    {"%nothing x", Code::kInvalidArgument, "lark: line 1, column 1: %nothing is not known"},
    {"start: /a(?=b)/", Code::kUnsupported,
     "lark: line 1, column 10: regex: look-ahead is not supported"},
    {"start: \"x\"\n  | /ab(?<!b)/i", Code::kUnsupported,
     "lark: line 2, column 8: regex: look-behind is not supported"},
    {"start: /(a)\\1/", Code::kUnsupported,
     "lark: line 1, column 12: regex: back-reference is not supported"},
    {"start: /a)/", Code::kInvalidArgument, "lark: line 1, column 10: regex: ')' closes no group"},
    {"start: /a/x", Code::kUnsupported,
     "lark: line 1, column 11: the flag x of a regular expression is not supported"},
    {"start: list{\"a\"}\nlist{x}: x+", Code::kUnsupported,
     "lark: line 1, column 8: the template list is not supported"},
    {"list{x}: x+\nstart: list{\"a\"}", Code::kUnsupported,
     "lark: line 1, column 1: the template list is not supported"},
    {"%declare X\nstart: X", Code::kUnsupported,
     "lark: line 1, column 1: %declare is not supported"},
    {"%import python.NAME\nstart: NAME", Code::kUnsupported,
     "lark: line 1, column 9: import from elsewhere than common is not supported"},
};

TEST(LarkParser, faults_are_named_with_their_place) {
  for (const Fault& fault : kFaults) {
    const Status status = read(fault.grammar).status();
    EXPECT_EQ(status.code(), fault.code) << fault.grammar;
    EXPECT_EQ(status.message(), fault.message) << fault.grammar;
  }
  const Status unknown = read("%import common.NOTHING\nstart: NOTHING").status();
  EXPECT_EQ(unknown.code(), Code::kUnsupported);
  EXPECT_TRUE(unknown.message().starts_with(
      "lark: line 1, column 16: common.NOTHING is not supported, expected one of CNAME, "))
      << unknown.message();
}

TEST(LarkParser, limits_hold) {
  EXPECT_FALSE(read("start: \"\xFF\"").ok());
  EXPECT_FALSE(read("start: \"abc\"", {.max_text_bytes = 5}).ok());
  std::string nested = "start: ";
  nested.append(65, '(').append("\"a\"").append(65, ')');
  EXPECT_EQ(read(nested).status().message(), "lark: line 1, column 73: groups nest deeper than 64");
  CompileBudget few({.max_expressions = 50}, {});
  EXPECT_EQ(parse_lark("start: " + std::string(400, '[') + "\"a\"", {}, &few).status().code(),
            Code::kInvalidArgument);
  std::string many = "start:";
  for (int i = 0; i < 100; ++i) {
    many += " \"" + std::to_string(i) + "\"";
  }
  EXPECT_EQ(parse_lark(many, {}, &few).status().code(), Code::kResourceExhausted);
  CompileBudget late({}, [] { return true; });
  EXPECT_EQ(parse_lark(many, {}, &late).status().code(), Code::kDeadlineExceeded);
}

}  // namespace
}  // namespace plumb
