# SPDX-License-Identifier: Apache-2.0
"""Load with clients that leave: many connections, random requests, random aborts; afterwards nothing
runs, every block is free, the server has logged no error, and it ends in order.

soak.py [--requests N] [--connections N] [--seed N]; the program is $PLUMB_BINARY. With a build
under AddressSanitizer a leak or an error gives an exit code that is not 0.
"""

import argparse
import collections
import json
import os
import random
import socket
import sys
import threading
import time

import plumb_e2e as e2e

ABORT_SHARE = 0.25


class Client(threading.Thread):
    """One connection at a time; makes requests until the common count is used up."""

    def __init__(self, port, seed, counter, results):
        super().__init__()
        self.port = port
        self.chance = random.Random(seed)
        self.counter = counter
        self.results = results
        self.connection = None
        self.failure = None

    def run(self):
        try:
            while self.counter.take():
                self.one()
        except Exception as error:  # pylint: disable=broad-except
            self.failure = repr(error)
        finally:
            self.drop()

    def drop(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def body(self):
        chance = self.chance
        fields = {"max_tokens": chance.randint(1, 120), "temperature": chance.choice([0, 1]),
                  "seed": chance.randint(0, 1 << 30), "stream": chance.random() < 0.6}
        if chance.random() < 0.1:
            fields["n"] = chance.randint(2, 4)
        if chance.random() < 0.2:
            fields["stop"] = [chance.choice("abcdefgh")]
        if chance.random() < 0.1:
            fields["logprobs"] = 2
        if chance.random() < 0.05:
            fields["temperature"] = 9  # refused
        prefix = "shared beginning of many prompts " * chance.randint(0, 3)
        fields["prompt"] = prefix + "x" * chance.randint(1, 200)
        return fields

    def one(self):
        fields = self.body()
        payload = json.dumps(fields).encode()
        head = (f"POST /v1/completions HTTP/1.1\r\nhost: soak\r\ncontent-type: application/json\r\n"
                f"content-length: {len(payload)}\r\n\r\n").encode()
        if self.connection is None:
            self.connection = socket.create_connection(("127.0.0.1", self.port), timeout=300)
        self.connection.sendall(head + payload)
        if self.chance.random() < ABORT_SHARE:
            self.leave()
            return
        status, answer = self.read_answer()
        expected = {400} if fields["temperature"] == 9 else {200, 503}
        if status not in expected:
            raise AssertionError(f"status {status}: {answer[:300]!r}")
        if status == 200 and fields["stream"] and not answer.endswith(b"data: [DONE]\n\n"):
            raise AssertionError(f"a stream ends with {answer[-200:]!r}")
        if status == 200 and not fields["stream"]:
            json.loads(answer)
        self.results[status] += 1

    def leave(self):
        """Goes at once, after some bytes, or by a reset."""
        kind = self.chance.randrange(3)
        if kind > 0:
            self.connection.recv(self.chance.randint(1, 2000))
        if kind == 2:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                       b"\x01\x00\x00\x00\x00\x00\x00\x00")
        self.drop()
        self.results["left"] += 1

    def read_answer(self):
        data = b""
        while b"\r\n\r\n" not in data:
            data += self.more()
        head, data = data.split(b"\r\n\r\n", 1)
        status = int(head.split(b" ", 2)[1])
        lower = head.lower()
        if b"transfer-encoding: chunked" in lower:
            return status, self.read_chunks(data)
        length = int(lower.split(b"content-length: ", 1)[1].split(b"\r\n", 1)[0])
        while len(data) < length:
            data += self.more()
        return status, data

    def read_chunks(self, data):
        body = b""
        while True:
            while b"\r\n" not in data:
                data += self.more()
            size_text, data = data.split(b"\r\n", 1)
            size = int(size_text, 16)
            while len(data) < size + 2:
                data += self.more()
            body += data[:size]
            data = data[size + 2:]
            if size == 0:
                return body

    def more(self):
        data = self.connection.recv(65536)
        if not data:
            raise AssertionError("the server closed the connection")
        return data


class Counter:
    def __init__(self, total):
        self.left = total
        self.lock = threading.Lock()

    def take(self):
        with self.lock:
            self.left -= 1
            return self.left >= 0


def resident_mib(process):
    with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) // 1024
    return 0


def load(server, requests, connections, seed):
    """Runs the load; returns what happened how often."""
    results = collections.Counter()
    counter = Counter(requests)
    clients = [Client(server.port, seed * 1000 + i, counter, results)
               for i in range(connections)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    failures = [client.failure for client in clients if client.failure]
    assert not failures, f"{len(failures)} clients failed: {failures[:3]}"
    return results


def check_idle(server):
    e2e.wait_until(lambda: server.metric("plumb_requests_running") == 0 and
                   server.metric("plumb_requests_waiting") == 0, 60, "nothing runs or waits")
    assert server.metric("plumb_kv_blocks_used") == 0, "blocks are still held"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with e2e.folder() as folder:
        model = e2e.dummy(folder)
        env = {**os.environ, "ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0:exitcode=99"}
        with e2e.Server(model, "--max-num-seqs", 16, "--max-queued-requests", 512,
                        "--kv-cache-bytes", "384KiB", "--min-context", 256,
                        "--kv-conservativeness", 0, env=env) as server:
            start = time.monotonic()
            warm = load(server, max(options.requests // 10, 100), options.connections, options.seed)
            check_idle(server)
            before = resident_mib(server.process)
            results = load(server, options.requests, options.connections, options.seed + 1)
            check_idle(server)
            after = resident_mib(server.process)
            seconds = time.monotonic() - start
            facts = {name: server.metric(name) for name in (
                "plumb_preemptions_total", "plumb_prefix_hits_total", "plumb_aborted_total", "plumb_kv_blocks",
                "plumb_generated_tokens_total")}
        log = server.log().lower()
        assert "error" not in log and "check failed" not in log, server.log()[-4000:]
        assert sum(results.values()) == options.requests, results
        assert results["left"] > 0 and results[200] > 0 and facts["plumb_aborted_total"] > 0, results
        assert facts["plumb_preemptions_total"] > 0 and facts["plumb_prefix_hits_total"] > 0, facts
        print(f"{sum(warm.values())} + {options.requests} requests over {options.connections} "
              f"connections in {seconds:.0f} s: {dict(results)}, {facts}, "
              f"resident {before} -> {after} MiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
