// Pieces of a report alone: figures, and trees of values.

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
