// Reading values from text that a scanner has validated.
#include <gtest/gtest.h>

#include <clocale>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"

namespace tap::json {
namespace {

Value scanned(std::string_view text) {
  Scanner scanner;
  const auto result = scanner.scan(text);
  EXPECT_TRUE(result.ok()) << text;
  return result.ok() ? result.value() : Value{Kind::Null, "null"};
}

std::vector<std::string> listMembers(std::string_view text) {
  std::vector<std::string> found;
  Members members(scanned(text));
  for (Member member; members.next(member);) {
    found.push_back(std::string(member.key) + '=' + std::string(member.value.raw));
  }
  return found;
}

std::vector<std::string> listElements(std::string_view text) {
  std::vector<std::string> found;
  Elements elements(scanned(text));
  for (Value element; elements.next(element);) found.emplace_back(element.raw);
  return found;
}

using Strings = std::vector<std::string>;

TEST(JsonMembers, AreWalkedInOrder) {
  EXPECT_EQ(listMembers(R"({"a":1,"b":"x","c":null,"d":[1,2],"e":{"f":{}}})"),
            (Strings{"a=1", "b=\"x\"", "c=null", "d=[1,2]", "e={\"f\":{}}"}));
}

TEST(JsonMembers, AreFoundAmongBlanks) {
  EXPECT_EQ(listMembers("{ \n\"a\" : 1 ,\t\"b\"\r:\n[ 1 ] }"), (Strings{"a=1", "b=[ 1 ]"}));
}

TEST(JsonMembers, OfAnEmptyObjectAreNone) {
  EXPECT_EQ(listMembers("{}"), Strings());
  EXPECT_EQ(listMembers("{ \n }"), Strings());
}

TEST(JsonMembers, MayHoldBracketsAndQuotesInStrings) {
  EXPECT_EQ(listMembers(R"({"a}":{"b":"]}\"{["},"c\"":"\\"})"),
            (Strings{R"(a}={"b":"]}\"{["})", R"(c\"="\\")"}));
}

TEST(JsonMembers, StayAtTheEnd) {
  const std::string text = "{\"a\":1}";
  Members members(scanned(text));
  Member member;
  EXPECT_TRUE(members.next(member));
  EXPECT_FALSE(members.next(member));
  EXPECT_FALSE(members.next(member));
}

TEST(JsonElements, AreWalkedInOrder) {
  EXPECT_EQ(listElements(R"([1, -2.5e3,true ,"a,b",[[]],{"a":[1]},null])"),
            (Strings{"1", "-2.5e3", "true", "\"a,b\"", "[[]]", "{\"a\":[1]}", "null"}));
}

TEST(JsonElements, OfAnEmptyArrayAreNone) {
  EXPECT_EQ(listElements("[]"), Strings());
  EXPECT_EQ(listElements("[ ]"), Strings());
}

TEST(JsonElements, KnowTheirKinds) {
  const std::string text = R"([{},[],"",0,false,null])";
  Elements elements(scanned(text));
  Value element;
  for (const Kind kind :
       {Kind::Object, Kind::Array, Kind::String, Kind::Number, Kind::Boolean, Kind::Null}) {
    ASSERT_TRUE(elements.next(element));
    EXPECT_EQ(element.kind, kind);
  }
}

TEST(JsonFind, TakesTheLastOfTwoEqualKeys) {
  const std::string text = R"({"a":1,"\u0061":2,"b":3})";
  EXPECT_EQ(find(scanned(text), "a")->raw, "2");
  EXPECT_FALSE(find(scanned(text), "c").has_value());
}

TEST(JsonKeyEquals, ResolvesEscapes) {
  EXPECT_TRUE(keyEquals("", ""));
  EXPECT_TRUE(keyEquals(R"(a\u0062\nc)", "ab\nc"));
  EXPECT_TRUE(keyEquals(R"(\ud83d\ude00!)", "\U0001F600!"));
  EXPECT_TRUE(keyEquals(R"(\u00e9\u20ac)", "é€"));
  EXPECT_FALSE(keyEquals(R"(a\n)", R"(a\n)"));
  EXPECT_FALSE(keyEquals(R"(a\u0062)", "a"));
  EXPECT_FALSE(keyEquals(R"(a\u0062)", "abc"));
}

TEST(JsonKeyEquals, HoldsALoneSurrogateEqualToNoText) {
  EXPECT_FALSE(keyEquals(R"(\ud800)", "\uFFFD"));
  EXPECT_TRUE(keyEquals(R"(\ufffd)", "\uFFFD"));
}

TEST(JsonDecodeString, ResolvesEveryEscape) {
  const std::string text = R"("\"\\\/\b\f\n\r\t\u0041\u00e9\u20AC\ud83d\uDE00")";
  EXPECT_EQ(decodeString(scanned(text)), "\"\\/\b\f\n\r\tAé€\U0001F600");
  EXPECT_EQ(decodeString16(scanned(text)), u"\"\\/\b\f\n\r\tAé€\U0001F600");
}

