// Several providers and sessions around a gateway, driven by a source of choices, legal or not.
// After each step the gateway's invariants are checked: a single outcome for each call and a single
// verdict for each check, no messages to closed peers, no tools of unbound providers, no decreasing
// revision, no exceeded limit.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gateway/harness.h"
#include "gateway/hooks/recorded_answers.h"
#include "gateway/promises.h"
#include "gateway/record_promises.h"
#include "protocol/link/session_codec.h"

namespace tap::gateway::test {

// Where the world's choices come from: chance, or the bytes of a fuzzer.
struct Choices {
  std::function<uint32_t(uint32_t bound)> below;  // less than `bound`
  std::function<std::string()> text = [] { return std::string(); };
};

// Choices follow each other in statements of their own: in which order a compiler looks at
// arguments is its own affair, and an input is to mean the same to all.
class World {
 public:
  explicit World(Choices choices) : choices_(std::move(choices)), tap_(limits()) {
    tap_.record();
    tap_.say(internal_, hello("tap", "all", tools({"tap_status"})));
  }

  void step() {
    switch (below(19)) {
      case 0:
        if (processes_.size() < 3 || below(10) == 0) startProcess();
        break;
      case 1:
        if (below(10) == 0) endProcess();
        break;
      case 2:
        if (providers_.size() < 10) openProvider();
        break;
      case 3:
        if (below(12) == 0) loseProvider();
        break;
      case 4:
      case 5:
      case 6:
        call();
        break;
      case 7:
        cancel();
        break;
      case 8:
        tap_.advance(Millis(below(3) == 0 ? below(8'000) : below(150)));
        break;
      case 9:
        sessionChatter();
        break;
      case 10:
        ask();
        break;
      case 11:
        anybodySaysAnything();
        break;
      case 12:
        hostActs();
        break;
      default:
        providerSays();
    }
    check();
  }

  [[nodiscard]] int calls() const { return calls_; }
  [[nodiscard]] int settled() const { return settled_; }
  [[nodiscard]] int texts() const { return records_.texts(); }

  // All peers leave: no request may stay open.
  void finish() {
    for (const PeerId peer : providers_) tap_.lose(peer);
    tap_.say(internal_, kGoodbye);
    check();
    tap_.advance(kContextCommitTime);  // the maximum wait for the record of a feature's text
    check();
    for (const Process& process : processes_) {
      ASSERT_TRUE(process.open.empty()) << "a call without an outcome";
      ASSERT_TRUE(process.questions.empty()) << "a check without a verdict";
      tap_.cut(process.peer);
    }
    tap_.advance(Millis(120'000));
    ASSERT_TRUE(tap_.state().calls.empty());
    ASSERT_TRUE(tap_.state().checks.waiting.empty());
    ASSERT_TRUE(tap_.state().checks.gates.empty());
    ASSERT_TRUE(tap_.state().answers.waiting.empty()) << "an answer that waits for its record";
    ASSERT_TRUE(tap_.state().refused.empty()) << "a count that is not recorded";
    ASSERT_TRUE(tap_.state().sections.transforms.empty());
    ASSERT_TRUE(tap_.state().requests.waiting.empty()) << "a request of a link that has ended";
    ASSERT_EQ(tap_.openedCount(), openings_) << "groups whose opening was not answered once";
    ASSERT_EQ(tap_.sessionAnswers().size(), sessionRequests_)
        << "requests of sessions that were not answered once";
    ASSERT_TRUE(tap_.state().queue.empty()) << "a slot of a peer that has left";
    ASSERT_TRUE(tap_.state().sessions.all().empty());
    ASSERT_EQ(tap_.state().providers.connections(), 0u);
    ASSERT_EQ(tap_.timers(), 0u) << "a timer of a peer that has left";
    ASSERT_TRUE(tap_.told(HostAction::Exit));
  }

 private:
  static Limits limits() {
    Limits limits;
    limits.set(Limit::Connections, 8);
    limits.set(Limit::Sessions, 4);
    limits.set(Limit::CallsPerSession, 6);
    limits.set(Limit::CallTimeoutMs, 4'000);
    limits.set(Limit::QueuedCalls, 2);
    limits.set(Limit::StreamsPerProvider, 2);
    limits.set(Limit::StreamEntries, 5);
    limits.set(Limit::MessageBurst, 60);
    limits.set(Limit::HellosPerMinute, 100);
    limits.set(Limit::PairingsPerMinute, 1'000);
    limits.set(Limit::HeldInjects, 3);
    limits.set(Limit::PatternsPerParty, 12);
    limits.set(Limit::PatternBytesPerParty, 80'000);
    limits.set(Limit::Patterns, 20);
    limits.set(Limit::PatternBytes, 120'000);
    limits.set(Limit::KeptBytesPerParty, 65'536);
    limits.set(Limit::KeptBytes, 131'072);
    limits.set(Limit::DepartedPerParty, 2);
    return limits;
  }

  uint32_t below(uint32_t bound) { return choices_.below(bound); }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[below(static_cast<uint32_t>(from.size()))];
  }
  Process* anyProcess() {
    return processes_.empty() ? nullptr : &processes_[below(processes_.size())];
  }
  std::string anySession() {
    const Process* process = anyProcess();
    return process != nullptr && below(8) != 0 ? process->sessionId
                                               : "s" + std::to_string(below(5));
  }
  std::string anyName() { return "p" + std::to_string(below(4)); }
  std::string anyTool() { return "tool" + std::to_string(below(6)); }
  std::string anyTools() {
    std::vector<std::string> names;
    for (uint32_t i = below(4); i > 0; --i) names.push_back(anyTool());
    return tools(names);
  }

  void startProcess() {
    if (below(6) == 0) return startControlClient();
    const std::string id = "s" + std::to_string(below(5));
    const PeerId peer = tap_.link(id, [&](protocol::Register& r) {
      r.cliPid = below(3);
      r.mode = below(2) == 0 ? protocol::SyncMode::Live : protocol::SyncMode::Reload;
      r.joined = below(2) == 0;
      if (below(3) == 0) r.have.push_back({"p" + std::to_string(below(4)), "digest"});
      if (below(20) == 0) r.linkVersion = 99;
    });
    processes_.push_back({peer, id, {}, {}, {}, 0, 0});
  }

  // Its requests have the same invariants.
  void startControlClient() {
    const PeerId peer = tap_.newPeer();
    const std::string sessionId = below(2) == 0 ? "" : "s" + std::to_string(below(5));
    if (below(3) == 0) {
      tap_.send(peer, protocol::OpenControl{featureToken_, ""});
      processes_.push_back({peer, "", {}, {}, {}, 0, 0});
      return;
    }
    tap_.send(peer, protocol::OpenControl{"", sessionId});
    if (below(3) == 0) tap_.send(peer, protocol::Trace{});
    tap_.send(peer, protocol::Inspect{});
    processes_.push_back({peer, sessionId, {}, {}, {}, 0, 0});
  }

  void endProcess() {
    if (processes_.empty()) return;
    const PeerId peer = anyProcess()->peer;
    if (below(2) == 0) tap_.send(peer, protocol::EndSession{"over"});
    check();
    if (below(2) == 0) return;
    tap_.cut(peer);
    std::erase_if(processes_, [&](const Process& process) { return process.peer == peer; });
  }

  void openProvider() {
    if (below(6) == 0) return openPaired();
    providers_.push_back(tap_.open());
    if (below(5) == 0) return;
    tap_.say(providers_.back(), auth());
    const std::string name = anyName();
    const std::string session = anySession();
    tap_.say(providers_.back(), hello(name, session, anyTools()));
  }

  // A provider of which only the user's code is known; often a web page.
  void openPaired() {
    std::optional<std::string> origin;
    if (below(2) == 0) origin = "https://page.example";
    providers_.push_back(tap_.open(std::move(origin)));
    const PeerId peer = providers_.back();
    const std::string session = anySession();
    const std::string name = anyName();
    tap_.say(peer, R"({"type":"auth","mode":"pair","session":")" + session + R"(","name":")" +
                       name + "\"}");
    for (const WaitingPairing& one : tap_.state().authenticator.waiting(session)) {
      if (one.provider.name != name) continue;
      tap_.say(peer, R"({"type":"auth.confirm","code":")" + one.code + "\"}");
      break;
    }
    tap_.say(peer, hello(name, session, anyTools()));
  }

  // Features, their groups of tools, and the requests of link clients to the host.
  void hostActs() {
    switch (below(6)) {
      case 0:
        if (providers_.size() < 10) openFeature();
        break;
      case 1:
      case 2:
        ++openings_;
        tap_.openGroups(anySession(), {anyGroup(), anyGroup()});
        break;
      case 3:
        tap_.addGroups(anySession(), {anyGroup()});
        break;
      case 4:
        requestOfHost();
        requestOfSession();
        break;
      default:
        if (below(8) != 0) break;
        tap_.revokeFeatureToken(featureToken_);
        featureToken_ = tap_.featureToken();
    }
  }
  std::string anyGroup() { return "g" + std::to_string(below(3)); }
  void openFeature() {
    const PeerId peer = tap_.feature(featureToken_);
    providers_.push_back(peer);
    std::string list;
    for (uint32_t i = below(4); i > 0; --i) {
      const std::string name = anyTool();
      list += (list.empty() ? "" : ",") + tool(name, R"(,"group":")" + anyGroup() + "\"");
    }
    tap_.say(peer, hello("tap-" + anyName(), "all", "[" + list + "]"));
  }
  void requestOfSession() {
    if (below(2) == 0) {
      ++sessionRequests_;
      tap_.requestFromSession(anySession(), "state.read");
    }
    const Process* process = anyProcess();
    if (process == nullptr) return;
    const std::string id = std::to_string(below(static_cast<uint32_t>(sessionRequests_) + 2));
    tap_.send(process->peer, protocol::SessionResult{id, below(2) == 0, {}});
  }
  void requestOfHost() {
    const size_t before = tap_.requests().size();
    if (const Process* process = anyProcess(); process != nullptr && below(2) == 0) {
      if (tap_.state().controlClients.contains(process->peer)) {
        tap_.send(process->peer, protocol::HostRequest{"r", "holds.list", {}});
      }
    }
    if (before == 0 || below(2) == 0) return;
    tap_.answerRequest(tap_.requests()[below(static_cast<uint32_t>(before))].number,
                       below(4) == 0 ? choices_.text() : R"({"result":1})");
  }

  void loseProvider() {
    if (providers_.empty()) return;
    const size_t at = below(providers_.size());
    tap_.lose(providers_[at]);
    providers_.erase(providers_.begin() + static_cast<std::ptrdiff_t>(at));
  }

  void call() {
    Process* process = anyProcess();
    if (process == nullptr || tap_.closed(process->peer)) return;
    const std::string id = "c" + std::to_string(++calls_);
    process->open.insert(id);
    const std::string tool = below(10) == 0 ? "tap_status" : anyTool();
    if (below(2) == 0) {
      tap_.call(process->peer, id, tool, below(8) == 0 ? choices_.text() : anyArgs());
    } else {
      const std::string args = anyArgs();
      tap_.linkText(process->peer, R"({"type":"call","callId":")" + id + R"(","tool":")" + tool +
                                       "\"," + traceField(calls_) + R"("args":)" + args + "}");
    }
    while (tap_.count(internal_, "tool.call") > 0) {
      tap_.say(internal_, result(tap_.take(internal_, "tool.call").get("id")));
    }
  }

  // A valid trace, a malformed trace, or no trace, without using a choice.
  static std::string traceField(int number) {
    switch (number % 4) {
      case 0:
        return R"("traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",)";
      case 1:
        return R"("toolCallId":"call_)" + std::to_string(number) + R"(","traceparent":"00-x",)";
      case 2:
        return R"("toolCallId":7,"traceparent":{},)";
      default:
        return "";
    }
  }

  // JSON of every kind and depth, and texts that are not JSON.
  std::string anyArgs() {
    switch (below(8)) {
      case 0:
        return R"({"target":"i)" + std::to_string(below(3)) + "\"}";
      case 1:
        return pick(arguments_);
      case 2: {
        // From 64 levels to more than any message may have.
        const size_t levels = 64 + below(100);
        return R"({"a":)" + std::string(levels, '[') + std::string(levels, ']') + "}";
      }
      default:
        return "{}";
    }
  }

  void cancel() {
    Process* process = anyProcess();
    if (process == nullptr || process->open.empty() || tap_.closed(process->peer)) return;
    const std::string id = *process->open.begin();
    process->open.erase(id);
    process->cancelled.insert(id);
    const auto& calls = tap_.state().calls.all();
    const bool inFlight = std::any_of(calls.begin(), calls.end(), [&](const auto& one) {
      return one.second->sessionCallId == id;
    });
    tap_.send(process->peer, protocol::CancelCall{id, "aborted"});
    records_.take(tap_);
    ASSERT_TRUE(!inFlight || records_.hasCall(id)) << "a cancelled call without a record";
  }

  void sessionChatter() {
    Process* process = anyProcess();
    if (process == nullptr) return;
    switch (below(7)) {
      case 0:
        tap_.send(process->peer,
                  protocol::ActivityChanged{static_cast<protocol::Activity>(below(3))});
        break;
      case 1:
        tap_.send(process->peer, protocol::Synced{static_cast<int64_t>(below(20))});
        break;
      case 2:
        tap_.send(
            process->peer,
            protocol::Update{
                "label" + std::to_string(below(3)), {}, {}, std::vector<std::string>{anyTool()}});
        break;
      case 3:
        tap_.send(process->peer, protocol::Ping{});
        break;
      case 4:
        if (const auto event = tap_.find<protocol::Tools>(process->peer)) {
          tap_.send(process->peer, protocol::SyncFailed{event->revision, "no", {anyTool()}});
        }
        break;
      default:
        if (const auto event = tap_.confirmTools(process->peer)) {
          Promises::checkTools(*process, *event);
        }
    }
  }

  [[nodiscard]] bool isFeature(const Process& process) {
    return tap_.state().controlClients.isFeature(process.peer);
  }
  // Requests that get a single answer, and may have to wait for providers.
  void ask() {
    Process* process = anyProcess();
    if (process == nullptr || tap_.closed(process->peer)) return;
    const std::string id = "q" + std::to_string(++questions_);
    process->questions.insert(id);
    if (isFeature(*process)) {
      const std::string session = anySession();
      tap_.send(process->peer, protocol::PermissionCheck{id, session, "bash", Slice(kArgs)});
      return;
    }
    switch (below(5)) {
      case 0:
        tap_.send(process->peer, protocol::PromptSubmitted{id});
        break;
      case 1:
        tap_.send(process->peer, protocol::SectionBuild{id, pick(sections_), "now"});
        break;
      case 2:
        tap_.linkText(process->peer, R"({"type":"hook.check","checkId":")" + id +
                                         R"(","tool":"bash","args":)" + anyArgs() + "}");
        break;
      default:
        tap_.send(process->peer,
                  protocol::HookCheck{id, below(2) == 0 ? "bash" : anyTool(), Slice(kArgs)});
    }
  }

  void anybodySaysAnything() {
    const std::string text = choices_.text();
    if (text.empty()) return;
    if (below(3) == 0) return sessionSaysAnything(text);
    if (!providers_.empty()) tap_.say(pick(providers_), text);
  }
  // Identifiers are a process's own to keep apart.
  void sessionSaysAnything(const std::string& text) {
    Process* process = anyProcess();
    if (process == nullptr || tap_.closed(process->peer)) return;
    protocol::SessionDecoder decoder;
    auto decoded = decoder.message(Slice::borrow(text));
    if (!decoded.ok()) return;
    if (auto* message = std::get_if<protocol::SessionMessage>(&decoded.value())) {
      makeItsOwn(*process, *message);
    }
    tap_.send(process->peer, decoded.value());
  }
  void makeItsOwn(Process& process, protocol::SessionMessage& message) {
    if (auto* call = std::get_if<protocol::Call>(&message)) {
      call->callId = "c" + std::to_string(++calls_);
      process.open.insert(call->callId);
    } else if (auto* cancel = std::get_if<protocol::CancelCall>(&message)) {
      if (process.open.erase(cancel->callId) > 0) process.cancelled.insert(cancel->callId);
    } else if (auto* check = std::get_if<protocol::HookCheck>(&message)) {
      process.questions.insert(check->checkId = "q" + std::to_string(++questions_));
    } else if (auto* prompt = std::get_if<protocol::PromptSubmitted>(&message)) {
      process.questions.insert(prompt->promptId = "q" + std::to_string(++questions_));
    } else if (auto* build = std::get_if<protocol::SectionBuild>(&message)) {
      process.questions.insert(build->buildId = "q" + std::to_string(++questions_));
    } else if (std::holds_alternative<protocol::Register>(message)) {
      giveUp(process);
    }
  }

  // A session that registers again does not wait for its earlier requests.
  static void giveUp(Process& process) {
    process.cancelled.merge(process.open);
    process.open.clear();
    process.questions.clear();
    process.toolsRevision = process.hooksRevision = 0;
  }

  void providerSays() {
    if (providers_.empty()) return;
    const PeerId peer = pick(providers_);
    switch (below(19)) {
      case 0:
      case 1:
      case 2:
        if (below(4) == 0) tap_.say(peer, auth(below(40) == 0 ? "wrong" : kToken));
        break;
      case 3:
      case 4:
      case 5:
        if (isBound(peer) && below(4) != 0) break;  // otherwise providers would rarely stay bound
        tap_.say(peer, anyHello());
        if (tap_.count(peer, "hello.ack") > 0) {
          tokens_.push_back(tap_.take(peer, "hello.ack").get("reconnectToken"));
        }
        break;
      case 6:
        tap_.say(peer, anyUpdate());
        break;
      case 7:
        tap_.say(peer, anyPush());
        break;
      case 8:
        if (below(4) == 0) tap_.say(peer, kGoodbye);
        break;
      case 9:
        if (below(4) == 0) tap_.say(peer, pick(nonsense_));
        break;
      case 10:
        if (below(6) == 0) tap_.oversize(peer, 6'000'000);
        break;
      case 11:
        tap_.backlog(peer, below(40) == 0 ? 20'000'000 : 1'000);
        break;
      case 12:
        tap_.say(peer, R"({"type":"hooks.update",)" + anyHooks() + R"(,"requestId":"h"})");
        break;
      case 13:
        tap_.say(peer, pick(requests_));
        break;
      case 14:
        judge();
        break;
      case 15:
        if (below(8) == 0) storm(peer);
        break;
      default:
        answer(peer);
    }
  }

  bool isBound(PeerId peer) {
    const Provider* provider = tap_.state().providers.find(peer);
    return provider != nullptr && provider->state == protocol::ProviderState::Bound;
  }
  std::string anyHello() {
    const std::string name = anyName();
    const std::string session = below(6) == 0 ? std::string("all") : anySession();
    std::string text = hello(name, session, anyTools());
    text.pop_back();
    if (below(3) == 0) text += R"(,"instance":"i)" + std::to_string(below(3)) + "\"";
    if (below(2) == 0) text += R"(,"reconnectToken":")" + pick(tokens_) + "\"";
    if (below(4) == 0) text += R"(,"subscribe":["user.message"])";
    if (below(3) == 0) text += R"(,"context":"c","hooks":{)" + anyHooks() + "}";
    if (below(3) == 0) {
      text += R"(,"concurrency":{"max":)" + std::to_string(1 + below(2));
      text += R"(,"scope":")" + pick(scopes_) + "\"}";
    }
    return text + "}";
  }
  std::string anyPush() {
    const std::string level = pick(levels_);
    return push(level, "event", R"(,"stream":")" + anySession() + "\"");
  }
  // Many filters with many patterns, of which some are known and some too costly, and large events.
  void storm(PeerId peer) {
    for (uint32_t messages = 1 + below(12); messages > 0; --messages) {
      std::string rules;
      for (uint32_t i = below(16); i > 0; --i) {
        const std::string text = pick(patterns_) + std::to_string(below(30));
        rules += std::string(rules.empty() ? "" : ",") + R"({"outcome":"keep","match":)";
        rules += quote(text) + "}";
      }
      const std::string stream = anySession();
      tap_.say(peer,
               R"({"type":"filter.set","stream":")" + stream + R"(","rules":[)" + rules + "]}");
      if (below(3) == 0) tap_.say(peer, push("keep", std::string(below(9'000), 'e')));
      promises_.check(tap_.state());
    }
  }
  std::string anyUpdate() {
    switch (below(6)) {
      case 0: {
        const std::string start = R"({"type":"tools.update","remove":[")" + anyTool();
        return start + R"("],"tools":)" + anyTools() + R"(,"requestId":"r"})";
      }
      case 5: {
        const std::string start = R"({"type":"tools.update","inForce":true,"remove":[],"tools":)";
        return start + anyTools() + R"(,"requestId":"r"})";
      }
      case 1: {
        const std::string start = R"({"type":"tools.update","sessionId":")" + anySession();
        return start + R"(","tools":)" + anyTools() + "}";
      }
      case 2:
        return R"({"type":"session.ready","sessionId":")" + anySession() + "\"}";
      case 3:
        return R"({"type":"shutdown.ready","sessionId":")" + anySession() + "\"}";
      default:
        return update(anyTools());
    }
  }

  std::string anyHooks() {
    std::string text = R"("onPreToolUse":[)" + pick(rules_);
    text += R"(],"transforms":{")" + pick(sections_);
    return text + R"(":)" + pick(transforms_) + "}";
  }
  // An answer to a pending gate or transform, right or wrong.
  void judge() {
    for (const PeerId peer : providers_) {
      const Message gate = tap_.take(peer, "gate.check");
      if (const std::string id = gate.get("callId"); id != kAbsent) {
        const PeerId judging = below(8) == 0 ? pick(providers_) : peer;
        tap_.say(judging, R"({"type":"gate.result","gateId":"g","callId":")" + id +
                              R"(","decision":")" + pick(decisions_) + R"(","reason":"because"})");
      }
      const Message transform = tap_.take(peer, "transform.request");
      if (const std::string id = transform.get("callId"); id != kAbsent) {
        tap_.say(below(8) == 0 ? pick(providers_) : peer,
                 R"({"type":"transform.result","content":"new","callId":")" + id + R"("})");
      }
      if (below(3) != 0) return;
    }
  }

  // An answer to a pending call, right or wrong.
  void answer(PeerId peer) {
    for (const PeerId other : providers_) {
      if (tap_.count(other, "tool.call") > 0 && below(2) == 0) peer = other;
    }
    const Message message = tap_.take(peer, below(2) == 0 ? "tool.call" : "tool.cancel");
    const std::string id = message.get("id");
    if (id == kAbsent) return;
    ids_.push_back(id);
    if (below(4) == 0) {
      tap_.say(peer, R"({"type":"tool.progress","message":"m","id":")" + id + "\"}");
    }
    switch (below(6)) {
      case 0:
        tap_.say(peer,
                 R"({"type":"tool.result","error":"no","errorCode":"NOT_FOUND","retryable":)" +
                     std::string(below(2) == 0 ? "true" : "false") + R"(,"id":")" + id + "\"}");
        break;
      case 1:
        tap_.say(peer, R"({"type":"tool.result","error":5,"id":")" + id + "\"}");
        break;
      case 2:
        peer = pick(providers_);
        tap_.say(peer, result(pick(ids_)));
        break;
      case 3:
        tap_.say(peer, R"({"type":"tool.result","file":{"path":"/f","mimeType":"text/plain",)"
                       R"("size":1,"ttl":2},"id":")" +
                           id + "\"}");
        break;
      default:
        tap_.say(peer, result(id));
    }
  }

  // Some files are read at once, some late, and some twice.
  void readFiles() {
    for (ReadFile& read : tap_.reads()) unread_.push_back(read.callId);
    if (unread_.empty() || below(3) != 0) return;
    tap_.fileRead(pick(unread_), FileContent{Slice(std::string("1")), {}});
    if (below(2) == 0) unread_.pop_back();
  }

  void check() {
    readFiles();
    records_.take(tap_);
    for (Process& process : processes_) {
      const std::set<std::string> open = process.open;
      Promises::checkProcess(tap_, process, settled_,
                             [&](const std::string& text) { records_.checkText(process, text); });
      for (const std::string& id : open) {
        ASSERT_TRUE(process.open.contains(id) || records_.hasCall(id)) << "no record of " << id;
      }
      records_.checkInjects(tap_, process);
    }
    // The process of a closed link settles its open requests without the gateway.
    std::erase_if(processes_, [&](const Process& process) {
      if (!tap_.closed(process.peer)) return false;
      tap_.cut(process.peer);
      return true;
    });
    std::erase_if(providers_, [&](PeerId peer) { return tap_.closed(peer) && below(4) == 0; });
    promises_.check(tap_.state());
  }

  Choices choices_;
  Harness tap_;
  PeerId internal_ = tap_.admitted();  // serves tap_status, at once
  Promises promises_;
  RecordPromises records_;
  std::string featureToken_ = tap_.featureToken();
  size_t openings_ = 0;
  size_t sessionRequests_ = 0;
  std::vector<PeerId> providers_;
  std::vector<Process> processes_;
  std::vector<std::string> ids_{"never"};
  std::vector<std::string> tokens_{"tok-never"};
  std::vector<CallId> unread_;
  int calls_ = 0;
  int questions_ = 0;
  int settled_ = 0;  // well
  const std::vector<std::string> arguments_{"",
                                            "[]",
                                            "[1,2]",
                                            R"("a string")",
                                            R"("target")",
                                            R"([["a"]])",
                                            R"(["x"])",
                                            R"([{"target":"i0"}])",
                                            "null",
                                            "true",
                                            "-1e9",
                                            "{",
                                            R"({"target)",
                                            R"({"target":"i0")",
                                            R"({"target":})",
                                            R"({"a":"\u12"})",
                                            R"( {"a":[{}],"target":"i1"} )",
                                            R"({"target":7,"t\u0061rget":"i2","b":"\ud800"})"};
  const std::vector<std::string> scopes_{"instance", "provider", "tool"};
  const std::vector<std::string> levels_{"keep", "surface", "inject", "loud"};
  const std::string kArgs = R"({"command":"git push"})";
  const std::vector<std::string> sections_{"tone", "safety", "custom_instructions"};
  const std::vector<std::string> rules_{
      "", R"({"action":"gate","gateId":"g"})", R"({"action":"gate","gateId":"g","failOpen":true})",
      R"({"match":{"tool":"shell","args":"git .*"},"action":"deny","reason":"no"})",
      R"({"action":"context","content":"mind the gap"})"};
  const std::vector<std::string> transforms_{"null", R"({"action":"callback"})",
                                             R"({"action":"append","content":"a"})"};
  const std::vector<std::string> decisions_{"allow", "deny", "context", "maybe"};
  const std::vector<std::string> patterns_{"a", "(a|b)+", "(ab|cd){400}", "(", "x{60}[a-f]"};
  const std::vector<std::string> requests_{
      R"({"type":"stream.query","queryId":"1","streams":["s1"]})",
      R"({"type":"filter.set","stream":"s1","rules":[{"match":"ev","outcome":"drop"}]})",
      R"({"type":"context.update","context":"new"})",
      R"({"type":"context.update","context":"new","sessionId":"s1","requestId":"r"})"};
  const std::vector<std::string> nonsense_{"",
                                           "{",
                                           "[]",
                                           R"({"type":"wave"})",
                                           R"({"type":5})",
                                           R"({"type":"tool.result"})",
                                           R"({"type":"auth"})",
                                           R"({"type":"auth","mode":"pair"})",
                                           R"({"type":"auth.confirm","code":"000000"})"};
};

}  // namespace tap::gateway::test
