#include "app/tools/bench_train/checkpoint/checkpoint.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/rand_like.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/base/result_table.h"
#include "io/checkpoint/restoring/read_set.h"
#include "io/checkpoint/sets/manifest.h"
#include "io/checkpoint/sets/set_store.h"
#include "io/core/system/memory.h"
#include "io/core/text/text.h"
#include "io/core/threads.h"
#include "io/metrics/clock.h"
#include "io/storage/storage.h"

namespace stoker {
namespace {

// What a tier does for a checkpoint by itself: the same requests, and nothing is summed or kept.

// Writes a file of these bytes as a set is written: `threads` threads write 8 MiB at once past the
// page cache, and the file is synced. On a tier without files it writes one object. Returns the
// seconds that this took, and removes it. `directory` is made. IoError.
double write_plainly(Storage& tier, const std::string& directory, Bytes bytes, int64_t threads);

// The same on a tier without files.
double write_as_object(Storage& objects, const std::string& key, Bytes bytes) {
  const TimePoint begin = Clock::now();
  const std::unique_ptr<ObjectWriter> writer = objects.create(key);
  for (size_t at = 0; at < bytes.size(); at += kChunkBytes) {
    writer->append(bytes.subspan(at, std::min(kChunkBytes, bytes.size() - at)));
  }
  writer->commit();
  const double took = seconds(Clock::now() - begin);
  objects.remove(key);
  return took;
}

double write_plainly(Storage& tier, const std::string& directory, Bytes bytes, int64_t threads) {
  const FileTree* tree = files_of(tier);
  if (tree == nullptr) return write_as_object(tier, directory + "/probe", bytes);
  const std::string path = directory + "/.tmp-probe";
  tree->make_directories(directory);
  const Bytes whole = bytes.first(bytes.size() / kDirectAlignment * kDirectAlignment);
  const auto chunks = static_cast<int64_t>((whole.size() + kChunkBytes - 1) / kChunkBytes);
  const TimePoint begin = Clock::now();
  {
    const TreeFile file = tree->create(path, FileAccess::direct);
    file.reserve(whole.size());
    parallel_for(threads, chunks, [&](int64_t i) {
      const uint64_t at = kChunkBytes * static_cast<uint64_t>(i);
      file.write_at(at, whole.subspan(at, std::min(kChunkBytes, whole.size() - at)));
    });
    file.sync();
  }
  const double took = seconds(Clock::now() - begin);
  tree->remove(path);
  return took;
}

// What one save cost. Seconds.
struct SaveCost {
  double stall_s = 0;    // the trainer's thread was not free
  double saved_s = 0;    // from the begin until committed on the first tier
  double durable_s = 0;  // until verified on the last tier
  double memcpy_s = 0;   // a copy of as many bytes in the same round
};

// A tier in the same rounds. Seconds.
struct TierCost {
  std::string tier;
  std::vector<double> write_s;  // write_plainly() of as many bytes
  std::vector<double> read_s;   // read_plainly() of the newest set
  std::vector<double> load_s;   // the same set, read, verified and in memory
};

// Times of all rounds, first save included.
struct CheckpointBenchmark {
  std::string type;
  CheckpointerInfo info;
  std::string device;
  uint64_t set_bytes = 0;
  std::vector<SaveCost> saves;
  std::vector<double> drain_s;
  std::vector<TierCost> tiers;
};

SaveCost save(SavedModel& model, int64_t round) {
  SaveCost cost;
  const TimePoint begin = Clock::now();
  const std::unique_ptr<BackBuffer> back = model.save(round);
  cost.stall_s = seconds(Clock::now() - begin);
  model.flush();
  cost.durable_s = seconds(Clock::now() - begin);
  cost.saved_s = model.checkpointer().status().save_s.back();
  if (back) back->finish();
  return cost;
}

// Loads into memory that is faulted in, as a run does. Which of the two readings comes first,
// changes: one may find what the other left in a cache.
void measure_tier(SavedModel& model, TierCost& cost, const MemcpyBaseline& memcpy,
                  const CheckpointerInfo& info, int64_t round) {
  Storage& tier = model.tier(cost.tier);
  cost.write_s.push_back(write_plainly(tier, model.directory(), memcpy.bytes(), info.threads));
  const auto sets = sets_on(cost.tier, tier, model.directory());
  const std::string set = sets->path(round);
  const auto load = [&] {
    cost.load_s.push_back(
        timed([&] { LoadedState(sets->files(), set, info.readers, memcpy.room()); }));
  };
  if (round % 2 == 0) load();
  const Manifest manifest = sets->manifest(round);
  cost.read_s.push_back(timed([&] { read_plainly(sets->files(), set, manifest, info.readers); }));
  if (round % 2 != 0) load();
}

// A figure of all rounds. It has the name `key` in JSON, unless that is empty.
struct RoundFigure {
  std::string key;
  std::string title;
  std::vector<double> seconds;
};

std::vector<RoundFigure> figures_of(const CheckpointBenchmark& result) {
  const auto column = [&](double SaveCost::*field) {
    std::vector<double> values;
    for (const SaveCost& save : result.saves) values.push_back(save.*field);
    return values;
  };
  std::vector<RoundFigure> figures = {
      {"stall_s", "stall", column(&SaveCost::stall_s)},
      {"memcpy_s", "memcpy of as much", column(&SaveCost::memcpy_s)},
      {"saved_s", "saved, first tier", column(&SaveCost::saved_s)},
      {"drain_s", "drain", result.drain_s},
      {"durable_s", "durable, last tier", column(&SaveCost::durable_s)},
      {"load_s", "load and verify", result.tiers.back().load_s}};
  std::erase_if(figures, [](const RoundFigure& figure) { return figure.seconds.empty(); });
  return figures;
}

// The share of the tier's own rate that loading gets, round by round.
std::vector<double> load_shares(const TierCost& tier) {
  std::vector<double> shares;
  for (size_t i = 0; i < tier.load_s.size(); ++i) {
    shares.push_back(tier.read_s[i] / tier.load_s[i]);
  }
  return shares;
}

nlohmann::json checkpoint_json(const CheckpointBenchmark& result) {
  const SaveCost& first = result.saves.front();
  nlohmann::json json = {
      {"name", "stoker-" + result.type + "-" + result.info.snapshot},
      {"type", result.type},
      {"snapshot", result.info.snapshot},
      {"durability", result.info.durability},
      {"device", result.device},
      {"set_bytes", result.set_bytes},
      {"threads", result.info.threads},
      {"readers", result.info.readers},
      {"saves", result.saves.size()},
      {"first",
       {{"stall_s", first.stall_s}, {"saved_s", first.saved_s}, {"durable_s", first.durable_s}}}};
  for (const RoundFigure& figure : figures_of(result)) json[figure.key] = spread(figure.seconds);
  for (const TierCost& tier : result.tiers) {
    json["tiers"][tier.tier] = {{"write_s", spread(tier.write_s)},
                                {"read_s", spread(tier.read_s)},
                                {"load_s", spread(tier.load_s)},
                                {"load_rate_share", spread(load_shares(tier))}};
  }
  return json;
}

std::string checkpoint_text(const CheckpointBenchmark& result) {
  const double megabytes = 1e-6 * static_cast<double>(result.set_bytes);
  ResultTable table({{"", "ms"},
                     {"", "min", 1},
                     {"", "p50", 1},
                     {"", "p99", 1},
                     {"", "max", 1},
                     {"", "first", 1},
                     {"", "MB/s (p50)"}});
  const auto add = [&](const std::string& title, const std::vector<double>& seconds) {
    const Spread s = spread(seconds);
    table.add({title, 1e3 * s.min, 1e3 * s.median, 1e3 * s.p99, 1e3 * s.max, 1e3 * seconds.front(),
               megabytes / s.median});
  };
  for (const RoundFigure& figure : figures_of(result)) add(figure.title, figure.seconds);
  for (const TierCost& tier : result.tiers) {
    add(fmt::format("tier {} by itself: write", tier.tier), tier.write_s);
    add(fmt::format("tier {} by itself: read", tier.tier), tier.read_s);
    add(fmt::format("tier {}: load and verify", tier.tier), tier.load_s);
    const Spread share = spread(load_shares(tier));
    table.note(fmt::format("tier {}: loaded at {:.2f} of its own rate ({:.2f} to {:.2f})",
                           tier.tier, share.median, share.min, share.max));
  }
  return fmt::format("{} of {:.1f} MB, checkpoint {} ({}), durability {}, {} ({} read), on {}\n{}",
                     plural(result.saves.size(), "save"), megabytes, result.type,
                     result.info.snapshot, result.info.durability,
                     plural(result.info.threads, "thread"), result.info.readers, result.device,
                     table.text(2));
}

CheckpointBenchmark measure_checkpoints(const CheckpointBenchArguments& arguments) {
  const ExperimentOptions options = SavedModel::options(arguments);
  const CheckpointerInfo info = options.checkpoint.info();
  CheckpointBenchmark result;
  result.type = options.checkpoint.type();
  result.info = info;
  for (const std::string& tier : info.written) result.tiers.push_back({tier, {}, {}, {}});

  SavedModel measured(options);
  result.device = measured.device().info().name;
  result.set_bytes = measured.checkpointer().status().set_bytes;
  const MemcpyBaseline memcpy(measured.device(), result.set_bytes, result.info.threads);
  for (int64_t round = 1; round <= arguments.rounds; ++round) {
    throw_if_interrupted();
    result.saves.push_back(save(measured, round));
    result.saves.back().memcpy_s = memcpy.seconds();
    for (TierCost& tier : result.tiers) {
      measure_tier(measured, tier, memcpy, result.info, round);
    }
  }
  throw_if_interrupted();
  result.drain_s = measured.checkpointer().status().drain_s;
  return result;
}

}  // namespace

ExitCode bench_model_checkpoint(const CheckpointBenchArguments& arguments) {
  if (arguments.loop) return bench_checkpoint_loop(arguments);
  const CheckpointBenchmark result = measure_checkpoints(arguments);
  return print_result(arguments.json, checkpoint_json(result), checkpoint_text(result));
}

namespace {

// Memory that is all zeros may be one page of the kernel's, and is copied too quickly.
void fill(const TrainStep& step) {
  const at::NoGradGuard no_grad;
  for (const OptimizerState& state : step.optimizer().state()) {
    for (const at::Tensor& tensor : state.tensors) {
      if (tensor.is_floating_point()) tensor.uniform_();
    }
  }
  for (at::Tensor& parameter : parameters(step.model())) {
    parameter.mutable_grad() = at::rand_like(parameter, at::TensorOptions().requires_grad(false));
  }
}

}  // namespace

double timed(const std::function<void()>& work) {
  const TimePoint begin = Clock::now();
  work();
  return seconds(Clock::now() - begin);
}

MemcpyBaseline::MemcpyBaseline(Device& device, uint64_t bytes, int64_t threads)
    : from_(device.allocate(bytes)), to_(device.allocate(bytes)) {
  std::memset(from_.data.get(), 1, bytes);
  std::memset(to_.data.get(), 2, bytes);
  double one = seconds(1), all = seconds(threads);
  for (int i = 0; i < 2; ++i) {
    one = std::min(one, seconds(1));
    all = std::min(all, seconds(threads));
  }
  if (all < one) threads_ = threads;
}

double MemcpyBaseline::seconds(int64_t threads) const {
  const uint64_t share = from_.bytes / static_cast<uint64_t>(threads);
  return timed([&] {
    parallel_for(threads, threads, [&](int64_t i) {
      const uint64_t at = share * static_cast<uint64_t>(i);
      std::memcpy(to_.data.get() + at, from_.data.get() + at, share);
    });
  });
}

ExperimentOptions SavedModel::options(const ConfigArguments& arguments) {
  std::vector<std::string> overrides = arguments.overrides;
  overrides.push_back("checkpoint.directory=" + bench_folder_name());
  overrides.emplace_back("checkpoint.resume=none");
  ExperimentOptions options = read_experiment(arguments.config, overrides);
  if (!options.checkpoint.info().saves) {
    throw Error(ExitCode::config, "checkpoint.type is none: there is nothing to measure");
  }
  return options;
}

SavedModel::SavedModel(const ExperimentOptions& options)
    : directory_(options.checkpoint.info().directory),
      experiment_(options, [](const std::string&) {}),
      step_(experiment_, 1, 1),
      tensors_(step_, experiment_.device().info().emulated
                          ? at::Device(at::kCPU)
                          : experiment_.device().info().torch_device) {
  for (const std::string& tier : options.checkpoint.info().tiers) {
    add_bench_folder(folders_, this->tier(tier), directory_);
  }
  fill(step_);
  checkpointer_ = experiment_.make_checkpointer(
      tensors_.infos(), {}, [this](const std::string& text) { warnings_.push_back(text); });
  if (const auto places = checkpointer_->finish_copy()) tensors_.back_buffer(*places)->finish();
  checkpointer_->load();
}

std::unique_ptr<BackBuffer> SavedModel::save(int64_t step) {
  checkpointer_->save({step, false, 0, true}, [&] {
    TrainingState state;
    state.step = step;
    tensors_.capture(state);
    return state;
  });
  const std::optional<StatePlaces> places = checkpointer_->finish_copy();
  return places ? tensors_.back_buffer(*places) : nullptr;
}

void SavedModel::flush() {
  if (checkpointer_->flush() && checkpointer_->status().failed == 0) return;
  throw Error(ExitCode::storage,
              "bench checkpoint: " + (warnings_.empty() ? "a save failed" : warnings_.back()));
}

}  // namespace stoker
