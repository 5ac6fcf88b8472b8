#pragma once

#include <string>
#include <string_view>

// What a terminal shows of a text. Any thread.

namespace stoker {

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
