#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/core/config/node.h"

namespace stoker {

// A workload file of DLIO (dlio_benchmark), which MLPerf Storage (mlpstorage) runs, as its versions
// 1 to 3 read it. Values and functions without state; any thread.

// A time that DLIO draws anew for each step. A value.
struct DlioTime {
  // constant, normal, uniform, gamma, exponential or poisson.
  std::string law = "constant";
  double mean = 0;   // seconds
  double stdev = 0;  // seconds
};

// The states of a model that DLIO saves where it is a transformer. A value.
struct DlioModel {
  std::string name = "default";
  int64_t layers = 0;
  int64_t hidden = 0;
  int64_t ffn = 0;
  int64_t tensor = 1;
  int64_t pipeline = 1;
  int64_t data = 0;  // 0: as many as there are processes
  int64_t zero_stage = 0;
};

// What the translation needs of a file, with DLIO's defaults. A value. Secrets are never read.
struct DlioWorkload {
  DlioModel model;
  std::string framework = "tensorflow";
  bool train = true;
  bool evaluate = false;
  bool checkpoint = false;

  std::string data_folder = "./data/";
  std::string format = "tfrecord";
  std::string prefix = "img";
  int64_t files = 8;
  int64_t test_files = 0;
  int64_t samples_per_file = 1;
  double record_bytes = 64 * 1024;
  double record_stdev = 0;
  double record_resize = 0;
  int64_t subfolders = 0;
  int64_t test_subfolders = 0;
  std::string compression = "none";
  std::string element_type = "uint8";
  int64_t hdf5_sets = 1;
  std::string hdf5_name = "records_0";  // of the first one
  int64_t parquet_group = 1024;         // rows of a row group
  bool parquet_columns = false;         // other ones than `data`
  std::string parquet_partition;        // the column by which the data are divided into folders

  std::string data_loader = "tensorflow";
  int64_t batch = 1;
  int64_t test_batch = 1;
  int64_t read_threads = 1;
  int64_t computation_threads = 1;
  int64_t prefetch = 2;
  int64_t shuffle_size = 1024;
  std::string file_shuffle = "off";
  std::string sample_shuffle = "off";
  int64_t transfer_size = 0;
  bool odirect = false;
  DlioTime preprocess;

  int64_t epochs = 1;
  int64_t total_steps = 0;  // of an epoch at most; 0: no limit
  int64_t seed = 123;
  bool seed_change_epoch = true;
  DlioTime computation;

  DlioTime evaluation;
  int64_t epochs_between_evals = 1;

  std::string checkpoint_folder = "./checkpoints/";
  int64_t checkpoints_written = 0;
  bool checkpoint_fsync = false;
  std::string checkpoint_mode = "default";

  double au = 0.9;  // 0 to 1
  int64_t excluded_first = 1;
  int64_t excluded_last = 0;

  std::string storage = "local_fs";
  std::string storage_root;
  std::string endpoint;  // without user and password
  std::string region;

  // Keys that DLIO does not read either, or that this reader does not know: "dataset.colour".
  std::vector<std::string> unknown;
  // Keys under which the file has secrets; these are not here.
  std::vector<std::string> secrets;

  int64_t samples() const { return files * samples_per_file; }
  double bytes() const { return static_cast<double>(samples()) * record_bytes; }
  // Of an epoch, with so many accelerators.
  int64_t steps(int64_t accelerators = 1) const { return samples() / (batch * accelerators); }
  // Only checkpoints are written and read.
  bool only_checkpoints() const { return checkpoint && !train; }
};

// The workload of a file's tree; one with a key `workload`, as Hydra leaves behind, is taken from
// below it. Error(ExitCode::config), with the place: values of another type than DLIO takes,
// interpolations (${...}), numbers out of their range.
DlioWorkload read_workload(const Node& file);

}  // namespace stoker
