#include "engine/markup/cabling_drawing.h"

namespace sparkplan {

// Okabe-Ito colours, which people with any colour vision can tell apart. Each state also has a line style and a word.
Constant drawing_style() {
  return R"(
.drawing{--ink:#1b1b1b;--paper:#fff;--box:#eef2f6;--edge:#4a5560;--good:#00603f;--warn:#8a5a00;--bad:#b3261e;--dim:#5d6670;
font:13px system-ui,sans-serif}
.drawing text{fill:var(--ink);font-size:13px}
.drawing .box rect{fill:var(--box);stroke:var(--edge);stroke-width:1.5}
.drawing .box text{text-anchor:middle;font-weight:600}
.drawing .wire line{stroke:var(--edge);stroke-width:2}
.drawing .wp line{stroke:var(--good);stroke-width:2.5}
.drawing .ww line{stroke:var(--warn);stroke-width:3;stroke-dasharray:14 6}
.drawing .wf line{stroke:var(--bad);stroke-width:4;stroke-dasharray:4 5}
.drawing .wu line{stroke:var(--dim);stroke-width:1.5;stroke-dasharray:1 5}
.drawing .wl{text-anchor:middle}
.drawing .wb{fill:var(--paper)}
.drawing .axis{stroke:var(--edge);stroke-width:1;fill:none}
.drawing .grid{stroke:var(--dim);stroke-opacity:.3;stroke-width:1;fill:none}
.drawing .tick{font-size:11px}
.drawing .mid{text-anchor:middle}
.drawing .end{text-anchor:end}
.drawing .limit{stroke:var(--bad);stroke-width:2;stroke-dasharray:8 5;fill:none}
.drawing .band{fill:var(--warn);fill-opacity:.2;stroke:var(--warn);stroke-width:1;stroke-dasharray:2 3}
.drawing .s0{--line:#0b5fa5}.drawing .s1{--line:#a04a00}.drawing .s2{--line:#00603f}.drawing .s3{--line:#8b2f6d}
.drawing .curve{stroke:var(--line);stroke-width:2.5;fill:none}
.drawing .s1 .curve{stroke-dasharray:9 4}.drawing .s2 .curve{stroke-dasharray:3 3}.drawing .s3 .curve{stroke-dasharray:12 3 3 3}
.drawing .mark{fill:var(--paper);stroke:var(--line);stroke-width:2}
@media (prefers-color-scheme:dark){@media screen{
.drawing{--ink:#e8eaed;--paper:#16191d;--box:#262c33;--edge:#9aa5b1;--good:#4cc79a;--warn:#f0b040;--bad:#ff8f85;--dim:#8b95a1}
.drawing .s0{--line:#6ab7ff}.drawing .s1{--line:#ffab66}.drawing .s2{--line:#4cc79a}.drawing .s3{--line:#e79bcb}
}}
)";
}

}  // namespace sparkplan
