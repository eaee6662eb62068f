#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random schemas against the `jsonschema` package.

  json_schema_diff.py JSON_SCHEMA_CLI [--schemas 1000] [--seeds 5] [--first 0]

Makes schemas from their numbers until that many compile, lets the program draw texts from the grammar of each, and
validates every text. Numbers are read as decimals: what a multiple of 0.1 is does not depend on binary fractions. A
schema that is refused because no value satisfies it is tried on the values of other schemas; at least 80 % compile.
"""
import argparse
import collections
import decimal
import json
import random
import re
import subprocess
import sys

try:
    import jsonschema
except ImportError:
    print("skipped: no jsonschema package")
    sys.exit(77)

NAMES = ["a", "b", "name", "id", "x y", "é", "q\"uote", "tab\t", "items", "$ref"]
FORMATS = ["date-time", "date", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uuid", "uri"]
PATTERNS = ["^[a-z]+$", "[0-9]{2,4}", "^(foo|bar)-\\d+$", "^\\S*$", "^[^\"\\\\]{1,5}$", "\\\\", "^.{0,3}$", "é|ü"]
KEY_PATTERNS = ["^x", "[0-9]$", "^[a-c]{2,3}$"]


class Maker:
    """Schemas of bounded depth over the keywords that grammars enforce."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.defs = {}

    def pick(self, *makers):
        return self.rng.choice(makers)()

    def maybe(self, probability=0.5):
        return self.rng.random() < probability

    def number_bounds(self, schema):
        low = self.rng.choice([-100, -7, -1.5, 0, 0.25, 3, 12])
        high = low + self.rng.choice([1, 2.5, 10, 1000])
        if self.maybe():
            schema[self.rng.choice(["minimum", "exclusiveMinimum"])] = low
        if self.maybe():
            schema[self.rng.choice(["maximum", "exclusiveMaximum"])] = high
        return schema

    def integer(self):
        schema = self.number_bounds({"type": "integer"})
        if self.maybe(0.3):
            schema["multipleOf"] = self.rng.choice([2, 3, 5, 7])
            schema.pop("maximum", None)
            schema.pop("exclusiveMaximum", None)
        return schema

    def number(self):
        schema = self.number_bounds({"type": "number"})
        if self.maybe(0.2):
            schema["multipleOf"] = self.rng.choice([0.5, 0.25, 0.01, 1.5])
            schema.pop("maximum", None)
            schema.pop("exclusiveMaximum", None)
        return schema

    def string(self):
        schema = {"type": "string"}
        kind = self.rng.random()
        if kind < 0.3:
            schema["minLength"] = self.rng.randrange(4)
        if kind < 0.5:
            schema["maxLength"] = self.rng.randrange(4, 9)
        elif kind < 0.7:
            schema["pattern"] = self.rng.choice(PATTERNS)
        elif kind < 0.85:
            schema["format"] = self.rng.choice(FORMATS)
        return schema

    def constant(self):
        return self.rng.choice([1, 0, -3, 2.5, "a", "é\"\\\n", True, False, None, [], {}, [1, "b"], {"k": [1]},
                                {"u": {"v": None}, "w": 2}])

    def enumeration(self):
        return {"enum": [self.constant() for _ in range(self.rng.randrange(1, 6))]}

    def array(self, depth):
        schema = {"type": "array"}
        if self.maybe(0.7):
            schema["items"] = self.schema(depth - 1)
        if self.maybe(0.3):
            schema["prefixItems"] = [self.schema(depth - 1) for _ in range(self.rng.randrange(1, 4))]
        if self.maybe(0.4):
            schema["minItems"] = self.rng.randrange(3)
        if self.maybe(0.5):
            schema["maxItems"] = schema.get("minItems", 0) + self.rng.randrange(4)
        if self.maybe(0.2):
            schema["contains"] = self.schema(0)
            if self.maybe(0.4):
                schema["minContains"] = self.rng.randrange(3)
            if self.maybe(0.4):
                schema["maxContains"] = schema.get("minContains", 1) + self.rng.randrange(3)
        if self.maybe(0.15):
            schema["items"] = self.enumeration()
            schema["uniqueItems"] = True
            schema.pop("prefixItems", None)
            schema.pop("contains", None)
        return schema

    def object(self, depth):
        names = self.rng.sample(NAMES, self.rng.randrange(5))
        schema = {"type": "object", "properties": {name: self.schema(depth - 1) for name in names}}
        if self.maybe(0.6):
            schema["required"] = [name for name in NAMES if name in names and self.maybe()]
        if self.maybe(0.2):
            schema.setdefault("required", []).append("extra")
            schema["required"] = sorted(set(schema["required"]))
        kind = self.rng.random()
        if kind < 0.4:
            schema["additionalProperties"] = False if "extra" not in schema.get("required", []) else True
        elif kind < 0.6:
            schema["additionalProperties"] = self.schema(depth - 1)
        elif kind < 0.7:
            schema["unevaluatedProperties"] = self.schema(0)
        if self.maybe(0.2):
            schema["patternProperties"] = {self.rng.choice(KEY_PATTERNS): self.schema(depth - 1)}
        if self.maybe(0.15):
            schema["propertyNames"] = {"maxLength": self.rng.randrange(5, 9)}
        if self.maybe(0.2):
            schema["minProperties"] = self.rng.randrange(4)
        if self.maybe(0.2):
            schema["maxProperties"] = schema.get("minProperties", 0) + self.rng.randrange(3, 6)
        if self.maybe(0.15) and len(names) >= 2:
            schema["dependentRequired"] = {names[0]: [names[1]]}
        if self.maybe(0.15) and names:
            schema["dependentSchemas"] = {names[0]: {"required": ["extra"], "maxProperties": 5}}
        return schema

    def combination(self, depth):
        kind = self.rng.choice(["anyOf", "oneOf", "allOf", "not", "if", "$ref"])
        if kind in ("anyOf", "oneOf"):
            return {kind: [self.schema(depth - 1) for _ in range(self.rng.randrange(2, 4))]}
        if kind == "allOf":
            base = self.object(depth - 1)
            base.pop("additionalProperties", None)
            return {"allOf": [base, {"required": ["id"]}], "unevaluatedProperties": self.maybe()}
        if kind == "not":
            return {"type": self.rng.choice(["string", "integer", "object", "array"]), "not": self.plain(depth - 1)}
        if kind == "if":
            return {"if": self.plain(depth - 1), "then": self.schema(depth - 1), "else": self.schema(depth - 1)}
        name = f"d{len(self.defs)}"
        self.defs[name] = True
        self.defs[name] = {"anyOf": [self.schema(depth - 1),
                                     {"type": "array", "items": {"$ref": f"#/$defs/{name}"}, "maxItems": 2}]}
        return {"$ref": f"#/$defs/{name}"}

    def plain(self, depth):
        """A schema without format, whose opposite can be enforced."""
        text = json.dumps(self.schema(depth))
        text = re.sub(r'"format": "[a-z0-9-]+"', '"minLength": 1', text)
        return json.loads(text.replace('"uniqueItems": true', '"minItems": 1'))

    def schema(self, depth):
        leaves = [self.integer, self.number, self.string, self.string, self.enumeration,
                  lambda: {"const": self.constant()}, lambda: {"type": ["null", "boolean"]}, lambda: True]
        if depth <= 0:
            return self.pick(*leaves)
        return self.pick(*leaves, *[lambda: self.object(depth)] * 6, *[lambda: self.array(depth)] * 4,
                         *[lambda: self.combination(depth)] * 3)

    def document(self):
        schema = self.pick(lambda: self.object(3), lambda: self.array(3), lambda: self.combination(3))
        if self.defs:
            schema["$defs"] = self.defs
        return schema


