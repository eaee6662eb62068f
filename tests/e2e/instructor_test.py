# SPDX-License-Identifier: Apache-2.0
"""The instructor package, in its own environment, against a server with a tiny model."""

import asyncio
import os
import sys
import typing
import unittest

import plumb_e2e as e2e

ASKED = e2e.stay_on_loopback()

try:
    import instructor
    import openai
    import pydantic
except ImportError:
    OTHER = e2e.interpreter_with("instructor")
    if OTHER is None:
        e2e.skip("the instructor package is not installed (scripts/venv)")
    os.execv(OTHER, [OTHER, *sys.argv])

QUESTION = [{"role": "user", "content": "What is the weather in Oslo?"}]


class Weather(pydantic.BaseModel):
    city: typing.Literal["Oslo", "Rome"]
    days: int = pydantic.Field(ge=1, le=9)


class Instructor(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = e2e.folder()
        cls.server = e2e.Server(e2e.dummy(cls.stack.__enter__()), "--served-model-name", "tiny",
                                "--max-num-seqs", "4", "--tool-call-parser", "hermes")

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.stack.__exit__(None, None, None)

    def tearDown(self):
        self.assertEqual(ASKED, [])

    def client(self, mode, kind=openai.OpenAI):
        return instructor.from_openai(kind(base_url=self.server.url + "/v1", api_key="any"), mode=mode)

    def fields(self, **fields):
        return {"model": "tiny", "messages": QUESTION, "response_model": Weather, "max_tokens": 200,
                "temperature": 1, "seed": 3, "max_retries": 0, **fields}

    def test_a_class_is_answered_by_call_and_by_schema(self):
        for mode in (instructor.Mode.TOOLS, instructor.Mode.JSON_SCHEMA):
            client = self.client(mode)
            self.assertIsInstance(client.chat.completions.create(**self.fields()), Weather)
            *_, last = client.chat.completions.create_partial(**self.fields())
            Weather.model_validate(last.model_dump())

    def test_the_async_client(self):
        answer = asyncio.run(self.client(instructor.Mode.TOOLS, openai.AsyncOpenAI)
                             .chat.completions.create(**self.fields()))
        self.assertIsInstance(answer, Weather)


if __name__ == "__main__":
    unittest.main()
