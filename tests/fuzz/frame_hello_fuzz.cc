// SPDX-License-Identifier: Apache-2.0
// What a subscriber of events says first, from arbitrary bytes: what is read whole is written back
// the same, and more bytes never make a hello out of what was refused.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "net/frame_publisher.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  bool was_refused = false;
  for (std::size_t n = 0; n <= size && n <= 2048; ++n) {
    const auto hello = plumb::parse_frame_hello(bytes.substr(0, n));
    PLUMB_CHECK(!was_refused || !hello.ok(), "more bytes mend a hello");
    was_refused = !hello.ok();
    if (hello.ok() && hello.value()) {
      PLUMB_CHECK(plumb::encode_frame_hello(*hello.value()) == bytes.substr(0, n),
                  "a hello is read otherwise than it is written");
    }
  }
  return 0;
}
