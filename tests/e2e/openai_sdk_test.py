# SPDX-License-Identifier: Apache-2.0
"""The official openai client against a server with a tiny model."""

import asyncio
import json
import threading
import typing
import unittest

import plumb_e2e as e2e

try:
    import openai
    import pydantic
except ImportError:
    e2e.skip("the openai package is not installed (scripts/venv)")

CHAT = [{"role": "user", "content": "Hello"}]
KEY = e2e.KEY


class Size(pydantic.BaseModel):
    width: int = pydantic.Field(ge=0, le=99)
    unit: typing.Literal["mm", "cm"]


class Part(pydantic.BaseModel):
    name: str = pydantic.Field(max_length=8)
    sizes: list[Size] = pydantic.Field(max_length=2)
    is_new: bool


class OpenAiClient(e2e.ServedCase):
    keys = (KEY,)
    server_options = ("--strict-fields", "--max-num-seqs", "8", "--grammar-compile-timeout", "2s")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.client = openai.OpenAI(base_url=cls.base, api_key=KEY, max_retries=0,
                                   _strict_response_validation=True)
        cls.addClassCleanup(cls.client.close)

    def chat(self, **fields):
        return self.client.chat.completions.create(
            **{"model": "tiny", "messages": CHAT, "max_tokens": 12, "temperature": 0, **fields})

    def test_models_are_listed_and_found(self):
        self.assertEqual([m.id for m in self.client.models.list()], ["tiny"])
        self.assertEqual(self.client.models.retrieve("tiny").owned_by, "plumb")
        with self.assertRaises(openai.NotFoundError) as caught:
            self.client.models.retrieve("other")
        self.assertEqual(caught.exception.code, "model_not_found")

    def test_a_stream_says_the_same_as_the_whole_answer(self):
        whole = self.chat()
        chunks = list(self.chat(stream=True, stream_options={"include_usage": True}))
        text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
        self.assertEqual(text, whole.choices[0].message.content)
        self.assertEqual(chunks[0].choices[0].delta.role, "assistant")
        self.assertEqual([c for c in chunks if c.choices][-1].choices[0].finish_reason,
                         whole.choices[0].finish_reason)
        self.assertEqual(len({c.id for c in chunks}), 1)
        self.assertEqual(chunks[-1].choices, [])
        self.assertEqual(chunks[-1].usage.total_tokens, whole.usage.total_tokens)
        self.assertEqual(chunks[-1].usage.completion_tokens, whole.usage.completion_tokens)

    def test_the_accumulator_gives_the_whole_answer(self):
        whole = self.chat(extra_body={"ignore_eos": True, "stop": None}, max_tokens=3)
        self.assertEqual(whole.choices[0].finish_reason, "length")
        with self.client.chat.completions.stream(model="tiny", messages=CHAT, max_tokens=3,
                                                 temperature=0) as stream:
            for _ in stream:
                pass
            snapshot = stream.current_completion_snapshot
        self.assertEqual(snapshot.choices[0].message.content, whole.choices[0].message.content)
        self.assertEqual(snapshot.choices[0].message.role, "assistant")

    def test_several_choices_count_the_prompt_once(self):
        one = self.chat(temperature=1, seed=7, extra_body={"ignore_eos": True})
        four = self.chat(temperature=1, seed=7, n=4, extra_body={"ignore_eos": True})
        self.assertEqual([c.index for c in four.choices], [0, 1, 2, 3])
        self.assertEqual(four.usage.prompt_tokens, one.usage.prompt_tokens)
        self.assertEqual(four.usage.completion_tokens, 48)
        self.assertEqual(four.choices[0].message.content, one.choices[0].message.content)
        self.assertGreater(len({c.message.content for c in four.choices}), 1)
        streamed = ["", "", "", ""]
        for chunk in self.chat(temperature=1, seed=7, n=4, stream=True,
                               extra_body={"ignore_eos": True}):
            for choice in chunk.choices:
                streamed[choice.index] += choice.delta.content or ""
        self.assertEqual(streamed, [c.message.content for c in four.choices])

    def test_a_seed_repeats_and_another_differs(self):
        first = self.chat(temperature=1, seed=1, max_tokens=24)
        again = self.chat(temperature=1, seed=1, max_tokens=24)
        other = self.chat(temperature=1, seed=2, max_tokens=24)
        self.assertEqual(first.choices[0].message.content, again.choices[0].message.content)
        self.assertNotEqual(first.choices[0].message.content, other.choices[0].message.content)

    def test_logprobs_belong_to_the_tokens_of_the_text(self):
        answer = self.chat(logprobs=True, top_logprobs=3, extra_body={"ignore_eos": True})
        content = answer.choices[0].logprobs.content
        self.assertEqual(len(content), answer.usage.completion_tokens)
        spelled = b"".join(bytes(t.bytes) for t in content).decode(errors="replace")
        self.assertEqual(spelled, answer.choices[0].message.content)
        for token in content:
            self.assertEqual(len(token.top_logprobs), 3)
            self.assertAlmostEqual(token.top_logprobs[0].logprob, token.logprob, places=5)
            self.assertLessEqual(token.logprob, 0)

    def test_a_stop_string_ends_before_itself(self):
        whole = self.chat(max_tokens=24, extra_body={"ignore_eos": True}).choices[0].message.content
        stop = whole[5:7]
        cut = self.chat(max_tokens=24, stop=[stop], extra_body={"ignore_eos": True})
        self.assertEqual(cut.choices[0].message.content, whole[:whole.index(stop)])
        self.assertEqual(cut.choices[0].finish_reason, "stop")

    def test_a_class_as_response_format_is_parsed(self):
        for seed in range(5):
            answer = self.client.chat.completions.parse(
                model="tiny", messages=CHAT, response_format=Part, max_tokens=400, temperature=1.5,
                seed=seed)
            part = answer.choices[0].message.parsed
            self.assertIsInstance(part, Part)
            self.assertEqual(answer.choices[0].finish_reason, "stop")
            with self.client.chat.completions.stream(
                    model="tiny", messages=CHAT, response_format=Part, max_tokens=400,
                    temperature=1.5, seed=seed) as stream:
                for _ in stream:
                    pass
                streamed = stream.get_final_completion().choices[0].message.parsed
            self.assertEqual(streamed, part)

    def test_a_schema_and_a_json_object_are_json(self):
        schema = {"type": "array", "items": {"enum": [1, "two"]}, "minItems": 1, "maxItems": 3}
        answer = self.chat(max_tokens=200, temperature=1, response_format={
            "type": "json_schema", "json_schema": {"name": "list", "schema": schema}})
        items = json.loads(answer.choices[0].message.content)
        self.assertIn(len(items), (1, 2, 3))
        self.assertTrue(set(items) <= {1, "two"})
        with self.assertRaises(openai.BadRequestError) as caught:
            self.chat(response_format={"type": "json_schema", "json_schema": {
                "name": "bad", "schema": {"type": "thing"}}})
        self.assertEqual(caught.exception.code, "invalid_schema")
        self.assertEqual(caught.exception.param, "response_format.json_schema.schema")

    def test_a_slow_grammar_is_given_up_and_holds_up_nobody(self):
        caught = []

        def slow():
            try:
                self.chat(extra_body={"guided_regex": "(.|\\n)*a.{30}"})
            except openai.BadRequestError as error:
                caught.append(error)

        thread = threading.Thread(target=slow)
        thread.start()
        answered = 0
        while thread.is_alive():
            self.chat(max_tokens=4)
            answered += 1
        thread.join()
        self.assertEqual([error.code for error in caught], ["grammar_compile_timeout"])
        self.assertEqual(caught[0].param, "guided_regex")
        self.assertGreater(answered, 3)  # in about two seconds

    def test_completions_echo_and_logprobs(self):
        # The type of the client has no null for the first token, which has no probability.
        with openai.OpenAI(base_url=self.base, api_key=KEY) as client:
            answer = client.completions.create(model="tiny", prompt="A", echo=True, logprobs=1,
                                               max_tokens=0)
        self.assertEqual(answer.choices[0].text, "A")
        self.assertEqual(answer.choices[0].finish_reason, "length")
        self.assertEqual(answer.usage.completion_tokens, 0)
        self.assertIsNone(answer.choices[0].logprobs.token_logprobs[0])
        both = self.client.completions.create(model="tiny", prompt=["A", "B"], max_tokens=4, n=2)
        self.assertEqual([c.index for c in both.choices], [0, 1, 2, 3])

    def test_errors_have_the_types_of_the_client(self):
        with self.assertRaises(openai.BadRequestError) as caught:
            self.chat(temperature=3)
        self.assertEqual(caught.exception.param, "temperature")
        self.assertEqual(caught.exception.code, "invalid_value")
        with self.assertRaises(openai.BadRequestError) as caught:
            self.chat(stream=True, n=0)
        self.assertEqual(caught.exception.param, "n")
        with self.assertRaises(openai.BadRequestError) as caught:
            self.chat(extra_body={"no_such_field": 1})
        self.assertEqual(caught.exception.code, "unknown_parameter")
        with self.assertRaises(openai.NotFoundError):
            self.chat(model="other")
        stranger = openai.OpenAI(base_url=self.base, api_key="sk-wrong-0123456789abcdef",
                                 max_retries=0)
        with stranger, self.assertRaises(openai.AuthenticationError) as caught:
            stranger.models.list()
        self.assertEqual(caught.exception.code, "invalid_api_key")
        with self.assertRaises(openai.BadRequestError) as caught:
            self.chat(max_tokens=1 << 20)
        self.assertRegex(str(caught.exception), r"maximum context length is \d+ tokens")

    def test_a_client_that_leaves_a_stream_frees_its_place(self):
        stream = self.chat(stream=True, max_tokens=1500, extra_body={"ignore_eos": True})
        for _, chunk in zip(range(5), stream):
            self.assertIsNotNone(chunk)
        stream.close()
        self.server.wait_until_idle()

    def test_the_async_client_runs_many_at_a_time(self):
        async def one(client, index, stream):
            answer = await client.chat.completions.create(
                model="tiny", messages=CHAT, temperature=1, seed=index, max_tokens=8,
                stream=stream)
            if not stream:
                return answer.choices[0].message.content
            return "".join([c.choices[0].delta.content or "" async for c in answer if c.choices])

        async def many():
            async with openai.AsyncOpenAI(base_url=self.base, api_key=KEY) as client:
                calls = [one(client, i % 8, i >= 8) for i in range(16)]
                return await asyncio.gather(*calls)

        texts = asyncio.run(many())
        self.assertEqual(texts[:8], texts[8:])

    def test_async_cancellation_frees_the_place(self):
        async def leave():
            async with openai.AsyncOpenAI(base_url=self.base, api_key=KEY,
                                          max_retries=0) as client:
                call = asyncio.ensure_future(client.chat.completions.create(
                    model="tiny", messages=CHAT, max_tokens=1500, n=24,
                    extra_body={"ignore_eos": True}))
                await asyncio.sleep(0.2)
                call.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await call

        asyncio.run(leave())
        self.server.wait_until_idle()

    def test_an_async_stream_that_is_cancelled_in_its_middle_frees_its_place(self):
        async def leave():
            async with openai.AsyncOpenAI(base_url=self.base, api_key=KEY,
                                          max_retries=0) as client:
                async def read(has_begun):
                    async for _ in await client.chat.completions.create(
                            model="tiny", messages=CHAT, max_tokens=1500, stream=True,
                            extra_body={"ignore_eos": True}):
                        has_begun.set()

                await e2e.cancelled_in_its_middle(read)

        asyncio.run(leave())
        self.server.wait_until_idle()

    def test_the_async_client_parses_a_class_whole_and_streamed(self):
        fields = {"model": "tiny", "messages": CHAT, "response_format": Part, "max_tokens": 400,
                  "temperature": 1.5, "seed": 3}

        async def run():
            async with openai.AsyncOpenAI(base_url=self.base, api_key=KEY,
                                          _strict_response_validation=True) as client:
                whole = await client.chat.completions.parse(**fields)
                async with client.chat.completions.stream(**fields) as stream:
                    async for _ in stream:
                        pass
                    streamed = await stream.get_final_completion()
                return [answer.choices[0].message.parsed for answer in (whole, streamed)]

        whole, streamed = asyncio.run(run())
        self.assertIsInstance(whole, Part)
        self.assertEqual(whole, streamed)


