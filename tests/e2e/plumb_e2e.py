# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end tests share: the program, tiny models, and a server of their own."""

import asyncio
import contextlib
import http.client
import importlib.util
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.parse

BINARY = os.environ.get("PLUMB_BINARY", "build/release/plumb")
SKIPPED = 77
START_SECONDS = 120
KEY = "sk-test-0123456789abcdef"


def run(*arguments, stdin=None, timeout=120, env=None):
    """Runs the program to its end; returns the completed process with bytes."""
    return subprocess.run([BINARY, *map(str, arguments)], input=stdin, capture_output=True,
                          timeout=timeout, env=env, check=False)


def dummy(folder, name="tiny.gguf", *arguments):
    """A tiny model with random weights from a seed."""
    path = pathlib.Path(folder) / name
    done = run("model", "dummy", path, *arguments)
    assert done.returncode == 0, done.stderr.decode()
    return path


def fetched(name="smollm2-135m-instruct"):
    """The path of a fetched model, or None."""
    for model in json.loads(run("model", "list", "--json").stdout):
        if model["name"] == name and model["fetched"]:
            return model["path"]
    return None


def interpreter_with(package):
    """The interpreter of scripts/venv that has a package: some have an environment of their own. May be None."""
    if importlib.util.find_spec(package) is not None:
        return sys.executable
    other = pathlib.Path(f"{sys.prefix}-{package}", "bin", "python3")
    return str(other) if other.exists() else None


def stay_on_loopback():
    """From now on nobody finds a host beyond this machine; returns the list of those that were looked for."""
    asked = []
    look_up = socket.getaddrinfo

    def guarded(host, *arguments, **keywords):
        name = host.decode() if isinstance(host, bytes) else host
        if name not in (None, "localhost", "127.0.0.1", "::1"):
            asked.append(name)
            raise socket.gaierror(socket.EAI_NONAME, f"{name} is beyond this machine")
        return look_up(host, *arguments, **keywords)

    socket.getaddrinfo = guarded
    return asked


@contextlib.contextmanager
def folder():
    path = tempfile.mkdtemp(prefix="plumb_e2e_")
    try:
        yield pathlib.Path(path)
    finally:
        shutil.rmtree(path, ignore_errors=True)


class Server:
    """`plumb serve` on a free port; ended by SIGTERM, and its exit code checked.

    `launcher`: words of a command that becomes the program whose words follow."""

    def __init__(self, model, *arguments, env=None, launcher=()):
        self.process = subprocess.Popen(
            [*map(str, launcher), BINARY, "serve", str(model), "--port", "0", *map(str, arguments)],
            stderr=subprocess.PIPE, env=env)
        self.lines = []
        self.url = None
        ready = threading.Event()

        def read():
            for raw in self.process.stderr:
                line = raw.decode(errors="replace")
                self.lines.append(line)
                found = re.search(r"on (https?://\S+)", line)
                if found and self.url is None:
                    self.url = found.group(1)
                    ready.set()
            ready.set()

        self.reader = threading.Thread(target=read, daemon=True)
        self.reader.start()
        if not ready.wait(START_SECONDS) or self.url is None:
            self.process.kill()
            raise AssertionError("the server did not start: " + "".join(self.lines))
        self.port = urllib.parse.urlsplit(self.url).port

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.stop(check=kind is None)

    def stop(self, check=True):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self.reader.join(10)
        self.process.stderr.close()
        if check:
            assert code == 0, f"exit code {code}: {self.log()}"

    def log(self):
        return "".join(self.lines)

    def request(self, method, path, body=None, headers=None, timeout=60):
        """One exchange; returns (status, headers, bytes)."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            payload = json.dumps(body) if isinstance(body, (dict, list)) else body
            given = {"content-type": "application/json"} if payload is not None else {}
            connection.request(method, path, payload, {**given, **(headers or {})})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def post(self, path, body, **keywords):
        status, _, data = self.request("POST", path, body, **keywords)
        return status, json.loads(data)

    def metric(self, name):
        """The value of a metric without labels."""
        _, _, data = self.request("GET", "/metrics")
        for line in data.decode().splitlines():
            if line.startswith(name + " "):
                return float(line.split()[1])
        raise AssertionError(f"no metric {name}")

    def wait_until_idle(self):
        wait_until(lambda: self.metric("plumb_requests_running") == 0, 20, "no request runs")


class ServedCase(unittest.TestCase):
    """Tests that share one server with a tiny model, from before the first of a class until after its last."""

    model_options = ()
    server_options = ()
    keys = ()  # lines of the file of keys; without any everybody may ask

    @classmethod
    def setUpClass(cls):
        held = folder()
        cls.folder = held.__enter__()
        cls.addClassCleanup(held.__exit__, None, None, None)
        options = cls.server_options
        if cls.keys:
            file = cls.folder / "keys"
            file.write_text("".join(line + "\n" for line in cls.keys))
            file.chmod(0o600)
            options = ("--api-key-file", file, *options)
        cls.server = Server(dummy(cls.folder, "tiny.gguf", *cls.model_options),
                            "--served-model-name", "tiny", *options)
        cls.addClassCleanup(cls.server.stop)
        cls.base = cls.server.url + "/v1"


async def cancelled_in_its_middle(read):
    """Runs read(has_begun) until it sets that event, and cancels it there."""
    has_begun = asyncio.Event()
    reading = asyncio.ensure_future(read(has_begun))
    await has_begun.wait()
    reading.cancel()
    try:
        await reading
    except asyncio.CancelledError:
        return
    raise AssertionError("it went on when it was cancelled")


def wait_until(condition, seconds, what):
    """Polls a condition that the server reaches by itself."""
    pause = threading.Event()
    for _ in range(int(seconds * 20)):
        if condition():
            return
        pause.wait(0.05)
    raise AssertionError(f"not within {seconds} s: {what}")


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)
