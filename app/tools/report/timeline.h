#pragma once

#include <string>
#include <string_view>

#include "app/tools/report/intervals.h"

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

}  // namespace stoker
