#pragma once

#include <cstdint>
#include <string>

#include "io/core/error.h"
#include "io/core/system/memory.h"
#include "io/dataset/dataset.h"
#include "io/decoder/decoder.h"

// One sample, from the data set to pixels: what loaders, `dataset convert`, `dataset inspect` and
// `bench read` do with each, so that all find the same samples bad, and say the same of them. Any
// thread.
//
// What it means that a sample cannot be read is one rule. Only what is there can be bad.
//
//   the object's bytes are damaged, or there is no such object     BadSample
//   the tier fails: a server is gone, a token has expired,         Error(ExitCode::storage)
//   a file may not be opened, a disk gives no answer
//   the process ran short of memory or descriptors                 Error(ExitCode::environment)

namespace stoker {

// Which sample. Refers to the data set.
struct SamplePlace {
  const Dataset& dataset;
  Split split;
  int64_t index;
  SampleInfo info() const { return dataset.info(split, index); }
};

// Dataset::read() by that rule.
EncodedSample read_sample(const SamplePlace& place, Buffer& scratch);

// The Error by that rule where `what` was being read: it names that, the tier, the cause and what
// to do.
Error tier_failure(const std::string& what, const IoError& error);

// Decodes what read_sample() gave into `out`, as DecoderSession::decode(). Returns the damage that
// the data set or the session bore with; empty: none. Error: the decoder lacks something, and needs
// it for this sample, which the message names.
std::string decode_sample(const SamplePlace& place, const EncodedSample& sample,
                          DecoderSession& session, const DecodeMode& mode, uint8_t* out);

// What ends a run at a bad sample: Error(ExitCode::data) with what can be done. `reason`:
// to_string(BadReason).
Error bad_sample_error(const std::string& key, const std::string& reason,
                       const std::string& message);

// A data set whose samples are records of a tier's objects, as someone sees it who reads those
// objects in a way of his own (a map of the file, a range of many records) and not by
// Dataset::read. What is said here was verified when the data set was made. Thread rule: as
// Dataset.
class StoredRecords {
 public:
  virtual ~StoredRecords() = default;
  // That holds the objects; lives longer than the data set.
  virtual const Storage& tier() const = 0;
  // Where sample `index` lies in SampleInfo::object: its record and nothing else.
  virtual Range place(Split split, int64_t index) const = 0;
  // What Dataset::read gives for these bytes of the record, which may be changed. Valid as long as
  // they are. BadSample as there.
  virtual EncodedSample unpack(Split split, int64_t index, Buffer& record) const = 0;
};

}  // namespace stoker
