#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/core/config/suggestion.h"
#include "io/core/error.h"
#include "io/core/text/text.h"
#include "io/dataset/read_sample.h"
#include "io/dataset/shards/shard_writer.h"
#include "io/dataset/shards/sharded.h"
#include "io/loader/lmdbio/database/datum.h"
#include "io/loader/lmdbio/database/lmdb_tree.h"
#include "io/loader/lmdbio/database/lmdb_writer.h"
#include "io/loader/lmdbio/database/read_parts.h"

namespace stoker {

// What the values of a database are.
enum class LmdbValues { automatic, datum, raw };
EnumNames<LmdbValues> enum_names(LmdbValues) {
  return {{"auto", LmdbValues::automatic}, {"datum", LmdbValues::datum}, {"raw", LmdbValues::raw}};
}

namespace {

// The bytes of a Datum in front of its data and behind them. They are 40 at most.
constexpr uint64_t kEnd = 64;
// A Datum in another order of its fields is read as a whole, up to this.
constexpr uint64_t kMostWhole = uint64_t{64} << 20;

// Caffe's converter numbers its keys, "00000012_cat/1.jpg", so that they keep their order.
std::string without_number(std::string_view key) {
  const size_t digits = std::min(key.find_first_not_of("0123456789"), key.size());
  const bool numbered = digits >= 8 && digits + 1 < key.size() && key[digits] == '_';
  return std::string(numbered ? key.substr(digits + 1) : key);
}

class LmdbFormat final : public ShardFormat {
 public:
  explicit LmdbFormat(LmdbValues values) : values_(values) {}

  std::string name() const override {
    const auto names = enum_names(values_);
    const auto named = std::ranges::find(names, values_, [](const auto& n) { return n.second; });
    return std::string("lmdb 3, values ") + named->first;
  }

  std::string label_rule() const override {
    return "a class is the label of a Datum (dataset.values), or else the first folder of a key";
  }

  ShardContents scan(const Storage& tier, const ObjectInfo& shard) const override {
    ShardContents contents;
    bool files = false;
    LmdbTree tree(tier, shard);
    tree.walk([&](std::span<const LmdbEntry> entries) {
      const std::vector<Ends> ends = ends_of(entries, tier, shard);
      for (size_t i = 0; i < entries.size(); ++i) {
        const LmdbEntry& entry = entries[i];
        ShardSample sample;
        const auto* const key = reinterpret_cast<const char*>(entry.key.data());
        sample.key = to_text(without_number({key, entry.key.size()}));
        sample.offset = entry.offset;
        sample.bytes = entry.bytes;
        sample.named = !class_of(sample.key).empty();
        std::optional<Datum> datum;
        if (values_ != LmdbValues::raw) {
          const DatumEnds known =
              entry.here ? DatumEnds{entry.value, {}, entry.bytes} : ends[i].known(entry.bytes);
          try {
            datum = datum_of(sample, known, tier, shard);
          } catch (const BadSample& error) {
            sample.bad = error;
          }
        }
        if (datum) sample.label = datum->label;
        if (datum || sample.bad) sample.named = false;
        if (!datum && !sample.bad && !sample.named) {
          contents.passed_over.push_back(std::move(sample.key));
          continue;
        }
        if (datum && !datum->encoded) {
          add_pixels(*datum, contents.arrays);
        } else if (!sample.bad) {
          files = true;
        }
        contents.samples.push_back(std::move(sample));
      }
    });
    if (files) contents.arrays.clear();  // of both kinds none can be said
    if (contents.samples.empty() && !contents.passed_over.empty()) {
      contents.instead = fmt::format(
          "no value of {} is a Datum (dataset.values), and no key has a folder, which would be its "
          "class; there are the keys {}",
          shard.key, some_of(contents.passed_over));
    }
    return contents;
  }

  Bytes payload(Buffer& stored) const override {
    return is_datum(stored.bytes()) ? datum_image(stored) : stored.bytes();
  }

 private:
  // The first and the last bytes of a value.
  struct Ends {
    std::array<uint8_t, kEnd> head;
    std::array<uint8_t, kEnd> tail;
    DatumEnds known(uint64_t bytes) const {
      const auto most = static_cast<size_t>(std::min(bytes, kEnd));
      return {std::span(head).first(most), std::span(tail).first(most), bytes};
    }
  };

