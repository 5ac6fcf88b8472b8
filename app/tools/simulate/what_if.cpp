#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "app/tools/simulate/simulate.h"
#include "io/core/error.h"
#include "io/loader/loader_options.h"
#include "io/metrics/clock.h"

namespace stoker {
namespace {

// "2x" or "64".
struct Value {
  double number = 0;
  bool factor = false;
};

// Makes a device `factor` times as fast, in all its rates and all its latencies.
void speed_up(TierFigures& figures, double factor) {
  const TierCosts costs = figures.costs();
  // An option's limit: 10^12 bytes/s are no limit any more.
  const auto rate = [&](double bytes_per_s) { return std::min(1e6, 1e-6 * bytes_per_s * factor); };
  const auto ms = [&](Clock::duration latency) { return 1e3 * seconds(latency) / factor; };
  figures = {};
  figures.read_mb_per_s = rate(costs.read_bytes_per_s);
  figures.write_mb_per_s = rate(costs.write_bytes_per_s);
  figures.read_latency_ms = ms(costs.read_latency);
  figures.write_latency_ms = ms(costs.write_latency);
  figures.metadata_latency_ms = ms(costs.metadata_latency);
  figures.seek_ms = ms(costs.seek);
  figures.queue_depth = costs.queue_depth;
  figures.latency_sigma = costs.latency_sigma;
  if (costs.stream_bytes_per_s > 0) {
    figures.stream_mb_per_s = rate(costs.stream_bytes_per_s);
  }
}

void speed_up_storage(SimulationOptions& options, double factor) {
  const SimulatedData& data = options.workload.data;
  if (data.tier) {
    speed_up(options.machine.storage.at(data.tier->name).figures, factor);
  } else {
    options.workload.costs.read_ms /= factor;
  }
}

void speed_up_checkpoints(SimulationOptions& options, double factor) {
  const CheckpointOptions checkpoints = simulated_checkpoints(options.workload);
  for (const std::optional<TierName>& tier : {checkpoints.fast, checkpoints.slow}) {
    if (tier) speed_up(options.machine.storage.at(tier->name).figures, factor);
  }
}

void set_ranks(SimulationOptions& options, double number) {
  const auto ranks = static_cast<int64_t>(number);
  SimulatedMachine& machine = options.machine;
  if (machine.nodes == 1) {
    machine.ranks_per_node = ranks;
  } else if (ranks % machine.ranks_per_node == 0) {
    machine.nodes = ranks / machine.ranks_per_node;
  } else {
    throw Error(ExitCode::config,
                fmt::format("--what-if: ranks={} is no multiple of machine.ranks_per_node, {}",
                            ranks, machine.ranks_per_node));
  }
}

void set_loader(SimulationOptions& options, const char* key, Value value) {
  const LoaderOptions loader = simulated_loader(options.workload);
  const std::map<std::string, int64_t> now{{"workers", thread_count(loader.workers)},
                                           {"prefetch_batches", loader.prefetch_batches},
                                           {"batch_size", loader.batch_size}};
  const double wanted =
      value.factor ? value.number * static_cast<double>(now.at(key)) : value.number;
  options.workload.loader =
      changed(options.workload.loader, {fmt::format("{}={}", key, std::llround(wanted))});
}

struct Knob {
  enum class Kind { factor, number, both } kind;
  std::function<void(SimulationOptions&, Value)> turn;
};

const std::map<std::string, Knob>& knobs() {
  using Kind = Knob::Kind;
  using Options = SimulationOptions&;
  static const std::map<std::string, Knob> all{
      {"decode",
       {Kind::factor, [](Options o, Value v) { o.workload.costs.decode_ms /= v.number; }}},
      {"storage", {Kind::factor, [](Options o, Value v) { speed_up_storage(o, v.number); }}},
      {"checkpoint", {Kind::factor, [](Options o, Value v) { speed_up_checkpoints(o, v.number); }}},
      {"compute",
       {Kind::factor,
        [](Options o, Value v) {
          o.workload.costs.step_ms /= v.number;
          o.workload.costs.image_ms /= v.number;
        }}},
      {"network",
       {Kind::factor,
        [](Options o, Value v) {
          SimulatedNetwork& network = o.machine.network;
          if (network.gb_per_s) *network.gb_per_s *= v.number;
          network.latency_us /= v.number;
        }}},
      {"cores", {Kind::number, [](Options o, Value v) { o.machine.cores = v.number; }}},
      {"ranks", {Kind::number, [](Options o, Value v) { set_ranks(o, v.number); }}},
      {"workers", {Kind::both, [](Options o, Value v) { set_loader(o, "workers", v); }}},
      {"prefetch", {Kind::both, [](Options o, Value v) { set_loader(o, "prefetch_batches", v); }}},
      {"batch", {Kind::both, [](Options o, Value v) { set_loader(o, "batch_size", v); }}}};
  return all;
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    words.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return words;
}

Value value_of(const std::string& word, const std::string& text, Knob::Kind kind) {
  Value value;
  value.factor = text.ends_with('x');
  const bool parsed =
      parse_number(text.substr(0, text.size() - (value.factor ? 1 : 0)), value.number);
  const bool allowed = kind == Knob::Kind::both || (kind == Knob::Kind::factor) == value.factor;
  const bool whole = value.factor || value.number == std::floor(value.number);
  if (parsed && allowed && whole && value.number > 0 && value.number <= 1e9) return value;
  const char* expected = kind == Knob::Kind::factor   ? "a factor such as 2x"
                         : kind == Knob::Kind::number ? "a whole number such as 64"
                                                      : "a whole number, or a factor such as 2x";
  throw Error(ExitCode::config,
              fmt::format("--what-if: {} must be {}, got '{}'", word, expected, text));
}

}  // namespace

SimulationInputs turned(const SimulationInputs& inputs, const std::string& text) {
  SimulationInputs result = inputs;
  for (const std::string& word : words_of(text)) {
    const size_t equals = std::min(word.find('='), word.size());
    const std::string name = word.substr(0, equals);
    const auto knob = knobs().find(name);
    if (knob == knobs().end()) {
      std::vector<std::string> known;
      for (const auto& [each, unused] : knobs()) known.push_back(each);
      throw Error(ExitCode::config,
                  fmt::format("--what-if: there is no knob '{}'{}", name, suggestion(name, known)));
    }
    const std::string value = equals == word.size() ? "" : word.substr(equals + 1);
    knob->second.turn(result.options, value_of(word, value, knob->second.kind));
  }
  // What the file could not have said cannot be turned to, either.
  result.origins = read_simulation(dump_struct(result.options)).origins;
  return result;
}

std::vector<std::string> what_ifs(const std::string& text) {
  std::vector<std::pair<std::string, std::vector<std::string>>> knobs;
  for (const std::string& word : words_of(text)) {
    const std::string name = word.substr(0, word.find('='));
    const auto known = std::ranges::find(knobs, name, [](const auto& knob) { return knob.first; });
    if (known == knobs.end()) {
      knobs.push_back({name, {word}});
    } else {
      known->second.push_back(word);
    }
  }
  std::vector<std::string> result{""};
  for (const auto& [name, words] : knobs) {
    std::vector<std::string> more;
    for (const std::string& before : result) {
      for (const std::string& word : words)
        more.push_back(before.empty() ? word : before + "," + word);
    }
    result = std::move(more);
  }
  return result;
}

std::string knobs_help() {
  std::string text;
  for (const auto& [name, knob] : knobs()) {
    const bool factor = knob.kind != Knob::Kind::number;
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, factor ? "2x" : "64");
  }
  return text;
}

}  // namespace stoker
