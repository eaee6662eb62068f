# SPDX-License-Identifier: Apache-2.0
"""`plumb generate` holds the lines of its input to their constraints."""

import json
import re
import subprocess
import unittest

import plumb_e2e as e2e

TAG = {"type": "tag", "begin": "<a>", "content": {"type": "regex", "pattern": "[ab]{3}"},
       "end": "</a>"}
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1, "maximum": 9}},
          "required": ["n"], "additionalProperties": False}

# The fields of a line, and what its answer has to match as a whole.
LINES = {
    "regex": ({"guided_regex": "[xy]{4}"}, r"[xy]{4}"),
    "choice": ({"guided_choice": ["yes", "no"]}, r"yes|no"),
    "grammar": ({"ebnf": 'root ::= "(" [ab] ")"'}, r"\([ab]\)"),
    "schema": ({"guided_json": SCHEMA}, r'\{\s*"n"\s*:\s*[1-9]\s*\}'),
    "tag": ({"structured_outputs": {"structural_tag": {"format": TAG}}}, r"<a>[ab]{3}</a>"),
    "tag-text": ({"structural_tag": json.dumps({"format": TAG})}, r"<a>[ab]{3}</a>"),
    "format": ({"response_format": {"type": "structural_tag", "format": TAG}}, r"<a>[ab]{3}</a>"),
}
BAD = {"bad-tag": {"structural_tag": {"format": {"type": "tag", "begin": "<"}}}}


class GenerateConstraints(unittest.TestCase):
    def test_each_kind_of_constraint_is_kept_and_a_bad_one_is_an_error_of_its_line(self):
        with e2e.folder() as folder:
            model = e2e.dummy(folder)
            source, output = folder / "in.jsonl", folder / "out.jsonl"
            with source.open("w") as file:
                for name, fields in [*((n, f) for n, (f, _) in LINES.items()), *BAD.items()]:
                    line = {"id": name, "prompt": "x", "max_tokens": 100, "temperature": 1.5,
                            "seed": 5, **fields}
                    file.write(json.dumps(line) + "\n")
            done = subprocess.run([e2e.BINARY, "generate", str(model), "--input", str(source),
                                   "--output", str(output)], capture_output=True, timeout=120,
                                  check=False)
            self.assertEqual(done.returncode, 1, done.stderr.decode())
            records = {r["id"]: r for r in map(json.loads, output.read_text().splitlines())}
        for name, (_, pattern) in LINES.items():
            self.assertIsNone(records[name]["error"], records[name])
            choice = records[name]["response"]["choices"][0]
            self.assertEqual(choice["finish_reason"], "stop", name)
            self.assertTrue(re.fullmatch(pattern, choice["text"]), (name, choice["text"]))
        error = records["bad-tag"]["error"]
        self.assertEqual((error["code"], error["param"]), ("invalid_schema", "structural_tag"))
        self.assertIn("format.content: is missing", error["message"])


if __name__ == "__main__":
    unittest.main()
