// Pieces of a page: cards, facts and tables. Text goes in as text only.

const PALETTE = 16;
const colourOf = (at) => `c${at % PALETTE}`;

function card(title, attributes, ...children) {
  return make("article", { ...attributes, class: `card ${attributes.class ?? ""}` }, make("h2", {}, title,
    make("span", { class: "at" })), ...children.filter(Boolean));
}

function section(name, title, ...children) {
  const parts = children.flat().filter(Boolean);
  if (parts.length === 0) return null;
  return make("section", { class: name, "aria-label": title }, ...parts);
}

function chip(text, kind = "") {
  return make("span", { class: `chip ${kind}` }, text);
}

// A figure that is absent where its first value is.
function item(...children) {
  return make("span", { class: "item" }, ...children);
}

// rows: [[label, key, format, words]]; a row without a value is left out by fill().
function facts(rows) {
  return make("dl", { class: "facts" }, ...rows.map(([label, key, format, kind]) =>
    make("div", { class: `item ${kind ?? ""}` }, make("dt", {}, label), make("dd", {}, show(key, format ?? "text")))));
}

function folded(title, ...children) {
  return make("details", { class: "card words" }, make("summary", {}, title), ...children);
}

// heads: texts; rows: arrays of nodes, the first of which names the row.
function grid(heads, rows, attributes = {}) {
  return make("div", { class: "block" }, make("table", attributes,
    make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head)))),
    make("tbody", {}, ...rows.map(([first, ...cells]) => make("tr", {}, make("th", { scope: "row" }, first),
      ...cells.map((cell, at) => make("td", { "data-label": heads[at + 1] }, cell ?? "")))))));
}

// Text in a table: with a value, so that it stays where rows become blocks.
function words(text, attributes = {}) {
  return make("span", { "data-value": text, ...attributes }, text);
}
