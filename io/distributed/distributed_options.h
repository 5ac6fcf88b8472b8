#pragma once

#include <string>

#include "io/core/config/config.h"

namespace stoker {

// `distributed:`, how ranks meet and exchange gradients. A value. It changes nothing where there is
// one rank.
struct DistributedOptions {
  // Of the gradients.
  std::string backend = "gloo";
  Duration timeout{60'000};
  ByteSize bucket{25u << 20};
  template <class V>
  void visit(V& v) {
    v("backend", backend, same_results("of the collectives: gloo, or nccl between GPUs"));
    v("timeout", timeout,
      same_results("after which a rank that does not answer ends all others with exit code 6"));
    v("bucket", bucket,
      "gradients are exchanged in pieces of about this size, while backward goes on");
  }
  // backend is one that is registered; timeout and bucket are more than nothing.
  void check(const Section& section) const;
};

}  // namespace stoker
