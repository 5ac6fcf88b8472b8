#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "io/core/config/suggestion.h"
#include "io/core/error.h"
#include "io/dataset/dataset.h"
#include "io/dataset/kept_pixels.h"
#include "io/dataset/shards/tier_reads.h"
#include "io/dataset/signed_index.h"
#include "io/storage/keys.h"

namespace stoker {

// How `packed` gets at its shards.
enum class PackedAccess { automatic, copy, whole };
EnumNames<PackedAccess> enum_names(PackedAccess) {
  return {{"auto", PackedAccess::automatic},
          {"copy", PackedAccess::copy},
          {"whole", PackedAccess::whole}};
}

namespace {

// Pixels that `stoker dataset convert` wrote, for the decoder `raw`.
class Packed final : public Dataset {
 public:
  struct Options {
    TierName storage;
    KeyPath folder;
    PackedAccess access = PackedAccess::automatic;
    int64_t keep_shards = 2;
    OnError on_error;
    template <class V>
    void visit(V& v) {
      v.required("storage", storage,
                 same_results("The tier that holds packed.json and the shards."));
      v("folder", folder, "The folder of that tier that holds them. Empty: its root does.");
      v("access", access,
        same_results("`auto`: map the shards where the tier has files that can be mapped, else "
                     "`copy`. `copy`: read each sample, also where another program may shorten the "
                     "files meanwhile. `whole`: read a whole shard when the first of its samples "
                     "is needed, which suits loader.order local_files and global_files."));
      v("keep_shards", keep_shards,
        same_results("With `access: whole`: how many shards stay in memory. Those that were used "
                     "last stay."),
        Limits{1, 1 << 20});
      v("on_error", on_error, "What to do with bad samples.");
    }
    DatasetInfo info() const { return {storage.name, access == PackedAccess::whole}; }
  };

  Packed(const Options& options, const Inputs& inputs)
      : Dataset(options.on_error),
        tier_(inputs.tiers.at(options.storage.name)),
        prefix_(options.folder.value.empty() ? "" : options.folder.value + "/"),
        index_(read_index(options.storage.name)),
        starts_(starts_of(index_)),
        sample_bytes_(index_.sample_bytes()),
        pixels_(index_.samples(), sample_bytes_, &tier_,
                options.access == PackedAccess::automatic) {
    if (options.access == PackedAccess::whole) {
      whole_ = std::make_unique<WholeFiles>(tier_, static_cast<size_t>(options.keep_shards));
    }
    check_shards();
    hold({{{"uint8", {index_.height, index_.width, index_.channels}}}, prefix_ + kPackedIndex});
  }

  const std::vector<std::string>& classes() const override { return index_.classes; }
  int64_t size(Split split) const override { return std::ssize(of(split).keys); }
  SampleInfo info(Split split, int64_t index) const override {
    const auto i = static_cast<size_t>(index);
    const size_t shard = shard_of(number(split, index));
    return {of(split).keys.at(i), of(split).labels.at(i), sample_bytes_,
            static_cast<int64_t>(shard), prefix_ + index_.shards[shard]};
  }

  EncodedSample read(Split split, int64_t index, Buffer& scratch) const override {
    const auto i = static_cast<size_t>(index);
    const PackedSamples& samples = of(split);
    const int64_t label = samples.labels.at(i);
    const uint64_t number = this->number(split, index);
    if (const Bytes kept = pixels_.find(number); !kept.empty()) return {kept, label};
    const size_t at = shard_of(number);
    const std::string shard = prefix_ + index_.shards[at];
    const uint64_t offset = (number - starts_[at]) * sample_bytes_;
    const Bytes pixels = whole_ ? copy_of(*whole_->get(shard), offset, scratch)
                                : pixels_.read(shard, offset, scratch);
    check(pixels, samples.xxh3[i], shard);
    pixels_.publish(number, pixels, scratch);
    return {pixels, label};
  }

 private:
  const PackedSamples& of(Split split) const {
    return split == Split::train ? index_.train : index_.test;
  }

