#include "io/storage/object/transfer_options.h"

#include <string>

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

HttpTransport::Inputs TransferOptions::transport(const Storage::Inputs& inputs) const {
  HttpTransport::Inputs transport;
  transport.in_flight = in_flight.count;
  transport.limits.timeout_ms = timeout.ms;
  transport.limits.slow_ms = timeout.ms / 2;
  if (ca_file) transport.limits.ca_file = ca_file->value;
  transport.retry.retries = retries;
  transport.more_attempts = "; more by the tier's `retries`";
  if (inputs.meter != nullptr) {
    transport.retried = [meter = inputs.meter](const std::string& first) {
      meter->add_condition("requests had to be made again; the first: " + first);
    };
    transport.most_in_flight = [meter = inputs.meter](int64_t most) {
      meter->set_most_in_flight(most);
    };
  }
  return transport;
}

void check_url(const Section& section, const char* key, const std::string& url) {
  const std::string wrong = wrong_with_url(url);
  if (!wrong.empty()) section.fail(key, wrong);
}

}  // namespace stoker
