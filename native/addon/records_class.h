// The JavaScript class `Records`: the record store of a file. See js/lib/addon.d.ts for its types.
#pragma once

#include <napi.h>
#include <uv.h>

#include <memory>
#include <string>

#include "addon/callbacks.h"
#include "records/store.h"

namespace tap::addon {

class RecordsClass final : public Napi::ObjectWrap<RecordsClass> {
 public:
  static Napi::Function define(Napi::Env env);

  explicit RecordsClass(const Napi::CallbackInfo& info);
  ~RecordsClass() override;

  // The store of a JavaScript value; null if the value has a different type.
  [[nodiscard]] static RecordsClass* from(const Napi::Value& value);

  // Null after close().
  [[nodiscard]] protocol::RecordSink* sink();

 private:
  void append(const Napi::CallbackInfo& info);
  Napi::Value commit(const Napi::CallbackInfo& info);
  Napi::Value query(const Napi::CallbackInfo& info);
  Napi::Value sql(const Napi::CallbackInfo& info);
  Napi::Value stats(const Napi::CallbackInfo& info);
  Napi::Value flush(const Napi::CallbackInfo& info);
  Napi::Value close(const Napi::CallbackInfo& info);
  void keepOnlyNotify(const Napi::CallbackInfo& info);

  Napi::Value runQuery(Napi::Env env, bool isSql, std::string text);
  // Keeps the loop running until a pending operation has finished.
  void await();
  void deliver();
  // Ends the threads after their current work.
  void end();

  Liveness liveness_;
  bool held_ = false;
  std::unique_ptr<Callback> onDiagnostic_;
  uv_async_t* wake_ = nullptr;  // closed and freed by the loop
  std::unique_ptr<records::Store> store_;
};

}  // namespace tap::addon
