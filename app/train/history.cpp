#include "app/train/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/train/lifetime.h"
#include "io/core/text/json.h"
#include "io/experiment/batch_identity.h"
#include "io/metrics/record/record_json.h"

namespace stoker {
namespace {

// Keys that have no part in the course of the training. Its length has a part only if the learning
// rate depends on it.
std::vector<std::string> irrelevant_keys(const ExperimentOptions& options) {
  std::vector<std::string> keys = same_result_keys(options);
  keys.emplace_back("loader.type");
  if (!options.schedule.info().follows_length) {
    keys.insert(keys.end(), {"training.max_steps", "training.epochs"});
  }
  return keys;
}

// What `read` makes of a checkpoint's record.
template <class F>
auto parsed(const F& read) {
  try {
    return read();
  } catch (const nlohmann::json::exception& error) {
    throw Error(ExitCode::storage,
                std::string("checkpoint: its record of the training is not ours: ") + error.what());
  }
}

}  // namespace

nlohmann::json totals_json(const RunHistory& history) {
  return {{"processes", history.processes},
          {"images", history.images},
          {"wall_s", history.wall_s},
          {"segments_s", history.segments_s},
          {"bytes_read", history.bytes_read}};
}

nlohmann::json to_json(const RunHistory& history, const ExperimentOptions& options,
                       const DataIdentity& data) {
  nlohmann::json json = {{"position",
                          {{"step", history.position.step},
                           {"epoch", history.position.epoch},
                           {"batch", history.position.batch}}},
                         {"ranks", history.ranks},
                         {"batch_size", history.batch_size},
                         {"batches", history.batches},
                         {"totals", totals_json(history)},
                         {"evaluations", history.evaluations},
                         {"digest_chain", history.digest_chain},
                         {"data", data},
                         {"config_hash", config_hash(options)},
                         {"config", resolved_yaml(options)}};
  json.update(to_json(history.failures));
  if (history.goodput) json["goodput"] = *history.goodput;
  return json;
}

RunHistory run_history(const nlohmann::json& training) {
  if (training.is_object() && training.contains("imported") && !training.contains("position")) {
    throw Error(ExitCode::config,
                "checkpoint: it was imported without a record of a training: import it anew with "
                "`stoker checkpoint import --like SET`, where SET is one of the same network");
  }
  return parsed([&] {
    RunHistory history;
    const nlohmann::json& position = training.at("position");
    history.position = {whole_number(position.at("step")), whole_number(position.at("epoch")),
                        whole_number(position.at("batch"))};
    const nlohmann::json& totals = training.at("totals");
    history.processes = whole_number(totals.at("processes"));
    history.images = whole_number(totals.at("images"));
    history.wall_s = totals.at("wall_s");
    history.segments_s = totals.at("segments_s").get<std::map<std::string, double>>();
    history.bytes_read = static_cast<uint64_t>(whole_number(totals.at("bytes_read")));
    history.evaluations = training.at("evaluations").get<std::vector<Evaluation>>();
    history.failures = failure_counts(training);
    if (training.contains("ranks")) history.ranks = whole_number(training["ranks"]);
    if (training.contains("batches")) {  // added later than `ranks`
      history.batch_size = whole_number(training.at("batch_size"));
      history.batches = whole_number(training["batches"]);
    }
    history.digest_chain = training.at("digest_chain");
    if (training.contains("goodput")) history.goodput = training["goodput"].get<Goodput>();
    return history;
  });
}

std::optional<DataIdentity> trained_on(const nlohmann::json& training) {
  const auto data = training.find("data");
  if (data == training.end()) return std::nullopt;
  return parsed([&] { return std::optional(data->get<DataIdentity>()); });
}

TrainingPosition resumed_position(const RunHistory& history, const ExperimentOptions& options,
                                  int64_t ranks, int64_t batches) {
  TrainingPosition position = history.position;
  const LoaderInfo loader = options.loader.info();
  const int64_t size_before = history.batch_size == 0 ? loader.batch_size : history.batch_size;
  const int64_t batches_before = history.batches == 0 ? batches : history.batches;
  // At the begin or end of an epoch any batch size will do. The end is a place of its own, because
  // the evaluation of that epoch is still to come.
  if (position.batch == 0) return position;
  if (position.batch == batches_before) {
    position.batch = batches;
    return position;
  }
  // If each rank has files or records of its own, the samples that are done depend on the number of
  // ranks and on the batch size, so neither may change within an epoch.
  const bool other_size = size_before != loader.batch_size;
  const bool files = deals_files(loader.order);
  if ((files || loader.batches_by_ranks) && (other_size || history.ranks != ranks)) {
    throw Error(ExitCode::config,
                fmt::format("checkpoint: it is from within epoch {} of {} ranks, and by "
                            "{}: resume with {} ranks and "
                            "loader.batch_size={}, or from the end of an epoch "
                            "(checkpoint.resume)",
                            position.epoch, history.ranks,
                            files ? "loader.order each has files of its own"
                                  : "loader.coalesce each has records of its own",
                            history.ranks, size_before));
  }
  // The order of samples depends only on seed and epoch, so batches of another size go on at the
  // same sample.
  const int64_t sample = position.batch * size_before;
  if (sample % loader.batch_size != 0) {
    throw Error(ExitCode::config,
                fmt::format("checkpoint: it is from sample {} of epoch {}, which is within a batch "
                            "of {}: resume with a loader.batch_size that divides {}, such as {}, "
                            "or from the end of an epoch (checkpoint.resume)",
                            sample, position.epoch, loader.batch_size, sample, size_before));
  }
  // There may be fewer samples than before.
  position.batch = std::min(sample / loader.batch_size, batches);
  return position;
}

std::vector<std::string> config_differences(const nlohmann::json& training,
                                            const ExperimentOptions& options) {
  const auto saved = training.find("config");
  if (saved == training.end() || !saved->is_string()) return {};
  return differences(flat(parse_yaml(saved->get<std::string>(), "the checkpoint's configuration")),
                     flat(dump_struct(options)), irrelevant_keys(options));
}

}  // namespace stoker
