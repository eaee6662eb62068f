# SPDX-License-Identifier: Apache-2.0
"""The Responses API through the official openai client, and a server that is killed."""

import asyncio
import contextlib
import json
import signal
import threading
import typing
import unittest

import plumb_e2e as e2e

try:
    import openai
    import pydantic
    from openai.lib.responses_tool_runner import RegisteredFunction, ResponsesToolRunner
except ImportError:
    e2e.skip("the openai package is not installed (scripts/venv)")

KEYS = ["sk-one-0123456789abcdef", "sk-two-0123456789abcdef"]
ENDLESS = {"max_output_tokens": 100000, "extra_body": {"ignore_eos": True}}


class Weather(pydantic.BaseModel):
    city: typing.Literal["Oslo", "Rome"]
    days: int = pydantic.Field(ge=1, le=9)


TOOLS = [
    {"type": "function", "name": "weather", "strict": True, "parameters": {
        "type": "object", "properties": {"city": {"enum": ["Oslo", "Rome"]}},
        "required": ["city"], "additionalProperties": False}},
    {"type": "custom", "name": "shell", "format": {
        "type": "grammar", "syntax": "regex", "definition": "ls|pwd"}},
    {"type": "namespace", "name": "clock", "description": "of the time", "tools": [
        {"type": "function", "name": "now", "parameters": {
            "type": "object", "properties": {"zone": {"enum": ["UTC", "CET"]}},
            "required": ["zone"], "additionalProperties": False}}]},
    {"type": "web_search"},
]

# What a coding client sends with every request: no sampling fields and no limit of its own.
CODING_CLIENT = {
    "model": "tiny", "instructions": "You are a coding agent.", "stream": True, "store": False,
    "input": [
        {"type": "message", "role": "developer",
         "content": [{"type": "input_text", "text": "Rules of the sandbox."}]},
        {"type": "message", "role": "user",
         "content": [{"type": "input_text", "text": "List the files."}]}],
    "tools": TOOLS, "tool_choice": "auto", "parallel_tool_calls": True,
    "reasoning": {"effort": "medium", "summary": "auto"},
    "include": ["reasoning.encrypted_content"], "prompt_cache_key": "0199a213",
    "extra_body": {"client_metadata": {"x-session": "1"}, "max_output_tokens": 16},
}


