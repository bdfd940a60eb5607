#include "lines/matcher.h"

#include <algorithm>
#include <charconv>

#include "base/json.h"

namespace tap::lines {
namespace {

constexpr size_t kMaxCodes = 20;

[[nodiscard]] std::string atMost(size_t count) {
  return "expected at most " + std::to_string(count);
}

// The members of one object. The first mistake stays.
class MatcherReader {
 public:
  MatcherReader(json::Value object, std::string path, std::optional<MatcherError>& error)
      : object_(object), path_(std::move(path)), error_(error) {}

  [[nodiscard]] std::string text(const char* key) const {
    const auto value = json::find(object_, key);
    if (!value) return {};
    if (value->kind == json::Kind::String) return json::decodeString(*value);
    refuse(key, "expected a text");
    return {};
  }

  [[nodiscard]] std::optional<FieldPattern> pattern(const char* key) const {
    const std::string text = this->text(key);
    if (text.empty()) return std::nullopt;
    auto compiled = LinePattern::compile(text);
    if (compiled) return FieldPattern{std::move(compiled.value()), at(key)};
    refuse(key, notAPattern(compiled.error()));
    return std::nullopt;
  }

  [[nodiscard]] bool meansGreen(const char* key) const {
    const std::string text = this->text(key);
    if (!text.empty() && text != "green") refuse(key, "expected \"green\"");
    return text == "green";
  }

  [[nodiscard]] bool flag(const char* key, bool usually = false) const {
    const auto value = json::find(object_, key);
    if (!value) return usually;
    if (value->kind == json::Kind::Boolean) return value->raw == "true";
    if (value->kind == json::Kind::Number) return value->raw != "0";
    refuse(key, "expected true or false");
    return usually;
  }

  [[nodiscard]] uint32_t count(const char* key, uint32_t usually, uint32_t most) const {
    const auto value = json::find(object_, key);
    return value ? static_cast<uint32_t>(number(*value, key, static_cast<int>(most))) : usually;
  }

  void codes(const char* key, std::vector<int>& into) const {
    const auto value = find(key, json::Kind::Array, "expected a list of exit codes");
    if (!value) return;
    into.clear();
    json::Elements all(*value);
    json::Value one;
    while (all.next(one)) {
      if (into.size() == kMaxCodes) return refuse(key, atMost(kMaxCodes));
      into.push_back(number(one, key, 255));
    }
  }

  // Nothing where it is of another kind, which is a mistake.
  [[nodiscard]] std::optional<json::Value> find(const char* key, json::Kind kind,
                                                const char* expected) const {
    const auto value = json::find(object_, key);
    if (!value || value->kind == kind) return value;
    refuse(key, expected);
    return std::nullopt;
  }

  [[nodiscard]] std::string at(std::string_view key) const {
    return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
  }

  void refuse(std::string_view key, std::string message) const {
    if (!error_) error_ = MatcherError{at(key), std::move(message)};
  }

 private:
  [[nodiscard]] int number(json::Value value, const char* key, int most) const {
    int number = -1;
    const std::string_view raw = value.raw;
    const auto read = std::from_chars(raw.data(), raw.data() + raw.size(), number);
    const bool isWhole = read.ec == std::errc() && read.ptr == raw.data() + raw.size();
    if (isWhole && number >= 0 && number <= most) return number;
    refuse(key, "expected a whole number from 0 to " + std::to_string(most));
    return 0;
  }

