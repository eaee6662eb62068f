# SPDX-License-Identifier: Apache-2.0
"""Renders the golden template cases with jinja2.

usage: template_golden.py SHARED_TEMPLATE_FOLDER

Writes tests/golden/templates/: variables.json (conversations and the variables of the random cases by name),
shared.jsonl (outputs of the templates in the folder, which are not copied), synthetic.jsonl and random.jsonl
(templates with their outputs). The first line of each .jsonl says what made it.
"""
import copy
import json
import pathlib
import platform
import sys
from importlib import metadata

import template_differential
import template_reference
from template_conversations import CONVERSATIONS
from template_synthetic import TEMPLATES

OUT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden" / "templates"
SYNTHETIC_CONVERSATIONS = ["system_turns", "tool_round_trip", "parallel_tools", "reasoning", "image", "wrong_order", "empty"]
RANDOM_SEED = 7
RANDOM_COUNT = 1200


def write(name, cases):
    made_by = (f"tools/template_golden.py, Python {platform.python_version()}, jinja2 {metadata.version('jinja2')}, "
               f"markupsafe {metadata.version('markupsafe')}")
    with open(OUT / name, "w", encoding="utf-8") as out:
        out.write(json.dumps({"provenance": made_by}) + "\n")
        for case in cases:
            out.write(json.dumps(case, ensure_ascii=False) + "\n")


def case(keys, source, variables):
    ok, text = template_reference.render(source, copy.deepcopy(variables))
    # Only the text of raise_exception is part of the contract; other errors just have to be errors.
    raised = text.removeprefix("TemplateError: ") if text.startswith("TemplateError: ") else None
    return {**keys, "ok": ok, **({"text": text} if ok else {"raised": raised} if raised is not None else {})}


def shared_cases(folder):
    for path in sorted(pathlib.Path(folder).glob("*.jinja")):
        source = path.read_bytes().decode()
        for name, variables in CONVERSATIONS.items():
            yield case({"file": path.name, "v": name}, source, variables)


def synthetic_cases():
    for template in TEMPLATES:
        seen = set()
        for name in SYNTHETIC_CONVERSATIONS:
            made = case({"t": template, "v": name}, template, CONVERSATIONS[name])
            outcome = json.dumps([made["ok"], made.get("text"), made.get("raised")])
            # A template that does not look at the conversation is kept once.
            if "messages" in template or "tools" in template or not seen:
                yield made
            seen.add(outcome)


def random_cases():
    for made in template_differential.cases(RANDOM_SEED, RANDOM_COUNT):
        if made["ok"] or len(made["t"]) < 120:
            yield case({"t": made["t"], "v": "random"}, made["t"], made["v"])


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    variables = {**CONVERSATIONS, "random": template_differential.VARIABLES}
    (OUT / "variables.json").write_text(json.dumps(variables, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    write("shared.jsonl", shared_cases(sys.argv[1]))
    write("synthetic.jsonl", synthetic_cases())
    write("random.jsonl", random_cases())


if __name__ == "__main__":
    main()
