// The gateway's memory for each party, counted from its state: its running sums must be equal.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "gateway/registry/party.h"
#include "gateway/registry/retained_data.h"

namespace tap::gateway::test {

struct Recount {
  explicit Recount(State& state) {
    for (auto& [id, session] : state.sessions.all()) {
      for (const auto& [name, streams] : session.streams) {
        if (streams.party().empty()) continue;
        events[streams.party()] += streams.bytes();
        add(streams.party(), streams.bytes());
      }
      for (const PendingInject* inject : session.budgets.waiting()) {
        add(inject->retainedShare.party(), inject->bytes());
      }
      for (const HeldInject& held : session.heldInjects) {
        add(held.inject.retainedShare.party(), held.inject.retainedShare.bytes());
      }
      for (const auto& [identity, known] : session.known) {
        add(known.party, estimateBytes(session, identity));
      }
    }
    for (const Provider* provider : state.providers.all())
      add(provider->party, estimateBytes(*provider));
  }

  static void check(State& state) {
    Recount count(state);
    for (const auto& [party, bytes] : count.parties) {
      ASSERT_EQ(state.retainedData.of(party).bytes, bytes) << party;
      ASSERT_EQ(state.retainedData.of(party).events, count.events[party]) << party;
    }
    ASSERT_EQ(state.retainedData.inAll(), count.inAll);
    ASSERT_EQ(state.retainedData.ofPaired(), count.ofPaired);
  }

  std::map<std::string, size_t> parties;
  std::map<std::string, size_t> events;
  size_t inAll = 0;
  size_t ofPaired = 0;

 private:
  void add(const std::string& party, size_t bytes) {
    if (party.empty()) return;
    parties[party] += bytes;
    inAll += bytes;
    if (!isProgram(party)) ofPaired += bytes;
  }
};

}  // namespace tap::gateway::test
