// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "net/transport.h"

namespace plumb {

/// Keys and trust of one TLS side (1.2 and newer); wraps streams of any transport.
/// Thread: any for creation; wrapping on the loop of the stream.
class TlsContext {
 public:
  /// Errors: kNotFound, kInvalidArgument naming the file that cannot be used; the key must pass
  /// check_private_file().
  static Result<std::unique_ptr<TlsContext>> server(const TlsServerOptions& options);
  static Result<std::unique_ptr<TlsContext>> client(const TlsClientOptions& options);

  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  /// A stream whose first read carries out the handshake. Requires that reads come before writes.
  std::unique_ptr<ByteStream> wrap_server(IoContext& loop, std::unique_ptr<ByteStream> inner);

  /// Shakes hands as a client of host, then hands over the secured stream.
  /// Errors: kUnavailable with the reason, certificate errors included.
  void connect(IoContext& loop, std::unique_ptr<ByteStream> inner, const std::string& host,
               Transport::ConnectCallback done);

 private:
  struct Impl;
  explicit TlsContext(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace plumb
