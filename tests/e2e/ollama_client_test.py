# SPDX-License-Identifier: Apache-2.0
"""The official ollama client, sync and async, against servers with a tiny model."""

import asyncio
import json
import os
import signal
import unittest

import plumb_e2e as e2e

try:
    import httpx
    import ollama
except ImportError:
    e2e.skip("the ollama package is not installed (scripts/venv)")

CHAT = [{"role": "user", "content": "Hello"}]
OPTIONS = {"num_predict": 8, "temperature": 0, "ignore_eos": True}
SEPARATOR = "\u2028"
# The answer must be this text, which has a character that splits lines.
SPLIT = {"type": "object", "properties": {"a": {"const": f"x{SEPARATOR}y\u0085z"}},
         "required": ["a"], "additionalProperties": False}


def tool(name):
    one = {"type": "string", "enum": [f"x{SEPARATOR}y\u0085z"]}
    return {"type": "function", "function": {
        "name": name,
        "parameters": {"type": "object", "properties": {"a": one}, "required": ["a"]}}}


def calls_of(parts):
    return [c for p in parts for c in p.message.tool_calls or []]


def add(a: int, b: int | str) -> int:
    """Adds two numbers.

    Args:
      a: the first
      b: the second
    """
    return a + int(b)


class WithChoice(httpx.BaseTransport):
    """Sends what the client has no parameter for: that a tool must be called."""

    def __init__(self, **fields):
        self.fields = fields
        self.inner = httpx.HTTPTransport()

    def handle_request(self, request):
        body = json.dumps({**json.loads(request.content), **self.fields}).encode()
        headers = [(k, v) for k, v in request.headers.items() if k != "content-length"]
        return self.inner.handle_request(
            httpx.Request(request.method, request.url, headers=headers, content=body))

    def close(self):
        self.inner.close()


class OllamaClient(e2e.ServedCase):
    keys = (e2e.KEY,)
    server_options = ("--max-num-seqs", "8", "--tool-call-parser", "hermes", "--reasoning-parser",
                      "none")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.client = cls.new_client()
        cls.addClassCleanup(cls.client.close)

    @classmethod
    def new_client(cls, kind=ollama.Client, **fields):
        return kind(cls.server.url, headers={"Authorization": f"Bearer {e2e.KEY}"}, **fields)

    def forced(self, **fields):
        return self.new_client(transport=WithChoice(**fields))

    def test_the_model_is_listed_shown_and_running(self):
        (model,) = self.client.list().models
        self.assertEqual(model.model, "tiny:latest")
        self.assertEqual(model.details.family, "llama")
        self.assertEqual(len(model.digest), 64)
        shown = self.client.show("tiny")
        self.assertEqual(shown.modelinfo["general.architecture"], "llama")
        self.assertIn("completion", shown.capabilities)
        (running,) = self.client.ps().models
        self.assertEqual(running.context_length, 2048)
        self.assertGreater(running.expires_at, model.modified_at)

    def test_a_chat_and_its_stream_say_the_same(self):
        whole = self.client.chat("tiny", CHAT, options=OPTIONS)
        self.assertEqual((whole.done, whole.done_reason, whole.eval_count), (True, "length", 8))
        self.assertGreater(whole.eval_duration, 0)
        parts = list(self.client.chat("tiny:latest", CHAT, options=OPTIONS, stream=True))
        self.assertEqual("".join(p.message.content or "" for p in parts), whole.message.content)
        self.assertEqual({p.message.role for p in parts}, {"assistant"})
        self.assertEqual([p.done for p in parts], [False] * (len(parts) - 1) + [True])
        self.assertEqual(parts[-1].prompt_eval_count, whole.prompt_eval_count)

    def test_a_prompt_and_its_context(self):
        first = self.client.generate("tiny", "Hello", options=OPTIONS)
        self.assertEqual(len(first.context), first.prompt_eval_count + 8)
        second = self.client.generate("tiny", "Go on", context=first.context, options=OPTIONS)
        self.assertEqual(second.context[:len(first.context)], first.context)
        raw = self.client.generate("tiny", "abc", raw=True, options=OPTIONS)
        self.assertIsNone(raw.context)
        text = "".join(p.response for p in
                       self.client.generate("tiny", "abc", raw=True, options=OPTIONS, stream=True))
        self.assertEqual(text, raw.response)

    def test_formats_hold(self):
        answer = self.client.chat("tiny", CHAT, format=SPLIT, options={"seed": 1})
        self.assertEqual(json.loads(answer.message.content), {"a": f"x{SEPARATOR}y\u0085z"})
        some = self.client.chat("tiny", CHAT, format="json", options={"seed": 1,
                                                                      "num_predict": 200})
        if some.done_reason == "stop":
            self.assertIsInstance(json.loads(some.message.content), dict)
        streamed = "".join(
            p.message.content or ""
            for p in self.client.chat("tiny", CHAT, format=SPLIT, options={"seed": 1}, stream=True))
        self.assertEqual(streamed, answer.message.content)

    def test_a_stream_with_two_tools_calls_one_whole(self):
        client = self.forced(tool_choice="required", parallel_tool_calls=False)
        for seed in range(3):
            fields = {"tools": [tool("f"), tool("g")], "options": {"seed": seed}}
            parts = list(client.chat("tiny", CHAT, **fields, stream=True))
            (call,) = calls_of(parts)
            self.assertIn(call.function.name, ("f", "g"))
            self.assertEqual(call.function.arguments["a"], f"x{SEPARATOR}y\u0085z")
            self.assertIsNone(parts[-1].message.tool_calls)
            whole = client.chat("tiny", CHAT, **fields)
            self.assertEqual(whole.message.tool_calls, [call])
        client.close()

    def test_a_conversation_with_calls_goes_on(self):
        client = self.forced(tool_choice="required", parallel_tool_calls=False)
        message = client.chat("tiny", CHAT, tools=[tool("f")], options={"seed": 1}).message
        client.close()
        history = CHAT + [message, {"role": "tool", "tool_name": "f", "content": "sunny"}]
        answer = self.client.chat("tiny", history, options=OPTIONS, think=False)
        self.assertEqual(answer.done_reason, "length")

    def test_a_function_of_the_client_is_a_tool(self):
        answer = self.client.chat("tiny", CHAT, tools=[add], options=OPTIONS)
        self.assertEqual(answer.done_reason, "length")

    def test_nothing_to_answer_loads(self):
        self.assertEqual(self.client.chat("tiny", []).done_reason, "load")
        self.assertEqual(self.client.generate("tiny", keep_alive=0).done_reason, "unload")
        (part,) = list(self.client.generate("tiny", stream=True))
        self.assertEqual((part.done, part.done_reason, part.response), (True, "load", ""))

    def test_log_probabilities(self):
        answer = self.client.chat("tiny", CHAT, options=OPTIONS, logprobs=True, top_logprobs=2)
        self.assertEqual(len(answer.logprobs), 8)
        self.assertEqual(len(answer.logprobs[0].top_logprobs), 2)
        self.assertLessEqual(answer.logprobs[0].logprob, 0)

    def test_errors_have_a_status_and_a_text(self):
        def status(call):
            with self.assertRaises(ollama.ResponseError) as caught:
                call()
            self.assertIsInstance(caught.exception.error, str)
            self.assertNotIn("{", caught.exception.error[:1])
            return caught.exception.status_code

        self.assertEqual(status(lambda: self.client.chat("other", CHAT)), 404)
        self.assertEqual(status(lambda: list(self.client.chat("other", CHAT, stream=True))), 404)
        self.assertEqual(status(lambda: self.client.show("other")), 404)
        self.assertEqual(status(lambda: self.client.pull("other")), 404)
        self.assertEqual(status(lambda: self.client.delete("tiny")), 404)
        self.assertEqual(status(lambda: self.client.generate("tiny", "x", suffix="y")), 400)
        self.assertEqual(
            status(lambda: self.client.chat("tiny", CHAT, options={"temperature": -1})), 400)
        self.assertEqual(self.client.pull("tiny").status, "success")
        self.assertEqual([p.status for p in self.client.pull("tiny", stream=True)], ["success"])
        nobody = ollama.Client(self.server.url, headers={"Authorization": "Bearer wrong"})
        self.assertEqual(status(nobody.list), 401)
        nobody.close()

    def test_the_async_client(self):
        async def run():
            client = ollama.AsyncClient(self.server.url,
                                        headers={"Authorization": f"Bearer {e2e.KEY}"})
            whole = await client.chat("tiny", CHAT, options=OPTIONS)
            text = ""
            async for part in await client.chat("tiny", CHAT, options=OPTIONS, stream=True):
                text += part.message.content or ""
            prompt = await client.generate("tiny", "Hello", options=OPTIONS)
            names = [m.model for m in (await client.list()).models]
            with self.assertRaises(ollama.ResponseError) as caught:
                await client.show("other")
            await client.close()
            return whole.message.content, text, prompt.eval_count, names, caught.exception

        whole, text, count, names, error = asyncio.run(run())
        self.assertEqual(text, whole)
        self.assertEqual((count, names, error.status_code), (8, ["tiny:latest"], 404))


