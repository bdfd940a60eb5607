#include "ws/frame.h"

#include <gtest/gtest.h>

#include "ws/harness.h"

namespace tap::ws {
namespace {

using test::bytes;

std::string frameHeader(uint64_t size) {
  std::string out;
  appendFrameHeader(out, Opcode::Text, size);
  return out;
}

TEST(Frame, UsesTheShortestLengthForm) {
  EXPECT_EQ(frameHeader(0), bytes("81 00"));
  EXPECT_EQ(frameHeader(125), bytes("81 7d"));
  EXPECT_EQ(frameHeader(126), bytes("81 7e 007e"));
  EXPECT_EQ(frameHeader(65535), bytes("81 7e ffff"));
  EXPECT_EQ(frameHeader(65536), bytes("81 7f 0000000000010000"));
}

TEST(Frame, AppendsAfterWhatIsThere) {
  std::string out;
  appendFrame(out, Opcode::Text, "Hello");
  appendFrame(out, Opcode::Pong, "");
  EXPECT_EQ(out, bytes("81 05 48656c6c6f 8a 00"));
}

TEST(Frame, CloseCarriesCodeAndReason) {
  std::string out;
  appendCloseFrame(out, CloseCode::GoingAway, "bye");
  EXPECT_EQ(out, bytes("88 05 03e9 627965"));
}

TEST(Frame, CloseWithoutACodeHasNoPayload) {
  std::string out;
  appendCloseFrame(out, CloseCode::NoStatus, "lost");
  EXPECT_EQ(out, bytes("88 00"));
}

TEST(Frame, CutsACloseReasonAt123Bytes) {
  for (const size_t size : {122, 123, 124}) {
    std::string out;
    appendCloseFrame(out, CloseCode::Normal, std::string(size, 'x'));
    EXPECT_EQ(out.size(), 4 + std::min<size_t>(size, 123));
    EXPECT_EQ(static_cast<size_t>(out[1]) + 2, out.size());
  }
}

TEST(Frame, CutsACloseReasonAtACharacter) {
  std::string out;
  appendCloseFrame(out, CloseCode::Normal, std::string(122, 'x') + "\u00e9");
  EXPECT_EQ(out.size(), 4U + 122U);
}

TEST(Frame, KnowsWhichCloseCodesMayBeSent) {
  for (const int code : {1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014,
                         3000, 3999, 4000, 4999}) {
    EXPECT_TRUE(mayBeSent(static_cast<CloseCode>(code))) << code;
  }
  for (const int code : {0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535}) {
    EXPECT_FALSE(mayBeSent(static_cast<CloseCode>(code))) << code;
  }
}

}  // namespace
}  // namespace tap::ws
