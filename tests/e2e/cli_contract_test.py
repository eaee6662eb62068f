# SPDX-License-Identifier: Apache-2.0
"""What scripts may rely on: bytes, exit codes and JSON of the commands."""

import array
import fcntl
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import termios
import unittest

import plumb_e2e as e2e


def one_line(text):
    return text.decode().count("\n") == 1


class Commands(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = e2e.folder()
        cls.folder = cls.stack.__enter__()
        cls.model = e2e.dummy(cls.folder)

    @classmethod
    def tearDownClass(cls):
        cls.stack.__exit__(None, None, None)

    def path(self, name, content=None):
        path = self.folder / name
        if content is not None:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def test_tokenize_prints_one_array_a_line_and_byte_tokens_spell_the_text(self):
        texts = ["Hello", "", "naïve 漢字 👩‍👩‍👧", "<|im_start|>", "a\nb\u0000c"]
        lines = "".join(json.dumps(t) + "\n" for t in texts).encode()
        done = e2e.run("tokenize", self.model, stdin=lines)
        self.assertEqual(done.returncode, 0, done.stderr)
        arrays = [json.loads(line) for line in done.stdout.decode().splitlines()]
        self.assertEqual(len(arrays), len(texts))
        self.assertEqual(arrays[1], [])
        self.assertTrue(all(isinstance(i, int) for a in arrays for i in a))
        self.assertEqual(e2e.run("tokenize", self.model, "--json", stdin=lines).stdout, done.stdout)
        special = e2e.run("tokenize", self.model, "--parse-special", stdin=lines)
        self.assertEqual(len(json.loads(special.stdout.splitlines()[3])), 1)
        self.assertGreater(len(arrays[3]), 1)

    def test_tokenize_answers_each_line_before_the_next_comes(self):
        process = subprocess.Popen([e2e.BINARY, "tokenize", str(self.model)],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for text in ("one", "two", "three"):
            process.stdin.write(json.dumps(text).encode() + b"\n")
            process.stdin.flush()
            self.assertTrue(json.loads(process.stdout.readline()))
        process.stdin.close()
        self.assertEqual(process.wait(30), 0)
        process.stdout.close()

    def test_tokenize_names_the_line_that_is_no_string(self):
        done = e2e.run("tokenize", self.model, stdin=b'"a"\n17\n"b"\n')
        self.assertEqual(done.returncode, 1)
        self.assertEqual(len(done.stdout.splitlines()), 1)
        self.assertIn("line 2", done.stderr.decode())

    def test_template_writes_the_rendering_and_nothing_else(self):
        source = self.path("t.jinja", "{{ messages[0].content }}|{{ strftime_now('%Y-%m-%d %H') }}")
        data = self.path("t.json", json.dumps({"messages": [{"content": "ü\n"}],
                                               "now": "2025-06-30T12:00:00Z"}))
        done = e2e.run("template", source, "--input", data)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, "ü\n|2025-06-30 12".encode())

    def test_template_ends_with_1_where_the_template_raises(self):
        source = self.path("r.jinja", "before{{ raise_exception('roles must alternate') }}")
        done = e2e.run("template", source, "--input", self.path("r.json", "{}"))
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout, b"")
        self.assertIn("roles must alternate", done.stderr.decode())
        done = e2e.run("template", self.model, "--input", self.path("b.json", "{"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("b.json", done.stderr.decode())

    def test_template_of_a_model_is_its_own(self):
        data = self.path("m.json", json.dumps({"messages": [{"role": "user", "content": "Hi"}],
                                               "add_generation_prompt": True}))
        done = e2e.run("template", self.model, "--input", data)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"Hi", done.stdout)

    def test_inspect_shows_tensors_as_table_and_json(self):
        facts = json.loads(e2e.run("model", "inspect", self.model, "--json").stdout)
        self.assertEqual(facts["format"], "GGUF v3" if "v3" in facts["format"] else facts["format"])
        self.assertGreater(len(facts["tensors"]), 10)
        table = e2e.run("model", "inspect", self.model)
        self.assertEqual(table.returncode, 0)
        for tensor in facts["tensors"]:
            self.assertIn(tensor["name"], table.stdout.decode())
        tokens = facts["metadata"]["tokenizer.ggml.tokens"]
        self.assertIn(f"({tokens['length']} items)", table.stdout.decode())

    def test_dummy_is_a_function_of_its_seed(self):
        again = e2e.dummy(self.folder, "again.gguf")
        other = e2e.dummy(self.folder, "other.gguf", "--seed", "2")
        self.assertEqual(again.read_bytes(), self.model.read_bytes())
        self.assertNotEqual(other.read_bytes(), self.model.read_bytes())
        hf = e2e.dummy(self.folder, "hf", "--format", "hf", "--arch", "qwen3")
        self.assertTrue((hf / "config.json").exists())
        self.assertEqual(e2e.run("model", "inspect", hf).returncode, 0)

    def test_dummy_overwrites_nothing_and_drops_no_flag(self):
        for place in (self.path("mine.gguf", b"mine"), self.folder):
            done = e2e.run("model", "dummy", place)
            self.assertEqual(done.returncode, 1)
            self.assertIn("exists", done.stderr.decode())
        self.assertEqual((self.folder / "mine.gguf").read_bytes(), b"mine")
        for flags in (["--shard-bytes", "1000"], ["--format", "hf", "--quant", "Q4_0"]):
            done = e2e.run("model", "dummy", self.folder / "none", *flags)
            self.assertEqual(done.returncode, 2)
            self.assertIn(flags[-2], done.stderr.decode())

    def test_an_interrupted_dummy_leaves_nothing(self):
        place = self.folder / "interrupted"
        place.mkdir()
        process = subprocess.Popen([e2e.BINARY, "model", "dummy", str(place / "big.gguf"),
                                    "--preset", "smollm2-135m"], stderr=subprocess.PIPE)
        e2e.wait_until(lambda: any(place.iterdir()), 60, "the file is begun")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        if process.returncode != 0:
            self.assertEqual(process.returncode, 130)
            self.assertEqual(list(place.iterdir()), [])

    def test_bench_batch_prints_json_alone_with_what_it_was_computed_from(self):
        done = e2e.run("bench", "batch", self.model, "--input-len", 32, "--output-len", 8,
                       "--batch", 2, "--repeats", 2, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(done.stdout.splitlines()), 1)
        report = json.loads(done.stdout)
        self.assertGreater(report["prefill_tok_s"], 0)
        self.assertGreater(report["decode_tok_s"], 0)
        text = json.dumps(report)
        for name in ("t_first", "t_last", "input_len", "output_len", "batch"):
            self.assertIn(f'"{name}"', text)

    def test_bench_batch_gives_no_speed_that_it_did_not_measure(self):
        done = e2e.run("bench", "batch", self.model, "--input-len", 8, "--output-len", 1,
                       "--repeats", 1, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.assertIsNone(report["decode_tok_s"])
        # The first requests have most of their tokens before the last has its first one.
        done = e2e.run("bench", "batch", self.model, "--input-len", 64, "--output-len", 8, "--batch",
                       12, "--chunk-tokens", 64, "--repeats", 1, "--json")
        run = json.loads(done.stdout)["runs"][0]
        decoded = run["decode_tok_s"] * (run["t_last"] - run["t_first"])
        self.assertGreater(decoded, 0)
        self.assertLess(decoded, 12 * 7 - 8)

    def test_doctor_refuses_what_serve_refuses(self):
        for flag, value in (("--kv-cache-bytes", "100TiB"), ("--max-context", 999999)):
            texts = []
            for command in (["doctor"], ["serve", "--port", 0]):
                done = e2e.run(*command, self.model, flag, value)
                self.assertEqual(done.returncode, 1, done.stderr)
                texts.append(done.stdout.decode() + done.stderr.decode())
            for text in texts:
                self.assertIn(flag + ": ", text)
                self.assertNotIn("no problem found", text)

    def test_a_disk_cache_that_cannot_be_used_ends_the_start(self):
        for folder in ("/proc/nope", self.path("no-folder", "text")):
            done = e2e.run("serve", self.model, "--port", 0, "--disk-cache-dir", folder)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(f"--disk-cache-dir: {folder}", done.stderr.decode())
            self.assertTrue(one_line(done.stderr), done.stderr)

    def test_a_folder_of_weights_that_is_none_ends_the_start(self):
        for folder in (self.folder / "none", self.path("no-weights", "text")):
            done = e2e.run("serve", self.model, "--port", 0, "--weights-root", folder)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(f"--weights-root: {folder} is not a folder", done.stderr.decode())
            self.assertTrue(one_line(done.stderr), done.stderr)

    def test_help_of_an_unknown_command_says_so(self):
        for words in (["serv", "--help"], ["help", "serv"]):
            done = e2e.run(*words)
            self.assertEqual(done.returncode, 2)
            self.assertEqual(done.stdout, b"")
            self.assertIn("unknown command 'serv'; did you mean 'serve'?", done.stderr.decode())

    def test_a_server_says_the_port_of_its_events_and_who_can_read_them(self):
        with e2e.Server(self.model, "--kv-events", "--kv-events-port", 0) as server:
            text = "".join(server.lines)
        port = re.search(r"KV events on port (\d+)\n", text)
        self.assertIsNotNone(port, text)
        self.assertGreater(int(port.group(1)), 0)
        self.assertIn("--kv-events --kv-events-port: nobody can read the events", text)
        done = e2e.run("serve", self.model, "--kv-events-port", 0)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--kv-events-port: there are no events without --kv-events",
                      done.stderr.decode())

    def test_a_full_disk_behind_standard_output_is_said(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        with open("/dev/full", "wb") as full:
            done = subprocess.run([e2e.BINARY, "model", "list"], stdout=full,
                                  stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("standard output", done.stderr.decode())

    def test_chat_refuses_at_the_start_what_cannot_work(self):
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{closed.getsockname()[1]}"
            done = e2e.run("chat", url, stdin=b"")
            self.assertEqual(done.returncode, 75, done.stderr)
            self.assertEqual(done.stdout, b"")
            done = e2e.run("chat", url, "--chunk-tokens", 64, stdin=b"")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--chunk-tokens", done.stderr.decode())
        done = e2e.run("chat", "127.0.0.1:19101", stdin=b"")
        self.assertEqual(done.returncode, 1)
        self.assertIn("did you mean http://127.0.0.1:19101?", done.stderr.decode())
        done = e2e.run("chat", self.model, "--api-key-file", "keys", stdin=b"")
        self.assertEqual(done.returncode, 2)
        base = e2e.dummy(self.folder, "base", "--format", "hf")
        (base / "tokenizer_config.json").unlink()
        done = e2e.run("chat", base, stdin=b"")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no chat template", done.stderr.decode())

    def test_chat_says_which_flag_holds_the_key(self):
        keys = self.path("server-keys", "sk-0123456789abcdef\n")
        keys.chmod(0o600)
        with e2e.Server(self.model, "--api-key-file", keys) as server:
            done = e2e.run("chat", server.url, stdin=b"Hi\n")
            self.assertEqual(done.returncode, 1)
            self.assertIn("--api-key-file", done.stderr.decode())
            done = e2e.run("chat", server.url, "--api-key-file", keys, "--max-tokens", 2,
                           stdin=b"Hi\n")
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_chat_names_what_helps_against_a_full_context(self):
        long = "word " * 3000 + "\n"
        done = e2e.run("chat", self.model, "--max-context", 128, stdin=long.encode())
        self.assertEqual(done.returncode, 1)
        self.assertIn("/reset", done.stderr.decode())
        self.assertEqual(done.stdout, b"")

    def test_an_interrupt_while_chat_writes_loses_nothing(self):
        with subprocess.Popen([e2e.BINARY, "chat", str(self.model)], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as chat:
            chat.stdin.write(b"/help\n" * 1000)
            chat.stdin.flush()
            waiting = array.array("i", [0])
            while waiting[0] < 60000:  # then it waits for somebody to read
                self.assertIsNone(chat.poll())
                fcntl.ioctl(chat.stdout, termios.FIONREAD, waiting)
            for _ in range(10):
                chat.send_signal(signal.SIGINT)
            out, error = chat.communicate()
        self.assertEqual(chat.returncode, 0, error)
        self.assertEqual(out.count(b"/quit, /exit"), 1000)

    def test_chat_skips_a_line_without_end(self):
        done = e2e.run("chat", self.model, "--max-tokens", 2, stdin=b"a" * (17 << 20) + b"\n/help")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"skipped a line", done.stderr)
        self.assertIn(b"/quit, /exit", done.stdout)

    def test_serve_refuses_options_that_cannot_be_meant(self):
        for flags, word in ((["--min-context", 4096, "--max-context", 2048], "--min-context: 4096"),
                            (["--served-model-name", "a\nb"], "--served-model-name"),
                            (["--served-model-name", "a\x7f"], "--served-model-name"),
                            (["--response-store", ""], "--response-store: ''"),
                            (["--response-store", ":memory:"], "--response-store: ':memory:'"),
                            (["--response-store", "file:x?mode=rw"], "--response-store: 'file:x?mode=rw'")):
            done = e2e.run("serve", self.model, "--port", 0, *flags)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertTrue(done.stderr.decode().startswith("plumb: " + word), done.stderr)
        done = e2e.run("serve", self.model, "--port", 0, "--min-context", 999999)
        self.assertEqual(done.returncode, 1)
        self.assertTrue(one_line(done.stderr), done.stderr)
        self.assertIn("--min-context: 999999", done.stderr.decode())

    def test_serve_warns_of_a_cache_that_is_smaller_than_the_context(self):
        with e2e.Server(self.model, "--kv-cache-bytes", "256KiB") as server:
            info = json.loads(server.request("GET", "/server_info")[2])
        tokens = info["max_total_num_tokens"]
        context = info["model"]["context_len"]
        self.assertLess(tokens, context)
        lines = [line for line in server.lines if " warning " in line]
        self.assertEqual(len(lines), 1, server.log())
        for part in (f"holds {tokens} tokens", f"the context of {context}", "--kv-cache-bytes"):
            self.assertIn(part, lines[0])
        with e2e.Server(self.model, "--kv-cache-bytes", "64MiB") as server:
            pass
        self.assertNotIn("warning", server.log())

    def test_serve_warns_of_more_than_two_threads_for_each_core(self):
        done = e2e.run("doctor", "--json")
        cores = json.loads(done.stdout)["machine"]["usable_cores"]
        for threads, num_lines in ((2 * cores, 0), (2 * cores + 1, 1)):
            with e2e.Server(self.model, "--threads", threads) as server:
                self.assertEqual(server.post("/v1/completions", {"prompt": "a", "max_tokens": 2})[0], 200)
            lines = [line for line in server.lines if " warning " in line]
            self.assertEqual(len(lines), num_lines, server.log())
        for part in (f"--threads {threads}: ", f"may use {cores} cores", f"give at most {cores}"):
            self.assertIn(part, lines[0])

    def test_generate_refuses_what_is_no_file_of_lines(self):
        output = self.folder / "out.jsonl"
        for path, word in (("/dev/zero", "line 1 is longer than the limit of 33554432 bytes"),
                           (self.folder, "directory"), ("/dev/null", "holds no complete line")):
            done = e2e.run("generate", self.model, "--input", path, "--output", output)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertTrue(one_line(done.stderr), done.stderr)
            self.assertIn(f"plumb: {path}: ", done.stderr.decode())
            self.assertIn(word, done.stderr.decode())
            self.assertFalse(output.exists())
        closed = subprocess.run(["sh", "-c", 'exec "$0" "$@" <&-', e2e.BINARY, "generate",
                                 str(self.model), "--input", "/dev/stdin", "--output", str(output)],
                                capture_output=True, check=False)
        self.assertEqual(closed.returncode, 1)
        self.assertTrue(one_line(closed.stderr), closed.stderr)
        self.assertIn("/dev/stdin: cannot open", closed.stderr.decode())

    def test_generate_reads_a_pipe_and_leaves_out_the_line_that_it_cut(self):
        output = self.folder / "piped.jsonl"
        line = json.dumps({"id": "a", "prompt": "x", "max_tokens": 1}).encode()
        done = e2e.run("generate", self.model, "--input", "/dev/stdin", "--output", output,
                       stdin=line + b"\n" + line[:20])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("line 2 is cut off", done.stderr.decode())
        self.assertEqual(len(output.read_bytes().splitlines()), 1)

    def test_a_root_path_is_checked_and_shown(self):
        done = e2e.run("serve", self.model, "--root-path", "llm")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--root-path", done.stderr.decode())

    def test_check_logits_can_give_a_verdict(self):
        ids = self.path("ids.json", "[1, 2, 3, 4]")
        logits = self.folder / "logits.bin"
        done = e2e.run("check", "logits", self.model, "--ids", ids, "--dump", logits)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = e2e.run("check", "logits", self.model, "--ids", ids, "--reference", logits,
                       "--max-kl", "0.001", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIsNone(json.loads(done.stdout)["worst_position"])
        logits.write_bytes(bytes(len(logits.read_bytes())))
        done = e2e.run("check", "logits", self.model, "--ids", ids, "--reference", logits,
                       "--max-kl", "0.00001")
        self.assertEqual(done.returncode, 3)

    def test_doctor_says_what_the_machine_and_a_model_need(self):
        report = json.loads(e2e.run("doctor", "--json").stdout)
        self.assertGreaterEqual(report["machine"]["usable_cores"], 1)
        ready = {p["name"]: p["ready"] for p in report["parts"]}
        self.assertTrue(ready["cpu"] and ready["ref"])
        self.assertFalse(ready["cuda"])
        done = e2e.run("doctor", self.model, "--json", "--kv-cache-bytes", "8MiB")
        self.assertEqual(done.returncode, 0, done.stderr)
        model = json.loads(done.stdout)["model"]
        self.assertEqual(model["family"], "llama")
        memory = model["memory"]
        self.assertGreater(memory["weight_bytes"], 0)
        self.assertGreater(memory["workspace_bytes"], 0)
        self.assertLessEqual(memory["kv_bytes"], 8 << 20)
        self.assertEqual(memory["kv_bytes"], memory["num_blocks"] * memory["block_bytes"])
        self.assertEqual(model["formats"][0]["backends"], ["cpu", "ref"])
        text = e2e.run("doctor", self.model)
        self.assertEqual(text.returncode, 0)
        self.assertIn("kv cache", text.stdout.decode())
        self.assertEqual(e2e.run("doctor", self.folder / "none.gguf").returncode, 1)

    def test_doctor_names_the_kernel_of_every_tensor(self):
        model = e2e.dummy(self.folder, "mixed.gguf", "--quant", "Q4_K_M", "--preset", "smollm2-135m")
        inspected = json.loads(e2e.run("model", "inspect", model, "--json").stdout)
        report = json.loads(e2e.run("doctor", "--kernels", model, "--json", "--cpu-tier", "avx2",
                                    "--threads", "1").stdout)
        self.assertEqual((report["linear"], report["tier"]), ("cpu", "avx2"))
        self.assertEqual(report["vectors"] + sum(t["tensors"] for t in report["tensors"]),
                         len(inspected["tensors"]))
        by_pattern = {}
        for tensor in report["tensors"]:
            by_pattern.setdefault(tensor["pattern"], []).append(tensor)
            rows, cols = tensor["shape"]
            self.assertEqual(tensor["layout"], "panels.r8")
            self.assertEqual([p["rows"] for p in tensor["products"]], [1, 8, 512])
            for product in tensor["products"]:
                self.assertEqual(product["kernel"], "linear.avx2." + tensor["format"])
                self.assertEqual(product["next"], "linear.unpacked_rows")
                self.assertGreater(product["next_cost_us"], product["cost_us"])
            if tensor["format"] == "Q8_0":  # rows fill whole panels of eight: the file's bytes
                self.assertEqual(tensor["bytes"], tensor["tensors"] * rows * cols // 32 * 34)
        self.assertEqual(sum(t["tensors"] for t in by_pattern["blk.*.attn_q.weight"]), 30)
        self.assertTrue(by_pattern["token_embd.weight"][0]["looked_up"])
        text = e2e.run("doctor", "--kernels", model).stdout.decode()
        self.assertIn("blk.*.ffn_down.weight", text)
        self.assertIn("products of all tensors: ", text)

    def test_doctor_says_who_computes_where_the_cpus_kernels_do_not(self):
        for arguments, layouts in ((["--op", "linear=ref"], {"panels.r8", "panels.r16"}),
                                   (["--backend", "ref"], {"rows"})):
            done = e2e.run("doctor", "--kernels", self.model, "--json", *arguments)
            self.assertEqual(done.returncode, 0, done.stderr)
            tensors = json.loads(done.stdout)["tensors"]
            self.assertEqual({p["kernel"] for t in tensors for p in t["products"]}, {"linear.ref"})
            self.assertLessEqual({t["layout"] for t in tensors}, layouts)

    def test_ops_of_the_cpus_back_end_need_its_streams(self):
        for command in (["doctor"], ["bench", "step"]):
            done = e2e.run(*command, self.model, "--backend", "ref", "--op", "linear=cpu")
            self.assertEqual(done.returncode, 2)
            self.assertIn("--op: 'linear=cpu'", done.stderr.decode())

    def test_doctor_kernels_needs_a_model_that_is_one(self):
        done = e2e.run("doctor", "--kernels")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--kernels: ", done.stderr.decode())
        done = e2e.run("doctor", "--kernels", self.folder / "none.gguf")
        self.assertEqual(done.returncode, 1)
        self.assertIn("none.gguf' is neither a file, a folder nor a known name", done.stderr.decode())
        done = e2e.run("doctor", "--kernels", self.path("notes.txt", "no model"))
        self.assertEqual(done.returncode, 1)
        self.assertTrue(one_line(done.stderr), done.stderr)
        self.assertIn("notes.txt", done.stderr.decode())

    def test_a_profiled_step_adds_up_and_is_drawn(self):
        trace = self.folder / "step.json"
        done = e2e.run("bench", "step", self.model, "--batch", 2, "--depth", 40, "--input-len", 50,
                       "--rounds", 3, "--profile", "--trace", trace, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual([s["step"] for s in report["steps"]], ["decode", "prefill"])
        self.assertEqual([s["tokens"] for s in report["steps"]], [2, 50])
        self.assertTrue(all(rate > 0 for rate in report["machine"].values()))
        for step in report["steps"]:
            profile = step["profile"]
            self.assertAlmostEqual(profile["ops_us"], sum(op["time_us"] for op in profile["ops"]), 3)
            self.assertAlmostEqual(profile["wall_us"], profile["ops_us"] + profile["between_ops_us"] +
                                   profile["beside_model_us"], 3)
            self.assertGreaterEqual({op["op"] for op in profile["ops"]}, {"paged_attention", "argmax"})
        slices = [e for e in json.loads(trace.read_text())["traceEvents"] if e["ph"] == "X"]
        calls = sum(op["calls"] for s in report["steps"] for op in s["profile"]["ops"])
        self.assertEqual(len(slices), calls + 6)  # and for each step: itself, model, choose
        done = e2e.run("bench", "step", self.model, "--trace", trace)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--trace: there is nothing to draw without --profile", done.stderr.decode())
        done = e2e.run("bench", "step", self.model, "--depth", 1_000_000)
        self.assertEqual(done.returncode, 1)
        self.assertIn("--depth", done.stderr.decode())

    def test_bad_model_files_give_one_line_with_the_offset(self):
        content = self.model.read_bytes()
        cut = self.path("cut.gguf", content[:1000])
        magic = self.path("magic.gguf", b"GGML" + content[4:])
        for command in (["serve", cut, "--port", 0], ["model", "inspect", cut], ["doctor", cut],
                        ["bench", "batch", cut]):
            done = e2e.run(*command)
            self.assertEqual(done.returncode, 1, command)
            self.assertRegex(done.stderr.decode() + done.stdout.decode(), r"(byte|offset) ?\d+")
        done = e2e.run("model", "inspect", magic)
        self.assertEqual(done.returncode, 1)
        self.assertTrue(one_line(done.stderr), done.stderr)
        self.assertIn("magic.gguf", done.stderr.decode())

    def test_a_missing_model_names_the_commands_that_fetch_one(self):
        done = e2e.run("serve", "no-such-model")
        self.assertEqual(done.returncode, 1)
        self.assertIn("plumb model fetch smollm2-135m-instruct", done.stderr.decode())
        env = {**os.environ, "XDG_CACHE_HOME": str(self.folder / "empty")}
        done = e2e.run("serve", "smollm2")
        self.assertEqual(done.returncode, 1)
        self.assertIn("did you mean smollm2-135m-instruct?", done.stderr.decode())
        done = e2e.run("chat", "smollm2-135m-instruct", env=env)
        self.assertEqual(done.returncode, 1)
        self.assertTrue(one_line(done.stderr), done.stderr)
        self.assertIn("plumb model fetch smollm2-135m-instruct", done.stderr.decode())

    def test_a_taken_port_is_one_line_and_temporary(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            done = e2e.run("serve", self.model, "--port", port)
        self.assertEqual(done.returncode, 75)
        self.assertTrue(one_line(done.stderr), done.stderr)
        self.assertIn(str(port), done.stderr.decode())

    def test_an_unreadable_file_and_too_little_memory_are_one_line(self):
        if os.geteuid() != 0:
            secret = self.path("secret.gguf", self.model.read_bytes())
            secret.chmod(0)
            done = e2e.run("serve", secret)
            self.assertEqual(done.returncode, 1)
            self.assertTrue(one_line(done.stderr), done.stderr)
        done = e2e.run("serve", self.model, "--port", 0, "--kv-cache-bytes", "4KiB")
        self.assertEqual(done.returncode, 1)
        self.assertTrue(one_line(done.stderr), done.stderr)
        self.assertIn("kv-cache-bytes", done.stderr.decode())

    def test_a_public_address_needs_a_private_key_file(self):
        done = e2e.run("serve", self.model, "--host", "0.0.0.0")
        self.assertEqual(done.returncode, 1)
        self.assertIn("--api-key-file", done.stderr.decode())
        keys = self.path("keys", "sk-0123456789abcdef\n")
        keys.chmod(0o644)
        done = e2e.run("serve", self.model, "--api-key-file", keys)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"--api-key-file: {keys}: ", done.stderr.decode())
        self.assertNotIn("sk-0123456789abcdef", done.stderr.decode())

    def test_every_usage_error_is_listed(self):
        done = e2e.run("bench", "batch", "--input-len", "0", "--batch", "many", "--block-size", "48")
        self.assertEqual(done.returncode, 2)
        errors = done.stderr.decode()
        for part in ("--input-len", "--batch", "--block-size", "MODEL"):
            self.assertIn(part, errors)
        self.assertEqual(done.stdout, b"")
        self.assertEqual(e2e.run().returncode, 2)
        self.assertEqual(e2e.run("no-such-command").returncode, 2)
        self.assertEqual(e2e.run("serve", self.model, "--no-such-flag").returncode, 2)
        done = e2e.run("serve", self.model, "--op", "linear=fast", "--op", "nonsense=ref",
                       "--backend", "meta")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(len(done.stderr.decode().splitlines()), 3, done.stderr)

    def test_a_bad_switch_is_a_usage_error_and_own_flags_have_no_variable(self):
        for command in (["tokenize", self.model, "--add-special=maybe"], ["doctor", "--json=maybe"],
                        ["serve", self.model, "--prefix-cache=maybe"]):
            done = e2e.run(*command)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(': "maybe" is not true or false\n', done.stderr.decode())
        env = {**os.environ, "PLUMB_JSON": "maybe", "PLUMB_OP": "linear=ref", "PLUMB_PORT": "abc"}
        self.assertEqual(e2e.run("model", "list", env=env).returncode, 0)
        done = e2e.run("serve", self.model, env=env)
        self.assertEqual(done.returncode, 2)
        self.assertIn('PLUMB_PORT: "abc" is not an integer', done.stderr.decode())
        self.assertNotIn("--port", done.stderr.decode())

    def test_an_unknown_option_is_named_alone_with_the_nearest_one(self):
        for flags, text in (
                (["--max-num-seq", 4], "unknown option '--max-num-seq'; did you mean '--max-num-seqs'?"),
                (["--prefix-cach=4"], "unknown option '--prefix-cach'; did you mean '--prefix-cache'?"),
                (["--no-prefix-cach"], "unknown option '--no-prefix-cach'; did you mean '--no-prefix-cache'?"),
                (["--tensor-parallel-size", 4], "unknown option '--tensor-parallel-size'"),
                (["second"], "unexpected argument 'second'")):
            done = e2e.run("serve", self.model, *flags)
            self.assertEqual(done.returncode, 2)
            self.assertEqual(done.stderr.decode().splitlines()[0], "plumb: " + text)

    def test_an_unknown_command_is_named(self):
        for line in (["nosuch"], ["version"], ["model", "nosuch"]):
            done = e2e.run(*line)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"unknown command '{line[-1]}'", done.stderr.decode())
        self.assertIn("unknown command 'serv'; did you mean 'serve'?", e2e.run("serv").stderr.decode())
        self.assertIn("did you mean 'list'?", e2e.run("model", "lst").stderr.decode())

    def test_help_and_version_end_with_0_and_show_defaults(self):
        self.assertRegex(e2e.run("--version").stdout.decode(), r"^plumb \d+\.\d+\.\d+ ")
        self.assertEqual(e2e.run("-V").stdout, e2e.run("--version").stdout)
        self.assertIn("--[no-]prefix-cache=on", e2e.run("serve", "--help").stdout.decode())
        self.assertIn("Exit codes", e2e.run("--help").stdout.decode())
        self.assertIn("a bare number is seconds", e2e.run("--help").stdout.decode())
        self.assertEqual(e2e.run("help").stdout, e2e.run("--help").stdout)
        self.assertEqual(e2e.run("help", "serve").stdout, e2e.run("serve", "--help").stdout)
        for command in ([], ["serve"], ["model", "dummy"], ["doctor"]):
            done = e2e.run(*command, "--help")
            self.assertEqual(done.returncode, 0)
            self.assertEqual(done.stderr, b"")
        self.assertIn("8000", e2e.run("serve", "--help").stdout.decode())

    def test_completion_knows_commands_flags_and_choices(self):
        script = e2e.run("completion", "bash")
        self.assertEqual(script.returncode, 0)
        if shutil.which("bash") is None:
            self.skipTest("no bash")
        path = self.path("complete.sh", script.stdout)

        def complete(*words):
            line = " ".join(f"'{w}'" for w in words)
            code = (f". {path}; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _plumb; "
                    'printf "%s\\n" "${COMPREPLY[@]}"')
            done = subprocess.run(["bash", "-c", code], capture_output=True, check=False)
            self.assertEqual(done.stderr, b"")
            return done.stdout.decode().split()

        self.assertEqual(complete("plumb", "do"), ["doctor"])
        self.assertNotIn("reference", complete("plumb", ""))
        self.assertEqual(complete("plumb", "model", "in"), ["inspect"])
        self.assertIn("--port", complete("plumb", "serve", "m.gguf", "--p"))
        self.assertEqual(complete("plumb", "serve", "--kv-dtype", "f"), ["f16", "f32"])
        self.assertEqual(complete("plumb", "model", "fetch", "smol"), ["smollm2-135m-instruct"])
        self.assertEqual(complete("plumb", "template", "smol"), ["smollm2-135m-instruct"])
        self.assertEqual(complete("plumb", "serve", "--backend", ""), ["cpu", "ref"])
        self.assertIn("rms_norm", complete("plumb", "check", "op", "--op", "rms"))
        self.assertEqual(complete("plumb", "serve", "--no-pre"), ["--no-prefix-cache"])
        self.assertEqual(e2e.run("completion", "tcsh").returncode, 2)

    def test_fish_completes_commands_options_and_values(self):
        script = e2e.run("completion", "fish").stdout
        self.assertIn(b"complete -c plumb", script)
        if shutil.which("fish") is None:
            self.skipTest("no fish")
        path = self.path("complete.fish", script)

        def complete(line):
            done = subprocess.run(["fish", "-c", f"source {path}; complete -C '{line}'"], capture_output=True, check=False)
            return [row.split("\t")[0] for row in done.stdout.decode().splitlines()]

        self.assertEqual(complete("plumb do"), ["doctor"])
        self.assertEqual(complete("plumb serve --max-num-s"), ["--max-num-seqs"])
        self.assertEqual(complete("plumb completion "), ["bash", "fish", "zsh"])
        self.assertEqual(complete("plumb model f"), ["fetch"])

    def test_zsh_completes_without_a_configuration(self):
        script = e2e.run("completion", "zsh").stdout
        self.assertIn(b"bashcompinit", script)
        if shutil.which("zsh") is None:
            self.skipTest("no zsh")
        path = self.path("complete.zsh", script)
        home = self.path("home", b"")
        code = (f". {path}; print -r -- $_comps[plumb]; COMP_WORDS=(plumb model fe); COMP_CWORD=2; "
                "setopt localoptions ksharrays; _plumb; print -r -- ${COMPREPLY[@]}")
        done = subprocess.run(["zsh", "-f", "-c", code], capture_output=True, check=False,
                              env=dict(os.environ, HOME=os.path.dirname(home), ZDOTDIR=os.path.dirname(home)))
        self.assertIn(b"_plumb", done.stdout, done.stderr)
        self.assertIn(b"fetch", done.stdout, done.stderr)

    def test_check_op_compares_and_prints_json(self):
        done = e2e.run("check", "op", "--op", "rms_norm", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        json.loads(done.stdout)
        done = e2e.run("check", "op", "--op", "no_such_op")
        self.assertEqual(done.returncode, 2)
        self.assertIn("rms_norm", done.stderr.decode())
        done = e2e.run("check", "op", "--op", "rms_norm", "--case", "no_such_case")
        self.assertEqual(done.returncode, 1)
        self.assertIn("those of rms_norm are ", done.stderr.decode())


if __name__ == "__main__":
    unittest.main()
