// SPDX-License-Identifier: Apache-2.0
// The page: which view is shown, the served model, the key.

import { apiKey, models, setApiKey } from "./api.js";
import { ChatView } from "./chat.js";
import { byId, element } from "./dom.js";
import { numberText } from "./format.js";
import { LiveView } from "./live.js";
import { TokensView } from "./tokens.js";

const UNAUTHORIZED = 401;

/** What the views share: the chosen model, and who hears of a key that is wanted. */
class Connection {
  constructor() {
    this.select = byId("model");
    this.panel = byId("connection");
    this.key = byId("api-key");
    this.key.value = apiKey();
    this.refused = null; // the key whose refusal was shown
    byId("key-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.useKey();
    });
    this.key.addEventListener("change", () => this.useKey());
  }

  get model() {
    return this.select.value || null;
  }

  useKey() {
    setApiKey(this.key.value.trim());
    this.refresh();
  }

  onError(error) {
    if (error.status === UNAUTHORIZED && this.refused !== apiKey()) {
      this.refused = apiKey();
      this.panel.open = true;
      this.say(apiKey() === "" ? "This server asks for a key." : "This key is not accepted.");
    }
  }

  say(text) {
    byId("connection-status").textContent = text;
  }

  async refresh() {
    try {
      const served = await models();
      const chosen = this.model;
      this.select.replaceChildren(...served.map(({ id }) => element("option", { value: id }, id)));
      this.select.value = served.some(({ id }) => id === chosen) ? chosen : served[0]?.id ?? "";
      const len = served[0]?.max_model_len;
      this.say(len === undefined ? "Connected." : `Connected. Context of ${numberText(len)} tokens.`);
    } catch (error) {
      this.select.replaceChildren();
      this.say(error.message);
      this.onError(error);
    }
  }
}

/** Shows the view that the address names: #chat, #live or #tokens. */
class Pages {
  constructor(views) {
    this.views = views;
    this.name = null;
    window.addEventListener("hashchange", () => this.showNamed());
    byId("skip").addEventListener("click", (event) => {
      event.preventDefault();
      byId("main").focus();
    });
    this.showNamed();
  }

  showNamed() {
    const name = window.location.hash.slice(1);
    this.show(Object.hasOwn(this.views, name) ? name : "chat");
  }

  show(name) {
    if (name === this.name) {
      return;
    }
    this.views[this.name]?.hide();
    for (const other of Object.keys(this.views)) {
      byId(`view-${other}`).hidden = other !== name;
    }
    for (const item of document.querySelectorAll("nav a")) {
      if (item.hash === `#${name}`) {
        item.setAttribute("aria-current", "page");
        document.title = `${item.textContent} – Plumb`;
      } else {
        item.removeAttribute("aria-current");
      }
    }
    this.name = name;
    this.views[name].show();
  }
}

const connection = new Connection();
new Pages({
  chat: new ChatView(connection),
  live: new LiveView(connection),
  tokens: new TokensView(connection),
});
connection.refresh();
