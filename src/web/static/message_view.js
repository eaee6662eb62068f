// SPDX-License-Identifier: Apache-2.0
// How a message looks: its text, thoughts, tool calls, figures and how it ended.

import { element } from "./dom.js";
import { MarkdownView } from "./markdown.js";

/** The node of one message; update() with the same message as it grows. */
export class MessageView {
  constructor(message) {
    const isUser = message.role === "user";
    this.isUser = isUser;
    this.text = element("div", { class: isUser ? "text plain" : "text" });
    this.thoughts = null;
    this.calls = element("div", { class: "calls" });
    this.note = element("p", { class: "note" });
    this.facts = element("p", { class: "facts" });
    this.node = element("article", { class: `message ${message.role}` },
      element("h2", { class: "author" }, isUser ? "You" : "Model"),
      this.text, this.calls, this.note, this.facts);
    this.markdown = new MarkdownView(this.text);
    this.update(message);
  }

  set isBusy(value) {
    this.node.setAttribute("aria-busy", value);
  }

  update({ content, reasoning = "", toolCalls = [], note = "", facts = "" }) {
    if (this.isUser) {
      this.text.textContent = content;
      return;
    }
    this.markdown.update(content);
    this.updateThoughts(reasoning);
    this.calls.replaceChildren(...toolCalls.filter(Boolean).map(callNode));
    this.note.textContent = note;
    this.facts.textContent = facts;
  }

  updateThoughts(reasoning) {
    if (reasoning === "") {
      return;
    }
    if (this.thoughts === null) {
      const body = element("div", { class: "text" });
      this.thoughts = new MarkdownView(body);
      this.text.before(element("details", { class: "thoughts" },
        element("summary", {}, "Reasoning"), body));
    }
    this.thoughts.update(reasoning);
  }
}

function callNode(call) {
  return element("section", { class: "call", "aria-label": `Tool call ${call.name}` },
    element("p", { class: "call-name" }, "Tool call: ", element("code", {}, call.name)),
    element("pre", { tabindex: "0" }, element("code", {}, readable(call.arguments))));
}

// Arguments that are not complete yet stay as they came.
function readable(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
