# SPDX-License-Identifier: Apache-2.0
"""The document of the API: it names the routes and the fields that there are, and requests that are made
from it are answered as it says."""

import contextlib
import json
import os
import pathlib
import re
import unittest

import plumb_e2e as e2e

try:
    import hypothesis
    import requests
    import schemathesis
    from schemathesis.specs.openapi import checks
except ImportError:
    e2e.skip("the schemathesis package is not installed (scripts/venv)")

SOURCE = pathlib.Path(os.environ.get("PLUMB_SOURCE_DIR", ".")) / "src"
MODEL = "tiny"
ADMIN_KEY = "sk-admin-0123456789"
MAX_NAMES = 10  # that the header of ignored fields holds
CASES_WITH_BODY = 70  # of an operation in each of the two modes
CASES_WITHOUT_BODY = 8
FEW_CASES = 8
# It takes long to make up a conversation.
CASES_OF = {"/v1/chat/completions": 40, "/v1/messages": 30, "/v1/responses/input_tokens": 30, "/api/chat": 25,
            "/tokenize": 20, "/parse_function_call": 20}
# They read what another route reads.
TWINS = {("post", "/apply-template"), ("post", "/v1/tokenize"), ("post", "/v1/messages/count_tokens"),
         ("post", "/v1/detokenize"), ("put", "/generate"), ("post", "/rerank"), ("post", "/v2/rerank")}
FEW_FIELDS = 3
MIN_CASES = 2000
CHECKS = [checks.status_code_conformance, checks.content_type_conformance,
          checks.response_schema_conformance]
# An overloaded server, and a request whose own time is over: what the document calls an answer.
BUSY = ("engine_overloaded", "timeout", "overloaded_error", "timeout_error")
EMBEDDING = {"/v1/embeddings", "/v1/score", "/v1/rerank", "/rerank", "/v2/rerank", "/api/embed", "/api/embeddings"}
# What brings a server into the state in which an operation answers 200, and out of the one it leaves.
BEFORE = {"/start_profile": "/stop_profile", "/stop_profile": "/start_profile",
          "/resume_memory_occupation": "/release_memory_occupation"}
AFTER = {"/pause_generation": "/continue_generation", "/release_memory_occupation": "/resume_memory_occupation",
         "/resume_memory_occupation": "/resume_memory_occupation"}
KNOWN_IDS = {"/v1/models/{id}": [MODEL], "/web/{id}": ["chat.js", "chat.css", "icon.svg"]}


class AdminServer(e2e.Server):
    """A server that is asked with the key of its operator."""

    def request(self, method, path, body=None, headers=None, timeout=60):
        return super().request(method, path, body, {"authorization": f"Bearer {ADMIN_KEY}", **(headers or {})}, timeout)


def resolved(document, item):
    while "$ref" in item:
        name = item["$ref"]
        item = document
        for part in name.removeprefix("#/").split("/"):
            item = item[part]
    return item


def parts_of(document, schema):
    """The schemas that a schema consists of, and itself."""
    schema = resolved(document, schema)
    yield schema
    for keyword in ("allOf", "anyOf"):
        for part in schema.get(keyword, []):
            yield from parts_of(document, part)


def examples_of(document, schema):
    """An example of each form that the schema has."""
    schema = resolved(document, schema)
    if "examples" in schema:
        return schema["examples"]
    return [example for form in schema["anyOf"] for example in examples_of(document, form)]


def operations(document):
    """(path, method, operation): first those that end nothing, last the one that ends the server's work."""
    found = [(path, method, operation) for path, item in document["paths"].items()
             for method, operation in item.items() if method != "parameters"]
    return sorted(found, key=lambda row: (row[0] == "/drain", row[1] == "delete"))


@contextlib.contextmanager
def around(server, path):
    if path in BEFORE:
        server.post(BEFORE[path], {})
    yield
    if path in AFTER:
        server.post(AFTER[path], {})


def body_schema(operation):
    return operation["requestBody"]["content"]["application/json"]["schema"]


