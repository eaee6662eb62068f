# SPDX-License-Identifier: Apache-2.0
"""The order of runs, failures, interruption and commands of bench/cpu/compare, with contestants that compute nothing."""

import argparse
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench" / "peers"), str(ROOT / "bench" / "cpu")]

import children  # noqa: E402
import contestants  # noqa: E402
import provide  # noqa: E402
import rows as what  # noqa: E402

LOADER = importlib.machinery.SourceFileLoader("compare", str(ROOT / "bench" / "cpu" / "compare"))
compare = importlib.util.module_from_spec(importlib.util.spec_from_loader("compare", LOADER))
LOADER.exec_module(compare)

INFO = {"cpu": "A CPU", "cores": 2, "memory_gib": 8.0, "isa": ["avx2", "avx512f"], "kernel": "6.1", "load": 0.1}


class Fake:
    """A contestant whose runs give figures by flags; an exception among them is raised."""

    def __init__(self, name, log, **speeds):
        self.name, self.version, self.log, self.speeds = name, "1", log, speeds

    def variants(self, job, _path, _wanted):
        if job.kind == "http" and self.name == what.IK:
            raise contestants.Unavailable("its package has no server")
        return [contestants.Variant(flags, [[f"/some/folder/{self.name}", flags]], self.runner(flags))
                for flags in self.speeds]

    def runner(self, flags):
        def run(seed):
            self.log.append((seed, self.name, flags))
            speed = self.speeds[flags](seed) if callable(self.speeds[flags]) else self.speeds[flags]
            if isinstance(speed, BaseException):
                raise speed
            return {"decode_tok_s": speed, "prefill_tok_s": speed, "output_tok_s": speed, "load_s": None}

        return run


def options(only, rounds=2, **more):
    rows, _ = what.chosen_rows([only])
    return argparse.Namespace(rows=rows, rounds=rounds, tier="avx512", plumb_tier="auto", plumb="plumb", folder="/f", threads=2,
                              plumb_flags=[], timeout=9, no_ledger=True, write_docs=False, provide_only=False, model="M", gemma="G",
                              peers=list(what.PEERS), input_len=512, output_len=128, long_len=8191, streams_len=512, http_requests=4, **more)


