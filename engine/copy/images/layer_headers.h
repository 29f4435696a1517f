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
/// unpack a compressed file in its place, or fill holes, until its disk is full.
/// Source: archive/tar of Go, Reader.next().
class LayerHeaders {
 public:
  /// The next bytes.
  void add(std::string_view bytes);
  /// After the last ones. Errors: kUnsupported.
  Result<void> end() const;

 private:
  Result<void> take_part();
  Result<void> take_header();
  Result<void> take_entry(char type, std::int64_t size);
  Result<void> begin_records(std::int64_t size, bool for_all);
  Result<void> take_records();
  void skip_content(std::int64_t size);

  Result<void> verdict_;
  std::string part_;  ///< The beginning of a header, or of the records in an extended one.
  std::size_t part_size_ = kTarBlock;
  std::int64_t skipped_ = 0;       ///< Still to skip: content and its filler.
  std::int64_t filler_ = 0;        ///< Of these, the filler.
  bool is_records_ = false;        ///< The part consists of records, ...
  bool is_for_all_ = false;        ///< ... for all names to come.
  bool is_first_ = true;           ///< No header was read yet.
  bool has_zero_block_ = false;    ///< The last header was a block of zeros.
  bool has_ended_ = false;         ///< No engine reads what follows.
  bool has_other_header_ = false;  ///< The next name has an extended header, or one with its long name.
  std::optional<std::int64_t> extended_size_;
};

}  // namespace sparkplan::copy
