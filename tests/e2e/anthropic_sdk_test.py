# SPDX-License-Identifier: Apache-2.0
"""The official anthropic client against a server with a tiny model."""

import asyncio
import json
import threading
import typing
import unittest

import plumb_e2e as e2e

try:
    import anthropic
    import pydantic
except ImportError:
    e2e.skip("the anthropic package is not installed (scripts/venv)")

CHAT = [{"role": "user", "content": "What is the weather in Oslo?"}]
KEY = e2e.KEY
PARSER = ("--tool-call-parser", "hermes")
TOOLS = [
    {"name": "weather", "description": "Tells the weather.", "strict": True, "input_schema": {
        "type": "object", "required": ["city", "days"], "additionalProperties": False,
        "properties": {"city": {"enum": ["Oslo", "Rome"]},
                       "days": {"type": "integer", "minimum": 1, "maximum": 9}}}},
    {"name": "now", "input_schema": {"type": "object", "properties": {},
                                     "additionalProperties": False}},
]


class Part(pydantic.BaseModel):
    name: typing.Literal["bolt", "nut"]
    width: typing.Literal[3, 4, 5]
    is_new: bool


def greedy(**fields):
    """Fields that give an exact number of tokens, always the same ones."""
    return {"temperature": 0, "ignore_eos": True, **fields}


class AnthropicClient(e2e.ServedCase):
    keys = (KEY,)
    server_options = PARSER

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.client = cls.new_client()
        cls.addClassCleanup(cls.client.close)

    @classmethod
    def new_client(cls, kind=anthropic.Anthropic, **fields):
        return kind(**{"base_url": cls.server.url, "api_key": KEY, "max_retries": 0,
                       "_strict_response_validation": True, **fields})

    @staticmethod
    def fields(extra=None, **fields):
        return {"model": "tiny", "messages": CHAT, "max_tokens": 12,
                "extra_body": greedy() if extra is None else extra, **fields}

    def create(self, extra=None, **fields):
        return self.client.messages.create(**self.fields(extra, **fields))