class Measured(unittest.TestCase):

    def measure(self, args, log, plumb, peers_there, missing=None):
        """(exit status, what was printed, the run) of compare with fakes."""
        made = []

        class Run(compare.Run):
            def __init__(self, *arguments):
                super().__init__(*arguments)
                made.append(self)

        out = io.StringIO()
        with mock.patch.object(provide, "peers_of", lambda *_: ({p.name: p for p in peers_there}, missing or {}, None)), \
             mock.patch.object(provide, "model_file", lambda model, *_: model.name), \
             mock.patch.object(provide, "weight_bytes", lambda *_: 50), \
             mock.patch.object(provide, "bandwidth_program", mock.Mock(side_effect=children.RunError("no compiler"))), \
             mock.patch.object(contestants, "Plumb", lambda *_: plumb), mock.patch.object(compare, "Run", Run), \
             contextlib.redirect_stdout(out):
            status = compare.measure(args, INFO)
        return status, out.getvalue(), made[0]

    def test_contestants_take_turns_and_each_round_begins_with_another(self):
        log = []
        status, _, _ = self.measure(options("decode/Q4_1"), log, Fake(what.PLUMB, log, a=300),
                                    [Fake(what.LLAMA, log, off=50, on=100), Fake(what.IK, log, x=90)])
        self.assertEqual(log, [(0, what.PLUMB, "a"), (0, what.LLAMA, "off"), (0, what.LLAMA, "on"), (0, what.IK, "x"),
                               (1, what.PLUMB, "a"), (1, what.LLAMA, "on"), (1, what.IK, "x"),
                               (2, what.LLAMA, "on"), (2, what.IK, "x"), (2, what.PLUMB, "a")])
        self.assertEqual(status, 0)

    def test_a_missed_bar_gives_one(self):
        log = []
        status, out, _ = self.measure(options("decode/Q4_1"), log, Fake(what.PLUMB, log, a=249), [Fake(what.LLAMA, log, on=100)])
        self.assertEqual(status, 1)
        self.assertIn("MISSED   decode/Q4_1 >= 2.5 x llama.cpp: llama.cpp 2.49 x", out)

    def test_a_peer_that_fails_is_named_with_its_reason_and_the_rest_goes_on(self):
        log = []
        broken = Fake(what.LLAMA, log, on=children.RunError("llama-bench: ended by SIGILL: x"))
        status, out, run = self.measure(options("decode/Q4_1"), log, Fake(what.PLUMB, log, a=300), [broken, Fake(what.IK, log, x=90)],
                                        {what.OPENVINO: "left out by --peers"})
        self.assertEqual(len([entry for entry in log if entry[1] == what.LLAMA]), 1)
        self.assertEqual(list(run.failures.values()), [{what.LLAMA: "llama-bench: ended by SIGILL: x",
                                                        what.OPENVINO: "left out by --peers"}])
        self.assertIn("without a verdict, as the peer gave no figure: decode/Q4_1", out)
        self.assertEqual(status, 1)

    def test_one_failed_round_ends_these_flags_and_keeps_what_they_gave(self):
        log = []
        flaky = Fake(what.LLAMA, log, on=lambda seed: SystemExit("a server\ndied") if seed == 2 else 100)
        status, _, run = self.measure(options("decode/Q4_1", rounds=3), log, Fake(what.PLUMB, log, a=300), [flaky])
        runs = next(iter(run.results.values()))
        self.assertEqual([len(runs[n][f]) for n, f in ((what.PLUMB, "a"), (what.LLAMA, "on"))], [3, 1])
        self.assertEqual(status, 0)

    def test_what_cannot_run_a_job_says_why(self):
        log = []
        _, out, run = self.measure(options("http-8"), log, Fake(what.PLUMB, log, a=300), [Fake(what.LLAMA, log, on=100), Fake(what.IK, log, x=1)])
        self.assertIn("ik_llama.cpp: its package has no server", out)
        record = compare.report_of(run, options("http-8"), INFO, False)["rows"][0]
        self.assertEqual(record["missing"], {what.IK: "its package has no server", what.OPENVINO: "gives no such figure"})

    def test_ctrl_c_ends_with_130_and_the_finished_rows(self):
        log = []
        ends = Fake(what.LLAMA, log, on=lambda seed: KeyboardInterrupt() if len(log) > 6 else 100)
        status, out, run = self.measure(options("decode"), log, Fake(what.PLUMB, log, a=300), [ends])
        self.assertEqual((status, len(run.results)), (130, 1))
        self.assertIn("interrupted; 1 of 6 jobs are finished", out)
        self.assertIn("met      decode/Q4_1", out)

    def test_the_report_names_programs_without_folders(self):
        log = []
        args = options("decode/Q4_1")
        _, _, run = self.measure(args, log, Fake(what.PLUMB, log, a=300), [Fake(what.LLAMA, log, on=100)])
        self.assertEqual(compare.report_of(run, args, INFO, False)["commands"], ["plumb a", "llama.cpp on"])


class Commands(unittest.TestCase):

    def commands(self, contestant, kind, streams=1, wanted=("decode_tok_s", "prefill_tok_s")):
        job = what.Job(kind, what.Model("smollm2", "Q4_1"), streams)
        return [" ".join(c) for v in contestant.variants(job, "M.gguf", wanted) for c in v.commands]

    def test_llama_is_asked_for_the_figures_that_are_wanted_with_both_attentions(self):
        llama = contestants.LlamaCpp(options("decode"), "/b", "native")
        self.assertEqual(self.commands(llama, "one", wanted=["decode_tok_s"]),
                         [f"/b/llama-bench -m M.gguf -r 1 -t 2 -fa {fa} -o json -p 0 -n 128 -d 512" for fa in (0, 1)])
        self.assertEqual(self.commands(llama, "long", wanted=["prefill_tok_s"])[0],
                         "/b/llama-bench -m M.gguf -r 1 -t 2 -fa 0 -o json --no-warmup -p 8191 -n 0")
        self.assertIn("-npp 512 -ntg 128 -npl 32 -c 20480", self.commands(llama, "streams", 32)[1])
        self.assertIn("-np 8 -c 8192 -fa on", self.commands(llama, "http", 8)[1])

    def test_plumb_runs_as_many_requests_as_there_are_streams_at_the_tier(self):
        with mock.patch.object(contestants.peers, "version_of", lambda _: "plumb 1"):
            plumb = contestants.Plumb(options("decode"), "avx2")
        self.assertEqual(self.commands(plumb, "streams", 8), [
            "plumb bench batch M.gguf --input-len 512 --output-len 128 --batch 8 --repeats 1 --threads 2 --cpu-tier avx2 --json"])
        self.assertIn("--input-len 8191 --output-len 1 --batch 1 --repeats 1 --warmup 0", self.commands(plumb, "long")[0])

    def test_packages_run_in_their_own_interpreter(self):
        ik = contestants.IkLlamaCpp(options("decode"), "/v/python3", "1")
        one = self.commands(ik, "one")
        self.assertTrue(all(c.startswith("/v/python3 ") and "ik_driver.py M.gguf" in c for c in one))
        self.assertEqual([c[-10:] for c in one], ["--repack 0", "--repack 1"])
        self.assertIn("--flash-attention 0 --repack 1", self.commands(ik, "streams", 8)[2])
        with self.assertRaisesRegex(contestants.Unavailable, "no server"):
            self.commands(contestants.OpenVino(options("decode"), "/v/python3", "1"), "http", 8)


