#pragma once

#include <string_view>

namespace stoker {

// Descriptors 0, 1 and 2 that are closed become /dev/null, and so do 1 and 2 where they cannot be
// written. Else the next file that is opened would get such a number, and what is printed would go
// into it. Call it before anything is opened.
void open_standard_streams() noexcept;

// The text on standard error, at once. What cannot be written there is lost, for nobody is left who
// could be told. Any thread, whatever state the process is in: it takes no lock and no memory.
void write_stderr(std::string_view text) noexcept;

// The text on standard output, at once. IoError; but a reader or a terminal that has gone away is
// no failure: it has read what it wanted. Any thread.
void write_stdout(std::string_view text);

}  // namespace stoker
