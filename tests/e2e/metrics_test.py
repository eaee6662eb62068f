# SPDX-License-Identifier: Apache-2.0
"""/metrics under the names of other servers, read by Prometheus' own parser."""

import re
import unittest

from prometheus_client.parser import text_string_to_metric_families

import plumb_e2e as e2e

TTFT = [.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560]
TPOT = [.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80]
LATENCY = [.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680]
TOKENS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]  # up to the model's context of 1024
VLLM_BOUNDS = {
    "time_to_first_token_seconds": TTFT,
    "inter_token_latency_seconds": TPOT,
    "request_time_per_output_token_seconds": TPOT,
    "e2e_request_latency_seconds": LATENCY,
    "request_queue_time_seconds": LATENCY,
    "request_prefill_time_seconds": LATENCY,
    "request_decode_time_seconds": LATENCY,
    "request_inference_time_seconds": LATENCY,
    "request_prompt_tokens": TOKENS,
    "request_generation_tokens": TOKENS,
    "request_max_num_generation_tokens": TOKENS,
    "request_params_max_tokens": TOKENS,
    "request_params_n": [1, 2, 5, 10, 20],
    "iteration_tokens_total": [1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384],
}
NUM_REQUESTS = 3
NUM_GENERATED = 7
SECRET = "xylophone"


