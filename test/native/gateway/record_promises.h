// Invariants of the record store's rows: one for each call, and a trusted provider's text is sent
// only after its own row is durable.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "gateway/harness.h"
#include "gateway/promises.h"

namespace tap::gateway::test {

class RecordPromises {
 public:
  // Takes the recorded rows. Of the rows that must be durable first, some succeed, some fail, and
  // some get no answer.
  void take(Harness& tap) {
    for (std::vector<Stored> rows = tap.records(); !rows.empty(); rows = tap.records()) {
      for (const Stored& row : rows) {
        if (row.collection == protocol::Collection::ToolCall) {
          ASSERT_EQ(++calls_[row.get("callId")], 1) << "two records of a call";
        }
        if (row.commit == 0 || row.commit % 3 == 2) continue;
        const bool durable = row.commit % 3 == 0;
        if (durable) ++durable_[row.session];
        tap.committed(row.commit, durable);
      }
    }
    for (Provider* provider : tap.state().providers.all()) {
      if (provider->name == kTrusted) provider->trusted = true;
    }
  }

  [[nodiscard]] bool hasCall(const std::string& id) const { return calls_.contains(id); }

  void checkInjects(Harness& tap, const Process& process) {
    while (const auto inject = tap.find<protocol::Inject>(process.peer)) {
      if (inject->provider != kTrusted) continue;
      ASSERT_LE(++injected_[process.sessionId], durable_[process.sessionId])
          << "a prompt without a record";
    }
  }

  // A text for the model that came with an answer.
  void checkText(const Process& process, const std::string& text) {
    const std::string name = "tap provider \"" + std::string(kTrusted) + "\"";
    const bool isOwn = text.find("From " + name) != text.npos ||
                       text.find("Context from " + name) != text.npos || text == name + ": no" ||
                       text == name + ": because";
    if (!isOwn) return;
    ++texts_;
    ASSERT_LE(++injected_[process.sessionId], durable_[process.sessionId])
        << "a text without a record: " << text;
  }
  [[nodiscard]] int texts() const { return texts_; }

 private:
  static constexpr std::string_view kTrusted = "p3";  // a name of the world

  std::map<std::string, int> calls_;
  std::map<std::string, int> durable_;   // by session
  std::map<std::string, int> injected_;  // likewise: prompts and other texts
  int texts_ = 0;
};

}  // namespace tap::gateway::test
