#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "app/tools/mount/fuse_session.h"
#include "app/tools/mount/mount_statistics.h"
#include "app/tools/mount/mount_threads.h"
#include "app/tools/mount/mount_tree.h"
#include "io/core/system/memory.h"
#include "io/metrics/tier_meter.h"
#include "io/storage/storage.h"

namespace stoker {

// What the page cache does with what is read.
enum class MountMode {
  cached,  // keeps it
  direct,  // does not get it, but for what is mapped
  drop     // keeps it as long as somebody has the file open
};

// A request that has not been answered: an open or a read. If it is destroyed without an answer,
// the kernel is told nothing.
struct MountRequest {
  MountRequest() = default;
  ~MountRequest();
  MountRequest(const MountRequest&) = delete;
  MountRequest& operator=(const MountRequest&) = delete;

  fuse_req_t request = nullptr;
  TierOp op = TierOp::read;
  uint64_t number = 0;  // the file's inode number
  uint64_t offset = 0;
  uint64_t bytes = 0;
  fuse_file_info file{};  // used by an open
  Buffer data;            // used by a read
  int error = 0;
  TimePoint received;
  TimePoint ready;                       // when the data were there; for an open: at once
  Clock::duration overrun{};             // by how much the data are slower than the model
  ReplySchedule::Due due;                // model null: as soon as they are
  std::atomic<int> parts{0};             // that are missing before it can be answered
  std::list<MountRequest>::iterator at;  // in the server's list
};

// A tier as a mounted file system. One thread takes requests, some fetch data, and one answers when
// the tier's device would have been done; a tier that emulates none is answered at once. What fails
// is EIO or the tier's errno to the reader. Thread rules at the methods.
class MountServer {
 public:
  struct Options {
    std::string directory;
    FuseOptions fuse;
    MountMode mode = MountMode::cached;
    int64_t threads = 16;  // that fetch data
    // Somebody asked for drop(), or the file system was unmounted. Any thread; fails nothing.
    std::function<void()> wake;
  };

  // Mounts it and begins to answer. `tier`, `tree` and `meter` must outlive it; the meter is the
  // tier's, and counts what readers ask for. Error as FuseSession's.
  MountServer(const Storage& tier, const MountTree& tree, TierMeter& meter, Options options);
  // Calls end() and waits for what is being fetched.
  ~MountServer();
  MountServer(const MountServer&) = delete;
  MountServer& operator=(const MountServer&) = delete;

  // Unmounts it, and answers nobody any more. Waits for nothing. Once counts; none of the server's
  // threads.
  void end();
  // Whether somebody else has unmounted it. Any thread.
  bool ended() const { return ended_; }
  // Whether its threads have real-time priority, which makes an emulated device punctual and is not
  // allowed everywhere. Valid once a request was answered; any thread.
  bool realtime() const { return realtime_; }
  // Drops the pages of all files that were opened since the last time, also mapped ones, and tells
  // those who asked for it. One thread, none of the server's.
  void drop();
  const MountStatistics& statistics() const { return statistics_; }

  // For measuring the mount's own cost: the path of a file of zeros, which exists between
  // begin_probe() and end_probe(), and whose reads are answered by a fast device with a small
  // latency. One thread.
  std::string begin_probe();
  // Returns, once after each read of that file: when it arrived, when the model said to answer, and
  // when it was answered.
  struct ProbeTimes {
    TimePoint received, modelled, sent;
  };
  ProbeTimes probe_times();
  void end_probe();
  // Sets the cost that is subtracted from now on. Any thread.
  void set_cost(const OwnCost& cost) { timer_.set_cost(cost); }

 private:
  friend struct MountOperations;
  struct OpenFile {
    int64_t times = 0;
    bool cached = false;  // pages of it may be
  };
  struct Probe;

  const MountTree::Node* node(uint64_t number) const;
  uint64_t find(uint64_t directory, const char* name) const;
  void open(fuse_req_t request, uint64_t number, const fuse_file_info& file);
  void read(fuse_req_t request, uint64_t number, uint64_t offset, uint64_t bytes);
  void release(uint64_t number);
  void ask_for_drop(fuse_req_t request);

  MountRequest& begin(fuse_req_t request, TierOp op, uint64_t number);
  void charge(MountRequest& request, const TierOperation& operation);
  void fetch(MountRequest& request);
  void fetch_file(MountRequest& request, const MountTree::Node& file);
  void part_done(MountRequest& request);
  void answer(MountRequest& request);
  void count(MountRequest& request);
  bool send(MountRequest& request);
  void forget(MountRequest& request);

  const Storage& data_;  // where nothing waits
  TierModel* const model_;
  const MountTree& tree_;
  TierMeter& meter_;
  const Options options_;
  MountStatistics statistics_;
  const std::unique_ptr<Probe> probe_;
  std::atomic<bool> ended_{false};
  std::atomic<bool> realtime_{false};
  std::atomic<bool> changed_{false};  // an object has, and it was said

  std::mutex files_mutex_;
  std::unordered_map<uint64_t, OpenFile> open_files_;
  std::vector<fuse_req_t> drop_requests_;

  FuseSession session_;
  std::shared_mutex answering_mutex_;
  bool answering_ = true;  // the session is there to be answered
  std::mutex requests_mutex_;
  std::list<MountRequest> requests_;
  std::list<MountRequest> idle_;  // their buffers are used again
  ReplyTimer timer_;
  ReadPool pool_;
  std::jthread receiver_;
};

// What a FuseSession of a MountServer does, the session's user being the server.
const fuse_lowlevel_ops& mount_operations();

// The two extended attributes of the root. To read the first drops all pages, and returns when they
// are gone: the number of files. The other is JSON: what was counted until now.
inline constexpr const char* kDropAttribute = "user.stoker.drop";
inline constexpr const char* kStatisticsAttribute = "user.stoker.statistics";

// Answers a request for such an attribute, whose buffer is large enough for any number.
void reply_attribute(fuse_req_t request, const std::string& value);

// What a read through this mount takes in addition to its device. Measured by reads of its own,
// which takes some 50 ms. At most 150 us and 400 us a MiB, because on a busy machine the rest is
// not ours. IoError if a read fails. One thread, none of the server's.
OwnCost measure_own_cost(MountServer& server);

}  // namespace stoker
