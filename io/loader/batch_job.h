#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "io/core/batch.h"
#include "io/loader/sample_loader.h"
#include "io/metrics/loader_meter.h"

namespace stoker {

class BatchJob;

// Which place of which batch a sample is for, where batches are filled by whatever is ready
// (loader.in_order: false). Any thread.
//
// A worker begins to read a sample for the place that it claimed. When the bytes are there, it
// takes the oldest place of that epoch for which others are still reading, and whoever was to fill
// that one gets its own place instead. So each sample has one place, each place gets one sample,
// and one that is slow moves on to later batches, until it is the last of its epoch.
class Arrivals {
 public:
  struct Place {
    std::shared_ptr<BatchJob> job;
    int64_t place = 0;
  };
  // A sample that is being read. Valid until it has arrived.
  using Reading = std::list<Place>::iterator;

  // The place is one that was claimed, for which nobody else reads.
  Reading begin(Place place);
  // Ends a reading, so it is called once for each. Returns the place that the sample goes to, which
  // an exchange between batches may have changed.
  Place arrive(Reading reading);

 private:
  std::mutex mutex_;
  std::list<Place> reading_;
};

// What the jobs of batches share that are on their way together. A value; copies share it.
struct JobGroup {
  // Null: each batch gets the samples that it was made for.
  std::shared_ptr<Arrivals> arrivals = {};
  std::stop_source stop = {};
};

// In which order places are claimed: as `order` says (LargestFirst), or where that is empty as they
// come. The first `open` of them may be claimed; left out: all. A value.
struct BatchClaims {
  std::vector<int32_t> order = {};
  std::optional<int64_t> open = {};
};

// One batch being filled by any number of workers: each claims the next place and fills it, and the
// one that fills the last place finishes the batch: it lists what was skipped or tolerated, and
// computes the digest. Any thread; claiming takes no lock. Errors of samples are kept until take().
// Owns the batch until then; refers to nothing else.
//
// With `arrivals` a sample need not go to the place that it was claimed for: batches whose samples
// are being read share them (Arrivals). Then all of them stop together, and a job is one of shared
// ownership: a worker may read a sample of a batch that others have filled long since.
class BatchJob : public std::enable_shared_from_this<BatchJob> {
 public:
  using Finished = std::function<void(const BatchJob&)>;

  // Fills place i of `batch`, whose slot and labels are there, with samples[i] of its epoch.
  BatchJob(Batch batch, std::vector<int64_t> samples, const SampleSpec& spec, bool digest,
           BatchClaims claims = {}, JobGroup group = {});

  // Fills places until no place is left to claim. `finished` is called for each batch that this
  // call finished: this one, or with arrivals any. A sample's failure is never thrown here.
  void work(
      SampleLoader& loader, const Finished& finished = [](const BatchJob&) {});
  // From now on the first `places` may be claimed. They never become fewer.
  void open(int64_t places) { open_ = places; }
  // Whether there is a place to claim now.
  bool claimable() const { return next_ < open_; }
  // Nobody will take the batch: workers that wait for a tier need not go on. They work with this
  // token.
  void interrupt() { group_.stop.request_stop(); }
  std::stop_token stop() const { return group_.stop.get_token(); }
  // Ends the claiming of places. True: no worker is at one, the job is over with this call.
  bool cancel();
  // The batch, or throws the error of its first bad place, whichever was met first. Once, after the
  // job is finished.
  Batch take();
  // Those that it was made for.
  const std::vector<int64_t>& samples() const { return samples_; }
  // Of the batch; also after take().
  int64_t epoch() const { return epoch_; }
  int64_t index() const { return index_; }

 private:
  // The next place to claim; nothing: none is left now.
  std::optional<int64_t> claim();
  // Loads the sample of one place, or keeps its error.
  void fill(int64_t place, SampleLoader& loader, LoadCost& cost);
  // The same; the sample gets a place when it has been read.
  void fill_any(int64_t place, SampleLoader& loader, const Finished& finished);
  // Where a place's pixels go. No other worker has the place, so it needs no lock.
  uint8_t* pixels(int64_t place) {
    return batch_.pixels.get() + static_cast<size_t>(place) * spec_.bytes();
  }
  // The sample is in its place.
  void keep(int64_t place, LoadedSample sample);
  // The error of the first bad place is the batch's, whichever worker was quicker.
  void keep_error(int64_t place);
  // So many more places are filled, and no worker of this call is at one. True: the batch is
  // finished by this.
  bool filled(int64_t places, const LoadCost& cost, LoaderMeter& meter);
  // Called by the worker that filled the last place, alone.
  void finish(LoaderMeter& meter);

  Batch batch_;
  const int64_t epoch_;
  const int64_t index_;
  const std::vector<int64_t> samples_;
  const std::vector<int32_t> claims_;
  const SampleSpec spec_;
  const bool digest_;
  JobGroup group_;
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
