# SPDX-License-Identifier: Apache-2.0
"""A model that says what it was asked to say: every dialect's form of one known answer, exactly."""

import json
import unittest

import plumb_e2e as e2e

try:
    import anthropic
    import ollama
    import openai
except ImportError:
    e2e.skip("the client packages are not installed (scripts/venv)")

THOUGHT = "Rain or sun?\nI ask."
WORDS = "I look it up: é, 漢字, 🙂."
OSLO = {"city": "Oslo", "days": 3}
ROME = {"city": "Rome \"old\"", "days": 1}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}


def call(arguments):
    return "<tool_call>\n" + json.dumps({"name": "weather", "arguments": arguments}) + "\n</tool_call>"


SCRIPT = f"<think>\n{THOUGHT}\n</think>\n\n{WORDS}\n{call(OSLO)}\n{call(ROME)}"
PLAIN = "One two.\n\nThree: {\"a\": [1, 2]} <b>no tag</b> \\u0041 é"


PATCH_GRAMMAR = """start: begin hunk+ end
begin: "*** Begin" LF
hunk: "*** File: " name LF line+
name: /(.+)/
line: ("+" | "-") /(.*)/ LF -> line
end: "*** End" LF?
%import common.LF
"""
PATCH = "*** Begin\n*** File: a \"b\".py\n+é = '\\\\t'\n-\n*** End"


def custom_call(name, text):
    return ('<tool_call>\n{"name": "%s", "arguments": {"input": %s}}\n</tool_call>'
            % (name, json.dumps(text, ensure_ascii=False)))


def grammar(name, syntax, definition):
    """A custom tool as Responses writes it, and as Chat does."""
    flat = {"type": "grammar", "syntax": syntax, "definition": definition}
    nested = {"type": "grammar", "grammar": {"syntax": syntax, "definition": definition}}
    return ({"type": "custom", "name": name, "format": flat},
            {"type": "custom", "custom": {"name": name, "format": nested}})


def user(text):
    return [{"role": "user", "content": text}]


