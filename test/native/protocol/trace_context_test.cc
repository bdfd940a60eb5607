// The W3C Trace Context, as both protocols carry it.
#include "protocol/trace_context.h"

#include <gtest/gtest.h>

#include <string>

#include "base/json.h"
#include "protocol/provider/provider_codec.h"

namespace tap::protocol {
namespace {

constexpr std::string_view kGood = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

TEST(TraceContext, IsReadAndWritten) {
  const auto context = TraceContext::parse(kGood);
  ASSERT_TRUE(context);
  EXPECT_EQ(context->traceHigh, 0x4bf92f3577b34da6u);
  EXPECT_EQ(context->traceLow, 0xa3ce929d0e0e4736u);
  EXPECT_EQ(context->span, 0x00f067aa0ba902b7u);
  EXPECT_EQ(context->flags, 1);
  EXPECT_EQ(context->text(), kGood);
  EXPECT_EQ(TraceContext::parse("00-00000000000000000000000000000001-0000000000000001-ff")->flags,
            0xff);
}

TEST(TraceContext, AnyOtherTextIsNone) {
  const std::string good(kGood);
  EXPECT_FALSE(TraceContext::parse(""));
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(TraceContext::parse(good.substr(0, size))) << size;
  }
  EXPECT_FALSE(TraceContext::parse(good + "-"));
  EXPECT_FALSE(TraceContext::parse("00-00000000000000000000000000000000-00f067aa0ba902b7-01"));
  EXPECT_FALSE(TraceContext::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01"));
  for (const char bad : {'A', 'F', 'g', '-', ' ', '\0', '/', ':', '@', '`', '\x80'}) {
    for (size_t at = 0; at < good.size(); ++at) {
      if (good[at] == bad) continue;
      std::string text = good;
      text[at] = bad;
      EXPECT_FALSE(TraceContext::parse(text)) << text;
    }
  }
  EXPECT_FALSE(TraceContext::parse("01" + good.substr(2)));
  EXPECT_FALSE(TraceContext::parse("ff" + good.substr(2)));
}

TraceField parseTrace(const std::string& message) {
  json::Scanner scanner;
  const auto root = scanner.scan(message);
  EXPECT_TRUE(root) << message;
  Problem problem;
  const TraceField trace = readTrace(FieldReader(root.value(), "m", problem));
  EXPECT_FALSE(problem.any()) << problem.text();
  return trace;
}

// shows: P-TRACE-4
TEST(TraceContext, AMalformedFieldIsNoProblemOfTheMessage) {
  EXPECT_EQ(parseTrace("{}"), TraceField{});
  EXPECT_EQ(parseTrace(R"({"traceparent":null})"), TraceField{});
  const std::string good(kGood);
  EXPECT_EQ(parseTrace(R"({"traceparent":")" + good + "\"}").context.text(), good);
  EXPECT_EQ(parseTrace(R"({"traceparent":"\u0030)" + good.substr(1) + "\"}").context.text(), good);
  for (const std::string& bad :
       {std::string("7"), std::string("true"), std::string("[]"), std::string(R"("")"),
        std::string(R"("00-x")"), std::string("{\"a\":\"b\"}"), "\"" + good + " \"",
        "\"" + std::string(5000, '\\') + std::string(5000, '\\') + "\""}) {
    const TraceField trace = parseTrace(R"({"traceparent":)" + bad + "}");
    EXPECT_TRUE(trace.malformed) << bad;
    EXPECT_FALSE(trace.context.isSet()) << bad;
  }
}

// shows: P-TRACE-3
TEST(TraceContext, PushAndResultMayCarryOne) {
  const Limits limits;
  ProviderDecoder decoder(limits);
  const auto read = [&](std::string text) {
    text.pop_back();
    text += R"(,"traceparent":")" + std::string(kGood) + "\"}";
    const Slice owned{std::move(text)};
    EXPECT_TRUE(decoder.open(owned));
    return decoder.body().value();
  };
  const auto push = read(R"({"type":"push","level":"keep","event":"e"})");
  EXPECT_EQ(std::get<Push>(push).trace.context.text(), kGood);
  const auto result = read(R"({"type":"tool.result","id":"7","data":1})");
  EXPECT_EQ(std::get<ToolResult>(result).trace.context.text(), kGood);
}

}  // namespace
}  // namespace tap::protocol
