#include "app/tools/advise/object_use.h"

#include <algorithm>
#include <string_view>

#include "io/core/text/text.h"

namespace stoker {

ReadPattern& ReadPattern::operator+=(const ReadPattern& more) {
  opens += more.opens;
  requests += more.requests;
  seeks += more.seeks;
  bytes_read += more.bytes_read;
  return *this;
}

void use_seen(const SeenReads& seen, double times, std::vector<ObjectUse>& uses) {
  for (ObjectUse& use : uses) {
    const auto found = seen.find(use.key);
    const ReadPattern reads = found == seen.end() ? ReadPattern{} : found->second;
    static_cast<ReadPattern&>(use) = {times * reads.opens, times * reads.requests,
                                      times * reads.seeks, times * reads.bytes_read};
  }
}

SeenReads seen_reads(const IoProfile& profile, const std::string& root, int64_t readers) {
  const double others = 1 - 1 / static_cast<double>(std::max<int64_t>(readers, 1));
  const std::string below = root.ends_with('/') ? root : root + '/';
  SeenReads seen;
  for (const FileIo& file : profile.files) {
    if (!file.posix || !file.path.starts_with(below)) continue;
    const auto counter = [&](PosixCounters::Counter which) {
      return static_cast<double>(std::max<int64_t>(0, file.posix->counters[which]));
    };
    const double requests = counter(PosixCounters::READS);
    if (requests == 0) continue;
    const double opens = counter(PosixCounters::OPENS);
    const double consecutive = std::min(requests, counter(PosixCounters::CONSEC_READS));
    // Reads of nothing, at the end: nothing is sought for them.
    const double empty = std::min({consecutive, opens, counter(PosixCounters::SIZE_READ_0_100)});
    seen[to_text(std::string_view(file.path).substr(below.size()))] +=
        {opens, requests, requests - consecutive + (consecutive - empty) * others,
         counter(PosixCounters::BYTES_READ)};
  }
  return seen;
}

}  // namespace stoker
