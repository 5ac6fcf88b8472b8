#include "io/checkpoint/saving/set_committer.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "io/core/digest.h"
#include "io/core/text/json.h"
#include "io/core/threads.h"
#include "io/storage/uring_queue.h"

// How a snapshot becomes a committed set. After each step every process says how it went, and waits
// for what the others say (Collective): a step is done when all have done it.
//
// 1. "begun": the first process makes the set, under a name that is no set's, and tells the others
//    all that must be equal in their manifests.
// 2. "written": each process reserves the space of its own files, writes them in pieces of 8 MiB by
//    `threads` threads, and syncs each. It tells the others their checksums. From these all make
//    the same manifest.
// 3. "published", where each process has a store of its own: all but the first commit, which writes
//    and syncs the manifest, renames the set, and syncs its parent (the sets' own sources say how).
// 4. "committed": the first does the same. From here on the set is there. If a process dies before,
//    a part of the set is there at most, which is never taken for one.
// 5. "verified", with verify: all: each reads its own files back and compares their checksums.
//
// Where a step fails, what this process had committed is taken back, and the writer's destructor
// clears up the rest. A second attempt writes everything anew, from the snapshot, under another
// name. There is none where the tier is full and no room can be made, where the copy into the
// snapshot had failed, where a part of a staged snapshot is gone, or where a process is gone
// (RankLost). After RankLost nothing is removed, for the others may have committed the set.

namespace stoker {
namespace {

constexpr int kAttempts = 2;

// A process of the group left this checkpoint out.
class Skipped final : public Error {
 public:
  explicit Skipped(const std::string& what) : Error(ExitCode::storage, what) {}
};

}  // namespace

std::string utc_now() {
  const auto now =
      std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:}{:%S}Z", fmt::gmtime(now), now.time_since_epoch());
}

SetCommitter::SetCommitter(const Inputs& inputs)
    : inputs_(inputs),
      options_(inputs_.options),
      threads_(options_.resolve_threads()),
      writer_id_(unique_name("") + unique_name("")),
      collective_(inputs_.group, "save", [&stop = inputs_.stop] { return !stop; }) {}

// After a failed sync the kernel may have dropped the pages and marked them clean, so that a second
// sync of the same file succeeds without writing them ("Can applications recover from fsync
// failures?", ATC 2020). Every attempt therefore writes a new set from the snapshot memory.
SaveResult SetCommitter::commit(const SaveJob& job) {
  SaveResult result{job.state.step, job.state.score, job.offered, 0,
                    "the process ended before it was written"};
  failed_.clear();
  for (int number = 1; number <= kAttempts && !inputs_.stop; ++number) {
    try {
      attempt(job, number);
      result.error.clear();
      break;
    } catch (const Skipped& skipped) {
      result.error = skipped.what();
      result.skipped = true;
      break;
    } catch (const NoRetry& error) {
      result.error = error.what();
      break;
    } catch (const OtherFailed& error) {
      result.error = error.what();
      if (!error.again()) break;
    } catch (const std::exception& error) {
      result.error = error.what();
    }
    failed_ = result.error;
  }
  result.seconds = seconds(Clock::now() - job.offered);
  return result;
}

void SetCommitter::attempt(const SaveJob& job, int number) {
  const std::string set = fmt::format("checkpoint of step {}, attempt {}", job.state.step, number);
  std::unique_ptr<SetWriter> writer;
  const Manifest manifest = write(job, set, writer);
  bool there = false;  // under its name
  const auto commit = [&] {
    return or_make_room([&] {
      writer->commit(manifest, job.replaces);
      there = true;
      return "";
    });
  };
  try {
    collective_.all(set + ": published",
                    [&] { return inputs_.store.shared() || collective_.first() ? "" : commit(); });
    collective_.first_only(set + ": committed", commit);
    inputs_.watch.step();
    if (options_.verify != Verify::all) return;
    collective_.all(set + ": verified", [&] {
      verify(job, manifest);
      return "";
    });
  } catch (const RankLost&) {
    throw;  // for the others it may be committed
  } catch (const Error&) {
    if (there) writer->take_back();
    throw;
  }
}

// What all have written, as one set.
Manifest SetCommitter::write(const SaveJob& job, const std::string& set,
                             std::unique_ptr<SetWriter>& writer) {
  SetStore& store = inputs_.store;
  const int64_t step = job.state.step;
  const auto begin = [&](const std::string& place) {
    writer = store.begin(step, place);
    return writer->place();
  };
  // What the ranks know of these may differ, so the first one's counts.
  nlohmann::json first = {{"created", utc_now()},
                          {"writer", writer_id_},
                          {"training", job.state.training},
                          {"place", ""}};
  const std::string begun = collective_.first_only(set + ": begun", [&] {
    if (ready(job)) first["place"] = or_make_room([&] { return begin(""); });
    return collective_.group().size() == 1 ? "" : json_text(first);
  });
  if (!begun.empty()) first = parse_json(begun);
  Manifest manifest;
  const std::vector<std::string> said = collective_.all(set + ": written", [&] {
    if (!job.slot) return std::string();
    if (!job.error.empty()) throw NoRetry(ExitCode::device, job.error);
    if (!job.slot->intact()) {
      throw NoRetry(ExitCode::storage, failed_.empty() ? job.slot->why_given_up() : failed_);
    }
    return or_make_room([&] {
      if (!writer && store.shared()) {
        if (first["place"] == "")
          return to_text(PartSums{});  // the first has failed, or left it out
        begin(first["place"].get<std::string>());
      } else if (!writer) {
        begin("");
      }
      return to_text(write_own(job, *writer));
    });
  });
  std::vector<PartSums> parts;
  for (size_t rank = 0; rank < said.size(); ++rank) {
    if (said[rank].empty()) throw Skipped(fmt::format("skipped by rank {}", rank));
    parts.push_back(part_sums(said[rank]));
  }
  manifest.step = step;
  manifest.created = first["created"];
  manifest.writer = first["writer"];
  manifest.durability = options_.durability == Durability::fsync ? "fsync" : "none";
  manifest.training = std::move(first["training"]);
  put_together(manifest, inputs_.layout, parts);
  return manifest;
}

