// Pieces of a report alone: figures, and trees of values.

// judged: where the server says what the figure costs.
function figure(title, hint, key, format, small = [], judged = "") {
  return make("div", { class: `figure ${judged ? "gauged" : ""}`, title: hint }, make("h3", {}, title),
    make("p", { class: "big" }, show(key, format, judged ? { "data-judged": judged } : {})),
    judged ? make("div", { class: "gauge" }) : null,
    make("p", { class: "small" }, ...small, judged ? make("span", { class: "judged" }) : null));
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
