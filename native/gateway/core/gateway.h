// The gateway: state and policy of the whole program, without I/O and without a clock.
//
// Each input comes with the time at which it happened. The gateway appends effects to the caller's
// list, in the order in which the caller must carry them out. Slices in effects may borrow from the
// input: carry the effects out before the input's buffer changes.
//
// A peer that the gateway has closed (ClosePeer) is forgotten at once; later inputs of such a peer
// are ignored, so the caller need not order its own teardown.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/slice.h"
#include "base/time.h"
#include "gateway/core/effects.h"
#include "gateway/core/turn.h"
#include "protocol/link/session_codec.h"
#include "protocol/link/session_messages.h"
#include "protocol/provider/provider_codec.h"

namespace tap::gateway {

class Gateway {
 public:
  explicit Gateway(Config config);
  // Not copyable: members hold pointers into the configuration's limits.
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;

  // The process is up; from now on the grace time runs while there is no session.
  void start(Now now, Effects& effects);
  // Known only once the listener is bound.
  void setPort(int64_t port) { state_.config.port = port; }

  // --- Providers: a TCP connection was accepted; its handshake is done (`origin`: the header, if
  // the client is a web page); it sent a text message, or one too large to be kept; it is gone.
  void providerAccepted(PeerId peer, Now now, Effects& effects);
  void providerUpgraded(PeerId peer, std::optional<std::string> origin, Now now, Effects& effects);
  // One in this process: there is no connection, and nothing to prove.
  void providerAdmitted(PeerId peer, bool feature, Now now, Effects& effects);
  void providerText(PeerId peer, const Slice& text, Now now, Effects& effects);
  void providerOversize(PeerId peer, uint64_t size, Now now, Effects& effects);
  void providerGone(PeerId peer, Now now, Effects& effects);
  // It has answered PingProvider.
  void providerPong(PeerId peer);
  // So much waits to be written to it, because it does not read. Over the cap it is closed.
  void providerBacklog(PeerId peer, size_t bytes, Now now, Effects& effects);

  // --- Sessions and control clients: a message that came over the link; one from this process,
  // where a call's arguments may be any text; the end of the link (or of the process that holds
  // it).
  void sessionText(PeerId peer, const Slice& text, Now now, Effects& effects);
  // The first frame of a link, which alone may be provider.open. Returns: whether the link is a
  // provider's from now on: the inputs for providers are for it, and none of these.
  [[nodiscard]] bool linkOpened(PeerId peer, const Slice& text, Now now, Effects& effects);
  void sessionMessage(PeerId peer, const protocol::LinkMessage& message, Now now, Effects& effects);
  void sessionGone(PeerId peer, Now now, Effects& effects);

  // Whether that link is a control client's, and whether the client traces (docs/session-link.md,
  // "control.open" and "trace").
  [[nodiscard]] bool isControlClient(PeerId peer) const {
    return state_.controlClients.contains(peer);
  }
  [[nodiscard]] bool traces(PeerId peer) const { return state_.controlClients.traces(peer); }

  // Goes on with the effect WelcomeSession.
  void welcomeSession(const WelcomeSession& session, Now now, Effects& effects);
  // Groups of tools that the session has from now on, too; nothing if there is no such session.
  // Said while the host is told of a new session, they are part of its first tools.
  void addGroups(const std::string& sessionId, const std::vector<std::string>& names, Now now,
                 Effects& effects);
  // The same, at once. The effect GroupsOpened says how it went, exactly once.
  void openGroups(OpeningNumber number, const std::string& sessionId,
                  const std::vector<std::string>& names, Now now, Effects& effects);
  // The tools of a feature that the user has disabled, as calls of them are told; none: it is on.
  void disableTools(const std::string& feature, const std::vector<std::string>& names);
  // A request of tap's own features to a session's process, with `params` as JSON text of an
  // object. The effect SessionAnswered has the answer, exactly once, at the latest after
  // `session-request-ms`.
  void requestFromSession(SessionRequestNumber number, const std::string& sessionId,
                          const std::string& request, const std::string& params, Now now,
                          Effects& effects);

  // --- Files: the outcome of the effect ReadFile.
  void fileRead(const CallId& callId, FileOutcome outcome, Now now, Effects& effects);

  // --- Slash commands: the text that the effect HostCommand has come to.
  void commandFinished(CommandNumber number, std::string_view text, Now now, Effects& effects);

  // --- Records: which are made from now on, and the outcome of the effect CommitRecord.
  void setRecords(RecordMode mode, bool spans) { state_.recorder.set(mode, spans); }
  void recordCommitted(uint64_t number, bool durable, Now now, Effects& effects);
  // --- Requests: the answer to the effect RequestHost, as JSON text of an object with `result`, or
  // with `error` (`code`, `message`).
  void answerRequest(RequestNumber number, std::string_view json, Now now, Effects& effects);

  // --- The process around it, which starts providers of its own. A token for one of a session's;
  // empty if there is no such session (any more). With the token goes the connection that it let
  // in.
  [[nodiscard]] std::string issueSpawnToken(const std::string& sessionId);
  // `revoked`: the user does not want that provider any more; else its process has ended.
  void forgetSpawnToken(const std::string& token, bool revoked, Now now, Effects& effects);
  // A token for tap's own features, good for provider.open and control.open over the link by any
  // number of links at once. Revoking it ends them.
  [[nodiscard]] std::string issueFeatureToken();
  void revokeFeatureToken(const std::string& token, Now now, Effects& effects);
  void writeTimeline(const std::string& sessionId, protocol::LogLevel level, std::string_view text,
                     Now now, Effects& effects);
  // PATH and the runtime of a session, as JSON text of an object in the shape of `register`; empty
  // if there is no such session. Not part of an inspection: it is for features alone.
  [[nodiscard]] std::string sessionEnvironment(const std::string& sessionId);
  // Everything that people want to know of the gateway: JSON text (docs/session-link.md,
  // "inspection").
  [[nodiscard]] std::string inspect(Now now);

  [[nodiscard]] const Limits& limits() const { return state_.config.limits; }

  // --- Time
  [[nodiscard]] std::optional<Time> nextDeadline() const { return state_.timers.next(); }
  void timersDue(Now now, Effects& effects);

  // For tests and diagnostics.
  [[nodiscard]] State& state() { return state_; }

 private:
  State state_;
  protocol::ProviderDecoder decoder_;
  protocol::SessionDecoder sessionDecoder_;
};

}  // namespace tap::gateway
