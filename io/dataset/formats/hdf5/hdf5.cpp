#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/core/error.h"
#include "io/core/threads.h"
#include "io/dataset/formats/hdf5/chunk.h"
#include "io/dataset/formats/hdf5/hdf5_frame.h"
#include "io/dataset/formats/hdf5/layout.h"
#include "io/dataset/formats/hdf5/process.h"
#include "io/dataset/shards/shard_writer.h"
#include "io/dataset/shards/sharded.h"

namespace stoker {

EnumNames<Hdf5Form> enum_names(Hdf5Form) {
  return {{"auto", Hdf5Form::automatic},
          {"encoded", Hdf5Form::encoded},
          {"rows", Hdf5Form::rows},
          {"file", Hdf5Form::file}};
}

// How `hdf5` gets at its shards.
enum class Hdf5Access { parts, whole };
EnumNames<Hdf5Access> enum_names(Hdf5Access) {
  return {{"parts", Hdf5Access::parts}, {"whole", Hdf5Access::whole}};
}

namespace {

// Which data sets of a file are what. A value.
struct Hdf5Names {
  std::string images = "images";
  std::string offsets = "offsets";
  std::string labels = "labels";
  std::string keys = "keys";
  std::string target;
  std::string stats;
  Hdf5Form form = Hdf5Form::automatic;
  // What follows a sample's own bytes.
  std::vector<std::string> beside() const {
    std::vector<std::string> paths;
    if (!target.empty()) paths.push_back(target);
    if (!stats.empty()) paths.push_back(stats);
    return paths;
  }
};

// "a/b.h5" without what is behind its last dot.
std::string stem_of(const std::string& key) {
  const size_t dot = key.rfind('.');
  const size_t slash = key.rfind('/');
  const bool extended = dot != std::string::npos && (slash == std::string::npos || dot > slash + 1);
  return extended ? key.substr(0, dot) : key;
}

class Hdf5Format final : public ShardFormat {
 public:
  explicit Hdf5Format(Hdf5Names names)
      : names_(std::move(names)), scratch_([] { return Scratch(); }) {
    (void)hdf5_program();
  }

  std::string name() const override {
    std::string text =
        fmt::format("hdf5 2, images {}, offsets {}, labels {}, keys {}, form {}", names_.images,
                    names_.offsets, names_.labels, names_.keys, static_cast<uint64_t>(names_.form));
    if (!names_.target.empty()) text += ", target " + names_.target;
    if (!names_.stats.empty()) text += ", stats " + names_.stats;
    return text;
  }

  std::string label_rule() const override {
    if (!names_.target.empty()) return "";  // a map says the classes of its pixels
    return fmt::format(
        "a class is the number in data set '{}' (dataset.labels), or the first "
        "folder of the name in '{}' (dataset.keys) or else of the file",
        names_.labels, names_.keys);
  }

  ShardContents scan(const Storage& tier, const ObjectInfo& shard) const override {
    const auto read = [&](Range range, Buffer& out) { tier.read(shard.key, out, range); };
    const auto form = std::to_string(static_cast<uint64_t>(names_.form));
    std::vector<std::string> words{
        "scan",     std::to_string(shard.bytes), form, names_.images, names_.offsets, names_.labels,
        names_.keys};
    for (std::string& path : names_.beside()) words.push_back(std::move(path));
    const Buffer answer = run_hdf5({"shard " + shard.key, std::move(words), read, shard.bytes});
    try {
      const Hdf5Layout layout = parse_hdf5_layout(answer.bytes(), shard.bytes);
      ShardContents contents = hdf5_contents(layout, shard.bytes, stem_of(shard.key));
      contents.choice = choice_of(layout);
      for (ShardSample& sample : contents.samples) {
        if (!names_.target.empty() && !sample.label) sample.label = 0;
      }
      return contents;
    } catch (const Error& error) {
      throw Error(ExitCode::data,
                  fmt::format("dataset: shard {} is damaged: data set '{}': {}: repair it, write "
                              "it again, or take it out of the pattern",
                              shard.key, names_.images, error.what()));
    }
  }

  Bytes payload(Buffer& stored) const override { return stored.bytes(); }

