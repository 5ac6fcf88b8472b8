#include "io/checkpoint/sets/object_sets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <thread>

#include "io/checkpoint/sets/object_set_writer.h"
#include "tests/support/bucket_run.h"
#include "tests/support/errors.h"
#include "tests/support/thread_group.h"

// Sets on a tier that has objects and no files.

namespace stoker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kToBucket = kDirect + ", threads: 2, shards: 3";
const std::string kIntoBucket = kBurst + ", threads: 2, shards: 3";

TEST(ObjectSets, a_set_comes_back_as_it_was_saved) {
  for (const std::string& options : {kToBucket, kIntoBucket, kDirect + ", layout: tf_saver"}) {
    BucketRun run;
    run.start(options);
    run.save(1), run.save(2);
    EXPECT_TRUE(run->flush()) << run.warnings();
    EXPECT_EQ(run->status().durable_step, 2);
    EXPECT_EQ(run.bucket_steps(), (Steps{1, 2}));
    std::filesystem::remove_all(run.path("fast"));
    EXPECT_EQ(run.resume(options + kLatest), 2) << run.warnings();
    EXPECT_EQ(run.warnings(), "");
  }
}

TEST(ObjectSets, a_step_that_is_saved_again_takes_the_place_of_its_set) {
  for (const std::string& options : {kToBucket, kIntoBucket}) {
    BucketRun run;
    run.start(options);
    run.save(5);
    EXPECT_TRUE(run->flush());
    const std::vector<std::string> first = run.set_keys(5);
    run.save_again(5);
    EXPECT_TRUE(run->flush());
    EXPECT_EQ(run.bucket_steps(), Steps{5});
    EXPECT_TRUE(run.is_second_in_bucket(5) && run.bucket_intact(5));
    EXPECT_EQ(run.set_keys(5).size(), first.size()) << "the first one is gone";
    EXPECT_EQ(run.warnings(), "");
  }
}

TEST(ObjectSets, a_set_stays_where_the_one_in_its_place_fails) {
  BucketRun run;
  run.seen = [](const std::string& op, const std::string& key) {
    if (op == "commit" && key.ends_with("aside.superseded")) throw IoError("refused", EACCES);
  };
  run.start(kToBucket);
  run.save(5);
  const std::vector<std::string> first = run.set_keys(5);
  run.save_again(5);
  EXPECT_TRUE(run.bucket_intact(5) && !run.is_second_in_bucket(5));
  EXPECT_EQ(run.set_keys(5), first);
  EXPECT_EQ(run->status().failed, 1);
}

TEST(ObjectSets, only_what_has_the_name_of_a_set_is_one) {
  const std::string set = "run/step-0000000001-0123456789abcdef";
  const std::vector<ObjectInfo> objects = {
      {"run/step-", 1},
      {"run/step-0000000001-0123456789ABCDEF/MANIFEST.json", 1},
      {set, 1},
      {set + "/", 0},
      {set + "/MANIFEST.json", 20},
      {set + "/state.safetensors", 300},
      {"run/step-0000000001-0123456789abcdef0/MANIFEST.json", 1},
      {"run/step-0000000001/MANIFEST.json", 1},
      {"run/step-0000000002-0123456789abcdef/deep/MANIFEST.json", 7},
      {"run/step-0000000003-0123456789abcdef/MANIFEST.json", 1},
      {"run/step-0000000003-0123456789abcdef/aside.damaged", 1},
      {"run/step-1-0123456789abcdef/MANIFEST.json", 1},
      {"run/step-99999999999999999999-0123456789abcdef/MANIFEST.json", 1}};
  const std::vector<SetEntry> sets = sets_among(objects, "run");
  std::vector<std::string> states;
  for (const SetEntry& each : sets) states.push_back(each.state);
  EXPECT_THAT(states, ElementsAre("committed", "unfinished", "damaged"));
  EXPECT_EQ(sets[0].step, 1);
  EXPECT_EQ(sets[0].bytes, 320u);
  EXPECT_EQ(sets[2].step, -1);
}

