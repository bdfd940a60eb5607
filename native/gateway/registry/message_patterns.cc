#include "gateway/registry/message_patterns.h"

#include <utility>
#include <vector>

#include "gateway/registry/binding.h"
#include "gateway/registry/party.h"

namespace tap::gateway {

using protocol::FilterRule;
using protocol::HookRule;
using protocol::ProviderMessageType;
using protocol::Refusal;

namespace {

const std::shared_ptr<const Pattern>& rulePattern(const FilterRule& rule) {
  return rule.match;
}
const std::shared_ptr<const Pattern>& rulePattern(const HookRule& rule) {
  return rule.args;
}

// How often each pattern is used in rules that a message replaces.
class ReplacedPatterns {
 public:
  template <class Rule>
  void add(const std::vector<Rule>& rules) {
    for (const Rule& rule : rules) {
      if (const auto& pattern = rulePattern(rule)) {
        Uses& uses = uses_[pattern.get()];
        ++uses.here;
        uses.inAll = pattern.use_count();
      }
    }
  }
  // Patterns that are not used elsewhere are freed with them.
  [[nodiscard]] PatternStore::Use freed() const {
    PatternStore::Use freed;
    for (const auto& [pattern, uses] : uses_) {
      if (uses.here < uses.inAll) continue;
      freed.patterns += 1;
      freed.bytes += pattern->bytes();
    }
    return freed;
  }

 private:
  struct Uses {
    long here = 0;
    long inAll = 0;
  };
  std::map<const Pattern*, Uses> uses_;
};

void addFilters(ReplacedPatterns& replaced, const Turn& turn, const Provider& provider,
                const protocol::FilterSet& set) {
  if (!set.sessionId) {
    const auto at = provider.filters.find(set.stream);
    if (at != provider.filters.end()) replaced.add(at->second);
  }
  for (const auto& [sessionId, binding] : provider.bindings) {
    if (set.sessionId && *set.sessionId != sessionId) continue;
    const Session* session = turn.state.sessions.find(sessionId);
    if (session == nullptr) continue;
    const auto streams = session->streams.find(provider.name);
    if (streams != session->streams.end()) replaced.add(streams->second.filter(set.stream));
  }
}

void addRules(ReplacedPatterns& replaced, const Provider& provider,
              const protocol::HooksUpdate& update) {
  if (!update.change.rules) return;
  if (!update.sessionId) replaced.add(provider.declared.rules);
  for (const auto& [sessionId, binding] : provider.bindings) {
    if (!update.sessionId || *update.sessionId == sessionId) replaced.add(binding.rules);
  }
}

// Whether hello, if it is taken, binds its provider to this session.
bool bindsTo(const Turn& turn, const Provider& provider, const protocol::Hello& hello,
             const Session& session, bool comesBack) {
  if (session.ending) return false;
  if (hello.session) return *hello.session == "all" || *hello.session == session.id;
  const std::string& only = provider.credentials.onlySession;
  if (comesBack || !only.empty()) return comesBack || only == session.id;
  return turn.state.sessions.active().size() == 1;
}

// What hello replaces: the rules of its provider and of a connection that it takes over, and what
// sessions remember of them. Of what they remember some may stay; that is not counted.
void addHello(ReplacedPatterns& replaced, const Turn& turn, const Provider& provider,
              const protocol::Hello& hello, std::string_view party) {
  const bool same =
      provider.party == party && provider.name == hello.name && provider.instance == hello.instance;
  if (same || provider.bindings.empty()) replaced.add(provider.declared.rules);
  for (const auto& [stream, rules] : provider.filters) replaced.add(rules);
  for (const auto& [sessionId, binding] : provider.bindings) {
    if (same) replaced.add(binding.rules);
  }
  Provider* holder = takenOver(turn, provider, hello);
  if (holder != nullptr) {
    replaced.add(holder->declared.rules);
    for (const auto& [stream, rules] : holder->filters) replaced.add(rules);
  }
  const Identity identity{hello.name, hello.instance};
  for (auto& [id, session] : turn.state.sessions.all()) {
    const auto at = session.known.find(identity);
    if (at == session.known.end() || at->second.party != party) continue;
    const KnownProvider& known = at->second;
    const std::string& token = known.reconnectToken;
    const bool comesBack = !token.empty() && token == hello.reconnectToken;
    const bool bound = bindsTo(turn, provider, hello, session, comesBack);
    if (bound || comesBack || (!token.empty() && token == provider.reconnectToken)) {
      if (known.saved) replaced.add(known.saved->rules);
      if (known.declared) replaced.add(known.declared->rules);
    }
    if (!bound) continue;
    const auto held = session.detachedRules.find(identity);
    if (held != session.detachedRules.end()) replaced.add(held->second.rules);
    const Binding* its = holder == nullptr ? nullptr : holder->in(id);
    if (its != nullptr) replaced.add(its->rules);
  }
}

}  // namespace

Result<std::shared_ptr<const Pattern>, std::string> MessagePatterns::obtain(std::string_view text) {
  if (!party_) {
    const bool named = provider_.name.empty() || decoder_.type() == ProviderMessageType::Hello;
    party_ = accountName(provider_.credentials, provider_.origin,
                         named ? decoder_.name() : provider_.name);
  }
  PatternStore& store = turn_.state.patterns;
  const uint64_t before = store.charged();
  auto pattern = store.obtain(*party_, text, turn_.now.steady);
  charged_ += static_cast<int64_t>(store.charged() - before);
  if (pattern) return std::move(pattern.value());
  code_ = pattern.error().code;
  return std::move(pattern.error().why);
}

Refusal MessagePatterns::explain(Refusal refusal) const {
  refusal.code = code_.value_or(refusal.code);
  return refusal;
}

std::optional<Refusal> MessagePatterns::overdrawn(const protocol::ProviderMessage& message,
                                                  ProviderMessageType type) const {
  if (!party_) return std::nullopt;
  ReplacedPatterns replaced;
  std::string requestId;
  if (const auto* set = std::get_if<protocol::FilterSet>(&message)) {
    addFilters(replaced, turn_, provider_, *set);
    requestId = set->requestId;
  } else if (const auto* update = std::get_if<protocol::HooksUpdate>(&message)) {
    addRules(replaced, provider_, *update);
    requestId = update->requestId;
  } else if (const auto* hello = std::get_if<protocol::Hello>(&message)) {
    addHello(replaced, turn_, provider_, *hello, *party_);
  }
  std::string why = turn_.state.patterns.overdrawn(*party_, replaced.freed());
  if (why.empty()) return std::nullopt;
  const std::string name(protocol::row(type).type);
  return Refusal{protocol::ErrorCode::PayloadTooLarge, name + ": " + why, name,
                 std::move(requestId)};
}

}  // namespace tap::gateway
