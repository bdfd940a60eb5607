#include "gateway/hooks/hook_checks.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/encoding.h"
#include "gateway/core/turn.h"
#include "gateway/records/rows.h"
#include "gateway/registry/provider_watch.h"
#include "gateway/registry/session_output.h"
#include "gateway/sync/sync_schedule.h"
#include "protocol/provider/provider_codec.h"

namespace tap::gateway {

using protocol::HookAction;
using protocol::HookRule;
using protocol::HookVerdict;

namespace {

// For the patterns of all rules that one use of a tool is held to.
constexpr std::chrono::milliseconds kRulesTime{50};

std::string denial(const std::string& provider, std::string_view reason) {
  return "tap provider " + inQuotes(provider) +
         (reason.empty() ? " does not allow this" : ": " + visible(reason, true, reason.npos));
}

std::string attributed(const std::string& provider, std::string_view text) {
  if (text.empty()) return {};
  return "From tap provider " + inQuotes(provider) + ": " + visibleToModel(text, text.npos);
}

std::string joined(const std::vector<std::string>& contexts) {
  std::string text;
  for (const std::string& context : contexts) {
    if (context.empty()) continue;
    if (!text.empty()) text += "\n\n";
    text += context;
  }
  return text;
}

// A rule that is about this use, and who declared it.
struct Matched {
  const BoundProvider* bound;
  const HookRule* rule;
};

// The verdict of all rules on this use, before any provider is asked.
struct Review {
  std::optional<std::string> deny;
  std::string denier;            // the provider whose rule denies
  std::vector<Matched> matched;  // contexts and gates, in registration order
};

void logRule(const Turn& turn, const BoundProvider& bound, const HookRule& rule,
             std::string_view what) {
  turn.log(protocol::LogLevel::Warning, "a rule of provider " + inQuotes(bound.provider->name) +
                                            std::string(what) + ": " +
                                            visible(rule.json, false, 256));
}

// If a rule's pattern cannot decide, the rule must not let the use pass.
void considerUndecided(const Turn& turn, Review& review, const BoundProvider& bound,
                       const HookRule& rule, std::string_view why) {
  logRule(turn, bound, rule, why);
  if (protocol::isGuard(rule) && !review.deny) {
    review.denier = bound.provider->name;
    review.deny = denial(bound.provider->name, "its rule" + std::string(why));
  }
}

void considerMatched(Review& review, const BoundProvider& bound, const HookRule& rule) {
  if (rule.action != HookAction::Deny) {
    review.matched.push_back({&bound, &rule});
  } else if (!review.deny) {
    review.denier = bound.provider->name;
    review.deny = denial(bound.provider->name, rule.text);
  }
}

void consider(const Turn& turn, Review& review, const BoundProvider& bound, const HookRule& rule,
              const protocol::ToolUse& use, const PatternTime& time) {
  switch (protocol::matches(rule, use, time.next())) {
    case Match::No:
      return;
    case Match::Yes:
      return considerMatched(review, bound, rule);
    case Match::TimedOut:
      return considerUndecided(turn, review, bound, rule, " ran out of time");
    case Match::Unseen:
      // A gate can look at all of them.
      if (rule.action == HookAction::Gate) return considerMatched(review, bound, rule);
      return considerUndecided(turn, review, bound, rule,
                               " has seen the first 64 KB of the arguments only");
  }
}

// A rule of a provider whose connection was lost: the uses that it covers are denied, because the
// provider cannot be asked.
void considerHeld(Review& review, const std::string& provider, const HookRule& rule,
                  const protocol::ToolUse& use, const PatternTime& time) {
  if (review.deny) return;
  const Match match = protocol::matches(rule, use, time.next());
  if (match == Match::No) return;
  review.denier = provider;
  const bool sure = rule.action == HookAction::Deny && match == Match::Yes;
  review.deny = denial(provider, sure ? std::string_view(rule.text)
                                      : "its connection was lost, and it cannot be asked at the "
                                        "moment; try again in a few seconds");
}

void sendVerdict(const Turn& turn, const CheckInFlight& check, std::optional<std::string> deny) {
  Session* session = turn.state.sessions.find(check.sessionId);
  if (session == nullptr) return;
  const bool denied = deny.has_value();
  sendToSession(
      turn, *session,
      HookVerdict{check.checkId, std::move(deny), denied ? std::string() : joined(check.contexts)});
  rescheduleSync(turn, *session);
}

// The check is over; gates that have not answered yet need not any more.
void settle(const Turn& turn, AskedBy asker, std::optional<std::string> deny) {
  HookChecks& checks = turn.state.checks;
  const auto at = checks.waiting.find(asker);
  if (at == checks.waiting.end()) return;
  const CheckInFlight check = std::move(at->second);
  checks.waiting.erase(at);
  for (Question& gate : checks.gates.takeOfAsker(asker)) turn.cancel(gate.deadline);
  sendVerdict(turn, check, std::move(deny));
}

void recordAnswer(const Turn& turn, const Question& gate, const std::optional<std::string>& deny,
                  std::string_view context) {
  const Provider* provider = turn.state.providers.find(gate.provider);
  recordGate(turn, {gate.sessionId, provider == nullptr ? std::string_view() : provider->name,
                    gate.subject, gate.tool,
                    deny              ? "deny"
                    : context.empty() ? "allow"
                                      : "context",
                    deny ? std::string_view(*deny) : context});
}

// One gate has been taken out, with what it says.
void goOn(const Turn& turn, Question gate, std::optional<std::string> deny, std::string context) {
  turn.cancel(gate.deadline);
  if (isRecording(turn)) recordAnswer(turn, gate, deny, context);
  if (deny) return settle(turn, gate.asker, std::move(deny));
  const auto at = turn.state.checks.waiting.find(gate.asker);
  if (at == turn.state.checks.waiting.end()) return;
  at->second.contexts[gate.place] = std::move(context);
  if (--at->second.open == 0) settle(turn, gate.asker, std::nullopt);
}

void failOne(const Turn& turn, Question gate, std::string reason) {
  std::optional<std::string> deny;
  if (!gate.failOpen) deny = std::move(reason);
  goOn(turn, std::move(gate), std::move(deny), "");
}

// What the rules alone have decided.
void recordRules(const Turn& turn, const Session& session, const protocol::HookCheck& check,
                 const Review& review) {
  if (review.deny) {
    return recordGate(turn, {session.id, review.denier, "", check.tool, "deny", *review.deny});
  }
  for (const Matched& matched : review.matched) {
    if (matched.rule->action != HookAction::Context) continue;
    recordGate(turn, {session.id, matched.bound->provider->name, "", check.tool, "context",
                      matched.rule->text});
  }
}

void ask(const Turn& turn, const Session& session, const protocol::HookCheck& check,
         const Matched& matched, AskedBy asker, size_t place) {
  const Provider& provider = *matched.bound->provider;
  Question gate;
  gate.callId = turn.state.ids.uuid().text();
  gate.asker = asker;
  gate.provider = provider.peer;
  gate.sessionId = session.id;
  gate.subject = matched.rule->gateId;
  gate.place = place;
  gate.failOpen = matched.rule->failOpen;
  if (isRecording(turn)) gate.tool = check.tool;
  gate.deadline = turn.schedule(Limit::GateMs, GateDue{gate.callId});
  // The tool as the rule calls it: one that says "shell" knows no "bash".
  const std::string& tool = matched.rule->tool.empty() ? check.tool : matched.rule->tool;
  turn.send(provider.peer, protocol::encodeGateCheck(
                               {gate.subject, gate.callId, session.id, tool, check.args.view()}));
  turn.state.checks.gates.open(std::move(gate));
  watchProviders(turn);
}

}  // namespace

bool HookChecks::anyOfSession(std::string_view sessionId) const {
  return std::any_of(waiting.begin(), waiting.end(),
                     [&](const auto& entry) { return entry.second.sessionId == sessionId; });
}

void startCheck(const Turn& turn, Session& session, const protocol::HookCheck& message) {
  State& state = turn.state;
  CheckInFlight check{session.id, message.checkId, {}, 0};
  const std::string owner(state.providers.ownerOf(session.id, message.tool));
  const protocol::ToolUse use(message.tool, owner, message.args.view(), session.cwd);
  const std::vector<BoundProvider> bindings = state.providers.inOrder(session.id);
  Review review;
  const PatternTime time(kRulesTime);
  for (const BoundProvider& bound : bindings) {
    for (const HookRule& rule : bound.binding->rules) {
      consider(turn, review, bound, rule, use, time);
    }
  }
  for (const auto& [identity, held] : session.heldRules) {
    for (const HookRule& rule : held.rules) considerHeld(review, identity.first, rule, use, time);
  }
  if (isRecording(turn)) recordRules(turn, session, message, review);
  if (review.deny) return sendVerdict(turn, check, std::move(review.deny));
  if (state.checks.waiting.size() >= turn.limits().count(Limit::CallsPerSession)) {
    return sendVerdict(turn, check, "too many actions wait for the gates of tap's providers");
  }
  const AskedBy asker{++state.checks.last};
  for (size_t i = 0; i < review.matched.size(); ++i) {
    const Matched& matched = review.matched[i];
    check.contexts.push_back(attributed(matched.bound->provider->name, matched.rule->text));
    if (matched.rule->action != HookAction::Gate) continue;
    ++check.open;
    ask(turn, session, message, matched, asker, i);
  }
  if (check.open == 0) return sendVerdict(turn, check, std::nullopt);
  state.checks.waiting.emplace(asker, std::move(check));
  rescheduleSync(turn, session);
}

void answerGate(const Turn& turn, const Provider& provider, const protocol::GateResult& result) {
  std::optional<Question> gate = turn.state.checks.gates.take(result.callId, provider.peer);
  if (!gate) return;
  if (!result.gateId.empty() && result.gateId != gate->subject) {
    return failOne(turn, std::move(*gate),
                   denial(provider.name, "it answered for another gate, " +
                                             inQuotes(visible(result.gateId, false, 128))));
  }
  std::optional<std::string> deny;
  std::string context;
  switch (result.decision) {
    case protocol::GateDecision::Allow:
      break;
    case protocol::GateDecision::Deny:
      deny = denial(provider.name, result.reason);
      break;
    case protocol::GateDecision::Context:
      context = attributed(provider.name, result.reason);
      break;
  }
  goOn(turn, std::move(*gate), std::move(deny), std::move(context));
}

void failGate(const Turn& turn, PeerId peer, std::string_view callId, std::string_view why) {
  std::optional<Question> gate = turn.state.checks.gates.take(callId, peer);
  if (!gate) return;
  const Provider* provider = turn.state.providers.find(peer);
  const std::string name = provider == nullptr ? std::string() : provider->name;
  turn.log(protocol::LogLevel::Warning, "gate " + visible(gate->subject, false, 128) + " of " +
                                            inQuotes(name) + ": " + std::string(why));
  failOne(turn, std::move(*gate), denial(name, why));
}

void failGatesOfBinding(const Turn& turn, const Provider& provider, std::string_view sessionId,
                        std::string_view why) {
  for (Question& gate : turn.state.checks.gates.takeOfBinding(provider.peer, sessionId)) {
    failOne(turn, std::move(gate), denial(provider.name, why));
  }
}

void dropChecks(const Turn& turn, std::string_view sessionId) {
  for (Question& gate : turn.state.checks.gates.takeOfSession(sessionId)) {
    turn.cancel(gate.deadline);
  }
  std::erase_if(turn.state.checks.waiting,
                [&](const auto& entry) { return entry.second.sessionId == sessionId; });
}

}  // namespace tap::gateway
