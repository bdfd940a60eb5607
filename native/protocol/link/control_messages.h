// The messages between a control client (the copilot-tap command, js/link/control.mjs) and the
// gateway. docs/session-link.md describes them.
//
// To add a message: a struct, a place in the variant, lines in session_message_decoder.cc and
// session_encoder.cc, an overload in gateway/core/control_inputs.cc. Answers have their place in
// SessionEvent.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/slice.h"

namespace tap::protocol {

// --- Control client → gateway. Messages with a secret may be sent on any link. ---

// The first frame of a provider's link: each further frame is a message of docs/protocol.md.
// Answered like a provider's auth, or by Refused.
struct OpenProvider {
  std::string token;
};
// Opens the link for the messages without a secret, and for Call, CancelCall, Ping and UseProvider.
// With a feature's token instead of the secret it is open for HostRequest, PermissionCheck, Call,
// CancelCall and Ping only. Answered by Welcome, or by Refused.
struct OpenControl {
  std::string secret;
  std::string sessionId;  // the session of its calls; empty: the session last in use
};
// A newer version of tap asks this gateway to finish its calls and exit.
struct Drain {
  std::string secret;
  std::string version;
};
// Answered by Paired: all providers that the user has paired.
struct ListPaired {
  std::string secret;
};
// Revokes the tokens of the paired providers of this name. Answered by Paired with these providers.
struct RevokePaired {
  std::string secret;
  std::string name;
};
// Answered by Inspection.
struct Inspect {};
// Answered by a TraceFrame for each message from and to providers, until the link ends.
struct Trace {};
// Answered by CallsLogged.
struct ListCalls {
  int64_t after = 0;  // only calls with a greater sequence number
};

// A request to the process around the gateway. Answered by HostResult.
struct HostRequest {
  std::string requestId;  // the client's, unique on its link
  std::string method;     // of a-z, 0-9, "." and "-"
  Slice params;           // JSON text of an object
};

// Whether the rules and gates of a session would deny this use of a tool. Answered by HostResult,
// whose value has `allowed`, and if it is false `reason` and perhaps `by`.
struct PermissionCheck {
  std::string requestId;  // as in HostRequest
  std::string sessionId;
  std::string tool;
  Slice args;  // JSON text of an object
};

using ControlMessage = std::variant<OpenProvider, OpenControl, Drain, ListPaired, RevokePaired,
                                    Inspect, Trace, ListCalls, HostRequest, PermissionCheck>;

// --- Gateway → control client ---

struct PairedEntry {
  std::string name;
  std::string origin;  // of a web page, or empty
  std::string sessionId;
  std::string label;  // of the session
};
struct Paired {
  std::vector<PairedEntry> providers;
};
struct Inspection {
  std::string report;  // JSON text of an object: native/gateway/control/inspection.cc
};
enum class TraceKind : uint8_t { Opened, Received, Sent, Closed };
// A message of a provider's connection, including secrets.
struct TraceFrame {
  int64_t at = 0;  // Unix time in ms
  int64_t connection = 0;
  std::string provider;  // its name, if known
  TraceKind kind = TraceKind::Opened;
  Slice text;  // the message as it is; of Closed: the reason
};
struct CallsLogged {
  std::string calls;  // JSON text of an array: native/gateway/calls/call_log.cc
};
// The answer to HostRequest and PermissionCheck.
struct HostResult {
  std::string requestId;
  bool failed = false;
  std::string value;  // JSON text: the result, or of a failure an object with `code` and `message`
};
// The answer to UseProvider.
struct Used {
  std::string outcome;  // "asked", "here", "refused", "unknown"
  std::string message;
};

}  // namespace tap::protocol
