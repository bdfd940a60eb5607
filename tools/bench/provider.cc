// The other end of every rival: a thread that holds as many connections as a case needs, and
// answers each message at once. It is the same program for all of them, and never the bottleneck.
//
//   bench_provider <mode> <port> <connections> <tools> <rules> <token>
//   bench_provider floor <core> <core>
//   bench_provider relayed-floor <core> <core>
//
// `tools` speaks the provider protocol, `websocket` and `tcp` send back each message, `floor`
// needs no rival: it plays ping-pong with itself, `relayed-floor` with a relay in between, which
// passes messages on as a detached gateway does, over a Unix socket to the caller. When all
// connections are up it prints a line of JSON. It ends with its stdin.

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "websocket_client.h"

namespace tap::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::string mode;
  uint16_t port = 0;
  int connections = 1;
  int tools = 1;
  int rules = 0;
  std::string token;
};

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

double microsecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

int connectTo(uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int yes = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  ::fcntl(fd, F_SETFL, O_NONBLOCK);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (::connect(fd, generic, sizeof address) != 0 && errno != EINPROGRESS) fail("connect");
  return fd;
}

// ---- messages
// --------------------------------------------------------------------------------

// The text between `before` and `after`; empty if either is missing.
std::string_view between(std::string_view text, std::string_view before, char after) {
  const size_t start = text.find(before);
  if (start == std::string_view::npos) return {};
  const size_t from = start + before.size();
  return text.substr(from, text.find(after, from) - from);
}

// Lines of a log with quotes in them, as a JSON string's inside.
std::string logLines(size_t size) {
  constexpr std::string_view kLine =
      R"(2026-04-26 14:01:00 INFO build 214: \"unit tests\" passed in 12.4 s, 318 of 318\n)";
  std::string text;
  text.reserve(size + kLine.size());
  while (text.size() < size) text += kLine;
  text.resize(text.size() / kLine.size() * kLine.size());
  return text;
}

std::string hello(const Options& options, int index) {
  const std::string name = "bench" + std::to_string(index);
  std::string text = R"({"type":"hello","protocolVersion":2,"name":")" + name + R"(","tools":[)";
  for (int i = 0; i < options.tools; ++i) {
    if (i > 0) text += ',';
    text += R"({"name":")" + name + "_" + std::to_string(i) +
            R"(","description":"Answers with as many bytes as it is asked for, at once.",)"
            R"("parameters":{"type":"object","properties":{"bytes":{"type":"integer",)"
            R"("description":"how many"},"city":{"type":"string"}},"required":["bytes"]}})";
  }
  text += "]";
  if (options.rules > 0) {
    text += R"(,"hooks":{"onPreToolUse":[)";
    for (int i = 0; i < options.rules; ++i) {
      if (i > 0) text += ',';
      text += R"({"match":{"tool":"shell","args":"rm -rf /srv/)" + std::to_string(i) +
              R"(\\b"},"action":"deny","reason":"not this folder"})";
    }
    text += "]}";
  }
  return text + "}";
}

class Speaker {
 public:
  explicit Speaker(const Options& options) : options_(options) {}

  [[nodiscard]] int bound() const { return bound_; }

  // Appends the message to `text`.
  void answer(std::string_view text, int index, std::string& out) {
    if (options_.mode == "websocket") return appendText(out, text);
    const std::string_view type = between(text, R"("type":")", '"');
    if (type == "tool.call") {
      callResult(text, out);
    } else if (type == "sessions") {
      appendText(out, hello(options_, index));
    } else if (type == "hello.ack") {
      ++bound_;
    } else if (type == "error") {
      std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size()), text.data());
    }
  }

 private:
  void callResult(std::string_view call, std::string& out) {
    const size_t size = std::strtoul(between(call, R"("bytes":)", '}').data(), nullptr, 10);
    if (data_.empty() || size != size_) {
      size_ = size;
      data_ =
          size < 256 ? std::string("12 degrees, light rain, wind from the west") : logLines(size);
    }
    message_.assign(R"({"type":"tool.result","id":")");
    message_.append(between(call, R"("id":")", '"')).append(R"(","data":")");
    message_.append(data_).append(R"("})");
    appendText(out, message_);
  }

  const Options& options_;
  int bound_ = 0;
  size_t size_ = 0;
  std::string data_;
  std::string message_;
};

// ---- connections
// ---------------------------------------------------------------------------------

