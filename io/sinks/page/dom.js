// Elements and the values in them. An element with data-key="device.busy_s" shows that value of the
// status in the way data-format says, and has it unformatted in data-value. Text goes in as text only.

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.filter((child) => child !== null));
  return element;
}

function show(key, format = "text", attributes = {}) {
  return make("span", { "data-key": key, "data-format": format, ...attributes });
}

// Absent, null and "" are all "not measured". A name may hold dots (a tier inside another: "data.inner").
function look(value, key) {
  if (value === null || value === undefined) return undefined;
  if (value[key] !== undefined) return value[key] === "" ? undefined : value[key] ?? undefined;
  for (let dot = key.indexOf("."); dot >= 0; dot = key.indexOf(".", dot + 1)) {
    const below = look(value[key.slice(0, dot)], key.slice(dot + 1));
    if (below !== undefined) return below;
  }
  return undefined;
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function setData(element, name, value) {
  if (value === undefined) delete element.dataset[name];
  else if (element.dataset[name] !== String(value)) element.dataset[name] = value;
}

function fillValue(element, status) {
  const value = look(status, element.dataset.key);
  const text = value === undefined ? "" : FORMATS[element.dataset.format ?? "text"](value);
  setText(element, text || (element.dataset.or ?? ""));
  setData(element, "value", value);
  if ("judged" in element.dataset) setData(element, "level", look(status, `${element.dataset.judged}.level`));
  if ("bad" in element.dataset) element.classList.toggle("bad", Boolean(value));
  element.classList.toggle("zero", value === 0);
}

// Fills everything below root; an .item whose first value has no text is hidden.
function fill(root, status) {
  for (const element of root.querySelectorAll("[data-key]")) fillValue(element, status);
  for (const item of root.querySelectorAll(".item")) {
    item.hidden = item.querySelector("[data-key]").textContent === "";
  }
}

// After fill(): figures that were not measured say so, and those that cost the device have the server's colour and words.
function judgeFigures(root, status) {
  for (const figure of root.querySelectorAll(".figure")) {
    const value = figure.querySelector(".big span");
    const absent = value.dataset.value === undefined;
    figure.classList.toggle("absent", absent);
    if (absent) setText(value, "not measured");
    if (!figure.classList.contains("gauged")) continue;
    setData(figure, "level", value.dataset.level);
    setText(figure.querySelector(".judged"), look(status, `${value.dataset.judged}.text`) ?? "");
    const gauge = figure.querySelector(".gauge").style;
    gauge.setProperty("--share", absent ? 0 : Math.min(1, value.dataset.value));
    const bounds = look(status, value.dataset.judged.replace(/judged\..*/, "judged.bounds")) ?? [];
    for (const [at, bound] of bounds.entries()) gauge.setProperty(`--bound${at}`, `${100 * bound}%`);
  }
}

// Replaces root's children where their shape has changed, so that a selection or an open tooltip
// survives an update.
function rebuild(root, shape, build) {
  const text = JSON.stringify(shape);
  if (root.dataset.shape !== text) {
    root.dataset.shape = text;
    root.replaceChildren(...build());
  }
}

// columns: [{head, key, format, bar}], rows: [[base key, extra elements for the first cell...]].
function table(columns, rows) {
  const head = columns.map((column) => make("th", { scope: "col", ...column.attributes }, column.head));
  const body = rows.map(([base, ...extra]) => make("tr", {}, ...columns.map((column, at) => {
    const value = show(`${base}.${column.key}`, column.format);
    if (at === 0) return make("th", { scope: "row" }, value, ...extra);
    const bar = column.bar ? [make("span", { class: "level", "data-bar": column.bar(base) })] : [];
    return make("td", { "data-label": column.head }, ...(column.cell?.(base) ?? [value]), ...bar);
  })));
  return make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...body));
}

// A level's width: "a.key" is a share, "a.key/b.key" a part of another value.
function fillBars(root, status) {
  for (const bar of root.querySelectorAll("[data-bar]")) {
    const [value, whole] = bar.dataset.bar.split("/").map((key) => look(status, key));
    const share = bar.dataset.bar.includes("/") ? value / whole : value;
    bar.style.setProperty("--share", Number.isFinite(share) ? Math.min(1, Math.max(0, share)) : 0);
  }
}
