#include "python/bindings/meetings.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/bindings/module.h"
#include "python/bindings/process.h"

namespace nb = nanobind;

namespace stoker::python {

std::vector<std::string> Meetings::meet(const std::string& channel, const std::string& own,
                                        const std::function<bool()>& go_on) {
  constexpr auto kPoll = std::chrono::milliseconds(20);
  std::unique_lock lock(mutex_);
  std::optional<std::vector<std::string>>& said = answers_[channel];
  said.reset();
  asked_.emplace_back(channel, own);
  changed_.notify_all();
  while (!said) {
    if (!failure_.empty()) throw RankLost(failure_);
    changed_.wait_for(lock, kPoll);
    lock.unlock();
    const bool on = go_on();
    lock.lock();
    if (!on && !said) throw RankLost("no longer waiting for the other ranks");
  }
  return std::move(*said);
}

std::vector<std::pair<std::string, std::string>> Meetings::asked(
    std::chrono::milliseconds at_most) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, at_most, [this] { return !asked_.empty(); });
  return std::exchange(asked_, {});
}

void Meetings::answer(const std::string& channel, std::vector<std::string> said) {
  {
    const std::lock_guard lock(mutex_);
    answers_[channel] = std::move(said);
  }
  changed_.notify_all();
}

void Meetings::fail(const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    failure_ = why;
  }
  changed_.notify_all();
}

void bind_meetings(nb::module_& module) {
  nb::class_<Meetings>(module, "Meetings")
      .def(nb::init<int64_t, int64_t>(), nb::arg("rank"), nb::arg("world"))
      .def(
          "asked",
          [](Meetings& meetings, double seconds) {
            const auto at_most = std::chrono::milliseconds(static_cast<int64_t>(seconds * 1e3));
            const Released without;
            return meetings.asked(at_most);
          },
          nb::arg("seconds"))
      .def("answer", &Meetings::answer, nb::arg("channel"), nb::arg("said"))
      .def("fail", &Meetings::fail, nb::arg("why"));
}

}  // namespace stoker::python
