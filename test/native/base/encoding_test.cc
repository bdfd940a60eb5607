#include "base/encoding.h"

#include <gtest/gtest.h>

#include <string>

namespace tap {
namespace {

std::string sha1Hex(std::string_view bytes) {
  const auto digest = sha1(bytes);
  return hex({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

TEST(Base64, EncodesTheVectorsOfRfc4648) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foob"), "Zm9vYg==");
  EXPECT_EQ(base64("fooba"), "Zm9vYmE=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
}

TEST(Base64, IsKnownByItsForm) {
  for (const char* good : {"AAAA", "Zg==", "Zm8=", "AZaz09+/", "Zm9vYg=="}) {
    EXPECT_TRUE(isBase64(good)) << good;
  }
  for (const char* bad : {"", "A", "AA", "AAA", "AAAAA", "====", "A===", "AA=A", "AAAA====", "AA-_",
                          "AA A", "AA\nA", "AA\xC3\xA9"}) {
    EXPECT_FALSE(isBase64(bad)) << bad;
  }
}

TEST(Base64, UsesTheStandardAlphabet) {
  EXPECT_EQ(base64("\xFB\xEF\xBE\xFF\xFF\xFF"), "++++////");
  EXPECT_EQ(base64(std::string(3, '\0')), "AAAA");
}

TEST(Sha1, DigestsTheVectorsOfRfc3174) {
  EXPECT_EQ(sha1Hex(""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  EXPECT_EQ(sha1Hex("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(sha1Hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
  EXPECT_EQ(sha1Hex(std::string(1'000'000, 'a')), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

TEST(Sha1, PadsMessagesOfEveryLengthAroundABlock) {
  EXPECT_EQ(sha1Hex(std::string(55, 'a')), "c1c8bbdc22796e28c0e15163d20899b65621d65a");
  EXPECT_EQ(sha1Hex(std::string(56, 'a')), "c2db330f6083854c99d4b5bfb6e8f29f201be699");
  EXPECT_EQ(sha1Hex(std::string(63, 'a')), "03f09f5b158a7a8cdad920bddc29b81c18a551f5");
  EXPECT_EQ(sha1Hex(std::string(64, 'a')), "0098ba824b5c16427bd7a1122a5a442a25ec644d");
  EXPECT_EQ(sha1Hex(std::string(65, 'a')), "11655326c708d70319be2610e8a57d9a5b959d3b");
}

TEST(Sha1, GivesTheAcceptKeyOfRfc6455) {
  const auto digest = sha1("dGhlIHNhbXBsZSBub25jZQ==258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
  const std::string_view bytes(reinterpret_cast<const char*>(digest.data()), digest.size());
  EXPECT_EQ(base64(bytes), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

TEST(Hex, WritesLowerCaseAndLeadingZeros) {
  EXPECT_EQ(hex(""), "");
  EXPECT_EQ(hex(std::string_view("\0\x0F\xA5\xFF", 4)), "000fa5ff");
}

// shows: P-AUTH-6
TEST(EqualConstantTime, ComparesEveryByte) {
  EXPECT_TRUE(equalConstantTime("", ""));
  EXPECT_TRUE(equalConstantTime("token", "token"));
  EXPECT_FALSE(equalConstantTime("token", "Token"));
  EXPECT_FALSE(equalConstantTime("token", "tokeN"));
  EXPECT_FALSE(equalConstantTime("token", "tokens"));
  EXPECT_FALSE(equalConstantTime("", "t"));
  EXPECT_FALSE(equalConstantTime("\x80", std::string(1, '\0')));
}

TEST(Visible, LeavesPlainTextAlone) {
  EXPECT_EQ(visible("", false), "");
  EXPECT_EQ(visible("Größe 漢字 \U0001F600 \\x41", false), "Größe 漢字 \U0001F600 \\x41");
}

TEST(Visible, ShowsTerminalEscapes) {
  EXPECT_EQ(visible("\x1B[31mred\x1B[0m", false), "\\x1b[31mred\\x1b[0m");
  EXPECT_EQ(visible("\x1B]0;title\a", true), "\\x1b]0;title\\x07");
}

TEST(Visible, ShowsEveryControlCharacterOfAscii) {
  for (int c = 0; c < 0x20; ++c) {
    EXPECT_EQ(visible(std::string(1, static_cast<char>(c)), false).substr(0, 2), "\\x") << c;
  }
  EXPECT_EQ(visible("\x7F", false), "\\x7f");
  EXPECT_EQ(visible(std::string(1, '\0'), false), "\\x00");
  EXPECT_EQ(visible(" ~", false), " ~");
}

TEST(Visible, KeepsLinesAndTabsOnlyIfAsked) {
  EXPECT_EQ(visible("a\n\tb\r\n", true), "a\n\tb\\x0d\n");
  EXPECT_EQ(visible("a\n\tb", false), "a\\x0a\\x09b");
}

TEST(Visible, ShowsTheSecondSetOfControlCharacters) {
  EXPECT_EQ(visible("\u0080\u009B31m\u009F", false), "\\u{80}\\u{9b}31m\\u{9f}");
  EXPECT_EQ(visible("\u00A0", false), "\u00A0");
}

TEST(Visible, ShowsWhatTurnsTextAround) {
  EXPECT_EQ(visible("\u202A\u202B\u202C\u202D\u202E", false),
            "\\u{202a}\\u{202b}\\u{202c}\\u{202d}\\u{202e}");
  EXPECT_EQ(visible("\u2066\u2067\u2068\u2069", false), "\\u{2066}\\u{2067}\\u{2068}\\u{2069}");
  EXPECT_EQ(visible("\u2028\u2029", true), "\\u{2028}\\u{2029}");
  EXPECT_EQ(visible("\u2027\u202F\u2065\u206A", false), "\u2027\u202F\\u{2065}\\u{206a}");
}

TEST(Visible, ShowsBytesThatAreNoUtf8) {
  EXPECT_EQ(visible("a\xFF"
                    "b\xC3",
                    false),
            "a\\xffb\\xc3");
  EXPECT_EQ(visible("\x9B"
                    "31m",
                    false),
            "\\x9b31m");
  EXPECT_EQ(visible("\xED\xA0\x80", false), "\\xed\\xa0\\x80");
}

TEST(Visible, CutsLongTextWithAnEllipsis) {
  EXPECT_EQ(visible("abcdefg", false, 8), "abcdefg");
  EXPECT_EQ(visible("abcdefgh", false, 8), "abcdefgh");
  EXPECT_EQ(visible("abcdefghi", false, 8), "abcde…");
}

TEST(Visible, CutsNeitherACharacterNorAnEscapeInTwo) {
  EXPECT_EQ(visible("aaaé€éééé", false, 9), "aaaé…");
  EXPECT_EQ(visible("a\x1B\x1B\x1B", false, 9), "a\\x1b…");
  EXPECT_EQ(visible("\u202E\u202E\u202E", false, 17), "\\u{202e}…");
}

TEST(Visible, IsNeverLongerThanAllowed) {
  const std::string text = "a\x1B\u202Eé\xFF\U0001F600" + std::string(40, '\n');
  for (size_t most = 0; most < 100; ++most) {
    EXPECT_LE(visible(text, false, most).size(), most);
    EXPECT_LE(visible(text, true, most).size(), most);
  }
}

}  // namespace
}  // namespace tap
