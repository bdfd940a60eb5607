#include "uv/session_port.h"

#include <utility>

namespace tap::uv {

// Outlives the port while libuv still works on the connection.
struct SessionPort::Connect {
  uv_connect_t request{};
  SessionPort* port = nullptr;
};

SessionPort::SessionPort(uv_loop_t* loop, const Limits& limits, SessionPortEvents events)
    : loop_(loop),
      limits_(limits),
      events_(std::move(events)),
      reader_(limits.bytes(Limit::LinkFrameBytes)),
      deadline_(loop, [this] {
        link::Actions actions;
        if (client_) client_->timersDue(now(loop_).steady, actions);
        run(actions);
      }) {}

SessionPort::~SessionPort() {
  events_ = {};
  close("the session is closed");
}

void SessionPort::connect(const std::string& path) {
  client_.emplace(limits_, true);
  stream_ = Stream::create(loop_, Stream::Kind::Pipe, streams_);
  connecting_ = new Connect;
  connecting_->port = this;
  connecting_->request.data = connecting_;
  uv_pipe_connect(&connecting_->request, stream_->pipe(), path.c_str(),
                  [](uv_connect_t* request, int status) {
                    const std::unique_ptr<Connect> connect(static_cast<Connect*>(request->data));
                    if (connect->port != nullptr) connect->port->onConnect(status);
                  });
}

void SessionPort::onConnect(int status) {
  connecting_ = nullptr;
  if (status != 0) return end(uv_strerror(status), false, true);
  stream_->start(*this);
  opened();
}

void SessionPort::attach(Server& server) {
  client_.emplace(limits_, false);
  server_ = &server;
  peer_ = server.openLocal({[this](const protocol::SessionEvent& event) { received(event); },
                            [this](const std::string& reason) {
                              server_ = nullptr;
                              end(reason, false, true);
                            }});
  opened();
}

void SessionPort::opened() {
  open_ = true;
  client_->opened(now(loop_).steady);
  deadline_.set(client_->nextDeadline());
  if (events_.connected) events_.connected();
}

void SessionPort::transmit(const protocol::SessionMessage& message) {
  if (!open_) return;
  if (server_ != nullptr) return server_->localMessage(peer_, message);
  const protocol::SplitText text = protocol::encode(message);
  std::string header;
  link::appendHeader(header, text.head.size());
  stream_->queue(header);
  stream_->queue(text.head);
  stream_->flush();
}

void SessionPort::send(const protocol::SessionMessage& message) {
  transmit(message);
}

void SessionPort::call(protocol::Call call, std::optional<Millis> timeout) {
  link::Actions actions;
  if (!open_) {
    protocol::CallResult result;
    result.callId = call.callId;
    result.failed = true;
    result.code = protocol::ErrorCode::Disconnected;
    result.text = "The call failed with DISCONNECTED: there is no connection to the tap gateway.";
    actions.emplace_back(link::SettleCall{std::move(result)});
  } else {
    client_->call(std::move(call), timeout, now(loop_).steady, actions);
  }
  run(actions);
}

void SessionPort::cancel(const std::string& callId, const std::string& reason) {
  link::Actions actions;
  if (client_) client_->cancel(callId, reason, actions);
  run(actions);
}

void SessionPort::received(const protocol::SessionEvent& event) {
  link::Actions actions;
  client_->received(event, now(loop_).steady, actions);
  run(actions);
}

void SessionPort::run(link::Actions& actions) {
  for (link::Action& action : actions) {
    if (const auto* send = std::get_if<link::SendMessage>(&action)) {
      transmit(send->message);
    } else if (const auto* settle = std::get_if<link::SettleCall>(&action)) {
      if (events_.settled) events_.settled(settle->result);
    } else if (const auto* deliver = std::get_if<link::Deliver>(&action)) {
      if (events_.event) events_.event(deliver->event);
    } else {
      return end("the gateway does not answer", true, true);
    }
  }
  if (client_) deadline_.set(over_ ? std::nullopt : client_->nextDeadline());
}

void SessionPort::onBytes(char* bytes, size_t size) {
  std::vector<Slice> bodies;
  const bool good = reader_.receive({bytes, size}, bodies);
  for (const Slice& body : bodies) {
    if (over_) return;
    const Result<protocol::SessionEvent, std::string> event = decoder_.event(body);
    if (event) received(event.value());
  }
  if (!good && !over_) end("the gateway sent a frame of an impossible size", false, true);
}

void SessionPort::onEnd(std::string_view reason) {
  end(std::string(reason), false, true);
}

void SessionPort::close(const std::string& why) {
  end(why, false, false);
}

void SessionPort::abandon() {
  events_ = {};
  close("the session is closed");
  streams_->closeAll();
}

void SessionPort::end(const std::string& reason, bool silent, bool report) {
  if (std::exchange(over_, true)) return;
  open_ = false;
  if (connecting_ != nullptr) connecting_->port = nullptr;
  if (server_ != nullptr) std::exchange(server_, nullptr)->closeLocal(peer_);
  deadline_.set(std::nullopt);
  stream_.reset();
  link::Actions actions;
  if (client_) client_->lost("the connection to the tap gateway ended: " + reason + ".", actions);
  for (const link::Action& action : actions) {
    const auto* settle = std::get_if<link::SettleCall>(&action);
    if (settle != nullptr && events_.settled) events_.settled(settle->result);
  }
  if (report && events_.closed) events_.closed(reason, silent);
}

}  // namespace tap::uv
