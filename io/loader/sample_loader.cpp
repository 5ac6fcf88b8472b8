#include "io/loader/sample_loader.h"

#include <string>
#include <utility>

#include "io/core/error.h"
#include "io/core/random.h"
#include "io/core/threads.h"
#include "io/dataset/read_sample.h"
#include "io/metrics/clock.h"

namespace stoker {
namespace {

// This many bad samples in a row mean that the data set is broken, not a few of its files.
constexpr uint64_t kMaxReplacements = 100;

}  // namespace

SampleLoader::SampleLoader(const Loader::Inputs& inputs)
    : dataset_(inputs.dataset),
      split_(inputs.split),
      seed_(inputs.seed),
      session_(inputs.decoder.open()),
      meter_(inputs.meter) {}

void SampleLoader::decode(int64_t epoch, int64_t index, const Out& out, LoadCost& cost,
                          LoadedSample& result) {
  const SamplePlace place{dataset_, split_, index};
  const TimePoint begin = Clock::now();
  throw_if_interrupted();
  const EncodedSample sample = read_sample(place, scratch_);
  const TimePoint read = Clock::now();
  const uint64_t seed = mix(seed_, static_cast<uint64_t>(epoch), static_cast<uint64_t>(index));
  std::string damage =
      decode_sample(place, sample, *session_, {split_ == Split::train, seed}, out());
  const TimePoint decoded = Clock::now();
  cost.read_ns += (read - begin) / std::chrono::nanoseconds(1);
  cost.decode_ns += (decoded - read) / std::chrono::nanoseconds(1);
  cost.bytes_read += static_cast<int64_t>(sample.bytes.size());
  meter_.finished(Stage::read, begin, read, sample.bytes.size(), {epoch, index});
  meter_.finished(Stage::decode, read, decoded, sample.bytes.size(), {epoch, index});
  result.label = sample.label;
  if (damage.empty()) return;
  result.tolerated = {place.info().key, std::move(damage)};
  meter_.tolerated();
}

LoadedSample SampleLoader::load(int64_t epoch, int64_t index, uint8_t* out, LoadCost& cost) {
  return load(
      epoch, index, [out] { return out; }, cost);
}

LoadedSample SampleLoader::load(int64_t epoch, int64_t index, const Out& ask, LoadCost& cost) {
  LoadedSample result;
  uint8_t* asked = nullptr;
  const Out out = [&] { return asked != nullptr ? asked : asked = ask(); };
  int64_t candidate = index;
  for (uint64_t attempt = 1; attempt <= kMaxReplacements; ++attempt) {
    try {
      decode(epoch, candidate, out, cost, result);
      if (result.skipped) result.skipped->replaced_by = dataset_.info(split_, candidate).key;
      return result;
    } catch (const BadSample& bad) {
      const std::string key = dataset_.info(split_, candidate).key;
      meter_.failed(to_string(bad.reason()));
      if (dataset_.on_error().policy == ErrorPolicy::fail) {
        throw bad_sample_error(key, to_string(bad.reason()), bad.what());
      }
      if (!result.skipped) {
        result.skipped = SkippedSample{epoch, 0, key, bad.reason(), bad.what(), ""};
        meter_.skipped(to_string(bad.reason()));
      }
      Random random(
          mix(seed_, static_cast<uint64_t>(epoch), static_cast<uint64_t>(index), attempt));
      candidate = static_cast<int64_t>(random.below(static_cast<uint64_t>(dataset_.size(split_))));
    }
  }
  throw Error(ExitCode::data, "dataset: " + result.skipped->key +
                                  " and 99 samples drawn in its place are all bad: check the data "
                                  "with `stoker dataset inspect`");
}

}  // namespace stoker
