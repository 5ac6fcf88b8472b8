#pragma once

#include <string>

#include "io/core/config/config.h"

namespace stoker {

// `distributed:` of an experiment: how its ranks meet and exchange gradients. A value. With one
// rank it changes nothing.
struct DistributedOptions {
  std::string backend = "gloo";
  Duration timeout{60'000};
  ByteSize bucket{25u << 20};
  template <class V>
  void visit(V& v) {
    v("backend", backend,
      same_results("The library that exchanges the gradients: gloo, or nccl between GPUs."));
    v("timeout", timeout,
      same_results("A rank that does not answer for this long ends all others with exit code 6."));
    v("bucket", bucket,
      "Gradients are exchanged in pieces of about this size while backward goes on.");
  }
  // The backend is one that is registered; timeout and bucket are greater than 0.
  void check(const Section& section) const;
};

}  // namespace stoker
