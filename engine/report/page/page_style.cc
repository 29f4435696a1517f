#include "engine/report/page/page.h"

namespace sparkplan {

// Text has a contrast of at least 4.5 to 1 on its background, also in cells. No state is shown by colour alone.
Constant page_style() {
  return R"(
:root{color-scheme:light dark;--ink:#1b1b1b;--paper:#fff;--soft:#f3f5f8;--edge:#c3cad2;--dim:#55606b;--link:#0b4f8a;
--good:#00603f;--warn:#7a4d00;--bad:#b3261e;--warnbg:#fdf1d8}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1180px;padding:1rem;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
h1{font-size:1.6rem;margin:.4rem 0}h2{font-size:1.3rem;margin:2rem 0 .6rem;border-bottom:1px solid var(--edge)}
h3{font-size:1.05rem;margin:1rem 0 .3rem;overflow-wrap:anywhere}
p,ul{margin:.4rem 0}a{color:var(--link)}
a:focus-visible,summary:focus-visible,.scroll:focus-visible{outline:3px solid var(--link);outline-offset:2px}
.jump{position:absolute;left:-999px}.jump:focus{position:static}
.verdict{font-size:1.15rem;padding:.6rem .8rem;border-left:6px solid var(--edge);background:var(--soft);overflow-wrap:anywhere}
.verdict.pass{border-color:var(--good)}.verdict.warn{border-color:var(--warn)}.verdict.fail{border-color:var(--bad)}
.meta,footer{color:var(--dim);font-size:.9rem}
nav ul{list-style:none;padding:0;display:flex;flex-wrap:wrap;gap:.3rem 1rem}
.st{font-weight:700;white-space:nowrap}
.st.pass{color:var(--good)}.st.warn{color:var(--warn)}.st.fail{color:var(--bad)}.st.skip{color:var(--dim)}
article{border:1px solid var(--edge);border-left-width:6px;border-radius:4px;padding:.3rem .9rem .6rem;margin:.8rem 0;overflow-wrap:anywhere}
article.fail{border-left-color:var(--bad)}article.warn{border-left-color:var(--warn)}
article dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem .8rem;margin:.3rem 0}
article dt{font-weight:600}article dd{margin:0}
.scroll{overflow-x:auto;margin:.5rem 0}
table{border-collapse:collapse;font-size:.9rem}
caption{text-align:left;color:var(--dim);padding:.2rem 0}
th,td{border:1px solid var(--edge);padding:.25rem .5rem;text-align:left;vertical-align:top}
thead th{background:var(--soft)}
tbody th{font-weight:600;white-space:nowrap}
.plain td{min-width:6rem}
.num td,.heat td{text-align:right;font-variant-numeric:tabular-nums}
.heat td{white-space:nowrap}
.heat.many thead th:not(:first-child){writing-mode:vertical-rl;white-space:nowrap}
.slow{color:var(--bad);font-weight:700;white-space:nowrap}
.fast{color:var(--good);font-weight:700;white-space:nowrap}
.spark{display:block}.spark path{fill:none;stroke:var(--link);stroke-width:1.5}.spark circle{fill:var(--link)}
.spark .step{stroke:var(--bad);stroke-dasharray:3 2}
.plain.hist td:last-child{min-width:16rem}
.heat .f{outline:2px solid var(--bad);outline-offset:-2px;font-weight:700}.heat .w{outline:2px dashed var(--warn);outline-offset:-2px}
.h0{background:#cfe4f7;color:#10202e}.h1{background:#eaf2f9;color:#10202e}.h2{background:#fdebcd;color:#2b1a00}
.h3{background:#f7c47c;color:#2b1a00}.h4{background:#ea8f2a;color:#1d1000}
.key span{padding:.1rem .5rem;margin-right:.3rem;border:1px solid var(--edge);white-space:nowrap}
.differs{background:var(--warnbg);font-weight:700}
pre{overflow-x:auto;background:var(--soft);border:1px solid var(--edge);padding:.5rem;font:13px/1.4 ui-monospace,monospace;margin:.4rem 0}
.da{color:var(--good)}.dr{color:var(--bad)}.dh{color:var(--dim)}
code{font:13px ui-monospace,monospace;overflow-wrap:anywhere}
summary{cursor:pointer;padding:.2rem 0}
.drawing{max-width:none;height:auto}
@media (max-width:600px){article dl{display:block}article dd{margin:0 0 .3rem .6rem}article ul{padding-left:1rem}
.hist tbody th{white-space:normal;overflow-wrap:anywhere;min-width:7rem}}
@media (prefers-color-scheme:dark){@media screen{
:root{--ink:#e8eaed;--paper:#16191d;--soft:#21262c;--edge:#47515c;--dim:#a9b3bd;--link:#8cc4ff;--good:#5fd0a6;--warn:#f2b955;
--bad:#ff9b92;--warnbg:#43330f}
.h0{background:#123c5c;color:#f1f6fa}.h1{background:#1f2f3d;color:#f1f6fa}.h2{background:#3d3320;color:#fff3df}
.h3{background:#6a4810;color:#fff3df}.h4{background:#8f5206;color:#fff}
}}
@page wide{size:A3 landscape}
@media print{
body{max-width:none;padding:0;font-size:11pt}nav,.jump{display:none}
.scroll{overflow:visible}article,svg,tr{break-inside:avoid}h2,h3{break-after:avoid}
td,th,.verdict,.key span{print-color-adjust:exact;-webkit-print-color-adjust:exact}
.heat{font-size:6.5pt}.heat td,.heat th{padding:.1rem .15rem}
.heat.wide{font-size:4.8pt}.heat.wide td,.heat.wide th{padding:.05rem .1rem}.scroll:has(.wide){page:wide}
details::details-content{content-visibility:visible;display:block}
.drawing{max-width:100%;width:auto}
}
)";
}

}  // namespace sparkplan
