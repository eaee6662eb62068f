# SPDX-License-Identifier: Apache-2.0
"""Child processes that end with this program: each in a process group of its own, stopped on an error and on Ctrl-C."""

import contextlib
import os
import re
import signal
import subprocess

CRASH = re.compile(r"^.*(?:assert|what\(\)|terminate called).*$", re.IGNORECASE | re.MULTILINE)


class RunError(Exception):
    """A program that failed; the text is one line that says which and why."""


def stop_group(process):
    """SIGTERM to the process and its children; SIGKILL to what is left when it ended, or after five seconds."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(5)


def last_words(text):
    """The last line that says something."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "without a word"


def why_ended(code, said):
    """Exit status and last line; of a crash the line that tells of an assertion or exception, not the stack's last."""
    if code < 0:
        told = CRASH.search(said)
        return f"ended by {signal.Signals(-code).name}: {told.group(0).strip()[:300] if told else last_words(said)}"
    return f"exit status {code}: {last_words(said)}"


def run(command, timeout=1800, env=None):
    """Standard output of the command; RunError when it fails or takes longer than `timeout` seconds."""
    name = os.path.basename(command[0])
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, errors="replace", start_new_session=True, env=env)
    except OSError as error:
        raise RunError(f"{name}: {error.strerror}") from error
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        stop_group(process)
        process.communicate()
        raise RunError(f"{name}: no end after {timeout} s; give --timeout more") from None
    except BaseException:
        stop_group(process)
        raise
    if process.returncode != 0:
        raise RunError(f"{name}: {why_ended(process.returncode, err or out)}")
    return out
