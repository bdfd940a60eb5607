#include "records/store.h"

#include <gtest/gtest.h>

#include "store_rig.h"

namespace tap::records::test {
namespace {

TEST(RecordStore, KeepsWhatWasAppended) {
  const TemporaryFolder folder;
  StoreRig rig(folder.file());
  rig.append(Collection::ToolCall, R"({"tool":"build","ok":true})");
  const auto records = rig.records(R"({"collection":"tool_call"})");
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0], R"({"id":1,"at":1767225600000,"collection":"tool_call","session":"s1",)"
                        R"("source":"test","v":1,"body":{"tool":"build","ok":true}})");
}

TEST(RecordStore, AnswersTheNewestFirst) {
  const TemporaryFolder folder;
  StoreRig rig(folder.file());
  for (int i = 0; i < 5; ++i) {
    rig.append(Collection::Push, "{\"n\":" + std::to_string(i) + "}", "s1", kStart + i % 3);
  }
  EXPECT_EQ(rig.fields("{}", "id"), (std::vector<std::string>{"3", "5", "2", "4", "1"}));
}

TEST(RecordStore, CommitsARowBeforeItSaysSo) {
  const TemporaryFolder folder;
  StoreRig rig(folder.file());
  EXPECT_TRUE(rig.commit(Collection::Notify, R"({"text":"hello"})"));
  EXPECT_EQ(rig.store->state().written, 1u);
}

TEST(RecordStore, TellsItsListenerOfEachNumberOnce) {
  const TemporaryFolder folder;
  StoreRig rig(folder.file());
  std::vector<std::pair<uint64_t, bool>> heard;
  rig.store->onCommitted(
      [&](uint64_t number, bool durable) { heard.emplace_back(number, durable); });
  Row row;
  row.collection = Collection::Notify;
  row.body = "{}";
  rig.store->commit(row, 7);
  rig.store->commit(row, 9);
  EXPECT_TRUE(heard.empty());
  rig.run([&] { return heard.size() == 2; });
  EXPECT_EQ(heard, (std::vector<std::pair<uint64_t, bool>>{{7, true}, {9, true}}));
}

TEST(RecordStore, WritesWhatIsInTheQueueWhenItEnds) {
  const TemporaryFolder folder;
  {
    const StoreRig rig(folder.file());
    for (int i = 0; i < 1000; ++i) rig.append(Collection::Gate, "{}");
  }
  StoreRig again(folder.file());
  EXPECT_EQ(again.sql("SELECT count(*) AS n FROM records").text,
            R"({"columns":["n"],"rows":[[1000]]})");
}

TEST(RecordStore, ClosesOnceAllIsWritten) {
  const TemporaryFolder folder;
  StoreRig rig(folder.file());
  rig.append(Collection::Gate, "{}");
  bool closed = false;
  rig.store->close([&] { closed = true; });
  EXPECT_TRUE(rig.store->isAwaited());
  rig.run([&] { return closed; });
  EXPECT_FALSE(rig.store->isAwaited());
  EXPECT_EQ(rig.store->state().written, 1u);
  rig.append(Collection::Gate, "{}");
  EXPECT_EQ(rig.store->state().dropped[static_cast<size_t>(Collection::Gate)], 1u);
  EXPECT_FALSE(rig.query("{}").good);
}

TEST(RecordStore, SettlesEachClose) {
  const TemporaryFolder folder;
  StoreRig rig(folder.file());
  int closed = 0;
  rig.store->close([&] { ++closed; });
  rig.store->close([&] { ++closed; });
  rig.run([&] { return closed == 2; });
  rig.store->close([&] { ++closed; });
  EXPECT_EQ(closed, 2) << "not from inside the call";
  EXPECT_TRUE(rig.store->isAwaited());
  rig.run([&] { return closed == 3; });
  EXPECT_FALSE(rig.store->isAwaited());
}

TEST(RecordStore, RefusesWhatIsAwaitedBeyondItsBoundWhileTheDiskStalls) {
  const TemporaryFolder folder;
  StoreRig rig(folder.file());
  EXPECT_TRUE(rig.commit(Collection::Notify, "{}"));
  rig.stalled = true;
  rig.append(Collection::Gate, "{}");  // the writer stands still with it
  size_t refused = 0;
  size_t durable = 0;
  Row row;
  row.collection = Collection::Notify;
  row.body = "{}";
  const auto heard = [&](bool is) { ++(is ? durable : refused); };
  for (size_t i = 0; i < kMaxUrgentRows; ++i) rig.store->commit(row, heard);
  EXPECT_EQ(refused, 0u);
  for (int i = 0; i < 3; ++i) rig.store->commit(row, heard);
  rig.run([&] { return refused == 3; });
  EXPECT_EQ(durable, 0u);
  EXPECT_EQ(rig.store->state().dropped[static_cast<size_t>(Collection::Notify)], 3u);
  rig.stalled = false;
  rig.run([&] { return durable == kMaxUrgentRows; });
  EXPECT_TRUE(rig.commit(Collection::Notify, "{}"));
}