class Metrics(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        held = e2e.folder()
        folder = held.__enter__()
        cls.addClassCleanup(held.__exit__, None, None, None)
        model = e2e.dummy(folder, "tiny.gguf", "--context", "1024")
        cls.server = e2e.Server(model, "--metrics-compat", "vllm,sglang,llamacpp", "--chunk-tokens", "8")
        cls.addClassCleanup(cls.server.stop)
        cls.prompt_tokens = 0
        for i in range(NUM_REQUESTS):
            status, answer = cls.server.post("/v1/completions", {
                "prompt": f"{SECRET} {i} and a few more words", "max_tokens": NUM_GENERATED, "temperature": 0,
                "ignore_eos": True}, headers={"x-request-id": f"{SECRET}-{i}"})
            assert status == 200, answer
            cls.prompt_tokens += answer["usage"]["prompt_tokens"]
        cls.text = cls.server.request("GET", "/metrics")[2].decode()
        cls.families = list(text_string_to_metric_families(cls.text))
        cls.samples = {}
        for family in cls.families:
            for sample in family.samples:
                cls.samples[(sample.name, tuple(sorted(sample.labels.items())))] = sample.value

    def value(self, name, **labels):
        """The value of the only series of that name with these labels."""
        found = [value for (key, own), value in self.samples.items()
                 if key == name and set(labels.items()) <= set(own)]
        self.assertEqual(len(found), 1, (name, labels))
        return found[0]

    def test_no_name_and_no_series_comes_twice(self):
        for kind in ("HELP", "TYPE"):
            names = re.findall(rf"^# {kind} (\S+)", self.text, re.M)
            self.assertEqual(len(names), len(set(names)))
        series = [line.rsplit(" ", 1)[0] for line in self.text.splitlines() if not line.startswith("#")]
        self.assertEqual(len(series), len(set(series)))
        self.assertEqual(len(series), len(self.samples))

    def test_labels_come_from_the_configuration_only(self):
        self.assertNotIn(SECRET, self.text)
        for (name, labels) in self.samples:
            if name.startswith(("vllm:", "sglang:", "llamacpp:")):
                known = {"model_name", "engine", "finished_reason", "block_size", "num_gpu_blocks", "engine_type",
                         "tp_rank", "pp_rank", "moe_ep_rank", "mode", "stage", "le"}
                self.assertLessEqual({key for key, _ in labels}, known, name)
            if name.startswith("llamacpp:"):
                self.assertEqual(labels, ())

    def test_vllm_counters_and_gauges(self):
        for name, expected in {
                "num_requests_running": 0, "num_requests_waiting": 0, "kv_cache_usage_perc": 0,
                "num_preemptions_total": 0, "prompt_tokens_total": self.prompt_tokens,
                "generation_tokens_total": NUM_REQUESTS * NUM_GENERATED,
                "prefix_cache_queries_total": self.prompt_tokens}.items():
            self.assertEqual(self.value("vllm:" + name, model_name="tiny", engine="0"), expected, name)
        self.assertEqual(self.value("vllm:request_success_total", finished_reason="length"), NUM_REQUESTS)
        self.assertEqual(self.value("vllm:request_success_total", finished_reason="stop"), 0)
        self.assertEqual(self.value("vllm:cache_config_info", block_size="32"), 1)
        self.assertEqual(self.value("vllm:prefix_cache_hits_total"), self.value("plumb_prefix_hit_tokens_total"))

    def test_vllm_histograms_have_the_bounds_counts_and_sums(self):
        counts = {name: NUM_REQUESTS for name in VLLM_BOUNDS}
        counts["inter_token_latency_seconds"] = NUM_REQUESTS * (NUM_GENERATED - 1)
        counts["iteration_tokens_total"] = self.value("plumb_step_tokens_count")
        types = {family.name: family.type for family in self.families}
        for name, bounds in VLLM_BOUNDS.items():
            full = "vllm:" + name
            self.assertEqual(types[full], "histogram")
            found = {dict(labels)["le"]: value for (key, labels), value in self.samples.items()
                     if key == full + "_bucket"}
            self.assertEqual(sorted(map(float, found)), [*map(float, bounds), float("inf")], name)
            self.assertEqual(found["+Inf"], counts[name], name)
            self.assertEqual(self.value(full + "_count", model_name="tiny", engine="0"), counts[name], name)
        self.assertEqual(self.value("vllm:request_prompt_tokens_sum"), self.prompt_tokens)
        self.assertEqual(self.value("vllm:request_generation_tokens_sum"), NUM_REQUESTS * NUM_GENERATED)
        self.assertEqual(self.value("vllm:request_params_max_tokens_sum"), NUM_REQUESTS * NUM_GENERATED)
        self.assertEqual(self.value("vllm:request_params_n_sum"), NUM_REQUESTS)
        self.assertEqual(self.value("vllm:request_generation_tokens_bucket", le="5"), 0)
        self.assertEqual(self.value("vllm:request_generation_tokens_bucket", le="10"), NUM_REQUESTS)
        # Every known token was computed once: the prompts, what was generated but the last ones, no more.
        computed = self.prompt_tokens - self.value("plumb_prefix_hit_tokens_total") + NUM_REQUESTS * (NUM_GENERATED - 1)
        self.assertEqual(self.value("vllm:iteration_tokens_total_sum"), computed)
        parts = self.value("vllm:request_prefill_time_seconds_sum") + self.value("vllm:request_decode_time_seconds_sum")
        self.assertAlmostEqual(self.value("vllm:request_inference_time_seconds_sum"), parts, places=6)
        self.assertGreater(self.value("vllm:e2e_request_latency_seconds_sum"), parts)

    def test_sglang_names(self):
        for name, expected in {
                "num_running_reqs": 0, "num_queue_reqs": 0, "num_used_tokens": 0, "token_usage": 0,
                "num_retracted_reqs": 0, "num_grammar_cache_hit_total": 0, "num_grammar_timeout_total": 0,
                "queue_time_seconds_count": NUM_REQUESTS}.items():
            self.assertEqual(self.value("sglang:" + name, model_name="tiny", engine_type="unified"), expected, name)
        for name, expected in {
                "prompt_tokens_total": self.prompt_tokens, "generation_tokens_total": NUM_REQUESTS * NUM_GENERATED,
                "num_requests_total": NUM_REQUESTS, "num_aborted_requests_total": 0,
                "time_to_first_token_seconds_count": NUM_REQUESTS, "e2e_request_latency_seconds_count": NUM_REQUESTS,
                "inter_token_latency_seconds_count": NUM_REQUESTS * (NUM_GENERATED - 1)}.items():
            self.assertEqual(self.value("sglang:" + name, model_name="tiny"), expected, name)
        self.assertEqual(self.value("sglang:realtime_tokens_total", mode="decode"), NUM_REQUESTS * NUM_GENERATED)
        self.assertEqual(self.value("sglang:realtime_tokens_total", mode="prefill_cache"),
                         self.value("plumb_prefix_hit_tokens_total"))
        for stage in ("prefill_waiting", "prefill_forward", "decode_forward"):
            self.assertEqual(self.value("sglang:per_stage_req_latency_seconds_count", stage=stage), NUM_REQUESTS)

    def test_llamacpp_names(self):
        hits = self.value("plumb_prefix_hit_tokens_total")
        self.assertEqual(self.value("llamacpp:prompt_tokens_total"), self.prompt_tokens - hits)
        self.assertEqual(self.value("llamacpp:tokens_predicted_total"), NUM_REQUESTS * NUM_GENERATED)
        self.assertEqual(self.value("llamacpp:requests_processing"), 0)
        self.assertEqual(self.value("llamacpp:requests_deferred"), 0)
        self.assertEqual(self.value("llamacpp:n_busy_slots_per_decode"), 1)
        self.assertGreater(self.value("llamacpp:predicted_tokens_seconds"), 0)

    def test_what_users_miss_elsewhere_is_there(self):
        for reason in ("queued_requests", "queued_tokens", "predicted_ttft", "less_important"):
            self.assertEqual(self.value("plumb_admission_rejects_total", reason=reason), 0)
        for name in ("plumb_predicted_ttft_seconds", "plumb_recompute_tokens_total", "plumb_prefix_hit_rate",
                     "plumb_grammar_mask_seconds_count"):
            self.assertGreaterEqual(self.value(name), 0)
        self.assertEqual(self.value("plumb_step_planner_seconds_count"), self.value("plumb_step_tokens_count"))

    def test_without_the_option_no_other_names_are_shown(self):
        with e2e.folder() as folder, e2e.Server(e2e.dummy(folder)) as server:
            text = server.request("GET", "/metrics")[2].decode()
        self.assertIn("plumb_step_tokens", text)
        self.assertIsNone(re.search(r"^(# \w+ )?\w+:", text, re.M))

    def test_a_name_that_is_not_known_is_refused_at_start(self):
        with e2e.folder() as folder:
            done = e2e.run("serve", e2e.dummy(folder), "--metrics-compat", "vllm,tgi")
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"--metrics-compat: 'tgi' is not known", done.stderr)


if __name__ == "__main__":
    unittest.main()
