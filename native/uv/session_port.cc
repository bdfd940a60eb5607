#include "uv/session_port.h"

#include <utility>

#include "base/json.h"
#include "protocol/provider/refused_requests.h"
#include "uv/peer_pid.h"

namespace tap::uv {

namespace {
// More actions are rare, and their memory is freed.
constexpr size_t kKeptActions = 1024;
}  // namespace

// Outlives the port while libuv still works on the connection.
struct SessionPort::Connect {
  uv_connect_t request{};
  SessionPort* port = nullptr;
};

SessionPort::SessionPort(uv_loop_t* loop, const Limits& limits, SessionPortEvents events)
    : loop_(loop),
      clock_(loop),
      limits_(limits),
      events_(std::move(events)),
      reader_(limits.bytes(Limit::LinkFrameBytes)),
      deadline_(loop, [this] {
        if (client_) client_->timersDue(clock_.steady(), actions_);
        run();
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
  peer_ = server.openSession(
      {[this](protocol::SessionEvent&& event) { received(std::move(event)); }, [this] { run(); },
       [this](const std::string& reason) {
         server_ = nullptr;
         end(reason, false, true);
       }});
  opened();
}

void SessionPort::opened() {
  open_ = true;
  client_->opened(clock_.steady());
  deadline_.set(client_->nextDeadline());
  if (events_.connected) events_.connected();
}

void SessionPort::transmit(const protocol::LinkMessage& message) {
  if (!open_) return;
  if (server_ != nullptr) return server_->sessionMessage(peer_, message);
  const protocol::SplitText text = protocol::encode(message);
  std::string header;
  link::appendHeader(header, text.head.size());
  stream_->queue(header);
  stream_->queue(text.head);
  if (corked_) {
    stream_->flushIfEnough();
  } else {
    stream_->flush();
  }
}

void SessionPort::send(const protocol::LinkMessage& message) {
  // Immediately, from inside a callback too: the callback may close the port next.
  transmit(message);
}

// The gateway refuses these arguments, so that people see them there. Invalid UTF-8 would break the
// frame around it.
bool SessionPort::canRefuse(std::string_view args) const {
  if (server_ != nullptr) return !args.empty();  // the gateway treats empty text as an empty object
  if (!open_) return false;
  const auto scanned = json::Scanner().scan(args);
  return scanned.ok() || scanned.error().tooDeep;
}

bool SessionPort::call(protocol::Call call, std::optional<Millis> timeout) {
  // The gateway reads the rest of them.
  if (!protocol::beginsAsObject(call.args.view()) && !canRefuse(call.args.view())) {
    const Result<Slice, std::string> args = decoder_.arguments(call.args);
    const std::string problem = args ? std::string() : args.error();
    actions_.emplace_back(
        link::SettleCall{protocol::refuseArguments(call.callId, call.tool, problem)});
  } else if (open_) {
    if (!client_->call(call.callId, timeout, clock_.steady())) return false;
    // Immediately, from inside a callback too: the first of many calls are sent while JavaScript
    // makes the others.
    transmit(std::move(call));
  } else {
    protocol::CallResult result;
    result.callId = call.callId;
    result.failed = true;
    result.code = protocol::ErrorCode::Disconnected;
    result.text = "The call failed with DISCONNECTED: there is no connection to the tap gateway.";
    actions_.emplace_back(link::SettleCall{std::move(result)});
  }
  run();
  return true;
}

void SessionPort::cancel(const std::string& callId, const std::string& reason) {
  if (client_ && client_->cancel(callId, reason, actions_)) {
    transmit(protocol::CancelCall{callId, reason});  // immediately, like a call that follows it
  }
  run();
}

int64_t SessionPort::peerPid() const {
  return stream_ && open_ ? pidOfPeer(*stream_->pipe()) : 0;
}

void SessionPort::received(protocol::SessionEvent&& event) {
  client_->received(std::move(event), clock_.steady(), actions_);
  if (stream_ && !running_) return;
  // Runs after this input.
  if (actions_.empty()) return;
  if (auto* settled = std::get_if<link::SettleCall>(&actions_.back())) {
    settled->result.data = settled->result.data.keep();
    settled->result.binary.base64 = settled->result.binary.base64.keep();
  } else if (auto* delivered = std::get_if<link::Deliver>(&actions_.back())) {
    auto* frame = std::get_if<protocol::TraceFrame>(&delivered->event);
    if (frame != nullptr) frame->text = frame->text.keep();
  }
}

void SessionPort::settle() {
  if (!results_.empty() && events_.settled) events_.settled(results_);
  results_.clear();
}

void SessionPort::run() {
  // JavaScript may make further calls from a callback: they run afterwards.
  if (std::exchange(running_, true)) return;
  while (!actions_.empty() || ending_) {
    ran_.swap(actions_);
    for (link::Action& action : ran_) {
      if (auto* settled = std::get_if<link::SettleCall>(&action)) {
        results_.push_back(&settled->result);
      } else {
        settle();
        runOther(action);
      }
    }
    settle();
    ran_.clear();
    if (ran_.capacity() > kKeptActions) link::Actions().swap(ran_);
    if (actions_.empty()) reportEnding();
  }
  running_ = false;
  if (client_ && !over_) deadline_.set(client_->nextDeadline());
  // Last, since it may free the port.
  if (const auto over = over_ ? std::exchange(events_.over, nullptr) : nullptr) over();
}

void SessionPort::reportEnding() {
  const std::optional<Ending> ending = std::exchange(ending_, std::nullopt);
  if (ending && events_.closed) events_.closed(ending->reason, ending->silent);
}

void SessionPort::runOther(const link::Action& action) {
  // Messages from before the gateway's end are still delivered.
  if (over_ && !ending_) return;
  if (const auto* send = std::get_if<link::SendMessage>(&action)) {
    transmit(send->message);
  } else if (const auto* deliver = std::get_if<link::Deliver>(&action)) {
    if (events_.event) events_.event(deliver->event);
  } else if (const auto* quiet = std::get_if<link::GatewayQuiet>(&action)) {
    const bool atWork =
        events_.quiet && events_.quiet(quiet->silence, limits_.time(Limit::LinkDeadMs));
    if (!over_) client_->quiet(quiet->silence, atWork, clock_.steady(), actions_);
  } else {
    end("the gateway does not answer", true, true);
  }
}

void SessionPort::onBytes(char* bytes, size_t size) {
  std::vector<Slice> bodies;
  const bool good = reader_.receive({bytes, size}, bodies);
  for (const Slice& body : bodies) {
    Result<protocol::SessionEvent, std::string> event = decoder_.event(body);
    if (event && client_) received(std::move(event.value()));
  }
  bodies.clear();  // so that a result has a single owner
  // The calls that follow from these results are sent a few kilobytes at a time.
  corked_ = true;
  run();
  corked_ = false;
  if (stream_) stream_->flush();
  if (!good && !over_) end("the gateway sent a frame of an impossible size", false, true);
}

void SessionPort::onEnd(std::string_view reason) {
  end(std::string(reason), false, true);
}

void SessionPort::close(const std::string& why) {
  ending_.reset();  // closed() does not follow
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
  if (server_ != nullptr) std::exchange(server_, nullptr)->closeSession(peer_);
  deadline_.stop();
  stream_.reset();
  if (client_) client_->lost("the connection to the tap gateway ended: " + reason + ".", actions_);
  if (report) ending_ = Ending{reason, silent};
  run();
}

}  // namespace tap::uv
