#include "sim/cli/trace_events.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <ostream>

#include <nlohmann/json.hpp>

namespace tsim::cli {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 16U;

void append_number(std::string& text, std::int64_t number) {
  std::array<char, 20> digits{};
  const auto [end, failure] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  text.append(digits.data(), end);
}

}  // namespace

Nanoseconds to_nanoseconds(double seconds) { return std::llround(seconds * 1e9); }

std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void JsonObject::add_key(std::string_view key) {
  if (!text_.empty()) { text_ += ','; }
  text_ += '"';
  text_ += key;
  text_ += "\":";
}

void JsonObject::add(std::string_view key, std::int64_t value) {
  add_key(key);
  append_number(text_, value);
}

void JsonObject::add_raw(std::string_view key, std::string_view json) {
  add_key(key);
  text_ += json;
}

EventStream::EventStream(std::ostream& out, const JsonObject& other_data) : out_(out) {
  buffer_ = R"({"displayTimeUnit":"ms","otherData":)" + other_data.text() + R"(,"traceEvents":[)";
}

void EventStream::open(char phase, std::string_view name, Track track) {
  buffer_ += first_ ? "\n" : ",\n";
  first_ = false;
  buffer_ += R"({"ph":")";
  buffer_ += phase;
  buffer_ += R"(","name":)";
  buffer_ += name;
  buffer_ += R"(,"pid":)";
  append_number(buffer_, track.process);
  buffer_ += R"(,"tid":)";
  append_number(buffer_, track.thread);
}

void EventStream::close() {
  buffer_ += '}';
  if (buffer_.size() >= kBufferBytes) {
    out_ << buffer_;
    buffer_.clear();
  }
}

/// Microseconds with three decimals, as viewers want them.
void EventStream::add_time(std::string_view key, Nanoseconds time) {
  buffer_ += R"(,")";
  buffer_ += key;
  buffer_ += R"(":)";
  append_number(buffer_, time / 1000);
  const std::int64_t rest = time % 1000;
  buffer_ += '.';
  for (const std::int64_t digit : {rest / 100, rest / 10 % 10, rest % 10}) {
    buffer_ += static_cast<char>('0' + digit);
  }
}

void EventStream::process_name(std::int32_t process, std::string_view name, std::int32_t position) {
  open('M', R"("process_name")", {process, 0});
  buffer_ += R"(,"args":{"name":)" + std::string(name) + "}";
  close();
  open('M', R"("process_sort_index")", {process, 0});
  buffer_ += R"(,"args":{"sort_index":)" + std::to_string(position) + "}";
  close();
}

void EventStream::thread_name(Track track, std::string_view name) {
  open('M', R"("thread_name")", track);
  buffer_ += R"(,"args":{"name":)" + std::string(name) + "}";
  close();
  open('M', R"("thread_sort_index")", track);
  buffer_ += R"(,"args":{"sort_index":)" + std::to_string(track.thread) + "}";
  close();
}

void EventStream::slice(const Slice& slice, const JsonObject& arguments) {
  open('X', slice.name, slice.track);
  add_time("ts", slice.start);
  add_time("dur", slice.end - slice.start);
  buffer_ += R"(,"cat":")";
  buffer_ += slice.category;
  buffer_ += R"(","args":)";
  buffer_ += arguments.text();
  close();
}

void EventStream::flow_start(Track track, Nanoseconds at, std::uint32_t id, std::string_view name) {
  open('s', name, track);
  add_time("ts", at);
  buffer_ += R"(,"cat":"message","id":)";
  append_number(buffer_, id);
  close();
}

void EventStream::flow_end(Track track, Nanoseconds at, std::uint32_t id, std::string_view name) {
  open('f', name, track);
  add_time("ts", at);
  buffer_ += R"(,"cat":"message","bp":"e","id":)";
  append_number(buffer_, id);
  close();
}

void EventStream::counter(std::int32_t process, Nanoseconds at, std::string_view name,
                          const JsonObject& values) {
  open('C', name, {process, 0});
  add_time("ts", at);
  buffer_ += R"(,"args":)";
  buffer_ += values.text();
  close();
}

void EventStream::finish() {
  buffer_ += "\n]}\n";
  out_ << buffer_;
  buffer_.clear();
}

}  // namespace tsim::cli