TEST(ObjectSets, what_one_checkpointer_wrote_the_other_goes_on_from) {
  BucketRun run;
  run.start(kIntoBucket);
  run.save(1);
  EXPECT_TRUE(run->flush());
  EXPECT_EQ(run.resume(kToBucket + ", fast: fast" + kLatest), 1);
  run.save(2);
  EXPECT_EQ(run.resume(kIntoBucket + kLatest), 2);
}

TEST(ObjectSets, data_come_first_and_the_manifest_last) {
  for (const std::string& options : {kToBucket, kIntoBucket}) {
    BucketRun run;
    run.start(options);
    run.save(1);
    EXPECT_TRUE(run->flush());
    std::vector<std::string> commits;
    for (const auto& [op, key] : run.operations()) {
      if (op == "commit" && key.starts_with("run/step-")) commits.push_back(key);
    }
    ASSERT_EQ(commits.size(), 4u);
    EXPECT_TRUE(commits.back().ends_with("/MANIFEST.json"));
    EXPECT_EQ(std::set(commits.begin(), commits.end()).size(), 4u) << "none is written twice";
  }
}

TEST(ObjectSets, no_other_operations_are_needed_than_every_tier_has) {
  BucketRun run;
  run.start(kIntoBucket);
  run.save(1);
  EXPECT_TRUE(run->flush());
  EXPECT_EQ(files_of(ObjectTier(run.bucket)), nullptr);
  EXPECT_THAT(keys_of(*run.bucket), testing::Contains(HasSubstr("run/latest")));
}

TEST(ObjectSets, a_set_is_not_there_before_its_manifest) {
  BucketRun run;
  SetStore store("slow", *run.bucket, "run", {.run = "run"});
  store.open_for_writing();
  const std::unique_ptr<SetWriter> writer = store.begin(7);
  const size_t file = writer->add_file("state.safetensors", 3, FileAccess::direct);
  const std::vector<uint8_t> bytes = {1, 2, 3};
  writer->write(file, 0, bytes, nullptr);
  writer->finish();
  EXPECT_EQ(run.set_keys(7).size(), 1u);
  EXPECT_FALSE(store.has(7));
  EXPECT_EQ(store.steps(), Steps{});
}

TEST(ObjectSets, a_set_that_is_given_up_leaves_nothing) {
  BucketRun run;
  SetStore store("slow", *run.bucket, "run", {.run = "run"});
  store.open_for_writing();
  std::unique_ptr<SetWriter> writer = store.begin(7);
  const std::vector<uint8_t> bytes = {1, 2, 3};
  writer->write(writer->add_file("a", 3, FileAccess::direct), 0, bytes, nullptr);
  writer->add_file("b", 3, FileAccess::direct);
  writer.reset();
  EXPECT_EQ(run.set_keys(7), std::vector<std::string>{});
}

TEST(ObjectSets, pieces_out_of_order_are_a_bug_and_no_set) {
  BucketRun run;
  ObjectSetWriter writer(*run.bucket, "run/x", false, [] {});
  const size_t file = writer.add_file("a", 6, FileAccess::direct);
  const std::vector<uint8_t> bytes = {1, 2, 3};
  EXPECT_EQ(code_of([&] { writer.write(file, 3, bytes, nullptr); }), ExitCode::bug);
  writer.write(file, 0, bytes, nullptr);
  EXPECT_EQ(code_of([&] { writer.write(file, 0, bytes, nullptr); }), ExitCode::bug);
  EXPECT_EQ(code_of([&] { writer.finish(); }), ExitCode::bug);
}

TEST(ObjectSets, removing_begins_with_the_manifest) {
  BucketRun run;
  run.start("type: direct, slow: slow, every_steps: 1, keep_last: 1, shards: 2");
  run.save(1), run.save(2);
  EXPECT_EQ(run.bucket_steps(), Steps{2});
  std::vector<std::string> removed;
  for (const auto& [op, key] : run.operations()) {
    if (op == "remove") removed.push_back(key.substr(key.rfind('/') + 1));
  }
  EXPECT_THAT(removed, ElementsAre("MANIFEST.json", "state-00001-of-00002.safetensors",
                                   "state-00002-of-00002.safetensors"));
  EXPECT_EQ(run.set_keys(1), std::vector<std::string>{});
}

