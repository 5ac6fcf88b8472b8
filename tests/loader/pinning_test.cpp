#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <set>

#include "io/loader/loader.h"
#include "io/metrics/loader_meter.h"
#include "tests/support/fakes.h"

namespace stoker {
namespace {

using Cores = std::set<int>;

Cores cores_of_this_thread() {
  cpu_set_t set;
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  Cores cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.insert(core);
  }
  return cores;
}

// Writes down on which cores each of its threads may run, and lets none have a second sample before
// all have had one.
class Looking final : public Decoder {
 public:
  explicit Looking(size_t threads) : threads_(threads) {}
  SampleSpec spec() const override { return {1, 1, 8}; }
  std::unique_ptr<DecoderSession> open() const override {
    struct Session final : DecoderSession {
      explicit Session(const Looking& to) : looking(to) {}
      void decode(Bytes encoded, const DecodeMode&, uint8_t* out) override {
        std::memcpy(out, encoded.data(), encoded.size());
        char name[16];
        pthread_getname_np(pthread_self(), name, sizeof name);
        std::unique_lock lock(looking.mutex_);
        looking.seen_[name] = cores_of_this_thread();
        looking.all_.notify_all();
        looking.all_.wait_for(lock, std::chrono::seconds(20),
                              [this] { return looking.seen_.size() == looking.threads_; });
      }
      const Looking& looking;
    };
    return std::make_unique<Session>(*this);
  }
  // By the thread's name; when no thread decodes any more.
  const std::map<std::string, Cores>& seen() const { return seen_; }

 private:
  const size_t threads_;
  mutable std::mutex mutex_;
  mutable std::condition_variable all_;
  mutable std::map<std::string, Cores> seen_;
};

struct PinningSetup {
  explicit PinningSetup(int workers, const std::string& options = "")
      : decoder(static_cast<size_t>(workers)) {
    const Node node = parse_yaml(
        "{type: threaded, batch_size: 64, workers: " + std::to_string(workers) + options + "}",
        "t.yaml");
    const auto loader =
        Registry<Loader>::global()
            .parse(Section(node, "", "loader", nullptr))
            .create({dataset, decoder, device.allocator(), Split::train, 7,
                     [this](const std::string& text) { remarks.push_back(text); }, meter});
    loader->start(0, 0);
    loader->next();
  }
  FakeDataset dataset{64};
  Looking decoder;
  FakeDevice device;
  Tracer tracer;
  LoaderMeter meter{"train", tracer};
  std::vector<std::string> remarks;
};

TEST(Pinning, keeps_each_worker_on_one_core_and_says_so_once) {
  const Cores all = cores_of_this_thread();
  const int workers = static_cast<int>(all.size()) + 1;
  const PinningSetup setup(workers, ", pin_workers: true");
  EXPECT_EQ(setup.decoder.seen().size(), static_cast<size_t>(workers));
  auto core = all.begin();
  for (int i = 0; i < workers; ++i) {
    const auto seen = setup.decoder.seen().find("load-" + std::to_string(i));
    ASSERT_NE(seen, setup.decoder.seen().end()) << i;
    EXPECT_EQ(seen->second, Cores{*core}) << i;
    if (++core == all.end()) core = all.begin();
  }
  ASSERT_EQ(setup.remarks.size(), 1u);
  EXPECT_TRUE(setup.remarks[0].starts_with("loader: workers are pinned to the cores "));
  EXPECT_EQ(cores_of_this_thread(), all);  // the trainer's thread is as free as before
}

TEST(Pinning, is_off_by_default) {
  const PinningSetup setup(3);
  EXPECT_EQ(setup.decoder.seen().size(), 3u);
  for (const auto& [name, cores] : setup.decoder.seen()) EXPECT_EQ(cores, cores_of_this_thread());
  EXPECT_TRUE(setup.remarks.empty());
}

}  // namespace
}  // namespace stoker
