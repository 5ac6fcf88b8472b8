#pragma once

#include <string>
#include <string_view>

#include "app/time_log/time_log.h"

namespace stoker {

// What a Chrome trace of a framework's profiler says of when it computed: a window of ours
// (metrics.profile), or TensorFlow's Timeline. A value.
struct Timeline {
  std::string path;
  std::string what;      // what `operations` are: "kernels" if the trace has any, else "operators"
  TimeSpan window;       // from the first operation's begin to the last one's end
  TimeSpans operations;  // UNIX microseconds; united
};

// Events `ph: X` with `ts` and `dur` in microseconds from baseTimeNanoseconds on, or from 1970:
// those of the category kernel, or else cpu_op or Op. path: for the message of
// Error(ExitCode::data) if the text is not such a trace. Any thread.
Timeline read_timeline(std::string_view text, const std::string& path);

// The records' reads beside what a profiler saw of the same time, which the study left to do:
// window_s of the timeline, operations_s with at least one operation under way, read_s with a read
// of any rank; a part of it, hidden_s, was beside an operation, and the rest, exposed_s, was not;
// idle_s had neither.
nlohmann::json joined_figures(const TimeLog& log, const Timeline& timeline);

}  // namespace stoker
