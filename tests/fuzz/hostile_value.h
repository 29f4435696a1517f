#pragma once

#include <string>

#include "engine/core/value.h"
#include "tests/fuzz/choices.h"

namespace sparkplan::fuzz {

/// Changes a tree as a hostile peer would, to test the reader's assumptions. Nodes change their kind, or are removed,
/// doubled or moved. Texts become special to a terminal, a path or a file format. The result can be encoded: no key is
/// doubled. An exhausted input changes nothing.
void spoil(Value& tree, Choices& choices);

/// Spoils a text: cut, doubled, with bytes or words inserted.
void spoil(std::string& text, Choices& choices);

/// A text from the table of hostile texts, or from the bytes of the input.
std::string hostile_text(Choices& choices);

}  // namespace sparkplan::fuzz
