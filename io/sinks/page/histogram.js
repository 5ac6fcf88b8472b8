// Histograms as bars of HTML: they keep their text at every width, and print.

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
