// The list of runs: sorted by a click on a head, compared where they are ticked, asked for anew while it is looked at.

const EVERY_MS = 2000, OF_THE_TIME = 10;  // it asks at most a tenth of the time
const view = { runs: [], sort: "started_unix_s", up: false, ticked: new Set(), filter: "", ended: false, tag: "" };

const FIGURE = (name) => (run) => run.figures[name] ?? (name === "images_per_s" ? run.images_per_s?.max : undefined);
const COLUMNS = [["name", "name", (run) => run.name], ["begun", "started_unix_s", (run) => run.started_unix_s],
  ["state", "state", (run) => run.state], ["images/s", "images_per_s", FIGURE("images_per_s")],
  ["device idle", "device.idle_share", FIGURE("device.idle_share")], ["I/O share", "io_share", FIGURE("io_share")],
  ["verdict", "verdict", (run) => run.verdict], ["differs by", "differs", (run) => differences(run)]];

function differences(run) {
  const options = Object.entries(run.differs).map(([key, value]) => `${key}=${value}`).join("  ");
  return run.runs ? [`${run.runs.done} of ${run.runs.planned} runs`, options].filter(Boolean).join(": ") : options;
}

function compared(a, b) {
  if (a === undefined || b === undefined) return (a === undefined) - (b === undefined);
  const order = typeof a === "number" ? a - b : String(a).localeCompare(String(b));
  return view.up ? order : -order;
}

function visible() {
  const wanted = view.filter.toLowerCase();
  const value = COLUMNS.find(([, key]) => key === view.sort)[2];
  return view.runs.filter((run) => `${run.name} ${run.state} ${run.verdict ?? ""} ${differences(run)}`.toLowerCase().includes(wanted))
    .sort((a, b) => compared(value(a), value(b)));
}

const reportOf = (names) => `report?${names.map((name) => `run=${encodeURIComponent(name)}`).join("&")}`;

function tick(name, on) {
  if (on) view.ticked.add(name);
  else view.ticked.delete(name);
  const kinds = new Set(view.runs.filter((run) => view.ticked.has(run.name)).map((run) => run.kind));
  const button = document.getElementById("compare");
  button.disabled = view.ticked.size < 2 || kinds.size > 1;
  setText(button, view.ticked.size > 1 ? `Compare ${view.ticked.size}` : "Compare");
  setText(document.getElementById("note"), view.ended ? "`stoker serve` has ended: start it again to see what is new."
    : kinds.size > 1 ? "Runs and sweeps are compared apart: tick one kind." : "");
}

function nameCell(run) {
  const box = make("input", { type: "checkbox", "aria-label": `compare ${run.name}` });
  box.checked = view.ticked.has(run.name);
  box.addEventListener("change", () => tick(run.name, box.checked));
  return make("span", {}, box, make("a", { href: reportOf([run.name]) }, run.name));
}

function stateCell(run) {
  const state = make("span", { class: "state", "data-value": run.state }, run.state);
  return run.live ? make("span", { "data-value": run.state }, state, " ", make("a", { href: `http://${run.live}/` }, "live page")) : state;
}

function share(run, figure) {
  const value = run.figures[figure];
  const judged = look(run, `judged.${figure}.level`);  // by the server, where it costs the device something
  return value === undefined ? null : words(FORMATS.share(value), judged ? { class: `say-${judged}` } : {});
}

function rate(run) {
  if (run.images_per_s && run.images_per_s.min < run.images_per_s.max) {
    return words(`${FORMATS.rate(run.images_per_s.min)} to ${FORMATS.rate(run.images_per_s.max)}`);
  }
  const value = FIGURE("images_per_s")(run);
  return value === undefined ? null : words(FORMATS.rate(value));
}

function row(run) {
  return [nameCell(run), run.started_unix_s ? words(clock(run.started_unix_s)) : null, stateCell(run), rate(run),
    share(run, "device.idle_share"), share(run, "io_share"), run.verdict ? words(run.verdict_title) : null,
    words(differences(run))];
}

function head([title, key]) {
  const button = make("button", { type: "button" }, title);
  if (view.sort === key) button.dataset.sorted = view.up ? "up" : "down";
  button.addEventListener("click", () => {
    view.up = view.sort === key ? !view.up : key === "name";
    view.sort = key;
    draw();
  });
  return button;
}

function draw() {
  const runs = visible();
  const list = document.getElementById("list");
  rebuild(list, [view.sort, view.up, runs], () => (runs.length === 0 ? [make("p", { class: "none" }, "no runs")]
    : [grid(COLUMNS.map(head), runs.map(row))]));
  for (const cell of list.querySelectorAll("td")) {
    const title = COLUMNS[cell.cellIndex]?.[0];
    if (title) cell.dataset.label = title;
  }
  const running = view.runs.filter((run) => run.state === "running").length;
  setText(document.getElementById("count"), `${view.runs.length} in the list${running ? `, ${running} running` : ""}`);
  tick("", false);
}

async function ask() {
  try {
    const answer = await fetch("api/runs", { cache: "no-store", headers: { "If-None-Match": view.tag } });
    if (answer.status === 304 && !view.ended) return;  // nothing has changed
    const found = await answer.json();
    view.tag = answer.headers.get("ETag") ?? "";
    view.runs = found.runs;
    setText(document.getElementById("folder"), found.folder);
    view.ended = false;
    document.documentElement.dataset.shown = "list";
  } catch {
    view.ended = true;
    view.tag = "";
  }
  draw();
}

async function watch() {
  const begin = performance.now();
  if (document.visibilityState === "visible") await ask();
  setTimeout(watch, Math.max(EVERY_MS, OF_THE_TIME * (performance.now() - begin)));
}

document.getElementById("compare").addEventListener("click", () => location.assign(reportOf([...view.ticked])));
document.getElementById("filter").addEventListener("input", (event) => {
  view.filter = event.target.value;
  draw();
});
watch();
