// JSON text ⇄ the provider protocol. It knows shapes, not states: the gateway decides whether a
// message is legal now.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/limits.h"
#include "base/result.h"
#include "base/slice.h"
#include "protocol/errors.h"
#include "protocol/provider/provider_messages.h"

namespace tap::protocol {

// Reads messages in two steps, since some refusals need the type only.
class ProviderDecoder {
 public:
  explicit ProviderDecoder(const Limits& limits) : limits_(limits) {}

  // Validates the text and finds its type. The text must live until the next open(). Lone
  // surrogates in it become U+FFFD. Refused with INVALID_JSON, UNKNOWN_TYPE, or PAYLOAD_TOO_LARGE
  // if the type allows less than this.
  [[nodiscard]] Result<ProviderMessageType, Refusal> open(const Slice& received);

  // Of the opened message.
  [[nodiscard]] ProviderMessageType type() const { return type_; }

  // The whole opened message. Call it once. Refused with INVALID_JSON (shape), PAYLOAD_TOO_LARGE
  // (counts). Slices in it have the text's owner: they borrow if the text does. Its patterns come
  // from `patterns`.
  [[nodiscard]] Result<ProviderMessage, Refusal> body(
      PatternSource& patterns = PatternSource::unbounded());

  // The id of the request that the opened message answers (a call, a gate.check or a
  // transform.request), or empty. Valid until the next open().
  [[nodiscard]] std::string_view callId() const { return callId_; }
  // Its `name` and its `sessionId`, likewise.
  [[nodiscard]] std::string name() const { return shortText("name"); }
  [[nodiscard]] std::string sessionId() const { return shortText("sessionId"); }

 private:
  // A member of the opened message, if it is a text of the length of an identifier; otherwise
  // empty.
  [[nodiscard]] std::string shortText(std::string_view key) const;
  // The same into `text`, whose memory is reused.
  void readShortText(std::string_view key, std::string& text) const;

  const Limits& limits_;
  json::Scanner scanner_;
  json::Value root_;
  Slice text_;      // until body()
  Slice repaired_;  // the last text that had lone surrogates
  std::string callId_;
  ProviderMessageType type_ = ProviderMessageType::Auth;
};

// A session in `sessions`.
struct SessionSummary {
  std::string id;
  std::string label;
  std::optional<std::string> cwd;  // only for providers that may bind to it
  bool foreground = false;
  bool operator==(const SessionSummary&) const = default;
};

struct HelloAck {
  std::string_view providerId;
  std::string_view sessionId;  // or "all"
  std::string_view reconnectToken;
  std::string_view persistDir;  // empty if it has no files here
};

struct Ack {
  std::string_view requestId;
  std::string_view sessionId;
  int64_t revision = 0;
  std::string_view outcome;          // of a push, or empty
  int64_t rule = -1;                 // index of the filter rule that matched, or -1
  std::optional<bool> inForce = {};  // of a tools.update with inForce
  std::string_view reason = {};      // why they are not in force
  bool replaced = false;             // a push has replaced a waiting inject
  std::optional<bool> withdrawn = {};
};

struct GateCheck {
  std::string_view gateId;
  std::string_view callId;
  std::string_view sessionId;
  std::string_view tool;
  std::string_view args;  // JSON text
};

// The gateway's messages to a provider, as JSON text.
[[nodiscard]] Slice encodeAuthPairing(std::string_view prompt);
// `type` is "sessions" or "sessions.updated"; the token is for a provider that has just paired.
[[nodiscard]] Slice encodeSessions(std::string_view type, const std::vector<SessionSummary>& active,
                                   std::string_view token = {});
[[nodiscard]] Slice encodeHelloAck(const HelloAck& ack);
[[nodiscard]] Slice encodeAck(const Ack& ack);
[[nodiscard]] Slice encodeGateCheck(const GateCheck& check);
[[nodiscard]] Slice encodeTransformRequest(std::string_view callId, std::string_view sessionId,
                                           std::string_view section, std::string_view current);
struct HistoryEntry {
  int64_t unixMillis = 0;
  std::string_view event;
  std::string_view metadata;  // JSON text, or empty
};
struct StreamHistory {
  std::string key;                    // stream@provider
  std::vector<HistoryEntry> entries;  // the latest first
};
[[nodiscard]] Slice encodeStreamHistory(std::string_view queryId,
                                        const std::vector<StreamHistory>& streams);
// `data` is JSON text.
[[nodiscard]] Slice encodeSessionEvent(std::string_view sessionId, std::string_view event,
                                       std::string_view data);
// `id` needs no escaping, and `args` is JSON text, or empty. The arguments are the last member.
[[nodiscard]] Slice encodeToolCall(std::string_view id, std::string_view sessionId,
                                   std::string_view tool, const TraceContext& trace,
                                   std::string_view args);
[[nodiscard]] Slice encodeToolCancel(std::string_view id, std::string_view sessionId,
                                     std::string_view reason);
// `state`: "started" or "idle"; for tap's own features also "busy" and "prompted".
[[nodiscard]] Slice encodeLifecycle(std::string_view sessionId, std::string_view state);
[[nodiscard]] Slice encodeSessionOffer(std::string_view sessionId);
[[nodiscard]] Slice encodeShutdownPending(std::string_view sessionId, Millis deadline);
// Empty providerId and sessionId are left out.
[[nodiscard]] Slice encodeError(const Refusal& refusal, std::string_view providerId,
                                std::string_view sessionId);

}  // namespace tap::protocol
