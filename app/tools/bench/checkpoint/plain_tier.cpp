#include "app/tools/bench/checkpoint/plain_tier.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "io/checkpoint/sets/manifest.h"
#include "io/checkpoint/restoring/read_set.h"
#include "io/core/parallel.h"
#include "io/metrics/clock.h"

namespace stoker {
namespace {

// Of a tier without files.
double write_as_object(Storage& objects, const std::string& key, Bytes bytes) {
  const TimePoint begin = Clock::now();
  const std::unique_ptr<ObjectWriter> writer = objects.create(key);
  for (size_t at = 0; at < bytes.size(); at += kChunkBytes) {
    writer->append(bytes.subspan(at, std::min(kChunkBytes, bytes.size() - at)));
  }
  writer->commit();
  const double took = seconds(Clock::now() - begin);
  objects.remove(key);
  return took;
}

}  // namespace

double write_plainly(Storage& tier, const std::string& directory, Bytes bytes, int64_t threads) {
  const FileTree* tree = files_of(tier);
  if (tree == nullptr) return write_as_object(tier, directory + "/probe", bytes);
  const std::string path = directory + "/.tmp-probe";
  tree->make_directories(directory);
  const Bytes whole = bytes.first(bytes.size() / kDirectAlignment * kDirectAlignment);
  const auto chunks = static_cast<int64_t>((whole.size() + kChunkBytes - 1) / kChunkBytes);
  const TimePoint begin = Clock::now();
  {
    const TreeFile file = tree->create(path, FileAccess::direct);
    file.reserve(whole.size());
    parallel_for(threads, chunks, [&](int64_t i) {
      const uint64_t at = kChunkBytes * static_cast<uint64_t>(i);
      file.write_at(at, whole.subspan(at, std::min(kChunkBytes, whole.size() - at)));
    });
    file.sync();
  }
  const double took = seconds(Clock::now() - begin);
  tree->remove(path);
  return took;
}

void read_plainly(const SetFiles& from, const std::string& directory, int64_t threads) {
  struct Request {
    size_t file;
    uint64_t begin;
    uint64_t bytes;
  };
  const uint64_t most = load_request_bytes(from);
  std::vector<SetFile> files;
  std::vector<Request> requests;
  for (const FileSums& file : read_manifest(from, directory).files) {
    for (uint64_t at = 0; at < file.bytes; at += most) {
      requests.push_back({files.size(), at, std::min(most, file.bytes - at)});
    }
    files.push_back(from.open(directory + "/" + file.name, FileAccess::direct));
  }
  std::atomic<size_t> next{0};
  parallel_for(threads, threads, [&](int64_t) {
    const HostMemory buffer = allocate_huge(most, false);
    for (size_t i = 0; (i = next++) < requests.size();) {
      const Request& request = requests[i];
      files[request.file].read_at(request.begin, {buffer.data.get(), request.bytes});
    }
  });
}

}  // namespace stoker
