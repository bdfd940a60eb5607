// Imports a plan that ran on a different machine. Its entries are not trusted: they are checked
// like those of a damaged journal, and none of them starts or ends a process.
#include <algorithm>
#include <utility>

#include "base/json.h"
#include "plan/engine.h"
#include "plan/engine_parts.h"

namespace tap::plan {
namespace {

constexpr size_t kMaxEntries = 1'000'000;

[[nodiscard]] Refusal damaged(const std::string& why) {
  return {Refusal::Code::InvalidPlan, why};
}

[[nodiscard]] bool hasGoodDetail(const Entry& entry) {
  const char first = entry.kind == EntryKind::NodesAdded ? '[' : '{';
  return entry.detail.empty() || entry.detail.front() == first;
}

// Applies entries, and writes each applied entry.
class Import {
 public:
  Import(std::string_view id, Plan& plan, Batch& out) : id_(id), plan_(plan), out_(out) {}

  [[nodiscard]] std::optional<std::string> apply(Entry entry) {
    if (entry.kind == EntryKind::PlanEnded) entry.plan = plan_.outcome();
    if (auto problem = plan_.apply(entry)) return problem;
    out_.entries.push_back({id_, {}});
    writeEntry(out_.entries.back().text, entry);
    return std::nullopt;
  }

  // The entries of its journal. A clock may have been set back: times never decrease.
  [[nodiscard]] std::optional<std::string> applyAll(std::string_view list, const Moment& now) {
    int64_t last = plan_.createdAt();
    json::Elements elements({json::Kind::Array, list});
    json::Value element;
    for (size_t i = 1; elements.next(element); ++i) {
      const auto reason = [i](const std::string& why) {
        return "journal[" + std::to_string(i - 1) + "]: " + why;
      };
      if (i > kMaxEntries) return reason("there are too many");
      auto read = readEntry(element.raw);
      if (!read) return reason(read.error());
      Entry& entry = read.value();
      if (entry.kind == EntryKind::Created || !hasGoodDetail(entry)) {
        return reason("not an entry that can follow");
      }
      last = entry.at = std::clamp(entry.at, last, std::max(last, now.unixMillis));
      if (auto problem = apply(std::move(entry))) return reason(*problem);
    }
    return std::nullopt;
  }

  // The worktrees are not part of an import, so unfinished nodes start again. The checks did not
  // run on this machine, so waiting leaves are checked again before they land.
  [[nodiscard]] std::optional<std::string> restartUnfinished(const Moment& now) {
    const bool isOver = plan_.ended().has_value();
    for (NodeIndex i = 0; i < plan_.size(); ++i) {
      const Node& node = plan_.node(i);
      const bool waits = node.landing == LandingState::Waiting && !isOver;
      if (!waits && (isTerminal(node.status) || node.attempts.empty())) continue;
      const Phase phase = waits || node.isRelanding() ? Phase::Postchecks : Phase::MergeFi;
      Entry canceled = makeEntry(EntryKind::NodeCanceled, node, now);
      canceled.detail = reasonDetail("imported");
      if (!waits) {
        if (auto problem = apply(std::move(canceled))) return problem;
      }
      Entry retried = makeEntry(EntryKind::Retried, node, now);
      retried.phase = phase;
      if (auto problem = apply(std::move(retried))) return problem;
    }
    if (plan_.ended()) return std::nullopt;
    if (plan_.allTerminal()) return apply(makeEntry(EntryKind::PlanEnded, now));
    if (plan_.isPaused()) return std::nullopt;
    Entry paused = makeEntry(EntryKind::Paused, now);
    paused.detail = reasonDetail("imported");
    return apply(std::move(paused));
  }

 private:
  std::string id_;
  Plan& plan_;
  Batch& out_;
};

}  // namespace

Refused Engine::import(std::string_view id, std::string_view text, std::string_view facts,
                       std::string_view entries, int64_t createdAt, const Moment& now,
                       Problems& problems, Batch& out) {
  if (live(id) != nullptr) {
    return Refusal{Refusal::Code::WrongState, "a plan with this id exists already"};
  }
  Entry created = makeEntry(EntryKind::Created, now);
  if (createdAt > 0) created.at = std::min(createdAt, now.unixMillis);
  auto plan = Plan::make(text, facts, created.at, problems);
  if (!plan) return damaged("the plan is not valid");
  json::Writer(created.detail)
      .beginObject()
      .rawField("plan", text)
      .rawField("facts", facts)
      .endObject();
  Batch made;
  made.entries.push_back({std::string(id), {}});
  writeEntry(made.entries.back().text, created);
  Import import(id, *plan, made);
  if (const auto problem = import.applyAll(entries, now)) return damaged(*problem);
  if (const auto problem = import.restartUnfinished(now)) return damaged(*problem);
  insertPlan(id, std::move(*plan));
  std::ranges::move(made.entries, std::back_inserter(out.entries));
  return std::nullopt;
}

}  // namespace tap::plan
