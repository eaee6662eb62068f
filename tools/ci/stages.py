#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stages.py --release | --all | --ci: builds and runs the tests, stage by stage.

Prints what failed, how long each stage took, and `N passed, M failed` as the last line. A label
whose tests were all skipped counts as a failure: a green run must have tested something.
"""

import collections
import concurrent.futures
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
THREADED_MODULES = ("base", "net", "engine", "server", "frontend")
FUZZ_SECONDS = 20
REAL_MODELS = ("smollm2-135m-instruct", "gemma-3-270m", "all-minilm-l6-v2")
UNIT = ["-L", "^unit$"]
SHARD_TESTS = 50
SHARD_SECONDS = 600
JOBS = str(len(os.sched_getaffinity(0)))


class Results:
    """Counts, and the names of what failed."""

    def __init__(self):
        self.num_passed = 0
        self.num_skipped = 0
        self.failed = []
        self.minutes = []

    def add(self, name, ok):
        if ok:
            self.num_passed += 1
        else:
            self.failed.append(name)

    def print(self):
        print()
        for stage, minutes in self.minutes:
            print(f"{minutes:6.1f} min  {stage}")
        for name in self.failed:
            print(f"FAILED {name}")
        if self.num_skipped:
            print(f"{self.num_skipped} skipped")
        print(f"{self.num_passed} passed, {len(self.failed)} failed")
        return 1 if self.failed else 0


def run(command, **options):
    return subprocess.run(command, check=False, **{"cwd": ROOT, **options})


def quiet(command, **options):
    """Runs a command and shows its output only when it fails."""
    done = run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        print("\n".join(done.stdout.splitlines()[-80:]), flush=True)
    return done.returncode == 0


def configured(preset):
    return (os.path.exists(os.path.join(ROOT, "build", preset, "build.ninja")) or
            quiet(["cmake", "--preset", preset]))


def build(results, preset, *targets):
    """Builds the targets; a failure is one failed test, since nothing after it can run."""
    ok = configured(preset)
    command = ["cmake", "--build", f"build/{preset}", "-j", JOBS, "--", "-k", "0", *targets]
    ok = ok and quiet(command)
    results.add(f"build {preset} {' '.join(targets)}".rstrip(), ok)
    return ok


def listed_tests(folder, arguments):
    """What ctest knows of the tests that it would run."""
    shown = run(["ctest", "--test-dir", folder, "--show-only=json-v1", *arguments],
                capture_output=True, text=True)
    try:
        return json.loads(shown.stdout)["tests"]
    except (ValueError, KeyError):
        return []


def test_labels(folder, arguments):
    labels = {}
    for test in listed_tests(folder, arguments):
        for entry in test.get("properties", []):
            if entry["name"] == "LABELS":
                labels[test["name"]] = entry["value"]
    return labels


def ctest(results, where, folder, arguments=(), prefix=()):
    """Runs the tests of a build folder and adds each to the results."""
    report = os.path.join(ROOT, folder, "results.xml")
    if os.path.exists(report):
        os.remove(report)
    run([*prefix, "ctest", "--test-dir", folder, "-j", JOBS, "--output-on-failure", "--progress",
         "--quiet", "--output-junit", report, *arguments])
    labels = test_labels(folder, arguments)
    if not os.path.exists(report):
        results.add(f"{where}: ctest wrote no report", False)
        return
    num_run = {}
    for case in xml.etree.ElementTree.parse(report).getroot().iter("testcase"):
        name = case.get("name")
        # "notrun" is a test without its program; a test that skipped itself says so in a message.
        skip = case.find("skipped")
        skipped = skip is not None and "SKIP" in (skip.get("message") or "").upper()
        if skipped:
            results.num_skipped += 1
        else:
            ok = case.get("status") == "run" and case.find("failure") is None
            results.add(f"{where}: {name}", ok)
            if not ok:
                print_failure(case)
        for label in labels.get(name, []):
            num_run[label] = num_run.get(label, 0) + (0 if skipped else 1)
    for label, count in sorted(num_run.items()):
        if count == 0:
            results.add(f"{where}: every test of label '{label}' was skipped", False)


def print_failure(case):
    output = case.findtext("system-out") or ""
    print(f"--- {case.get('name')}\n" + "\n".join(output.splitlines()[-40:]), flush=True)


def run_shard(program, index, count, prefix):
    """Runs a part of a program's tests in one process; its outcomes, or none if one of them failed."""
    report = f"{program}.{index}.json"
    if os.path.exists(report):
        os.remove(report)
    environment = {**os.environ, "GTEST_TOTAL_SHARDS": str(count), "GTEST_SHARD_INDEX": str(index)}
    command = ["timeout", str(SHARD_SECONDS), *prefix, program, f"--gtest_output=json:{report}"]
    folder = os.path.dirname(program)
    if not quiet(command, cwd=folder, env=environment, errors="replace") or not os.path.exists(report):
        return []
    with open(report, encoding="utf-8") as file:
        suites = json.load(file)["testsuites"]
    return [test["result"] for suite in suites for test in suite["testsuite"]]


