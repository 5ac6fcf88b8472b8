#pragma once

#include <string>
#include <string_view>

#include "app/tools/report/intervals.h"

namespace stoker {

// What a Chrome trace of a framework's profiler says of when it computed: a window of ours
// (metrics.profile), or TensorFlow's Timeline. A value.
struct Timeline {
  std::string path;
  std::string what;      // of `operations`: "kernels" where the trace has some, else "operators"
  TimeSpan window;       // from the first operation's begin to the last one's end
  TimeSpans operations;  // UNIX microseconds; united
};

// Events `ph: X` with `ts` and `dur` in microseconds from baseTimeNanoseconds on, or from 1970: of
// the category kernel, else cpu_op or Op. path: for the message of Error(ExitCode::data), where the
// text is no such trace. Any thread.
Timeline read_timeline(std::string_view text, const std::string& path);

}  // namespace stoker
