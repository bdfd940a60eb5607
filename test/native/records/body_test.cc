#include "records/body.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/encoding.h"
#include "base/sha256.h"

namespace tap::records {
namespace {

QueuedRow rowWith(std::string_view body) {
  QueuedRow row;
  row.body = body;
  row.bodyBytes = body.size();
  return row;
}

void setPayload(QueuedRow& row, size_t at, std::string_view field, std::string_view text) {
  row.payloads[at] = {field, text, text.size()};
}

std::string made(const QueuedRow& row) {
  BodyEncoder maker;
  return std::string(maker.encode(row, [](std::string_view) {}));
}

std::string digestHex(std::string_view text) {
  const auto digest = sha256(text);
  return hex({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

// Expects a valid body of a record.
void expectSound(const std::string& body) {
  EXPECT_LE(body.size(), kMaxBody);
  json::Scanner scanner;
  const auto root = scanner.scan(body);
  ASSERT_TRUE(root) << body;
  EXPECT_EQ(root.value().kind, json::Kind::Object);
}

TEST(Body, HasTheFieldsAndThePayloads) {
  QueuedRow row = rowWith(R"({"tool":"build"})");
  setPayload(row, 0, "arguments", R"({"city":"Oslo"})");
  setPayload(row, 1, "result", "\"fine\"");
  EXPECT_EQ(made(row), R"({"tool":"build","arguments":{"city":"Oslo"},"result":"fine"})");
}

TEST(Body, IsAnObjectWhereThereIsNothing) {
  EXPECT_EQ(made(QueuedRow()), "{}");
  EXPECT_EQ(made(rowWith("{}")), "{}");
  QueuedRow row;
  setPayload(row, 1, "result", "true");
  EXPECT_EQ(made(row), R"({"result":true})");
}

TEST(Body, HasNoSecrets) {
  QueuedRow row = rowWith(R"({"token":"x"})");
  setPayload(row, 0, "arguments", R"({"password":"x"})");
  setPayload(row, 1, "result", "key=abc");
  EXPECT_EQ(
      made(row),
      R"({"token":"<removed>","arguments":{"password":"<removed>"},"result":"key=<removed>"})");
}

TEST(Body, TellsTheNamesOfItsFields) {
  QueuedRow row = rowWith(R"({"tool":"build"})");
  const std::string large = "\"" + std::string(9000, 'x') + "\"";
  setPayload(row, 0, "arguments", "{}");
  setPayload(row, 1, "result", large);
  std::vector<std::string> names;
  BodyEncoder maker;
  (void)maker.encode(row, [&](std::string_view name) { names.emplace_back(name); });
  EXPECT_EQ(names, (std::vector<std::string>{"tool", "arguments", "result", "resultBytes",
                                             "resultDigest"}));
}

TEST(Body, CutsALargePayloadAndNamesIt) {
  QueuedRow row = rowWith(R"({"tool":"build"})");
  const std::string text(9000, 'x');
  const std::string large = "\"" + text + "\"";
  setPayload(row, 0, "arguments", R"({"a":1})");
  setPayload(row, 1, "result", large);
  const std::string body = made(row);
  expectSound(body);
  EXPECT_GT(body.size(), kMaxBody - 100);
  const json::Value root{json::Kind::Object, body};
  EXPECT_EQ(json::find(root, "arguments")->raw, R"({"a":1})");
  EXPECT_TRUE(text.starts_with(json::decodeString(*json::find(root, "result"))));
  EXPECT_EQ(json::find(root, "resultBytes")->raw, "9002");
  EXPECT_EQ(json::decodeString(*json::find(root, "resultDigest")), digestHex(large));
}

TEST(Body, SharesTheRoomBetweenLargePayloads) {
  QueuedRow row;
  const std::string first = "[\"" + std::string(9000, 'x') + "\"]";
  const std::string second = std::string(9000, '"');
  setPayload(row, 0, "arguments", first);
  setPayload(row, 1, "result", second);
  const std::string body = made(row);
  expectSound(body);
  const json::Value root{json::Kind::Object, body};
  EXPECT_GT(json::find(root, "arguments")->raw.size(), 1500u);
  EXPECT_GT(json::find(root, "result")->raw.size(), 1500u);
}

TEST(Body, HasNoDigestOfWhatTheQueueHasCut) {
  QueuedRow row;
  const std::string text = R"({"password":"hunter2","list":[1,2,{"pwd":"hunter3","z)";
  row.payloads[0] = {"arguments", text, 100'000};
  const std::string body = made(row);
  expectSound(body);
  EXPECT_EQ(body.find("hunter"), std::string::npos);
  EXPECT_NE(body.find("\"argumentsBytes\":100000"), std::string::npos);
  EXPECT_EQ(body.find("Digest"), std::string::npos);
}

TEST(Body, LeavesOutFieldsThatAreTooLarge) {
  const std::string large = R"({"text":")" + std::string(5000, 'x') + "\"}";
  EXPECT_EQ(made(rowWith(large)), R"({"bodyBytes":5011,"bodyDigest":")" + digestHex(large) + "\"}");
  QueuedRow lost;
  lost.bodyBytes = 70'000;
  EXPECT_EQ(made(lost), R"({"bodyBytes":70000})");
  EXPECT_EQ(made(rowWith("not JSON")).find("not JSON"), std::string::npos);
}

TEST(Body, StaysWithinItsSizeForAnyPayload) {
  uint64_t state = 1;
  const auto random = [&state](uint64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
  };
  const std::vector<std::string> pieces{"\"",       "\\",      "\n", "x",
                                        "\xC3\xA9", "{\"a\":", "]",  "key=x "};
  for (int round = 0; round < 300; ++round) {
    std::string texts[2];
    for (std::string& text : texts) {
      const auto size = random(12'000);
      while (text.size() < size) text += pieces[random(pieces.size())];
    }
    const std::string fields = "{\"n\":\"" + std::string(random(4200), 'f') + "\"}";
    QueuedRow row = rowWith(fields);
    setPayload(row, 0, "arguments", texts[0]);
    setPayload(row, 1, "result", texts[1]);
    expectSound(made(row));
  }
}

TEST(ClosedJson, IsJson) {
  EXPECT_EQ(closedJson(R"({"a":1,"b":[1,2,{"c":"x)"), R"({"a":1,"b":[1,2,{}]})");
  EXPECT_EQ(closedJson(R"([1,[2,3],"a,b)"), "[1,[2,3]]");
  EXPECT_EQ(closedJson("\"text"), "");
}

}  // namespace
}  // namespace tap::records