class Document(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = e2e.folder()
        cls.model = e2e.dummy(cls.stack.__enter__(), "tiny.gguf", "--context", "128")
        cls.folder = str(pathlib.Path(cls.model).parent)
        cls.keys = pathlib.Path(cls.folder) / "admin.keys"
        cls.keys.touch(mode=0o600)
        cls.keys.write_text(ADMIN_KEY + "\n")

    @classmethod
    def tearDownClass(cls):
        cls.stack.__exit__(None, None, None)

    def serve(self, *arguments):
        return AdminServer(self.model, "--served-model-name", MODEL, "--profile-dir", self.folder, "--compat", "llamacpp",
                           "--weights-root", self.folder, "--admin-key-file", str(self.keys), *arguments)

    @contextlib.contextmanager
    def serve_both_tasks(self, *arguments):
        """Gives (server, document, operations): a server that generates and one that embeds, each with its own."""
        with self.serve(*arguments) as generating, self.serve("--task", "embed", *arguments) as embedding:
            both = []
            for server in (generating, embedding):
                document = self.document_of(server)
                both.append((server, document, [row for row in operations(document)
                                                if (row[0] in EMBEDDING) == (server is embedding)]))
            yield both

    def document_of(self, server):
        status, headers, body = server.request("GET", "/openapi.json")
        self.assertEqual((status, headers["content-type"]), (200, "application/json"))
        return json.loads(body)

    def test_it_names_every_route_and_no_other(self):
        written = set()
        for path in (SOURCE / "server/openapi").glob("*.json"):
            written |= set(json.loads(path.read_text()).get("paths", {}))
        with self.serve() as server:
            document = self.document_of(server)
            # A route that is not written makes no document at all.
            self.assertEqual(sorted(document["paths"]), sorted(written))
            for path in written:
                asked = path.replace("{id}", "some")
                _, headers, _ = server.request("PATCH", asked)
                expected = {method.upper() for known, method, _ in operations(document)
                            if re.fullmatch(known.replace("{id}", "[^/]+"), asked)}
                self.assertEqual(set(headers["allow"].split(", ")), expected, path)

    def test_a_route_that_is_not_served_is_not_named(self):
        with self.serve("--no-web", "--root-path", "/llm") as server:
            status, _, body = server.request("GET", "/llm/openapi.json")
            self.assertEqual(status, 200)
            document = json.loads(body)
            self.assertNotIn("/web/{id}", document["paths"])
            self.assertEqual(document["servers"], [{"url": "/llm"}])

    def test_it_names_every_field_that_is_read_and_no_other(self):
        names = set()
        for folder in ("api", "server"):
            for path in (SOURCE / folder).glob("*.[ch]*"):
                names |= set(re.findall(r'"([a-z][a-z_]{0,40})"', path.read_text()))
        with self.serve_both_tasks() as both:
            for server, document, rows in both:
                for path, method, operation in rows:
                    if "requestBody" in operation:
                        self.check_fields(server, document, (method.upper(), path), operation, names)

    def check_fields(self, server, document, route, operation, names):
        documented, read = set(), set()
        for part in parts_of(document, body_schema(operation)):
            documented |= set(part.get("properties", {}))
        candidates = sorted(names | documented)
        for body in examples_of(document, body_schema(operation)):
            body = {**body, "model": MODEL} if "model" in body else body
            for i in range(0, len(candidates), MAX_NAMES):
                some = {name: None for name in candidates[i:i + MAX_NAMES]}
                with around(server, route[1]):
                    status, headers, answer = server.request(*route, {**some, **body})
                self.assertEqual(status, 200, (route, body, answer))
                ignored = headers.get("x-plumb-ignored-fields", "").split(", ")
                read |= set(some) - set(ignored)
                for name in sorted(set(some) - set(ignored) - documented):
                    _, _, answer = server.request(*route, {**body, name: "x"})
                    self.assertIn(f"unsupported parameter: '{name}'", answer.decode(),
                                  f"{route}: read, and not documented")
        self.assertEqual(documented - read, set(), f"{route}: documented, and not read")

    def test_unknown_fields_are_refused_where_fields_are_strict(self):
        with self.serve_both_tasks("--strict-fields") as both:
            for server, document, rows in both:
                for path, method, operation in rows:
                    if "requestBody" in operation:
                        for body in examples_of(document, body_schema(operation)):
                            body = {**body, "model": MODEL} if "model" in body else body
                            status, _, answer = server.request(method.upper(), path, {**body, "mood": 1})
                            self.assertEqual(status, 400, path)
                            self.assertIn("unknown parameter: 'mood'", answer.decode(), path)

    def test_requests_made_from_it_are_answered_as_it_says(self):
        num_cases, num_answered, failures = 0, 0, []
        with self.serve_both_tasks() as both:
            for server, document, rows in both:
                schema = schemathesis.openapi.from_dict(document)
                schema.config.update(base_url=server.url)
                run = Cases(server)
                found = {(op.path, op.method): op
                         for op in (result.ok() for result in schema.get_all_operations())}
                for path, method, operation in rows:
                    most, required = CASES_WITHOUT_BODY, set()
                    if "requestBody" in operation:
                        most = CASES_OF.get(path, CASES_WITH_BODY)
                        for part in parts_of(schema.raw_schema, body_schema(operation)):
                            required |= set(part.get("required", []))
                    if (method, path) in TWINS:
                        run.try_operation(found[path, method], schemathesis.GenerationMode.POSITIVE,
                                          FEW_CASES, required)
                        continue
                    for mode in schemathesis.GenerationMode:
                        run.try_operation(found[path, method], mode, most, required)
                num_cases += run.num_cases
                num_answered += run.num_answered
                failures += run.failures
        print(f"{num_cases} cases, {num_answered} answered with 200")
        self.assertEqual(failures, [])
        self.assertGreaterEqual(num_cases, MIN_CASES)
        self.assertGreater(num_answered, MIN_CASES / 10)


class Cases:
    """Requests that are made from the document, and what was wrong with their answers."""

    def __init__(self, server):
        self.server = server
        self.session = requests.Session()
        self.session.headers["authorization"] = f"Bearer {ADMIN_KEY}"
        self.num_cases = 0
        self.num_answered = 0
        self.failures = []
        self.response_ids = []

    def try_operation(self, operation, mode, num_cases, required):
        @hypothesis.given(case=operation.as_strategy(generation_mode=mode))
        @hypothesis.settings(max_examples=num_cases, derandomize=True, deadline=None, database=None,
                             suppress_health_check=list(hypothesis.HealthCheck),
                             phases=[hypothesis.Phase.generate])
        def run(case):
            self.num_cases += 1
            if self.num_cases % 2 == 0:
                self.make_likely(case, required)
            self.try_case(case)

        with contextlib.suppress(hypothesis.errors.Unsatisfiable):  # a request without parameters has no errors
            run()

    def make_likely(self, case, required):
        """Has the case name things that there are, and say little: more of it comes to be looked at."""
        if isinstance(case.body, dict):
            others = sorted(set(case.body) - required)
            first = self.num_cases % max(len(others), 1)
            kept = required | set(others[first:first + FEW_FIELDS])
            case.body = {name: value for name, value in case.body.items() if name in kept}
            if isinstance(case.body.get("model"), str):
                case.body["model"] = MODEL
        ids = KNOWN_IDS.get(case.operation.path, self.response_ids)
        if "id" in case.path_parameters and ids:
            case.path_parameters["id"] = ids[self.num_cases // 2 % len(ids)]

    def try_case(self, case):
        with around(self.server, case.operation.path):
            answer = case.call(session=self.session, timeout=60)
        if answer.status_code == 200:
            self.num_answered += 1
            if case.operation.path == "/v1/responses" and "json" in answer.headers["content-type"][0]:
                self.response_ids.append(answer.json()["id"])
        try:
            if answer.status_code >= 500 and not any(word in answer.text for word in BUSY):
                raise AssertionError(f"{answer.status_code} {answer.text}")
            case.validate_response(answer, checks=CHECKS)
            if answer.headers["content-type"][0].startswith("text/event-stream"):
                for line in answer.text.split("\n"):
                    if line.startswith("data: ") and line != "data: [DONE]":
                        json.loads(line.removeprefix("data: "))
        except (AssertionError, ValueError, schemathesis.errors.FailureGroup) as error:
            self.failures.append(f"{case.as_curl_command()}\n{error}")


if __name__ == "__main__":
    unittest.main()
