// The JavaScript class `Plans`: the engine of all plans and its journal. JavaScript gets effects
// after their entries are in the journal. See js/lib/addon.d.ts for its types.
#pragma once

#include <napi.h>
#include <uv.h>

#include <list>
#include <memory>
#include <string>

#include "addon/callbacks.h"
#include "plan/engine.h"
#include "records/plan_journal.h"

namespace tap::addon {

class PlansClass final : public Napi::ObjectWrap<PlansClass> {
 public:
  static Napi::Function define(Napi::Env env);

  explicit PlansClass(const Napi::CallbackInfo& info);
  ~PlansClass() override;

 private:
  Napi::Value open(const Napi::CallbackInfo& info);
  Napi::Value input(const Napi::CallbackInfo& info);
  Napi::Value view(const Napi::CallbackInfo& info);
  Napi::Value load(const Napi::CallbackInfo& info);
  Napi::Value unload(const Napi::CallbackInfo& info);
  Napi::Value entries(const Napi::CallbackInfo& info);
  Napi::Value describe(const Napi::CallbackInfo& info);
  Napi::Value remove(const Napi::CallbackInfo& info);
  Napi::Value state(const Napi::CallbackInfo& info);
  Napi::Value close(const Napi::CallbackInfo& info);

  // A promise that the journal settles, or close().
  struct Pending;
  using PendingList = std::list<Pending>;

  // Runs the effects and resolves the promise once the entries are written.
  void write(plan::Batch batch, PendingList::iterator pending);
  // Makes a promise. The loop runs while a promise is pending.
  [[nodiscard]] PendingList::iterator await(Napi::Env env, std::string whenClosed = {});
  void resolve(PendingList::iterator pending, Napi::Value value);
  void deliver();
  void end();

  Liveness liveness_;
  bool held_ = false;
  PendingList pending_;
  std::unique_ptr<Callback> onEffect_;
  std::unique_ptr<Callback> onTrouble_;
  uv_async_t* wake_ = nullptr;  // closed and freed by the loop
  std::unique_ptr<plan::Engine> engine_;
  std::unique_ptr<records::PlanJournal> journal_;
};

}  // namespace tap::addon
