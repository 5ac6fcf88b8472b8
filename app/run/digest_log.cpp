#include "app/run/digest_log.h"

#include "io/core/digest.h"

namespace stoker {

void DigestLog::add(const Batch& batch) {
  if (batch.digest.empty()) return;
  if (!file_.is_open()) {
    file_.open(path_);
    file_ << "epoch,batch,digest\n";
  }
  file_ << batch.epoch << ',' << batch.index << ',' << batch.digest << '\n';
  chain_ = xxh3_128(chain_ + batch.digest);
}

}  // namespace stoker
