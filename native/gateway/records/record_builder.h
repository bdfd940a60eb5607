// A row of the record store that is being written.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/hex_digits.h"
#include "base/json_writer.h"
#include "base/utf8.h"
#include "gateway/core/turn.h"
#include "gateway/records/own_names.h"

namespace tap::gateway {

// Texts of others in a body, in bytes: a body has about 1 KB, and the store cuts payloads itself.
inline constexpr size_t kShownName = 128;
inline constexpr size_t kShownText = 384;

inline std::string_view cutName(std::string_view text) {
  return utf8::truncate(text, kShownName);
}
inline std::string_view cutText(std::string_view text) {
  return utf8::truncate(text, kShownText);
}

template <size_t N>
std::array<uint8_t, N> toBytes(std::array<uint64_t, N / 8> numbers) {
  std::array<uint8_t, N> bytes{};
  for (size_t i = 0; i < numbers.size(); ++i) {
    hexdigits::store(reinterpret_cast<char*>(bytes.data()) + 8 * i, numbers[i]);
  }
  return bytes;
}

// One row: its body is open until finish().
class RecordBuilder {
 public:
  // The texts must live until finish(). `provider`: the name of the one whose row it is; or empty.
  RecordBuilder(const Turn& turn, protocol::Collection collection, std::string_view session,
                std::string_view provider)
      : turn_(turn),
        box_(turn.state.recorder.take()),
        writer_(box_->text),
        session_(session),
        source_(toSourceName(cutName(provider))) {
    box_->collection = collection;
    box_->at = turn.now.unixMillis;
    writer_.beginObject();
  }

  [[nodiscard]] json::Writer& body() { return writer_; }
  void field(json::Name key, std::string_view text) {
    if (!text.empty()) writer_.field(key, cutText(text));
  }
  void payload(size_t at, std::string_view field, Slice text) {
    if (!text.empty()) box_->payloads[at] = {field, std::move(text)};
  }

  // The row's span lasted until now. Its name is `verb` and `object`.
  protocol::SpanInfo& span(const protocol::TraceContext& own, uint64_t parent, Millis took,
                           std::string_view verb, std::string_view object) {
    verb_ = verb;
    object_ = cutName(object);
    protocol::SpanInfo& info = box_->span.emplace();
    info.traceId = toBytes<16>({own.traceHigh, own.traceLow});
    info.spanId = toBytes<8>({own.span});
    info.parentSpanId = toBytes<8>({parent});
    info.startUs = (turn_.now.unixMillis - took.count()) * 1000;
    info.durationUs = took.count() * 1000;
    return info;
  }
  // The trace of a row without a span.
  void trace(const protocol::TraceContext& trace) { trace_ = trace; }

  // The texts of the row stand behind its body from now on.
  [[nodiscard]] RowPtr finish() {
    writer_.endObject();
    std::string& text = box_->text;
    const size_t body = text.size();
    text.append(session_).append(source_.runtime).append(source_.name);
    const size_t name = text.size();
    text.append(verb_).append(object_);
    const size_t trace = text.size();
    if (trace_.isSet()) {
      const protocol::TraceContext::Text own = trace_.chars();
      text.append(own.data() + 3, 32);
    }
    const std::string_view all = text;
    box_->body = all.substr(0, body);
    box_->session = all.substr(body, session_.size());
    const size_t source = body + session_.size();
    box_->source = all.substr(source, name - source);
    box_->trace = all.substr(trace);
    if (box_->span) box_->span->name = all.substr(name, trace - name);
    return std::move(box_);
  }
  void write() { turn_.effect(WriteRecord{finish()}); }

 private:
  const Turn& turn_;
  std::shared_ptr<RowBox> box_;
  json::Writer writer_;
  std::string_view session_;
  SourceName source_;
  std::string_view verb_;
  std::string_view object_;
  protocol::TraceContext trace_;
};

}  // namespace tap::gateway
