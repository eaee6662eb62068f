# SPDX-License-Identifier: Apache-2.0
"""Statistics, bars, table and child processes of bench/cpu/compare, on made-up figures."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench" / "peers"), str(ROOT / "bench" / "cpu")]

import children  # noqa: E402
import peers  # noqa: E402
import rows as what  # noqa: E402
import table  # noqa: E402
import verdicts  # noqa: E402

Q4_1, Q4_0, Q8_0 = (what.Model("smollm2", f) for f in ("Q4_1", "Q4_0", "Q8_0"))
MACHINE = {"cpu": "A CPU", "cores": 2, "memory_gib": 8.0, "isa": ["avx2", "avx512f"], "kernel": "6.1", "load": 0.1}


def row(name):
    return next(r for r in what.all_rows() if r.name == name)


def runs(figure, **of_contestants):
    """{contestant: {flags: [run, ...]}} from contestant=[values]; the peers' names with dots by alias."""
    names = {"llama": what.LLAMA, "ik": what.IK, "ov": what.OPENVINO, "plumb": what.PLUMB, "bandwidth": "bandwidth"}
    return {names[k]: {"flags": [{figure: v} for v in values]} for k, values in of_contestants.items()}


def verdict(name, tier, weight_bytes=None, failures=None, more=None, **of_contestants):
    r = row(name)
    results = {r.job: runs(r.figure, **of_contestants), **(more or {})}
    return verdicts.verdict(r, tier, results, failures or {}, weight_bytes or {})


class Rows(unittest.TestCase):

    def test_every_row_that_compares_speed_has_a_bar_at_every_tier(self):
        for r in what.all_rows():
            self.assertEqual(sorted(r.bars), [] if r.job.kind == "load" else sorted(what.TIERS), r.name)

    def test_the_bars_are_those_that_were_agreed(self):
        least = {r.name: [r.bars[t].least for t in what.TIERS] for r in what.all_rows() if r.bars}
        self.assertEqual(least["decode/Q4_1"], [2.5, 2.5, 1.8])
        self.assertEqual(least["decode/gemma-Q4_K_M"], [1.8, 1.8, 1.3])
        self.assertEqual(least["prefill/F16"], [1.4, 2.5, 1.5])
        self.assertEqual(least["prefill-long/Q4_1"], [1.5, 2.0, 1.3])
        self.assertEqual(least["streams-8/Q4_1"], [5.0, 3.0, 2.0])
        self.assertEqual(least["streams-32/Q4_1"], [10.0, 5.0, 3.0])
        self.assertEqual(least["http-8/Q4_1"], [4.75, 2.85, 1.9])

    def test_rows_are_chosen_by_name_group_and_pattern_in_their_own_order(self):
        picked, unknown = what.chosen_rows(["streams-8", "decode/Q4_?", "load/F16"])
        self.assertEqual([r.name for r in picked], ["decode/Q4_1", "decode/Q4_0", "streams-8/Q4_1", "load/F16"])
        self.assertIsNone(unknown)
        self.assertEqual(what.chosen_rows(["decode", "decoed"]), ([], "decoed"))

    def test_decode_and_prefill_of_a_file_are_one_job(self):
        picked, _ = what.chosen_rows(["*/Q8_0"])
        self.assertEqual(what.jobs_of(picked), {what.Job("one", Q8_0): ["decode_tok_s", "prefill_tok_s"],
                                                what.Job("load", Q8_0): ["load_s", "peak_bytes"]})

    def test_a_tier_holds_those_after_it(self):
        self.assertEqual(what.widest_tier(["avx2", "avx512f", "amx_int8"]), "amx")
        self.assertEqual(what.widest_tier(["avx2", "avx512f"]), "avx512")
        self.assertEqual(what.widest_tier(["avx2"]), "avx2")
        self.assertTrue(what.is_within("avx2", "avx512"))
        self.assertFalse(what.is_within("amx", "avx512"))


