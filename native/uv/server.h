// The gateway on a loop: connections and the timer around the core. It turns what
// happens on sockets into the core's inputs, and carries the effects out.
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
  // Listeners' own, for providers and for sessions. A closed server gives UV_ESHUTDOWN.
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

  // For the providers that the process starts itself (gateway/core/host_inputs.cc). A closed server
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
  // ServerEvents::opened has the outcome, perhaps from inside this call.
  void openGroups(gateway::OpeningNumber number, const std::string& sessionId,
                  const std::vector<std::string>& names);
  // ServerEvents::answered has the answer, perhaps from inside this call.
  void requestFromSession(gateway::SessionRequestNumber number, const std::string& sessionId,
                          const std::string& request, const std::string& params);
  void answerRequest(gateway::RequestNumber number, std::string_view json);
  void writeTimeline(const std::string& sessionId, protocol::LogLevel level, std::string_view text);
  void commandFinished(gateway::CommandNumber number, std::string_view text);
  // From now on the gateway's records go there; null: nowhere. The sink must stay until another one
  // is set, or the server is gone.
  void setRecords(protocol::RecordSink* records, gateway::RecordMode mode, bool spans);
  [[nodiscard]] std::string sessionEnvironment(const std::string& sessionId) {
    return gateway_.sessionEnvironment(sessionId);
  }
  [[nodiscard]] std::string inspect() { return gateway_.inspect(clock_.now()); }

  // Ends everything: no listener, every connection told to go away (WebSocket close 1001 or, where
  // another gateway follows, 1012).
  void close(bool restarting);
  // The same where the loop itself ends: nothing is said and nobody waited for.
  void abandon();
  [[nodiscard]] bool closed() const { return closed_; }

  // --- For the sockets. Each handles the input in full.
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
  // So much waits for the provider to read.
  void providerBacklog(gateway::PeerId peer, size_t bytes);
  void linkDrained(gateway::PeerId peer) { reads_.resume(peer); }
  // The other end has left.
  void peerGone(gateway::PeerId peer);
  void linkGone(gateway::PeerId peer, std::string_view reason);
  // Frees a socket at the end of the loop's turn: it may end while its own bytes are being handled.
  // REQUIRES: it has released its stream.
  void retire(std::unique_ptr<StreamHandler> socket);

 private:
  void onTcpConnection(uv_stream_t* listener);
  void onPipeConnection(uv_stream_t* listener);
  [[nodiscard]] gateway::PeerId newPeer() { return gateway::PeerId{++lastPeer_}; }
  // Null if there is no such peer (any more).
  [[nodiscard]] Peer* find(gateway::PeerId peer) const;
  // The same, of those in this process: nobody speaks for another process's connection.
  [[nodiscard]] bool isInProcess(gateway::PeerId peer, Peer::Role role) const;
  [[nodiscard]] PeerPtr take(gateway::PeerId peer);

  // Carries the effects out and sets the timer. Output is queued.
  void settle();
  // What the inputs of one turn of the loop have queued leaves together: a session whose providers
  // all answer at once is written to and woken up once, or as often as there is enough for a write
  // of its own (LinkSocket::send). What JavaScript says leaves at once, unless it is in the middle
  // of this: nobody knows for how long it will keep the loop.
  void write();
  void write(gateway::PeerId peer);
  void recordCommitted(uint64_t number, bool durable);
  struct EffectRunner;  // one overload for each effect
  // write() is to flush it.
  void queued(gateway::PeerId peer);
  void prepareFolder(const std::string& path);
  void linkWritten(gateway::PeerId peer, size_t waiting);
  // Of all peers of this role the one with the most unread output is closed.
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
  std::vector<gateway::PeerId> unwritten_;  // may name one twice
  size_t gathered_ = 0;                     // bytes from peers since the last write()
  gateway::Effects effects_;
  gateway::Effects settled_;  // empty, but while they are carried out: its memory serves again
  bool settling_ = false;
  bool writing_ = false;
  bool closed_ = false;
};

}  // namespace tap::uv