TEST(RecordStore, KeepsOnlyNotifyWhereItIsToldSo) {
  const TemporaryFolder folder;
  StoreRig rig(folder.file());
  rig.store->keepOnlyNotify(true);
  rig.append(Collection::ToolCall, "{}");
  EXPECT_FALSE(rig.commit(Collection::ToolCall, "{}"));
  EXPECT_TRUE(rig.commit(Collection::Notify, "{}"));
  EXPECT_EQ(rig.fields("{}", "collection"), (std::vector<std::string>{"\"notify\""}));
}

TEST(RecordStore, WritesASpanAsARowOfItsOwn) {
  const TemporaryFolder folder;
  StoreRig rig(folder.file());
  Row row;
  row.collection = Collection::ToolCall;
  row.at = kStart;
  row.body = R"({"tool":"build"})";
  row.span.emplace();
  row.span->traceId = {0x0a, 0x0b};
  row.span->spanId = {0xff};
  row.span->startUs = 17;
  row.span->durationUs = 4;
  row.span->kind = protocol::SpanKind::Client;
  row.span->status = protocol::SpanStatus::Ok;
  row.span->name = "execute_tool build";
  rig.store->append(row);
  const std::string trace = "\"0a0b0000000000000000000000000000\"";
  EXPECT_EQ(rig.fields("{}", "trace"), (std::vector<std::string>{trace, trace}));
  EXPECT_EQ(
      rig.fields(R"({"collection":"span"})", "body"),
      (std::vector<std::string>{
          R"({"name":"execute_tool build","kind":"client","status":"ok","traceId":)" + trace +
          R"(,"spanId":"ff00000000000000","startUs":17,"durationUs":4,"record":1,"tool":"build"})"}));
  row.collection = Collection::Span;
  rig.store->append(row);
  EXPECT_EQ(rig.records(R"({"where":{"tool":"build"},"collection":"span"})").size(), 2u);
}

TEST(RecordStore, AnswersWhileItWrites) {
  const TemporaryFolder folder;
  StoreRig rig(folder.file());
  std::vector<Answer> answers;
  for (int i = 0; i < 20'000; ++i) {
    rig.append(Collection::Gate, R"({"text":"some text"})");
    if (i % 1000 == 999) {
      rig.store->query(R"({"limit":7})", [&](const Answer& answer) { answers.push_back(answer); });
    }
  }
  rig.run([&] { return answers.size() == 20; });
  for (const Answer& answer : answers) EXPECT_TRUE(answer.good) << answer.text;
  rig.flush();
  EXPECT_EQ(rig.store->state().rows, 20'000);
}

TEST(RecordStore, ReadsAgainAfterItsReaderHasEnded) {
  const TemporaryFolder folder;
  StoreRig rig(folder.file());
  for (int i = 0; i < 3; ++i) {
    rig.append(Collection::Gate, "{}");
    EXPECT_EQ(rig.records("{}").size(), static_cast<size_t>(i) + 1);
    std::this_thread::sleep_for(milliseconds(120));
  }
}

TEST(RecordStore, GoesThroughPagesByCursor) {
  const TemporaryFolder folder;
  StoreRig rig(folder.file());
  for (int i = 0; i < 10; ++i) rig.append(Collection::Gate, "{}", "s1", kStart + i / 4);
  std::vector<std::string> seen;
  std::string cursor;
  for (int page = 0; page < 4; ++page) {
    const std::string asked =
        cursor.empty() ? R"({"limit":3})" : R"({"limit":3,"cursor":)" + cursor + "}";
    for (const std::string& id : rig.fields(asked, "id")) seen.push_back(id);
    const Answer answer = rig.query(asked);
    const auto next = json::find({json::Kind::Object, answer.text}, "cursor");
    cursor = next ? std::string(next->raw) : "";
    EXPECT_EQ(cursor.empty(), page == 3) << page;
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"10", "9", "8", "7", "6", "5", "4", "3", "2", "1"}));
}

TEST(RecordStore, ATimeBeforeNowIsThatOfTheFirstPageOnAllPages) {
  const TemporaryFolder folder;
  StoreRig rig(folder.file());
  rig.append(Collection::Gate, "{}", "s1", kStart - 3'599'000);
  rig.append(Collection::Gate, "{}", "s1", kStart - 1000);
  const std::string query = R"({"since":"1h","limit":1)";
  const Answer first = rig.query(query + "}");
  const auto cursor = json::find({json::Kind::Object, first.text}, "cursor");
  ASSERT_TRUE(cursor.has_value()) << first.text;
  rig.now += 600'000;
  const std::string next = query + R"(,"cursor":)" + std::string(cursor->raw) + "}";
  EXPECT_EQ(rig.fields(next, "id"), (std::vector<std::string>{"1"}));
}