class Responses(e2e.ServedCase):
    keys = tuple(f"k{i}:normal:{key}" for i, key in enumerate(KEYS))
    server_options = ("--max-num-seqs", "8", "--tool-call-parser", "hermes")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.client, cls.other = (
            openai.OpenAI(base_url=cls.base, api_key=key, max_retries=0,
                          _strict_response_validation=True) for key in KEYS)
        cls.addClassCleanup(cls.client.close)
        cls.addClassCleanup(cls.other.close)

    def create(self, **fields):
        return self.client.responses.create(
            **{"model": "tiny", "input": "Hello", "max_output_tokens": 12, "temperature": 0,
               **fields})

    def assert_same(self, one, other):
        self.assertEqual(one.model_dump(), other.model_dump())

    def check_events(self, events):
        """What holds for every stream; returns its last response."""
        self.assertEqual([e.sequence_number for e in events], list(range(len(events))))
        self.assertEqual(events[0].type, "response.created")
        added, done, deltas = {}, {}, {}
        for event in events:
            if event.type == "response.output_item.added":
                self.assertNotIn(event.output_index, added)
                added[event.output_index] = event.item
            elif event.type == "response.output_item.done":
                done[event.output_index] = event.item
            elif event.type.endswith(".delta"):
                self.assertEqual(event.item_id, added[event.output_index].id)
                deltas[event.item_id] = deltas.get(event.item_id, "") + event.delta
        final = events[-1].response
        self.assertEqual(final.id, events[0].response.id)
        self.assertEqual([done[i].model_dump() for i in range(len(done))],
                         [item.model_dump() for item in final.output])
        for index, item in enumerate(final.output):
            self.assertEqual(item.id, added[index].id)
            text = {"message": lambda i: i.content[0].text, "function_call": lambda i: i.arguments,
                    "custom_tool_call": lambda i: i.input}[item.type](item)
            self.assertEqual(deltas.get(item.id, ""), text)
        return final

    def test_a_response_passes_strict_validation(self):
        response = self.create(metadata={"a": "b"}, instructions="Be brief")
        self.assertRegex(response.id, r"^resp_[0-9a-f]{48}$")
        self.assertEqual((response.object, response.model), ("response", "tiny"))
        self.assertEqual(response.metadata, {"a": "b"})
        self.assertIn(response.status, ("completed", "incomplete"))
        self.assertIsInstance(response.output_text, str)
        self.assertEqual(response.usage.total_tokens,
                         response.usage.input_tokens + response.usage.output_tokens)
        self.assert_same(self.client.responses.retrieve(response.id), response)

    def test_a_stream_says_what_the_whole_response_says(self):
        whole = self.create()
        final = self.check_events(list(self.create(stream=True)))
        self.assertEqual(final.output_text, whole.output_text)
        self.assertEqual(final.usage.output_tokens, whole.usage.output_tokens)

    def test_the_helper_accumulates_a_stream(self):
        fields = {"model": "tiny", "input": "Hello", "temperature": 0, "tools": TOOLS[:1],
                  "tool_choice": "required", "max_output_tokens": 200}
        with self.client.responses.stream(**fields) as stream:
            types = [event.type for event in stream]
            final = stream.get_final_response()
        self.assertEqual(types[-1], "response.completed")
        self.assertEqual(final.output[0].type, "function_call")

    def test_log_probabilities_are_told_on_request(self):
        response = self.create(include=["message.output_text.logprobs"], top_logprobs=2)
        part = response.output[0].content[0]
        self.assertGreater(len(part.logprobs), 0)
        self.assertEqual(len(part.logprobs[0].top_logprobs), 2)
        whole = b"".join(bytes(t.bytes) for t in part.logprobs)
        self.assertEqual(whole.decode(errors="replace"), part.text)

    def test_parse_gives_an_object_of_the_class(self):
        response = self.client.responses.parse(
            model="tiny", input="Hello", text_format=Weather, max_output_tokens=200,
            temperature=1, extra_body={"seed": 3})
        self.assertIsInstance(response.output_parsed, Weather)

    def test_calls_of_all_kinds_of_tools(self):
        for choice, kind in (({"type": "function", "name": "weather"}, "function_call"),
                             ({"type": "custom", "name": "shell"}, "custom_tool_call"),
                             ({"type": "function", "name": "now"}, "function_call"),
                             ({"type": "allowed_tools", "mode": "required",
                               "tools": [{"type": "custom", "name": "shell"}]},
                              "custom_tool_call")):
            fields = {"tools": TOOLS, "tool_choice": choice, "max_output_tokens": 200,
                      "parallel_tool_calls": False}
            response = self.create(**fields)
            (item,) = response.output
            self.assertEqual(item.type, kind, choice)
            self.assertRegex(item.call_id, r"^call_[A-Za-z0-9]{24}$")
            if item.type == "custom_tool_call":
                self.assertIn(item.input, ("ls", "pwd"))
            else:
                json.loads(item.arguments)
                self.assertEqual(item.namespace, "clock" if item.name == "now" else None)
            streamed = self.check_events(list(self.create(**fields, stream=True)))
            self.assertEqual(streamed.output[0].type, kind)

    def test_a_tool_loop_of_three_turns(self):
        response = self.create(tools=TOOLS[:1], tool_choice="required", max_output_tokens=200,
                               parallel_tool_calls=False)
        tokens = response.usage.input_tokens
        for turn in range(3):
            (call,) = response.output
            self.assertIn(json.loads(call.arguments)["city"], ("Oslo", "Rome"))
            response = self.create(
                previous_response_id=response.id, tools=TOOLS[:1], parallel_tool_calls=False,
                tool_choice="required" if turn < 2 else "none", max_output_tokens=200,
                input=[{"type": "function_call_output", "call_id": call.call_id,
                        "output": "sunny"}])
            if turn < 2:  # with "none" the model is not told of tools
                self.assertGreater(response.usage.input_tokens, tokens)
                tokens = response.usage.input_tokens
        self.assertTrue(all(item.type == "message" for item in response.output))
        items = self.client.responses.input_items.list(response.id)
        self.assertEqual([item.type for item in items], ["function_call_output"])

    def test_the_tool_runner_of_the_client(self):
        asked = []

        def weather(arguments):
            asked.append(arguments["city"])
            return "sunny"

        # The answer is a call or one of the two words; the tiny model takes either.
        form = {"type": "json_schema", "name": "word", "schema": {"enum": ["red", "blue"]}}
        for seed in range(12):
            runner = ResponsesToolRunner(functions=[RegisteredFunction(TOOLS[0], weather)])
            final = runner.run(
                self.client, {"model": "tiny", "input": "Hello", "text": {"format": form},
                              "parallel_tool_calls": False, "temperature": 1,
                              "extra_body": {"seed": seed}}, stream=seed % 2 == 1)
            self.assertIn(json.loads(final.output_text), ("red", "blue"))
        self.assertTrue(set(asked) <= {"Oslo", "Rome"})
        self.assertGreater(len(asked), 0)

    def test_what_a_coding_client_sends_is_answered(self):
        with self.client.responses.with_streaming_response.create(
                **CODING_CLIENT) as raw:
            self.assertEqual(raw.status_code, 200)
            self.assertEqual(raw.headers["x-plumb-ignored-tools"], "web_search")
            self.assertNotIn("x-plumb-ignored-fields", raw.headers)
            names = [line.split(" ", 1)[1] for line in raw.iter_lines()
                     if line.startswith("event: ")]
        self.assertEqual(names[:2], ["response.created", "response.in_progress"])
        self.assertIn(names[-1], ("response.completed", "response.incomplete"))

    def test_a_background_response_is_polled_and_read_again(self):
        queued = self.create(background=True)
        self.assertEqual(queued.status, "queued")
        response = queued

        def has_ended():
            nonlocal response
            response = self.client.responses.retrieve(queued.id)
            return response.status not in ("queued", "in_progress")

        e2e.wait_until(has_ended, 30, "the response ends")
        events = list(self.client.responses.retrieve(queued.id, stream=True))
        self.assert_same(self.check_events(events), response)
        rest = list(self.client.responses.retrieve(queued.id, stream=True, starting_after=3))
        self.assertEqual([e.model_dump() for e in rest], [e.model_dump() for e in events[4:]])

    def test_a_broken_background_stream_is_resumed(self):
        first = []
        with self.create(stream=True, background=True, max_output_tokens=200,
                         extra_body={"ignore_eos": True}) as stream:
            for event in stream:
                first.append(event)
                if len(first) == 8:
                    break
        identity = first[0].response.id
        rest = list(self.client.responses.retrieve(
            identity, stream=True, starting_after=first[-1].sequence_number))
        final = self.check_events(first + rest)
        self.assertEqual(final.usage.output_tokens, 200)

    def test_a_running_response_is_cancelled(self):
        queued = self.create(background=True, **ENDLESS)
        with self.assertRaises(openai.ConflictError) as caught:
            self.create(previous_response_id=queued.id)
        self.assertEqual(caught.exception.code, "response_in_progress")
        self.assertEqual(self.client.responses.cancel(queued.id).status, "cancelled")
        self.assertEqual(self.client.responses.cancel(queued.id).status, "cancelled")
        self.client.responses.delete(queued.id)
        with self.assertRaises(openai.NotFoundError):
            self.client.responses.retrieve(queued.id)

    def test_a_client_that_leaves_a_stream_frees_its_place(self):
        stream = self.create(stream=True, **ENDLESS)
        for _, event in zip(range(6), stream):
            self.assertIsNotNone(event)
        stream.close()
        self.server.wait_until_idle()

    def test_an_async_stream_that_is_cancelled_in_its_middle_frees_its_place(self):
        async def leave():
            async with openai.AsyncOpenAI(base_url=self.base, api_key=KEYS[0],
                                          max_retries=0) as client:
                async def read(has_begun):
                    async for event in await client.responses.create(
                            model="tiny", input="Hello", stream=True, **ENDLESS):
                        if event.type == "response.output_text.delta":
                            has_begun.set()

                await e2e.cancelled_in_its_middle(read)

        asyncio.run(leave())
        self.server.wait_until_idle()

    def test_several_calls_are_as_many_items(self):
        fields = {"tools": TOOLS[:1], "tool_choice": "required", "max_output_tokens": 200,
                  "temperature": 1, "extra_body": {"ignore_eos": True, "seed": 5}}
        whole = self.create(**fields)
        streamed = self.check_events(list(self.create(**fields, stream=True)))
        for response in (whole, streamed):
            calls = response.output[:-1]  # the last item is cut
            self.assertGreater(len(calls), 1)
            self.assertEqual(len({call.call_id for call in calls}), len(calls))
            for call in calls:
                self.assertIn(json.loads(call.arguments)["city"], ("Oslo", "Rome"))
        self.assertEqual([call.arguments for call in whole.output[:-1]],
                         [call.arguments for call in streamed.output[:-1]])

    def test_another_key_finds_nothing(self):
        response = self.create()
        for look in (self.other.responses.retrieve, self.other.responses.delete,
                     self.other.responses.cancel,
                     lambda i: list(self.other.responses.input_items.list(i))):
            with self.assertRaises(openai.NotFoundError):
                look(response.id)
        with self.assertRaises(openai.BadRequestError) as caught:
            self.other.responses.create(model="tiny", input="x",
                                        previous_response_id=response.id)
        self.assertEqual(caught.exception.code, "previous_response_not_found")
        self.assert_same(self.client.responses.retrieve(response.id), response)

    def test_input_tokens_are_those_of_the_response(self):
        counted = self.client.responses.input_tokens.count(model="tiny", input="Hello")
        self.assertEqual(counted.input_tokens, self.create().usage.input_tokens)

    def test_the_async_client(self):
        async def run():
            async with openai.AsyncOpenAI(base_url=self.base, api_key=KEYS[0], max_retries=0,
                                          _strict_response_validation=True) as client:
                async def whole(index):
                    response = await client.responses.create(
                        model="tiny", input=f"Hello {index}", max_output_tokens=6)
                    return response.id

                async def streamed(index):
                    stream = await client.responses.create(
                        model="tiny", input=f"Hello {index}", max_output_tokens=6, stream=True)
                    events = [event async for event in stream]
                    return self.check_events(events).id
                return await asyncio.gather(*(f(i) for i in range(6) for f in (whole, streamed)))

        identities = asyncio.run(run())
        self.assertEqual(len(set(identities)), 12)


