// What idle providers cost: so many with ten tools each, connected, bound and synchronised, in the
// core and in the WebSocket layer. It ends without letting go of anything, for a heap profiler to
// see (memory.mjs).

#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "core_rig.h"
#include "websocket_client.h"
#include "ws/connection.h"
#include "ws/handshake.h"

namespace {

// What uv/provider_socket.h holds beside its stream.
struct Socket {
  tap::ws::Handshake handshake{"{}"};
  tap::ws::Connection connection{tap::ws::Caps{}};
};

void shakeHands(Socket& socket) {
  (void)socket.handshake.feed(
      "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n");
}

}  // namespace

int main(int argc, char** argv) {
  const int providers = argc > 1 ? std::atoi(argv[1]) : 1;
  auto* rig = new tap::bench::CoreRig;
  auto* sockets = new std::vector<std::unique_ptr<Socket>>;
  for (int i = 0; i < providers; ++i) {
    sockets->push_back(std::make_unique<Socket>());
    shakeHands(*sockets->back());
    const std::string hello = tap::bench::helloOf(i, 10);
    std::string frame;
    tap::bench::appendText(frame, hello);
    std::vector<tap::ws::Event> events;
    sockets->back()->connection.receive(frame.data(), frame.size(), events);
    rig->bind(hello);
    rig->synchronise();
  }
  ::_exit(0);
}
