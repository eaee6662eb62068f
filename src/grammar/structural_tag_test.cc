// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/rng.h"
#include "grammar/grammar.h"
#include "grammar/grammar_matcher.h"
#include "support/small_vocab.h"

namespace plumb {
namespace {

constexpr TokenId kEnd = 256;
constexpr TokenId kCall = 257;  // control tokens
constexpr TokenId kDone = 258;
constexpr TokenId kHello = 259;  // "hello", which bytes can write too

// Bytes, the end, two control tokens, and tokens that straddle the marks of the tests.
std::unique_ptr<Tokenizer> make_tokenizer() {
  SmallVocab vocab;
  vocab.byte_symbols().token("<end>", 3).token("<|tool|>", 3).token("<|done|>", 3);
  for (const char* text :
       {"hello", "<f", "=a>", "n>{", "}</", "</f>", "x<", ">x", "</t", "think>"}) {
    vocab.token(text);
  }
  vocab.key("eos_token_id", std::int64_t{kEnd});
  return vocab.load("gpt2");
}

class StructuralTags : public testing::Test {
 protected:
  Result<std::shared_ptr<const CompiledGrammar>> compile_whole(const std::string& json,
                                                               bool compact = true) {
    CompileBudget budget;
    StructuralTagOptions options;
    options.tokenizer = tokenizer_.get();
    options.json.compact = compact;
    return compile_structural_tag(
        json, options, vocab_, [this] { return vocab_with_marks_; }, {}, &budget);
  }

  Result<std::shared_ptr<const CompiledGrammar>> compile(const std::string& format) {
    return compile_whole(R"({"type":"structural_tag","format":)" + format + "}");
  }

  std::string error_of(const std::string& format) { return compile(format).status().message(); }

  static bool accepts(const std::shared_ptr<const CompiledGrammar>& grammar,
                      std::string_view text) {
    GrammarMatcher matcher(grammar);
    return matcher.accept_bytes(text) && matcher.is_complete();
  }

  static bool accepts(const std::shared_ptr<const CompiledGrammar>& grammar,
                      const std::vector<TokenId>& tokens) {
    GrammarMatcher matcher(grammar);
    for (const TokenId token : tokens) {
      if (!matcher.accept(token)) {
        return false;
      }
    }
    return matcher.is_complete();
  }

  // A token for each byte.
  static std::vector<TokenId> bytes(std::string_view text) {
    std::vector<TokenId> out;
    for (const char c : text) {
      out.push_back(static_cast<std::uint8_t>(c));
    }
    return out;
  }

  void check(const std::string& format, const std::vector<std::string>& good,
             const std::vector<std::string>& bad) {
    const auto grammar = compile(format);
    ASSERT_TRUE(grammar.ok()) << format << "\n" << grammar.status().message();
    for (const std::string& text : good) {
      EXPECT_TRUE(accepts(grammar.value(), text)) << format << "\n" << text;
    }
    for (const std::string& text : bad) {
      EXPECT_FALSE(accepts(grammar.value(), text)) << format << "\n" << text;
    }
  }

  // Formats and their errors; one that ends with ": " goes on.
  void expect_errors(const std::vector<std::pair<std::string, std::string>>& cases) {
    for (const auto& [format, message] : cases) {
      const std::string error = error_of(format);
      EXPECT_TRUE(message.ends_with(": ")
                      ? error.starts_with(message) && error.size() > message.size()
                      : error == message)
          << format << "\n"
          << error;
    }
  }

