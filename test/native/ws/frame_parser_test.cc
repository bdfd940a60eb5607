#include "ws/frame_parser.h"

#include <gtest/gtest.h>

#include <random>

#include "ws/harness.h"

namespace tap::ws {
namespace {

using test::bytes;
using Status = FrameParser::Status;

// How many bytes of the input the parser takes until it has a verdict, and which.
struct Verdict {
  Status status;
  size_t taken;
  FrameHeader header;
};

Verdict inOnePiece(std::string_view input) {
  FrameParser parser;
  std::string_view rest = input;
  const Status status = parser.read(rest);
  return {status, input.size() - rest.size(), parser.header()};
}

Verdict byteByByte(std::string_view input) {
  FrameParser parser;
  Status status = Status::Incomplete;
  size_t taken = 0;
  while (status == Status::Incomplete && taken < input.size()) {
    std::string_view one = input.substr(taken++, 1);
    status = parser.read(one);
    EXPECT_TRUE(one.empty());
  }
  return {status, taken, parser.header()};
}

Verdict parse(std::string_view hexDigits) {
  const std::string input = bytes(hexDigits);
  const Verdict whole = inOnePiece(input);
  const Verdict pieces = byteByByte(input);
  EXPECT_EQ(whole.status, pieces.status);
  EXPECT_EQ(whole.taken, pieces.taken);
  EXPECT_EQ(whole.header.size, pieces.header.size);
  EXPECT_EQ(whole.header.mask, pieces.header.mask);
  return whole;
}

void expectRefused(std::string_view hexDigits, size_t atByte) {
  const Verdict verdict = parse(hexDigits);
  EXPECT_EQ(verdict.status, Status::Invalid) << hexDigits;
  EXPECT_EQ(verdict.taken, atByte) << hexDigits;
}

void expectSize(std::string_view hexDigits, uint64_t size) {
  const Verdict verdict = parse(hexDigits);
  EXPECT_EQ(verdict.status, Status::Complete) << hexDigits;
  EXPECT_EQ(verdict.header.size, size);
}

TEST(FrameParser, ReadsAShortHeaderAndLeavesThePayload) {
  const Verdict verdict = parse("81 85 37fa213d 7f9f4d5158");
  EXPECT_EQ(verdict.status, Status::Complete);
  EXPECT_EQ(verdict.taken, 6U);
  EXPECT_EQ(verdict.header.opcode, Opcode::Text);
  EXPECT_TRUE(verdict.header.final);
  EXPECT_EQ(verdict.header.size, 5U);
  EXPECT_EQ(verdict.header.mask, (Mask{0x37, 0xfa, 0x21, 0x3d}));
}

TEST(FrameParser, ReadsEachLengthForm) {
  expectSize("81 80 00000000", 0);
  expectSize("81 fd 00000000", 125);
  expectSize("81 fe 007e 00000000", 126);
  expectSize("81 fe ffff 00000000", 65535);
  expectSize("81 ff 0000000000010000 00000000", 65536);
  expectSize("81 ff 7fffffffffffffff 00000000", 0x7fffffffffffffff);
}

TEST(FrameParser, ReadsOneHeaderAfterAnother) {
  FrameParser parser;
  const std::string input = bytes("01 80 01020304 80 fe 0100 05060708");
  std::string_view rest = input;
  ASSERT_EQ(parser.read(rest), Status::Complete);
  EXPECT_FALSE(parser.header().final);
  ASSERT_EQ(parser.read(rest), Status::Complete);
  EXPECT_EQ(parser.header().opcode, Opcode::Continuation);
  EXPECT_TRUE(parser.header().final);
  EXPECT_EQ(parser.header().size, 256U);
  EXPECT_EQ(parser.header().mask, (Mask{5, 6, 7, 8}));
  EXPECT_EQ(parser.read(rest), Status::Incomplete);
}

TEST(FrameParser, RefusesReservedBits) {
  expectRefused("c1 85", 1);
  expectRefused("a1 85", 1);
  expectRefused("91 85", 1);
}

TEST(FrameParser, RefusesReservedOpcodes) {
  for (const char* first : {"83", "84", "85", "86", "87", "8b", "8c", "8d", "8e", "8f"}) {
    expectRefused(std::string(first) + "80", 1);
  }
}

TEST(FrameParser, RefusesFragmentedControlFrames) {
  expectRefused("08 80", 1);
  expectRefused("09 80", 1);
  expectRefused("0a 80", 1);
}

TEST(FrameParser, RefusesUnmaskedFrames) {
  expectRefused("81 05 48656c6c6f", 2);
  expectRefused("89 00", 2);
}

TEST(FrameParser, BoundsControlFramesAt125Bytes) {
  expectSize("89 fc 00000000", 124);
  expectSize("89 fd 00000000", 125);
  expectRefused("89 fe 007e", 2);
  expectRefused("88 ff", 2);
}

TEST(FrameParser, RefusesLengthsThatAreNotMinimal) {
  expectRefused("81 fe 0000", 4);
  expectRefused("81 fe 007d 00000000", 4);
  expectRefused("81 ff 0000000000000005", 10);
  expectRefused("81 ff 000000000000ffff 00000000", 10);
}

TEST(FrameParser, RefusesALengthWithTheTopBit) {
  expectRefused("81 ff 8000000000000000 00000000", 10);
  expectRefused("81 ff ffffffffffffffff 00000000", 10);
}

TEST(Unmask, AgreesWithTheDefinitionAtEveryAlignmentSizeAndPhase) {
  std::mt19937 random(1);
  const Mask mask{0x37, 0xfa, 0x21, 0x3d};
  std::vector<char> original(200);
  for (char& c : original) c = static_cast<char>(random());
  for (size_t start = 0; start < 17; ++start) {
    for (size_t size = 0; size < 150; ++size) {
      for (uint64_t phase = 0; phase < 4; ++phase) {
        std::vector<char> data = original;
        std::vector<char> expected = original;
        unmask(data.data() + start, size, mask, phase);
        for (size_t i = 0; i < size; ++i) {
          expected[start + i] =
              static_cast<char>(static_cast<uint8_t>(original[start + i]) ^ mask[(phase + i) % 4]);
        }
        ASSERT_EQ(data, expected) << start << ' ' << size << ' ' << phase;
      }
    }
  }
}

TEST(Unmask, KeepsItsPhaseFarIntoAPayload) {
  std::string data = "abc";
  unmask(data.data(), data.size(), {1, 2, 3, 4}, (uint64_t{1} << 40U) + 3);
  EXPECT_EQ(data, (std::string{'a' ^ 4, 'b' ^ 1, 'c' ^ 2}));
}

}  // namespace
}  // namespace tap::ws
