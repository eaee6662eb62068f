// SPDX-License-Identifier: Apache-2.0
// Markdown within a paragraph, as DOM nodes. Text of a model is never parsed as HTML; a link goes to
// http, https or mailto only, and an image is a link, so that nothing is fetched by itself.

import { element } from "./dom.js";

const MAX_DEPTH = 6;
const MAX_LINK = 2048;
const PUNCTUATION = /[!-/:-@[-`{-~]/;
const BARE_URL = /https?:\/\/[^\s<>"'`]{1,2048}/y;
const NOT_LAST_IN_URL = ".,;:!?)]*_";
const DELIMITERS = [
  ["***", ["strong", "em"]], ["**", ["strong"]], ["__", ["strong"]], ["~~", ["del"]],
  ["*", ["em"]], ["_", ["em"]],
];

/** The nodes of a text with its emphasis, code, links and line breaks. */
export function inlineNodes(text, depth = 0) {
  return new InlineReader(text, depth).read();
}

function safeUrl(text) {
  try {
    const url = new URL(text);
    return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

function link(url, ...children) {
  return element("a", { href: url, target: "_blank", rel: "noopener noreferrer nofollow" },
    ...children);
}

class InlineReader {
  constructor(text, depth) {
    this.text = text;
    this.depth = depth;
    this.at = 0;
    this.plain = "";
    this.nodes = [];
    this.unclosed = new Set(); // what has no end in the rest of the text: not searched for again
    this.linkMiddle = -1; // the next "]("; sought once, however many "[" come before it
  }

  read() {
    while (this.at < this.text.length) {
      if (!this.readSpecial(this.text[this.at])) {
        this.plain += this.text[this.at++];
      }
    }
    this.flush();
    return this.nodes;
  }

  readSpecial(c) {
    switch (c) {
      case "\n":
        return this.add(this.at + 1, element("br"));
      case "\\":
        return this.readEscape();
      case "`":
        return this.readCode();
      case "[":
        return this.readLink(this.at, "");
      case "!":
        return this.text[this.at + 1] === "[" && this.readLink(this.at + 1, "image: ");
      case "*":
      case "_":
      case "~":
        return this.readEmphasis();
      case "h":
        return this.readBareUrl();
      default:
        return false;
    }
  }

  flush() {
    if (this.plain !== "") {
      this.nodes.push(document.createTextNode(this.plain));
      this.plain = "";
    }
  }

  add(next, ...nodes) {
    this.flush();
    this.nodes.push(...nodes);
    this.at = next;
    return true;
  }

  readEscape() {
    const next = this.text[this.at + 1];
    if (next === undefined || !PUNCTUATION.test(next)) {
      return false;
    }
    this.plain += next;
    this.at += 2;
    return true;
  }

  readCode() {
    let end = this.at;
    while (this.text[end] === "`") {
      ++end;
    }
    const fence = this.text.slice(this.at, end);
    if (!this.unclosed.has(fence)) {
      for (let close = this.text.indexOf(fence, end); close >= 0;) {
        let after = close;
        while (this.text[after] === "`") {
          ++after;
        }
        if (after - close === fence.length) {
          const code = this.text.slice(end, close);
          const isPadded = code.startsWith(" ") && code.endsWith(" ") && code.trim() !== "";
          return this.add(after, element("code", {}, isPadded ? code.slice(1, -1) : code));
        }
        close = this.text.indexOf(fence, after);
      }
      this.unclosed.add(fence);
    }
    this.plain += fence;
    this.at = end;
    return true;
  }

  readLink(open, label) {
    if (this.depth >= MAX_DEPTH) {
      return false;
    }
    if (this.linkMiddle < open) {
      const found = this.text.indexOf("](", open);
      this.linkMiddle = found < 0 ? Infinity : found;
    }
    const middle = this.linkMiddle;
    if (middle - open > MAX_LINK || this.text.slice(open + 1, middle).includes("[")) {
      return false;
    }
    const close = this.text.slice(middle, middle + MAX_LINK).indexOf(")") + middle;
    if (close < middle) {
      return false;
    }
    const url = safeUrl(this.text.slice(middle + 2, close).trim().split(/\s/)[0]);
    if (url === null) {
      return false;
    }
    const inner = inlineNodes(this.text.slice(open + 1, middle), MAX_DEPTH);
    return this.add(close + 1, link(url, label, ...(inner.length > 0 ? inner : [url])));
  }

  readBareUrl() {
    const before = this.text[this.at - 1];
    BARE_URL.lastIndex = this.at;
    const match = before !== undefined && /\w/.test(before) ? null : BARE_URL.exec(this.text);
    let shown = match === null ? "" : match[0];
    while (shown !== "" && NOT_LAST_IN_URL.includes(shown[shown.length - 1])) {
      shown = shown.slice(0, -1);
    }
    const url = safeUrl(shown);
    return url !== null && this.depth < MAX_DEPTH && this.add(this.at + shown.length, link(url, shown));
  }

  readEmphasis() {
    for (const [mark, tags] of DELIMITERS) {
      if (!this.text.startsWith(mark, this.at)) {
        continue;
      }
      const close = this.depth < MAX_DEPTH ? this.closing(mark) : -1;
      if (close >= 0) {
        const inner = inlineNodes(this.text.slice(this.at + mark.length, close), this.depth + 1);
        const node = tags.reduceRight((nodes, tag) => [element(tag, {}, ...nodes)], inner);
        return this.add(close + mark.length, ...node);
      }
    }
    const run = /^(\*+|_+|~+)/.exec(this.text.slice(this.at, this.at + 64))[0];
    this.plain += run;
    this.at += run.length;
    return true;
  }

  // Where the emphasis that begins here ends; -1 if it is none.
  closing(mark) {
    const begin = this.at + mark.length;
    const isWordMark = mark[0] === "_";
    if (this.unclosed.has(mark) || begin >= this.text.length || /\s/.test(this.text[begin]) ||
        (isWordMark && /\w/.test(this.text[this.at - 1] ?? " "))) {
      return -1;
    }
    for (let close = this.text.indexOf(mark, begin + 1); close >= 0;
      close = this.text.indexOf(mark, close + 1)) {
      const after = this.text[close + mark.length] ?? " ";
      const isPartOfLonger = mark.length === 1 &&
        (after === mark || this.text[close - 1] === mark);
      if (!/\s/.test(this.text[close - 1]) && this.text[close - 1] !== "\\" && !isPartOfLonger &&
          !(isWordMark && /\w/.test(after))) {
        return close;
      }
    }
    this.unclosed.add(mark);
    return -1;
  }
}
