#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "io/core/text/json.h"
#include "io/metrics/io_sessions.h"
#include "io/profiler/io_profiler.h"
#include "io/profiler/log/darshan_log.h"
#include "io/profiler/view/profile_json.h"
#include "io/profiler/wrap/counting.h"
#include "python/bindings/module.h"
#include "python/bindings/process.h"

namespace nb = nanobind;

namespace stoker::python {
namespace {

// All of it, as JSON.
std::string text_of(const IoProfile& profile) {
  constexpr size_t kAll = std::numeric_limits<size_t>::max();
  nlohmann::json json = profile_json(profile, {.files = kAll, .directories = kAll});
  json["remarks"] = profile_remarks(profile);
  return json_text(json);
}

// stoker._core.Profile: one session of the I/O profiler, which is attached while it is open. In a
// forked child the parent's is left where it is.
class ProfileHandle {
 public:
  ProfileHandle(const std::vector<std::string>& exclude, const std::vector<std::string>& include)
      : profiler_(std::make_unique<IoProfiler>().release()) {
    IoRecorderOptions options;
    options.exclude = exclude;
    options.include.insert(options.include.end(), include.begin(), include.end());
    profiler_->begin(options);
  }
  // What was seen, as JSON; its log is in the file, where one is named.
  std::string end(const std::optional<std::string>& path) {
    process_.require("profile");
    if (!profiler_) throw Error(ExitCode::config, "this profile has ended");
    const Released without;
    const OwnIo own;
    const IoProfile profile = profiler_->end();
    profiler_.reset();
    if (path) write_darshan_log(profile, *path);
    return text_of(profile);
  }

 private:
  const OwnProcess process_;
  OwnedHere<IoProfiler> profiler_;
};

}  // namespace

void bind_profile(nb::module_& module) {
  nb::class_<ProfileHandle>(module, "Profile")
      .def(nb::init<const std::vector<std::string>&, const std::vector<std::string>&>(),
           nb::arg("exclude"), nb::arg("include"))
      .def("end", &ProfileHandle::end, nb::arg("path").none());
  module.def(
      "read_profile",
      [](const std::string& path) {
        const Released without;
        return text_of(read_darshan_log(path).profile);
      },
      nb::arg("path"));
}

}  // namespace stoker::python
