#pragma once

#include <string>

#include "engine/core/value.h"
#include "engine/report/page/html_report.h"
#include "engine/report/text/text_style.h"
#include "engine/tune/tune_run.h"

/// The output of `tune`. Everything here is pure. In texts, all content of nodes passes printable().
namespace sparkplan {

/// One row per setting, then what to add to cluster.yaml; the verdict is the last line.
std::string to_text(const TuneReport& report, const TextStyle& style);

/// Schema: schemas/tune.schema.json.
Value to_json_value(const TuneReport& report);

/// A section `nccl` for cluster.yaml, with the conditions of the measurement as a comment. Only the comment if nothing
/// is proposed.
std::string yaml_fragment(const TuneReport& report);

/// As the other pages, see html_report.h.
std::string to_html(const TuneReport& report, const PageContext& context);

/// The last line of the text, without its end: "Tune: 2 settings are better, together +18.2 %".
std::string verdict_of(const TuneReport& report);

/// "+4.2 %" for 1.042; "-1.0 %" for 0.99.
std::string gain_text(double gain);
/// "+2.1 to +6.0 %"; empty if there are too few pairs for an interval.
std::string interval_text(const TuneComparison& comparison);
/// "accepted", or the verdict with its reason.
std::string result_text(const TriedSetting& tried);

/// True if the setting was refused, has a gain, and is slower at a size. The user knows which sizes count. False with
/// fewer pairs than a clear loss takes: their numbers are mostly noise.
bool is_trade_off(const TriedSetting& tried);
/// "+4.2 %", or "31.4 % slower" as the reason of a refusal says it.
std::string point_gain_text(const PointGain& point);

}  // namespace sparkplan
