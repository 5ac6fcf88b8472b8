// Shows what the program put into the page.

const report = JSON.parse(document.getElementById("data").textContent);
FORMATS.yes_no = (value) => (value ? "yes" : "no");

const PAGES = { run: runPage, runs: runsPage, sweep: sweepPage, sweeps: sweepsPage, studies: studiesPage, profiles: profilesPage };
const shown = PAGES[report.kind](report);

document.title = `${shown.title} · stoker report`;
document.getElementById("names").append(make("h1", {}, shown.title), ...shown.chips);
document.getElementById("what").append(...shown.what.filter(Boolean).map((text) => make("span", {}, text)));
document.getElementById("main").append(...shown.main.filter(Boolean));
document.getElementById("foot").append(`stoker ${report.version} · what was not measured is absent, never 0`
  + (document.querySelector(".plot") ? " · drag in a chart to zoom, double-click to go back" : ""));

function draw() {
  shown.group.draw();
}

fill(document.body, report);
judgeFigures(document.body, report);
draw();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);

// Paper is white; canvases do not follow the style by themselves.
function onPaper(yes) {
  document.documentElement.classList.toggle("paper", yes);
  draw();
}
addEventListener("beforeprint", () => onPaper(true));
addEventListener("afterprint", () => onPaper(false));

let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth !== width) draw();
  width = innerWidth;
});
document.documentElement.dataset.shown = report.kind;
