// Tokens and codes by themselves.
#include "gateway/registry/authenticator.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace tap::gateway {
namespace {

using protocol::Trust;

constexpr PeerId kPeer{1};

Authenticator::FillSecret seeded(uint32_t seed) {
  return [random = std::mt19937(seed)](uint8_t* bytes, size_t size) mutable {
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(random());
  };
}

struct Authentication : ::testing::Test {
  Authenticator authenticator{"ptk-instance", seeded(1)};
  Limits limits;

  Trust trust(std::string_view token, const std::optional<std::string>& origin = {}) {
    const auto credentials = authenticator.check(token, origin);
    return credentials ? credentials->trust : Trust::None;
  }
  std::optional<std::string> start(PeerId peer, int64_t at) {
    return authenticator.startPairing(peer, {"web", "s", {}}, limits, Time(Millis(at)));
  }
};

// shows: P-AUTH-3, P-TRUST-1
TEST_F(Authentication, TheInstanceTokenIsGoodForEverySession) {
  const auto credentials = authenticator.check("ptk-instance", {});
  ASSERT_TRUE(credentials);
  EXPECT_EQ(credentials->trust, Trust::Project);
  EXPECT_EQ(credentials->onlySession, "");
  EXPECT_EQ(credentials->token, "");
  for (const char* token : {"", "ptk-instanc", "ptk-instance2", "PTK-INSTANCE"}) {
    EXPECT_EQ(trust(token), Trust::None) << token;
  }
}

// shows: P-AUTH-8
TEST_F(Authentication, ASpawnTokenIsGoodForItsSession) {
  const std::string token = authenticator.issueSpawnToken("s");
  EXPECT_EQ(token.size(), 4u + 64u);
  const auto credentials = authenticator.check(token, {});
  ASSERT_TRUE(credentials);
  EXPECT_EQ(credentials->trust, Trust::Project);
  EXPECT_EQ(credentials->onlySession, "s");
  EXPECT_NE(*credentials, *authenticator.check(authenticator.issueSpawnToken("s"), {}));
  authenticator.forgetSession("t");
  EXPECT_EQ(trust(token), Trust::Project);
  authenticator.forgetSession("s");
  EXPECT_EQ(trust(token), Trust::None);
}

// shows: P-AUTH-10
TEST_F(Authentication, AWebPageCanUseItsPairedTokenOnly) {
  const std::string page = authenticator.issuePairedToken({"web", "s", "https://a.example"});
  const std::string program = authenticator.issuePairedToken({"script", "s", {}});
  const std::string spawned = authenticator.issueSpawnToken("s");
  EXPECT_EQ(trust(page, "https://a.example"), Trust::External);
  EXPECT_EQ(trust(program), Trust::External);
  for (const char* origin : {"", "null", "https://b.example", "http://a.example"}) {
    for (const std::string& token : {page, program, spawned, std::string("ptk-instance")}) {
      EXPECT_EQ(trust(token, origin), Trust::None) << origin;
    }
  }
  EXPECT_EQ(trust(page), Trust::None);
}

// shows: P-AUTH-6
TEST_F(Authentication, NoTwoTokensAreEqual) {
  std::set<std::string> tokens;
  for (int i = 0; i < 50; ++i) {
    tokens.insert(authenticator.issueSpawnToken("s"));
    tokens.insert(authenticator.issuePairedToken({"n", "s", {}}));
    tokens.insert(authenticator.issueReconnectToken());
  }
  EXPECT_EQ(tokens.size(), 150u);
}

// shows: P-PAIR-2
TEST_F(Authentication, CodesAreSixDigits) {
  limits.set(Limit::PairingsPerMinute, 1'000);
  std::set<std::string> codes;
  for (int i = 0; i < 500; ++i) {
    const std::string code = start(kPeer, 0).value();
    EXPECT_EQ(code.size(), 6u);
    EXPECT_EQ(code.find_first_not_of("0123456789"), std::string::npos) << code;
    codes.insert(code);
  }
  EXPECT_GT(codes.size(), 490u);
}

// shows: P-PAIR-4
TEST_F(Authentication, ACodeIsUsedUpRightOrWrong) {
  const std::string code = start(kPeer, 0).value();
  EXPECT_FALSE(authenticator.confirmPairing(PeerId{2}, code));
  EXPECT_EQ(authenticator.confirmPairing(kPeer, code)->sessionId, "s");
  EXPECT_FALSE(authenticator.confirmPairing(kPeer, code));
  const std::string next = start(kPeer, 0).value();
  EXPECT_FALSE(authenticator.confirmPairing(kPeer, next + "0"));
  EXPECT_FALSE(authenticator.confirmPairing(kPeer, next));
  const std::string last = start(kPeer, 0).value();
  authenticator.forgetSession("s");
  EXPECT_FALSE(authenticator.confirmPairing(kPeer, last));
}

// shows: P-PAIR-6
TEST_F(Authentication, TheMinuteOfPairingsSlides) {
  for (int64_t at = 0; at < 5; ++at) EXPECT_TRUE(start(kPeer, at * 10'000));
  EXPECT_FALSE(start(kPeer, 59'999));
  EXPECT_TRUE(start(kPeer, 60'000));
  EXPECT_FALSE(start(kPeer, 60'001));
}

// shows: P-AUTH-11
TEST(AuthenticatorWithoutRandomness, IssuesNothing) {
  Authenticator authenticator("ptk-instance", {});
  EXPECT_EQ(authenticator.issueSpawnToken("s"), "");
  EXPECT_EQ(authenticator.issuePairedToken({"n", "s", {}}), "");
  EXPECT_EQ(authenticator.issueReconnectToken(), "");
  EXPECT_FALSE(authenticator.check("", {}));
  EXPECT_FALSE(authenticator.startPairing(kPeer, {"n", "s", {}}, {}, Time{}));
}

}  // namespace
}  // namespace tap::gateway
