// Who waits for the tools of a session to be in force: a tools.update with `inForce`, and the
// opening of groups of tools. Each is answered once, at the latest after `tools-in-force-ms`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/timer_queue.h"
#include "gateway/core/effects.h"

namespace tap::gateway {

struct Turn;
struct Session;
struct Provider;
struct Binding;

// The ack of a tools.update.
struct AckDue {
  PeerId provider;
  uint64_t order;  // of its binding: the ack is for no other
  std::string requestId;
};
// The answer to Gateway::openGroups.
struct OpeningDue {
  OpeningNumber number;
  std::vector<std::string> groups;
};
struct ToolsWaiter {
  uint64_t id = 0;
  int64_t revision = 0;  // of the tools; the largest number: only the state of the session counts
  TimerId deadline = TimerId::None;
  std::variant<AckDue, OpeningDue> answer;
};

// What has to be synchronised is known by now (ToolSync). Answers at once where nothing has.
void answerWithTools(const Turn& turn, Session& session, std::variant<AckDue, OpeningDue> answer);
// The session has confirmed this revision, or needs none: those that waited for it have their
// answer.
void toolsInForce(const Turn& turn, Session& session, int64_t revision);
// The tools of this revision are not in force, for this reason.
void toolsNotInForce(const Turn& turn, Session& session, int64_t revision, std::string_view why);
// The session's process is gone: what its next one has, counts.
void forgetRevisions(Session& session);
// The session has ended: nobody waits for its tools any more.
void dropToolsWaiters(const Turn& turn, Session& session);
void toolsWaiterDue(const Turn& turn, Session& session, uint64_t id);

}  // namespace tap::gateway
