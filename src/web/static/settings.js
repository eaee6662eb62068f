// SPDX-License-Identifier: Apache-2.0
// The fields of a request that the reader can set; an empty one is left to the server.

import { byId, element, local, storage } from "./dom.js";

const KEY = "plumb.settings";

// Name in the API, label, bounds of the API, step, what it does.
const FIELDS = [
  ["temperature", "Temperature", 0, 2, 0.01, "0 takes the likeliest token"],
  ["top_p", "Top-p", 0, 1, 0.01, "likeliest tokens of that probability together"],
  ["top_k", "Top-k", -1, 1000000, 1, "that many of the likeliest; −1 or 0 for all"],
  ["min_p", "Min-p", 0, 1, 0.01, "relative to the likeliest token"],
  ["max_tokens", "Max tokens", 1, 10000000, 1, "length of an answer"],
  ["seed", "Seed", -1, Number.MAX_SAFE_INTEGER, 1, "same seed, same answer"],
  ["presence_penalty", "Presence penalty", -2, 2, 0.01, "on tokens that the answer has"],
  ["frequency_penalty", "Frequency penalty", -2, 2, 0.01, "for each time that it has them"],
  ["repetition_penalty", "Repetition penalty", 0.01, 2, 0.01, "on tokens of prompt and answer; 1 is none"],
];

/** The settings of the chat in their form, kept by this browser. */
export class Settings {
  constructor() {
    this.form = byId("settings");
    this.system = byId("system-prompt");
    this.keep = byId("keep-history");
    const stored = storage.readJson(local, KEY, {});
    this.system.value = typeof stored.system === "string" ? stored.system : "";
    this.keep.checked = stored.keep !== false;
    this.inputs = FIELDS.map(([name, label, min, max, step, help]) => {
      const id = `setting-${name}`;
      const input = element("input", { id, name, type: "number", inputmode: "decimal", min, max, step,
        placeholder: "default", "aria-describedby": `${id}-help` });
      input.value = typeof stored[name] === "number" ? stored[name] : "";
      byId("sampling").append(element("div", { class: "field" },
        element("label", { for: id }, label), input,
        element("small", { id: `${id}-help` }, help)));
      return input;
    });
    this.form.addEventListener("change", () => this.save());
    this.form.addEventListener("submit", (event) => event.preventDefault());
    byId("reset-settings").addEventListener("click", () => this.reset());
  }

  get systemPrompt() {
    return this.system.value;
  }

  /** False, with the browser's words at the field, if a value is out of bounds. */
  check() {
    const isValid = this.form.checkValidity();
    if (!isValid) {
      this.form.closest("details").open = true;
      this.form.reportValidity();
    }
    return isValid;
  }

  /** The fields that are set. */
  get sampling() {
    const set = this.inputs.filter((input) => input.value !== "" && input.validity.valid);
    return Object.fromEntries(set.map((input) => [input.name, input.valueAsNumber]));
  }

  reset() {
    for (const input of this.inputs) {
      input.value = "";
    }
    this.save();
  }

  save() {
    const values = { ...this.sampling, system: this.system.value, keep: this.keep.checked };
    storage.write(local, KEY, JSON.stringify(values));
  }
}
