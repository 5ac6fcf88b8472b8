#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include "io/core/digest.h"
#include "io/core/error.h"
#include "io/dataset/dataset.h"
#include "io/dataset/pixel_store.h"
#include "io/decoder/decoder.h"

namespace stoker {

// Which samples are kept where not all of them fit.
enum class KeepRule { first_read, most_expensive };
EnumNames<KeepRule> enum_names(KeepRule) {
  return {{"first_read", KeepRule::first_read}, {"most_expensive", KeepRule::most_expensive}};
}

namespace {

struct DecodedOptions {
  Component<Dataset> inner;
  Component<Decoder> decoder = default_component<Decoder>("jpeg");
  Component<Storage> in = default_component<Storage>("memory");
  ByteSize limit{uint64_t{10} << 30};
  KeepRule keep = KeepRule::first_read;
  template <class V>
  void visit(V& v) {
    v.required("inner", inner, "the data set that is decoded");
    v("decoder", decoder, "the decoder that makes the pixels; without augmentation");
    v("in", in, same_results("the tier that keeps the pixels"));
    v("limit", limit, same_results("bytes of pixels kept; what does not fit is decoded each time"));
    v("keep", keep,
      same_results("what is kept where not all fit: first_read; most_expensive: the training "
                   "samples with most encoded bytes"));
  }
  void check(const Section& section) const {
    const DecoderInfo info = decoder.info();
    if (info.frames) {
      section.fail("decoder", "must decode here, on_device: nothing, for its pixels are kept");
    }
    if (info.output != PixelType::uint8) {
      section.fail(
          "decoder",
          "must give uint8, for its pixels are kept as such: normalise in the experiment's "
          "decoder, {type: raw, output: float32}");
    }
    if (info.augments) {
      section.fail("decoder",
                   "must not augment, for its pixels are kept over all epochs: augment in the "
                   "experiment's decoder, {type: raw, augment: ...}");
    }
  }
};

// What decoding one sample takes.
struct DecodeScratch {
  std::unique_ptr<DecoderSession> session;
  Buffer encoded;
};

// Those that nobody uses now. Any thread.
class DecodeScratchPool {
 public:
  explicit DecodeScratchPool(const Decoder& decoder) : decoder_(decoder) {}

  DecodeScratch take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return {decoder_.open(), {}};
    DecodeScratch scratch = std::move(idle_.back());
    idle_.pop_back();
    return scratch;
  }
  void give_back(DecodeScratch scratch) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(scratch));
  }

 private:
  const Decoder& decoder_;
  std::mutex mutex_;
  std::vector<DecodeScratch> idle_;
};

// Raised whenever the same options come to give other pixels.
constexpr int kArithmetic = 2;

// All that the pixels are a function of, so that another size or split never finds them.
std::string prefix_of(const DecodedOptions& options, uint64_t seed) {
  return xxh3_128(fmt::format("{}\n{}\n{}\n{}", kArithmetic, to_yaml(options.inner.dump()),
                              to_yaml(options.decoder.dump()), seed)) +
         "/";
}

std::unique_ptr<PixelStore> make_store(const DecodedOptions& options, const Dataset::Inputs& inputs,
                                       size_t sample_bytes) {
  const Notify remark = [notify = inputs.notify](const std::string& text) {
    if (notify) notify("dataset: " + text);
  };
  if (options.in.info().in_memory && !options.in.inner()) {
    return make_pixel_slab(sample_bytes, options.limit.bytes, remark);
  }
  return make_pixel_tier(options.in.create({"decoded", inputs.notify}),
                         prefix_of(options, inputs.seed), sample_bytes, options.limit.bytes,
                         remark);
}

// What is known of a sample without a look at it; `pixels` once they are in memory for good.
struct Place {
  std::atomic<const uint8_t*> pixels{nullptr};
  std::atomic<bool> claimed{false};  // somebody keeps it, or tried; or it is not worth its place
  int64_t label = 0;
};

