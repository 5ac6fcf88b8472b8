#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "tests/support/bucket_run.h"
#include "tests/support/errors.h"

// What is not in a bucket as it was written is found, named, and not used.

namespace stoker {
namespace {

using testing::HasSubstr;

const std::string kBucketOnly = kDirect + ", threads: 2, shards: 2";

// Saves steps 1 and 2, lets `damage` work on an object of step 2, and goes on: from step 1, with a
// message that names the object.
void damage_each(const std::function<void(Storage&, const std::string& key)>& damage) {
  for (size_t object = 0; object < 3; ++object) {
    BucketRun run;
    run.start(kBucketOnly);
    run.save(1), run.save(2);
    run.stop();
    const std::vector<std::string> keys = run.set_keys(2);
    ASSERT_EQ(keys.size(), 3u);
    damage(*run.bucket, keys[object]);
    const bool manifest = keys[object].ends_with("MANIFEST.json");
    const bool committed = run.store().has(2);
    EXPECT_EQ(run.resume(kBucketOnly + kLatest), 1);
    if (!committed) {
      EXPECT_TRUE(manifest);
      EXPECT_EQ(run.set_keys(2), std::vector<std::string>{});
      continue;
    }
    EXPECT_THAT(run.warnings(), HasSubstr("checkpoint not used: slow:" + keys[object]));
    EXPECT_THAT(run.warnings(), HasSubstr("on tier 'slow' is damaged: set aside as slow:"));
    EXPECT_EQ(run.bucket_steps(), Steps{1});
  }
}

TEST(ObjectDamage, a_flipped_bit_in_any_object_is_found_and_named) {
  for (const size_t part : {0, 1, 2, 3}) {
    damage_each([&](Storage& bucket, const std::string& key) {
      std::string text = get(bucket, key);
      text[(text.size() - 1) * part / 3] ^= 1;
      put(bucket, key, text);
    });
  }
}

TEST(ObjectDamage, an_object_that_was_cut_is_found_and_named) {
  damage_each([&](Storage& bucket, const std::string& key) {
    const std::string text = get(bucket, key);
    put(bucket, key, text.substr(0, text.size() - 1));
  });
}

TEST(ObjectDamage, an_object_that_grew_is_found_and_named) {
  damage_each(
      [&](Storage& bucket, const std::string& key) { put(bucket, key, get(bucket, key) + "x"); });
}

TEST(ObjectDamage, an_object_that_is_gone_is_found_and_named) {
  damage_each([&](Storage& bucket, const std::string& key) { bucket.remove(key); });
}

TEST(ObjectDamage, an_object_too_many_is_found_and_named) {
  BucketRun run;
  run.start(kBucketOnly);
  run.save(1);
  run.stop();
  const std::string key = run.store().path(1) + "/zzz";
  put(*run.bucket, key, "x");
  EXPECT_THAT(error_of([&] { run.resume(kBucketOnly + kLatest); }), HasSubstr("is intact"));
  EXPECT_THAT(run.warnings(), HasSubstr("slow:" + key + ": not in MANIFEST.json"));
}

TEST(ObjectDamage, the_same_step_is_taken_from_the_other_tier) {
  BucketRun run;
  run.start(kBurst);
  run.save(1), run.save(2);
  EXPECT_TRUE(run->flush());
  run.stop();
  std::filesystem::resize_file(run.set("fast", 2) + "/state.safetensors", 5000);
  EXPECT_EQ(run.resume(kBurst + kLatest), 2);
  EXPECT_THAT(run.warnings(), HasSubstr("state.safetensors: 5000 bytes"));
}

TEST(ObjectDamage, a_bucket_that_stored_something_else_is_found_by_reading_back) {
  BucketRun run;
  std::atomic<int> times = 1;
  run.seen = [&](const std::string& op, const std::string& key) {
    // Just before the manifest comes, for the first time.
    if (op != "create" || !key.ends_with("MANIFEST.json") || times-- != 1) return;
    const std::string data = key.substr(0, key.rfind('/')) + "/state.safetensors";
    std::string text = get(*run.bucket, data);
    text[text.size() / 2] ^= 1;
    put(*run.bucket, data, text);
  };
  run.start(kBurst);
  run.save(1);
  EXPECT_TRUE(run->flush());
  EXPECT_THAT(run.warnings(), HasSubstr("read back after the drain: slow:run/step-0000000001-"));
  EXPECT_EQ(run->status().drain_retries, 1);
  EXPECT_EQ(run->status().durable_step, 1);
  EXPECT_TRUE(run.bucket_intact(1));
}

TEST(ObjectDamage, verify_all_reads_a_save_back) {
  BucketRun run;
  std::atomic<int> times = 1;
  run.seen = [&](const std::string& op, const std::string& key) {
    if (op != "create" || !key.ends_with("MANIFEST.json") || times-- != 1) return;
    const std::string data = key.substr(0, key.rfind('/')) + "/state.safetensors";
    put(*run.bucket, data, get(*run.bucket, data) + "x");
  };
  run.start(kDirect + ", verify: all");
  run.save(1);
  EXPECT_EQ(run->status().saved, 1) << run.warnings();
  EXPECT_LE(times, -1) << "it was written again";
  EXPECT_TRUE(run.bucket_intact(1));
}

// Nothing is allocated, and nothing taken, by what a manifest says before it is known to be one.
TEST(ObjectDamage, a_manifest_of_another_step_is_refused) {
  BucketRun run;
  run.start(kBucketOnly);
  run.save(1), run.save(2);
  run.stop();
  put(*run.bucket, run.store().path(2) + "/MANIFEST.json",
      get(*run.bucket, run.store().path(1) + "/MANIFEST.json"));
  EXPECT_EQ(run.resume(kBucketOnly + kLatest), 1);
  EXPECT_THAT(run.warnings(), HasSubstr("its manifest is that of step 1"));
}

}  // namespace
}  // namespace stoker
