#include <sys/mman.h>

#include "app/tools/checkpoint/files/open_tensors.h"
#include "io/core/system/file.h"
#include "tests/fuzz/target.h"

// A file of safetensors or of torch.save, by what it begins with.
STOKER_FUZZ_TARGET(tensor_file) {
  using namespace stoker;
  const FileDescriptor file(::memfd_create("tensors", MFD_CLOEXEC));
  const std::string path = "/proc/self/fd/" + std::to_string(file.get());
  write_all(file, input, path);
  const auto source = open_tensors(path);
  uint64_t bytes = 0;
  for (size_t i = 0; i < source->tensors().size(); ++i) {
    fuzz::require(source->tensors()[i].bytes <= input.size(), "a tensor larger than its file");
    // Views of one storage may be many.
    if ((bytes += source->tensors()[i].bytes) > 16 * input.size()) break;
    TensorPieces pieces(*source, i, kElementsAtOnce);
    while (!pieces.next().empty()) {
    }
  }
}