TEST(JsonDecodeString, KeepsNulCharacters) {
  const std::string text = R"("a\u0000b")";
  EXPECT_EQ(decodeString(scanned(text)), std::string("a\0b", 3));
  EXPECT_EQ(decodeString16(scanned(text)), std::u16string(u"a\0b", 3));
}

TEST(JsonDecodeString, ReplacesLoneSurrogates) {
  for (const char* text : {R"("\ud800")", R"("\udc00")", R"("\udbff")", R"("\udfff")"}) {
    EXPECT_EQ(decodeString(scanned(text)), "\uFFFD") << text;
  }
  const std::string swapped = R"("\ude00\ud83d")";
  EXPECT_EQ(decodeString(scanned(swapped)), "\uFFFD\uFFFD");
  const std::string twoHigh = R"("\ud83d\ud83d\ude00\u0041")";
  EXPECT_EQ(decodeString(scanned(twoHigh)), "\uFFFD\U0001F600A");
  const std::string cutByEscape = R"("\ud83d\n")";
  EXPECT_EQ(decodeString(scanned(cutByEscape)), "\uFFFD\n");
}

TEST(JsonDecodeString16, KeepsLoneSurrogates) {
  const std::string text = R"("a\ud800b\udc00\ud83d\ude00")";
  const std::u16string expected{u'a', 0xD800, u'b', 0xDC00, 0xD83D, 0xDE00};
  EXPECT_EQ(decodeString16(scanned(text)), expected);
}

TEST(JsonDecodeString16, ReadsUtf8OfEveryLengthAtEveryPlace) {
  for (size_t at = 0; at < 40; ++at) {
    std::string text = '"' + std::string(at, 'x');
    text.append("é€\U0001F600\\t").append(at, 'x').append("\"");
    std::u16string expected(at, u'x');
    expected.append(u"é€\U0001F600\t").append(at, u'x');
    ASSERT_EQ(decodeString16(scanned(text)), expected) << at;
  }
}

std::optional<std::string> ascii(Value string) {
  std::string text(string.raw.size(), '\0');
  const AsciiText decoded = decodeAscii(string, text.data());
  EXPECT_EQ(decodeString16(decoded), decodeString16(string));
  // The same where it stands.
  std::string raw(string.raw);
  const AsciiText inPlace = decodeAscii({Kind::String, raw}, raw.data());
  EXPECT_EQ(inPlace.front, decoded.front);
  EXPECT_EQ(inPlace.rest, decoded.rest);
  EXPECT_EQ(decodeString16(inPlace), decodeString16(string));
  if (!decoded.rest.empty()) return std::nullopt;
  return std::string(decoded.front);
}

TEST(JsonDecodeAscii, DecodesWhatIsAsciiAndNothingElse) {
  EXPECT_EQ(ascii(scanned("\"\"")), "");
  EXPECT_EQ(ascii(scanned(R"("abc\n\u007f")")), "abc\n\x7f");
  EXPECT_EQ(ascii(scanned(R"("abc\u0080")")), std::nullopt);
  EXPECT_EQ(ascii(scanned(R"("\ud83d\ude00")")), std::nullopt);
  EXPECT_EQ(ascii(scanned(R"("\ud800")")), std::nullopt);
}

TEST(JsonDecodeAscii, SeesWhatIsNotPlainAtEveryPlaceOfABlock) {
  for (size_t size = 0; size < 50; ++size) {
    for (size_t at = 0; at <= size; ++at) {
      const std::string before(at, 'x');
      const std::string after(size - at, 'y');
      const std::string escaped = "\"" + before + "\\t" + after + "\"";
      EXPECT_EQ(ascii(scanned(escaped)), before + "\t" + after) << size << " " << at;
      const std::string umlaut = "\"" + before + "\xC3\xA4" + after + "\"";
      EXPECT_EQ(ascii(scanned(umlaut)), std::nullopt) << size << " " << at;
    }
  }
}

TEST(JsonDecodeNumber, ReadsDoubles) {
  EXPECT_EQ(decodeNumber(scanned("0")), 0);
  EXPECT_TRUE(std::signbit(decodeNumber(scanned("-0"))));
  EXPECT_EQ(decodeNumber(scanned("-12.5e+2")), -1250);
  EXPECT_EQ(decodeNumber(scanned("0.1")), 0.1);
  EXPECT_EQ(decodeNumber(scanned("1.7976931348623157e308")), std::numeric_limits<double>::max());
  EXPECT_EQ(decodeNumber(scanned("5e-324")), std::numeric_limits<double>::denorm_min());
}

