#pragma once

#include <string>

#include "io/checkpoint/saving/layout.h"

namespace stoker {

// TensorFlow's MetaGraphDef of a set: a variable for each tensor, with its name, and the ops by
// which a Saver restores the variables from PREFIX and saves them anew, so that TensorFlow 1's
// import_meta_graph("PREFIX.meta") gives a Saver whose restore(session, "PREFIX") works. What the
// network computes is not in it.
//
// TensorFlow allows fewer names for variables than for tensors of a bundle: where one is not
// allowed, the variable is called tensor_<its number>, and the name in the set stays. A pure
// function.
std::string meta_graph(const SetLayout& layout);

}  // namespace stoker