  // The ends of those values that did not come with their pages.
  std::vector<Ends> ends_of(std::span<const LmdbEntry> entries, const Storage& tier,
                            const ObjectInfo& shard) const {
    std::vector<Ends> ends;
    if (values_ == LmdbValues::raw) return ends;
    ends.resize(entries.size());
    std::vector<Range> parts;
    std::vector<uint8_t*> to;
    for (size_t i = 0; i < entries.size(); ++i) {
      const LmdbEntry& entry = entries[i];
      if (entry.here || entry.bytes == 0) continue;
      const uint64_t bytes = std::min(entry.bytes, kEnd);
      parts.push_back({entry.offset, bytes});
      to.push_back(ends[i].head.data());
      parts.push_back({entry.offset + entry.bytes - bytes, bytes});
      to.push_back(ends[i].tail.data());
    }
    read_parts(tier, shard, parts,
               [&](size_t part, Bytes bytes) { std::ranges::copy(bytes, to[part]); });
    return ends;
  }

  // What the Datum of a sample says; nothing: its value is none.
  std::optional<Datum> datum_of(const ShardSample& sample, const DatumEnds& known,
                                const Storage& tier, const ObjectInfo& shard) const {
    if (!is_datum(known.head)) return std::nullopt;
    std::optional<Datum> datum = read_datum(known);
    if (!datum) {
      if (sample.bytes > kMostWhole) {
        throw BadSample(BadReason::too_large, "its label is not where protobuf writes it");
      }
      Buffer whole;
      tier.read(shard.key, whole, {sample.offset, sample.bytes});
      datum = read_datum(whole.bytes());
    }
    if (datum->floats) {
      throw BadSample(BadReason::unsupported, "its pixels are floats (float_data)");
    }
    return datum;
  }

  // As datum_image() gives them.
  static void add_pixels(const Datum& datum, std::vector<std::vector<StoredArray>>& arrays) {
    const std::vector<StoredArray> pixels{{"uint8", {datum.height, datum.width, 3}}};
    const bool known = std::ranges::find(arrays, pixels) != arrays.end();
    if (!known && arrays.size() < 2) arrays.push_back(pixels);
  }

  bool is_datum(Bytes begin) const {
    return values_ == LmdbValues::datum ||
           (values_ == LmdbValues::automatic && begins_as_datum(begin));
  }

  const LmdbValues values_;
};

// LMDB databases: Caffe's, and those of image files.
class Lmdb final : public Sharded, public StoredRecords {
 public:
  struct Options : ShardedOptions {
    LmdbValues values = LmdbValues::automatic;
    Options() : ShardedOptions("lmdb", "*train*/data.mdb", "*test*/data.mdb") {}
    template <class V>
    void visit(V& v) {
      ShardedOptions::visit(v);
      v("values", values,
        "What the values are. `datum`: Caffe's message, with a label. `raw`: image files, whose "
        "class is the first folder of the key. `auto`: each value is taken for what it begins "
        "like.");
    }
  };
  Lmdb(const Options& options, const Inputs& inputs)
      : Sharded(options, inputs, std::make_unique<LmdbFormat>(options.values)) {}

  const Storage& tier() const override { return tier_of_records(); }
  Range place(Split split, int64_t index) const override { return place_of_record(split, index); }
  EncodedSample unpack(Split split, int64_t index, Buffer& record) const override {
    return unpack_record(split, index, record);
  }
};

STOKER_REGISTER(Dataset, "lmdb", Lmdb);

class LmdbFormatWriter final : public ShardFormatWriter {
 public:
  struct Options {
    bool pixels = false;
    WritableInfo info() const { return {"/data.mdb", pixels}; }
    template <class V>
    void visit(V& v) {
      v("pixels", pixels,
        "Store pixels, as the experiment's decoder makes them for an evaluation, instead of image "
        "files.");
    }
  };
  LmdbFormatWriter(const Options& options, const Inputs& inputs) {
    if (!options.pixels) return;
    if (inputs.pixels.channels != 3) {
      throw Error(ExitCode::config, "lmdb: pixels are those of images: name a decoder of images");
    }
    pixels_ = inputs.pixels;
  }
  std::unique_ptr<ShardWriter> create(Storage& to, const std::string& key) const override {
    return create_lmdb(to, key, pixels_);
  }

 private:
  std::optional<SampleSpec> pixels_;
};

STOKER_REGISTER(ShardFormatWriter, "lmdb", LmdbFormatWriter);

}  // namespace
}  // namespace stoker
