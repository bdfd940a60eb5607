#include "protocol/errors.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace tap::protocol {
namespace {

// shows: P-ERROR-2
TEST(Errors, HaveTheirNamesOnTheWire) {
  EXPECT_EQ(wireName(ErrorCode::AuthFailed), "AUTH_FAILED");
  EXPECT_EQ(wireName(ErrorCode::UnsupportedVersion), "UNSUPPORTED_VERSION");
  EXPECT_EQ(wireName(ErrorCode::InvalidSession), "INVALID_SESSION");
  EXPECT_EQ(wireName(ErrorCode::ToolConflict), "TOOL_CONFLICT");
  EXPECT_EQ(wireName(ErrorCode::PayloadTooLarge), "PAYLOAD_TOO_LARGE");
  EXPECT_EQ(wireName(ErrorCode::RateLimited), "RATE_LIMITED");
  EXPECT_EQ(wireName(ErrorCode::InvalidJson), "INVALID_JSON");
  EXPECT_EQ(wireName(ErrorCode::UnknownType), "UNKNOWN_TYPE");
  EXPECT_EQ(wireName(ErrorCode::InvalidArguments), "INVALID_ARGUMENTS");
  EXPECT_EQ(wireName(ErrorCode::NotFound), "NOT_FOUND");
  EXPECT_EQ(wireName(ErrorCode::Timeout), "TIMEOUT");
  EXPECT_EQ(wireName(ErrorCode::Cancelled), "CANCELLED");
  EXPECT_EQ(wireName(ErrorCode::Disconnected), "DISCONNECTED");
  EXPECT_EQ(wireName(ErrorCode::Internal), "INTERNAL");
  EXPECT_EQ(wireName(ErrorCode::ToolError), "TOOL_ERROR");
}

// shows: P-ERROR-3
TEST(Errors, OnlyFailedAuthAndAnotherVersionAreFatal) {
  for (size_t i = 0; i < kErrorTable.size(); ++i) {
    const auto code = static_cast<ErrorCode>(i);
    EXPECT_EQ(row(code).fatal,
              code == ErrorCode::AuthFailed || code == ErrorCode::UnsupportedVersion);
  }
}

// shows: P-ERROR-2
TEST(Errors, HaveUniqueNamesAndAnAdviceEach) {
  std::set<std::string_view> names;
  for (const ErrorRow& row : kErrorTable) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_FALSE(row.advice.empty()) << row.name;
    EXPECT_EQ(row.advice.back(), '.') << row.name;
  }
}

// shows: P-ERROR-2
TEST(Errors, AreFoundByName) {
  for (size_t i = 0; i < kErrorTable.size(); ++i) {
    EXPECT_EQ(callErrorFromWire(kErrorTable[i].name), static_cast<ErrorCode>(i));
  }
  EXPECT_EQ(callErrorFromWire("E_MINE"), ErrorCode::Internal);
  EXPECT_EQ(callErrorFromWire(""), ErrorCode::Internal);
}

}  // namespace
}  // namespace tap::protocol
