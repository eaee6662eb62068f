// SPDX-License-Identifier: Apache-2.0
// The messages of the chat, which this browser keeps and nobody else.

import { local, storage } from "./dom.js";

const KEY = "plumb.conversation";

/**
 * A message is { role: "user" or "assistant", content }; an answer may have reasoning, toolCalls,
 * note (how it ended) and facts (its figures).
 */
export class Conversation {
  constructor() {
    const stored = storage.readJson(local, KEY, []);
    this.messages = Array.isArray(stored) ? stored.filter(isMessage) : [];
    this.isKept = true;
  }

  get last() {
    return this.messages[this.messages.length - 1];
  }

  /** True if the last message is an answer, which can be asked for again. */
  get hasAnswer() {
    return this.last?.role === "assistant";
  }

  /** False if the browser did not take it. */
  save() {
    const isEmpty = this.messages.length === 0 || !this.isKept;
    return storage.write(local, KEY, isEmpty ? null : JSON.stringify(this.messages));
  }

  /** What a request says: the system prompt and all messages, without what only the page shows. */
  forRequest(systemPrompt) {
    const system = systemPrompt.trim() === "" ? [] : [{ role: "system", content: systemPrompt }];
    return [...system, ...this.messages.map(({ role, content }) => ({ role, content }))];
  }
}

function isMessage(value) {
  return value !== null && typeof value === "object" && typeof value.content === "string" &&
    (value.role === "user" || value.role === "assistant");
}
