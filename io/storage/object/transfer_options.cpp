#include "io/storage/object/transfer_options.h"

#include <functional>
#include <string>

#include "io/core/digest.h"
#include "io/metrics/tier_meter.h"

namespace stoker {

void TransferOptions::check(const Section& section) const {
  constexpr uint64_t kLeast = 64 << 10;
  constexpr uint64_t kMost = uint64_t{1} << 30;
  if (part.bytes < kLeast || part.bytes > kMost) {
    section.fail("part", "must be from 64KiB to 1GiB");
  }
  if (timeout.ms < 1 || timeout.ms > 3'600'000)
    section.fail("timeout", "must be from 1ms to 60min");
}

Transfers::Settings TransferOptions::transfers(const Storage::Inputs& inputs) const {
  Transfers::Settings settings;
  settings.connections = connections;
  settings.limits.timeout_ms = timeout.ms;
  if (ca_file) settings.limits.ca_file = ca_file->value;
  settings.retry.retries = retries;
  // Other processes wait for other times: that is what the waits are at random for.
  settings.seed = std::hash<std::string>()(unique_name(inputs.name));
  if (inputs.meter != nullptr) {
    settings.retried = [meter = inputs.meter](const std::string& first) {
      meter->add_condition("requests had to be made again; the first: " + first);
    };
  }
  return settings;
}

void check_url(const Section& section, const char* key, const std::string& url) {
  const std::string wrong = wrong_with_url(url);
  if (!wrong.empty()) section.fail(key, wrong);
}

}  // namespace stoker
