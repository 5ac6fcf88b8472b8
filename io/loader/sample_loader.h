#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "io/core/batch.h"
#include "io/loader/loader.h"
#include "io/metrics/loader_meter.h"

namespace stoker {

// What filling one place of a batch gave. A value. The label is that of the sample whose pixels are
// there.
struct LoadedSample {
  int64_t label = 0;
  // The sample meant for this place was bad.
  std::optional<SkippedSample> skipped;
  // The sample that is there is damaged.
  std::optional<ToleratedSample> tolerated;
};

// Reads and decodes single samples, with scratch memory that is used again, and says to the meter
// what it did. One thread at a time: every worker owns one. The result is a pure function of (seed,
// epoch, index), whatever was loaded before. Refers to what Inputs refers to.
class SampleLoader {
 public:
  // Opens a session of the decoder.
  explicit SampleLoader(const Loader::Inputs& inputs);

  // Fills `out` (SampleSpec::bytes(), the caller's) with sample `index` of the split. A bad sample
  // is treated as dataset.on_error says: Error(ExitCode::data) naming it, or another sample of the
  // split takes its place, chosen by (seed, epoch, index) alone. After 100 bad ones in a row it is
  // Error(ExitCode::data) in any case. Where the tier fails: the Error of read_sample(). Adds
  // nanoseconds and bytes to `cost`. Interrupted.
  LoadedSample load(int64_t epoch, int64_t index, uint8_t* out, LoadCost& cost);
  // Likewise; `out` is asked for once, when the first bytes to decode are there.
  using Out = std::function<uint8_t*()>;
  LoadedSample load(int64_t epoch, int64_t index, const Out& out, LoadCost& cost);
  // For those who measure what belongs to a batch and not to a sample.
  LoaderMeter& meter() { return meter_; }

 private:
  // Fills in the label, and what was tolerated. Throws BadSample for whatever is the sample's
  // fault, and else as load().
  void decode(int64_t epoch, int64_t index, const Out& out, LoadCost& cost, LoadedSample& result);

  const Dataset& dataset_;
  const Split split_;
  const uint64_t seed_;
  std::unique_ptr<DecoderSession> session_;
  LoaderMeter& meter_;
  Buffer scratch_;
};

}  // namespace stoker
