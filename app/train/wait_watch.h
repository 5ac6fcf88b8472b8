#pragma once

#include <functional>
#include <optional>
#include <string>

#include "io/core/error.h"
#include "io/core/threads.h"

namespace stoker {

class Hub;

// Something that a run waits for. A value.
struct LongWait {
  std::string what;   // "data"
  std::string where;  // "tier 'data' (4 operations under way)"; may be empty
  double seconds = 0;
};

// What the trainer of a run waits for at this moment, by its figures: data, other ranks or a
// checkpoint. Empty: it computes. Any thread.
std::optional<LongWait> wait_of(const Hub& hub);

// Tells the user of waits that last: a line after 10 s, after 20, 40 and so on. It has a thread of
// its own, for who waits can tell nothing.
class WaitWatch {
 public:
  // look: called once a second by that thread. say: gets the lines.
  WaitWatch(std::function<std::optional<LongWait>()> look, Notify say);
  ~WaitWatch();
  WaitWatch(const WaitWatch&) = delete;
  WaitWatch& operator=(const WaitWatch&) = delete;

 private:
  void look();

  const std::function<std::optional<LongWait>()> look_;
  const Notify say_;
  double next_;    // how long a wait has to last before there is a line
  Ticker ticker_;  // last: it uses the rest
};

}  // namespace stoker
