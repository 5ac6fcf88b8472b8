// All functions here are collective: every rank calls them at the same place of its program, or
// the others wait until the time limit of Peers. The trainer's thread exchanges by gather() and
// broadcast, which need no names because they follow the order of its program, and which take the
// same number of bytes from every rank. Loaders and checkpointers have threads of their own, so
// they meet on named channels instead (RankGroup in io/core/ranks).

#include "app/train/ranks/across_ranks.h"

#include <c10/core/DeviceType.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/process/provenance.h"
#include "app/train/tensors.h"
#include "io/core/ranks/rank_group.h"
#include "io/core/ranks/ranks.h"
#include "io/core/system/file.h"
#include "io/core/text/json.h"
#include "io/dataset/data_identity.h"
#include "io/loader/batch_job.h"
#include "io/storage/file_tree.h"

namespace stoker {
namespace {

using nlohmann::json;

constexpr const char* kTargetsFile = "targets.json";
constexpr uint64_t kLongestTargets = 1 << 20;

// Gathers texts of different lengths: Peers::gather() takes equal ones, so all are padded to the
// longest.
std::vector<std::string> gather_texts(Peers& peers, std::string own) {
  const std::vector<size_t> sizes = gather_values(peers, own.size())();
  own.resize(*std::max_element(sizes.begin(), sizes.end()));
  std::vector<std::string> texts = peers.gather(own)();
  for (size_t rank = 0; rank < texts.size(); ++rank) texts[rank].resize(sizes[rank]);
  return texts;
}

// Gives all ranks rank 0's model and optimizer.
void make_equal(Peers& peers, const TrainStep& step) {
  const std::vector<at::Tensor> state = state_tensors(step);
  peers.broadcast_tensors(state);
  const std::vector<uint64_t> digests = gather_values(peers, state_digest(state))();
  for (size_t rank = 1; rank < digests.size(); ++rank) {
    if (digests[rank] == digests[0]) continue;
    throw Error(ExitCode::device,
                fmt::format("rank {} has another state than rank 0 after the broadcast", rank));
  }
}

}  // namespace

void tell_times(Peers& peers, Hub& hub) {
  if (!peers.ranks().many()) return;
  const RunMeter::State run = hub.run().state();
  std::vector<RankTimes> all = gather_values(
      peers, rank_times(run.totals, run.info.timing_method, hub.train_loader().state()))();
  if (peers.ranks().first()) hub.run().set_ranks(std::move(all));
}

std::string address_among(Peers& peers) {
  const Ranks& ranks = peers.ranks();
  if (!ranks.many()) return "";
  const auto outside = [](const std::string& address) {
    return !address.empty() && !is_loopback(address);
  };
  const std::string own = address_towards(ranks.host, ranks.port);
  const std::vector<std::string> all = gather_texts(peers, own);
  if (outside(own)) return own;
  // The machine of rank 0 sees itself as loopback: what counts is how the others reach it.
  const auto other = std::ranges::find_if(all, outside);
  return other == all.end() ? "" : address_towards(*other, ranks.port);
}

void tell_targets(Peers& peers, const std::string& run_dir) {
  const FileTree files(run_dir);
  if (!peers.ranks().many()) return;
  const bool mine = files.exists(kTargetsFile);
  json all = json::array();
  for (const std::string& text :
       gather_texts(peers, mine ? files.read_text(kTargetsFile, kLongestTargets) : "[]")) {
    for (const json& target : parse_json(text)) all.push_back(target);
  }
  if (!peers.ranks().first() || !mine) return;
  const std::string text = json_text(all, 2) + "\n";
  atomic_write_file(run_dir + "/" + kTargetsFile,
                    {reinterpret_cast<const uint8_t*>(text.data()), text.size()},
                    AtomicFile::Parents::needed);
}

void join_ranks(Peers& peers, TrainStep& step, Experiment& experiment, StepLedger& ledger,
                ExchangeTime& exchange_time) {
  make_equal(peers, step);
  if (!experiment.device().info().emulated) {
    step.exchange_gradients(peers, [&exchange_time] { exchange_time.begin(); });
    return;
  }
  const auto slowest = [&peers, &ledger](TimePoint computed) {
    ledger.switch_to(Segment::allreduce);
    // Ranks leave this gather together, so each counts the time that is left on its own clock from
    // here.
    gather_values(peers, char{})();
    const TimePoint now = Clock::now();
    const std::vector<int64_t> left = gather_values(peers, int64_t{(computed - now).count()})();
    ledger.switch_to(Segment::compute);
    return now + Clock::duration(*std::ranges::max_element(left));
  };
  experiment.exchange() = {peers.ranks().world, step.gradient_bytes(), slowest};
}

RunHistory own_history(const Ranks& ranks, const RunHistory& first) {
  if (ranks.first()) return first;
  RunHistory history;
  history.position = first.position;
  history.processes = first.processes;
  history.failures.bad = first.failures.bad;
  return history;
}

std::string digests_of_all(Peers& peers, const Batch& batch) {
  Shard shard{0, peers.ranks().world};
  // Parts differ by one sample, but all ranks have to give the same number of bytes.
  std::string own = batch.digests;
  own.resize(kSampleDigestBytes * static_cast<size_t>(batch.whole / shard.world + 1));
  std::string whole;
  for (const std::string& part : peers.gather(own)()) {
    const auto [begin, end] = shard.places(batch.whole);
    whole += part.substr(0, kSampleDigestBytes * static_cast<size_t>(end - begin));
    ++shard.rank;
  }
  return whole;
}

double loss_of_all(Peers& peers, double own, double samples) {
  const std::array<double, 2> part{own * samples, samples};
  double loss = 0, all = 0;
  for (const auto& [sum, of] : gather_values(peers, part)()) {
    loss += sum;
    all += of;
  }
  return loss / all;
}

EvaluationCounts counts_of_all(Peers& peers, const EvaluationCounts& own) {
  const std::vector<int64_t>& values = own.values();
  EvaluationCounts all;
  for (const std::string& text : gather_texts(peers, {reinterpret_cast<const char*>(values.data()),
                                                      values.size() * sizeof(int64_t)})) {
    std::vector<int64_t> of_rank(text.size() / sizeof(int64_t));
    std::memcpy(of_rank.data(), text.data(), text.size());
    all.add(of_rank);
  }
  return all;
}

namespace {

// What may differ from machine to machine, with all that lies below: where things lie there, how
// much of it is used, and what is watched. Whatever stands beside a step, a batch or a checkpoint
// is not among it, for ranks make those together.
constexpr std::array kOfMachine{"plugins",
                                "storage",
                                "run.dir",
                                "run.page_cache",
                                "run.drop_caches",
                                "run.hang_seconds",
                                "device",
                                "loader.workers",
                                "loader.pin_workers",
                                "loader.prefetch_batches",
                                "loader.device_batches",
                                "loader.samples_ahead",
                                "training.threads",
                                "metrics.sinks",
                                "metrics.profile",
                                "metrics.io_profile"};

bool of_machine(const std::string& path) {
  if (path == "device.type") return false;
  return std::ranges::any_of(kOfMachine, [&path](const std::string& key) {
    return path == key || path.starts_with(key + ".");
  });
}

// How many training samples each class has: more than a digest says.
void add_classes(const Dataset& dataset, const std::vector<std::string>& names, Facts& facts) {
  std::vector<int64_t> samples(names.size());
  for (int64_t i = 0; i < dataset.size(Split::train); ++i) {
    const int64_t label = dataset.info(Split::train, i).label;
    if (label >= 0 && label < std::ssize(samples)) ++samples[static_cast<size_t>(label)];
  }
  for (size_t i = 0; i < names.size(); ++i) {
    facts.emplace_back(fmt::format("training samples of class '{}'", names[i]),
                       std::to_string(samples[i]));
  }
}

Facts facts_of(const Dataset& dataset) {
  const DataIdentity data = identity_of(dataset);
  const auto text = [](int64_t count, const std::string& hash) {
    return fmt::format("{} (digest {})", count, hash);
  };
  Facts facts{{"classes", text(data.classes, data.classes_hash)},
              {"training samples", text(data.train.count, data.train.hash)},
              {"test samples", text(data.test.count, data.test.hash)}};
  add_classes(dataset, data.names, facts);
  return facts;
}

}  // namespace

void require_same_configuration(RankGroup& group, const ExperimentOptions& options) {
  Facts facts;
  for (auto& [path, value] : flat(dump_struct(options))) {
    if (!of_machine(path)) facts.emplace_back(std::move(path), std::move(value));
  }
  for (auto& [name, value] : build_labels()) {
    if (name == "version" || name == "revision" || name == "torch") {
      facts.emplace_back("the program's " + name, std::move(value));
    }
  }
  const std::string text = disagreement(group, facts);
  if (text.empty()) return;
  throw Error(ExitCode::config,
              "the ranks were told different things: " + text +
                  ": start all ranks of a job with the same program, file and overrides, and each "
                  "job with a MASTER_PORT of its own");
}

void require_same_data(RankGroup& group, Experiment& experiment) {
  if (group.size() == 1) return;
  Facts facts = facts_of(experiment.dataset());
  const DeviceInfo& device = experiment.device().info();
  facts.emplace_back("device", device.emulated
                                   ? "emulated"
                                   : c10::DeviceTypeName(device.torch_device.type(), true));
  const std::string text = disagreement(group, facts);
  if (text.empty()) return;
  throw Error(ExitCode::environment,
              "the ranks see different data or devices: " + text +
                  ": give every machine the same files and the same kind of device");
}

}  // namespace stoker
