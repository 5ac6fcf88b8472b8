#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "io/core/config/node.h"
#include "io/decoder/decoder.h"

namespace stoker::python {

// The tree of a configuration: of a YAML file (a str, its path), or of a dict, whose values have no
// place in messages. Error(ExitCode::config) for keys that are no text and values that no YAML has;
// as load_experiment().
Node configuration(nanobind::handle source);
// Error(ExitCode::config) where samples are left for a device to finish: Python gets whole pixels.
void require_pixels(const DecoderInfo& decoder);

}  // namespace stoker::python
