#include "app/run/digest_log.h"

#include <fmt/format.h>
#include <xxhash.h>

namespace stoker {

void DigestLog::add(const Batch& batch) {
  if (batch.digest.empty()) return;
  if (!file_.is_open()) {
    file_.open(path_);
    file_ << "epoch,batch,digest\n";
  }
  file_ << batch.epoch << ',' << batch.index << ',' << batch.digest << '\n';
  const std::string link = chain_ + batch.digest;
  const XXH128_hash_t hash = XXH3_128bits(link.data(), link.size());
  chain_ = fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace stoker
