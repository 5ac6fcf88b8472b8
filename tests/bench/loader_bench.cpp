#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <map>
#include <optional>

#include "io/loader/loader.h"
#include "io/metrics/hub.h"
#include "io/storage/tiers.h"
#include "tests/support/fakes.h"

// What the loader itself costs per sample: claiming, metrics, hand-over. The decoder does nothing.
//
//   loader_bench [ROUNDS] [FOLDER]
//
// FOLDER (class folders of images): also with reading its files through image_folder over posix.
// Rounds of all rows are interleaved; the least of each row is printed, as CPU time of the process
// per sample, and as wall time per sample and worker.

namespace stoker {
namespace {

constexpr int64_t kSamples = 1 << 15;

template <class Kind>
Component<Kind> parse(const std::string& yaml) {
  const Node node = parse_yaml(yaml, "benchmark");
  return Registry<Kind>::global().parse(Section(node, "", Kind::kKind, nullptr));
}

class NullDecoder final : public Decoder {
 public:
  SampleSpec spec() const override { return {4, 4, 4}; }
  std::unique_ptr<DecoderSession> open() const override {
    struct Session final : DecoderSession {
      void decode(Bytes, const DecodeMode&, uint8_t*) override {}
    };
    return std::make_unique<Session>();
  }
};

// What the rows share.
struct Bench {
  explicit Bench(const std::string& folder) {
    if (folder.empty()) return;
    tiers.add("plain", parse<Storage>("{type: posix, root: \"" + folder + "\"}").create({}));
    tiers.add("metered", open_tier(parse<Storage>("{type: posix, root: \"" + folder + "\"}"),
                                   {"data", {}, &hub}));
    for (const char* tier : {"plain", "metered"}) {
      files[tier] = parse<Dataset>(std::string("{type: image_folder, storage: ") + tier + "}")
                        .create({tiers, 1, {}});
    }
  }
  Hub hub;
  Tiers tiers;
  std::map<std::string, std::unique_ptr<Dataset>> files;
  FakeDataset nothing{kSamples};
  NullDecoder decoder;
  FakeDevice device;
};

double now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

class Row {
 public:
  Row(Bench& bench, std::string name, const Dataset& dataset, const std::string& type, int workers)
      : name_(std::move(name)),
        workers_(workers),
        loader_(
            parse<Loader>(fmt::format("{{type: {}, batch_size: 256, workers: {}}}", type, workers))
                .create({dataset,
                         bench.decoder,
                         bench.device,
                         Split::train,
                         1,
                         {},
                         bench.hub.train_loader()})) {}

  void measure() {
    constexpr double kEnough = 0.05;  // seconds
    int64_t samples = 0;
    loader_->start(epoch_, 0);
    const double cpu = now(CLOCK_PROCESS_CPUTIME_ID), wall = now(CLOCK_MONOTONIC);
    do {
      while (const auto batch = loader_->next()) samples += batch->size;
      loader_->start(++epoch_, 0);
    } while (now(CLOCK_MONOTONIC) - wall < kEnough);
    const auto count = static_cast<double>(samples);
    cpu_ns_ = std::min(cpu_ns_, 1e9 * (now(CLOCK_PROCESS_CPUTIME_ID) - cpu) / count);
    wall_ns_ = std::min(wall_ns_, 1e9 * (now(CLOCK_MONOTONIC) - wall) * workers_ / count);
  }
  void print() const { fmt::print("{:<28} {:8.0f} {:12.0f}\n", name_, cpu_ns_, wall_ns_); }

 private:
  std::string name_;
  int workers_;
  std::unique_ptr<Loader> loader_;
  int64_t epoch_ = 0;
  double cpu_ns_ = std::numeric_limits<double>::infinity();
  double wall_ns_ = std::numeric_limits<double>::infinity();
};

void run(int rounds, const std::string& folder) {
  Bench bench(folder);
  std::vector<std::unique_ptr<Row>> rows;
  const auto add = [&](const std::string& what, const Dataset& dataset, const std::string& type,
                       int workers) {
    rows.push_back(std::make_unique<Row>(bench, fmt::format("{} {} {}", what, type, workers),
                                         dataset, type, workers));
  };
  for (const char* type : {"sync", "threaded", "prefetched"}) {
    for (const int workers : {1, 2, 4, 8}) {
      if (type != std::string("sync") || workers == 1) add("nothing", bench.nothing, type, workers);
    }
  }
  for (const auto& [tier, dataset] : bench.files) {
    for (const int workers : {1, 2}) add("files " + tier, *dataset, "prefetched", workers);
  }
  for (int round = 0; round < rounds; ++round) {
    for (const auto& row : rows) row->measure();
  }
  fmt::print("{:<28} {:>8} {:>12}\n", "ns per sample", "CPU", "wall*workers");
  for (const auto& row : rows) row->print();
}

}  // namespace
}  // namespace stoker

int main(int argc, char** argv) {
  stoker::run(argc > 1 ? std::atoi(argv[1]) : 10, argc > 2 ? argv[2] : "");
}
