#include "app/train/page_cache_setup.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "io/core/error.h"
#include "io/storage/file_tree.h"
#include "io/storage/page_cache.h"

namespace stoker {
namespace {

std::vector<std::string> all_keys(const Dataset& dataset) {
  std::vector<std::string> keys;
  for (const Split split : {Split::train, Split::test}) {
    for (int64_t i = 0; i < dataset.size(split); ++i) keys.push_back(dataset.info(split, i).key);
  }
  return keys;
}

void read_all(const FileTree& files, const std::vector<std::string>& keys, const Notify& notify) {
  Buffer buffer;
  size_t failed = 0;
  for (const std::string& key : keys) {
    try {
      const TreeFile file = files.open(key, FileAccess::buffered);
      const uint64_t size = file.size();
      file.read_at(0, {buffer.resize(size), size});
    } catch (const IoError&) {
      ++failed;  // the loader will say what is wrong with it
    }
  }
  if (failed > 0) notify(fmt::format("warming the page cache: {} files could not be read", failed));
}

}  // namespace

const FileTree* data_files(Experiment& experiment) {
  const std::string tier = experiment.options().dataset.info().tier;
  return tier.empty() ? nullptr : experiment.tiers().at(tier).files();
}

void set_up_page_cache(Experiment& experiment, const Notify& notify) {
  const RunOptions& run = experiment.options().run;
  const FileTree* files = data_files(experiment);
  if (run.page_cache == PageCache::as_is || files == nullptr) return;
  // Straight from the disk, whatever stands between it and the run: nothing here is measured.
  const FileTree tree(files->root());
  const std::vector<std::string> keys = all_keys(experiment.dataset());
  if (run.page_cache == PageCache::warm) return read_all(tree, keys, notify);
  try {
    evict(tree, keys);
  } catch (const IoError& error) {
    notify(error.what());
  }
  if (run.drop_caches && !drop_page_cache()) {
    notify("run.drop_caches: the kernel does not let this process drop the page cache");
  }
}

}  // namespace stoker
