#include "addon/records_class.h"

#include <chrono>
#include <optional>
#include <utility>

#include "addon/arguments.h"
#include "addon/environment.h"
#include "addon/strings.h"
#include "base/json.h"
#include "base/utf8.h"
#include "protocol/records.h"

namespace tap::addon {

namespace {

constexpr const char* kAppend = "append(collection, record)";

[[nodiscard]] int64_t unixMillis() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

// Distinguishes instances of this class from other objects.
constexpr napi_type_tag kRecordsTag = {0x6b1f0d4c8a2e4c57, 0x9d3e7f0a51c24b86};

// The texts of a row from JavaScript.
struct InputRow {
  std::string session;
  std::string source;
  std::string trace;
  std::string body;
  protocol::Row row;
};

// Empty if a value is wrong; an exception is then pending.
[[nodiscard]] std::unique_ptr<InputRow> readInputRow(const Napi::CallbackInfo& info,
                                                     const char* signature) {
  const Napi::Env env = info.Env();
  const std::optional<std::string> name = Arguments(info, signature).text(0);
  if (!name) return nullptr;
  const std::optional<protocol::Collection> collection = protocol::findCollection(*name);
  if (!collection || !info[1].IsObject()) {
    throwType(env, std::string(signature) + ": expected " +
                       (collection ? "an object as argument 2" : "the name of a collection"));
    return nullptr;
  }
  const Options record(info[1].As<Napi::Object>(), signature);
  auto given = std::make_unique<InputRow>();
  given->session = record.text("session");
  given->source = record.text("source");
  given->trace = record.text("trace");
  given->body = record.text("body");
  given->row.at = record.whole("at");
  if (record.failed()) return nullptr;
  json::Scanner scanner;
  const auto root = scanner.scan(given->body);
  if (!root || root.value().kind != json::Kind::Object) {
    throwType(env, std::string(signature) + ": expected JSON text of an object as body");
    return nullptr;
  }
  protocol::Row& row = given->row;
  row.collection = *collection;
  if (row.at == 0) row.at = unixMillis();
  row.session = given->session;
  row.source = given->source;
  row.trace = given->trace;
  row.body = given->body;
  return given;
}

[[nodiscard]] std::string_view reasonWord(records::RollbackReason reason) {
  switch (reason) {
    case records::RollbackReason::None:
      return "";
    case records::RollbackReason::OldSqlite:
      return "sqlite";
    case records::RollbackReason::FileSystem:
      return "file-system";
    case records::RollbackReason::Refused:
      return "refused";
  }
  return "";
}

[[nodiscard]] Napi::Number number(Napi::Env env, int64_t value) {
  return Napi::Number::New(env, static_cast<double>(value));
}

}  // namespace

Napi::Function RecordsClass::define(Napi::Env env) {
  return DefineClass(env, "Records",
                     {
                         InstanceMethod<&RecordsClass::append>("append"),
                         InstanceMethod<&RecordsClass::commit>("commit"),
                         InstanceMethod<&RecordsClass::query>("query"),
                         InstanceMethod<&RecordsClass::sql>("sql"),
                         InstanceMethod<&RecordsClass::stats>("stats"),
                         InstanceMethod<&RecordsClass::flush>("flush"),
                         InstanceMethod<&RecordsClass::close>("close"),
                         InstanceMethod<&RecordsClass::keepOnlyNotify>("keepOnlyNotify"),
                     });
}

RecordsClass::RecordsClass(const Napi::CallbackInfo& info)
    : Napi::ObjectWrap<RecordsClass>(info), liveness_(info.Env()) {
  const Napi::Env env = info.Env();
  if (!info[0].IsObject()) {
    throwType(env, "new Records(options): expected an object");
    return;
  }
  const auto given = info[0].As<Napi::Object>();
  const Options options(given, "new Records(options)");
  records::StoreOptions store;
  store.writer.file = options.text("file");
  if (const int64_t most = options.whole("maxBytes"); most > 0)
    store.writer.retention.maxBytes = most;
  if (const int64_t most = options.whole("maxAgeMs"); most > 0)
    store.writer.retention.maxAgeMs = most;
  options.functions({"onDiagnostic"});
  if (options.failed()) return;
  if (store.writer.file.empty()) {
    throwType(env, "new Records(options): expected the path of a file as file");
    return;
  }
  onDiagnostic_ = std::make_unique<Callback>(given, "onDiagnostic");
  wake_ = new uv_async_t;
  wake_->data = this;
  uv_async_init(eventLoop(env), wake_,
                [](uv_async_t* wake) { static_cast<RecordsClass*>(wake->data)->deliver(); });
  uv_unref(reinterpret_cast<uv_handle_t*>(wake_));
  store.writer.clock = unixMillis;
  store.wake = [wake = wake_] { uv_async_send(wake); };
  store.onDiagnostic = [this](const records::Diagnostic& diagnostic) {
    const Napi::Env here = onDiagnostic_->env();
    (*onDiagnostic_)(
        {Napi::String::New(here, diagnostic.code), Napi::String::New(here, diagnostic.text)});
  };
  store_ = std::make_unique<records::Store>(std::move(store));
  napi_type_tag_object(env, info.This(), &kRecordsTag);
}

RecordsClass::~RecordsClass() {
  end();
}

void RecordsClass::end() {
  store_.reset();
  if (wake_ == nullptr) return;
  auto* const wake = std::exchange(wake_, nullptr);
  wake->data = nullptr;
  uv_close(reinterpret_cast<uv_handle_t*>(wake),
           [](uv_handle_t* handle) { delete reinterpret_cast<uv_async_t*>(handle); });
}

RecordsClass* RecordsClass::from(const Napi::Value& value) {
  if (!value.IsObject()) return nullptr;
  bool isRecords = false;
  napi_check_object_type_tag(value.Env(), value, &kRecordsTag, &isRecords);
  return isRecords ? Unwrap(value.As<Napi::Object>()) : nullptr;
}

protocol::RecordSink* RecordsClass::sink() {
  return store_.get();
}

void RecordsClass::await() {
  if (wake_ == nullptr) return;
  uv_ref(reinterpret_cast<uv_handle_t*>(wake_));
  if (!std::exchange(held_, true)) Ref();
}

void RecordsClass::deliver() {
  if (!store_ || !liveness_.alive()) return;
  const Napi::Env env = onDiagnostic_->env();
  const Napi::HandleScope scope(env);
  const Napi::AsyncContext context(env, "Records");
  const Napi::CallbackScope callbacks(env, context);
  const bool awaited = store_->deliver();
  if (awaited) return;
  uv_unref(reinterpret_cast<uv_handle_t*>(wake_));
  if (std::exchange(held_, false)) Unref();
}

void RecordsClass::append(const Napi::CallbackInfo& info) {
  const std::unique_ptr<InputRow> given = readInputRow(info, kAppend);
  if (given && store_) store_->append(given->row);
}

Napi::Value RecordsClass::commit(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const std::unique_ptr<InputRow> given = readInputRow(info, "commit(collection, record)");
  if (!given) return env.Undefined();
  const auto deferred = std::make_shared<Napi::Promise::Deferred>(env);
  await();
  store_->commit(given->row, [env, deferred](bool durable) {
    deferred->Resolve(Napi::Boolean::New(env, durable));
  });
  return deferred->Promise();
}

Napi::Value RecordsClass::runQuery(Napi::Env env, bool isSql, std::string text) {
  const auto deferred = std::make_shared<Napi::Promise::Deferred>(env);
  const auto answered = [env, deferred](const records::Answer& answer) {
    if (answer.good) {
      deferred->Resolve(utf8String(env, Slice::borrow(answer.text)));
    } else {
      deferred->Reject(Napi::Error::New(env, answer.text).Value());
    }
  };
  await();
  if (isSql) {
    store_->sql(std::move(text), answered);
  } else {
    store_->query(std::move(text), answered);
  }
  return deferred->Promise();
}

Napi::Value RecordsClass::query(const Napi::CallbackInfo& info) {
  std::optional<std::string> json = Arguments(info, "query(json)").text(0);
  if (!json) return info.Env().Undefined();
  return runQuery(info.Env(), false, std::move(*json));
}

Napi::Value RecordsClass::sql(const Napi::CallbackInfo& info) {
  std::optional<std::string> statement = Arguments(info, "sql(statement)").text(0);
  if (!statement) return info.Env().Undefined();
  return runQuery(info.Env(), true, std::move(*statement));
}

Napi::Value RecordsClass::stats(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const records::FileState state = store_->state();
  Napi::Object dropped = Napi::Object::New(env);
  for (const protocol::CollectionRow& row : protocol::kCollectionTable) {
    const uint64_t count = state.dropped[static_cast<size_t>(row.id)];
    if (count > 0) dropped.Set(std::string(row.name), number(env, static_cast<int64_t>(count)));
  }
  Napi::Array diagnostics = Napi::Array::New(env);
  for (const records::Diagnostic& diagnostic : state.diagnostics) {
    Napi::Object one = Napi::Object::New(env);
    one.Set("at", number(env, diagnostic.at));
    one.Set("code", diagnostic.code);
    one.Set("text", diagnostic.text);
    diagnostics.Set(diagnostics.Length(), one);
  }
  Napi::Object stats = Napi::Object::New(env);
  const std::string_view sqlite = records::sqliteVersion();
  const bool wal = state.journal == records::Journal::WriteAheadLog;
  stats.Set("open", state.open);
  stats.Set("rows", number(env, state.rows));
  stats.Set("bytes", number(env, state.fileBytes));
  stats.Set("written", number(env, static_cast<int64_t>(state.written)));
  stats.Set("dropped", dropped);
  stats.Set("journal", wal ? "wal" : "rollback");
  stats.Set("rollbackReason", std::string(reasonWord(state.rollbackReason)));
  stats.Set("sqlite", std::string(sqlite));
  stats.Set("diagnostics", diagnostics);
  return stats;
}

Napi::Value RecordsClass::flush(const Napi::CallbackInfo& info) {
  const std::optional<int64_t> most = Arguments(info, "flush(ms)").whole(0);
  if (!most) return info.Env().Undefined();
  return Napi::Boolean::New(info.Env(), store_->flush(std::chrono::milliseconds(*most)));
}

void RecordsClass::keepOnlyNotify(const Napi::CallbackInfo& info) {
  const std::optional<bool> only = Arguments(info, "keepOnlyNotify(only)").flag(0);
  if (only) store_->keepOnlyNotify(*only);
}

Napi::Value RecordsClass::close(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const auto deferred = std::make_shared<Napi::Promise::Deferred>(env);
  await();
  store_->close([env, deferred] { deferred->Resolve(env.Undefined()); });
  return deferred->Promise();
}

}  // namespace tap::addon
