#include "io/dataset/shards/sharded.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <map>
#include <set>

#include "io/core/error.h"
#include "io/core/parallel.h"
#include "io/core/random.h"
#include "io/core/system/usable_cores.h"
#include "io/dataset/class_names.h"

namespace stoker {
namespace {

// How much may lie between two samples that are read by one read: headers and labels, or another
// sample.
uint64_t gap_before(uint64_t sample_bytes) {
  return std::clamp(sample_bytes, uint64_t{4} << 10, uint64_t{64} << 10);
}

// Shares are written as decimals: 0.8 + 0.1 of ten shards are nine.
constexpr double kRounding = 1e-9;

size_t share_of(double share, size_t count) {
  return std::min(count, static_cast<size_t>(share * static_cast<double>(count) + kRounding));
}

[[noreturn]] void fail_short(const std::string& shard) {
  throw BadSample(BadReason::truncated, fmt::format("shard {} was cut short", shard));
}

// The bytes of a range in a whole shard.
Bytes part_of(Bytes all, const std::string& shard, Range range) {
  if (range.offset > all.size() || range.length > all.size() - range.offset) fail_short(shard);
  return all.subspan(range.offset, range.length);
}

// The class that a key names: its first folder; empty: none.
std::string class_of(const std::string& key) {
  const size_t slash = key.find('/');
  return slash == std::string::npos ? "" : key.substr(0, slash);
}

}  // namespace

void ShardedOptions::check(const Section& section) const {
  if (train.empty()) section.fail("train", "must be a pattern of shards such as train-*");
  if (split && (split->train <= 0 || split->train + split->test > 1 + kRounding)) {
    section.fail("split", "must train on some shards, and not on those that test");
  }
}

Sharded::Sharded(const ShardedOptions& options, const Inputs& inputs,
                 std::unique_ptr<const ShardFormat> format, size_t keep_whole)
    : Dataset(options.on_error),
      tier_(inputs.tiers.at(options.storage.name)),
      format_(std::move(format)),
      max_bytes_(options.max_sample_bytes.bytes),
      block_(options.block.bytes),
      whole_(keep_whole == 0 ? nullptr : std::make_unique<WholeFiles>(tier_, keep_whole)),
      ahead_(tier_, options.readers, options.read_ahead.bytes) {
  scan_all(options, inputs.notify);
  if (train_.empty()) fail_empty(options);
  name_classes(options.classes);
}

void Sharded::fail_empty(const ShardedOptions& options) const {
  const std::string& tier = options.storage.name;
  throw Error(
      ExitCode::environment,
      shards_.empty()
          ? fmt::format("dataset: no object fits '{}' in tier '{}': set dataset.train to a pattern "
                        "of shards that are there, or write some by `stoker dataset convert CONFIG "
                        "DIRECTORY --format {}` and set storage.{}.root=DIRECTORY",
                        options.train, tier, options.format, tier)
          : fmt::format("dataset: there are no samples in '{}' in tier '{}': set dataset.train to "
                        "a pattern of shards that have samples",
                        options.train, tier));
}

std::vector<ObjectInfo> Sharded::find(const std::string& pattern) const {
  std::vector<ObjectInfo> shards;
  const std::string prefix = pattern.substr(0, pattern.find_first_of("*?[\\"));
  for (const ObjectInfo& object : tier_.list(prefix)) {
    if (object.key.ends_with(".index.json")) continue;
    if (::fnmatch(pattern.c_str(), object.key.c_str(), FNM_PATHNAME | FNM_PERIOD) != 0) continue;
    shards.push_back(object);
  }
  return shards;
}

void Sharded::scan_all(const ShardedOptions& options, const Notify& notify) {
  std::vector<ObjectInfo> train = find(options.train), test;
  if (options.split) {
    Random random(options.split->seed);
    shuffle(train, random);
    const size_t trains = share_of(options.split->train, train.size());
    const size_t tests = share_of(options.split->train + options.split->test, train.size());
    test.assign(train.begin() + static_cast<std::ptrdiff_t>(trains),
                train.begin() + static_cast<std::ptrdiff_t>(tests));
    train.resize(trains);
  } else {
    test = find(options.test);
  }
  train_ = scan(train, notify);
  test_ = scan(test, notify);
}

std::vector<Sharded::Sample> Sharded::scan(const std::vector<ObjectInfo>& shards,
                                           const Notify& notify) {
  std::vector<std::vector<ShardSample>> found(shards.size());
  parallel_for(usable_cores(), std::ssize(shards), [&](int64_t i) {
    const auto at = static_cast<size_t>(i);
    found[at] = shard_samples(tier_, shards[at], *format_, notify);
  });
  std::vector<Sample> samples;
  for (size_t i = 0; i < shards.size(); ++i) {
    for (ShardSample& sample : found[i]) samples.push_back({std::move(sample), shards_.size()});
    shards_.push_back(shards[i].key);
  }
  return samples;
}

void Sharded::name_classes(const std::string& key) {
  classes_ = read_class_names(tier_, key);
  const bool named = !classes_.empty();
  std::set<std::string> said;
  int64_t highest = -1;
  for (const auto* const samples : {&train_, &test_}) {
    for (const Sample& sample : *samples) {
      if (sample.label < 0) {
        said.insert(class_of(sample.key));
      } else if (sample.bad.empty()) {
        highest = std::max(highest, sample.label);
      }
    }
  }
  if (!named && highest < 0) classes_.assign(said.begin(), said.end());
  for (int64_t i = std::ssize(classes_); !named && i <= std::min(highest, kMaxClasses); ++i) {
    classes_.push_back(std::to_string(i));
  }
  std::map<std::string, int64_t> labels;
  for (size_t i = 0; i < classes_.size(); ++i) labels[classes_[i]] = static_cast<int64_t>(i);
  for (auto* const samples : {&train_, &test_}) {
    for (Sample& sample : *samples) {
      if (sample.label < 0) {
        const auto label = labels.find(class_of(sample.key));
        if (label != labels.end()) sample.label = label->second;
      }
      if (sample.label >= 0 && sample.label < std::ssize(classes_)) continue;
      if (sample.bad.empty()) {
        sample.bad = sample.label < 0 ? "it has no label, and its name no folder that is a class"
                                      : fmt::format("its label is {}, and there are {} classes",
                                                    sample.label, classes_.size());
      }
      sample.label = 0;
    }
  }
}

SampleInfo Sharded::info(Split split, int64_t index) const {
  const Sample& sample = of(split).at(static_cast<size_t>(index));
  return {sample.key, sample.label, sample.bytes, static_cast<int64_t>(sample.shard),
          shards_[sample.shard]};
}

const Sharded::Sample& Sharded::good(Split split, int64_t index) const {
  const Sample& sample = of(split).at(static_cast<size_t>(index));
  if (!sample.bad.empty()) throw BadSample(BadReason::unsupported, sample.bad);
  if (sample.bytes > max_bytes_) {
    throw BadSample(BadReason::too_large,
                    fmt::format("it has {} bytes, above {} (dataset.max_sample_bytes)",
                                sample.bytes, max_bytes_));
  }
  return sample;
}

EncodedSample Sharded::read(Split split, int64_t index, Buffer& scratch) const {
  const Sample& sample = good(split, index);
  const std::string& shard = shards_[sample.shard];
  if (!sample.parts.empty()) {
    const std::shared_ptr<const Buffer> all = whole_ ? whole_->get(shard) : nullptr;
    const auto read = [&](Range range, Buffer& out) {
      if (all) return part_of(all->bytes(), shard, range);
      read_range(shard, range, out);
      return out.bytes();
    };
    return {format_->assemble(sample, read, scratch), sample.label};
  }
  const Range range{sample.offset, sample.bytes};
  if (!take_coming(split, index, range, scratch)) read_range(shard, range, scratch);
  return {format_->payload(scratch), sample.label};
}

Range Sharded::place_of_record(Split split, int64_t index) const {
  const Sample& sample = of(split).at(static_cast<size_t>(index));
  return {sample.offset, sample.bytes};
}

EncodedSample Sharded::unpack_record(Split split, int64_t index, Buffer& record) const {
  const Sample& sample = good(split, index);
  return {format_->payload(record), sample.label};
}

std::vector<Sharded::Run> Sharded::runs_of(Split split, std::span<const int64_t> indices) const {
  std::vector<Run> runs;
  std::unordered_map<size_t, size_t> open;  // by shard: its newest run
  std::unordered_map<size_t, uint64_t>& ends = expected_to_[static_cast<size_t>(split)];
  for (const int64_t index : indices) {
    const Sample& sample = of(split).at(static_cast<size_t>(index));
    if (!sample.bad.empty() || !sample.parts.empty() || sample.bytes > max_bytes_) continue;
    const auto last = ends.find(sample.shard);
    const bool goes_on = last != ends.end() && sample.offset >= last->second &&
                         sample.offset - last->second <= gap_before(sample.bytes);
    // What lies between is read as well: a disk would have to seek over it.
    const uint64_t begin = goes_on ? last->second : sample.offset;
    const uint64_t end = sample.offset + sample.bytes;
    ends[sample.shard] = end;
    const auto run = open.find(sample.shard);
    if (goes_on && run != open.end() && end - runs[run->second].begin <= block_) {
      runs[run->second].end = end;
      runs[run->second].samples.push_back(index);
    } else {
      open[sample.shard] = runs.size();
      runs.push_back({sample.shard, begin, end, goes_on, {index}});
    }
  }
  return runs;
}

void Sharded::expect(Split split, std::span<const int64_t> indices) const {
  if (indices.empty()) return forget(split);
  if (whole_) return;
  std::vector<ObjectRange> reads;
  const std::lock_guard lock(mutex_);
  for (const Run& run : runs_of(split, indices)) {
    const std::string& key = shards_[run.shard];
    const Range range{run.begin, run.end - run.begin};
    reads.push_back({key, range});
    // Samples from all over the shards are read by those who need them, side by side.
    if (run.samples.size() == 1 && !run.goes_on) continue;
    const ReadAhead::Handle stretch = ahead_.announce(key, range, std::ssize(run.samples));
    for (const int64_t index : run.samples) {
      coming_[static_cast<size_t>(split)].emplace(index, stretch);
    }
  }
  tier_.expect(reads);
}

bool Sharded::take_coming(Split split, int64_t index, Range part, Buffer& out) const {
  ReadAhead::Handle stretch;
  {
    const std::lock_guard lock(mutex_);
    Coming& coming = coming_[static_cast<size_t>(split)];
    const auto found = coming.find(index);
    if (found == coming.end()) return false;
    stretch = std::move(found->second);
    coming.erase(found);
  }
  return ahead_.take(*stretch, part, out);
}

void Sharded::forget(Split split) const {
  const std::lock_guard lock(mutex_);
  Coming& coming = coming_[static_cast<size_t>(split)];
  for (const auto& [index, stretch] : coming) ahead_.drop(*stretch);
  coming.clear();
  expected_to_[static_cast<size_t>(split)].clear();
}

void Sharded::read_range(const std::string& shard, Range range, Buffer& out) const {
  if (whole_) {
    const std::shared_ptr<const Buffer> all = whole_->get(shard);
    const Bytes part = part_of(all->bytes(), shard, range);
    std::ranges::copy(part, out.resize(part.size()));
    return;
  }
  tier_.read(shard, out, range);
  if (out.size() != range.length) fail_short(shard);
}

}  // namespace stoker
