// Texts of providers, sessions and rules: accepted text can be read in every way, and a refusal has
// a reason.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/encoding.h"
#include "base/glob.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "base/names.h"
#include "base/paths.h"
#include "base/pattern.h"
#include "base/utf8.h"
#include "protocol/link/session_codec.h"
#include "protocol/provider/provider_codec.h"
#include "targets.h"

namespace tap::fuzz {

namespace {

using json::Kind;
using json::Value;

// Visits every value, and decodes it.
void readAll(Value value, int depth) {
  ASSERT_LE(depth, json::kMaxDepth);
  switch (value.kind) {
    case Kind::Object: {
      json::Members members(value);
      for (json::Member member; members.next(member);) {
        const std::string name =
            json::decodeString({Kind::String, {member.key.data() - 1, member.key.size() + 2}});
        EXPECT_TRUE(utf8::isValid(name));
        readAll(member.value, depth + 1);
      }
      return;
    }
    case Kind::Array: {
      json::Elements elements(value);
      for (Value element; elements.next(element);) readAll(element, depth + 1);
      return;
    }
    case Kind::String: {
      const std::string text = json::decodeString(value);
      EXPECT_TRUE(utf8::isValid(text));
      (void)json::decodeString16(value);
      std::string quoted;
      json::appendQuoted(quoted, text);
      json::Scanner again;
      const auto scanned = again.scan(quoted);
      ASSERT_TRUE(scanned.ok()) << "written JSON cannot be read";
      EXPECT_EQ(json::decodeString(scanned.value()), text);
      return;
    }
    case Kind::Number:
      (void)json::decodeNumber(value);
      if (const auto integer = json::decodeInteger(value)) {
        EXPECT_EQ(json::decodeNumber(value), static_cast<double>(*integer));
      }
      return;
    case Kind::Boolean:
    case Kind::Null:
      return;
  }
}

std::string whole(const protocol::SplitText& text) {
  return text.head + std::string(text.middle.view()) + text.tail;
}

// A busy machine must not fail a test; a long use of the processor must.
class Patience {
 public:
  ~Patience() { EXPECT_LT(std::clock() - start_, 3 * CLOCKS_PER_SEC) << "too slow"; }
  Patience() = default;
  Patience(const Patience&) = delete;
  Patience& operator=(const Patience&) = delete;

