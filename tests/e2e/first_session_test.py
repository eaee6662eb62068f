# SPDX-License-Identifier: Apache-2.0
"""A person's first session with the real model: chat on a terminal, curl, the openai client, and a
file of prompts that is killed on the way."""

import json
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import threading
import time
import unittest

import plumb_e2e as e2e

MODEL = "smollm2-135m-instruct"
QUESTION = "Name three fruits."
ANSWER = "Bananas"
ANSWER_SECONDS = 120


class Terminal:
    """A program on a terminal of its own."""

    def __init__(self, *arguments):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execv(e2e.BINARY, [e2e.BINARY, *arguments])
        self.seen = ""

    def send(self, text):
        os.write(self.fd, text.encode())

    def read_until(self, pattern, seconds=ANSWER_SECONDS):
        """Everything up to and including the pattern, which is taken from what was seen."""
        end = time.monotonic() + seconds
        while True:
            found = re.search(pattern, self.seen)
            if found:
                text, self.seen = self.seen[:found.end()], self.seen[found.end():]
                return text
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.fd], [], [], left)[0]:
                raise AssertionError(f"no {pattern!r} in {self.seen!r}")
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                data = b""
            if not data:
                raise AssertionError(f"ended before {pattern!r}: {self.seen!r}")
            self.seen += data.decode(errors="replace").replace("\r\n", "\n")

    def wait(self):
        status = os.waitpid(self.pid, 0)[1]
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)


class FirstSession(unittest.TestCase):
    def test_chat_on_a_terminal(self):
        terminal = Terminal("chat", MODEL, "--temperature", "0", "--max-tokens", "100")
        terminal.read_until(r"/help lists the commands\.\n> ")
        terminal.send("/stats\n")
        self.assertIn("No answer yet", terminal.read_until(r"\n> "))

        terminal.send(QUESTION + "\n")
        self.assertIn(ANSWER, terminal.read_until(r"\n> "))
        terminal.send("/stats\n")
        self.assertRegex(terminal.read_until(r"\n> "),
                         r"prompt \d+ tokens .*answer \d+ tokens, \d+\.\d tokens/s")

        terminal.send("Write a long story about a dragon and a princess.\n")
        terminal.read_until(r"princess\.\n\S+ \S+ \S+ ")
        terminal.send("\x03")
        terminal.read_until(r"\[stopped\]\n> ")

        terminal.send("\x03")  # at the prompt: a fresh line, and the program goes on
        terminal.read_until(r"\n> ")
        terminal.send("/system You always answer in one word.\n")
        self.assertIn("starts over", terminal.read_until(r"\n> "))
        terminal.send("/system\n")
        self.assertIn("You always answer in one word.", terminal.read_until(r"\n> "))
        terminal.send("Say hello.\n")
        self.assertGreater(len(terminal.read_until(r"\n> ")), len("Say hello.\n"))
        terminal.send("/reset\n")
        self.assertIn("forgotten", terminal.read_until(r"\n> "))
        terminal.send("/nonsense\n")
        self.assertIn("unknown command", terminal.read_until(r"\n> "))
        terminal.send("\x04")
        self.assertEqual(terminal.wait(), 0)

    def test_serve_then_curl_and_the_openai_client(self):
        with e2e.Server(MODEL) as server:
            self.curl_of_the_readme(server)
            self.openai_client(server)
            self.clients_of_the_docs(server)
            self.chat_with_the_server(server)

    def curl_of_the_readme(self, server):
        readme = pathlib.Path(os.environ.get("PLUMB_SOURCE_DIR", "."), "README.md").read_text()
        command = re.search(r"```\n(curl .*?)\n```", readme, re.DOTALL).group(1)
        command = command.replace("http://127.0.0.1:8000", server.url)
        if shutil.which("curl") is None:
            body = re.search(r"-d '(.*?)'", command, re.DOTALL).group(1)
            answer = server.post("/v1/chat/completions", body)[1]
        else:
            done = subprocess.run(["bash", "-c", command], capture_output=True, check=True)
            answer = json.loads(done.stdout)
        self.assertEqual(answer["model"], MODEL)
        self.assertEqual(answer["choices"][0]["finish_reason"], "stop")
        self.assertIn("1.", answer["choices"][0]["message"]["content"])

    def openai_client(self, server):
        try:
            import openai
        except ImportError:
            return
        with openai.OpenAI(base_url=server.url + "/v1", api_key="any") as client:
            question = [{"role": "user", "content": QUESTION}]
            whole = client.chat.completions.create(model=MODEL, messages=question, temperature=0,
                                                   max_tokens=20)
            self.assertIn(ANSWER, whole.choices[0].message.content)
            stream = client.chat.completions.create(model=MODEL, messages=question, temperature=0,
                                                    max_tokens=20, stream=True)
            text = "".join(c.choices[0].delta.content or "" for c in stream)
            self.assertEqual(text, whole.choices[0].message.content)

    def clients_of_the_docs(self, server):
        page = pathlib.Path(os.environ.get("PLUMB_SOURCE_DIR", "."), "docs/clients.md").read_text()
        programs = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
        generating = [program for program in programs if MODEL in program]
        self.assertEqual((len(programs), len(generating)), (8, 7))  # embeddings_test.py runs the other
        for program in generating:
            package = re.search(r"^(?:import|from) (instructor)", program, re.MULTILINE)
            interpreter = e2e.interpreter_with(package.group(1)) if package else sys.executable
            done = subprocess.run([interpreter, "-c", program.replace("http://127.0.0.1:8000", server.url)],
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stdout, "[Bb]anana")

    def chat_with_the_server(self, server):
        done = e2e.run("chat", server.url, "--temperature", "0", "--max-tokens", "20",
                       stdin=QUESTION.encode() + b"\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(ANSWER, done.stdout.decode())

    def test_a_file_of_prompts_survives_kill_9(self):
        with e2e.folder() as folder:
            prompts = folder / "prompts.jsonl"
            prompts.write_text("".join(json.dumps({
                "id": f"q{i}", "max_tokens": 12, "temperature": 0,
                "messages": [{"role": "user", "content": f"What is {i} plus {i}?"}]}) + "\n"
                                       for i in range(10)))
            output = folder / "answers.jsonl"
            command = [e2e.BINARY, "generate", MODEL, "--input", str(prompts), "--output",
                       str(output), "--in-flight", "4"]
            process = subprocess.Popen(command, stderr=subprocess.PIPE)
            watch = threading.Timer(100, process.kill)
            watch.start()
            e2e.wait_until(lambda: output.exists() and output.stat().st_size > 0
                           or process.poll() is not None, 90, "a record")
            process.kill()
            process.communicate()
            watch.cancel()
            kept = output.read_bytes()
            kept = kept[:kept.rfind(b"\n") + 1]
            done = subprocess.run(command, capture_output=True, timeout=200, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            content = output.read_bytes()
            self.assertTrue(content.startswith(kept))
            ids = [json.loads(line)["id"] for line in content.splitlines()]
            self.assertEqual(sorted(ids), sorted(f"q{i}" for i in range(10)))


if __name__ == "__main__":
    if e2e.fetched(MODEL) is None:
        e2e.skip(f"the model is not here: plumb model fetch {MODEL}")
    unittest.main()
