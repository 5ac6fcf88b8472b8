#pragma once

#include <string>
#include <vector>

#include "io/core/config/node.h"

namespace stoker {

// The words of a command line as a sweep: what a sweep file says in YAML.

// Whether a file is an experiment, and no sweep.
bool is_experiment(const Node& root);

// A sweep of the experiment in `path` without a file of its own. "loader.workers=1,2,4" is an axis,
// "loader.batch_size=16" a setting of every run, "repeat=3" a key of the sweep; commas inside of
// brackets and quotes belong to a value. Its name is that of the file and the axes. Error(config)
// where no word is an axis.
Node grid_of(const std::string& path, const std::vector<std::string>& words);

// "matrix.loader.workers=[1]": the values of an axis, whose name may have dots. Where the axis has
// named variants and these are some of their names, the variants stay as they are. False: the word
// is about something else. Error(config) where it cannot be read.
bool replace_axis(Node& root, const std::string& assignment);

// The values of "1,2,4": the parts between commas that are outside of brackets and quotes.
std::vector<std::string> values_in(const std::string& text);

}  // namespace stoker
