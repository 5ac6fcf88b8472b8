// A decoder that takes a known time: around another one, it sleeps for every sample. For tests of
// what a run says about its time. With `cores`, at most so many samples are under way at one time,
// in all processes that say the same `node`: the cores of an emulated node.
#include <sys/sem.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "io/decoder/decoder.h"

namespace {

using namespace stoker;
using SteadyClock = std::chrono::steady_clock;

// The cores of an emulated node, which processes share: a System V semaphore, for it gets back what
// a process held that has ended. It stays until somebody removes it (ipcrm -S NODE). Absent: every
// thread has one.
class Cores {
 public:
  Cores(int64_t node, int64_t count) {
    if (count == 0) return;
    const auto key = static_cast<key_t>(node);
    id_ = ::semget(key, 1, IPC_CREAT | IPC_EXCL | 0600);
    if (id_ >= 0) {
      ::semctl(id_, 0, SETVAL, static_cast<int>(count));
      change(1, 0);  // says to the others that it has its value
      change(-1, 0);
      return;
    }
    id_ = ::semget(key, 1, 0600);
    semid_ds state{};
    while (::semctl(id_, 0, IPC_STAT, &state) == 0 && state.sem_otime == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (id_ < 0) throw Error(ExitCode::environment, "no semaphore " + std::to_string(node));
  }

  bool shared() const { return id_ >= 0; }
  void take() {
    if (shared()) change(-1, SEM_UNDO);
  }
  void give() {
    if (shared()) change(1, SEM_UNDO);
  }

 private:
  void change(short by, short how) {
    sembuf operation{0, by, how};
    while (::semop(id_, &operation, 1) != 0 && errno == EINTR) continue;
  }

  int id_ = -1;
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
    int64_t node = 0;
    int64_t cores = 0;
    template <class V>
    void visit(V& v) {
      v("inner", inner, "the decoder that does the work");
      v("delay_ms", delay_ms, "what a sample takes at least", Limits{0, 60000});
      v("node", node, "the number of the node whose cores are shared");
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
