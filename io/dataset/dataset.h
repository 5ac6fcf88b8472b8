#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/core/config/config.h"
#include "io/core/error.h"
#include "io/core/stored_array.h"
#include "io/storage/storage.h"

namespace stoker {

// Which part of the data: trained on, or evaluated.
enum class Split { train, test };

// What is known of a sample without reading it. A value. It costs a string: not for inner loops.
struct SampleInfo {
  // Names the sample in messages: its path, or "synthetic/17".
  std::string key;
  // Place of its class in Dataset::classes(). -1: it has none; such a sample is a bad one.
  int64_t label = 0;
  // Encoded size; for `decoded` and `packed` that of the pixels.
  uint64_t bytes = 0;
  // Number of the file that it shares with other samples, below 0: it has one of its own.
  int64_t file = -1;
  // Key of the tier's object that it lies in; empty: its own, `key`.
  std::string object = {};
};

// One sample as its format keeps it: the bytes for the decoder. A value that does not own them;
// Dataset::read says how long they live.
struct EncodedSample {
  Bytes bytes;
  int64_t label = 0;
  // What DecoderSession::tolerated() said, if the data set has just decoded the sample.
  std::string tolerated = {};
};

// How many bad samples a run bears: a count ("10") or a share of the training samples ("0.1%"). A
// value.
struct Budget {
  // A whole number; percent: from 0 to 100.
  double value = 0;
  bool percent = false;
  // The budget in samples for a data set with `samples` training samples. A share is rounded down.
  int64_t of(int64_t samples) const;
};

// How a configuration writes it.
template <>
struct Scalar<Budget> {
  static bool parse(const std::string& text, Budget& out);
  static std::string format(const Budget& value);
  static constexpr const char* expected = "a count or a percentage such as 0.1%";
};

// What a bad sample does to the run. (Bad: BadSample of io/core/error.h, or unreadable.)
enum class ErrorPolicy { fail, skip };
EnumNames<ErrorPolicy> enum_names(ErrorPolicy);

// dataset.on_error: what a loader does with a BadSample. A value.
// A plug-in's data set hands it to Dataset's constructor.
struct OnError {
  ErrorPolicy policy = ErrorPolicy::fail;
  Budget budget{10, false};
  template <class V>
  void visit(V& v) {
    v("policy", policy,
      "`fail`: the run stops at the first bad sample. `skip`: another sample takes its place.");
    v("budget", budget,
      "With `policy: skip`, how many bad samples are allowed before the run ends with exit code 4: "
      "a count, or a percentage of the training samples.");
  }
};

// What a data set is, as its options say it (Component<Dataset>::info), before anything is listed.
// A value.
struct DatasetInfo {
  // The tier that it reads. Empty: it reads no tier.
  std::string tier = {};
  // Reads a whole file for the first of its samples.
  bool whole_files = false;
  // Reads a sample once, and keeps it.
  bool keeps_samples = false;
};

// What the samples of an object are where they are no files: these arrays, one behind the other. A
// value.
struct SampleArrays {
  std::vector<StoredArray> arrays;
  // Key of the first object whose samples are such.
  std::string object;
};

// A format: (split, index) -> one encoded sample with its label. Immutable after construction; any
// thread. The constructor lists the tier and opens no sample; it throws Error(ExitCode::config or
// environment) where there is nothing to train on. The tiers must outlive it.
class Dataset {
 public:
  static constexpr const char* kKind = "dataset";
  using Info = DatasetInfo;
  struct Inputs {
    // All of the experiment, by name.
    const Tiers& tiers;
    // The run's seed; splits are functions of it.
    uint64_t seed;
    // Remarks for the user's log.
    Notify notify;
  };
  explicit Dataset(OnError on_error) : on_error_(on_error) {}
  virtual ~Dataset() = default;

  // Names by label, 0 to classes().size() - 1.
  virtual const std::vector<std::string>& classes() const = 0;
  // Samples of the split; 0 is possible for Split::test only.
  virtual int64_t size(Split split) const = 0;
  // What is known about sample `index` in [0, size(split)) without reading it.
  virtual SampleInfo info(Split split, int64_t index) const = 0;
  // Reads one sample. Its bytes lie in `scratch`, or, without a copy, in memory that the data set
  // keeps unchanged as long as it lives: they are valid until `scratch` is used again. Throws
  // IoError, or BadSample for damage that the format sees.
  virtual EncodedSample read(Split split, int64_t index, Buffer& scratch) const = 0;
  // A hint: these will be asked for by read() soon, once each, in about this order: so what lies
  // side by side can be read at once, and a tier can have requests in flight (Storage::expect).
  // Without indices it takes back all that was said about the split before. It never fails, and it
  // waits for no read.
  virtual void expect(Split /*split*/, std::span<const int64_t> /*indices*/) const {}

  // What loaders do with a bad sample of this data set.
  const OnError& on_error() const { return on_error_; }
  // Keys of files that are not samples and were left out (Caltech's BACKGROUND_Google/tmp).
  const std::vector<std::string>& ignored() const { return ignored_; }
  // What its samples are, each of them once; without any, they are files, or nobody knows.
  const std::vector<SampleArrays>& arrays() const { return arrays_; }

 protected:
  // Both in the constructor of a derived class.
  void leave_out(std::vector<std::string> keys) { ignored_ = std::move(keys); }
  void hold(SampleArrays arrays);

 private:
  OnError on_error_;
  std::vector<std::string> ignored_;
  std::vector<SampleArrays> arrays_;
};

// Error(ExitCode::config), with what to set, where a decoder of that type can't take the arrays of
// the data set.
void check_arrays(const Dataset& dataset, const std::string& decoder, const ArrayVerdict& verdict);

// Keys of the tier's objects in which samples of a split lie, each once; without indices of all.
std::vector<std::string> objects_of(const Dataset& dataset, Split split);
std::vector<std::string> objects_of(const Dataset& dataset, Split split,
                                    std::span<const int64_t> indices);

template <>
Registry<Dataset>& Registry<Dataset>::global();

}  // namespace stoker
