#include "gateway/hooks/sections.h"

#include <utility>

#include "base/encoding.h"
#include "gateway/core/turn.h"
#include "gateway/hooks/fence.h"
#include "gateway/registry/retained_data.h"
#include "gateway/registry/session_output.h"
#include "protocol/provider/provider_codec.h"

namespace tap::gateway {

namespace {

// What goes with a prompt: all of it, and without that of tap's own features.
struct PromptTexts {
  std::string whole;
  std::string without;
  std::vector<FeatureText> ofFeatures;
};

void addBlock(std::string& text, std::string_view block) {
  if (!text.empty()) text += "\n\n";
  text += block;
}

void addContext(PromptTexts& texts, const Provider& provider, std::string_view context) {
  if (context.empty()) return;
  const std::string block = "Context from tap provider " + quotedName(provider.name) + ":\n" +
                            visibleToModel(context, context.npos);
  addBlock(texts.whole, block);
  if (provider.trusted) {
    texts.ofFeatures.push_back({provider.name, block});
  } else {
    addBlock(texts.without, block);
  }
}

bool isCallback(const Binding& binding, const std::string& section) {
  const auto at = binding.transforms.find(section);
  return at != binding.transforms.end() && at->second.action == protocol::TransformAction::Callback;
}

// The provider that registered last has the last word.
void settle(const Turn& turn, BuildInFlight build) {
  Session* session = turn.state.sessions.find(build.sessionId);
  if (session == nullptr) return;
  std::optional<std::string> content;
  for (std::optional<std::string>& one : build.contents) {
    if (one) content = visibleToModel(*one, one->npos);
  }
  sendToSession(turn, *session,
                protocol::SectionText{std::move(build.buildId), std::move(content)});
}

void continueBuild(const Turn& turn, const Question& transform,
                   std::optional<std::string> content) {
  Sections& sections = turn.state.sections;
  TimerId deadline = transform.deadline;
  turn.cancel(deadline);
  const auto at = sections.waiting.find(transform.asker);
  if (at == sections.waiting.end()) return;
  at->second.contents[transform.place] = std::move(content);
  if (--at->second.open > 0) return;
  BuildInFlight build = std::move(at->second);
  sections.waiting.erase(at);
  settle(turn, std::move(build));
}

void sendTransformRequest(const Turn& turn, const Provider& provider, const Session& session,
                          const protocol::SectionBuild& build, AskerId asker, size_t place) {
  Question transform;
  transform.callId = turn.state.ids.uuid().text();
  transform.asker = asker;
  transform.provider = provider.peer;
  transform.sessionId = session.id;
  transform.subject = build.section;
  transform.place = place;
  transform.deadline = turn.schedule(Limit::TransformMs, TransformDue{transform.callId});
  turn.send(provider.peer, protocol::encodeTransformRequest(transform.callId, session.id,
                                                            build.section, build.current));
  turn.state.sections.transforms.open(std::move(transform));
}

}  // namespace

void answerPrompt(const Turn& turn, Session& session, const protocol::PromptSubmitted& prompt) {
  PromptTexts texts;
  for (const BoundProvider& bound : turn.state.providers.inOrder(session.id)) {
    const std::string& name = bound.provider->name;
    std::string& startup = bound.binding->startupContext;
    if (!startup.empty()) {
      session.known[{name, bound.provider->instance}].startupGiven = true;
      addContext(texts, *bound.provider, std::exchange(startup, {}));
      updateRetained(turn.state, *bound.provider);
    }
    addContext(texts, *bound.provider, bound.binding->context);
  }
  protocol::PromptContext whole{prompt.promptId, std::move(texts.whole)};
  if (texts.ofFeatures.empty()) {
    sendToSession(turn, session, std::move(whole));
  } else {
    protocol::PromptContext without{prompt.promptId, std::move(texts.without)};
    answerRecorded(turn, session, {*session.peer, std::move(whole), std::move(without)},
                   texts.ofFeatures, "context", kContextCommitTime);
  }
  hooksChanged(turn, session);
}

void startBuild(const Turn& turn, Session& session, const protocol::SectionBuild& message) {
  Sections& sections = turn.state.sections;
  BuildInFlight build{session.id, message.buildId, {}, 0};
  const AskerId asker{++sections.last};
  const bool many = sections.waiting.size() >= turn.limits().count(Limit::CallsPerSession);
  for (const BoundProvider& bound : turn.state.providers.inOrder(session.id)) {
    if (many || !isCallback(*bound.binding, message.section)) continue;
    sendTransformRequest(turn, *bound.provider, session, message, asker, build.open++);
  }
  build.contents.resize(build.open);
  if (build.open == 0) return settle(turn, std::move(build));
  sections.waiting.emplace(asker, std::move(build));
}

void answerTransform(const Turn& turn, const Provider& provider,
                     const protocol::TransformResult& result) {
  if (const auto transform = turn.state.sections.transforms.take(result.callId, provider.peer)) {
    continueBuild(turn, *transform, result.content);
  }
}

void failTransform(const Turn& turn, PeerId peer, std::string_view callId, std::string_view why) {
  const auto transform = turn.state.sections.transforms.take(callId, peer);
  if (!transform) return;
  turn.log(protocol::LogLevel::Warning,
           "no transform of section " + transform->subject + ": " + std::string(why));
  continueBuild(turn, *transform, std::nullopt);
}

void failTransformsOfBinding(const Turn& turn, const Provider& provider,
                             std::string_view sessionId) {
  for (const Question& one :
       turn.state.sections.transforms.takeOfBinding(provider.peer, sessionId)) {
    continueBuild(turn, one, std::nullopt);
  }
}

void dropBuilds(const Turn& turn, std::string_view sessionId) {
  for (Question& one : turn.state.sections.transforms.takeOfSession(sessionId)) {
    turn.cancel(one.deadline);
  }
  std::erase_if(turn.state.sections.waiting,
                [&](const auto& entry) { return entry.second.sessionId == sessionId; });
}

}  // namespace tap::gateway
