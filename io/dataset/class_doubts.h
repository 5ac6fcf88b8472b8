#pragma once

#include <string>
#include <vector>

#include "io/core/notify.h"

// What can hardly be meant, and trains all the same. Pure but for what is told; any thread.

namespace stoker {

// Tells, a line for each: that there is one class alone, that classes differ in the case of letters
// or in blanks alone, that a class has no name, that all are numbers in the order of text ("10"
// before "2"), or named as the parts of a data set.
void doubt_classes(const std::vector<std::string>& classes, const Notify& notify);

}  // namespace stoker
