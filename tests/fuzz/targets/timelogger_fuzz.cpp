#include <nlohmann/json.hpp>

#include "app/tools/report/timeline.h"
#include "io/core/error.h"
#include "io/core/text/json.h"
#include "tests/fuzz/target.h"

STOKER_FUZZ_TARGET(timelogger) {
  using namespace stoker;
  TimeLog log;
  read_time_log(std::string(fuzz::text(input)), "fuzz", log);
  (void)json_text(time_log_figures(log, 0));
  try {
    (void)json_text(joined_figures(log, read_timeline(fuzz::text(input), "fuzz")));
  } catch (const Error&) {
  }
}
