#include "protocol/link/session_codec.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tap::protocol {
namespace {

std::string join(const SplitText& text) {
  return text.head + std::string(text.middle.view()) + text.tail;
}

std::vector<LinkMessage> someMessages() {
  const std::string odd = "a \"quote\", a \\, a \n and ünïcode 🙂";
  return {
      Register{kLinkVersion,
               "secret",
               "1.0",
               "id",
               "label",
               "/cwd",
               42,
               SyncMode::Reload,
               true,
               {{"p", "d1"}, {odd, "d2"}}},
      Register{kLinkVersion, "", "", "i", odd, odd, 0, SyncMode::Live, false, {}, {"records", odd}},
      Register{kLinkVersion,
               "",
               "",
               "i",
               "",
               "",
               0,
               SyncMode::Live,
               false,
               {},
               {},
               "/bin:/usr/bin",
               {"/opt/copilot", "/opt/sdk", "1.0.102", "/home/ada/.copilot", "/opt/dist"}},
      Update{},
      Update{"l", "/c", SyncMode::Live, std::vector<std::string>{"bash", "view"}},
      Update{std::nullopt, std::nullopt, SyncMode::Reload, std::vector<std::string>{}},
      ActivityChanged{Activity::Idle},
      ActivityChanged{Activity::Busy},
      ActivityChanged{Activity::UserPrompt},
      Call{"c1", "greet", Slice(std::string(R"({ "name":"Alice" })"))},
      Call{"c2",
           "greet",
           Slice(std::string("{}")),
           Slice(std::string(R"("call_\"1")")),
           {TraceContext{1, 2, 3, 1}, false}},
      CancelCall{"c1", odd},
      Synced{7},
      SyncFailed{8, odd, {"a", "b"}},
      SyncFailed{9, "", {}},
      EndSession{odd},
      Ping{},
      Drain{"secret", "2.0"},
      ListPaired{"secret"},
      RevokePaired{"secret", odd},
      ShowPairings{},
      OpenProvider{odd},
      HostRequest{"1", "records.query", Slice(std::string(R"({ "limit":3})"))},
      HostRequest{odd, odd, {}},
      PermissionCheck{"1", "s", "bash", Slice(std::string(R"({ "command":"ls"})"))},
      PermissionCheck{odd, odd, odd, {}},
      OpenControl{"secret", ""},
      OpenControl{odd, odd},
      Inspect{},
      Trace{},
      ListCalls{41},
      UseProvider{"weather", ""},
      UseProvider{odd, "s"},
      RunCommand{"1", "tap-use", ""},
      RunCommand{"2", odd, odd},
      EventOccurred{"user.message", Slice(std::string(R"({ "content":"hi"})"))},
      HookCheck{"1", "bash", Slice(std::string(R"({ "command":"ls"})"))},
      HookCheck{"2", odd, Slice(std::string("7"))},
      PromptSubmitted{"1"},
      SectionBuild{"1", "tone", odd},
      HooksState{7, HookOutcome::Denied, HookOutcome::InForce},
      HooksState{0, HookOutcome::InForce, HookOutcome::Unavailable},
      Update{std::nullopt, std::nullopt, std::nullopt, std::nullopt, "plan", "user"},
      SessionResult{"1", false, Slice(std::string(R"({ "mode":"plan"})"))},
      SessionResult{"2", true, Slice(std::string(R"({"code":"INVALID","message":"x"})"))},
  };
}

std::vector<SessionEvent> someEvents() {
  const std::string odd = "a \"quote\", a \\, a \n and ünïcode 🙂";
  return {
      Welcome{kLinkVersion, "1.0", 77, 9400},
      Welcome{kLinkVersion, "1.0", 77, 9400, true},
      Refused{"SECRET", odd},
      Tools{3, true, {{"p", "d", {R"({"name":"a"})", R"({"name":"b"})"}}, {odd, "", {}}}, {"q"}},
      Tools{},
      CallResult{"c", false, Slice(std::string(R"({"a": [1,2]})")), {}, {}},
      CallResult{"c", false, Slice(std::string("null")), {}, {}},
      CallResult{"c", false, {}, {}, {}},
      CallResult{"c", true, {}, ErrorCode::Timeout, odd},
      Timeline{LogLevel::Info, odd},
      Timeline{LogLevel::Warning, ""},
      Timeline{LogLevel::Error, "x"},
      Inject{"p", odd, odd},
      Inject{"p", odd, odd, true},
      CallProgress{odd},
      Subscribe{{}},
      Subscribe{{"user.message", odd}},
      Hooks{},
      Hooks{9,
            true,
            true,
            5000,
            {{"p", {R"({"action":"deny"})"}}, {odd, {}}},
            {{"tone", odd, "", std::nullopt, false}, {"safety", "", "a", "", true}}},
      Hooks{1, true, false, 5000, {}, {}, odd},
      HookVerdict{"1", std::nullopt, ""},
      HookVerdict{"1", "", ""},
      HookVerdict{"1", odd, ""},
      HookVerdict{"1", std::nullopt, odd},
      PromptContext{"1", odd},
      SectionText{"1", std::nullopt},
      SectionText{"1", odd},
      SessionRequest{"1", "state.read", "{}"},
      SessionRequest{odd, "mode.set", R"({"mode":"plan"})"},
      Pong{},
      Draining{odd},
      Paired{},
      Paired{{{"browser", "https://a.example", "s", odd}, {odd, "", "t", ""}}},
      Inspection{R"({"version":"1","sessions":[]})"},
      TraceFrame{1'700'000'000'000, 7, odd, TraceKind::Received, Slice(odd)},
      TraceFrame{0, 0, "", TraceKind::Closed, Slice(std::string())},
      CallsLogged{R"([{"sequence":1}])"},
      Used{"asked", odd},
      HostResult{"1", false, R"({"rows":[1,"a"]})"},
      HostResult{odd, true, R"({"code":"INTERNAL","message":"no"})"},
      Groups{},
      Groups{{"plans", odd}},
      CommandResult{"1", odd},
  };
}

// Which message it is, of those of both sets.
size_t messageIndex(const LinkMessage& message) {
  if (const auto* session = std::get_if<SessionMessage>(&message)) return session->index();
  return std::variant_size_v<SessionMessage> + std::get<ControlMessage>(message).index();
}

TEST(SessionCodec, EveryMessageSurvivesTheRoundTrip) {
  SessionDecoder decoder;
  std::vector<bool> seen(std::variant_size_v<SessionMessage> + std::variant_size_v<ControlMessage>);
  for (const LinkMessage& message : someMessages()) {
    const std::string text = join(encode(message));
    const auto decoded = decoder.message(Slice::borrow(text));
    ASSERT_TRUE(decoded.ok()) << text << ": " << decoded.error();
    EXPECT_EQ(messageIndex(decoded.value()), messageIndex(message));
    EXPECT_EQ(join(encode(decoded.value())), text);
    seen[messageIndex(message)] = true;
  }
  for (size_t i = 0; i < seen.size(); ++i) EXPECT_TRUE(seen[i]) << "no example of message " << i;
}

TEST(SessionCodec, EveryEventSurvivesTheRoundTrip) {
  SessionDecoder decoder;
  std::vector<bool> seen(std::variant_size_v<SessionEvent>);
  for (const SessionEvent& event : someEvents()) {
    const std::string text = join(encode(event));
    const auto decoded = decoder.event(Slice::borrow(text));
    ASSERT_TRUE(decoded.ok()) << text << ": " << decoded.error();
    EXPECT_EQ(decoded.value().index(), event.index());
    EXPECT_EQ(join(encode(decoded.value())), text);
    seen[event.index()] = true;
  }
  for (size_t i = 0; i < seen.size(); ++i) EXPECT_TRUE(seen[i]) << "no example of event " << i;
}

TEST(SessionCodec, KeepsWhatRegisterSays) {
  SessionDecoder decoder;
  const std::string text = join(encode(someMessages().front()));
  const auto decoded = decoder.message(Slice::borrow(text));
  ASSERT_TRUE(decoded.ok());
  const auto& message = std::get<Register>(std::get<SessionMessage>(decoded.value()));
  EXPECT_EQ(message.secret, "secret");
  EXPECT_EQ(message.sessionId, "id");
  EXPECT_EQ(message.cliPid, 42);
  EXPECT_EQ(message.mode, SyncMode::Reload);
  ASSERT_EQ(message.have.size(), 2u);
  EXPECT_EQ(message.have[0].provider, "p");
  EXPECT_EQ(message.have[0].digest, "d1");
}

TEST(SessionCodec, RefusesAnEnvironmentThatNoProgramCanHave) {
  SessionDecoder decoder;
  const auto isRead = [&](const std::string& more) {
    const std::string text = R"({"type":"register","linkVersion":2,"secret":"","version":"1",)"
                             R"("sessionId":"s","label":"","cwd":"/","cliPid":0,)" +
                             more + "}";
    return decoder.message(Slice::borrow(text)).ok();
  };
  EXPECT_TRUE(isRead(R"("path":"/bin:.","runtime":{"execPath":"/x","other":1})"));
  EXPECT_TRUE(isRead(R"("path":null,"runtime":null)"));
  EXPECT_FALSE(isRead(R"("path":"/bin\n/x")"));
  EXPECT_FALSE(isRead(R"("path":"/bin\u0000LD_PRELOAD=/x")"));
  EXPECT_FALSE(isRead(R"("path":["/bin"])"));
  EXPECT_FALSE(isRead("\"path\":\"" + std::string(kMaxPathVariable + 1, 'x') + "\""));
  EXPECT_FALSE(isRead(R"("runtime":"/x")"));
  EXPECT_FALSE(isRead(R"("runtime":{"sdkPath":"/x\u007f"})"));
  EXPECT_FALSE(isRead(R"("runtime":{"sdkPath":1})"));
  EXPECT_FALSE(isRead(R"("runtime":{"distDir":")" + std::string(kMaxRuntimeText + 1, 'x') + "\"}"));
}

TEST(SessionCodec, AnUpdateSaysOnlyWhatChanged) {
  SessionDecoder decoder;
  const auto update = [&](const std::string& text) {
    const auto decoded = decoder.message(Slice::borrow(text));
    EXPECT_TRUE(decoded.ok());
    return decoded ? std::get<Update>(std::get<SessionMessage>(decoded.value())) : Update{};
  };
  EXPECT_FALSE(update(R"({"type":"update","label":"l"})").builtins);
  EXPECT_FALSE(update(R"({"type":"update","builtins":null})").builtins);
  EXPECT_EQ(update(R"({"type":"update","builtins":[]})").builtins->size(), 0u);
}

TEST(SessionCodec, ARegisterOfAnotherVersionNeedsOnlyVersionAndSecret) {
  SessionDecoder decoder;
  const std::string text = R"({"type":"register","linkVersion":9,"secret":"s","sessionId":5})";
  const auto decoded = decoder.message(Slice::borrow(text));
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(std::get<Register>(std::get<SessionMessage>(decoded.value())).linkVersion, 9);
  EXPECT_EQ(std::get<Register>(std::get<SessionMessage>(decoded.value())).secret, "s");
}

TEST(SessionCodec, DoesNotCopyALargeResult) {
  const Slice data(std::string(1'000'000, '1'));
  const SplitText text = encode(SessionEvent(CallResult{"c", false, data, {}, {}}));
  EXPECT_EQ(text.middle.view().data(), data.view().data());
  EXPECT_LT(text.head.size() + text.tail.size(), 100u);
}

TEST(SessionCodec, CarriesBytesBesideTheDataWithoutACopy) {
  SessionDecoder decoder;
  const Slice base64(std::string(1'000'000, 'A'));
  for (const char* data : {"", R"({"width":7})"}) {
    const CallResult result{"c", false, Slice::borrow(data), {}, {}, {"image/\"x\"", base64}};
    const SplitText text = encode(SessionEvent(result));
    EXPECT_EQ(text.middle.view().data(), base64.view().data());
    EXPECT_LT(text.head.size() + text.tail.size(), 200u);
    const Slice whole(text.head + std::string(text.middle.view()) + text.tail);
    const auto decoded = decoder.event(whole);
    ASSERT_TRUE(decoded.ok()) << decoded.error();
    const auto& read = std::get<CallResult>(decoded.value());
    EXPECT_EQ(read.data.view(), data);
    EXPECT_EQ(read.binary.mimeType, "image/\"x\"");
    EXPECT_EQ(read.binary.base64.view(), base64.view());
    EXPECT_FALSE(read.binary.base64.borrowed());
  }
}

TEST(SessionCodec, SlicesKeepTheOwnerOfTheText) {
  SessionDecoder decoder;
  const Slice text(std::string(R"({"type":"call","callId":"c","tool":"t","args":{"a":1}})"));
  const auto decoded = decoder.message(text);
  ASSERT_TRUE(decoded.ok());
  EXPECT_FALSE(std::get<Call>(std::get<SessionMessage>(decoded.value())).args.borrowed());
  EXPECT_EQ(std::get<Call>(std::get<SessionMessage>(decoded.value())).args.view(), R"({"a":1})");
}

TEST(SessionCodec, RefusesWhatItDoesNotKnow) {
  SessionDecoder decoder;
  for (const char* text : {"", "{", "[]", "1", "{}", R"({"type":1})", R"({"type":"wave"})",
                           R"({"type":"welcome","linkVersion":1})"}) {
    EXPECT_FALSE(decoder.message(Slice::borrow(text)).ok()) << text;
  }
  for (const char* text : {"", "{", "{}", R"({"type":"register"})", R"({"type":"ping"})"}) {
    EXPECT_FALSE(decoder.event(Slice::borrow(text)).ok()) << text;
  }
}

TEST(SessionCodec, RefusesMessagesWithFieldsOfAnotherKind) {
  SessionDecoder decoder;
  const std::string good =
      R"("linkVersion":2,"secret":"","version":"","sessionId":"s","label":"","cwd":"","cliPid":1)";
  const std::vector<std::string> bad{
      R"("type":"register","linkVersion":"1")",
      R"("type":"register","linkVersion":1,"secret":1)",
      R"("type":"register",)" + good + R"(,"sessionId":"")",
      R"("type":"register",)" + good + R"(,"sessionId":")" + std::string(129, 's') + "\"",
      R"("type":"register",)" + good + R"(,"cliPid":-1)",
      R"("type":"register",)" + good + R"(,"mode":"later")",
      R"("type":"register",)" + good + R"(,"have":[])",
      R"("type":"register",)" + good + R"(,"have":{"p":1})",
      R"("type":"update","label":1)",
      R"("type":"update","builtins":"bash")",
      R"("type":"update","builtins":["bash",1])",
      R"("type":"update","mode":1)",
      R"("type":"activity")",
      R"("type":"activity","activity":"asleep")",
      R"("type":"call","callId":"c","tool":"t")",
      R"("type":"call","callId":"c","tool":"t","args":[])",
      R"("type":"call","callId":"","tool":"t","args":{})",
      R"("type":"call","callId":"c","tool":1,"args":{})",
      R"("type":"cancel","callId":"c")",
      R"("type":"synced","revision":"1")",
      R"("type":"synced","revision":1.5)",
      R"("type":"sync.failed","revision":1,"message":1)",
      R"("type":"sync.failed","revision":1,"message":"","refused":[1])",
      R"("type":"end")",
      R"("type":"drain","secret":"s")",
      R"("type":"paired.list")",
      R"("type":"paired.revoke","secret":"s")",
      R"("type":"paired.revoke","name":"n")",
  };
  for (const std::string& fields : bad) {
    const std::string text = "{" + fields + "}";
    EXPECT_FALSE(decoder.message(Slice::borrow(text)).ok()) << text;
  }
}