class Messages(AnthropicClient):
    server_options = (*PARSER, "--max-num-seqs", "8", "--strict-fields")

    def test_models_are_listed_and_found(self):
        models = list(self.client.models.list(limit=5))
        self.assertEqual([(m.id, m.display_name, m.lifecycle) for m in models],
                         [("tiny", "tiny", "active")])
        self.assertEqual(self.client.models.retrieve("tiny").max_input_tokens, 2048)
        with self.assertRaises(anthropic.NotFoundError) as caught:
            self.client.models.retrieve("other")
        self.assertEqual(caught.exception.type, "not_found_error")

    def test_a_count_equals_the_prompt_of_the_message(self):
        for fields in ({}, {"system": "Be kind."}, {"tools": TOOLS},
                       {"tools": TOOLS, "tool_choice": {"type": "any"}},
                       {"thinking": {"type": "adaptive"}}):
            count = self.client.messages.count_tokens(model="tiny", messages=CHAT, **fields)
            usage = self.create(**fields).usage
            self.assertEqual(usage.input_tokens + usage.cache_read_input_tokens,
                             count.input_tokens)
        self.assertGreater(usage.cache_read_input_tokens, 0)

    def test_a_stream_says_the_same_as_the_whole_answer(self):
        whole = self.create()
        self.assertEqual((whole.stop_reason, whole.usage.output_tokens), ("max_tokens", 12))
        events = list(self.create(stream=True))
        self.assertEqual([events[0].type, events[-1].type], ["message_start", "message_stop"])
        self.assertGreater(events[0].message.usage.input_tokens
                           + events[0].message.usage.cache_read_input_tokens, 0)
        with self.client.messages.stream(**self.fields()) as stream:
            text = "".join(stream.text_stream)
            final = stream.get_final_message()
        self.assertEqual(text, whole.content[0].text)
        self.assertEqual(final.content[0].text, whole.content[0].text)
        self.assertEqual(final.stop_reason, whole.stop_reason)
        self.assertEqual(final.usage.output_tokens, whole.usage.output_tokens)
        self.assertRegex(final.id, "^msg_[A-Za-z0-9]{24}$")

    def test_a_stop_sequence_is_named(self):
        whole = self.create(max_tokens=24).content[0].text
        cut = self.create(max_tokens=24, stop_sequences=[whole[5:7]])
        self.assertEqual((cut.stop_reason, cut.stop_sequence), ("stop_sequence", whole[5:7]))
        self.assertEqual(cut.content[0].text, whole[:whole.index(whole[5:7])])

    def test_a_prefill_is_continued(self):
        prefill = self.create(messages=CHAT + [{"role": "assistant", "content": "It is "}])
        self.assertEqual(prefill.usage.output_tokens, 12)

    def test_a_class_as_output_format_is_parsed(self):
        for seed in range(4):
            fields = self.fields({"temperature": 1.5, "seed": seed}, max_tokens=300,
                                 output_format=Part)
            answer = self.client.messages.parse(**fields)
            self.assertIsInstance(answer.parsed_output, Part)
            self.assertEqual(answer.stop_reason, "end_turn")
            with self.client.messages.stream(**fields) as stream:
                streamed = stream.get_final_message()
            self.assertEqual(streamed.parsed_output, answer.parsed_output)

    def test_the_async_client_parses_a_class_whole_and_streamed(self):
        fields = self.fields({"temperature": 1.5, "seed": 3}, max_tokens=300, output_format=Part)

        async def run():
            async with self.new_client(anthropic.AsyncAnthropic) as client:
                whole = await client.messages.parse(**fields)
                async with client.messages.stream(**fields) as stream:
                    return whole, await stream.get_final_message()

        whole, streamed = asyncio.run(run())
        self.assertIsInstance(whole.parsed_output, Part)
        self.assertEqual(whole.parsed_output, streamed.parsed_output)

    def test_a_schema_in_output_config_is_held(self):
        schema = {"type": "array", "items": {"enum": [1, "two"]}, "minItems": 1, "maxItems": 3}
        answer = self.create({"temperature": 1}, max_tokens=200, output_config={
            "format": {"type": "json_schema", "schema": schema}})
        self.assertTrue(set(json.loads(answer.content[0].text)) <= {1, "two"})
        with self.assertRaises(anthropic.BadRequestError) as caught:
            self.create(output_config={"format": {"type": "json_schema",
                                                  "schema": {"type": "thing"}}})
        self.assertEqual(caught.exception.type, "invalid_request_error")

    def test_errors_have_the_types_of_the_client(self):
        with self.assertRaises(anthropic.BadRequestError) as caught:
            self.create({"temperature": 3})
        self.assertEqual(caught.exception.type, "invalid_request_error")
        self.assertRegex(caught.exception.request_id, "^req_")
        with self.assertRaises(anthropic.BadRequestError):
            self.create({"no_such_field": 1}, stream=True)
        with self.assertRaises(anthropic.NotFoundError):
            self.create(model="other")
        with self.assertRaises(anthropic.BadRequestError) as caught:
            self.create(messages=[{"role": "user", "content": "a" * 6000}])
        self.assertRegex(str(caught.exception), r"prompt is too long: \d+ tokens > 2048 maximum")
        with self.new_client(api_key="sk-wrong-0123456789abcdef") as stranger, \
                self.assertRaises(anthropic.AuthenticationError):
            stranger.models.list()
        with self.new_client(api_key=None, auth_token=KEY) as bearer:
            self.assertEqual(len(list(bearer.models.list())), 1)

    def test_a_client_that_leaves_a_stream_frees_its_place(self):
        stream = self.create(stream=True, max_tokens=1500)
        for _, event in zip(range(5), stream):
            self.assertIsNotNone(event)
        stream.close()
        self.server.wait_until_idle()

    def test_the_async_client_runs_many_at_a_time(self):
        async def one(client, index, is_stream):
            fields = self.fields(greedy(temperature=1, seed=index), max_tokens=8)
            if not is_stream:
                return (await client.messages.create(**fields)).content[0].text
            async with client.messages.stream(**fields) as stream:
                return (await stream.get_final_message()).content[0].text

        async def many():
            async with self.new_client(anthropic.AsyncAnthropic) as client:
                return await asyncio.gather(*[one(client, i % 8, i >= 8) for i in range(16)])

        texts = asyncio.run(many())
        self.assertEqual(texts[:8], texts[8:])

    def test_async_cancellation_frees_the_place(self):
        async def leave():
            async with self.new_client(anthropic.AsyncAnthropic) as client:
                stream = await client.messages.create(**self.fields(max_tokens=1500, stream=True))
                async for event in stream:
                    if event.type == "content_block_delta":
                        break
                call = asyncio.ensure_future(
                    client.messages.create(**self.fields(max_tokens=1500)))
                await asyncio.sleep(0)
                call.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await call
                await stream.close()

        asyncio.run(leave())
        self.server.wait_until_idle()