class Thinking(unittest.TestCase):
    def test_thoughts_have_lines_of_their_own_before_a_call(self):
        with e2e.folder() as folder, e2e.Server(
                e2e.dummy(folder), "--served-model-name", "tiny", "--tool-call-parser", "hermes",
                "--reasoning-parser", "think") as server:
            client = ollama.Client(server.url, transport=WithChoice(tool_choice="required",
                                                                    parallel_tool_calls=False))
            for seed in range(6):
                fields = {"tools": [tool("f"), tool("g")], "think": True,
                          "options": {"seed": seed, "num_predict": 200}}
                whole = client.chat("tiny", CHAT, **fields).message
                parts = list(client.chat("tiny", CHAT, **fields, stream=True))
                thinking = "".join(p.message.thinking or "" for p in parts)
                self.assertEqual(thinking, whole.thinking or "")
                self.assertEqual(calls_of(parts), whole.tool_calls or [])
                self.assertTrue(thinking or calls_of(parts))
                for part in parts:
                    self.assertFalse(part.message.thinking and part.message.content)
            client.close()


class BrokenStream(unittest.TestCase):
    def test_an_error_in_a_stream_is_raised(self):
        with e2e.folder() as folder:
            server = e2e.Server(e2e.dummy(folder), "--served-model-name", "tiny",
                                "--drain-timeout", "0s")
            client = ollama.Client(server.url)
            parts = client.chat("tiny", CHAT, stream=True,
                                options={"ignore_eos": True, "num_predict": 2000})
            next(parts)
            os.kill(server.process.pid, signal.SIGTERM)
            with self.assertRaises(ollama.ResponseError) as caught:
                for _ in parts:
                    pass
            self.assertEqual(caught.exception.status_code, -1)
            self.assertIn("shutting down", caught.exception.error)
            client.close()
            server.process.wait(60)
            server.stop()


if __name__ == "__main__":
    unittest.main()
