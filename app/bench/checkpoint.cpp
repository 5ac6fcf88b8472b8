#include "app/bench/checkpoint.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/base/result_table.h"
#include "app/bench/plain_tier.h"
#include "app/experiment/experiment.h"
#include "app/train/step.h"
#include "app/train/tensors.h"
#include "io/checkpoint/set_store.h"
#include "io/core/parallel.h"

namespace stoker {
namespace {

// What one save cost. Seconds.
struct SaveCost {
  double stall_s = 0;    // the trainer's thread was not free
  double saved_s = 0;    // from the begin until committed on the first tier
  double durable_s = 0;  // until verified on the last tier
  double memcpy_s = 0;   // of as many bytes, in the same round: the best of 1 and all threads
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

double timed(const std::function<void()>& work) {
  const TimePoint begin = Clock::now();
  work();
  return seconds(Clock::now() - begin);
}

// Memory that is all zeros may be one page of the kernel's, and is copied too quickly.
void fill(const TrainStep& step) {
  const at::NoGradGuard no_grad;
  for (const OptimizerState& state : step.optimizer().state()) {
    for (at::Tensor tensor : state.tensors) {
      if (tensor.is_floating_point()) tensor.uniform_();
    }
  }
}

class MemcpyBaseline {
 public:
  MemcpyBaseline(Device& device, uint64_t bytes, int64_t threads)
      : from_(device.allocate(bytes)), to_(device.allocate(bytes)), threads_(threads) {
    std::memset(from_.data.get(), 1, bytes);
    std::memset(to_.data.get(), 2, bytes);
  }
  double best() const {
    const double one = timed([&] { std::memcpy(to_.data.get(), from_.data.get(), from_.bytes); });
    const uint64_t share = from_.bytes / static_cast<uint64_t>(threads_);
    const double all = timed([&] {
      parallel_for(threads_, threads_, [&](int64_t i) {
        const uint64_t at = share * static_cast<uint64_t>(i);
        std::memcpy(to_.data.get() + at, from_.data.get() + at, share);
      });
    });
    return std::min(one, all);
  }
  Bytes bytes() const { return {from_.data.get(), from_.bytes}; }

 private:
  HostMemory from_;
  HostMemory to_;
  int64_t threads_;
};

// A model whose state is saved and loaded.
class SavedModel {
 public:
  explicit SavedModel(const ExperimentOptions& options)
      : directory_(options.checkpoint.info().directory),
        experiment_(options, [](const std::string&) {}),
        step_(experiment_, 1, 1),
        tensors_(step_, experiment_.device().info().emulated
                            ? at::Device(at::kCPU)
                            : experiment_.device().info().torch_device) {
    fill(step_);
    checkpointer_ = experiment_.make_checkpointer(
        tensors_.infos(), {}, [this](const std::string& text) { warnings_.push_back(text); });
    checkpointer_->load();
  }
  ~SavedModel() {
    checkpointer_.reset();
    std::error_code ignored;
    for (const auto& [name, component] : experiment_.options().storage) {
      Storage& tier = experiment_.tiers().at(name);
      if (const FileTree* files = files_of(tier)) {
        std::filesystem::remove_all(files->root() + "/" + directory_, ignored);
      } else {
        remove_objects(tier);
      }
    }
  }
  SavedModel(const SavedModel&) = delete;
  SavedModel& operator=(const SavedModel&) = delete;

  Device& device() { return experiment_.device(); }
  Checkpointer& checkpointer() { return *checkpointer_; }

  SaveCost save(int64_t round) {
    SaveCost cost;
    const TimePoint begin = Clock::now();
    checkpointer_->save({round, false, 0, true}, [&] {
      TrainingState state;
      state.step = round;
      tensors_.capture(state);
      return state;
    });
    checkpointer_->finish_copy();
    cost.stall_s = seconds(Clock::now() - begin);
    if (!checkpointer_->flush() || checkpointer_->status().failed > 0) {
      throw Error(ExitCode::storage,
                  "bench checkpoint: " + (warnings_.empty() ? "a save failed" : warnings_.back()));
    }
    cost.durable_s = seconds(Clock::now() - begin);
    cost.saved_s = checkpointer_->status().save_s.back();
    return cost;
  }
  // Which of the two readings comes first, changes: one may find what the other left in a cache.
  void measure_tier(TierCost& cost, Bytes bytes, const CheckpointerInfo& info,
                    int64_t round) const {
    Storage& tier = experiment_.tiers().at(cost.tier);
    cost.write_s.push_back(write_plainly(tier, directory_, bytes, info.threads));
    const auto sets = sets_on(cost.tier, tier, directory_);
    const std::string set = sets->path(round);
    const auto load = [&] {
      cost.load_s.push_back(timed([&] { LoadedState(sets->files(), set, info.readers); }));
    };
    if (round % 2 == 0) load();
    cost.read_s.push_back(timed([&] { read_plainly(sets->files(), set, info.readers); }));
    if (round % 2 != 0) load();
  }

 private:
  void remove_objects(Storage& tier) const {
    try {
      for (const ObjectInfo& object : tier.list(directory_ + "/")) tier.remove(object.key);
    } catch (const Error&) {
      // The tier fails, and has said so before; or it is no tier of checkpoints.
    }
  }

  const std::string directory_;
  Experiment experiment_;
  const TrainStep step_;
  const TrainingTensors tensors_;
  std::vector<std::string> warnings_;
  std::unique_ptr<Checkpointer> checkpointer_;
};

// A figure of all rounds; in JSON `key`, unless that is empty.
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

// What loading gets of the tier's own rate, round by round.
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
  return fmt::format(
      "{} saves of {:.1f} MB, checkpoint {} ({}), durability {}, {} threads ({} read), on {}\n{}",
      result.saves.size(), megabytes, result.type, result.info.snapshot, result.info.durability,
      result.info.threads, result.info.readers, result.device, table.text(2));
}

CheckpointBenchmark measure_checkpoints(const CheckpointBenchArguments& arguments) {
  std::vector<std::string> overrides = arguments.overrides;
  overrides.push_back(fmt::format("checkpoint.directory=bench-{}", getpid()));
  overrides.emplace_back("checkpoint.resume=none");
  const ExperimentOptions options = read_experiment(arguments.config, overrides);
  const CheckpointerInfo info = options.checkpoint.info();
  if (!info.saves) {
    throw Error(ExitCode::config, "checkpoint.type is none: there is nothing to measure");
  }
  CheckpointBenchmark result;
  result.type = options.checkpoint.type();
  result.info = info;
  for (const std::string& tier : info.written) result.tiers.push_back({tier, {}, {}, {}});

  SavedModel measured(options);
  result.device = measured.device().info().name;
  result.set_bytes = measured.checkpointer().status().set_bytes;
  const MemcpyBaseline memcpy(measured.device(), result.set_bytes, result.info.threads);
  for (int64_t round = 1; round <= arguments.rounds; ++round) {
    result.saves.push_back(measured.save(round));
    result.saves.back().memcpy_s = memcpy.best();
    for (TierCost& tier : result.tiers) {
      measured.measure_tier(tier, memcpy.bytes(), result.info, round);
    }
  }
  result.drain_s = measured.checkpointer().status().drain_s;
  return result;
}

}  // namespace

ExitCode bench_checkpoint(const CheckpointBenchArguments& arguments) {
  const CheckpointBenchmark result = measure_checkpoints(arguments);
  return print_result(arguments.json, checkpoint_json(result), checkpoint_text(result));
}

}  // namespace stoker
