// The engine of plans. An input: lines, each an input of the engine as JSON; with "#" before it an
// entry of a journal. Whatever comes, the journal that the engine writes gives its state again.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "plan/inputs.h"
#include "plan/view.h"
#include "targets.h"

namespace tap::fuzz {

namespace {

using namespace tap::plan;

constexpr size_t kMaxLines = 64;

void takeEntries(const std::vector<std::string_view>& entries) {
  Engine engine({});
  if (engine.replay("p", entries, {})) return;
  Batch batch;
  engine.recover({.unixMillis = 1}, batch);
  ASSERT_FALSE(planJson("p", *engine.find("p")).empty());
}

void expectSame(const Engine& engine, const Engine& other, std::string_view id) {
  const Plan& plan = *engine.find(id);
  const Plan& again = *other.find(id);
  ASSERT_EQ(graphJson(again), graphJson(plan));
  ASSERT_EQ(groupsJson(again), groupsJson(plan));
  ASSERT_EQ(nodesJson(again, {}), nodesJson(plan, {}));
}

}  // namespace

void planInputs(std::string_view input) {
  if (!utf8::isValid(input)) return;
  Engine engine({});
  std::map<std::string, std::vector<std::string>, std::less<>> journal;
  std::vector<std::string_view> entries;
  for (size_t i = 0; i < kMaxLines && !input.empty(); ++i) {
    const size_t end = input.find('\n');
    const std::string_view line = input.substr(0, end);
    input = end == std::string_view::npos ? std::string_view() : input.substr(end + 1);
    if (line.starts_with('#')) {
      entries.push_back(line.substr(1));
      continue;
    }
    Batch batch;
    (void)applyInput(engine, line, {.unixMillis = static_cast<int64_t>(i + 1)}, batch);
    (void)answerView(engine, line);
    for (const auto& entry : batch.entries) journal[entry.plan].push_back(entry.text);
    for (const auto& effect : batch.effects) {
      if (!isCurrent(engine, effect)) continue;
      ASSERT_FALSE(effectJson(engine, effect).empty());
    }
  }
  if (!entries.empty()) takeEntries(entries);
  Batch batch;
  const Moment last{.unixMillis = kMaxLines + 2};
  engine.due(last, batch);
  for (const auto& entry : batch.entries) journal[entry.plan].push_back(entry.text);
  for (const std::string& id : engine.plans()) {
    Engine other({});
    const std::vector<std::string_view> views(journal[id].begin(), journal[id].end());
    const auto problem = other.replay(id, views, last);
    ASSERT_FALSE(problem) << *problem;
    expectSame(engine, other, id);
  }
}

}  // namespace tap::fuzz
