
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "app/tools/mount/mount_server.h"

namespace stoker {

// Called by libfuse on the one thread that takes requests. No exception may leave them.
struct MountOperations {
  static MountServer& server(fuse_req_t request) {
    return *static_cast<MountServer*>(FuseSession::user_of(request));
  }

  // A listing never changes: the kernel asks once.
  static constexpr double kForEver = 1e9;
  // A listing has no times, and some archives take none before this.
  static constexpr time_t k1980 = 315532800;

  static struct stat attributes(uint64_t number, const MountTree::Node& node) {
    struct stat result {};
    result.st_ino = number;
    result.st_mode = node.directory ? S_IFDIR | 0555 : S_IFREG | 0444;
    result.st_nlink = 1;
    result.st_uid = ::geteuid();
    result.st_gid = ::getegid();
    result.st_size = static_cast<off_t>(node.bytes);
    result.st_blksize = 4096;
    result.st_blocks = static_cast<blkcnt_t>((node.bytes + 511) / 512);
    result.st_atim.tv_sec = result.st_mtim.tv_sec = result.st_ctim.tv_sec = k1980;
    return result;
  }

  // Calls f(server); what it throws is the request's error.
  template <class F>
  static void answer(fuse_req_t request, const F& f) {
    try {
      f(server(request));
    } catch (const std::bad_alloc&) {
      fuse_reply_err(request, ENOMEM);
    } catch (const std::exception&) {
      fuse_reply_err(request, EIO);
    }
  }

  static void lookup(fuse_req_t request, fuse_ino_t parent, const char* name) {
    answer(request, [&](MountServer& server) {
      fuse_entry_param entry{};
      entry.ino = server.find(parent, name);
      entry.entry_timeout = entry.attr_timeout = kForEver;
      if (entry.ino != 0) entry.attr = attributes(entry.ino, *server.node(entry.ino));
      fuse_reply_entry(request, &entry);
    });
  }

  static void getattr(fuse_req_t request, fuse_ino_t number, fuse_file_info* /*file*/) {
    const MountTree::Node* const node = server(request).node(number);
    if (node == nullptr) {
      fuse_reply_err(request, ENOENT);
      return;
    }
    const struct stat status = attributes(number, *node);
    fuse_reply_attr(request, &status, kForEver);
  }

  static void opendir(fuse_req_t request, fuse_ino_t /*number*/, fuse_file_info* file) {
    file->cache_readdir = file->keep_cache = 1;
    fuse_reply_open(request, file);
  }

  static void readdir(fuse_req_t request, fuse_ino_t number, size_t bytes, off_t from,
                      fuse_file_info* /*file*/) {
    answer(request, [&](MountServer& server) {
      const MountTree::Node* const node = server.node(number);
      if (node == nullptr) throw std::bad_alloc();
      std::vector<char> text(bytes);
      size_t used = 0;
      for (size_t i = static_cast<size_t>(from); i < node->entries.size() + 2; ++i) {
        const uint64_t entry = i == 0   ? number
                               : i == 1 ? node->parent
                                        : node->entries[i - 2].number;
        const char* const name = i == 0 ? "." : i == 1 ? ".." : node->entries[i - 2].name.c_str();
        const struct stat status = attributes(entry, *server.node(entry));
        const size_t needed = fuse_add_direntry(request, text.data() + used, bytes - used, name,
                                                &status, static_cast<off_t>(i + 1));
        if (needed > bytes - used) break;
        used += needed;
      }
      fuse_reply_buf(request, text.data(), used);
    });
  }

  static void open(fuse_req_t request, fuse_ino_t number, fuse_file_info* file) {
    if ((file->flags & O_ACCMODE) != O_RDONLY) {
      fuse_reply_err(request, EROFS);
      return;
    }
    answer(request, [&](MountServer& server) { server.open(request, number, *file); });
  }

  static void read(fuse_req_t request, fuse_ino_t number, size_t bytes, off_t from,
                   fuse_file_info* /*file*/) {
    answer(request, [&](MountServer& server) {
      server.read(request, number, static_cast<uint64_t>(from), bytes);
    });
  }

  static void release(fuse_req_t request, fuse_ino_t number, fuse_file_info* /*file*/) {
    server(request).release(number);
    fuse_reply_err(request, 0);
  }

  static void statfs(fuse_req_t request, fuse_ino_t /*number*/) {
    const MountTree& tree = server(request).tree_;
    struct statvfs status {};
    status.f_bsize = status.f_frsize = 4096;
    status.f_blocks = (tree.bytes() + 4095) / 4096;
    status.f_files = tree.files();
    status.f_namemax = 255;
    fuse_reply_statfs(request, &status);
  }

  static void getxattr(fuse_req_t request, fuse_ino_t number, const char* name, size_t bytes) {
    answer(request, [&](MountServer& server) {
      const bool drops = std::strcmp(name, kDropAttribute) == 0;
      if (number != FUSE_ROOT_ID || (!drops && std::strcmp(name, kStatisticsAttribute) != 0)) {
        fuse_reply_err(request, ENODATA);
        return;
      }
      // Some ask for the length first; it may grow until they ask for the value.
      constexpr size_t kRoom = 1024;
      const std::string value = drops ? "" : server.statistics_.json().dump();
      if (bytes == 0) {
        fuse_reply_xattr(request, value.size() + kRoom);
      } else if (drops) {
        server.ask_for_drop(request);
      } else if (bytes < value.size()) {
        fuse_reply_err(request, ERANGE);
      } else {
        reply_attribute(request, value);
      }
    });
  }
};

const fuse_lowlevel_ops& mount_operations() {
  static const fuse_lowlevel_ops kOperations = [] {
    fuse_lowlevel_ops operations{};
    operations.lookup = MountOperations::lookup;
    operations.getattr = MountOperations::getattr;
    operations.opendir = MountOperations::opendir;
    operations.readdir = MountOperations::readdir;
    operations.open = MountOperations::open;
    operations.read = MountOperations::read;
    operations.release = MountOperations::release;
    operations.statfs = MountOperations::statfs;
    operations.getxattr = MountOperations::getxattr;
    return operations;
  }();
  return kOperations;
}

void reply_attribute(fuse_req_t request, const std::string& value) {
  fuse_reply_buf(request, value.data(), value.size());
}

}  // namespace stoker
