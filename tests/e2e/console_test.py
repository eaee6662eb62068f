# SPDX-License-Identifier: Apache-2.0
"""The web console in a real browser: chat, live page, tokens; with the keyboard, narrow, dark, with keys."""

import json
import math
import unittest

import browser as browsers
import plumb_e2e as e2e

if browsers.program() is None:
    e2e.skip("no chromium (scripts/install-deps test)")

KEY = "sk-test-0123456789abcdef"
DONE = "!!document.querySelector('.message.assistant:last-child[aria-busy=\"false\"]')"
BUSY = "!document.querySelector('#stop').hidden && document.querySelector('.message.assistant:last-child .text')" \
    "?.textContent.length > 20"
QUESTION = "Hello there"
CHAT = "/v1/chat/completions"
VIEWS = ("chat", "live", "tokens")
# The background that a text stands on, and the ratio of their luminances (WCAG 2).
CONTRASTS = """(() => {
    const parse = (color) => color.match(/[\\d.]+/g).map(Number);
    const luminance = (rgb) => rgb.slice(0, 3).map((c) => c / 255)
        .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
    const isOpaque = (rgb) => rgb.length < 4 || rgb[3] === 1;
    const behind = (node) => {
        const color = parse(getComputedStyle(node).backgroundColor);
        return isOpaque(color) || node === document.body ? color : behind(node.parentElement);
    };
    const bad = [];
    for (const node of document.querySelectorAll("body *")) {
        const hasText = [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
        if (!hasText || !node.checkVisibility() || node.disabled || node.closest("svg, option, noscript, .skip")) {
            continue;
        }
        const [a, b] = [luminance(parse(getComputedStyle(node).color)), luminance(behind(node))];
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (ratio < 4.5) {
            bad.push(`${node.tagName}.${node.className} ${node.textContent.slice(0, 20)}: ${ratio.toFixed(2)}`);
        }
    }
    return bad;
})()"""


def events(*objects, end="data: [DONE]\n\n"):
    return "".join(f"data: {json.dumps(item)}\n\n" for item in objects) + end


def delta(**fields):
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": None}]}


