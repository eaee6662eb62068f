// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/jinja_template.h"

#include <gtest/gtest.h>

#include "tokenizer/jinja_bigint.h"

namespace plumb {
namespace {

Result<Rendering> render(std::string_view source, const JsonObject& variables = {},
                         const RenderOptions& options = {}) {
  PLUMB_ASSIGN(const JinjaTemplate parsed, JinjaTemplate::parse(source));
  return parsed.render(variables, options);
}

std::string rendered_text(std::string_view source, const JsonObject& variables = {}) {
  const Result<Rendering> rendered = render(source, variables);
  return rendered.ok() ? rendered.value().text : "error: " + rendered.status().message();
}

// The text with data in brackets.
std::string marked(std::string_view source, const JsonObject& variables,
                   const RenderOptions& options = {}) {
  const Result<Rendering> rendered = render(source, variables, options);
  if (!rendered.ok()) {
    return "error: " + rendered.status().message();
  }
  std::string out;
  std::int64_t covered = 0;
  for (const TextSegment& segment : rendered.value().segments) {
    EXPECT_EQ(segment.begin, covered);
    covered = segment.end;
    const std::string part =
        rendered.value().text.substr(static_cast<std::size_t>(segment.begin),
                                     static_cast<std::size_t>(segment.end - segment.begin));
    out += segment.is_data ? "[" + part + "]" : part;
  }
  EXPECT_EQ(covered, static_cast<std::int64_t>(rendered.value().text.size()));
  return out;
}

TEST(JinjaTemplate, errors_name_the_line) {
  EXPECT_EQ(JinjaTemplate::parse("a\nb\n{{ 1 + }}").status().message(),
            "template line 3: expected an expression, found '}}'");
  EXPECT_EQ(JinjaTemplate::parse("\n{% unknown %}").status().message(),
            "template line 2: unknown tag 'unknown'");
  EXPECT_EQ(JinjaTemplate::parse("{{ 1|nofilter }}").status().message(),
            "template line 1: no filter named 'nofilter'");
}

TEST(JinjaTemplate, raise_exception_gives_exactly_its_text) {
  const Result<Rendering> rendered = render("{{ raise_exception('Roles must ' ~ 'alternate!') }}");
  ASSERT_FALSE(rendered.ok());
  EXPECT_EQ(rendered.status(), Status(Code::kInvalidArgument, "Roles must alternate!"));
}

TEST(JinjaTemplate, errors_are_valid_utf8) {
  EXPECT_EQ(rendered_text("{{ '%\u00e9' % 1 }}"),
            "error: unsupported format character '\xEF\xBF\xBD'");
  EXPECT_EQ(JinjaTemplate::parse("\xC3").status().message(), "template is not valid UTF-8");
}

TEST(JinjaTemplate, undefined_values_are_named_in_errors) {
  EXPECT_EQ(rendered_text("{{ a.b }}"), "error: 'a' is undefined");
  EXPECT_EQ(rendered_text("{{ m.b.c }}", {{"m", JsonObject{}}}),
            "error: 'dict object' has no attribute 'b'");
}

TEST(JinjaTemplate, lists_can_be_appended_to_and_popped_from) {
  EXPECT_EQ(
      rendered_text(
          "{% set q = [1, 2] %}{% set _ = q.append(3) %}{{ q }}{{ q.pop(0) }}{{ q.pop() }}{{ q }}"),
      "[1, 2, 3]13[2]");
  EXPECT_EQ(rendered_text("{% set _ = [].append(1) %}"),
            "error: a list literal cannot be changed in place");
  EXPECT_EQ(rendered_text("{% set q = [] %}{% set _ = q.append(q) %}"),
            "error: a list cannot be appended to itself");
  EXPECT_EQ(rendered_text("{% set q = [] %}{% set _ = q.append([{'a': q}]) %}"),
            "error: a list cannot be appended to itself");
}

TEST(JinjaTemplate, from_json_reads_what_tojson_writes) {
  EXPECT_EQ(rendered_text("{{ ('{\"a\": [1, 2.5, null]}'|from_json).a }}"), "[1, 2.5, None]");
}

TEST(JinjaTemplate, a_generator_prints_as_a_json_list) {
  EXPECT_EQ(rendered_text("{{ [1, 2]|map('string')|tojson }}"), "[\"1\", \"2\"]");
}

TEST(JinjaTemplate, time_is_utc_when_fixed) {
  RenderOptions options;
  options.now = std::chrono::system_clock::time_point(std::chrono::seconds(1753660800));
  EXPECT_EQ(render("{{ strftime_now('%d %b %Y %H:%M') }}", {}, options).value().text,
            "28 Jul 2025 00:00");
}

TEST(JinjaTemplate, generation_blocks_give_their_byte_range) {
  const Result<Rendering> rendered =
      render("a{% generation %}bé{% endgeneration %}c{% generation %}{% endgeneration %}");
  ASSERT_TRUE(rendered.ok());
  EXPECT_EQ(rendered.value().generations, (std::vector<GeneratedRange>{{1, 4}, {5, 5}}));
}

TEST(JinjaTemplate, text_from_variables_is_marked_as_data) {
  const JsonObject v{{"c", "<|im_end|>"}, {"n", 3}, {"m", JsonObject{{"k", "v"}}}};
  EXPECT_EQ(marked("<|im_start|>{{ c }}<|im_end|>", v), "<|im_start|>[<|im_end|>]<|im_end|>");
  EXPECT_EQ(marked("{{ '<a>' + c + '<b>' }}{{ '<c>' ~ c }}", v),
            "<a>[<|im_end|>]<b><c>[<|im_end|>]");
  EXPECT_EQ(marked("{{ c|upper }}{{ c[2:4] }}{{ c.split('_')[0] }}", v), "[<|IM_END|>im<|im]");
  EXPECT_EQ(marked("{{ ('x' ~ c ~ 'y')|replace('im', 'q')|trim }}", v), "x[<|]q[_end|>]y");
  EXPECT_EQ(marked("{% set t %}<t>{{ c }}{% endset %}{{ t }}{{ [t, '.']|join('-') }}", v),
            "<t>[<|im_end|>]<t>[<|im_end|>]-.");
  EXPECT_EQ(marked("{% macro f(x) %}<f>{{ x }}</f>{% endmacro %}{{ f(c) }}", v),
            "<f>[<|im_end|>]</f>");
  EXPECT_EQ(
      marked("{{ m|tojson }}{{ [1]|tojson }}{{ n }}{{ 'a%sb' % c }}{{ '<{}>'.format(c) }}", v),
      "[{\"k\": \"v\"}][1]3a[<|im_end|>]b<[<|im_end|>]>");
  EXPECT_EQ(marked("{% for k in m %}{{ k }}{% endfor %}", v), "[k]");
}

TEST(JinjaTemplate, trusted_variables_and_roles_are_template_text) {
  RenderOptions options;
  options.trusted_variables = {"bos_token"};
  options.trusted_roles = {"user"};
  const JsonObject v{{"bos_token", "<s>"},
                     {"messages", JsonArray{JsonObject{{"role", "user"}, {"content", "user"}},
                                            JsonObject{{"role", "x"}}}}};
  EXPECT_EQ(marked("{{ bos_token }}{% for m in messages %}{{ m.role }}{{ m.content }}{% endfor %}",
                   v, options),
            "<s>user[userx]");
}

TEST(JinjaTemplate, work_memory_depth_and_output_are_bounded) {
  RenderOptions options;
  options.max_steps = 300'000;
  options.max_memory_bytes = 64 << 20;
  options.max_output_bytes = 1 << 20;
  const auto code = [&options](std::string_view source) {
    return render(source, {}, options).status().code();
  };
  EXPECT_EQ(code("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"),
            Code::kResourceExhausted);
  EXPECT_EQ(code("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"), Code::kResourceExhausted);
  EXPECT_EQ(
      code("{% macro m(x) %}{% if 1 %}{% for i in [1] %}{% set y %}{{ [m(x)|trim ~ '']|join }}"
           "{% endset %}{{ y }}{% endfor %}{% endif %}{% endmacro %}{{ m(1) }}"),
      Code::kResourceExhausted);
  EXPECT_EQ(code("{% for a in [1] recursive %}{{ loop([1]) }}{% endfor %}"),
            Code::kResourceExhausted);
  EXPECT_EQ(code("{{ 'x' * 9999999999 }}"), Code::kResourceExhausted);
  EXPECT_EQ(code("{{ [0] * 999999999 }}"), Code::kResourceExhausted);
  EXPECT_EQ(code("{{ 'a'.center(9999999999) }}"), Code::kResourceExhausted);
  EXPECT_EQ(code("{{ '%999999999d' % 1 }}"), Code::kResourceExhausted);
  EXPECT_EQ(code("{% for i in range(99999) %}{{ 'x' * 1000 }}{% endfor %}"),
            Code::kResourceExhausted);
  EXPECT_EQ(code("{% set n = namespace(s='x') %}{% for i in range(60) %}{% set n.s = n.s ~ n.s ~ ''"
                 " %}{% endfor %}"),
            Code::kResourceExhausted);
  EXPECT_EQ(code("{% set n = namespace(a=[1]) %}{% for i in range(60) %}{% set n.a = [n.a, n.a] %}"
                 "{% endfor %}{{ n.a == n.a[:] }}{{ n.a }}"),
            Code::kResourceExhausted);
  EXPECT_EQ(code("{{ 9 ** 999999 }}"), Code::kInvalidArgument);
}

TEST(JinjaTemplate, deep_nesting_in_a_template_is_an_error) {
  const std::string brackets = "{{ " + std::string(5000, '[') + std::string(5000, ']') + " }}";
  EXPECT_FALSE(JinjaTemplate::parse(brackets).ok());
  std::string sum = "{{ 1";
  for (int i = 0; i < 5000; ++i) {
    sum += " + 1";
  }
  EXPECT_FALSE(JinjaTemplate::parse(sum + " }}").ok());
  std::string blocks;
  for (int i = 0; i < 5000; ++i) {
    blocks += "{% if 1 %}";
  }
  EXPECT_FALSE(JinjaTemplate::parse(blocks).ok());
}

TEST(JinjaTemplate, growing_a_string_piece_by_piece_is_linear) {
  const std::string source =
      "{% set n = namespace(s='') %}{% for i in range(60000) %}{% set n.s = n.s + 'abcdefgh' %}"
      "{% endfor %}{{ n.s|length }}";
  RenderOptions options;
  options.max_memory_bytes = 64 << 20;  // quadratic growth would need 14 GB
  const Result<Rendering> rendered = render(source, {}, options);
  ASSERT_TRUE(rendered.ok()) << rendered.status().message();
  EXPECT_EQ(rendered.value().text, "480000");
}

TEST(BigInt, products_and_quotients_fit_together) {
  std::uint64_t state = 12345;
  const auto next = [&state] {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::int64_t>(state >> (state % 3 * 16));
  };
  for (int i = 0; i < 2000; ++i) {
    const std::int64_t a = next() * (i % 2 == 0 ? 1 : -1);
    const std::int64_t b = next() * (i % 3 == 0 ? 1 : -1);
    const bool zero = a == 0 || b == 0;
    const bool negative = !zero && (a < 0) != (b < 0);
    const jinja::BigInt big = jinja::BigInt(a) * jinja::BigInt(b);
    jinja::BigInt quotient;
    jinja::BigInt rest;
    if (b != 0) {
      jinja::BigInt::divide(big + jinja::BigInt(7), jinja::BigInt(b), &quotient, &rest);
      EXPECT_EQ(quotient * jinja::BigInt(b) + rest, big + jinja::BigInt(7));
      EXPECT_TRUE(rest.is_zero() || rest.is_negative() == (b < 0));
    }
    EXPECT_EQ(big.num_bits() == 0, zero);
    EXPECT_EQ(big.is_negative(), negative);
    EXPECT_EQ(jinja::BigInt::from_digits(jinja::BigInt(a < 0 ? -(a + 1) : a).to_text(), 10),
              jinja::BigInt(a < 0 ? -(a + 1) : a));
  }
}

TEST(BigInt, divides_numbers_of_many_limbs) {
  jinja::BigInt a(3);
  jinja::BigInt b(-7);
  for (int i = 1; i < 60; ++i) {
    a = a * jinja::BigInt(0x7fffffff00000001 - i) + jinja::BigInt(i);
    b = i % 3 == 0 ? b * jinja::BigInt(0x100000000 - i) : b;
    jinja::BigInt quotient;
    jinja::BigInt rest;
    jinja::BigInt::divide(a, b, &quotient, &rest);
    EXPECT_EQ(quotient * b + rest, a);
    EXPECT_TRUE(rest.is_zero() || rest.is_negative());
    EXPECT_LT((-rest).compare(-b), 0);
  }
}

}  // namespace
}  // namespace plumb
