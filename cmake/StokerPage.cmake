# stoker_page(name library): the page that page.json of this folder describes, as one HTML text in a
# source of this library, made at build time of the sources here, of io/sinks/page and of dygraphs.
find_path(STOKER_DYGRAPHS_DIR dygraph.min.js PATHS /usr/share/javascript/dygraphs NO_DEFAULT_PATH
  DOC "Folder of dygraph.min.js and dygraph.min.css (Debian: libjs-dygraphs)")
if(NOT STOKER_DYGRAPHS_DIR)
  message(FATAL_ERROR "dygraph.min.js was not found: install Debian's libjs-dygraphs, or name its \
folder by -DSTOKER_DYGRAPHS_DIR")
endif()

function(stoker_page name library)
  set(shared ${PROJECT_SOURCE_DIR}/io/sinks/page)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  file(GLOB parts CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.js ${CMAKE_CURRENT_SOURCE_DIR}/*.css
    ${CMAKE_CURRENT_SOURCE_DIR}/*.html ${shared}/*.js ${shared}/*.css)
  add_custom_command(OUTPUT ${source} VERBATIM
    COMMENT "Embedding ${name}"
    DEPENDS ${parts} page.json ${shared}/embed.py ${shared}/dygraphs-licence.txt
      ${STOKER_DYGRAPHS_DIR}/dygraph.min.js ${STOKER_DYGRAPHS_DIR}/dygraph.min.css
    COMMAND ${Python3_EXECUTABLE} ${shared}/embed.py ${STOKER_DYGRAPHS_DIR}
      ${CMAKE_CURRENT_SOURCE_DIR}/page.json ${source})
  # A target of another folder gets the source, but not the command that makes it.
  add_custom_target(stoker_${name} DEPENDS ${source})
  add_dependencies(${library} stoker_${name})
  target_sources(${library} PRIVATE ${source})
endfunction()
