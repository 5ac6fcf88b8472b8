#include "io/dataset/read_sample.h"

#include <fmt/format.h>

#include "io/core/system/shortage.h"

namespace stoker {

EncodedSample read_sample(const Dataset& dataset, Split split, int64_t index, Buffer& scratch) {
  try {
    return dataset.read(split, index, scratch);
  } catch (const IoError& error) {
    if (is_absent(error)) throw BadSample(BadReason::missing, error.what());
    throw tier_failure("sample " + dataset.info(split, index).key, error);
  }
}

Error tier_failure(const std::string& what, const IoError& error) {
  if (is_shortage(error)) return {error.code(), error.what()};
  const std::string tier = error.tier().empty() ? "its tier" : "tier '" + error.tier() + "'";
  return {ExitCode::storage,
          fmt::format("dataset: {} cannot be read, because {} fails: {}: see that the tier "
                      "answers and may be read, and start it again",
                      what, tier, error.what())};
}

}  // namespace stoker
