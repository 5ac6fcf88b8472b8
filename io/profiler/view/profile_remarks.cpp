#include "io/profiler/view/profile_remarks.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <optional>

#include "io/core/text/text.h"
#include "io/profiler/profile_summary.h"

namespace stoker {
namespace {

std::string kernel_remark(const char* what, int64_t kernel, int64_t seen) {
  const int64_t more = kernel - seen;
  const double percent =
      kernel > 0 ? 100 * static_cast<double>(std::abs(more)) / static_cast<double>(kernel) : 0;
  return fmt::format("the kernel counts {} bytes {}, of which {} were seen: {} {} ({:.2f} %)",
                     kernel, what, seen, std::abs(more), more < 0 ? "too many" : "not", percent);
}

}  // namespace

std::vector<std::string> profile_remarks(const IoProfile& profile) {
  std::vector<std::string> remarks;
  for (const IoProfile::Emulated& of : profile.emulated) {
    const double waited = of.read_s + of.write_s + of.meta_s;
    const std::string begin = fmt::format(
        "tier '{}' is EMULATED: its times are calculated, not measured", to_text(of.tier));
    remarks.push_back(
        waited > 0 ? fmt::format("{}; the {:.2f} s for which its callers waited for its model are "
                                 "no system calls: they are in no counter of a file, but in the "
                                 "shares of time and in what was under way",
                                 begin, waited)
                   : begin);
  }
  const IoProfile::Dropped& dropped = profile.dropped;
  const auto partial = [&](bool is_partial, const char* module) {
    if (!is_partial) return;
    remarks.push_back(
        fmt::format("{} is incomplete: there was no memory for the records of more "
                    "files",
                    module));
  };
  partial(dropped.posix, "POSIX");
  partial(dropped.stdio, "STDIO");
  if (dropped.files > 0) {
    remarks.push_back(fmt::format("{} opens were of files without a record", dropped.files));
  }
  if (dropped.segments > 0) {
    remarks.push_back(
        fmt::format("{} reads and writes are counted, but single ones are not kept: "
                    "there was no memory for more",
                    dropped.segments));
  } else if (dropped.segments_partial) {
    remarks.emplace_back(
        "single reads and writes (DXT) are incomplete: there was no memory for more");
  }
  const IoModuleSummary streams = summarize(profile).stdio;
  const auto lacking = [&](const char* what, const char* view) {
    remarks.push_back(
        fmt::format("streams (STDIO) read {} bytes and wrote {}, and the log does not say {}: {} "
                    "POSIX's alone",
                    streams.bytes_read, streams.bytes_written, what, view));
  };
  if (streams.bytes_read > 0 || streams.bytes_written > 0) {
    if (!profile.stream_sizes) lacking("in requests of which sizes", "the sizes of requests are");
    if (course_lacks_streams(profile)) lacking("when", "the course of bandwidth is");
  }
  if (const std::optional<ByteCheck> check = check_bytes(profile)) {
    remarks.push_back(kernel_remark("read", check->kernel_read, check->seen_read));
    remarks.push_back(kernel_remark("written", check->kernel_written, check->seen_written));
  }
  remarks.emplace_back(
      "never seen: page faults of mapped files (LMDB reads so), calls that the C library makes "
      "itself, loops that keep the address of a call in a register");
  return remarks;
}

}  // namespace stoker
