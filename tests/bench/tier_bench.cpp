#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "io/metrics/tier_meter.h"
#include "io/storage/emulated/tier_figures.h"
#include "io/storage/file_tree.h"
#include "io/storage/storage.h"

// Operations on one tier by several threads; prints what they got as one line of JSON. For
// emulated_tier.py and emulator_against_disk.py.
//
//   tier_bench figures PROFILE
//   tier_bench run TIER --op OP [--threads N] [--seconds S] [--bytes N] [--together]
//   tier_bench all TIER [--threads N]     every object once: seconds
//   tier_bench write TIER [--mib N]       one file in pieces of 8 MiB, then a sync: seconds
//
// TIER is the YAML of a tier. OP: read (whole objects, each thread others), metadata (remove what
// is not there), append (each thread its own file from its begin to 64 MiB, again and again). --at:
// a time of the monotonic clock at which processes begin to count together.

namespace stoker {
namespace {

struct Settings {
  std::string tier, op = "read";
  int threads = 1;
  double span = 2;
  bool together = false;
  uint64_t bytes = 1 << 20, mib = 672;
};

// Memory of one thread that direct I/O takes.
struct Block {
  explicit Block(uint64_t bytes)
      : memory(static_cast<uint8_t*>(std::aligned_alloc(kDirectAlignment, bytes)), std::free),
        data(memory.get(), bytes) {
    std::fill(data.begin(), data.end(), uint8_t{1});
  }
  std::unique_ptr<uint8_t, decltype(&std::free)> memory;
  std::span<uint8_t> data;
};

class Bench {
 public:
  explicit Bench(const Settings& settings) : settings_(settings) {
    const Node node = parse_yaml(settings.tier, "TIER");
    const Component<Storage> tier =
        Registry<Storage>::global().parse(Section(node, "", "storage", nullptr));
    tier_ = tier.create({.name = "bench",
                         .notify = [](const std::string& text) { std::cerr << text << "\n"; },
                         .meter = &meter_});
    if (settings.op == "read") {
      for (const ObjectInfo& object : tier_->list("")) keys_.push_back(object.key);
    }
  }

  nlohmann::json run() {
    const TimePoint from = begin();
    const auto span =
        std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(settings_.span));
    in_threads([&](int thread) {
      const auto step = steps(thread);
      for (;;) {
        const TimePoint begin = Clock::now();
        const uint64_t bytes = step();
        const TimePoint end = Clock::now();
        if (begin >= from + span) break;
        // What lies in the interval by a part counts by that part.
        const double inside = seconds(std::min(end, from + span) - std::max(begin, from));
        if (inside > 0) add(bytes, inside / seconds(end - begin));
      }
    });
    return {{"operations_per_s", operations_ / settings_.span},
            {"mb_per_s", 1e-6 * bytes_ / settings_.span},
            {"overruns", meter_.state().overruns},
            {"overrun_s", meter_.state().overrun_s}};
  }

  nlohmann::json all() {
    std::atomic<size_t> next = 0;
    const TimePoint begin = Clock::now();
    in_threads([&](int) {
      Buffer buffer;
      for (size_t i = next++; i < keys_.size(); i = next++) {
        tier_->read(keys_[i], buffer);
        add(buffer.size(), 1);
      }
    });
    const double took = seconds(Clock::now() - begin);
    return {{"seconds", took},
            {"operations_per_s", operations_ / took},
            {"mb_per_s", 1e-6 * bytes_ / took},
            {"overrun_s", meter_.state().overrun_s}};
  }

  nlohmann::json write() {
    constexpr uint64_t kPiece = 8 << 20;
    const Block block(kPiece);
    const FileTree& files = *files_of(*tier_);
    files.remove("written");
    const TimePoint begin = Clock::now();
    {
      const TreeFile file = files.create("written", FileAccess::direct);
      for (uint64_t at = 0; at < settings_.mib << 20; at += kPiece) file.write_at(at, block.data);
      file.sync();
    }
    const double took = seconds(Clock::now() - begin);
    files.remove("written");
    return {{"seconds", took}, {"overrun_s", meter_.state().overrun_s}};
  }