// Whether this process has something to write, from the begin on.
bool SetCommitter::ready(const SaveJob& job) const {
  return job.slot && job.error.empty() && job.slot->intact();
}

PartSums SetCommitter::write_own(const SaveJob& job, SetWriter& writer) {
  const FileRange own = inputs_.own;
  for (size_t i = own.begin; i < own.end; ++i) {
    const DataFile& file = inputs_.layout.files[i];
    writer.add_file(file.name, file.bytes, data_access(options_.write));
  }
  write_data(*job.slot, writer);
  PartSums part = job.slot->sums();
  part.training = job.state.part;
  if (own.begin < own.end) {
    Manifest described;  // of one file with all tensors, where there are such texts
    described.training = job.state.training;
    put_together(described, inputs_.layout, {part});
    for (const TextFile& text : tf_saver_texts(described)) {
      const Bytes all(reinterpret_cast<const uint8_t*>(text.text.data()), text.text.size());
      const size_t file = writer.add_file(text.name, all.size(), text_access(options_.write));
      for (uint64_t at = 0; at < all.size(); at += kChunkBytes) {
        const uint64_t size = std::min<uint64_t>(kChunkBytes, all.size() - at);
        write_piece(writer, file, at, all.subspan(at, size), nullptr);
        inputs_.watch.step();
      }
      part.files.push_back(sums_of(text.name, all));
    }
  }
  writer.finish();
  return part;
}

void SetCommitter::write_piece(SetWriter& writer, size_t file, uint64_t offset, Bytes bytes,
                               Uring* queue) {
  if (inputs_.stop) throw Error(ExitCode::sigterm, "the process ended before it was written");
  writer.write(file, offset, bytes, queue);
}

// The own data files, as those of `writer` by their numbers: in pieces of kChunkBytes, by all
// threads. Where it takes a file's bytes in order only, each file by one of them.
void SetCommitter::write_data(Snapshot& slot, SetWriter& writer) {
  struct Stretch {
    size_t file;
    uint64_t begin, end;
  };
  const FileRange own = inputs_.own;
  std::vector<Stretch> stretches;
  for (size_t i = own.begin; i < own.end; ++i) {
    const uint64_t all = inputs_.layout.files[i].bytes;
    const uint64_t most = writer.in_order() ? all : kChunkBytes;
    for (uint64_t at = 0; at < all; at += most) {
      stretches.push_back({i, at, at + std::min(most, all - at)});
    }
  }
  std::atomic<size_t> next{0};
  parallel_for(threads_, threads_, [&](int64_t) {
    std::string why;
    const std::unique_ptr<Uring> queue =
        options_.write == WriteMode::uring ? Uring::open(why) : nullptr;
    try {
      for (size_t i = next++; i < stretches.size(); i = next++) {
        const auto [file, begin, end] = stretches[i];
        for (uint64_t at = begin; at < end; at += kChunkBytes) {
          write_piece(writer, file - own.begin, at, slot.take(file, at), queue.get());
          slot.release(file, at);
          inputs_.watch.step();  // behind it: the trainer waits for that room
        }
      }
    } catch (const std::exception& error) {
      // Its piece stays where it is, and whoever waits for that room would wait for ever.
      if (slot.staged()) slot.give_up(error.what());
      inputs_.watch.notify();
      throw;
    }
  });
}

void SetCommitter::verify(const SaveJob& job, const Manifest& manifest) {
  const size_t own = job.slot->sums().files.size();
  std::vector<size_t> files(manifest.parts == 1 ? manifest.files.size() : own);
  std::iota(files.begin(), files.end(), inputs_.own.begin);
  try {
    inputs_.store.verify(manifest, files, threads_,
                         [this](size_t, uint64_t, Bytes) { inputs_.watch.step(); });
  } catch (const DamagedSet& error) {
    throw Error(error.code(), error.what());  // it is written again
  }
}

// Where the tier is full and no room can be made, there is no use in trying again.
std::string SetCommitter::or_make_room(const std::function<std::string()>& work) const {
  try {
    return work();
  } catch (const IoError& error) {
    const bool full = error.errno_value() == ENOSPC || error.errno_value() == EDQUOT;
    if (full && !inputs_.make_room()) throw NoRetry(error.code(), error.what());
    throw;
  }
}

}  // namespace stoker