  // A text that random tokens of the masks make; after so many tokens it ends where it can.
  std::string sample(const std::shared_ptr<const CompiledGrammar>& grammar, Rng* rng) {
    constexpr int kSoftTokens = 40;
    GrammarMatcher matcher(grammar);
    std::vector<std::uint32_t> mask(static_cast<std::size_t>(vocab_->num_mask_words()));
    std::string text;
    for (int step = 0; step < 30 * kSoftTokens; ++step) {
      if (!matcher.fill_mask(mask)) {
        return "DEAD END after " + text;
      }
      std::vector<TokenId> allowed;
      std::vector<TokenId> marks;  // what begins or ends something
      for (TokenId t = 0; t < vocab_->vocab_size(); ++t) {
        if (((mask[static_cast<std::size_t>(t) / 32] >> (t % 32)) & 1U) != 0) {
          allowed.push_back(t);
          const bool is_mark =
              t > kHello || t == '<' || t == '>' || t == '/' || t == '}' || t == '"';
          if (is_mark) {
            marks.push_back(t);
          }
        }
      }
      if (allowed.empty()) {
        return "NOTHING AFTER " + text;
      }
      if (matcher.is_complete() && (step > kSoftTokens || rng->uniform() < 0.05)) {
        return text;
      }
      const std::vector<TokenId>& from = !marks.empty() && rng->uniform() < 0.7 ? marks : allowed;
      const TokenId token = from[static_cast<std::size_t>(rng->below(std::ssize(from)))];
      if (token == kEnd) {
        continue;
      }
      if (!matcher.accept(token)) {
        return "REFUSED after " + text;
      }
      text += tokenizer_->token_bytes(token);
    }
    return {};
  }

  std::unique_ptr<Tokenizer> tokenizer_ = make_tokenizer();
  std::shared_ptr<const GrammarVocab> vocab_ =
      GrammarVocab::from_tokenizer(*tokenizer_, tokenizer_->vocab_size());
  std::shared_ptr<const GrammarVocab> vocab_with_marks_ =
      GrammarVocab::with_marks(*tokenizer_, tokenizer_->vocab_size());
};

std::string tag(const std::string& begin, const std::string& content, const std::string& end) {
  return R"({"type":"tag","begin":")" + begin + R"(","content":)" + content + R"(,"end":")" + end +
         R"("})";
}

const std::string kText = R"({"type":"any_text"})";
const std::string kNumber = R"({"type":"regex","pattern":"[0-9]+"})";
const std::string kObject =
    R"({"type":"json_schema","json_schema":{"type":"object","properties":{"n":{"type":"integer"}},)"
    R"("required":["n"],"additionalProperties":false}})";

std::string triggered(const std::string& tags, const std::string& more = "") {
  return R"({"type":"triggered_tags","triggers":["<f="],"tags":[)" + tags + "]" + more + "}";
}

TEST_F(StructuralTags, each_single_format_has_its_texts) {
  check(R"({"type":"const_string","value":"Hi \"x\" é"})", {"Hi \"x\" é"},
        {"", "Hi", "Hi \"x\" é."});
  check(R"({"type":"const_string","value":""})", {""}, {"x"});
  check(kObject, {R"({"n":1})", R"({"n":-20})"}, {"{}", R"({"n":"1"})", R"({"n":1} )"});
  check(R"({"type":"json_schema","style":"json","json_schema":"{\"const\":[1,2]}"})", {"[1,2]"},
        {"[1]"});
  check(R"({"type":"grammar","grammar":"root ::= \"(\" root \")\" | \"x\""})", {"x", "((x))"},
        {"", "(x", "x)"});
  check(R"({"type":"grammar","syntax":"ebnf","grammar":"root ::= \"x\""})", {"x"}, {"", "y"});
  check(R"({"type":"grammar","syntax":"lark","grammar":"start: \"(\" start \")\" | /[a-c]/"})",
        {"a", "((c))"}, {"", "(a", "d"});
  check(R"({"type":"grammar","syntax":"lark","in_json_string":true,"grammar":"start: /./ /.*/s"})",
        {R"(a)", R"(\\n)", R"(\"\u0000é)"}, {"", R"(\n)", R"(a")", "a\n"});
  check(R"({"type":"sequence","elements":[{"type":"grammar","in_json_string":true,"grammar":)"
        R"("root ::= \"\\n\""},{"type":"grammar","grammar":"root ::= \"\\n\""}]})",
        {"\\n\n"}, {"\n\n", "\\n\\n"});
  check(kNumber, {"0", "123"}, {"", "1a"});
  check(kText, {"", "any <f= text é\n"}, {"\xFF", "\xC3"});
  check(R"({"type":"any_text","excludes":["<f","}}"]})", {"", "<", "< f }", "<<e"},
        {"<f", "a<fb", "}}", "x<<f"});
}

