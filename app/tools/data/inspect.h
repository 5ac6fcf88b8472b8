#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/base/config_arguments.h"
#include "io/core/error.h"
#include "io/dataset/dataset.h"
#include "io/decoder/decoder.h"

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

// A sample that no run could use, unless its decoder tolerates damage. A value.
struct UnreadableSample {
  // Its name in the data set.
  std::string key;
  BadReason reason = BadReason::corrupt;
  // What was expected, and what was found.
  std::string message;
  // The tolerant decoder can use the sample.
  bool decodable = false;
};

// What is known of a data set after every sample was read once. A value.
struct DatasetReport {
  // All classes in the order of their labels.
  std::vector<ClassCount> classes;
  // Encoded size of all samples together, and of each.
  uint64_t bytes = 0;
  Percentiles encoded_bytes;
  // Sizes of JPEG images, as the headers say.
  Percentiles width;
  Percentiles height;
  Percentiles pixels;
  // How many of each: "baseline YCbCr 4:2:0", "progressive gray", "png".
  std::map<std::string, int64_t> kinds;
  // All unusable samples in their order, training samples first.
  std::vector<UnreadableSample> unreadable;
  // How many of them the tolerant decoder can use. Absent: there was no such decoder.
  std::optional<int64_t> decodable;
  // Objects of the tier that are no samples.
  std::vector<std::string> ignored;
};

// Reads every sample once, and its header; decodes none that it can read, so that damage inside the
// compressed data remains unseen unless it ends the file early. A sample that cannot be read is
// part of the report. tolerant: a decoder that tolerates damage and is tried on those; may be null.
// progress (done, total) may be empty and may throw to stop. One thread.
DatasetReport inspect_dataset(const Dataset& dataset, const Decoder* tolerant = nullptr,
                              const std::function<void(int64_t, int64_t)>& progress = {});

// `stoker dataset inspect`: prints the report of an experiment's data set. Throws Error.
ExitCode inspect_experiment(const ConfigArguments& arguments);

// The report as `--json` prints it.
void to_json(nlohmann::json& json, const Percentiles& percentiles);
void to_json(nlohmann::json& json, const DatasetReport& report);

}  // namespace stoker
