#include "base/json_writer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "base/json.h"

namespace tap::json {
namespace {

std::string toJson(std::string_view text) {
  std::string out;
  appendQuoted(out, text);
  return out;
}

TEST(JsonWriter, SetsCommasBetweenValues) {
  std::string out;
  Writer writer(out);
  writer.beginObject().field("a", 1).key("b").beginArray();
  writer.integer(1).string("x").beginObject().endObject().beginArray().endArray().null();
  writer.endArray().field("c", "d").endObject();
  EXPECT_EQ(out, R"({"a":1,"b":[1,"x",{},[],null],"c":"d"})");
}

TEST(JsonWriter, WritesEmptyObjectsAndArrays) {
  std::string out;
  Writer(out).beginArray().beginObject().endObject().beginArray().endArray().endArray();
  EXPECT_EQ(out, "[{},[]]");
}

TEST(JsonWriter, AppendsToWhatIsThere) {
  std::string out = "event: ";
  Writer(out).string("a");
  EXPECT_EQ(out, "event: \"a\"");
}

TEST(JsonWriter, WritesIntegersOfEverySize) {
  std::string out;
  Writer(out)
      .beginArray()
      .integer(0)
      .integer(std::numeric_limits<int64_t>::min())
      .integer(std::numeric_limits<int64_t>::max())
      .endArray();
  EXPECT_EQ(out, "[0,-9223372036854775808,9223372036854775807]");
}

TEST(JsonWriter, TellsFieldTypesApart) {
  std::string out;
  const uint16_t port = 80;
  Writer(out)
      .beginObject()
      .field("literal", "text")
      .field("view", std::string_view("v"))
      .field("zero", 0)
      .field("port", port)
      .field("yes", true)
      .field("no", false)
      .rawField("raw", "[1, 2]")
      .endObject();
  EXPECT_EQ(
      out,
      R"({"literal":"text","view":"v","zero":0,"port":80,"yes":true,"no":false,"raw":[1, 2]})");
}

TEST(JsonWriter, EscapesKeysLikeStrings) {
  std::string out;
  Writer(out).beginObject().key("a\"\n").string("").endObject();
  EXPECT_EQ(out, R"({"a\"\n":""})");
}

TEST(AppendQuoted, EscapesOnlyWhatJsonForbids) {
  EXPECT_EQ(toJson(""), R"("")");
  EXPECT_EQ(toJson("\"\\/\b\f\n\r\t"), R"("\"\\/\b\f\n\r\t")");
  EXPECT_EQ(toJson(std::string_view("\0\x01\x0B\x1F\x20\x7F", 6)),
            "\"\\u0000\\u0001\\u000b\\u001f \x7F\"");
  EXPECT_EQ(toJson("é€\U0001F600\u2028"), "\"é€\U0001F600\u2028\"");
}

TEST(Escaped, IsWhatAppendQuotedPutsBetweenQuotes) {
  for (const std::string text :
       {"", "plain", "\"", "a\\b\n", "\x01", "é", "longer than a block, and \t with a tab"}) {
    std::string quoted;
    appendQuoted(quoted, text);
    EXPECT_EQ('"' + std::string(Escaped(text).view()) + '"', quoted);
  }
  const std::string_view plain = "as it stands";
  EXPECT_EQ(Escaped(plain).view().data(), plain.data());
}

TEST(AppendQuoted, IsUndoneByTheScannerForEveryAsciiCharacterAtEveryPlace) {
  Scanner scanner;
  for (int c = 0; c < 0x80; ++c) {
    for (size_t at = 0; at < 34; ++at) {
      std::string text(34, 'x');
      text[at] = static_cast<char>(c);
      const std::string json = toJson(text);
      const auto result = scanner.scan(json);
      ASSERT_TRUE(result.ok()) << c << " at " << at;
      ASSERT_EQ(decodeString(result.value()), text);
    }
  }
}

}  // namespace
}  // namespace tap::json
