#include "app/data/pack.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "app/base/progress_line.h"
#include "app/base/result_table.h"
#include "app/data/fetch.h"
#include "app/experiment/data.h"
#include "io/core/error.h"
#include "io/core/parallel.h"
#include "io/core/random.h"
#include "io/dataset/packed_index.h"
#include "io/storage/cached/staging.h"

namespace stoker {
namespace {

// Samples that are decoded at once, in all threads together.
constexpr size_t kBlock = 256;

// The shards that are being written. Removed again by the destructor, unless kept.
class ShardWriter {
 public:
  ShardWriter(Storage& to, const std::string& prefix, PackedIndex& index)
      : to_(to), prefix_(prefix), index_(index) {}
  ShardWriter(const ShardWriter&) = delete;
  ShardWriter& operator=(const ShardWriter&) = delete;
  ~ShardWriter() {
    writer_.reset();
    if (kept_) return;
    for (const std::string& name : index_.shards) {
      try {
        to_.remove(prefix_ + name);
      } catch (
          const IoError&) {  // without an index it is no data set, and is overwritten next time
      }
    }
  }

  void append(Bytes pixels) {
    if (!writer_) {
      index_.shards.push_back(fmt::format("shard-{:05}.pixels", index_.shards.size()));
      writer_ = to_.create(prefix_ + index_.shards.back());
    }
    writer_->append(pixels);
    if (++samples_ == index_.samples_per_shard) finish();
  }
  void finish() {
    if (writer_) writer_->commit();
    writer_.reset();
    samples_ = 0;
  }
  void keep() { kept_ = true; }

 private:
  Storage& to_;
  const std::string prefix_;
  PackedIndex& index_;
  std::unique_ptr<ObjectWriter> writer_;
  uint64_t samples_ = 0;
  bool kept_ = false;
};

// A sample of a block.
struct Slot {
  Buffer scratch;
  Buffer pixels;
  uint64_t checksum = 0;
  std::optional<BadSample> bad;
  std::string tolerated;
};

class Packing {
 public:
  Packing(const Dataset& dataset, const Decoder& decoder, Storage& to, const std::string& prefix,
          const PackOptions& options)
      : dataset_(dataset),
        to_(to),
        prefix_(prefix),
        shuffle_(options.shuffle),
        shards_(to, prefix, index_),
        slots_(kBlock) {
    const SampleSpec spec = decoder.spec();
    index_.height = spec.height;
    index_.width = spec.width;
    index_.channels = spec.channels;
    index_.source = options.source;
    index_.classes = dataset.classes();
    index_.samples_per_shard = std::max<uint64_t>(1, options.shard_bytes / spec.bytes());
    for (int64_t i = 0; i < options.threads; ++i) sessions_.push_back(decoder.open());
  }

  void add(Split split, const std::function<void(int64_t, int64_t)>& progress) {
    const int64_t all = dataset_.size(Split::train) + dataset_.size(Split::test);
    const std::vector<int64_t> order = order_of(split);
    for (std::span<const int64_t> left = order; !left.empty();) {
      const auto block = left.first(std::min(left.size(), kBlock));
      left = left.subspan(block.size());
      decode(split, block);
      for (size_t i = 0; i < block.size(); ++i) append(split, block[i], slots_[i]);
      if (progress) progress(result_.samples + result_.left_out, all);
    }
  }

