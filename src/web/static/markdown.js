// SPDX-License-Identifier: Apache-2.0
// Markdown of an answer that grows, as DOM nodes.

import { element } from "./dom.js";
import { inlineNodes } from "./markdown_inline.js";

// A model may write anything, so every pattern and every loop here takes linear time.
const MAX_DEPTH = 8;
const MAX_COLUMNS = 64;
const FENCE = /^( {0,3})(`{3,}|~{3,})([^`]*)$/;
const HEADING = /^ {0,3}(#{1,6})\s(.*)$/;
const RULE = /^ {0,3}([-*_])\s*(?:\1\s*){2,}$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])(?:\s+(.*))?$/;
const READERS = [readFence, readHeading, readRule, readQuote, readList, readTable];

/** The blocks of a text, as plain data. */
export function readBlocks(text) {
  return blocksOf(text.replace(/\r\n?/g, "\n").replace(/\t/g, "    ").split("\n"), 0);
}

function blocksOf(lines, depth) {
  const blocks = [];
  let i = 0;
  while (i < lines.length) {
    if (lines[i].trim() === "") {
      ++i;
      continue;
    }
    const [block, next] = readBlock(lines, i, depth) ?? readParagraph(lines, i, depth);
    blocks.push(block);
    i = next;
  }
  return blocks;
}

// The block that is no paragraph, and the line behind it; null if there is none.
function readBlock(lines, i, depth) {
  for (const reader of READERS) {
    const found = depth < MAX_DEPTH ? reader(lines, i, depth) : null;
    if (found !== null) {
      return found;
    }
  }
  return null;
}

function readParagraph(lines, i, depth) {
  const text = [lines[i].trim()];
  for (++i; i < lines.length && lines[i].trim() !== "" && !beginsBlock(lines, i, depth); ++i) {
    text.push(lines[i].trim());
  }
  return [{ type: "paragraph", text: text.join("\n") }, i];
}

function beginsBlock(lines, i, depth) {
  const line = lines[i];
  return depth < MAX_DEPTH && (FENCE.test(line) || HEADING.test(line) || RULE.test(line) ||
    ITEM.test(line) || /^ {0,3}>/.test(line) || isTable(lines, i));
}

function readFence(lines, i) {
  const open = FENCE.exec(lines[i]);
  if (open === null) {
    return null;
  }
  const [, indent, fence, language] = open;
  const text = [];
  for (++i; i < lines.length; ++i) {
    const line = lines[i].trim();
    if (line.startsWith(fence) && line === fence[0].repeat(line.length)) {
      ++i;
      break;
    }
    text.push(lines[i].startsWith(indent) ? lines[i].slice(indent.length) : lines[i].trimStart());
  }
  return [{ type: "code", language: language.trim().split(/\s/)[0], text: text.join("\n") }, i];
}

