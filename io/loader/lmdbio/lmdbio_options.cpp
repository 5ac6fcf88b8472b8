#include "io/loader/lmdbio/lmdbio_options.h"

#include <algorithm>
#include <string>

namespace stoker {

EnumNames<LmdbReader> enum_names(LmdbReader) {
  return {{"lmdb", LmdbReader::lmdb},     {"lmm", LmdbReader::lmm},
          {"lmm_dm", LmdbReader::lmm_dm}, {"lmm_dio", LmdbReader::lmm_dio},
          {"prov", LmdbReader::prov},     {"coal", LmdbReader::coal},
          {"stag", LmdbReader::stag},     {"indexed", LmdbReader::indexed}};
}

std::string name_of(LmdbReader reader) {
  const auto names = enum_names(reader);
  return std::ranges::find(names, reader, [](const auto& named) { return named.second; })->first;
}

void LmdbioOptions::check(const Section& section) const {
  if (shuffle) {
    section.fail("shuffle",
                 "must be false, for lmdbio reads records in the order of their keys: "
                 "set loader.shuffle=false, or use another loader");
  }
  LoaderOptions::check(section);
  check_in_order(section);
}

LoaderInfo LmdbioOptions::info() const {
  LoaderInfo info = LoaderOptions::info(prefetch_batches);
  info.workers = 1;
  const bool coalesces = reader == LmdbReader::coal || reader == LmdbReader::stag;
  info.batches_by_ranks = coalesce.count == 0 ? coalesces : coalesce.count > 1;
  if (reader == LmdbReader::lmdb || reader == LmdbReader::lmm || reader == LmdbReader::lmm_dm) {
    info.maps_files = "loader.reader: " + name_of(reader);
  }
  return info;
}

}  // namespace stoker