TEST(RecordStore, RefusesAFieldThatNoRecordHasOrMayHave) {
  const TemporaryFolder folder;
  StoreRig rig(folder.file());
  rig.append(Collection::Sync, R"({"arguments":{"a":1}})");
  rig.append(Collection::Gate, R"({"own":"r"})");
  const Answer answer = rig.query(R"({"collection":"sync","where":{"own":"r"}})");
  EXPECT_FALSE(answer.good);
  EXPECT_EQ(answer.text,
            "The query is refused: there is no field \"own\" here; there are id, at, session, "
            "source, trace, v, added, arguments, failure, mode, ms, outcome, removed, revision.");
  EXPECT_TRUE(rig.query(R"({"collection":"gate","where":{"own":"r"}})").good);
  EXPECT_EQ(rig.records(R"({"where":{"arguments.a":1}})").size(), 1u);
}

TEST(RecordStore, KnowsTheFieldsOfACollectionBeforeAnyRecordHasThem) {
  const TemporaryFolder folder;
  StoreRig rig(folder.file());
  const auto query = [&] {
    return rig.query(R"({"collection":"tool_call","where":{"code":"TIMEOUT"}})");
  };
  EXPECT_TRUE(query().good) << "of an empty store";
  EXPECT_FALSE(rig.query(R"({"collection":"tool_call","where":{"colour":1}})").good);
  rig.append(Collection::ToolCall, R"({"tool":"build"})");
  EXPECT_TRUE(query().good);
  EXPECT_TRUE(rig.query(R"({"where":{"code":"TIMEOUT"}})").good) << "of all collections";
  EXPECT_FALSE(rig.query(R"({"where":{"colour":1}})").good);
}

TEST(RecordStore, OneFunctionOfSqlDoesNotKeepTheReader) {
  const TemporaryFolder folder;
  StoreRig rig(folder.file());
  for (const char* slow :
       {"SELECT instr(zeroblob(4000000), zeroblob(1000000) || x'01')",
        "SELECT hex(zeroblob(1000000)) LIKE '%' || substr(hex(zeroblob(20000)), 1, 49000) || 'b%'",
        "WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"
        " SELECT sum(instr(zeroblob(60000), zeroblob(30000) || x'01') + x) FROM c",
        "SELECT printf('%.*c', 2000000000, 'x'), format('%.*c', 2000000000, 'x')"}) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_FALSE(rig.sql(slow).good) << slow;
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(8)) << slow;
  }
  EXPECT_TRUE(rig.query("{}").good);
}

TEST(RecordStore, SqlReadsAndNothingElse) {
  const TemporaryFolder folder;
  StoreRig rig(folder.file());
  rig.append(Collection::Gate, R"({"n":1})");
  EXPECT_EQ(
      rig.sql("SELECT time, collection, json_extract(body, '$.n') AS n FROM records").text,
      R"({"columns":["time","collection","n"],"rows":[["2026-01-01T00:00:00.000Z","gate",1]]})");
  for (const char* refused :
       {"DELETE FROM rows", "INSERT INTO rows DEFAULT VALUES", "DROP TABLE rows",
        "PRAGMA journal_mode = DELETE", "ATTACH '/tmp/other' AS other", "VACUUM",
        "SELECT 1; SELECT 2", "", "SELECT load_extension('x')", "BEGIN", "SELECT", "garbage"}) {
    const Answer answer = rig.sql(refused);
    EXPECT_FALSE(answer.good) << refused;
    EXPECT_FALSE(answer.text.empty()) << refused;
  }
  EXPECT_EQ(rig.sql("SELECT printf('%d', 1)").text,
            "SQLite: not authorized to use function: printf.");
  EXPECT_EQ(rig.records("{}").size(), 1u);
}

TEST(RecordStore, EndsAStatementThatTakesTooLong) {
  const TemporaryFolder folder;
  StoreRig rig(folder.file());
  const Answer answer = rig.sql(
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n");
  EXPECT_FALSE(answer.good);
  EXPECT_EQ(answer.text,
            "It was ended after 2 s. Ask for less: a collection, a session, a shorter time.");
}

TEST(RecordStore, CutsALargeAnswer) {
  const TemporaryFolder folder;
  StoreRig rig(folder.file());
  const std::string text(3500, 'x');
  for (int i = 0; i < 700; ++i) rig.append(Collection::Gate, "{\"text\":\"" + text + "\"}");
  const Answer answer = rig.query(R"({"limit":1000})");
  EXPECT_TRUE(answer.good) << answer.text;
  EXPECT_LT(answer.text.size(), kMaxAnswerBytes + 8192);
  EXPECT_TRUE(json::find({json::Kind::Object, answer.text}, "cursor").has_value());
  const Answer rows = rig.sql("SELECT body FROM records");
  EXPECT_NE(rows.text.find("\"cut\":true"), std::string::npos);
}

}  // namespace
}  // namespace tap::records::test
