// Queries of records: each is answered with JSON, or refused with a reason, and has no side
// effects. The same text as a payload: the stored part is JSON of a limited size.
#include <gtest/gtest.h>

#include <string>

#include "base/json.h"
#include "base/utf8.h"
#include "records/answer.h"
#include "records/body.h"
#include "records/redact.h"
#include "records/schema.h"
#include "targets.h"

namespace tap::fuzz {

namespace {

constexpr int64_t kFuzzNow = 1'767'225'600'000;

// With a few rows in it.
tap::records::Database& storedRows() {
  static tap::records::Database database =
      [] {
        using tap::records::Database;
        Database made = Database::open(":memory:", Database::Access::ReadWrite);
        EXPECT_EQ(prepareSchema(made, false).state, tap::records::SchemaOutcome::State::Ready);
        EXPECT_TRUE(made.run(R"sql(
      INSERT INTO fields VALUES (2, 'tool'), (2, 'ms'), (2, 'arguments');
      INSERT INTO rows (at, collection, session, v, body) VALUES
        (1767225600000, 2, 's1', 1, '{"tool":"build","ms":5,"arguments":{"a":[1,null,true]}}'),
        (1767225600000, 2, 's2', 1, '{"tool":"test","ms":1.5,"arguments":"text"}'),
        (1767225600001, 3, NULL, 1, '{}');
    )sql")) << made.problem();
        return made;
      }();
  return database;
}

void expectJson(std::string_view text) {
  json::Scanner scanner;
  ASSERT_TRUE(utf8::isValid(text));
  const auto root = scanner.scan(text, json::kMaxEnvelopeDepth);
  ASSERT_TRUE(root) << text;
}

}  // namespace

void recordQueries(std::string_view input) {
  const tap::records::Answer answer = tap::records::answerQuery(storedRows(), input, kFuzzNow);
  ASSERT_TRUE(utf8::isValid(answer.text));
  ASSERT_FALSE(answer.text.empty());
  ASSERT_FALSE(answer.damaged);
  if (answer.good) expectJson(answer.text);
  ASSERT_EQ(storedRows().number("SELECT count(*) FROM rows"), 3);

  if (!utf8::isValid(input)) return;
  expectJson(tap::records::redactJson(input));
  tap::records::QueuedRow row;
  row.body = "{\"tool\":\"build\"}";
  row.bodyBytes = row.body.size();
  row.payloads[0] = {"arguments", input, input.size()};
  row.payloads[1] = {"result", input, input.size() + 1};
  tap::records::BodyEncoder maker;
  const std::string_view body = maker.encode(row, [](std::string_view) {});
  ASSERT_LE(body.size(), tap::records::kMaxBody);
  expectJson(body);
}

}  // namespace tap::fuzz
