// Pieces of a report: cards, figures and tables. Text goes in as text only.

const PALETTE = 8;
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

function figure(title, hint, key, format, small = [], judged = false) {
  return make("div", { class: `figure ${judged ? "gauged" : ""}`, title: hint }, make("h3", {}, title),
    make("p", { class: "big" }, show(key, format, judged ? { "data-threshold": "" } : {})),
    judged ? make("div", { class: "gauge" }) : null,
    make("p", { class: "small" }, ...small, judged ? make("span", { class: "judged" }) : null));
}

const JUDGED = { fine: "fine, under 5 %", moderate: "moderate, 5 to 20 %", bound: "bound, over 20 %" };

// After fill(): what was not measured says so.
function judgeFigures(root) {
  for (const element of root.querySelectorAll(".figure")) {
    const value = element.querySelector(".big span");
    const absent = value.dataset.value === undefined;
    element.classList.toggle("absent", absent);
    if (absent) setText(value, "not measured");
    if (!element.classList.contains("gauged")) continue;
    setData(element, "level", value.dataset.level);
    setText(element.querySelector(".judged"), JUDGED[value.dataset.level] ?? "");
    element.querySelector(".gauge").style.setProperty("--share", absent ? 0 : Math.min(1, value.dataset.value));
  }
}

// rows: [[label, key, format, words]]; a row without a value is left out by fill().
function facts(rows) {
  return make("dl", { class: "facts" }, ...rows.map(([label, key, format, kind]) =>
    make("div", { class: `item ${kind ?? ""}` }, make("dt", {}, label), make("dd", {}, show(key, format ?? "text")))));
}

// A tree of values as [[path, text]].
function flat(value, path = "") {
  if (value === null || typeof value !== "object") return [[path, value === null ? "" : String(value)]];
  if (Array.isArray(value) && value.every((one) => typeof one !== "object")) return [[path, value.join(" ")]];
  return Object.entries(value).flatMap(([name, child]) => flat(child, path ? `${path}.${name}` : name));
}

function listing(rows) {
  return make("dl", { class: "listing" }, ...rows.map(([name, text]) =>
    make("div", {}, make("dt", {}, name), make("dd", {}, text))));
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