// Another data set's samples as pixels, for the decoder `raw`: decoded by the evaluation transform
// when they are first read, and kept.
class Decoded final : public Dataset {
 public:
  using Options = DecodedOptions;
  Decoded(const Options& options, const Inputs& inputs)
      : Decoded(options, inputs, options.inner.create(inputs)) {}

  const std::vector<std::string>& classes() const override { return inner_->classes(); }
  int64_t size(Split split) const override { return inner_->size(split); }
  SampleInfo info(Split split, int64_t index) const override {
    SampleInfo info = inner_->info(split, index);
    info.bytes = sample_bytes_;
    return info;
  }
  std::vector<std::string> ignored() const override { return inner_->ignored(); }

  EncodedSample read(Split split, int64_t index, Buffer& scratch) const override {
    Place& place = places_.at(number_of(split, index));
    const uint8_t* pixels = place.pixels.load(std::memory_order_acquire);
    if (pixels != nullptr) return {{pixels, sample_bytes_}, place.label};
    return {find_or_decode(split, index, place, scratch), place.label};
  }

 private:
  Decoded(const Options& options, const Inputs& inputs, std::unique_ptr<Dataset> inner)
      : Dataset(inner->on_error()),
        inner_(std::move(inner)),
        decoder_(options.decoder.create({})),
        sample_bytes_(decoder_->spec().bytes()),
        train_(static_cast<size_t>(inner_->size(Split::train))),
        places_(train_ + static_cast<size_t>(inner_->size(Split::test))),
        store_(make_store(options, inputs, sample_bytes_)),
        decoding_(*decoder_) {
    for (size_t i = 0; i < places_.size(); ++i) places_[i].label = inner_info(i).label;
    const uint64_t room = options.limit.bytes / sample_bytes_;
    if (options.keep == KeepRule::most_expensive && room < places_.size()) leave_out_cheap(room);
  }

  size_t number_of(Split split, int64_t index) const {
    return static_cast<size_t>(index) + (split == Split::train ? 0 : train_);
  }
  SampleInfo inner_info(size_t number) const {
    const bool train = number < train_;
    return inner_->info(train ? Split::train : Split::test,
                        static_cast<int64_t>(train ? number : number - train_));
  }

  // All but `room` samples. All take the same place, so those that save most are those that cost
  // most: of training, which are read in every epoch, those with most bytes to be entropy-decoded.
  void leave_out_cheap(uint64_t room) {
    std::vector<uint64_t> bytes(places_.size());
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = inner_info(i).bytes;
    std::vector<size_t> order(bytes.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, [&](size_t a, size_t b) {
      const bool test_a = a >= train_, test_b = b >= train_;
      return test_a != test_b ? test_b : bytes[a] > bytes[b];
    });
    for (size_t i = room; i < order.size(); ++i) places_[order[i]].claimed = true;
  }

  Bytes find_or_decode(Split split, int64_t index, Place& place, Buffer& scratch) const {
    const SampleInfo sample = inner_->info(split, index);
    const std::string name = xxh3_128(fmt::format("{}\n{}", sample.key, sample.bytes));
    KeptPixels kept = store_->find(name, scratch);
    if (kept.bytes.empty()) {
      decode(split, index, scratch);
      if (!place.claimed.exchange(true)) kept = store_->keep(name, scratch.bytes());
    }
    if (kept.lasts) place.pixels.store(kept.bytes.data(), std::memory_order_release);
    return kept.bytes.empty() ? scratch.bytes() : kept.bytes;
  }

  void decode(Split split, int64_t index, Buffer& out) const {
    DecodeScratch used = decoding_.take();
    const Bytes encoded = inner_->read(split, index, used.encoded).bytes;
    used.session->decode(encoded, {}, out.resize(sample_bytes_));
    decoding_.give_back(std::move(used));
  }

  const std::unique_ptr<Dataset> inner_;
  const std::unique_ptr<Decoder> decoder_;
  const size_t sample_bytes_;
  const size_t train_;
  mutable std::vector<Place> places_;  // of training, then of testing
  const std::unique_ptr<PixelStore> store_;
  mutable DecodeScratchPool decoding_;
};

STOKER_REGISTER(Dataset, "decoded", Decoded);

}  // namespace
}  // namespace stoker
