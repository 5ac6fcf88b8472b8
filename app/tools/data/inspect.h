#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/base/command_line.h"
#include "io/core/batch.h"
#include "io/core/error.h"
#include "io/dataset/dataset.h"
#include "io/decoder/decoder.h"
#include "io/experiment/data_options.h"

namespace stoker {

// Percentiles of a set of sizes by the nearest-rank method, so that every figure is the size of
// some file. A value.
struct Percentiles {
  int64_t count = 0;
  uint64_t min = 0, p1 = 0, p50 = 0, p90 = 0, p99 = 0, max = 0;
};

// `values` in any order; all zeros where it is empty.
Percentiles percentiles(std::vector<uint64_t> values);

// Samples of one class. A value.
struct ClassCount {
  std::string name;
  int64_t train = 0;
  int64_t test = 0;
};

// A sample that is a bad one to training. A value.
struct UnreadableSample {
  // Its name in the data set.
  std::string key;
  BadReason reason = BadReason::corrupt;
  // What was expected, and what was found.
  std::string message;
  // The tolerant decoder can use the sample.
  bool decodable = false;
};

// What is known of a data set. A value.
struct DatasetReport {
  // All classes in the order of their labels. Their counts, and the encoded sizes, are those of all
  // samples, whether they can be used or not.
  std::vector<ClassCount> classes;
  // Samples without a label that training can use; all of them are bad.
  std::vector<std::string> without_label;
  uint64_t bytes = 0;
  Percentiles encoded_bytes;
  // What follows is of the samples that were read and decoded: so many, of so many.
  int64_t looked_at = 0;
  int64_t samples = 0;
  // Sizes of images, as their headers say.
  Percentiles width;
  Percentiles height;
  Percentiles pixels;
  // How many of each: "baseline YCbCr 4:2:0", "progressive gray", "png"; what no image file is, as
  // its decoder calls it: "pixels".
  std::map<std::string, int64_t> kinds;
  int64_t jpegs = 0;  // of all kinds of JPEG together
  // All unusable samples in their order, training samples first.
  std::vector<UnreadableSample> unreadable;
  // How many of them the tolerant decoder can use. Absent: there was no such decoder.
  std::optional<int64_t> decodable;
  // Damaged samples that the decoder uses all the same (decoder.tolerance), in their order.
  std::vector<ToleratedSample> tolerated;
  // Objects of the tier that are no samples.
  std::vector<std::string> ignored;
};

// How samples are judged. Refers to the decoders.
struct InspectOptions {
  // The experiment's: what it can decode by the evaluation transform is a good sample.
  const Decoder& decoder;
  // What that says of itself.
  DecoderInfo info = {};
  // The same decoder, but tolerant of damage, which is tried on bad samples. Null: there is none.
  const Decoder* tolerant = nullptr;
  // How many samples of each split to look at, in even steps.
  Budget samples{100, true};
  int64_t threads = 1;
};

// Reads and decodes samples as a loader does, so that the bad ones are those of training. Which
// samples, `options` says; classes and sizes are counted of all. progress (done, total) may be
// empty and may throw to stop; it is called by one thread at a time. Throws what ends a training
// whatever dataset.on_error says.
DatasetReport inspect_dataset(const Dataset& dataset, const InspectOptions& options,
                              const std::function<void(int64_t, int64_t)>& progress = {});

// The same of the data set that `options` describe, by its decoder, on all cores. Says how far it
// is on standard error.
DatasetReport inspect_data(DataOptions options, const Budget& samples);
// What `stoker dataset inspect` prints. decoder: the type that was asked for.
std::string inspection_text(const DatasetReport& report, const std::string& decoder);

// The arguments of `stoker dataset inspect`.
struct InspectArguments : ConfigArguments {
  std::string samples = "100%";
};

// `stoker dataset inspect`: prints the report of an experiment's data set. Throws Error.
ExitCode inspect_experiment(const InspectArguments& arguments);

// The report as `--json` prints it.
void to_json(nlohmann::json& json, const Percentiles& percentiles);
void to_json(nlohmann::json& json, const DatasetReport& report);

}  // namespace stoker
