// SPDX-License-Identifier: Apache-2.0
#include "net/frame_publisher.h"

#include <algorithm>
#include <utility>

namespace plumb {
namespace {

constexpr std::size_t kHelloHead = 10;  // number and length of the key

template <class Integer>
void append_big_endian(Integer value, std::string* out) {
  for (int shift = 8 * static_cast<int>(sizeof(Integer)) - 8; shift >= 0; shift -= 8) {
    out->push_back(static_cast<char>(value >> shift & 0xFF));
  }
}

std::uint64_t read_big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char byte : bytes) {
    value = value << 8 | static_cast<unsigned char>(byte);
  }
  return value;
}

void append_part(std::string_view part, std::string* out) {
  append_big_endian(static_cast<std::uint32_t>(part.size()), out);
  *out += part;
}

}  // namespace

Result<std::optional<FrameHello>> parse_frame_hello(std::string_view bytes) {
  if (bytes.size() < kHelloHead) {
    return std::optional<FrameHello>();
  }
  const std::size_t key_length = read_big_endian(bytes.substr(8, 2));
  if (key_length > kMaxFrameKey) {
    return Status{Code::kInvalidArgument, "hello: a key of " + std::to_string(key_length) +
                                              " bytes, expected at most " +
                                              std::to_string(kMaxFrameKey)};
  }
  const std::string_view key = bytes.substr(kHelloHead);
  if (key.size() > key_length) {
    return Status{Code::kInvalidArgument, "hello: bytes after the key"};
  }
  if (key.size() < key_length) {
    return std::optional<FrameHello>();
  }
  return std::optional(FrameHello{read_big_endian(bytes.substr(0, 8)), std::string(key)});
}

std::string encode_frame_hello(const FrameHello& hello) {
  std::string out;
  append_big_endian(hello.from, &out);
  append_big_endian(static_cast<std::uint16_t>(hello.key.size()), &out);
  return out + hello.key;
}

void append_frame(std::string_view topic, const Frame& frame, std::string* out) {
  append_part(topic, out);
  std::string number;
  append_big_endian(frame.seq, &number);
  append_part(number, out);
  append_part(frame.payload, out);
}

/// One connection. Ownership: its publisher and its pending callbacks. Thread: the loop.
class FramePublisher::Subscriber final : public std::enable_shared_from_this<Subscriber> {
 public:
  Subscriber(FramePublisher& publisher, std::unique_ptr<ByteStream> stream)
      : publisher_(&publisher), stream_(std::move(stream)) {}

  void start() {
    hello_deadline_ = publisher_->loop_.now() + publisher_->options_.hello_timeout;
    read();
  }

  /// Ends the connection; the publisher has let go of it.
  void close() {
    publisher_ = nullptr;
    stream_->close();
  }

  bool is_admitted() const { return is_admitted_; }

  /// Sends what there is, unless it still sends. Ends a connection without a hello in time.
  void pump() {
    if (!is_admitted_) {
      if (publisher_->loop_.now() >= hello_deadline_) {
        end();
      }
      return;
    }
    if (is_writing_) {
      return;
    }
    out_.clear();
    const FramePage page = publisher_->source_.read(next_, publisher_->options_.page_bytes);
    next_ = page.next_seq;
    for (const Frame& frame : page.frames) {
      append_frame(publisher_->options_.topic, frame, &out_);
    }
    if (is_replaying_ && next_ >= replay_end_) {
      is_replaying_ = false;
      append_frame(publisher_->options_.topic, {kFrameNow, ""}, &out_);
    }
    if (!out_.empty()) {
      write();
    }
  }

 private:
  void end() { publisher_->forget(this); }

  void read() {
    stream_->read([self = shared_from_this()](Result<std::string_view> bytes) {
      if (self->publisher_ != nullptr) {
        self->on_read(std::move(bytes));
      }
    });
  }

