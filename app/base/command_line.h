#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "app/base/config_arguments.h"
#include "io/core/error.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

// The seam to the command-line library: what declares or runs commands includes this, and not the
// library, which takes seconds to compile.

namespace stoker {

struct ByteSize;

// One argument of a command, to say more about it: each method adds a rule and returns the same
// argument, so that rules are chained. A handle; valid as long as its CommandLine. Where a rule is
// broken on the command line, CommandLine::run prints it as a usage error.
class Argument {
 public:
  explicit Argument(CLI::Option* option) : option_(option) {}

  Argument required() const;
  // What a number may be, both ends included; a list's every number.
  Argument range(int64_t lowest, int64_t highest) const;
  Argument between(double lowest, double highest) const;
  Argument positive() const;
  Argument not_negative() const;
  Argument one_of(const std::vector<std::string>& words) const;
  // A list takes one word each time it is given, where it would take all that follow.
  Argument one_each() const;
  // A list takes no more words than these.
  Argument at_most(int words) const;
  // What the help shows in the place of the type ("a.b=c").
  Argument shown_as(const std::string& type) const;
  // Read from this environment variable where it is not on the command line.
  Argument or_environment(const std::string& variable) const;
  // Only one of the two may be given.
  Argument excludes(const Argument& other) const;
  // May be given only together with the other one.
  Argument needs(const Argument& other) const;

 private:
  CLI::Option* option_;
};

// What declares a command's arguments. A handle: a copy means the same command. Variables that
// arguments are read into must live until the command has run; those that run() makes do.
class Command {
 public:
  // A command below this one.
  Command add(const std::string& name, const std::string& help) const;
  // The same; one of the commands below it has to be given.
  Command add_group(const std::string& name, const std::string& help) const;
  // Text below the command's help.
  void footer(const std::string& text) const;

  // An option ("--rounds", "-q,--quiet") or, without dashes, a positional argument. The help shows
  // the variable's value as the default, unless it is empty. T: std::string, int64_t, uint64_t,
  // double, ByteSize (512KiB, 1m; not 0), optional<int64_t, double or ByteSize>, and lists:
  // vector<std::string> takes the words that follow, vector<int64_t> one word (1,2,4).
  template <class T>
  Argument argument(const std::string& name, T& value, const std::string& help) const;
  // True where it is given.
  Argument flag(const std::string& name, bool& value, const std::string& help) const;
  // a.b=value, any number of them.
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

  // Commands of the program are added below it.
  Command root() const;
  // Parses and runs the command. Usage errors are printed, and are ExitCode::config; help is
  // printed, too. Throws what the command throws.
  ExitCode run(int argc, char** argv);
  // Parses and runs nothing, for words that another process will get. Error(ExitCode::config) where
  // `words` are not as they have to be.
  void check(std::vector<std::string> words);

 private:
  // Error(ExitCode::config) where the words begin with no command.
  void check_commands(const std::vector<std::string>& words) const;

  std::unique_ptr<CLI::App> app_;
  std::unique_ptr<Command::State> state_;
};

}  // namespace stoker
