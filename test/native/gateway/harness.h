// Drives a Gateway with plain values: providers send texts, sessions send messages, time is moved
// by hand. The gateway's effects are sorted into an inbox per peer. No sockets, no sleeps.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/json_writer.h"
#include "base/utf8.h"
#include "gateway/core/gateway.h"
#include "gateway/stored.h"
#include "gateway/texts.h"

namespace tap::gateway::test {

class Harness {
 public:
  explicit Harness(const Limits& limits = {}, std::string secret = "")
      : gateway_(config(limits, std::move(secret))) {
    gateway_.start(now_, effects_);
    sort();
  }

  // --- Providers

  PeerId accept() {
    const PeerId peer = newPeer();
    gateway_.providerAccepted(peer, now_, effects_);
    sort();
    return peer;
  }
  // `origin`: a web page's.
  void upgrade(PeerId peer, std::optional<std::string> origin = {}) {
    gateway_.providerUpgraded(peer, std::move(origin), now_, effects_);
    sort();
  }
  PeerId open(std::optional<std::string> origin = {}) {
    const PeerId peer = accept();
    upgrade(peer, std::move(origin));
    return peer;
  }
  // Connected and authenticated; its inbox is empty.
  PeerId authed() {
    const PeerId peer = open();
    say(peer, auth());
    inbox(peer).texts.clear();
    return peer;
  }
  // Bound, with an empty inbox.
  PeerId bound(std::string_view name, std::string_view session,
               const std::vector<std::string>& names = {}) {
    return boundWith(name, session, tools(names));
  }
  PeerId boundWith(std::string_view name, std::string_view session, std::string_view toolArray) {
    const PeerId peer = authed();
    say(peer, hello(name, session, toolArray));
    EXPECT_EQ(take(peer).type(), "hello.ack");
    inbox(peer).texts.clear();
    return peer;
  }
  // A peer in this process; its inbox is unchanged.
  PeerId admitted(bool feature = false) {
    const PeerId peer = newPeer();
    gateway_.providerAdmitted(peer, feature, now_, effects_);
    sort();
    return peer;
  }
  void say(PeerId peer, const std::string& text) {
    gateway_.providerText(peer, Slice::borrow(text), now_, effects_);
    sort();
  }
  void oversize(PeerId peer, uint64_t size) {
    gateway_.providerOversize(peer, size, now_, effects_);
    sort();
  }
  void lose(PeerId peer) {
    gateway_.providerGone(peer, now_, effects_);
    sort();
  }
  void backlog(PeerId peer, size_t bytes) {
    gateway_.providerBacklog(peer, bytes, now_, effects_);
    sort();
  }

  // --- Sessions

  static protocol::Register registration(std::string id) {
    protocol::Register message;
    message.linkVersion = protocol::kLinkVersion;
    message.label = "label of " + id;
    message.cwd = "/code/" + id;
    message.sessionId = std::move(id);
    return message;
  }
  using Tweak = std::function<void(protocol::Register&)>;
  // Registered; its inbox is as the gateway filled it.
  PeerId link(std::string id, const Tweak& tweak = {}) {
    const PeerId peer = newPeer();
    protocol::Register message = registration(std::move(id));
    if (tweak) tweak(message);
    send(peer, message);
    return peer;
  }
  // Registered, its first tools confirmed, its inbox empty.
  PeerId session(std::string id, const Tweak& tweak = {}) {
    const PeerId peer = link(std::move(id), tweak);
    (void)confirmTools(peer);
    inbox(peer).events.clear();
    return peer;
  }
  void send(PeerId peer, const protocol::LinkMessage& message) {
    gateway_.sessionMessage(peer, message, now_, effects_);
    sort();
  }
  // The same over the link: any bytes.
  void linkText(PeerId peer, const std::string& text) {
    gateway_.sessionText(peer, Slice::borrow(text), now_, effects_);
    sort();
  }
  void cut(PeerId peer) {
    gateway_.sessionGone(peer, now_, effects_);
    sort();
  }
  void call(PeerId session, std::string callId, std::string tool, std::string args = "{}") {
    send(session, protocol::Call{std::move(callId), std::move(tool), Slice(std::move(args))});
  }
  // Opens a call and returns the id that the provider got.
  std::string callTo(PeerId session, PeerId provider, std::string callId, std::string tool) {
    call(session, std::move(callId), std::move(tool));
    return take(provider, "tool.call").get("id");
  }
  // Takes the Tools event and answers that they are in force.
  std::optional<protocol::Tools> confirmTools(PeerId peer) {
    auto event = find<protocol::Tools>(peer);
    if (event) send(peer, protocol::Synced{event->revision});
    return event;
  }

