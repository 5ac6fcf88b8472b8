#pragma once

#include <fstream>
#include <string>

#include "io/core/batch.h"

namespace stoker {

// digests.csv in the run directory: a row per batch where loader.digest is on. The chain is one
// digest of all batches in their order, over all processes of a run: equal chains mean that every
// byte was equal. One thread at a time.
class DigestLog {
 public:
  explicit DigestLog(const std::string& directory) : path_(directory + "/digests.csv") {}

  // Appends a row, makes the file at the first one. Does nothing for a batch without a digest. A
  // file that cannot be written is not noticed here: the chain counts, and is in the summary.
  void add(const Batch& batch);
  // Empty: no digests.
  const std::string& chain() const { return chain_; }
  // Goes on from the chain of an earlier process.
  void resume(const std::string& chain) { chain_ = chain; }
  // All rows are in the file.
  void close() { file_.close(); }

 private:
  const std::string path_;
  std::ofstream file_;
  std::string chain_;
};

}  // namespace stoker
