// SPDX-License-Identifier: Apache-2.0
// Calls of the server's API, with the key of this tab.

import { eventData } from "./sse.js";
import { session, storage } from "./dom.js";

const KEY = "plumb.key";

/** What the API or the network refuses, in words for the reader. */
export class ApiError extends Error {
  constructor(message, status = 0) {
    super(message);
    this.status = status;
  }
}

export function apiKey() {
  return storage.read(session, KEY) ?? "";
}

/** Kept by this tab until it is closed. */
export function setApiKey(key) {
  storage.write(session, KEY, key === "" ? null : key);
}

// Below wherever the page was served from, so that a root path needs no setting.
function address(path) {
  return new URL(path, document.baseURI);
}

/** The response to a request; throws an ApiError, or an AbortError when the signal said so. */
export async function call(path, { body, signal } = {}) {
  const headers = {};
  if (apiKey() !== "") {
    headers.authorization = `Bearer ${apiKey()}`;
  }
  if (body !== undefined) {
    headers["content-type"] = "application/json";
  }
  let response;
  try {
    response = await fetch(address(path), {
      method: body === undefined ? "GET" : "POST",
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
      cache: "no-store",
    });
  } catch (error) {
    if (error.name === "AbortError") {
      throw error;
    }
    throw new ApiError(`The request did not reach the server (${error.message}).`);
  }
  if (!response.ok) {
    throw new ApiError(await errorText(response), response.status);
  }
  return response;
}

async function errorText(response) {
  let message = "";
  try {
    message = (await response.json()).error.message;
  } catch {
    // The body is not an error of the API: the status says it.
  }
  const wait = response.headers.get("retry-after");
  return `${response.status}: ${message || response.statusText || "no reason given"}` +
    (wait === null ? "" : ` (try again in ${wait} s)`);
}

/**
 * Posts a request that streams and gives each of its chunks to `onChunk`.
 * Throws as call(); also when the stream tells an error or ends without its last event.
 */
export async function stream(path, body, signal, onChunk) {
  const response = await call(path, { body: { ...body, stream: true }, signal });
  let isDone = false;
  try {
    for await (const text of eventData(response.body)) {
      if (text === "[DONE]") {
        isDone = true;
        continue;
      }
      const chunk = JSON.parse(text);
      if (chunk.error) {
        throw new ApiError(chunk.error.message ?? "The server ended the answer with an error.");
      }
      onChunk(chunk);
    }
  } catch (error) {
    if (error instanceof ApiError || error.name === "AbortError") {
      throw error;
    }
    throw new ApiError(`The connection broke before the answer was complete (${error.message}).`);
  }
  if (!isDone) {
    throw new ApiError("The connection ended before the answer was complete.");
  }
  return { ignored: response.headers.get("x-plumb-ignored-fields") };
}

/** The ids and facts of the served models. */
export async function models() {
  return (await (await call("v1/models")).json()).data;
}