 private:
  TimePoint begin() const {
    double at = seconds(Clock::now().time_since_epoch()) + 0.3;
    if (settings_.together) {
      std::cout << "ready" << std::endl;
      std::cin >> at;
    }
    return TimePoint(
        std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(at)));
  }

  std::function<uint64_t()> steps(int thread) {
    if (settings_.op == "metadata") {
      return [this, key = "none-" + std::to_string(thread)] {
        tier_->remove(key);
        return uint64_t{0};
      };
    }
    if (settings_.op == "append") {
      const FileTree& files = *files_of(*tier_);
      const std::string name =
          "append-" + std::to_string(::getpid()) + "-" + std::to_string(thread);
      files.remove(name);
      auto file = std::make_shared<TreeFile>(files.create(name, FileAccess::buffered));
      auto block = std::make_shared<Block>(settings_.bytes);
      return [this, file, block, at = uint64_t{0}]() mutable {
        file->write_at(at, block->data);
        at = at + 2 * settings_.bytes > 64 << 20 ? 0 : at + settings_.bytes;
        return settings_.bytes;
      };
    }
    auto buffer = std::make_shared<Buffer>();
    return [this, buffer] {
      tier_->read(keys_.at(next_++ % keys_.size()), *buffer);
      return uint64_t{buffer->size()};
    };
  }

  void add(uint64_t bytes, double part) {
    const std::lock_guard lock(mutex_);
    operations_ += part;
    bytes_ += part * static_cast<double>(bytes);
  }

  template <class F>
  void in_threads(F work) {
    std::vector<std::jthread> threads;
    for (int i = 0; i < settings_.threads; ++i) threads.emplace_back([&work, i] { work(i); });
  }

  const Settings settings_;
  Tracer tracer_;
  TierMeter meter_{"bench", "", true, tracer_};
  std::unique_ptr<Storage> tier_;
  std::vector<std::string> keys_;
  std::atomic<size_t> next_{0};
  std::mutex mutex_;
  double operations_ = 0, bytes_ = 0;
};

nlohmann::json figures(const std::string& name) {
  for (const auto& [known, profile] : enum_names(TierProfile{})) {
    if (name != known) continue;
    const TierCosts costs = TierFigures{.profile = profile}.costs();
    return {{"read_mb_per_s", 1e-6 * costs.read_bytes_per_s},
            {"write_mb_per_s", 1e-6 * costs.write_bytes_per_s},
            {"read_latency_ms", 1e3 * seconds(costs.read_latency)},
            {"write_latency_ms", 1e3 * seconds(costs.write_latency)},
            {"metadata_latency_ms", 1e3 * seconds(costs.metadata_latency)},
            {"seek_ms", 1e3 * seconds(costs.seek)},
            {"queue_depth", costs.queue_depth},
            {"latency_sigma", costs.latency_sigma},
            {"stream_mb_per_s", 1e-6 * costs.stream_bytes_per_s}};
  }
  throw std::runtime_error("no profile " + name);
}

}  // namespace
}  // namespace stoker

int main(int argc, char** argv) {
  CLI::App app("Operations on one tier by several threads");
  app.require_subcommand(1);
  stoker::Settings settings;
  for (const char* name : {"figures", "run", "all", "write"}) {
    CLI::App* command = app.add_subcommand(name);
    command->add_option("tier", settings.tier)->required();
    command->add_option("--op", settings.op);
    command->add_option("--threads", settings.threads);
    command->add_option("--seconds", settings.span);
    command->add_flag("--together", settings.together);
    command->add_option("--bytes", settings.bytes);
    command->add_option("--mib", settings.mib);
  }
  CLI11_PARSE(app, argc, argv);
  const std::string command = app.get_subcommands().front()->get_name();
  if (command == "figures") {
    std::cout << stoker::figures(settings.tier) << std::endl;
    return 0;
  }
  stoker::Bench bench(settings);
  std::cout << (command == "run"   ? bench.run()
                : command == "all" ? bench.all()
                                   : bench.write())
            << std::endl;
}
