// A WebSocket server that sends every text message back, for test/ws-conformance: the ws layer on
// real sockets, as a provider's connection has it, with caps for the largest cases.
//
// stdout: the port, and a line feed. It ends when stdin does.
#include <uv.h>

#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "uv/stream.h"
#include "ws/connection.h"
#include "ws/handshake.h"

namespace {

using namespace tap;  // NOLINT(google-build-using-namespace)

constexpr uint64_t kMegabyte = uint64_t{1024} * 1024;
constexpr ws::Caps kCaps{
    .maxMessage = 16 * kMegabyte, .maxAnnounced = 64 * kMegabyte, .maxFragments = 1024 * 1024};

class Echo final : public uv::StreamHandler {
 public:
  explicit Echo(uv::StreamPtr stream) : stream_(std::move(stream)) {}

  void start() { stream_->start(*this); }
  void onBytes(char* bytes, size_t size) override {
    if (upgraded_) return receive(bytes, size);
    const ws::HandshakeState state = handshake_.feed({bytes, size});
    if (state == ws::HandshakeState::Incomplete) return;
    stream_->queue(handshake_.response());
    stream_->flush();
    if (state == ws::HandshakeState::Answered) return stream_.reset();
    upgraded_ = true;
    std::string leftover(handshake_.leftover());
    receive(leftover.data(), leftover.size());
  }
  void onEnd(std::string_view /*reason*/) override { stream_.reset(); }

 private:
  void receive(char* bytes, size_t size) {
    std::vector<ws::Event> events;
    connection_.receive(bytes, size, events);
    const std::string answer = connection_.takeOutput();
    // A close frame must be the last.
    if (connection_.writable()) stream_->queue(answer);
    bool over = false;
    for (const ws::Event& event : events) {
      if (const auto* message = std::get_if<ws::TextMessage>(&event)) echo(message->text);
      over = std::holds_alternative<ws::Closed>(event);
    }
    if (!connection_.writable()) stream_->queue(answer);
    stream_->flush();
    if (over) stream_.reset();
  }
  void echo(const Slice& text) {
    std::string header;
    ws::appendFrameHeader(header, ws::Opcode::Text, text.size());
    stream_->queue(header);
    stream_->queue(text.keep());
  }

  uv::StreamPtr stream_;
  ws::Handshake handshake_{"{}"};
  ws::Connection connection_{kCaps};
  bool upgraded_ = false;
};

struct Echoes {
  std::shared_ptr<uv::StreamHome> home = std::make_shared<uv::StreamHome>();
  std::vector<std::unique_ptr<Echo>> all;

  void accept(uv_stream_t* listener) {
    uv::StreamPtr stream = uv::Stream::create(listener->loop, uv::Stream::Kind::Tcp, home);
    if (uv_accept(listener, stream->handle()) != 0) return;
    all.push_back(std::make_unique<Echo>(std::move(stream)));
    all.back()->start();
  }
};

int listen(uv_tcp_t& tcp) {
  sockaddr_in address{};
  uv_ip4_addr("127.0.0.1", 0, &address);
  uv_tcp_bind(&tcp, reinterpret_cast<const sockaddr*>(&address), 0);
  return uv_listen(reinterpret_cast<uv_stream_t*>(&tcp), 16, [](uv_stream_t* stream, int status) {
    if (status == 0) static_cast<Echoes*>(stream->data)->accept(stream);
  });
}

int boundTcpPort(const uv_tcp_t& tcp) {
  sockaddr_in address{};
  int size = sizeof address;
  uv_tcp_getsockname(&tcp, reinterpret_cast<sockaddr*>(&address), &size);
  const auto* port = reinterpret_cast<const unsigned char*>(&address.sin_port);
  return port[0] << 8 | port[1];
}

}  // namespace

int main() {
  uv_loop_t* loop = uv_default_loop();
  Echoes echoes;
  uv_tcp_t tcp;
  uv_tcp_init(loop, &tcp);
  tcp.data = &echoes;
  if (listen(tcp) != 0) return 1;
  std::cout << boundTcpPort(tcp) << std::endl;
  uv_pipe_t input;
  uv_pipe_init(loop, &input, 0);
  uv_pipe_open(&input, 0);
  uv_read_start(
      reinterpret_cast<uv_stream_t*>(&input),
      [](uv_handle_t*, size_t, uv_buf_t* buffer) {
        static char nothing[64];
        *buffer = uv_buf_init(nothing, sizeof nothing);
      },
      [](uv_stream_t* stream, ssize_t count, const uv_buf_t*) {
        if (count < 0) uv_stop(stream->loop);
      });
  uv_run(loop, UV_RUN_DEFAULT);
  echoes.home->closeAll();
  uv_run(loop, UV_RUN_NOWAIT);
  return 0;
}