def decimals(value):
    return json.loads(json.dumps(value), parse_float=decimal.Decimal)


def reason(error):
    return re.sub(r"^#?[^:]*: ", "", error)[:60]


class Judge:
    """Counts answers and keeps what is wrong."""

    def __init__(self):
        self.counts = collections.Counter()
        self.failures = []
        maker = Maker(0)
        self.values = collections.deque([decimals(maker.constant()) for _ in range(100)], maxlen=400)

    def refused(self, number, schema, validator, error):
        self.counts["refused"] += 1
        self.counts["refused: " + reason(error)] += 1
        if "no value satisfies" in error:
            valid = [value for value in self.values if validator.is_valid(value)]
            if valid:
                self.failures.append((number, schema, json.dumps(valid[0], default=str), "valid, but " + error))

    def text(self, number, schema, validator, text):
        self.counts["texts"] += 1
        if not text:
            self.counts["unfinished"] += 1
            return
        try:
            value = json.loads(text, parse_float=decimal.Decimal)
            errors = [error.message for error in validator.iter_errors(value)]
            self.values.append(value)
        except ValueError as error:
            errors = [str(error)]
        self.counts["valid"] += not errors
        if errors:
            self.failures.append((number, schema, text, errors[0][:200]))

    def answer(self, number, schema, answer):
        validator = jsonschema.Draft202012Validator(decimals(schema),
                                                    format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)
        if "error" in answer:
            self.refused(number, schema, validator, answer["error"])
            return
        self.counts["compiled"] += 1
        for text in answer["texts"]:
            self.text(number, schema, validator, text)

    def verdict(self):
        for key, count in sorted(self.counts.items(), key=lambda item: (-item[1], item[0])):
            print(f"{count:7} {key}")
        for number, schema, text, error in self.failures[:10]:
            print(f"schema {number}: {json.dumps(schema, ensure_ascii=False)}\n  text {text}\n  {error}")
        if self.counts["compiled"] < 4 * self.counts["refused"]:
            print("fewer than 80 % of the schemas compile")
            return False
        return not self.failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--schemas", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=0)
    arguments = parser.parse_args()
    decimal.getcontext().prec = 200
    program = subprocess.Popen([arguments.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               encoding="utf-8")
    judge = Judge()
    number = arguments.first
    while judge.counts["compiled"] < arguments.schemas:
        schema = Maker(number).document()
        request = {"schema": schema, "seeds": list(range(arguments.seeds)), "soft_bytes": 300,
                   "any_order": number % 3 == 0, "compact": number % 5 == 0}
        program.stdin.write(json.dumps(request) + "\n")
        program.stdin.flush()
        line = program.stdout.readline()
        if not line:
            print(f"the program ended at schema {number}: {json.dumps(schema)}")
            return 1
        judge.answer(number, schema, json.loads(line))
        number += 1
    program.stdin.close()
    return 0 if judge.verdict() and program.wait() == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