function readHeading(lines, i) {
  const found = HEADING.exec(lines[i]);
  if (found === null) {
    return null;
  }
  const text = found[2].trim().replace(/(^|\s)#+$/, "").trim();
  return [{ type: "heading", level: found[1].length, text }, i + 1];
}

function readRule(lines, i) {
  return RULE.test(lines[i]) ? [{ type: "rule" }, i + 1] : null;
}

function readQuote(lines, i, depth) {
  const inner = [];
  for (; i < lines.length && /^ {0,3}>/.test(lines[i]); ++i) {
    inner.push(lines[i].replace(/^ {0,3}> ?/, ""));
  }
  return inner.length === 0 ? null : [{ type: "quote", blocks: blocksOf(inner, depth + 1) }, i];
}

function readList(lines, i, depth) {
  const first = ITEM.exec(lines[i]);
  if (first === null) {
    return null;
  }
  const isOrdered = /\d/.test(first[2]);
  const list = { type: "list", isOrdered, start: isOrdered ? parseInt(first[2], 10) : 1, items: [] };
  while (i < lines.length) {
    const item = ITEM.exec(lines[i]);
    if (item === null || RULE.test(lines[i]) || /\d/.test(item[2]) !== isOrdered ||
        item[1].length > first[1].length + 3 || item[1].length < first[1].length) {
      break;
    }
    const content = [item[3] ?? ""];
    const indent = item[1].length + 2;
    for (++i; i < lines.length; ++i) {
      const firstBlank = i;
      i = nextFilled(lines, i);
      if (!belongsToItem(lines, i, i > firstBlank, indent, depth)) {
        break;
      }
      for (let blank = firstBlank; blank < i; ++blank) {
        content.push("");
      }
      content.push(lines[i].slice(Math.min(indent + (isOrdered ? 1 : 0), leading(lines[i]))));
    }
    list.items.push(blocksOf(content, depth + 1));
  }
  return [list, i];
}

function leading(line) {
  return line.length - line.trimStart().length;
}

function nextFilled(lines, i) {
  while (i < lines.length && lines[i].trim() === "") {
    ++i;
  }
  return i;
}

// Indented lines and the rest of a paragraph.
function belongsToItem(lines, i, isBehindBlank, indent, depth) {
  return i < lines.length &&
    (leading(lines[i]) >= indent || (!isBehindBlank && !beginsBlock(lines, i, depth)));
}

function cells(line) {
  return line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());
}

function isTable(lines, i) {
  if (!lines[i].includes("|") || !/^[\s|:-]+$/.test(lines[i + 1] ?? "")) {
    return false;
  }
  const marks = cells(lines[i + 1]);
  return marks.length <= MAX_COLUMNS && marks.length === cells(lines[i]).length &&
    marks.every((cell) => /^:?-+:?$/.test(cell));
}

function readTable(lines, i) {
  if (!isTable(lines, i)) {
    return null;
  }
  const head = cells(lines[i]);
  const align = cells(lines[i + 1]).map((cell) =>
    cell.endsWith(":") ? (cell.startsWith(":") ? "center" : "end") : "start");
  const rows = [];
  for (i += 2; i < lines.length && lines[i].includes("|"); ++i) {
    const row = cells(lines[i]);
    rows.push(head.map((_, column) => row[column] ?? ""));
  }
  return [{ type: "table", head, align, rows }, i];
}

function blockNode(block) {
  switch (block.type) {
    case "code":
      return element("pre", { tabindex: "0", "data-language": block.language || null },
        element("code", {}, block.text));
    case "heading": // below the page's own
      return element(`h${Math.min(block.level + 2, 6)}`, {}, ...inlineNodes(block.text));
    case "rule":
      return element("hr");
    case "quote":
      return element("blockquote", {}, ...block.blocks.map(blockNode));
    case "list":
      return element(block.isOrdered ? "ol" : "ul",
        { start: block.isOrdered && block.start !== 1 ? block.start : null },
        ...block.items.map((item) => element("li", {}, ...item.map(blockNode))));
    case "table":
      return tableNode(block);
    default:
      return element("p", {}, ...inlineNodes(block.text));
  }
}

function tableNode({ head, align, rows }) {
  const row = (tag, texts) => element("tr", {}, ...texts.map((text, column) =>
    element(tag, { class: `align-${align[column]}` }, ...inlineNodes(text))));
  return element("div", { class: "table-scroll", tabindex: "0" },
    element("table", {}, element("thead", {}, row("th", head)),
      element("tbody", {}, ...rows.map((texts) => row("td", texts)))));
}

/**
 * A text that grows in a container: what has not changed keeps its nodes, so that a selection and
 * a screen reader's place survive the next token.
 */
export class MarkdownView {
  constructor(container) {
    this.container = container;
    this.keys = [];
  }

  update(text) {
    const blocks = readBlocks(text);
    const keys = blocks.map((block) => JSON.stringify(block));
    let same = 0;
    while (same < keys.length && keys[same] === this.keys[same]) {
      ++same;
    }
    while (this.container.childNodes.length > same) {
      this.container.lastChild.remove();
    }
    this.container.append(...blocks.slice(same).map(blockNode));
    this.keys = keys;
  }
}
