#include "io/http/address.h"

#include <gtest/gtest.h>

#include <optional>

namespace stoker {
namespace {

std::optional<HttpAddress> parsed(const std::string& text) {
  HttpAddress address;
  if (!Scalar<HttpAddress>::parse(text, address)) return std::nullopt;
  return address;
}

std::string round_trip(const std::string& text) {
  const auto address = parsed(text);
  return address ? Scalar<HttpAddress>::format(*address) : "refused";
}

TEST(HttpAddress, is_read_and_written) {
  for (const char* text : {"127.0.0.1:9464", "0.0.0.0:1", "[::1]:9464", "[::]:65535"}) {
    EXPECT_EQ(round_trip(text), text);
  }
  EXPECT_EQ(round_trip("localhost:80"), "127.0.0.1:80");
  EXPECT_EQ(round_trip("[0:0:0::1]:9464"), "[::1]:9464");
  const auto address = parsed("[::1]:9464");
  ASSERT_TRUE(address);
  EXPECT_EQ(address->host, "::1");
  EXPECT_EQ(address->port, 9464);
}

TEST(HttpAddress, anything_else_is_refused) {
  for (const char* text : {"",
                           ":",
                           "9464",
                           ":9464",
                           "127.0.0.1",
                           "127.0.0.1:",
                           "127.0.0.1:0",
                           "127.0.0.1:65536",
                           "127.0.0.1:-1",
                           "127.0.0.1:+1",
                           "127.0.0.1:9464 ",
                           " 127.0.0.1:9464",
                           "127.0.0.1:94x",
                           "127.0.0:9464",
                           "256.0.0.1:9464",
                           "::1:9464",
                           "[::1]",
                           "[::1]9464",
                           "[::1:9464",
                           "[]:9464",
                           "[127.0.0.1]:9464",
                           "[::1%lo]:9464",
                           "example.org:9464",
                           "http://127.0.0.1:9464"}) {
    EXPECT_EQ(round_trip(text), "refused") << text;
  }
}

TEST(HttpAddress, a_refused_text_leaves_the_value) {
  HttpAddress address{"10.0.0.1", 5};
  EXPECT_FALSE(Scalar<HttpAddress>::parse("127.0.0.1:x", address));
  EXPECT_EQ(Scalar<HttpAddress>::format(address), "10.0.0.1:5");
}

TEST(HttpAddress, knows_what_only_this_machine_reaches) {
  for (const char* host : {"127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1"}) {
    EXPECT_TRUE((HttpAddress{host, 1}.loopback())) << host;
  }
  for (const char* host :
       {"0.0.0.0", "128.0.0.1", "10.0.0.1", "::", "fe80::1", "::ffff:10.0.0.1"}) {
    EXPECT_FALSE((HttpAddress{host, 1}.loopback())) << host;
  }
}

TEST(HttpAddress, has_a_destination_for_clients_of_this_machine) {
  EXPECT_EQ((HttpAddress{"0.0.0.0", 7}.destination().host), "127.0.0.1");
  EXPECT_EQ((HttpAddress{"::", 7}.destination().host), "::1");
  EXPECT_EQ((HttpAddress{"10.0.0.1", 7}.destination().host), "10.0.0.1");
  EXPECT_EQ((HttpAddress{"::", 7}.destination().port), 7);
}

TEST(HttpAddress, becomes_a_socket_address_and_back) {
  for (const char* text : {"127.0.0.1:9464", "[::1]:9464"}) {
    const auto address = parsed(text);
    ASSERT_TRUE(address);
    sockaddr_storage raw{};
    to_socket(*address, raw);
    EXPECT_EQ(Scalar<HttpAddress>::format(from_socket(raw)), text);
  }
  sockaddr_storage raw{};
  EXPECT_THROW(to_socket({"somewhere", 1}, raw), std::invalid_argument);
}

}  // namespace
}  // namespace stoker