TEST(ObjectSets, latest_names_the_newest_set) {
  BucketRun run;
  run.start(kToBucket);
  run.save(1), run.save(2);
  EXPECT_EQ("run/" + get(*run.bucket, "run/latest"), run.store().path(2) + "\n");
}

TEST(ObjectSets, what_a_killed_process_left_goes_when_the_same_run_starts_again) {
  BucketRun run;
  run.start(kToBucket);
  run.save(1);
  run.stop();
  const std::string left = "run/" + object_set_name(2) + "/state.safetensors";
  put(*run.bucket, left, "some");
  put(*run.bucket, "run/step-0000000003/MANIFEST.json", "of somebody else");
  put(*run.bucket, "other/" + object_set_name(2) + "/state.safetensors", "another run's");
  EXPECT_EQ(run.resume(kToBucket + kLatest), 1);
  EXPECT_EQ(run.set_keys(2), std::vector<std::string>{});
  EXPECT_EQ(keys_of(*run.bucket, "run/step-0000000003/").size(), 1u);
  EXPECT_EQ(keys_of(*run.bucket, "other/").size(), 1u);
}

TEST(ObjectSets, the_directory_of_another_run_is_refused_and_not_touched) {
  BucketRun run;
  put(*run.bucket, "run/writer-0000000001-0123456789abcdef",
      "{\"run\":\"theirs\",\"process\":\"process 1 on far\"}");
  put(*run.bucket, "run/" + object_set_name(2) + "/state.safetensors", "some");
  const std::vector<std::string> before = keys_of(*run.bucket);
  EXPECT_EQ(error_of([&] { run.start(kToBucket); }),
            "slow:run (tier slow) holds checkpoints of run 'theirs', and this is 'run': give this "
            "run another checkpoint.directory, or that one's run.name");
  EXPECT_EQ(keys_of(*run.bucket), before);
}

TEST(ObjectSets, a_second_process_is_refused_while_the_first_lives) {
  BucketRun run;
  run.start(kToBucket);
  run.save(1);
  SetStore second("slow", *run.bucket, "run", {.run = "run"});
  const std::string why = error_of([&] { second.open_for_writing(); });
  EXPECT_THAT(why,
              HasSubstr("checkpoint directory slow:run is in use by another process (process " +
                        std::to_string(getpid()) + " on "));
  run.save(2);
  EXPECT_EQ(run.bucket_steps(), (Steps{1, 2}));
  run.stop();
  second.open_for_writing();
}

// A process on another machine cannot be seen to live.
TEST(ObjectSets, a_process_whose_directory_was_taken_over_says_so_and_writes_no_more) {
  BucketRun run;
  run.start(kToBucket);
  run.save(1);
  put(*run.bucket, "run/writer-0000000002-0123456789abcdef",
      "{\"run\":\"run\",\"process\":\"process 1 on far\"}");
  run.save(2);
  EXPECT_EQ(run->status().saved, 1);
  EXPECT_EQ(run->status().failed, 1);
  EXPECT_TRUE(run->status().degraded);
  EXPECT_THAT(run.warnings(),
              HasSubstr("checkpoint directory slow:run was taken over by another process (process "
                        "1 on far); this one writes there no more"));
  EXPECT_EQ(run.bucket_steps(), Steps{1});
  EXPECT_EQ(run.set_keys(2), std::vector<std::string>{}) << "its own data went";
}

// Between its look and its manifest the directory was taken over: the new owner may have taken the
// data for garbage, so nothing is acknowledged.
TEST(ObjectSets, a_set_that_was_committed_as_the_directory_was_taken_is_not_acknowledged) {
  BucketRun run;
  run.seen = [&](const std::string& op, const std::string& key) {
    if (op != "commit" || !key.ends_with("MANIFEST.json")) return;
    put(*run.bucket, "run/writer-0000000002-0123456789abcdef",
        "{\"run\":\"run\",\"process\":\"process 1 on far\"}");
  };
  run.start(kToBucket);
  run.save(1);
  EXPECT_EQ(run->status().saved, 0);
  EXPECT_EQ(run.bucket_steps(), Steps{});
}

