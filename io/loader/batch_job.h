#pragma once

#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "io/core/batch.h"
#include "io/loader/sample_loader.h"
#include "io/metrics/loader_meter.h"

namespace stoker {

// One batch being filled by any number of workers: each claims the next place and fills it, and the
// one that fills the last place finishes the batch: it lists what was skipped or tolerated, and
// computes the digest. Any thread; claiming takes no lock. Errors of samples are kept until take().
// Owns the batch until then; refers to nothing else.
class BatchJob {
 public:
  // Fills place i of `batch`, whose slot and labels are there, with samples[i] of its epoch. Places
  // are claimed in the order of `claims` (LargestFirst), or where that is empty as they come. The
  // first `open` of them may be claimed; left out: all.
  BatchJob(Batch batch, std::vector<int64_t> samples, const SampleSpec& spec, bool digest,
           std::vector<int32_t> claims = {}, std::optional<int64_t> open = {});

  // Fills places until no place is left to claim. True: this call finished the batch. A sample's
  // failure is never thrown here.
  bool work(SampleLoader& loader);
  // From now on the first `places` may be claimed. They never become fewer.
  void open(int64_t places) { open_ = places; }
  // Whether there is a place to claim now.
  bool claimable() const { return next_ < open_; }
  // Nobody will take the batch: workers that wait for a tier need not go on. They work with this
  // token.
  void interrupt() { stop_.request_stop(); }
  std::stop_token stop() const { return stop_.get_token(); }
  // Ends the claiming of places. True: no worker is at one, the job is over with this call.
  bool cancel();
  // The batch, or throws the error of its first bad place, whichever was met first. Once, after the
  // job is finished.
  Batch take();
  // Those that it was made for.
  const std::vector<int64_t>& samples() const { return samples_; }

 private:
  // The next place to claim; nothing: none is left now.
  std::optional<int64_t> claim();
  // Loads the sample of one place, or keeps its error.
  void fill(int64_t place, SampleLoader& loader, LoadCost& cost);
  // Called by the worker that filled the last place, alone.
  void finish(LoaderMeter& meter);

  Batch batch_;
  const std::vector<int64_t> samples_;
  const std::vector<int32_t> claims_;
  const SampleSpec spec_;
  const bool digest_;
  std::stop_source stop_;
  std::atomic<int64_t> next_{0};
  std::atomic<int64_t> open_;
  std::atomic<int64_t> remaining_;
  // Guards what follows, and batch_.cost while being filled.
  std::mutex mutex_;
  std::exception_ptr error_;
  int64_t error_place_ = 0;
  std::map<int64_t, LoadedSample> noted_;  // by place: those that were skipped or tolerated
};

// XXH3-128 of each sample's pixels (what is used of frames) and label, 16 bytes each, one behind
// the other. A filler has no digest. Equal for equal batches by whatever loader, format, tier or
// number of workers; those of all ranks in their order are those of the whole batch. Any thread.
inline constexpr size_t kSampleDigestBytes = 16;
std::string sample_digests(const Batch& batch, const SampleSpec& spec);

}  // namespace stoker
