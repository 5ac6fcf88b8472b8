#include <fmt/format.h>

#include <algorithm>

#include "io/metrics/sink.h"
#include "io/sinks/shared.h"

namespace stoker {
namespace {

// steps.csv in the run directory: a row of step_figures() per report.
class Csv final : public MetricsSink {
 public:
  using Options = NoOptions;
  Csv(Options, const Inputs& inputs) : file_(inputs.run_dir + "/steps.csv") {}

  void write(const RunRecord& run, const RunRecord& window) override {
    file_.add(figure_row(step_figures(), run, window));
  }

 private:
  CsvFile file_;
};

STOKER_REGISTER(MetricsSink, "csv", Csv);

}  // namespace

void CsvFile::add(const std::vector<RowField>& row) {
  std::string names;
  std::string values;
  for (const RowField& field : row) {
    std::string name = field.name;
    std::ranges::replace_if(
        name, [](char c) { return c == ',' || c == '"' || c < ' '; }, '_');
    names += (names.empty() ? "" : ",") + name;
    if (&field != row.data()) values += ',';
    if (!field.value) continue;
    const bool counted = field.unit == Unit::none || field.unit == Unit::bytes;
    values += fmt::format("{:.{}g}", *field.value,
                          counted                         ? 15
                          : field.unit == Unit::unix_time ? 13
                                                          : 9);
  }
  if (!header_) values.insert(0, names + "\n");
  header_ = true;
  file_.write(values + "\n");
}

}  // namespace stoker