class Console(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        held = e2e.folder()
        cls.folder = held.__enter__()
        cls.addClassCleanup(held.__exit__, None, None, None)
        cls.model = e2e.dummy(cls.folder, "tiny.gguf", "--context", "32768")
        cls.server = e2e.Server(cls.model, "--served-model-name", "tiny", "--max-num-seqs", "8")
        cls.addClassCleanup(cls.server.stop)
        cls.browser = browsers.Browser()
        cls.addClassCleanup(cls.browser.close)

    def open(self, view="chat", server=None, **keywords):
        """A fresh tab; at its end nothing was logged and nothing was asked of another server."""
        server = server or self.server
        page = self.browser.open(f"{server.url}/#{view}", **keywords)
        self.addCleanup(page.close)
        self.addCleanup(lambda: self.assertEqual(page.problems, []))
        self.addCleanup(lambda: self.assertEqual([url for url in page.urls if not url.startswith(server.url)], []))
        page.wait("document.querySelector('#model')?.value === 'tiny'" if server is self.server else "true")
        return page

    def ask(self, page, text=QUESTION, **settings):
        for name, value in settings.items():
            page.evaluate("document.querySelector('.settings').open = true")
            page.fill(f"#setting-{name}", str(value))
        page.fill("#prompt", text)
        page.press("Enter")

    def show(self, page, view):
        """That view with something to see."""
        page.evaluate(f"location.hash = '{view}'")
        page.wait(f"!document.querySelector('#view-{view}').hidden")
        if view == "live":
            page.wait("document.querySelectorAll('#live-charts path').length === 6")
        if view == "tokens":
            page.evaluate("document.querySelector('#token-run').click()")
            page.wait("document.querySelector('#token-status').textContent.includes('perplexity')")
            page.evaluate("document.querySelector('#token-list').firstChild.focus()")

    def stored(self, page):
        """The conversation that the browser keeps."""
        return page.evaluate("JSON.parse(localStorage.getItem('plumb.conversation'))") or []

    def told(self, messages, **fields):
        """The same answer by the API itself."""
        status, answer = self.server.post(CHAT, {"messages": messages, "ignore_eos": True, **fields})
        self.assertEqual(status, 200, answer)
        return answer["choices"][0]["message"]["content"]

    def test_a_chat_streams_what_the_api_says(self):
        page = self.open()
        page.evaluate("""(() => {
            globalThis.lengths = new Set();
            new MutationObserver(() => lengths.add(document.querySelector(
                ".message.assistant .text")?.textContent.length)).observe(
                document.querySelector("#messages"), { childList: true, subtree: true, characterData: true });
        })()""")
        page.fill("#system-prompt", "Be brief.")
        page.amend(CHAT, ignore_eos=True)
        self.ask(page, temperature=0, max_tokens=3000)
        page.wait(DONE)
        expected = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": QUESTION}]
        content = self.told(expected, temperature=0, max_tokens=3000)
        self.assertEqual([(m["role"], m["content"]) for m in self.stored(page)],
                         [("user", QUESTION), ("assistant", content)])
        self.assertGreater(page.evaluate("lengths.size"), 3)
        self.assertRegex(page.text(".message.assistant .facts"), r"^\d+ tokens · [\d.]+ tokens/s · first after \d+ ms")
        page.screenshot("chat")
        page.fill("#setting-max_tokens", "8")
        self.ask(page, "And more")
        page.wait(f"document.querySelectorAll('.message').length === 4 && {DONE}")
        messages = [*expected, {"role": "assistant", "content": content}, {"role": "user", "content": "And more"}]
        self.assertEqual(self.stored(page)[3]["content"], self.told(messages, temperature=0, max_tokens=8))
        self.assertEqual(page.text(".message:last-child .note"), "Cut off at the token limit.")
        page.reload()
        self.assertEqual(page.count(".message"), 4)
        self.assertEqual(page.evaluate("document.querySelector('#system-prompt').value"), "Be brief.")

    def test_stop_ends_the_answer_here_and_in_the_engine(self):
        page = self.open()
        page.amend(CHAT, ignore_eos=True)
        for how in ("click", "Escape"):
            before = self.server.metric('plumb_finished_total{reason="abort"}')
            self.ask(page, temperature=1)
            page.wait(BUSY)
            if how == "click":
                page.click("#stop")
            else:
                page.press("Escape")
            page.wait(DONE)
            self.assertEqual(page.text(".message:last-child .note"), "Stopped.")
            self.assertEqual(page.focused(), "prompt")
            e2e.wait_until(lambda: self.server.metric('plumb_finished_total{reason="abort"}') > before, 20, "an abort")
            self.server.wait_until_idle()
        self.assertEqual(len(self.stored(page)), 4)

    def test_regenerate_replaces_the_answer(self):
        page = self.open()
        page.amend(CHAT, ignore_eos=True)
        self.ask(page, temperature=1, max_tokens=24)
        page.wait(DONE)
        first = self.stored(page)[1]["content"]
        page.click("#regenerate")
        page.wait(f"JSON.parse(localStorage.getItem('plumb.conversation'))[1].content !== {json.dumps(first)}")
        self.assertEqual([m["role"] for m in self.stored(page)], ["user", "assistant"])
        page.fill("#setting-seed", "7")
        for _ in range(2):
            page.evaluate("document.querySelector('.message:last-child').id = 'old'")
            page.click("#regenerate")
            page.wait(f"!document.querySelector('#old') && {DONE}")
            self.assertEqual(self.stored(page)[1]["content"], self.told(
                [{"role": "user", "content": QUESTION}], temperature=1, max_tokens=24, seed=7))

    def test_a_conversation_is_put_away_brought_back_and_not_kept_when_told_so(self):
        page = self.open()
        self.ask(page, max_tokens=8)
        page.wait(DONE)
        page.click("#new-chat")
        self.assertEqual((page.count(".message"), self.stored(page)), (0, []))
        page.click("#undo")
        self.assertEqual((page.count(".message"), len(self.stored(page))), (2, 2))
        page.click("#keep-history")
        self.assertEqual(page.evaluate("localStorage.getItem('plumb.conversation')"), None)
        page.reload()
        self.assertEqual(page.count(".message"), 0)

    def test_errors_are_told_and_the_text_is_not_lost(self):
        page = self.open()
        page.evaluate("document.querySelector('.settings').open = true")
        page.fill("#setting-max_tokens", "9000000")
        page.fill("#prompt", QUESTION)
        page.press("Enter")
        page.wait("document.querySelector('#chat-error').textContent !== ''")
        self.assertIn("400: ", page.text("#chat-error"))
        self.assertIn("maximum context length is 32768 tokens", page.text("#chat-error"))
        self.assertEqual(page.evaluate("document.querySelector('#prompt').value"), QUESTION)
        self.assertEqual((page.count(".message"), self.stored(page)), (0, []))
        self.assertEqual(len(page.problems), 1)
        self.assertIn("400 (Bad Request)", page.problems.pop())
        page.fill("#setting-max_tokens", "0")  # the browser itself says what is wrong with it
        num_requests = len(page.urls)
        page.fill("#prompt", QUESTION)
        page.press("Enter")
        self.assertEqual(page.focused(), "setting-max_tokens")
        self.assertEqual(len(page.urls), num_requests)

    def test_text_of_a_model_is_never_markup(self):
        page = self.open()
        text = ("# Title\n\nA **bold** word, *more*, `code <b>` and ~~gone~~.\n\n"
                "<img src=x onerror=alert(1)> <script>alert(2)</script>\n\n"
                "[bad](javascript:alert(3)) [good](https://example.com/a?b=1) ![picture](https://example.com/p.png)\n\n"
                "- one\n- two\n  1. inner\n\n> said\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n```py\nx = '<i>'\n```\n")
        page.script(CHAT, events(*[delta(content=text[i:i + 7]) for i in range(0, len(text), 7)]))
        self.ask(page)
        page.wait(DONE)
        log = "#messages .message.assistant .text"
        self.assertEqual(page.count(f"{log} img, {log} script, {log} i, {log} b"), 0)
        self.assertIn("<img src=x onerror=alert(1)> <script>alert(2)</script>", page.text(log))
        self.assertEqual(page.evaluate(f"[...document.querySelectorAll('{log} a')].map((a) => a.href)"),
                         ["https://example.com/a?b=1", "https://example.com/p.png"])
        self.assertIn("[bad](javascript:alert(3))", page.text(log))
        self.assertEqual(page.text(f"{log} h3"), "Title")
        self.assertEqual(page.text(f"{log} strong"), "bold")
        self.assertEqual(page.text(f"{log} p code"), "code <b>")
        self.assertEqual(page.text(f"{log} ul ol"), "inner")
        self.assertEqual(page.text(f"{log} blockquote"), "said")
        self.assertEqual(page.text(f"{log} td.align-end"), "2")
        self.assertEqual(page.text(f"{log} pre code"), "x = '<i>'")
        page.screenshot("markdown")

    def test_reasoning_is_folded_and_tool_calls_are_shown(self):
        page = self.open()
        call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "weather", "arguments": ""}}
        part = {"index": 0, "function": {"arguments": '{"city":'}}
        rest = {"index": 0, "function": {"arguments": '"Bonn"}'}}
        page.script(CHAT, events(
            delta(role="assistant", content=""), delta(reasoning_content="First "), delta(reasoning_content="thought"),
            delta(content="Let me see."), delta(tool_calls=[call]), delta(tool_calls=[part]), delta(tool_calls=[rest]),
            {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}))
        self.ask(page)
        page.wait(DONE)
        self.assertEqual(page.text(".thoughts .text"), "First thought")
        self.assertFalse(page.evaluate("document.querySelector('.thoughts').open"))
        self.assertEqual(page.text(".message.assistant > .text"), "Let me see.")
        self.assertEqual(page.text(".call-name code"), "weather")
        self.assertEqual(page.text(".call pre"), '{\n  "city": "Bonn"\n}')
        page.screenshot("reasoning")

    def test_a_stream_that_breaks_is_named_and_what_came_stays(self):
        for end, words in {'data: {"error":{"message":"the engine stopped"}}\n\n': "the engine stopped",
                           "": "ended before the answer was complete"}.items():
            page = self.open()
            page.script(CHAT, events(delta(content="half"), end=end))
            self.ask(page)
            page.wait(DONE)
            self.assertIn(words, page.text("#chat-error"))
            self.assertEqual(page.text(".message.assistant .note"), "Not complete.")
            self.assertEqual(self.stored(page)[1]["content"], "half")

    def test_the_live_page_counts_what_was_done_and_pauses_when_nobody_looks(self):
        page = self.open("live")
        page.wait("document.querySelectorAll('#live-charts path').length === 6")
        for i in range(3):
            self.server.post("/v1/completions", {"prompt": f"{i} " * 40, "max_tokens": 400, "ignore_eos": True})
        e2e.wait_until(lambda: page.count("#live-histograms rect") > 0, 20, "bars")
        page.wait("parseFloat(document.querySelector('#live-tiles > :nth-child(3) dd').textContent) > 0")
        label = page.evaluate("document.querySelector('#live-histograms svg').getAttribute('aria-label')")
        counted = sum(int(part.rsplit(": ", 1)[1]) for part in label.split(": ", 1)[1].split(", "))
        self.assertGreaterEqual(counted, 3)
        self.assertRegex(page.text("#live-histograms .caption-value"), r"^p50 [\d.]+ m?s · p90 [\d.]+ m?s · p99")
        page.wait("document.querySelector('#live-charts figure:nth-child(2) path').getAttribute('d').includes('L')")
        page.screenshot("live")
        generated = f"{int(self.server.metric('plumb_generated_tokens_total')):,} tokens in all"
        page.wait(f"document.querySelector('#live-tiles > :nth-child(3) .more').textContent === '{generated}'")

        def num_reads():
            return sum(url.endswith("/metrics") for url in page.urls)

        page.evaluate("Object.defineProperty(document, 'hidden', { value: true, configurable: true });"
                      "document.dispatchEvent(new Event('visibilitychange'))")
        hidden = num_reads()
        page.evaluate("new Promise((done) => setTimeout(done, 1500))")
        self.assertEqual(num_reads(), hidden)
        page.evaluate("delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))")
        e2e.wait_until(lambda: num_reads() > hidden, 10, "reads again")
        page.click("#live-pause")
        self.assertEqual(page.text("#live-status"), "Paused.")
        page.click("#live-pause")
        page.wait("document.querySelector('#live-status').textContent === 'Read every second.'")

    def test_tokens_have_the_probabilities_of_the_api(self):
        page = self.open("tokens")
        page.fill("#token-prompt", QUESTION)
        page.fill("#token-max", "12")
        page.click("#token-echo")
        page.click("#token-run")
        page.wait("document.querySelector('#token-status').textContent.includes('perplexity')")
        status, answer = self.server.post("/v1/completions", {
            "prompt": QUESTION, "max_tokens": 12, "temperature": 0, "logprobs": 5, "echo": True})
        self.assertEqual(status, 200, answer)
        logprobs = answer["choices"][0]["logprobs"]
        labels = page.evaluate("[...document.querySelectorAll('#token-list .token')].map((t) => t.ariaLabel)")
        self.assertEqual(len(labels), len(logprobs["tokens"]))
        self.assertTrue(labels[0].endswith(", not predicted"), labels[0])
        for label, value in list(zip(labels, logprobs["token_logprobs"]))[1:]:
            percent = float(label.rsplit(", ", 1)[1].removesuffix(" %").removeprefix("< "))
            self.assertAlmostEqual(percent, 100 * math.exp(value), delta=0.06)
        values = logprobs["token_logprobs"][1:]
        self.assertEqual(page.text("#token-status"),
                         f"{len(labels)} tokens · perplexity {math.exp(-sum(values) / len(values)):.2f}")
        page.point("#token-list [data-index='2']")
        self.assertIn("Token 3: ", page.text("#token-details"))
        self.assertIn(page.count("#token-details tbody tr"), (5, 6))
        self.assertEqual(page.count("#token-details .chosen"), 1)
        page.screenshot("tokens")
        page.evaluate("document.querySelector('#token-kind').value = 'chat'")
        page.evaluate("document.querySelector('#token-status').textContent = ''")
        page.click("#token-run")
        page.wait("document.querySelector('#token-status').textContent.includes('perplexity')")
        self.assertGreater(page.count("#token-list .token"), 0)

    def test_everything_is_reached_by_the_keyboard(self):
        page = self.open(height=700)
        page.amend(CHAT, ignore_eos=True)
        page.tab_to("skip", browsers.SHIFT)
        page.press("Enter")
        self.assertEqual(page.focused(), "main")
        page.tab_to("prompt")
        page.type("Say something")
        page.press("Enter")
        page.wait(BUSY)
        page.press("Escape")
        page.wait(DONE)
        page.tab_to("regenerate")
        page.press("Enter")
        page.wait("!document.querySelector('#stop').hidden")
        self.assertEqual(page.focused(), "stop")
        page.wait(BUSY)
        page.press("Enter")
        page.wait(DONE)
        self.assertEqual(page.focused(), "prompt")
        page.tab_to("Live", browsers.SHIFT)
        page.press("Enter")
        page.wait("!document.querySelector('#view-live').hidden")
        page.tab_to("Tokens")
        page.press("Enter")
        page.wait("!document.querySelector('#view-tokens').hidden")
        self.assertEqual(page.focused(), "token-prompt")
        page.tab_to("token-run")
        page.press(" ")
        page.wait("document.querySelector('#token-status').textContent.includes('perplexity')")
        page.evaluate("document.querySelector('#token-run').focus()")
        page.press("Tab")
        last = page.count("#token-list .token") - 1
        for key, index in (("ArrowRight", 1), ("End", last), ("ArrowRight", last), ("ArrowLeft", last - 1), ("Home", 0)):
            page.press(key)
            self.assertEqual(page.evaluate("Number(document.activeElement.dataset.index)"), index, key)
            self.assertIn(f"Token {index + 1}: ", page.text("#token-details"))

    def test_a_narrow_screen_has_no_sideways_scroll(self):
        page = self.open(width=360, height=640)
        long = "word" * 60 + "\n\n```\n" + "x" * 200 + "\n```\n\n| " + " | ".join(["column"] * 9) + " |\n|" + "---|" * 9
        page.script(CHAT, events(delta(content=long)))
        self.ask(page, "y" * 300)
        page.wait(DONE)
        self.server.post("/v1/completions", {"prompt": "a", "max_tokens": 8})
        for view in VIEWS:
            self.show(page, view)
            for settings in (False, True):
                page.evaluate(f"for (const d of document.querySelectorAll('details')) d.open = {json.dumps(settings)}")
                wide = page.evaluate("""[document.documentElement, document.querySelector("main"),
                    document.querySelector("#messages"), document.querySelector(".settings")]
                    .filter((node) => node.scrollWidth > node.clientWidth).map((node) => node.className || node.tagName)""")
                self.assertEqual(wide, [], view)
                root = "document.documentElement"  # the page itself never scrolls, its parts do
                self.assertEqual(page.evaluate(f"{root}.scrollHeight - {root}.clientHeight"), 0, view)
                out = page.evaluate("""[...document.querySelectorAll("button, input, select, textarea, a, summary")]
                    .filter((node) => node.checkVisibility() && node.id !== "skip")
                    .filter((node) => { const box = node.getBoundingClientRect();
                        return box.left < -0.5 || box.right > 360.5; }).map((node) => node.id || node.textContent)""")
                self.assertEqual(out, [], view)
                page.screenshot(f"narrow-{view}{'-open' if settings else ''}")

    def test_colours_follow_the_system_and_can_be_read(self):
        for scheme in ("light", "dark"):
            page = self.open()
            page.prefer(color_scheme=scheme, reduced_motion="reduce")
            page.script(CHAT, events(
                delta(reasoning_content="Hm."), delta(content="A `word` and [link](https://example.com).\n\n> quote"),
                end=""))
            self.ask(page)
            page.wait(DONE)
            page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
            brightness = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
            self.assertEqual(sum(brightness) > 380, scheme == "light", brightness)
            for view in VIEWS:
                self.show(page, view)
                self.assertEqual(page.evaluate(CONTRASTS), [], f"{view} {scheme}")
                page.evaluate("document.querySelector('#connection').open = false")
                page.screenshot(f"{scheme}-{view}")
            self.assertEqual(page.evaluate("getComputedStyle(document.querySelector('button')).transitionDuration"), "0s")

    def test_a_key_is_asked_for_kept_by_the_tab_and_never_in_an_address(self):
        keys = self.folder / "keys"
        keys.write_text(KEY + "\n")
        keys.chmod(0o600)
        with e2e.Server(self.model, "--api-key-file", keys, "--auth-metrics", "--served-model-name", "tiny") as server:
            page = self.open(server=server)
            page.wait("document.querySelector('#connection').open")
            self.assertEqual(page.text("#connection-status"), "This server asks for a key.")
            page.screenshot("key")
            page.fill("#prompt", QUESTION)
            page.press("Enter")
            page.wait("document.querySelector('#chat-error').textContent.startsWith('401: ')")
            page.evaluate("location.hash = 'live'")
            page.wait("document.querySelector('#live-status').textContent.startsWith('401: ')")
            page.evaluate("document.querySelector('#connection').open = true")
            page.fill("#api-key", KEY)
            page.press("Enter")
            page.wait("document.querySelector('#model')?.value === 'tiny'")
            page.wait("document.querySelector('#live-status').textContent === 'Read every second.'")
            page.evaluate("location.hash = 'chat'")
            self.ask(page, max_tokens=4)
            page.wait(DONE)
            page.reload()
            page.wait("document.querySelector('#model')?.value === 'tiny'")
            self.assertEqual(page.evaluate("sessionStorage.getItem('plumb.key')"), KEY)
            self.assertNotIn(KEY, page.evaluate("JSON.stringify(localStorage)"))
            self.assertNotIn(KEY, "".join(page.urls))
            self.assertNotIn(KEY, server.log())
            self.assertTrue(all("401 (Unauthorized)" in problem for problem in page.problems), page.problems)
            page.problems.clear()

    def test_below_a_root_path_it_works_as_well(self):
        with e2e.Server(self.model, "--root-path", "/llm", "--served-model-name", "tiny") as server:
            page = self.browser.open("about:blank")
            self.addCleanup(page.close)
            page.command("Page.navigate", url=server.url)  # as `serve` tells it, which ends in no slash
            page.wait("document.querySelector('#model')?.value === 'tiny'")
            self.ask(page, max_tokens=4)
            page.wait(DONE)
            self.assertEqual(page.problems, [])


if __name__ == "__main__":
    unittest.main()
