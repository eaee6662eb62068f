// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/status.h"
#include "net/io_context.h"
#include "net/unique_function.h"

namespace plumb {

/// A connected byte stream bound to one loop.
///
/// Ownership: a pending callback keeps the stream alive (it owns it, or owns what owns it); no call
/// may be made once close() was called, except close().
/// Thread: the loop's; callbacks run there, never inside the call that was given them.
class ByteStream {
 public:
  /// The bytes that arrived, valid during the call; empty = the peer will send no more.
  using ReadCallback = UniqueFunction<void(Result<std::string_view>)>;
  using WriteCallback = UniqueFunction<void(Status)>;

  virtual ~ByteStream() = default;

  /// Waits for bytes. Requires no other read pending.
  virtual void read(ReadCallback done) = 0;

  /// Sends all parts in order. If they could be handed over at once, returns the outcome and drops
  /// the callback; else calls it later, until when the bytes must stay.
  /// Requires no other write pending; at most 8 parts.
  virtual std::optional<Status> write(std::span<const std::string_view> parts,
                                      WriteCallback done) = 0;

  /// Calls lost when the peer has reset the connection, or on close(); for a stream that is not
  /// read.
  virtual void wait_reset(UniqueFunction<void()> lost) = 0;

  /// Tells the peer that no more bytes follow; self keeps the stream alive meanwhile.
  virtual void shutdown_write(UniqueFunction<void()> done) = 0;

  /// Ends the stream; pending callbacks get kCancelled.
  virtual void close() = 0;

  /// As close(), but the peer sees a reset instead of an orderly end.
  virtual void reset() = 0;

  /// False if an idle stream, on which nothing may arrive, was ended by its peer.
  virtual bool is_alive() = 0;

  /// Address of the peer without its port: "127.0.0.1", "::1".
  virtual std::string peer_address() const = 0;
};

/// PEM files of a TLS server.
struct TlsServerOptions {
  std::string cert_file;  ///< certificate chain, leaf first
  std::string key_file;
};

/// How a TLS client checks its server.
struct TlsClientOptions {
  bool verify = true;   ///< check the chain and the host name
  std::string ca_file;  ///< PEM; empty = the system's store
};

struct ListenOptions {
  std::string address = "127.0.0.1";  ///< numeric, or "localhost"
  int port = 0;                       ///< 0 = any free one
  bool reuse_address = true;          ///< take over a port whose connections linger in TIME_WAIT
  std::optional<TlsServerOptions> tls;
};

struct ConnectOptions {
  std::string host;
  int port = 0;
  std::chrono::nanoseconds timeout = std::chrono::seconds(5);  ///< resolve, connect and handshake
  std::optional<TlsClientOptions> tls;
  std::stop_token stop;
};

/// An open port.
/// Thread: the loop it was opened on, close() and port() any.
class Listener {
 public:
  /// Names the loop for the next connection.
  using PickLoop = std::function<IoContext&()>;
  /// A new connection; runs on the loop it is bound to.
  using AcceptCallback = std::function<void(IoContext&, std::unique_ptr<ByteStream>)>;

  virtual ~Listener() = default;
  virtual int port() const = 0;
  virtual void start(PickLoop pick, AcceptCallback on_accept) = 0;
  /// Stops accepting; returns when no further callback will start.
  virtual void close() = 0;
};

/// Where streams come from: TCP (net/tcp_transport.h) or a simulated network in tests
/// (support/sim_net.h). Thread: any for listen(); connect() on the loop it names.
class Transport {
 public:
  using ConnectCallback = UniqueFunction<void(Result<std::unique_ptr<ByteStream>>)>;

  virtual ~Transport() = default;
  /// Errors: kUnavailable (port taken), kInvalidArgument (address, certificate), named in full.
  virtual Result<std::unique_ptr<Listener>> listen(IoContext& loop, ListenOptions options) = 0;
  /// Errors: kUnavailable (refused, unknown host), kDeadlineExceeded, kCancelled.
  virtual void connect(IoContext& loop, ConnectOptions options, ConnectCallback done) = 0;
};

}  // namespace plumb
