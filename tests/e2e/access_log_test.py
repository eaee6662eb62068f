# SPDX-License-Identifier: Apache-2.0
"""The access log: one line of JSON for each request, whatever becomes of it, and no secret in any."""

import json
import os
import pathlib
import socket
import subprocess
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

    def begin(self, body, **headers):
        """A response in the background, of whose POST the line is written; returns its id."""
        status, queued = self.ask("/v1/responses", {"input": SECRET, "background": True, **body}, **headers)
        self.assertEqual(status, 200, queued)
        return queued["id"]

    def lines_of(self, response):
        """The line of the request that began it, and that of its end."""
        e2e.wait_until(lambda: f'"response_id":"{response}"' in self.path.read_text(), 20, "the line is written")
        lines = [json.loads(line) for line in self.path.read_text().splitlines()[self.num_before:]]
        (end,) = [line for line in lines if line.get("response_id") == response]
        return [line for line in lines if line["request_id"] == end["request_id"] and line is not end], end

    def test_a_response_in_the_background_has_a_line_when_it_ends(self):
        schema = {"type": "json_schema", "name": "n", "schema": {"enum": ["red", "blue"]}}
        for name, status, body in (("whole", "completed", {"text": {"format": schema}}),
                                   ("long", "incomplete", {"max_output_tokens": 5, "ignore_eos": True})):
            response = self.begin(body, **{"x-request-id": name, "user-agent": "me/1", "traceparent":
                                           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"})
            (begun,), end = self.lines_of(response)
            self.assertEqual((begun["route"], begun["status"]), ("/v1/responses", 200))
            self.assertNotIn("completion_tokens", begun)
            self.assertNotIn("status", end)
            usage = json.loads(self.server.request("GET", f"/v1/responses/{response}", headers={"x-api-key": KEY})[2])["usage"]
            self.assertEqual({name: end[name] for name in ("request_id", "trace_id", "key", "client", "method", "route",
                                                           "response_status", "model", "stream", "prompt_tokens",
                                                           "completion_tokens", "finish_reasons", "user_agent")},
                             {"request_id": name, "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736", "key": "alice",
                              "client": "127.0.0.1", "method": "POST", "route": "/v1/responses", "response_status": status,
                              "model": "tiny", "stream": False, "prompt_tokens": usage["input_tokens"],
                              "completion_tokens": usage["output_tokens"],
                              "finish_reasons": ["length" if status == "incomplete" else "stop"], "user_agent": "me/1"})
            self.assertLessEqual(end["queue_ms"] + end["prefill_ms"] + end["decode_ms"], end["total_ms"] + 1)
            self.assertLessEqual(end["ttft_ms"], end["total_ms"])
        text = self.path.read_text()
        self.assertNotIn(KEY, text)
        self.assertNotIn(SECRET, text)

    def test_a_response_that_is_ended_has_a_line_too(self):
        endless = {"max_output_tokens": 100000, "ignore_eos": True}
        cancelled = self.begin(endless)
        self.assertEqual(self.ask(f"/v1/responses/{cancelled}/cancel", None)[0], 200)
        aborted = self.begin(endless)
        self.assertEqual(self.ask("/abort_request", {"rid": aborted})[0], 200)
        deleted = self.begin(endless)
        self.assertEqual(self.server.request("DELETE", f"/v1/responses/{deleted}", headers={"x-api-key": KEY})[0], 200)
        for response, status, code in ((cancelled, "cancelled", None), (aborted, "failed", "request_aborted"),
                                       (deleted, "cancelled", None)):
            _, end = self.lines_of(response)
            self.assertEqual((end["response_status"], end.get("error_code")), (status, code))
            self.assertNotIn("completion_tokens", end)
            self.assertGreater(end["total_ms"], 0)

    def test_a_response_that_a_shutdown_ends_has_a_line(self):
        with e2e.folder() as folder:
            path = folder / "access.log"
            with e2e.Server(e2e.dummy(folder), "--access-log", path, "--drain-timeout", "0s") as server:
                _, queued = server.post("/v1/responses", {"input": "a", "background": True, "max_output_tokens": 100000,
                                                          "ignore_eos": True})
            lines = [json.loads(line) for line in path.read_text().splitlines()]
        self.assertEqual([(line.get("status"), line.get("response_id"), line.get("response_status"), line.get("error_code"))
                          for line in lines], [(200, None, None, None), (None, queued["id"], "failed", "request_aborted")])


LOST = "requests are not written to the access log"


class FullAccessLog(unittest.TestCase):
    """A log that takes no more lines: that is said once, and requests go on."""

    def setUp(self):
        held = e2e.folder()
        self.folder = held.__enter__()
        self.addCleanup(held.__exit__, None, None, None)
        self.model = e2e.dummy(self.folder, "tiny.gguf")

    def ask(self, server, num):
        for _ in range(num):
            status, body = server.post("/v1/completions", {"prompt": "a", "max_tokens": 2})
            self.assertEqual(status, 200, body)

    def check(self, server, path, why):
        """Of a log in which there is room for ten bytes."""
        size = path.stat().st_size
        self.ask(server, 5)
        e2e.wait_until(lambda: LOST in server.log(), 20, "the loss is said")
        self.assertEqual(path.stat().st_size, size, "half a line was written")
        os.truncate(path, 0)
        self.ask(server, 1)
        e2e.wait_until(path.read_text, 20, "a line is written again")
        self.assertEqual(json.loads(path.read_text())["route"], "/v1/completions")
        told = [line for line in server.lines if LOST in line]
        self.assertEqual(len(told), 1, server.log())
        self.assertIn(why, told[0])

    def test_at_a_limit_on_the_size_of_files(self):
        path = self.folder / "access.log"
        path.write_bytes(b"\n" * (4096 - 10))
        with e2e.Server(self.model, "--access-log", path,
                        launcher=("prlimit", "--fsize=4096", "--")) as server:
            self.check(server, path, "File too large")

    def test_on_a_full_disk(self):
        disk = self.folder / "disk"
        disk.mkdir()
        launcher = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
                    'mount -t tmpfs -o size=8k none "$0" && head -c 8182 /dev/zero > "$0/access.log" && exec "$@"', disk)
        if subprocess.run([*map(str, launcher), "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("no file system of its own may be mounted here")
        with e2e.Server(self.model, "--access-log", disk / "access.log", launcher=launcher) as server:
            inside = pathlib.Path(f"/proc/{server.process.pid}/root", str(disk).lstrip("/"), "access.log")
            self.check(server, inside, "No space left on device")

    def test_a_device_is_no_log(self):
        done = e2e.run("serve", self.model, "--port", 0, "--access-log", "/dev/full")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("--access-log: /dev/full: is not a regular file", done.stderr.decode())


if __name__ == "__main__":
    unittest.main()
