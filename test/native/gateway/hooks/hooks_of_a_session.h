// A session whose providers have hooks, for the tests of this folder.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

#include "gateway/harness.h"

namespace tap::gateway::test {

inline std::string transforms(std::string_view map) {
  return R"("hooks":{"transforms":{)" + std::string(map) + "}}";
}
inline std::string append(std::string_view section, std::string_view text) {
  return quote(section) + R"(:{"action":"append","content":)" + quote(text) + "}";
}

class HooksOfASession : public testing::Test {
 protected:
  PeerId with(std::string_view name, std::string_view more, std::string_view target = "s") {
    const PeerId peer = tap.authed();
    tap.say(peer, helloWith(name, target, more));
    EXPECT_EQ(tap.take(peer).type(), "hello.ack");
    return peer;
  }
  // The session's last hooks.
  std::optional<protocol::Hooks> told() {
    std::optional<protocol::Hooks> last;
    while (auto next = tap.find<protocol::Hooks>(session)) last = next;
    return last;
  }
  void settle(int64_t revision, protocol::HookOutcome hooks = protocol::HookOutcome::InForce,
              protocol::HookOutcome sections = protocol::HookOutcome::InForce) {
    tap.send(session, protocol::HooksState{revision, hooks, sections});
  }
  // Appends, prepends and replacements of a section, as "prepend|replace|append".
  static std::string edit(const std::optional<protocol::Hooks>& hooks, std::string_view section) {
    if (!hooks) return "no hooks";
    for (const protocol::SectionEdit& edit : hooks->sections) {
      if (edit.section != section) continue;
      return edit.prepend + "|" + edit.replace.value_or("-") + "|" + edit.append +
             (edit.callback ? " callback" : "");
    }
    return "no such section";
  }
  std::string build(std::string id, std::string section, std::string current) {
    tap.send(session,
             protocol::SectionBuild{std::move(id), std::move(section), std::move(current)});
    return text();
  }
  std::string text() {
    const auto found = tap.find<protocol::SectionText>(session);
    if (!found) return "none";
    return found->buildId + (found->content ? ": " + *found->content : " as it is");
  }
  static std::string transformed(std::string_view callId, std::string_view content) {
    return R"({"type":"transform.result","callId":)" + quote(callId) + R"(,"content":)" +
           quote(content) + "}";
  }
  std::string prompt(std::string id) {
    tap.send(session, protocol::PromptSubmitted{std::move(id)});
    const auto found = tap.find<protocol::PromptContext>(session);
    return found ? found->promptId + ": " + found->context : "none";
  }

  Harness tap;
  PeerId session = tap.session("s");
};

}  // namespace tap::gateway::test
