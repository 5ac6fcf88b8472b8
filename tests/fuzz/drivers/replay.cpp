#include <cstdint>
#include <cstdio>
#include <vector>

#include "tests/fuzz/target.h"

// The files that are named, through the one target of this program. C's streams: libstdc++'s are
// not instrumented for the memory sanitizer.
int main(int count, char** paths) {
  for (int i = 1; i < count; ++i) {
    std::FILE* file = std::fopen(paths[i], "rb");
    if (file == nullptr) {
      std::perror(paths[i]);
      return 3;
    }
    std::vector<uint8_t> bytes(1 << 20);
    bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file));
    bytes.shrink_to_fit();
    std::fclose(file);
    stoker::fuzz::run(*stoker::fuzz::targets().front(), bytes);
  }
  std::printf("%d inputs\n", count - 1);
}
