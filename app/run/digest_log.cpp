#include "app/run/digest_log.h"

#include <fmt/format.h>

#include "io/core/digest.h"
#include "io/core/error.h"

namespace stoker {

void DigestLog::add(const Batch& batch, const std::string& digests) {
  const std::string digest = xxh3_128(digests);
  if (error_.empty()) write(fmt::format("{},{},{}\n", batch.epoch, batch.index, digest));
  chain_ = xxh3_128(chain_ + digest);
}

void DigestLog::write(const std::string& row) {
  try {
    if (!file_) file_.emplace(path_).write("epoch,batch,digest\n");
    file_->write(row);
  } catch (const IoError& error) {
    error_ = error.what();
    warn_(error_ + ": the training goes on without digests.csv");
  }
}

}  // namespace stoker
