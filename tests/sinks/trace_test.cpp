#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <latch>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "io/metrics/hub.h"
#include "io/metrics/sink.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

using nlohmann::json;
using std::chrono::microseconds;
using std::chrono::nanoseconds;

std::unique_ptr<MetricsSink> make_sink(const std::string& yaml, const MetricsSink::Inputs& inputs) {
  const Node node = parse_yaml(yaml, "test.yaml");
  return Registry<MetricsSink>::global().parse(Section(node, "", "sink", nullptr)).create(inputs);
}

// A run of which the trace is made. The thread of the test is the trainer's.
struct TracedRun {
  TemporaryDirectory directory;
  Hub hub;
  std::string log;
  std::unique_ptr<MetricsSink> sink;

  explicit TracedRun(const std::string& options = "") {
    RunInfo info;
    info.name = "quick \"start\"";
    hub.run().describe(info);
    sink = make_sink(
        "{type: trace" + options + "}",
        {directory.path(), [this](const std::string& line) { log += line; }, false, false, hub});
  }
  // A step: the trainer waits for a worker, which reads one sample of a tier.
  void step(int64_t number, TierMeter& tier) {
    const TimePoint begin = Clock::now();
    std::jthread([&] {
      pthread_setname_np(pthread_self(), "load-0");
      const TimePoint read = Clock::now();
      tier.finished(TierOp::read, read, 1000);
      const TimePoint decode = Clock::now();
      hub.train_loader().finished(Stage::read, read, decode, 1000);
      hub.train_loader().finished(Stage::decode, decode, Clock::now(), 1000);
    }).join();
    const TimePoint end = Clock::now();
    hub.tracer().record({"data_wait", "trainer", begin, end, 0, number});
    hub.tracer().record("device", {"step", "device", begin + nanoseconds(1), end});
    hub.tracer().at_step(number + 1);
  }
  json finish() {
    sink->flush();
    return json::parse(directory.read("trace.json"));
  }
};

// By phase, and by name where it is not empty.
std::vector<json> having(const json& trace, const std::string& phase,
                         const std::string& name = "") {
  std::vector<json> result;
  for (const json& event : trace) {
    if (event["ph"] == phase && (name.empty() || event["name"] == name)) result.push_back(event);
  }
  return result;
}

std::map<int64_t, std::string> rows_of(const json& trace) {
  std::map<int64_t, std::string> rows;
  for (const json& event : having(trace, "M", "thread_name")) {
    EXPECT_TRUE(rows.emplace(event["tid"], event["args"]["name"]).second) << event;
  }
  return rows;
}

json end_of(const json& trace) { return having(trace, "M", "trace_end").at(0)["args"]; }

int64_t ns(const json& microseconds) { return std::llround(1000 * microseconds.get<double>()); }

// On each row, an event lies inside the one before or begins after its end.
void expect_nested(const json& trace) {
  std::map<int64_t, std::vector<std::pair<int64_t, int64_t>>> rows;
  for (const json& event : having(trace, "X")) {
    rows[event["tid"]].emplace_back(ns(event["ts"]), -ns(event["dur"]));
  }
  for (auto& [row, events] : rows) {
    std::sort(events.begin(), events.end());
    std::vector<int64_t> open;
    for (const auto& [begin, negative] : events) {
      while (!open.empty() && open.back() <= begin) open.pop_back();
      const int64_t end = begin - negative;
      EXPECT_LE(end, open.empty() ? end : open.back()) << "row " << row;
      open.push_back(end);
    }
  }
}

TEST(Trace, has_a_row_per_thread_and_one_for_the_device) {
  TracedRun run;
  TierMeter& tier = run.hub.add_tier("data", "posix", false);
  for (int64_t step = 0; step < 5; ++step) run.step(step, tier);
  const json trace = run.finish();

  const std::map<int64_t, std::string> rows = rows_of(trace);
  std::map<std::string, int> events;
  for (const json& event : having(trace, "X")) {
    ++events[rows.at(event["tid"]) + " " + event["cat"].get<std::string>() + " " +
             event["name"].get<std::string>()];
    EXPECT_EQ(event["pid"], ::getpid());
  }
  EXPECT_EQ(events, (std::map<std::string, int>{{"device device step", 5},
                                                {"load-0 loader decode", 5},
                                                {"load-0 loader read", 5},
                                                {"load-0 storage data: read", 5},
                                                {"trainer trainer data_wait", 5}}));
  EXPECT_EQ(rows.size(), 3) << "five workers came and went on one row";
  expect_nested(trace);
  EXPECT_EQ(end_of(trace),
            json({{"events", 25}, {"dropped", 0}, {"over_max_bytes", 0}, {"whole_run", true}}));
  EXPECT_EQ(having(trace, "M", "process_name").at(0)["args"]["name"],
            "stoker quick \"start\" rank 0");
  EXPECT_EQ(run.log, "trace: 25 events in " + run.directory.path() + "/trace.json");
}

