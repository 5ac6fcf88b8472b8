#include "app/tools/import_dlio/refusals.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "io/core/error.h"

namespace stoker {

void refuse_format(const DlioWorkload& w) {
  const std::string& format = w.format;
  std::string why;
  if (format == "csv") {
    why =
        "DLIO parses its text by pandas, which this program has nothing like: write the data as "
        "npz or hdf5";
  } else if (format == "synthetic") {
    why = "it reads no file: set dataset.format to the one that is to be read";
  } else if (w.samples_per_file > 1 &&
             (format == "npz" || format == "npy" || format == "jpeg" || format == "png")) {
    throw Error(ExitCode::config,
                fmt::format("dataset.num_samples_per_file={} with format {}: DLIO reads the whole "
                            "file again for each of its samples, and a sample here is a file: set "
                            "dataset.num_samples_per_file=1, or take hdf5, tfrecord or "
                            "indexed_binary",
                            w.samples_per_file, format));
  } else if (w.hdf5_sets > 1) {
    throw Error(ExitCode::config,
                "dataset.hdf5.num_dset_per_record: records that lie in several data sets are not "
                "read: set it to 1");
  }
  constexpr std::string_view kKnown[] = {
      "npz",     "npy", "jpeg", "png", "hdf5", "parquet", "indexed_binary", "mmap_indexed_binary",
      "tfrecord"};
  if (why.empty() && std::ranges::find(kKnown, format) == std::end(kKnown)) {
    why =
        "it is not known: set it to npz, npy, jpeg, png, hdf5, parquet, tfrecord or "
        "indexed_binary";
  }
  if (format == "parquet" && (w.parquet_columns || !w.parquet_partition.empty())) {
    throw Error(ExitCode::config,
                "dataset.parquet.columns and partition_by: only the form with the one column "
                "`data` is translated: leave both out, or write an experiment of your own with "
                "dataset.type=parquet and dataset.images=COLUMN");
  }
  if (!why.empty()) {
    throw Error(ExitCode::config, fmt::format("dataset.format {}: {}", format, why));
  }
}

}  // namespace stoker