class Thinking(AnthropicClient):
    server_options = (*PARSER, "--reasoning-parser", "think")

    def test_thoughts_have_text_and_signature(self):
        # The prompt ends inside a thought, which a model of random weights does not end.
        messages = CHAT + [{"role": "assistant", "content": "<think>"}]
        whole = self.create(messages=messages, thinking={"type": "adaptive"})
        (block,) = whole.content
        self.assertEqual(block.type, "thinking")
        self.assertTrue(block.thinking and block.signature)
        self.assertEqual(whole.usage.output_tokens_details.thinking_tokens, 12)
        with self.client.messages.stream(**self.fields(messages=messages)) as stream:
            events = [event.type for event in stream]
            final = stream.get_final_message()
        self.assertEqual(final.content[0].thinking, block.thinking)
        self.assertEqual(final.content[0].signature, block.signature)
        self.assertIn("thinking", events)
        self.assertIn("signature", events)
        omitted = self.create(messages=messages,
                              thinking={"type": "adaptive", "display": "omitted"})
        self.assertEqual((omitted.content[0].thinking, omitted.content[0].signature),
                         ("", block.signature))
        again = self.create(messages=CHAT + [
            {"role": "assistant", "content": [block.model_dump(), {"type": "text", "text": "ok"}]},
            {"role": "user", "content": "And?"}])
        self.assertEqual(again.usage.output_tokens, 12)


