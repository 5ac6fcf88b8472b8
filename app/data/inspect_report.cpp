#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/base/progress_line.h"
#include "app/base/result_table.h"
#include "app/data/inspect.h"
#include "app/experiment/data.h"

namespace stoker {
namespace {

void print_inspection(const DatasetReport& report) {
  int64_t train = 0, test = 0;
  for (const ClassCount& row : report.classes) train += row.train, test += row.test;
  fmt::print("{} classes, {} training and {} test samples, {} bytes\n", report.classes.size(),
             train, test, report.bytes);
  ResultTable table({{"", "of a sample"},
                     {"", "min"},
                     {"", "p1"},
                     {"", "p50"},
                     {"", "p90"},
                     {"", "p99"},
                     {"", "max"}});
  const auto add = [&](const char* name, const Percentiles& p) {
    if (p.count == 0) return;
    std::vector<ResultTable::Cell> row{name};
    for (const uint64_t value : {p.min, p.p1, p.p50, p.p90, p.p99, p.max}) {
      row.emplace_back(static_cast<int64_t>(value));
    }
    table.add(row);
  };
  add("encoded bytes", report.encoded_bytes);
  add("width", report.width);
  add("height", report.height);
  add("pixels", report.pixels);
  fmt::print("{}", table.text(2));
  for (const auto& [kind, count] : report.kinds) fmt::print("  {:>8} {}\n", count, kind);
  for (const std::string& key : report.ignored) fmt::print("  ignored: {}\n", key);
  for (const UnreadableSample& sample : report.unreadable) {
    fmt::print("  unreadable: {}: {}: {}\n", sample.key, to_string(sample.reason), sample.message);
  }
}

}  // namespace

ExitCode inspect_experiment(const ConfigArguments& arguments, bool json) {
  const ExperimentData data(read_experiment(arguments.config, arguments.overrides), print_remark);
  const DatasetReport report = inspect_dataset(data.dataset(), [](int64_t done, int64_t total) {
    show_progress("samples", static_cast<uint64_t>(done), static_cast<uint64_t>(total));
  });
  if (json) {
    fmt::print("{}\n", nlohmann::json(report).dump(2));
  } else {
    print_inspection(report);
  }
  return ExitCode::ok;
}

}  // namespace stoker
