#include "records/row_queue.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace tap::records {
namespace {

Row makeRow(std::string_view body, Collection collection = Collection::ToolCall) {
  Row row;
  row.collection = collection;
  row.body = body;
  return row;
}

TEST(RowQueue, GivesRowsInTheirOrder) {
  RowQueue queue;
  Row row = makeRow("{}");
  row.at = 5;
  row.session = "s";
  row.source = "p";
  row.trace = "t";
  row.payloads[0] = {"arguments", Slice::borrow("[1]")};
  row.payloads[1] = {"result", Slice::borrow("2")};
  row.span.emplace().name = "name";
  EXPECT_TRUE(queue.push(row, 9));
  EXPECT_TRUE(queue.push(makeRow("{\"n\":2}")));
  QueuedRow taken;
  ASSERT_TRUE(queue.next(taken));
  EXPECT_EQ(taken.at, 5);
  EXPECT_EQ(taken.session, "s");
  EXPECT_EQ(taken.source, "p");
  EXPECT_EQ(taken.trace, "t");
  EXPECT_EQ(taken.body, "{}");
  EXPECT_EQ(taken.payloads[0].field, "arguments");
  EXPECT_EQ(taken.payloads[0].text, "[1]");
  EXPECT_EQ(taken.payloads[1].text, "2");
  EXPECT_EQ(taken.span->name, "name");
  EXPECT_EQ(taken.number, 9u);
  ASSERT_TRUE(queue.next(taken));
  EXPECT_EQ(taken.body, "{\"n\":2}");
  EXPECT_FALSE(taken.number);
  EXPECT_FALSE(taken.span);
  EXPECT_TRUE(taken.payloads[0].field.empty());
  EXPECT_FALSE(queue.next(taken));
}

TEST(RowQueue, GivesTheSameRowsAgain) {
  RowQueue queue;
  const std::string body = "{\"text\":\"" + std::string(3000, 'x') + "\"}";
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(queue.push(makeRow(body), 1));
  QueuedRow row;
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(queue.next(row));
  queue.release();
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(queue.next(row));
  queue.rewind();
  EXPECT_EQ(queue.taken(), 30u);
  EXPECT_EQ(queue.waited(), 70u);
  int left = 0;
  while (queue.next(row)) ++left;
  EXPECT_EQ(left, 70);
  queue.release();
  EXPECT_EQ(queue.bytes(), 0u);
  EXPECT_EQ(queue.waited(), 0u);
}

TEST(RowQueue, SharesALargePayload) {
  RowQueue queue;
  Row row = makeRow("{}");
  const Slice large(std::string(100'000, 'x'));
  row.payloads[1] = {"result", large};
  ASSERT_TRUE(queue.push(row));
  EXPECT_LT(queue.bytes(), 1000u);
  QueuedRow taken;
  ASSERT_TRUE(queue.next(taken));
  EXPECT_EQ(taken.payloads[1].text.data(), large.view().data());
  EXPECT_EQ(taken.payloads[1].wholeBytes, 100'000u);
}

TEST(RowQueue, CutsALargePayloadWhereItHasNoRoom) {
  RowQueue queue;
  Row row = makeRow("{}");
  row.payloads[1] = {"result", Slice(std::string(kMaxSharedBytes, 'x'))};
  ASSERT_TRUE(queue.push(row));
  row.payloads[1] = {"result", Slice(std::string(100'000, 'y'))};
  ASSERT_TRUE(queue.push(row));
  QueuedRow taken;
  ASSERT_TRUE(queue.next(taken));
  ASSERT_TRUE(queue.next(taken));
  EXPECT_EQ(taken.payloads[1].text.size(), kMaxCopiedPayload);
  EXPECT_EQ(taken.payloads[1].wholeBytes, 100'000u);
  queue.release();
  ASSERT_TRUE(queue.push(row));
  ASSERT_TRUE(queue.next(taken));
  EXPECT_EQ(taken.payloads[1].text.size(), 100'000u) << "there is room again";
}

TEST(RowQueue, SharesAgainAfterRowsThatHadNoRoom) {
  RowQueue queue;
  const std::string body = "{\"text\":\"" + std::string(4000, 'x') + "\"}";
  while (queue.push(makeRow(body))) {
  }
  while (queue.push(makeRow("{}"))) {
  }
  Row row = makeRow("{}");
  row.payloads[1] = {"result", Slice(std::string(100'000, 'y'))};
  for (size_t bytes = 0; bytes <= kMaxSharedBytes; bytes += 100'000) {
    ASSERT_FALSE(queue.push(row));
  }
  QueuedRow taken;
  while (queue.next(taken)) {
  }
  queue.release();
  ASSERT_TRUE(queue.push(row));
  ASSERT_TRUE(queue.next(taken));
  EXPECT_EQ(taken.payloads[1].text.size(), 100'000u);
}

TEST(RowQueue, LeavesOutABodyThatIsTooLarge) {
  RowQueue queue;
  const std::string body(kMaxQueuedBody + 1, ' ');
  ASSERT_TRUE(queue.push(makeRow(body)));
  QueuedRow taken;
  ASSERT_TRUE(queue.next(taken));
  EXPECT_EQ(taken.body, "");
  EXPECT_EQ(taken.bodyBytes, body.size());
}

TEST(RowQueue, HasMoreRoomForRowsThatAreAwaitedAndForNotify) {
  RowQueue queue;
  const std::string body = "{\"text\":\"" + std::string(4000, 'x') + "\"}";
  size_t kept = 0;
  while (queue.push(makeRow(body))) ++kept;
  EXPECT_GT(kept, 1500u);
  EXPECT_LE(queue.bytes(), kMaxQueuedBytes);
  EXPECT_TRUE(queue.push(makeRow(body, Collection::Notify)));
  EXPECT_TRUE(queue.push(makeRow(body), 3));
  EXPECT_FALSE(queue.push(makeRow(body)));
  QueuedRow row;
  while (queue.next(row)) {
  }
  queue.release();
  EXPECT_TRUE(queue.push(makeRow(body)));
}

TEST(RowQueue, BoundsTheBytesOfAwaitedRowsAndNotify) {
  RowQueue queue;
  const std::string body = "{\"text\":\"" + std::string(30'000, 'x') + "\"}";
  size_t kept = 0;
  while (queue.push(makeRow(body, Collection::Notify))) ++kept;
  EXPECT_GT(kept, 500u);
  EXPECT_LE(queue.bytes(), kMaxUrgentBytes);
  EXPECT_FALSE(queue.push(makeRow(body), 1));
  EXPECT_EQ(queue.waited(), 0u);
  QueuedRow row;
  for (size_t i = 0; i < kept / 2; ++i) ASSERT_TRUE(queue.next(row));
  queue.release();
  EXPECT_TRUE(queue.push(makeRow(body), 1));
}

TEST(RowQueue, BoundsTheNumberOfAwaitedRowsAndNotify) {
  RowQueue queue;
  for (size_t i = 0; i < kMaxUrgentRows; ++i) {
    ASSERT_TRUE(i % 2 == 0 ? queue.push(makeRow("{}"), i)
                           : queue.push(makeRow("{}", Collection::Notify)));
  }
  EXPECT_FALSE(queue.push(makeRow("{}"), 1));
  EXPECT_FALSE(queue.push(makeRow("{}", Collection::Notify)));
  EXPECT_TRUE(queue.push(makeRow("{}"))) << "others have room";
  QueuedRow row;
  ASSERT_TRUE(queue.next(row));
  queue.release();
  EXPECT_TRUE(queue.push(makeRow("{}"), 1));
  while (queue.next(row)) {
  }
  queue.release();
  EXPECT_EQ(queue.waited(), 0u);
}

TEST(RowQueue, CutsNamesThatAreTooLong) {
  RowQueue queue;
  const std::string name(5000, 'n');
  Row row = makeRow("{}");
  row.session = row.source = row.trace = name;
  ASSERT_TRUE(queue.push(row));
  QueuedRow taken;
  ASSERT_TRUE(queue.next(taken));
  EXPECT_EQ(taken.session.size(), 256u);
}

TEST(RowQueueThreads, OnePushesWhileAnotherTakes) {
  RowQueue queue;
  constexpr int kRows = 50'000;
  std::thread taker([&queue] {
    QueuedRow row;
    int next = 0;
    while (next < kRows) {
      if (!queue.next(row)) {
        std::this_thread::yield();
        continue;
      }
      ASSERT_EQ(row.at, next);
      ASSERT_EQ(row.payloads[1].text.size(), row.at % 100 == 0 ? 20'000u : 3u);
      if (++next % 37 == 0) queue.release();
    }
    queue.release();
  });
  const Slice large(std::string(20'000, 'x'));
  for (int i = 0; i < kRows; ++i) {
    Row row = makeRow("{}");
    row.at = i;
    row.payloads[1] = {"result", i % 100 == 0 ? large : Slice::borrow("\"x\"")};
    while (i % 100 == 0 && queue.bytes() > kMaxQueuedBytes / 4) std::this_thread::yield();
    while (!queue.push(row)) std::this_thread::yield();
  }
  taker.join();
  EXPECT_EQ(queue.bytes(), 0u);
}

}  // namespace
}  // namespace tap::records
