// Providers may limit how many of their calls run at once (hello.concurrency): the places of each
// such limit, who has taken one, and who stands in line.
//
// A key names what shares a limit. A line exists only while somebody has a place of it, so that no
// caller waits for a place that nobody will free.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/timer_queue.h"
#include "gateway/core/effects.h"

namespace tap::gateway {

// A place that a call keeps which nobody waits for any more: until the provider has answered, or
// `timer` is due (docs/decisions.md D-15).
struct HeldPlace {
  std::string key;
  PeerId provider{};
  TimerId timer = TimerId::None;
};

class CallQueue {
 public:
  // Whether one of `places` can be taken: none can while somebody stands in line.
  [[nodiscard]] bool isFree(const std::string& key, size_t places) const;
  void enter(const std::string& key) { ++lines_[key].taken; }
  // Frees one. True if somebody stands in line for it.
  [[nodiscard]] bool leave(const std::string& key);

  [[nodiscard]] size_t waiting(const std::string& key) const;
  void standInLine(const std::string& key, const CallId& callId, size_t places);
  void leaveLine(const std::string& key, const CallId& callId);
  // The call that is first in line, if there is a place for it: it has taken that.
  [[nodiscard]] std::optional<CallId> next(const std::string& key);

  void hold(const CallId& callId, HeldPlace place);
  [[nodiscard]] const HeldPlace* held(const CallId& callId) const;
  [[nodiscard]] std::optional<HeldPlace> letGo(const CallId& callId);
  [[nodiscard]] std::vector<HeldPlace> letGoOf(PeerId provider);

  [[nodiscard]] bool empty() const { return lines_.empty() && held_.empty(); }

 private:
  struct Waiting {
    CallId callId;
    size_t places;  // how many there are, in the eyes of its provider
  };
  struct Line {
    size_t taken = 0;
    std::deque<Waiting> waiting;
  };
  std::unordered_map<std::string, Line> lines_;
  std::unordered_map<CallId, HeldPlace, UuidHash> held_;
};

}  // namespace tap::gateway
