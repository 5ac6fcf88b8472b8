#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace stoker {

// Rewrites a line of progress on standard error, "unpack 12 of 40 (30 %)": if that is a terminal,
// and does nothing otherwise. It never takes more than one line. total 0: the total is not known.
// Any thread, one at a time. Lost where it cannot be written.
void show_progress(const std::string& what, uint64_t done, uint64_t total);

// The same as a function of (done, total), for work that begins now and reports its progress: at
// most ten lines a second are written, and the last one. After five seconds they say how many are
// left. Where standard error is no terminal, it gets a line every ten seconds.
std::function<void(int64_t, int64_t)> progress_of(const std::string& what);

// A line for the user on standard error. Any thread; lost where it cannot be written.
void print_note(const std::string& text);

}  // namespace stoker
