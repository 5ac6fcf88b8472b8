#pragma once

#include <string>
#include <string_view>

#include "io/core/config/config.h"

// Keys of objects as people, lists and file systems write them. Pure functions; any thread.

namespace stoker {

// Whether `key` is a relative path that stays inside its tier: no "..", ".", empty or temporary
// component, and written as to_text() writes a name.
bool is_key(std::string_view key);

// The key that a person or a list means: "./train//a/" is "train/a", and "." is "". A "/" at the
// begin and ".." stay, so that is_key() refuses them.
std::string plain_key(std::string_view text);

// The extension of the key's name, in lower case and with its point: ".jpg". Empty: there is none.
std::string key_extension(std::string_view key);

// Whether a folder of this name holds what a system or a program keeps for itself, and no data: a
// hidden one (".ipynb_checkpoints", ".Trash-0"), "lost+found", "@eaDir", "__MACOSX" and their like.
bool is_system_folder(std::string_view name);
// Whether one of the folders of a key is such a folder: "cat/@eaDir/1.jpg", "lost+found/".
bool in_system_folder(std::string_view key);

// A key, or a folder of keys, as an option of a configuration names it. A value; plain_key() has
// made it plain. Empty: the tier's root.
struct KeyPath {
  std::string value;
};

template <>
struct Field<KeyPath> {
  static void read(const Section& at, KeyPath& out, Limits limits);
  static Node dump(const KeyPath& path) { return Field<std::string>::dump(path.value); }
  static std::string type() { return "path inside the tier"; }
};

}  // namespace stoker