struct Connection {
  int fd = -1;
  int index = 0;
  bool open = false;  // the handshake is done
  std::string in;
  std::string out;
  size_t written = 0;
  bool wantsWrite = false;
};

class Loop {
 public:
  explicit Loop(const Options& options) : options_(options), speaker_(options) {}

  void run() {
    start_ = Clock::now();
    for (int i = 0; i < options_.connections; ++i) add(i);
    epoll_event stdinEvent{.events = EPOLLIN, .data = {.ptr = nullptr}};
    ::epoll_ctl(epoll_, EPOLL_CTL_ADD, STDIN_FILENO, &stdinEvent);
    std::array<epoll_event, 64> events{};
    while (true) {
      const int count = ::epoll_wait(epoll_, events.data(), events.size(), -1);
      for (int i = 0; i < count; ++i) {
        if (events[i].data.ptr == nullptr) return;  // no process needs us any more
        handle(*static_cast<Connection*>(events[i].data.ptr), events[i].events);
      }
    }
  }

 private:
  void add(int index) {
    auto connection = std::make_unique<Connection>();
    connection->fd = connectTo(options_.port);
    connection->index = index;
    connection->wantsWrite = true;
    if (options_.mode == "tcp") {
      connection->open = true;
    } else {
      connection->out =
          "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
          "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";
    }
    epoll_event event{.events = EPOLLIN | EPOLLOUT, .data = {.ptr = connection.get()}};
    ::epoll_ctl(epoll_, EPOLL_CTL_ADD, connection->fd, &event);
    connections_.push_back(std::move(connection));
  }

  void handle(Connection& connection, uint32_t events) {
    if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) read(connection);
    write(connection);
    if (!reported_ && upCount() == options_.connections) {
      reported_ = true;
      std::printf("{\"connected\":%d,\"ms\":%.3f}\n", options_.connections,
                  microsecondsSince(start_) / 1000);
      std::fflush(stdout);
    }
  }

  [[nodiscard]] int upCount() const {
    if (options_.mode == "tools") return speaker_.bound();
    const auto up = [](const auto& connection) {
      return connection->open && connection->out.empty();
    };
    return static_cast<int>(std::count_if(connections_.begin(), connections_.end(), up));
  }

  void read(Connection& connection) {
    const ssize_t count = ::recv(connection.fd, buffer_.data(), buffer_.size(), 0);
    if (count < 0 && (errno == EAGAIN || errno == ECONNREFUSED)) return;
    if (count <= 0) return gone(connection);
    const std::string_view bytes(buffer_.data(), static_cast<size_t>(count));
    if (options_.mode == "tcp") {
      connection.out.append(bytes);
      return;
    }
    connection.in.append(bytes);
    std::string_view rest = connection.in;
    if (!connection.open) open(connection, rest);
    std::string_view text;
    while (connection.open && takeFrame(rest, text)) {
      speaker_.answer(text, connection.index, connection.out);
    }
    connection.in.erase(0, connection.in.size() - rest.size());
  }

  void open(Connection& connection, std::string_view& rest) {
    const size_t end = rest.find("\r\n\r\n");
    if (end == std::string_view::npos) return;
    connection.open = true;
    rest.remove_prefix(end + 4);
    if (options_.mode == "tools") {
      appendText(connection.out, R"({"type":"auth","token":")" + options_.token + R"("})");
    }
  }

  void write(Connection& connection) {
    if (connection.fd < 0) return;
    while (connection.written < connection.out.size()) {
      const ssize_t count = ::send(connection.fd, connection.out.data() + connection.written,
                                   connection.out.size() - connection.written, MSG_NOSIGNAL);
      if (count < 0) break;
      connection.written += static_cast<size_t>(count);
    }
    const bool left = connection.written < connection.out.size();
    if (!left) {
      connection.out.clear();
      connection.written = 0;
    }
    if (left == connection.wantsWrite) return;
    connection.wantsWrite = left;
    epoll_event event{.events = left ? EPOLLIN | EPOLLOUT : EPOLLIN, .data = {.ptr = &connection}};
    ::epoll_ctl(epoll_, EPOLL_CTL_MOD, connection.fd, &event);
  }

  void gone(Connection& connection) {
    if (connection.fd >= 0) ::close(connection.fd);
    connection.fd = -1;
    connection.out.clear();
  }

  const Options& options_;
  Speaker speaker_;
  Clock::time_point start_;
  bool reported_ = false;
  int epoll_ = ::epoll_create1(0);
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<char> buffer_ = std::vector<char>(size_t{256} * 1024);
};

