// Histograms and spans of time as bars of HTML: they keep their text at every width, and print.

function setShare(element, share) {
  element.style.setProperty("--share", Number.isFinite(share) ? Math.min(1, Math.max(0, share)) : 0);
  return element;
}

// columns: [{name, colour, bounds, counts}] over the same bounds.
function histogram(title, columns, format) {
  const { bounds } = columns[0];
  const filled = columns.flatMap(({ counts }) => counts.flatMap((count, at) => (count > 0 ? [at] : [])));
  const [first, last] = [Math.min(...filled), Math.max(...filled)];
  const label = (at) => (at === bounds.length ? `> ${format(bounds.at(-1))}` : `≤ ${format(bounds[at])}`);
  const cell = ({ counts, colour }, at) => {
    const sum = counts.reduce((all, count) => all + count, 0);
    return make("span", { class: "hist", title: `${grouped(counts[at])} of ${grouped(sum)}` },
      setShare(make("span", { class: `fillbar ${colour}` }), counts[at] / Math.max(...counts)),
      words(FORMATS.tally(counts[at]), { class: counts[at] === 0 ? "zero" : "" }));
  };
  const rows = [];
  for (let at = first; at <= last; ++at) rows.push([label(at), ...columns.map((column) => cell(column, at))]);
  return grid([title, ...columns.map(({ name }) => name)], rows, { class: "histogram" });
}

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