  // The number of a sample among those of both splits, in the order in which they lie in the
  // shards.
  uint64_t number(Split split, int64_t index) const {
    return static_cast<uint64_t>(index) + (split == Split::train ? 0 : index_.train.keys.size());
  }

  size_t shard_of(uint64_t number) const {
    // The last one that begins there or before, for a shard may have no samples.
    return static_cast<size_t>(std::ranges::upper_bound(starts_, number) - starts_.begin()) - 1;
  }

  static std::vector<uint64_t> starts_of(const PackedIndex& index) {
    std::vector<uint64_t> starts;
    uint64_t next = 0;
    for (const uint64_t samples : index.shard_samples) {
      starts.push_back(next);
      next += samples;
    }
    return starts;
  }

  // A sample's bytes from `offset` of a shard; fewer where it ends.
  Bytes copy_of(const Buffer& shard, uint64_t offset, Buffer& scratch) const {
    const Bytes rest = shard.bytes().subspan(std::min<uint64_t>(offset, shard.size()));
    const Bytes pixels = rest.first(std::min(sample_bytes_, rest.size()));
    std::ranges::copy(pixels, scratch.resize(pixels.size()));
    return scratch.bytes();
  }

  PackedIndex read_index(const std::string& tier) const {
    Buffer text;
    const std::string key = prefix_ + kPackedIndex;
    try {
      tier_.read(key, text);
    } catch (const IoError& error) {
      if (error.errno_value() != ENOENT) throw;
      throw Error(ExitCode::environment, fmt::format("dataset: there is no {} in tier '{}'{}", key,
                                                     tier, instead(key, tier)));
    }
    return parse_packed(text.bytes(), key);
  }

  // What is there in the place of the index, and what to do.
  std::string instead(const std::string& key, const std::string& tier) const {
    constexpr size_t kMostCompared = 2'000;
    std::vector<std::string> names;
    for (const ObjectInfo& object : tier_.list("")) {
      const size_t slash = object.key.rfind('/');
      if (object.key.substr(slash + 1) == kPackedIndex) {
        const std::string folder = slash == object.key.npos ? "''" : object.key.substr(0, slash);
        return fmt::format("; there is '{}': set dataset.folder={}", object.key, folder);
      }
      if (names.size() < kMostCompared) names.push_back(object.key);
    }
    return fmt::format(
        "{}: write it by `stoker dataset convert CONFIG DIRECTORY --format packed`, which makes it "
        "last and prints the decoder, and set storage.{}.root=DIRECTORY",
        what_is_there(key, std::move(names)), tier);
  }

  // Their sizes; their contents are checked sample by sample.
  void check_shards() const {
    std::map<std::string, uint64_t> found;
    for (const ObjectInfo& object : tier_.list(prefix_)) found[object.key] = object.bytes;
    for (size_t i = 0; i < index_.shards.size(); ++i) {
      const std::string key = prefix_ + index_.shards[i];
      const auto at = found.find(key);
      if (at != found.end() && at->second == index_.shard_bytes(i)) continue;
      const std::string is =
          at == found.end() ? "is missing" : fmt::format("has {} bytes", at->second);
      throw Error(ExitCode::data,
                  fmt::format("dataset: shard {} {}, where {} bytes are expected: write the data "
                              "set again with `stoker dataset convert`",
                              key, is, index_.shard_bytes(i)));
    }
  }

  void check(Bytes pixels, uint64_t checksum, const std::string& shard) const {
    if (pixels.size() != sample_bytes_) {
      throw BadSample(BadReason::truncated, fmt::format("shard {} was cut short", shard));
    }
    if (packed_checksum(pixels) != checksum) {
      throw BadSample(BadReason::corrupt,
                      fmt::format("its pixels in shard {} are not those that were written "
                                  "(checksum)",
                                  shard));
    }
  }

  Storage& tier_;
  const std::string prefix_;
  const PackedIndex index_;
  const std::vector<uint64_t> starts_;  // of the shards, in samples
  const size_t sample_bytes_;
  mutable KeptPixels pixels_;          // parts of the shards
  std::unique_ptr<WholeFiles> whole_;  // null: they are not read so
};

STOKER_REGISTER(Dataset, "packed", Packed);

}  // namespace
}  // namespace stoker
