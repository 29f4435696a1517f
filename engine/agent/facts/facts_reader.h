#pragma once

#include "engine/core/result.h"
#include "engine/model/facts.h"
#include "engine/node/node.h"

namespace sparkplan {

/// What a node says of itself. What is absent is empty; only what cannot be asked at all is an error.
/// `everything`: Facts::extended as well. Errors: kFailed.
Result<Facts> read_facts(const NodeReader& node, bool everything = false);

/// What is installed: the operating system, the product, NCCL. Part of read_facts().
void read_installed_software(const NodeReader& node, Facts& facts);

}  // namespace sparkplan
