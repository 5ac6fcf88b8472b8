#include <algorithm>
#include <filesystem>

#include "io/dataset/unpack.h"
#include "tests/fuzz/target.h"

// Nothing in an archive leads out of the folder that it is unpacked into.
STOKER_FUZZ_TARGET(archive) {
  using namespace stoker;
  unpack(input, "fuzz.zip", "inner.tar.gz", [](const UnpackedFile& file) {
    const std::filesystem::path path = file.path;
    fuzz::require(!path.empty() && path.is_relative() && path.has_filename() &&
                      std::ranges::find(path, "..") == path.end(),
                  "a path that is none");
  });
}