TEST_F(StructuralTags, formats_combine) {
  check(R"({"type":"sequence","elements":[{"type":"const_string","value":"A: "},)" + kNumber + "]}",
        {"A: 1"}, {"A: ", "1", "A: 1 "});
  check(R"({"type":"or","elements":[{"type":"const_string","value":"yes"},)" + kNumber + "]}",
        {"yes", "12"}, {"", "yes12"});
  const std::string ab = R"({"type":"const_string","value":"ab"})";
  check(R"({"type":"optional","content":)" + ab + "}", {"", "ab"}, {"abab", "a"});
  check(R"({"type":"star","content":)" + ab + "}", {"", "ab", "ababab"}, {"aba"});
  check(R"({"type":"plus","content":)" + ab + "}", {"ab", "abab"}, {"", "aba"});
  check(R"({"type":"repeat","min":1,"max":3,"content":)" + ab + "}", {"ab", "ababab"},
        {"", "abababab"});
  check(R"({"type":"repeat","min":2,"max":-1,"content":)" + ab + "}", {"abab", "ababab"}, {"ab"});
}

TEST_F(StructuralTags, a_tag_ends_where_its_end_first_comes) {
  check(tag("<think>", kText, "</think>"),
        {"<think></think>", "<think>a < b </thin </think>", "<think><<//</think>"},
        {"<think>", "<think>a</think", "<think>a</think>b", "<think>a</think></think>", "x"});
  // The first occurrence may begin in what looks like the text.
  check(tag("[", kText, "aab"), {"[aab", "[aaab", "[xaaaab"}, {"[aabaab", "[aabx", "[ab"});
  check(tag("[", kText, "aa"), {"[aa", "[xaa"}, {"[aaa", "[aaaa"});
  check(R"({"type":"tag","begin":"<r>","content":)" + kObject + R"(,"end":["</r>","</a>"]})",
        {R"(<r>{"n":1}</r>)", R"(<r>{"n":1}</a>)"}, {R"(<r>{"n":1})", "<r></r>"});
  check(R"({"type":"tag","begin":"<r>","content":{"type":"any_text"},"end":["</r>","</a>"]})",
        {"<r>x</r>", "<r>x</a>", "<r></b></a>"}, {"<r>x</a></r>", "<r>x</b>"});
  // Excluded texts are those of the content alone.
  check(tag("<t>", R"({"type":"any_text","excludes":["<","</t>"]})", "</t>"), {"<t>a</t>"},
        {"<t>a<b</t>", "<t></t></t>"});
}

TEST_F(StructuralTags, free_text_ends_where_the_next_part_of_a_sequence_begins) {
  const std::string sequence = R"({"type":"sequence","elements":[)";
  check(sequence + kText + R"(,{"type":"const_string","value":"=>"},)" + kNumber + "]}",
        {"=>1", "so = > x=>12", "==>1"}, {"=>", "a=>1=>2", "a=>b", "12"});
  check(sequence + tag("<think>", kText, "</think>") + "," +
            triggered(tag("<f=a>", kNumber, "</f>")) + "]}",
        {"<think>x</think>", "<think><f=</think> done",
         "<think></think>so <f=a>1</f> and <f=a>2</f>"},
        {"x", "<think>", "<think></think><f=a>x</f>", "<think></think><f="});
  check(
      sequence + kText + R"(,{"type":"optional","content":)" + tag("<a>", kNumber, "</a>") + "}]}",
      {"", "x", "x<a>1</a>", "<<a>1</a>"}, {"<a>", "x<a>1</a>y", "<a>1</a><a>1</a>"});
  check(sequence + kText + R"(,{"type":"or","elements":[)" + tag("<a>", kNumber, "</a>") + "," +
            tag("<b>", kText, "</b>") + R"(]},{"type":"const_string","value":"!"}]})",
        {"<a>1</a>!", "x<b><a></b>!"}, {"<a></a>!", "x!", "x<b>y</b>"});
  check(sequence + kText + R"(,{"type":"plus","content":)" + tag("<a>", kNumber, "</a>") + "}]}",
        {"x<a>1</a><a>2</a>"}, {"x", "x<a>1</a>y<a>2</a>"});
  check(sequence + kText + R"(,{"type":"tags_with_separator","separator":",","tags":[)" +
            tag("<a>", kNumber, "</a>") + "]}]}",
        {"", "x", "x<a>1</a>", "<a>1</a>,<a>2</a>"}, {"<a>1</a>,", "<a>1</a><a>2</a>"});
}

