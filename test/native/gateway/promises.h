// Invariants of a gateway's state between any two inputs, and the answers due to a session's
// process.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "gateway/harness.h"
#include "gateway/recount.h"
#include "gateway/registry/retained_data.h"

namespace tap::gateway::test {

// The requests of a session's process, and the answers to it.
struct Process {
  PeerId peer{};
  std::string sessionId;
  std::set<std::string> open;       // calls
  std::set<std::string> cancelled;  // no outcome may follow
  std::set<std::string> questions;  // checks, prompts and sections without an answer
  int64_t toolsRevision = 0;
  int64_t hooksRevision = 0;
};

class Promises {
 public:
  // Takes the answers out of the process's inbox. `settled` counts successful calls; `said` gets
  // the texts for the model of the others.
  static void checkProcess(Harness& tap, Process& process, int& settled,
                           const std::function<void(const std::string&)>& said) {
    while (const auto outcome = tap.find<protocol::CallResult>(process.peer)) {
      ASSERT_EQ(process.cancelled.count(outcome->callId), 0u) << "an outcome after the cancel";
      ASSERT_EQ(process.open.erase(outcome->callId), 1u) << "two outcomes";
      if (!outcome->failed) ++settled;
    }
    while (const auto verdict = tap.find<protocol::HookVerdict>(process.peer)) {
      ASSERT_EQ(process.questions.erase(verdict->checkId), 1u) << "two verdicts";
      said(verdict->deny.value_or(verdict->context));
    }
    while (const auto context = tap.find<protocol::PromptContext>(process.peer)) {
      ASSERT_EQ(process.questions.erase(context->promptId), 1u) << "two contexts";
      said(context->context);
    }
    while (const auto section = tap.find<protocol::SectionText>(process.peer)) {
      ASSERT_EQ(process.questions.erase(section->buildId), 1u) << "two texts of a section";
    }
    while (const auto inspection = tap.find<protocol::Inspection>(process.peer)) {
      ASSERT_TRUE(json::Scanner().scan(inspection->report)) << inspection->report;
    }
    while (const auto result = tap.find<protocol::HostResult>(process.peer)) {
      if (!result->requestId.starts_with('q')) continue;  // not a permission.check
      ASSERT_EQ(process.questions.erase(result->requestId), 1u) << "two answers";
    }
    while (tap.find<protocol::TraceFrame>(process.peer)) {
    }
    while (const auto hooks = tap.find<protocol::Hooks>(process.peer)) {
      ASSERT_GE(hooks->revision, std::exchange(process.hooksRevision, hooks->revision));
    }
  }
  static void checkTools(Process& process, const protocol::Tools& tools) {
    ASSERT_GE(tools.revision, std::exchange(process.toolsRevision, tools.revision));
  }

  void check(State& state) {
    checkProviders(state);
    for (auto& [id, session] : state.sessions.all()) checkSession(state, session);
    const Limits& limits = state.config.limits;
    ASSERT_LE(state.providers.connections(), limits.count(Limit::Connections));
    ASSERT_LE(state.sessions.all().size(), limits.count(Limit::Sessions));
    checkTotals(state);
  }

 private:
  // The limits of all parties in shared resources.
  static void checkTotals(State& state) {
    const Limits& limits = state.config.limits;
    const PatternStore::Use patterns = state.patterns.inAll();
    ASSERT_LE(patterns.patterns, limits.count(Limit::Patterns));
    ASSERT_LE(patterns.bytes, limits.bytes(Limit::PatternBytes));
    std::set<std::string> parties;
    for (const Provider* provider : state.providers.all()) parties.insert(provider->party);
    for (const auto& [id, session] : state.sessions.all()) {
      std::map<std::string, size_t> departed;
      for (const auto& [identity, known] : session.known) {
        parties.insert(known.party);
        if (known.departure != TimerId::None) ++departed[known.party];
      }
      departed.erase("");  // from the time of a former gateway
      for (const auto& [party, count] : departed) {
        ASSERT_LE(count, limits.count(Limit::DepartedPerParty)) << party;
      }
    }
    for (const std::string& party : parties) {
      const PatternStore::Use use = state.patterns.of(party);
      ASSERT_LE(use.patterns, limits.count(Limit::PatternsPerParty)) << party;
      ASSERT_LE(use.bytes, limits.bytes(Limit::PatternBytesPerParty)) << party;
      ASSERT_LE(state.retainedData.of(party).bytes, limits.bytes(Limit::KeptBytesPerParty))
          << party;
    }
    Recount::check(state);
    ASSERT_LE(state.retainedData.inAll(), limits.bytes(Limit::KeptBytes));
    ASSERT_LE(state.retainedData.ofPaired(), limits.bytes(Limit::KeptBytes) / kPairedShare);
  }