  Bytes assemble(const ShardSample& sample, const ShardRead& read, Buffer& out) const override {
    uint8_t* to = out.resize(sample.bytes);
    scratch_.with([&](Scratch& scratch) {
      for (const ShardPart& part : sample.parts) {
        const Bytes stored = read({part.offset, part.bytes}, scratch.stored);
        const Bytes bytes = unpacked(part, stored, scratch);
        to = std::ranges::copy(bytes.subspan(part.begin, part.taken), to).out;
      }
    });
    return out.bytes();
  }

 private:
  // Where samples and classes are, as far as a shard itself decides it.
  std::string choice_of(const Hdf5Layout& layout) const {
    return fmt::format("{} in '{}', and {}",
                       layout.form == Hdf5Form::encoded ? "encoded files" : "arrays", names_.images,
                       layout.labels.empty()
                           ? fmt::format("no data set '{}'", names_.labels)
                           : fmt::format("classes in data set '{}'", names_.labels));
  }

  struct Scratch {
    Buffer stored;
    Buffer unpacked;
    Hdf5Unpacker unpacker;
  };

  static Bytes unpacked(const ShardPart& part, Bytes stored, Scratch& scratch) {
    const bool plain = part.packing == 0;
    if (plain ? part.unpacked != part.bytes : !hdf5_chunk_fits(part.bytes, part.unpacked)) {
      throw BadSample(BadReason::corrupt, "its chunk contradicts itself");
    }
    if (plain) return stored;
    scratch.unpacker.unpack(stored, part.packing, part.unpacked,
                            scratch.unpacked.resize(part.unpacked));
    return scratch.unpacked.bytes();
  }

  const Hdf5Names names_;
  mutable IdlePool<Scratch> scratch_;
};

// HDF5 files: encoded files in one data set, or arrays.
class Hdf5 final : public Sharded {
 public:
  struct Options : ShardedOptions, Hdf5Names {
    Hdf5Access access = Hdf5Access::parts;
    int64_t keep_shards = 2;
    Options() : ShardedOptions("hdf5", "train*.h5", "test*.h5") {}
    template <class V>
    void visit(V& v) {
      ShardedOptions::visit(v);
      v("images", images,
        "Path inside each file of the data set that holds the samples, such as climate/data.");
      v("offsets", offsets,
        "The data set that says where in it each encoded file begins, and where the last one "
        "ends.");
      v("labels", labels,
        "The data set with the number of each sample's class. If it does not exist, the first "
        "folder of the sample's key is the class. \"\": no file has such numbers, and where there "
        "are no keys, the first folder of the file's name is the class.");
      v("keys", keys,
        "The data set with the samples' names, which are strings of fixed length. If it does not "
        "exist, the samples are numbered.");
      v("target", target,
        "The data set whose part follows each sample: the class of each pixel, for the decoder "
        "`planes` with target: true. The part is a row, or with `samples: file` the whole data "
        "set. Empty: nothing follows.");
      v("stats", stats,
        "The data set whose part follows the sample and its target: numbers of each channel, for "
        "the decoder `planes` with `stats`. Empty: nothing follows.");
      v("samples", form,
        "What one sample is. `encoded`: a file such as a JPEG, stored as a part of a data set of "
        "bytes. `rows`: one element along the first axis. `file`: the whole data set of a file. "
        "`auto`: encoded where there are offsets, else rows.");
      v("access", access,
        same_results(
            "`parts`: read each sample by itself. `whole`: read a whole shard when the first of "
            "its samples is needed, which suits loader.order local_files and global_files."));
      v("keep_shards", keep_shards,
        same_results("With `access: whole`: how many shards stay in memory. Those that were used "
                     "last stay."),
        Limits{1, 1 << 20});
    }
    DatasetInfo info() const { return {storage.name, access == Hdf5Access::whole}; }
    void check(const Section& section) const {
      ShardedOptions::check(section);
      if (images.empty()) section.fail("images", "must be the path of a data set");
    }
  };
  Hdf5(const Options& options, const Inputs& inputs)
      : Sharded(
            options, inputs, std::make_unique<Hdf5Format>(options),
            options.access == Hdf5Access::whole ? static_cast<size_t>(options.keep_shards) : 0) {
    if (!options.target.empty() && classes().size() < 2) {
      throw Error(ExitCode::environment,
                  fmt::format("dataset: '{}' in tier '{}' names no classes, and the maps of "
                              "dataset.target have some: write their names there, a line each",
                              options.classes, options.storage.name));
    }
  }
};

template <class T>
Bytes bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(T)};
}

