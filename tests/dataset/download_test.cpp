#include "io/dataset/download.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "io/core/digest.h"
#include "io/core/error.h"
#include "tests/support/errors.h"
#include "tests/support/http_server.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

const std::string kContents = [] {
  std::string text;
  for (int i = 0; text.size() < 300'000; ++i) text += std::to_string(i) + " ";
  return text;
}();

std::string md5(const std::string& text) {
  Digest sum(Digest::Kind::md5);
  sum.update({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  return sum.finish();
}

struct Download : testing::Test {
  TemporaryDirectory directory;
  std::string file = directory / "data/set.zip";
  DownloadOptions options{md5(kContents), 5, 0.001, {}};

  std::string refused(const std::string& url) {
    return error_of([&] { download(url, file, options); });
  }
  std::string files() const {
    std::string names;
    for (const auto& entry : std::filesystem::directory_iterator(directory / "data")) {
      names += entry.path().filename().string() + " ";
    }
    return names;
  }
};

TEST_F(Download, a_file_arrives_and_nothing_else_stays) {
  HttpServer server([](auto& request) { return answer_with_file(request, kContents, "\"1\""); });
  std::vector<uint64_t> seen;
  options.progress = [&](const char* stage, uint64_t done, uint64_t total) {
    if (std::string(stage) == "download" && total > 0) {
      EXPECT_EQ(total, kContents.size());
      seen.push_back(done);
    }
  };
  download(server.url("/set.zip"), file, options);
  EXPECT_EQ(directory.read("data/set.zip"), kContents);
  EXPECT_EQ(files(), "set.zip ");
  EXPECT_EQ(server.requests().size(), 1u);
  ASSERT_FALSE(seen.empty());
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_EQ(seen.back(), kContents.size());
}

TEST_F(Download, a_cut_connection_is_continued_where_it_broke) {
  int count = 0;
  HttpServer server([&](auto& request) {
    HttpResponse response = answer_with_file(request, kContents, "\"1\"");
    if (++count <= 3) response.send = 50'000;
    return response;
  });
  download(server.url("/set.zip"), file, options);
  EXPECT_EQ(directory.read("data/set.zip"), kContents);
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(header(requests[i], "Range"),
              i == 0 ? "" : "bytes=" + std::to_string(i * 50'000) + "-");
    EXPECT_EQ(header(requests[i], "If-Range"), i == 0 ? "" : "\"1\"");
  }
}

TEST_F(Download, a_later_call_continues_and_progress_may_stop_one) {
  HttpServer server([](auto& request) { return answer_with_file(request, kContents, "\"1\""); });
  options.progress = [](const char*, uint64_t done, uint64_t) {
    if (done > 0) throw std::domain_error("stop");
  };
  EXPECT_THROW(download(server.url("/set.zip"), file, options), std::domain_error);
  EXPECT_FALSE(std::filesystem::exists(file));
  const uint64_t part = std::filesystem::file_size(file + ".part");
  ASSERT_GT(part, 0u);
  options.progress = nullptr;
  download(server.url("/set.zip"), file, options);
  EXPECT_EQ(directory.read("data/set.zip"), kContents);
  if (part < kContents.size()) {
    EXPECT_EQ(header(server.requests().at(1), "Range"), "bytes=" + std::to_string(part) + "-");
  }
}

TEST_F(Download, the_rest_of_another_version_is_never_taken) {
  std::string older = kContents;
  std::reverse(older.begin(), older.end());
  int count = 0;
  HttpServer server([&](auto& request) {
    const bool first = ++count == 1;
    HttpResponse response =
        answer_with_file(request, first ? older : kContents, first ? "\"old\"" : "\"new\"");
    if (first) response.send = 100'000;
    return response;
  });
  download(server.url("/set.zip"), file, options);
  EXPECT_EQ(directory.read("data/set.zip"), kContents);
  EXPECT_EQ(header(server.requests().at(1), "If-Range"), "\"old\"");
}

TEST_F(Download, a_server_without_ranges_or_tags_is_asked_for_all_again) {
  int count = 0;
  HttpServer server([&](auto&) {
    HttpResponse response;
    response.body = kContents;
    response.headers = "ETag: W/\"weak\"\r\n";
    if (++count == 1) response.send = 100'000;
    return response;
  });
  download(server.url("/set.zip"), file, options);
  EXPECT_EQ(directory.read("data/set.zip"), kContents);
  EXPECT_EQ(header(server.requests().at(1), "Range"), "");
}

TEST_F(Download, a_part_that_is_longer_than_the_file_is_dropped) {
  directory.write("data/set.zip.part", kContents + "and more");
  directory.write("data/set.zip.part.tag", "\"1\"\n");
  HttpServer server([](auto& request) { return answer_with_file(request, kContents, "\"1\""); });
  download(server.url("/set.zip"), file, options);
  EXPECT_EQ(directory.read("data/set.zip"), kContents);
}

TEST_F(Download, a_complete_part_is_only_verified) {
  directory.write("data/set.zip.part", kContents);
  directory.write("data/set.zip.part.tag", "\"1\"\n");
  HttpServer server([](auto& request) { return answer_with_file(request, kContents, "\"1\""); });
  download(server.url("/set.zip"), file, options);
  EXPECT_EQ(directory.read("data/set.zip"), kContents);
  EXPECT_TRUE(server.requests().empty());
}

TEST_F(Download, redirects_are_followed) {
  HttpServer server([](auto& request) {
    if (request.starts_with("GET /set.zip")) {
      return HttpResponse{"302 Found", "Location: /elsewhere\r\nETag: \"redirect\"\r\n", "", 0};
    }
    return answer_with_file(request, kContents, "\"1\"");
  });
  download(server.url("/set.zip"), file, options);
  EXPECT_EQ(directory.read("data/set.zip"), kContents);
}

TEST_F(Download, a_wrong_checksum_is_an_error_and_leaves_no_file) {
  HttpServer server([](auto& request) { return answer_with_file(request, "virus", "\"1\""); });
  const std::string url = server.url("/set.zip");
  EXPECT_EQ(refused(url), "download " + url + ": wrong checksum: MD5 " + md5(kContents) +
                              " expected, " + md5("virus") +
                              " received in 5 bytes, which were dropped; try again");
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_EQ(std::filesystem::file_size(file + ".part"), 0u);
}

TEST_F(Download, a_missing_file_is_final) {
  HttpServer server([](auto&) { return HttpResponse{"404 Not Found", "", "no", 2}; });
  const std::string url = server.url("/set.zip");
  EXPECT_EQ(refused(url), "download " + url + ": the server answered 404");
  EXPECT_EQ(server.requests().size(), 1u);
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST_F(Download, a_busy_server_is_asked_again_and_the_attempts_end) {
  HttpServer server([](auto&) { return HttpResponse{"503 Service Unavailable", "", "", 0}; });
  const std::string url = server.url("/set.zip");
  EXPECT_EQ(refused(url), "download " + url + ": the server answered 503 (after 5 attempts)");
  EXPECT_EQ(server.requests().size(), 5u);
}

TEST_F(Download, only_the_web_is_asked) {
  directory.write("secret", "x");
  const std::string url = "file://" + directory / "secret";
  EXPECT_THAT(refused(url), testing::StartsWith("download " + url + ": Protocol \"file\" "));
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST_F(Download, a_second_process_waits_its_turn) {
  HttpServer server([&](auto& request) {
    EXPECT_EQ(error_of([&] { download("http://127.0.0.1:1/", file, options); }),
              "download " + file +
                  ".part: another process downloads it already; wait for it, or stop it");
    return answer_with_file(request, kContents, "\"1\"");
  });
  download(server.url("/set.zip"), file, options);
  EXPECT_EQ(directory.read("data/set.zip"), kContents);
}

}  // namespace
}  // namespace stoker
