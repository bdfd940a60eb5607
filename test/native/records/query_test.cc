#include "records/query.h"

#include <gtest/gtest.h>

#include "records/moment.h"
#include "store_rig.h"

namespace tap::records::test {
namespace {

std::string queryRefusal(const std::string& json) {
  const Result<Query, std::string> query = parseQuery(json, kStart);
  EXPECT_FALSE(query.ok()) << json;
  return query.ok() ? "" : query.error();
}

TEST(QueryParser, ReadsAllThatAQueryMayHave) {
  const auto parsed = parseQuery(
      R"({"collection":"tool_call","where":{"tool":"build","ms":{"gt":5,"lt":7.5},"a.b":null},)"
      R"("since":"1h","until":"2026-01-01","limit":5,"cursor":"12.34"})",
      kStart);
  ASSERT_TRUE(parsed.ok()) << parsed.error();
  const Query& query = parsed.value();
  EXPECT_EQ(query.collection, Collection::ToolCall);
  ASSERT_EQ(query.where.size(), 4u);
  EXPECT_EQ(query.where[0].path, "$.\"tool\"");
  EXPECT_EQ(query.where[1].op, Op::Gt);
  EXPECT_EQ(query.where[2].op, Op::Lt);
  EXPECT_EQ(query.where[3].path, "$.\"a\".\"b\"");
  EXPECT_EQ(query.where[3].top, "a");
  EXPECT_EQ(query.since, kStart - 3'600'000);
  EXPECT_EQ(query.until, kStart);
  EXPECT_EQ(query.limit, 5);
  EXPECT_EQ(query.cursor->id, 34);
}

TEST(QueryParser, NamesWhatWouldHaveBeenRight) {
  EXPECT_EQ(queryRefusal(R"({"collection":"calls"})"),
            "The query is refused: there is no collection \"calls\"; there are session, provider, "
            "tool_call, gate, push, stream_entry, emitter_run, sync, notify, goal, claim, review, "
            "eval, plan, span, diagnostic, state.");
  EXPECT_EQ(queryRefusal(R"({"where":{"tool":{"like":"x"}}})"),
            "The query is refused: there is no op \"like\"; there are eq, ne, lt, gt, prefix.");
  EXPECT_EQ(queryRefusal(R"({"order":"asc"})"),
            "The query is refused: it has no field \"order\"; there are collection, where, since, "
            "until, limit, cursor.");
}

TEST(QueryParser, RefusesWhatIsNoQuery) {
  for (const std::string& json : {std::string(""),
                                  std::string("[]"),
                                  std::string("1"),
                                  std::string("{"),
                                  std::string("{\"limit\":0}"),
                                  std::string("{\"limit\":1001}"),
                                  std::string("{\"limit\":1.5}"),
                                  std::string("{\"limit\":\"5\"}"),
                                  std::string("{\"cursor\":\"x\"}"),
                                  std::string("{\"cursor\":\"1.\"}"),
                                  std::string("{\"cursor\":\"1.2x\"}"),
                                  std::string("{\"cursor\":\"1.2.\"}"),
                                  std::string("{\"cursor\":\"1.2.x\"}"),
                                  std::string("{\"cursor\":\"1.2.3.4\"}"),
                                  std::string("{\"cursor\":5}"),
                                  std::string("{\"where\":[]}"),
                                  std::string("{\"where\":{\"a\":[]}}"),
                                  std::string("{\"where\":{\"a\":{}}}"),
                                  std::string("{\"where\":{\"a\":{\"eq\":{}}}}"),
                                  std::string("{\"where\":{\"\":1}}"),
                                  std::string("{\"where\":{\"a..b\":1}}"),
                                  std::string("{\"where\":{\"a\\\"b\":1}}"),
                                  std::string("{\"where\":{\"a\":\"\\u0000\"}}"),
                                  std::string("{\"where\":{\"a\":{\"prefix\":1}}}"),
                                  std::string("{\"where\":{\"a\":{\"lt\":null}}}"),
                                  std::string("{\"collection\":1}"),
                                  std::string("{\"since\":\"yesterday\"}"),
                                  std::string("{\"since\":1.5}"),
                                  std::string("{\"a\":\"\xFF\"}"),
                                  "{\"where\":{\"a\":\"" + std::string(20'000, 'x') + "\"}}"}) {
    EXPECT_FALSE(queryRefusal(json).empty()) << json;
  }
  std::string many = "{\"where\":{";
  for (int i = 0; i < 33; ++i) many += (i > 0 ? ",\"f" : "\"f") + std::to_string(i) + "\":1";
  EXPECT_EQ(queryRefusal(many + "}}"), "The query is refused: it has more than 32 conditions.");
}

TEST(QueryParser, PutsNothingOfAQueryIntoSql) {
  const auto parsed = parseQuery(
      R"({"where":{"x' OR 1=1 --":"'; DROP TABLE rows; --","session":{"prefix":"' OR ''='"}}})",
      kStart);
  ASSERT_TRUE(parsed.ok());
  const Prepared prepared = toSql(parsed.value());
  EXPECT_EQ(prepared.sql.find('\''), prepared.sql.find("'text'"));
  EXPECT_EQ(prepared.sql.find("DROP"), std::string::npos);
  EXPECT_EQ(prepared.sql.find("OR"), prepared.sql.find("ORDER"));
}

TEST(Queries, SqlInAConditionFindsNothingAndHarmsNothing) {
  const TemporaryFolder folder;
  StoreRig rig(folder.file());
  rig.append(Collection::Gate, R"({"tool":"build"})");
  EXPECT_TRUE(rig.records(R"({"where":{"tool":"' OR 1=1 --"}})").empty());
  EXPECT_TRUE(rig.records(R"({"where":{"session":"x'; DROP TABLE rows; --"}})").empty());
  EXPECT_FALSE(rig.query(R"({"where":{"1=1) OR (1":1}})").good);
  EXPECT_EQ(rig.records("{}").size(), 1u);
}

TEST(Moments, AreReadAsPeopleWriteThem) {
  EXPECT_EQ(parseMoment("2026-01-01", 0), kStart);
  EXPECT_EQ(parseMoment("2026-01-01T00:00Z", 0), kStart);
  EXPECT_EQ(parseMoment("2026-01-01 01:30:00+01:30", 0), kStart);
  EXPECT_EQ(parseMoment("2025-12-31T19:00:00.250-0500", 0), kStart + 250);
  EXPECT_EQ(parseMoment("2026-01-01T00:00:00.123456789Z", 0), kStart + 123);
  EXPECT_EQ(parseMoment("1970-01-01T00:00:01Z", 0), 1000);
  EXPECT_EQ(parseMoment("2024-02-29", 0), 1'709'164'800'000);
  EXPECT_EQ(parseMoment("0001-01-01", 0), -62'135'596'800'000);
  EXPECT_EQ(parseMoment("90s", kStart), kStart - 90'000);
  EXPECT_EQ(parseMoment("7d", kStart), kStart - 7 * 86'400'000);
  for (const char* wrong :
       {"", "x", "5", "-5m", "5w", "5.5h", "99999999999d", "2026-02-30", "2026-13-01", "2026-1-1",
        "2026-01-01T", "2026-01-01T25:00", "2026-01-01T00:00:00.Z", "2026-01-01T00:00+1",
        "2026-01-01Tx", "2026-01-01T00:00Zx", "0000-01-01", "+026-01-01"}) {
    EXPECT_FALSE(parseMoment(wrong, kStart)) << wrong;
  }
}

// --- Random rows and queries, against a plain model in memory. ---

class QueryRandom {
 public:
  explicit QueryRandom(uint64_t seed) : state_(seed) {}
  [[nodiscard]] uint64_t below(uint64_t bound) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return (state_ >> 33) % bound;
  }
  template <class T>
  [[nodiscard]] const T& of(const std::vector<T>& list) {
    return list[below(list.size())];
  }

 private:
  uint64_t state_;
};

struct ModelRow {
  int64_t id;
  int64_t at;
  Collection collection;
  std::string session;
  std::string tool;           // empty: the record has no tool
  std::optional<int64_t> ms;  // a number, or absent
};

struct ModelQuery {
  std::string json;
  std::function<bool(const ModelRow&)> fits;
  int64_t limit;
};

const std::vector<Collection> kModelCollections{Collection::ToolCall, Collection::Gate};
const std::vector<std::string> kModelTexts{"build", "build-all", "test", "%", "Build", "b'c"};

// A condition on a text.
std::pair<std::string, std::function<bool(const std::string&)>> textCondition(QueryRandom& random) {
  const std::string& text = random.of(kModelTexts);
  const std::string quoted = "\"" + text + "\"";
  switch (random.below(6)) {
    case 0:
      return {quoted, [text](const std::string& v) { return v == text; }};
    case 1:
      return {"{\"ne\":" + quoted + "}", [text](const std::string& v) { return v != text; }};
    case 2:
      return {"{\"lt\":" + quoted + "}",
              [text](const std::string& v) { return !v.empty() && v < text; }};
    case 3:
      return {"{\"gt\":" + quoted + "}",
              [text](const std::string& v) { return !v.empty() && v > text; }};
    case 4:
      return {"{\"prefix\":" + quoted + "}",
              [text](const std::string& v) { return !v.empty() && v.starts_with(text); }};
    default:
      return {"null", [](const std::string& v) { return v.empty(); }};
  }
}

ModelQuery randomQuery(QueryRandom& random, int64_t rows) {
  std::string json = "{\"limit\":";
  const auto limit = static_cast<int64_t>(1 + random.below(40));
  json += std::to_string(limit);
  std::vector<std::function<bool(const ModelRow&)>> all;
  if (random.below(3) > 0) {
    const Collection wanted = random.of(kModelCollections);
    json += ",\"collection\":\"" + std::string(protocol::collectionName(wanted)) + "\"";
    all.push_back([wanted](const ModelRow& row) { return row.collection == wanted; });
  }
  if (random.below(3) == 0) {
    const auto since = kStart + static_cast<int64_t>(random.below(static_cast<uint64_t>(rows)));
    json += ",\"since\":" + std::to_string(since);
    all.push_back([since](const ModelRow& row) { return row.at >= since; });
  }
  if (random.below(3) == 0) {
    const auto until = kStart + static_cast<int64_t>(random.below(static_cast<uint64_t>(rows)));
    json += ",\"until\":" + std::to_string(until);
    all.push_back([until](const ModelRow& row) { return row.at < until; });
  }
  std::string where;
  const auto add = [&where](const std::string& name, const std::string& condition) {
    where += (where.empty() ? "\"" : ",\"") + name + "\":" + condition;
  };
  if (random.below(2) == 0) {
    const auto [text, fits] = textCondition(random);
    add("tool", text);
    all.push_back([fits = fits](const ModelRow& row) { return fits(row.tool); });
  }
  if (random.below(3) == 0) {
    const auto [text, fits] = textCondition(random);
    add("session", text);
    all.push_back([fits = fits](const ModelRow& row) { return fits(row.session); });
  }
  if (random.below(2) == 0) {
    const auto bound = static_cast<int64_t>(random.below(10));
    const bool less = random.below(2) == 0;
    add("ms", std::string(less ? "{\"lt\":" : "{\"gt\":") + std::to_string(bound) + "}");
    all.push_back([bound, less](const ModelRow& row) {
      return row.ms && (less ? *row.ms < bound : *row.ms > bound);
    });
  }
  json += ",\"where\":{" + where + "}}";
  const auto fits = [all](const ModelRow& row) {
    return std::all_of(all.begin(), all.end(), [&](const auto& one) { return one(row); });
  };
  return {json, fits, limit};
}

std::vector<ModelRow> fillRandomly(StoreRig& rig, QueryRandom& random, int64_t count) {
  std::vector<ModelRow> rows;
  for (int64_t id = 1; id <= count; ++id) {
    ModelRow row{id,
                 kStart + static_cast<int64_t>(random.below(static_cast<uint64_t>(count))),
                 random.of(kModelCollections),
                 random.of(kModelTexts),
                 random.below(4) > 0 ? random.of(kModelTexts) : "",
                 random.below(3) > 0 ? std::optional<int64_t>(random.below(10)) : std::nullopt};
    std::string body = "{\"other\":1";
    if (!row.tool.empty()) body += ",\"tool\":\"" + row.tool + "\"";
    if (row.ms) body += ",\"ms\":" + std::to_string(*row.ms);
    // A text where a number is expected fits no bound.
    if (!row.ms && random.below(2) == 0) body += ",\"ms\":\"text\"";
    rig.append(row.collection, body + "}", row.session, row.at);
    rows.push_back(row);
  }
  std::sort(rows.begin(), rows.end(), [](const ModelRow& a, const ModelRow& b) {
    return a.at != b.at ? a.at > b.at : a.id > b.id;
  });
  return rows;
}

TEST(QueriesProperty, AgreeWithAPlainModel) {
  constexpr int64_t kRows = 400;
  constexpr int kQueries = 300;
  const TemporaryFolder folder;
  StoreRig rig(folder.file());
  QueryRandom random(20'261'122);
  // Both fields are known from the first row on.
  const std::vector<ModelRow> rows = fillRandomly(rig, random, kRows);
  for (int i = 0; i < kQueries; ++i) {
    const ModelQuery query = randomQuery(random, kRows);
    std::vector<std::string> expected;
    for (const ModelRow& row : rows) {
      if (query.fits(row)) expected.push_back(std::to_string(row.id));
    }
    // All pages together.
    std::vector<std::string> found;
    std::string asked = query.json;
    for (;;) {
      const Answer answer = rig.query(asked);
      ASSERT_TRUE(answer.good) << asked << ": " << answer.text;
      const json::Value root{json::Kind::Object, answer.text};
      json::Elements records(*json::find(root, "records"));
      int64_t some = 0;
      for (json::Value record; records.next(record); ++some) {
        found.emplace_back(json::find(record, "id")->raw);
      }
      ASSERT_LE(some, query.limit);
      const auto cursor = json::find(root, "cursor");
      if (!cursor) break;
      asked = query.json.substr(0, query.json.size() - 1) +
              ",\"cursor\":" + std::string(cursor->raw) + "}";
    }
    ASSERT_EQ(found, expected) << query.json;
  }
}

}  // namespace
}  // namespace tap::records::test