def unit_tests(results, where, folder, prefix=()):
    """Runs the unit tests of a build folder in few processes: under a sanitizer each start costs.

    A program with a failure fails as a whole, and runs again test by test to name what fails.
    """
    num_left = collections.Counter(
        test["command"][0] for test in listed_tests(folder, UNIT) if "command" in test)
    shards = []
    for program, num in num_left.items():
        count = -(-num // SHARD_TESTS)
        shards += [(program, index, count, prefix) for index in range(count)]
    num_passed = 0
    with concurrent.futures.ThreadPoolExecutor(int(JOBS)) as pool:
        for shard, outcomes in zip(shards, pool.map(lambda shard: run_shard(*shard), shards)):
            num_left[shard[0]] -= len(outcomes)
            num_passed += outcomes.count("COMPLETED")
            results.num_skipped += outcomes.count("SKIPPED")
    results.num_passed += num_passed
    if num_passed == 0 and not +num_left:
        results.add(f"{where}: every unit test was skipped", False)
    for program in +num_left:
        name = os.path.basename(program)
        results.add(f"{where}: {name}", False)
        ctest(results, where, folder, [*UNIT, "-R", f"^{name.removesuffix('_test')}:"], prefix)


def release_tests(results):
    if not quiet(["scripts/venv"]):
        results.add("scripts/venv", False)
    if build(results, "release"):
        for model in REAL_MODELS:  # tests of one that cannot be had are skipped, and say so
            quiet(["build/release/plumb", "model", "fetch", model])
        ctest(results, "release", "build/release")


def module_folders(preset, modules=("*", "kernels/*")):
    """Folders of src/ that have tests in the build, relative to its root."""
    base = os.path.join(ROOT, "build", preset)
    found = []
    for module in modules:
        for path in glob.glob(os.path.join(base, "src", module, "CTestTestfile.cmake")):
            with open(path, encoding="utf-8") as file:
                if "_test" in file.read():
                    found.append(os.path.relpath(os.path.dirname(path), base))
    return sorted(found)


def asan_tests(results):
    if not configured("asan"):
        results.add("configure asan", False)
    elif build(results, "asan", *[f"{folder}/all" for folder in module_folders("asan")]):
        unit_tests(results, "asan", "build/asan")


def tsan_tests(results):
    if not configured("tsan"):
        results.add("configure tsan", False)
        return
    folders = module_folders("tsan", THREADED_MODULES)
    # Some kernels place mappings where this TSan does not expect them unless told not to.
    prefix = ["setarch", "-R"] if shutil.which("setarch") else []
    if build(results, "tsan", *[f"{folder}/all" for folder in folders]):
        for folder in folders:
            unit_tests(results, f"tsan {folder}", f"build/tsan/{folder}", prefix)


def clang_build(results):
    build(results, "clang")


def fuzz(program):
    """Runs one fuzzer from its seeds; (its stem, whether it found nothing)."""
    stem = re.sub("_fuzz$", "", os.path.basename(program))
    found = os.path.join(ROOT, "build/clang/fuzz_corpus", stem)
    os.makedirs(found, exist_ok=True)
    corpora = [found]
    seeds = os.path.join(ROOT, "tests/fuzz/corpus", stem)
    if os.path.isdir(seeds):
        corpora.append(seeds)
    return stem, quiet([program, f"-max_total_time={FUZZ_SECONDS}", "-timeout=10", "-rss_limit_mb=2048",
                        f"-artifact_prefix=build/clang/{stem}-", *corpora],
                       timeout=FUZZ_SECONDS * 10, errors="replace")


def fuzzers(results):
    if not build(results, "clang", "fuzzers"):
        return
    programs = sorted(glob.glob(os.path.join(ROOT, "build/clang/tests/fuzz/*_fuzz")))
    with concurrent.futures.ThreadPoolExecutor(int(JOBS)) as pool:  # each is one thread
        for stem, ok in pool.map(fuzz, programs):
            results.add(f"fuzz {stem}", ok)


def static_checks(results):
    results.add("format", quiet(["scripts/format", "--check"]))
    for lint in ("docs", "forbidden", "layers", "shape", "unity"):
        results.add(f"lint {lint}", quiet(["python3", f"tools/lint/{lint}.py", "."]))


def headers(results):
    build(results, "release", "headers")


def tidy(results):
    results.add("tidy", quiet(["scripts/tidy"]))


STAGES = {
    "--release": [("release tests", release_tests)],
    "--all": [("release tests", release_tests), ("asan, unit tests", asan_tests),
              ("tsan, threaded modules", tsan_tests), ("fuzzers", fuzzers)],
    "--ci": [("format, lints, layering", static_checks), ("headers alone", headers),
             ("release tests", release_tests), ("asan, unit tests", asan_tests),
             ("tsan, threaded modules", tsan_tests), ("clang build", clang_build),
             ("fuzzers", fuzzers), ("tidy on changed files", tidy)],
}


def main():
    stages = STAGES.get(sys.argv[1] if len(sys.argv) == 2 else "")
    if stages is None:
        print("usage: stages.py --release | --all | --ci", file=sys.stderr)
        return 2
    results = Results()
    for name, stage in stages:
        print(f"== {name}", flush=True)
        start = time.monotonic()
        stage(results)
        results.minutes.append((name, (time.monotonic() - start) / 60))
    return results.print()


if __name__ == "__main__":
    sys.exit(main())
