// The page of several studies: of each what was published and what came out here, and below that its sweeps.

const HOW = { put_in: "put in" };

function studyRows(study, at) {
  return study.rows.map((row, index) => {
    const base = `${at}rows.${index}`;
    return { row, cells: [show(`${base}.name`), expected(row, base), row.runs > 0 ? range(row, base) : words("not measured"),
      show(`${base}.runs`, "count"), words(HOW[row.how] ?? row.how), outcome(row), origin(row),
      make("details", {}, make("summary", {}, "again"), make("code", { "data-value": row.command }, row.command))] };
  });
}

const STUDY_HEADS = ["statement", "published or limit", "ours: median (least to most)", "runs", "how", "verdict", "source", "command"];

function studyPart(study, index) {
  const at = `studies.${index}.`;
  const about = [study.published, study.about].filter(Boolean);
  const took = study.sweeps.map(({ file, runs, seconds: s, conditions }) => [`stoker sweep ${file}`, `${runs} runs, ${seconds(s)}; ${conditions}`]);
  return [make("header", { class: "sweep" }, make("div", { class: "names" }, make("h2", {}, study.title)),
    make("p", { class: "what" }, ...about.map((text) => make("span", {}, text)))),
  section("pair", "Published and ours", card("Published and ours", { class: "full studied" },
    grid(STUDY_HEADS, studyRows(study, at).map(({ cells }) => cells))), card("Made by", { class: "full" }, listing(took)))];
}

// What is outside its limits, of all studies, with the reason that its file gives.
function contradictions(report) {
  const rows = report.studies.flatMap((study, index) => studyRows(study, `studies.${index}.`)
    .filter(({ row }) => row.verdict === "outside").map(({ row, cells }) => [words(study.title), cells[0], cells[1], cells[2],
      words(HOW[row.how] ?? row.how), words(row.note ?? row.source ?? "")]));
  return rows.length === 0 ? null : section("pair", "Contradictions", card("Contradictions that are left", { class: "full studied" },
    grid(["study", "statement", "published or limit", "ours", "how", "why"], rows)));
}

function studiesPage(report) {
  report.studies.forEach(({ rows }) => rows.forEach(addRange));
  const parts = report.sweeps.map((sweep, index) => sweepParts(sweep, `sweeps.${index}.`));
  const chips = [chip(`${report.studies.length} studies`), chip(`${report.sweeps.length} sweeps, ${seconds(report.seconds)}`),
    report.shortened ? chip("shortened, not judged", "failed") : null].filter(Boolean);
  let next = 0;
  const main = [contradictions(report), ...report.studies.flatMap((study, index) => [...studyPart(study, index),
    ...study.sweeps.flatMap(() => {
      const { title, chips: own, plots, main: [, ...sections] } = parts[next++];
      const whole = folded(title, make("div", { class: "names" }, ...own), ...sections.filter(Boolean));
      whole.addEventListener("toggle", () => plots.forEach((plot) => plot.draw()));  // it had no width before
      return [whole];
    })])];
  return { title: report.title, chips, group: drawn(parts.flatMap(({ plots }) => plots)), main,
    what: ["V: read verbatim in the paper. S: second-hand. M: from memory.",
      "measured: in real time. calculated: follows from what was put in. simulated: by stoker simulate."] };
}