TEST_F(StructuralTags, a_trigger_enforces_its_tags) {
  const std::string tags = tag("<f=a>", kObject, "</f>") + "," + tag("<f=bc>", kNumber, "</f>");
  check(
      triggered(tags),
      {"", "text", R"(I call <f=a>{"n":1}</f>)", "<f=bc>1</f><f=bc>2</f> x", "<<f=bc>1</f>", "<f"},
      {"<f=", "<f=a>", "<f=a>{}</f>", "<f=bc>1</f", "<f=x>1</f>", "<f=b", "a<f=bc></f>"});
  check(triggered(tags, R"(,"at_least_one":true)"), {"<f=bc>1</f>", "<f=bc>1</f> text"},
        {"", "text", "text <f=bc>1</f>"});
  check(triggered(tags, R"(,"stop_after_first":true)"), {"", "text", "text <f=bc>1</f>"},
        {"<f=bc>1</f> ", "<f=bc>1</f><f=bc>1</f>"});
  check(triggered(tags, R"(,"at_least_one":true,"stop_after_first":true)"), {"<f=bc>1</f>"},
        {"", "x", "x<f=bc>1</f>", "<f=bc>1</f>x"});
  check(triggered(tags, R"(,"excludes":["bad"])"), {"ba d", "<f=bc>1</f>ba"},
        {"bad", "x bad", "<f=bc>1</f>bad"});
  // Inside a tag, free text ends with the tag.
  check(tag("<r>", triggered(tags), "</r>"), {"<r></r>", "<r>x<f=bc>1</f>y</r>"},
        {"<r>", "<r></r>x", "<r><f=</r>", "<r><f=bc>1</r></f>"});
  check(R"({"type":"dispatch","rules":[["<f>",)" + kNumber + R"(],["<g>",)" + kObject + "]]}",
        {"", "x<f>1", "<f>1x", R"(<g>{"n":1}<f>2)"}, {"<f>", "<g>1", "<f>x"});
  check(R"({"type":"dispatch","loop":false,"excludes":["no"],"rules":[["<f>",)" + kNumber + "]]}",
        {"", "x<f>1"}, {"<f>1x", "no", "x no <f>1"});
}

TEST_F(StructuralTags, tags_with_separators_have_nothing_between_them_but_these) {
  const std::string tags = R"({"type":"tags_with_separator","separator":", ","tags":[)" +
                           tag("<a>", kNumber, "</a>") + "," + tag("<b>", kNumber, "</b>") + "]";
  check(tags + "}", {"", "<a>1</a>", "<a>1</a>, <b>2</b>, <a>3</a>"},
        {"<a>1</a><b>2</b>", "<a>1</a>, ", "x", "<a>1</a>, x"});
  check(tags + R"(,"at_least_one":true})", {"<b>1</b>"}, {""});
  check(tags + R"(,"stop_after_first":true})", {"", "<b>1</b>"}, {"<a>1</a>, <b>2</b>"});
}

TEST_F(StructuralTags, the_older_form_is_read) {
  const auto grammar = compile_whole(
      R"({"type":"structural_tag","structures":[{"begin":"<f=a>","schema":{"const":{"x":1}},)"
      R"("end":"</f>"}],"triggers":["<f="]})");
  ASSERT_TRUE(grammar.ok()) << grammar.status().message();
  EXPECT_TRUE(accepts(grammar.value(), R"(so <f=a>{"x":1}</f>.)"));
  EXPECT_FALSE(accepts(grammar.value(), R"(so <f=a>{"x":2}</f>.)"));
}

