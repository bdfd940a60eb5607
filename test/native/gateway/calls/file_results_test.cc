// tool.result with a file: who may send it, which files are read, and that the call has a single
// outcome.
#include "gateway/calls/file_results.h"

#include <gtest/gtest.h>

#include "gateway/calls/file_content.h"
#include "gateway/harness.h"

namespace tap::gateway::test {
namespace {

constexpr int64_t kMegabytes = 1024 * 1024;

std::string file(std::string_view id, std::string_view more = "", int64_t size = 5,
                 int64_t ttl = 60) {
  return R"({"type":"tool.result","id":)" + quote(id) +
         R"(,"file":{"path":"/home/u/providers/p/shot.png","mimeType":"image/png","size":)" +
         std::to_string(size) + R"(,"ttl":)" + std::to_string(ttl) + "}" + std::string(more) + "}";
}

FileOutcome bytes(const std::string& text = "\x89PNG\r\n\x1A\nbytes") {
  return toFileContent(text, "image/png");
}

struct FileResults : ::testing::Test {
  Harness tap;
  PeerId session = tap.session("s");
  PeerId peer = tap.bound("p", "s", {"greet"});

  std::string open(const std::string& callId) { return tap.callTo(session, peer, callId, "greet"); }
  // Opened and answered with a file that is to be read.
  std::string reading(const std::string& callId) {
    const std::string id = open(callId);
    tap.say(peer, file(id));
    EXPECT_EQ(tap.reads().size(), 1u);
    return id;
  }
};

// shows: P-RUN-9
TEST_F(FileResults, AreReadInTheProvidersOwnFolder) {
  const std::string id = open("1");
  tap.say(peer, file(id));
  const auto reads = tap.reads();
  ASSERT_EQ(reads.size(), 1u);
  EXPECT_EQ(reads[0].callId.text(), id);
  EXPECT_EQ(reads[0].link, session);
  EXPECT_EQ(reads[0].folder, "/home/u/providers/p/");
  EXPECT_EQ(reads[0].path, "/home/u/providers/p/shot.png");
  EXPECT_EQ(reads[0].mimeType, "image/png");
  EXPECT_EQ(reads[0].size, 5u);
  EXPECT_EQ(tap.outcome(session), "none");
  tap.fileRead(id, bytes());
  const auto settled = tap.expect<protocol::CallResult>(session);
  EXPECT_FALSE(settled.failed);
  EXPECT_EQ(settled.callId, "1");
  EXPECT_EQ(settled.binary.mimeType, "image/png");
  EXPECT_EQ(settled.binary.base64.view(), "iVBORw0KGgpieXRlcw==");
  EXPECT_EQ(tap.state().calls.countOfSession("s"), 0u);
}

// shows: P-HELLO-8
TEST_F(FileResults, TheFolderIsMadeBeforeTheProviderHearsOfIt) {
  EXPECT_EQ(tap.folders(), std::vector<std::string>{"/home/u/providers/p/"});
  tap.bound("../../etc", "s");
  tap.bound("..", "s");
  ASSERT_EQ(tap.folders().size(), 3u);
  EXPECT_EQ(tap.folders()[1], "/home/u/providers/%2e.%2f..%2fetc/");
  EXPECT_EQ(tap.folders()[2], "/home/u/providers/%2e./");
}

// shows: P-RUN-11
TEST_F(FileResults, ThatCannotBeReadFailTheCallAndTellTheProvider) {
  const std::string id = reading("1");
  tap.fileRead(id,
               protocol::Refusal{protocol::ErrorCode::NotFound, "its file is gone", "tool.result"});
  const auto settled = tap.expect<protocol::CallResult>(session);
  EXPECT_EQ(settled.code, protocol::ErrorCode::NotFound);
  EXPECT_NE(settled.text.find("Provider \"p\" failed with NOT_FOUND: its file is gone."),
            std::string::npos)
      << settled.text;
  const Message error = tap.take(peer, "error");
  EXPECT_EQ(error.get("code"), "NOT_FOUND");
  EXPECT_EQ(error.get("replyTo"), "tool.result");
}

// shows: P-RUN-10
TEST_F(FileResults, MustBeReadWithinTheirTtl) {
  for (const int64_t late : {-1, 0, 1}) {
    const std::string id = open("1");
    tap.say(peer, file(id, "", 5, 2));
    tap.advance(2'000 + late);
    tap.fileRead(id, bytes());
    const auto settled = tap.expect<protocol::CallResult>(session);
    EXPECT_EQ(settled.failed, late >= 0);
    if (late < 0) continue;
    EXPECT_EQ(settled.code, protocol::ErrorCode::NotFound);
    EXPECT_NE(settled.text.find("ttl"), std::string::npos) << settled.text;
  }
}

// shows: P-RUN-10
TEST_F(FileResults, HaveAtMostFiftyMegabytes) {
  for (const int64_t over : {-1, 0, 1}) {
    const std::string id = open("1");
    tap.say(peer, file(id, "", 50 * kMegabytes + over));
    EXPECT_EQ(tap.reads().size(), over > 0 ? 0u : 1u);
    EXPECT_EQ(tap.outcome(session), over > 0 ? "1 PAYLOAD_TOO_LARGE" : "none");
    tap.fileRead(id, bytes());
    tap.clear();
  }
}

TEST_F(FileResults, TheLargestFitsIntoAFrameOfTheLink) {
  const Limits limits;
  EXPECT_GT(limits.get(Limit::LinkFrameBytes),
            limits.get(Limit::FileBytes) / 3 * 4 + 1'024 * 1'024);
}

TEST_F(FileResults, ThatDoNotFitIntoAFrameOfTheLinkFail) {
  Limits limits;
  limits.set(Limit::LinkFrameBytes, 100'000);
  for (const int over : {0, 1}) {
    Harness small(limits);
    const PeerId in = small.session("s");
    const PeerId from = small.bound("p", "s", {"greet"});
    const std::string id = small.callTo(in, from, "1", "greet");
    small.say(from, file(id));
    FileContent content;
    content.data = Slice(std::string(100'000 - 1'024 + static_cast<size_t>(over), '1'));
    small.fileRead(id, std::move(content));
    EXPECT_EQ(small.expect<protocol::CallResult>(in).failed, over == 1);
  }
}

// shows: P-RUN-12
TEST_F(FileResults, AreNotForPairedProviders) {
  const PeerId page = tap.open("https://app.example");
  tap.say(page, R"({"type":"auth","mode":"pair"})");
  const std::string line = tap.timeline(session);
  const std::string code = line.substr(line.find("code: ") + 6, 6);
  tap.say(page, R"({"type":"auth.confirm","code":")" + code + "\"}");
  tap.say(page, hello("page", "s", tools({"look"})));
  EXPECT_EQ(tap.folders().size(), 1u);
  tap.clear();
  const std::string id = tap.callTo(session, page, "1", "look");
  tap.say(page, file(id));
  EXPECT_EQ(tap.outcome(session), "1 UNAUTHORIZED");
  EXPECT_EQ(tap.errorCode(page), "UNAUTHORIZED");
  EXPECT_TRUE(tap.reads().empty());
  EXPECT_FALSE(tap.closed(page));
}

TEST_F(FileResults, NeedAGatewayWithAFolderForThem) {
  tap.state().config.persistRoot.clear();
  tap.say(peer, file(open("1")));
  EXPECT_EQ(tap.outcome(session), "1 UNAUTHORIZED");
  EXPECT_TRUE(tap.reads().empty());
}

TEST_F(FileResults, OfAFailureAreIgnored) {
  tap.say(peer, file(open("1"), R"(,"error":"no")"));
  EXPECT_EQ(tap.outcome(session), "1 INTERNAL");
  EXPECT_TRUE(tap.reads().empty());
}

TEST_F(FileResults, AreReadOnce) {
  const std::string id = reading("1");
  tap.say(peer, file(id));
  tap.say(peer, result(id));
  tap.say(peer, R"({"type":"tool.progress","message":"m","id":")" + id + "\"}");
  EXPECT_TRUE(tap.reads().empty());
  EXPECT_EQ(tap.outcome(session), "none");
  tap.fileRead(id, bytes());
  tap.fileRead(id, bytes());
  EXPECT_EQ(tap.count<protocol::CallResult>(session), 1u);
}

TEST_F(FileResults, ALateReadOfACallThatIsOverIsDropped) {
  const std::vector<std::function<void(const std::string&)>> ends{
      [&](const std::string&) {
        tap.send(session, protocol::CancelCall{"1", ""});
      },
      [&](const std::string&) { tap.advance(300'000); },
      [&](const std::string&) { tap.lose(peer); },
  };
  for (const auto& end : ends) {
    const std::string id = reading("1");
    end(id);  // the last of them is the provider's
    tap.clear();
    tap.fileRead(id, bytes());
    EXPECT_EQ(tap.outcome(session), "none");
    EXPECT_EQ(tap.count(peer, "error"), 0u);
  }
}

TEST_F(FileResults, ThatAreBeingReadEndWithTheCallAndTheProviderIsNotAskedToStop) {
  reading("1");
  tap.advance(300'000);
  EXPECT_EQ(tap.outcome(session), "1 TIMEOUT");
  EXPECT_EQ(tap.count(peer, "tool.cancel"), 0u);
  reading("2");
  tap.lose(peer);
  EXPECT_EQ(tap.outcome(session), "2 DISCONNECTED");
}

TEST_F(FileResults, ThatAreBeingReadAreAnswered) {
  const std::string first = reading("1");
  open("2");
  tap.say(peer, "{");
  EXPECT_EQ(tap.outcome(session), "2 INVALID_JSON");
  EXPECT_FALSE(tap.closed(peer));
  tap.fileRead(first, bytes());
  EXPECT_FALSE(tap.expect<protocol::CallResult>(session).failed);
}

TEST_F(FileResults, GiveTheirPlaceToTheNextCall) {
  const PeerId one = tap.authed();
  std::string text = hello("one", "s", tools({"wave"}));
  text.insert(text.size() - 1, R"(,"concurrency":{"max":1})");
  tap.say(one, text);
  tap.clear();
  const std::string id = tap.callTo(session, one, "1", "wave");
  tap.call(session, "2", "wave");
  tap.say(one, file(id));
  tap.advance(0);
  EXPECT_EQ(tap.count(one, "tool.call"), 1u);
  tap.fileRead(id, bytes());
  tap.advance(0);
  EXPECT_EQ(tap.count(one, "tool.call"), 1u);
}

// shows: P-RUN-9
TEST_F(FileResults, OfAnotherShapeFailTheCall) {
  for (const char* bad : {R"("/home/u/providers/p/x")", R"({})",
                          R"({"path":"shot.png","mimeType":"image/png","size":1,"ttl":1})",
                          R"({"path":"","mimeType":"image/png","size":1,"ttl":1})",
                          R"({"path":"/a\u0000b","mimeType":"image/png","size":1,"ttl":1})",
                          R"({"path":"/a","mimeType":"","size":1,"ttl":1})",
                          R"({"path":"/a","mimeType":"png","size":1,"ttl":1})",
                          R"({"path":"/a","mimeType":"image/","size":1,"ttl":1})",
                          R"({"path":"/a","mimeType":"/png","size":1,"ttl":1})",
                          R"({"path":"/a","mimeType":"image/p ng","size":1,"ttl":1})",
                          R"({"path":"/a","mimeType":"image/png","size":-1,"ttl":1})",
                          R"({"path":"/a","mimeType":"image/png","size":1.5,"ttl":1})",
                          R"({"path":"/a","mimeType":"image/png","ttl":1})",
                          R"({"path":"/a","mimeType":"image/png","size":1})",
                          R"({"path":"/a","mimeType":"image/png","size":1,"ttl":-1})"}) {
    tap.say(peer, R"({"type":"tool.result","id":")" + open("1") + R"(","file":)" + bad + "}");
    EXPECT_EQ(tap.outcome(session), "1 INVALID_JSON") << bad;
    EXPECT_EQ(tap.errorCode(peer), "INVALID_JSON") << bad;
    EXPECT_TRUE(tap.reads().empty()) << bad;
  }
  tap.say(peer, file(open("1"), R"(,"data":1)"));
  EXPECT_EQ(tap.outcome(session), "1 INVALID_JSON");
}

// shows: P-RUN-9
TEST(FileContentOf, TextAndJsonAreTextAndTheRestIsBytes) {
  for (const char* type : {"text/plain", "text/csv", "application/json", "image/svg+xml"}) {
    const auto outcome = toFileContent("a\n\"é\"", type);
    ASSERT_TRUE(outcome.ok());
    EXPECT_EQ(outcome.value().data.view(), "\"a\\n\\\"é\\\"\"");
    EXPECT_TRUE(outcome.value().binary.base64.empty());
    EXPECT_EQ(toFileContent("\xFF", type).error().code, protocol::ErrorCode::Internal);
    EXPECT_EQ(toFileContent("", type).value().data.view(), "\"\"");
  }
  for (const char* type : {"application/pdf", "application/json5"}) {
    const auto outcome = toFileContent("\xFF", type);
    ASSERT_TRUE(outcome.ok());
    EXPECT_TRUE(outcome.value().data.empty());
    EXPECT_EQ(outcome.value().binary.mimeType, type);
    EXPECT_EQ(outcome.value().binary.base64.view(), "/w==");
    EXPECT_EQ(toFileContent("", type).value().data.view(), "\"\"");
  }
}

// shows: P-RUN-15
TEST(FileContentOf, AnImageIsWhatItsBytesSayOrRefused) {
  const std::string png = "\x89PNG\r\n\x1A\n";
  EXPECT_EQ(toFileContent(png, "image/png").value().binary.mimeType, "image/png");
  EXPECT_EQ(toFileContent(png, "image/x-png").value().binary.mimeType, "image/png");
  EXPECT_EQ(toFileContent("\xFF\xD8\xFF\xE0", "image/jpg").value().binary.mimeType, "image/jpeg");
  for (const char* bytes : {"hello", "II*", "BM", "\xFF", "RIFF1234WAVE"}) {
    EXPECT_EQ(toFileContent(bytes, "image/png").error().code, protocol::ErrorCode::Internal)
        << bytes;
  }
}

TEST(FileReference, HasItsTypeInLowerCaseWithoutParameters) {
  Harness tap;
  const PeerId session = tap.session("s");
  const PeerId peer = tap.bound("p", "s", {"greet"});
  tap.say(
      peer,
      R"({"type":"tool.result","id":")" + tap.callTo(session, peer, "1", "greet") +
          R"(","file":{"path":"C:\\x","mimeType":"Text/HTML ; charset=utf-8","size":0,"ttl":0}})");
  const auto reads = tap.reads();
  ASSERT_EQ(reads.size(), 1u);
  EXPECT_EQ(reads[0].mimeType, "text/html");
  EXPECT_EQ(reads[0].path, "C:\\x");
}

}  // namespace
}  // namespace tap::gateway::test
