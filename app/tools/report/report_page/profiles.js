// Sessions of the I/O profiler in a run's report, and the report of Darshan logs alone.

function profileCourse(profile, group) {
  const course = new Course(profile.course, "end_s");
  const lines = [["read", "c0"], ["write", "c1"]].map(([name, colour]) => ({ name, colour, course, column: `${name}_mb_per_s` }));
  const chart = new CourseChart(group, "Read and written over the session, MB/s", lines, MB);
  chart.root.classList.add("full");
  return chart.lines.length > 0 ? chart.root : null;
}

function sessionTable(sessions, base) {
  const rows = sessions.map((session, at) => {
    const cell = (name, format) => show(`${base}.${at}.profile.${name}`, format);
    if (session.error) return [session.file, make("span", { class: "bad" }, show(`${base}.${at}.error`))];
    return [session.file, cell("job.begin_unix_s", "time"), cell("job.seconds", "seconds"), cell("read.operations", "count"),
      cell("read.bytes", "bytes"), cell("read.mb_per_s", "megabytes_per_second"), cell("write.operations", "count"), cell("write.bytes", "bytes"),
      cell("write.mb_per_s", "megabytes_per_second")];
  });
  return card("Sessions of the I/O profiler", { class: "full" },
    grid(["log", "began", "lasted", "reads", "read", "read rate", "writes", "written", "write rate"], rows));
}

// The first is open, and has a chart of its course.
function profileSections(sessions, base, group) {
  const whole = sessions.flatMap((session, at) => (session.profile?.files ? [{ ...session, at }] : []));
  const cards = ({ profile, at }, chart) => profileCards(profile, `${base}.${at}.profile`, chart);
  const [first, ...others] = whole;
  return [sessions.length > 1 || !first ? section("pair", "Sessions of the I/O profiler", sessionTable(sessions, base)) : null,
    first ? section("pair", "I/O profile", cards(first, profileCourse(first.profile, group))) : null,
    ...others.map((session) => folded(session.file, section("pair", session.file, cards(session, null))))];
}

function profilesPage(report) {
  const group = new CourseGroup();
  const programs = report.profiles.flatMap(({ program }, at) => (program ? programSections(program, `profiles.${at}.program`, group) : []));
  return { title: report.profiles.map(({ file }) => file).join(", "), chips: [chip(programs.length ? "stoker run" : "I/O profile")], what: [],
    main: [...programs, ...profileSections(report.profiles, "profiles", group)], group };
}
