#pragma once

#include <string>

#include "engine/core/diagnostic.h"
#include "engine/core/value.h"
#include "engine/plan/report.h"
#include "engine/report/exit_code.h"
#include "engine/report/sync_lines.h"
#include "engine/report/text/text_style.h"
#include "engine/sync/sync_run.h"

/// The output of `sync`, and what other commands say about content. In texts, all content of nodes and of the file
/// passes printable().
namespace sparkplan {

/// Pure. Per item a heading and one line for nodes with the same state; the counts as the last line.
std::string to_text(const SyncReport& report, bool dry_run, const TextStyle& style);

/// Pure. Schema: schemas/sync.schema.json.
Value to_json_value(const SyncReport& report);

/// Pure. One object of progress on one line, without its end, for standard error. `seconds_left` is there if bytes
/// arrive.
std::string progress_json(const ContentItem& item, const std::string& node, const TransferProgress& progress);

/// Of a node that receives: "41.3 GB of 141.2 GB, 2.3 GB/s, 43 s left"; of one that reads: "read 41.3 GB of ...".
/// The last one has only the bytes.
std::string progress_text(const TransferProgress& progress);

/// The source, the names that differ on the nodes, and how many nodes agree against the source, for the question.
std::string question_text(const ContentReport& report);

/// The files that only the source has, for the question.
std::string spread_question_text(const ContentReport& report);

/// 9 before 4 before 6 before 8; content that is missing after a dry run is no failure.
ExitCode exit_code(const SyncReport& report);

/// Adds what the nodes lack as notes, one per item and state. Without `from`, they name the node that the others were
/// compared with, and a note says if other nodes agree on another version of its files. Marks the report if content has
/// changed since a sync brought it.
void add_content(Report& report, const SyncReport& content);

}  // namespace sparkplan
