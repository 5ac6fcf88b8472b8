#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace stoker {

// Where the objects of a tier are: key to URL. A value; any thread.
struct ObjectPlace {
  std::string url;         // percent-encoded, with a "/" at its end
  bool of_s3 = false;      // else any web server's
  std::string index = {};  // the key of the object that lists the others; empty: there is none
  // The URL of a key, which is as to_text() makes it.
  std::string url_of(const std::string& key) const;
  // "read http://host/bucket/a b.jpg".
  std::string shown(const std::string& operation, const std::string& key) const;
};

// Which version of an object is meant. A value.
struct ObjectVersion {
  uint64_t bytes = 0;
  std::string etag = {};  // empty: not known
  bool listed = false;    // as a listing says it, and no answer yet
};

// The versions of a tier's objects, as listings and answers said them first: later reads must get
// the same. Any thread.
class KnownObjects {
 public:
  struct Seen {
    std::string key;
    ObjectVersion version;
  };
  std::optional<ObjectVersion> find(const std::string& key) const;
  // How many objects we ourselves have replaced or removed.
  uint64_t changes() const;
  // Adds what was seen after `changes` changes of ours. Where there were more since, nothing is
  // added, for it may have been seen before them. A listing replaces what was known, an answer does
  // not.
  void add_listed(uint64_t changes, const std::vector<Seen>& seen);
  void add(uint64_t changes, const std::string& key, const ObjectVersion& version);
  // To be called before and after we replace or remove an object: nothing is known of it then.
  void begin_change(const std::string& key);
  void end_change(const std::string& key);
  // Whether we are replacing or removing it now.
  bool changing(const std::string& key) const;

 private:
  mutable std::mutex mutex_;
  uint64_t changes_ = 0;
  std::unordered_map<std::string, ObjectVersion> versions_;
  std::multiset<std::string> changing_;
};

}  // namespace stoker
