// Helpers of the ws tests: literal frames, and runs of a connection in every chunking.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "ws/connection.h"

namespace tap::ws::test {

// "81 85 37fa": the bytes of the hexadecimal digits; blanks are for the reader.
inline std::string bytes(std::string_view hexDigits) {
  std::string digits;
  std::copy_if(hexDigits.begin(), hexDigits.end(), std::back_inserter(digits),
               [](char c) { return c != ' '; });
  std::string out;
  for (size_t i = 0; i + 1 < digits.size(); i += 2) {
    out.push_back(static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  }
  return out;
}

inline std::string bigEndian(uint64_t value, int count) {
  std::string out;
  for (int shift = (count - 1) * 8; shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>(static_cast<uint8_t>(value >> static_cast<unsigned>(shift))));
  }
  return out;
}

// The header of a client frame whose mask is 0, so that the payload after it can be read plainly.
inline std::string header(uint8_t first, uint64_t size) {
  std::string out(1, static_cast<char>(first));
  if (size < 126) {
    out += static_cast<char>(static_cast<uint8_t>(0x80U | size));
  } else if (size <= 0xFFFF) {
    out += static_cast<char>(0xFE) + bigEndian(size, 2);
  } else {
    out += static_cast<char>(0xFF) + bigEndian(size, 8);
  }
  return out + std::string(4, '\0');
}

// A whole client frame, masked with `key`.
inline std::string frame(uint8_t first, std::string_view payload, uint32_t key = 0) {
  const std::string mask = bigEndian(key, 4);
  std::string out = header(first, payload.size());
  out.replace(out.size() - 4, 4, mask);
  for (size_t i = 0; i < payload.size(); ++i) {
    out.push_back(static_cast<char>(payload[i] ^ mask[i % 4]));
  }
  return out;
}

inline std::string describe(const TextMessage& message) {
  return "text " + std::string(message.text.view());
}
inline std::string describe(const OversizeMessage& message) {
  return "oversize " + std::to_string(message.size);
}
// Includes the reason only if it is the peer's; the gateway's own words are not part of the
// contract.
inline std::string describe(const Closed& closed) {
  const std::string code = std::to_string(static_cast<uint16_t>(closed.code));
  return closed.clean ? "closed " + code + " " + closed.reason : "failed " + code;
}

// The result of a run: the events in words, and the output.
struct Seen {
  std::vector<std::string> events;
  std::string output;
  bool writable = true;
  size_t buffered = 0;
  friend bool operator==(const Seen&, const Seen&) = default;
};

using Prepare = std::function<void(Connection&)>;
using Strings = std::vector<std::string>;

// Feeds the input in chunks whose sizes `nextSize` returns. Each chunk has its own buffer of
// exactly its size, so that a sanitizer detects any read outside of it.
template <class NextSize>
Seen run(std::string_view input, const Caps& caps, const Prepare& prepare, NextSize nextSize) {
  Connection connection(caps);
  if (prepare) prepare(connection);
  Seen seen;
  while (!input.empty()) {
    const size_t size = std::min<size_t>(nextSize(), input.size());
    std::vector<char> chunk(input.begin(), input.begin() + static_cast<ptrdiff_t>(size));
    input.remove_prefix(size);
    std::vector<Event> events;
    connection.receive(chunk.data(), chunk.size(), events);
    for (const Event& event : events) {
      seen.events.push_back(std::visit([](const auto& e) { return describe(e); }, event));
    }
  }
  seen.output = connection.takeOutput();
  seen.writable = connection.writable();
  seen.buffered = connection.buffered();
  return seen;
}

// A run in a single chunk; also expects the same result for all other chunkings.
inline Seen receive(std::string_view input, const Caps& caps = {}, const Prepare& prepare = {}) {
  Seen whole = run(input, caps, prepare, [&] { return input.size(); });
  const auto same = [&](const Seen& other, const std::string& chunking) {
    EXPECT_EQ(other.events, whole.events) << chunking;
    EXPECT_EQ(other.output, whole.output) << chunking;
    EXPECT_EQ(other.writable, whole.writable) << chunking;
  };
  same(run(input, caps, prepare, [] { return size_t{1}; }), "byte by byte");
  for (uint32_t seed = 1; seed <= 8; ++seed) {
    std::mt19937 random(seed);
    std::uniform_int_distribution<size_t> sizes(1, seed < 5 ? 7 : 200);
    same(run(input, caps, prepare, [&] { return sizes(random); }),
         "chunks of seed " + std::to_string(seed));
  }
  return whole;
}

// A server's close frame as it must appear in the output: its code, whatever its reason.
inline bool isCloseFrame(std::string_view output, uint16_t code) {
  return output.size() >= 4 && output[0] == '\x88' &&
         static_cast<size_t>(output[1]) + 2 == output.size() &&
         output.substr(2, 2) == bigEndian(code, 2);
}

// Expects that the input fails the connection with that code after `before`.
inline void expectFailure(std::string_view input, uint16_t code, const Strings& before = {},
                          const Caps& caps = {}) {
  const Seen seen = receive(input, caps);
  Strings expected = before;
  expected.push_back("failed " + std::to_string(code));
  EXPECT_EQ(seen.events, expected);
  EXPECT_TRUE(isCloseFrame(seen.output, code));
  EXPECT_FALSE(seen.writable);
  EXPECT_EQ(seen.buffered, 0U);
}

}  // namespace tap::ws::test
