#include "io/loader/lmdbio/explicit/record_places.h"

#include <fmt/format.h>

#include "io/core/error.h"

namespace stoker {

ObjectInfo listed_object(const ReaderInputs& inputs) {
  for (ObjectInfo& object : inputs.records.tier().list(inputs.object)) {
    if (object.key == inputs.object) return std::move(object);
  }
  throw IoError(fmt::format("read {}: it is gone since the data set was opened", inputs.object), 0);
}

void database_changed(const ReaderInputs& inputs, const std::string& how) {
  throw Error(ExitCode::data,
              fmt::format("loader: {} is not what it was when it was verified ({}): remove "
                          "{}.index.json if it was written anew, and start again",
                          inputs.object, how, inputs.object));
}

}  // namespace stoker
