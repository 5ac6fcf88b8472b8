#pragma once

#include <filesystem>
#include <string>
#include <vector>

// Which part of a data set a name stands for, and which folders of this machine are such parts. The
// one place that says so: for class folders, for shards, for `stoker try` and for of_folder() of
// the Python package.

namespace stoker {

// Whether a folder, or a shard, of this name is a part of a data set, and no class: "train",
// "val2017", "seg_test", "Validation". Pure; any thread.
bool names_training_part(const std::string& name);
bool names_testing_part(const std::string& name);

// Puts the parts to test on first whose images have labels: those of a `test` are often kept back,
// those of a `val` never. Pure; any thread.
void prefer_labelled(std::vector<std::string>& testing_parts);

// The names that lie directly in a folder, sorted; of very many only some. A value.
struct FolderNames {
  std::vector<std::string> folders;
  std::vector<std::string> files;
};
// Without hidden ones. Error(ExitCode::environment) where it can't be listed. Any thread.
FolderNames names_in(const std::filesystem::path& folder);

// How the images of a folder lie. A value.
struct ImageParts {
  // The folders that hold images, at any depth.
  std::vector<std::string> folders;
  // These folders are parts, and this one trains, with folders of classes in it. Empty: the folders
  // are the classes.
  std::string train = {};
  // The part that tests, with folders of classes in it. Empty: there is none.
  std::string test = {};
  // Parts to test on whose images lie in no folders of classes.
  std::vector<std::string> unlabelled = {};
  // Images that lie in no folder.
  bool loose = false;
};
// Looks at names, and not into files. Error as names_in(). Any thread.
ImageParts image_parts(const std::filesystem::path& root);

}  // namespace stoker
