# SPDX-License-Identifier: Apache-2.0
"""What compare measures and what it demands: models, jobs, rows and their bars. Data; nothing is run here."""

import dataclasses
import fnmatch

LLAMA, IK, OPENVINO, PLUMB = "llama.cpp", "ik_llama.cpp", "openvino", "plumb"
PEERS = (LLAMA, IK, OPENVINO)
TIERS = ("amx", "avx512", "avx2")  # from the widest; each includes those after it
FOUR_BIT = ("Q4_0", "Q4_1", "Q4_K_M")
SMOLLM2_FORMATS = ("Q4_1", "Q8_0", "Q4_K_M", "Q4_0", "F16")
LONG_LEN = 8191  # the longest prompt that a context of 8,192 tokens takes with one token of answer
HTTP_SHARE = 0.95  # of the bar without HTTP
FLOOR_SHARE = 0.85  # of the tokens a second that reading the weights at the measured bandwidth would give


@dataclasses.dataclass(frozen=True)
class Model:
    family: str  # "smollm2" or "gemma"
    format: str

    @property
    def name(self):
        return self.format if self.family == "smollm2" else f"{self.family}-{self.format}"


@dataclasses.dataclass(frozen=True)
class Job:
    """What is run once in each round by every contestant; several rows may read its figures."""

    kind: str  # "one" stream, "long" prompt, "streams", "http", "load"
    model: Model
    streams: int = 1

    @property
    def name(self):
        return f"{self.kind}{self.streams if self.streams > 1 else ''} {self.model.name}"


@dataclasses.dataclass(frozen=True)
class Bar:
    """At least `least` times the peer's median (the best peer's for "best"), or FLOOR_SHARE of the floor instead."""

    least: float
    against: str  # LLAMA or "best"
    across_four_bit: bool = False  # a peer's best on any 4-bit file of the model
    or_floor: bool = False

    def text(self):
        peer = "best peer" if self.against == "best" else self.against
        files = " on any 4-bit file" if self.across_four_bit else ""
        floor = f" or {100 * FLOOR_SHARE:.0f} % of the floor" if self.or_floor else ""
        return f">= {self.least:g} x {peer}{files}{floor}"


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    job: Job
    figure: str  # key of what a contestant's run reports
    unit: str
    bars: dict  # tier: Bar; empty = compared, nothing demanded
    more_is_better: bool = True
    scale: float = 1.0  # figure times scale has the unit

    @property
    def has_floor(self):
        return self.figure == "decode_tok_s" and self.job.streams == 1


def by_tier(amx, avx512, avx2, **more):
    return {tier: Bar(least, LLAMA, **more) for tier, least in zip(TIERS, (amx, avx512, avx2), strict=True)}


def prefill_bars(model):
    four_bit = model.family == "smollm2" and model.format in FOUR_BIT
    return {**by_tier(1.4, 2.5, 1.5), "amx": Bar(1.4, "best", across_four_bit=four_bit)}


def all_rows():
    models = [*(Model("smollm2", f) for f in SMOLLM2_FORMATS), Model("gemma", "Q4_K_M")]
    main = models[0]
    rows = []
    for model in models:
        bars = by_tier(2.5, 2.5, 1.8) if model == main else by_tier(1.8, 1.8, 1.3, or_floor=True)
        rows.append(Row(f"decode/{model.name}", Job("one", model), "decode_tok_s", "tok/s", bars))
    rows += [Row(f"prefill/{m.name}", Job("one", m), "prefill_tok_s", "tok/s", prefill_bars(m)) for m in models]
    rows.append(Row(f"prefill-long/{main.name}", Job("long", main), "prefill_tok_s", "tok/s", by_tier(1.5, 2.0, 1.3)))
    of_streams = {8: (5.0, 3.0, 2.0), 32: (10.0, 5.0, 3.0)}
    for streams, least in of_streams.items():
        rows.append(Row(f"streams-{streams}/{main.name}", Job("streams", main, streams), "decode_tok_s", "tok/s",
                        by_tier(*least)))
    rows.append(Row(f"http-8/{main.name}", Job("http", main, 8), "output_tok_s", "tok/s",
                    by_tier(*(round(HTTP_SHARE * least, 3) for least in of_streams[8]))))
    for model in models:
        job = Job("load", model)
        rows.append(Row(f"load/{model.name}", job, "load_s", "s", {}, more_is_better=False))
        rows.append(Row(f"memory/{model.name}", job, "peak_bytes", "MB", {}, more_is_better=False, scale=1e-6))
    return rows


def chosen_rows(patterns):
    """Rows whose name or group ("decode" of "decode/Q4_1") matches a pattern; the pattern that matches none, if any."""
    rows = all_rows()
    if not patterns:
        return rows, None
    picked = set()
    for pattern in patterns:
        hits = {r.name for r in rows if fnmatch.fnmatch(r.name, pattern) or fnmatch.fnmatch(r.name.split("/")[0], pattern)}
        if not hits:
            return [], pattern
        picked |= hits
    return [r for r in rows if r.name in picked], None


def jobs_of(rows):
    """The jobs of the rows, each once, and the figures that are wanted of it."""
    jobs = {}
    for row in rows:
        jobs.setdefault(row.job, []).append(row.figure)
    return jobs


def widest_tier(isa):
    return "amx" if "amx_int8" in isa else "avx512" if "avx512f" in isa else "avx2"


def is_within(tier, widest):
    return TIERS.index(tier) >= TIERS.index(widest)
