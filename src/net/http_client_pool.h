// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "net/http_client.h"

namespace plumb {

/// Connections that wait for their next request. Thread: the loop.
class ConnectionPool {
 public:
  ConnectionPool(IoContext& loop, const HttpClientOptions& options);
  ~ConnectionPool();

  /// The connection to that server used last, if one is still alive; else null.
  std::unique_ptr<ByteStream> take(const std::string& server);
  void give(const std::string& server, std::unique_ptr<ByteStream> stream);

 private:
  struct Idle {
    std::unique_ptr<ByteStream> stream;
    Clock::TimePoint until;
  };

  IoContext& loop_;
  const HttpClientOptions& options_;
  std::map<std::string, std::vector<Idle>> idle_;
};

}  // namespace plumb
