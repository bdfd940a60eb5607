#include "gateway/registry/session_output.h"

#include <utility>

#include "base/encoding.h"

namespace tap::gateway {

using protocol::LogLevel;

namespace {

constexpr size_t kMaxOutbox = 100;  // events that wait for a reload to come back

// Indents the later lines of a text, so that none looks like a timeline line of its own.
std::string hangingLines(std::string_view text) {
  std::string out;
  for (const char c : text) {
    out += c;
    if (c == '\n') out += "  ";
  }
  return out;
}

}  // namespace

void sendToSession(const Turn& turn, Session& session, protocol::SessionEvent&& event) {
  if (session.peer) {
    turn.effect(SendEvent{*session.peer, std::move(event)});
    return;
  }
  if (session.outbox.size() >= kMaxOutbox) session.outbox.pop_front();
  session.outbox.push_back(std::move(event));
}

std::string formatTimeline(const Turn& turn, const Session& session, LogLevel level,
                           std::string_view text) {
  std::string shown = hangingLines(visible(text, true));
  turn.log(level, "session " + session.id + ": " + shown);
  return shown;
}

void writeTimeline(const Turn& turn, Session& session, LogLevel level, std::string_view text) {
  sendToSession(turn, session,
                protocol::Timeline{level, formatTimeline(turn, session, level, text)});
}

void closeLink(const Turn& turn, PeerId peer, std::string reason) {
  turn.state.endedLinks.erase(peer);
  turn.state.closedLinks.insert(peer);
  turn.effect(ClosePeer{peer, 0, std::move(reason)});
}

}  // namespace tap::gateway