class Statistics(unittest.TestCase):

    def test_the_summary_has_median_range_and_half_the_quartiles_distance(self):
        s = peers.summary([10, 50, 20, 40, 30])
        self.assertEqual((s["median"], s["min"], s["max"], s["n"]), (30, 10, 50, 5))
        self.assertAlmostEqual(s["spread_percent"], 33.33, places=2)  # quartiles 20 and 40: 10 of 30

    def test_the_flags_with_the_best_median_count_not_those_with_the_best_run(self):
        tried = {"off": [{"x": 1}, {"x": 9}, {"x": 2}], "on": [{"x": 3}, {"x": 3}, {"x": 3}]}
        self.assertEqual(verdicts.best_flags(tried, "x", True)[0], "on")
        self.assertEqual(verdicts.best_flags(tried, "x", False)[0], "off")
        self.assertIsNone(verdicts.best_flags(tried, "y", True))

    def test_a_trial_keeps_flags_within_a_quarter_of_the_best_in_any_figure(self):
        trial = {"a": {"p": 100, "d": 10}, "b": {"p": 50, "d": 20}, "c": {"p": 75, "d": 10}, "e": {"p": 74, "d": 14}}
        self.assertEqual(verdicts.kept_flags(trial, ["p", "d"]), ["a", "b", "c"])
        self.assertEqual(verdicts.kept_flags(trial, ["p"]), ["a", "c"])


class Verdicts(unittest.TestCase):

    def test_ratios_are_of_medians_and_above_one_is_better(self):
        v = verdict("decode/Q4_1", "avx512", plumb=[240, 250, 270], llama=[90, 100, 110], ik=[120, 125, 130])
        self.assertEqual(v["ratios"], {what.LLAMA: 2.5, what.IK: 2.0})
        self.assertEqual((v["ratio_to_best"], v["bar"], v["bar_ratio"], v["met"]), (2.0, ">= 2.5 x llama.cpp", 2.5, True))
        self.assertEqual(v["missing"], {what.OPENVINO: "gives no such figure"})

    def test_just_below_is_missed(self):
        self.assertFalse(verdict("decode/Q4_1", "avx512", plumb=[249], llama=[100])["met"])

    def test_seconds_and_bytes_are_better_when_less(self):
        v = verdict("load/Q4_1", "avx2", plumb=[0.2], llama=[0.5], ik=[0.1])
        self.assertEqual((v["ratios"], v["ratio_to_best"]), ({what.LLAMA: 2.5, what.IK: 0.5}, 0.5))
        self.assertEqual((v["bar"], v["met"]), (None, None))

    def test_amx_prefill_of_a_four_bit_file_faces_the_peers_best_on_any_four_bit_file(self):
        other = {what.Job("one", Q4_0): runs("prefill_tok_s", plumb=[1], llama=[200], ov=[50]),
                 what.Job("one", Q8_0): runs("prefill_tok_s", plumb=[1], llama=[900])}
        v = verdict("prefill/Q4_1", "amx", plumb=[280], llama=[100], ov=[150], more=other)
        self.assertEqual(v["ratios"], {what.LLAMA: 1.4, what.OPENVINO: 1.867})
        self.assertTrue(v["met"])
        self.assertFalse(verdict("prefill/Q4_1", "amx", plumb=[279], llama=[100], more=other)["met"])
        below = verdict("prefill/Q4_1", "avx512", plumb=[249], llama=[100], ov=[500], more=other)
        self.assertEqual((below["ratios"][what.LLAMA], below["met"]), (2.49, False))

    def test_the_floor_is_the_bandwidth_over_the_weights_and_may_stand_for_the_ratio(self):
        weights = {Q8_0: 50}
        more = {"bandwidth": {"": [{"bytes_per_s": b} for b in (4000, 5000, 6000)]}}

        def of(plumb):
            r = row("decode/Q8_0")
            results = {r.job: {**runs(r.figure, plumb=[plumb], llama=[70]), **more}}
            return verdicts.verdict(r, "avx512", results, {}, weights)

        self.assertEqual(of(85)["floor"], {"bytes_per_s": 5000, "weight_bytes": 50, "tok_s": 100.0, "share": 0.85})
        self.assertTrue(of(85)["met"])
        self.assertFalse(of(84)["met"])
        self.assertTrue(of(126)["met"])

    def test_the_floor_does_not_stand_for_the_ratio_where_the_bar_does_not_say_so(self):
        r = row("decode/Q4_1")
        results = {r.job: {**runs(r.figure, plumb=[99], llama=[90]), "bandwidth": {"": [{"bytes_per_s": 5000}]}}}
        self.assertFalse(verdicts.verdict(r, "avx512", results, {}, {Q4_1: 50})["met"])

    def test_without_the_peer_nothing_is_judged_and_without_plumb_the_bar_is_missed(self):
        why = {row("decode/Q4_1").job: {what.LLAMA: "llama-bench: exit status 1: no"}}
        v = verdict("decode/Q4_1", "avx512", plumb=[100], ik=[10], failures=why)
        self.assertIsNone(v["met"])
        self.assertEqual(v["missing"][what.LLAMA], "llama-bench: exit status 1: no")
        self.assertIs(verdict("decode/Q4_1", "avx512", llama=[100])["met"], False)

    def test_texts_lose_folders_and_nothing_else(self):
        self.assertEqual(verdicts.without_folders(
            {"a": ["/opt/x/llama-bench -m /home/me/.cache/a-b/M.Q4_1.gguf --threads 2", 3],
             "b": "~/x/plumb at 12 tok/s, 1/2, docs/a.md, see /"}),
            {"a": ["llama-bench -m M.Q4_1.gguf --threads 2", 3], "b": "plumb at 12 tok/s, 1/2, docs/a.md, see /"})


