// Numbers as people read them: three digits that count, units beside them.

function grouped(value) {
  const [whole, part] = String(value).split(".");
  return whole.replace(/\B(?=(\d{3})+$)/g, ",") + (part ? "." + part : "");
}

function digits(value, significant = 3) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 10 ** (significant - 1)) return grouped(Math.round(value));
  return value.toFixed(Math.min(12, significant - 1 - Math.floor(Math.log10(size))));
}

function scaled(value, step, units) {
  let unit = 0;
  while (unit + 1 < units.length && Math.abs(value) >= 0.9995 * step) {
    value /= step;
    ++unit;
  }
  return `${digits(value)} ${units[unit]}`;
}

function percent(value, places) {
  return `${grouped((100 * value).toFixed(places))} %`;
}

function seconds(value) {
  if (value === 0) return "0 s";
  if (Math.abs(value) >= 59.95) return span(value);
  const [factor, unit] = value >= 0.9995 ? [1, "s"] : value >= 0.0009995 ? [1e3, "ms"]
    : value >= 0.9995e-6 ? [1e6, "µs"] : [1e9, "ns"];
  return `${digits(value * factor)} ${unit}`;
}

// For what lasts: "3 d 4 h", "2 min 5 s", "8 s".
function span(value) {
  if (value === 0) return "0 s";
  if (value < 9.95) return `${value.toFixed(1)} s`;
  const total = Math.round(value);
  const parts = [[Math.floor(total / 86400), "d"], [Math.floor(total / 3600) % 24, "h"],
    [Math.floor(total / 60) % 60, "min"], [total % 60, "s"]];
  const first = parts.findIndex(([count]) => count > 0);
  return parts.slice(first, first + 2).filter(([count], at) => at === 0 || count > 0)
    .map(([count, unit]) => `${count} ${unit}`).join(" ");
}

function clock(value) {
  const time = new Date(1000 * value);
  const two = (number) => String(number).padStart(2, "0");
  const hours = `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`;
  const day = `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
  return time.toDateString() === new Date().toDateString() ? hours : `${day} ${hours}`;
}

function number(value) {
  const size = Math.abs(value);
  return size === 0 || (size >= 1e-3 && size < 1e6) ? digits(value, 4) : value.toExponential(2);
}

// For settings, which are round.
function plain(value) {
  return String(+value.toPrecision(4));
}

// value -> text; "" where the value has nothing to say.
const FORMATS = {
  text: String,
  name: (value) => String(value).replaceAll("_", " "),
  word: (value) => value.charAt(0).toUpperCase() + value.slice(1),
  count: (value) => grouped(value),
  tally: (value) => (value < 1e7 ? grouped(value) : scaled(value, 1000, ["", "k", "M", "G", "T"])),
  amount: (value) => (Number.isInteger(value) ? grouped(value) : digits(value)),
  rate: (value) => digits(value),
  per_second: (value) => `${digits(value)}/s`,
  number,
  plain,
  share: (value) => percent(value, 1),
  fine_share: (value) => percent(value, 4),
  seconds,
  span,
  time: clock,
  bytes: (value) => scaled(value, 1000, ["B", "kB", "MB", "GB", "TB", "PB"]),
  megabytes_per_second: (value) => `${scaled(value, 1000, ["MB", "GB", "TB"])}/s`,
  emulated: (value) => (value ? "emulated device" : ""),
  emulated_tier: (value) => (value ? "emulated" : ""),
  healthy: (value) => (value ? "" : "no sign of life from the trainer"),
  degraded: (value) => (value ? "degraded" : "well"),
};