  // --- Records

  void record(RecordMode mode = RecordMode::All, bool spans = true) {
    gateway_.setRecords(mode, spans);
  }
  void committed(uint64_t number, bool durable) {
    gateway_.recordCommitted(number, durable, now_, effects_);
    sort();
  }
  // All that were not taken yet.
  std::vector<Stored> records() { return std::exchange(records_, {}); }
  // The rows of a collection; the others are dropped.
  std::vector<Stored> records(protocol::Collection collection) {
    std::vector<Stored> some = records();
    std::erase_if(some, [&](const Stored& one) { return one.collection != collection; });
    return some;
  }

  // --- Files

  // File reads that were requested since the last call.
  std::vector<ReadFile> reads() { return std::exchange(reads_, {}); }
  void fileRead(std::string_view callId, FileOutcome outcome) {
    fileRead(CallId::parse(callId).value(), std::move(outcome));
  }
  void fileRead(const CallId& callId, FileOutcome outcome) {
    gateway_.fileRead(callId, std::move(outcome), now_, effects_);
    sort();
  }
  [[nodiscard]] const std::vector<std::string>& folders() const { return folders_; }
  // --- The host

  std::string featureToken() { return gateway_.issueFeatureToken(); }
  void revokeFeatureToken(const std::string& token) {
    gateway_.revokeFeatureToken(token, now_, effects_);
    sort();
  }
  // A link's first frame. `isProvider`: whether it has made the link a provider's.
  PeerId openLink(const std::string& text, bool isProvider) {
    const PeerId peer = newPeer();
    EXPECT_EQ(gateway_.linkOpened(peer, Slice::borrow(text), now_, effects_), isProvider);
    sort();
    return peer;
  }
  // A feature's link; its inbox is as the gateway filled it.
  PeerId feature(std::string_view token) {
    return openLink(R"({"type":"provider.open","token":)" + quote(token) + "}", true);
  }
  // Bound to all sessions, with an empty inbox.
  PeerId boundFeature(std::string_view token, std::string_view name, std::string_view toolArray) {
    const PeerId peer = feature(token);
    say(peer, hello(name, "all", toolArray));
    EXPECT_EQ(take(peer, "hello.ack").type(), "hello.ack");
    inbox(peer).texts.clear();
    return peer;
  }
  std::string spawnToken(const std::string& session) { return gateway_.issueSpawnToken(session); }
  void forgetSpawnToken(const std::string& token, bool revoked = false) {
    gateway_.forgetSpawnToken(token, revoked, now_, effects_);
    sort();
  }
  void writeTimeline(const std::string& session, protocol::LogLevel level, std::string_view text) {
    gateway_.writeTimeline(session, level, text, now_, effects_);
    sort();
  }

  Message inspect() { return Message(gateway_.inspect(now_)); }
  Gateway& gateway() { return gateway_; }

  // --- Pings of the gateway, except the timer that watches providers, which ends automatically.
  [[nodiscard]] size_t timers() {
    State& state = gateway_.state();
    return state.timers.size() - (state.watchTimer == TimerId::None ? 0 : 1);
  }
  // Providers answer pings at once, as those of real sockets do.
  bool answersPings = true;
  int pings(PeerId peer) { return inbox(peer).pings; }
  void pong(PeerId peer) { gateway_.providerPong(peer); }

