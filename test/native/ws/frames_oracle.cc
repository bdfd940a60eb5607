// Results of a connection for frames, for test/js/websocket/frames.differential.test.mjs to compare
// with ws.
//
// stdin:  for each sequence two numbers of 4 bytes, little endian: the size of the pieces in which
//         it arrives, and its own; then its bytes.
// stdout: a line for each: its text messages, each as "t", its bytes in hexadecimal and a blank;
//         then "ok", "refused", or "closed", the code, a blank and the reason in hexadecimal.
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ws/connection.h"

namespace {

using namespace tap;  // NOLINT(google-build-using-namespace)

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<uint8_t>(c);
    out += "0123456789abcdef"[byte >> 4U];
    out += "0123456789abcdef"[byte & 15U];
  }
  return out;
}

std::string answer(std::string_view bytes, size_t pieceSize) {
  ws::Connection connection(ws::Caps{});
  std::string messages;
  std::string end = "ok";
  while (!bytes.empty()) {
    std::string piece(bytes.substr(0, pieceSize));
    bytes.remove_prefix(piece.size());
    std::vector<ws::Event> events;
    connection.receive(piece.data(), piece.size(), events);
    for (const ws::Event& event : events) {
      if (const auto* message = std::get_if<ws::TextMessage>(&event)) {
        messages += "t" + hex(message->text.view()) + " ";
      } else if (const auto* closed = std::get_if<ws::Closed>(&event)) {
        const std::string code = std::to_string(static_cast<uint16_t>(closed->code));
        end = closed->clean ? "closed" + code + " " + hex(closed->reason) : "refused";
      }
    }
  }
  return messages + end;
}

uint32_t takeNumber(std::string_view& input) {
  uint32_t number = 0;
  for (size_t i = 4; i-- > 0;) number = number << 8U | static_cast<uint8_t>(input[i]);
  input.remove_prefix(4);
  return number;
}

}  // namespace

int main() {
  const std::string input{std::istreambuf_iterator<char>(std::cin), {}};
  for (std::string_view rest = input; rest.size() >= 8;) {
    const uint32_t pieceSize = takeNumber(rest);
    const uint32_t size = takeNumber(rest);
    std::cout << answer(rest.substr(0, size), pieceSize) << '\n';
    rest.remove_prefix(size);
  }
  return 0;
}
