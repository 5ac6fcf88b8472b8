// Spans of time as bars of HTML: they keep their text at every width, and print.

const OPERATIONS = [["blocked", "checkpoint_stall", "the trainer stands still"], ["snapshot", "h2d", "copy into snapshot memory"],
  ["write", "eval", "to the first tier"], ["drain", "c0", "from the first tier to the last"],
  ["restore", "other", "a set is read back"]];

// When checkpoints were on their way, in a row for each part of it.
function checkpointSpans(operations, end) {
  const until = Math.max(end, ...operations.map((one) => one.end_s));
  const rows = OPERATIONS.map(([part, colour, meaning]) => {
    const own = operations.filter((one) => one.part === part && one.end_s >= 0);
    if (own.length === 0) return null;
    const spans = own.map((one) => {
      const bytes = one.bytes ? `, ${FORMATS.bytes(one.bytes)}` : "";
      const bar = make("i", { class: `span ${colour}`,
        title: `step ${one.step}: ${FORMATS.seconds(one.end_s - one.begin_s)} at ${span(Math.max(0, one.begin_s))}${bytes}` });
      bar.style.left = `${100 * Math.max(0, one.begin_s) / until}%`;
      bar.style.width = `${100 * (one.end_s - Math.max(0, one.begin_s)) / until}%`;
      return bar;
    });
    return make("div", { class: "lane" }, make("span", { class: "name", title: meaning }, part), make("span", { class: "track" }, ...spans));
  }).filter(Boolean);
  return make("div", { class: "lanes" }, ...rows, make("div", { class: "lane axis" }, make("span", {}, ""),
    make("span", { class: "ends" }, make("span", {}, "0 s"), make("span", {}, span(until)))));
}
