#include "app/tools/data/convert/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "app/tools/data/convert/shard_run.h"
#include "io/core/error.h"
#include "io/core/threads.h"
#include "io/dataset/formats/writers/image_files.h"

namespace stoker {
namespace {

// Is a reader's key the name? The folders before it are those of the place.
bool is_name(std::string_view key, std::string_view name) {
  const auto ends = [&](std::string_view whole) {
    return whole.ends_with(name) &&
           (whole.size() == name.size() || whole[whole.size() - name.size() - 1] == '/');
  };
  return ends(key) || ends(without_image_extension(key));
}

// Compares one split.
class SplitComparison {
 public:
  SplitComparison(const Dataset& dataset, Split split, const WrittenSet& written,
                  const ShardFormatWriter& writer, const WritableInfo& info)
      : dataset_(dataset), split_(split), written_(written), writer_(writer) {
    for (size_t shard = 0; shard < written.shards.size(); ++shard) {
      if (written.shards[shard].split != split) continue;
      for (const WrittenSample& sample : written.shards[shard].samples)
        samples_.push_back({&sample, shard});
    }
    if (!info.ordered) find_places();
  }

  // What differs in the whole split, before any sample is read. Empty: nothing does.
  std::string counts() const {
    const int64_t found = dataset_.size(split_);
    if (found == std::ssize(samples_)) return {};
    return fmt::format("there are {} samples in this split, not {}", found, samples_.size());
  }
  int64_t size() const { return std::ssize(samples_); }
  bool same_order() const { return same_order_; }
  UnlikeSample unlike(int64_t i, std::string how) const {
    const auto& [sample, shard] = samples_[static_cast<size_t>(i)];
    return {shard, sample->key, std::move(how)};
  }

  // What is wrong with a sample; empty: nothing.
  std::string wrong(int64_t i, Buffer& scratch) const {
    const WrittenSample& sample = *samples_[static_cast<size_t>(i)].first;
    const int64_t place = places_.empty() ? i : places_[static_cast<size_t>(i)];
    if (place < 0) return "it is not there";
    try {
      const SampleInfo info = dataset_.info(split_, place);
      const std::string name = writer_.name_of(sample.key, sample.label);
      if (!name.empty() && !is_name(info.key, name))
        return fmt::format("its key is {}, not {}", info.key, name);
      const EncodedSample read = dataset_.read(split_, place, scratch);
      if (info.label != sample.label || read.label != sample.label)
        return fmt::format("its label is {}, not {}", info.label, sample.label);
      if (class_name(dataset_.classes(), sample.label) !=
          class_name(written_.classes, sample.label))
        return fmt::format("its class is '{}', not '{}'",
                           class_name(dataset_.classes(), sample.label),
                           class_name(written_.classes, sample.label));
      if (read.bytes.size() != sample.bytes)
        return fmt::format("it has {} bytes, not {}", read.bytes.size(), sample.bytes);
      if (sample_hash(read.bytes) != sample.xxh3) return "its bytes are others (XXH3)";
      return {};
    } catch (const Error& error) {
      return error.what();
    } catch (const BadSample& bad) {
      return fmt::format("{}: {}", to_string(bad.reason()), bad.what());
    }
  }

 private:
  static std::string class_name(const std::vector<std::string>& classes, int64_t label) {
    return label < std::ssize(classes) ? classes[static_cast<size_t>(label)] : "";
  }

  // Finds the data set's index of each written sample by its name. -1: no sample has this name.
  void find_places() {
    std::unordered_map<std::string, int64_t> names;
    for (int64_t i = 0; i < size(); ++i) {
      const WrittenSample& sample = *samples_[static_cast<size_t>(i)].first;
      names[writer_.name_of(sample.key, sample.label)] = i;
    }
    places_.assign(samples_.size(), -1);
    for (int64_t place = 0; place < dataset_.size(split_); ++place) {
      const std::string key = dataset_.info(split_, place).key;
      std::string_view name = without_image_extension(key);
      auto at = names.find(std::string(name));
      // Tries the name without the folders before it, one after the other.
      for (size_t slash; at == names.end() && (slash = name.find('/')) != name.npos;) {
        name.remove_prefix(slash + 1);
        at = names.find(std::string(name));
      }
      if (at == names.end()) continue;
      places_[static_cast<size_t>(at->second)] = place;
      same_order_ = same_order_ && at->second == place;
    }
  }

  const Dataset& dataset_;
  const Split split_;
  const WrittenSet& written_;
  const ShardFormatWriter& writer_;
  std::vector<std::pair<const WrittenSample*, size_t>> samples_;
  std::vector<int64_t> places_;  // empty: each has its own
  bool same_order_ = true;
};

}  // namespace

WrittenComparison compare_written(const Dataset& dataset, const WrittenSet& written,
                                  const ShardFormatWriter& writer, const WritableInfo& info,
                                  int64_t threads, const std::function<void(int64_t)>& progress) {
  constexpr int64_t kBlock = 64;
  WrittenComparison result;
  int64_t done = 0;
  for (const Split split : {Split::train, Split::test}) {
    const SplitComparison comparison(dataset, split, written, writer, info);
    if (const std::string counts = comparison.counts(); !counts.empty()) {
      result.unlike = comparison.size() == 0 ? UnlikeSample{0, "of another split", counts}
                                             : comparison.unlike(comparison.size() - 1, counts);
      return result;
    }
    result.same_order = result.same_order && comparison.same_order();
    std::mutex mutex;
    int64_t first = comparison.size();  // unlike one
    parallel_for(threads, (comparison.size() + kBlock - 1) / kBlock, [&](int64_t block) {
      Buffer scratch;
      const int64_t begin = block * kBlock, end = std::min(begin + kBlock, comparison.size());
      for (int64_t i = begin; i < end; ++i) {
        std::string wrong = comparison.wrong(i, scratch);
        if (wrong.empty()) continue;
        const std::lock_guard lock(mutex);
        if (i < first) result.unlike = comparison.unlike(i, std::move(wrong));
        first = std::min(first, i);
      }
      const std::lock_guard lock(mutex);
      progress(done += end - begin);
    });
    if (result.unlike) return result;
  }
  return result;
}

}  // namespace stoker
