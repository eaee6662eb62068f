# SPDX-License-Identifier: Apache-2.0
"""Modules of the web console alone, in the browser that runs them: streams, metrics, Markdown."""

import json
import unittest

import browser as browsers
import plumb_e2e as e2e

if browsers.program() is None:
    e2e.skip("no chromium (scripts/install-deps test)")

METRICS = """# HELP plumb_x a "help" {line}
# TYPE plumb_x counter
plumb_x{reason="a\\\\b\\"c\\nd",n="1"} 3
plumb_x{reason="z"} 4
plumb_nan NaN
plumb_t_bucket{le="0.5"} 2
plumb_t_bucket{le="1"} 2
plumb_t_bucket{le="2"} 6
plumb_t_bucket{le="+Inf"} 8
plumb_t_sum 11.5
plumb_t_count 8
"""
LINEAR_SECONDS = 20  # each takes some milliseconds; a quadratic one takes minutes
NESTED = {  # what a model may repeat without end
    "emphasis": "*a _b **c ~~d " * 20000, "brackets": "[" * 100000, "links": "[a](" * 40000,
    "ticks": "`" + "`` ``` " * 20000, "stars": "x" + "*" * 100000, "quotes": "> " * 20000 + "x",
    "items": "\n".join("  " * (i % 60) + "- x" for i in range(20000)), "open": "```\n" + "x\n" * 50000,
    "table": "|" * 20001 + "\n" + "|-" * 20000 + "|\n" + "a|\n" * 20000, "blanks": "- a" + "\n" * 100000 + "- b",
    "heading": "# " + " " * 100000 + "x", "fence": "```" + " " * 100000 + "`x", "padded": "` " + "x" * 100000 + "`",
    "ends": "https://a" + ")" * 100000 + "x", "hosts": "http://[" * 20000, "escapes": "\\" * 100000, "urls": "https://a.b/" * 10000,
}


class Modules(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        held = e2e.folder()
        folder = held.__enter__()
        cls.addClassCleanup(held.__exit__, None, None, None)
        cls.server = e2e.Server(e2e.dummy(folder))
        cls.addClassCleanup(cls.server.stop)
        cls.browser = browsers.Browser()
        cls.addClassCleanup(cls.browser.close)
        cls.page = cls.browser.open(cls.server.url + "/")

    def run_with(self, module, names, body):
        """The value that a body returns, with these names of a module."""
        url = json.dumps(f"{self.server.url}/web/{module}")
        return self.page.evaluate(f"import({url}).then(async ({{ {names} }}) => {{ {body} }})")

    def test_events_are_the_same_wherever_the_stream_is_cut(self):
        text = "data: a\r\n\r\n:note\n\ndata:b\ndata: c\n\nevent: x\ndata: \u00e9\u20ac\U0001f600\r\rid: 1\n\ndata: lost\n"
        found = self.run_with("sse.js", "eventData", f"""
            const bytes = new TextEncoder().encode({json.dumps(text)});
            const all = new Set();
            for (let cut = 0; cut <= bytes.length; ++cut) {{
                for (const size of [1, cut || 1]) {{
                    const body = new ReadableStream({{ start(out) {{
                        out.enqueue(bytes.slice(0, cut));
                        for (let i = cut; i < bytes.length; i += size) {{
                            out.enqueue(bytes.slice(i, i + size));
                        }}
                        out.close();
                    }} }});
                    const data = [];
                    for await (const item of eventData(body)) {{
                        data.push(item);
                    }}
                    all.add(JSON.stringify(data));
                }}
            }}
            return [...all];""")
        self.assertEqual([json.loads(item) for item in found], [["a", "b\nc", "\u00e9\u20ac\U0001f600"]])

    def test_metrics_are_read_with_labels_and_histograms_have_quantiles(self):
        found = self.run_with(
            "prometheus.js", "parseMetrics, valueOf, histogramOf, since, quantile, countOf", f"""
            const samples = parseMetrics({json.dumps(METRICS)});
            const t = histogramOf(samples, "plumb_t");
            const none = histogramOf(samples, "plumb_none");
            return {{ x: samples.get("plumb_x"), first: valueOf(samples, "plumb_x"),
                nan: [valueOf(samples, "plumb_nan"), valueOf(samples, "none")].map(String),
                bounds: t.bounds.map(String), counts: t.counts, count: countOf(t),
                quantiles: [0.1, 0.25, 0.5, 0.75, 0.99].map((part) => quantile(t, part)),
                none: [countOf(none), quantile(none, 0.5)],
                later: since(t, {{ bounds: t.bounds, counts: [1, 0, 4, 0] }}).counts,
                restarted: since(t, {{ bounds: t.bounds, counts: [3, 0, 4, 0] }}).counts }};""")
        self.assertEqual(found["x"], [{"labels": {"reason": 'a\\b"c\nd', "n": "1"}, "value": 3},
                                      {"labels": {"reason": "z"}, "value": 4}])
        self.assertEqual((found["first"], found["nan"]), (3, ["NaN", "NaN"]))
        self.assertEqual((found["bounds"], found["counts"]), (["0.5", "1", "2", "Infinity"], [2, 0, 4, 2]))
        self.assertEqual((found["count"], found["none"]), (8, [0, None]))
        # 0.8 of the first 2 up to 0.5; 4 of 8 is the second of 4 between 1 and 2; the last bin has no end.
        self.assertEqual(found["quantiles"], [0.2, 0.5, 1.5, 2, 2])
        self.assertEqual((found["later"], found["restarted"]), ([1, 0, 0, 2], [2, 0, 4, 2]))

    def test_markdown_of_any_kind_is_drawn_in_linear_time(self):
        for name, text in NESTED.items():
            seconds, length = self.run_with("markdown.js", "MarkdownView", f"""
                const begin = performance.now();
                const view = new MarkdownView(document.createElement("div"));
                view.update({json.dumps(text)});
                return [(performance.now() - begin) / 1000, view.container.textContent.length];""")
            self.assertLess(seconds, LINEAR_SECONDS, name)
            self.assertGreater(length, 0, name)

    def test_markdown_that_grows_ends_as_the_whole_does_and_keeps_its_nodes(self):
        text = "para *one*\n\n- a\n- b\n\n  more\n\n1. x\n2. y\n\n```js\ncode\n\nmore\n```\n| a |\n|---|\n| `1` |\n\nend **bold**"
        same, kept = self.run_with("markdown.js", "MarkdownView", f"""
            const text = {json.dumps(text)};
            const whole = new MarkdownView(document.createElement("div"));
            whole.update(text);
            const grown = new MarkdownView(document.createElement("div"));
            let first = null;
            for (let i = 0; i <= text.length; ++i) {{
                grown.update(text.slice(0, i));
                first = i === 20 ? grown.container.firstChild : first;
            }}
            return [grown.container.isEqualNode(whole.container), grown.container.firstChild === first];""")
        self.assertEqual((same, kept), (True, True))


if __name__ == "__main__":
    unittest.main()
