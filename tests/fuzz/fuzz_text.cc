// Every foreign text, read by the function that parses it: files of a node, output of its programs, messages on a bus
// and in a network. An input is the reader's name, a newline, and the text.
#include "tests/fuzz/named_input.h"
#include "tests/fuzz/text_readers.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  sparkplan::fuzz::read_with(sparkplan::fuzz::text_readers(), data, size);
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  return sparkplan::fuzz::mutate_named_input(data, size, max_size, seed, false);
}