  // --- Time

  void advance(Millis by) {
    const Time target = now_.steady + by;
    while (gateway_.nextDeadline() && *gateway_.nextDeadline() <= target) {
      const Time at = std::max(*gateway_.nextDeadline(), now_.steady);
      now_.unixMillis += (at - now_.steady).count();
      now_.steady = at;
      gateway_.timersDue(now_, effects_);
      sort();
      const auto next = gateway_.nextDeadline();
      ASSERT_TRUE(!next || *next > now_.steady) << "a deadline is left in the past";
    }
    now_.unixMillis += (target - now_.steady).count();
    now_.steady = target;
  }
  void advance(int64_t millis) { advance(Millis(millis)); }

  // --- Output

  [[nodiscard]] bool quiet(PeerId peer) {
    return inbox(peer).texts.empty() && inbox(peer).events.empty();
  }
  // The oldest text that was not looked at yet.
  Message take(PeerId peer) {
    auto& texts = inbox(peer).texts;
    if (texts.empty()) return Message(R"({"type":"<nothing was sent>"})");
    Message message = texts.front();
    texts.erase(texts.begin());
    return message;
  }
  // The oldest of that type.
  Message take(PeerId peer, std::string_view type) {
    auto& texts = inbox(peer).texts;
    const auto at = std::find_if(texts.begin(), texts.end(),
                                 [&](const Message& message) { return message.type() == type; });
    if (at == texts.end()) return Message(R"({"type":"<none of this type>"})");
    Message message = *at;
    texts.erase(at);
    return message;
  }
  // As if it had not been looked at yet.
  void putBack(PeerId peer, Message message) { inbox(peer).texts.push_back(std::move(message)); }
  size_t count(PeerId peer, std::string_view type) {
    const auto& texts = inbox(peer).texts;
    return static_cast<size_t>(
        std::count_if(texts.begin(), texts.end(),
                      [&](const Message& message) { return message.type() == type; }));
  }
  // The code of the next error message.
  std::string errorCode(PeerId peer) { return take(peer, "error").get("code"); }

  // The oldest event of that type, if any.
  template <class Event>
  std::optional<Event> find(PeerId peer) {
    auto& events = inbox(peer).events;
    for (auto at = events.begin(); at != events.end(); ++at) {
      if (const auto* event = std::get_if<Event>(&*at)) {
        Event found = *event;
        events.erase(at);
        return found;
      }
    }
    return std::nullopt;
  }
  template <class Event>
  Event expect(PeerId peer) {
    std::optional<Event> found = find<Event>(peer);
    EXPECT_TRUE(found.has_value()) << "no such event was sent";
    return found.value_or(Event{});
  }
  template <class Event>
  size_t count(PeerId peer) {
    const auto& events = inbox(peer).events;
    return static_cast<size_t>(std::count_if(events.begin(), events.end(), [](const auto& event) {
      return std::holds_alternative<Event>(event);
    }));
  }
  // All timeline lines since the last call, each on a line.
  std::string timeline(PeerId peer) {
    std::string lines;
    while (auto line = find<protocol::Timeline>(peer)) lines += line->text + "\n";
    return lines;
  }
  // The next CallResult, as "callId ok data" or "callId CODE".
  std::string outcome(PeerId peer) {
    const auto settled = find<protocol::CallResult>(peer);
    if (!settled) return "none";
    if (settled->failed) {
      return settled->callId + " " + std::string(protocol::wireName(settled->code));
    }
    return settled->callId + " ok " + std::string(settled->data.view());
  }

