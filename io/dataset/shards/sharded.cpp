#include "io/dataset/shards/sharded.h"

#include <fmt/format.h>

#include <algorithm>

#include "io/core/config/suggestion.h"
#include "io/core/error.h"
#include "io/core/system/usable_cores.h"
#include "io/core/threads.h"
#include "io/dataset/class_names.h"
#include "io/dataset/shards/shard_choice.h"
#include "io/dataset/shards/shard_index.h"
#include "io/dataset/shards/shard_labels.h"

namespace stoker {
namespace {

// How much may lie between two samples that are read by one read: headers and labels, or another
// sample.
uint64_t gap_before(uint64_t sample_bytes) {
  return std::clamp(sample_bytes, uint64_t{4} << 10, uint64_t{64} << 10);
}

// How many samples that can be used each class has.
template <class Sample>
LabelUses uses_of(const std::vector<Sample>& samples) {
  LabelUses uses;
  for (const Sample& sample : samples) {
    if (!sample.bad) ++uses[*sample.label].samples;
  }
  return uses;
}

[[noreturn]] void fail_short(const std::string& shard) {
  throw BadSample(BadReason::truncated, fmt::format("shard {} was cut short", shard));
}

// The bytes of a range in a whole shard.
Bytes part_of(Bytes all, const std::string& shard, Range range) {
  if (range.offset > all.size() || range.length > all.size() - range.offset) fail_short(shard);
  return all.subspan(range.offset, range.length);
}

}  // namespace

void ShardedOptions::check(const Section& section) const {
  if (train.empty()) section.fail("train", "must be a pattern of shards such as train-*");
  if (split && (split->train <= 0 || split->train + split->test > 1 + 1e-9)) {
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
  const ShardChoice choice = choose_shards(tier_, options, inputs.notify);
  std::vector<std::string> passed_over;
  train_ = scan(choice.train, inputs.notify, passed_over);
  scan_tests(choice.test, inputs.notify, passed_over);
  if (train_.empty()) fail_empty(options);
  if (!passed_over.empty() && inputs.notify) {
    inputs.notify(fmt::format("dataset: passed over {} that {} no part of a sample: {}",
                              passed_over.size(), passed_over.size() == 1 ? "is" : "are",
                              some_of(passed_over)));
  }
  leave_out(std::move(passed_over));
  name_classes(options, inputs.notify);
}

void Sharded::fail_empty(const ShardedOptions& options) const {
  throw Error(
      ExitCode::environment,
      fmt::format("dataset: there are no samples in '{}' in tier '{}': {}", options.train,
                  options.storage.name,
                  instead_.empty() ? "set dataset.train to a pattern of shards that have samples"
                                   : instead_));
}

std::vector<Sharded::Sample> Sharded::scan(const std::vector<ObjectInfo>& shards,
                                           const Notify& notify,
                                           std::vector<std::string>& passed_over) {
  std::vector<ShardContents> found(shards.size());
  parallel_for(usable_cores(), std::ssize(shards), [&](int64_t i) {
    const auto at = static_cast<size_t>(i);
    found[at] = shard_contents(tier_, shards[at], *format_, notify);
  });
  for (size_t i = 0; i < shards.size(); ++i) check_choice(found[i], shards[i].key);
  std::vector<Sample> samples;
  for (size_t i = 0; i < shards.size(); ++i) {
    const std::string& key = shards[i].key;
    for (ShardSample& sample : found[i].samples) {
      samples.push_back({std::move(sample), shards_.size()});
    }
    for (const std::string& name : found[i].passed_over)
      passed_over.push_back(fmt::format("{}: {}", key, name));
    if (found[i].samples.empty()) passed_over.push_back(key + ": it has no samples");
    for (auto& arrays : found[i].arrays) hold({std::move(arrays), key});
    if (instead_.empty()) instead_ = std::move(found[i].instead);
    shards_.push_back(key);
  }
  return samples;
}

void Sharded::check_choice(const ShardContents& contents, const std::string& shard) {
  if (contents.samples.empty()) return;
  if (!choice_) choice_ = Choice{contents.choice, shard};
  if (contents.choice == choice_->text) return;
  throw UnfitShard(
      fmt::format("dataset: shards differ: {} has {}, and {} has {}: name what all of them have, "
                  "write one of them again, or take it out of the pattern",
                  choice_->shard, choice_->text, shard, contents.choice));
}

void Sharded::scan_tests(const std::vector<ObjectInfo>& shards, const Notify& notify,
                         std::vector<std::string>& passed_over) {
  try {
    test_ = scan(shards, notify, passed_over);
  } catch (const UnfitShard& unfit) {
    if (notify) notify(fmt::format("dataset: nothing is tested: {}", unfit.what()));
  }
}

void Sharded::leave_out_unlabelled(const std::string& pattern, const Notify& notify) {
  // A class that is named and not known is a mistake, and no label that was held back.
  const auto says_class = [](const Sample& sample) { return sample.label || sample.named; };
  if (test_.empty() || std::ranges::any_of(test_, says_class)) return;
  if (notify) {
    notify(fmt::format(
        "dataset: nothing is tested: none of the {} samples in '{}' has one of the "
        "{} classes: {}: {}: dataset.test='' leaves them out",
        test_.size(), pattern, classes_.size(), test_.front().key, why_bad(test_.front())->what()));
  }
  test_.clear();
}

void Sharded::name_classes(const ShardedOptions& options, const Notify& notify) {
  std::vector<ShardSample*> all;
  for (auto* const samples : {&train_, &test_}) {
    for (Sample& sample : *samples) all.push_back(&sample);
  }
  classes_ = read_class_names(tier_, options.classes);
  const bool numbered = classes_.empty() && std::ranges::any_of(all, [](const ShardSample* sample) {
                          return sample->label && !sample->bad;
                        });
  const std::string rule = format_->label_rule();
  classes_ = label_samples(all, std::move(classes_), options.label_offset, rule);
  check_usable(train_, options.train);
  const std::string& tests = options.split ? options.train : options.test;
  leave_out_unlabelled(tests, notify);
  check_usable(test_, tests);
  if (!rule.empty()) remark_classes(classes_, uses_of(train_), numbered, rule, notify);
}

std::optional<BadSample> Sharded::why_bad(const Sample& sample) const {
  if (sample.bad || sample.bytes <= max_bytes_) return sample.bad;
  return BadSample(BadReason::too_large,
                   fmt::format("it has {} bytes, above {} (dataset.max_sample_bytes)", sample.bytes,
                               max_bytes_));
}

void Sharded::check_usable(const std::vector<Sample>& samples, const std::string& pattern) const {
  if (samples.empty()) return;
  for (const Sample& sample : samples) {
    if (!why_bad(sample)) return;
  }
  throw Error(
      ExitCode::data,
      fmt::format("dataset: none of the {} samples in '{}' can be used: {}: {}: {}", samples.size(),
                  pattern, samples.front().key, to_string(why_bad(samples.front())->reason()),
                  why_bad(samples.front())->what()));
}

SampleInfo Sharded::info(Split split, int64_t index) const {
  const Sample& sample = of(split).at(static_cast<size_t>(index));
  return {sample.key, sample.label.value_or(-1), sample.bytes, static_cast<int64_t>(sample.shard),
          shards_[sample.shard]};
}

const Sharded::Sample& Sharded::good(Split split, int64_t index) const {
  const Sample& sample = of(split).at(static_cast<size_t>(index));
  if (const auto bad = why_bad(sample)) throw *bad;
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
    return {format_->assemble(sample, read, scratch), *sample.label};
  }
  const Range range{sample.offset, sample.bytes};
  if (!take_coming(split, index, range, scratch)) read_range(shard, range, scratch);
  return {format_->payload(scratch), *sample.label};
}

Range Sharded::place_of_record(Split split, int64_t index) const {
  const Sample& sample = of(split).at(static_cast<size_t>(index));
  return {sample.offset, sample.bytes};
}

EncodedSample Sharded::unpack_record(Split split, int64_t index, Buffer& record) const {
  const Sample& sample = good(split, index);
  return {format_->payload(record), *sample.label};
}

std::vector<Sharded::Run> Sharded::runs_of(Split split, std::span<const int64_t> indices) const {
  std::vector<Run> runs;
  std::unordered_map<size_t, size_t> open;  // by shard: its newest run
  std::unordered_map<size_t, uint64_t>& ends = expected_to_[static_cast<size_t>(split)];
  for (const int64_t index : indices) {
    const Sample& sample = of(split).at(static_cast<size_t>(index));
    if (why_bad(sample) || !sample.parts.empty()) continue;
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
