// A decoder that takes a known time: around another one, it sleeps for every sample. For tests of
// what a run says about its time. With `cores`, at most so many samples are under way at one time,
// in all processes that name the same `node`: the cores of an emulated node.
#include <fcntl.h>
#include <semaphore.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "io/decoder/decoder.h"

namespace {

using namespace stoker;
using SteadyClock = std::chrono::steady_clock;

// The cores of an emulated node, which processes share. Absent: every thread has one.
class Cores {
 public:
  Cores(const std::string& node, int64_t count) {
    if (count == 0) return;
    free_ = ::sem_open(("/" + node).c_str(), O_CREAT, 0600, count);
    if (free_ == SEM_FAILED) throw Error(ExitCode::environment, "no semaphore '" + node + "'");
  }
  ~Cores() {
    if (free_ != nullptr) ::sem_close(free_);
  }
  Cores(const Cores&) = delete;
  Cores& operator=(const Cores&) = delete;

  bool shared() const { return free_ != nullptr; }
  void take() {
    while (shared() && ::sem_wait(free_) != 0) continue;
  }
  void give() {
    if (shared()) ::sem_post(free_);
  }

 private:
  sem_t* free_ = nullptr;
};

class SlowSession final : public DecoderSession {
 public:
  SlowSession(std::unique_ptr<DecoderSession> inner, double seconds, Cores& cores)
      : inner_(std::move(inner)), pause_(seconds), cores_(cores) {}

  void decode(Bytes encoded, const DecodeMode& mode, uint8_t* out) override {
    cores_.take();
    const auto begin = SteadyClock::now();
    inner_->decode(encoded, mode, out);
    const auto end = begin + std::chrono::duration_cast<SteadyClock::duration>(pause_) - late_;
    std::this_thread::sleep_until(end);
    // A core that is emulated loses no time by a thread that wakes up late.
    if (cores_.shared()) late_ = std::max(SteadyClock::duration(0), SteadyClock::now() - end);
    cores_.give();
  }

 private:
  std::unique_ptr<DecoderSession> inner_;
  const std::chrono::duration<double> pause_;
  Cores& cores_;
  SteadyClock::duration late_{0};
};

class SlowDecoder final : public Decoder {
 public:
  struct Options {
    Component<Decoder> inner = default_component<Decoder>("jpeg");
    double delay_ms = 10;
    std::string node;
    int64_t cores = 0;
    template <class V>
    void visit(V& v) {
      v("inner", inner, "the decoder that does the work");
      v("delay_ms", delay_ms, "what a sample takes at least", Limits{0, 60000});
      v("node", node, "the name of the node whose cores are shared");
      v("cores", cores, "how many it has; 0: one for every thread", Limits{0, 10000});
    }
  };
  SlowDecoder(const Options& options, const Inputs& inputs)
      : inner_(options.inner.create(inputs)),
        seconds_(options.delay_ms / 1e3),
        cores_(options.node, options.cores) {}

  SampleSpec spec() const override { return inner_->spec(); }
  std::unique_ptr<DecoderSession> open() const override {
    return std::make_unique<SlowSession>(inner_->open(), seconds_, cores_);
  }

 private:
  std::unique_ptr<Decoder> inner_;
  const double seconds_;
  mutable Cores cores_;  // shared by the sessions of all threads
};

STOKER_REGISTER(Decoder, "slow", SlowDecoder);

}  // namespace