  PackResult finish() {
    if (index_.train.keys.empty()) {
      throw Error(ExitCode::data, "dataset pack: no training sample could be decoded");
    }
    shards_.finish();
    const std::string text = packed_json(index_);
    write_object(to_, prefix_ + kPackedIndex,
                 {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
    shards_.keep();
    result_.shards = std::ssize(index_.shards);
    result_.bytes = index_.samples() * index_.sample_bytes();
    return result_;
  }

 private:
  std::vector<int64_t> order_of(Split split) const {
    std::vector<int64_t> order(static_cast<size_t>(dataset_.size(split)));
    std::iota(order.begin(), order.end(), 0);
    if (shuffle_ && split == Split::train) {
      Random random(*shuffle_);
      shuffle(order, random);
    }
    return order;
  }

  void decode(Split split, std::span<const int64_t> samples) {
    const int64_t threads = std::ssize(sessions_);
    parallel_for(threads, threads, [&](int64_t thread) {
      DecoderSession& session = *sessions_[static_cast<size_t>(thread)];
      for (auto i = static_cast<size_t>(thread); i < samples.size();
           i += static_cast<size_t>(threads)) {
        decode(split, samples[i], session, slots_[i]);
      }
    });
  }

  void decode(Split split, int64_t index, DecoderSession& session, Slot& slot) const {
    slot.bad.reset();
    try {
      const EncodedSample sample = dataset_.read(split, index, slot.scratch);
      session.decode(sample.bytes, {}, slot.pixels.resize(index_.sample_bytes()));
      slot.tolerated = sample.tolerated.empty() ? session.tolerated() : sample.tolerated;
      slot.checksum = packed_checksum(slot.pixels.bytes());
    } catch (const BadSample& bad) {
      slot.bad = bad;
    }
  }

  void append(Split split, int64_t index, const Slot& slot) {
    const SampleInfo info = dataset_.info(split, index);
    if (slot.bad) return leave_out(info.key, *slot.bad);
    PackedSamples& samples = split == Split::train ? index_.train : index_.test;
    shards_.append(slot.pixels.bytes());
    samples.keys.push_back(info.key);
    samples.labels.push_back(info.label);
    samples.xxh3.push_back(slot.checksum);
    if (!slot.tolerated.empty()) result_.tolerated.push_back({info.key, slot.tolerated});
    ++result_.samples;
  }

  void leave_out(const std::string& key, const BadSample& bad) {
    const OnError& on_error = dataset_.on_error();
    const bool skip = on_error.policy == ErrorPolicy::skip;
    if (skip && ++result_.left_out <= on_error.budget.of(dataset_.size(Split::train))) return;
    throw Error(ExitCode::data,
                fmt::format("dataset: {}: {}: {} ({})", key, to_string(bad.reason()), bad.what(),
                            skip ? "more bad samples than dataset.on_error.budget allows"
                                 : "repair or remove the file, or set "
                                   "dataset.on_error={policy: skip}"));
  }

  const Dataset& dataset_;
  Storage& to_;
  const std::string prefix_;
  const std::optional<uint64_t> shuffle_;
  PackedIndex index_;
  ShardWriter shards_;
  std::vector<std::unique_ptr<DecoderSession>> sessions_;
  std::vector<Slot> slots_;
  PackResult result_;
};

// The tier that is written: a directory, or one of the experiment's.
struct Target {
  std::unique_ptr<Storage> directory;
  Storage* tier = nullptr;
  std::string folder;
};

Target find_target(const PackArguments& arguments, const Tiers& tiers) {
  Target target;
  if (!arguments.tier.empty()) {
    target.tier = &tiers.at(arguments.tier);
    target.folder = arguments.to;
    return target;
  }
  if (arguments.to.empty()) {
    throw Error(ExitCode::config, "dataset pack: name a directory by --to, or a tier by --tier");
  }
  target.directory = open_directory(arguments.to);
  target.tier = target.directory.get();
  return target;
}

// How an experiment reads what was written.
std::string usage(const PackArguments& arguments, const SampleSpec& spec) {
  const std::string tier =
      arguments.tier.empty()
          ? fmt::format("storage: {{packed: {{type: posix, root: {}}}}}\n", arguments.to)
          : "";
  const std::string folder =
      arguments.tier.empty() || arguments.to.empty() ? "" : ", folder: " + arguments.to;
  return fmt::format(
      "{}dataset: {{type: packed, storage: {}{}}}\n"
      "decoder: {{type: raw, height: {}, width: {}, size: {}}}\n",
      tier, arguments.tier.empty() ? "packed" : arguments.tier, folder, spec.height, spec.width,
      spec.width);
}

}  // namespace

PackResult pack_dataset(const Dataset& dataset, const Decoder& decoder, Storage& to,
                        const PackOptions& options,
                        const std::function<void(int64_t, int64_t)>& progress) {
  const std::string prefix = options.folder.empty() || options.folder.ends_with('/')
                                 ? options.folder
                                 : options.folder + "/";
  for (const ObjectInfo& object : list_if_there(to, prefix)) {
    if (object.key != prefix + kPackedIndex) continue;
    throw Error(ExitCode::environment, "dataset pack: there is a " + object.key +
                                           " already: remove it, or name another folder");
  }
  Packing packing(dataset, decoder, to, prefix, options);
  packing.add(Split::train, progress);
  packing.add(Split::test, progress);
  return packing.finish();
}

ExitCode pack_experiment(const PackArguments& arguments) {
  const ExperimentOptions options = read_experiment(arguments.config, arguments.overrides);
  const ExperimentData data(options, print_remark);
  const Target target = find_target(arguments, data.tiers());
  PackOptions pack;
  pack.folder = target.folder;
  pack.shard_bytes = arguments.shard_size.bytes;
  pack.threads = Workers{}.resolve();
  if (arguments.shuffle) pack.shuffle = options.run.seed;
  pack.source = fmt::format("dataset: {}decoder: {}seed: {}\n{}", to_yaml(options.dataset.dump()),
                            to_yaml(options.decoder.dump()), options.run.seed,
                            arguments.shuffle ? "shuffled: true\n" : "");
  const PackResult result =
      pack_dataset(data.dataset(), data.decoder(), *target.tier, pack, progress_of("samples"));
  nlohmann::json tolerated = nlohmann::json::array();
  for (const ToleratedSample& sample : result.tolerated) {
    tolerated.push_back({{"key", sample.key}, {"message", sample.message}});
  }
  return print_result(
      arguments.json,
      {{"samples", result.samples},
       {"left_out", result.left_out},
       {"tolerated", tolerated},
       {"shards", result.shards},
       {"bytes", result.bytes}},
      fmt::format("{} samples, {} of them damaged, {} bad ones left out, {} shards, {} bytes. To "
                  "train on them:\n\n{}",
                  result.samples, result.tolerated.size(), result.left_out, result.shards,
                  result.bytes, usage(arguments, data.decoder().spec())));
}

}  // namespace stoker
