# SPDX-License-Identifier: Apache-2.0
"""Builds and installs what compare needs into one folder: peers, model files of each format, the bandwidth probe."""

import json
import os
import shutil
import subprocess
import sys

import children
import contestants
import peers
import rows as what

HERE = os.path.dirname(os.path.abspath(__file__))
IK_PACKAGE = "ik-llama-cpp-python==0.1.5"
OPENVINO_PACKAGE = "openvino-genai==2026.4.1.0"
GEMMA = os.path.join(peers.MODELS, "gemma-3-270m-q4_k_m.gguf")
BUILD_LIMIT = 4 * 3600  # seconds


def say(text):
    print(text, flush=True)


def llama_folder(folder, variant):
    """The programs of one build of llama.cpp; builds what is missing (minutes), RunError when that fails."""
    say(f"peers    llama.cpp, {variant} build, in {folder} (the first time takes minutes)")
    script = os.path.join(peers.ROOT, "bench", "peers", "build-llama")
    try:
        out = children.run([script, folder, variant], BUILD_LIMIT)
    except children.RunError as error:
        raise children.RunError(f"{error}; `bench/peers/build-llama {folder} {variant}` shows all that it says") from None
    return out.strip().splitlines()[-1]


def virtual_environment(folder, name, package):
    """The interpreter of a virtual environment that has the package; RunError when it cannot be installed."""
    where = os.path.join(folder, name)
    python, mark = os.path.join(where, "bin", "python3"), os.path.join(where, package)
    if not os.path.exists(mark):
        say(f"peers    {package} into {where}")
        children.run([sys.executable, "-m", "venv", where], BUILD_LIMIT)
        try:
            children.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", package], BUILD_LIMIT)
        except children.RunError as error:
            raise children.RunError(f"{package} cannot be installed, which needs the Python package index: {error}") from None
        with open(mark, "w", encoding="utf-8") as f:
            f.write("installed\n")
    return python


def bandwidth_program(folder):
    program, source = os.path.join(folder, "read_bandwidth"), os.path.join(HERE, "read_bandwidth.cc")
    if not os.path.exists(program) or os.path.getmtime(program) < os.path.getmtime(source):
        compiler = os.environ.get("CXX") or shutil.which("g++") or "c++"
        children.run([compiler, "-std=c++20", "-O3", "-march=native", "-fopenmp", "-o", program, source], BUILD_LIMIT)
    return program


def model_file(model, args, quantize):
    """The GGUF file of a model. Formats other than the fetched Q4_1 are made from it: dequantised to F16, then
    quantised; the values are those of Q4_1, which matters to no speed."""
    fetched = args.gemma if model.family == "gemma" else args.model
    if not os.path.exists(fetched):
        name = "gemma-3-270m" if model.family == "gemma" else "smollm2-135m-instruct"
        raise children.RunError(f"no model file {fetched}; run `plumb model fetch {name}`")
    if model.family == "gemma" or model.format == "Q4_1":
        return fetched
    folder = os.path.join(args.folder, "models")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"{os.path.basename(fetched).split('.')[0]}.{model.format}.gguf")
    if not os.path.exists(path):
        if not quantize:
            raise children.RunError("made by llama-quantize, and there is no build of llama.cpp")
        source, more = fetched, ["--allow-requantize"]
        if model.format != "F16":
            source, more = model_file(what.Model(model.family, "F16"), args, quantize), []
        say(f"models   {model.format} from {os.path.basename(source)}")
        children.run([quantize, *more, source, path + ".part", model.format, str(args.threads)], BUILD_LIMIT)
        os.replace(path + ".part", path)
    return path


def weight_bytes(plumb, path):
    """Bytes of weights that one decoded token reads: all tensors, but not an embedding table beside an output matrix."""
    report = json.loads(children.run([plumb, "model", "inspect", path, "--json"]))
    tensors = {t["name"]: t["bytes"] for t in report["tensors"]}
    is_tied = "output.weight" not in tensors
    return sum(size for name, size in tensors.items() if is_tied or name != "token_embd.weight")


def llama_build(args, isa, tier):
    """(folder, name of the build) for the tier. AMX builds that crash give way to one without, with a line."""
    if tier == "avx2":
        return llama_folder(args.folder, "avx2"), "avx2"
    if "amx_int8" not in isa:
        return llama_folder(args.folder, "native"), "native"
    if tier == "amx":
        folder = llama_folder(args.folder, "native")
        try:
            for more in (["-p", "64", "-n", "0"], ["-p", "0", "-n", "4"]):
                children.run([os.path.join(folder, "llama-bench"), "-m", args.model, "-r", "1", *more, "-t",
                              str(args.threads)], args.timeout)
            return folder, "native"
        except children.RunError as error:
            say(f"peers    llama.cpp with AMX does not run here ({error}); measuring it without AMX")
    return llama_folder(args.folder, "noamx"), "noamx"


def peers_of(args, isa, tier):
    """({name: contestant}, {name: why it is not there}, path of llama-quantize or None)."""
    there, missing, quantize = {}, {}, None
    is_limited = tier != what.widest_tier(isa)
    for name in what.PEERS:
        if name not in args.peers:
            missing[name] = "left out by --peers"
            continue
        try:
            if name == what.LLAMA:
                folder, build = llama_build(args, isa, tier)
                quantize = os.path.join(folder, "llama-quantize")
                there[name] = contestants.LlamaCpp(args, folder, build)
            elif name == what.IK:
                python = virtual_environment(args.folder, "ik", IK_PACKAGE)
                there[name] = contestants.IkLlamaCpp(args, python, IK_PACKAGE + " (wheel)")
            elif is_limited:
                missing[name] = f"cannot be limited to {tier}"
            else:
                python = virtual_environment(args.folder, "openvino", OPENVINO_PACKAGE)
                there[name] = contestants.OpenVino(args, python, OPENVINO_PACKAGE)
        except children.RunError as error:
            missing[name] = str(error)
            say(f"peers    {name} is left out: {error}")
    return there, missing, quantize


def commit():
    """The commit of this tree, with a + when files differ from it."""
    run = subprocess.run(["git", "-C", peers.ROOT, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=False)
    diff = subprocess.run(["git", "-C", peers.ROOT, "diff", "--quiet", "HEAD"], capture_output=True, check=False)
    return (run.stdout.strip() or "unknown") + ("+" if diff.returncode == 1 else "")