def report(records):
    return {"machine": MACHINE, "date": "2026-12-01", "commit": "abc", "threads": 2, "rounds": 5, "rows": records,
            "versions": {what.PLUMB: "plumb 0.1.0", what.LLAMA: "native"}, "commands": ["plumb bench batch M.gguf"]}


class Table(unittest.TestCase):

    def test_a_row_shows_medians_spread_ratio_bar_and_verdict(self):
        v = verdict("decode/Q4_1", "avx512", plumb=[250, 250, 250], llama=[99.5, 99.5, 99.5])
        self.assertEqual(table.cells(v, 1.0), ["decode/Q4_1, tok/s", "250 ± 0 %", "99.5 ± 0 %", "–", "–", "–", "2.51 x",
                                               "≥ 2.5 × llama.cpp", "met (2.51)"])

    def test_bytes_are_shown_in_their_unit(self):
        v = verdict("memory/Q4_1", "avx512", plumb=[2e8], llama=[1e8])
        self.assertEqual(table.cells(v, row("memory/Q4_1").scale)[1:3], ["200 ± 0 %", "100 ± 0 %"])

    def test_the_section_names_machine_date_commit_commands_and_what_is_missing(self):
        job = row("decode/Q4_1").job
        v = verdict("decode/Q4_1", "avx512", plumb=[250], llama=[100], failures={job: {what.OPENVINO: "no | such\nfile"}})
        text = table.section("avx512", report([v]))
        for part in ("## AVX-512", "A CPU, 2 cores", "2026-12-01", "commit abc", "plumb bench batch M.gguf", "5 rounds",
                     "- openvino, decode/Q4_1: no / such file"):
            self.assertIn(part, text)
        lines = [line for line in text.splitlines() if line.startswith("|")]
        self.assertEqual({line.count("|") for line in lines}, {len(table.HEADER) + 1})

    def test_a_section_replaces_its_own_tier_only(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "page.md")
            with open(path, "w", encoding="utf-8") as f:
                f.write("# Speed\n")
            first = report([verdict("decode/Q4_1", "avx512", plumb=[111], llama=[1])])
            second = report([verdict("decode/Q4_1", "avx2", plumb=[222], llama=[1])])
            third = report([verdict("decode/Q4_1", "avx512", plumb=[333], llama=[1])])
            for tier, r in (("avx512", first), ("avx2", second), ("avx512", third)):
                table.write_page(path, tier, r)
            with open(path, encoding="utf-8") as f:
                text = f.read()
        self.assertEqual([text.count(n) for n in ("# Speed", "| 111 ±", "| 222 ±", "| 333 ±", "begin -->")], [1, 0, 1, 1, 2])
        self.assertLess(text.index("333"), text.index("222"))

    def test_half_a_pair_of_markers_is_an_error_that_names_the_remedy(self):
        begin, end = table.markers("amx")
        for page in (begin, end, end + begin):
            with self.assertRaisesRegex(ValueError, "put both back"):
                table.with_section(page, "amx", "x")


