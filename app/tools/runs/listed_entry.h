#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "app/tools/runs/run_list.h"
#include "app/tools/runs/shared_config.h"

namespace stoker {

// What the entries of one list share. Any thread.
struct ListReading {
  const std::string figure;  // of a summary, beyond listed_figures(); empty: none
  SharedConfigs configs;
  std::atomic<size_t> files_read = 0;
};

// Which version of a file it is. All zero: there is none.
struct FileStamp {
  uint64_t inode = 0;
  int64_t bytes = 0, written_ns = 0, changed_ns = 0;
  bool operator==(const FileStamp&) const = default;
};

// A run or a sweep as its files were read last. One thread at a time.
class ListedEntry {
 public:
  // Without a name.
  const ListedRun& run() const { return run_; }
  // Looks at it again, and reads what has changed. Returns whether anything of it is otherwise.
  bool refresh(const std::string& directory, bool sweep, ListReading& reading);

 private:
  void look_at_run(ListReading& reading);
  void look_at_sweep(ListReading& reading);
  void read_run(ListReading& reading);

  ListedRun run_;
  FileStamp results_, config_;  // summary.json or, of a sweep, results.json; config.yaml
  std::string host_;            // of a run without a summary: where it ran
  bool fresh_ = true;           // nothing was read yet
};

}  // namespace stoker