class Provided(unittest.TestCase):

    def test_weights_count_an_embedding_table_only_where_it_is_the_output_matrix(self):
        tied = '{"tensors": [{"name": "token_embd.weight", "bytes": 7}, {"name": "blk.0.attn_q.weight", "bytes": 5}]}'
        apart = tied.replace("blk.0.attn_q", "output")
        for text, count in ((tied, 12), (apart, 5)):
            with mock.patch.object(children, "run", lambda _command, text=text: text):
                self.assertEqual(provide.weight_bytes("plumb", "M"), count)

    def test_formats_are_made_from_the_fetched_file_by_way_of_f16_and_once(self):
        with tempfile.TemporaryDirectory() as folder:
            args = options("decode")
            args.folder, args.model = folder, os.path.join(folder, "Smol.Q4_1.gguf")
            asked = []

            def quantize(command, _limit):
                asked.append([os.path.basename(c) for c in command])
                pathlib.Path(command[-3]).touch()

            with self.assertRaisesRegex(children.RunError, "plumb model fetch smollm2-135m-instruct"):
                provide.model_file(what.Model("smollm2", "Q8_0"), args, "q")
            pathlib.Path(args.model).touch()
            with self.assertRaisesRegex(children.RunError, "no build of llama.cpp"):
                provide.model_file(what.Model("smollm2", "Q8_0"), args, None)
            with mock.patch.object(children, "run", quantize), contextlib.redirect_stdout(io.StringIO()):
                for _ in range(2):
                    path = provide.model_file(what.Model("smollm2", "Q8_0"), args, "q")
            self.assertEqual(os.path.basename(path), "Smol.Q8_0.gguf")
            self.assertEqual(asked, [["q", "--allow-requantize", "Smol.Q4_1.gguf", "Smol.F16.gguf.part", "F16", "2"],
                                     ["q", "Smol.F16.gguf", "Smol.Q8_0.gguf.part", "Q8_0", "2"]])

    def test_a_build_that_crashes_with_amx_gives_way_to_one_without(self):
        built, args = [], options("decode")
        crash = mock.Mock(side_effect=children.RunError("llama-bench: ended by SIGILL"))
        with mock.patch.object(provide, "llama_folder", lambda _folder, variant: built.append(variant) or variant), \
             contextlib.redirect_stdout(io.StringIO()) as out:
            with mock.patch.object(children, "run", crash):
                self.assertEqual(provide.llama_build(args, ["avx2", "avx512f", "amx_int8"], "amx"), ("noamx", "noamx"))
            with mock.patch.object(children, "run", lambda *_: ""):
                self.assertEqual(provide.llama_build(args, ["avx2", "avx512f", "amx_int8"], "amx"), ("native", "native"))
            self.assertEqual(provide.llama_build(args, ["avx2", "avx512f", "amx_int8"], "avx512"), ("noamx", "noamx"))
            self.assertEqual(provide.llama_build(args, ["avx2", "avx512f"], "avx512"), ("native", "native"))
            self.assertEqual(provide.llama_build(args, ["avx2", "avx512f"], "avx2"), ("avx2", "avx2"))
        self.assertIn("with AMX does not run here (llama-bench: ended by SIGILL)", out.getvalue())
        self.assertEqual(built, ["native", "noamx", "native", "noamx", "native", "avx2"])


if __name__ == "__main__":
    unittest.main()
