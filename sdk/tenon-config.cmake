# tenon-config.cmake: what find_package(tenon) finds, each only where it is installed.
#
#   component  target         for
#   sdk        tenon::sdk     plugins: the contract's headers, C11, the version script, -z defs
#   core       tenon::tenon   applications: libtenon and its headers
#   lm         tenon::lm      applications: libtenon_lm, language models; brings tenon::tenon
#
#   find_package(tenon 1.0 REQUIRED COMPONENTS lm)
#   target_link_libraries(app PRIVATE tenon::lm)
#
# The version of the package is that of the contract with plugins (TNP_ABI_CURRENT of tenon/plugin.h): it is
# what a plugin has to ask for, and plugins build where no library is. That of the libraries is
# TN_VERSION_MAJOR, _MINOR, _PATCH of tenon/status.h, and `pkg-config --modversion tenon`.
set(tenon_sdk_FOUND FALSE)
set(tenon_core_FOUND FALSE)
set(tenon_lm_FOUND FALSE)
if(EXISTS "${CMAKE_CURRENT_LIST_DIR}/tenon-sdk.cmake")
    include("${CMAKE_CURRENT_LIST_DIR}/tenon-sdk.cmake")
    set(tenon_sdk_FOUND TRUE)
endif()
# The public headers of core include those of the sdk.
if(tenon_sdk_FOUND AND EXISTS "${CMAKE_CURRENT_LIST_DIR}/tenon-core.cmake")
    include("${CMAKE_CURRENT_LIST_DIR}/tenon-core.cmake")
    set(tenon_core_FOUND TRUE)
endif()
if(tenon_core_FOUND AND EXISTS "${CMAKE_CURRENT_LIST_DIR}/tenon-lm.cmake")
    include("${CMAKE_CURRENT_LIST_DIR}/tenon-lm.cmake")
    set(tenon_lm_FOUND TRUE)
endif()

foreach(component IN LISTS tenon_FIND_COMPONENTS)
    if(NOT tenon_${component}_FOUND AND tenon_FIND_REQUIRED_${component})
        set(tenon_FOUND FALSE)
        set(tenon_NOT_FOUND_MESSAGE
            "the component '${component}' of tenon is not installed here (components are sdk, core and lm)")
    endif()
endforeach()
