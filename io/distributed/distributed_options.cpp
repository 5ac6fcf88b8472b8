#include "io/distributed/distributed_options.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "io/distributed/collectives.h"

namespace stoker {

void DistributedOptions::check(const Section& section) const {
  std::vector<std::string> known;
  for (const auto& [name, each] : collectives()) known.push_back(name);
  if (!collectives().contains(backend)) {
    section.fail("backend", fmt::format("is no backend of collectives that is there: '{}'{}",
                                        backend, suggestion(backend, known)));
  }
  if (timeout.ms <= 0) section.fail("timeout", "must be more than nothing");
  if (bucket.bytes == 0) section.fail("bucket", "must be more than nothing");
}

}  // namespace stoker
