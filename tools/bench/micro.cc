// The parts of a call, each on its own. Two ways to run them:
//
//   bench_micro                    times them (Google Benchmark, with its flags)
//   bench_micro --count <case>     runs a case a fixed number of times, within measured(): for
//                                  callgrind --toggle-collect=measured (budget.mjs)
//   bench_micro --list             names those whose instructions can be counted

#include <benchmark/benchmark.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/timer_queue.h"
#include "core_rig.h"
#include "gateway/calls/call_log.h"
#include "plan_rig.h"
#include "protocol/link/session_codec.h"
#include "protocol/provider/provider_codec.h"
#include "records/body.h"
#include "websocket_client.h"
#include "ws/connection.h"
#include "ws/frame_parser.h"

namespace tap::bench {
namespace {

using Body = std::function<void()>;

constexpr std::string_view kCallId = "96355f9b-9e0f-4a75-b352-5277b6ca5bf0";
constexpr std::string_view kSessionId = "0d6f7c1e-6a3b-4f6e-9f0e-5d8a3c1b2a40";
constexpr std::string_view kArgs = R"({"city":"Oslo","bytes":64})";

std::string resultText(std::string_view id, size_t bytes) {
  constexpr std::string_view kLine =
      R"(2026-04-26 14:01:00 INFO build 214: \"unit tests\" passed in 12.4 s, 318 of 318\n)";
  std::string text = R"({"type":"tool.result","id":")" + std::string(id) + R"(","data":")";
  do {
    text += kLine;
  } while (text.size() < bytes);
  return text + "\"}";
}

Body frameParser() {
  std::string frame;
  appendText(frame, std::string(1000, 'x'));
  return [frame] {
    ws::FrameParser parser;
    std::string_view bytes = frame;
    benchmark::DoNotOptimize(parser.read(bytes));
  };
}

Body unmasking() {
  auto bytes = std::make_shared<std::string>(64 * 1024, 'x');
  return [bytes] { ws::unmask(bytes->data(), bytes->size(), {0x37, 0xfa, 0x21, 0x3d}, 1); };
}

Body connection() {
  std::string frame;
  appendText(frame, resultText(kCallId, 0));
  auto receiver = std::make_shared<ws::Connection>(ws::Caps{});
  return [frame, receiver] {
    std::string bytes = frame;  // unmasked in place
    std::vector<ws::Event> events;
    receiver->receive(bytes.data(), bytes.size(), events);
    benchmark::DoNotOptimize(events);
  };
}

Body jsonScan() {
  const std::string text = resultText(kCallId, 64 * 1024);
  auto scanner = std::make_shared<json::Scanner>();
  return [text, scanner] { benchmark::DoNotOptimize(scanner->scan(text)); };
}

Body jsonDecode() {
  auto text = std::make_shared<std::string>(resultText(kCallId, 64 * 1024));
  json::Scanner scanner;
  (void)scanner.scan(*text);
  const json::Value data = *scanner.find("data");
  auto room = std::make_shared<std::string>(data.raw.size(), '\0');
  return [text, data, room] { benchmark::DoNotOptimize(json::decodeAscii(data, room->data())); };
}

Body providerCodec() {
  static const Limits limits;
  const std::string text = resultText(kCallId, 0);
  auto decoder = std::make_shared<protocol::ProviderDecoder>(limits);
  return [text, decoder] {
    benchmark::DoNotOptimize(decoder->open(Slice::borrow(text)));
    benchmark::DoNotOptimize(decoder->body());
    benchmark::DoNotOptimize(
        protocol::encodeToolCall(kCallId, kSessionId, "bench0_0", {1, 2, 3, 1}, kArgs));
  };
}

Body sessionCodec() {
  auto decoder = std::make_shared<protocol::SessionDecoder>();
  return [decoder] {
    const protocol::Call call{"4711", "bench0_0", Slice(std::string(kArgs))};
    const std::string text = protocol::encode(protocol::LinkMessage(call)).head;
    benchmark::DoNotOptimize(decoder->message(Slice::borrow(text)));
  };
}

// A call through the whole core, with ten providers of ten tools.
Body routed(gateway::RecordMode records, bool spans) {
  auto rig = std::make_shared<CoreRig>(1, records, spans);
  gateway::PeerId last{};
  for (int i = 0; i < 10; ++i) last = rig->bind(helloText(i, 10));
  rig->synchronise();
  return [rig, last] {
    rig->send(protocol::Call{"4711", "bench9_3", Slice(std::string(kArgs))});
    const std::string_view call = rig->lastText();
    const size_t at = call.find(R"("id":")") + 6;
    rig->say(last, resultText(call.substr(at, kCallId.size()), 0));
    benchmark::DoNotOptimize(rig->effects());
  };
}

Body routing() {
  return routed(gateway::RecordMode::Off, false);
}
// With a record of the call, but without the work of the store.
Body recording() {
  return routed(gateway::RecordMode::All, false);
}
Body tracing() {
  return routed(gateway::RecordMode::All, true);
}

// The store's form of such a record: its body without secrets.
Body recordBody() {
  auto encoder = std::make_shared<records::BodyEncoder>();
  return [encoder] {
    constexpr std::string_view kResult =
        R"({"text":"2026-04-26 14:01:00 INFO build 214: unit tests passed in 12.4 s"})";
    records::QueuedRow row;
    row.body = R"({"tool":"build","provider":"ci","outcome":"ok","durationMs":3})";
    row.bodyBytes = row.body.size();
    row.payloads[0] = {"arguments", kArgs, kArgs.size()};
    row.payloads[1] = {"result", kResult, kResult.size()};
    benchmark::DoNotOptimize(encoder->encode(row, [](std::string_view) {}));
  };
}

// A push past fifty rules of its stream's filter, the last of which drops it.
Body filters() {
  auto rig = std::make_shared<CoreRig>();
  const gateway::PeerId peer = rig->bind(helloText(0, 1));
  std::string set = R"({"type":"filter.set","stream":"builds","rules":[)";
  for (int i = 0; i < 50; ++i) {
    if (i > 0) set += ',';
    set +=
        R"({"match":"build )" + std::to_string(1000 + i) + R"( is (red|green)$","outcome":"drop"})";
  }
  rig->say(peer, set + "]}");
  const std::string push =
      R"({"type":"push","level":"keep","stream":"builds","event":"build 1049 is green"})";
  return [rig, peer, push] { rig->say(peer, push); };
}

// A use of a tool before a rule that it does not fit.
Body checked(std::string_view args) {
  auto rig = std::make_shared<CoreRig>();
  (void)rig->bind(helloText(0, 1,
                            R"(,"hooks":{"onPreToolUse":[{"action":"deny","match":{)"
                            R"("tool":"shell","args":"\\bgit\\b.*\\bpush\\b"}}]})"));
  const protocol::HookCheck check{"1", "bash", Slice(std::string(args))};
  return [rig, check] { rig->send(check); };
}
Body ruleOnCommand() {
  return checked(R"({"command":"npm test -- --watch=false"})");
}
Body ruleOnNumbers() {
  return checked(R"({"bytes":64,"verbose":true,"offsets":[1,2,3]})");
}

// A further entry, where there is no room for it, with ten providers in turn.
Body callLog() {
  auto log = std::make_shared<gateway::CallLog>();
  auto number = std::make_shared<size_t>(0);
  static const std::array<std::string_view, 10> names{"bench0", "bench1", "bench2", "bench3",
                                                      "bench4", "bench5", "bench6", "bench7",
                                                      "bench8", "bench9"};
  const auto add = [log, number] {
    gateway::FinishedCall call;
    call.sessionId = kSessionId;
    call.provider = names[(*number)++ % names.size()];
    call.tool = "bench0_0";
    call.args = kArgs;
    log->add(call);
  };
  for (size_t i = 0; i < gateway::CallLog::kOfAll; ++i) add();
  return add;
}

// A call's deadline, among those of a thousand others.
Body timers() {
  auto queue = std::make_shared<TimerQueue<int>>();
  for (int i = 0; i < 1000; ++i) (void)queue->schedule(Time(Millis(300'000 + i)), i);
  return [queue] { (void)queue->cancel(queue->schedule(Time(Millis(300'500)), 0)); };
}

// The events of a node, with the effects that start then and the entries of its journal: in the
// middle of a plan, and where it has ended, at the beginning of the next plan.
Body transition(size_t nodes) {
  auto host = std::make_shared<PlanHost>(nodes);
  while (host->plan().count(plan::NodeStatus::Succeeded) < nodes / 4) (void)host->step();
  return [host, nodes] {
    if (!host->step()) *host = PlanHost(nodes);
    benchmark::DoNotOptimize(host->batch());
  };
}
Body transition100() {
  return transition(100);
}
Body transition10000() {
  return transition(10'000);
}

// JSON to a plan that is checked, with the order in which its nodes come.
Body planRead() {
  auto text = std::make_shared<std::string>(benchPlanText(1000));
  return [text] {
    plan::Problems problems;
    benchmark::DoNotOptimize(plan::Plan::make(*text, "{}", 0, problems));
  };
}

struct Case {
  const char* name;
  Body (*make)();
  int iterations;  // where instructions are counted; 0: they depend on the clock
};

constexpr Case kCases[] = {
    {"frame-parser", frameParser, 2000},
    {"unmask-64k", unmasking, 50},
    {"connection", connection, 1000},
    {"json-scan-64k", jsonScan, 30},
    {"json-decode-64k", jsonDecode, 30},
    {"provider-codec", providerCodec, 500},
    {"session-codec", sessionCodec, 500},
    {"routing", routing, 300},
    {"routing-records-on", recording, 300},
    {"routing-spans-on", tracing, 300},
    {"rule-on-command", ruleOnCommand, 300},
    {"rule-on-numbers", ruleOnNumbers, 300},
    {"record-body", recordBody, 500},
    {"call-log", callLog, 1000},
    {"filters", filters, 0},
    {"timer-queue", timers, 2000},
    {"plan-read", planRead, 10},
    {"transition-of-100", transition100, 200},
    {"transition-of-10000", transition10000, 200},
};

}  // namespace
}  // namespace tap::bench

// The counted part, and only that.
extern "C" [[gnu::noinline]] void measured(const tap::bench::Body& body, int iterations) {
  for (int i = 0; i < iterations; ++i) body();
}

int main(int argc, char** argv) {
  using tap::bench::kCases;
  const std::string_view mode = argc > 1 ? argv[1] : "";
  for (const auto& one : kCases) {
    if (mode == "--list" && one.iterations > 0) std::printf("%s %d\n", one.name, one.iterations);
    if (mode != "--count" || argc < 3 || std::string_view(argv[2]) != one.name) continue;
    const tap::bench::Body body = one.make();
    for (int i = 0; i < 10; ++i) body();  // memory that is kept is there
    measured(body, one.iterations);
    return 0;
  }
  if (mode == "--list") return 0;
  if (mode == "--count") return 1;
  for (const auto& one : kCases) {
    benchmark::RegisterBenchmark(one.name, [make = one.make](benchmark::State& state) {
      const tap::bench::Body body = make();
      for (auto _ : state) body();
    });
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
