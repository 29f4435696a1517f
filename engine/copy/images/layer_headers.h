#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/copy/images/tar_fields.h"
#include "engine/core/result.h"

namespace sparkplan::copy {

/// Reads the headers of a layer that arrives in pieces, as an engine does that unpacks it: a plain tar archive of any
/// usual format, without files that have holes. So the layer unpacks to about the bytes that it has. An engine would
/// unpack a compressed file in its place, or fill holes, until its disk is full. It would also keep extended headers
/// and long names in its memory, so each is bounded, and comes once before a name.
/// Source: archive/tar of Go, Reader.next(); tar-split.
class LayerHeaders {
 public:
  /// The next bytes.
  void add(std::string_view bytes);
  /// After the last ones. Errors: kUnsupported.
  Result<void> end() const;
  /// The content of extended headers and long names that were read: engines keep it beside the files.
  std::int64_t extended_bytes() const { return extended_bytes_; }
  /// The number of names so far. Each takes a block of a file system.
  std::int64_t names() const { return names_; }
  /// The directories in front of names, as far as the name before has none of them. An engine makes these, too.
  std::int64_t implied_directories() const { return implied_directories_; }

 private:
  enum class Part : std::uint8_t { kHeader, kRecords, kRecordsForAll, kLongName, kLongTarget };
  /// The headers in front of a name, which extend it.
  struct Extension {
    bool has_records = false;
    bool has_long_name = false;
    bool has_long_target = false;
    std::string path;       ///< In records. Empty: none.
    std::string long_name;  ///< In a header before the name. Empty: none.
    std::optional<std::int64_t> size;
  };
  Result<void> take_part();
  Result<void> take_header();
  Result<void> take_entry(char type, std::int64_t size);
  Result<void> begin_part(Part part, std::int64_t size, bool& was_there);
  Result<void> take_records(bool for_all);
  bool could_be_directory() const;
  void count_name();
  void skip_content(std::int64_t size);

  Result<void> verdict_;
  Part part_kind_ = Part::kHeader;
  std::string part_;  ///< The beginning of a header, or of the content of an extended one.
  std::size_t part_size_ = kTarBlock;
  std::int64_t skipped_ = 0;     ///< Still to skip: content and its filler.
  std::int64_t filler_ = 0;      ///< Of these, the filler.
  bool is_first_ = true;         ///< No header was read yet.
  bool has_zero_block_ = false;  ///< The last header was a block of zeros.
  bool has_ended_ = false;       ///< No engine reads what follows.
  Extension next_;
  std::string last_name_;
  std::int64_t extended_bytes_ = 0;
  std::int64_t names_ = 0;
  std::int64_t implied_directories_ = 0;
};

}  // namespace sparkplan::copy
