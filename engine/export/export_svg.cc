#include "engine/export/formats.h"
#include "engine/markup/cabling_drawing.h"

namespace sparkplan::formats {

std::string svg(const Cluster& cluster) { return svg_file(drawn_cabling(cluster)); }

}  // namespace sparkplan::formats
