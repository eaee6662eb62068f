# SPDX-License-Identifier: Apache-2.0
"""Traces as a collector sees them: OTLP over HTTP in JSON, checked field by field."""

import http.server
import json
import os
import re
import socket
import threading
import time
import unittest

import plumb_e2e as e2e

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"
PROMPT = " ".join(f"xylophone {i} and a few more words" for i in range(6))  # several chunks
LINE = "traces cannot be delivered"
VALUE_TYPES = {"stringValue": str, "intValue": str, "doubleValue": (int, float)}
ROOT_TYPES = {
    "gen_ai.request.id": "stringValue", "gen_ai.request.model": "stringValue",
    "gen_ai.request.temperature": "doubleValue", "gen_ai.request.top_p": "doubleValue",
    "gen_ai.request.max_tokens": "intValue", "gen_ai.request.n": "intValue",
    "gen_ai.usage.prompt_tokens": "intValue", "gen_ai.usage.completion_tokens": "intValue",
    "gen_ai.latency.time_in_queue": "doubleValue", "gen_ai.latency.time_to_first_token": "doubleValue",
    "gen_ai.latency.time_in_model_prefill": "doubleValue", "gen_ai.latency.time_in_model_decode": "doubleValue",
    "gen_ai.latency.time_in_model_inference": "doubleValue", "gen_ai.latency.e2e": "doubleValue",
    "http.response.status_code": "intValue",
}


