#pragma once

#include <string>

#include "engine/core/diagnostic.h"

namespace sparkplan {

/// A finding of one sentence, a hint and a place. The caller adds the other fields of a Diagnostic: a file, a node,
/// notes.
Diagnostic finding(Severity severity, std::string code, std::string message, std::string hint = {},
                   SourceRange where = {});

/// A finding with the severity "error".
Diagnostic finding(std::string code, std::string message, std::string hint = {}, SourceRange where = {});

}  // namespace sparkplan