 private:
  std::clock_t start_ = std::clock();
};

}  // namespace

void jsonText(std::string_view input) {
  if (!utf8::isValid(input)) return;
  json::Scanner scanner;
  const std::string text(input);
  const auto root = scanner.scan(text);
  if (!root.ok()) {
    EXPECT_LE(root.error().offset, text.size());
    EXPECT_NE(std::string_view(root.error().reason), "");
    return;
  }
  readAll(root.value(), 0);
  for (const json::Member& member : scanner.members()) {
    const std::string name =
        json::decodeString({Kind::String, {member.key.data() - 1, member.key.size() + 2}});
    EXPECT_TRUE(!json::keyEquals(member.key, name) || scanner.find(name).has_value());
  }
}

void providerMessages(std::string_view input) {
  if (!utf8::isValid(input)) return;  // ws::Connection has refused it
  Limits limits;
  limits.set(Limit::ToolsPerProvider, 3);
  limits.set(Limit::RulesPerProvider, 3);
  protocol::ProviderDecoder decoder(limits);
  const std::string text(input);
  const auto type = decoder.open(Slice::borrow(text));
  if (!type.ok()) {
    EXPECT_FALSE(type.error().message.empty());
    return;
  }
  EXPECT_TRUE(utf8::isValid(decoder.callId()));
  EXPECT_TRUE(utf8::isValid(decoder.sessionId()));
  const auto body = decoder.body();
  if (!body.ok()) {
    EXPECT_FALSE(body.error().message.empty());
    EXPECT_TRUE(utf8::isValid(body.error().message));
    return;
  }
  EXPECT_EQ(body.value().index(), static_cast<size_t>(type.value()));
  if (const auto* hello = std::get_if<protocol::Hello>(&body.value())) {
    EXPECT_LE(hello->tools.size(), 3U);
    for (const protocol::ToolDefinition& tool : hello->tools) {
      json::Scanner scanner;
      EXPECT_TRUE(scanner.scan(tool.json).ok()) << tool.json;
    }
  }
}

// A value that was read and written again is read as the same value.
void sessionMessages(std::string_view input) {
  const std::string text(input);
  protocol::SessionDecoder decoder;
  if (const auto message = decoder.message(Slice::borrow(text)); message.ok()) {
    const std::string once = whole(protocol::encode(message.value()));
    protocol::SessionDecoder another;
    const auto again = another.message(Slice::borrow(once));
    ASSERT_TRUE(again.ok()) << once;
    EXPECT_EQ(whole(protocol::encode(again.value())), once);
  } else {
    EXPECT_FALSE(message.error().empty());
  }
  if (const auto event = decoder.event(Slice::borrow(text)); event.ok()) {
    const std::string once = whole(protocol::encode(event.value()));
    protocol::SessionDecoder another;
    const auto again = another.event(Slice::borrow(once));
    ASSERT_TRUE(again.ok()) << once;
    EXPECT_EQ(whole(protocol::encode(again.value())), once);
  }
}

void globs(std::string_view input) {
  Bytes bytes(input);
  const std::string source(bytes.until('\n'));
  const std::string path(bytes.rest());
  const Patience patience;
  const auto glob = Glob::compile(source);
  if (!glob.ok()) {
    EXPECT_LE(glob.error().offset, source.size());
    EXPECT_FALSE(glob.error().message.empty());
    return;
  }
  const bool matched = glob.value().matches(path);
  EXPECT_EQ(glob.value().matches(path), matched);
  EXPECT_TRUE(matched || source != "**");
}

// Against the library's own idea of a plain path, which keeps slashes at both ends.
void paths(std::string_view input) {
  Bytes bytes(input);
  const std::string folder(bytes.until('\n'));
  const std::string path(bytes.rest());
  const Patience patience;
  const std::vector<std::string> spellings = listSpellings(path, folder);
  ASSERT_FALSE(spellings.empty());
  EXPECT_EQ(spellings.front(), path);
  for (const std::string& spelling : spellings) {
    EXPECT_LE(spelling.size(), folder.size() + path.size() + 2);
    EXPECT_EQ(std::ranges::count(spellings, spelling), 1);
  }
  if (!folder.starts_with('/')) return;
  for (size_t i = 1; i < spellings.size(); ++i) {
    const std::string segments = "/" + spellings[i] + "/";
    EXPECT_EQ(segments.find("/./"), std::string::npos) << segments;
    EXPECT_EQ(segments.find("/../"), std::string::npos) << segments;
  }
  std::string plain = (std::filesystem::path(folder) / path).lexically_normal().string();
  plain.erase(0, std::min(plain.find_first_not_of('/'), plain.size()));
  plain.insert(0, "/");
  if (plain.size() > 1 && plain.ends_with('/')) plain.pop_back();
  EXPECT_NE(std::ranges::find(spellings, plain), spellings.end()) << plain;
}

void patterns(std::string_view input) {
  Bytes bytes(input);
  const std::string source(bytes.until('\n'));
  const std::string subject(bytes.rest());
  const Patience patience;
  const auto pattern = Pattern::compile(source);
  if (!pattern.ok()) {
    EXPECT_LE(pattern.error().offset, source.size());
    EXPECT_FALSE(pattern.error().message.empty());
    return;
  }
  const Match match = pattern.value().matches(subject);
  EXPECT_TRUE(utf8::isValid(subject) || match == Match::TimedOut);
}

// Escapes text, and compares names: any bytes give UTF-8 of a limited size, and escaping the result
// again does not change it.
void shownText(std::string_view input) {
  Bytes bytes(input);
  const size_t most = bytes.byte();
  const std::string text(bytes.rest());
  const Patience patience;
  for (const bool keepLines : {false, true}) {
    const std::string all = visible(text, keepLines, std::string::npos);
    EXPECT_TRUE(utf8::isValid(all));
    EXPECT_LE(all.size(), 5 * text.size());
    EXPECT_EQ(visible(all, keepLines, std::string::npos), all);
    const std::string cut = visible(text, keepLines, most);
    EXPECT_TRUE(utf8::isValid(cut));
    EXPECT_LE(cut.size(), most);
    EXPECT_EQ(visible(cut, keepLines, most), cut);
  }
  const std::string read = visibleToModel(text, std::string::npos);
  EXPECT_TRUE(utf8::isValid(read));
  EXPECT_EQ(visible(read, false, std::string::npos), visible(text, false, std::string::npos));
  EXPECT_TRUE(looksLike(text, text));
  if (!utf8::isValid(text) || !nameProblem(text).empty()) return;
  EXPECT_EQ(visible(text, false, std::string::npos), text);
}

}  // namespace tap::fuzz
