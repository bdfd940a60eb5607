// Rows that the gateway has made for the record store.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/utf8.h"
#include "gateway/texts.h"
#include "protocol/records.h"

namespace tap::gateway::test {

// A row of the record store, as it would be stored but for cutting.
struct Stored {
  protocol::Collection collection;
  int64_t at;
  std::string session;
  std::string source;
  std::string trace;
  Message body;
  std::map<std::string, std::string> payloads;
  std::optional<protocol::SpanInfo> span;  // its name is in spanName
  std::string spanName;
  uint64_t commit = 0;  // its number, if the caller waits until it is durable

  static Stored of(const protocol::Row& row, uint64_t commit) {
    EXPECT_TRUE(utf8::isValid(row.body) && json::Scanner().scan(row.body)) << row.body;
    EXPECT_LT(row.body.size(), 2048u) << row.body;
    EXPECT_TRUE(utf8::isValid(row.session) && utf8::isValid(row.source));
    Stored stored{row.collection,
                  row.at,
                  std::string(row.session),
                  std::string(row.source),
                  std::string(row.trace),
                  Message(std::string(row.body)),
                  {},
                  row.span,
                  row.span ? std::string(row.span->name) : std::string(),
                  commit};
    for (const protocol::Payload& payload : row.payloads) {
      if (!payload.field.empty()) stored.payloads[std::string(payload.field)] = payload.text.view();
    }
    return stored;
  }
  [[nodiscard]] std::string get(std::string_view field) const { return body.get(field); }
};

}  // namespace tap::gateway::test
