// The cost of idle providers: so many with ten tools each, connected, bound and synchronised, in
// the core and in the WebSocket layer. It ends without letting go of anything, for a heap profiler
// to see (memory.mjs).

#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "core_rig.h"
#include "websocket_client.h"
#include "ws/connection.h"

int main(int argc, char** argv) {
  const int providers = argc > 1 ? std::atoi(argv[1]) : 1;
  auto* rig = new tap::bench::CoreRig;
  // Of uv/provider_socket.h; its handshake is done.
  auto* connections = new std::vector<std::unique_ptr<tap::ws::Connection>>;
  for (int i = 0; i < providers; ++i) {
    connections->push_back(std::make_unique<tap::ws::Connection>(tap::ws::Caps{}));
    const std::string hello = tap::bench::helloText(i, 10);
    std::string frame;
    tap::bench::appendText(frame, hello);
    std::vector<tap::ws::Event> events;
    connections->back()->receive(frame.data(), frame.size(), events);
    rig->bind(hello);
    rig->synchronise();
  }
  ::_exit(0);
}