TEST_F(StructuralTags, styles_write_strings_as_they_are) {
  const std::string schema =
      R"("json_schema":{"type":"object","properties":{"city":{"type":"string"},"unit":)"
      R"({"enum":["c","f"]},"days":{"$ref":"#/$defs/d"}},"required":["city"],"$defs":{"d":)"
      R"({"type":"integer","minimum":1}}}})";
  check(R"({"type":"json_schema","style":"qwen_xml",)" + schema,
        {"<parameter=city>\nSan \"F\" </p\n</parameter>\n", "<parameter=city>x</parameter>",
         "\n<parameter=city>\nx\n</parameter>\n<parameter=unit>\nc\n</parameter>\n"
         "<parameter=days>\n3\n</parameter>\n"},
        {"", "<parameter=unit>c</parameter>", "<parameter=city>x", "{\"city\":\"x\"}",
         "<parameter=city>x</parameter><parameter=days>0</parameter>",
         "<parameter=city>x</parameter><parameter=unit>k</parameter>",
         "<parameter=city></parameter></parameter>"});
  check(R"({"type":"json_schema","style":"glm_xml",)" + schema,
        {"<arg_key>city</arg_key>\n<arg_value>x y</arg_value>",
         "<arg_key>city</arg_key>\n<arg_value>x</arg_value>\n<arg_key>days</arg_key>\n"
         "<arg_value>2</arg_value>\n"},
        {"<arg_key>city</arg_key>x", "<arg_key>days</arg_key>\n<arg_value>2</arg_value>"});
  check(R"({"type":"json_schema","style":"deepseek_xml",)" + schema,
        {"<｜DSML｜parameter name=\"city\" string=\"true\">x</｜DSML｜parameter>",
         "<｜DSML｜parameter name=\"city\" string=\"true\">x</｜DSML｜parameter>\n"
         "<｜DSML｜parameter name=\"days\" string=\"false\">2</｜DSML｜parameter>\n"},
        {"<｜DSML｜parameter name=\"city\" string=\"false\">\"x\"</｜DSML｜parameter>",
         "<｜DSML｜parameter name=\"days\" string=\"true\">2</｜DSML｜parameter>"});
}

TEST_F(StructuralTags, what_is_wrong_is_named_with_its_path) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"("x")", "format: expected a format: an object with a type"},
      {R"({"type":"xml"})", "format.type: 'xml' is no type of a format"},
      {R"({"type":"const_string"})", "format.value: is missing"},
      {R"({"type":"const_string","value":1})", "format.value: expected a string"},
      {R"({"type":"const_string","value":"x","extra":1})",
       "format.extra: is not a field of this format"},
      {R"({"type":"sequence","elements":[]})",
       "format.elements: is empty; give at least one format"},
      {R"({"type":"sequence","elements":[{"type":"regex","pattern":"("}]})",
       "format.elements[0]: "},
      {R"({"type":"json_schema","json_schema":{"type":"thing"}})", "format: "},
      {R"({"type":"json_schema","json_schema":{},"style":"minimax_xml"})",
       "format.style: 'minimax_xml' is not offered, expected json, qwen_xml, glm_xml or "
       "deepseek_xml"},
  };
  expect_errors(cases);
  EXPECT_EQ(compile_whole("[]").status().message(), "expected an object with a format");
  EXPECT_EQ(compile_whole("{}").status().message(), "format: is missing");
  EXPECT_EQ(compile_whole(R"({"type":"x","format":{}})").status().message(),
            "type: expected \"structural_tag\"");
}

