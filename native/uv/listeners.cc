#include "uv/listeners.h"

#include <string_view>
#include <utility>

#ifndef _WIN32
#include <sys/un.h>
#endif

namespace tap::uv {

namespace {

constexpr int kBacklog = 511;  // as Node: a full queue costs a client a second
constexpr int kAnyPortTries = 10;

void closeTcp(uv_handle_t* handle) {
  uv_close(handle, [](uv_handle_t* closed) { delete reinterpret_cast<uv_tcp_t*>(closed); });
}
void closePipe(uv_handle_t* handle) {
  uv_close(handle, [](uv_handle_t* closed) { delete reinterpret_cast<uv_pipe_t*>(closed); });
}

int boundPort(const uv_tcp_t* tcp) {
  sockaddr_storage address{};
  int size = sizeof address;
  if (uv_tcp_getsockname(tcp, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  // Both families have the port at the same offset, in network byte order.
  const auto* bytes = reinterpret_cast<const unsigned char*>(&address);
  return bytes[2] << 8 | bytes[3];
}

bool noSuchAddress(int failure) {
  return failure == UV_EADDRNOTAVAIL || failure == UV_EAFNOSUPPORT || failure == UV_EINVAL;
}

}  // namespace

Listeners::Listeners(uv_loop_t* loop, Connected provider, Connected session)
    : loop_(loop), provider_(std::move(provider)), session_(std::move(session)) {}

int Listeners::listenOn(const char* address, int port) {
  sockaddr_storage storage{};
  const bool v6 = std::string_view(address).find(':') != std::string_view::npos;
  const int parsed = v6 ? uv_ip6_addr(address, port, reinterpret_cast<sockaddr_in6*>(&storage))
                        : uv_ip4_addr(address, port, reinterpret_cast<sockaddr_in*>(&storage));
  if (parsed != 0) return parsed;
  auto* tcp = new uv_tcp_t;
  uv_tcp_init(loop_, tcp);
  tcp->data = this;
  Listener listener(reinterpret_cast<uv_handle_t*>(tcp), closeTcp);
  int failure = uv_tcp_bind(tcp, reinterpret_cast<const sockaddr*>(&storage),
                            v6 ? static_cast<unsigned>(UV_TCP_IPV6ONLY) : 0U);
  // libuv reports an address in use here, not from bind.
  if (failure == 0) {
    failure = uv_listen(reinterpret_cast<uv_stream_t*>(tcp), kBacklog,
                        [](uv_stream_t* stream, int status) {
                          if (status == 0) static_cast<Listeners*>(stream->data)->provider_(stream);
                        });
  }
  if (failure != 0) return failure;
  port_ = boundPort(tcp);
  listeners_.push_back(std::move(listener));
  return 0;
}

int Listeners::listenOnBoth(int port) {
  if (const int failure = listenOn("127.0.0.1", port)) return failure;
  const int failure = listenOn("::1", port_);
  if (failure == 0 || noSuchAddress(failure)) return 0;
  close();
  return failure;
}

int Listeners::listenTcp(int port) {
  int failure = listenOnBoth(port);
  // With any port, a port that is free on one address may be in use on the other.
  for (int tries = 0; failure == UV_EADDRINUSE && port == 0 && tries < kAnyPortTries; ++tries) {
    failure = listenOnBoth(port);
  }
  return failure;
}

void Listeners::close() {
  // Closes the pipe first: once the port is free, a new gateway may bind a socket of the same name,
  // which must not be unlinked.
  while (!listeners_.empty()) listeners_.pop_back();
}

int Listeners::listenPipe(const std::string& path) {
#ifndef _WIN32
  // libuv would truncate it: two gateways could then meet at the same path.
  if (path.size() >= sizeof(sockaddr_un::sun_path)) return UV_ENAMETOOLONG;
#endif
  auto* pipe = new uv_pipe_t;
  uv_pipe_init(loop_, pipe, 0);
  pipe->data = this;
  Listener listener(reinterpret_cast<uv_handle_t*>(pipe), closePipe);
  int failure = uv_pipe_bind(pipe, path.c_str());
  if (failure == 0) {
    failure = uv_listen(reinterpret_cast<uv_stream_t*>(pipe), kBacklog,
                        [](uv_stream_t* stream, int status) {
                          if (status == 0) static_cast<Listeners*>(stream->data)->session_(stream);
                        });
  }
  if (failure == 0) listeners_.push_back(std::move(listener));
  return failure;
}

}  // namespace tap::uv
