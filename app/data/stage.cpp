#include "app/data/stage.h"

#include <algorithm>
#include <set>

#include "io/metrics/clock.h"

namespace stoker {

StagingReport plan_staging(const CachedOptions& options, const Storage& inner, const Storage& in) {
  StagingReport report;
  const StagedBefore before = recognise(inner, in);
  std::set<std::string> taken(before.strange.begin(), before.strange.end());
  report.strange = std::ssize(before.strange);
  for (const ObjectInfo& copy : before.copies) {
    ++report.staged_before;
    report.bytes_before += copy.bytes;
    taken.insert(copy.key);
  }
  std::vector<ObjectInfo> objects = inner.list("");
  for (const ObjectInfo& object : objects) {
    if (object.key.ends_with('/')) continue;
    ++report.objects;
    report.bytes += object.bytes;
  }
  std::erase_if(objects, [&](const ObjectInfo& object) { return taken.contains(object.key); });
  report.plan = choose(objects, options.rule, report.bytes_before);
  return report;
}

void stage_dataset(StagingReport& report, const Storage& inner, Storage& in,
                   const std::function<void(uint64_t, uint64_t)>& progress) {
  const TimePoint begin = Clock::now();
  for (const ObjectInfo& object : report.plan.objects) {
    if (copy_object(inner, in, object, [] { return false; }) == Copied::yes) {
      ++report.copied;
      report.bytes_copied += object.bytes;
    } else {
      ++report.unreadable;
    }
    if (progress) progress(report.bytes_copied, report.plan.bytes);
  }
  report.seconds = seconds(Clock::now() - begin);
}

}  // namespace stoker