class Children(unittest.TestCase):

    def test_output_is_returned_and_failures_name_program_status_and_last_line(self):
        self.assertEqual(children.run([sys.executable, "-c", "print(7)"]), "7\n")
        with self.assertRaisesRegex(children.RunError, r"^python\S*: exit status 3: why$"):
            children.run([sys.executable, "-c", "import sys; print('x\\nwhy\\n', file=sys.stderr); sys.exit(3)"])
        with self.assertRaisesRegex(children.RunError, "ended by SIGILL"):
            children.run([sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGILL)"])
        self.assertEqual(children.why_ended(-6, "loading\nx.h:7: GGML_ASSERT(S > 0) failed\n#1 ggml_abort\n#2 main"),
                         "ended by SIGABRT: x.h:7: GGML_ASSERT(S > 0) failed")
        with self.assertRaisesRegex(children.RunError, "No such file"):
            children.run(["/nowhere/at-all"])

    def test_a_run_that_takes_too_long_is_stopped(self):
        with self.assertRaisesRegex(children.RunError, "give --timeout more"):
            children.run([sys.executable, "-c", "import signal; signal.pause()"], timeout=0.05)

    def test_the_whole_group_is_stopped_even_where_a_child_ignores_the_request(self):
        deaf = "import os, signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); os.write(1, b'x'); signal.pause()"
        script = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {deaf!r}]).wait()"
        process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, start_new_session=True)
        self.assertEqual(process.stdout.read(1), b"x")
        children.stop_group(process)
        self.assertEqual(process.stdout.read(), b"")  # the end comes when nobody holds the pipe any more
        process.stdout.close()
        self.assertEqual(process.returncode, -15)


class CommandLine(unittest.TestCase):

    def call(self, *arguments):
        run = subprocess.run([sys.executable, str(ROOT / "bench" / "cpu" / "compare"), *arguments], capture_output=True,
                             text=True, check=False)
        return run.returncode, run.stdout, run.stderr

    def test_the_list_has_every_row(self):
        code, out, _ = self.call("--list", "--tier", "avx2")
        self.assertEqual(code, 0)
        self.assertEqual([line.split()[0] for line in out.splitlines()[1:]], [r.name for r in what.all_rows()])
        self.assertIn(">= 1.8 x llama.cpp", out)

    def test_errors_name_the_option_and_the_remedy(self):
        for arguments, said in ((["--rounds", "0"], "--rounds 0: give 1 or more"),
                                (["--only", "speed"], "--list prints them"),
                                (["--peers", "x"], "give some of llama.cpp"),
                                (["--write-docs", "--rounds", "4"], "--rounds 5 or more"),
                                (["--plumb", "/nowhere/plumb"], "scripts/build release")):
            code, _, err = self.call(*arguments)
            self.assertEqual(code, 2)
            self.assertIn(said, err)


class Ledger(unittest.TestCase):

    def test_a_record_can_be_written_as_json(self):
        v = verdict("decode/Q4_1", "avx512", plumb=[1, 2, 3], llama=[1, 1, 1])
        self.assertEqual(json.loads(json.dumps(v)), v)


if __name__ == "__main__":
    unittest.main()
