#include "io/profiler/profile.h"

namespace stoker {
namespace {

#define STOKER_POSIX_NAME(name) "POSIX_" #name,
#define STOKER_POSIX_TIME_NAME(name, in_logs) "POSIX_F_" #in_logs,
#define STOKER_STDIO_NAME(name) "STDIO_" #name,
#define STOKER_STDIO_TIME_NAME(name, in_logs) "STDIO_F_" #in_logs,
constexpr const char* kPosixCounters[] = {STOKER_POSIX_COUNTERS(STOKER_POSIX_NAME)};
constexpr const char* kPosixTimes[] = {STOKER_POSIX_TIMES(STOKER_POSIX_TIME_NAME)};
constexpr const char* kStdioCounters[] = {STOKER_STDIO_COUNTERS(STOKER_STDIO_NAME)};
constexpr const char* kStdioTimes[] = {STOKER_STDIO_TIMES(STOKER_STDIO_TIME_NAME)};
#undef STOKER_POSIX_NAME
#undef STOKER_POSIX_TIME_NAME
#undef STOKER_STDIO_NAME
#undef STOKER_STDIO_TIME_NAME

}  // namespace

std::span<const char* const> posix_counter_names() { return kPosixCounters; }
std::span<const char* const> posix_time_names() { return kPosixTimes; }
std::span<const char* const> stdio_counter_names() { return kStdioCounters; }
std::span<const char* const> stdio_time_names() { return kStdioTimes; }

}  // namespace stoker
