# SPDX-License-Identifier: Apache-2.0
# cmake -DFOLDER=static -DOUTPUT=x.cc -DHEADER=web/assets.h -DFUNCTION=web_assets -P embed.cmake: writes every file of
# the folder into a table of WebAsset, by name, and the function of the header that returns it.
set(type_css "text/css; charset=utf-8")
set(type_html "text/html; charset=utf-8")
set(type_js "text/javascript; charset=utf-8")
set(type_json "application/json")
set(type_svg "image/svg+xml")

file(GLOB names RELATIVE ${FOLDER} ${FOLDER}/*)
list(SORT names)
set(contents)
set(rows)
set(i 0)
foreach(name IN LISTS names)
  cmake_path(GET name EXTENSION LAST_ONLY suffix)
  string(REPLACE "." "type_" type "${suffix}")
  if(NOT DEFINED ${type})
    message(FATAL_ERROR "embed: no content type for ${FOLDER}/${name}; add the suffix to embed.cmake")
  endif()
  file(READ ${FOLDER}/${name} hex HEX)
  file(SHA256 ${FOLDER}/${name} digest)
  string(REGEX REPLACE "(..)" "'\\\\x\\1'," characters "${hex}")
  string(APPEND contents "constexpr char kContent${i}[] = {${characters}};\n")
  string(APPEND rows "    WebAsset{\"${name}\", \"${${type}}\",\n             \"${digest}\",\n"
    "             {kContent${i}, sizeof kContent${i}}},\n")
  math(EXPR i "${i} + 1")
endforeach()

file(WRITE ${OUTPUT} "// SPDX-License-Identifier: Apache-2.0
// Written by src/web/embed.cmake.
#include <array>

#include \"${HEADER}\"

namespace plumb {
namespace {

${contents}
constexpr std::array kAssets{
${rows}};

}  // namespace

std::span<const WebAsset> ${FUNCTION}() {
  return kAssets;
}

}  // namespace plumb
")