// shows: P-CONN-6
TEST(JsonDecodeNumber, OverflowsToInfinity) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const char* text :
       {"1e999", "1.8e308", "1e99999999999999999999", "0.001e400", "100000000000e300"}) {
    EXPECT_EQ(decodeNumber(scanned(text)), infinity) << text;
    EXPECT_EQ(decodeNumber(scanned('-' + std::string(text))), -infinity) << text;
  }
  EXPECT_EQ(decodeNumber(scanned('1' + std::string(400, '0'))), infinity);
  EXPECT_EQ(decodeNumber(scanned('1' + std::string(400, '0') + "e-400")), 1);
}

TEST(JsonDecodeNumber, UnderflowsToZeroOfTheSameSign) {
  for (const char* text : {"1e-999", "1e-99999999999999999999", "1000e-400", "0.00001e-323"}) {
    EXPECT_EQ(decodeNumber(scanned(text)), 0) << text;
    EXPECT_TRUE(std::signbit(decodeNumber(scanned('-' + std::string(text))))) << text;
  }
  EXPECT_EQ(decodeNumber(scanned("0e99999999999999999999")), 0);
  EXPECT_EQ(decodeNumber(scanned("0." + std::string(400, '0') + '1')), 0);
  EXPECT_EQ(decodeNumber(scanned("0." + std::string(400, '0') + "1e401")), 1);
}

TEST(JsonDecodeNumber, DoesNotHeedTheLocale) {
  const char* const old = std::setlocale(LC_NUMERIC, nullptr);
  const std::string before = old == nullptr ? "C" : old;
  for (const char* comma : {"de_DE.UTF-8", "fr_FR.UTF-8"}) std::setlocale(LC_NUMERIC, comma);
  EXPECT_EQ(decodeNumber(scanned("1.5")), 1.5);
  std::setlocale(LC_NUMERIC, before.c_str());
}

TEST(JsonDecodeInteger, ReadsWholeNumbersHoweverWritten) {
  EXPECT_EQ(decodeInteger(scanned("0")), 0);
  EXPECT_EQ(decodeInteger(scanned("-0")), 0);
  EXPECT_EQ(decodeInteger(scanned("-42")), -42);
  EXPECT_EQ(decodeInteger(scanned("1e3")), 1000);
  EXPECT_EQ(decodeInteger(scanned("2.50e1")), 25);
}

TEST(JsonDecodeInteger, RefusesFractions) {
  EXPECT_FALSE(decodeInteger(scanned("0.5")).has_value());
  EXPECT_FALSE(decodeInteger(scanned("1e-1")).has_value());
}

TEST(JsonDecodeInteger, EndsAtTheSafeIntegers) {
  EXPECT_EQ(decodeInteger(scanned("9007199254740990")), 9007199254740990);
  EXPECT_EQ(decodeInteger(scanned("9007199254740991")), 9007199254740991);
  EXPECT_FALSE(decodeInteger(scanned("9007199254740992")).has_value());
  EXPECT_EQ(decodeInteger(scanned("-9007199254740991")), -9007199254740991);
  EXPECT_FALSE(decodeInteger(scanned("-9007199254740992")).has_value());
  EXPECT_FALSE(decodeInteger(scanned("1e999")).has_value());
}

TEST(JsonDecodeBoolean, ReadsBoth) {
  EXPECT_TRUE(decodeBoolean(scanned("true")));
  EXPECT_FALSE(decodeBoolean(scanned("false")));
}

TEST(JsonLoneSurrogates, AreFoundAndReplacedInPlace) {
  const std::vector<std::pair<std::string, std::string>> texts{
      {R"(["caf\udce9.txt"])", R"(["caf\ufffd.txt"])"},
      {R"({"\uD83d":"\uDE00"})", R"({"\ufffd":"\ufffd"})"},
      {R"(["\ud83d\ud83d\ude00"])", R"(["\ufffd\ud83d\ude00"])"},
      {R"(["\ud83d\ude00\ude00"])", R"(["\ud83d\ude00\ufffd"])"},
      {R"(["\ud83d\n\ude00"])", R"(["\ufffd\n\ufffd"])"},
      {R"(["\\\ud800\\ud800"])", R"(["\\\ufffd\\ud800"])"},
  };
  for (const auto& [text, repaired] : texts) {
    Scanner scanner;
    ASSERT_TRUE(scanner.scan(text).ok()) << text;
    EXPECT_TRUE(scanner.hasLoneSurrogate()) << text;
    EXPECT_EQ(replaceLoneSurrogates(text), repaired);
    ASSERT_TRUE(scanner.scan(repaired).ok()) << repaired;
    EXPECT_FALSE(scanner.hasLoneSurrogate()) << repaired;
  }
}

TEST(JsonLoneSurrogates, AreNoPairsAndNothingElse) {
  for (const char* text : {R"(["\ud83d\ude00\uDBFF\uDFFF"])", R"(["\ud7ff\ue000\u00d8"])",
                           R"(["\\ud800","ud800"])", "7"}) {
    Scanner scanner;
    ASSERT_TRUE(scanner.scan(text).ok()) << text;
    EXPECT_FALSE(scanner.hasLoneSurrogate()) << text;
  }
}

}  // namespace
}  // namespace tap::json