class Tools(AnthropicClient):
    server_options = (*PARSER, "--max-num-seqs", "8")

    def fields_of(self, choice, seed=5, **fields):
        return self.fields({"temperature": 1, "seed": seed}, tools=TOOLS, tool_choice=choice,
                           max_tokens=200, **fields)

    def check(self, block):
        self.assertEqual(block.type, "tool_use")
        self.assertRegex(block.id, "^toolu_[A-Za-z0-9]{24}$")
        if block.name == "weather":
            self.assertIn(block.input["city"], ("Oslo", "Rome"))
            self.assertIn(block.input["days"], range(1, 10))
        else:
            self.assertEqual((block.name, block.input), ("now", {}))

    def test_any_gives_calls_that_fit_their_schemas_whole_and_streamed(self):
        choice = {"type": "any", "disable_parallel_tool_use": True}
        for seed in range(4):
            whole = self.client.messages.create(**self.fields_of(choice, seed))
            self.assertEqual(whole.stop_reason, "tool_use")
            (block,) = whole.content
            self.check(block)
            with self.client.messages.stream(**self.fields_of(choice, seed)) as stream:
                events = [event.type for event in stream]
                (streamed,) = stream.get_final_message().content
            self.assertEqual((streamed.name, streamed.input), (block.name, block.input))
            self.assertIn("input_json", events)

    def test_a_named_tool_is_called(self):
        answer = self.client.messages.create(
            **self.fields_of({"type": "tool", "name": "now"}))
        self.assertEqual([(block.name, block.input) for block in answer.content], [("now", {})])

    def test_several_calls_are_as_many_blocks(self):
        fields = self.fields_of({"type": "any"})
        fields["extra_body"] = {"temperature": 1, "seed": 5, "ignore_eos": True}
        whole = self.client.messages.create(**fields).content
        with self.client.messages.stream(**fields) as stream:
            streamed = stream.get_final_message().content
        for content in (whole, streamed):
            self.assertGreater(len(content), 2)
            for block in content[:-1]:  # the last one is cut
                self.check(block)
            self.assertEqual(len({block.id for block in content}), len(content))
        self.assertEqual([(block.name, block.input) for block in whole[:-1]],
                         [(block.name, block.input) for block in streamed[:-1]])

    def test_the_async_client_gets_the_same_call(self):
        fields = self.fields_of({"type": "any", "disable_parallel_tool_use": True})
        (whole,) = self.client.messages.create(**fields).content

        async def run():
            async with self.new_client(anthropic.AsyncAnthropic) as client:
                async with client.messages.stream(**fields) as stream:
                    return (await stream.get_final_message()).content

        (streamed,) = asyncio.run(run())
        self.check(streamed)
        self.assertEqual((streamed.name, streamed.input), (whole.name, whole.input))

    def test_auto_and_none_are_taken(self):
        for choice in ({"type": "auto"}, {"type": "none"}):
            answer = self.client.messages.create(
                **{**self.fields_of(choice), "max_tokens": 8})
            self.assertIn(answer.stop_reason, ("max_tokens", "end_turn", "tool_use"))

    def test_a_conversation_with_calls_goes_on(self):
        choice = {"type": "any", "disable_parallel_tool_use": True}
        first = self.client.messages.create(**self.fields_of(choice))
        history = CHAT + [
            {"role": "assistant", "content": [block.model_dump() for block in first.content]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": first.content[0].id, "is_error": True,
                 "content": [{"type": "text", "text": "no weather today"}]},
                {"type": "text", "text": "Go on."}]}]
        answer = self.client.messages.create(
            **self.fields_of({"type": "none"}, messages=history))
        self.assertNotEqual(answer.stop_reason, "tool_use")

    def test_hosted_tools_are_left_out_and_named(self):
        raw = self.client.messages.with_raw_response.create(
            **{**self.fields(greedy()), "tools": TOOLS + [
                {"type": "web_search_20250305", "name": "web_search"}]})
        self.assertEqual(raw.headers["x-plumb-ignored-fields"], "tools[2]")
        self.assertEqual(raw.parse().usage.output_tokens, 12)

    def test_a_request_in_the_form_of_coding_tools_is_taken_and_found_in_the_cache(self):
        def ask(check_sum):
            return self.client.messages.with_raw_response.create(
                model="tiny", max_tokens=32000, timeout=60, stream=False,
                system=[{"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1; "
                                                 f"cc_entrypoint=cli; cch={check_sum};"},
                        {"type": "text", "text": "You write code.",
                         "cache_control": {"type": "ephemeral"}}],
                messages=[
                    {"role": "user", "content": [{"type": "text", "text": "Read the file."}]},
                    {"role": "assistant", "content": [
                        {"type": "thinking", "thinking": "I read it.", "signature": "c2ln"},
                        {"type": "tool_use", "id": "toolu_01", "name": "weather", "input": {}}]},
                    {"role": "user", "content": [
                        {"type": "tool_result", "tool_use_id": "toolu_01", "content": "sunny"}]},
                    {"role": "ctx", "content": "The date is 2026-12-01."},
                    {"role": "system", "content": "Be brief."}],
                tools=TOOLS + [{"type": "web_search_20250305", "name": "web_search"}],
                metadata={"user_id": json.dumps({"device_id": "d", "session_id": "s"})},
                extra_headers={"anthropic-beta": "interleaved-thinking-2025-05-14"},
                extra_query={"beta": "true"},
                extra_body={**greedy(), "thinking": {"type": "enabled"}, "timeout_ms": 60000,
                            "context_management": {"edits": []}, "stop_sequences": ["\n"]})

        first, second = ask("a1b2c"), ask("d3e4f")
        self.assertEqual(first.headers["x-plumb-ignored-fields"], "tools[2]")
        one, two = first.parse().usage, second.parse().usage
        self.assertEqual(one.input_tokens + one.cache_read_input_tokens,
                         two.input_tokens + two.cache_read_input_tokens)
        self.assertGreater(two.cache_read_input_tokens, 64)

    def test_the_tool_runner_sends_the_whole_conversation(self):
        results = []

        @anthropic.beta_tool
        def add(left: typing.Literal[1, 2], right: typing.Literal[3, 4]) -> str:
            """Adds two numbers."""
            results.append(left + right)
            return str(left + right)

        runner = self.client.beta.messages.tool_runner(
            model="tiny", max_tokens=200, messages=CHAT, tools=[add], max_iterations=2,
            tool_choice={"type": "any", "disable_parallel_tool_use": True},
            extra_body={"temperature": 1, "seed": 1})
        inputs = [message.usage.input_tokens + message.usage.cache_read_input_tokens
                  for message in runner]
        self.assertEqual(len(inputs), 2)
        self.assertGreater(inputs[1], inputs[0])  # the call and its result are in the second prompt
        self.assertGreaterEqual(len(results), 1)
        self.assertTrue(set(results) <= {4, 5, 6})


