// The last calls, one after another, for people (copilot-tap calls). It is kept in memory only, and
// bounded twice: no provider can push out what others did, and all together have their limit. Slots
// are used again with the memory that their texts have: recording a call allocates nothing, as a
// rule.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/text_map.h"
#include "base/time.h"

namespace tap::gateway {

// The beginning of a call's arguments, without memory of its own.
class ArgsHead {
 public:
  ArgsHead() = default;
  // Cut between characters. REQUIRES: `args` is UTF-8.
  explicit ArgsHead(std::string_view args);

  [[nodiscard]] std::string_view text() const { return {text_.data(), size_}; }
  [[nodiscard]] bool cut() const { return cut_; }

 private:
  static constexpr size_t kBytes = 512;
  std::array<char, kBytes> text_;
  uint16_t size_ = 0;
  bool cut_ = false;
};

// One call that has its outcome. The views need to live no longer than the call that passes them.
struct FinishedCall {
  int64_t unixMillis = 0;  // when it had its outcome
  Millis took{};
  std::string_view sessionId;
  std::string_view provider;  // empty: nobody had the tool
  std::string_view tool;
  std::string_view args;
  bool argsCut = false;
  bool byCommand = false;      // an operator asked for it, not the model
  std::string_view code = {};  // on the wire; empty: it went well
  std::string_view text = {};  // why not
};

class CallLog {
 public:
  void add(const FinishedCall& call);
  // JSON text of an array, the oldest call first: those after that sequence number.
  [[nodiscard]] std::string json(int64_t after) const;

  static constexpr size_t kOfOneProvider = 200;
  static constexpr size_t kOfAll = 1000;

 private:
  struct Slot {
    int64_t sequence = 0;
    int64_t unixMillis = 0;
    int64_t tookMillis = 0;
    std::string sessionId;
    std::string tool;
    std::string args;
    std::string text;
    std::string_view code;
    bool argsCut = false;
    bool byCommand = false;
  };
  struct Party {
    std::vector<Slot> slots;  // in a ring once there is no room for more
    size_t oldest = 0;
  };
  [[nodiscard]] Party& party(std::string_view provider);
  [[nodiscard]] Slot& freeSlot(Party& its);
  // The oldest call of whoever has most gives way.
  void makeRoom(Party& its);

  TextMap<Party> parties_;
  TextMap<Party>::value_type* latest_ = nullptr;  // as a rule the same provider is called again
  size_t count_ = 0;
  int64_t sequence_ = 0;
};

}  // namespace tap::gateway
