// Before the agent uses a tool: the rules of the session's providers are looked at, those with a
// gate are asked, and the session gets exactly one verdict (docs/decisions.md D-17).
//
// Whatever is not an explicit allow denies, unless the rule says failOpen.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gateway/hooks/questions.h"
#include "protocol/link/control_messages.h"
#include "protocol/link/session_messages.h"
#include "protocol/provider/provider_messages.h"

namespace tap::gateway {

struct Turn;
struct Session;
struct Provider;

// What a rule or a gate adds to a use.
struct AddedText {
  std::string text;
  std::string feature;  // of tap's own, whose text it is: it is recorded first
};

// A check that waits for gates.
struct CheckInFlight {
  std::string sessionId;
  PeerId asker{};          // the session's process, or a feature's link
  std::string checkId;     // the asker's
  bool ofFeature = false;  // it asks what would happen (permission.check): nobody uses the tool
  std::vector<AddedText> contexts;  // by place: in registration order
  size_t open = 0;                  // gates without an answer
};

struct HookChecks {
  std::unordered_map<AskerId, CheckInFlight> waiting;
  Questions gates;
  uint64_t last = 0;

  // Whether an action of this session waits for a gate.
  [[nodiscard]] bool anyOfSession(std::string_view sessionId) const;
  // Questions of a feature's link that wait for a gate.
  [[nodiscard]] size_t countOfFeature(PeerId link) const;
};

// REQUIRES: the session's process asks.
void startCheck(const Turn& turn, Session& session, const protocol::HookCheck& check);
// A feature asks whether a use in a session would be denied. The link gets one HostResult, with the
// same decision as a check of the session.
void startCheckOfFeature(const Turn& turn, PeerId link, const protocol::PermissionCheck& check);
// An answer that nobody has asked this provider for is dropped.
void answerGate(const Turn& turn, const Provider& provider, const protocol::GateResult& result);
// It answered with something else, or not in time.
void failGate(const Turn& turn, PeerId provider, std::string_view callId, std::string_view why);
// A binding has ended.
void failGatesOfBinding(const Turn& turn, const Provider& provider, std::string_view sessionId,
                        std::string_view why);
// The session's process waits for these verdicts no more.
void dropChecks(const Turn& turn, std::string_view sessionId);
// Nor does the feature whose link has ended.
void dropChecksOfFeature(const Turn& turn, PeerId link);
// The session is over: what features ask about it has no answer.
void failChecksOfFeatures(const Turn& turn, std::string_view sessionId, std::string_view why);

}  // namespace tap::gateway
