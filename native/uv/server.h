// The gateway on a loop: connections and a timer around the core. It turns socket events into the
// core's inputs, and carries out the core's effects.
#pragma once

#include <uv.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "gateway/core/gateway.h"
#include "protocol/link/session_messages.h"
#include "uv/deadline.h"
#include "uv/file_reads.h"
#include "uv/flush_scheduler.h"
#include "uv/in_process.h"
#include "uv/listeners.h"
#include "uv/peer.h"
#include "uv/stream.h"
#include "ws/connection.h"

namespace tap::uv {

class LinkSocket;

// Notifications for the process around the gateway. Called on the loop, never from inside the core.
struct ServerEvents {
  std::function<void(protocol::LogLevel, const std::string&)> log;
  std::function<void(const gateway::NotifyHost&)> host;
  std::function<void(const gateway::HostCommand&)> command;
  std::function<void(const gateway::RequestHost&)> request;
  std::function<void(const gateway::RequestDropped&)> dropped;
  std::function<void(const gateway::GroupsOpened&)> opened;
  std::function<void(const gateway::SessionAnswered&)> answered;
};

class Server {
 public:
  Server(uv_loop_t* loop, gateway::Config config, ServerEvents events);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  // Starts the grace time. Call once.
  void start();
  // As Listeners, for providers and for sessions. A closed server returns UV_ESHUTDOWN.
  [[nodiscard]] int listenTcp(int port);
  [[nodiscard]] int listenPipe(const std::string& path);
  [[nodiscard]] int port() const { return listeners_.port(); }
  // The body of a plain GET / (JSON text).
  void setPlainAnswer(std::string json) { plainAnswer_ = std::move(json); }

  // A session in this process.
  [[nodiscard]] gateway::PeerId openSession(InProcessSession::Handlers handlers);
  void sessionMessage(gateway::PeerId session, const protocol::LinkMessage& message);
  void closeSession(gateway::PeerId session);

  // A provider in this process. Its text must own its bytes.
  [[nodiscard]] gateway::PeerId openProvider(InProcessProvider::Handlers handlers, bool feature);
  void providerText(gateway::PeerId provider, const Slice& text);

  // For providers that the process itself starts (gateway/core/host_inputs.cc). A closed server
  // issues no token.
  [[nodiscard]] std::string issueSpawnToken(const std::string& sessionId);
  void forgetSpawnToken(const std::string& token, bool revoked);
  // For tap's own features, likewise.
  [[nodiscard]] std::string issueFeatureToken();
  void revokeFeatureToken(const std::string& token);
  void addGroups(const std::string& sessionId, const std::vector<std::string>& names);
  void disableTools(const std::string& feature, const std::vector<std::string>& names) {
    gateway_.disableTools(feature, names);
  }
  // Reports through ServerEvents::opened, perhaps from inside this call.
  void openGroups(gateway::OpeningNumber number, const std::string& sessionId,
                  const std::vector<std::string>& names);
  // Reports through ServerEvents::answered, perhaps from inside this call.
  void requestFromSession(gateway::SessionRequestNumber number, const std::string& sessionId,
                          const std::string& request, const std::string& params);
  void answerRequest(gateway::RequestNumber number, std::string_view json);
  void writeTimeline(const std::string& sessionId, protocol::LogLevel level, std::string_view text);
  void commandFinished(gateway::CommandNumber number, std::string_view text);
  // The sink of the gateway's records from now on; null: no records. The sink must live until a new
  // sink is set, or the server is destroyed.
  void setRecords(protocol::RecordSink* records, gateway::RecordMode mode, bool spans);
  [[nodiscard]] std::string sessionEnvironment(const std::string& sessionId) {
    return gateway_.sessionEnvironment(sessionId);
  }
  [[nodiscard]] std::string inspect() { return gateway_.inspect(clock_.now()); }

