#include "app/analysis/timelogger_figures.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace stoker {
namespace {

constexpr const char* kIteration = "Training Iteration";
constexpr const char* kWait = "Call to Next Batch";
constexpr const char* kLoad = "Load File";
constexpr const char* kCheckpoint = "Checkpoint Listener";

bool is_read(const std::string& description) {
  return description == "HDF5 File Read" || description == "Time to Read Single Image";
}

double in_seconds(int64_t us) { return 1e-6 * static_cast<double>(us); }
double length(const TimeSpans& united) { return in_seconds(total(united)); }

// What was collected of one rank, or of all.
struct Spans {
  TimeSpans reads, iterations, waits, checkpoints;
};

void add(const TimeLogRecord& record, Spans& spans) {
  if (is_read(record.description)) spans.reads.push_back(record.span);
  if (record.description == kIteration) spans.iterations.push_back(record.span);
  if (record.description == kWait) spans.waits.push_back(record.span);
  if (record.description == kCheckpoint) spans.checkpoints.push_back(record.span);
}

NestedFigures nested_figures(const TimeLog& log, int64_t nodes) {
  double read = 0, load = 0, iterations = 0;
  NestedFigures figures;
  for (const TimeLogRecord& record : log.records) {
    const double taken = in_seconds(record.taken_us);
    if (is_read(record.description)) read += taken;
    if (record.description == kIteration) iterations += taken;
    if (record.description == kLoad) {
      load += taken;
      figures.nested = true;
    }
    if (record.description == kCheckpoint && record.rank <= 0) figures.checkpoint_s += taken;
  }
  const auto by_node = [&](double sum) { return sum / static_cast<double>(nodes); };
  figures.read_s = by_node(read);
  figures.load_s = figures.nested ? by_node(load - read) : 0;
  figures.training_s = by_node(iterations - load) - figures.checkpoint_s;
  const double all = figures.read_s + figures.load_s + figures.training_s + figures.checkpoint_s;
  figures.read_share = all > 0 ? figures.read_s / all : 0;
  return figures;
}

MergedFigures merged_figures(const TimeLog& log) {
  std::map<int64_t, Spans> by_epoch;
  Spans all;
  for (const TimeLogRecord& record : log.records) {
    add(record, by_epoch[std::max<int64_t>(0, record.epoch)]);
    add(record, all);
  }
  MergedFigures figures;
  for (auto& [epoch, spans] : by_epoch) {
    figures.read_s += length(unite(std::move(spans.reads)));
    figures.training_s += length(unite(std::move(spans.iterations)));
  }
  figures.index = figures.read_s / (figures.read_s + figures.training_s);
  all.iterations.insert(all.iterations.end(), all.reads.begin(), all.reads.end());
  const TimeSpans either = unite(std::move(all.iterations));
  figures.run_s = in_seconds(either.back().end - either.front().begin);
  figures.read_share_of_run = length(unite(std::move(all.reads))) / figures.run_s;
  return figures;
}

OverlapFigures overlap_figures(const Spans& spans) {
  const TimeSpans reads = unite(spans.reads), waits = unite(spans.waits);
  const TimeSpans inside = intersect(reads, unite(spans.iterations));
  const TimeSpans beside = subtract(inside, waits);
  const TimeSpans checkpoints = unite(spans.checkpoints);
  OverlapFigures figures;
  figures.read_s = length(reads);
  figures.exposed_s = length(intersect(inside, waits));
  figures.checkpoint_s = length(intersect(beside, checkpoints));
  figures.hidden_s = length(subtract(beside, checkpoints));
  figures.outside_s = length(subtract(reads, unite(spans.iterations)));
  return figures;
}

void add_components(const TimeLog& log, TimeLogFigures& figures) {
  std::map<std::pair<std::string, int64_t>, TimeSpans> spans;
  for (const TimeLogRecord& record : log.records) {
    const std::pair key(record.description, record.rank);
    ComponentFigures& component = figures.components[key];
    ++component.count;
    component.sum_s += in_seconds(record.taken_us);
    spans[key].push_back(record.span);
  }
  for (auto& [key, of] : spans) figures.components[key].union_s = length(unite(std::move(of)));
}

void add_notes(TimeLogFigures& figures) {
  if (!figures.nested) {
    figures.notes.emplace_back(
        "no reads or no training iterations: neither published method applies");
  } else if (!figures.nested->nested) {
    figures.notes.emplace_back(
        "no 'Load File' records: reads lie beside the iterations, so nothing is taken off these "
        "and the nested method counts hidden reads like exposed ones");
  }
  if (figures.overlap.empty()) {
    figures.notes.emplace_back(
        "no 'Call to Next Batch' records: nothing tells hidden reads from exposed ones");
  }
}

}  // namespace

TimeLogFigures time_log_figures(const TimeLog& log, int64_t nodes) {
  TimeLogFigures figures;
  std::map<int64_t, Spans> by_rank;
  Spans all;
  for (const TimeLogRecord& record : log.records) {
    add(record, by_rank[record.rank]);
    add(record, all);
  }
  const auto ranks = static_cast<int64_t>(by_rank.size()) - static_cast<int64_t>(by_rank.count(-1));
  figures.nodes = nodes > 0 ? nodes : std::max<int64_t>(1, ranks);
  add_components(log, figures);
  if (!all.reads.empty() && !all.iterations.empty()) {
    figures.nested = nested_figures(log, figures.nodes);
    figures.merged = merged_figures(log);
  }
  for (const auto& [rank, spans] : by_rank) {
    if (!spans.waits.empty() && !spans.reads.empty()) {
      figures.overlap[rank] = overlap_figures(spans);
    }
  }
  figures.read_union_s = length(unite(std::move(all.reads)));
  add_notes(figures);
  return figures;
}

void to_json(nlohmann::json& json, const TimeLogFigures& figures) {
  json = {{"nodes", figures.nodes},
          {"components", nlohmann::json::array()},
          {"read_union_s", figures.read_union_s},
          {"overlap", nlohmann::json::array()},
          {"notes", figures.notes}};
  for (const auto& [key, of] : figures.components) {
    json["components"].push_back({{"description", key.first},
                                  {"rank", key.second},
                                  {"count", of.count},
                                  {"sum_s", of.sum_s},
                                  {"union_s", of.union_s}});
  }
  if (const auto& of = figures.nested) {
    json["hepcnnb"] = {{"read_s", of->read_s},         {"load_s", of->load_s},
                       {"training_s", of->training_s}, {"checkpoint_s", of->checkpoint_s},
                       {"read_share", of->read_share}, {"nested", of->nested}};
  }
  if (const auto& of = figures.merged) {
    json["cdb"] = {{"read_s", of->read_s},
                   {"training_s", of->training_s},
                   {"index", of->index},
                   {"run_s", of->run_s},
                   {"read_share_of_run", of->read_share_of_run}};
  }
  for (const auto& [rank, of] : figures.overlap) {
    json["overlap"].push_back({{"rank", rank},
                               {"read_s", of.read_s},
                               {"hidden_s", of.hidden_s},
                               {"exposed_s", of.exposed_s},
                               {"checkpoint_s", of.checkpoint_s},
                               {"outside_s", of.outside_s}});
  }
}

}  // namespace stoker
