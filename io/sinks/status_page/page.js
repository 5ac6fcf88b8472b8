// Polls api/status and shows what it says; keeps the last values when there is no reply.

const SCHEMA = 2;
const EVERY_MS = 1000;
const HIDDEN_MS = 15000;
const SLOWEST_MS = 10000;
const TIMEOUT_MS = 5000;
const ENDED = ["completed", "stopped", "failed"];

const page = document.documentElement;
const connection = document.getElementById("connection");
const poll = { timer: 0, asking: false, failures: 0, seen: null, status: null, problem: "" };

function showFigures(status) {
  const ended = ENDED.includes(status.status);
  const recent = !ended && look(status, "history.images_per_s_recent") !== undefined;
  const value = document.querySelector("#rate .big span");
  const other = document.querySelector("#rate .small span[data-key]");
  setData(value, "key", recent ? "history.images_per_s_recent" : "images_per_s");
  setData(other, "key", recent ? "images_per_s" : "history.images_per_s_recent");
  setText(document.querySelector("#rate .small i"), recent ? "whole run" : "at the end");
}

function showProgress(status) {
  const step = look(status, "steps");
  const planned = look(status, "steps_planned");
  const bar = document.getElementById("bar");
  bar.hidden = !(planned > 0) || step === undefined;
  if (!bar.hidden) bar.firstElementChild.style.width = `${Math.min(100, (100 * step) / planned)}%`;
  const name = look(status, "name") ?? "stoker";
  document.title = bar.hidden ? name : `${Math.floor((100 * step) / planned)} % ${name}`;
}

function showCards() {
  for (const card of document.querySelectorAll("[data-part]")) card.hidden = card.querySelector("[data-value]") === null;
}

function render(status) {
  showEvidence(status);
  showRanks(status);
  showLoaders(status);
  showTiers(status);
  showParts(status);
  showLegends(status);
  showProfile(status);
  showFigures(status);
  fill(document.body, status);
  fillBars(document.body, status);
  judgeFigures(document, status);
  showProgress(status);
  showCards();
  setData(document.getElementById("verdict"), "level", look(status, "verdict.level") ?? "unknown");
  setData(page, "healthy", look(status, "health.healthy"));
  setData(page, "status", look(status, "status"));
  charts.update(status);
  setData(page, "shown", status.now_unix_s);
}

function showConnection() {
  const lost = poll.problem !== "";
  const ended = ENDED.includes(poll.status?.status);
  setData(page, "connection", ended ? "ended" : poll.seen === null && !lost ? "waiting" : lost ? "lost" : "live");
  if (ended) setText(connection, `${poll.status.status}, report: stoker report ${poll.status.run_directory}`);
  else if (!lost) setText(connection, poll.seen === null ? "connecting" : "live");
  else if (poll.seen === null) setText(connection, `no connection: ${poll.problem}`);
  else setText(connection, `connection lost, last seen ${clock(poll.seen / 1000)} `
    + `(${span((Date.now() - poll.seen) / 1000)} ago); these are the last values`);
  connection.title = poll.problem;
}

async function ask() {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), TIMEOUT_MS);
  try {
    const reply = await fetch("api/status", { cache: "no-store", signal: stop.signal });
    if (!reply.ok) throw new Error(`api/status: HTTP ${reply.status}`);
    const status = await reply.json();
    if (status.schema_version !== SCHEMA) {
      throw new Error(`api/status has schema_version ${status.schema_version}, this page knows ${SCHEMA}: reload it`);
    }
    return status;
  } finally {
    clearTimeout(timer);
  }
}

async function update() {
  if (poll.asking) return;
  poll.asking = true;
  try {
    poll.status = await ask();
    poll.seen = Date.now();
    poll.failures = 0;
    poll.problem = "";
  } catch (error) {
    ++poll.failures;
    poll.problem = error.name === "AbortError" ? `no reply in ${TIMEOUT_MS / 1000} s` : error.message;
  }
  poll.asking = false;
  next();
  showConnection();
  if (poll.problem === "") render(poll.status);
}

function next() {
  clearTimeout(poll.timer);
  const late = Math.min(SLOWEST_MS, EVERY_MS * 2 ** Math.min(10, poll.failures));
  poll.timer = setTimeout(update, document.hidden ? HIDDEN_MS : poll.failures ? late : EVERY_MS);
}

document.addEventListener("visibilitychange", () => {
  clearTimeout(poll.timer);
  if (document.hidden) next();
  else update();
});
setInterval(() => poll.problem && showConnection(), 1000);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => charts.redraw());
showConnection();
update();
