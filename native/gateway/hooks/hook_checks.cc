#include "gateway/hooks/hook_checks.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/encoding.h"
#include "base/json_writer.h"
#include "gateway/control/host_requests.h"
#include "gateway/core/turn.h"
#include "gateway/hooks/review.h"
#include "gateway/records/rows.h"
#include "gateway/registry/provider_watch.h"
#include "gateway/registry/session_output.h"
#include "gateway/sync/sync_schedule.h"
#include "protocol/provider/provider_codec.h"

namespace tap::gateway {

using protocol::HookAction;
using protocol::HookVerdict;

namespace {

std::string attributeText(const std::string& provider, std::string_view text) {
  if (text.empty()) return {};
  return "From tap provider " + inQuotes(provider) + ": " + visibleToModel(text, text.npos);
}

enum class Whose : uint8_t { All, NotFeatures };

std::string joinTexts(const std::vector<AddedText>& contexts, Whose whose) {
  std::string text;
  for (const AddedText& context : contexts) {
    if (context.text.empty()) continue;
    if (whose == Whose::NotFeatures && !context.feature.empty()) continue;
    if (!text.empty()) text += "\n\n";
    text += context.text;
  }
  return text;
}

// A denial stays one where the feature's words for it cannot be recorded.
void sendDenial(const Turn& turn, Session& session, const CheckInFlight& check, Denial deny) {
  HookVerdict whole{check.checkId, std::move(deny.reason), ""};
  if (!deny.isFeatures) return sendToSession(turn, session, std::move(whole));
  const std::vector<FeatureText> texts{{deny.by, *whole.deny}};
  HookVerdict without{check.checkId, denial(deny.by, ""), ""};
  answerRecorded(turn, session, {check.asker, std::move(whole), std::move(without)}, texts, "rule",
                 kVerdictCommitTime);
}

void sendContexts(const Turn& turn, Session& session, const CheckInFlight& check) {
  std::vector<FeatureText> texts;
  for (const AddedText& one : check.contexts) {
    if (!one.feature.empty() && !one.text.empty()) texts.push_back({one.feature, one.text});
  }
  HookVerdict whole{check.checkId, std::nullopt, joinTexts(check.contexts, Whose::All)};
  if (texts.empty()) return sendToSession(turn, session, std::move(whole));
  HookVerdict without{check.checkId, std::nullopt, joinTexts(check.contexts, Whose::NotFeatures)};
  answerRecorded(turn, session, {check.asker, std::move(whole), std::move(without)}, texts, "rule",
                 kVerdictCommitTime);
}

// The feature puts nothing of it before the model: what it makes of it is recorded then.
void answerFeature(const Turn& turn, const CheckInFlight& check,
                   const std::optional<Denial>& deny) {
  std::string result;
  json::Writer writer(result);
  writer.beginObject().field("allowed", !deny);
  if (deny) writer.field("reason", deny->reason);
  if (deny && !deny->by.empty()) writer.field("by", deny->by);
  writer.endObject();
  turn.effect(
      SendEvent{check.asker, protocol::HostResult{check.checkId, false, std::move(result)}});
}

// The check is over. `deny`: nothing where the use is allowed.
void answer(const Turn& turn, const CheckInFlight& check, std::optional<Denial> deny) {
  if (check.ofFeature) return answerFeature(turn, check, deny);
  Session* session = turn.state.sessions.find(check.sessionId);
  if (session == nullptr) return;
  if (deny) {
    sendDenial(turn, *session, check, std::move(*deny));
  } else {
    sendContexts(turn, *session, check);
  }
  rescheduleSync(turn, *session);
}

// Takes out the checks of which `which` holds; their gates need not answer any more.
template <class Which>
std::vector<CheckInFlight> take(const Turn& turn, Which which) {
  HookChecks& checks = turn.state.checks;
  std::vector<CheckInFlight> taken;
  for (auto at = checks.waiting.begin(); at != checks.waiting.end();) {
    if (!which(at->second)) {
      ++at;
      continue;
    }
    for (Question& gate : checks.gates.takeOfAsker(at->first)) turn.cancel(gate.deadline);
    taken.push_back(std::move(at->second));
    at = checks.waiting.erase(at);
  }
  return taken;
}

// The check is over; gates that have not answered yet need not any more.
void settle(const Turn& turn, AskerId asker, std::optional<Denial> deny) {
  HookChecks& checks = turn.state.checks;
  const auto at = checks.waiting.find(asker);
  if (at == checks.waiting.end()) return;
  const CheckInFlight check = std::move(at->second);
  checks.waiting.erase(at);
  for (Question& gate : checks.gates.takeOfAsker(asker)) turn.cancel(gate.deadline);
  answer(turn, check, std::move(deny));
}

// `deny`: null where it does not deny.
void recordAnswer(const Turn& turn, const Question& gate, const std::string* deny,
                  std::string_view context) {
  const Provider* provider = turn.state.providers.find(gate.provider);
  const std::string_view outcome = deny != nullptr ? "deny" : context.empty() ? "allow" : "context";
  recordGate(turn, {gate.sessionId, provider == nullptr ? std::string_view() : provider->name,
                    gate.subject, gate.tool, outcome,
                    deny != nullptr ? std::string_view(*deny) : context});
}

// One gate has been taken out, with what it says.
void continueCheck(const Turn& turn, Question gate, std::optional<Denial> deny,
                   std::string context) {
  turn.cancel(gate.deadline);
  if (isRecording(turn)) recordAnswer(turn, gate, deny ? &deny->reason : nullptr, context);
  if (deny) return settle(turn, gate.asker, std::move(deny));
  const auto at = turn.state.checks.waiting.find(gate.asker);
  if (at == turn.state.checks.waiting.end()) return;
  at->second.contexts[gate.place].text = std::move(context);
  if (--at->second.open == 0) settle(turn, gate.asker, std::nullopt);
}

// `why`: words of the gateway's own.
void failOne(const Turn& turn, Question gate, const std::string& provider, std::string_view why) {
  std::optional<Denial> deny;
  if (!gate.failOpen) deny = Denial{denial(provider, why), provider};
  continueCheck(turn, std::move(gate), std::move(deny), "");
}

// What the rules alone have decided.
void recordRules(const Turn& turn, const Session& session, const protocol::HookCheck& check,
                 const Review& review) {
  if (review.deny) {
    const Denial& deny = *review.deny;
    return recordGate(turn, {session.id, deny.by, "", check.tool, "deny", deny.reason});
  }
  for (const MatchedRule& matched : review.matched) {
    if (matched.rule->action != HookAction::Context) continue;
    recordGate(turn, {session.id, matched.bound.provider->name, "", check.tool, "context",
                      matched.rule->text});
  }
}

void sendGateCheck(const Turn& turn, const Session& session, const protocol::HookCheck& check,
                   const MatchedRule& matched, AskerId asker, size_t place) {
  const Provider& provider = *matched.bound.provider;
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

bool isFull(const Turn& turn) {
  const auto& waiting = turn.state.checks.waiting;
  const size_t most = turn.limits().count(Limit::CallsPerSession);
  if (waiting.size() < most) return false;
  const auto ofSessions = std::count_if(waiting.begin(), waiting.end(),
                                        [](const auto& entry) { return !entry.second.ofFeature; });
  return static_cast<size_t>(ofSessions) >= most;
}

// The one way to a decision, whoever asks. `check`: who does.
void decide(const Turn& turn, Session& session, CheckInFlight check,
            const protocol::HookCheck& message) {
  State& state = turn.state;
  Review review = reviewUse(turn, session, message);
  if (isRecording(turn)) recordRules(turn, session, message, review);
  if (review.deny) return answer(turn, check, std::move(review.deny));
  if (!check.ofFeature && isFull(turn)) {
    return answer(turn, check,
                  Denial{"too many actions wait for the gates of tap's providers", ""});
  }
  const AskerId asker{++state.checks.last};
  for (size_t i = 0; i < review.matched.size(); ++i) {
    const MatchedRule& matched = review.matched[i];
    const Provider& provider = *matched.bound.provider;
    check.contexts.push_back({attributeText(provider.name, matched.rule->text),
                              provider.trusted ? provider.name : std::string()});
    if (matched.rule->action != HookAction::Gate) continue;
    ++check.open;
    sendGateCheck(turn, session, message, matched, asker, i);
  }
  if (check.open == 0) return answer(turn, check, std::nullopt);
  state.checks.waiting.emplace(asker, std::move(check));
  rescheduleSync(turn, session);
}

}  // namespace

bool HookChecks::anyOfSession(std::string_view sessionId) const {
  return std::any_of(waiting.begin(), waiting.end(), [&](const auto& entry) {
    return entry.second.sessionId == sessionId && !entry.second.ofFeature;
  });
}

size_t HookChecks::countOfFeature(PeerId link) const {
  return static_cast<size_t>(std::count_if(waiting.begin(), waiting.end(), [&](const auto& entry) {
    return entry.second.ofFeature && entry.second.asker == link;
  }));
}

void startCheck(const Turn& turn, Session& session, const protocol::HookCheck& message) {
  decide(turn, session, {session.id, *session.peer, message.checkId, false, {}, 0}, message);
}

void startCheckOfFeature(const Turn& turn, PeerId link, const protocol::PermissionCheck& check) {
  Session* session = turn.state.sessions.find(check.sessionId);
  if (session == nullptr || session->ending) {
    return failRequest(turn, link, check.requestId, "INVALID_SESSION",
                       "there is no session " + inQuotes(visible(check.sessionId, false, 128)));
  }
  if (hasTooManyRequests(turn, link, check.requestId)) return;
  decide(turn, *session, {session->id, link, check.requestId, true, {}, 0},
         {check.requestId, check.tool, check.args});
}

void answerGate(const Turn& turn, const Provider& provider, const protocol::GateResult& result) {
  std::optional<Question> gate = turn.state.checks.gates.take(result.callId, provider.peer);
  if (!gate) return;
  if (!result.gateId.empty() && result.gateId != gate->subject) {
    return failOne(turn, std::move(*gate), provider.name,
                   "it answered for another gate, " + inQuotes(visible(result.gateId, false, 128)));
  }
  std::optional<Denial> deny;
  std::string context;
  switch (result.decision) {
    case protocol::GateDecision::Allow:
      break;
    case protocol::GateDecision::Deny:
      deny = Denial{denial(provider.name, result.reason), provider.name,
                    provider.trusted && !result.reason.empty()};
      break;
    case protocol::GateDecision::Context:
      context = attributeText(provider.name, result.reason);
      break;
  }
  continueCheck(turn, std::move(*gate), std::move(deny), std::move(context));
}

void failGate(const Turn& turn, PeerId peer, std::string_view callId, std::string_view why) {
  std::optional<Question> gate = turn.state.checks.gates.take(callId, peer);
  if (!gate) return;
  const Provider* provider = turn.state.providers.find(peer);
  const std::string name = provider == nullptr ? std::string() : provider->name;
  turn.log(protocol::LogLevel::Warning, "gate " + visible(gate->subject, false, 128) + " of " +
                                            inQuotes(name) + ": " + std::string(why));
  failOne(turn, std::move(*gate), name, why);
}

void failGatesOfBinding(const Turn& turn, const Provider& provider, std::string_view sessionId,
                        std::string_view why) {
  for (Question& gate : turn.state.checks.gates.takeOfBinding(provider.peer, sessionId)) {
    failOne(turn, std::move(gate), provider.name, why);
  }
}

void dropChecks(const Turn& turn, std::string_view sessionId) {
  (void)take(turn, [&](const CheckInFlight& check) {
    return check.sessionId == sessionId && !check.ofFeature;
  });
}

void dropChecksOfFeature(const Turn& turn, PeerId link) {
  (void)take(turn,
             [&](const CheckInFlight& check) { return check.ofFeature && check.asker == link; });
}

void failChecksOfFeatures(const Turn& turn, std::string_view sessionId, std::string_view why) {
  const auto ofSession = [&](const CheckInFlight& check) {
    return check.sessionId == sessionId && check.ofFeature;
  };
  for (const CheckInFlight& check : take(turn, ofSession)) {
    failRequest(turn, check.asker, check.checkId, "INVALID_SESSION", why);
  }
}

}  // namespace tap::gateway
