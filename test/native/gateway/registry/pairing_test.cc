// Pairing: the user passes the code on, and it gives few rights.
#include <gtest/gtest.h>

#include <cctype>
#include <set>

#include "gateway/harness.h"

namespace tap::gateway::test {
namespace {

const std::string kOrigin = "https://page.example";
const std::string kPair = R"({"type":"auth","mode":"pair","name":"browser"})";

std::string confirm(std::string_view code) {
  return R"({"type":"auth.confirm","code":)" + quote(code) + "}";
}

struct Pairing : ::testing::Test {
  Harness tap;
  PeerId other = tap.session("other");
  PeerId session = tap.session("s");

  // The six digits in the session's timeline.
  std::string shownCode(PeerId where) {
    const std::string line = tap.timeline(where);
    size_t digits = 0;
    for (size_t i = 0; i < line.size(); ++i) {
      digits = std::isdigit(static_cast<unsigned char>(line[i])) != 0 ? digits + 1 : 0;
      if (digits == 6) return line.substr(i - 5, 6);
    }
    return "none";
  }
  static std::string wrong(std::string code) {
    code[0] = code[0] == '0' ? '1' : '0';
    return code;
  }
  // Paired; returns its token.
  std::string pair(PeerId peer) {
    tap.say(peer, kPair);
    tap.say(peer, confirm(shownCode(session)));
    const std::string token = tap.take(peer, "sessions").get("token");
    tap.clear();
    return token;
  }
};

// shows: P-PAIR-2
TEST_F(Pairing, ShowsTheCodeInTheTimelineOnly) {
  const PeerId peer = tap.open(kOrigin);
  tap.say(peer, kPair);
  const Message pairing = tap.take(peer);
  EXPECT_EQ(pairing.type(), "auth.pairing");
  EXPECT_TRUE(tap.quiet(peer));
  const auto line = tap.expect<protocol::Timeline>(session);
  EXPECT_NE(line.text.find("browser"), std::string::npos);
  EXPECT_NE(line.text.find(kOrigin), std::string::npos);
  EXPECT_TRUE(tap.quiet(other));
  tap.say(peer, kPair);  // not legal now; and the code is in no log
  EXPECT_EQ(tap.errorCode(peer), "AUTH_FAILED");
  const std::string code = line.text.substr(line.text.size() - 6);
  EXPECT_EQ(tap.logged().find(code), std::string::npos);
  EXPECT_EQ(pairing.text().find(code), std::string::npos);
}

// shows: P-PAIR-3, P-TRUST-7
TEST_F(Pairing, GivesATokenForTheSession) {
  const PeerId peer = tap.open(kOrigin);
  tap.say(peer, kPair);
  (void)tap.take(peer);
  tap.say(peer, confirm(shownCode(session)));
  const Message sessions = tap.take(peer);
  EXPECT_EQ(sessions.type(), "sessions");
  const std::string token = sessions.get("token");
  EXPECT_EQ(token.substr(0, 8), "ext-tok-");
  EXPECT_EQ(tap.logged().find(token), std::string::npos);
  tap.say(peer, hello("browser", "s"));
  const Message ack = tap.take(peer);
  EXPECT_EQ(ack.type(), "hello.ack");
  EXPECT_EQ(ack.get("persistDir"), kAbsent);

  const PeerId back = tap.open(kOrigin);
  tap.say(back, auth(token));
  EXPECT_EQ(tap.take(back).get("token"), kAbsent);
}

// shows: P-PAIR-4
TEST_F(Pairing, AWrongCodeCostsTheConnectionAndTheCode) {
  const PeerId peer = tap.open();
  tap.say(peer, kPair);
  const std::string code = shownCode(session);
  tap.say(peer, confirm(wrong(code)));
  EXPECT_EQ(tap.errorCode(peer), "AUTH_FAILED");
  EXPECT_EQ(tap.closeCode(peer), 1008);
  const PeerId next = tap.open();
  tap.say(next, kPair);
  tap.say(next, confirm(code));
  EXPECT_EQ(tap.errorCode(next), "AUTH_FAILED");
}

// shows: P-PAIR-5
TEST_F(Pairing, ACodeIsForTheConnectionThatAsked) {
  const PeerId one = tap.open();
  tap.say(one, kPair);
  const std::string first = shownCode(session);
  const PeerId two = tap.open();
  tap.say(two, kPair);
  const std::string second = shownCode(session);
  ASSERT_NE(first, second);
  tap.say(two, confirm(first));
  EXPECT_TRUE(tap.closed(two));
  tap.say(one, confirm(first));
  EXPECT_FALSE(tap.closed(one));
}

// shows: P-PAIR-5
TEST_F(Pairing, ACodeExpiresAfterTwoMinutes) {
  const PeerId peer = tap.open();
  tap.say(peer, kPair);
  tap.advance(119'999);
  EXPECT_FALSE(tap.closed(peer));
  tap.advance(1);
  EXPECT_EQ(tap.errorCode(peer), "AUTH_FAILED");
  EXPECT_TRUE(tap.closed(peer));
  EXPECT_FALSE(tap.state().authenticator.confirmPairing(peer, shownCode(session)));
}

// shows: P-PAIR-6
TEST_F(Pairing, FiveTimesAMinute) {
  for (int i = 0; i < 5; ++i) {
    const PeerId peer = tap.open();
    tap.say(peer, kPair);
    EXPECT_EQ(tap.take(peer).type(), "auth.pairing") << i;
  }
  const PeerId peer = tap.open();
  tap.say(peer, kPair);
  EXPECT_EQ(tap.errorCode(peer), "RATE_LIMITED");
  EXPECT_FALSE(tap.closed(peer));
  tap.advance(60'000);
  const PeerId later = tap.open();
  tap.say(later, kPair);
  EXPECT_EQ(tap.take(later).type(), "auth.pairing");
}

// shows: P-PAIR-1
TEST_F(Pairing, MayNameTheSession) {
  const PeerId peer = tap.open();
  tap.say(peer, R"({"type":"auth","mode":"pair","session":"other"})");
  EXPECT_EQ(shownCode(session), "none");
  EXPECT_NE(shownCode(other), "none");
  const PeerId lost = tap.open();
  tap.say(lost, R"({"type":"auth","mode":"pair","session":"nowhere"})");
  EXPECT_EQ(tap.errorCode(lost), "AUTH_FAILED");
}

// shows: P-PAIR-7
TEST_F(Pairing, TheTokenWorksFromItsOriginOnly) {
  const std::string token = pair(tap.open(kOrigin));
  for (const std::optional<std::string>& origin :
       {std::optional<std::string>(), std::optional<std::string>("https://evil.example"),
        std::optional<std::string>("")}) {
    const PeerId thief = tap.open(origin);
    tap.say(thief, auth(token));
    EXPECT_EQ(tap.errorCode(thief), "AUTH_FAILED");
    EXPECT_TRUE(tap.closed(thief));
  }
  const std::string program = pair(tap.open());
  const PeerId page = tap.open(kOrigin);
  tap.say(page, auth(program));
  EXPECT_TRUE(tap.closed(page));
}

// shows: P-PAIR-7
TEST_F(Pairing, TheTokenIsGoneWhenItIsRevoked) {
  const std::string token = pair(tap.open(kOrigin));
  EXPECT_EQ(tap.state().authenticator.paired().size(), 1u);
  EXPECT_TRUE(tap.state().authenticator.revoke("nobody").empty());
  EXPECT_EQ(tap.state().authenticator.revoke("browser").front().token, token);
  const PeerId back = tap.open(kOrigin);
  tap.say(back, auth(token));
  EXPECT_EQ(tap.errorCode(back), "AUTH_FAILED");
}

// shows: P-PAIR-7
TEST_F(Pairing, TheTokenEndsWithItsSession) {
  const std::string token = pair(tap.open(kOrigin));
  tap.send(session, protocol::EndSession{""});
  const PeerId back = tap.open(kOrigin);
  tap.say(back, auth(token));
  EXPECT_EQ(tap.errorCode(back), "AUTH_FAILED");
}

// shows: P-TRUST-3
TEST_F(Pairing, AnExternalProviderHasItsSessionOnly) {
  const PeerId peer = tap.open(kOrigin);
  pair(peer);
  tap.say(peer, hello("browser", "all"));
  EXPECT_EQ(tap.errorCode(peer), "UNAUTHORIZED");
  tap.say(peer, hello("browser", "other"));
  EXPECT_EQ(tap.errorCode(peer), "INVALID_SESSION");
  tap.say(peer, R"({"type":"hello","name":"browser","protocolVersion":2})");
  EXPECT_EQ(tap.take(peer).get("sessionId"), "s");
}

// shows: P-TRUST-5
TEST_F(Pairing, AnExternalProviderSubscribesToToolEventsOnly) {
  const PeerId peer = tap.open(kOrigin);
  pair(peer);
  const auto subscribing = [](std::string_view events) {
    return R"({"type":"hello","name":"browser","protocolVersion":2,"subscribe":[)" +
           std::string(events) + "]}";
  };
  tap.say(peer, subscribing(R"("tool.execution_complete","user.message")"));
  EXPECT_EQ(tap.errorCode(peer), "UNAUTHORIZED");
  tap.say(peer, subscribing(R"("tool.execution_complete")"));
  EXPECT_EQ(tap.take(peer).type(), "hello.ack");
  tap.clear();
  tap.say(peer, R"({"type":"session.ready","sessionId":"other"})");
  EXPECT_EQ(tap.errorCode(peer), "UNAUTHORIZED");
}

// shows: P-TRUST-6
TEST_F(Pairing, AnExternalProviderSeesNoOtherSessionsFolder) {
  const PeerId peer = tap.open(kOrigin);
  tap.say(peer, kPair);
  tap.say(peer, confirm(shownCode(session)));
  const Message list = tap.take(peer, "sessions");
  EXPECT_EQ(list.get("active.0.cwd"), "/code/s");
  EXPECT_EQ(list.get("active.1.id"), "other");
  EXPECT_EQ(list.get("active.1.cwd"), kAbsent);
  tap.session("third");
  const Message updated = tap.take(peer, "sessions.updated");
  EXPECT_EQ(updated.get("active.0.id"), "s") << "its own is the first";
  EXPECT_EQ(updated.get("active.1.id"), "third");
  EXPECT_EQ(updated.get("active.1.cwd"), kAbsent);
}

TEST_F(Pairing, ShowsTheUserWhichCodesWaitAndWhoIsPaired) {
  tap.send(session, protocol::ShowPairings{});
  EXPECT_NE(tap.timeline(session).find("nobody asks to be paired"), std::string::npos);
  const PeerId page = tap.open(kOrigin);
  tap.say(page, R"({"type":"auth","mode":"pair","session":"s","name":"browser"})");
  const std::string code = shownCode(session);
  tap.send(session, protocol::ShowPairings{});
  EXPECT_EQ(shownCode(session), code);
  tap.send(other, protocol::ShowPairings{});
  EXPECT_EQ(shownCode(other), "none") << "it is not this session's";
  tap.say(page, confirm(code));
  tap.send(session, protocol::ShowPairings{});
  const std::string shown = tap.timeline(session);
  EXPECT_NE(shown.find("nobody asks"), std::string::npos) << "a code serves once";
  EXPECT_NE(shown.find("paired with this session: browser (https://page.example)"),
            std::string::npos);
}

}  // namespace
}  // namespace tap::gateway::test
