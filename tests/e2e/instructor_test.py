# SPDX-License-Identifier: Apache-2.0
"""The instructor package, in its own environment, against a server with a tiny model."""

import asyncio
import os
import sys
import unittest

import plumb_e2e as e2e

ASKED = e2e.stay_on_loopback()

try:
    import instructor
    import openai

    from weather import QUESTION, Weather
except ImportError:
    OTHER = e2e.interpreter_with("instructor")
    if OTHER is None:
        e2e.skip("the instructor package is not installed (scripts/venv)")
    os.execv(OTHER, [OTHER, *sys.argv])

CHAT = [{"role": "user", "content": QUESTION}]


class Instructor(e2e.ServedCase):
    server_options = ("--max-num-seqs", "4", "--tool-call-parser", "hermes")

    def tearDown(self):
        self.assertEqual(ASKED, [])

    def client(self, mode, kind=openai.OpenAI):
        return instructor.from_openai(kind(base_url=self.base, api_key="any"), mode=mode)

    def fields(self, **fields):
        return {"model": "tiny", "messages": CHAT, "response_model": Weather, "max_tokens": 200,
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
