#include "uv/server.h"

#include <utility>

#include "uv/files.h"
#include "uv/link_socket.h"
#include "uv/provider_socket.h"

namespace tap::uv {

using gateway::PeerId;
using protocol::LogLevel;

namespace {
// What came in during one turn of the loop, at most, before the answers leave.
constexpr size_t kGathered = size_t{256} * 1024;
// More of them come rarely, and their memory is given back.
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
      turnEnd_(loop, [this] { write(); }),
      reads_(
          loop,
          [this](PeerId session) {
            const auto link = links_.find(session);
            return link == links_.end() || link->second->backlog() == 0;
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
  auto socket = std::make_unique<ProviderSocket>(*this, peer, std::move(stream));
  socket->start();
  providers_.emplace(peer, std::move(socket));
  gateway_.providerAccepted(peer, clock_.now(), effects_);
  settle();
}

void Server::onPipeConnection(uv_stream_t* listener) {
  StreamPtr stream = Stream::create(loop_, Stream::Kind::Pipe, streams_);
  if (uv_accept(listener, stream->handle()) != 0) return;
  const PeerId peer = newPeer();
  auto socket = std::make_unique<LinkSocket>(*this, peer, std::move(stream),
                                             limits().bytes(Limit::LinkFrameBytes));
  socket->start();
  links_.emplace(peer, std::move(socket));
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
      const Slice text = std::move(message->text);  // whoever has a result has it alone
      gathered_ += text.size();
      gateway_.providerText(peer, text, at, effects_);
    } else if (const auto* oversize = std::get_if<ws::OversizeMessage>(&event)) {
      gateway_.providerOversize(peer, oversize->size, at, effects_);
    } else {
      over = true;
    }
  }
  settle();
  if (over) providerGone(peer);
}

void Server::received(PeerId peer, const std::vector<Slice>& bodies) {
  for (const Slice& body : bodies) {
    gathered_ += body.size();
    gateway_.sessionText(peer, body, clock_.now(), effects_);
  }
  settle();
}

void Server::providerGone(PeerId peer) {
  const auto at = providers_.find(peer);
  if (at == providers_.end()) return;
  at->second->forget();
  retire(std::move(at->second));
  providers_.erase(at);
  gateway_.providerGone(peer, clock_.now(), effects_);
  settle();
}

void Server::providerBacklog(PeerId peer, size_t bytes) {
  if (bytes == 0) return;
  gateway_.providerBacklog(peer, bytes, clock_.now(), effects_);
  settle();
}

void Server::linkGone(PeerId peer, std::string_view reason) {
  const auto at = links_.find(peer);
  if (at == links_.end()) return;
  at->second->close();
  retire(std::move(at->second));
  links_.erase(at);
  reads_.drop(peer);
  // A control client's link lasts for one question: its end is not worth a line.
  if (!gateway_.isControlClient(peer)) {
    effects_.emplace_back(
        gateway::LogLine{LogLevel::Info, "a session's link ended: " + std::string(reason)});
  }
  gateway_.sessionGone(peer, clock_.now(), effects_);
  settle();
}

PeerId Server::openLocal(LocalSession session) {
  const PeerId peer = newPeer();
  locals_.emplace(peer, std::move(session));
  return peer;
}

void Server::localMessage(PeerId peer, const protocol::LinkMessage& message) {
  if (!locals_.contains(peer)) return;
  gateway_.sessionMessage(peer, message, clock_.now(), effects_);
  settle();
  write();
}

void Server::closeLocal(PeerId peer) {
  if (locals_.erase(peer) == 0) return;
  gateway_.sessionGone(peer, clock_.now(), effects_);
  settle();
}

PeerId Server::openLocalProvider(LocalProvider provider) {
  const PeerId peer = newPeer();
  localProviders_.emplace(peer, std::move(provider));
  gateway_.providerAdmitted(peer, clock_.now(), effects_);
  settle();
  return peer;
}

void Server::localProviderText(PeerId peer, const Slice& text) {
  if (!localProviders_.contains(peer)) return;
  gateway_.providerText(peer, text, clock_.now(), effects_);
  settle();
  write();
}

std::string Server::status(const std::string& sessionId) {
  return gateway_.status(sessionId, clock_.now());
}

std::string Server::issueSpawnToken(const std::string& sessionId) {
  return closed_ ? std::string() : gateway_.issueSpawnToken(sessionId);
}

void Server::forgetSpawnToken(const std::string& token, bool revoked) {
  gateway_.forgetSpawnToken(token, revoked, clock_.now(), effects_);
  settle();
}

void Server::tellTimeline(const std::string& sessionId, LogLevel level, std::string_view text) {
  gateway_.tellTimeline(sessionId, level, text, clock_.now(), effects_);
  settle();
}

void Server::settle() {
  // What an effect sets off in this process (a session here answers at once) comes after the
  // effects that are due already: peers see everything in the order in which it was decided.
  if (std::exchange(settling_, true)) return;
  while (!effects_.empty()) {
    settled_.swap(effects_);
    for (gateway::Effect& effect : settled_) run(effect);
    settled_.clear();
    if (settled_.capacity() > kKeptEffects) gateway::Effects().swap(settled_);
  }
  settling_ = false;
  if (closed_) return;
  deadline_.set(gateway_.nextDeadline());
  if (gathered_ >= kGathered) return write();
  if (!unwritten_.empty()) turnEnd_.request();
}

void Server::write() {
  // A session in this process that is told of something may say something: that leaves with the
  // rest.
  if (settling_ || std::exchange(writing_, true)) return;
  gathered_ = 0;
  while (!unwritten_.empty()) {
    for (const PeerId peer : std::exchange(unwritten_, {})) write(peer);
    settle();
  }
  writing_ = false;
  turnEnd_.stop();
}

void Server::write(PeerId peer) {
  if (const auto at = providers_.find(peer); at != providers_.end()) {
    const size_t waiting = at->second->flush();
    if (waiting > 0) gateway_.providerBacklog(peer, waiting, clock_.now(), effects_);
  } else if (const auto link = links_.find(peer); link != links_.end()) {
    // A session's process that does not read is as good as gone; so is a control client that
    // traces, with less.
    const Limit most = gateway_.traces(peer) ? Limit::OutboundBytes : Limit::LinkFrameBytes;
    const size_t waiting = link->second->flush();
    if (waiting > 2 * limits().bytes(most)) return linkGone(peer, "it does not read");
    if (waiting == 0) reads_.resume(peer);
  } else if (const auto local = locals_.find(peer); local != locals_.end()) {
    const auto flush = local->second.flush;  // it may close itself
    flush();
  }
}

void Server::retire(std::unique_ptr<StreamHandler> socket) {
  struct Retired {
    uv_idle_t handle{};  // never started: only its end counts
    std::unique_ptr<StreamHandler> socket;
  };
  auto* retired = new Retired;
  retired->socket = std::move(socket);
  uv_idle_init(loop_, &retired->handle);
  retired->handle.data = retired;
  uv_close(reinterpret_cast<uv_handle_t*>(&retired->handle),
           [](uv_handle_t* handle) { delete static_cast<Retired*>(handle->data); });
}

void Server::run(gateway::Effect& effect) {
  if (const auto* send = std::get_if<gateway::SendText>(&effect)) {
    sendText(*send);
  } else if (auto* event = std::get_if<gateway::SendEvent>(&effect)) {
    sendEvent(*event);
  } else if (const auto* close = std::get_if<gateway::ClosePeer>(&effect)) {
    closePeer(*close);
  } else if (const auto* ping = std::get_if<gateway::PingProvider>(&effect)) {
    if (const auto at = providers_.find(ping->peer); at != providers_.end()) at->second->ping();
    queued(ping->peer);
  } else if (const auto* pause = std::get_if<gateway::PauseReading>(&effect)) {
    if (const auto at = providers_.find(pause->peer); at != providers_.end()) at->second->pause();
  } else if (const auto* resume = std::get_if<gateway::ResumeReading>(&effect)) {
    if (const auto at = providers_.find(resume->peer); at != providers_.end()) at->second->resume();
  } else if (const auto* folder = std::get_if<gateway::MakeFolder>(&effect)) {
    prepareFolder(folder->path);
  } else if (auto* read = std::get_if<gateway::ReadFile>(&effect)) {
    reads_.add(std::move(*read));
  } else if (const auto* line = std::get_if<gateway::LogLine>(&effect)) {
    if (events_.log) events_.log(line->level, line->text);
  } else if (const auto* tell = std::get_if<gateway::TellHost>(&effect)) {
    if (events_.host) events_.host(*tell);
  }
}

void Server::sendText(const gateway::SendText& send) {
  if (const auto at = providers_.find(send.peer); at != providers_.end()) {
    at->second->send(send.text);
    queued(send.peer);
  } else if (const auto local = localProviders_.find(send.peer); local != localProviders_.end()) {
    const auto receive = local->second.receive;  // it may end itself
    receive(send.text.view());
  }
}

void Server::sendEvent(gateway::SendEvent& send) {
  if (const auto at = links_.find(send.peer); at != links_.end()) {
    at->second->send(send.event);
    queued(send.peer);
  } else if (const auto local = locals_.find(send.peer); local != locals_.end()) {
    local->second.receive(std::move(send.event));
    queued(send.peer);
  }
}

void Server::queued(PeerId peer) {
  if (unwritten_.empty() || unwritten_.back() != peer) unwritten_.push_back(peer);
}

void Server::prepareFolder(const std::string& path) {
  const int failure = makeFolder(path);
  if (failure == 0 || !events_.log) return;
  events_.log(LogLevel::Warning, "cannot make the folder " + path + ": " + uv_strerror(failure));
}

void Server::closePeer(const gateway::ClosePeer& close) {
  if (const auto at = providers_.find(close.peer); at != providers_.end()) {
    at->second->close(close.code, close.reason);
    retire(std::move(at->second));
    providers_.erase(at);
  } else if (const auto link = links_.find(close.peer); link != links_.end()) {
    link->second->close();
    retire(std::move(link->second));
    links_.erase(link);
    reads_.drop(close.peer);
    gateway_.sessionGone(close.peer, clock_.now(), effects_);
  } else if (localProviders_.contains(close.peer)) {
    endLocalProvider(close.peer, close.reason);
  } else if (locals_.contains(close.peer)) {
    endLocal(close.peer, close.reason);
    gateway_.sessionGone(close.peer, clock_.now(), effects_);
  }
}

void Server::close(bool restarting) {
  closed_ = true;
  listeners_.close();
  reads_.close();
  const auto code =
      static_cast<uint16_t>(restarting ? ws::CloseCode::ServiceRestart : ws::CloseCode::GoingAway);
  for (auto& [peer, socket] : providers_) {
    socket->close(code, restarting ? "a newer gateway takes over" : "the gateway stops");
  }
  for (auto& [peer, socket] : links_) socket->close();
  for (auto& [peer, socket] : std::exchange(providers_, {})) retire(std::move(socket));
  for (auto& [peer, socket] : std::exchange(links_, {})) retire(std::move(socket));
  while (!locals_.empty()) endLocal(locals_.begin()->first, "the gateway was closed");
  while (!localProviders_.empty()) {
    endLocalProvider(localProviders_.begin()->first, "the gateway was closed");
  }
  deadline_.stop();
  turnEnd_.stop();
}

void Server::abandon() {
  close(false);
  streams_->closeAll();
}

void Server::endLocal(PeerId peer, const std::string& reason) {
  const auto at = locals_.find(peer);
  if (at == locals_.end()) return;
  const auto ended = std::move(at->second.ended);
  locals_.erase(at);
  if (ended) ended(reason);
}

void Server::endLocalProvider(PeerId peer, const std::string& reason) {
  const auto at = localProviders_.find(peer);
  if (at == localProviders_.end()) return;
  const auto ended = std::move(at->second.ended);
  localProviders_.erase(at);
  if (ended) ended(reason);
}

}  // namespace tap::uv
