#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/time_log/time_log.h"

namespace stoker {
namespace {

using Json = nlohmann::json;

// A larger share of the reading beside training: it is not nested in it.
constexpr double kNestedLimit = 0.01;
constexpr const char* kIteration = "Training Iteration";
constexpr const char* kWait = "Call to Next Batch";
constexpr const char* kLoad = "Load File";
constexpr const char* kCheckpoint = "Checkpoint Listener";
constexpr const char* kValidation = "Validation";

bool is_read(const std::string& description) {
  return description == "HDF5 File Read" || description == "Time to Read Single Image";
}

double in_seconds(int64_t us) { return 1e-6 * static_cast<double>(us); }
double length(const TimeSpans& united) { return in_seconds(total(united)); }

// What was collected of one rank, or of all.
struct Spans {
  TimeSpans reads, iterations, waits, checkpoints, validations;
};

void add(const TimeLogRecord& record, Spans& spans) {
  if (is_read(record.description)) spans.reads.push_back(record.span);
  if (record.description == kIteration) spans.iterations.push_back(record.span);
  if (record.description == kWait) spans.waits.push_back(record.span);
  if (record.description == kCheckpoint) spans.checkpoints.push_back(record.span);
  if (record.description == kValidation) spans.validations.push_back(record.span);
}

Json nested_figures(const TimeLog& log, int64_t nodes) {
  double read = 0, load = 0, iterations = 0, checkpoint_s = 0;
  bool nested = false;
  for (const TimeLogRecord& record : log.records) {
    const double taken = in_seconds(record.taken_us);
    if (is_read(record.description)) read += taken;
    if (record.description == kIteration) iterations += taken;
    if (record.description == kLoad) load += taken;
    nested = nested || record.description == kLoad;
    if (record.description == kCheckpoint && record.rank <= 0) checkpoint_s += taken;
  }
  const auto by_node = [&](double sum) { return sum / static_cast<double>(nodes); };
  const double read_s = by_node(read), load_s = nested ? by_node(load - read) : 0;
  const double training_s = by_node(iterations - load) - checkpoint_s;
  const double all = read_s + load_s + training_s + checkpoint_s;
  return {{"read_s", read_s},
          {"load_s", load_s},
          {"training_s", training_s},
          {"checkpoint_s", checkpoint_s},
          {"read_share", all > 0 ? read_s / all : 0},
          {"nested", nested}};
}

// When the rank did not wait for data.
TimeSpans training_of(const Spans& spans) {
  return subtract(unite(spans.iterations), unite(spans.waits));
}

Json merged_figures(const TimeLog& log, const std::map<int64_t, Spans>& by_rank) {
  std::map<int64_t, Spans> by_epoch;
  Spans all;
  for (const TimeLogRecord& record : log.records) {
    add(record, by_epoch[std::max<int64_t>(0, record.epoch)]);
    add(record, all);
  }
  TimeSpans training;
  for (const auto& [rank, spans] : by_rank) {
    const TimeSpans own = training_of(spans);
    training.insert(training.end(), own.begin(), own.end());
  }
  double read_s = 0, training_s = 0, both_s = 0;
  for (auto& [epoch, spans] : by_epoch) {
    read_s += length(unite(std::move(spans.reads)));
    training_s += length(unite(spans.iterations));
    spans.validations.insert(spans.validations.end(), spans.iterations.begin(),
                             spans.iterations.end());
    both_s += length(unite(std::move(spans.validations)));
  }
  all.iterations.insert(all.iterations.end(), all.reads.begin(), all.reads.end());
  const TimeSpans either = unite(std::move(all.iterations));
  const double run_s = in_seconds(either.back().end - either.front().begin);
  const TimeSpans reads = unite(std::move(all.reads));
  return {{"read_s", read_s},
          {"training_s", training_s},
          {"index", read_s / (read_s + training_s)},
          {"index_with_validation", read_s / (read_s + both_s)},
          {"run_s", run_s},
          {"read_share_of_run", length(reads) / run_s},
          {"read_alone_s", length(subtract(reads, unite(std::move(training))))}};
}

Json overlap_figures(int64_t rank, const Spans& spans) {
  const TimeSpans reads = unite(spans.reads), waits = unite(spans.waits);
  const TimeSpans iterations = unite(spans.iterations);
  const TimeSpans inside = intersect(reads, iterations);
  const TimeSpans beside = subtract(inside, waits);
  const TimeSpans checkpoints = unite(spans.checkpoints);
  return {{"rank", rank},
          {"read_s", length(reads)},
          {"exposed_s", length(intersect(inside, waits))},
          {"checkpoint_s", length(intersect(beside, checkpoints))},
          {"hidden_s", length(subtract(beside, checkpoints))},
          {"outside_s", length(subtract(reads, iterations))},
          {"waited_s", length(intersect(waits, iterations))},
          {"iterations_s", length(iterations)}};
}

Json components(const TimeLog& log) {
  struct Component {
    int64_t count = 0;
    double sum_s = 0;
    TimeSpans spans;
  };
  std::map<std::pair<std::string, int64_t>, Component> all;
  for (const TimeLogRecord& record : log.records) {
    Component& component = all[{record.description, record.rank}];
    ++component.count;
    component.sum_s += in_seconds(record.taken_us);
    component.spans.push_back(record.span);
  }
  Json list = Json::array();
  for (auto& [key, of] : all) {
    list.push_back({{"description", key.first},
                    {"rank", key.second},
                    {"count", of.count},
                    {"sum_s", of.sum_s},
                    {"union_s", length(unite(std::move(of.spans)))}});
  }
  return list;
}

std::vector<std::string> notes(const Json& figures) {
  std::vector<std::string> notes;
  if (!figures.contains("hepcnnb")) {
    notes.emplace_back("no reads or no training iterations: neither published method applies");
  } else if (!figures["hepcnnb"]["nested"].get<bool>()) {
    notes.emplace_back(
        "no 'Load File' records: reads lie beside the iterations, so nothing is taken off these "
        "and the nested method counts hidden reads like exposed ones");
  }
  double read = 0, hidden = 0;
  for (const Json& of : figures["overlap"]) {
    read += of["read_s"].get<double>();
    hidden += of["hidden_s"].get<double>();
  }
  if (figures.contains("hepcnnb") && figures["hepcnnb"]["nested"].get<bool>() &&
      hidden > kNestedLimit * read) {
    notes.emplace_back(
        "files are loaded beside the iterations (by a loader that works ahead), and the nested "
        "method takes them off the iterations all the same: its training is too short");
  }
  if (figures["overlap"].empty()) {
    notes.emplace_back(
        "no 'Call to Next Batch' records: nothing tells hidden reads from exposed ones");
  }
  return notes;
}

}  // namespace

Json time_log_figures(const TimeLog& log, int64_t nodes) {
  std::map<int64_t, Spans> by_rank;
  Spans all;
  for (const TimeLogRecord& record : log.records) {
    add(record, by_rank[record.rank]);
    add(record, all);
  }
  const auto ranks = static_cast<int64_t>(by_rank.size()) - static_cast<int64_t>(by_rank.count(-1));
  if (nodes <= 0) nodes = std::max<int64_t>(1, ranks);
  Json figures = {{"nodes", nodes}, {"components", components(log)}, {"overlap", Json::array()}};
  if (length(unite(all.reads)) > 0 && length(unite(all.iterations)) > 0) {
    figures["hepcnnb"] = nested_figures(log, nodes);
    figures["cdb"] = merged_figures(log, by_rank);
  }
  for (const auto& [rank, spans] : by_rank) {
    if (spans.waits.empty() || spans.reads.empty()) continue;
    figures["overlap"].push_back(overlap_figures(rank, spans));
  }
  figures["read_union_s"] = length(unite(std::move(all.reads)));
  figures["notes"] = notes(figures);
  return figures;
}

TimeSpans reads_of(const TimeLog& log) {
  Spans all;
  for (const TimeLogRecord& record : log.records) add(record, all);
  return unite(std::move(all.reads));
}

}  // namespace stoker
