#pragma once

#include <atomic>
#include <optional>

namespace stoker {

// What somebody asks of the I/O profiler from outside of the training loop, which looks here
// between two steps or two batches of an evaluation: SIGUSR2, a POST to the live server, a call in
// the program. The last wish counts. One for the process. Any thread, and signal handlers.
class IoTrigger {
 public:
  static IoTrigger& instance() {
    static IoTrigger trigger;
    return trigger;
  }
  void begin() noexcept { wish_ = Wish::begin; }
  void end() noexcept { wish_ = Wish::end; }
  // Begins a session, or ends the one that is under way.
  void toggle() noexcept { wish_ = Wish::toggle; }
  // Whether there shall be a session, now that there is one or not; the wish is then fulfilled.
  // Empty: nobody asked.
  std::optional<bool> take(bool running) noexcept {
    switch (wish_.exchange(Wish::none)) {
      case Wish::none:
        break;
      case Wish::begin:
        return true;
      case Wish::end:
        return false;
      case Wish::toggle:
        return !running;
    }
    return std::nullopt;
  }

 private:
  enum class Wish { none, begin, end, toggle };
  static_assert(std::atomic<Wish>::is_always_lock_free);
  std::atomic<Wish> wish_{Wish::none};
};

}  // namespace stoker
