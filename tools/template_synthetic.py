# SPDX-License-Identifier: Apache-2.0
"""Templates written for the golden tests: each construct of the language, over a conversation."""

TEMPLATES = [
    # Plain turns, white-space control and comments.
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>\n{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}",
    "{%- for m in messages -%}\n  {{- m['role'] -}}  :  {{- m['content'] | string | trim -}}\n{%- endfor -%}\n",
    "{#- head -#}\n{% for m in messages +%}\n  {%+ if m.role == 'user' %}U\n  {% elif m.role == 'system' -%}  S\n  {% else %}O\n  {%- endif +%}\n{# c #}\n{% endfor %}tail\n\n",
    "{% raw %}{{ not }} {% a %}{% endraw %}|{%- raw -%}  x  {%- endraw -%}|{{ messages|length }}\r\nnext\r\n",
    "    {% if true %}\n\tindented\n    {% endif %}\n  {{ bos_token }}  \n\t{#- gone -#}\t\n.{{- eos_token -}}  .",
    # Scopes, set in its forms, namespaces.
    "{% set x = 0 %}{% for m in messages %}{% set x = x + 1 %}{{ x }}{% endfor %}={{ x }}",
    "{% set ns = namespace(n=0, last='none', seen=[]) %}{% for m in messages %}{% set ns.n = ns.n + m.role|length %}{% set ns.last = m.role %}{% set ns.seen = ns.seen + [m.role] %}{% endfor %}{{ ns.n }} {{ ns.last }} {{ ns.seen|unique|join(',') }} {{ ns.nothing }}",
    "{% set text %}{% for m in messages %}[{{ m.role|upper }}]{% endfor %}{% endset %}{{ text|lower }}/{{ text|length }}",
    "{% set a, b = (1, 'z') %}{% set t | replace('e', 'E') | trim %}  here {{ a }}{{ b }}  {% endset %}<{{ t }}>",
    "{% with n = messages|length, tools = [] %}{{ n }}{{ tools }}{% set n = 5 %}{{ n }}{% endwith %}{{ n }}",
    "{% if messages %}{% set found = messages[0].role %}{% endif %}{{ found }}{% if not messages %}{% set other = 1 %}{% endif %}{{ other is defined }}",
    "{% for m in messages %}{{ late }}{% endfor %}{% set late = 'L' %}{{ late }}{{ tools is none }}",
    # Loops.
    "{% for m in messages %}{{ loop.index }}/{{ loop.length }}{{ loop.first }}{{ loop.last }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.index0 }}{{ loop.depth }};{% endfor %}",
    "{% for m in messages %}{{ loop.previtem.role if loop.previtem is defined else '^' }}<{{ m.role }}>{{ loop.nextitem.role if not loop.last else '$' }} {% endfor %}",
    "{% for m in messages if m.role != 'system' %}{{ loop.index }}{{ m.role }}{{ loop.last }} {% else %}nothing{% endfor %}",
    "{% for m in messages %}{% if loop.index0 == 1 %}{% continue %}{% endif %}{% if loop.index > 3 %}{% break %}{% endif %}{{ m.role }},{% else %}E{% endfor %}",
    "{% for m in messages %}{{ loop.cycle('a', 'b', 'c') }}{{ 'new' if loop.changed(m.role) }}{% endfor %}",
    "{% for m in messages recursive %}{{ m.role if m is mapping else m }}{% if m.tool_calls %}({{ loop(m.tool_calls|map(attribute='function.name')) }}){% endif %}{{ loop.depth0 }}{% endfor %}",
    "{% for k, v in messages[0].items() %}{{ k }}={{ v|string|length }};{% endfor %}{% for k in messages[-1] %}{{ k }} {% endfor %}",
    "{% for (a, b) in [[1, 2], (3, 4)] %}{{ a }}{{ b }}{% endfor %}{% for c in 'aé🦙' %}{{ c }}.{% endfor %}{% for i in range(3, 0, -1) %}{{ i }}{% endfor %}",
    "{% for m in messages[::-1] %}{{ m.role[0] }}{% endfor %}|{% for m in messages[1:] %}{{ m.role[:2] }}{% endfor %}|{{ messages[-1].role if messages else 'no' }}",
    "{% for m in messages %}{% for p in m.content %}{{ p.text if p is mapping else p }}{% if loop.index >= 5 %}{% break %}{% endif %}{% endfor %}{{ loop.index }}{% endfor %}",
    # Macros and calls.
    "{% macro turn(m, end='\\n', upper=false) %}{{ m.role|upper if upper else m.role }}{{ end }}{% endmacro %}{% for m in messages %}{{ turn(m) }}{{ turn(m, upper=true) }}{{ turn(m, '!') }}{% endfor %}",
    "{% macro box(title) %}[{{ title }}: {{ caller() }}]{% endmacro %}{% for m in messages %}{% call box(m.role) %}{{ m.content|string|length }}{% endcall %}{% endfor %}",
    "{% macro each(items) %}{% for i in items %}{{ caller(i, loop.index) }}{% endfor %}{% endmacro %}{% call(m, n) each(messages) %}{{ n }}{{ m.role }} {% endcall %}",
    "{% macro any() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ any(1, 'a', k=messages|length) }}{{ any() }}{{ any.name }}{{ any.arguments }}{{ any.catch_kwargs }}",
    "{% macro type_of(s) %}{% if s.type == 'object' %}{{ '{' }}{% for k, v in s.properties|items %}{{ k }}: {{ type_of(v) }}{{ ', ' if not loop.last }}{% endfor %}{{ '}' }}{% elif s.type == 'array' %}{{ type_of(s['items']) }}[]{% else %}{{ s.type }}{% endif %}{% endmacro %}{% for t in tools or [] %}{{ t.function.name }}{{ type_of(t.function.parameters) }};{% endfor %}",
    "{% macro two(a, b) %}{{ a is undefined }}{{ b|default('d') }}{% endmacro %}{{ two() }}{{ two(b=none) }}",
    "{% macro no_more(a) %}{% endmacro %}{{ no_more(1, 2) }}",
    # Conditions and inline ifs.
    "{{ 'a' if messages|length > 1 else 'b' if messages else 'c' }}{{ 'only' if false }}{{ (1 if none else 0) + 1 }}",
    "{% if tools is not none and tools is iterable and tools|length > 0 %}{{ tools|length }}{% elif documents %}docs{% else %}none{% endif %}",
    "{{ 1 < 2 < 3 }}{{ 3 > 2 >= 2 != 1 }}{{ 'a' in 'abc' }}{{ 'role' in messages[0] if messages }}{{ 5 not in [1, 2] }}{{ not false and true or false }}{{ none or 'x' }}{{ 0 and 1 }}",
    # Tool definitions and calls.
    "{% for t in tools or [] %}{{ t | tojson }}\n{{ t.function | tojson(indent=4) }}\n{% endfor %}",
    "{% for m in messages %}{% for c in m.tool_calls or [] %}<call>{{ c.function.name }}({{ c.function.arguments|tojson if c.function.arguments is mapping else c.function.arguments }}){{ c.id }}</call>{% endfor %}{% endfor %}",
    "{% for m in messages %}{% if m.tool_calls is defined and m.tool_calls %}{% for c in m.tool_calls %}{% set f = c.function if c.function is defined else c %}{% if f.arguments is mapping %}{% for k, v in f.arguments|dictsort %}<{{ k }}>{{ v if v is string else v|tojson }}</{{ k }}>{% endfor %}{% endif %}{% endfor %}{% endif %}{% endfor %}",
    "{{ tools|tojson(ensure_ascii=true) }}{{ tools|tojson(separators=(',', ':')) }}{{ tools|tojson(indent=2, sort_keys=true) }}{{ messages|tojson }}",
    "{% set names = [] %}{% for t in tools or [] %}{% set names = names + [t.function.name] %}{% endfor %}{{ names }}{{ (tools or [])|map(attribute='function.name')|join(' | ') }}",
    "{% for t in tools or [] %}{% for k, v in t.function.parameters.properties.items() %}{{ k }}:{{ v.type }}{{ '?' if k not in (t.function.parameters.required or []) }}{{ ' = ' ~ v.default if v.default is defined }}{{ v.enum|join('/') if v.enum }} {% endfor %}{% endfor %}",
    # Reasoning.
    "{% for m in messages %}{% if m.role == 'assistant' %}{% set c = m.content if m.content is string else '' %}{% if m.reasoning_content is string %}<think>{{ m.reasoning_content }}</think>{% elif '</think>' in c %}{% set r = c.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}{% set c = c.split('</think>')[-1].lstrip('\\n') %}<r>{{ r }}</r>{% endif %}{{ c }}{% endif %}{% endfor %}{% if enable_thinking is defined and enable_thinking is false %}<think>\n\n</think>\n\n{% endif %}",
    "{% set ns = namespace(last=-1) %}{% for m in messages %}{% if m.role == 'user' %}{% set ns.last = loop.index0 %}{% endif %}{% endfor %}{% for m in messages %}{{ m.role if loop.index0 >= ns.last else '-' }} {% endfor %}{{ ns.last }}",
    # Multi-part content.
    "{% for m in messages %}{% if m.content is string %}{{ m.content }}{% elif m.content is iterable %}{% for p in m.content %}{% if p.type == 'text' %}{{ p.text }}{% elif p['type'] == 'image' %}<img>{% else %}{{ raise_exception('bad part ' ~ p.type) }}{% endif %}{% endfor %}{% else %}(none){% endif %}\n{% endfor %}",
    "{% for m in messages %}{{ m.content|selectattr('type', 'equalto', 'text')|map(attribute='text')|join('+') if m.content is sequence and m.content is not string else m.content }}|{% endfor %}",
    # Errors.
    "{% if messages|length > 0 and messages[0].role == 'assistant' %}{{ raise_exception('Conversation must start with a user: ' + messages[0]['role']) }}{% endif %}fine",
    "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Roles must alternate') }}{% endif %}{{ m.role }}{% endfor %}",
    "{{ messages[0].content.strip() }}{{ messages[0].nothing.more }}",
    "{{ 'a' + messages|length }}", "{{ messages[0].update({}) }}", "{{ undefined_function(1) }}", "{{ 1 / 0 }}",
    "{{ range(100001) }}", "{{ none|length }}", "{{ messages|nofilter }}", "{{ 5 is notest }}", "{% if false %}{{ 5|nofilter }}{{ 5 is notest }}{% endif %}ok", "{{ missing|tojson }}",
    "{% for x in none %}{% endfor %}", "{% set a, b = [1] %}", "{% set d.x = 1 %}", "{% break %}", "{{ 'x' * 'y' }}", "{{ [] < {} }}", "{{ {[]: 1} }}", "{% include 'other' %}", "{{ '%d' % 'x' }}",
    # Syntax errors.
    "{% for %}", "{{ 1 + }}", "{% if x %}", "{{ 'open }}", "{% endif %}", "{{ a b }}", "{% unknown %}", "{{ [1, 2 }}", "{# open", "{{ f(a=1, 2) }}", "{{ f(a=1, a=2) }}", "{{ '\\x4' }}", "{% set 1 = 2 %}", "{% macro m(a, a) %}{% endmacro %}", "{% raw %}", "{{ ! }}",
    # Filters over the conversation.
    "{{ messages|map(attribute='role')|list }}{{ messages|map(attribute='name', default='-')|join }}{{ messages|selectattr('tool_calls')|list|length }}{{ messages|rejectattr('role', 'in', ['user', 'system'])|map(attribute='role')|list }}",
    "{{ messages|groupby('role')|map('first')|list }}{% for g in messages|groupby('role') %}{{ g.grouper }}:{{ g.list|length }} {% endfor %}{{ messages|map(attribute='role')|sort|unique|list }}",
    "{% for row in messages|map(attribute='role')|batch(2, '-') %}{{ row|join(',') }};{% endfor %}{% for col in messages|map(attribute='role')|slice(2) %}{{ col|length }};{% endfor %}{{ messages|map(attribute='role')|map('length')|sum }}",
    "{{ messages|map(attribute='role')|first }}{{ (messages|last).role if messages }}{{ messages|map(attribute='role')|map('upper')|join(' ') }}{{ messages|map(attribute='role')|list|min }}{{ messages|map(attribute='role')|max }}",
    "{% for m in messages %}{{ m.content|string|indent(2) }}~{{ m.content|string|indent(1, true, true) }}~{{ m.content|string|title }}~{{ m.content|string|capitalize }}~{{ m.content|string|wordcount }}\n{% endfor %}",
    "{% for m in messages %}{{ m.content|string|replace('e', '3')|truncate(9) }}~{{ m.content|e }}~{{ m.content|string|center(30) }}~{{ m.content|string|urlencode }}~{{ m.content|string|striptags }}\n{% endfor %}",
    "{{ [3, 1, 2]|sort(reverse=true) }}{{ {'b': 1, 'A': 2}|dictsort(case_sensitive=true) }}{{ ['a', 'B']|sort(case_sensitive=true) }}{{ [1, 2, 3]|reverse|list }}{{ 'abc'|reverse }}{{ [[1, 2], [3]]|sum(start=[]) }}",
    "{{ 2.5|round }}{{ 2.675|round(2) }}{{ 1234|round(-2) }}{{ 2.1|round(method='ceil') }}{{ -3|abs }}{{ '3.9'|int }}{{ 'x'|int(7) }}{{ '0x1f'|int(base=16) }}{{ '1e3'|float }}{{ 1000000|filesizeformat }}",
    "{% filter upper %}{% for m in messages %}{{ m.role }} {% endfor %}{% endfilter %}{% filter replace('a', 'b')|trim %} banana {% endfilter %}",
    # Strings, numbers and printing.
    "{{ '%s has %d (%5.2f) %r' % ('x', 3, 2.5, 'q') }}{{ '{:>6}|{:<6}|{:^6}|{:06.2f}|{:,}|{:x}'.format('a', 'b', 'c', 3.14159, 1234567, 255) }}{{ '{a}{0[k]}'.format({'k': 1}, a='z') }}",
    "{{ 7 // 2 }}{{ -7 // 2 }}{{ 7 % -3 }}{{ 2 ** 10 }}{{ 2 ** -1 }}{{ 2 ** 100 }}{{ 10 ** 20 // 3 }}{{ 1e100 }}{{ 0.1 + 0.2 }}{{ 1 / 3 }}{{ 5 / 5 }}{{ true + true }}{{ -0.0 }}{{ 123456789012345678901234567890 * 9 }}",
    "{{ [1, 'a', none, true, 2.0, (1,), (), {'k': [1]}, \"it's\", '\\t\\\\'] }}{{ {1: 'a', none: 2, true: 3, (1, 2): 4} }}{{ range(3) }}{{ {'a': 1}.items() }}{{ {'a': 1}.keys() }}{{ namespace(x=1) }}",
    "{% for m in messages %}{% set c = m.content|string %}{{ c.split() }}{{ c.split(' ', 1) }}{{ c.partition(' ') }}{{ c.find('e') }}{{ c.count('e') }}{{ c.startswith('H') }}{{ c.endswith(('.', '?')) }}{{ c.strip('. ')|length }}{{ c.swapcase() }}{{ c.splitlines() }}\n{% endfor %}",
    "{{ 'ß'.upper() }}{{ 'ŉ'.title() }}{{ 'ΑΣ ΣΑ'.lower() }}{{ 'İ'.lower()|length }}{{ 'ﬁ'.capitalize() }}{{ 'ǆ'.title() }}{{ 'straße'.casefold() }}{{ '١٢'|int }}{{ '٣'.isdigit() }}{{ '½'.isnumeric() }}{{ '²'.isdigit() }}{{ '²'.isdecimal() }}",
    "{{ 'a' ~ 1 ~ none ~ true ~ 1.5 ~ missing }}{{ 'a' 'b' }}{{ 'x' * 3 }}{{ [1] * 2 + [3] }}{{ (1, 2) + (3,) }}{{ 'abc'[1] }}{{ 'abc'[-1:] }}{{ 'abcdef'[1:5:2] }}{{ 'héllo'[1] }}{{ 'abc'.1 }}",
    "{{ joiner('; ')() }}{% set j = joiner() %}{% for m in messages %}{{ j() }}{{ m.role }}{% endfor %}{% set c = cycler('odd', 'even') %}{% for m in messages %}{{ c.next() }}{% endfor %}{{ c.current }}{{ c.reset() }}",
    "{{ strftime_now('%Y-%m-%d') }} {{ strftime_now('%d %B %Y, %H:%M') }}{{ dict(a=1, **{'b': 2}) }}{{ dict([('x', 1)]) }}{% set args = [1, 7, 2] %}{{ range(*args)|list }}",
    "{{ ('<b>'|safe) + '<i>' }}{{ '<b>'|e }}{{ ('%s'|safe) % '<' }}{{ ('a'|safe).join(['<', 'b']) }}{{ ['<'|safe] }}{{ ('<x>'|safe)|upper }}{{ '<b>'|e|e }}{{ '<b>'|e|forceescape }}",
    "{% generation %}{% set inner = 1 %}{% for m in messages %}{{ m.role }}{% endfor %}{% endgeneration %}{{ inner }}",
    "{{ messages is sequence }}{{ messages is mapping }}{{ 'x' is string }}{{ 1 is number }}{{ true is boolean }}{{ 1.0 is float }}{{ messages is iterable }}{{ raise_exception is callable }}{{ 4 is divisibleby 2 }}{{ 3 is odd }}{{ 'a' is in 'abc' }}{{ 'A' is upper }}{{ 'tojson' is filter }}{{ 'odd' is test }}{{ none is sameas none }}{{ 1 is eq 1.0 }}{{ 2 is gt 1 }}{{ ('a'|safe) is escaped }}",
    "{% block body %}{% for m in messages %}{{ m.role }}{% endfor %}{% set inside = 1 %}{% endblock %}{{ inside }}{% print messages|length, 'p' %}{% autoescape true %}{{ '<b>' }}{% endautoescape %}{{ '<b>' }}",
    "{{ '\\u00e9\\x41\\n\\101\\q' }}{{ \"a\\\nb\" }}{{ 0x1F }}{{ 0b101 }}{{ 0o17 }}{{ 1_000 }}{{ 1.5e3 }}{{ 'é🦙' }}{{ 'é🦙'|tojson }}{{ '\\u2028</script>&\\x7f\\x01'|tojson }}",
]
