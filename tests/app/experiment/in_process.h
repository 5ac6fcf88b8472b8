#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "app/cli.h"

namespace stoker {

// What a command of the program left, which was run inside this process: thousands a second. A
// value.
struct Outcome {
  int code = 0;  // 70: a bug, as the program would say
  std::string out;
  std::string error;
};

inline Outcome in_process(std::vector<std::string> words) {
  words.insert(words.begin(), "stoker");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  Outcome outcome;
  outcome.code = run_cli(static_cast<int>(argv.size()), argv.data());
  outcome.out = ::testing::internal::GetCapturedStdout();
  outcome.error = ::testing::internal::GetCapturedStderr();
  return outcome;
}

inline std::string stdout_of(const std::vector<std::string>& words) {
  const Outcome outcome = in_process(words);
  EXPECT_EQ(outcome.code, 0) << outcome.error;
  return outcome.out;
}

}  // namespace stoker