  json::Value object_;
  std::string path_;
  std::optional<MatcherError>& error_;
};

[[nodiscard]] std::optional<FailureRule> readFailure(const MatcherReader& given) {
  std::optional<FieldPattern> at = given.pattern("at");
  if (!at) {
    given.refuse("at", "is missing: the pattern of a failure's first line");
    return std::nullopt;
  }
  return FailureRule{.at = std::move(*at),
                     .more = given.pattern("more"),
                     .until = given.pattern("until"),
                     .start = given.pattern("start"),
                     .omit = given.pattern("omit"),
                     .prefer = given.pattern("prefer"),
                     .where = given.pattern("where"),
                     .skip = given.pattern("skip"),
                     .before = given.count("before", 0, kMaxFailureLines),
                     .most = given.count("most", 4, kMaxFailureLines),
                     .whatFollows = given.flag("what"),
                     .nameGoesOn = given.flag("name"),
                     .needsMore = given.flag("needsMore"),
                     .isLast = given.flag("last")};
}

// What follows the prefix is a group, too.
[[nodiscard]] std::optional<FieldPattern> readPrefix(const MatcherReader& given) {
  const std::string prefix = given.text("prefix");
  if (prefix.empty()) return std::nullopt;
  auto compiled = LinePattern::compile("(?:" + prefix + ")(?<rest>.*)");
  if (compiled) return FieldPattern{std::move(compiled.value()), given.at("prefix")};
  given.refuse("prefix", notAPattern(compiled.error()));
  return std::nullopt;
}

[[nodiscard]] std::vector<InnerTool> readTools(json::Value list,
                                               std::optional<MatcherError>& error) {
  std::vector<InnerTool> tools;
  json::Elements elements(list);
  json::Value one;
  while (elements.next(one)) {
    const MatcherReader tool(one, "inner[" + std::to_string(tools.size()) + "]", error);
    if (tools.size() >= kMaxInnerTools) {
      tool.refuse("tool", atMost(kMaxInnerTools));
      break;
    }
    tools.push_back({.name = tool.text("tool"),
                     .first = tool.pattern("first"),
                     .matcher = tool.text("matcher"),
                     .isGiven = tool.flag("given")});
  }
  return tools;
}

void readFailures(const MatcherReader& given, Matcher& matcher,
                  std::optional<MatcherError>& error) {
  const auto all = given.find("failure", json::Kind::Array, "expected a list of failures");
  if (!all) return;
  json::Elements elements(*all);
  json::Value one;
  while (elements.next(one)) {
    const std::string place = "failure[" + std::to_string(matcher.failures.size()) + "]";
    if (matcher.failures.size() >= kMaxFailureRules) {
      return given.refuse("failure", atMost(kMaxFailureRules));
    }
    auto rule = readFailure(MatcherReader(one, given.at(place), error));
    if (!rule) return;
    matcher.failures.push_back(std::move(*rule));
  }
}

}  // namespace

Result<std::vector<InnerTool>, MatcherError> readInnerTools(std::string_view text) {
  json::Scanner scanner;
  auto root = scanner.scan(text);
  if (!root || root.value().kind != json::Kind::Array) return MatcherError{"", "expected a list"};
  std::optional<MatcherError> error;
  std::vector<InnerTool> tools = readTools(root.value(), error);
  if (error) return std::move(*error);
  return tools;
}

Result<Matcher, MatcherError> readMatcher(std::string_view text) {
  json::Scanner scanner;
  auto root = scanner.scan(text);
  if (!root || root.value().kind != json::Kind::Object) {
    return MatcherError{"", "expected an object"};
  }
  std::optional<MatcherError> error;
  const MatcherReader given(root.value(), "", error);
  Matcher matcher;
  matcher.runsOn = given.flag("runsOn");
  matcher.exitDecides = given.flag("exitDecides");
  matcher.clearBegins = given.flag("clearBegins", true);
  matcher.endIsGreen = given.meansGreen("endMeans");
  matcher.quietIsGreen = given.meansGreen("quietMeans");
  matcher.root = given.text("root");
  matcher.begin = given.pattern("begin");
  matcher.end = given.pattern("end");
  matcher.touched = given.pattern("touched");
  matcher.ready = given.pattern("ready");
  matcher.red = given.pattern("red");
  matcher.green = given.pattern("green");
  matcher.none = given.pattern("none");
  matcher.warning = given.pattern("warning");
  matcher.file = given.pattern("file");
  matcher.ran = given.pattern("ran");
  matcher.omit = given.pattern("omit");
  matcher.ignored = given.pattern("not");
  matcher.prefix = readPrefix(given);
  matcher.exitLine = given.pattern("exitLine");
  if (const auto inner = given.find("inner", json::Kind::Array, "expected a list of tools")) {
    matcher.inner = std::make_shared<std::vector<InnerTool>>(readTools(*inner, error));
  }
  readFailures(given, matcher, error);
  if (const auto exit = given.find("exit", json::Kind::Object, "expected an object")) {
    const MatcherReader codes(*exit, "exit", error);
    codes.codes("green", matcher.exit.green);
    codes.codes("red", matcher.exit.red);
    codes.codes("none", matcher.exit.none);
    codes.codes("crash", matcher.exit.crash);
  }
  if (error) return std::move(*error);
  return matcher;
}

}  // namespace tap::lines
