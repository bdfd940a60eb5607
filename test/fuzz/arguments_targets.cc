// Bytes that nobody has validated: what walks JSON text stays inside them, and a call whose
// arguments they are is carried out or fails at once.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "gateway/harness.h"
#include "protocol/link/session_codec.h"
#include "protocol/provider/refused_requests.h"
#include "protocol/target.h"
#include "targets.h"

namespace tap::fuzz {

namespace {

using json::Kind;
using json::Value;

// Memory that ends where the text does, so that the sanitizers see a step beyond it.
class Exactly {
 public:
  explicit Exactly(std::string_view text)
      : bytes_(std::make_unique<char[]>(text.size())), size_(text.size()) {
    text.copy(bytes_.get(), size_);
  }
  [[nodiscard]] std::string_view view() const { return {bytes_.get(), size_}; }

 private:
  std::unique_ptr<char[]> bytes_;
  size_t size_;
};

void readIn(Value value, std::string_view text, int depth) {
  ASSERT_GE(value.raw.data(), text.data());
  ASSERT_LE(value.raw.data() + value.raw.size(), text.data() + text.size());
  ASSERT_FALSE(value.raw.empty());
  (void)json::decodeString(value);
  (void)json::decodeString16(value);
  (void)json::plainText(value);
  (void)json::decodeNumber(value);
  (void)json::decodeInteger(value);
  std::string room(value.raw.size(), '\0');
  (void)json::decodeString16(json::decodeAscii(value, room.data()));
  constexpr int kDeepEnough = 20;
  if (depth > kDeepEnough) return;
  json::Members members(value);
  for (json::Member member; members.next(member);) {
    (void)json::keyEquals(member.key, "target");
    readIn(member.value, text, depth + 1);
  }
  json::Elements elements(value);
  for (Value element; elements.next(element);) readIn(element, text, depth + 1);
}

}  // namespace

void jsonBytes(std::string_view input) {
  const Exactly text(input);
  const std::string_view view = text.view();
  for (const Kind kind : {Kind::Object, Kind::Array, Kind::String}) {
    const Value value{kind, view};
    if (!view.empty()) readIn(value, view, 0);
    if (const auto found = json::find(value, "target")) readIn(*found, view, 0);
    EXPECT_TRUE(json::openWithout(value, "target").starts_with("{"));
  }
  const protocol::TargetedArgs taken = protocol::takeTarget(view);
  json::Scanner scanner;
  const bool isObject = protocol::readArguments(scanner, view).ok() && view.starts_with("{");
  EXPECT_TRUE(!isObject || scanner.scan(taken.args).ok()) << taken.args;
  EXPECT_TRUE(taken.args.starts_with("{") && taken.args.ends_with("}"));
  (void)protocol::answerUnreadable(view, "it is unreadable");
}

// Of a tool with instances and of one without, in one process and over the link: one outcome, or
// one message that the provider can read.
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
  const Exactly args(input);
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
