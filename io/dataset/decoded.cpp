#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>
#include <numeric>
#include <utility>
#include <vector>

#include "io/core/digest.h"
#include "io/core/error.h"
#include "io/core/threads.h"
#include "io/dataset/dataset.h"
#include "io/dataset/kept_pixels.h"
#include "io/decoder/decoder.h"
#include "io/storage/cached/cache_index.h"
#include "io/storage/cached/staging.h"
#include "io/storage/storage.h"

namespace stoker {

// Which samples are kept where not all of them fit.
enum class KeepRule { first_read, most_expensive };
EnumNames<KeepRule> enum_names(KeepRule) {
  return {{"first_read", KeepRule::first_read}, {"most_expensive", KeepRule::most_expensive}};
}

namespace {

struct DecodedOptions {
  Component<Dataset> inner;
  Component<Decoder> decoder = default_component<Decoder>("auto");
  Component<Storage> in = default_component<Storage>("memory");
  ByteSize limit{uint64_t{10} << 30};
  KeepRule keep = KeepRule::first_read;
  template <class V>
  void visit(V& v) {
    v.required("inner", inner, "The data set that is decoded.");
    v("decoder", decoder,
      "The decoder that makes the pixels. It must not augment, because the pixels are kept.");
    v("in", in, same_results("The tier that keeps the pixels."));
    v("limit", limit,
      same_results("The most bytes of pixels that are kept. A sample that does not fit is decoded "
                   "each time."));
    v("keep", keep,
      same_results("Which samples are kept where not all fit. `first_read`: those that are read "
                   "first. `most_expensive`: the training samples with the most encoded bytes."));
  }
  DatasetInfo info() const {
    DatasetInfo info = inner.info();
    info.keeps_samples = true;
    return info;
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

// Raised whenever the same options come to give other pixels.
constexpr int kArithmetic = 2;

// All that the pixels are a function of, so that another size or split never finds them.
std::string prefix_of(const DecodedOptions& options, uint64_t seed) {
  return xxh3_128(fmt::format("{}\n{}\n{}\n{}", kArithmetic, to_yaml(options.inner.dump()),
                              to_yaml(options.decoder.dump()), seed)) +
         "/";
}

// Another data set's samples as pixels, for the decoder `raw`: decoded by the evaluation transform
// when they are first read, and kept. What cannot be kept, or read again, is decoded each time.
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

  void expect(Split split, std::span<const int64_t> indices) const override {
    // What a tier keeps is found while it is read.
    if (in_ != nullptr) return;
    std::vector<int64_t> missing;
    for (const int64_t index : indices) {
      if (kept_.find(number_of(split, index)).empty()) missing.push_back(index);
    }
    if (indices.empty() || !missing.empty()) inner_->expect(split, missing);
  }
  EncodedSample read(Split split, int64_t index, Buffer& scratch) const override {
    const size_t number = number_of(split, index);
    EncodedSample sample{kept_.find(number), labels_.at(number)};
    if (sample.bytes.empty()) find_or_decode(split, index, number, scratch, sample);
    return sample;
  }

 private:
  Decoded(const Options& options, const Inputs& inputs, std::unique_ptr<Dataset> inner)
      : Dataset(inner->on_error()),
        inner_(std::move(inner)),
        decoder_(options.decoder.create({})),
        sample_bytes_(decoder_->spec().bytes()),
        train_(static_cast<size_t>(inner_->size(Split::train))),
        claimed_(train_ + static_cast<size_t>(inner_->size(Split::test))),
        notify_(inputs.notify),
        in_(in_memory(options) ? nullptr : options.in.create({"decoded", inputs.notify})),
        prefix_(prefix_of(options, inputs.seed)),
        index_(options.limit.bytes),
        kept_(claimed_.size(), sample_bytes_, in_.get(), true),
        decoding_([this] {
          return DecodeScratch{decoder_->open(), {}};
        }) {
    check_arrays(*inner_, options.decoder.type(), options.decoder.info().arrays);
    leave_out(inner_->ignored());
    const SampleSpec spec = decoder_->spec();
    hold({{{"uint8", {spec.height, spec.width, spec.channels}}}, "decoded"});
    for (size_t i = 0; i < claimed_.size(); ++i) labels_.push_back(inner_info(i).label);
    const uint64_t room = options.limit.bytes / sample_bytes_;
    in_ == nullptr ? take_memory(std::min<uint64_t>(room, claimed_.size())) : look_around();
    if (options.keep == KeepRule::most_expensive && room < claimed_.size()) leave_out_cheap(room);
  }

  static bool in_memory(const Options& options) {
    return options.in.info().in_memory && !options.in.inner();
  }
  size_t number_of(Split split, int64_t index) const {
    return static_cast<size_t>(index) + (split == Split::train ? 0 : train_);
  }
  void remark(const std::string& text) const {
    if (notify_) notify_("dataset: " + text);
  }

  SampleInfo inner_info(size_t number) const {
    const bool train = number < train_;
    return inner_->info(train ? Split::train : Split::test,
                        static_cast<int64_t>(train ? number : number - train_));
  }

  void take_memory(uint64_t samples) {
    for (bool less = false; samples > 0; samples /= 2, less = true) {
      try {
        if (less) remark("not all pixels are kept: the system gives no more memory");
        return kept_.reserve(samples);
      } catch (const std::bad_alloc&) {  // fewer, then
      }
    }
  }

  // Finds what an earlier process kept.
  void look_around() {
    try {
      for (const ObjectInfo& object : list_if_there(*in_, prefix_)) {
        if (object.bytes == sample_bytes_) {
          index_.adopt(object.key, object.bytes);
        } else {
          index_.avoid(object.key);
        }
      }
    } catch (const IoError& error) {
      stop_keeping(error.what());
    }
  }

  // All but `room` samples. All take the same room, so it pays most to keep those that cost most to
  // decode. These are the training samples, which are read in every epoch, with the most bytes to
  // be entropy-decoded.
  void leave_out_cheap(uint64_t room) {
    std::vector<uint64_t> bytes(claimed_.size());
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = inner_info(i).bytes;
    std::vector<size_t> order(bytes.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, [&](size_t a, size_t b) {
      const bool test_a = a >= train_, test_b = b >= train_;
      return test_a != test_b ? test_b : bytes[a] > bytes[b];
    });
    for (size_t i = room; i < order.size(); ++i) claimed_[order[i]] = true;
  }

  void find_or_decode(Split split, int64_t index, size_t number, Buffer& scratch,
                      EncodedSample& sample) const {
    std::string key;
    // One without a usable label is a bad sample, whatever pixels an earlier process kept of it.
    if (in_ != nullptr && sample.label >= 0) {
      const SampleInfo info = inner_->info(split, index);
      // Other shards may have samples of the same name and size.
      const std::string file = info.file < 0 ? "" : fmt::format("\n{}", info.file);
      key = prefix_ + xxh3_128(fmt::format("{}\n{}{}", info.key, info.bytes, file));
      sample.bytes = from_tier(number, key, scratch);
      if (!sample.bytes.empty()) return;
    }
    decoding_.with([&](DecodeScratch& used) {
      const Bytes encoded = inner_->read(split, index, used.encoded).bytes;
      used.session->decode(encoded, {}, scratch.resize(sample_bytes_));
      sample.tolerated = used.session->tolerated();
    });
    sample.bytes = scratch.bytes();
    if (claimed_[number].exchange(true)) return;
    if (in_ != nullptr) return store(key, scratch.bytes());  // mapped when they are asked for
    const Bytes kept = kept_.keep(number, scratch.bytes());
    if (!kept.empty()) sample.bytes = kept;
  }

  // Empty: they are not there, or cannot be read.
  Bytes from_tier(size_t number, const std::string& key, Buffer& scratch) const {
    if (!index_.find(key)) return {};
    std::string why = "its size is another one";
    try {
      const Bytes pixels = kept_.read(key, 0, scratch);
      if (pixels.size() == sample_bytes_) {
        kept_.publish(number, pixels, scratch);
        return pixels;
      }
    } catch (const IoError& error) {
      why = error.what();
    }
    index_.distrust(key);
    remark(fmt::format("pixels that were kept cannot be read ({}: {})", key, why));
    return {};
  }

  void store(const std::string& key, Bytes pixels) const {
    if (!index_.claim(key)) return;
    if (!index_.reserve(key, pixels.size())) return index_.abandon(key);
    try {
      write_object(*in_, key, pixels);
      index_.publish(key);
    } catch (const Interrupted&) {
      index_.abandon(key);
      throw;
    } catch (const std::exception& error) {  // memory may be out, too
      stop_keeping(error.what());
      index_.abandon(key);
    }
  }

  // From here on all that is not kept yet is decoded each time.
  void stop_keeping(const std::string& why) const {
    if (index_.close()) remark("no more pixels are kept: " + why);
  }

  const std::unique_ptr<Dataset> inner_;
  const std::unique_ptr<Decoder> decoder_;
  const size_t sample_bytes_;
  const size_t train_;
  // By sample, those of training first.
  std::vector<int64_t> labels_;
  mutable std::vector<std::atomic<bool>> claimed_;  // it is kept, or was tried, or is not worth it
  const Notify notify_;
  const std::unique_ptr<Storage> in_;  // null: in memory
  const std::string prefix_;
  mutable CacheIndex index_;  // of in_
  mutable KeptPixels kept_;
  mutable IdlePool<DecodeScratch> decoding_;
};

STOKER_REGISTER(Dataset, "decoded", Decoded);

}  // namespace
}  // namespace stoker
