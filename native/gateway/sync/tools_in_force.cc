#include "gateway/sync/tools_in_force.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/encoding.h"
#include "gateway/core/turn.h"

namespace tap::gateway {

namespace {

constexpr int64_t kNoRevision = std::numeric_limits<int64_t>::max();

struct Answer {
  const Turn& turn;
  Session& session;
  bool inForce;
  std::string_view reason;

  void operator()(const AckDue& ack) const {
    Provider* provider = turn.state.providers.find(ack.provider);
    Binding* binding = provider == nullptr ? nullptr : provider->in(session.id);
    if (binding == nullptr || binding->order != ack.order) return;
    protocol::Ack message{ack.requestId, session.id, ++binding->revision, {}};
    message.inForce = inForce;
    message.reason = reason;
    turn.send(provider->peer, protocol::encodeAck(message));
  }
  void operator()(const OpeningDue& opening) const {
    std::vector<std::string> tools;
    for (const std::string& group : opening.groups) {
      for (const auto& [name, tool] : turn.state.providers.toolsOfGroup(session.id, group)) {
        tools.emplace_back(name);
      }
    }
    turn.effect(GroupsOpened{opening.number, inForce, std::move(tools), std::string(reason)});
  }
};

void answer(const Turn& turn, Session& session, ToolsWaiter& waiter, bool inForce,
            std::string_view reason) {
  turn.cancel(waiter.deadline);
  std::visit(Answer{turn, session, inForce, reason}, waiter.answer);
}

// Takes out those that wait for this revision or an earlier one.
std::vector<ToolsWaiter> take(Session& session, int64_t revision) {
  std::vector<ToolsWaiter> taken;
  std::vector<ToolsWaiter>& waiting = session.toolsWaiters;
  const auto first =
      std::stable_partition(waiting.begin(), waiting.end(),
                            [&](const ToolsWaiter& one) { return one.revision > revision; });
  std::move(first, waiting.end(), std::back_inserter(taken));
  waiting.erase(first, waiting.end());
  return taken;
}

// Why they did not come in time.
std::string reasonOfDelay(const Turn& turn, const Session& session) {
  if (!session.peer) return "the session's process is gone for the moment";
  if (session.sync.mode() == protocol::SyncMode::Reload) {
    return "this session changes its tools by a reload, which waits until no call runs";
  }
  return "the session has not confirmed its tools within " +
         std::to_string(turn.limits().get(Limit::ToolsInForceMs)) + " ms";
}

}  // namespace

void answerWithTools(const Turn& turn, Session& session,
                     std::variant<AckDue, OpeningDue> answerTo) {
  ToolsWaiter waiter{++turn.state.lastToolsWaiter, 0, TimerId::None, std::move(answerTo)};
  if (session.sync.inForce()) return answer(turn, session, waiter, true, "");
  const auto revision = session.sync.revisionOfWanted();
  if (!revision) return answer(turn, session, waiter, false, session.syncFailure);
  waiter.revision = session.peer ? *revision : kNoRevision;
  waiter.deadline = turn.schedule(Limit::ToolsInForceMs, ToolsDue{session.id, waiter.id});
  session.toolsWaiters.push_back(std::move(waiter));
}

void toolsInForce(const Turn& turn, Session& session, int64_t revision) {
  if (session.toolsWaiters.empty()) return;
  const int64_t upTo = session.sync.inForce() ? kNoRevision : revision;
  for (ToolsWaiter& waiter : take(session, upTo)) answer(turn, session, waiter, true, "");
}

void toolsNotInForce(const Turn& turn, Session& session, int64_t revision, std::string_view why) {
  for (ToolsWaiter& waiter : take(session, revision)) answer(turn, session, waiter, false, why);
}

void forgetRevisions(Session& session) {
  for (ToolsWaiter& waiter : session.toolsWaiters) waiter.revision = kNoRevision;
}

void dropToolsWaiters(const Turn& turn, Session& session) {
  toolsNotInForce(turn, session, kNoRevision, "the session has ended");
}

void toolsWaiterDue(const Turn& turn, Session& session, uint64_t id) {
  std::vector<ToolsWaiter>& waiting = session.toolsWaiters;
  const auto at = std::find_if(waiting.begin(), waiting.end(),
                               [&](const ToolsWaiter& one) { return one.id == id; });
  if (at == waiting.end()) return;
  ToolsWaiter waiter = std::move(*at);
  waiting.erase(at);
  waiter.deadline = TimerId::None;
  answer(turn, session, waiter, false, reasonOfDelay(turn, session));
}

}  // namespace tap::gateway
