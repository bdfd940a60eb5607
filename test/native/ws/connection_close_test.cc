// The close handshake: RFC 6455, sections 5.5.1, 7.1 and 7.4.
#include <gtest/gtest.h>

#include "ws/connection.h"
#include "ws/harness.h"

namespace tap::ws {
namespace {

using test::bytes;
using test::expectFailure;
using test::frame;
using test::receive;
using test::Seen;
using test::Strings;

constexpr std::string_view kBye = "03e8 627965";  // 1000 "bye"

void closeFirst(Connection& connection) {
  connection.close(CloseCode::GoingAway, "leaving");
}
const std::string kLeaving = bytes("88 09 03e9 6c656176696e67");

TEST(ConnectionClose, EchoesThePeersCloseFrame) {
  const Seen seen = receive(frame(0x88, bytes(kBye), 0x01020304));
  EXPECT_EQ(seen.events, Strings{"closed 1000 bye"});
  EXPECT_EQ(seen.output, bytes("88 05") + bytes(kBye));
  EXPECT_FALSE(seen.writable);
}

TEST(ConnectionClose, EchoesACloseFrameWithoutACode) {
  const Seen seen = receive(bytes("88 80 00000000"));
  EXPECT_EQ(seen.events, Strings{"closed 1005 "});
  EXPECT_EQ(seen.output, bytes("88 00"));
}

TEST(ConnectionClose, EchoesAReasonOf123Bytes) {
  const std::string payload = bytes("0fa0") + std::string(123, 'r');
  const Seen seen = receive(frame(0x88, payload));
  EXPECT_EQ(seen.events, Strings{"closed 4000 " + std::string(123, 'r')});
  EXPECT_EQ(seen.output, bytes("88 7d") + payload);
}

TEST(ConnectionClose, AnswersAPingThatCameBeforeTheCloseFrame) {
  EXPECT_EQ(receive(frame(0x89, "?") + frame(0x88, bytes("03e8"))).output,
            bytes("8a 01 3f 88 02 03e8"));
}

TEST(ConnectionClose, ReadsNothingAfterThePeersCloseFrame) {
  const Seen seen = receive(frame(0x88, bytes("03e8")) + frame(0x81, "late") + frame(0x89, "?") +
                            frame(0x88, bytes("03e9")));
  EXPECT_EQ(seen.events, Strings{"closed 1000 "});
  EXPECT_EQ(seen.output, bytes("88 02 03e8"));
}

TEST(ConnectionClose, DropsHalfAMessageOnThePeersCloseFrame) {
  const Seen seen = receive(frame(0x01, "half") + frame(0x88, bytes("03e8")));
  EXPECT_EQ(seen.events, Strings{"closed 1000 "});
  EXPECT_EQ(seen.buffered, 0U);
}

TEST(ConnectionClose, RefusesHalfACode) {
  expectFailure(frame(0x88, "\x03"), 1002);
}

TEST(ConnectionClose, RefusesCodesThatMayNotBeSent) {
  for (const char* code :
       {"0000", "03e7", "03ec", "03ed", "03ee", "03f7", "0bb7", "1388", "ffff"}) {
    expectFailure(frame(0x88, bytes(code)), 1002);
  }
}

TEST(ConnectionClose, RefusesAReasonThatIsNotUtf8) {
  expectFailure(frame(0x88, bytes("03e8 ff")), 1007);
  expectFailure(frame(0x88, bytes("03e8 e282")), 1007);
}

TEST(ConnectionClose, WaitsForThePeersCloseFrameAfterOurs) {
  const Seen waiting = receive(frame(0x8a, ""), {}, closeFirst);
  EXPECT_EQ(waiting.events, Strings{});
  EXPECT_EQ(waiting.output, kLeaving);
  EXPECT_FALSE(waiting.writable);
  const Seen closed = receive(frame(0x88, bytes("03e9")), {}, closeFirst);
  EXPECT_EQ(closed.events, Strings{"closed 1001 "});
  EXPECT_EQ(closed.output, kLeaving);
}

TEST(ConnectionClose, DropsWhateverComesAfterOurCloseFrame) {
  const std::string input = frame(0x81, "late") + frame(0x01, "\xff") + frame(0x89, "?") +
                            frame(0x82, "binary") + frame(0x80, "") + frame(0x88, bytes("03e8"));
  const Seen seen = receive(input, {}, closeFirst);
  EXPECT_EQ(seen.events, Strings{"closed 1000 "});
  EXPECT_EQ(seen.output, kLeaving);
}

TEST(ConnectionClose, DropsOversizeMessagesAfterOurCloseFrame) {
  Caps caps;
  caps.maxMessage = 4;
  caps.maxAnnounced = 8;
  const std::string input = frame(0x81, std::string(300, 'x')) + frame(0x88, bytes("03e8"));
  EXPECT_EQ(receive(input, caps, closeFirst).events, Strings{"closed 1000 "});
}

TEST(ConnectionClose, SendsNoSecondCloseFrameOnAViolation) {
  const Seen seen = receive(bytes("83 80 00000000"), {}, closeFirst);
  EXPECT_EQ(seen.events, Strings{"failed 1002"});
  EXPECT_EQ(seen.output, kLeaving);
}

TEST(ConnectionClose, ClosesOnlyOnce) {
  Connection connection{Caps{}};
  EXPECT_TRUE(connection.writable());
  closeFirst(connection);
  connection.close(CloseCode::Normal, "again");
  EXPECT_FALSE(connection.writable());
  EXPECT_EQ(connection.takeOutput(), kLeaving);
  EXPECT_EQ(connection.takeOutput(), "");
}

TEST(ConnectionClose, ForgetsThePartOfAFrameThatCameBeforeIt) {
  std::string input = frame(0x81, "cut in two", 0x01020304) + frame(0x88, bytes("03e8"));
  for (size_t cut = 1; cut < 16; ++cut) {
    std::string copy = input;
    Connection connection{Caps{}};
    std::vector<Event> events;
    connection.receive(copy.data(), cut, events);
    ASSERT_TRUE(events.empty());
    closeFirst(connection);
    EXPECT_EQ(connection.buffered(), 0U);
    connection.receive(copy.data() + cut, copy.size() - cut, events);
    ASSERT_EQ(events.size(), 1U) << cut;
    EXPECT_TRUE(std::get<Closed>(events[0]).clean);
    EXPECT_EQ(connection.takeOutput(), kLeaving);
  }
}

TEST(ConnectionClose, SendsThePongThatWasDueBeforeIt) {
  std::string ping = frame(0x89, "?");
  Connection connection{Caps{}};
  std::vector<Event> events;
  connection.receive(ping.data(), ping.size(), events);
  closeFirst(connection);
  EXPECT_EQ(connection.takeOutput(), bytes("8a 01 3f") + kLeaving);
}

}  // namespace
}  // namespace tap::ws