class Overload(AnthropicClient):
    """One request runs, for long, one waits, others are sent away."""

    model_options = ("--context", "32768")
    server_options = (*PARSER, "--max-num-seqs", "1", "--max-queued-requests", "1", "--header-delay", "0",
                      "--heartbeat", "1")

    def test_a_client_comes_again_after_529(self):
        running = self.create(stream=True, max_tokens=30000)
        next(iter(running))
        waiting = self.create(stream=True)  # its header comes at once
        with self.assertRaises(anthropic.OverloadedError) as caught:
            self.create()
        self.assertEqual((caught.exception.status_code, caught.exception.type),
                         (529, "overloaded_error"))
        statuses = []

        def seen(response):
            statuses.append(response.status_code)
            running.close()

        http = anthropic.DefaultHttpxClient(event_hooks={"response": [seen]})
        with self.new_client(max_retries=5, http_client=http) as client:
            message = client.messages.create(**self.fields(max_tokens=3))
        self.assertEqual(message.usage.output_tokens, 3)
        self.assertEqual((statuses[0], statuses[-1]), (529, 200))
        self.assertEqual([event.type for event in waiting][-1], "message_stop")

    def test_a_client_comes_again_after_429(self):
        def refused():
            return self.server.request("GET", "/v1/models", headers={
                "x-api-key": "wrong-0123456789abcdef", "anthropic-version": "2023-06-01"})

        status, headers, body = refused()
        for _ in range(100):
            if status == 429:
                break
            status, headers, body = refused()
        self.assertEqual(status, 429)
        self.assertEqual(json.loads(body)["error"]["type"], "rate_limit_error")
        self.assertEqual(headers["retry-after"], "1")
        statuses = []
        http = anthropic.DefaultHttpxClient(
            event_hooks={"response": [lambda response: statuses.append(response.status_code)]})
        with self.new_client(api_key="wrong-0123456789abcdef", max_retries=5,
                             http_client=http) as client, \
                self.assertRaises(anthropic.AuthenticationError):
            client.models.list()
        self.assertEqual((statuses[0], statuses[-1]), (429, 401))

    def test_an_error_in_a_stream_is_raised_by_its_type(self):
        with self.assertRaises(anthropic.APIStatusError) as caught:
            list(self.create(greedy(timeout_ms=30), stream=True, max_tokens=30000))
        self.assertEqual((caught.exception.status_code, caught.exception.type),
                         (200, "timeout_error"))
        self.server.wait_until_idle()

    def test_pings_keep_a_waiting_stream_open_and_are_no_events(self):
        running = self.create(stream=True, max_tokens=30000)
        next(iter(running))
        done = threading.Event()
        types = []

        def wait():
            types.extend(event.type for event in self.create(stream=True, max_tokens=2))
            done.set()

        thread = threading.Thread(target=wait)
        thread.start()
        running.close()
        thread.join()
        self.assertTrue(done.is_set())
        self.assertEqual((types[0], types[-1]), ("message_start", "message_stop"))
        self.assertNotIn("ping", types)


if __name__ == "__main__":
    unittest.main()
