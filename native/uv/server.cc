#include "uv/server.h"

#include <utility>

#include "uv/files.h"
#include "uv/link_socket.h"
#include "uv/provider_socket.h"

namespace tap::uv {

using gateway::PeerId;
using protocol::LogLevel;

namespace {
// The maximum of input in an iteration of the loop before the answers are sent.
constexpr size_t kGathered = size_t{256} * 1024;
// More effects are rare, and their memory is freed.
constexpr size_t kKeptEffects = 1024;
}  // namespace

Server::Server(uv_loop_t* loop, gateway::Config config, ServerEvents events)
    : loop_(loop),
      clock_(loop),
      gateway_(std::move(config)),
      events_(std::move(events)),
      deadline_(loop,
                [this] {
                  gateway_.timersDue(clock_.now(), effects_);
                  settle();
                }),
      flushScheduler_(loop, [this] { write(); }),
      reads_(
          loop,
          [this](PeerId session) {
            const Peer* link = find(session);
            return link == nullptr || link->backlog() == 0;
          },
          [this](const gateway::CallId& callId, gateway::FileOutcome outcome) {
            gateway_.fileRead(callId, std::move(outcome), clock_.now(), effects_);
            settle();
          }),
      listeners_(
          loop, [this](uv_stream_t* listener) { onTcpConnection(listener); },
          [this](uv_stream_t* listener) { onPipeConnection(listener); }) {}

Server::~Server() {
  close(false);
}

void Server::start() {
  gateway_.start(clock_.now(), effects_);
  settle();
}

int Server::listenTcp(int port) {
  if (closed_) return UV_ESHUTDOWN;
  const int failure = listeners_.listenTcp(port);
  if (failure == 0) gateway_.setPort(listeners_.port());
  return failure;
}

int Server::listenPipe(const std::string& path) {
  return closed_ ? static_cast<int>(UV_ESHUTDOWN) : listeners_.listenPipe(path);
}

void Server::onTcpConnection(uv_stream_t* listener) {
  StreamPtr stream = Stream::create(loop_, Stream::Kind::Tcp, streams_);
  if (uv_accept(listener, stream->handle()) != 0) return;
  const PeerId peer = newPeer();
  auto* socket = new ProviderSocket(*this, peer, std::move(stream));
  peers_.emplace(peer, socket);
  socket->start();
  gateway_.providerAccepted(peer, clock_.now(), effects_);
  settle();
}

void Server::onPipeConnection(uv_stream_t* listener) {
  StreamPtr stream = Stream::create(loop_, Stream::Kind::Pipe, streams_);
  if (uv_accept(listener, stream->handle()) != 0) return;
  const PeerId peer = newPeer();
  auto* socket = new LinkSocket(*this, peer, std::move(stream), limits());
  peers_.emplace(peer, socket);
  socket->start();
}

void Server::upgraded(PeerId peer, std::optional<std::string> origin) {
  gateway_.providerUpgraded(peer, std::move(origin), clock_.now(), effects_);
  settle();
}

void Server::received(PeerId peer, std::vector<ws::Event>& events) {
  const Now at = clock_.now();
  bool over = false;
  for (ws::Event& event : events) {
    if (auto* message = std::get_if<ws::TextMessage>(&event)) {
      const Slice text = std::move(message->text);  // so that a result has a single owner
      gathered_ += text.size();
      gateway_.providerText(peer, text, at, effects_);
    } else if (const auto* oversize = std::get_if<ws::OversizeMessage>(&event)) {
      gateway_.providerOversize(peer, oversize->size, at, effects_);
    } else {
      over = true;
    }
  }
  settle();
  if (over) peerGone(peer);
}

void Server::received(PeerId peer, Peer::Role role, const std::vector<Slice>& bodies) {
  for (const Slice& body : bodies) {
    gathered_ += body.size();
    switch (role) {
      case Peer::Role::Provider:
        gateway_.providerText(peer, body, clock_.now(), effects_);
        break;
      case Peer::Role::Link:
        gateway_.sessionText(peer, body, clock_.now(), effects_);
        break;
    }
  }
  settle();
}

void Server::opened(PeerId peer, LinkSocket& link, const Slice& body) {
  if (gateway_.linkOpened(peer, body, clock_.now(), effects_)) link.serveProvider();
  settle();
}

Peer* Server::find(PeerId peer) const {
  const auto at = peers_.find(peer);
  return at == peers_.end() ? nullptr : at->second.get();
}

bool Server::isInProcess(PeerId peer, Peer::Role role) const {
  const Peer* found = find(peer);
  return found != nullptr && found->isInProcess() && found->role() == role;
}

PeerPtr Server::take(PeerId peer) {
  const auto at = peers_.find(peer);
  if (at == peers_.end()) return nullptr;
  PeerPtr taken = std::move(at->second);
  peers_.erase(at);
  return taken;
}

void Server::peerGone(PeerId peer) {
  const PeerPtr gone = take(peer);
  if (!gone) return;
  gone->drop();
  switch (gone->role()) {
    case Peer::Role::Provider:
      gateway_.providerGone(peer, clock_.now(), effects_);
      break;
    case Peer::Role::Link:
      forgetLink(peer);
      break;
  }
  settle();
}

void Server::linkGone(PeerId peer, std::string_view reason) {
  const Peer* link = find(peer);
  if (link == nullptr) return;
  // A control client's link serves a single request: its end is not logged.
  if (link->role() == Peer::Role::Link && !gateway_.isControlClient(peer)) {
    effects_.emplace_back(
        gateway::LogLine{LogLevel::Info, "a session's link ended: " + std::string(reason)});
  }
  peerGone(peer);
}

void Server::forgetLink(PeerId peer) {
  reads_.drop(peer);
  gateway_.sessionGone(peer, clock_.now(), effects_);
}

void Server::providerBacklog(PeerId peer, size_t bytes) {
  if (bytes == 0) return;
  gateway_.providerBacklog(peer, bytes, clock_.now(), effects_);
  settle();
}

PeerId Server::openSession(InProcessSession::Handlers handlers) {
  const PeerId peer = newPeer();
  peers_.emplace(peer, new InProcessSession(std::move(handlers)));
  return peer;
}

void Server::sessionMessage(PeerId session, const protocol::LinkMessage& message) {
  if (!isInProcess(session, Peer::Role::Link)) return;
  gateway_.sessionMessage(session, message, clock_.fresh(), effects_);
  settle();
  write();
}

void Server::closeSession(PeerId session) {
  if (isInProcess(session, Peer::Role::Link)) peerGone(session);
}

PeerId Server::openProvider(InProcessProvider::Handlers handlers, bool feature) {
  const PeerId peer = newPeer();
  peers_.emplace(peer, new InProcessProvider(std::move(handlers)));
  gateway_.providerAdmitted(peer, feature, clock_.fresh(), effects_);
  settle();
  return peer;
}

void Server::providerText(PeerId provider, const Slice& text) {
  if (!isInProcess(provider, Peer::Role::Provider)) return;
  gateway_.providerText(provider, text, clock_.fresh(), effects_);
  settle();
  write();
}

void Server::recordCommitted(uint64_t number, bool durable) {
  gateway_.recordCommitted(number, durable, clock_.now(), effects_);
  settle();
}

void Server::setRecords(protocol::RecordSink* records, gateway::RecordMode mode, bool spans) {
  if (records_ != nullptr) records_->onCommitted({});
  records_ = records;
  gateway_.setRecords(records == nullptr ? gateway::RecordMode::Off : mode, spans);
  if (records == nullptr) return;
  records->onCommitted([this](uint64_t number, bool durable) { recordCommitted(number, durable); });
}

struct Server::EffectRunner {
  Server& server;

