// When a session's tool set must be synchronised, and with what: how long changes are gathered, one
// plan in flight at a time, never what the session already has, and the pauses between reloads
// (docs/decisions.md D-22, D-23). One object per session; a plain state machine over times. The
// cost of a change does not depend on the number of other providers.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/limits.h"
#include "base/time.h"
#include "protocol/link/session_messages.h"

namespace tap::gateway {

// Provider name to digest of its tools.
using ToolSnapshot = std::map<std::string, std::string>;
// Between two of them: the new digest, or nothing where the provider's tools go.
using ToolChanges = std::map<std::string, std::optional<std::string>>;

// What one synchronisation changes.
struct SyncPlan {
  int64_t revision = 0;
  bool reload = false;
  std::vector<std::string> set;   // providers whose tools are new or changed, sorted
  std::vector<std::string> drop;  // providers that go, sorted
};

class ToolSync {
 public:
  explicit ToolSync(const Limits& limits) : limits_(&limits) {}

  // A process of the session registered: this is what it has. Starts the removal hold if it has
  // anything (it knew another gateway, or the same one before a break of the link).
  void sessionRegistered(ToolSnapshot have, protocol::SyncMode mode, Time now);
  // The session can no longer do it the way it could (or can again): what is in flight will not be
  // answered, and what failed is worth another try.
  void setMode(protocol::SyncMode mode, Time now);

  // The set that the session should have changed (or may have).
  void wantedChanged(const ToolChanges& changes, Time now);
  // Reloads wait for an idle session without calls.
  void setQuiet(bool quiet) { quiet_ = quiet; }
  // None is forced while an action waits for a gate: it would pass (docs/decisions.md D-23).
  void setGated(bool gated) { gated_ = gated; }

  // A provider was lost that will be back: until then, or for the time of the removal hold, nothing
  // is taken away.
  void holdRemovals(Time now) { holdUntil_ = now + limits_->time(Limit::RemovalHoldMs); }

  // What has changed is wanted at once: a live plan with it is due as soon as none is in flight,
  // also where the same set has failed before.
  void hurry(Time now);

  // The plan for a process that has just registered, at once. One that has not joined cannot do so
  // before it has all its tools; one that has gets an empty plan, and changes come as they are due.
  [[nodiscard]] SyncPlan firstPlan(bool joined, Time now);

  // Nothing has changed, and nothing is held: whatever else is so, nothing will be due.
  [[nodiscard]] bool atRest() const { return !firstChange_ && !holdUntil_; }
  // When to call takePlan next; nothing while a plan is in flight or all is equal.
  [[nodiscard]] std::optional<Time> due() const;
  // The plan that is due now, if one is; it is then in flight until confirmed or failed.
  [[nodiscard]] std::optional<SyncPlan> takePlan(Time now);

  // The session's answer. False if that revision is not in flight (an answer from before a break).
  bool confirmed(int64_t revision, Time now);
  // After a failure the same set is not tried again; a changed one is.
  bool failed(int64_t revision, Time now);
  // The link broke: the fate of the plan in flight is unknown until the next register.
  void linkLost();

  // The session has confirmed all that it should have; removals that are held do not count.
  [[nodiscard]] bool inForce() const { return !inFlight_ && target().empty(); }
  // The revision that brings what is wanted now. Nothing where none will: it is in force, or has
  // failed.
  [[nodiscard]] std::optional<int64_t> revisionOfWanted() const;
  // Nothing is in flight, and nothing is left that would be sent.
  [[nodiscard]] bool settled() const { return !inFlight_ && !dirty(); }
  [[nodiscard]] protocol::SyncMode mode() const { return mode_; }
  [[nodiscard]] const ToolSnapshot& wantedSet() const { return wanted_; }
  [[nodiscard]] const ToolSnapshot& confirmedSet() const { return confirmed_; }

 private:
  struct Flight {
    int64_t revision;
    ToolChanges changes;
  };

  // What to change now of what is confirmed: during the hold nothing is taken away.
  [[nodiscard]] ToolChanges target() const;
  // Of one provider, what is wanted with what is confirmed.
  void compare(const std::string& provider);
  [[nodiscard]] bool dirty() const;
  // Whether a change adds or replaces tools; the others only take some away.
  [[nodiscard]] bool brings() const;
  void touch(Time now);
  void noteBrought(Time now);
  void untouch();
  void settle(Time now);
  // When the changes have been gathered long enough. REQUIRES: there are some.
  [[nodiscard]] Time gathered() const;
  [[nodiscard]] SyncPlan plan(ToolChanges changes, bool reload);
  void countReload(Time now);

  const Limits* limits_;
  protocol::SyncMode mode_ = protocol::SyncMode::Live;
  ToolSnapshot wanted_;
  ToolSnapshot confirmed_;
  ToolChanges missing_;  // from confirmed to wanted
  std::optional<Flight> inFlight_;
  std::optional<ToolChanges> failed_;  // never retried as it is
  int64_t revision_ = 0;

  std::optional<Time> firstChange_;  // of the changes not yet sent
  std::optional<Time> lastChange_;
  std::optional<Time> firstBrought_;  // of those that add or replace tools
  bool hurried_ = false;              // they are not gathered
  std::optional<Time> lastSwap_;      // when the last live plan left
  std::optional<Time> holdUntil_;     // no removals before
  bool quiet_ = true;
  bool gated_ = false;
  std::optional<Time> lastReload_;
  Millis reloadFloor_{0};
};

}  // namespace tap::gateway
