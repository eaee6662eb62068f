// SPDX-License-Identifier: Apache-2.0
// The token view: every token of a text with how likely it was, and what else could have come.

import { stream } from "./api.js";
import { byId, element } from "./dom.js";
import { percentText } from "./format.js";
import { levelOf, probabilityOf, summaryOf, tokensOf, visibleText } from "./token_rows.js";

/** The token view. */
export class TokensView {
  constructor(connection) {
    this.connection = connection;
    this.abort = null;
    this.tokens = [];
    this.list = byId("token-list");
    this.form = byId("token-form");
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.run();
    });
    byId("token-kind").addEventListener("change", () => this.updateForm());
    byId("token-stop").addEventListener("click", () => this.abort?.abort());
    this.list.addEventListener("pointerover", (event) => this.choose(event.target, false));
    this.list.addEventListener("focusin", (event) => this.choose(event.target, false));
    this.list.addEventListener("keydown", (event) => this.move(event));
    byId("view-tokens").addEventListener("keydown", (event) => {
      if (event.key === "Escape") {
        this.abort?.abort();
      }
    });
    this.updateForm();
  }

  show() {
    byId("token-prompt").focus({ preventScroll: true });
  }

  hide() {}

  updateForm() {
    byId("token-echo-field").hidden = byId("token-kind").value !== "completion";
  }

  setBusy(isBusy) {
    const stop = byId("token-stop");
    const run = byId("token-run");
    const moves = document.activeElement === (isBusy ? run : stop);
    stop.hidden = !isBusy;
    run.hidden = isBusy;
    if (moves) {
      (isBusy ? stop : run).focus();
    }
  }

  async run() {
    if (this.abort !== null) {
      return;
    }
    this.abort = new AbortController();
    this.tokens = [];
    this.list.replaceChildren();
    byId("token-error").textContent = "";
    this.say("Asking…");
    this.showDetails(null);
    this.setBusy(true);
    const [path, body] = this.request();
    try {
      await stream(path, body, this.abort.signal, (chunk) => this.add(tokensOf(chunk)));
      this.say(summaryOf(this.tokens));
    } catch (error) {
      const isStop = error.name === "AbortError";
      this.say([isStop ? "Stopped." : "", summaryOf(this.tokens)].filter(Boolean).join(" "));
      if (!isStop) {
        byId("token-error").textContent = error.message;
        this.connection.onError(error);
      }
    }
    this.abort = null;
    this.setBusy(false);
  }

  request() {
    const model = this.connection.model ?? undefined;
    const prompt = byId("token-prompt").value;
    const top = byId("token-top").valueAsNumber;
    const common = { model, max_tokens: byId("token-max").valueAsNumber,
      temperature: byId("token-temperature").valueAsNumber };
    if (byId("token-kind").value === "chat") {
      const messages = [{ role: "user", content: prompt }];
      return ["v1/chat/completions", { ...common, messages, logprobs: true, top_logprobs: top }];
    }
    return ["v1/completions", { ...common, prompt, logprobs: top, echo: byId("token-echo").checked }];
  }

  say(text) {
    byId("token-status").textContent = text;
  }

  add(tokens) {
    for (const token of tokens) {
      const index = this.tokens.push(token) - 1;
      const said = `${visibleText(token.text)}, ${chanceText(token)}`;
      this.list.append(element("span", { role: "option", class: `token ${levelOf(token.logprob)}`,
        tabindex: index === 0 ? "0" : "-1", "data-index": index, "aria-label": said,
        "aria-selected": "false" }, visibleText(token.text)));
      if (token.text.includes("\n")) {
        this.list.append(element("br"));
      }
    }
  }

  nodeAt(index) {
    return this.list.querySelector(`[data-index="${index}"]`);
  }

  // Arrow keys go from token to token, Home and End to the first and last.
  move(event) {
    const at = Number(event.target.dataset?.index ?? 0);
    const last = this.tokens.length - 1;
    const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1,
      Home: 0, End: last }[event.key];
    if (to === undefined) {
      return;
    }
    event.preventDefault();
    this.choose(this.nodeAt(Math.min(Math.max(to, 0), last)), true);
  }

  choose(node, isFocused) {
    if (node?.dataset?.index === undefined) {
      return;
    }
    for (const other of this.list.querySelectorAll('[aria-selected="true"], [tabindex="0"]')) {
      other.setAttribute("aria-selected", "false");
      other.tabIndex = -1;
    }
    node.setAttribute("aria-selected", "true");
    node.tabIndex = 0;
    if (isFocused) {
      node.focus();
    }
    this.showDetails(Number(node.dataset.index));
  }

  showDetails(index) {
    const panel = byId("token-details");
    if (index === null) {
      panel.replaceChildren(element("p", { class: "hint" }, "Point at a token, or go there with Tab and the arrow keys."));
      return;
    }
    const token = this.tokens[index];
    const others = token.top.some(({ text }) => text === token.text) ? token.top
      : [...token.top, { text: token.text, logprob: token.logprob }];
    panel.replaceChildren(element("p", {}, `Token ${index + 1}: `,
      element("code", {}, visibleText(token.text)), ` · ${chanceText(token)}`));
    if (token.logprob !== null) {
      panel.append(tableOf(others, token.text));
    }
  }
}

function tableOf(others, chosen) {
  const head = [["Could have come", 1], ["Probability", 2], ["Log", 1]].map(
    ([name, colspan]) => element("th", { scope: "col", colspan }, name));
  return element("table", {}, element("thead", {}, element("tr", {}, head)),
    element("tbody", {}, others.map((other) => rowOf(other, other.text === chosen))));
}

function chanceText({ logprob }) {
  return logprob === null ? "not predicted" : percentText(probabilityOf(logprob));
}

function rowOf({ text, logprob }, isChosen) {
  const probability = probabilityOf(logprob);
  return element("tr", { class: isChosen ? "chosen" : null },
    element("th", { scope: "row" }, element("code", {}, visibleText(text)), isChosen ? " ✓" : ""),
    element("td", {}, element("meter", { min: 0, max: 1, value: probability, "aria-hidden": "true" })),
    element("td", {}, percentText(probability)),
    element("td", {}, logprob.toFixed(3)));
}
