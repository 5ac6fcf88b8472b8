#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "io/metrics/clock.h"

namespace stoker {

// How many requests a client has in flight at one server: a fixed number, or as many as the server
// answers without making them wait for one another. One thread at a time.
//
// The second is TCP Vegas' idea (Brakmo and Peterson, IEEE JSAC 13, 1995), as Netflix'
// concurrency-limits applies it to requests: answers that take longer than those of an idle server
// have waited in a queue there, and more requests would only wait longer. Requests are looked at in
// windows of as many as are in flight, 16 at least. Of each size of answers the median time of a
// window is compared with the least that a window had, the base; so a few slow answers count
// nothing.
//
//   the limit was reached, and the median is below 4/3 of the base:  an eighth more
//   it is above twice the base:                                      a tenth less
//   the server was busy (429, 5xx), or a connection failed:          0.7 of it
//
// Every 50th window has half as many, and its medians are the base from then on: the server, or the
// way to it, may be another by then. Requests that were in flight when it began do not count in it,
// for they have waited behind one another.
class InFlightLimit {
 public:
  static constexpr int64_t kFirst = 16, kLeast = 4, kMost = 256;

  // fixed: the number; 0: it is found as above, from kFirst on.
  explicit InFlightLimit(int64_t fixed);

  // So many may be in flight now.
  int64_t limit() const { return probing_ ? limit_ / 2 : limit_; }
  // limit() is never more.
  int64_t most() const { return fixed_ ? limit_ : kMost; }

  // An attempt ended, when so many were in flight with it. `bytes` of its answer came in `took`.
  void answered(uint64_t bytes, Clock::duration took, int64_t in_flight);
  // Likewise, and the server was busy, or the connection failed.
  void failed();

 private:
  static constexpr size_t kSizes = 34;  // of answers, by powers of four
  struct Answer {
    size_t size;
    Clock::duration took;
  };
  void end_window();
  // The medians of the window over their bases, weighted by their numbers; 0: too few.
  double slower();

  const bool fixed_;
  int64_t limit_;
  bool probing_ = false;
  bool busy_ = false;     // in this window
  bool reached_ = false;  // likewise: the limit
  int64_t windows_ = 0;
  int64_t begun_before_ = 0;  // answers still to come of what was begun before a probing window
  std::vector<Answer> window_;
  std::array<Clock::duration, kSizes> base_{};  // 0: not known
};

}  // namespace stoker
