# SPDX-License-Identifier: Apache-2.0
"""Renders chat templates with Python's jinja2 in the environment that chat templates are written for.

That is: the immutable sandbox with trim_blocks and lstrip_blocks, loop controls, a `generation` tag whose body is
rendered in its own scope, tojson without HTML escaping, raise_exception, and strftime_now at a fixed UTC time.
"""
import datetime
import json

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.sandbox

NOW_SECONDS = 1753660800  # 2025-07-28 00:00:00 UTC


class GenerationTag(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        lineno = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        call = self.call_method("_render")
        return jinja2.nodes.CallBlock(call, [], [], body).set_lineno(lineno)

    @jinja2.pass_eval_context
    def _render(self, context, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def strftime_now(text):
    return datetime.datetime.utcfromtimestamp(NOW_SECONDS).strftime(text)


def make_environment():
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[GenerationTag, jinja2.ext.loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = strftime_now
    return env


ENVIRONMENT = make_environment()


def render(source, variables):
    """(True, text), or (False, error text)."""
    try:
        return True, ENVIRONMENT.from_string(source).render(**variables)
    except Exception as error:  # whatever a template raises is a result
        return False, f"{type(error).__name__}: {error}"
