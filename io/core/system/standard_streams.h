#pragma once

#include <string>
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

// What a terminal shows of a text. Any thread.

// As much of a line as fits into so many columns: parts at its end, which two blanks divide from
// those before them, are left out, and the first part is cut.
std::string fitted(std::string_view line, size_t columns);

// The columns of the terminal on standard error; 80 where nobody says how many.
size_t error_columns();

// Writes the line over the last one of the terminal on standard error. It is fitted, so that it
// never takes a second line, which the next one could not take back. Lost where it cannot be
// written.
void rewrite_line(std::string_view line);

enum class Ink { plain, bold, green, yellow, red };

// Whether standard output is a terminal that shows colours, and nobody has set NO_COLOR.
bool output_has_colours();

// The text in that ink where `colours`, else as it is.
std::string inked(std::string_view text, Ink ink, bool colours);

}  // namespace stoker
