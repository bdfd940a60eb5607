// The user's own hand: links of the copilot-tap command, which look at the gateway and call tools
// without a model (docs/session-link.md, "operate").
#pragma once

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/slice.h"
#include "gateway/core/effects.h"

namespace tap::gateway {

struct Turn;

class Operators {
 public:
  // `sessionId`: in whose name it calls tools; empty: whichever session has the tool.
  void admit(PeerId link, std::string sessionId) { sessions_[link] = std::move(sessionId); }
  // Null if the link is no operator's.
  [[nodiscard]] const std::string* sessionOf(PeerId link) const {
    const auto at = sessions_.find(link);
    return at == sessions_.end() ? nullptr : &at->second;
  }
  void erase(PeerId link) {
    sessions_.erase(link);
    std::erase(tracers_, link);
  }
  // It wants to see the traffic of providers from now on.
  void trace(PeerId link) {
    if (!traces(link)) tracers_.push_back(link);
  }
  [[nodiscard]] bool traces(PeerId link) const {
    return std::find(tracers_.begin(), tracers_.end(), link) != tracers_.end();
  }
  [[nodiscard]] const std::vector<PeerId>& tracers() const { return tracers_; }

 private:
  std::unordered_map<PeerId, std::string> sessions_;
  std::vector<PeerId> tracers_;
};

// Shows it to all who trace.
void traceProvider(const Turn& turn, PeerId provider, protocol::TraceKind kind, const Slice& text);

// A message on an operator's link.
void operatorMessage(const Turn& turn, PeerId link, const protocol::SessionMessage& message);
// The link has ended: nobody waits for its calls.
void operatorGone(const Turn& turn, PeerId link);
// The session has ended: what operators have called in it is cancelled.
void cancelOperatorCalls(const Turn& turn, std::string_view sessionId, std::string_view reason);

}  // namespace tap::gateway
