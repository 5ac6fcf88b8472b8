#include "io/loader/lmdbio/database_check.h"

#include <fmt/format.h>

#include <optional>

#include "io/core/error.h"
#include "io/loader/lmdbio/database/lmdb_tree.h"

namespace stoker {

void throw_changed(const ReaderInputs& inputs, const std::string& what) {
  throw Error(
      ExitCode::data,
      fmt::format("loader: {}: {}: it is no longer the database that was verified: let "
                  "nothing write it while it is read; if nothing does, delete {}.index.json",
                  inputs.object, what, inputs.object));
}

MappableDatabase check_database(const ReaderInputs& inputs) {
  if (inputs.path.empty()) {
    throw Error(ExitCode::config,
                fmt::format("loader: reader {} maps the database, and {} is not a file of a plain "
                            "tier of this machine: mount its tier by `stoker mount` and name the "
                            "mount as a tier of type posix, or choose an explicit reader such as "
                            "reader: indexed",
                            name_of(inputs.options.reader), inputs.object));
  }
  std::optional<ObjectInfo> object;
  for (const ObjectInfo& each : inputs.records.tier().list(inputs.object)) {
    if (each.key == inputs.object) object = each;
  }
  if (!object) throw_changed(inputs, "it is not there");
  LmdbTree tree(inputs.records.tier(), *object);
  const LmdbMeta meta = tree.meta();
  const int64_t records = inputs.dataset.size(inputs.split);
  if (meta.entries != static_cast<uint64_t>(records)) {
    throw_changed(inputs, fmt::format("it has {} records, not {}", meta.entries, records));
  }
  for (int64_t record = 0; record < records; ++record) {
    const Range place = inputs.records.place(inputs.split, record);
    if (place.offset > object->bytes || place.length > object->bytes - place.offset) {
      throw_changed(inputs, fmt::format("record {} lies behind its end", record));
    }
  }
  // Free pages at its end need not be there; others do.
  if (object->bytes / meta.page_bytes <= meta.last_page) tree.walk([](auto) {});
  return {meta, object->bytes};
}

}  // namespace stoker
