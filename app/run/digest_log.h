#pragma once

#include <optional>
#include <string>

#include "io/core/batch.h"
#include "io/core/error.h"
#include "io/sinks/output_file.h"

namespace stoker {

// digests.csv in the run directory: a row per batch where loader.digest is on. The chain is one
// digest of all batches in their order, over all processes of a run: equal chains mean that every
// byte was equal. One thread at a time.
class DigestLog {
 public:
  // warn: is told once if the file cannot be written.
  DigestLog(const std::string& directory, Notify warn)
      : path_(directory + "/digests.csv"), warn_(std::move(warn)) {}

  // Appends a row of a batch, of whose samples these are the digests (Batch::digests of all ranks);
  // makes the file at the first one. From the first row that cannot be written on, only the chain
  // counts.
  void add(const Batch& batch, const std::string& digests);
  // The error of the write that failed. Empty: everything was written.
  const std::string& error() const { return error_; }
  // The chain. Empty: there were no digests.
  const std::string& chain() const { return chain_; }
  // Goes on from the chain of an earlier process.
  void resume(const std::string& chain) { chain_ = chain; }

 private:
  void write(const std::string& row);

  const std::string path_;
  const Notify warn_;
  std::optional<OutputFile> file_;
  std::string error_;
  std::string chain_;
};

}  // namespace stoker
