#include "ws/http_request.h"

#include <gtest/gtest.h>

#include <string>

namespace tap::ws {
namespace {

bool parses(std::string_view head) {
  return parseHttpRequest(head).has_value();
}
bool parsesField(const std::string& field) {
  return parses("GET / HTTP/1.1\r\n" + field + "\r\n\r\n");
}

TEST(HttpRequest, ReadsTheRequestLineAndTheFields) {
  const auto request =
      parseHttpRequest("GET /a?b HTTP/1.0\r\nHost: localhost\r\nX-Empty:\r\nX:\t y z \t\r\n\r\n");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->method, "GET");
  EXPECT_EQ(request->target, "/a?b");
  EXPECT_EQ(request->minorVersion, 0);
  EXPECT_EQ(request->fields.size(), 3U);
  EXPECT_EQ(request->first("host"), "localhost");
  EXPECT_EQ(request->first("X-EMPTY"), "");
  EXPECT_EQ(request->first("x"), "y z");
  EXPECT_EQ(request->count("x"), 1U);
  EXPECT_EQ(request->count("y"), 0U);
}

TEST(HttpRequest, FindsATokenAmongSeveral) {
  const auto request = parseHttpRequest(
      "GET / HTTP/1.1\r\nConnection: keep-alive ,\tUPGRADE\r\nVia: a\r\nvia: ,, b\r\n\r\n");
  ASSERT_TRUE(request);
  EXPECT_TRUE(request->hasToken("connection", "upgrade"));
  EXPECT_TRUE(request->hasToken("connection", "keep-alive"));
  EXPECT_TRUE(request->hasToken("via", "b"));
  EXPECT_FALSE(request->hasToken("connection", "up"));
  EXPECT_FALSE(request->hasToken("host", "upgrade"));
}

TEST(HttpRequest, PassesOverOneEmptyLine) {
  EXPECT_TRUE(parses("\r\nGET / HTTP/1.1\r\n\r\n"));
  EXPECT_FALSE(parses("\r\n\r\n"));
}

TEST(HttpRequest, RefusesBrokenRequestLines) {
  for (const char* line :
       {"", "GET", "GET /", "GET  / HTTP/1.1", "GET / HTTP/1.1 ", " GET / HTTP/1.1",
        "GET / HTTP/2.0", "GET / HTTP/1.", "GET / HTTP/1.10", "GET / http/1.1", "GET / HTTP/1.x",
        "GET\t/ HTTP/1.1", "G@T / HTTP/1.1", "GET /a b HTTP/1.1", "GET /\xff HTTP/1.1"}) {
    EXPECT_FALSE(parses(std::string(line) + "\r\nHost: localhost\r\n\r\n")) << line;
  }
}

TEST(HttpRequest, RefusesBrokenFields) {
  EXPECT_TRUE(parsesField("A:b"));
  EXPECT_FALSE(parsesField("no colon"));
  EXPECT_FALSE(parsesField(": no name"));
  EXPECT_FALSE(parsesField("A : blank before the colon"));
  EXPECT_FALSE(parsesField("A\x80: b"));
  EXPECT_FALSE(parsesField("A: b\r\n folded"));
  EXPECT_FALSE(parsesField("A: b\r\n\tfolded: too"));
}

// shows: P-CONN-1
TEST(LoopbackHost, TakesEachLoopbackName) {
  for (const char* host : {"localhost", "LocalHost", "localhost:9400", "foo.localhost",
                           "a-b.c_d.localhost:1", "127.0.0.1", "127.0.0.1:65535", "127.255.255.255",
                           "127.1.20.255:80", "[::1]", "[::1]:9400"}) {
    EXPECT_TRUE(isLoopbackHost(host)) << host;
  }
}

// shows: P-CONN-1
TEST(LoopbackHost, RefusesEverythingElse) {
  for (const char* host : {"",
                           "example.com",
                           "localhost.evil.com",
                           "127.0.0.1.nip.io",
                           "localhost@evil",
                           "evil@localhost",
                           "localhost.",
                           "localhost ",
                           "localhost/",
                           "localhost,evil",
                           ".localhost",
                           "a..localhost",
                           "evillocalhost",
                           "127.0.0.1.",
                           "127.0.0.",
                           "127.0.0",
                           "127.1",
                           "127...1",
                           "127.0.0.256",
                           "127.0.0.01",
                           "127.0.0.0x1",
                           "127.0.0.1000",
                           "0127.0.0.1",
                           "126.0.0.1",
                           "128.0.0.1",
                           "0.0.0.0",
                           "2130706433",
                           "::1",
                           "[::1",
                           "[::1]x",
                           "[::2]",
                           "[::1%lo]",
                           "[::1].localhost",
                           "[]",
                           "[",
                           "localhost\xff",
                           "192.168.0.1",
                           "a b.localhost"}) {
    EXPECT_FALSE(isLoopbackHost(host)) << host;
  }
}

TEST(LoopbackHost, RefusesBrokenPorts) {
  for (const char* port : {":", ":0", ":65536", ":99999", ":123456", ":-1", ":+80", ":80a",
                           ":80:80", ": 80", ":@evil.com"}) {
    EXPECT_FALSE(isLoopbackHost("localhost" + std::string(port))) << port;
    EXPECT_FALSE(isLoopbackHost("127.0.0.1" + std::string(port))) << port;
    EXPECT_FALSE(isLoopbackHost("[::1]" + std::string(port))) << port;
  }
}

}  // namespace
}  // namespace tap::ws
