# tenon_install_pkgconfig(NAME COMPONENT): installs cmake/NAME.pc.in. Paths in it begin at ${prefix}, which
# is found from where the file lies, so that a prefix may be moved.
function(tenon_install_pkgconfig name component)
    file(RELATIVE_PATH prefix /x/${CMAKE_INSTALL_LIBDIR}/pkgconfig /x)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc @ONLY)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT ${component})
endfunction()
