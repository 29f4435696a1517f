#pragma once

#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace sparkplan {

/// The message for a command line that was refused: what is wrong, the nearest command or flag, and which --help to
/// read. Printable. `app` has parsed the command line.
std::string usage_error_text(const CLI::App& app, const CLI::ParseError& problem);

/// True when the command line has no word at all that could be meant as a command or flag.
bool is_bare(const CLI::App& app);

/// Pure. What to do first, for a command line without a command. `file` is the cluster.yaml that commands read.
std::string first_steps(const std::string& file, bool file_exists);

}  // namespace sparkplan
