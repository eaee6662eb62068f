# SPDX-License-Identifier: Apache-2.0
"""The access log: one line of JSON for each request, whatever becomes of it, and no secret in any."""

import json
import os
import socket
import unittest

import plumb_e2e as e2e

KEY = "sk-alice-0123456789abcdef"
SECRET = "do-not-tell-anybody"


class AccessLog(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        held = e2e.folder()
        folder = held.__enter__()
        cls.addClassCleanup(held.__exit__, None, None, None)
        cls.path = folder / "access.log"
        keys = folder / "keys"
        keys.write_text(f"alice:normal:{KEY}\n")
        os.chmod(keys, 0o600)
        cls.server = e2e.Server(e2e.dummy(folder, "tiny.gguf"), "--access-log", str(cls.path), "--api-key-file", str(keys))
        cls.addClassCleanup(cls.server.stop)

    def setUp(self):
        self.num_before = len(self.path.read_text().splitlines())

    def lines(self, num):
        """That many new lines; they are written just behind an answer."""
        e2e.wait_until(lambda: len(self.path.read_text().splitlines()) >= self.num_before + num, 20, "the lines are written")
        text = self.path.read_text()
        self.assertNotIn(KEY, text)
        self.assertNotIn(SECRET, text)
        lines = [json.loads(line) for line in text.splitlines()[self.num_before:]]
        self.assertEqual(len(lines), num, lines)
        return lines

    def ask(self, path, body, **headers):
        return self.server.post(path, body, headers={"authorization": f"Bearer {KEY}", **headers})

    def test_phases_of_whole_and_streamed_answers(self):
        body = {"messages": [{"role": "user", "content": SECRET}], "max_tokens": 5, "ignore_eos": True}
        for stream in (False, True):
            self.server.request("POST", "/v1/chat/completions", {**body, "stream": stream},
                                headers={"x-api-key": KEY, "x-request-id": f"mine-{stream}", "user-agent": "me/1"})
        for stream, line in zip((False, True), self.lines(2)):
            self.assertEqual({name: line[name] for name in ("request_id", "key", "client", "method", "route", "status", "model",
                                                            "stream", "completion_tokens", "finish_reasons", "user_agent")},
                             {"request_id": f"mine-{stream}", "key": "alice", "client": "127.0.0.1", "method": "POST",
                              "route": "/v1/chat/completions", "status": 200, "model": "tiny", "stream": stream,
                              "completion_tokens": 5, "finish_reasons": ["length"], "user_agent": "me/1"})
            self.assertGreater(line["prompt_tokens"], 0)
            phases = line["queue_ms"] + line["prefill_ms"] + line["decode_ms"]
            self.assertGreater(phases, 0)
            self.assertLessEqual(phases, line["total_ms"] + 1)
            self.assertLessEqual(line["ttft_ms"], line["total_ms"])

    def test_refused_requests(self):
        self.assertEqual(self.ask("/v1/chat/completions", {"messages": SECRET})[0], 400)
        self.assertEqual(self.server.post("/v1/chat/completions", {}, headers={"x-api-key": SECRET})[0], 401)
        self.assertEqual(self.server.request("GET", f"/nothing?key={KEY}")[0], 404)
        got = [(line["route"], line["status"], line.get("error_code"), line.get("key")) for line in self.lines(3)]
        self.assertEqual([row[:2] for row in got],
                         [("/v1/chat/completions", 400), ("/v1/chat/completions", 401), ("unknown", 404)])
        self.assertEqual([row[3] for row in got], ["alice", None, None])
        self.assertTrue(all(row[2] for row in got), got)

    def test_a_client_that_leaves(self):
        body = json.dumps({"prompt": SECRET, "max_tokens": 1000, "ignore_eos": True, "stream": True}).encode()
        with socket.create_connection(("127.0.0.1", self.server.port)) as client:
            client.sendall(b"POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nx-api-key: " +
                           KEY.encode() + b"\r\ncontent-length: " + str(len(body)).encode() + b"\r\n\r\n" + body)
            self.assertTrue(client.recv(100).startswith(b"HTTP/1.1 200"))
        (line,) = self.lines(1)
        self.assertEqual((line["route"], line["status"]), ("/v1/completions", 499))


if __name__ == "__main__":
    unittest.main()
