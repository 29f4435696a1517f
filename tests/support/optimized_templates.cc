// Templates of the C++ library that tests and the engine share, optimised. Tests are compiled without optimisation, and
// of several copies of a function the linker keeps the first one. Without this file, which comes first, the engine
// would run the slow copies of the tests: the tests of large inputs took up to four times as long.
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/value.h"

template class std::basic_string_view<char>;
template class std::basic_string<char>;
template struct std::char_traits<char>;
// To read a whole file.
template class std::istreambuf_iterator<char>;
template std::string::basic_string(std::istreambuf_iterator<char>, std::istreambuf_iterator<char>,
                                   const std::allocator<char>&);
template class std::vector<char>;
template class std::vector<unsigned char>;
template class std::vector<std::string>;
template class std::vector<std::string_view>;
template class std::set<std::string>;
template class std::map<std::string, std::string>;
template class std::vector<sparkplan::Value>;
template class std::vector<sparkplan::MapEntry>;
