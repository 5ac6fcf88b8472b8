#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "io/core/batch.h"
#include "io/core/sample_spec.h"
#include "io/experiment/batch_identity.h"
#include "io/experiment/experiment_data.h"
#include "io/loader/failure_budget.h"
#include "python/bindings/consumer.h"
#include "python/bindings/process.h"

namespace stoker::python {

// What components have to say, from any thread, until Python's own thread hands it to its log.
class Remarks {
 public:
  void add(const std::string& text);
  // For components that this outlives.
  Notify notify() {
    return [this](const std::string& text) { add(text); };
  }
  // log: a function of Python's, which is called for each.
  void tell(nanobind::handle log);

 private:
  std::mutex mutex_;
  std::vector<std::string> texts_;
};

// stoker._core.Loader: a loader with the data that it loads. In a forked child every method but
// close() is an Error, and nothing is given back. With the GIL held.
class LoaderHandle {
 public:
  // Where the loader stands: the batch that next() gives.
  struct Place {
    int64_t epoch = 0;
    int64_t batch = 0;
    bool operator==(const Place&) const = default;
  };
  // Goes with close(), and with the last thread that still waits in it. The consumer first: it uses
  // the rest.
  struct Opened {
    Remarks remarks;
    DataOptions options;
    Shard shard;
    std::unique_ptr<ExperimentData> data;
    std::unique_ptr<Loader> loader;
    int64_t samples = 0;
    SampleSpec spec;
    std::optional<FailureBudget> budget;
    Split split{};
    std::optional<BatchIdentity> identity;  // once somebody has asked for it
    Place place;
    bool closed = false;
    bool moved = true;   // the loader stands elsewhere
    bool asked = false;  // the consumer has been asked for a batch that nobody has taken
    // Of that batch; the consumer writes it.
    std::variant<std::optional<Batch>, std::exception_ptr> result;
    Consumer consumer;
  };

  LoaderHandle(nanobind::handle source, const std::vector<std::string>& overrides,
               const std::string& split, int64_t rank, int64_t world, nanobind::object allocate,
               uint64_t may_hold, nanobind::object log);
  ~LoaderHandle();
  LoaderHandle(const LoaderHandle&) = delete;
  LoaderHandle& operator=(const LoaderHandle&) = delete;

  // The next next() gives this batch.
  void start(int64_t epoch, int64_t batch);
  // The next batch of this epoch, or None where the loader stands in another one. At the end of an
  // epoch it goes to the begin of the next one.
  nanobind::object next(int64_t epoch);
  // The bad samples that next() has given so far (FailureCounts), as JSON. resume(): with those of
  // an earlier process.
  std::string failures() const;
  void resume(const std::string& failures);
  // What makes its batches what they are (BatchIdentity), as JSON. check(): Error where a state
  // that has this instead is that of other batches, and is within an epoch; a remark at its begin.
  std::string identity() const;
  void check(const std::string& state, bool within);
  // Waits for no more than a system call that is under way.
  void close();
  // Error where it was closed.
  const std::shared_ptr<Opened>& opened() const;

 private:
  const BatchIdentity& known_identity() const;
  static void ask(Opened& opened);
  static std::optional<Batch> take(Opened& opened, int64_t epoch);

  const OwnProcess process_;
  const nanobind::object log_;
  std::shared_ptr<Opened> opened_;
};

// stoker._core.Batch: a batch with the shape of its samples.
struct BatchHandle {
  Batch batch;
  SampleSpec spec;
};

void bind_batch(nanobind::module_& module);

}  // namespace stoker::python
