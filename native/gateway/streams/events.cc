#include "gateway/streams/events.h"

#include <array>
#include <string_view>
#include <utility>

#include "gateway/registry/session_output.h"

namespace tap::gateway {

namespace {

struct EventName {
  std::string_view name;
  protocol::SubscribedEvent bit;
};
constexpr std::array<EventName, 4> kEvents{{
    {"user.message", protocol::SubscribedEvent::UserMessage},
    {"assistant.message", protocol::SubscribedEvent::AssistantMessage},
    {"tool.execution_complete", protocol::SubscribedEvent::ToolExecutionComplete},
    {"assistant.intent", protocol::SubscribedEvent::AssistantIntent},
}};

uint8_t wanted(const Turn& turn, const Session& session) {
  uint8_t events = 0;
  for (const Provider* provider : turn.state.providers.inSession(session.id)) {
    events |= provider->subscribe;
  }
  return events;
}

void sendSubscriptions(const Turn& turn, Session& session) {
  protocol::Subscribe subscribe;
  for (const EventName& event : kEvents) {
    if ((session.subscribed & static_cast<uint8_t>(event.bit)) != 0) {
      subscribe.events.emplace_back(event.name);
    }
  }
  sendToSession(turn, session, std::move(subscribe));
}

}  // namespace

void forwardEvent(const Turn& turn, Session& session, const protocol::EventOccurred& event) {
  for (const EventName& known : kEvents) {
    if (known.name != event.event) continue;
    const Slice text = protocol::encodeSessionEvent(session.id, event.event, event.data.view());
    for (const Provider* provider : turn.state.providers.inSession(session.id)) {
      if ((provider->subscribe & static_cast<uint8_t>(known.bit)) != 0) {
        turn.send(provider->peer, text);
      }
    }
  }
}

void subscriptionsChanged(const Turn& turn, Session& session) {
  const uint8_t events = wanted(turn, session);
  if (std::exchange(session.subscribed, events) == events || !session.peer) return;
  sendSubscriptions(turn, session);
}

void introduceSubscriptions(const Turn& turn, Session& session) {
  session.subscribed = wanted(turn, session);
  if (session.subscribed != 0) sendSubscriptions(turn, session);
}

}  // namespace tap::gateway