class Collector:
    """Takes what is posted to it."""

    def __init__(self):
        self.requests = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                outer.requests.append((self.path, self.headers["content-type"], body))
                self.send_response(200)
                self.send_header("content-length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def spans(self):
        spans = []
        for path, kind, body in self.requests:
            assert (path, kind) == ("/v1/traces", "application/json")
            message = json.loads(body)
            assert list(message) == ["resourceSpans"]
            for resource in message["resourceSpans"]:
                for scope in resource["scopeSpans"]:
                    assert scope["scope"]["name"] == "plumb"
                    spans += [(resource["resource"], span) for span in scope["spans"]]
        return spans


def values(span):
    out = {}
    for attribute in span["attributes"]:
        assert set(attribute) == {"key", "value"} and len(attribute["value"]) == 1
        (kind, value), = attribute["value"].items()
        assert isinstance(value, VALUE_TYPES[kind]), attribute
        assert attribute["key"] not in out
        out[attribute["key"]] = int(value) if kind == "intValue" else value
    return out


def ask(server, headers=None, **fields):
    return server.post("/v1/completions", {"prompt": PROMPT, "max_tokens": 6, "temperature": 0, "ignore_eos": True,
                                           **fields}, headers=headers)


class Traces(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        held = e2e.folder()
        cls.folder = held.__enter__()
        cls.addClassCleanup(held.__exit__, None, None, None)
        cls.model = e2e.dummy(cls.folder, "tiny.gguf", "--context", "1024")

    def collect(self, requests, *arguments, env=None):
        """Serves the requests; returns what the collector has once the server has ended."""
        collector = Collector()
        self.addCleanup(collector.close)
        given = ("--otlp-endpoint", collector.url) if env is None else ()
        env = None if env is None else {**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, **env}
        with e2e.Server(self.model, *given, "--chunk-tokens", "16", *arguments, env=env) as server:
            requests(server)
        self.assertNotIn(LINE, server.log())
        for _, span in collector.spans():
            self.check_form(span)
        for _, _, body in collector.requests:
            self.assertNotIn(b"xylophone", body)
        return collector.spans()

    def check_form(self, span):
        self.assertRegex(span["traceId"], r"\A[0-9a-f]{32}\Z")
        self.assertRegex(span["spanId"], r"\A[0-9a-f]{16}\Z")
        for key in ("startTimeUnixNano", "endTimeUnixNano"):
            self.assertIsInstance(span[key], str)
            self.assertRegex(span[key], r"\A[0-9]{19}\Z")
        self.assertLessEqual(int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"]))
        self.assertIn(span["kind"], (1, 2))
        self.assertLessEqual(set(span), {"traceId", "spanId", "parentSpanId", "name", "kind", "startTimeUnixNano",
                                         "endTimeUnixNano", "attributes", "status"})
        values(span)

    def test_a_request_is_one_server_span_with_its_phases_below(self):
        answers = []
        before = time.time_ns()

        def requests(server):
            answers.append(ask(server, {"traceparent": f"00-{TRACE}-{PARENT}-01", "x-request-id": "my-id"},
                               temperature=0.5, top_p=0.25, seed=3))

        spans = self.collect(requests, "--otlp-service-name", "my-llm")
        status, answer = answers[0]
        self.assertEqual(status, 200)
        resource, root = spans[0]
        self.assertIn({"key": "service.name", "value": {"stringValue": "my-llm"}}, resource["attributes"])
        self.assertEqual((root["name"], root["kind"], root["traceId"], root["parentSpanId"], root["status"]),
                         ("llm_request", 2, TRACE, PARENT, {}))
        self.assertLess(before, int(root["startTimeUnixNano"]))
        self.assertLess(int(root["endTimeUnixNano"]), time.time_ns())
        kinds = {a["key"]: next(iter(a["value"])) for a in root["attributes"]}
        self.assertEqual(kinds, ROOT_TYPES)
        facts = values(root)
        for key, expected in {
                "gen_ai.request.id": "my-id", "gen_ai.request.model": "tiny", "gen_ai.request.temperature": 0.5,
                "gen_ai.request.top_p": 0.25, "gen_ai.request.max_tokens": 6, "gen_ai.request.n": 1,
                "gen_ai.usage.prompt_tokens": answer["usage"]["prompt_tokens"],
                "gen_ai.usage.completion_tokens": 6, "http.response.status_code": 200}.items():
            self.assertEqual(facts[key], expected, key)
        latency = {key.rsplit(".", 1)[1]: value for key, value in facts.items() if ".latency." in key}
        self.assertAlmostEqual(latency["time_in_model_inference"],
                               latency["time_in_model_prefill"] + latency["time_in_model_decode"], places=6)
        self.assertLess(latency["time_to_first_token"], latency["e2e"])
        self.assertLess(latency["time_in_queue"] + latency["time_in_model_inference"], latency["e2e"])
        self.check_children(root, [span for _, span in spans[1:]], answer["usage"]["prompt_tokens"])

    def check_children(self, root, children, prompt_tokens):
        names = [span["name"] for span in children]
        num_chunks = names.count("prefill")
        self.assertEqual(names, ["queue"] + ["prefill"] * num_chunks + ["decode"])
        self.assertGreater(num_chunks, 1)
        for span in children:
            self.assertEqual((span["traceId"], span["parentSpanId"], span["kind"]),
                             (TRACE, root["spanId"], 1))
            self.assertEqual(values(span)["plumb.choice"], 0)
            self.assertLessEqual(int(root["startTimeUnixNano"]), int(span["startTimeUnixNano"]))
            self.assertLessEqual(int(span["endTimeUnixNano"]), int(root["endTimeUnixNano"]))
        for span, following in zip(children, children[1:]):
            self.assertLessEqual(int(span["endTimeUnixNano"]), int(following["startTimeUnixNano"]))
        self.assertEqual(sum(values(s)["plumb.num_tokens"] for s in children if s["name"] == "prefill"),
                         prompt_tokens)
        self.assertEqual(values(children[-1])["plumb.num_tokens"], 6)
        self.assertEqual(len({span["spanId"] for span in [root, *children]}), len(children) + 1)

    def test_the_callers_decision_not_to_record_holds_and_bad_parents_are_ignored(self):
        def requests(server):
            for parent in (f"00-{TRACE}-{PARENT}-00", f"00-{TRACE}-{PARENT}", f"00-{TRACE.upper()}-{PARENT}-01",
                           f"ff-{TRACE}-{PARENT}-01", f"00-{'0' * 32}-{PARENT}-01"):
                self.assertEqual(ask(server, {"traceparent": parent})[0], 200)
            self.assertEqual(ask(server)[0], 200)

        roots = [span for _, span in self.collect(requests) if span["name"] == "llm_request"]
        self.assertEqual(len(roots), 5)
        self.assertEqual(len({span["traceId"] for span in roots}), 5)
        for span in roots:
            self.assertNotIn("parentSpanId", span)
            self.assertNotEqual(span["traceId"], TRACE)

    def test_several_choices_and_a_stream(self):
        def requests(server):
            self.assertEqual(ask(server, n=2, best_of=2)[0], 200)
            status, _, data = server.request("POST", "/v1/completions", {
                "prompt": PROMPT, "max_tokens": 3, "ignore_eos": True, "stream": True})
            self.assertEqual((status, data.endswith(b"data: [DONE]\n\n")), (200, True))

        spans = [span for _, span in self.collect(requests)]
        roots = [span for span in spans if span["name"] == "llm_request"]
        self.assertEqual([values(span)["gen_ai.usage.completion_tokens"] for span in roots], [12, 3])
        prompts = {values(span)["gen_ai.usage.prompt_tokens"] for span in roots}
        self.assertEqual(len(prompts), 1)
        decodes = [values(span)["plumb.choice"] for span in spans if span["name"] == "decode"
                   and span["parentSpanId"] == roots[0]["spanId"]]
        self.assertEqual(sorted(decodes), [0, 1])

    def test_the_variables_of_opentelemetry_are_heard(self):
        spans = self.collect(lambda server: self.assertEqual(ask(server)[0], 200),
                             env={"OTEL_SERVICE_NAME": "from-env"})
        self.assertIn({"key": "service.name", "value": {"stringValue": "from-env"}}, spans[0][0]["attributes"])

    def test_an_absent_collector_disturbs_nobody(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))  # and never listens
            url = f"http://127.0.0.1:{taken.getsockname()[1]}"
            with e2e.Server(self.model, "--otlp-endpoint", url) as server:
                for _ in range(5):
                    self.assertEqual(ask(server)[0], 200)
                e2e.wait_until(lambda: LINE in server.log(), 30, "the line that says so")
                self.assertEqual(ask(server)[0], 200)
            self.assertEqual(server.log().count(LINE), 1, server.log())

    def test_a_collector_that_never_answers_delays_neither_requests_nor_the_end(self):
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            url = f"http://127.0.0.1:{silent.getsockname()[1]}"
            server = e2e.Server(self.model, "--otlp-endpoint", url, "--max-num-seqs", "64")
            for _ in range(30):  # more spans than are kept: each choice has three at least
                status, _ = server.post("/v1/chat/completions", {
                    "messages": [{"role": "user", "content": "x"}], "max_tokens": 1, "n": 64})
                self.assertEqual(status, 200)
            dropped = re.search(r'plumb_trace_spans_dropped_total\{reason="queue_full"\} (\d+)',
                                server.request("GET", "/metrics")[2].decode())
            self.assertGreater(int(dropped.group(1)), 0)
            begin = time.monotonic()
            server.stop()
            self.assertLess(time.monotonic() - begin, 20)

    def test_a_url_that_cannot_be_used_is_refused_at_start(self):
        done = e2e.run("serve", self.model, "--otlp-endpoint", "127.0.0.1:4318")
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"--otlp-endpoint: the collector's URL cannot be used", done.stderr)


if __name__ == "__main__":
    unittest.main()