TEST_F(StructuralTags, what_cannot_be_enforced_is_named_with_its_path) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({"type":"repeat","min":2,"max":1,"content":{"type":"any_text"}})",
       "format.max: is below min 2"},
      {R"({"type":"star","content":{"type":"any_text"}})",
       "format.content: free text that is repeated needs an end; put it into a tag"},
      {R"({"type":"sequence","elements":[{"type":"any_text"},{"type":"regex","pattern":"a"}]})",
       "format.elements[1]: follows free text, but does not begin with a fixed text that ends it; "
       "put the free text into a tag"},
      {R"({"type":"tag","begin":"<","content":{"type":"any_text"},"end":""})",
       "format.end: is empty, and free text before it would never end"},
      {R"({"type":"triggered_tags","triggers":[],"tags":[]})",
       "format.triggers: is empty; give at least one"},
      {R"({"type":"triggered_tags","triggers":["<g"],"tags":[)" + tag("<f>", kText, "</f>") + "]}",
       "format.tags[0].begin: begins with none of the triggers"},
      {R"({"type":"triggered_tags","triggers":["<","<f"],"tags":[)" + tag("<f>", kText, "</f>") +
           "]}",
       "format.tags[0].begin: begins with more than one of the triggers"},
      {R"({"type":"triggered_tags","triggers":["<f","<g"],"tags":[)" + tag("<f>", kText, "</f>") +
           "]}",
       "format.triggers[1]: begins none of the tags"},
      {R"({"type":"triggered_tags","triggers":["<f"],"tags":[)" + kText + "]}",
       "format.tags[0]: expected a format of type tag"},
      {tag("<r>", triggered(tag("<f=a>", kNumber, "</f>")), "f"),
       "format.content.triggers[0]: never comes, because 'f' (format.end) is inside it"},
      {R"({"type":"dispatch","rules":[["a",{"type":"any_text"}]]})",
       "format.rules[0][1]: free text after a pattern needs an end; put it into a tag"},
      {R"({"type":"any_text","max_tokens":-1})",
       "format.max_tokens: expected an integer from 0 to 4096"},
      {R"({"type":"token","token":"<|none|>"})",
       "format.token: the vocabulary has no token '<|none|>'"},
      {R"({"type":"token","token":256})",
       "format.token: the token 256 never comes inside an answer"},
      {R"({"type":"tag","begin":"<","content":{"type":"any_text"},"end":{"type":"token","token":)"
       R"("hello"}})",
       "format.end.token: text before it would hide this token, which is text too; end the text by "
       "a string or by a control token"},
      {R"({"type":"tag","begin":"<","content":{"type":"any_tokens"},"end":">"})",
       "format.end: a text cannot end free tokens; end them by a token"},
  };
  expect_errors(cases);
}

TEST_F(StructuralTags, every_example_of_the_reference_compiles) {
  const Result<std::string> page =
      read_file(std::string(PLUMB_SOURCE_DIR) + "/docs/reference/structural_tags.md");
  ASSERT_TRUE(page.ok()) << page.status().message();
  constexpr std::string_view kBegin = "```json\n";
  int num_examples = 0;
  std::string_view rest = page.value();
  for (std::size_t at = rest.find(kBegin); at != std::string_view::npos; at = rest.find(kBegin)) {
    rest.remove_prefix(at + kBegin.size());
    const std::string example(rest.substr(0, rest.find("```")));
    EXPECT_TRUE(compile(example).ok()) << example << error_of(example);
    ++num_examples;
  }
  EXPECT_EQ(num_examples, 24);
}

TEST_F(StructuralTags, tags_nested_too_deep_are_refused) {
  std::string format = kText;
  for (int i = 0; i < 63; ++i) {
    format = tag("<", format, ">");
  }
  EXPECT_TRUE(compile(format).ok()) << error_of(format);
  EXPECT_NE(error_of(tag("<", format, ">")).find("nested deeper than 64 levels"),
            std::string::npos);
}

TEST_F(StructuralTags, tokens_are_tokens_and_not_their_texts) {
  const auto grammar = compile(
      R"({"type":"sequence","elements":[{"type":"const_string","value":"x"},{"type":"token",)"
      R"("token":"hello"},{"type":"token","token":257},{"type":"const_string","value":"hello"}]})");
  ASSERT_TRUE(grammar.ok()) << grammar.status().message();
  EXPECT_TRUE(accepts(grammar.value(), {'x', kHello, kCall, kHello}));
  EXPECT_TRUE(accepts(grammar.value(), {'x', kHello, kCall, 'h', 'e', 'l', 'l', 'o'}));
  EXPECT_FALSE(accepts(grammar.value(), {'x', 'h', 'e', 'l', 'l', 'o', kCall, kHello}));
  EXPECT_FALSE(accepts(grammar.value(), {'x', kHello, kDone, kHello}));
  EXPECT_FALSE(accepts(grammar.value(), {'x', kHello, kHello}));
}

