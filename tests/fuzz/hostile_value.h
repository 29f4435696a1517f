#pragma once

#include <string>

#include "engine/core/value.h"
#include "tests/fuzz/choices.h"

namespace sparkplan::fuzz {

/// Changes a tree as a peer might that wants to find out what its reader takes for granted: nodes of another
/// kind, missing, doubled or moved, and texts that mean something to a terminal, a path or a file format. The
/// result can be encoded: no key is there twice. An input that is used up changes nothing.
void spoil(Value& tree, Choices& choices);

/// The same for a text: cut, doubled, with bytes or words put in.
void spoil(std::string& text, Choices& choices);

/// A text from the table of nasty ones, or from the bytes of the input.
std::string hostile_text(Choices& choices);

}  // namespace sparkplan::fuzz
