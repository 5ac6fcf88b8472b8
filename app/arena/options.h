#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/core/config.h"

namespace stoker {

// One program of the comparison. In its commands, which /bin/sh runs from the current directory,
// are replaced:
//   {workers} {epochs}   numbers
//   {data}               the folder of the data (in `pixels`: of the few files that are compared)
//   {peers}              the folder of the peers' environments
//   {stoker}             this program
//   {here}               the folder of the arena file
//   {dump}               in `pixels`: the .npy file to write
struct ArenaEntry {
  std::string name;
  std::string klass;
  std::string command;
  std::vector<int64_t> workers;
  std::string needs;
  std::string install;
  std::string pixels;
  bool reference = false;
  std::string buffers;
  std::string note;
  template <class V>
  void visit(V& v) {
    v.required("name", name, "in the table, and for --only");
    v.required("class", klass, "entries of one class do the same work and are compared");
    v.required("command", command,
               "prints a line of JSON with images_per_s, the last that begins with {");
    v("workers", workers, "the command is run with each; absent: those of the arena");
    v("needs", needs, "what must be there, a path; else the entry is listed as not there");
    v("install", install, "what makes it be there, in words");
    v("pixels", pixels, "command that writes the pixels of the same files in sorted order");
    v("reference", reference, "its class's pixels are compared with those of this entry");
    v("buffers", buffers, "of its batches: reused or fresh");
    v("note", note, "what else differs");
  }
  // Runs {stoker}: the others of the class are what it is compared with.
  bool ours() const { return command.find("{stoker}") != std::string::npos; }
};

// A comparison as its YAML file says it. A value; reading it touches no data.
struct ArenaOptions {
  std::string name;
  Path data;
  Path peers;
  Path pixel_data;
  std::vector<int64_t> workers{1, 2};
  int64_t epochs = 3;
  int64_t rounds = 3;
  int64_t seed = 1;
  double timeout_s = 1200;
  std::string work;
  std::vector<ArenaEntry> entries;
  std::string here;  // set by read_arena
  template <class V>
  void visit(V& v) {
    v.required("name", name, "of the arena, and of its directory");
    v("data", data, "folder of the data, {data}");
    v("peers", peers, "folder of the peers' environments, {peers}");
    v("pixel_data", pixel_data, "folder of the few files whose pixels are compared");
    v("workers", workers, "numbers of workers, {workers}, of entries that say none");
    v("epochs", epochs, "measured epochs of each command, {epochs}", Limits{1, 1000});
    v("rounds", rounds, "every command once in each, in an order of its own", Limits{1, 1000});
    v("seed", seed, "of the orders");
    v("timeout_s", timeout_s, "a command that takes longer has failed", Limits{1, 1e6});
    v("work", work, "what every entry does, for the reader of the table");
    v.required("entries", entries, "the programs");
  }
  void check(const Section& section) const;
};

// Reads an arena file with overrides of it ("rounds=1"). Error(ExitCode::config) with position;
// ExitCode::environment where it cannot be read.
ArenaOptions read_arena(const std::string& path, const std::vector<std::string>& overrides);

}  // namespace stoker
