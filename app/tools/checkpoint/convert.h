#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "io/core/config/config.h"
#include "io/core/error.h"

namespace stoker {

// What `stoker checkpoint export` is asked for. A value.
struct ExportArguments {
  std::string from;  // what open_tensors() takes
  std::string to;    // *.safetensors, *.pt, *.pth, *.bin, or a folder for model.safetensors
  bool all = false;  // also what is no tensor of the network, under the names of the set
  std::optional<ByteSize> max_shard;
  bool json = false;
};

// `stoker checkpoint export`: writes the tensors of a checkpoint as a file that other programs
// read. Of a set: those of the network, under the names that it has for them.
// Error(ExitCode::config) for a name that says no format, and where a file is in the way; errors as
// open_tensors(), and IoError.
ExitCode export_checkpoint(const ExportArguments& arguments);

// What `stoker checkpoint import` is asked for. A value.
struct ImportArguments {
  std::string from;
  std::string to;    // a directory of sets
  std::string like;  // a set; empty: none
  bool all = false;  // the names in the file are those of a set
  std::optional<int64_t> step;
  bool json = false;
};

// `stoker checkpoint import`: makes a set of such a file in a directory of sets. Without `like` it
// can be listed, verified, compared and exported, and no run goes on from it. With it, the tensors
// of the network are from the file, and all else is from that set: a run goes on from there.
// Error(ExitCode::config) where the step is there already, or where the file does not have just the
// tensors of the network in `like`, each with its type and shape; errors as open_tensors(), and
// IoError.
ExitCode import_checkpoint(const ImportArguments& arguments);

}  // namespace stoker
