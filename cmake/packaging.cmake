# SPDX-License-Identifier: Apache-2.0
# cmake --install and `cpack -G DEB`; included after src/, does nothing while the program does not exist.
if(NOT TARGET plumb)
  return()
endif()
include(GNUInstallDirs)
install(FILES README.md DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
install(FILES packaging/plumb.service DESTINATION lib/systemd/system)
install(FILES packaging/plumb.default DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)

# Packing takes the program as it is and builds no tests.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME plumb)
set(CPACK_PACKAGE_VENDOR "The Plumb authors")
set(CPACK_PACKAGE_CONTACT "The Plumb authors <plumb@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "inference server for large language models")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "Serves language models from GGUF and safetensors files over the OpenAI HTTP protocols.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS ca-certificates)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS python3-pip)  # plumb model fetch
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
  ${PROJECT_SOURCE_DIR}/packaging/postinst ${PROJECT_SOURCE_DIR}/packaging/prerm)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