TEST(Trace, rows_are_in_the_order_of_a_batch) {
  TracedRun run;
  TierMeter& tier = run.hub.add_tier("data", "posix", false);
  for (const char* name :
       {"ckpt-drain", "ckpt-write", "other", "copy-ahead", "load-10", "load-2"}) {
    std::jthread([&] {
      pthread_setname_np(pthread_self(), name);
      tier.finished(TierOp::read, Clock::now(), 1);
    }).join();
  }
  run.step(0, tier);
  const json trace = run.finish();
  const std::map<int64_t, std::string> rows = rows_of(trace);
  std::map<int64_t, std::string> order;
  for (const json& event : having(trace, "M", "thread_sort_index")) {
    order[event["args"]["sort_index"]] = rows.at(event["tid"]);
  }
  std::vector<std::string> names;
  for (const auto& [place, name] : order) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"trainer", "device", "load-0", "load-2", "load-10",
                                             "copy-ahead", "ckpt-write", "ckpt-drain", "other"}));
}

TEST(Trace, times_are_exact_to_the_nanosecond) {
  TracedRun run;
  const TimePoint begin = Clock::now();
  run.hub.tracer().record({"a", "trainer", begin, begin + nanoseconds(1'234'567'891), 5, 3});
  run.hub.tracer().record({"b", "trainer", begin + nanoseconds(7), begin + nanoseconds(8), 6});
  run.hub.tracer().record({"c", "trainer", begin, begin});
  const json trace = run.finish();
  const json a = having(trace, "X", "a").at(0), b = having(trace, "X", "b").at(0);
  EXPECT_EQ(a["dur"], 1234567.891);
  EXPECT_EQ(b["dur"], 0.001);
  EXPECT_EQ(ns(b["ts"]) - ns(a["ts"]), 7);
  EXPECT_GE(a["ts"], 0);
  EXPECT_EQ(a["args"], json({{"bytes", 5}, {"step", 3}}));
  EXPECT_EQ(b["args"], json({{"bytes", 6}}));
  EXPECT_FALSE(having(trace, "X", "c").at(0).contains("args"));
}

TEST(Trace, time_begins_with_the_run) {
  TemporaryDirectory directory;
  Hub hub;
  RunInfo info;
  info.started_unix_s =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count() -
      3600;
  hub.run().describe(info);
  const auto sink =
      make_sink("{type: trace}", {directory.path(), [](const std::string&) {}, false, false, hub});
  hub.tracer().record({"late", "trainer", Clock::now(), Clock::now()});
  sink->flush();
  const json trace = json::parse(directory.read("trace.json"));
  EXPECT_GE(having(trace, "X").at(0)["ts"], 3'599e6);
}

TEST(Trace, is_of_a_window_of_steps) {
  TracedRun run(", first_step: 3, steps: 2");
  TierMeter& tier = run.hub.add_tier("data", "posix", false);
  for (int64_t step = 0; step < 10; ++step) run.step(step, tier);
  const json trace = run.finish();
  std::vector<int64_t> steps;
  for (const json& event : having(trace, "X", "data_wait")) steps.push_back(event["args"]["step"]);
  EXPECT_EQ(steps, (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(end_of(trace)["events"], 10);
}

TEST(Trace, what_does_not_fit_is_left_out_and_counted) {
  TracedRun run(", max_bytes: 20000");
  for (int64_t i = 0; i < 1000; ++i) {
    run.hub.tracer().record({"compute", "trainer", Clock::now(), Clock::now(), 0, i});
  }
  const json trace = run.finish();
  EXPECT_LE(run.directory.read("trace.json").size(), 20000);
  EXPECT_GE(run.directory.read("trace.json").size(), 19000);
  const std::vector<json> events = having(trace, "X");
  for (size_t i = 0; i < events.size(); ++i) EXPECT_EQ(events[i]["args"]["step"], i);
  EXPECT_EQ(end_of(trace)["events"], events.size());
  EXPECT_EQ(end_of(trace)["over_max_bytes"], 1000 - events.size());
  EXPECT_TRUE(
      run.log.ends_with("; " + std::to_string(1000 - events.size()) + " more over max_bytes"))
      << run.log;
}

TEST(Trace, what_the_tracer_dropped_is_reported) {
  TracedRun run;
  Tracer& tracer = run.hub.tracer();
  std::latch entered(1), go_on(1);
  std::once_flag once;
  auto slow = tracer.subscribe({}, [&](const TraceRow&) {
    std::call_once(once, [&] {
      entered.count_down();
      go_on.wait();
    });
  });
  const TimePoint now = Clock::now();
  tracer.record({"compute", "trainer", now, now});
  entered.wait();
  while (tracer.dropped() < 7) tracer.record({"compute", "trainer", now, now});
  go_on.count_down();
  slow.reset();
  const json trace = run.finish();
  EXPECT_EQ(end_of(trace)["dropped"], 7);
  EXPECT_EQ(end_of(trace)["events"], tracer.recorded());
  EXPECT_TRUE(run.log.ends_with("; 7 came too fast and were dropped")) << run.log;
}

TEST(Trace, of_nothing_is_a_trace_too) {
  TracedRun run;
  const json trace = run.finish();
  EXPECT_TRUE(having(trace, "X").empty());
  EXPECT_EQ(end_of(trace)["events"], 0);
}

TEST(Trace, names_are_escaped) {
  TracedRun run;
  TierMeter& tier = run.hub.add_tier("d\"\\\n", "posix", false);
  std::jthread([&] {
    pthread_setname_np(pthread_self(), "a\"b\\c\x80");
    tier.finished(TierOp::read, Clock::now(), 1);
  }).join();
  const json trace = run.finish();
  EXPECT_EQ(having(trace, "X").at(0)["name"], "d\"\\\n: read");
  EXPECT_EQ(rows_of(trace).begin()->second, "a\"b\\c\\x80");
}

TEST(Trace, overwrites_none) {
  TracedRun run;
  const MetricsSink::Inputs again{run.directory.path(), [](const std::string&) {}, false, false,
                                  run.hub};
  EXPECT_EQ(error_of([&] { make_sink("{type: trace}", again); }),
            "create " + run.directory.path() + "/trace.json: File exists");
}

TEST(Trace, refuses_a_limit_that_holds_nothing) {
  EXPECT_EQ(error_of([] { TracedRun run(", max_bytes: 100"); }),
            "test.yaml:1:26: sink: 'max_bytes' must be at least 4096");
}

// On a thread of its own, as the calling one is a copy of another process's.
void trace_for_ever(const std::string& directory) {
  std::jthread([&] {
    Hub hub;
    const auto sink =
        make_sink("{type: trace}", {directory, [](const std::string&) {}, false, false, hub});
    for (;;) {
      const TimePoint begin = Clock::now();
      std::this_thread::sleep_for(microseconds(10));
      hub.tracer().record({"compute", "trainer", begin, Clock::now()});
    }
  }).join();
}

// Its process is killed in the middle. What it leaves are whole lines but for the last.
TEST(Trace, a_killed_run_leaves_whole_lines) {
  TemporaryDirectory directory;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) trace_for_ever(directory.path());
  const std::string path = directory / "trace.json";
  while (!std::filesystem::exists(path) || std::filesystem::file_size(path) < 100'000) {
    ASSERT_EQ(::waitpid(child, nullptr, WNOHANG), 0) << "it ended by itself";
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  const std::string text = directory.read("trace.json");
  const json trace = json::parse(text.substr(0, text.rfind('\n') + 1) + "]");
  EXPECT_GE(having(trace, "X").size(), 500);
  EXPECT_EQ(rows_of(trace).begin()->second, "trainer");
  EXPECT_TRUE(having(trace, "M", "trace_end").empty());
}

}  // namespace
}  // namespace stoker
