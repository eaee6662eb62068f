// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "net/transport.h"

namespace plumb {

/// The machine's network: TCP with TCP_NODELAY and keep-alive probes, TLS where options ask for it.
///
/// One object serves all loops; the certificate stores of TLS clients are read once and kept.
/// Thread: any.
std::unique_ptr<Transport> make_tcp_transport();

}  // namespace plumb
