# SPDX-License-Identifier: Apache-2.0
"""`plumb generate` that is killed at random times loses nothing and repeats nothing."""

import json
import random
import signal
import subprocess
import threading
import time
import unittest

import plumb_e2e as e2e

NUM_PROMPTS = 600
MIN_KILLS = 10


def plain_lines():
    for i in range(NUM_PROMPTS):
        if i % 50 == 49:
            yield {"id": f"bad-{i}", "prompt": "x", "temperature": 9}
        else:
            yield {"id": f"p-{i}", "prompt": f"prompt number {i}", "max_tokens": 8,
                   "temperature": 0, "ignore_eos": True}


def text_of(record):
    return record["response"]["choices"][0]["text"] if record["error"] is None else None


class Generate(unittest.TestCase):
    def setUp(self):
        self.stack = e2e.folder()
        self.folder = self.stack.__enter__()
        self.model = e2e.dummy(self.folder)
        self.input = self.folder / "in.jsonl"
        self.input.write_text("".join(json.dumps(line) + "\n" for line in plain_lines()))

    def tearDown(self):
        self.stack.__exit__(None, None, None)

    def command(self, output):
        return [e2e.BINARY, "generate", str(self.model), "--input", str(self.input), "--output",
                str(output), "--in-flight", "8", "--max-num-seqs", "8"]

    def finish(self, output, code=1):
        """Runs to the end: code 1, because some lines of the input are answered with an error."""
        done = subprocess.run(self.command(output), capture_output=True, timeout=120, check=False)
        self.assertEqual(done.returncode, code, done.stderr.decode())
        return done.stderr.decode()

    @staticmethod
    def records(output):
        lines = output.read_bytes().split(b"\n") if output.exists() else [b""]
        return [json.loads(line) for line in lines[:-1]]

    def test_killed_at_random_it_ends_with_what_an_undisturbed_run_says(self):
        whole = self.folder / "whole.jsonl"
        self.finish(whole)
        expected = {r["id"]: text_of(r) for r in self.records(whole)}
        self.assertEqual(len(expected), NUM_PROMPTS)
        self.assertEqual(sum(text is None for text in expected.values()), NUM_PROMPTS // 50)

        chance = random.Random(20)
        kills = in_work = torn = attempt = 0
        while kills < MIN_KILLS or in_work < 3:
            attempt += 1
            self.assertLess(attempt, 60, "the run is never caught at work")
            output = self.folder / f"killed-{attempt}.jsonl"
            ended = False
            while not ended:
                before = len(self.records(output))
                process = subprocess.Popen(self.command(output), stderr=subprocess.PIPE)
                killer = self.kill_later(process, output, whole.stat().st_size, chance)
                _, errors = process.communicate()
                killer.join()
                ended = process.returncode == 1
                self.assertIn(process.returncode, (1, -signal.SIGKILL), errors.decode())
                records = self.records(output)
                ids = [r["id"] for r in records]
                self.assertEqual(len(ids), len(set(ids)), "an id is repeated")
                self.assertGreaterEqual(len(ids), before, "a record is lost")
                if not ended:
                    kills += 1
                    in_work += 0 < len(ids) < NUM_PROMPTS
                    torn += self.tear(output, chance, len(ids))
            self.assertEqual({r["id"]: text_of(r) for r in self.records(output)}, expected)
        print(f"{kills} kills, {in_work} of them with records in part, {torn} torn lines")
        self.assertGreater(torn, 0)

    @staticmethod
    def kill_later(process, output, whole_bytes, chance):
        """Kills it at some moment, or once it has written so much more, which a fast run does within milliseconds."""
        moment = time.monotonic() + (chance.uniform(0.02, 0.6) if chance.random() < 0.3 else 600)
        written = output.stat().st_size if output.exists() else 0
        enough = written + chance.randrange(1, whole_bytes)

        def watch():
            while process.poll() is None:
                if time.monotonic() > moment or (output.exists() and output.stat().st_size > enough):
                    process.kill()
                    return

        killer = threading.Thread(target=watch)
        killer.start()
        return killer

    def tear(self, output, chance, num_records):
        """Cuts the last record as a crash of the machine would; returns 1 if it did."""
        if num_records < 2 or chance.random() < 0.4:
            return 0
        content = output.read_bytes()
        begin = content[:-1].rfind(b"\n") + 1
        with output.open("r+b") as file:
            file.truncate(chance.randrange(begin + 1, len(content)))
        process = subprocess.run(self.command(output), capture_output=True, timeout=120,
                                 check=False)
        self.assertIn("dropped a torn last line", process.stderr.decode())
        return 1

    def test_an_interrupted_run_says_so_and_goes_on(self):
        output = self.folder / "interrupted.jsonl"
        process = subprocess.Popen(self.command(output), stderr=subprocess.PIPE)
        e2e.wait_until(lambda: output.exists() and output.stat().st_size > 0, 60, "a record")
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        self.assertIn(process.returncode, (130, 1), errors.decode())
        if process.returncode == 130:
            self.assertIn("run the same command again to continue", errors.decode())
        self.finish(output)
        self.assertEqual(len(self.records(output)), NUM_PROMPTS)

    def test_a_changed_input_and_a_foreign_output_are_refused(self):
        output = self.folder / "out.jsonl"
        self.finish(output)
        size = output.stat().st_size
        self.input.write_text(self.input.read_text() + '{"id":"new","prompt":"x"}\n')
        done = subprocess.run(self.command(output), capture_output=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("the input file has changed", done.stderr.decode())
        self.assertEqual(output.stat().st_size, size)
        foreign = self.folder / "thesis.txt"
        foreign.write_text("mine\n")
        done = subprocess.run(self.command(foreign), capture_output=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(foreign.read_text(), "mine\n")

    def test_a_run_that_cannot_begin_claims_no_output(self):
        output = self.folder / "none.jsonl"
        run_file = self.folder / "none.jsonl.run"
        for content in ('{"id":"a","prompt":"x"}\n{"id":"a","prompt":"y"}\n', "\n"):
            self.input.write_text(content)
            self.assertIn("in.jsonl", self.finish(output))
            self.assertFalse(output.exists() or run_file.exists())
        self.input.write_text('{"id":"a","prompt":"x","max_tokens":2}\n')
        self.assertIn("/nosuch/x.out:", self.finish("/nosuch/x.out"))
        self.finish(output, 0)

    def test_another_model_does_not_continue_a_run(self):
        output = self.folder / "out.jsonl"
        self.finish(output)
        size = output.stat().st_size
        self.model = e2e.dummy(self.folder, "other.gguf", "--seed", "2")
        done = subprocess.run(self.command(output), capture_output=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("another model", done.stderr.decode())
        self.assertEqual(output.stat().st_size, size)

    def test_errors_are_counted_over_the_file_and_another_model_is_one(self):
        self.input.write_text('{"id":"a","prompt":"x","max_tokens":2,"model":"tiny","foo":1}\n'
                              '{"id":"b","prompt":"x","max_tokens":2,"model":"gpt-4"}\n')
        output = self.folder / "out.jsonl"
        first = self.finish(output)
        self.assertIn("2 of 2 records", first)
        self.assertIn("1 of them errors", first)
        self.assertIn("the unknown field 'foo' is ignored in 1 line\n", first)
        self.assertIn("1 of them errors", self.finish(output))
        records = {r["id"]: r for r in self.records(output)}
        self.assertIsNone(records["a"]["error"])
        self.assertEqual(records["b"]["error"]["code"], "model_not_found")

    def test_what_lenient_schemas_drop_is_named_and_a_json_object_keeps_its_schema(self):
        schema = {"type": "object", "properties": {"a": {"enum": ["u"], "format": "color"}},
                  "required": ["a"], "additionalProperties": False}
        line = {"prompt": "x", "max_tokens": 60, "structured_outputs": {"lenient": True},
                "response_format": {"type": "json_object", "schema": schema}}
        self.input.write_text("".join(json.dumps({"id": i, **line}) + "\n" for i in "ab"))
        output = self.folder / "out.jsonl"
        said = self.finish(output, code=0)
        self.assertIn("the schema keyword 'format at #/properties/a' is ignored in 2 lines\n", said)
        for record in self.records(output):
            text = record["response"]["choices"][0]["text"]
            self.assertEqual(json.loads(text), {"a": "u"})

    def test_the_batch_format_answers_in_its_own_form(self):
        body = {"model": "tiny", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 4}
        lines = [{"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": body},
                 {"custom_id": "b", "method": "POST", "url": "/v1/completions",
                  "body": {"prompt": "x", "max_tokens": 4}},
                 {"custom_id": "c", "method": "POST", "url": "/v1/other", "body": {}}]
        self.input.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"custom_id')
        output = self.folder / "batch.jsonl"
        self.assertIn("line 4 is cut off", self.finish(output))
        records = {r["custom_id"]: r for r in self.records(output)}
        self.assertEqual(sorted(records), ["a", "b", "c"])
        self.assertEqual(records["a"]["response"]["status_code"], 200)
        self.assertEqual(records["a"]["response"]["body"]["object"], "chat.completion")
        self.assertEqual(records["b"]["response"]["body"]["object"], "text_completion")
        self.assertEqual(records["c"]["response"]["status_code"], 400)


if __name__ == "__main__":
    unittest.main()
