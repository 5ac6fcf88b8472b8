#pragma once

#include <map>
#include <string>
#include <vector>

#include "io/dataset/dataset.h"
#include "io/dataset/files/tier_files.h"

namespace stoker {

// How an option says which files are samples: "JPG" and "*.jpg" are ".jpg"; "" stands for names
// without an extension. Pure; any thread.
std::string plain_ending(const std::string& text);

// The class folders below a folder of a tier: "<class>/<anything>/<name><ending>". Folders that are
// no data (io/storage/keys.h) are passed over, at any depth. A value that refers to the tier; any
// thread. What it throws names what is there and the option that takes it.
class ClassFolders {
 public:
  // Lists them. exclude: classes to leave out, also such as may not be read. Error(ExitCode::
  // environment) where there is no such folder, or no class in it; IoError as the tier's.
  // one_class: all samples are of one class, kOneClass, in whatever folder they lie.
  ClassFolders(TierFolder place, const std::vector<std::string>& endings,
               const std::vector<std::string>& exclude, bool one_class = false);
  static constexpr const char* kOneClass = "images";

  // By name; also those without a sample.
  std::map<std::string, std::vector<SampleInfo>> classes;
  // Keys of all other files.
  std::vector<std::string> ignored;
  // The classes that were there and are left out.
  std::vector<std::string> excluded;

  // The folders directly in a class that hold its samples. Empty: some lie in none.
  std::vector<std::string> folders_in(const std::string& name) const;
  // Error(ExitCode::config) where the folders are the parts of a data set ("train", "val") and the
  // classes lie in them.
  void refuse_parts() const;
  // Error(ExitCode::environment) that says which files the class has instead.
  [[noreturn]] void fail_without_images(const std::string& name) const;

 private:
  std::vector<ObjectInfo> objects(const std::vector<std::string>& exclude);
  std::vector<ObjectInfo> objects_by_class(const std::vector<std::string>& exclude);
  void add(const ObjectInfo& object);
  bool is_sample(std::string_view name) const;
  [[noreturn]] void fail_empty() const;

  TierFolder place_;
  std::string prefix_;
  std::vector<std::string> endings_;
  bool one_class_;
};

}  // namespace stoker
