#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/json.h"

namespace tap::json {
namespace {

// The reason for which a text is refused, "" if it is accepted. The scanner sees memory of exactly
// the text's size, so that a sanitizer catches a look behind its end.
std::string reasonFor(std::string_view text) {
  const auto exact = std::make_unique<char[]>(text.size());
  text.copy(exact.get(), text.size());
  Scanner scanner;
  const auto result = scanner.scan({exact.get(), text.size()});
  return result.ok() ? "" : result.error().reason;
}

bool accepts(std::string_view text) {
  return reasonFor(text).empty();
}

size_t errorOffset(std::string_view text) {
  Scanner scanner;
  const auto result = scanner.scan(text);
  return result.ok() ? std::string::npos : result.error().offset;
}

std::string nested(size_t depth, std::string_view open, std::string_view close) {
  std::string text;
  for (size_t i = 0; i < depth; ++i) text += open;
  for (size_t i = 0; i < depth; ++i) text += close;
  return text;
}

TEST(JsonScanner, AcceptsEverySortOfRoot) {
  for (const char* text : {"{}", "[]", "\"\"", "0", "true", "false", "null"}) {
    EXPECT_TRUE(accepts(text)) << text;
  }
}

TEST(JsonScanner, ReturnsTheRootWithoutTheBlanksAroundIt) {
  Scanner scanner;
  const auto result = scanner.scan(" \t\r\n[1, 2] \n");
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result.value().kind, Kind::Array);
  EXPECT_EQ(result.value().raw, "[1, 2]");
}

TEST(JsonScanner, NamesTheKindOfTheRoot) {
  Scanner scanner;
  EXPECT_EQ(scanner.scan("{}").value().kind, Kind::Object);
  EXPECT_EQ(scanner.scan("[]").value().kind, Kind::Array);
  EXPECT_EQ(scanner.scan("\"\"").value().kind, Kind::String);
  EXPECT_EQ(scanner.scan("-1").value().kind, Kind::Number);
  EXPECT_EQ(scanner.scan("true").value().kind, Kind::Boolean);
  EXPECT_EQ(scanner.scan("false").value().kind, Kind::Boolean);
  EXPECT_EQ(scanner.scan("null").value().kind, Kind::Null);
}

TEST(JsonScanner, RefusesATextWithoutAValue) {
  for (const char* text : {"", " ", "\n\t\r "}) EXPECT_FALSE(accepts(text)) << text;
  Scanner scanner;
  EXPECT_FALSE(scanner.scan(std::string_view()).ok());
}

TEST(JsonScanner, TakesOnlyTheFourBlanksOfJson) {
  EXPECT_TRUE(accepts(" \t\r\n1 \t\r\n"));
  for (const char* text : {"\f1", "\v1", "1\xC2\xA0", "\u20281", "1\xE3\x80\x80"}) {
    EXPECT_FALSE(accepts(text)) << text;
  }
  EXPECT_FALSE(accepts(std::string_view("1\0", 2)));
}

TEST(JsonScanner, RefusesAByteOrderMark) {
  EXPECT_EQ(reasonFor("\xEF\xBB\xBF{}"), "a byte order mark is not allowed");
}

TEST(JsonScanner, RefusesWhatFollowsTheValue) {
  for (const char* text : {"1 2", "{}{}", "[]]", "nullnull", "true,", "\"a\"b", "{}}", "1:2"}) {
    EXPECT_EQ(reasonFor(text), "something follows the value") << text;
  }
}

TEST(JsonScanner, RefusesTrailingComma) {
  EXPECT_EQ(reasonFor("[1,]"), "a comma must not stand before ']'");
  EXPECT_EQ(reasonFor("{\"a\":1,}"), "a comma must not stand before '}'");
}

TEST(JsonScanner, RefusesBracketsThatDoNotMatch) {
  for (const char* text : {"[}", "{]", "[1}", "{\"a\":1]", "]", "}", "[[]", "[{]}"}) {
    EXPECT_FALSE(accepts(text)) << text;
  }
}

TEST(JsonScanner, RefusesMisplacedCommasAndColons) {
  for (const char* text : {"[,]", "[,1]", "[1,,2]", "[1 2]", "[1:2]", "{,}", "{\"a\"}", "{\"a\":}",
                           "{\"a\",1}", "{\"a\"::1}", "{:1}", "{\"a\":1 \"b\":2}", "{\"a\" 1}"}) {
    EXPECT_FALSE(accepts(text)) << text;
  }
}

TEST(JsonScanner, RefusesKeysThatAreNoStrings) {
  for (const char* text : {"{a:1}", "{1:1}", "{'a':1}", "{null:1}", "{[]:1}"}) {
    EXPECT_EQ(reasonFor(text), "a key in double quotes is expected here") << text;
  }
}

TEST(JsonScanner, RefusesWhatOnlyJavaScriptAllows) {
  for (const char* text : {"NaN", "Infinity", "-Infinity", "undefined", "'a'", "// a\n1", "/* */1",
                           "0x10", "1_000", "10n", "\"a\" + \"b\"", "[1,2,...a]", "True", "nul"}) {
    EXPECT_FALSE(accepts(text)) << text;
  }
}

TEST(JsonScanner, AcceptsEveryFormOfANumber) {
  for (const char* text : {"0",     "-0",       "7",      "10",
                           "-120",  "0.5",      "-0.0",   "1.25",
                           "0e0",   "1e5",      "1E5",    "1e+5",
                           "1e-5",  "1.5E-007", "0e+1",   "123456789012345678901234567890",
                           "1e999", "-1e999",   "1e-999", "1e99999999999999999999"}) {
    EXPECT_TRUE(accepts(text)) << text;
  }
}

TEST(JsonScanner, RefusesEveryOtherFormOfANumber) {
  for (const char* text :
       {"-",   "+1",  "01", "-01", "00",    "1.",    ".5",    "-.5", "1.e5", "1e",
        "1e+", "1e-", "1E", "--1", "1.2.3", "1e5.5", "1e5e5", "0.",  "-e5",  "1a"}) {
    EXPECT_FALSE(accepts(text)) << text;
  }
}

TEST(JsonScanner, AcceptsEveryEscape) {
  EXPECT_TRUE(accepts(R"("\"\\\/\b\f\n\r\t\u0000\u12aB\uFFFF")"));
}

// shows: P-CONN-6
TEST(JsonScanner, AcceptsLoneSurrogateEscapes) {
  for (const char* text :
       {R"("\ud800")", R"("\udfff")", R"("\udc00\ud800")", R"("\ud800\u0041")"}) {
    EXPECT_TRUE(accepts(text)) << text;
  }
}

TEST(JsonScanner, RefusesUnknownEscapes) {
  for (const char* text :
       {R"("\a")", R"("\x41")", R"("\'")", R"("\0")", R"("\U0041")", "\"\\\n\""}) {
    EXPECT_EQ(reasonFor(text), "no such escape in JSON") << text;
  }
  EXPECT_FALSE(accepts(std::string_view("\"\\\0\"", 4)));
}

TEST(JsonScanner, RefusesUnicodeEscapesThatAreTooShort) {
  for (const char* text : {R"("\u")", R"("\u1")", R"("\u12")", R"("\u123")", R"("\u123g")",
                           R"("\u 123")", R"("\u{41}")", R"("\u-123")"}) {
    EXPECT_EQ(reasonFor(text), "\\u takes four hexadecimal digits") << text;
  }
}

TEST(JsonScanner, RefusesControlCharactersInStringsAtEveryPlace) {
  for (int control = 0; control < 0x20; ++control) {
    for (size_t at = 0; at < 40; ++at) {  // crosses the blocks in which strings are read
      std::string text = '"' + std::string(40, 'x') + '"';
      text[at + 1] = static_cast<char>(control);
      ASSERT_EQ(errorOffset(text), at + 1) << control;
    }
  }
}

TEST(JsonScanner, AcceptsEveryOtherByteInStringsAtEveryPlace) {
  for (int byte = 0x20; byte < 0x100; ++byte) {
    if (byte == '"' || byte == '\\') continue;
    for (size_t at = 0; at < 40; ++at) {
      std::string text = '"' + std::string(40, 'x') + '"';
      text[at + 1] = static_cast<char>(byte);
      ASSERT_TRUE(accepts(text)) << byte << " at " << at;
    }
  }
}

TEST(JsonScanner, FindsTheEndOfStringsOfEveryLength) {
  for (size_t length = 0; length < 70; ++length) {
    const std::string text = '"' + std::string(length, 'x') + '"';
    EXPECT_TRUE(accepts(text)) << length;
    EXPECT_EQ(errorOffset(text + '"'), length + 2);
  }
}

// After its first escape a string is read in blocks of a different size.
TEST(JsonScanner, ReadsAnEscapeAtEveryPlaceOfALongString) {
  for (size_t at = 0; at < 140; ++at) {
    const std::string front = R"("\t)" + std::string(at, 'x');
    const std::string rest(150, 'y');
    for (const char* good : {R"(\n)", R"(\")", R"(\\)", R"(\\\")", R"(\u00e9)", R"(\"\")"}) {
      EXPECT_EQ(errorOffset(front + good + rest + '"'), std::string::npos) << good << " at " << at;
      EXPECT_EQ(errorOffset(front + good + rest + "\"!"),
                front.size() + std::string_view(good).size() + 151);
      EXPECT_EQ(reasonFor(front + good + rest), "the text ends inside a string");
    }
    struct Refused {
      const char* text;
      size_t offset;
      const char* reason;
    };
    for (const Refused& bad : {
             Refused{R"(\\\x)", 3, "no such escape in JSON"},
             Refused{R"(\u12")", 4, "\\u takes four hexadecimal digits"},
             Refused{"\n", 0, "a control character in a string must be escaped"},
             Refused{R"(\\")", 3, "something follows the value"},
         }) {
      const std::string text = front + bad.text + rest + '"';
      EXPECT_EQ(reasonFor(text), bad.reason) << bad.text << " at " << at;
      EXPECT_EQ(errorOffset(text), front.size() + bad.offset) << bad.text << " at " << at;
    }
  }
}

TEST(JsonScanner, RefusesATextThatEndsEarlyWhereverItEnds) {
  const std::string text = R"( {"a\u00e9\n": [1.5e+3, true, {"b": null}], "c": "d"})";
  for (size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(accepts(text.substr(0, length))) << length;
  }
  EXPECT_TRUE(accepts(text));
}

// shows: P-CONN-6
TEST(JsonScanner, AcceptsUpTo128Levels) {
  const size_t most = kMaxDepth;
  for (const size_t depth : {most - 1, most}) {
    EXPECT_TRUE(accepts(nested(depth, "[", "]"))) << depth;
  }
  EXPECT_EQ(reasonFor(nested(most + 1, "[", "]")), "nested more than 128 levels deep");
  EXPECT_EQ(errorOffset(nested(most + 1, "[", "]")), most);
}

TEST(JsonScanner, CountsObjectsAndArraysAlike) {
  const size_t half = kMaxDepth / 2;
  EXPECT_TRUE(accepts(nested(half, "{\"a\":[", "]}")));
  EXPECT_FALSE(accepts('[' + nested(half, "{\"a\":[", "]}") + ']'));
}

TEST(JsonScanner, DoesNotCountSiblingsAsDepth) {
  std::string text = "[[]";
  for (int i = 0; i < 1000; ++i) text += ",[{}]";
  EXPECT_TRUE(accepts(text + ']'));
}

TEST(JsonScanner, StopsAtTheDepthLimitOfAnEndlessText) {
  EXPECT_EQ(errorOffset(std::string(1'000'000, '[')), static_cast<size_t>(kMaxDepth));
}

TEST(JsonScanner, PointsAtTheMistake) {
  EXPECT_EQ(errorOffset("[1, 2, x]"), 7u);
  EXPECT_EQ(errorOffset("{\"a\": tru}"), 6u);
  EXPECT_EQ(errorOffset("[1"), 2u);
  EXPECT_EQ(errorOffset("[01]"), 2u);
}

TEST(JsonScanner, GivesTheRootsMembersInOrder) {
  Scanner scanner;
  ASSERT_TRUE(scanner.scan(R"({ "a" : 1 , "b":[2, {"x":3}],"c\n":"d"})").ok());
  ASSERT_EQ(scanner.members().size(), 3u);
  EXPECT_EQ(scanner.members()[0].key, "a");
  EXPECT_EQ(scanner.members()[0].value.raw, "1");
  EXPECT_EQ(scanner.members()[1].value.kind, Kind::Array);
  EXPECT_EQ(scanner.members()[1].value.raw, R"([2, {"x":3}])");
  EXPECT_EQ(scanner.members()[2].key, "c\\n");
  EXPECT_EQ(scanner.members()[2].value.raw, "\"d\"");
}

TEST(JsonScanner, HasNoMembersWhereTheRootIsNoObject) {
  Scanner scanner;
  ASSERT_TRUE(scanner.scan(R"([{"a":1}])").ok());
  EXPECT_TRUE(scanner.members().empty());
}

TEST(JsonScanner, ForgetsTheMembersOfTheTextBefore) {
  Scanner scanner;
  ASSERT_TRUE(scanner.scan(R"({"a":1})").ok());
  ASSERT_FALSE(scanner.scan(R"({"a":1,"b":2)").ok());
  EXPECT_TRUE(scanner.members().empty());
  ASSERT_TRUE(scanner.scan(R"({"b":2})").ok());
  EXPECT_FALSE(scanner.find("a").has_value());
}

TEST(JsonScanner, ReadsOnAfterATextWithVeryManyMembers) {
  std::string text = "{\"a\":0";
  for (int i = 0; i < 10'000; ++i) text += ",\"\":0";
  Scanner scanner;
  ASSERT_TRUE(scanner.scan(text + '}').ok());
  EXPECT_EQ(scanner.members().size(), 10'001u);
  ASSERT_TRUE(scanner.scan("{\"b\":1}").ok());
  EXPECT_EQ(scanner.members().size(), 1u);
}

TEST(JsonScanner, FindsTheLastOfTwoEqualKeys) {
  Scanner scanner;
  ASSERT_TRUE(scanner.scan(R"({"a":1,"b":2,"\u0061":3})").ok());
  ASSERT_TRUE(scanner.find("a").has_value());
  EXPECT_EQ(scanner.find("a")->raw, "3");
}

TEST(JsonScanner, FindsNoKeyThatOnlyBeginsAlike) {
  Scanner scanner;
  ASSERT_TRUE(scanner.scan(R"({"abc":1,"":2})").ok());
  EXPECT_FALSE(scanner.find("ab").has_value());
  EXPECT_FALSE(scanner.find("abcd").has_value());
  EXPECT_EQ(scanner.find("")->raw, "2");
}

}  // namespace
}  // namespace tap::json
