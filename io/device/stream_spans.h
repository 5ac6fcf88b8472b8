#pragma once

#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <deque>

namespace stoker {

// How long parts of the work on a device's current stream take, without a wait for the latest of
// them. A span begins and ends once per step. Not thread-safe, but the calls may come from
// different threads. Errors are LibTorch's.
class StreamSpans {
 public:
  explicit StreamSpans(at::Device device) : guard_(device.type()), device_(device) {}

  // Of a span, on the stream that is current in the calling thread.
  void begin();
  void end();
  // Of all spans together but the last two, which may still be going on. So ranks that ask after
  // the same step speak of the same spans.
  double seconds();

 private:
  struct Span {
    c10::Event begin, end;
  };
  c10::Event mark() const;

  const c10::impl::VirtualGuardImpl guard_;
  const at::Device device_;
  std::deque<Span> open_;
  double seconds_ = 0;
};

}  // namespace stoker
