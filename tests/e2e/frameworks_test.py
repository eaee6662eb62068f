# SPDX-License-Identifier: Apache-2.0
"""Frameworks that speak to any OpenAI server, against one with a tiny model: chat, streams, classes, tools."""

import asyncio
import os
import typing
import unittest

import plumb_e2e as e2e

ASKED = e2e.stay_on_loopback()
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it fetches a list of prices

try:
    import langchain_core.messages
    import langchain_core.tools
    import langchain_openai
    import litellm
    import pydantic_ai
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    from weather import QUESTION, Weather
except ImportError:
    e2e.skip("the packages of the frameworks are not installed (scripts/venv)")

CHAT = [{"role": "user", "content": QUESTION}]


class Framework(e2e.ServedCase):
    server_options = ("--max-num-seqs", "4", "--tool-call-parser", "hermes")

    def tearDown(self):
        self.assertEqual(ASKED, [])


class LangChain(Framework):
    def model(self, **fields):
        return langchain_openai.ChatOpenAI(**{"base_url": self.base, "api_key": "any", "model": "tiny",
                                              "temperature": 0, "max_tokens": 12, **fields})

    def test_a_stream_says_the_same_as_the_whole_answer(self):
        model = self.model(stream_usage=True)
        whole = model.invoke(QUESTION)
        chunks = list(model.stream(QUESTION))
        self.assertEqual("".join(chunk.content for chunk in chunks), whole.content)
        self.assertGreater(len(chunks), 3)
        streamed = chunks[0]
        for chunk in chunks[1:]:
            streamed += chunk
        self.assertEqual(streamed.usage_metadata, whole.usage_metadata)

        async def read():
            return "".join([chunk.content async for chunk in model.astream(QUESTION)])

        self.assertEqual(asyncio.run(read()), whole.content)

    def test_a_class_is_answered_by_schema_and_by_call(self):
        model = self.model(max_tokens=200, temperature=1, seed=3)
        for method in ("json_schema", "function_calling"):
            answer = model.with_structured_output(Weather, method=method).invoke(QUESTION)
            self.assertIsInstance(answer, Weather)

    def test_a_tool_is_called_and_its_result_taken(self):
        @langchain_core.tools.tool
        def weather(city: typing.Literal["Oslo", "Rome"]) -> str:
            """Tells the weather."""
            return f"sunny in {city}"

        model = self.model(max_tokens=200, temperature=1, seed=3)
        bound = model.bind_tools([weather], tool_choice="any", parallel_tool_calls=False)
        message = bound.invoke(QUESTION)
        (call,) = message.tool_calls
        result = weather.invoke(call)
        self.assertIn(result.content, ("sunny in Oslo", "sunny in Rome"))
        history = [langchain_core.messages.HumanMessage(QUESTION), message, result]
        answer = model.bind_tools([weather], tool_choice="none").invoke(history)
        self.assertEqual(answer.tool_calls, [])
        alone = model.invoke(QUESTION)  # without tools, as where none may be called
        self.assertGreater(answer.usage_metadata["input_tokens"], alone.usage_metadata["input_tokens"])


class LiteLlm(Framework):
    def fields(self, **fields):
        return {"model": "openai/tiny", "api_base": self.base, "api_key": "any", "messages": CHAT,
                "temperature": 0, "max_tokens": 12, **fields}

    def test_a_stream_says_the_same_as_the_whole_answer(self):
        whole = litellm.completion(**self.fields()).choices[0].message.content
        chunks = list(litellm.completion(**self.fields(stream=True)))
        self.assertEqual("".join(c.choices[0].delta.content or "" for c in chunks), whole)
        self.assertGreater(len(chunks), 3)

        async def read():
            stream = await litellm.acompletion(**self.fields(stream=True))
            return "".join([c.choices[0].delta.content or "" async for c in stream])

        self.assertEqual(asyncio.run(read()), whole)

    def test_messages_of_the_other_api(self):
        answer = litellm.completion(**self.fields(model="anthropic/tiny", api_base=self.server.url))
        self.assertEqual(answer.choices[0].message.content,
                         litellm.completion(**self.fields()).choices[0].message.content)

    def test_a_class_is_answered(self):
        answer = litellm.completion(**self.fields(response_format=Weather, max_tokens=200,
                                                  temperature=1, seed=3))
        Weather.model_validate_json(answer.choices[0].message.content)

    def test_a_tool_is_called(self):
        tool = {"type": "function", "function": {
            "name": "weather", "parameters": Weather.model_json_schema()}}
        fields = self.fields(tools=[tool], tool_choice="required", parallel_tool_calls=False,
                             max_tokens=200, temperature=1, seed=3)
        (call,) = litellm.completion(**fields).choices[0].message.tool_calls
        Weather.model_validate_json(call.function.arguments)
        rebuilt = litellm.stream_chunk_builder(list(litellm.completion(**fields, stream=True)))
        (streamed,) = rebuilt.choices[0].message.tool_calls
        self.assertEqual((streamed.function.name, streamed.function.arguments),
                         (call.function.name, call.function.arguments))


class PydanticAi(Framework):
    SETTINGS = {"max_tokens": 200, "temperature": 1, "seed": 3, "parallel_tool_calls": False}

    def agent(self, kind=OpenAIChatModel, **fields):
        model = kind("tiny", provider=OpenAIProvider(base_url=self.base, api_key="any"))
        return pydantic_ai.Agent(model, **{"model_settings": self.SETTINGS, **fields})

    def test_a_stream_says_the_same_as_the_whole_answer(self):
        agent = self.agent(model_settings={"temperature": 0, "max_tokens": 12})
        whole = agent.run_sync(QUESTION)
        streamed = list(agent.run_stream_sync(QUESTION).stream_text(delta=True, debounce_by=None))
        self.assertEqual("".join(streamed), whole.output)
        self.assertGreater(len(streamed), 3)

    def test_a_class_is_answered_by_schema_and_by_call(self):
        for kind in (OpenAIChatModel, OpenAIResponsesModel):
            for output in (pydantic_ai.NativeOutput(Weather), pydantic_ai.ToolOutput(Weather)):
                settings = {name: value for name, value in self.SETTINGS.items()
                            if kind is OpenAIChatModel or name != "seed"}
                agent = self.agent(kind, output_type=output, model_settings=settings)
                self.assertIsInstance(agent.run_sync(QUESTION).output, Weather)

    def test_an_agent_calls_its_tool_until_it_has_an_answer(self):
        asked = []
        for seed in range(8):
            agent = self.agent(output_type=Weather,
                               model_settings={**self.SETTINGS, "seed": seed})

            @agent.tool_plain
            def look_outside(city: typing.Literal["Oslo", "Rome"]) -> str:
                """Tells what there is to see."""
                asked.append(city)
                return f"{city} is sunny"

            self.assertIsInstance(agent.run_sync(QUESTION).output, Weather)
        self.assertGreater(len(asked), 0)


if __name__ == "__main__":
    unittest.main()
