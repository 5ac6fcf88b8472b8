// A decoder that takes a known time: around another one, it sleeps for every sample. For tests of
// what a run says about its time.
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "io/decoder/decoder.h"

namespace {

using namespace stoker;

class SlowSession final : public DecoderSession {
 public:
  SlowSession(std::unique_ptr<DecoderSession> inner, double seconds)
      : inner_(std::move(inner)), pause_(seconds) {}

  void decode(Bytes encoded, const DecodeMode& mode, uint8_t* out) override {
    const auto end = std::chrono::steady_clock::now() + pause_;
    inner_->decode(encoded, mode, out);
    std::this_thread::sleep_until(end);
  }

 private:
  std::unique_ptr<DecoderSession> inner_;
  const std::chrono::duration<double> pause_;
};

class SlowDecoder final : public Decoder {
 public:
  struct Options {
    Component<Decoder> inner = default_component<Decoder>("jpeg");
    double delay_ms = 10;
    template <class V>
    void visit(V& v) {
      v("inner", inner, "the decoder that does the work");
      v("delay_ms", delay_ms, "what a sample takes at least", Limits{0, 60000});
    }
  };
  SlowDecoder(const Options& options, const Inputs& inputs)
      : inner_(options.inner.create(inputs)), seconds_(options.delay_ms / 1e3) {}

  SampleSpec spec() const override { return inner_->spec(); }
  std::unique_ptr<DecoderSession> open() const override {
    return std::make_unique<SlowSession>(inner_->open(), seconds_);
  }

 private:
  std::unique_ptr<Decoder> inner_;
  const double seconds_;
};

STOKER_REGISTER(Decoder, "slow", SlowDecoder);

}  // namespace
