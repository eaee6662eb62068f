# SPDX-License-Identifier: Apache-2.0
# PLUMB_SANITIZE: "address" (with undefined) or "thread"; empty = none.
set(PLUMB_SANITIZE "" CACHE STRING "address | thread | empty")
if(PLUMB_SANITIZE STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(PLUMB_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
elseif(NOT PLUMB_SANITIZE STREQUAL "")
  message(FATAL_ERROR "PLUMB_SANITIZE is '${PLUMB_SANITIZE}', expected address, thread or empty")
endif()
