// The JavaScript class `LineSource`: the lines of an emitter, and its program. See
// js/lib/addon.d.ts for its types.
#pragma once

#include <napi.h>
#include <uv.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "addon/callbacks.h"
#include "lines/source.h"
#include "uv/deadline.h"
#include "uv/process.h"

namespace tap::addon {

class LineSourceClass final : public Napi::ObjectWrap<LineSourceClass>, private uv::ProcessHandler {
 public:
  static Napi::Function define(Napi::Env env);

  explicit LineSourceClass(const Napi::CallbackInfo& info);

 private:
  // Kept lines reach JavaScript in batches, as text for the record store.
  static constexpr Millis kRowsTime{250};

  void setRules(const Napi::CallbackInfo& info);
  void setMatcher(const Napi::CallbackInfo& info);
  void setDelivery(const Napi::CallbackInfo& info);
  void expectEvery(const Napi::CallbackInfo& info);
  void noteActivity(const Napi::CallbackInfo& info);
  void setRun(const Napi::CallbackInfo& info);
  Napi::Value start(const Napi::CallbackInfo& info);
  void post(const Napi::CallbackInfo& info);
  void finish(const Napi::CallbackInfo& info);
  void note(const Napi::CallbackInfo& info);
  Napi::Value history(const Napi::CallbackInfo& info);
  Napi::Value test(const Napi::CallbackInfo& info);
  Napi::Value counters(const Napi::CallbackInfo& info);

  void onOutput(std::string_view bytes, bool isStderr) override;
  void onOutputEnd() override;
  void onExit(int64_t code, int signal) override;

  // A run begins: this object lives until it ends.
  void beginRun();
  void due();
  void deliver();
  void giveRows();
  void call(Callback& callback, std::initializer_list<std::string_view> texts);

  Liveness liveness_;
  uv_loop_t* loop_;
  uv::Clock clock_;
  uv::Deadline deadline_;
  std::unique_ptr<Callback> onEffects_;
  std::unique_ptr<Callback> onRows_;
  std::unique_ptr<Callback> onExit_;
  std::unique_ptr<Callback> onOutputEnd_;
  std::unique_ptr<lines::LineSource> source_;
  lines::SourceEffects effects_;
  std::string rows_;  // JSON objects with commas
  std::optional<Time> rowsDue_;
  bool isRunning_ = false;
  std::unique_ptr<uv::Process> process_;
};

}  // namespace tap::addon
