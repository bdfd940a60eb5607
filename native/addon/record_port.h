// Passes a gateway's records to the JavaScript object that stores them.
#pragma once

#include <napi.h>

#include <utility>

#include "addon/callbacks.h"
#include "addon/records_class.h"
#include "protocol/records.h"

namespace tap::addon {

// Keeps the object alive. While the environment ends, the object may be gone, and records are
// dropped.
class RecordPort final : public protocol::RecordSink {
 public:
  // `object` is the JavaScript value of `records`.
  RecordPort(const Napi::Object& object, RecordsClass& records)
      : liveness_(object.Env()), object_(Napi::Persistent(object)), records_(records) {}

  void append(const protocol::Row& row) override {
    if (protocol::RecordSink* sink = open()) sink->append(row);
  }
  void commit(const protocol::Row& row, uint64_t number) override {
    if (protocol::RecordSink* sink = open()) return sink->commit(row, number);
    if (listener_) listener_(number, false);
  }
  void onCommitted(Listener listener) override {
    listener_ = std::move(listener);
    if (protocol::RecordSink* sink = open()) sink->onCommitted(listener_);
  }

 private:
  [[nodiscard]] protocol::RecordSink* open() {
    return liveness_.alive() ? records_.sink() : nullptr;
  }

  Liveness liveness_;
  Napi::ObjectReference object_;
  RecordsClass& records_;
  Listener listener_;
};

}  // namespace tap::addon
