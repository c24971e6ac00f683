# cmake -DFOLDER=… -DFILES=a,b -DTO=template_files.c -P embed.cmake: files as arrays of bytes, for template_files.h.
string(REPLACE "," ";" names "${FILES}")
set(arrays "")
set(rows "")
set(count 0)
foreach(name IN LISTS names)
    file(READ ${FOLDER}/${name} bytes HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
    string(APPEND arrays "static const unsigned char file_${count}[] = { ${bytes} };\n")
    string(APPEND rows "    { \"${name}\", file_${count}, sizeof file_${count} },\n")
    math(EXPR count "${count} + 1")
endforeach()
file(WRITE ${TO} "#include \"template_files.h\"\n\n${arrays}
const template_file template_files[] = {\n${rows}};
const size_t template_file_count = ${count};\n")
