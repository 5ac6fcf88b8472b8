// A loader without threads, shuffling or any of the options that stoker's own have.
#include <algorithm>

#include "io/loader/loader.h"

namespace {

using namespace stoker;

class OneByOne final : public Loader {
 public:
  struct Options {
    int64_t samples = 8;
    template <class V>
    void visit(V& v) {
      v("samples", samples, "of a batch", Limits{1, 1024});
    }
    LoaderInfo info() const { return {.batch_size = samples, .drop_last = false}; }
  };

  OneByOne(Options options, const Inputs& inputs)
      : in_(inputs),
        samples_(options.samples),
        size_(in_.dataset.size(in_.split)),
        session_(in_.decoder.open()) {}

  int64_t batches() const override { return (size_ + samples_ - 1) / samples_; }
  void start(int64_t epoch, int64_t first_batch) override {
    epoch_ = epoch;
    next_ = first_batch;
  }
  std::optional<Batch> next() override {
    if (next_ >= batches()) return std::nullopt;
    Batch batch;
    batch.epoch = epoch_;
    batch.index = next_++;
    const int64_t first = batch.index * samples_;
    batch.size = std::min(samples_, size_ - first);
    const size_t bytes = in_.decoder.spec().bytes();
    batch.pixels = in_.allocate(static_cast<size_t>(batch.size) * bytes).data;
    batch.labels = std::make_shared<std::vector<int64_t>>();
    for (int64_t i = 0; i < batch.size; ++i) {
      const EncodedSample sample = in_.dataset.read(in_.split, first + i, encoded_);
      session_->decode(sample.bytes, {}, batch.pixels.get() + static_cast<size_t>(i) * bytes);
      batch.labels->push_back(sample.label);
    }
    return batch;
  }

 private:
  const Inputs in_;
  const int64_t samples_;
  const int64_t size_;
  const std::unique_ptr<DecoderSession> session_;
  Buffer encoded_;
  int64_t epoch_ = 0;
  int64_t next_ = 0;
};

STOKER_REGISTER(Loader, "one_by_one", OneByOne);

}  // namespace
