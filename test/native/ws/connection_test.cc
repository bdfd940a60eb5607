// The events and output for a client's bytes. Every input runs in all chunkings (test::receive).
#include "ws/connection.h"

#include <gtest/gtest.h>

#include "ws/harness.h"

namespace tap::ws {
namespace {

using test::bytes;
using test::expectFailure;
using test::frame;
using test::receive;
using test::Seen;
using test::Strings;

// Section 5.7: a masked "Hello".
constexpr std::string_view kHello = "81 85 37fa213d 7f9f4d5158";

TEST(Connection, DeliversAMaskedTextMessage) {
  const Seen seen = receive(bytes(kHello));
  EXPECT_EQ(seen.events, Strings{"text Hello"});
  EXPECT_EQ(seen.output, "");
  EXPECT_TRUE(seen.writable);
  EXPECT_EQ(seen.buffered, 0U);
}

// shows: P-ORDER-1
TEST(Connection, DeliversMessagesInOrder) {
  const std::string input = bytes(kHello) + frame(0x81, "two", 0x01020304) + frame(0x81, "");
  EXPECT_EQ(receive(input).events, (Strings{"text Hello", "text two", "text "}));
}

TEST(Connection, DeliversAMessageOfEachLengthForm) {
  for (const size_t size : {125, 126, 65535, 65536}) {
    const std::string text(size, 'x');
    EXPECT_EQ(receive(frame(0x81, text, 0xa1b2c3d4)).events, Strings{"text " + text}) << size;
  }
}

// shows: P-CONN-4
TEST(Connection, JoinsFragments) {
  // Section 5.7: "Hel" and "lo", here masked.
  EXPECT_EQ(receive(bytes("01 83 00000000 48656c 80 82 00000000 6c6f")).events,
            Strings{"text Hello"});
}

TEST(Connection, JoinsFragmentsWithoutPayload) {
  const std::string input = frame(0x01, "") + frame(0x00, "") + frame(0x00, "a") + frame(0x80, "");
  EXPECT_EQ(receive(input + bytes(kHello)).events, (Strings{"text a", "text Hello"}));
  EXPECT_EQ(receive(frame(0x01, "") + frame(0x80, "")).events, Strings{"text "});
}

TEST(Connection, BorrowsATextThatLiesWholeInTheBuffer) {
  std::string input = bytes(kHello);
  Connection connection{Caps{}};
  std::vector<Event> events;
  connection.receive(input.data(), input.size(), events);
  ASSERT_EQ(events.size(), 1U);
  const Slice& text = std::get<TextMessage>(events[0]).text;
  EXPECT_TRUE(text.borrowed());
  EXPECT_EQ(text.view().data(), input.data() + 6);
}

TEST(Connection, BorrowsAlsoWhenTheHeaderCameBefore) {
  std::string input = bytes(kHello);
  Connection connection{Caps{}};
  std::vector<Event> events;
  connection.receive(input.data(), 6, events);
  connection.receive(input.data() + 6, input.size() - 6, events);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_TRUE(std::get<TextMessage>(events[0]).text.borrowed());
}

TEST(Connection, OwnsATextThatCameInPieces) {
  const std::string whole = bytes(kHello);
  std::string first = whole.substr(0, 8);
  std::string second = whole.substr(8);
  Connection connection{Caps{}};
  std::vector<Event> events;
  connection.receive(first.data(), first.size(), events);
  EXPECT_EQ(connection.buffered(), 2U);
  connection.receive(second.data(), second.size(), events);
  second.assign(second.size(), '?');
  ASSERT_EQ(events.size(), 1U);
  const Slice& text = std::get<TextMessage>(events[0]).text;
  EXPECT_FALSE(text.borrowed());
  EXPECT_EQ(text.view(), "Hello");
  EXPECT_EQ(connection.buffered(), 0U);
}

TEST(Connection, ToleratesAnEmptyRead) {
  Connection connection{Caps{}};
  std::vector<Event> events;
  connection.receive(nullptr, 0, events);
  EXPECT_TRUE(events.empty());
}

// shows: P-CONN-4
TEST(Connection, AnswersAPing) {
  const Seen seen = receive(bytes("89 85 37fa213d 7f9f4d5158"));
  EXPECT_EQ(seen.events, Strings{});
  EXPECT_EQ(seen.output, bytes("8a 05 48656c6c6f"));
  EXPECT_EQ(receive(bytes("89 80 00000000")).output, bytes("8a 00"));
}

TEST(Connection, AnswersOnlyTheLastOfSeveralPings) {
  EXPECT_EQ(receive(frame(0x89, "a") + frame(0x89, "bb") + frame(0x89, "c")).output,
            bytes("8a 01 63"));
}

TEST(Connection, AnswersEachPingThatIsReadAlone) {
  Connection connection{Caps{}};
  std::vector<Event> events;
  for (int i = 0; i < 3; ++i) {
    std::string ping = frame(0x89, "p");
    connection.receive(ping.data(), ping.size(), events);
    EXPECT_EQ(connection.takeOutput(), bytes("8a 01 70"));
    EXPECT_EQ(connection.takeOutput(), "");
  }
}

// shows: P-CONN-4
TEST(Connection, AnswersAPingBetweenFragments) {
  const Seen seen = receive(frame(0x01, "He") + frame(0x89, "?") + frame(0x80, "y"));
  EXPECT_EQ(seen.events, Strings{"text Hey"});
  EXPECT_EQ(seen.output, bytes("8a 01 3f"));
}

TEST(Connection, IgnoresPongs) {
  const Seen seen = receive(frame(0x8a, "unasked") + frame(0x8a, "") + bytes(kHello));
  EXPECT_EQ(seen.events, Strings{"text Hello"});
  EXPECT_EQ(seen.output, "");
}

TEST(Connection, TakesControlFramesOf125Bytes) {
  const std::string payload(125, 'p');
  EXPECT_EQ(receive(frame(0x89, payload)).output, bytes("8a 7d") + payload);
}

// shows: P-CONN-15
TEST(Connection, RefusesUnmaskedFrame) {
  expectFailure(bytes("81 05 48656c6c6f"), 1002);
}
TEST(Connection, RefusesReservedBits) {
  expectFailure(bytes("c1 85 37fa213d 7f9f4d5158"), 1002);
}
TEST(Connection, RefusesReservedOpcodes) {
  expectFailure(bytes("83 80 00000000"), 1002);
  expectFailure(bytes("8b 80 00000000"), 1002);
}
TEST(Connection, RefusesAFragmentedPing) {
  expectFailure(bytes("09 80 00000000"), 1002);
}
TEST(Connection, RefusesALongPing) {
  expectFailure(bytes("89 fe 007e 00000000"), 1002);
}
TEST(Connection, RefusesALengthThatIsNotMinimal) {
  expectFailure(bytes("81 fe 0005 00000000 48656c6c6f"), 1002);
}
TEST(Connection, RefusesAContinuationWithoutAMessage) {
  expectFailure(frame(0x80, "x"), 1002);
  expectFailure(frame(0x00, "x"), 1002);
  expectFailure(bytes(kHello) + frame(0x80, "x"), 1002, {"text Hello"});
}
TEST(Connection, RefusesAMessageInsideAnother) {
  expectFailure(frame(0x01, "a") + frame(0x81, "b"), 1002);
  expectFailure(frame(0x01, "a") + frame(0x01, "b"), 1002);
  expectFailure(frame(0x01, "a") + frame(0x82, "b"), 1002);
}

// shows: P-CONN-15
TEST(Connection, RefusesBinary) {
  expectFailure(frame(0x82, "\x01"), 1003);
  expectFailure(frame(0x82, ""), 1003);
  expectFailure(frame(0x02, "\x01") + frame(0x80, "\x02"), 1003);
}

TEST(Connection, ReadsNothingAfterAFailure) {
  expectFailure(frame(0x80, "x") + bytes(kHello) + frame(0x89, "?"), 1002);
}

TEST(Connection, SendsThePongBeforeTheCloseFrame) {
  const Seen seen = receive(frame(0x89, "?") + frame(0x80, "x"));
  EXPECT_EQ(seen.output.substr(0, 3), bytes("8a 01 3f"));
  EXPECT_TRUE(test::isCloseFrame(seen.output.substr(3), 1002));
}

TEST(Connection, DeliversUtf8OfAllLengths) {
  const std::string text = "\u03ba\u1f79\u20ac\U0001f600";
  EXPECT_EQ(receive(frame(0x81, text, 0x12345678)).events, Strings{"text " + text});
}

TEST(Connection, JoinsACharacterSplitOverFragments) {
  EXPECT_EQ(
      receive(frame(0x01, "\xf0\x9f") + frame(0x00, "") + frame(0x00, "\x98") + frame(0x80, "\x80"))
          .events,
      Strings{"text \U0001f600"});
}

// shows: P-CONN-15
TEST(Connection, RefusesBadUtf8) {
  for (const char* text : {"\x80", "a\xff", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80"}) {
    expectFailure(frame(0x81, text, 0x0f0f0f0f), 1007);
  }
}

TEST(Connection, RefusesATextThatEndsInsideACharacter) {
  expectFailure(frame(0x81, "\xe2\x82"), 1007);
  expectFailure(frame(0x01, "\xe2\x82") + frame(0x80, ""), 1007);
}

TEST(Connection, RefusesABadByteBeforeTheFrameIsThere) {
  expectFailure(test::header(0x81, 1000) + "fine so far\xff", 1007);
  expectFailure(frame(0x01, "fine\xed") + test::header(0x80, 1000) + "\xa0", 1007);
}

// Any input must give the same events in every chunking, and no undefined behaviour.
TEST(Connection, TakesDamagedInputTheSameInEveryChunking) {
  const std::string valid = bytes(kHello) + frame(0x01, "ab\u20ac", 0x01020304) +
                            frame(0x89, "ping", 0x55667788) + frame(0x00, std::string(300, 'x')) +
                            frame(0x80, "\u20ac", 0x99aabbcc) + frame(0x88, bytes("03e8 627965"));
  EXPECT_EQ(receive(valid).events.size(), 3U);
  std::mt19937 random(7);
  Caps caps;
  caps.maxMessage = 310;
  for (int i = 0; i < 1500; ++i) {
    std::string damaged = valid;
    for (uint32_t n = random() % 3; n < 3; ++n) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    receive(damaged, caps);
  }
}

TEST(Connection, DeliversWhatAClientFragmentsAtRandom) {
  std::mt19937 random(11);
  for (int round = 0; round < 50; ++round) {
    std::string input;
    Strings expected;
    for (int message = 0; message < 5; ++message) {
      std::string text;
      const uint32_t frames = 1 + random() % 4;
      for (uint32_t i = 0; i < frames; ++i) {
        const std::string part(random() % 200, static_cast<char>('a' + random() % 26));
        const uint32_t opcode = i == 0 ? 1 : 0;
        const uint32_t final = i + 1 == frames ? 0x80 : 0;
        input += frame(static_cast<uint8_t>(opcode | final), part, random());
        if (random() % 3 == 0) input += frame(0x8a, part.substr(0, 100), random());
        text += part;
      }
      expected.push_back("text " + text);
    }
    ASSERT_EQ(receive(input).events, expected);
  }
}

}  // namespace
}  // namespace tap::ws
