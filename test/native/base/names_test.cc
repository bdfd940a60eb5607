// Names, and the visibility of characters.
#include "base/names.h"

#include <gtest/gtest.h>

#include <string>

#include "base/characters.h"
#include "base/encoding.h"
#include "base/utf8.h"

namespace tap {
namespace {

std::string text(char32_t point) {
  return std::string(utf8::encode(point).view());
}

// All that can be written in UTF-8.
template <class Visit>
void eachPoint(Visit visit) {
  for (char32_t point = 0; point <= 0x10FFFF; ++point) {
    if (point < 0xD800 || point > 0xDFFF) visit(point);
  }
}

// shows: P-ID-7
TEST(Names, AreWordsOfAnyLanguage) {
  for (const char* name :
       {"docs", "my docs", "a", "ci-watcher_2", "größe", "天気", "ビルド", "погода", "καιρός",
        "طقس", "मौसम", "বাংলা", "날씨", "อากาศ", "\U0001F600"}) {
    EXPECT_EQ(nameProblem(name), "") << name;
  }
}

// shows: P-ID-7
TEST(Names, HaveNothingThatIsNotSeen) {
  for (const char32_t point :
       {0x200B, 0x2060, 0xFEFF, 0xAD,   0xE0041, 0xFE0F, 0x3164, 0x34F,  0x115F,  0x1160,
        0xFFA0, 0x17B4, 0x17B5, 0x2028, 0x2029,  0x202E, 0x2066, 0x200D, 0x180B,  0xE0100,
        0x0,    0x1B,   0x7F,   0x85,   0xE000,  0x378,  0xFFFF, 0x2800, 0x10FFFF}) {
    const std::string problem = nameProblem("docs" + text(point));
    EXPECT_NE(problem, "") << std::hex << static_cast<uint32_t>(point);
    EXPECT_NE(nameProblem(text(point)), "") << std::hex << static_cast<uint32_t>(point);
  }
  EXPECT_NE(nameProblem("docs\u200B").find("U+200B"), std::string::npos);
  EXPECT_NE(nameProblem("docs\U000E0041").find("U+E0041"), std::string::npos);
}

// shows: P-ID-7
TEST(Names, HaveSingleBlanksInsideOnly) {
  for (const char* name : {" ", " docs", "docs ", "my  docs", "my\u00A0docs", "my\u3000docs",
                           "my\tdocs", "docs\u2003", "docs\n"}) {
    EXPECT_NE(nameProblem(name), "") << name;
  }
}

// shows: P-ID-7
TEST(Names, HaveNoOtherFormOfACharacter) {
  for (const char* name : {"\uFF44ocs", "\U0001D41Docs", "\uFB01le", "\u212Bngstr\u00F6m",
                           "x\u00B2", "\uF900", "\u1100\u1161"}) {
    EXPECT_NE(nameProblem(name), "") << name;
  }
}

TEST(Names, HaveNoMarkAtTheFrontOfAWord) {
  EXPECT_NE(nameProblem("my \u0301docs"), "");
  EXPECT_NE(nameProblem("\u0301docs"), "");
  EXPECT_NE(nameProblem(""), "");
  EXPECT_EQ(nameProblem("e\u0301"), "");
}

TEST(Names, AreInQuotesWhereALineWouldRunOn) {
  for (const std::string_view plain : {"ci", "Build-2", "my_ci.v1"})
    EXPECT_EQ(inLine(plain), plain);
  EXPECT_EQ(inLine("ci/build"), R"("ci/build")");
  EXPECT_EQ(inLine("ci: all is well"), R"("ci: all is well")");
  EXPECT_EQ(inLine("ci left"), R"("ci left")");
  EXPECT_EQ(inLine(R"(x" left. tap: "y)"), R"("x\" left. tap: \"y")");
  EXPECT_EQ(inLine("ci\u2215build"), "\"ci\u2215build\"");  // it looks like a slash
  EXPECT_EQ(inLine(""), R"("")");
}

TEST(Names, LookLikeOthersOfTheSameLetters) {
  const std::pair<const char*, const char*> alike[]{
      {"docs", "Docs"}, {"docs", "d0cs"}, {"lint", "Iint"}, {"lint", "1int"}, {"o", "0"}};
  for (const auto& [one, other] : alike) EXPECT_TRUE(looksLike(one, other)) << other;
  const std::pair<const char*, const char*> different[]{
      {"docs", "dogs"}, {"a-b", "a_b"}, {"a b", "ab"},    {"docs", "doc"},
      {"p2", "p3"},     {"p1", "p2"},   {"天気", "天候"}, {"docs", "d\u043Ecs"}};
  for (const auto& [one, other] : different) EXPECT_FALSE(looksLike(one, other)) << other;
}

TEST(Names, OfOtherPartiesAreAscii) {
  for (const char* name : {"", "docs", "My docs 2", "a|b~"}) EXPECT_EQ(asciiNameProblem(name), "");
  EXPECT_NE(asciiNameProblem("d\u043Ecs").find("U+043E"), std::string::npos);
  for (const char* name : {"gr\u00F6\u00DFe", "a\nb", "\x7f", "\xff"}) {
    EXPECT_NE(asciiNameProblem(name), "") << name;
  }
}

TEST(Characters, AreShownTheSameTwice) {
  eachPoint([](char32_t point) {
    const std::string shown = visible("a" + text(point) + "b", false);
    ASSERT_TRUE(utf8::isValid(shown));
    ASSERT_EQ(visible(shown, false), shown) << std::hex << static_cast<uint32_t>(point);
  });
}

TEST(Characters, OfNamesAreSeenAsTheyAre) {
  eachPoint([](char32_t point) {
    const std::string name = "a" + text(point) + "b";
    if (!nameProblem(name).empty()) return;
    ASSERT_EQ(visible(name, false), name) << std::hex << static_cast<uint32_t>(point);
    ASSERT_FALSE(characters::is(point, characters::kHidden | characters::kUnnamed));
  });
}

TEST(Visible, ShowsWhatIsNotDrawn) {
  EXPECT_EQ(visible("a\u200Bb\u00ADc\uFEFF", true), "a\\u{200b}b\\u{ad}c\\u{feff}");
  EXPECT_EQ(visible("\u3164\u034F\u17B4\uFFA0", true), "\\u{3164}\\u{34f}\\u{17b4}\\u{ffa0}");
  EXPECT_EQ(visible("ok\U000E0049\U000E0047", true), "ok\\u{e0049}\\u{e0047}");
  EXPECT_EQ(visible("\U000E0100", true), "\\u{e0100}");
}

// shows: P-PUSH-22
TEST(Visible, LeavesEmojiAndWordsThatAreWrittenWithJoinersAlone) {
  for (const char* fine :
       {"\u2764\uFE0F", "\U0001F468\u200D\U0001F469\u200D\U0001F467", "1\uFE0F\u20E3",
        "\U0001F44B\U0001F3FD", "\U0001F9D1\U0001F3FD\u200D\U0001F680",
        "\U0001F3F3\uFE0F\u200D\U0001F308", "\U0001F1E9\U0001F1EA",
        "\u0645\u06CC\u200C\u062E\u0648\u0627\u0647\u0645", "\u0915\u094D\u200D\u0937"}) {
    EXPECT_EQ(visible(fine, false), fine);
    EXPECT_EQ(visibleToModel(fine, 1000), fine);
  }
}

TEST(Visible, ShowsJoinersAndSelectorsThatBelongToNothing) {
  EXPECT_EQ(visible("a\uFE0F", false), "a\\u{fe0f}");
  EXPECT_EQ(visible("1\uFE0F", false), "1\\u{fe0f}");
  EXPECT_EQ(visible("\u2764\uFE0F\uFE0F", false), "\u2764\uFE0F\\u{fe0f}");
  EXPECT_EQ(visible("a\u200Db\u200Cc", false), "a\\u{200d}b\\u{200c}c");
  EXPECT_EQ(visible("\U0001F468\u200D", false), "\U0001F468\\u{200d}");
  EXPECT_EQ(visible("\U0001F468\u200D\u200D\U0001F469", false),
            "\U0001F468\\u{200d}\\u{200d}\U0001F469");
  EXPECT_EQ(visible("\U0001F3F4\U000E0067", false), "\U0001F3F4\\u{e0067}");
}

TEST(Visible, CutsNoJoinerFromWhatItJoins) {
  const std::string family = "\U0001F468\u200D\U0001F469\u200D\U0001F467";
  for (size_t most = 0; most <= family.size(); ++most) {
    const std::string shown = visible(family, false, most);
    EXPECT_LE(shown.size(), most);
    EXPECT_EQ(visible(shown, false, most), shown) << most;
  }
}

TEST(Visible, ToTheModelLeavesControlCharactersAlone) {
  EXPECT_EQ(visibleToModel("a\r\n\tb\x1B[2J\u0085", 1000), "a\r\n\tb\x1B[2J\u0085");
  EXPECT_EQ(visibleToModel("a\u202E\u2028\U000E0041", 1000), "a\\u{202e}\\u{2028}\\u{e0041}");
  EXPECT_EQ(visibleToModel("abcdefghi", 8), "abcde…");
}

TEST(InQuotes, CannotBeLeft) {
  EXPECT_EQ(inQuotes(R"(docs" connected. Provider "x)"), R"("docs\" connected. Provider \"x")");
  EXPECT_EQ(inQuotes(R"(docs\" connected. Provider \"x)"),
            R"("docs\\\" connected. Provider \\\"x")");
}

}  // namespace
}  // namespace tap