TEST_F(StructuralTags, free_tokens_end_with_a_token) {
  const auto grammar = compile(
      R"({"type":"tag","begin":{"type":"token","token":"<|tool|>"},"content":{"type":"any_tokens",)"
      R"("exclude_tokens":["hello"],"max_tokens":2},"end":{"type":"token","token":"<|done|>"}})");
  ASSERT_TRUE(grammar.ok()) << grammar.status().message();
  EXPECT_TRUE(accepts(grammar.value(), {kCall, kDone}));
  EXPECT_TRUE(accepts(grammar.value(), {kCall, 'a', kCall, kDone}));
  EXPECT_FALSE(accepts(grammar.value(), {kCall, 'a', 'b', 'c', kDone}));
  EXPECT_FALSE(accepts(grammar.value(), {kCall, kHello, kDone}));
  EXPECT_FALSE(accepts(grammar.value(), {kCall, kDone, kDone}));
  const auto one = compile(R"({"type":"exclude_token","exclude_tokens":[259]})");
  ASSERT_TRUE(one.ok()) << one.status().message();
  EXPECT_TRUE(accepts(one.value(), std::vector<TokenId>{'a'}));
  EXPECT_FALSE(accepts(one.value(), {'a', 'b'}));
  EXPECT_FALSE(accepts(one.value(), std::vector<TokenId>{kHello}));
}

TEST_F(StructuralTags, a_token_can_be_a_trigger) {
  const std::string tags =
      R"("tags":[{"type":"tag","begin":{"type":"token","token":"<|tool|>"},"content":)" + kNumber +
      R"(,"end":{"type":"token","token":"<|done|>"}}])";
  const auto grammar =
      compile(R"({"type":"token_triggered_tags","trigger_tokens":["<|tool|>"],)" + tags + "}");
  ASSERT_TRUE(grammar.ok()) << grammar.status().message();
  EXPECT_TRUE(accepts(grammar.value(), std::vector<TokenId>{}));
  EXPECT_TRUE(accepts(grammar.value(), {'a', kHello, kCall, '1', '2', kDone, 'b'}));
  EXPECT_FALSE(accepts(grammar.value(), {'a', kCall, 'b', kDone}));
  EXPECT_FALSE(accepts(grammar.value(), {'a', kCall}));
  const auto rules =
      compile(R"({"type":"token_dispatch","loop":false,"rules":[["<|tool|>",)" + kNumber + "]]}");
  ASSERT_TRUE(rules.ok()) << rules.status().message();
  EXPECT_TRUE(accepts(rules.value(), {'a', kCall, '1', '2'}));
  EXPECT_FALSE(accepts(rules.value(), {kCall, '1', 'a'}));
}

TEST_F(StructuralTags, free_text_has_at_most_so_many_tokens) {
  const auto grammar =
      compile(tag("<t>", R"({"type":"any_text","max_tokens":2,"excludes":["q"]})", "</t>"));
  ASSERT_TRUE(grammar.ok()) << grammar.status().message();
  const auto accepts_after_begin = [&](std::vector<TokenId> tokens) {
    std::vector<TokenId> all{'<', 't', '>'};
    all.insert(all.end(), tokens.begin(), tokens.end());
    return accepts(grammar.value(), all);
  };
  EXPECT_TRUE(accepts_after_begin(bytes("</t>")));
  EXPECT_TRUE(accepts_after_begin(bytes("ab</t>")));
  EXPECT_FALSE(accepts_after_begin(bytes("abc</t>")));
  EXPECT_TRUE(accepts_after_begin({kHello, kHello, '<', '/', 't', '>'}));
  EXPECT_FALSE(accepts_after_begin({kHello, 'a', 'b', '<', '/', 't', '>'}));
  EXPECT_FALSE(accepts_after_begin(bytes("q</t>")));
  EXPECT_FALSE(accepts_after_begin(bytes("a</t></t>")));
  const TokenId text_and_end = *tokenizer_->find_token("x<");  // counts, as a part of it is text
  EXPECT_TRUE(accepts_after_begin({'a', text_and_end, '/', 't', '>'}));
  EXPECT_FALSE(accepts_after_begin({'a', 'b', text_and_end, '/', 't', '>'}));
  GrammarMatcher matcher(grammar.value());
  for (const TokenId token : bytes("<t>ab")) {
    ASSERT_TRUE(matcher.accept(token));
  }
  std::vector<std::uint32_t> mask(static_cast<std::size_t>(vocab_->num_mask_words()));
  ASSERT_TRUE(matcher.fill_mask(mask));
  std::vector<TokenId> allowed;
  for (TokenId t = 0; t < vocab_->vocab_size(); ++t) {
    if (((mask[static_cast<std::size_t>(t) / 32] >> (t % 32)) & 1U) != 0) {
      allowed.push_back(t);
    }
  }
  EXPECT_EQ(allowed, (std::vector<TokenId>{'<', *tokenizer_->find_token("</t")}));
}

