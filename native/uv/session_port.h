// A session's connection to a gateway: over the link to a detached gateway, or directly to a
// gateway in this process. Its user sees no difference.
#pragma once

#include <uv.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "link/frame.h"
#include "link/session_client.h"
#include "protocol/link/session_codec.h"
#include "uv/deadline.h"
#include "uv/server.h"
#include "uv/stream.h"

namespace tap::uv {

struct SessionPortEvents {
  std::function<void()> connected;
  std::function<void(const protocol::SessionEvent&)> event;
  // All calls that have settled in this input: a single call into JavaScript. It may move from
  // them.
  std::function<void(std::span<protocol::CallResult*>)> settled;
  // The gateway has not answered a ping, and is silent for `silence`; a gateway whose process is
  // not working has `most` time. Returns: whether its process is working.
  std::function<bool(Millis silence, Millis most)> quiet;
  // The port cannot be used any more. `silent`: the gateway is there but does not answer.
  std::function<void(const std::string& reason, bool silent)> closed;
  // Called once, whichever side has ended it. Afterwards only outcomes of new calls follow.
  std::function<void()> over;
};

class SessionPort final : public StreamHandler {
 public:
  SessionPort(uv_loop_t* loop, const Limits& limits, SessionPortEvents events);
  SessionPort(const SessionPort&) = delete;
  SessionPort& operator=(const SessionPort&) = delete;
  ~SessionPort() override;

  // Call one of these, once. connect: connected() or closed() follows, later. attach: connected()
  // from inside the call; the server must outlive the port or be closed before it is destroyed.
  void connect(const std::string& path);
  void attach(Server& server);

  void send(const protocol::LinkMessage& message);
  // Settles through settled(), exactly once. Returns false, without effect, if a call with this
  // callId is pending.
  [[nodiscard]] bool call(protocol::Call call, std::optional<Millis> timeout);
  void cancel(const std::string& callId, const std::string& reason);
  // The process at the other end of the link, or 0 if unknown (uv/peer_pid.h).
  [[nodiscard]] int64_t peerPid() const;
  // Pending calls settle as disconnected; closed() does not follow.
  void close(const std::string& why);
  // Ends without messages and without waiting, for a loop that ends.
  void abandon();

  void onBytes(char* bytes, size_t size) override;
  void onEnd(std::string_view reason) override;

 private:
  struct Connect;

  void onConnect(int status);
  void opened();
  void transmit(const protocol::LinkMessage& message);
  // Whether the gateway can receive arguments that are not an object, to refuse them.
  [[nodiscard]] bool canRefuse(std::string_view args) const;
  void received(protocol::SessionEvent&& event);
  // Carries out the pending actions, in order.
  void run();
  void runOther(const link::Action& action);
  void reportEnding();
  void settle();
  void end(const std::string& reason, bool silent, bool report);

  uv_loop_t* loop_;
  Clock clock_;
  Limits limits_;
  SessionPortEvents events_;
  std::optional<link::SessionClient> client_;
  protocol::SessionDecoder decoder_;
  link::FrameReader reader_;
  Deadline deadline_;
  std::shared_ptr<StreamHome> streams_ = std::make_shared<StreamHome>();
  StreamPtr stream_;
  link::Actions actions_;  // over a link they may borrow from the input that is being handled
  // Empty except while actions are carried out: reuses its memory.
  link::Actions ran_;
  std::vector<protocol::CallResult*> results_;
  bool running_ = false;
  bool corked_ = false;  // messages are gathered, up to a few kilobytes
  Connect* connecting_ = nullptr;
  Server* server_ = nullptr;  // of an attached session
  gateway::PeerId peer_{};
  struct Ending {
    std::string reason;
    bool silent;
  };
  std::optional<Ending> ending_;  // reported once all calls have settled
  bool open_ = false;
  bool over_ = false;
};

}  // namespace tap::uv