  [[nodiscard]] bool closed(PeerId peer) { return inbox(peer).closed.has_value(); }
  [[nodiscard]] uint16_t closeCode(PeerId peer) {
    return closed(peer) ? inbox(peer).closed->code : 0;
  }
  [[nodiscard]] bool paused(PeerId peer) { return inbox(peer).paused; }
  [[nodiscard]] bool told(HostAction action) {
    return std::any_of(host_.begin(), host_.end(),
                       [&](const NotifyHost& tell) { return tell.action == action; });
  }
  [[nodiscard]] size_t toldCount() const { return host_.size(); }
  // The groups that the host enables in each new session.
  std::vector<std::string> configGroups;
  void addGroups(const std::string& session, const std::vector<std::string>& names) {
    gateway_.addGroups(session, names, now_, effects_);
    sort();
  }
  void openGroups(const std::string& session, const std::vector<std::string>& names) {
    gateway_.openGroups(OpeningNumber{++lastOpening_}, session, names, now_, effects_);
    sort();
  }
  [[nodiscard]] size_t openedCount() const { return opened_.size(); }
  // The oldest answer to openGroups that was not looked at: "yes a b", or "no a b: reason".
  std::string opened() {
    if (opened_.empty()) return "none";
    const GroupsOpened answer = opened_.front();
    opened_.erase(opened_.begin());
    std::string text = answer.inForce ? "yes" : "no";
    for (const std::string& tool : answer.tools) text += " " + tool;
    return answer.reason.empty() ? text : text + ": " + answer.reason;
  }
  void requestFromSession(const std::string& session, const std::string& request,
                          const std::string& params = "{}") {
    const SessionRequestNumber number{++lastSessionRequest_};
    gateway_.requestFromSession(number, session, request, params, now_, effects_);
    sort();
  }
  [[nodiscard]] const auto& sessionAnswers() const { return sessionAnswers_; }  // oldest first
  [[nodiscard]] const std::vector<RequestHost>& requests() const { return requests_; }
  void answerRequest(RequestNumber number, std::string_view json) {
    gateway_.answerRequest(number, json, now_, effects_);
    sort();
  }
  [[nodiscard]] const std::vector<HostCommand>& commands() const { return commands_; }
  void finishCommand(CommandNumber number, std::string_view text) {
    gateway_.commandFinished(number, text, now_, effects_);
    sort();
  }
  // The host's notifications of sessions, in order: "opened s in /code/s, ended s, ".
  [[nodiscard]] std::string toldOfSessions() const {
    std::string all;
    for (const NotifyHost& tell : host_) {
      if (tell.action == HostAction::SessionOpened) {
        all += "opened " + tell.sessionId + " in " + tell.cwd + ", ";
      } else if (tell.action == HostAction::SessionEnded) {
        all += "ended " + tell.sessionId + ", ";
      }
    }
    return all;
  }
  void clear() {
    for (auto& [peer, box] : inboxes_) {
      box.texts.clear();
      box.events.clear();
    }
  }
  [[nodiscard]] std::string logged() const { return log_; }
  [[nodiscard]] State& state() { return gateway_.state(); }
  [[nodiscard]] Now now() const { return now_; }

  PeerId newPeer() { return static_cast<PeerId>(++lastPeer_); }

 private:
  struct Inbox {
    std::vector<Message> texts;
    std::vector<protocol::SessionEvent> events;
    std::optional<ClosePeer> closed;
    bool paused = false;
    int pings = 0;
  };

  static Config config(const Limits& limits, std::string secret) {
    Config config;
    config.limits = limits;
    config.version = "1.2.3";
    config.token = kToken;
    config.linkSecret = std::move(secret);
    config.pid = 77;
    config.port = 9400;
    config.seed = {1, 2, 3, 4};
    config.persistRoot = "/home/u/providers";
    config.tokenFile = "/home/u/extensions/tap/.provider-token";
    config.fillSecret = [random = std::mt19937(7)](uint8_t* bytes, size_t size) mutable {
      for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(random());
    };
    return config;
  }

  Inbox& inbox(PeerId peer) { return inboxes_[peer]; }
  Inbox& openInbox(PeerId peer) {
    EXPECT_FALSE(inbox(peer).closed) << "an effect for a closed peer";
    return inbox(peer);
  }

