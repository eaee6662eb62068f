# SPDX-License-Identifier: Apache-2.0
"""Tools through the official openai client: a tiny model in the format of Hermes, and SmolLM2."""

import asyncio
import json
import typing
import unittest

import plumb_e2e as e2e

try:
    import openai
    import pydantic
except ImportError:
    e2e.skip("the openai package is not installed (scripts/venv)")

CHAT = [{"role": "user", "content": "What is the weather in Oslo?"}]


class Weather(pydantic.BaseModel):
    city: typing.Literal["Oslo", "Rome"]
    days: int = pydantic.Field(ge=1, le=9)


class Time(pydantic.BaseModel):
    zone: typing.Literal["UTC", "CET"]


TOOLS = [openai.pydantic_function_tool(Weather, name="weather"),
         openai.pydantic_function_tool(Time, name="time")]
MODELS = {"weather": Weather, "time": Time}


class ToolCalls:
    """What holds for every model and format."""

    parsers = ()

    @classmethod
    def model(cls, folder):
        raise NotImplementedError

    @classmethod
    def setUpClass(cls):
        cls.stack = e2e.folder()
        model = cls.model(cls.stack.__enter__())
        if model is None:
            cls.stack.__exit__(None, None, None)
            raise unittest.SkipTest("the model is not fetched")
        cls.server = e2e.Server(model, "--served-model-name", "m", "--max-num-seqs", "4",
                                *cls.parsers)
        cls.client = openai.OpenAI(base_url=cls.server.url + "/v1", api_key="none", max_retries=0,
                                   _strict_response_validation=True)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.server.stop()
        cls.stack.__exit__(None, None, None)

    def fields(self, **fields):
        return {"model": "m", "messages": CHAT, "tools": TOOLS, "max_tokens": 200, "temperature": 1,
                "seed": 5, "parallel_tool_calls": False, **fields}

    def check(self, message):
        self.assertIsNone(message.content)
        (call,) = message.tool_calls
        self.assertRegex(call.id, r"^call_[A-Za-z0-9]{24}$")
        MODELS[call.function.name].model_validate_json(call.function.arguments)
        return call.function

    def test_required_calls_fit_the_models_of_their_arguments(self):
        for seed in range(4):
            answer = self.client.chat.completions.create(
                **self.fields(tool_choice="required", seed=seed))
            self.assertEqual(answer.choices[0].finish_reason, "tool_calls")
            self.check(answer.choices[0].message)

    def test_a_named_tool_is_parsed_by_the_helper(self):
        answer = self.client.chat.completions.parse(
            **self.fields(tool_choice={"type": "function", "function": {"name": "weather"}}))
        (call,) = answer.choices[0].message.tool_calls
        self.assertIsInstance(call.function.parsed_arguments, Weather)

    def test_the_stream_adds_up_to_the_whole_call(self):
        fields = self.fields(tool_choice="required")
        whole = self.check(self.client.chat.completions.create(**fields).choices[0].message)
        name, arguments, finish = "", "", None
        for chunk in self.client.chat.completions.create(**fields, stream=True):
            delta = chunk.choices[0].delta
            for call in delta.tool_calls or []:
                self.assertEqual(call.index, 0)
                name += call.function.name or ""
                arguments += call.function.arguments or ""
            finish = chunk.choices[0].finish_reason or finish
        self.assertEqual((name, arguments, finish), (whole.name, whole.arguments, "tool_calls"))

    def test_the_accumulator_gives_the_call_and_its_events(self):
        fields = self.fields(tool_choice="required")
        whole = self.check(self.client.chat.completions.create(**fields).choices[0].message)
        events = []
        with self.client.chat.completions.stream(**fields) as stream:
            for event in stream:
                events.append(event.type)
            final = stream.get_final_completion()
        (call,) = final.choices[0].message.tool_calls
        self.assertEqual(call.function.name, whole.name)
        self.assertEqual(json.loads(call.function.arguments), json.loads(whole.arguments))
        self.assertIsInstance(call.function.parsed_arguments, MODELS[whole.name])
        self.assertEqual(final.choices[0].message.role, "assistant")
        self.assertIn("tool_calls.function.arguments.delta", events)
        self.assertIn("tool_calls.function.arguments.done", events)

    def test_a_conversation_with_calls_goes_on(self):
        first = self.client.chat.completions.create(**self.fields(tool_choice="required"))
        message = first.choices[0].message
        history = CHAT + [message.model_dump(exclude_none=True),
                          {"role": "tool", "tool_call_id": message.tool_calls[0].id,
                           "content": "sunny"}]
        answer = self.client.chat.completions.create(
            **self.fields(messages=history, tool_choice="none", max_tokens=8))
        self.assertIsNone(answer.choices[0].message.tool_calls)
        self.assertIsInstance(answer.choices[0].message.content, str)


class TinyModelInHermesFormat(ToolCalls, unittest.TestCase):
    parsers = ("--tool-call-parser", "hermes")

    @classmethod
    def model(cls, folder):
        return e2e.dummy(folder)

    def test_strict_tools_are_taken_where_calling_is_free(self):
        answer = self.client.chat.completions.create(**self.fields(max_tokens=8))
        self.assertIn(answer.choices[0].finish_reason, ("length", "stop", "tool_calls"))

    def test_several_calls_come_whole_and_streamed(self):
        fields = self.fields(tool_choice="required", parallel_tool_calls=True,
                             extra_body={"ignore_eos": True})
        whole = self.client.chat.completions.create(**fields).choices[0].message.tool_calls
        self.assertGreater(len(whole), 2)
        self.assertEqual(len({call.id for call in whole}), len(whole))
        for call in whole[:-1]:  # the last one is cut
            MODELS[call.function.name].model_validate_json(call.function.arguments)
        streamed = []
        for chunk in self.client.chat.completions.create(**fields, stream=True):
            for call in chunk.choices[0].delta.tool_calls or []:
                if call.index == len(streamed):
                    streamed.append([call.function.name, ""])
                streamed[call.index][1] += call.function.arguments or ""
        self.assertEqual(streamed[:-1],
                         [[c.function.name, c.function.arguments] for c in whole[:-1]])

    def test_the_async_client_gets_the_same_call(self):
        fields = self.fields(tool_choice="required")
        whole = self.check(self.client.chat.completions.create(**fields).choices[0].message)

        async def run():
            async with openai.AsyncOpenAI(base_url=self.server.url + "/v1",
                                          api_key="none") as client:
                async with client.chat.completions.stream(**fields) as stream:
                    return (await stream.get_final_completion()).choices[0].message

        (streamed,) = asyncio.run(run()).tool_calls
        self.assertEqual((streamed.function.name, streamed.function.arguments),
                         (whole.name, whole.arguments))


class SmolLm2(ToolCalls, unittest.TestCase):
    @classmethod
    def model(cls, folder):
        return e2e.fetched()

    def test_it_is_told_of_tools_in_words(self):
        auto, none = (self.client.chat.completions.create(**self.fields(tool_choice=choice)) for choice in ("auto", "none"))
        self.assertGreater(auto.usage.prompt_tokens, none.usage.prompt_tokens + 50)


if __name__ == "__main__":
    unittest.main()
