#include "link/frame.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace tap::link {
namespace {

std::string frame(const std::string& body) {
  std::string out;
  appendHeader(out, body.size());
  return out + body;
}

// The bodies, if the stream comes in pieces of these sizes (the last repeats).
std::vector<std::string> read(const std::string& stream, const std::vector<size_t>& pieces,
                              size_t maxBody = 1 << 20) {
  FrameReader reader(maxBody);
  std::vector<std::string> all;
  size_t at = 0;
  for (size_t i = 0; at < stream.size(); ++i) {
    // A copy of its own, so that the sanitizer sees a body that outlives its bytes.
    const std::string piece = stream.substr(at, pieces[std::min(i, pieces.size() - 1)]);
    at += piece.size();
    std::vector<Slice> bodies;
    EXPECT_TRUE(reader.receive(piece, bodies));
    for (const Slice& body : bodies) all.emplace_back(body.view());
  }
  return all;
}

TEST(LinkFrame, HeaderIsFourBytesLittleEndian) {
  std::string out = "x";
  appendHeader(out, 0x01020304);
  EXPECT_EQ(out, std::string("x\x04\x03\x02\x01"));
}

TEST(FrameReader, ReadsFramesInEveryChunking) {
  const std::vector<std::string> bodies{"{}", std::string(300, 'a'), "z", std::string(70'000, 'b')};
  std::string stream;
  for (const std::string& body : bodies) stream += frame(body);
  EXPECT_EQ(read(stream, {stream.size()}), bodies);
  for (const size_t size : {1, 2, 3, 4, 5, 7, 64, 4096, 65'536}) {
    EXPECT_EQ(read(stream, {size}), bodies) << size;
  }
}

TEST(FrameReader, ReadsFramesInRandomChunkings) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> bodies;
    std::string stream;
    for (size_t i = 0; i < 8; ++i) {
      bodies.push_back(
          std::string(1 + random() % (round % 3 == 0 ? 100'000 : 40), static_cast<char>('a' + i)));
      stream += frame(bodies.back());
    }
    std::vector<size_t> pieces;
    for (int i = 0; i < 200; ++i) pieces.push_back(1 + random() % (round % 2 == 0 ? 9 : 50'000));
    pieces.push_back(100'000);
    ASSERT_EQ(read(stream, pieces), bodies) << "round " << round;
  }
}

TEST(FrameReader, BorrowsABodyThatLiesWholeInItsBytes) {
  FrameReader reader(100);
  std::vector<Slice> bodies;
  const std::string stream = frame("one") + frame("two") + frame("three").substr(0, 6);
  ASSERT_TRUE(reader.receive(stream, bodies));
  ASSERT_EQ(bodies.size(), 2u);
  EXPECT_TRUE(bodies[0].borrowed());
  EXPECT_EQ(bodies[1].view().data(), stream.data() + 11);
  ASSERT_TRUE(reader.receive("ree", bodies));
  ASSERT_EQ(bodies.size(), 3u);
  EXPECT_FALSE(bodies[2].borrowed());
  EXPECT_EQ(bodies[2].view(), "three");
}

TEST(FrameReader, AllowsTheLargestFrameAndNoLarger) {
  for (const size_t size : {99u, 100u, 101u}) {
    FrameReader whole(100);
    std::vector<Slice> bodies;
    EXPECT_EQ(whole.receive(frame(std::string(size, 'x')), bodies), size <= 100) << size;
    EXPECT_EQ(bodies.size(), size <= 100 ? 1u : 0u);
  }
}

TEST(FrameReader, RefusesAnOversizeFrameFromItsHeader) {
  FrameReader reader(100);
  std::vector<Slice> bodies;
  const std::string header = frame(std::string(101, 'x')).substr(0, 4);
  for (size_t i = 0; i < 3; ++i) ASSERT_TRUE(reader.receive(header.substr(i, 1), bodies));
  EXPECT_FALSE(reader.receive(header.substr(3), bodies));
  FrameReader other(100);
  EXPECT_FALSE(other.receive("\xFF\xFF\xFF\xFF", bodies));
}

TEST(FrameReader, RefusesAFrameWithoutABody) {
  FrameReader reader(100);
  std::vector<Slice> bodies;
  EXPECT_FALSE(reader.receive(frame("ok") + frame(""), bodies));
  EXPECT_EQ(bodies.size(), 1u);
}

TEST(FrameReader, TakesNothingAsNothing) {
  FrameReader reader(100);
  std::vector<Slice> bodies;
  EXPECT_TRUE(reader.receive("", bodies));
  EXPECT_TRUE(bodies.empty());
}

}  // namespace
}  // namespace tap::link
