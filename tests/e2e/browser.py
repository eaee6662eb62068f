# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, driven over the pipe of its DevTools protocol; it resolves no name but this machine's."""

import base64
import json
import os
import queue
import shutil
import subprocess
import tempfile
import threading

import plumb_e2e as e2e

ANSWER_SECONDS = 60
ARGUMENTS = ("--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
             "--disable-extensions", "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1")
SHIFT = 8
KEYS = {  # key: (code, virtual key code, text)
    "Tab": ("Tab", 9, ""), "Enter": ("Enter", 13, "\r"), "Escape": ("Escape", 27, ""), " ": ("Space", 32, " "),
    "End": ("End", 35, ""), "Home": ("Home", 36, ""), "ArrowLeft": ("ArrowLeft", 37, ""),
    "ArrowUp": ("ArrowUp", 38, ""), "ArrowRight": ("ArrowRight", 39, ""), "ArrowDown": ("ArrowDown", 40, ""),
}


def program():
    """The path of the browser, or None."""
    return shutil.which("chromium") or shutil.which("chromium-headless-shell")


class Browser:
    """One browser process with a profile of its own."""

    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix="plumb_browser_")
        self.next_id = 0
        self.lock = threading.Lock()
        self.answers = {}
        self.pages = {}
        in_read, in_write = os.pipe()
        out_read, out_write = os.pipe()
        self.process = subprocess.Popen(  # the protocol is spoken on descriptors 3 and 4
            ["bash", "-c", f'exec "$@" 3<&{in_read} 4>&{out_write}', "bash", program(), *ARGUMENTS,
             f"--user-data-dir={self.profile}", "about:blank"],
            pass_fds=(in_read, out_write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(in_read)
        os.close(out_write)
        self.input = os.fdopen(in_write, "wb", buffering=0)
        self.output = os.fdopen(out_read, "rb", buffering=0)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        rest = b""
        while chunk := self.output.read(1 << 16):
            *messages, rest = (rest + chunk).split(b"\0")
            for raw in messages:
                message = json.loads(raw)
                if "id" in message:
                    waiting = self.answers.pop(message["id"], None)
                    if waiting is not None:
                        waiting.put(message)
                elif message.get("sessionId") in self.pages:
                    self.pages[message["sessionId"]].on_event(message["method"], message["params"])
        for waiting in list(self.answers.values()):
            waiting.put({"error": {"message": "the browser ended"}})

    def post(self, method, params, session=None, waiting=None):
        """Sends a command without waiting for its answer."""
        with self.lock:
            self.next_id += 1
            if waiting is not None:
                self.answers[self.next_id] = waiting
            message = {"id": self.next_id, "method": method, "params": params}
            if session is not None:
                message["sessionId"] = session
            self.input.write(json.dumps(message).encode() + b"\0")

    def command(self, method, session=None, **params):
        waiting = queue.Queue()
        self.post(method, params, session, waiting)
        answer = waiting.get(timeout=ANSWER_SECONDS)
        if "error" in answer:
            raise AssertionError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def open(self, url, **keywords):
        return Page(self, url, **keywords)

    def close(self):
        try:
            self.post("Browser.close", {})
            self.process.wait(20)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait(20)
        self.reader.join(20)
        self.input.close()
        self.output.close()
        shutil.rmtree(self.profile, ignore_errors=True)


class Page:
    """One tab with storage of its own, as its user meets it: keys, pointer, what is shown and what is logged."""

    def __init__(self, browser, url, width=1200, height=800):
        self.browser = browser
        self.context = browser.command("Target.createBrowserContext")["browserContextId"]
        target = browser.command("Target.createTarget", url="about:blank", browserContextId=self.context)["targetId"]
        self.session = browser.command("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.problems = []  # errors and warnings of the console, violations of the security policy
        self.urls = []  # of all requests
        self.scripted = {}  # path: (status, headers, body) that the network is not asked for
        self.amended = {}  # path: what the body of a request says on top of what the page does
        browser.pages[self.session] = self
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.command(f"{domain}.enable")
        self.resize(width, height)
        self.open(url)

    def on_event(self, method, params):
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.problems.append(f"console {params['type']}: {params['args']}")
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.problems.append(f"{params['entry']['source']}: {params['entry']['text']}")
        elif method == "Network.requestWillBeSent":
            self.urls.append(params["request"]["url"])
        elif method == "Fetch.requestPaused":
            self.answer(params)

    def answer(self, paused):
        path = "/" + paused["request"]["url"].split("/", 3)[3]
        if path not in self.scripted:
            body = json.loads(paused["request"]["postData"]) | self.amended[path]
            self.browser.post("Fetch.continueRequest", {
                "requestId": paused["requestId"], "postData": base64.b64encode(json.dumps(body).encode()).decode()},
                self.session)
            return
        status, headers, body = self.scripted[path]
        self.browser.post("Fetch.fulfillRequest", {
            "requestId": paused["requestId"], "responseCode": status,
            "responseHeaders": [{"name": name, "value": value} for name, value in headers.items()],
            "body": base64.b64encode(body.encode()).decode()}, self.session)

    def script(self, path, body, status=200, content_type="text/event-stream; charset=utf-8"):
        """From now on requests of that path are answered by the browser itself."""
        self.scripted[path] = (status, {"content-type": content_type}, body)
        self.intercept()

    def amend(self, path, **fields):
        """From now on requests of that path have these fields too."""
        self.amended[path] = fields
        self.intercept()

    def intercept(self):
        paths = self.scripted.keys() | self.amended.keys()
        self.command("Fetch.enable", patterns=[{"urlPattern": "*" + path} for path in paths])

    def command(self, method, **params):
        return self.browser.command(method, self.session, **params)

    def open(self, url):
        self.command("Page.navigate", url=url)
        self.wait(f"location.href === {json.dumps(url)} && document.readyState === 'complete'")

    def reload(self):
        self.evaluate("globalThis.isOld = true")
        self.command("Page.reload")
        self.wait("!globalThis.isOld && document.readyState === 'complete'")

    def close(self):
        self.browser.command("Target.disposeBrowserContext", browserContextId=self.context)
        del self.browser.pages[self.session]

    def evaluate(self, expression):
        """The value of an expression, waited for where it is a promise."""
        answer = self.command("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait(self, condition, seconds=30):
        """Until the expression is true; a page that is being left is asked again."""

        def is_true():
            try:
                return self.evaluate(condition)
            except AssertionError as error:
                if "context" in str(error) or "navigated" in str(error):
                    return False
                raise

        e2e.wait_until(is_true, seconds, f"{condition}; the page has: {self.problems}")

    def resize(self, width, height):
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                     mobile=False)

    def prefer(self, **features):
        """prefer(color_scheme="dark", reduced_motion="reduce")"""
        self.command("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-" + name.replace("_", "-"), "value": value} for name, value in features.items()])

    def press(self, key, modifiers=0):
        code, number, text = KEYS[key]
        fields = {"key": key, "code": code, "windowsVirtualKeyCode": number, "modifiers": modifiers}
        self.command("Input.dispatchKeyEvent", type="keyDown", **fields, **({"text": text} if text else {}))
        self.command("Input.dispatchKeyEvent", type="keyUp", **fields)

    def type(self, text):
        self.command("Input.insertText", text=text)

    def point(self, selector):
        """Moves the pointer there; returns the place."""
        x, y = self.evaluate(f"""(() => {{
            const node = document.querySelector({json.dumps(selector)});
            node.scrollIntoView({{block: "nearest"}});
            const box = node.getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2];
        }})()""")
        self.command("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        return x, y

    def click(self, selector):
        x, y = self.point(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self.command("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def fill(self, selector, text):
        """As by hand: focus, select all, type."""
        quoted = json.dumps(selector)
        self.evaluate(f"document.querySelector({quoted}).focus()")
        self.evaluate(f"document.querySelector({quoted}).select()")
        self.type(text)
        self.evaluate(f"document.querySelector({quoted}).dispatchEvent(new Event('change', {{bubbles: true}}))")

    def text(self, selector):
        return self.evaluate(f"document.querySelector({json.dumps(selector)}).textContent")

    def count(self, selector):
        return self.evaluate(f"document.querySelectorAll({json.dumps(selector)}).length")

    def focused(self):
        """The id of the element with the focus, else its text."""
        return self.evaluate("document.activeElement.id || document.activeElement.textContent.trim()")

    def tab_to(self, wanted, modifiers=0, most=40):
        """Presses Tab until the focus is there; every stop must show it."""
        for _ in range(most):
            self.press("Tab", modifiers)
            shown = self.evaluate("""(() => {
                const style = getComputedStyle(document.activeElement);
                return document.activeElement === document.body ||
                    style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
            })()""")
            assert shown, f"the focus is not visible on {self.focused()}"
            if self.focused() == wanted:
                return
        raise AssertionError(f"Tab does not come to {wanted}")

    def screenshot(self, name):
        """A picture into $PLUMB_SCREENSHOTS, where that is given."""
        folder = os.environ.get("PLUMB_SCREENSHOTS")
        if folder:
            data = self.command("Page.captureScreenshot", format="png")["data"]
            with open(os.path.join(folder, f"{name}.png"), "wb") as file:
                file.write(base64.b64decode(data))
