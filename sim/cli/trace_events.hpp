// Events of a Chrome/Perfetto trace, written one a line as they come.
//   [Trace Event Format,
//   https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU]
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

namespace tsim::cli {

/// Nanoseconds from the start of the iteration: whole, so that slices that touch never overlap
/// through rounding.
using Nanoseconds = std::int64_t;
Nanoseconds to_nanoseconds(double seconds);

/// `text` as a JSON string, quotes included.
std::string json_text(std::string_view text);

/// A track: the viewer's process (a rank) and thread (a stream of it).
struct Track {
  std::int32_t process = 0;
  std::int32_t thread = 0;
};

/// A span of time on a track.
struct Slice {
  Track track;
  Nanoseconds start = 0;
  Nanoseconds end = 0;
  std::string_view name;  // a JSON string
  std::string_view category;
};

/// A JSON object written key by key. Keys and `add_raw` values are trusted to be valid JSON text.
class JsonObject {
 public:
  void add(std::string_view key, std::int64_t value);
  void add_raw(std::string_view key, std::string_view json);
  bool empty() const { return text_.empty(); }
  std::string text() const { return "{" + text_ + "}"; }

 private:
  void add_key(std::string_view key);
  std::string text_;
};

/// Writes a whole trace: the head when made, the tail by finish(). `name` arguments are JSON
/// strings (json_text), so that a name used a million times is escaped once.
class EventStream {
 public:
  EventStream(std::ostream& out, const JsonObject& other_data);
  void process_name(std::int32_t process, std::string_view name, std::int32_t position);
  void thread_name(Track track, std::string_view name);
  /// A complete event ("X").
  void slice(const Slice& slice, const JsonObject& arguments);
  /// An arrow leaves the slice that is open on `track` ...
  void flow_start(Track track, Nanoseconds at, std::uint32_t id, std::string_view name);
  /// ... and enters the one that is open on this one.
  void flow_end(Track track, Nanoseconds at, std::uint32_t id, std::string_view name);
  void counter(std::int32_t process, Nanoseconds at, std::string_view name,
               const JsonObject& values);
  void finish();

 private:
  void open(char phase, std::string_view name, Track track);
  void close();
  void add_time(std::string_view key, Nanoseconds time);

  std::ostream& out_;
  std::string buffer_;
  bool first_ = true;
};

}  // namespace tsim::cli
