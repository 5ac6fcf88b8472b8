#include "io/metrics/record_read_meter.h"

#include <sys/resource.h>
#include <sys/time.h>

#include <algorithm>

namespace stoker {
namespace {

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

// The costs of the calling thread since it began, without the wall time.
RecordReadCosts of_this_thread() {
  rusage use{};
  ::getrusage(RUSAGE_THREAD, &use);
  RecordReadCosts costs;
  costs.user_s = seconds_of(use.ru_utime);
  costs.kernel_s = seconds_of(use.ru_stime);
  costs.voluntary_switches = use.ru_nvcsw;
  costs.involuntary_switches = use.ru_nivcsw;
  costs.minor_faults = use.ru_minflt;
  costs.major_faults = use.ru_majflt;
  return costs;
}

}  // namespace

double RecordReadCosts::sleep_s() const { return std::max(0.0, wall_s - user_s - kernel_s); }

RecordReadCosts& RecordReadCosts::operator+=(const RecordReadCosts& other) {
  for (const auto time :
       {&RecordReadCosts::wall_s, &RecordReadCosts::user_s, &RecordReadCosts::kernel_s,
        &RecordReadCosts::waiting_s, &RecordReadCosts::opening_s}) {
    this->*time += other.*time;
  }
  for (const auto count :
       {&RecordReadCosts::voluntary_switches, &RecordReadCosts::involuntary_switches,
        &RecordReadCosts::minor_faults, &RecordReadCosts::major_faults, &RecordReadCosts::requests,
        &RecordReadCosts::bytes, &RecordReadCosts::pages_needed, &RecordReadCosts::pages_fetched,
        &RecordReadCosts::pages_missed_left, &RecordReadCosts::pages_missed_right,
        &RecordReadCosts::pages_extra_left, &RecordReadCosts::pages_extra_right}) {
    this->*count += other.*count;
  }
  return *this;
}

RecordReadMeter::Reading::Reading(RecordReadMeter& meter)
    : meter_(meter), begin_(Clock::now()), before_(of_this_thread()) {}

RecordReadMeter::Reading::~Reading() {
  RecordReadCosts costs = of_this_thread();
  costs.wall_s = seconds(Clock::now() - begin_);
  costs.user_s -= before_.user_s;
  costs.kernel_s -= before_.kernel_s;
  costs.voluntary_switches -= before_.voluntary_switches;
  costs.involuntary_switches -= before_.involuntary_switches;
  costs.minor_faults -= before_.minor_faults;
  costs.major_faults -= before_.major_faults;
  meter_.add(costs);
}

void RecordReadMeter::add(const RecordReadCosts& costs) {
  const std::lock_guard lock(mutex_);
  if (!costs_) costs_.emplace();
  *costs_ += costs;
}

std::optional<RecordReadCosts> RecordReadMeter::costs() const {
  const std::lock_guard lock(mutex_);
  return costs_;
}

}  // namespace stoker
