#include "gateway/registry/sessions.h"

#include <algorithm>

namespace tap::gateway {

Session* Sessions::obtain(const std::string& id, const Limits& limits) {
  if (Session* known = find(id)) return known;
  if (sessions_.size() >= limits.count(Limit::Sessions)) return nullptr;
  return &sessions_.emplace(id, Session(id, limits)).first->second;
}

void Sessions::attach(Session& session, PeerId peer) {
  detach(session);
  session.peer = peer;
  byPeer_[peer] = &session;
}

void Sessions::detach(Session& session) {
  if (session.peer) byPeer_.erase(*session.peer);
  session.peer.reset();
}

void Sessions::erase(const std::string& id) {
  const auto at = sessions_.find(id);
  if (at == sessions_.end()) return;
  detach(at->second);
  sessions_.erase(at);
}

std::vector<const Session*> Sessions::active() const {
  std::vector<const Session*> active;
  for (const auto& [id, session] : sessions_) {
    if (!session.ending) active.push_back(&session);
  }
  std::sort(active.begin(), active.end(), [](const Session* a, const Session* b) {
    if (a->peer.has_value() != b->peer.has_value()) return a->peer.has_value();
    return a->lastActive > b->lastActive;
  });
  return active;
}

std::vector<protocol::SessionSummary> Sessions::summaries(const Credentials& for_) const {
  std::vector<protocol::SessionSummary> summaries;
  for (const Session* session : active()) {
    protocol::SessionSummary summary{session->id, session->label, session->cwd,
                                     session->id == foreground_};
    // Sessions that the provider may bind to come first, because many providers take the first one.
    const bool mayBind = for_.onlySession.empty() || for_.onlySession == session->id;
    // The folder is only for those who may bind to the session (docs/protocol.md, "sessions,
    // sessions.updated").
    if (!mayBind) summary.cwd.reset();
    const bool first = mayBind && !for_.onlySession.empty();
    summaries.insert(first ? summaries.begin() : summaries.end(), std::move(summary));
  }
  return summaries;
}

bool Sessions::allEnded() const {
  return std::all_of(sessions_.begin(), sessions_.end(),
                     [](const auto& entry) { return entry.second.ending; });
}

}  // namespace tap::gateway
