// SPDX-License-Identifier: Apache-2.0
#include "net/http_client_pool.h"

#include <utility>

namespace plumb {

ConnectionPool::ConnectionPool(IoContext& loop, const HttpClientOptions& options)
    : loop_(loop), options_(options) {}

ConnectionPool::~ConnectionPool() {
  for (auto& [server, streams] : idle_) {
    for (Idle& idle : streams) {
      idle.stream->close();
    }
  }
}

std::unique_ptr<ByteStream> ConnectionPool::take(const std::string& server) {
  const auto found = idle_.find(server);
  if (found == idle_.end()) {
    return nullptr;
  }
  std::vector<Idle>& streams = found->second;
  while (!streams.empty()) {
    Idle idle = std::move(streams.back());
    streams.pop_back();
    if (idle.until > loop_.now() && idle.stream->is_alive()) {
      return std::move(idle.stream);
    }
    idle.stream->close();
  }
  idle_.erase(found);
  return nullptr;
}

void ConnectionPool::give(const std::string& server, std::unique_ptr<ByteStream> stream) {
  std::vector<Idle>& streams = idle_[server];
  if (static_cast<std::int64_t>(streams.size()) >= options_.max_idle_per_host) {
    stream->close();
    return;
  }
  streams.push_back({std::move(stream), loop_.now() + options_.idle_timeout});
}

}  // namespace plumb