  // Slices may borrow from the input, so stored slices are copied.
  void sort() {
    while (!effects_.empty()) sortOnce();
  }
  void sortOnce() {
    for (Effect& effect : std::exchange(effects_, {})) {
      if (auto* text = std::get_if<SendText>(&effect)) {
        EXPECT_TRUE(utf8::isValid(text->text.view()));
        openInbox(text->peer).texts.emplace_back(std::string(text->text.view()));
      } else if (auto* event = std::get_if<SendEvent>(&effect)) {
        if (auto* settled = std::get_if<protocol::CallResult>(&event->event)) {
          settled->data = settled->data.keep();
          settled->binary.base64 = settled->binary.base64.keep();
        } else if (auto* frame = std::get_if<protocol::TraceFrame>(&event->event)) {
          frame->text = frame->text.keep();
        }
        openInbox(event->peer).events.push_back(std::move(event->event));
      } else if (auto* close = std::get_if<ClosePeer>(&effect)) {
        openInbox(close->peer).closed = *close;
      } else if (auto* ping = std::get_if<PingProvider>(&effect)) {
        ++openInbox(ping->peer).pings;
        if (answersPings) gateway_.providerPong(ping->peer);
      } else if (auto* pause = std::get_if<PauseReading>(&effect)) {
        openInbox(pause->peer).paused = true;
      } else if (auto* resume = std::get_if<ResumeReading>(&effect)) {
        openInbox(resume->peer).paused = false;
      } else if (auto* folder = std::get_if<MakeFolder>(&effect)) {
        folders_.push_back(folder->path);
      } else if (auto* read = std::get_if<ReadFile>(&effect)) {
        reads_.push_back(*read);
      } else if (auto* line = std::get_if<LogLine>(&effect)) {
        EXPECT_EQ(line->text.find(kToken), std::string::npos) << "the token is in the log";
        log_ += line->text + "\n";
      } else if (auto* tell = std::get_if<NotifyHost>(&effect)) {
        host_.push_back(*tell);
      } else if (auto* command = std::get_if<HostCommand>(&effect)) {
        commands_.push_back(*command);
      } else if (auto* write = std::get_if<WriteRecord>(&effect)) {
        records_.push_back(Stored::of(*write->row, 0));
        write->row->payloads = {};
      } else if (auto* commit = std::get_if<CommitRecord>(&effect)) {
        records_.push_back(Stored::of(*commit->row, commit->number));
        commit->row->payloads = {};
      } else if (auto* request = std::get_if<RequestHost>(&effect)) {
        requests_.push_back(*request);
      } else if (auto* opened = std::get_if<GroupsOpened>(&effect)) {
        opened_.push_back(*opened);
      } else if (auto* answered = std::get_if<SessionAnswered>(&effect)) {
        sessionAnswers_.push_back(*answered);
      } else if (auto* welcome = std::get_if<WelcomeSession>(&effect)) {
        gateway_.addGroups(welcome->sessionId, configGroups, now_, effects_);
        gateway_.welcomeSession(*welcome, now_, effects_);
      }
    }
  }
  Now now_{Time(Millis(1'000'000)), 1'700'000'000'000};
  Effects effects_;
  Gateway gateway_;
  uint64_t lastPeer_ = 0;
  std::map<PeerId, Inbox> inboxes_;
  std::vector<NotifyHost> host_;
  std::vector<HostCommand> commands_;
  std::vector<RequestHost> requests_;
  std::vector<GroupsOpened> opened_;
  uint64_t lastSessionRequest_ = 0;
  std::vector<SessionAnswered> sessionAnswers_;
  uint64_t lastOpening_ = 0;
  std::vector<std::string> folders_;
  std::vector<ReadFile> reads_;
  std::vector<Stored> records_;
  std::string log_;
};

}  // namespace tap::gateway::test
