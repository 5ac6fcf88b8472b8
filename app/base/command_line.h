#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "io/core/config/registry.h"
#include "io/core/error.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

// The seam to the command-line library: what declares or runs commands includes this, and not the
// library, which takes seconds to compile.

namespace stoker {

struct ByteSize;

// An experiment as a command line names it, and how the command prints its result. A command with
// more arguments has a struct of its own, derived from this one. A value.
struct ConfigArguments {
  // A YAML file. (`checkpoint`: also a directory.)
  std::string config;
  // Assignments (a.b=value) that replace what the file says, in their order.
  std::vector<std::string> overrides;
  // Print the result as JSON on standard output, instead of text.
  bool json = false;
};

// The directory of a run that a command was given, and if the run had many ranks, those of the
// other ranks in it: "rank-1" ... Any thread.
std::vector<std::string> directories_of_ranks(const std::string& directory);

// One argument of a command. Each method adds a rule and returns the same argument, so that rules
// can be chained. A handle; valid as long as its CommandLine. If a rule is broken on the command
// line, CommandLine::run throws a usage error.
class Argument {
 public:
  explicit Argument(CLI::Option* option) : option_(option) {}

  Argument required() const;
  // The range of a number, both ends included. For a list, the range of every number.
  Argument range(int64_t lowest, int64_t highest) const;
  Argument between(double lowest, double highest) const;
  Argument positive() const;
  Argument not_negative() const;
  Argument one_of(const std::vector<std::string>& words) const;
  // A list takes one word each time it is given. Without this rule it takes all words that follow.
  Argument one_each() const;
  // A list takes at most this many words.
  Argument at_most(int words) const;
  // What the help shows instead of the type ("a.b=c").
  Argument shown_as(const std::string& type) const;
  // The value is read from this environment variable if it is not on the command line.
  Argument or_environment(const std::string& variable) const;
  // Only one of the two may be given.
  Argument excludes(const Argument& other) const;
  // May be given only together with the other one.
  Argument needs(const Argument& other) const;

 private:
  CLI::Option* option_;
};

// Declares a command's arguments. A handle: a copy means the same command. Variables that arguments
// are read into must live until the command has run. Those that run() makes live long enough.
class Command {
 public:
  // Adds a command below this one.
  Command add(const std::string& name, const std::string& help) const;
  // The same, but one of the commands below the new one has to be given.
  Command add_group(const std::string& name, const std::string& help) const;
  // The command of this name right below this one. Absent: there is none.
  std::optional<Command> find(const std::string& name) const;
  // Text below the command's help.
  void footer(const std::string& text) const;

  // An option ("--rounds", "-q,--quiet") or, without dashes, a positional argument. The help shows
  // the variable's value as the default, unless it is empty. T: std::string, int64_t, uint64_t,
  // double, ByteSize (512KiB, 1m; not 0), optional<int64_t, double or ByteSize>, and lists:
  // vector<std::string> takes the words that follow, vector<int64_t> one word (1,2,4). Words that
  // begin with "~" are read as with_home() does, for a shell leaves that of "--output=~/a" as it
  // is.
  template <class T>
  Argument argument(const std::string& name, T& value, const std::string& help) const;
  // The value becomes true if the flag is given.
  Argument flag(const std::string& name, bool& value, const std::string& help) const;
  // Any number of words a.b=value.
  Argument overrides(std::vector<std::string>& value, const std::string& of = "file") const;
  // CONFIG [a.b=c ...] [--json]
  void config(ConfigArguments& value) const;

  // What the command does; its result is the program's. Errors leave it as exceptions. The function
  // lives as long as the CommandLine.
  void run(std::function<ExitCode()> work) const;
  // The same, with arguments for `work`, which are to be filled by argument() and flag().
  template <class A>
  std::remove_cvref_t<A>& run(ExitCode (*work)(A)) const {
    const auto arguments = std::make_shared<std::remove_cvref_t<A>>();
    run([=] { return work(*arguments); });
    return *arguments;
  }

 private:
  friend class CommandLine;
  struct State;
  Command(CLI::App* app, State* state) : app_(app), state_(state) {}

  // Both are the CommandLine's.
  CLI::App* app_;
  State* state_;
};

// A whole command line, with all commands and what was declared for them. One thread.
class CommandLine {
 public:
  // help: what the program is. version: what --version prints.
  CommandLine(const std::string& name, const std::string& help, const std::string& version);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  // The keys of an experiment that end with a word ("loader.workers" for "workers"). It is asked
  // for options that a command does not know, if the command takes overrides.
  using KeysOf = std::function<std::vector<std::string>(const std::string& word)>;
  void know_keys(KeysOf keys_of) { keys_of_ = std::move(keys_of); }

  // Commands of the program are added below it.
  Command root() const;
  // Parses the words behind the program's name and runs the command; help is printed.
  // Error(ExitCode::config) for a usage error. Throws what the command throws.
  ExitCode run(const std::vector<std::string>& words);
  // Parses the words and runs nothing. For words that another process will get. Throws as run().
  void check(const std::vector<std::string>& words);

 private:
  // Error(ExitCode::config) if the words do not begin with a command.
  void check_commands(const std::vector<std::string>& words) const;

  std::unique_ptr<CLI::App> app_;
  std::unique_ptr<Command::State> state_;
  KeysOf keys_of_;
};

// Declares one command below another one: the program's root, or a group.
using AddCommand = void (*)(const Command& above);

// The commands of the libraries that are loaded, by name. Filled by RegisteredCommand.
std::map<std::string, AddCommand>& registered_commands();

// At namespace scope in a command.cpp, once for each command: the command is there from when its
// library is loaded. `name` is also in the library's PLUGIN list in CMake, by which the program
// finds it. A command of two words, "bench train", lies below the group "bench" of another library.
class RegisteredCommand {
 public:
  RegisteredCommand(const char* name, AddCommand add) { registered_commands().emplace(name, add); }
};

// A kind of component with what is registered for it by now, as `stoker list` and `stoker describe`
// show it. A value.
struct ComponentKind {
  std::string name;
  std::vector<std::string> types;
  // The options that have a meaning for a type. Error(ExitCode::config): it is unknown.
  std::vector<FieldHelp> (*describe)(const std::string& type);
  // The path of the plug-in that has a type; empty: none.
  std::string (*plugin)(const std::string& type);
};

template <class T>
ComponentKind component_kind() {
  return {T::kKind, Registry<T>::global().names(),
          [](const std::string& type) {
            std::vector<FieldHelp> rows = Registry<T>::global().need(type).describe();
            std::erase_if(rows, [](const FieldHelp& row) { return row.idle; });
            return rows;
          },
          [](const std::string& type) { return Registry<T>::global().need(type).name.plugin; }};
}

// What an experiment has beside the half that loads data. Its library fills it when it is loaded;
// until then both are null.
struct OtherHalf {
  std::vector<ComponentKind> (*kinds)() = nullptr;
  // The keys of a whole experiment file; those of its components are not among them.
  std::vector<FieldHelp> (*keys)() = nullptr;
};
OtherHalf& other_half();

}  // namespace stoker