  void operator()(const gateway::SendText& send) const {
    Peer* peer = server.find(send.peer);
    if (peer != nullptr && peer->sendText(send.text)) server.queued(send.peer);
  }
  void operator()(gateway::SendEvent& send) const {
    Peer* peer = server.find(send.peer);
    if (peer != nullptr && peer->sendEvent(std::move(send.event))) server.queued(send.peer);
  }
  void operator()(const gateway::ClosePeer& close) const {
    const PeerPtr peer = server.take(close.peer);
    if (!peer) return;
    peer->close(close.code, close.reason);
    if (peer->role() == Peer::Role::Link) server.forgetLink(close.peer);
  }
  void operator()(const gateway::PingProvider& ping) const {
    Peer* peer = server.find(ping.peer);
    if (peer != nullptr && peer->ping()) server.queued(ping.peer);
  }
  void operator()(const gateway::PauseReading& pause) const {
    if (Peer* peer = server.find(pause.peer)) peer->pause();
  }
  void operator()(const gateway::ResumeReading& resume) const {
    if (Peer* peer = server.find(resume.peer)) peer->resume();
  }
  void operator()(const gateway::MakeFolder& folder) const { server.prepareFolder(folder.path); }
  void operator()(gateway::ReadFile& read) const { server.reads_.add(std::move(read)); }
  void operator()(const gateway::LogLine& line) const {
    if (server.events_.log) server.events_.log(line.level, line.text);
  }
  void operator()(const gateway::NotifyHost& tell) const {
    if (server.events_.host) server.events_.host(tell);
  }
  void operator()(const gateway::HostCommand& command) const {
    if (server.events_.command) server.events_.command(command);
  }
  void operator()(const gateway::WriteRecord& write) const {
    if (server.records_ != nullptr) server.records_->append(*write.row);
    write.row->payloads = {};
  }
  void operator()(const gateway::CommitRecord& commit) const {
    if (server.records_ == nullptr) return server.recordCommitted(commit.number, false);
    server.records_->commit(*commit.row, commit.number);
    commit.row->payloads = {};
  }
  void operator()(const gateway::RequestHost& request) const {
    if (server.events_.request) server.events_.request(request);
  }
  void operator()(const gateway::RequestDropped& dropped) const {
    if (server.events_.dropped) server.events_.dropped(dropped);
  }
  void operator()(const gateway::GroupsOpened& opened) const {
    if (server.events_.opened) server.events_.opened(opened);
  }
  void operator()(const gateway::SessionAnswered& answered) const {
    if (server.events_.answered) server.events_.answered(answered);
  }
  void operator()(const gateway::WelcomeSession& session) const {
    server.gateway_.welcomeSession(session, server.clock_.now(), server.effects_);
  }
};

namespace {

// Does not compile if the runner lacks an overload for an effect. So does std::visit, but it may
// throw, and effects run in destructors.
template <class Runner, class... Effects>
void runEffect(const Runner& run, std::variant<Effects...>& effect) {
  const auto runIf = [&](auto* found) {
    if (found != nullptr) run(*found);
  };
  (runIf(std::get_if<Effects>(&effect)), ...);
}

}  // namespace

void Server::settle() {
  // An effect can cause inputs in this process (a session here answers immediately). They run after
  // the pending effects: peers see all effects in the order of the decisions.
  if (std::exchange(settling_, true)) return;
  while (!effects_.empty()) {
    settled_.swap(effects_);
    for (gateway::Effect& effect : settled_) runEffect(EffectRunner{*this}, effect);
    settled_.clear();
    if (settled_.capacity() > kKeptEffects) gateway::Effects().swap(settled_);
  }
  settling_ = false;
  if (closed_) return;
  deadline_.set(gateway_.nextDeadline());
  if (gathered_ >= kGathered) return write();
  if (!unwritten_.empty()) flushScheduler_.request();
}

void Server::write() {
  // A session in this process may answer an event with messages: they are written in the same pass.
  if (settling_ || std::exchange(writing_, true)) return;
  gathered_ = 0;
  while (!unwritten_.empty()) {
    for (const PeerId peer : std::exchange(unwritten_, {})) write(peer);
    settle();
  }
  writing_ = false;
  flushScheduler_.stop();
}

void Server::write(PeerId peer) {
  Peer* found = find(peer);
  if (found == nullptr) return;
  const Peer::Role role = found->role();  // flush() may end it
  const size_t waiting = found->flush();
  switch (role) {
    case Peer::Role::Provider:
      if (waiting > 0) gateway_.providerBacklog(peer, waiting, clock_.now(), effects_);
      break;
    case Peer::Role::Link:
      linkWritten(peer, waiting);
      break;
  }
  if (waiting > 0) boundUnread(role);
}

void Server::retire(std::unique_ptr<StreamHandler> socket) {
  struct Retired {
    uv_idle_t handle{};  // never started: only its close callback is used
    std::unique_ptr<StreamHandler> socket;
  };
  auto* retired = new Retired;
  retired->socket = std::move(socket);
  uv_idle_init(loop_, &retired->handle);
  retired->handle.data = retired;
  uv_close(reinterpret_cast<uv_handle_t*>(&retired->handle),
           [](uv_handle_t* handle) { delete static_cast<Retired*>(handle->data); });
}

void Server::queued(PeerId peer) {
  if (unwritten_.empty() || unwritten_.back() != peer) unwritten_.push_back(peer);
}

void Server::prepareFolder(const std::string& path) {
  const int failure = makeFolder(path);
  if (failure == 0 || !events_.log) return;
  events_.log(LogLevel::Warning, "cannot make the folder " + path + ": " + uv_strerror(failure));
}

void Server::close(bool restarting) {
  closed_ = true;
  setRecords(nullptr, gateway::RecordMode::Off, false);
  listeners_.close();
  reads_.close();
  const auto code =
      static_cast<uint16_t>(restarting ? ws::CloseCode::ServiceRestart : ws::CloseCode::GoingAway);
  const std::string_view reason = restarting ? "a newer gateway takes over" : "the gateway stops";
  for (const auto& [id, peer] : std::exchange(peers_, {})) peer->close(code, reason);
  deadline_.stop();
  flushScheduler_.stop();
}

void Server::abandon() {
  close(false);
  streams_->closeAll();
}

}  // namespace tap::uv
