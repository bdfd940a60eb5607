// Bytes that were not validated. The readers of JSON text stay inside them; a call with such
// arguments runs, or fails at once.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "base/json.h"
#include "base/json_walk.h"
#include "gateway/harness.h"
#include "protocol/link/session_codec.h"
#include "protocol/provider/refused_requests.h"
#include "protocol/target.h"
#include "targets.h"

namespace tap::fuzz {

void jsonBytes(std::string_view input) {
  json::walkBytes(input);
  const json::ExactText text(input);
  const protocol::TargetedArgs taken = protocol::takeTarget(text.view());
  json::Scanner scanner;
  const bool isObject =
      protocol::readArguments(scanner, text.view()).ok() && input.starts_with("{");
  EXPECT_TRUE(!isObject || scanner.scan(taken.args).ok()) << taken.args;
  (void)protocol::answerUnreadable(text.view(), "it is unreadable");
}

// With a tool with instances and a tool without, in process and over the link: a single outcome, or
// a message that the provider can read.
void arguments(std::string_view input) {
  using namespace gateway::test;
  Harness tap;
  const gateway::PeerId session = tap.session("s");
  const gateway::PeerId plain = tap.bound("plain", "s", {"read"});
  const gateway::PeerId one = tap.authed();
  std::string text = hello("tabs", "s", tools({"click"}));
  text.pop_back();
  tap.say(one, text + R"(,"instance":"one"})");
  tap.clear();
  const json::ExactText args(input);
  int last = 0;
  for (const auto& [tool, provider] : {std::pair{"read", plain}, std::pair{"click", one}}) {
    tap.send(session, protocol::Call{std::to_string(++last), tool, Slice::borrow(args.view())});
    const bool asked = tap.count(provider, "tool.call") == 1;
    EXPECT_NE(asked, tap.count<protocol::CallResult>(session) == 1) << input;
    const Message call = tap.take(provider);
    json::Scanner scanner;
    EXPECT_TRUE(!asked || scanner.scan(call.text()).ok()) << call.text();
    tap.clear();
  }
  // It may have broken out of its place: whatever the frame is then, it ends well.
  tap.linkText(session,
               R"({"type":"call","callId":"l","tool":"click","args":)" + std::string(input) + "}");
  json::Scanner scanner;
  if (tap.count(one, "tool.call") == 0) return;
  const Message call = tap.take(one);
  EXPECT_TRUE(scanner.scan(call.text()).ok()) << call.text();
}

}  // namespace tap::fuzz