TEST(ObjectSets, a_claim_that_cannot_be_read_is_taken_over) {
  for (const std::string text : {"", "{", "[]", "{\"run\":1}", "{\"process\":\"x\"}"}) {
    BucketRun run;
    put(*run.bucket, "run/writer-0000000041-0123456789abcdef", text);
    run.start(kToBucket);
    run.save(1);
    EXPECT_EQ(run->status().saved, 1) << text << run.warnings();
  }
}

TEST(ObjectSets, a_new_run_on_old_sets_is_refused_before_it_takes_them) {
  BucketRun run;
  run.start(kToBucket);
  run.save(1);
  run.stop();
  const std::vector<std::string> before = keys_of(*run.bucket);
  EXPECT_EQ(
      error_of([&] { run.start(kToBucket); }),
      "slow:run holds checkpoints up to step 1, and checkpoint.resume is none: go on with "
      "checkpoint.resume=latest, or give this run another checkpoint.directory (or run.name)");
  EXPECT_EQ(keys_of(*run.bucket), before);
}

TEST(ObjectSets, sets_of_a_history_that_was_given_up_are_set_aside_and_kept) {
  BucketRun run;
  run.start(kIntoBucket);
  run.save(1), run.save(2);
  EXPECT_TRUE(run->flush());
  run.stop();
  const std::string old = run.store().path(2);
  EXPECT_EQ(run.resume(kIntoBucket + ", resume: " + run.set("fast", 1)), 1);
  EXPECT_EQ(run.bucket_steps(), Steps{1});
  EXPECT_THAT(keys_of(*run.bucket, old), testing::Contains(old + "/aside.superseded"));
  EXPECT_EQ(keys_of(*run.bucket, old).size(), 5u) << "nothing of it is lost";
  run.save(2);
  EXPECT_TRUE(run->flush()) << run.warnings();
  EXPECT_TRUE(run.bucket_intact(2));
  EXPECT_NE(run.store().path(2), old);
}

TEST(ObjectSets, many_ranks_write_one_set) {
  TemporaryDirectory root;
  const std::shared_ptr<Storage> bucket = make_storage("{type: memory}");
  ThreadGroup group(2);
  {
    std::vector<std::jthread> ranks;
    for (size_t rank = 0; rank < 2; ++rank) {
      ranks.emplace_back([&, rank] {
        Checkpoints run(root.path());
        run.tiers.add("slow", std::make_unique<ObjectTier>(bucket));
        const auto checkpointer = run.make("{" + kBurst + ", shards: 1}", group.member(rank));
        checkpointer->load();
        Checkpoints::save(*checkpointer, 1);
        EXPECT_TRUE(checkpointer->flush()) << run.warnings();
        EXPECT_EQ(checkpointer->status().durable_step, 1);
      });
    }
  }
  BucketRun alone;
  alone.bucket = bucket;
  EXPECT_EQ(alone.set_keys(1).size(), 3u);
  EXPECT_EQ(alone.resume(kDirect + kLatest), 1);
}

TEST(ObjectSets, many_ranks_do_not_save_to_a_fast_tier_without_files) {
  const TemporaryDirectory root;
  ThreadGroup group(2);
  Checkpoints run(root.path());
  run.tiers.add("fast", std::make_unique<ObjectTier>(make_storage("{type: memory}")));
  EXPECT_EQ(error_of([&] { run.make("{" + kBurst + "}", group.member(0)); }),
            "checkpoint.fast: tier 'fast' keeps no files, so many ranks cannot save there, each "
            "its own part of a set: name a tier of type posix, or use checkpoint.type=direct");
}

TEST(ObjectSets, one_process_may_save_to_a_fast_tier_without_files) {
  const TemporaryDirectory root;
  Checkpoints run(root.path());
  run.tiers.add("fast", std::make_unique<ObjectTier>(make_storage("{type: memory}")));
  const auto checkpointer = run.make("{" + kBurst + ", shards: 2}");
  checkpointer->load();
  Checkpoints::save(*checkpointer, 1);
  EXPECT_TRUE(checkpointer->flush()) << run.warnings();
  EXPECT_EQ(checkpointer->status().durable_step, 1);
}

}  // namespace
}  // namespace stoker
