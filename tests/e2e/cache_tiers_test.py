# SPDX-License-Identifier: Apache-2.0
"""The disk cache over lives of the server: restart, kill, damage, another model, a second process."""

import pathlib
import stat
import unittest

import plumb_e2e as e2e

PROMPT = " ".join(f"word{i}" for i in range(120))
LINE = "disk cache:"


class CacheTiers(unittest.TestCase):
    def setUp(self):
        held = e2e.folder()
        self.folder = held.__enter__()
        self.addCleanup(held.__exit__, None, None, None)
        self.model = e2e.dummy(self.folder, "tiny.gguf", "--context", "1024")
        self.cache = self.folder / "cache"
        with e2e.Server(self.model) as server:
            self.truth, cached = self.ask(server)
        self.assertEqual(cached, 0)

    def serve(self, *arguments, model=None):
        return e2e.Server(model or self.model, "--disk-cache-dir", self.cache, "--tier-write-policy", "through",
                          "--host-cache-bytes", "64MiB", "--prefetch-policy", "wait", *arguments)

    def ask(self, server):
        status, answer = server.post("/v1/completions", {"model": "tiny", "prompt": PROMPT, "max_tokens": 8,
                                                          "temperature": 0, "ignore_eos": True})
        self.assertEqual(status, 200, answer)
        details = answer["usage"].get("prompt_tokens_details") or {}
        return answer["choices"][0]["text"], details.get("cached_tokens", 0)

    def segments(self):
        return sorted(self.cache.glob("*.kvseg"))

    def expect(self, server, is_cached):
        text, cached = self.ask(server)
        self.assertEqual(text, self.truth)
        self.assertEqual(cached > 0, is_cached, server.log())

    def test_a_restarted_server_restores_the_prefix(self):
        with self.serve() as server:
            self.expect(server, False)
        self.assertEqual([stat.S_IMODE(p.stat().st_mode) for p in self.segments()], [0o600])
        self.assertEqual(stat.S_IMODE(self.cache.stat().st_mode), 0o700)
        with self.serve() as server:
            self.expect(server, True)
            self.assertNotIn(LINE, server.log())
            metrics = server.request("GET", "/metrics")[2].decode()
            self.assertRegex(metrics, r'plumb_kvtier_hit_tokens_total\{tier="disk"\} [1-9]')

    def test_a_killed_server_leaves_nothing_wrong(self):
        for _ in range(3):
            server = self.serve()
            self.ask(server)
            server.process.kill()
            server.stop(check=False)
        with self.serve() as server:
            text, _ = self.ask(server)
            self.assertEqual(text, self.truth)

    def test_damaged_files_are_misses_with_one_line_each(self):
        with self.serve() as server:
            self.expect(server, False)
        whole = self.segments()[0].read_bytes()
        for change in (whole[:40], whole[:len(whole) // 3], whole[:200] + b"\xff" + whole[201:], b"", b"x" * 999):
            self.segments()[0].write_bytes(change)
            for extra in self.segments()[1:]:
                extra.unlink()
            with self.serve() as server:
                text, _ = self.ask(server)
                self.assertEqual(text, self.truth)
                self.assertLessEqual(server.log().count(LINE), 1, server.log())

    def test_other_weights_do_not_read_it(self):
        with self.serve() as server:
            self.expect(server, False)
        other = e2e.dummy(self.folder, "tiny2.gguf", "--context", "1024", "--seed", "9")
        with self.serve("--served-model-name", "tiny", model=other) as server:
            text, cached = self.ask(server)
            self.assertEqual(cached, 0)
            self.assertNotEqual(text, self.truth)

    def test_a_second_server_on_the_folder_goes_without_it(self):
        with self.serve() as first:
            self.expect(first, False)
            with self.serve() as second:
                self.expect(second, False)
                self.assertEqual(second.log().count(LINE), 1, second.log())
                self.assertIn("another process", second.log())

    def test_a_path_that_is_no_folder_is_refused_at_the_start(self):
        self.cache.write_text("a file")
        done = e2e.run("serve", self.model, "--port", 0, "--disk-cache-dir", self.cache)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(f"--disk-cache-dir: {self.cache}: is not a folder", done.stderr.decode())
        self.assertEqual(pathlib.Path(self.cache).read_text(), "a file")


if __name__ == "__main__":
    unittest.main()
