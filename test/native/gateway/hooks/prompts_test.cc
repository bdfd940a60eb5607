// Transforms of the system message, and the context that is added to a prompt.
#include <gtest/gtest.h>

#include <string>

#include "gateway/hooks/hooks_of_a_session.h"

namespace tap::gateway::test {
namespace {

// shows: P-TEXT-13
TEST_F(HooksOfASession, AmbientContextGoesWithEveryPrompt) {
  const PeerId peer = with("ci", R"("context":"CI is green")");
  EXPECT_EQ(prompt("1"), "1: Context from tap provider \"ci\":\nCI is green");
  tap.say(peer, R"({"type":"context.update","context":"CI is red"})");
  EXPECT_EQ(prompt("2"), "2: Context from tap provider \"ci\":\nCI is red");
  tap.say(peer, R"({"type":"context.update","context":""})");
  EXPECT_EQ(prompt("3"), "3: ");
}

TEST_F(HooksOfASession, ShowTheModelNoHiddenWords) {
  // A tag character and a zero-width space; the joiner of an emoji is no hidden word.
  const std::string evil = "fine\U000E0072\u200b \U0001F468\u200D\U0001F4BB";
  const std::string seen = "fine\\u{e0072}\\u{200b} \U0001F468\u200D\U0001F4BB";
  const PeerId peer =
      with("ci", R"("context":)" + quote(evil) +
                     R"(,"hooks":{"transforms":{"tone":{"action":"append","content":)" +
                     quote(evil) + R"(},"tool_instructions":{"action":"callback"}}})");
  EXPECT_EQ(prompt("1"), "1: Context from tap provider \"ci\":\n" + seen);
  tap.send(session, protocol::SectionBuild{"b", "tool_instructions", "old"});
  const std::string asked = tap.take(peer, "transform.request").get("callId");
  tap.say(peer, R"({"type":"transform.result","callId":)" + quote(asked) + R"(,"content":)" +
                    quote(evil) + "}");
  EXPECT_EQ(tap.expect<protocol::SectionText>(session).content, seen);
}

// shows: P-TEXT-14
TEST_F(HooksOfASession, StartupContextGoesWithTheFirstPromptOnly) {
  const PeerId peer = with("ci", R"("startup_context":"Loaded.","context":"green")");
  EXPECT_EQ(prompt("1"),
            "1: Context from tap provider \"ci\":\nLoaded.\n\nContext from tap provider "
            "\"ci\":\ngreen");
  EXPECT_EQ(prompt("2"), "2: Context from tap provider \"ci\":\ngreen");
  tap.lose(peer);
  with("ci", R"("startup_context":"Loaded.")");
  EXPECT_EQ(prompt("3"), "3: ") << "the session has had it";
}

// shows: P-TEXT-2
TEST_F(HooksOfASession, ACallbackIsAskedWithTheSectionsText) {
  const PeerId peer = with("ci", transforms(R"("code_change_rules":{"action":"callback"})"));
  const auto hooks = told();
  EXPECT_EQ(edit(hooks, "code_change_rules"), "|-| callback");
  EXPECT_FALSE(hooks->wanted) << "no consent is needed for that";
  EXPECT_EQ(build("1", "code_change_rules", "Be careful."), "none");
  const Message asked = tap.take(peer, "transform.request");
  EXPECT_EQ(asked.get("section"), "code_change_rules");
  EXPECT_EQ(asked.get("current"), "Be careful.");
  EXPECT_EQ(asked.get("sessionId"), "s");
  tap.say(peer, transformed(asked.get("callId"), "Be bold."));
  EXPECT_EQ(text(), "1: Be bold.");
}

TEST_F(HooksOfASession, ASectionWithoutACallbackStaysAsItIs) {
  with("ci", transforms(append("tone", "loud")));
  EXPECT_EQ(build("1", "tone", "calm"), "1 as it is");
}

// shows: P-TEXT-4
TEST_F(HooksOfASession, TheCallbackThatRegisteredLastHasTheLastWord) {
  const std::string callback = transforms(R"("tone":{"action":"callback"})");
  const PeerId first = with("first", callback);
  const PeerId last = with("last", callback);
  (void)build("1", "tone", "calm");
  tap.say(last, transformed(tap.take(last, "transform.request").get("callId"), "last"));
  EXPECT_EQ(text(), "none");
  tap.say(first, transformed(tap.take(first, "transform.request").get("callId"), "first"));
  EXPECT_EQ(text(), "1: last");
}

// shows: P-TEXT-3
TEST_F(HooksOfASession, ACallbackThatDoesNotAnswerLeavesTheSectionAsItIs) {
  const PeerId peer = with("ci", transforms(R"("tone":{"action":"callback"})"));
  (void)build("1", "tone", "calm");
  tap.advance(1'999);
  EXPECT_EQ(text(), "none");
  tap.advance(1);
  EXPECT_EQ(text(), "1 as it is");
  tap.say(peer, transformed(tap.take(peer, "transform.request").get("callId"), "late"));
  EXPECT_EQ(text(), "none");
}

// shows: P-TEXT-3
TEST_F(HooksOfASession, ACallbackAnswersOnceForItselfAndInShape) {
  const PeerId peer = with("ci", transforms(R"("tone":{"action":"callback"})"));
  const PeerId thief = tap.bound("thief", "s");
  (void)build("1", "tone", "calm");
  const std::string id = tap.take(peer, "transform.request").get("callId");
  tap.say(thief, transformed(id, "x"));
  EXPECT_EQ(text(), "none");
  tap.say(peer, R"({"type":"transform.result","callId":)" + quote(id) + "}");
  EXPECT_EQ(tap.errorCode(peer), "INVALID_JSON");
  EXPECT_EQ(text(), "1 as it is");
  tap.say(peer, transformed(id, "x"));
  EXPECT_EQ(text(), "none");
}

// shows: P-TEXT-3
TEST_F(HooksOfASession, ADisconnectLeavesTheSectionAsItIs) {
  const PeerId peer = with("ci", transforms(R"("tone":{"action":"callback"})"));
  (void)build("1", "tone", "calm");
  tap.lose(peer);
  EXPECT_EQ(text(), "1 as it is");
}

TEST_F(HooksOfASession, ASectionOfAProcessThatIsGoneIsForgotten) {
  with("ci", transforms(R"("tone":{"action":"callback"})"));
  (void)build("1", "tone", "calm");
  tap.cut(session);
  EXPECT_TRUE(tap.state().sections.waiting.empty());
  EXPECT_TRUE(tap.state().sections.transforms.empty());
}

}  // namespace
}  // namespace tap::gateway::test
