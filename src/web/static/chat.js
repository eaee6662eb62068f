// SPDX-License-Identifier: Apache-2.0
// The chat: asking, stopping, asking again.

import { Answer, ask } from "./answer.js";
import { Conversation } from "./conversation.js";
import { byId } from "./dom.js";
import { MessageView } from "./message_view.js";
import { Settings } from "./settings.js";

const REDRAW_MS = 60;
const NEAR_END_PX = 48;
const WIDE = "(min-width: 60rem)"; // the settings stand beside the conversation, as in chat.css

/** The view of the chat. `connection` knows the model and hears of refused keys. */
export class ChatView {
  constructor(connection) {
    this.connection = connection;
    this.settings = new Settings();
    this.conversation = new Conversation();
    this.conversation.isKept = this.settings.keep.checked;
    this.abort = null; // ends the answer that comes; null while none does
    this.removed = null; // messages of the chat that was put away
    this.log = byId("messages");
    this.prompt = byId("prompt");
    this.settings.form.closest("details").open = window.matchMedia(WIDE).matches;
    this.listen();
    this.redraw();
  }

  show() {
    this.prompt.focus({ preventScroll: true });
    this.scrollToEnd();
  }

  hide() {}

  listen() {
    byId("composer").addEventListener("submit", (event) => {
      event.preventDefault();
      this.send();
    });
    this.prompt.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        this.send();
      }
    });
    byId("view-chat").addEventListener("keydown", (event) => {
      if (event.key === "Escape") {
        this.stop();
      }
    });
    byId("stop").addEventListener("click", () => this.stop());
    byId("regenerate").addEventListener("click", () => this.regenerate());
    byId("new-chat").addEventListener("click", () => this.putAway());
    byId("undo").addEventListener("click", () => this.bringBack());
    this.settings.keep.addEventListener("change", () => {
      this.conversation.isKept = this.settings.keep.checked;
      this.conversation.save();
    });
  }

  redraw() {
    this.log.replaceChildren(...this.conversation.messages.map(
      (message) => new MessageView(message).node));
    this.updateButtons();
    this.scrollToEnd();
  }

  updateButtons() {
    const isBusy = this.abort !== null;
    const isEmpty = this.conversation.messages.length === 0;
    const focused = document.activeElement;
    byId("send").hidden = isBusy;
    byId("stop").hidden = !isBusy;
    byId("regenerate").disabled = isBusy || !this.conversation.hasAnswer;
    byId("new-chat").disabled = isBusy || isEmpty;
    byId("undo").hidden = isBusy || this.removed === null;
    byId("empty-chat").hidden = !isEmpty;
    if (focused instanceof HTMLButtonElement && (focused.hidden || focused.disabled)) {
      (isBusy ? byId("stop") : this.prompt).focus({ preventScroll: true });
    }
  }

  say(text) {
    byId("chat-status").textContent = text;
  }

  complain(text) {
    byId("chat-error").textContent = text;
  }

  send() {
    const content = this.prompt.value;
    if (this.abort !== null || content.trim() === "" || !this.settings.check()) {
      return;
    }
    const before = [...this.conversation.messages];
    const question = { role: "user", content };
    this.conversation.messages.push(question);
    this.log.append(new MessageView(question).node);
    this.prompt.value = "";
    this.removed = null;
    this.answer(before, content);
  }

  regenerate() {
    if (this.abort !== null || !this.conversation.hasAnswer || !this.settings.check()) {
      return;
    }
    const before = [...this.conversation.messages];
    this.conversation.messages.pop();
    this.log.lastElementChild.remove();
    this.answer(before, "");
  }

  stop() {
    this.abort?.abort();
  }

  // Asks with the conversation as it is. When nothing comes of it, the conversation is what it was
  // before and the reader's text is back in its field.
  async answer(before, typed) {
    const answer = new Answer();
    const view = new MessageView({ role: "assistant", content: "" });
    view.isBusy = true;
    this.log.append(view.node);
    this.abort = new AbortController();
    this.complain("");
    this.say("Answering…");
    this.updateButtons();
    this.scrollToEnd();
    const redraw = throttled(REDRAW_MS, () => this.follow(() => view.update(answer)));
    let error = null;
    try {
      const end = await ask(answer, this.request(), this.abort.signal, redraw);
      this.say(end.ignored === null ? "" : `The server ignored: ${end.ignored}`);
    } catch (caught) {
      error = caught;
    }
    redraw.cancel();
    this.abort = null;
    if (error !== null) {
      this.explain(error, answer.isEmpty);
    }
    if (error !== null && answer.isEmpty) {
      this.conversation.messages = before;
      this.prompt.value = this.prompt.value || typed;
      this.redraw();
      return;
    }
    const message = answer.message(error === null ? "" : noteOf(error));
    this.conversation.messages.push(message);
    this.follow(() => view.update(message));
    view.isBusy = false;
    if (!this.conversation.save()) {
      this.say("This browser does not keep the conversation: its storage is full or switched off.");
    }
    this.updateButtons();
  }

  request() {
    return {
      model: this.connection.model ?? undefined,
      messages: this.conversation.forRequest(this.settings.systemPrompt),
      ...this.settings.sampling,
    };
  }

  explain(error, isEmpty) {
    if (error.name === "AbortError") {
      this.say("Stopped.");
      return;
    }
    this.say("");
    this.complain(isEmpty ? error.message : `The answer is not complete. ${error.message}`);
    this.connection.onError(error);
  }

  putAway() {
    this.removed = this.conversation.messages;
    this.conversation.messages = [];
    this.conversation.save();
    this.complain("");
    this.say("The conversation is gone from this browser.");
    this.redraw();
    this.prompt.focus();
  }

  bringBack() {
    this.conversation.messages = this.removed;
    this.removed = null;
    this.conversation.save();
    this.say("");
    this.redraw();
  }

  // Changes the log, and keeps its end in view if it was.
  follow(change) {
    const isAtEnd = this.log.scrollHeight - this.log.scrollTop - this.log.clientHeight < NEAR_END_PX;
    change();
    if (isAtEnd) {
      this.scrollToEnd();
    }
  }

  scrollToEnd() {
    this.log.scrollTop = this.log.scrollHeight;
  }
}

function noteOf(error) {
  return error.name === "AbortError" ? "Stopped." : "Not complete.";
}

// Calls at most once in that time; the last call is never lost unless cancelled.
function throttled(ms, call) {
  let timer = null;
  const run = () => {
    timer ??= setTimeout(() => {
      timer = null;
      call();
    }, ms);
  };
  run.cancel = () => clearTimeout(timer);
  return run;
}
