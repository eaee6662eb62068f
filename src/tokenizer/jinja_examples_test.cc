// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tokenizer/jinja_template.h"

namespace plumb {
namespace {

struct Example {
  const char* source;
  const char* text;  // null: rendering or parsing fails
};

// Outputs of jinja2 3.1.6 in the environment of chat templates, with d = {'a': 1, 'b': 'x'}.
constexpr Example kExamples[] = {
    {"{% if true %}\nA\n{% endif %}\nB", "A\nB"},
    {"a\n  {% if true %}b{% endif %}", "a\nb"},
    {"a\n  {{ 1 }}\nb", "a\n  1\nb"},
    {"a\n  {# c #}\nb", "a\nb"},
    {"x{% if true %} \ny{% endif %}", "x \ny"},
    {"a \n {{- 'b' -}} \n c", "abc"},
    {"a\n\n", "a\n"},
    {"{{ missing }}|{{ d.zz }}|{{ [1][5] }}|{{ none.x }}|", "||||"},
    {"{{ d.zz.y }}", nullptr},
    {"{{ missing.x is defined }}", nullptr},
    {"{{ 'a' ~ missing }} {{ none ~ '' }} {{ 'x' in missing }}", "a None False"},
    {"{{ 'a' + missing }}", nullptr},
    {"{{ missing is iterable }} {{ missing is sequence }} {{ missing is none }} {{ missing|length "
     "}}",
     "True True False 0"},
    {"{{ none|default('d') }} {{ none|default('d', true) }} {{ d.get('zz') }}", "None d None"},
    {"{{ 'a' ~ 1 + 2 }}", nullptr},
    {"{{ 1 ~ 2 * 3 }} {{ 2 * 3|string }} {{ -1|abs }} {{ 1 is number + 1 }}", "16 33 1 2"},
    {"{{ -2 ** 2 }} {{ 2 ** 3 ** 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 4 / 2 }}", "4 64 -4 2 2.0"},
    {"{{ 1,2 }} {{ 3 if true else 4, 5 }} {{ 'a' ~ ('b' if false) }}", "(1, 2) (3, 5) a"},
    {"{{ [true, none, 'a', \"it's\", 1.0, (1,), {'k': 'v'}, missing] }}",
     "[True, None, 'a', \"it's\", 1.0, (1,), {'k': 'v'}, Undefined]"},
    {"{{ ['a\\n', 'é', '\\u00a0', '\\u200b', '\\\\'] }}",
     "['a\\n', 'é', '\\xa0', '\\u200b', '\\\\']"},
    {"{{ 1e16 }} {{ 1e15 }} {{ 1e-5 }} {{ 0.0001 }} {{ -0.0 }} {{ true + 1 }}",
     "1e+16 1000000000000000.0 1e-05 0.0001 -0.0 2"},
    {"{{ {'b': 1, 'a': [1.0, true, none, 'é</\"&']}|tojson }}",
     "{\"b\": 1, \"a\": [1.0, true, null, \"é</\\\"&\"]}"},
    {"{{ {'a': [1, {}], 'z': []}|tojson(indent=2) }}",
     "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"z\": []\n}"},
    {"{{ 'é🦙'|tojson(ensure_ascii=true) }} {{ {1: 2, none: 4}|tojson }} {{ "
     "[1,2]|tojson(separators=(',', ':')) }}",
     "\"\\u00e9\\ud83e\\udd99\" {\"1\": 2, \"null\": 4} [1,2]"},
    {"{{ {'items': 1}.items is callable }} {{ {'items': 1}['items'] }} {{ {}['items'] is callable "
     "}}",
     "True 1 True"},
    {"{{ ' a  b '.split() }} {{ 'a  b'.split(' ') }} {{ 'a-b-c'.split('-', 1) }} {{ ''.split(',') "
     "}}",
     "['a', 'b'] ['a', '', 'b'] ['a', 'b-c'] ['']"},
    {"{{ 'xyxabcx'.lstrip('xy') }} {{ 'q'.split('</think>')[-1] }} {{ 'ΑΣ'.lower() }}",
     "abcx q ας"},
    {"{{ 'abcdef'[::-1] }} {{ 'abc'[5:] }}| {{ [1,2,3][-2:] }} {{ [1,2][-3] }}|",
     "fedcba | [2, 3] |"},
    {"{% set x=0 %}{% for i in [1,2,3] %}{% set x=x+i %}{{ x }}{% endfor %}{{ x }}", "1230"},
    {"{% set x=0 %}{% if true %}{% set x=5 %}{% endif %}{{ x }}", "5"},
    {"{% set n=namespace(x=0) %}{% for i in [1,2,3] %}{% set n.x=n.x+i %}{% endfor %}{{ n.x }}{{ "
     "n.y }}",
     "6"},
    {"{% set q=0 %}{% generation %}{% set q=1 %}x{% endgeneration %}{{ q }}", "x0"},
    {"{% set g=1 %}{% macro m() %}{{ g }}{{ i }}{% endmacro %}{% for i in [7] %}{{ m() }}{% endfor "
     "%}",
     "1"},
    {"{% macro m(a, b='x') %}[{{ a }}{{ b }}]{% endmacro %}{{ m(1) }}{{ m(b=2) }}", "[1x][2]"},
    {"{% set x %}a\n{{ 1 }}\n{% endset %}[{{ x }}]", "[a\n1\n]"},
    {"{% for i in [1,2,3,4] if i % 2 == 0 %}{{ loop.index }}{{ loop.last }}{{ loop.length }} {% "
     "endfor %}",
     "1False2 2True2 "},
    {"{% for i in 'ab' %}{{ loop.previtem }}<{{ i }}>{{ loop.nextitem }}{% endfor %}", "<a>ba<b>"},
    {"{% for k in {'b': 1, 'a': 2} %}{{ k }}{% endfor %} {% for k, v in {'b': 1, 'A': 2, 'a': "
     "3}|dictsort %}{{ k }}{% endfor %}",
     "ba Aab"},
    {"{% for i in [1,2] %}{% if i==2 %}{% break %}{% endif %}{{ i }}{% else %}E{% endfor %}", "1"},
    {"{{ true is number }} {{ true is integer }} {{ {} is sequence }} {{ 'a' is iterable }} {{ 0 "
     "is false }} {{ 1 == true }}",
     "True False True True False True"},
    {"{{ ('<'|safe) + '<' }} {{ ('<'|safe) ~ '<' }} {{ ('a'|safe).replace('a', '<') }}",
     "<&lt; << &lt;"},
    {"{{ \"don't x-y\"|title }} {{ \"don't x-y\".title() }} {{ 'a\\n\\nb'|indent(2) }}|{{ "
     "'a\\nb'|indent(2, true) }}",
     "Don't X-Y Don'T X-Y a\n\n  b|  a\n  b"},
    {"{{ 'x'|int }} {{ '7.9'|int }} {{ '12'|int + 1 }} {{ 2.5|round }} {{ 3|round }} {{ "
     "'\\u00a0a\\x1c'|trim }}",
     "0 7 13 2.0 3 a"},
    {"{{ [1, none, 'a']|join(',') }} {{ 'abc'|list }} {{ d|list }} {{ none|trim }} {{ "
     "['b','A','a']|sort }}",
     "1,None,a ['a', 'b', 'c'] ['a', 'b'] None ['A', 'a', 'b']"},
    {"{{ [{'a': 1}, {}]|map(attribute='a')|list }} {{ [{'a': 1}, {'a': 0}, "
     "{}]|selectattr('a')|list }}",
     "[1, Undefined] [{'a': 1}]"},
    {"{{ '\\x41\\u0042\\d' }} {{ 'a' 'b' }} {{ '{}-{}'.format('a', 1.5) }} {{ '%s=%d' % ('a', 3) "
     "}}",
     "AB\\d ab a-1.5 a=3"},
    {"{% set _ = [].append(1) %}", nullptr},
    {"{% if false %}{{ 1|nofilter }}{% endif %}ok", "ok"},
};

TEST(JinjaExamples, print_what_the_reference_prints) {
  const JsonObject variables{{"d", JsonObject{{"a", 1}, {"b", "x"}}}};
  for (const Example& example : kExamples) {
    const Result<JinjaTemplate> parsed = JinjaTemplate::parse(example.source);
    const Result<Rendering> rendered =
        parsed.ok() ? parsed.value().render(variables) : Result<Rendering>(parsed.status());
    if (example.text == nullptr) {
      EXPECT_FALSE(rendered.ok()) << example.source;
    } else if (rendered.ok()) {
      EXPECT_EQ(rendered.value().text, example.text) << example.source;
    } else {
      ADD_FAILURE() << example.source << ": " << rendered.status().message();
    }
  }
}

}  // namespace
}  // namespace plumb
