// Text that providers add for the model: context that goes with a prompt, and sections of the
// system message that they rewrite when the CLI builds it (docs/decisions.md D-18).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gateway/hooks/questions.h"
#include "protocol/link/session_messages.h"
#include "protocol/provider/provider_messages.h"

namespace tap::gateway {

struct Turn;
struct Session;
struct Provider;

// A section that waits for transforms.
struct BuildInFlight {
  std::string sessionId;
  std::string buildId;                               // the session's
  std::vector<std::optional<std::string>> contents;  // by place: in registration order
  size_t open = 0;                                   // transforms without an answer
};

struct Sections {
  std::unordered_map<AskerId, BuildInFlight> waiting;
  Questions transforms;
  uint64_t last = 0;
};

// The context that goes with this prompt. REQUIRES: the session's process asks.
void answerPrompt(const Turn& turn, Session& session, const protocol::PromptSubmitted& prompt);

// Asks every provider that has a callback for the section.
void startBuild(const Turn& turn, Session& session, const protocol::SectionBuild& build);
// An answer that nobody has asked this provider for is dropped.
void answerTransform(const Turn& turn, const Provider& provider,
                     const protocol::TransformResult& result);
// It answered with something else, or not in time: the section stays as it is.
void failTransform(const Turn& turn, PeerId provider, std::string_view callId,
                   std::string_view why);
// A binding has ended.
void failTransformsOfBinding(const Turn& turn, const Provider& provider,
                             std::string_view sessionId);
// Nobody waits for these sections any more.
void dropBuilds(const Turn& turn, std::string_view sessionId);

}  // namespace tap::gateway
