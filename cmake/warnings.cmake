# SPDX-License-Identifier: Apache-2.0
# Warnings are errors on our own targets only; libraries come in as system includes.
# Members left out of a designated initialiser keep their defaults, by intention.
set(PLUMB_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-missing-field-initializers -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  list(APPEND PLUMB_WARNINGS -Wthread-safety)
endif()
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # In a unity build g++ takes each .cc file for a header, whose types should not use an anonymous namespace; and, with
  # more of a module in sight, takes members of variants that are not there for uninitialised ones.
  list(APPEND PLUMB_WARNINGS -Wno-subobject-linkage -Wno-maybe-uninitialized)
endif()