class EchoedFormats(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = e2e.folder()
        model = e2e.dummy(cls.stack.__enter__(), "echo.gguf", "--echo", "--context", "8192")
        cls.server = e2e.Server(model, "--served-model-name", "m", "--tool-call-parser", "hermes",
                                "--reasoning-parser", "think", "--max-num-seqs", "8")
        cls.openai = openai.OpenAI(base_url=cls.server.url + "/v1", api_key="none", max_retries=0,
                                   _strict_response_validation=True)
        # Its types know custom tools in whole answers only.
        cls.lenient = openai.OpenAI(base_url=cls.server.url + "/v1", api_key="none", max_retries=0)
        cls.anthropic = anthropic.Anthropic(base_url=cls.server.url, api_key="none", max_retries=0)
        cls.ollama = ollama.Client(host=cls.server.url)

    @classmethod
    def tearDownClass(cls):
        cls.openai.close()
        cls.lenient.close()
        cls.anthropic.close()
        cls.server.stop()
        cls.stack.__exit__(None, None, None)

    def chat(self, text, **fields):
        tools = [{"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}]
        return self.openai.chat.completions.create(model="m", messages=user(text), tools=tools, **fields)

    def test_a_chat_completion(self):
        choice = self.chat(SCRIPT).choices[0]
        self.assertEqual(choice.finish_reason, "tool_calls")
        self.assertEqual(choice.message.reasoning_content.strip(), THOUGHT)
        self.assertEqual(choice.message.content.strip(), WORDS)
        self.assertEqual([(c.function.name, json.loads(c.function.arguments))
                          for c in choice.message.tool_calls], [("weather", OSLO), ("weather", ROME)])

    def test_a_streamed_chat_completion(self):
        thought, words, calls, finish = "", "", {}, None
        for chunk in self.chat(SCRIPT, stream=True):
            for choice in chunk.choices:
                thought += getattr(choice.delta, "reasoning_content", None) or ""
                words += choice.delta.content or ""
                for part in choice.delta.tool_calls or []:
                    name, arguments = calls.get(part.index, ("", ""))
                    calls[part.index] = (name + (part.function.name or ""),
                                         arguments + (part.function.arguments or ""))
                finish = choice.finish_reason or finish
        self.assertEqual((thought.strip(), words.strip(), finish), (THOUGHT, WORDS, "tool_calls"))
        self.assertEqual([(name, json.loads(text)) for _, (name, text) in sorted(calls.items())],
                         [("weather", OSLO), ("weather", ROME)])

    def test_plain_text_stays_as_it_is(self):
        self.assertEqual(self.openai.chat.completions.create(model="m", messages=user(PLAIN))
                         .choices[0].message.content, PLAIN)
        self.assertEqual(self.openai.completions.create(model="m", prompt=PLAIN, max_tokens=500)
                         .choices[0].text, PLAIN)
        self.assertEqual(self.openai.responses.create(model="m", input=PLAIN).output_text, PLAIN)
        self.assertEqual(self.anthropic.messages.create(model="m", messages=user(PLAIN), max_tokens=500)
                         .content[0].text, PLAIN)
        self.assertEqual(self.ollama.chat("m", user(PLAIN)).message.content, PLAIN)
        self.assertEqual(self.ollama.generate("m", PLAIN, raw=True).response, PLAIN)
        status, answer = self.server.post("/generate", {"text": PLAIN,
                                                        "sampling_params": {"max_new_tokens": 500}})
        self.assertEqual((status, answer["text"]), (200, PLAIN))

    def test_counts_and_limits_are_exact(self):
        text = "abcdefghij"  # a byte a token where the tiny vocabulary has no merge
        answer = self.openai.completions.create(model="m", prompt=text, max_tokens=500)
        tokens = self.server.post("/tokenize", {"prompt": text, "add_special_tokens": False})[1]["tokens"]
        self.assertEqual(answer.usage.completion_tokens, len(tokens) + 1)
        self.assertEqual(answer.choices[0].finish_reason, "stop")
        cut = self.openai.completions.create(model="m", prompt=text, max_tokens=len(tokens) - 1)
        self.assertEqual((cut.choices[0].finish_reason, cut.usage.completion_tokens),
                         ("length", len(tokens) - 1))
        self.assertTrue(text.startswith(cut.choices[0].text))
        stopped = self.openai.completions.create(model="m", prompt=text, max_tokens=500, stop=["def"])
        self.assertEqual((stopped.choices[0].text, stopped.choices[0].finish_reason), ("abc", "stop"))

    def test_three_turns_with_tools_over_the_responses_api(self):
        tools = [{"type": "function", "name": "weather", "parameters": SCHEMA, "strict": False}]
        answer = self.openai.responses.create(model="m", tools=tools, input=call(OSLO))
        for turn, result in enumerate([call(ROME), call({"city": "Bergen", "days": 2}), "It rains."]):
            (made,) = [item for item in answer.output if item.type == "function_call"]
            city = ["Oslo", "Rome \"old\"", "Bergen"][turn]
            self.assertEqual(json.loads(made.arguments)["city"], city)
            answer = self.openai.responses.create(
                model="m", tools=tools, previous_response_id=answer.id,
                input=[{"type": "function_call_output", "call_id": made.call_id, "output": result}])
        self.assertEqual(answer.output_text, "It rains.")

    def test_a_response_with_thought_words_and_calls(self):
        tools = [{"type": "function", "name": "weather", "parameters": SCHEMA, "strict": False}]
        fields = {"model": "m", "tools": tools, "input": SCRIPT}
        whole = self.openai.responses.create(**fields)
        with self.openai.responses.stream(**fields) as stream:
            sequence = [event.sequence_number for event in stream]
            streamed = stream.get_final_response()
        self.assertEqual(sequence, list(range(sequence[0], sequence[0] + len(sequence))))
        for answer in (whole, streamed):
            self.assertEqual([item.type for item in answer.output],
                             ["reasoning", "message", "function_call", "function_call"])
            self.assertEqual(answer.output_text.strip(), WORDS)
            self.assertEqual([json.loads(item.arguments) for item in answer.output[2:]], [OSLO, ROME])

    def test_custom_tools_take_what_their_grammar_allows(self):
        for tools, text in ((grammar("patch", "lark", PATCH_GRAMMAR), PATCH),
                            (grammar("patch", "regex", "(?!rm )[a-z ]+"), "ls x")):
            script = custom_call("patch", text)
            for choice, named in (("auto", "auto"), ("required", "required"),
                                  ({"type": "custom", "name": "patch"},
                                   {"type": "custom", "custom": {"name": "patch"}})):
                fields = {"model": "m", "tools": [tools[0]], "tool_choice": choice, "input": script}
                whole = self.openai.responses.create(**fields)
                (item,) = whole.output
                self.assertEqual((item.type, item.name, item.input, item.status),
                                 ("custom_tool_call", "patch", text, "completed"))
                deltas = [event.delta for event in self.openai.responses.create(**fields, stream=True)
                          if event.type == "response.custom_tool_call_input.delta"]
                self.assertEqual("".join(deltas), text)
                fields = {"model": "m", "tools": [tools[1]], "tool_choice": named, "messages": user(script)}
                (call,) = self.openai.chat.completions.create(**fields).choices[0].message.tool_calls
                self.assertEqual((call.type, call.custom.name, call.custom.input), ("custom", "patch", text))
                told = {"name": "", "input": ""}
                for chunk in self.lenient.chat.completions.create(**fields, stream=True):
                    for part in chunk.choices[0].delta.tool_calls or []:
                        for key, value in part.custom.items():
                            told[key] += value
                self.assertEqual(told, {"name": "patch", "input": text})

    def test_a_grammar_holds_an_input_that_would_be_another(self):
        tools = grammar("patch", "lark", 'start: "+" /[a-z]~2/\n'.replace("~2", "{1,2}") + "LF: /x/")
        script = custom_call("patch", "- no")
        for choice in ("auto", "required"):
            answer = self.openai.responses.create(model="m", tools=[tools[0]], tool_choice=choice, input=script)
            self.assertRegex(answer.output[0].input, r"^\+[a-z]{1,2}$")

    def test_an_input_that_does_not_match_is_no_call(self):
        tools = grammar("shell", "regex", "(?!rm )[a-z ]+")
        script = custom_call("shell", "rm x")
        code = "custom_tool_input_invalid"
        status, answer = self.server.post("/v1/responses", {"tools": [tools[0]], "input": script})
        self.assertEqual((status, answer["status"], answer["error"]["code"]), (200, "failed", code))
        for word in ("'shell'", "regex", "offset 0"):
            self.assertIn(word, answer["error"]["message"])
        (item,) = answer["output"]
        self.assertEqual((item["type"], item["input"], item["status"]),
                         ("custom_tool_call", "rm x", "incomplete"))
        _, _, stream = self.server.request("POST", "/v1/responses",
                                           {"tools": [tools[0]], "input": script, "stream": True})
        events = [json.loads(line[6:]) for line in stream.decode().splitlines() if line.startswith("data: {")]
        self.assertEqual([event["sequence_number"] for event in events], list(range(len(events))))
        self.assertEqual([event["type"] for event in events[-2:]],
                         ["response.output_item.done", "response.failed"])
        self.assertEqual(events[-2]["item"]["status"], "incomplete")
        self.assertEqual(events[-1]["response"]["error"]["code"], code)
        fields = {"model": "m", "tools": [tools[1]], "messages": user(script)}
        with self.assertRaises(openai.BadRequestError) as caught:
            self.openai.chat.completions.create(**fields)
        self.assertEqual(caught.exception.code, code)
        self.assertEqual(caught.exception.param, "tools[0].custom.format.grammar.definition")
        with self.assertRaises(openai.APIError) as caught:
            for chunk in self.lenient.chat.completions.create(**fields, stream=True):
                self.assertIsNone(chunk.choices[0].finish_reason)
        self.assertEqual(caught.exception.code, code)

    def test_a_grammar_that_cannot_be_checked_is_refused(self):
        tools = grammar("patch", "lark", 'start: "a"\n  | /b(?=c)/\n')
        status, answer = self.server.post("/v1/responses", {"tools": [tools[0]], "input": "x"})
        self.assertEqual((status, answer["error"]["param"]), (400, "tools[0].format.definition"))
        for word in ("'patch'", "line 2, column 7", "look-ahead is not supported"):
            self.assertIn(word, answer["error"]["message"])
        status, answer = self.server.post("/v1/chat/completions",
                                          {"tools": [tools[1]], "messages": user("x")})
        self.assertEqual((status, answer["error"]["param"]),
                         (400, "tools[0].custom.format.grammar.definition"))

    def test_a_message_with_thought_words_and_calls(self):
        fields = {"model": "m", "max_tokens": 2000, "messages": user(SCRIPT),
                  "thinking": {"type": "enabled", "budget_tokens": 1024},
                  "tools": [{"name": "weather", "input_schema": SCHEMA}]}
        whole = self.anthropic.messages.create(**fields)
        with self.anthropic.messages.stream(**fields) as stream:
            streamed = stream.get_final_message()
        for answer in (whole, streamed):
            self.assertEqual(answer.stop_reason, "tool_use")
            self.assertEqual([block.type for block in answer.content],
                             ["thinking", "text", "tool_use", "tool_use"])
            self.assertEqual(answer.content[0].thinking.strip(), THOUGHT)
            self.assertEqual(answer.content[1].text.strip(), WORDS)
            self.assertEqual([block.input for block in answer.content[2:]], [OSLO, ROME])

    def test_an_ollama_chat_with_thought_words_and_calls(self):
        tools = [{"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}]
        whole = self.ollama.chat("m", user(SCRIPT), tools=tools, think=True).message
        thought, words, calls = "", "", []
        for part in self.ollama.chat("m", user(SCRIPT), tools=tools, think=True, stream=True):
            thought += part.message.thinking or ""
            words += part.message.content or ""
            calls += part.message.tool_calls or []
        for got in ((whole.thinking, whole.content, whole.tool_calls), (thought, words, calls)):
            self.assertEqual((got[0].strip(), got[1].strip()), (THOUGHT, WORDS))
            self.assertEqual([dict(made.function.arguments) for made in got[2]], [OSLO, ROME])


class MockEngine(unittest.TestCase):
    """Everything but the model: made-up tokens, the same for the same prompt, to the limit."""

    def test_answers_are_made_up_to_their_limit(self):
        with e2e.folder() as folder, \
                e2e.Server(e2e.dummy(folder), "--served-model-name", "m", "--mock-engine", "100000") as server:
            client = openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0)
            fields = {"model": "m", "prompt": "Once upon a time", "max_tokens": 300, "temperature": 0}
            whole = client.completions.create(**fields)
            self.assertEqual((whole.choices[0].finish_reason, whole.usage.completion_tokens), ("length", 300))
            streamed = "".join(chunk.choices[0].text for chunk in client.completions.create(**fields, stream=True))
            self.assertEqual(streamed, whole.choices[0].text)
            self.assertGreater(len(set(streamed)), 20)
            other = client.completions.create(**{**fields, "prompt": "Once upon a tide"})
            self.assertNotEqual(other.choices[0].text, whole.choices[0].text)
            client.close()
            self.assertIn("made up", server.log())


if __name__ == "__main__":
    unittest.main()
