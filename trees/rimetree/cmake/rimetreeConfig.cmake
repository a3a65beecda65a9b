# Building node classes outside RimeTree:
#
#   find_package(rimetree REQUIRED)          # with -Drimetree_DIR=$(python -m rimetree.cmake_dir)
#   rimetree_add_plugin(my_nodes my_node.cc another_node.cu)
#
# gives my_nodes.so, for rimetree.load_plugin. The target rimetree::runtime has the headers and libraries.
get_filename_component(rimetree_root "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)

if(NOT TARGET rimetree::runtime)
  foreach(part memory runtime)
    add_library(rimetree::${part} SHARED IMPORTED)
    set_target_properties(rimetree::${part} PROPERTIES
      IMPORTED_LOCATION "${rimetree_root}/librimetree_${part}.so"
      INTERFACE_INCLUDE_DIRECTORIES "${rimetree_root}/include"
      INTERFACE_COMPILE_FEATURES cxx_std_20)
  endforeach()
  set_property(TARGET rimetree::runtime PROPERTY INTERFACE_LINK_LIBRARIES rimetree::memory)
endif()

# A plugin from sources; those named .cu are compiled as C++.
function(rimetree_add_plugin name)
  foreach(source ${ARGN})
    if(source MATCHES "\\.cu$")
      set_source_files_properties(${source} PROPERTIES LANGUAGE CXX COMPILE_OPTIONS "-xc++")
    endif()
  endforeach()
  add_library(${name} MODULE ${ARGN})
  target_link_libraries(${name} PRIVATE rimetree::runtime)
  set_target_properties(${name} PROPERTIES PREFIX "")
endfunction()