  // Closes the listeners and every connection (WebSocket close 1001, or 1012 if a new gateway
  // follows).
  void close(bool restarting);
  // Ends without close messages and without waiting, for a loop that ends.
  void abandon();
  [[nodiscard]] bool closed() const { return closed_; }

  // --- For the sockets. Each call handles its input completely.
  [[nodiscard]] const std::string& plainAnswer() const { return plainAnswer_; }
  [[nodiscard]] const Limits& limits() const { return gateway_.limits(); }
  // `origin`: the header, if the client is a web page.
  void upgraded(gateway::PeerId peer, std::optional<std::string> origin);
  void received(gateway::PeerId peer, std::vector<ws::Event>& events);
  // `role`: the link's.
  void received(gateway::PeerId peer, Peer::Role role, const std::vector<Slice>& bodies);
  // The first message of a link.
  void opened(gateway::PeerId peer, LinkSocket& link, const Slice& body);
  void providerPong(gateway::PeerId peer) { gateway_.providerPong(peer); }
  // The provider has this many unread bytes.
  void providerBacklog(gateway::PeerId peer, size_t bytes);
  void linkDrained(gateway::PeerId peer) { reads_.resume(peer); }
  // The other end has left.
  void peerGone(gateway::PeerId peer);
  void linkGone(gateway::PeerId peer, std::string_view reason);
  // Frees a socket at the end of the loop's iteration: it may end while its own bytes are being
  // handled. REQUIRES: it has released its stream.
  void retire(std::unique_ptr<StreamHandler> socket);

 private:
  void onTcpConnection(uv_stream_t* listener);
  void onPipeConnection(uv_stream_t* listener);
  [[nodiscard]] gateway::PeerId newPeer() { return gateway::PeerId{++lastPeer_}; }
  // Null if there is no such peer (any more).
  [[nodiscard]] Peer* find(gateway::PeerId peer) const;
  // Whether the peer is in this process: a caller may not act for the connection of a different
  // process.
  [[nodiscard]] bool isInProcess(gateway::PeerId peer, Peer::Role role) const;
  [[nodiscard]] PeerPtr take(gateway::PeerId peer);

  // Carries out the effects and sets the timer. Output is queued.
  void settle();
  // Writes the output that the inputs of an iteration have queued: a session whose providers all
  // answer at once gets one write and wakes up once, or a write per few kilobytes
  // (LinkSocket::sendEvent). Messages from JavaScript are written immediately, unless this function
  // is running: JavaScript may keep the loop busy.
  void write();
  void write(gateway::PeerId peer);
  void recordCommitted(uint64_t number, bool durable);
  struct EffectRunner;  // an overload for each effect
  // Marks the peer for write().
  void queued(gateway::PeerId peer);
  void prepareFolder(const std::string& path);
  void linkWritten(gateway::PeerId peer, size_t waiting);
  // Closes the peer of this role with the most unread output.
  void boundUnread(Peer::Role role);
  void unreadLink(gateway::PeerId peer);
  void forgetLink(gateway::PeerId peer);

  uv_loop_t* loop_;
  Clock clock_;
  gateway::Gateway gateway_;
  ServerEvents events_;
  protocol::RecordSink* records_ = nullptr;
  std::shared_ptr<StreamHome> streams_ = std::make_shared<StreamHome>();
  Deadline deadline_;
  FlushScheduler flushScheduler_;
  FileReads reads_;
  Listeners listeners_;
  std::string plainAnswer_ = "{}";
  uint64_t lastPeer_ = 0;
  std::unordered_map<gateway::PeerId, PeerPtr> peers_;
  std::vector<gateway::PeerId> unwritten_;  // may contain duplicates
  size_t gathered_ = 0;                     // bytes from peers since the last write()
  gateway::Effects effects_;
  gateway::Effects settled_;  // empty except while effects are carried out: reuses its memory
  bool settling_ = false;
  bool writing_ = false;
  bool closed_ = false;
};

}  // namespace tap::uv
