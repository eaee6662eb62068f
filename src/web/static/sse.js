// SPDX-License-Identifier: Apache-2.0
// Server-sent events of a fetched body.

/**
 * The data of each event of a byte stream, as text. Lines may end in LF, CR LF or CR and be cut
 * anywhere; an event that the stream does not finish is dropped.
 */
export async function* eventData(body) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  let data = [];
  try {
    for (;;) {
      const { value, done } = await reader.read();
      rest += decoder.decode(value ?? new Uint8Array(), { stream: !done });
      let begin = 0;
      for (let end = lineEnd(rest, begin, done); end; end = lineEnd(rest, begin, done)) {
        const line = rest.slice(begin, end.at);
        begin = end.next;
        if (line === "" && data.length > 0) {
          yield data.join("\n");
          data = [];
        } else if (line.startsWith("data:")) {
          data.push(line.slice(line[5] === " " ? 6 : 5));
        }
      }
      rest = rest.slice(begin);
      if (done) {
        return;
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

// Where the line from `begin` ends and the next one begins; null while that is not known: a CR at
// the end may be half of a CR LF.
function lineEnd(text, begin, isComplete) {
  for (let at = begin; at < text.length; ++at) {
    if (text[at] === "\n") {
      return { at, next: at + 1 };
    }
    if (text[at] === "\r") {
      if (at + 1 === text.length && !isComplete) {
        return null;
      }
      return { at, next: text[at + 1] === "\n" ? at + 2 : at + 1 };
    }
  }
  return null;
}
