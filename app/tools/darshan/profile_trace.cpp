#include "app/tools/darshan/profile_trace.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "io/core/config/config.h"
#include "io/core/config/registry.h"
#include "io/profiler/view/file_lanes.h"

namespace stoker {

ProfileTrace::ProfileTrace(const std::string& directory)
    : sink_(Registry<MetricsSink>::global()
                .parse(Section(parse_yaml("{type: trace, max_bytes: 4g}", "trace"), "", "trace",
                               nullptr))
                .create({directory, [this](const std::string& line) { line_ = line; }, false, false,
                         hub_, [] { return false; }})),
      start_(Clock::now()) {}

void ProfileTrace::add(IoProfile profile) {
  if (!first_ns_) first_ns_ = profile.begin_ns;
  const auto begin =
      std::chrono::duration_cast<std::chrono::nanoseconds>(start_.time_since_epoch());
  // The logs are expected to be of one run. If they were years apart, a common axis of time would
  // say nothing.
  constexpr int64_t kYear = int64_t{366} * 86400 * 1'000'000'000;
  int64_t after = 0;
  if (__builtin_sub_overflow(profile.begin_ns, *first_ns_, &after)) after = kYear;
  profile.begin_monotonic_ns = begin.count() + std::clamp(after, -kYear, kYear);
  hub_.tracer().add(file_lanes(profile));
}

std::string ProfileTrace::finish() {
  sink_->flush();
  return line_;
}

}  // namespace stoker
