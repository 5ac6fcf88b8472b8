#include "app/advise/object_use.h"

#include <algorithm>
#include <string_view>

#include "io/core/text.h"

namespace stoker {

void use_seen(const SeenReads& seen, double times, std::vector<ObjectUse>& uses) {
  for (ObjectUse& use : uses) {
    const auto found = seen.find(use.key);
    const ReadPattern reads = found == seen.end() ? ReadPattern{} : found->second;
    static_cast<ReadPattern&>(use) = {times * reads.opens, times * reads.requests,
                                      times * reads.seeks, times * reads.bytes_read};
  }
}

SeenReads seen_reads(const IoProfile& profile, const std::string& root) {
  const std::string below = root.ends_with('/') ? root : root + '/';
  SeenReads seen;
  for (const FileIo& file : profile.files) {
    if (!file.posix || !file.path.starts_with(below)) continue;
    const auto counter = [&](PosixCounters::Counter which) {
      return static_cast<double>(std::max<int64_t>(0, file.posix->counters[which]));
    };
    const double requests = counter(PosixCounters::READS);
    if (requests == 0) continue;
    ReadPattern& reads = seen[to_text(std::string_view(file.path).substr(below.size()))];
    reads.opens += counter(PosixCounters::OPENS);
    reads.requests += requests;
    reads.seeks += std::max(0.0, requests - counter(PosixCounters::CONSEC_READS));
    reads.bytes_read += counter(PosixCounters::BYTES_READ);
  }
  return seen;
}

}  // namespace stoker