TEST(SessionCodec, RefusesEventsWithFieldsOfAnotherKind) {
  SessionDecoder decoder;
  for (const char* fields :
       {R"("type":"welcome","linkVersion":1,"version":"1","pid":"7","port":1)",
        R"("type":"refused","code":"X")",
        R"("type":"tools","revision":1)",
        R"("type":"tools","revision":1,"set":[1])",
        R"("type":"tools","revision":1,"set":[{"provider":"p","digest":"d"}])",
        R"("type":"tools","revision":1,"set":[{"provider":1,"digest":"d","definitions":[]}])",
        R"("type":"tools","revision":1,"set":[],"drop":[1])",
        R"("type":"tools","revision":1,"set":[],"reload":"yes")",
        R"("type":"call.result","data":1)",
        R"("type":"call.result","callId":"c","code":1)",
        R"("type":"call.result","callId":"c","code":"TIMEOUT")",
        R"("type":"call.result","callId":"c","binary":"AAAA")",
        R"("type":"call.result","callId":"c","binary":{"data":"AAAA"})",
        R"("type":"call.result","callId":"c","binary":{"mimeType":"a/b"})",
        R"("type":"call.result","callId":"c","binary":{"mimeType":"a/b","data":1})",
        R"("type":"timeline","level":"loud","text":"")",
        R"("type":"timeline","level":"info")",
        R"("type":"inject","provider":"p")",
        R"("type":"draining")",
        R"("type":"paired")",
        R"("type":"paired","providers":[1])",
        R"("type":"paired","providers":[{"name":"n"}])"}) {
    const std::string text = "{" + std::string(fields) + "}";
    EXPECT_FALSE(decoder.event(Slice::borrow(text)).ok()) << text;
  }
}

TEST(SessionCodec, RefusesWhatIsNotUtf8) {
  const std::string text = "{\"type\":\"end\",\"reason\":\"\xC3\"}";
  const auto message = SessionDecoder().message(Slice::borrow(text));
  ASSERT_FALSE(message.ok());
  EXPECT_EQ(message.error(), "link frame is not UTF-8");
}

TEST(SessionCodec, SaysWhatIsWrong) {
  SessionDecoder decoder;
  const std::string text = R"({"type":"cancel","callId":"c","reason":5})";
  const auto decoded = decoder.message(Slice::borrow(text));
  ASSERT_FALSE(decoded.ok());
  EXPECT_EQ(decoded.error(), "cancel.reason: expected a string, got a number");
}

}  // namespace
}  // namespace tap::protocol
