#include "plan/words.h"

#include <gtest/gtest.h>

#include "plan/entry.h"
#include "plan/problems.h"

namespace tap::plan {
namespace {

TEST(PlanWords, OnlyARetryLeavesATerminalStatusAndWhatWasCanceledTooLateOrIsReplaced) {
  for (const auto& transition : kTransitions) {
    if (!isTerminal(transition.from)) continue;
    const bool isLate =
        transition.from == NodeStatus::Canceled && transition.to == NodeStatus::Succeeded;
    const bool isReplaced =
        transition.from == NodeStatus::Blocked && transition.to == NodeStatus::Canceled;
    EXPECT_TRUE(isLate || isReplaced || transition.to == NodeStatus::Pending)
        << text(transition.from);
  }
  EXPECT_FALSE(isTransition(NodeStatus::Pending, NodeStatus::Running));
}

TEST(PlanEntry, WhatIsWrittenIsReadAgain) {
  Entry entry;
  entry.kind = EntryKind::PhaseEnded;
  entry.at = 1'700'000'000'000;
  entry.node = "lexer";
  entry.attempt = 3;
  entry.phase = Phase::Work;
  entry.next = Phase::Commit;
  entry.status = PhaseStatus::Succeeded;
  entry.retry = true;
  entry.until = 5;
  entry.plan = PlanStatus::Partial;
  entry.detail = R"({"a":[1,"\u0000"]})";
  std::string text;
  writeEntry(text, entry);
  const auto read = readEntry(text);
  ASSERT_TRUE(read) << read.error();
  std::string again;
  writeEntry(again, read.value());
  EXPECT_EQ(again, text);
}

TEST(PlanEntry, RefusesWhatIsNone) {
  for (const char* text : {"", "[]", "{}", R"({"kind":5})", R"({"kind":"began","at":-1})",
                           R"({"kind":"began","attempt":99999999999})",
                           R"({"kind":"began","phase":"x"})", R"({"kind":"began","else":1})",
                           R"({"kind":"began","node":5})", R"({"kind":"began","retry":"yes"})"}) {
    EXPECT_FALSE(readEntry(text)) << text;
  }
}

TEST(PlanProblems, TheNearestNameIsTheOneWithTheFewestMistakes) {
  const std::vector<std::string_view> names{"timeout", "retry", "work", "works"};
  EXPECT_EQ(nearest("tiemout", names), "timeout");
  EXPECT_EQ(nearest("wrok", names), "work");
  EXPECT_EQ(nearest("elephant", names), "");
  EXPECT_EQ(distance(std::string(100, 'a'), std::string(100, 'b'), 3), 4U);
}

}  // namespace
}  // namespace tap::plan
