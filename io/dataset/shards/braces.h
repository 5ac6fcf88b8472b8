#pragma once

#include <string>
#include <vector>

namespace stoker {

// The patterns that a pattern with braces stands for, as in bash: {a,b} is a or b, {000..009} each
// number of three digits, {a..c} each letter, {0..9..3} every third; they may be nested. Braces
// that say neither, and those behind a backslash, stay. Without braces it is the pattern itself.
// Error(ExitCode::config) where it stands for more than a million. Pure; any thread.
std::vector<std::string> expand_braces(const std::string& pattern);

}  // namespace stoker
