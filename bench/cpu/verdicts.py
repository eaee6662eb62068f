# SPDX-License-Identifier: Apache-2.0
"""From the runs of all jobs to a line for each row: medians, spread, ratios, floor, met or missed. Pure functions."""

import re

import peers
import rows as what

# A folder of some machine, up to the last name: what stays is a file's or a program's name.
FOLDERS = re.compile(r"(?<![\w.~/-])~?/(?:[\w.+@-]+/)+(?=[\w.])")


def without_folders(value):
    """The same JSON value whose texts name files and programs without their folders."""
    if isinstance(value, str):
        return FOLDERS.sub("", value)
    if isinstance(value, dict):
        return {key: without_folders(v) for key, v in value.items()}
    if isinstance(value, list):
        return [without_folders(v) for v in value]
    return value


def best_flags(runs, figure, more_is_better):
    """(flags, summary) of the best median among a contestant's {flags: [figures of a run, ...]}; None without values."""
    found = []
    for flags, values in runs.items():
        values = [v[figure] for v in values if figure in v]
        if values:
            found.append((flags, peers.summary(values)))
    pick = max if more_is_better else min
    return pick(found, key=lambda f: f[1]["median"], default=None)


def kept_flags(trial, figures, margin=0.25):
    """Flags worth measuring: {flags: figures of the trial run} within the margin of the best in any figure (higher is
    better), all where there is one only."""
    kept = set()
    for figure in figures:
        values = {flags: run[figure] for flags, run in trial.items() if figure in run}
        if values:
            limit = (1 - margin) * max(values.values())
            kept |= {flags for flags, value in values.items() if value >= limit}
    return [flags for flags in trial if flags in kept]


def peer_figure(row, bar, name, results):
    """What the bar compares with: the peer's median of this row, or its best on any 4-bit file of the model."""
    jobs = [row.job]
    if bar is not None and bar.across_four_bit:
        jobs = [job for job in results if job.kind == row.job.kind and job.streams == row.job.streams and
                job.model.family == row.job.model.family and job.model.format in what.FOUR_BIT]
    found = [best_flags(results[job].get(name, {}), row.figure, row.more_is_better) for job in jobs if job in results]
    medians = [f[1]["median"] for f in found if f]
    return (max if row.more_is_better else min)(medians, default=None)


def ratio_of(row, plumb, peer):
    """How many times better Plumb is: above 1 is better, whichever way the figure goes."""
    if not plumb or not peer:
        return None
    return round(plumb / peer if row.more_is_better else peer / plumb, 3)


def floor_of(row, results, weight_bytes):
    """(bytes a second, tokens a second at which reading the weights alone takes all the time), or None."""
    found = best_flags(results[row.job].get("bandwidth", {}), "bytes_per_s", True)
    if not row.has_floor or not found or not weight_bytes.get(row.job.model):
        return None
    bandwidth = found[1]["median"]
    return bandwidth, bandwidth / weight_bytes[row.job.model]


def verdict(row, tier, results, failures, weight_bytes):
    """The record of one row. `results`: {job: {contestant: {flags: [run, ...]}}}; `failures`: {job: {contestant: why}}."""
    stats, missing = {}, dict(failures.get(row.job, {}))
    for name in (what.PLUMB, *what.PEERS):
        found = best_flags(results[row.job].get(name, {}), row.figure, row.more_is_better)
        if found:
            stats[name] = {"flags": found[0], **found[1]}
        else:
            missing.setdefault(name, "gives no such figure")
    bar = row.bars.get(tier)
    plumb = stats[what.PLUMB]["median"] if what.PLUMB in stats else None
    figures = {name: peer_figure(row, bar, name, results) for name in what.PEERS}
    known = [v for v in figures.values() if v]
    best = (max if row.more_is_better else min)(known, default=None)
    record = {"row": row.name, "figure": row.figure, "unit": row.unit, "stats": stats, "missing": missing,
              "ratios": {name: ratio_of(row, plumb, value) for name, value in figures.items() if value},
              "ratio_to_best": ratio_of(row, plumb, best), "bar": bar.text() if bar else None, "bar_ratio": None,
              "met": None}
    floor = floor_of(row, results, weight_bytes)
    if floor:
        record["floor"] = {"bytes_per_s": round(floor[0]), "weight_bytes": weight_bytes[row.job.model],
                           "tok_s": round(floor[1], 2), "share": round(plumb / floor[1], 3) if plumb else None}
    if bar:
        ratio = record["ratio_to_best"] if bar.against == "best" else record["ratios"].get(bar.against)
        record["bar_ratio"] = ratio
        at_floor = bar.or_floor and floor and plumb and plumb >= what.FLOOR_SHARE * floor[1]
        if plumb is None or ratio is not None or at_floor:  # without the peer there is nothing to judge
            record["met"] = bool((ratio is not None and ratio >= bar.least) or at_floor)
    return record
