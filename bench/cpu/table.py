# SPDX-License-Identifier: Apache-2.0
"""The table of compare: lines for the terminal, and a section of docs/performance.md for each instruction level."""

import os

import rows as what

HEADER = ("Row", "Plumb", *what.PEERS, "floor", "to the best", "bar", "")
NAMES = {"amx": "AMX", "avx512": "AVX-512", "avx2": "AVX2"}


def number(value, unit):
    if unit == "s":
        return f"{value:.2f}"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def cell(record, name, scale):
    stats = record["stats"].get(name)
    if not stats:
        return "–"
    return f"{number(scale * stats['median'], record['unit'])} ± {stats['spread_percent']:.0f} %"


def cells(record, scale):
    """One row of the table; HEADER names the columns, the last one holds the verdict and the ratio that it judges."""
    floor = record.get("floor")
    met = {True: "met", False: "MISSED", None: "not judged" if record["bar"] else ""}[record["met"]]
    ratio = record["ratio_to_best"]
    judged = f" ({record['bar_ratio']:.2f})" if record["bar_ratio"] else ""
    return [f"{record['row']}, {record['unit']}",
            *(cell(record, name, scale) for name in (what.PLUMB, *what.PEERS)),
            f"{number(floor['tok_s'], record['unit'])} ({100 * floor['share']:.0f} %)" if floor and floor["share"] else "–",
            f"{ratio:.2f} x" if ratio else "–", (record["bar"] or "–").replace(">=", "≥").replace(" x ", " × "), met + judged]


def scales():
    return {row.name: row.scale for row in what.all_rows()}


def text_lines(records):
    """The table for the terminal, columns padded."""
    scale = scales()
    lines = [list(HEADER), *(cells(r, scale[r["row"]]) for r in records)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEADER))]
    return ["  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines]


def markers(tier):
    return f"<!-- bench/cpu/compare {tier}: begin -->", f"<!-- bench/cpu/compare {tier}: end -->"


def section(tier, report):
    """The text between the markers of one tier: machine, date, commands, commit, table, what is missing and why."""
    machine = report["machine"]
    begin, end = markers(tier)
    lines = [begin, f"## {NAMES[tier]}", "",
             f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB, {' '.join(machine['isa'])}, Linux "
             f"{machine['kernel']}; {report['date']}; commit {report['commit']}; {report['versions'][what.PLUMB]}; "
             f"{report['threads']} threads; {report['rounds']} rounds in turn, load {machine['load']} at the start.", "",
             "Peers: " + "; ".join(f"{name}: {text}" for name, text in report["versions"].items() if name != what.PLUMB) + ".",
             "", "| " + " | ".join(HEADER).strip() + " |", "|" + "---|" * len(HEADER)]
    scale = scales()
    lines += ["| " + " | ".join(cells(r, scale[r["row"]])) + " |" for r in report["rows"]]
    missing = sorted({(name, why) for r in report["rows"] for name, why in r["missing"].items()})
    if missing:
        lines += ["", "Without a figure:"]
        for name, why in missing:
            where = ", ".join(r["row"] for r in report["rows"] if r["missing"].get(name) == why)
            lines.append(f"- {name}, {where}: {one_line(why)}")
    lines += ["", "Commands of the last round:", "```", *report["commands"], "```", end]
    return "\n".join(lines)


def one_line(text):
    return " ".join(text.replace("|", "/").split())


def with_section(text, tier, body):
    """The page with the tier's section replaced, or added at its end."""
    begin, end = markers(tier)
    start, stop = text.find(begin), text.find(end)
    if start == -1 and stop == -1:
        return text.rstrip("\n") + "\n\n" + body + "\n"
    if start == -1 or stop < start:
        raise ValueError(f"the page has one of '{begin}' and '{end}' only, or in the wrong order; put both back, in order")
    return text[:start] + body + text[stop + len(end):]


def write_page(path, tier, report):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    text = with_section(text, tier, section(tier, report))
    part = path + ".part"
    with open(part, "w", encoding="utf-8") as f:
        f.write(text)
    os.replace(part, path)
