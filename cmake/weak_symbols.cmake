# SPDX-License-Identifier: Apache-2.0
# plumb_weak_symbol_test(NAME TARGET): the objects of a target that is built for a wider instruction set define no
# weak symbol (tools/lint/weak_symbols.py says why). TARGET is an object or static library.
function(plumb_weak_symbol_test name target)
  if(NOT PLUMB_BUILD_TESTS OR PLUMB_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL "Debug")
    return()  # without optimisation nothing is inlined, and sanitizers add symbols of their own
  endif()
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  add_test(NAME lint:weak_symbols_${name}
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/lint/weak_symbols.py $<TARGET_OBJECTS:${target}>
    COMMAND_EXPAND_LISTS)
  set_tests_properties(lint:weak_symbols_${name} PROPERTIES LABELS lint TIMEOUT 60)
endfunction()
