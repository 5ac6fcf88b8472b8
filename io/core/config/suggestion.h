#pragma once

#include <string>
#include <vector>

// What a message says of a word that nobody knows. Pure functions; any thread.

namespace stoker {

// The end of a message about an unknown name: " (did you mean 'x'?)". x is the known name for which
// people use the given word elsewhere (`gpu` for `cuda`); else a known name that is close: at an
// edit distance of at most a third of the length, at least 1, whatever the case of letters; else
// the only one that begins so, or the longest one that `given` begins with. Empty where no known
// name is close.
std::string did_you_mean(const std::string& given, const std::vector<std::string>& known);

// The same, but " (known: a, b)" where none is close. Empty where nothing is known.
std::string suggestion(const std::string& given, const std::vector<std::string>& known);

// Up to five of the names, in their order, for a message: "'a', 'b' and 3 more". Empty: no names.
std::string some_of(const std::vector<std::string>& names);

// What a message says of a thing that is looked for and not there: " (did you mean 'x'?); there
// are 'x', 'y' and 3 more", or "; there is 'x'", or "; there are none". The close name is chosen
// from all of them, and the list begins with it.
std::string what_is_there(const std::string& wanted, std::vector<std::string> names);

}  // namespace stoker
