// SPDX-License-Identifier: Apache-2.0
// Making and finding nodes. Text goes in as text nodes only, never as markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) {
      node.setAttribute(name, "");
    } else if (value !== false && value !== null && value !== undefined) {
      node.setAttribute(name, value);
    }
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

/** An HTML element. Attributes that are false, null or undefined are left out. */
export function element(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** An SVG element. */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** The element with that id, which the page has. */
export function byId(id) {
  return document.getElementById(id);
}

/** A store of this browser that may be switched off or full: reads null, and writes tell. */
export const storage = {
  read(area, key) {
    try {
      return area().getItem(key);
    } catch {
      return null;
    }
  },
  write(area, key, value) {
    try {
      if (value === null) {
        area().removeItem(key);
      } else {
        area().setItem(key, value);
      }
      return true;
    } catch {
      return false;
    }
  },
  /** What was stored there as JSON, or the value for want of it. */
  readJson(area, key, otherwise) {
    try {
      return JSON.parse(this.read(area, key)) ?? otherwise;
    } catch {
      return otherwise;
    }
  },
};

export const local = () => window.localStorage;
export const session = () => window.sessionStorage;