  using Name = std::tuple<PeerId, std::string, std::string, std::string, uint64_t>;

  void checkProviders(State& state) {
    boundIn_.clear();
    std::map<Name, int64_t> revisions;
    for (Provider* provider : state.providers.all()) {
      const bool isBound = provider->state == protocol::ProviderState::Bound;
      ASSERT_EQ(isBound, provider->all || !provider->bindings.empty());
      ASSERT_TRUE(isBound || state.calls.countOfProvider(provider->peer) == 0);
      for (const auto& [sessionId, binding] : provider->bindings) {
        ASSERT_NE(state.sessions.find(sessionId), nullptr);
        ASSERT_EQ(state.providers.byIdentity(sessionId, provider->name, provider->instance),
                  provider);
        boundIn_.insert(sessionId + "/" + provider->name);
        // A feature may be bound at once to the next session of the same id.
        const uint64_t order = provider->isOwn() ? binding.order : 0;
        const Name name{provider->peer, sessionId, provider->name, provider->instance, order};
        ASSERT_GE(binding.revision, revisions_[name]) << "a revision fell";
        revisions[name] = binding.revision;
        ASSERT_LE(binding.tools.size(), state.config.limits.count(Limit::ToolsPerProvider));
        ASSERT_LE(binding.rules.size(), state.config.limits.count(Limit::RulesPerProvider));
      }
    }
    revisions_ = std::move(revisions);
  }

  void checkSession(State& state, const Session& session) {
    const Limits& limits = state.config.limits;
    const ToolSnapshot tools = state.providers.snapshot(session.id);
    for (const auto& [name, digest] : tools) {
      ASSERT_TRUE(boundIn_.contains(session.id + "/" + name)) << "tools without a provider";
    }
    ASSERT_TRUE(session.ending || session.sync.wantedSet() == tools) << "a change was not sent";
    ASSERT_TRUE(session.peer || state.calls.countOfSession(session.id) == 0);
    ASSERT_LE(state.calls.countOfSession(session.id), limits.count(Limit::CallsPerSession));
    for (const auto& [name, streams] : session.streams) {
      ASSERT_LE(streams.size(), limits.count(Limit::StreamsPerProvider));
      const EventStream* stream = streams.find(session.id);
      if (stream == nullptr) continue;
      ASSERT_LE(stream->entries().size(), limits.count(Limit::StreamEntries));
      ASSERT_LE(stream->bytes(), limits.bytes(Limit::StreamBytes));
    }
    for (const auto& [identity, held] : session.detachedRules) {
      ASSERT_EQ(state.providers.byIdentity(session.id, identity.first, identity.second), nullptr)
          << "rules are held of a provider that is there";
      const auto known = session.known.find(identity);
      ASSERT_TRUE(known != session.known.end() && known->second.departure != TimerId::None)
          << "rules are held indefinitely";
    }
    ASSERT_LE(session.budgets.maxWaiting(), limits.count(Limit::HeldInjects));
    ASSERT_LE(session.budgets.size(), PushBudgets::kMaxAccounts + 1);
  }

  std::set<std::string> boundIn_;
  std::map<Name, int64_t> revisions_;
};

}  // namespace tap::gateway::test
