// SPDX-License-Identifier: Apache-2.0
// Tokens with their probabilities, out of the chunks of either API.

/**
 * Of a chunk, a list of { text, logprob, top: [{ text, logprob }] }; logprob is null for the first
 * token of a prompt, which nothing predicts.
 */
export function tokensOf(chunk) {
  const logprobs = chunk.choices?.[0]?.logprobs;
  if (!logprobs) {
    return [];
  }
  return logprobs.content ? logprobs.content.map(chatToken) : completionTokens(logprobs);
}

function chatToken({ token, logprob, top_logprobs: top = [] }) {
  return { text: token, logprob, top: top.map((other) => ({ text: other.token, logprob: other.logprob })) };
}

function completionTokens({ tokens = [], token_logprobs: values = [], top_logprobs: tops }) {
  return tokens.map((text, i) => ({
    text,
    logprob: values[i] ?? null,
    top: Object.entries(tops?.[i] ?? {}).map(([other, logprob]) => ({ text: other, logprob }))
      .sort((a, b) => b.logprob - a.logprob),
  }));
}

/** 0 … 1; null for null. */
export function probabilityOf(logprob) {
  return logprob === null ? null : Math.exp(logprob);
}

/** White space and what has no shape, made visible. */
export function visibleText(text) {
  const shown = text.replace(/\n/g, "⏎").replace(/\t/g, "⇥").replace(/\r/g, "␍");
  return shown.replace(/[\u0000-\u001f\u007f-\u009f]/g,
    (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, "0")}`) || "∅";
}

/** Class of the colour: level-0 (below 5 %) to level-4 (90 % and more), level-none. */
export function levelOf(logprob) {
  if (logprob === null) {
    return "level-none";
  }
  return `level-${[0.05, 0.2, 0.5, 0.9].filter((bound) => Math.exp(logprob) >= bound).length}`;
}

/** Figures of all tokens, in words. */
export function summaryOf(tokens) {
  const values = tokens.map(({ logprob }) => logprob).filter((logprob) => logprob !== null);
  if (values.length === 0) {
    return "";
  }
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return `${tokens.length} ${tokens.length === 1 ? "token" : "tokens"} · perplexity ${Math.exp(-mean).toFixed(2)}`;
}