class Overload(e2e.ServedCase):
    """One request runs, for long, one waits, others are sent away."""

    keys = (KEY,)
    model_options = ("--context", "32768")
    server_options = ("--max-num-seqs", "1", "--max-queued-requests", "1", "--header-delay", "0")

    def client(self, on_response=None, **fields):
        hooks = {"response": [on_response] if on_response else []}
        return openai.OpenAI(**{"base_url": self.base, "api_key": KEY,
                                "http_client": openai.DefaultHttpxClient(event_hooks=hooks),
                                **fields})

    def test_a_client_comes_again_after_503(self):
        fields = {"model": "tiny", "messages": CHAT, "extra_body": {"ignore_eos": True}}
        statuses = []
        with self.client(max_retries=0) as client:
            running = client.chat.completions.create(**fields, max_tokens=30000, stream=True)
            # The first chunk comes while the request still waits.
            next(chunk for chunk in running if chunk.choices[0].delta.content)
            waiting = client.chat.completions.create(**fields, max_tokens=3, stream=True)
            with self.assertRaises(openai.InternalServerError) as caught:
                client.chat.completions.create(**fields, max_tokens=3)
            self.assertEqual((caught.exception.status_code, caught.exception.code),
                             (503, "engine_overloaded"))
            self.assertGreaterEqual(int(caught.exception.response.headers["retry-after"]), 1)

            def seen(response):
                statuses.append(response.status_code)
                running.close()

            with self.client(seen, max_retries=5) as patient:
                answer = patient.chat.completions.create(**fields, max_tokens=3)
            self.assertEqual(answer.usage.completion_tokens, 3)
            self.assertEqual((statuses[0], statuses[-1]), (503, 200))
            self.assertEqual([c.choices[0].finish_reason for c in waiting][-1], "length")

    def test_a_client_comes_again_after_429(self):
        wrong = "sk-wrong-0123456789abcdef"
        for _ in range(100):  # keys that are wrong, one after the other
            status, headers, _ = self.server.request(
                "GET", "/v1/models", headers={"authorization": f"Bearer {wrong}"})
            if status == 429:
                break
        self.assertEqual((status, headers["retry-after"]), (429, "1"))
        statuses = []
        with self.client(lambda response: statuses.append(response.status_code), api_key=wrong,
                         max_retries=5) as client, \
                self.assertRaises(openai.AuthenticationError):
            client.models.list()
        self.assertEqual((statuses[0], statuses[-1]), (429, 401))


if __name__ == "__main__":
    unittest.main()
