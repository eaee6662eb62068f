# SPDX-License-Identifier: Apache-2.0
"""Embeddings, scores and rankings against an independent forward pass, through the official client."""

import asyncio
import base64
import math
import os
import pathlib
import re
import subprocess
import sys
import threading
import unittest

import plumb_e2e as e2e

try:
    import numpy as np
    import ollama
    import openai

    import bert_reference
except ImportError:
    e2e.skip("the packages of tests/requirements.txt are not installed (scripts/venv)")

TEXTS = ["Hello world", "the red house is reddish", "a blue car, a green car.", "X", "unheard words xxx"]
CLOSE = 0.9999


def cosine(a, b):
    return float(np.dot(a, b) / np.linalg.norm(a) / np.linalg.norm(b))


class Embeddings(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        held = e2e.folder()
        cls.folder = held.__enter__()
        cls.addClassCleanup(held.__exit__, None, None, None)
        cls.model = bert_reference.write_tiny(cls.folder / "tiny-bert")
        cls.reference = bert_reference.Bert(cls.model)
        cls.server = e2e.Server(cls.model, "--embed-max-queued", "100")
        cls.addClassCleanup(cls.server.stop)
        # Not strict: the client asks for base64, which its own type of an answer does not allow.
        cls.client = openai.OpenAI(base_url=cls.server.url + "/v1", api_key="none", max_retries=0)
        cls.addClassCleanup(cls.client.close)

    def create(self, **fields):
        return self.client.embeddings.create(**{"model": "tiny-bert", **fields})

    def error(self, path, body, **keywords):
        status, answer = self.server.post(path, body, **keywords)
        self.assertEqual(status, 400, answer)
        return answer["error"]

    def test_vectors_are_those_of_the_independent_forward(self):
        answer = self.create(input=TEXTS)
        self.assertEqual([item.index for item in answer.data], list(range(len(TEXTS))))
        for item, text in zip(answer.data, TEXTS, strict=True):
            self.assertGreaterEqual(cosine(item.embedding, self.reference.embed(text)), CLOSE, text)
            self.assertAlmostEqual(np.linalg.norm(item.embedding), 1, places=5)
        tokens = sum(len(self.reference.tokenizer.encode(text).ids) for text in TEXTS)
        self.assertEqual((answer.usage.prompt_tokens, answer.usage.total_tokens), (tokens, tokens))
        self.assertEqual(answer.model, "tiny-bert")

    def test_a_text_has_the_same_vector_alone_and_among_others(self):
        together = self.create(input=TEXTS).data
        for item, text in zip(together, TEXTS, strict=True):
            self.assertEqual(self.create(input=text).data[0].embedding, item.embedding)

    def test_both_formats_hold_the_same_floats(self):
        plain = self.server.post("/v1/embeddings", {"input": TEXTS[0]})[1]["data"][0]["embedding"]
        packed = self.server.post("/v1/embeddings", {"input": TEXTS[0], "encoding_format": "base64"})[1]["data"][0]["embedding"]
        self.assertEqual(np.frombuffer(base64.b64decode(packed), "<f4").tolist(), plain)
        self.assertEqual(self.create(input=TEXTS[0], encoding_format="float").data[0].embedding, plain)

    def test_token_arrays_are_taken_as_they_are(self):
        ids = [2, 5, 6, 3]
        answer = self.create(input=ids)
        self.assertGreaterEqual(cosine(answer.data[0].embedding, self.reference.embed(ids)), CLOSE)
        self.assertEqual(answer.usage.prompt_tokens, 4)
        self.assertEqual(len(self.create(input=[ids, [5]]).data), 2)

    def test_dimensions_cut_and_normalise_again(self):
        whole = self.create(input=TEXTS[0]).data[0].embedding
        cut = self.create(input=TEXTS[0], dimensions=8).data[0].embedding
        self.assertEqual(len(cut), 8)
        expected = np.array(whole[:8]) / np.linalg.norm(whole[:8])
        np.testing.assert_allclose(cut, expected, atol=1e-6)
        raw = self.create(input=TEXTS[0], extra_body={"normalize": False}).data[0].embedding
        ids = self.reference.tokenizer.encode(TEXTS[0]).ids
        np.testing.assert_allclose(raw, self.reference.hidden(ids).mean(0), atol=1e-4)

    def test_long_texts_are_refused_or_cut_as_asked(self):
        long = "red " * 40
        error = self.error("/v1/embeddings", {"input": ["a", long]})
        self.assertEqual((error["code"], error["param"]), ("context_length_exceeded", "input[1]"))
        self.assertTrue(error["message"].endswith("shorten the input[1], or let it be cut with 'truncate_prompt_tokens'"))
        self.assertNotIn("completion", error["message"])
        answer = self.create(input=long, extra_body={"truncate_prompt_tokens": -1})
        self.assertEqual(answer.usage.prompt_tokens, 24)
        ids = self.reference.tokenizer.encode(long).ids
        expected = self.reference.embed(ids[:23] + [3])
        self.assertGreaterEqual(cosine(answer.data[0].embedding, expected), CLOSE)
        self.assertEqual(self.create(input=long, extra_body={"truncate_prompt_tokens": 10}).usage.prompt_tokens, 10)

    def test_wrong_requests_are_refused_by_name(self):
        for body, param in [({}, "input"), ({"input": ""}, "input"), ({"input": ["a", ""]}, "input[1]"),
                            ({"input": [999]}, "input"), ({"input": "a", "dimensions": 33}, "dimensions"),
                            ({"input": "a", "dimensions": 0}, "dimensions"),
                            ({"input": "a", "encoding_format": "hex"}, "encoding_format"),
                            ({"input": "a", "truncate_prompt_tokens": 99}, "truncate_prompt_tokens")]:
            self.assertEqual(self.error("/v1/embeddings", body)["param"], param, body)
        self.assertIn("send text", self.error("/v1/embeddings", {"input": [999]})["message"])
        self.assertIn("expected at least one document",
                      self.error("/v1/rerank", {"query": "a", "documents": []})["message"])
        self.assertIn("'text_2' has 1 text, expected 2",
                      self.error("/v1/score", {"text_1": ["a", "b"], "text_2": ["a"]})["message"])
        with self.assertRaises(openai.NotFoundError):
            self.create(input="a", model="another")
        self.error("/v1/embeddings", {"input": "a"}, headers={"x-request-timeout-ms": "soon"})
        self.assertIn("expected 1 to 100", self.error("/v1/embeddings", {"input": ["a"] * 101})["message"])

    def test_unknown_fields_are_named(self):
        _, headers, _ = self.server.request("POST", "/v1/embeddings", {"input": "a", "colour": 1})
        self.assertEqual(headers["x-plumb-ignored-fields"], "colour")

    def test_scores_are_cosines_in_both_forms(self):
        expected = [cosine(self.reference.embed("red"), self.reference.embed(text)) for text in TEXTS]
        status, answer = self.server.post("/v1/score", {"text_1": "red", "text_2": TEXTS})
        self.assertEqual(status, 200, answer)
        self.assertEqual([row["index"] for row in answer["data"]], list(range(len(TEXTS))))
        np.testing.assert_allclose([row["score"] for row in answer["data"]], expected, atol=1e-4)
        pairs = self.server.post("/v1/score", {"text_1": ["red", "blue"], "text_2": ["red", "car"]})[1]
        self.assertAlmostEqual(pairs["data"][0]["score"], 1, places=5)
        items = self.server.post("/v1/score", {"query": "red", "items": TEXTS})[1]
        np.testing.assert_allclose(items["scores"], [[score] for score in expected], atol=1e-4)
        self.assertEqual(self.error("/v1/score", {"query": "a", "items": "b", "label_token_ids": [1]})["param"], "label_token_ids")

    def test_rankings_fall(self):
        scores = [cosine(self.reference.embed("a car"), self.reference.embed(text)) for text in TEXTS]
        order = sorted(range(len(TEXTS)), key=lambda i: -scores[i])
        for path in ("/v1/rerank", "/rerank", "/v2/rerank"):
            status, answer = self.server.post(path, {"query": "a car", "documents": [*TEXTS[:-1], {"text": TEXTS[-1]}],
                                                     "return_documents": True})
            self.assertEqual(status, 200, answer)
            self.assertEqual([row["index"] for row in answer["results"]], order)
            self.assertEqual(answer["results"][0]["document"], {"text": TEXTS[order[0]]})
            self.assertAlmostEqual(answer["results"][0]["relevance_score"], scores[order[0]], places=4)
        top = self.server.post("/rerank", {"query": "a", "documents": TEXTS, "top_n": 2})[1]
        self.assertEqual(len(top["results"]), 2)
        self.assertNotIn("document", top["results"][0])

    def test_the_ollama_client_embeds_one_and_many(self):
        client = ollama.Client(self.server.url)
        answer = client.embed(model="tiny-bert", input=TEXTS)
        self.assertEqual(len(answer.embeddings), len(TEXTS))
        for vector, text in zip(answer.embeddings, TEXTS, strict=True):
            self.assertGreaterEqual(cosine(vector, self.reference.embed(text)), CLOSE, text)
            self.assertAlmostEqual(np.linalg.norm(vector), 1, places=5)
        tokens = sum(len(self.reference.tokenizer.encode(text).ids) for text in TEXTS)
        self.assertEqual(answer.prompt_eval_count, tokens)
        self.assertGreater(answer.total_duration, 0)
        self.assertEqual(answer.load_duration, 0)
        one = client.embed(model="tiny-bert:latest", input=TEXTS[0], dimensions=8)
        self.assertEqual(one.model, "tiny-bert:latest")
        self.assertEqual([len(vector) for vector in one.embeddings], [8])
        self.assertEqual(client.embed(model="tiny-bert", input="").embeddings, [])
        old = client.embeddings(model="tiny-bert", prompt=TEXTS[0])
        self.assertGreaterEqual(cosine(old.embedding, self.reference.embed(TEXTS[0])), CLOSE)
        self.assertIn("embedding", client.show("tiny-bert").capabilities)

    def test_the_async_ollama_client_embeds(self):
        async def embed():
            return await ollama.AsyncClient(self.server.url).embed(model="tiny-bert", input=TEXTS[:2])
        answer = asyncio.run(embed())
        for vector, text in zip(answer.embeddings, TEXTS, strict=False):
            self.assertGreaterEqual(cosine(vector, self.reference.embed(text)), CLOSE, text)

    def test_the_ollama_client_cuts_long_texts_unless_forbidden(self):
        client = ollama.Client(self.server.url)
        long = "red " * 100
        self.assertEqual(client.embed(model="tiny-bert", input=long).prompt_eval_count, 24)
        with self.assertRaises(ollama.ResponseError) as raised:
            client.embed(model="tiny-bert", input=long, truncate=False)
        self.assertEqual(raised.exception.status_code, 400)
        with self.assertRaises(ollama.ResponseError) as raised:
            client.embed(model="another", input="a")
        self.assertEqual(raised.exception.status_code, 404)

    def test_a_model_for_embeddings_generates_nothing(self):
        chat = {"messages": [{"role": "user", "content": "a"}]}
        for path, body in [("/v1/chat/completions", chat), ("/v1/completions", {"prompt": "a"}),
                           ("/v1/responses", {"model": "tiny-bert", "input": "a"}), ("/generate", {"text": "a"})]:
            self.assertEqual(self.error(path, body)["code"], "model_not_generative", path)
        self.assertIn("generates no text", self.error("/v1/messages/count_tokens", {"model": "tiny-bert", **chat})["message"])
        self.assertEqual(self.error("/v1/responses/input_tokens", {"input": "a"})["code"], "model_not_generative")
        self.assertIn("generates no text", self.error("/v1/messages", {"max_tokens": 1, "model": "tiny-bert", **chat})["message"])
        self.assertIn("generates no text", self.error("/api/chat", {"model": "tiny-bert", **chat}))

    def test_there_is_no_generation_to_pause_and_no_prefix_cache(self):
        for path in ("/pause_generation", "/continue_generation", "/flush_cache"):
            self.assertEqual(self.error(path, {})["code"], "model_not_generative", path)

    def test_hints_name_routes_that_this_server_has(self):
        for path in ("/tokenize", "/apply-template"):
            message = self.error(path, {"messages": [{"role": "user", "content": "a"}]})["message"]
            self.assertIn("no chat template", message, path)
            self.assertNotIn("/v1/completions", message, path)

    def test_an_encoder_generates_nothing(self):
        done = e2e.run("serve", self.model, "--port", 0, "--task", "generate")
        self.assertEqual(done.returncode, 1)
        self.assertIn("is an encoder, which generates no text; serve it with --task embed", done.stderr.decode())

    def test_requests_are_ended_by_their_id(self):
        answers = []

        def ask():  # until one of them is caught on its way
            while not answers or answers[-1][0] == 200:
                answers.append(self.server.post("/v1/embeddings", {"input": ["red house " * 10] * 100}, headers={"x-request-id": "mine"}))

        client = threading.Thread(target=ask)
        client.start()
        while client.is_alive():
            self.assertEqual(self.server.post("/abort_request", {"rid": "another"})[0], 200)
            self.assertEqual(self.server.post("/abort_request", {"rid": "mine"})[0], 200)
        self.assertIn("aborted", answers[-1][1]["error"]["message"])
        self.assertEqual(self.server.post("/v1/embeddings", {"input": "red"})[0], 200)

    def test_the_other_routes_still_answer(self):
        self.assertEqual(self.server.request("GET", "/health")[0], 200)
        self.assertEqual(self.server.post("/tokenize", {"prompt": "red house"})[1]["tokens"], [2, 5, 8, 3])
        self.assertEqual(self.client.models.list().data[0].id, "tiny-bert")
        self.assertEqual(self.server.request("GET", "/server_info")[0], 200)
        for path in ("/health_generate", "/model_info", "/props", "/v1/loads", "/api/tags", "/api/ps"):
            self.assertEqual(self.server.request("GET", path)[0], 200, path)

    def test_metrics_count_inputs_and_tokens(self):
        inputs = self.server.metric("plumb_embedding_inputs_total")
        tokens = self.server.metric("plumb_embedding_tokens_total")
        used = self.create(input=TEXTS).usage.total_tokens
        self.assertEqual(self.server.metric("plumb_embedding_inputs_total"), inputs + len(TEXTS))
        self.assertEqual(self.server.metric("plumb_embedding_tokens_total"), tokens + used)
        self.assertEqual(self.server.metric("plumb_embedding_inputs_waiting"), 0)

    def test_a_gguf_file_of_the_same_model_gives_the_same_vectors(self):
        path = bert_reference.write_gguf(self.model, self.folder / "tiny-bert.gguf")
        with e2e.Server(path) as server:
            for text in TEXTS:
                vector = server.post("/v1/embeddings", {"input": text})[1]["data"][0]["embedding"]
                self.assertGreaterEqual(cosine(vector, self.reference.embed(text)), CLOSE, text)


class Rounding(unittest.TestCase):
    """Rows long enough for products in integers."""

    def test_both_kinds_of_products_give_the_vectors(self):
        with e2e.folder() as folder:
            model = bert_reference.write_tiny(folder / "wide", hidden=128, intermediate=256)
            reference = bert_reference.Bert(model)
            found = {}
            for math_name, close in [("i16", 0.99999), ("f32", 0.9999999)]:
                with e2e.Server(model, "--encoder-math", math_name) as server:
                    answer = server.post("/v1/embeddings", {"input": TEXTS})[1]
                    found[math_name] = [row["embedding"] for row in answer["data"]]
                    for vector, text in zip(found[math_name], TEXTS, strict=True):
                        self.assertGreaterEqual(cosine(vector, reference.embed(text)), close, text)
            self.assertNotEqual(found["i16"], found["f32"])


class Decoders(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        held = e2e.folder()
        cls.folder = held.__enter__()
        cls.addClassCleanup(held.__exit__, None, None, None)
        cls.model = e2e.dummy(cls.folder)

    def test_a_model_that_generates_gives_no_vectors(self):
        with e2e.Server(self.model) as server:
            for path, body in [("/v1/embeddings", {"input": "a"}), ("/v1/score", {"text_1": "a", "text_2": "b"}),
                               ("/v1/rerank", {"query": "a", "documents": ["b"]})]:
                status, answer = server.post(path, body)
                self.assertEqual((status, answer["error"]["code"]), (400, "model_not_embedding"))
            with self.assertRaises(ollama.ResponseError) as raised:
                ollama.Client(server.url).embed(model="tiny", input="a")
            self.assertEqual(raised.exception.status_code, 400)

    def test_with_the_task_embed_it_gives_them(self):
        for arguments in ([], ["--pooling", "mean"]):
            with e2e.Server(self.model, "--task", "embed", *arguments) as server:
                status, answer = server.post("/v1/embeddings", {"input": ["one text", "another one"]})
                self.assertEqual(status, 200, answer)
                a, b = (row["embedding"] for row in answer["data"])
                self.assertAlmostEqual(math.hypot(*a), 1, places=5)
                self.assertLess(cosine(a, b), 0.9999)
                self.assertEqual(server.post("/v1/embeddings", {"input": "one text"})[1]["data"][0]["embedding"], a)

    def test_an_encoder_is_not_pooled_otherwise(self):
        model = bert_reference.write_tiny(self.folder / "bert")
        done = e2e.run("serve", model, "--port", "0", "--pooling", "last")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"--pooling", done.stderr)


@unittest.skipUnless(e2e.fetched("all-minilm-l6-v2"), "plumb model fetch all-minilm-l6-v2")
class MiniLm(unittest.TestCase):
    def test_vectors_are_those_of_the_independent_forward(self):
        path = e2e.fetched("all-minilm-l6-v2")
        reference = bert_reference.Bert(pathlib.Path(path))
        texts = ["A man is eating food.", "Ein Mann isst.", "The quick brown fox jumps over the lazy dog. " * 12,
                 "中文 and ελληνικά", "def f(x):\n    return x ** 2"]
        with e2e.Server("all-minilm-l6-v2") as server:
            client = openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0)
            answer = client.embeddings.create(model="all-minilm-l6-v2", input=texts)
            for item, text in zip(answer.data, texts, strict=True):
                self.assertGreaterEqual(cosine(item.embedding, reference.embed(text)), CLOSE, text)
            client.close()

    def test_the_program_of_the_docs_runs(self):
        page = pathlib.Path(os.environ.get("PLUMB_SOURCE_DIR", "."), "docs/clients.md").read_text()
        (program,) = [found for found in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "all-minilm" in found]
        with e2e.Server("all-minilm-l6-v2") as server:
            done = subprocess.run([sys.executable, "-c", program.replace("http://127.0.0.1:8000", server.url)],
                                  capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout.split()), (0, ["2", "384", "384"]), done.stderr)


if __name__ == "__main__":
    unittest.main()
