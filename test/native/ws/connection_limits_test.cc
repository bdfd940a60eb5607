// The memory that a peer can make a connection hold: Caps, each at n-1, n and n+1.
#include <gtest/gtest.h>

#include "ws/connection.h"
#include "ws/harness.h"

namespace tap::ws {
namespace {

using test::bytes;
using test::expectFailure;
using test::frame;
using test::header;
using test::receive;
using test::Seen;
using test::Strings;

constexpr Caps kSmall{.maxMessage = 10, .maxAnnounced = 300, .maxFragments = 4};

std::string xs(size_t count) {
  return std::string(count, 'x');
}

// shows: P-LIMIT-2
TEST(ConnectionLimits, SkipsAMessageOverTheCap) {
  const std::string next = frame(0x81, "next");
  EXPECT_EQ(receive(frame(0x81, xs(9)) + next, kSmall).events,
            (Strings{"text " + xs(9), "text next"}));
  EXPECT_EQ(receive(frame(0x81, xs(10)) + next, kSmall).events,
            (Strings{"text " + xs(10), "text next"}));
  EXPECT_EQ(receive(frame(0x81, xs(11)) + next, kSmall).events,
            (Strings{"oversize 11", "text next"}));
}

TEST(ConnectionLimits, HasACapOfItsOwnForTheFirstMessage) {
  constexpr Caps kCautious{.maxMessage = 10, .maxAnnounced = 300, .maxFragments = 4, .maxFirst = 5};
  const std::string ten = frame(0x81, xs(10));
  EXPECT_EQ(receive(frame(0x81, xs(5)) + ten, kCautious).events,
            (Strings{"text " + xs(5), "text " + xs(10)}));
  EXPECT_EQ(receive(frame(0x81, xs(6)) + ten + frame(0x81, xs(4)) + ten, kCautious).events,
            (Strings{"oversize 6", "oversize 10", "text " + xs(4), "text " + xs(10)}));
  EXPECT_EQ(receive(frame(0x01, xs(3)) + frame(0x80, xs(3)), kCautious).events,
            (Strings{"oversize 6"}));
}

TEST(ConnectionLimits, SkipsFragmentsThatPassTheCapTogether) {
  const std::string next = frame(0x81, "next");
  EXPECT_EQ(receive(frame(0x01, xs(4)) + frame(0x80, xs(6)) + next, kSmall).events,
            (Strings{"text " + xs(10), "text next"}));
  EXPECT_EQ(
      receive(frame(0x01, xs(4)) + frame(0x00, xs(7)) + frame(0x80, xs(50)) + next, kSmall).events,
      (Strings{"oversize 11", "text next"}));
}

// shows: P-LIMIT-2
TEST(ConnectionLimits, ReportsOversizeFromTheHeaderAndFreesWhatItHeld) {
  const Seen seen = receive(frame(0x01, xs(8)) + header(0x80, 3), kSmall);
  EXPECT_EQ(seen.events, Strings{"oversize 11"});
  EXPECT_EQ(seen.buffered, 0U);
  EXPECT_TRUE(seen.writable);
}

TEST(ConnectionLimits, DoesNotLookAtWhatItSkips) {
  EXPECT_EQ(receive(frame(0x81, std::string(11, '\xff')) + frame(0x81, "next"), kSmall).events,
            (Strings{"oversize 11", "text next"}));
}

TEST(ConnectionLimits, AnswersPingsInsideAnOversizeMessage) {
  const Seen seen = receive(
      frame(0x01, xs(11)) + frame(0x89, "?") + frame(0x80, xs(1)) + frame(0x81, "next"), kSmall);
  EXPECT_EQ(seen.events, (Strings{"oversize 11", "text next"}));
  EXPECT_EQ(seen.output, bytes("8a 01 3f"));
}

// shows: P-LIMIT-3
TEST(ConnectionLimits, ClosesAboveTheAnnouncedLimit) {
  EXPECT_EQ(receive(frame(0x81, xs(299)), kSmall).events, Strings{"oversize 299"});
  EXPECT_EQ(receive(frame(0x81, xs(300)), kSmall).events, Strings{"oversize 300"});
  expectFailure(header(0x81, 301), 1009, {}, kSmall);
}

TEST(ConnectionLimits, ClosesWhenFragmentsPassTheAnnouncedLimit) {
  EXPECT_EQ(receive(frame(0x01, xs(200)) + frame(0x80, xs(100)), kSmall).events,
            Strings{"oversize 200"});
  expectFailure(frame(0x01, xs(200)) + header(0x80, 101), 1009, {"oversize 200"}, kSmall);
}

TEST(ConnectionLimits, ClosesOnAnAnnouncedTerabyte) {
  expectFailure(bytes("81 ff 0000010000000000 00000000"), 1009);
  expectFailure(bytes("81 ff 7fffffffffffffff 00000000"), 1009);
  expectFailure(frame(0x01, "x") + bytes("80 ff 7fffffffffffffff 00000000"), 1009);
}

TEST(ConnectionLimits, HasNoOverflowWithoutAnAnnouncedLimit) {
  Caps caps = kSmall;
  caps.maxAnnounced = UINT64_MAX;
  const std::string huge = bytes("7fffffffffffffff 00000000");
  EXPECT_EQ(receive(bytes("01 ff") + huge + xs(100), caps).events,
            Strings{"oversize 9223372036854775807"});
}

// shows: P-LIMIT-3
TEST(ConnectionLimits, BoundsTheFramesOfAMessage) {
  const std::string start = frame(0x01, "");
  const std::string more = frame(0x00, "");
  const std::string end = frame(0x80, "");
  EXPECT_EQ(receive(start + more + end, kSmall).events, Strings{"text "});
  EXPECT_EQ(receive(start + more + more + end, kSmall).events, Strings{"text "});
  expectFailure(start + more + more + more + end, 1009, {}, kSmall);
}

TEST(ConnectionLimits, BoundsTheFramesOfASkippedMessageToo) {
  expectFailure(
      frame(0x01, xs(20)) + frame(0x00, "") + frame(0x00, "") + frame(0x00, "") + frame(0x00, ""),
      1009, {"oversize 20"}, kSmall);
}

TEST(ConnectionLimits, CountsNoControlFramesAsFragments) {
  std::string input = frame(0x01, "a");
  for (int i = 0; i < 100; ++i) input += frame(0x89, "p") + frame(0x8a, "p");
  EXPECT_EQ(receive(input + frame(0x80, "b"), kSmall).events, Strings{"text ab"});
}

TEST(ConnectionLimits, StartsCountingAnewWithEachMessage) {
  std::string input;
  for (int i = 0; i < 100; ++i) input += frame(0x01, "12345") + frame(0x80, "6789");
  EXPECT_EQ(receive(input, kSmall).events, Strings(100, "text 123456789"));
}

TEST(ConnectionLimits, EndsEndlessFragmentsOfOneByte) {
  Connection connection{Caps{}};
  std::vector<Event> events;
  uint32_t sent = 0;
  while (events.empty() && sent < 1000000) {
    std::string next = frame(sent == 0 ? 0x01 : 0x00, "x");
    connection.receive(next.data(), next.size(), events);
    ++sent;
  }
  EXPECT_EQ(sent, Caps{}.maxFragments + 1);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(std::get<Closed>(events[0]).code, CloseCode::MessageTooBig);
  EXPECT_EQ(connection.buffered(), 0U);
}

TEST(ConnectionLimits, AnnouncedBytesCostNothing) {
  std::string input = header(0x81, Caps{}.maxMessage);
  Connection connection{Caps{}};
  std::vector<Event> events;
  connection.receive(input.data(), input.size(), events);
  EXPECT_TRUE(events.empty());
  EXPECT_EQ(connection.buffered(), 0U);
}

TEST(ConnectionLimits, AFloodOfPingsCannotGrowTheOutput) {
  std::string input;
  for (int i = 0; i < 10000; ++i) input += frame(0x89, xs(125));
  EXPECT_EQ(receive(input).output.size(), 127U);
}

TEST(ConnectionLimits, TakesAMessageOfExactlyTheDefaultCap) {
  const Caps caps;
  std::string input = frame(0x81, xs(caps.maxMessage), 0xdeadbeef);
  Connection connection{caps};
  std::vector<Event> events;
  constexpr size_t kRead = 65536;
  for (size_t at = 0; at < input.size(); at += kRead) {
    connection.receive(input.data() + at, std::min(kRead, input.size() - at), events);
  }
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(std::get<TextMessage>(events[0]).text.view(), xs(caps.maxMessage));
}

}  // namespace
}  // namespace tap::ws