class Killed(unittest.TestCase):
    def test_a_killed_server_has_lost_no_response_that_it_acknowledged(self):
        with e2e.folder() as folder:
            model = e2e.dummy(folder)
            store = folder / "responses.db"
            kept = {}
            for _ in range(3):
                server = e2e.Server(model, "--served-model-name", "tiny", "--max-num-seqs", "8",
                                    "--response-store", store)
                fresh = []
                lock = threading.Lock()

                def work(number, server=server, fresh=fresh, lock=lock):
                    # Every second one a stream: its last event acknowledges it.
                    with openai.OpenAI(base_url=server.url + "/v1", api_key="none",
                                       max_retries=0) as client:
                        try:
                            while True:
                                response = client.responses.create(
                                    model="tiny", input="Hello", max_output_tokens=3,
                                    stream=number % 2 == 1)
                                if number % 2 == 1:
                                    response = list(response)[-1].response
                                with lock:
                                    fresh.append(response)
                        except (openai.OpenAIError, OSError, IndexError, AttributeError):
                            pass  # the server is gone
                        except Exception as error:  # a stream that breaks off raises httpx's errors
                            if not type(error).__module__.startswith("http"):
                                raise

                threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
                for thread in threads:
                    thread.start()
                e2e.wait_until(lambda fresh=fresh: len(fresh) > 30, 60, "30 responses")
                server.process.send_signal(signal.SIGKILL)
                server.process.wait(20)
                for thread in threads:
                    thread.join()
                kept.update((r.id, r) for r in fresh if hasattr(r, "output") and r.usage)
                server.stop(check=False)
            with e2e.Server(model, "--served-model-name", "tiny",
                            "--response-store", store) as server:
                with openai.OpenAI(base_url=server.url + "/v1", api_key="none") as client:
                    for identity, response in kept.items():
                        again = client.responses.retrieve(identity)
                        self.assertEqual(again.model_dump(), response.model_dump())
            self.assertGreater(len(kept), 90)

    def test_what_ran_in_the_background_has_failed(self):
        with e2e.folder() as folder:
            model = e2e.dummy(folder)
            store = folder / "responses.db"
            server = e2e.Server(model, "--response-store", store)
            status, queued = server.post("/v1/responses", {
                "input": "x", "background": True, "ignore_eos": True,
                "max_output_tokens": 100000})
            self.assertEqual(status, 200)
            server.process.send_signal(signal.SIGKILL)
            server.process.wait(20)
            server.stop(check=False)
            with e2e.Server(model, "--response-store", store) as server:
                _, _, data = server.request("GET", f"/v1/responses/{queued['id']}")
            self.assertEqual(json.loads(data)["status"], "failed")
            self.assertEqual(json.loads(data)["error"]["code"], "server_error")

    def test_two_servers_do_not_share_a_store(self):
        with e2e.folder() as folder:
            model = e2e.dummy(folder)
            store = folder / "responses.db"
            with e2e.Server(model, "--response-store", store):
                second = e2e.run("serve", model, "--port", "0", "--response-store", store)
            self.assertNotEqual(second.returncode, 0)
            self.assertIn(b"another process has it open", second.stderr)


if __name__ == "__main__":
    unittest.main()