class Hdf5ShardWriter final : public ShardWriter {
 public:
  Hdf5ShardWriter(Storage& to, const std::string& key) : key_(key), object_(to.create(key)) {
    (void)hdf5_program();
  }

  void add(const SampleToWrite& sample) override {
    if (sample.key.size() > kHdf5MaxKey || sample.key.find('\0') != std::string_view::npos) {
      throw Error(ExitCode::data,
                  fmt::format("{}: sample {} has a name that HDF5 shards do not hold: at most {} "
                              "bytes, none of them 0",
                              key_, sample.key.substr(0, 100), kHdf5MaxKey));
    }
    if (labels_.size() == kHdf5MaxSamples) {
      throw Error(ExitCode::data, fmt::format("{}: sample {} is more than an HDF5 shard holds: {}",
                                              key_, sample.key, kHdf5MaxSamples));
    }
    Buffer copy;
    std::ranges::copy(sample.bytes, copy.resize(sample.bytes.size()));
    images_.push_back(std::move(copy));
    offsets_.push_back(offsets_.back() + sample.bytes.size());
    labels_.push_back(sample.label);
    keys_.emplace_back(sample.key);
  }

  void commit() override {
    size_t width = 1;
    for (const std::string& key : keys_) width = std::max(width, key.size());
    const uint64_t count = labels_.size();
    const Hdf5Frame frame(key_, {{"offsets", "u8", {count + 1}},
                                 {"labels", "i8", {count}},
                                 {"keys", fmt::format("S{}", width), {count}},
                                 {"images", "u1", {offsets_.back()}}});
    frame.write([&](Bytes bytes) { object_->append(bytes); },
                [&](size_t set) { append_values(set, width); });
    object_->commit();
  }

 private:
  // Appends the values of the data set with that number in commit().
  void append_values(size_t set, size_t width) {
    switch (set) {
      case 0:
        return object_->append(bytes_of(offsets_));
      case 1:
        return object_->append(bytes_of(labels_));
      case 2:
        for (const std::string& key : keys_) {
          std::vector<char> padded(key.begin(), key.end());
          padded.resize(width, '\0');
          object_->append(bytes_of(padded));
        }
        return;
      default:
        for (const Buffer& image : images_) object_->append(image.bytes());
    }
  }

  const std::string key_;
  std::vector<Buffer> images_;
  std::vector<uint64_t> offsets_{0};
  std::vector<int64_t> labels_;
  std::vector<std::string> keys_;
  const std::unique_ptr<ObjectWriter> object_;
};

// Writes encoded samples as an HDF5 file of four data sets: `images`, all samples one after
// another; `offsets`, where each begins, and the end; `labels`; `keys`, padded by zeros. The
// samples of one object stay in memory until its commit. Fails as ShardFormatWriter, and where
// stoker_hdf5 is not installed (io/dataset/formats/hdf5/process.h).
class Hdf5Writer final : public ShardFormatWriter {
 public:
  struct Options {
    template <class V>
    void visit(V& /*v*/) {}
    WritableInfo info() const { return {".h5"}; }
  };
  Hdf5Writer(const Options& /*options*/, const Inputs& /*inputs*/) {}
  std::unique_ptr<ShardWriter> create(Storage& to, const std::string& key) const override;
};

std::unique_ptr<ShardWriter> Hdf5Writer::create(Storage& to, const std::string& key) const {
  return std::make_unique<Hdf5ShardWriter>(to, key);
}

STOKER_REGISTER(Dataset, "hdf5", Hdf5);
STOKER_REGISTER(ShardFormatWriter, "hdf5", Hdf5Writer);

}  // namespace
}  // namespace stoker
