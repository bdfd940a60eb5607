// The control clients: links of the copilot-tap command, which inspect the gateway and call tools
// without a model (docs/session-link.md, "control.open").
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/slice.h"
#include "gateway/core/effects.h"

namespace tap::gateway {

struct Turn;

class ControlClients {
 public:
  // `sessionId`: the session in whose name the client calls tools; empty: the one that has the
  // tool. `token`: of a feature that opened it with that; empty: with the gateway's secret. A
  // client that is open already changes both.
  void open(PeerId link, std::string sessionId, std::string token) {
    clients_[link] = {std::move(sessionId), std::move(token)};
  }
  // Null if the link is not a control client's.
  [[nodiscard]] const std::string* findSessionId(PeerId link) const {
    const auto at = clients_.find(link);
    return at == clients_.end() ? nullptr : &at->second.sessionId;
  }
  [[nodiscard]] bool contains(PeerId link) const { return clients_.contains(link); }
  // Whether it is a feature's: it may make requests of the host and call tools, no more.
  [[nodiscard]] bool isFeature(PeerId link) const {
    const auto at = clients_.find(link);
    return at != clients_.end() && !at->second.token.empty();
  }
  [[nodiscard]] std::vector<PeerId> withToken(std::string_view token) const {
    std::vector<PeerId> links;
    for (const auto& [link, client] : clients_) {
      if (client.token == token) links.push_back(link);
    }
    return links;
  }
  void erase(PeerId link) {
    clients_.erase(link);
    std::erase(tracers_, link);
  }
  // From now on the client is sent the traffic of providers.
  void trace(PeerId link) {
    if (!traces(link)) tracers_.push_back(link);
  }
  [[nodiscard]] bool traces(PeerId link) const {
    return std::find(tracers_.begin(), tracers_.end(), link) != tracers_.end();
  }
  [[nodiscard]] const std::vector<PeerId>& tracers() const { return tracers_; }

 private:
  struct Client {
    std::string sessionId;
    std::string token;
  };
  std::unordered_map<PeerId, Client> clients_;
  std::vector<PeerId> tracers_;
};

// Sends it to all clients that trace.
void traceProvider(const Turn& turn, PeerId provider, protocol::TraceKind kind, const Slice& text);

// What a control client may send of the messages of a session. REQUIRES: the link is open.
void callFromControl(const Turn& turn, PeerId link, const protocol::Call& call);
void cancelFromControl(const Turn& turn, PeerId link, const protocol::CancelCall& cancel);
void useFromControl(const Turn& turn, PeerId link, const protocol::UseProvider& use);

// The link has ended, or is a session's from now on: the client's calls are cancelled.
void controlClientGone(const Turn& turn, PeerId link);
// The session has ended: the calls that control clients have in it are cancelled.
void cancelControlCalls(const Turn& turn, std::string_view sessionId, std::string_view reason);

}  // namespace tap::gateway
