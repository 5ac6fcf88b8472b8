#include "io/loader/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "io/core/error.h"
#include "io/core/random.h"
#include "io/dataset/dataset.h"

namespace stoker {

// The samples of a split, file by file: what SampleInfo::file says, turned round. Immutable; any
// thread.
class SampleFiles {
 public:
  // No files.
  SampleFiles() = default;
  // Asks the data set for each of its samples once.
  SampleFiles(const Dataset& dataset, Split split);

  int64_t count() const { return std::ssize(begins_) - 1; }
  // The samples of file `file` in [0, count()), in the data set's order. Files are in the order of
  // their first samples.
  std::span<const int64_t> of(int64_t file) const {
    const auto i = static_cast<size_t>(file);
    return std::span(samples_).subspan(begins_[i], begins_[i + 1] - begins_[i]);
  }

 private:
  std::vector<int64_t> samples_;
  std::vector<size_t> begins_{0};  // in samples_, and the end
};

namespace {

std::vector<int64_t> numbers(int64_t count) {
  std::vector<int64_t> all(static_cast<size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// tf.data's shuffle buffer: whenever one of its samples, any, is taken, the next one comes in.
std::vector<int64_t> shuffle_in_window(const std::vector<int64_t>& all, int64_t window,
                                       Random& random) {
  auto next = all.begin() + std::min(window, std::ssize(all));
  std::vector<int64_t> buffer(all.begin(), next), taken;
  taken.reserve(all.size());
  while (!buffer.empty()) {
    int64_t& place = buffer[random.below(buffer.size())];
    taken.push_back(place);
    if (next != all.end()) {
      place = *next++;
    } else {
      place = buffer.back();
      buffer.pop_back();
    }
  }
  return taken;
}

// tf.data's interleave: `cycle` files give `block` samples each in turn; the next file comes in the
// place of one that has ended.
std::vector<int64_t> interleave(const std::vector<std::vector<int64_t>>& files, int64_t cycle,
                                int64_t block) {
  struct Open {
    size_t file = 0;
    size_t at = 0;
  };
  std::vector<int64_t> all;
  size_t next = 0;
  std::vector<Open> open;
  while (next < files.size() && std::ssize(open) < cycle) open.push_back({next++});
  while (!open.empty()) {
    for (Open& turn : open) {
      const std::vector<int64_t>& file = files[turn.file];
      const size_t end = std::min(file.size(), turn.at + static_cast<size_t>(block));
      for (; turn.at < end; ++turn.at) all.push_back(file[turn.at]);
      if (turn.at == file.size() && next < files.size()) turn = {next++};
    }
    std::erase_if(open, [&](const Open& turn) { return turn.at == files[turn.file].size(); });
  }
  return all;
}

}  // namespace

SampleFiles::SampleFiles(const Dataset& dataset, Split split)
    : samples_(static_cast<size_t>(dataset.size(split))) {
  std::vector<size_t> places;  // of a sample's file among the files
  std::unordered_map<int64_t, size_t> known;
  for (int64_t i = 0; i < std::ssize(samples_); ++i) {
    const int64_t file = dataset.info(split, i).file;
    const size_t next = begins_.size() - 1;
    places.push_back(file < 0 ? next : known.try_emplace(file, next).first->second);
    if (places.back() == next) begins_.push_back(0);
    ++begins_[places.back() + 1];
  }
  std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
  std::vector<size_t> at = begins_;
  for (size_t i = 0; i < samples_.size(); ++i) samples_[at[places[i]]++] = static_cast<int64_t>(i);
}

Sampler::Sampler(const LoaderOptions& options, Shard shard, const Dataset& dataset, Split split,
                 uint64_t seed)
    : options_(options),
      shard_(shard),
      samples_(dataset.size(split)),
      shuffled_(split == Split::train && options.shuffle),
      dealt_(deals_files(options.order) && (shuffled_ || split == Split::test)),
      seed_(seed),
      files_(std::make_shared<const SampleFiles>()),
      batches_(samples_ / options.batch_size) {
  const bool train = split == Split::train;
  const bool rest = samples_ % options.batch_size != 0;
  if (rest && !(train && options.drop_last)) ++batches_;
  if (train && batches_ == 0) {
    throw Error(ExitCode::config,
                fmt::format("loader: batch_size {} is larger than the {} training samples: use a "
                            "smaller batch_size, or drop_last: false",
                            options.batch_size, samples_));
  }
  check_ranks();
  // Listing the files asks the data set about every sample: not done where no order needs them.
  if (dealt_ || (shuffled_ && options.order == SampleOrder::window)) {
    files_ = std::make_shared<const SampleFiles>(dataset, split);
  }
}

Sampler::Sampler(const Sampler& other, Shard shard) : Sampler(other) {
  shard_ = shard;
  check_ranks();
}

void Sampler::check_ranks() const {
  if (options_.batch_size < shard_.world) {
    throw Error(ExitCode::config,
                fmt::format("loader: batch_size {} is not one sample for each of {} ranks: it is "
                            "that of all ranks together",
                            options_.batch_size, shard_.world));
  }
}

void check_place(int64_t epoch, int64_t batch) {
  if (epoch >= 0 && batch >= 0) return;
  throw Error(ExitCode::config,
              fmt::format("loader: epochs and batches are counted from 0: there is no batch {} of "
                          "epoch {}",
                          batch, epoch));
}

BatchPart Sampler::part(int64_t batch) const {
  const auto [full_begin, full_end] = shard_.places(options_.batch_size);
  BatchPart part;
  part.begin = batch * (full_end - full_begin);
  part.whole = std::clamp(samples_ - batch * options_.batch_size, int64_t{0}, options_.batch_size);
  const auto [begin, end] = shard_.places(part.whole);
  // A rank without a sample in the last, smaller batch gets a filler, because all ranks must take
  // part in the exchange of gradients. It is computed and counts nothing.
  part.filler = begin == end && part.whole > 0;
  part.size = part.filler ? 1 : end - begin;
  return part;
}

EpochOrder Sampler::order(int64_t epoch) const {
  check_place(epoch, 0);
  if (batches_ == 0) return {epoch, false, {}};
  if (shuffled_ && options_.order == SampleOrder::shards) return of_shards(epoch);
  EpochOrder order{epoch, shuffled_ && (files_->count() == 0 || files_->count() == samples_), {}};
  if (dealt_) {
    order.samples = of_own_files(epoch);
    return order;
  }
  const std::vector<int64_t> all = of_all_ranks(epoch);
  for (int64_t batch = 0; batch < batches_; ++batch) {
    const BatchPart part = this->part(batch);
    // A filler has no place of its own: the first sample of its batch stands in.
    const int64_t place = part.filler ? 0 : shard_.places(part.whole).first;
    const auto first = all.begin() + batch * options_.batch_size + place;
    order.samples.insert(order.samples.end(), first, first + part.size);
  }
  return order;
}

std::vector<int64_t> Sampler::of_all_ranks(int64_t epoch) const {
  std::vector<int64_t> all = numbers(samples_);
  if (!shuffled_) return all;
  // Without the rank in the seed: every rank computes the same order and takes its part of it, and
  // batches are the same for any number of ranks.
  Random random(mix(seed_, static_cast<uint64_t>(epoch)));
  if (options_.order == SampleOrder::permutation) {
    shuffle(all, random);
    return all;
  }
  std::vector<int64_t> files = numbers(files_->count());
  shuffle(files, random);
  all.clear();
  for (const int64_t file : files) {
    const std::span<const int64_t> samples = files_->of(file);
    all.insert(all.end(), samples.begin(), samples.end());
  }
  return shuffle_in_window(all, options_.window, random);
}

std::vector<std::vector<int64_t>> Sampler::share(int64_t epoch) const {
  std::vector<int64_t> files = numbers(files_->count());
  const bool stay_dealt =
      options_.order == SampleOrder::local_files || options_.order == SampleOrder::local_window;
  if (shuffled_ && !stay_dealt) {
    const bool stays = options_.single_file_stays && files_->count() <= shard_.world;
    Random random(mix(seed_, static_cast<uint64_t>(stays ? 0 : epoch)));
    shuffle(files, random);
  }
  // The ranks' shares must have the sizes of their parts of all batches, so that every rank has a
  // sample wherever part() says so. The files, one behind the other, are cut there, and a file may
  // belong to two ranks.
  const int64_t full = samples_ / options_.batch_size;
  const auto [part_begin, part_end] = shard_.places(options_.batch_size);
  const auto [rest_begin, rest_end] = shard_.places(samples_ % options_.batch_size);
  const int64_t begin = full * part_begin + rest_begin, end = full * part_end + rest_end;
  std::vector<std::vector<int64_t>> own;
  int64_t at = 0;
  for (const int64_t file : files) {
    const std::span<const int64_t> samples = files_->of(file);
    const int64_t size = std::ssize(samples);
    const int64_t first = std::clamp(begin - at, int64_t{0}, size);
    const int64_t last = std::clamp(end - at, int64_t{0}, size);
    if (first < last) own.emplace_back(samples.begin() + first, samples.begin() + last);
    at += size;
  }
  return own;
}

std::vector<int64_t> Sampler::of_own_files(int64_t epoch) const {
  std::vector<std::vector<int64_t>> own = share(epoch);
  Random random = random_of(epoch);
  const bool by_files = shuffled_ && options_.order != SampleOrder::local_window;
  if (by_files) shuffle(own, random);
  std::vector<int64_t> order;
  for (std::vector<int64_t>& file : own) {
    if (by_files) shuffle(file, random);
    order.insert(order.end(), file.begin(), file.end());
  }
  if (shuffled_ && !by_files) order = shuffle_in_window(order, options_.window, random);
  order.resize(static_cast<size_t>(own_samples()));
  add_filler(order);
  return order;
}

EpochOrder Sampler::of_shards(int64_t epoch) const {
  Random random = random_of(epoch);
  EpochOrder order{epoch, false, {}};
  order.stretch = options_.window;
  order.reading = interleave(share(epoch), options_.cycle_length, options_.block_length);
  // Begins at a random place. Otherwise the end of a single file would be left out in every epoch,
  // and its stretches would always begin at the same samples.
  if (const auto count = order.reading.size(); count > 0) {
    const auto first = order.reading.begin() + static_cast<std::ptrdiff_t>(random.below(count));
    std::rotate(order.reading.begin(), first, order.reading.end());
  }
  order.reading.resize(static_cast<size_t>(own_samples()));
  order.samples = order.reading;
  for (std::span<int64_t> left = order.samples; !left.empty();) {
    std::span<int64_t> stretch =
        left.first(std::min(left.size(), static_cast<size_t>(order.stretch)));
    shuffle(stretch, random);
    left = left.subspan(stretch.size());
  }
  add_filler(order.samples);
  return order;
}

Random Sampler::random_of(int64_t epoch) const {
  return Random(mix(seed_, static_cast<uint64_t>(epoch), static_cast<uint64_t>(shard_.rank),
                    static_cast<uint64_t>(shard_.world)));
}

int64_t Sampler::own_samples() const {
  const BatchPart last = part(batches_ - 1);
  return last.begin + (last.filler ? 0 : last.size);
}

// A sample of its own, where the rank has one.
void Sampler::add_filler(std::vector<int64_t>& order) const {
  if (part(batches_ - 1).filler) order.push_back(order.empty() ? 0 : order.front());
}

LargestFirst::LargestFirst(const Dataset& dataset, Split split)
    : dataset_(dataset), split_(split) {}

uint32_t LargestFirst::bytes_of(int64_t sample) {
  uint32_t& bytes = bytes_[static_cast<size_t>(sample)];
  // A name is made with every answer: too much for each sample of each epoch.
  if (bytes == 0) {
    const uint64_t answer = dataset_.info(split_, sample).bytes;
    bytes = static_cast<uint32_t>(std::min<uint64_t>(answer, UINT32_MAX - 1) + 1);
  }
  return bytes;
}

std::vector<int32_t> LargestFirst::places(std::span<const int64_t> samples) {
  bytes_.resize(static_cast<size_t>(dataset_.size(split_)));  // by the first call
  std::vector<int32_t> places(samples.size());
  std::iota(places.begin(), places.end(), 0);
  const auto bytes = [&](int32_t place) { return bytes_of(samples[static_cast<size_t>(place)]); };
  const bool equal = std::ranges::adjacent_find(places, std::not_equal_to(), bytes) == places.end();
  if (equal) return {};
  std::ranges::stable_sort(places, std::greater(), bytes);
  return places;
}

void ReadHints::about_to_read(const EpochOrder& order, int64_t begin, int64_t end) {
  any_ = true;
  if (order.stretch == 0) {
    const auto places = static_cast<size_t>(end - begin);
    return dataset_.expect(split_,
                           std::span(order.samples).subspan(static_cast<size_t>(begin), places));
  }
  const int64_t own = std::ssize(order.reading);
  if (!epoch_ || epoch_ <= order.epoch) say(order, begin, end + (ahead_ ? order.stretch : 0));
  if (ahead_ && epoch_ == order.epoch && said_ == own) {
    next_ = sampler_.order(order.epoch.value() + 1);
    say(next_, 0, 1);
  }
}

void ReadHints::say(const EpochOrder& order, int64_t from, int64_t end) {
  if (epoch_ != order.epoch) said_ = from;
  epoch_ = order.epoch;
  const int64_t own = std::ssize(order.reading);
  while (said_ < std::min(end, own)) {
    const int64_t begin = said_ / order.stretch * order.stretch;
    const int64_t stretch_end = std::min(begin + order.stretch, own);
    std::vector<int64_t> reads(order.reading.begin() + begin, order.reading.begin() + stretch_end);
    if (said_ > begin) {  // the run goes on in the middle of it
      const std::unordered_set<int64_t> left(order.samples.begin() + said_,
                                             order.samples.begin() + stretch_end);
      std::erase_if(reads, [&](int64_t sample) { return !left.contains(sample); });
    }
    dataset_.expect(split_, reads);
    said_ = stretch_end;
  }
}

void ReadHints::forget() {
  if (any_) dataset_.expect(split_, {});
  any_ = false;
  epoch_.reset();
  next_ = {};
}

EpochOrder ReadHints::take_next() { return std::exchange(next_, {}); }

}  // namespace stoker
