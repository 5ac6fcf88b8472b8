#include <fmt/format.h>
#include <xxhash.h>

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "io/core/error.h"
#include "io/dataset/dataset.h"
#include "io/decoder/decoder.h"
#include "io/decoder/options.h"
#include "io/storage/cache_index.h"
#include "io/storage/staging.h"
#include "io/storage/storage.h"
#include "io/storage/write_object.h"

namespace stoker {
namespace {

struct DecodedOptions {
  Component<Dataset> inner;
  Component<Decoder> decoder = default_component<Decoder>("turbojpeg");
  Component<Storage> in = default_component<Storage>("memory");
  ByteSize limit{uint64_t{10} << 30};
  template <class V>
  void visit(V& v) {
    v.required("inner", inner, "the data set that is decoded");
    v("decoder", decoder, "by what; without augmentation");
    v("in", in, "the tier that keeps the pixels");
    v("limit", limit, "bytes of pixels kept; what does not fit is decoded each time");
  }
  void check(const Section& section) const {
    const Node decoded_by = decoder.dump();
    const Node* augment = decoded_by.find("augment");
    if (augment == nullptr || to_yaml(*augment) == to_yaml(dump_struct(Augment{}))) return;
    section.fail("decoder",
                 "must not augment, for its pixels are kept over all epochs: augment in the "
                 "experiment's decoder, {type: raw, augment: ...}");
  }
};

std::string hex(const std::string& text) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

// What decoding one sample takes.
struct Workbench {
  std::unique_ptr<DecoderSession> session;
  Buffer encoded;
};

// Those that nobody uses now. Any thread.
class Workbenches {
 public:
  explicit Workbenches(const Decoder& decoder) : decoder_(decoder) {}

  Workbench take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return {decoder_.open(), {}};
    Workbench bench = std::move(idle_.back());
    idle_.pop_back();
    return bench;
  }
  void give_back(Workbench bench) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(bench));
  }

 private:
  const Decoder& decoder_;
  std::mutex mutex_;
  std::vector<Workbench> idle_;
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
    info.bytes = decoder_->spec().bytes();
    return info;
  }
  std::vector<std::string> ignored() const override { return inner_->ignored(); }

  int64_t read(Split split, int64_t index, Buffer& out) const override {
    const SampleInfo sample = inner_->info(split, index);
    const std::string name = prefix_ + hex(fmt::format("{}\n{}", sample.key, sample.bytes));
    if (index_.find(name) && read_kept(name, out)) return sample.label;
    const int64_t label = decode(split, index, out);
    keep(name, out.bytes());
    return label;
  }

 private:
  Decoded(const Options& options, const Inputs& inputs, std::unique_ptr<Dataset> inner)
      : Dataset(inner->on_error()),
        inner_(std::move(inner)),
        decoder_(options.decoder.create({})),
        notify_(inputs.notify),
        in_(options.in.create({"decoded", inputs.notify})),
        prefix_(hex(fmt::format("{}\n{}\n{}", to_yaml(options.inner.dump()),
                                to_yaml(options.decoder.dump()), inputs.seed)) +
                "/"),
        benches_(*decoder_),
        index_(options.limit.bytes) {
    look_around();
  }

  // Finds what an earlier process kept.
  void look_around() {
    try {
      for (const ObjectInfo& object : list_if_there(*in_, prefix_)) {
        if (object.bytes == decoder_->spec().bytes()) {
          index_.adopt(object.key, object.bytes);
        } else {
          index_.avoid(object.key);
        }
      }
    } catch (const IoError& error) {
      stop_keeping(error.what());
    }
  }

  // From here on all that is not kept yet is decoded each time.
  void stop_keeping(const std::string& why) const {
    if (index_.close()) remark("no more pixels are kept: " + why);
  }

  // False: decode it after all.
  bool read_kept(const std::string& name, Buffer& out) const {
    std::string why = "its size is another one";
    try {
      in_->read(name, out);
      if (out.size() == decoder_->spec().bytes()) return true;
    } catch (const IoError& error) {
      why = error.what();
    }
    index_.distrust(name);
    remark(fmt::format("pixels that were kept cannot be read ({}: {})", name, why));
    return false;
  }

  int64_t decode(Split split, int64_t index, Buffer& out) const {
    Workbench bench = benches_.take();
    const int64_t label = inner_->read(split, index, bench.encoded);
    bench.session->decode(bench.encoded.bytes(), {}, out.resize(decoder_->spec().bytes()));
    benches_.give_back(std::move(bench));
    return label;
  }

  void keep(const std::string& name, Bytes pixels) const {
    if (!index_.claim(name)) return;
    if (index_.reserve(name, pixels.size()) && store(name, pixels)) {
      index_.publish(name);
    } else {
      index_.abandon(name);
    }
  }

  bool store(const std::string& name, Bytes pixels) const {
    try {
      write_object(*in_, name, pixels);
      return true;
    } catch (const std::exception& error) {  // memory may be out, too
      stop_keeping(error.what());
      return false;
    }
  }

  void remark(const std::string& text) const {
    if (notify_) notify_("dataset: " + text);
  }

  const std::unique_ptr<Dataset> inner_;
  const std::unique_ptr<Decoder> decoder_;
  const Notify notify_;
  const std::unique_ptr<Storage> in_;
  // Of all that the pixels are a function of, so that another size or split never finds them.
  const std::string prefix_;
  mutable Workbenches benches_;
  mutable CacheIndex index_;
};

STOKER_REGISTER(Dataset, "decoded", Decoded);

}  // namespace
}  // namespace stoker
