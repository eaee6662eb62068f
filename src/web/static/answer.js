// SPDX-License-Identifier: Apache-2.0
// One answer of the chat, put together from the chunks of its stream.

import { stream } from "./api.js";

/** What the chunks said so far. */
export class Answer {
  constructor(now = () => performance.now()) {
    this.now = now;
    this.begin = now();
    this.firstToken = null;
    this.lastToken = null;
    this.content = "";
    this.reasoning = "";
    this.toolCalls = [];
    this.finishReason = null;
    this.usage = null;
  }

  get isEmpty() {
    return this.content === "" && this.reasoning === "" && this.toolCalls.length === 0;
  }

  add(chunk) {
    this.usage = chunk.usage ?? this.usage;
    const choice = chunk.choices?.[0];
    if (choice === undefined) {
      return;
    }
    this.finishReason = choice.finish_reason ?? this.finishReason;
    const delta = choice.delta ?? {};
    const reasoning = delta.reasoning_content ?? delta.reasoning ?? "";
    if (delta.content || reasoning || delta.tool_calls) {
      this.lastToken = this.now();
      this.firstToken ??= this.lastToken;
    }
    this.content += delta.content ?? "";
    this.reasoning += reasoning;
    for (const part of delta.tool_calls ?? []) {
      this.addToolCall(part);
    }
  }

  // The first part of a call has its name, the others more of its arguments.
  addToolCall({ index = 0, id, function: called = {} }) {
    const call = (this.toolCalls[index] ??= { id: "", name: "", arguments: "" });
    call.id = id ?? call.id;
    call.name += called.name ?? "";
    call.arguments += called.arguments ?? "";
  }

  /** Figures for the reader, "" where there are none. */
  get facts() {
    const facts = [];
    const tokens = this.usage?.completion_tokens;
    if (tokens !== undefined) {
      facts.push(`${tokens} ${tokens === 1 ? "token" : "tokens"}`);
      const seconds = (this.lastToken - this.firstToken) / 1000;
      if (tokens > 1 && seconds > 0) {
        facts.push(`${((tokens - 1) / seconds).toFixed(1)} tokens/s`);
      }
    }
    if (this.firstToken !== null) {
      facts.push(`first after ${Math.round(this.firstToken - this.begin)} ms`);
    }
    const cached = this.usage?.prompt_tokens_details?.cached_tokens;
    if (cached > 0) {
      facts.push(`${cached} of ${this.usage.prompt_tokens} prompt tokens cached`);
    }
    return facts.join(" · ");
  }

  /** The message that stays, with a note on how it ended where that was not by itself. */
  message(note) {
    const isCut = this.finishReason === "length";
    return {
      role: "assistant",
      content: this.content,
      reasoning: this.reasoning,
      toolCalls: this.toolCalls.filter(Boolean),
      facts: this.facts,
      note: note || (isCut ? "Cut off at the token limit." : ""),
    };
  }
}

/** Asks for an answer; `onChange` after every chunk. Throws as stream() does; the answer stays. */
export function ask(answer, request, signal, onChange) {
  const body = { ...request, stream_options: { include_usage: true } };
  return stream("v1/chat/completions", body, signal, (chunk) => {
    answer.add(chunk);
    onChange();
  });
}
