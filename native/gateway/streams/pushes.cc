#include "gateway/streams/pushes.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/encoding.h"
#include "base/names.h"
#include "gateway/hooks/fence.h"
#include "gateway/records/rows.h"
#include "gateway/registry/binding_updates.h"
#include "gateway/registry/lines.h"
#include "gateway/registry/party.h"
#include "gateway/registry/retained_data.h"
#include "gateway/registry/session_output.h"
#include "gateway/streams/injects.h"

namespace tap::gateway {

using protocol::ErrorCode;
using protocol::LogLevel;
using protocol::Refusal;

namespace {

// For the patterns of all rules that one push is held to, however many sessions it goes to.
constexpr std::chrono::milliseconds kFilterTime{5};

// What the patterns say of one push. Each is asked once: the sessions of a provider usually have
// the same ones.
class Matches {
 public:
  explicit Matches(std::string_view event) : event_(event) {}

  // Nothing where it has been asked before and had no time.
  std::optional<Match> of(const Pattern& pattern) {
    const auto [at, isNew] = known_.try_emplace(&pattern, Match::No);
    if (isNew) return at->second = pattern.matches(event_, time_);
    return at->second == Match::TimedOut ? std::nullopt : std::optional(at->second);
  }

 private:
  std::string_view event_;
  PatternBudget time_{kFilterTime};
  std::unordered_map<const Pattern*, Match> known_;
};

// Fenced and attributed, so that the model can tell it from the user.
std::string eventText(const Provider& provider, std::string_view stream, std::string_view event) {
  return fenced(
      "Event from tap provider " + quotedName(provider.name) + ", stream " + quotedName(stream),
      event);
}

// What the model reads: an event is data; a prompt of a trusted provider is for it to act on.
// It reads no words that the user cannot see, such as those of tag characters.
std::string injectText(const Provider& provider, std::string_view stream,
                       const protocol::Push& push, const Limits& limits) {
  const bool trusted = toParty(provider).isTrusted();
  const std::string text = visibleToModel(push.prompt.empty() ? push.event : push.prompt,
                                          limits.bytes(Limit::MessageBytes));
  if (push.prompt.empty() || !trusted) return eventText(provider, stream, text);
  return "From tap provider " + quotedName(provider.name) + ":\n" + text;
}

// "stream@provider"; without a provider it is the asker's own. Either name may have an "@" in it.
std::pair<std::string, std::string> splitStream(const std::string& wanted, const std::string& own) {
  if (wanted.ends_with("@" + own)) {
    return {wanted.substr(0, wanted.size() - own.size() - 1), own};
  }
  const size_t at = wanted.rfind('@');
  if (at == std::string::npos) return {wanted, own};
  return {wanted.substr(0, at), wanted.substr(at + 1)};
}

struct Filtered {
  protocol::FilterOutcome outcome;
  int64_t rule = -1;  // -1: none decided it
};

protocol::FilterOutcome toOutcome(protocol::PushLevel level) {
  switch (level) {
    case protocol::PushLevel::Keep:
      return protocol::FilterOutcome::Keep;
    case protocol::PushLevel::Surface:
      return protocol::FilterOutcome::Surface;
    case protocol::PushLevel::Inject:
      return protocol::FilterOutcome::Inject;
  }
  return protocol::FilterOutcome::Keep;
}

// The first rule that matches decides; without one the push's own level does. A pattern that runs
// out of time counts as no match (docs/decisions.md D-19).
Filtered filter(const Turn& turn, const EventStreams& streams, std::string_view stream,
                const protocol::Push& push, Matches& matches) {
  const std::vector<protocol::FilterRule>& rules = streams.filter(stream);
  for (size_t i = 0; i < rules.size(); ++i) {
    const std::optional<Match> match = matches.of(*rules[i].match);
    if (match == Match::Yes) return {rules[i].outcome, static_cast<int64_t>(i)};
    if (match == Match::TimedOut) {
      turn.log(LogLevel::Warning, "filter rule " + std::to_string(i) + " of stream " +
                                      visible(stream, false, 128) + " ran out of time");
    }
  }
  return {toOutcome(push.level), -1};
}

EventStreams& obtainStreams(const Turn& turn, Session& session, const Provider& provider) {
  EventStreams& streams = session.streams[provider.name];
  streams.keepFor(turn.state.retainedData, provider.party);
  return streams;
}

PendingInject createInject(const Turn& turn, const Provider& provider, const std::string& stream,
                           const protocol::Push& push, const protocol::TraceContext& trace) {
  PendingInject pending{provider.name, injectText(provider, stream, push, turn.limits()),
                        provider.credentials.token};
  pending.trusted = provider.trusted;
  pending.isScheduled = provider.trusted && !push.prompt.empty();
  pending.account = accountName(provider);
  pending.stream = stream;
  pending.key = push.key;
  pending.cause = push.cause;
  pending.trace = trace;
  pending.pushed = turn.now.steady;
  return pending;
}

// The line that a feature gives its text, or empty.
std::string formatDisplay(const protocol::Push& push) {
  return push.display.empty() ? "" : "tap: " + visible(push.display, false);
}

// The text as the user sees it: the same as the model's.
std::string formatLine(const protocol::Push& push, const std::string& source, bool inject) {
  const std::string& text = push.event.empty() ? push.prompt : push.event;
  const bool both = inject && !push.event.empty() && !push.prompt.empty();
  return "tap: " + source + ": " + (both ? push.event + "\n" + push.prompt : text);
}

std::string noStreamLeft(const Turn& turn) {
  return "a provider may have " + std::to_string(turn.limits().count(Limit::StreamsPerProvider)) +
         " streams; use one of those you have";
}

constexpr const char* kPromptOpen = "a former prompt has not been answered";
constexpr const char* kTooManyInjects = "too many injects wait for the session to be idle";

// Decides about an inject, and shows the lines about a pause that it has caused.
PushBudget::Inject tryInject(const Turn& turn, Session& session, PushBudget& budget,
                             PendingInject& inject) {
  const PushBudget::Inject verdict = budget.inject(inject, session.budgets.turns, turn.limits());
  if (const auto paused = budget.takePauseNotice()) warnOfPause(turn, session, *paused);
  warnOfPauseOfAll(turn, session);
  return verdict;
}

// Decides about one push to one session, and carries it out. Returns: its outcome, for the ack, or
// why it was refused.
struct Decided {
  std::string_view outcome;
  bool replaced = false;  // an inject that waited
};
Result<Decided, Refusal> decide(const Turn& turn, const Provider& provider, Session& session,
                                const protocol::Push& push, const protocol::TraceContext& trace,
                                Matches& matches, int64_t& rule) {
  const auto refused = [&](ErrorCode code, std::string message) {
    return Refusal{code, std::move(message), "push", push.requestId};
  };
  PushBudget& budget = session.budgets.of(accountName(provider), turn.now.steady);
  if (!budget.take(turn.limits(), turn.now.steady)) {
    return refused(ErrorCode::RateLimited,
                   "at most " + std::to_string(turn.limits().get(Limit::PushesPerSecond)) +
                       " pushes a second; slow down");
  }
  const std::string& stream = push.stream.empty() ? provider.name : push.stream;
  EventStreams& streams = obtainStreams(turn, session, provider);
  const Filtered filtered = filter(turn, streams, stream, push, matches);
  rule = filtered.rule;
  if (filtered.outcome == protocol::FilterOutcome::Drop) return Decided{"dropped"};
  // Nothing reaches the model that the timeline does not show.
  if (filtered.outcome != protocol::FilterOutcome::Keep &&
      !canWriteProviderLine(turn, session, provider)) {
    return refused(ErrorCode::RateLimited, noLineLeft(turn));
  }
  if (!streams.hasRoomFor(stream, turn.limits())) {
    return refused(ErrorCode::PayloadTooLarge, noStreamLeft(turn));
  }
  const std::string source =
      inLine(provider.name) + (stream == provider.name ? "" : "/" + inLine(stream));
  StreamEntry entry{turn.now.unixMillis, push.event.empty() ? push.prompt : push.event,
                    std::string(push.metadata.view())};
  // A waiting inject is kept a second time, in its fence.
  const bool inject = filtered.outcome == protocol::FilterOutcome::Inject;
  PendingInject pending;
  if (inject) pending = createInject(turn, provider, stream, push, trace);
  const std::string display = formatDisplay(push);
  pending.display = display.empty() ? "tap: for the model, from " + source : display;
  pending.immediate = inject && push.immediate && session.activity != protocol::Activity::Idle;
  const SizeChange room{entry.bytes() + (inject ? pending.bytes() : 0)};
  if (auto refusal = evict(turn, provider.party, room, "push", push.requestId)) return *refusal;
  (void)streams.append(stream, std::move(entry), turn.limits());
  if (filtered.outcome == protocol::FilterOutcome::Keep) return Decided{"stored"};
  PushBudget::Inject verdict = PushBudget::Inject::Send;
  if (inject) {
    pending.retainedShare.set(turn.state.retainedData, provider.party, pending.bytes());
    if (!pending.immediate) verdict = tryInject(turn, session, budget, pending);
  }
  if (verdict == PushBudget::Inject::Refuse) {
    return refused(ErrorCode::RateLimited, pending.isScheduled ? kPromptOpen : kTooManyInjects);
  }
  // The user sees the model's text once: with the message itself, if it is sent at once.
  const std::string line = display.empty() ? formatLine(push, source, inject) : display;
  const bool replaced = verdict == PushBudget::Inject::Replace;
  if (!inject || replaced || verdict == PushBudget::Inject::Wait) {
    // The line that a feature gives its text comes with that.
    if (!inject || display.empty()) {
      (void)writeProviderLine(turn, session, provider, LogLevel::Info, line, NoRoom::LeaveOut);
    }
    return Decided{inject ? "queued" : "surfaced", replaced};
  }
  pending.display = takeProviderLine(turn, session, provider, line);
  const Delivery delivery = deliver(turn, session, std::move(pending));
  return Decided{delivery == Delivery::Sent ? "injected" : "queued"};
}

// The same, and its record.
Result<Decided, Refusal> pushTo(const Turn& turn, const Provider& provider, Session& session,
                                const protocol::Push& push, Matches& matches, int64_t& rule) {
  const CallTrace trace = startTrace(turn, session, push);
  auto outcome = decide(turn, provider, session, push, trace.own, matches, rule);
  if (isRecording(turn) && (outcome || !isCountingRefused(turn, provider))) {
    const std::string& stream = push.stream.empty() ? provider.name : push.stream;
    const PushDecided decided = outcome ? PushDecided{outcome.value().outcome, {}, rule}
                                        : PushDecided{{}, wireName(outcome.error().code), rule};
    recordPush(turn, session, provider, stream, push, trace, decided);
  }
  return outcome;
}

std::optional<Refusal> stamped(Refusal refusal, const std::string& requestId) {
  refusal.requestId = requestId;
  return refusal;
}

}  // namespace

std::optional<Refusal> acceptPush(const Turn& turn, Provider& provider,
                                  const protocol::Push& push) {
  auto bindings = bindingsFor(provider, push.sessionId, "push");
  if (!bindings) return stamped(bindings.error(), push.requestId);
  if (provider.all && !push.sessionId && !push.broadcast) {
    return Refusal{ErrorCode::InvalidSession,
                   "a provider bound to \"all\" says push.sessionId, or \"broadcast\": true",
                   "push", push.requestId};
  }
  if (push.trace.malformed) ++turn.state.recorder.malformedTraces;
  Matches matches(push.event);
  std::optional<Refusal> refusal;  // one session's budget is no other's
  for (const Binding* binding : bindings.value()) {
    Session* session = turn.state.sessions.find(binding->sessionId);
    if (session == nullptr) continue;
    int64_t rule = -1;
    const auto outcome = pushTo(turn, provider, *session, push, matches, rule);
    if (!outcome) {
      refusal = outcome.error();
      continue;
    }
    turn.state.providers.touch(provider);
    if (push.requestId.empty()) continue;
    protocol::Ack ack{push.requestId, session->id, binding->revision, outcome.value().outcome,
                      rule};
    ack.replaced = outcome.value().replaced;
    turn.send(provider.peer, protocol::encodeAck(ack));
  }
  return refusal;
}

std::optional<Refusal> withdrawInject(const Turn& turn, Provider& provider,
                                      const protocol::Withdraw& withdraw) {
  auto bindings = bindingsFor(provider, withdraw.sessionId, "withdraw");
  if (!bindings) return stamped(bindings.error(), withdraw.requestId);
  for (const Binding* binding : bindings.value()) {
    Session* session = turn.state.sessions.find(binding->sessionId);
    if (session == nullptr) continue;
    const std::string account = accountName(provider);
    PushBudget& budget = session->budgets.of(account, turn.now.steady);
    const bool withdrawn = budget.withdraw(account, withdraw.key);
    if (withdraw.requestId.empty()) continue;
    protocol::Ack ack{withdraw.requestId, session->id, binding->revision, {}};
    ack.withdrawn = withdrawn;
    turn.send(provider.peer, protocol::encodeAck(ack));
  }
  return std::nullopt;
}

std::optional<Refusal> setFilter(const Turn& turn, Provider& provider,
                                 const protocol::FilterSet& set) {
  auto bindings = bindingsFor(provider, set.sessionId, "filter.set");
  if (!bindings) return stamped(bindings.error(), set.requestId);
  if (provider.all && !set.sessionId) {
    if (!provider.filters.contains(set.stream) &&
        provider.filters.size() >= turn.limits().count(Limit::StreamsPerProvider)) {
      return Refusal{ErrorCode::PayloadTooLarge, "this would be one stream too many", "filter.set",
                     set.requestId};
    }
    provider.filters[set.stream] = set.rules;
  }
  for (Binding* binding : bindings.value()) {
    Session* session = turn.state.sessions.find(binding->sessionId);
    if (session == nullptr) continue;
    EventStreams& streams = obtainStreams(turn, *session, provider);
    if (!streams.setFilter(set.stream, set.rules, turn.limits())) {
      return Refusal{ErrorCode::PayloadTooLarge, "this would be one stream too many", "filter.set",
                     set.requestId};
    }
    acknowledge(turn, provider, *binding, set.requestId);
  }
  return std::nullopt;
}

void copyFiltersToSession(const Turn& turn, const Provider& provider, Session& session) {
  for (const auto& [stream, rules] : provider.filters) {
    // As many streams as the provider may have: there is room for each.
    (void)obtainStreams(turn, session, provider).setFilter(stream, rules, turn.limits());
  }
}

std::optional<Refusal> queryStreams(const Turn& turn, Provider& provider,
                                    const protocol::StreamQuery& query) {
  auto bindings = bindingsFor(provider, query.sessionId, "stream.query");
  if (!bindings) return bindings.error();
  if (bindings.value().size() != 1) {
    return Refusal{ErrorCode::InvalidSession,
                   "say stream.query.sessionId: you are bound to several", "stream.query"};
  }
  const Session* session = turn.state.sessions.find(bindings.value().front()->sessionId);
  if (session == nullptr) return std::nullopt;
  std::vector<protocol::StreamHistory> answer;
  size_t room = turn.limits().bytes(Limit::MessageBytes);  // of the whole answer
  for (const std::string& wanted : query.streams) {
    const auto [stream, owner] = splitStream(wanted, provider.name);
    if (owner != provider.name && provider.credentials.trust < protocol::Trust::InProcess) {
      return Refusal{ErrorCode::Unauthorized, "only your own streams can be queried",
                     "stream.query"};
    }
    protocol::StreamHistory history{stream, {}};
    history.key.append("@").append(owner);
    const auto streams = session->streams.find(owner);
    const EventStream* found =
        streams == session->streams.end() ? nullptr : streams->second.find(stream);
    const size_t most =
        query.last > 0 ? static_cast<size_t>(query.last) : turn.limits().count(Limit::QueryEntries);
    for (size_t i = found == nullptr ? 0 : found->entries().size();
         i-- > 0 && history.entries.size() < most;) {
      const StreamEntry& entry = found->entries()[i];
      const size_t weight = entry.event.size() + entry.metadata.size() + 64;
      if (weight > room) break;
      room -= weight;
      history.entries.push_back({entry.unixMillis, entry.event, entry.metadata});
    }
    answer.push_back(std::move(history));
  }
  turn.send(provider.peer, protocol::encodeStreamHistory(query.queryId, answer));
  return std::nullopt;
}

void userHasSpoken(const Turn& turn, Session& session) {
  session.budgets.userHasSpoken(turn.now.steady);
}

}  // namespace tap::gateway