// ---- the floor
// -----------------------------------------------------------------------------------

constexpr int kRounds = 20'000;
constexpr int kWarmUp = 2'000;
constexpr size_t kFloorBytes = 160;  // as much as a small tool.call

int listenAnywhere(uint16_t& port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(fd, generic, size) != 0 || ::listen(fd, 1) != 0) fail("listen");
  ::getsockname(fd, generic, &size);
  port = ntohs(address.sin_port);
  return fd;
}

// As an event loop does it: wait, then read.
bool echoOnce(int epoll, int fd, std::array<char, 4096>& buffer) {
  epoll_event event{};
  ::epoll_wait(epoll, &event, 1, -1);
  const ssize_t count = ::recv(fd, buffer.data(), buffer.size(), 0);
  return count > 0 && ::send(fd, buffer.data(), static_cast<size_t>(count), MSG_NOSIGNAL) == count;
}

void watch(int epoll, int fd) {
  epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
  ::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

int createEpoll(int fd) {
  const int epoll = ::epoll_create1(0);
  watch(epoll, fd);
  return epoll;
}

// This thread stays there.
void stayOn(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  if (::sched_setaffinity(0, sizeof cores, &cores) != 0) fail("sched_setaffinity");
}

// Passes data on between both, until either is closed.
void relay(int one, int other) {
  std::array<char, 4096> buffer{};
  const int epoll = createEpoll(one);
  watch(epoll, other);
  for (;;) {
    epoll_event event{};
    ::epoll_wait(epoll, &event, 1, -1);
    const int from = event.data.fd;
    const ssize_t count = ::recv(from, buffer.data(), buffer.size(), 0);
    if (count <= 0) break;
    ::send(from == one ? other : one, buffer.data(), static_cast<size_t>(count), MSG_NOSIGNAL);
  }
  for (const int end : {one, other}) ::shutdown(end, SHUT_RDWR);
}

// The caller's thread, and the relay's if there is one, are on `core`, the answering side on
// `otherCore`.
void playFloor(int core, int otherCore, bool relayed) {
  stayOn(core);
  uint16_t port = 0;
  const int listener = listenAnywhere(port);
  const int towards = connectTo(port);
  const int server = ::accept(listener, nullptr, nullptr);
  const int yes = 1;
  ::setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  std::thread echo([server, otherCore] {
    stayOn(otherCore);
    std::array<char, 4096> buffer{};
    const int epoll = createEpoll(server);
    while (echoOnce(epoll, server, buffer)) {
    }
  });
  int client = towards;
  std::thread between;
  if (relayed) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) fail("socketpair");
    client = ends[0];
    between = std::thread([far = ends[1], towards] { relay(far, towards); });
  }
  std::array<char, 4096> buffer{};
  const int epoll = createEpoll(client);
  std::vector<double> times;
  for (int i = 0; i < kWarmUp + kRounds; ++i) {
    const Clock::time_point start = Clock::now();
    ::send(client, buffer.data(), kFloorBytes, MSG_NOSIGNAL);
    epoll_event event{};
    ::epoll_wait(epoll, &event, 1, -1);
    ::recv(client, buffer.data(), buffer.size(), 0);
    if (i >= kWarmUp) times.push_back(microsecondsSince(start));
  }
  ::close(client);
  if (relayed) between.join();
  echo.join();
  std::sort(times.begin(), times.end());
  std::printf("{\"p50\":%.3f,\"p99\":%.3f}\n", times[times.size() / 2],
              times[times.size() * 99 / 100]);
}

}  // namespace
}  // namespace tap::bench

int main(int argc, char** argv) {
  tap::bench::Options options;
  const auto number = [&](int i) { return argc > i ? std::atoi(argv[i]) : 0; };
  if (argc > 1) options.mode = argv[1];
  options.port = static_cast<uint16_t>(number(2));
  options.connections = number(3);
  options.tools = number(4);
  options.rules = number(5);
  if (argc > 6) options.token = argv[6];
  if (options.mode == "floor" || options.mode == "relayed-floor") {
    tap::bench::playFloor(number(2), number(3), options.mode != "floor");
  } else {
    tap::bench::Loop(options).run();
  }
  return 0;
}
