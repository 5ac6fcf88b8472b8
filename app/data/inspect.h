#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "app/base/config_arguments.h"
#include "io/core/error.h"
#include "io/dataset/dataset.h"

namespace stoker {

// Of a set of sizes, by the nearest-rank method: every figure is the size of some file.
struct Percentiles {
  int64_t count = 0;
  uint64_t min = 0, p1 = 0, p50 = 0, p90 = 0, p99 = 0, max = 0;
};

// `values` in any order; all zeros where it is empty.
Percentiles percentiles(std::vector<uint64_t> values);

struct ClassCount {
  std::string name;
  int64_t train = 0;
  int64_t test = 0;
};

struct UnreadableSample {
  std::string key;
  BadReason reason = BadReason::corrupt;
  std::string message;
};

// What is known of a data set after every sample was read once.
struct DatasetReport {
  std::vector<ClassCount> classes;
  uint64_t bytes = 0;  // of all samples
  Percentiles encoded_bytes;
  Percentiles width;  // of JPEG files, as their headers say
  Percentiles height;
  Percentiles pixels;
  std::map<std::string, int64_t> kinds;  // "baseline YCbCr 4:2:0", "progressive gray", "png"
  std::vector<UnreadableSample> unreadable;
  std::vector<std::string> ignored;
};

// Reads every sample once, and its header; decodes nothing, so that damage inside the compressed
// data remains unseen unless it ends the file early. progress (done, total) may be empty and may
// throw to stop.
DatasetReport inspect_dataset(const Dataset& dataset,
                              const std::function<void(int64_t, int64_t)>& progress = {});

// `stoker dataset inspect`: prints the report of an experiment's data set.
ExitCode inspect_experiment(const ConfigArguments& arguments, bool json);

void to_json(nlohmann::json& json, const Percentiles& percentiles);
void to_json(nlohmann::json& json, const DatasetReport& report);

}  // namespace stoker
