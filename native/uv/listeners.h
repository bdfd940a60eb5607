// The sockets that a gateway listens on: for providers its port on both loopback addresses, for
// sessions a pipe.
#pragma once

#include <uv.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tap::uv {

class Listeners {
 public:
  // A client has connected and waits for a uv_accept of this listener. Called on the loop.
  using Connected = std::function<void(uv_stream_t* listener)>;

  Listeners(uv_loop_t* loop, Connected provider, Connected session);
  Listeners(const Listeners&) = delete;
  Listeners& operator=(const Listeners&) = delete;
  ~Listeners() { close(); }

  // Binds 127.0.0.1 and then ::1, the same port on both (0: any). A machine without IPv6 has the
  // first only. Returns 0 or a libuv error: UV_EADDRINUSE if either address is in use, since a
  // client of "localhost" might reach the other. After an error no socket listens.
  [[nodiscard]] int listenTcp(int port);
  // Returns 0 or a libuv error.
  [[nodiscard]] int listenPipe(const std::string& path);
  // The last bound port, or 0.
  [[nodiscard]] int port() const { return port_; }
  // Closes all listeners.
  void close();

 private:
  using Listener = std::unique_ptr<uv_handle_t, void (*)(uv_handle_t*)>;

  [[nodiscard]] int listenOn(const char* address, int port);
  [[nodiscard]] int listenOnBoth(int port);

  uv_loop_t* loop_;
  Connected provider_;
  Connected session_;
  int port_ = 0;
  std::vector<Listener> listeners_;
};

}  // namespace tap::uv
