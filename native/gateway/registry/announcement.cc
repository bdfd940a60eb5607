#include "gateway/registry/announcement.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/encoding.h"
#include "base/names.h"
#include "gateway/registry/lines.h"
#include "gateway/registry/session_output.h"

namespace tap::gateway {

using protocol::HookAction;
using protocol::LogLevel;

namespace {

constexpr size_t kNamedTools = 3;
// Names that a session remembers to have been told of: they are in the hands of providers.
constexpr size_t kMaxBoundToOtherSession = 200;
constexpr size_t kToolNameBytes = 40;
// A /clear, and a provider that moves, are over by then.
constexpr Millis kSettled{2'000};
// For a provider to say hello to the session that it was offered.
constexpr Millis kOfferTime{3'000};

void addPart(std::string& list, std::string_view part, std::string_view separator = ", ") {
  if (part.empty()) return;
  if (!list.empty()) list += separator;
  list += part;
}

std::string counted(size_t count, std::string_view what) {
  if (count == 0) return {};
  return std::to_string(count) + " " + std::string(what) + (count == 1 ? "" : "s");
}

std::string toolsInWords(const Binding& binding) {
  std::string names;
  const size_t shown = std::min(binding.tools.size(), kNamedTools);
  for (size_t i = 0; i < shown; ++i) {
    addPart(names, visible(binding.tools[i].name, false, kToolNameBytes));
  }
  const size_t more = binding.tools.size() - shown;
  return more == 0 ? names : names + " and " + std::to_string(more) + " more";
}

std::string everythingInWords(const Provider& provider, const Binding& binding) {
  std::string text = toolsInWords(binding);
  addPart(text, hooksInWords(binding), "; ");
  if (provider.subscribe != 0) addPart(text, "listens to session events", "; ");
  return text;
}

// The session of a provider that could serve another one as well; null where it has none, or all.
const Binding* movable(const Provider& provider) {
  if (provider.isOwn() || provider.all || provider.bindings.size() != 1) return nullptr;
  if (!provider.credentials.onlySession.empty()) return nullptr;
  return &provider.bindings.begin()->second;
}

bool serves(const Turn& turn, const Session& session, const std::string& name) {
  return !turn.state.providers.instances(session.id, name).empty();
}

void scheduleOtherSessionCheck(const Turn& turn, Session& session, Millis after) {
  if (session.ending || session.otherSessionTimer != TimerId::None) return;
  session.otherSessionTimer =
      turn.state.timers.schedule(turn.now.steady + after, OtherSessionDue{session.id});
}

std::vector<Provider*> byName(const Turn& turn) {
  std::vector<Provider*> all = turn.state.providers.all();
  std::sort(all.begin(), all.end(), [](const Provider* a, const Provider* b) {
    return std::pair(a->name, a->peer) < std::pair(b->name, b->peer);
  });
  return all;
}

// Another session of the same CLI: one of both may be about to end.
bool sharesItsCli(const Turn& turn, const Session& session) {
  if (session.cliPid == 0) return false;
  const auto& all = turn.state.sessions.all();
  return std::any_of(all.begin(), all.end(), [&](const auto& entry) {
    return entry.first != session.id && entry.second.cliPid == session.cliPid;
  });
}

}  // namespace

std::string rulesInWords(const std::vector<protocol::HookRule>& rules) {
  std::array<size_t, 3> counts{};  // by HookAction
  for (const protocol::HookRule& rule : rules) ++counts[static_cast<size_t>(rule.action)];
  std::string text = counted(counts[static_cast<size_t>(HookAction::Gate)], "gate");
  addPart(text, counted(counts[static_cast<size_t>(HookAction::Deny)], "deny rule"));
  addPart(text, counted(counts[static_cast<size_t>(HookAction::Context)], "context rule"));
  return text;
}

std::string hooksInWords(const Binding& binding) {
  std::string text = rulesInWords(binding.rules);
  if (!binding.context.empty() || !binding.startupContext.empty()) addPart(text, "prompt context");
  addPart(text, counted(binding.transforms.size(), "system message edit"));
  return text;
}

void announce(const Turn& turn, Session& session, Provider& provider) {
  const Binding* binding = provider.in(session.id);
  if (provider.isOwn() || binding == nullptr) return;
  const std::string everything = everythingInWords(provider, *binding);
  if (everything.empty()) return;
  const std::string hooks = hooksInWords(*binding);
  const auto [known, isNew] = session.announced.try_emplace(provider.name, false);
  const bool hooksAreNews =
      !hooks.empty() && !std::exchange(known->second, known->second || !hooks.empty());
  if (isNew) {
    writeArrival(turn, session, provider.party, provider.name, LogLevel::Info,
                 "tap: " + inLine(provider.name) + " is here: " + everything);
  } else if (hooksAreNews) {
    writeArrival(turn, session, provider.party, provider.name, LogLevel::Info,
                 "tap: " + inLine(provider.name) + " now has " + hooks);
  }
}

void noticeMove(const Turn& turn, const Provider& provider) {
  const Binding* binding = movable(provider);
  if (binding == nullptr) return;
  for (auto& [id, session] : turn.state.sessions.all()) {
    if (id != binding->sessionId) scheduleOtherSessionCheck(turn, session, kSettled);
  }
}

void noticeSession(const Turn& turn, Session& session, bool returning) {
  if (returning) session.newsFrom = turn.now.steady + turn.limits().time(Limit::ReconnectMs);
  // A run of `copilot -p` may be over before long.
  if (returning || sharesItsCli(turn, session))
    return scheduleOtherSessionCheck(turn, session, kSettled);
  announceBoundToOtherSession(turn, session);
}

void announceBoundToOtherSession(const Turn& turn, Session& session) {
  session.otherSessionTimer = TimerId::None;
  if (session.ending) return;
  for (Provider* provider : byName(turn)) {
    const Binding* binding = movable(*provider);
    if (binding == nullptr || serves(turn, session, provider->name)) continue;
    if (everythingInWords(*provider, *binding).empty()) continue;
    const Session* other = turn.state.sessions.find(binding->sessionId);
    if (other == nullptr || other->ending) continue;
    if (!other->peer) {  // it is being reloaded, or about to end
      scheduleOtherSessionCheck(turn, session, kSettled);
      continue;
    }
    if (session.boundToOtherSession.size() >= kMaxBoundToOtherSession)
      session.boundToOtherSession.clear();
    if (!session.boundToOtherSession.insert(provider->name).second) continue;
    if (turn.now.steady < session.newsFrom) continue;
    writeArrival(turn, session, provider->party, provider->name, LogLevel::Info,
                 "tap: " + inLine(provider->name) + " serves another session (" + other->label +
                     "); /tap-use " + provider->name + " brings it here");
  }
}

protocol::Used useProvider(const Turn& turn, Session& session, const std::string& name) {
  const std::string quoted = inQuotes(visible(name, false, 128));
  if (serves(turn, session, name)) return {"here", quoted + " serves this session already"};
  bool all = false;
  bool bound = false;  // to a session that it cannot leave
  bool asked = false;
  for (Provider* provider : byName(turn)) {
    if (provider->name != name || provider->isOwn()) continue;
    const std::string& only = provider->credentials.onlySession;
    all = all || provider->all;
    if (!only.empty() && only != session.id) bound = true;
    if (provider->all || (!only.empty() && only != session.id)) continue;
    turn.send(provider->peer, protocol::encodeSessionOffer(session.id));
    asked = true;
  }
  if (asked) {
    session.announced.erase(name);  // that it has come is told in any case
    TimerId& offer = session.offers[name];
    turn.cancel(offer);
    offer = turn.state.timers.schedule(turn.now.steady + kOfferTime, OfferDue{session.id, name});
    return {"asked", quoted + " is asked to serve this session"};
  }
  if (all)
    return {"refused",
            quoted + " serves all sessions, but could not serve this one: its own output says why"};
  if (bound) {
    return {"refused",
            quoted +
                " may serve one other session only: it was paired with that one, or its project "
                "started it there. Start or pair another one for this session"};
  }
  return {"unknown",
          "no provider named " + quoted + " is connected; copilot-tap status lists them"};
}

void offerDue(const Turn& turn, Session& session, const std::string& name) {
  session.offers.erase(name);
  if (session.ending || serves(turn, session, name)) return;
  writeTimeline(
      turn, session, LogLevel::Warning,
      "tap: " + inLine(name) +
          " was asked to serve this session, and did not come: its program "
          "chooses its session itself. Stop it and start it again, or see its own output");
}

}  // namespace tap::gateway