// Whether a text consists of free text and calls <f=a>{"n":INTEGER}</f>: written without grammars.
bool is_text_with_calls(std::string_view text) {
  constexpr std::string_view kBegin = R"(<f=a>{"n":)";
  constexpr std::string_view kTail = "}</f>";
  while (true) {
    const std::size_t at = text.find("<f=");
    if (at == std::string_view::npos) {
      return true;
    }
    text.remove_prefix(at);
    if (!text.starts_with(kBegin)) {
      return false;
    }
    text.remove_prefix(kBegin.size());
    const std::size_t end = text.find_first_not_of("-0123456789");
    if (end == std::string_view::npos || end == 0 || !text.substr(end).starts_with(kTail)) {
      return false;
    }
    text.remove_prefix(end + kTail.size());
  }
}

TEST_F(StructuralTags, every_text_that_the_masks_lead_to_obeys_the_tags) {
  const auto grammar = compile(triggered(tag("<f=a>", kObject, "</f>")));
  ASSERT_TRUE(grammar.ok()) << grammar.status().message();
  Rng rng(7);
  int num_calls = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::string text = sample(grammar.value(), &rng);
    EXPECT_TRUE(is_text_with_calls(text)) << text;
    num_calls += text.find("<f=") != std::string::npos ? 1 : 0;
  }
  EXPECT_GT(num_calls, 20);
}

TEST_F(StructuralTags, reasoning_comes_first_in_every_text_that_the_masks_lead_to) {
  const auto grammar = compile(R"({"type":"sequence","elements":[)" +
                               tag("<think>", kText, "</think>") + "," + kObject + "]}");
  ASSERT_TRUE(grammar.ok()) << grammar.status().message();
  Rng rng(8);
  int num_whole = 0;
  for (int i = 0; i < 100; ++i) {
    const std::string text = sample(grammar.value(), &rng);
    const std::size_t end = text.find("</think>");
    if (text.empty()) {
      continue;  // it thought for too long
    }
    ASSERT_TRUE(text.starts_with("<think>") && end != std::string::npos) << text;
    const Result<Json> json = parse_json(std::string_view(text).substr(end + 8));
    ASSERT_TRUE(json.ok()) << text;
    EXPECT_TRUE(json.value().find("n") != nullptr && json.value().find("n")->is_number()) << text;
    ++num_whole;
  }
  EXPECT_GT(num_whole, 20);
}

// A mask has the tokens that the matcher accepts, also across the borders of parts.
TEST_F(StructuralTags, masks_and_matcher_agree) {
  const std::vector<std::string> formats = {
      triggered(tag("<f=a>", kObject, "</f>")),
      tag("<think>", kText, "</think>"),
      tag("<t>", R"({"type":"any_text","max_tokens":3})", "</t>"),
      R"({"type":"token_triggered_tags","trigger_tokens":["<|tool|>"],"tags":[{"type":"tag",)"
      R"("begin":{"type":"token","token":"<|tool|>"},"content":)" +
          kNumber + R"(,"end":"</f>"}]})",
  };
  Rng rng(9);
  for (const std::string& format : formats) {
    const auto grammar = compile(format);
    ASSERT_TRUE(grammar.ok()) << grammar.status().message();
    GrammarMatcher matcher(grammar.value());
    std::vector<std::uint32_t> mask(static_cast<std::size_t>(vocab_->num_mask_words()));
    for (int step = 0; step < 12 && matcher.fill_mask(mask); ++step) {
      std::vector<TokenId> allowed;
      for (TokenId token = 0; token < vocab_->vocab_size(); ++token) {
        const bool in_mask =
            ((mask[static_cast<std::size_t>(token) / 32] >> (token % 32)) & 1U) != 0;
        EXPECT_EQ(matcher.fork().accept(token), in_mask)
            << format << " step " << step << " " << token;
        if (in_mask && token != kEnd) {
          allowed.push_back(token);
        }
      }
      if (allowed.empty()) {
        break;
      }
      ASSERT_TRUE(
          matcher.accept(allowed[static_cast<std::size_t>(rng.below(std::ssize(allowed)))]));
    }
  }
}

}  // namespace
}  // namespace plumb