  // After its hello a subscriber has nothing to say: bytes and their end both end it.
  void on_read(Result<std::string_view> bytes) {
    if (!bytes.ok() || bytes.value().empty() || is_admitted_) {
      end();
      return;
    }
    hello_ += bytes.value();
    const Result<std::optional<FrameHello>> hello = parse_frame_hello(hello_);
    if (!hello.ok() || (hello.value() && !publisher_->source_.admits(hello.value()->key))) {
      end();
      return;
    }
    if (hello.value()) {
      is_admitted_ = true;
      hello_.clear();
      replay_end_ = publisher_->source_.next_seq();
      next_ = hello.value()->from == kFrameNow ? replay_end_ : hello.value()->from;
    }
    read();
    pump();
  }

  void write() {
    is_writing_ = true;
    const std::string_view part = out_;
    const std::optional<Status> outcome =
        stream_->write({&part, 1}, [self = shared_from_this()](const Status& status) {
          if (self->publisher_ != nullptr) {
            self->on_written(status);
          }
        });
    if (outcome) {
      on_written(*outcome);
    }
  }

  void on_written(const Status& status) {
    is_writing_ = false;
    if (!status.ok()) {
      end();
    }
  }

  FramePublisher* publisher_;  // null once closed
  std::unique_ptr<ByteStream> stream_;
  Clock::TimePoint hello_deadline_;
  std::string hello_;
  std::string out_;
  std::uint64_t next_ = 0;
  std::uint64_t replay_end_ = 0;
  bool is_admitted_ = false;
  bool is_replaying_ = true;
  bool is_writing_ = false;
};

FramePublisher::FramePublisher(IoContext& loop, FrameSource& source, FramePublisherOptions options)
    : loop_(loop), source_(source), options_(std::move(options)) {}

Result<std::unique_ptr<FramePublisher>> FramePublisher::create(IoContext& loop,
                                                               Transport& transport,
                                                               FrameSource& source,
                                                               FramePublisherOptions options) {
  std::unique_ptr<FramePublisher> publisher(new FramePublisher(loop, source, std::move(options)));
  PLUMB_ASSIGN(publisher->listener_, transport.listen(loop, publisher->options_.listen));
  publisher->listener_->start(
      [&loop]() -> IoContext& { return loop; },
      [self = publisher.get()](IoContext&, std::unique_ptr<ByteStream> stream) {
        self->on_accept(std::move(stream));
      });
  return publisher;
}

FramePublisher::~FramePublisher() {
  if (listener_ != nullptr) {
    listener_->close();
  }
  loop_.cancel(timer_);
  for (const std::shared_ptr<Subscriber>& subscriber : subscribers_) {
    subscriber->close();
  }
}

// Whoever has shown no key yet gives way to a newcomer, the oldest first, so that the silent cannot
// keep the others out.
void FramePublisher::on_accept(std::unique_ptr<ByteStream> stream) {
  if (std::ssize(subscribers_) >= options_.max_subscribers) {
    const auto silent =
        std::find_if(subscribers_.begin(), subscribers_.end(),
                     [](const auto& subscriber) { return !subscriber->is_admitted(); });
    if (silent == subscribers_.end()) {
      stream->close();
      return;
    }
    forget(silent->get());
  }
  subscribers_.push_back(std::make_shared<Subscriber>(*this, std::move(stream)));
  subscribers_.back()->start();
  look_later();
}

void FramePublisher::look_later() {
  if (!subscribers_.empty() && !has_timer_) {
    has_timer_ = true;
    timer_ = loop_.run_after(options_.poll_interval, [this] { tick(); });
  }
}

void FramePublisher::forget(const Subscriber* subscriber) {
  const auto found =
      std::find_if(subscribers_.begin(), subscribers_.end(),
                   [subscriber](const auto& held) { return held.get() == subscriber; });
  const std::shared_ptr<Subscriber> last = std::move(*found);
  subscribers_.erase(found);
  last->close();
}

void FramePublisher::tick() {
  has_timer_ = false;
  const auto subscribers = subscribers_;  // pumping may forget some
  for (const std::shared_ptr<Subscriber>& subscriber : subscribers) {
    subscriber->pump();
  }
  look_later();
}

}  // namespace plumb
