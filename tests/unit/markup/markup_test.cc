#include "engine/markup/markup.h"

#include <limits>

#include "engine/markup/cabling_drawing.h"
#include "engine/markup/line_chart.h"
#include "engine/markup/sparkline.h"
#include "tests/support/catch.h"
#include "tests/support/page_rules.h"

namespace sparkplan {
namespace {

std::string after(Markup markup) { return std::move(markup).str(); }

DrawnCabling ring(std::size_t count) {
  DrawnCabling cabling;
  cabling.title = "ring";
  for (std::size_t at = 0; at < count; ++at) {
    cabling.nodes.push_back("spark-" + std::to_string(at));
    for (const char* label : {"A", "B"}) {
      cabling.wires.push_back(
          {{at, label, "port", "10.0.0.1/24"}, DrawnEnd{(at + 1) % count, label, "port", ""}, WireState::kGood, ""});
    }
  }
  return cabling;
}

}  // namespace

TEST_CASE("texts and values of attributes cannot become markup") {
  Markup markup;
  markup.open("p", {{"title", "\" onclick=\"x\" '<b>&"}}).text("<script>alert('1')</script>&amp;");
  CHECK(after(std::move(markup)) ==
        "<p title=\"&quot; onclick=&quot;x&quot; &#39;&lt;b&gt;&amp;\">"
        "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;amp;</p>");
}

TEST_CASE("control characters, changes of direction and broken UTF-8 are made visible") {
  Markup markup;
  markup.text(
      "a\x1b[31m\xc2\x9b"
      "1m\xe2\x80\xae"
      "b\xff\n");
  const std::string text = after(std::move(markup));
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find("\xc2\x9b") == std::string::npos);
  CHECK(text.find("\xe2\x80\xae") == std::string::npos);
  CHECK(text.find('\xff') == std::string::npos);
  CHECK(text.find('\n') == std::string::npos);
  CHECK(text.find("&lt;U+202E&gt;") != std::string::npos);
}

TEST_CASE("every element is closed, in order") {
  Markup piece;
  piece.open("li").text("x");
  Markup markup;
  markup.open("ul").append(std::move(piece)).empty("br").element("li", "y");
  CHECK(after(std::move(markup)) == "<ul><li>x</li><br/><li>y</li></ul>");
  Markup closed;
  closed.close().text("z");
  CHECK(after(std::move(closed)) == "z");
}

TEST_CASE("coordinates have at most one digit after the point") {
  CHECK(coordinate(12) == "12");
  CHECK(coordinate(12.34) == "12.3");
  CHECK(coordinate(-0.26) == "-0.3");
  CHECK(coordinate(-0.01) == "0");
  CHECK(coordinate(-3.5) == "-3.5");
  CHECK(coordinate(std::numeric_limits<double>::quiet_NaN()) == "0");
  CHECK(coordinate(std::numeric_limits<double>::infinity()) == "0");
}

TEST_CASE("each state of a wire has its own word, sign and line style") {
  DrawnCabling cabling = ring(2);
  cabling.wires.resize(4);
  cabling.wires[1].state = WireState::kWarned;
  cabling.wires[2].state = WireState::kBad;
  cabling.wires[2].detail = "no carrier";
  cabling.wires[3].state = WireState::kUnknown;
  const std::string svg = svg_file(cabling);
  CHECK(test::complaints_about_markup(svg) == "");
  for (const char* part : {"class=\"wire wp\"", "class=\"wire ww\"", "class=\"wire wf\"", "class=\"wire wu\"",
                           "\u2713 pass", "\u25b3 warn", "\u2717 FAIL", "? not checked", "no carrier",
                           "xmlns=\"http://www.w3.org/2000/svg\"", "1 FAIL"}) {
    INFO(part);
    CHECK(svg.find(part) != std::string::npos);
  }
}

TEST_CASE("a drawing has a box for each node, whatever the number of nodes") {
  for (const std::size_t count :
       {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{10}, std::size_t{64}}) {
    for (const bool through_switch : {false, true}) {
      DrawnCabling cabling = ring(count);
      cabling.through_switch = through_switch;
      if (through_switch) {
        for (DrawnWire& wire : cabling.wires) wire.to.reset();
      }
      const std::string svg = svg_file(cabling);
      INFO(count << " " << through_switch);
      CHECK(test::complaints_about_markup(svg) == "");
      CHECK(test::occurrences(svg, "<rect ") == count + (through_switch ? 1 : 0));
      CHECK(test::occurrences(svg, "<line ") == 2 * count);
    }
  }
}

TEST_CASE("a long name is cut in its box, and whole in its title") {
  DrawnCabling cabling = ring(2);
  cabling.nodes[0] = std::string(63, 'x');
  const std::string svg = svg_file(cabling);
  CHECK(svg.find("<title>" + cabling.nodes[0] + "</title>") != std::string::npos);
  CHECK(svg.find(">" + std::string(17, 'x') + "...</text>") != std::string::npos);
}

TEST_CASE("a chart has a logarithmic axis, its threshold and a mark for each point") {
  LineChart chart{"busbw",
                  "size",
                  "GB/s",
                  {{"all_reduce", {{1 << 20, 5.5}, {1 << 24, 7.2}, {1 << 28, 24.1}}},
                   {"all_gather", {{1 << 20, 4.5}, {1 << 28, 20}}}},
                  {{1 << 20, "1 MiB"}, {1 << 24, "16 MiB"}, {1 << 28, "256 MiB"}},
                  21.875};
  Markup markup;
  draw(markup, chart, "c1");
  const std::string svg = after(std::move(markup));
  CHECK(test::complaints_about_markup(svg) == "");
  // One mark for each point and one for each line of the legend: circles, then squares.
  CHECK(test::occurrences(svg, "<circle ") == 4);
  CHECK(test::occurrences(svg, "<polygon ") == 3);
  CHECK(svg.find("threshold 21.9") != std::string::npos);
  // 16 MiB is in the middle between 1 MiB and 256 MiB.
  CHECK(svg.find("x=\"405\" y=\"312\">16 MiB<") != std::string::npos);
}

TEST_CASE("a threshold that is for large sizes only begins there, with the band of warnings below it") {
  LineChart chart{"busbw", "size", "GB/s", {{std::string(300, 'n'), {{1 << 20, 5}, {1 << 30, 24}}}}, {}, 20};
  chart.threshold_from = ChartTick{1 << 30, "1 GiB"};
  chart.warning_from = 10;
  Markup markup;
  draw(markup, chart, "c1");
  const std::string svg = after(std::move(markup));
  CHECK(test::complaints_about_markup(svg) == "");
  // The axis ends at 740.
  CHECK(svg.find("class=\"limit\" d=\"M700 ") != std::string::npos);
  CHECK(svg.find("<rect class=\"band\" x=\"700\" ") != std::string::npos);
  CHECK(svg.find(">threshold 20, from 1 GiB on<") != std::string::npos);
  // A long name would leave the drawing.
  CHECK(svg.find(std::string(61, 'n')) == std::string::npos);
  chart.warning_from = 30;
  Markup above;
  draw(above, chart, "c1");
  CHECK(after(std::move(above)).find("class=\"band\"") == std::string::npos);
}

TEST_CASE("a course of values is flat for noise, and has a line where the values change") {
  Markup markup;
  draw(markup, Sparkline{"4 <values>", {100, 101, 50, 50}, 2});
  const std::string svg = after(std::move(markup));
  CHECK(test::complaints_about_markup(svg) == "");
  CHECK(svg.find("aria-label=\"4 &lt;values&gt;\"") != std::string::npos);
  CHECK(svg.find("class=\"step\" d=\"M60 0V26\"") != std::string::npos);
  Markup noise;
  draw(noise, Sparkline{"", {100, 101}});
  // From 90 to 110 is the whole height of 18: one is a pixel.
  CHECK(after(std::move(noise)).find("d=\"M4 13L116 13\"") != std::string::npos);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Markup nothing;
  draw(nothing, Sparkline{"", {nan, 1e300}, 1});
  CHECK(after(std::move(nothing)).empty());
}

TEST_CASE("a chart leaves out numbers that no measurement has, and draws the others") {
  for (const double wrong : {1.7e308, std::numeric_limits<double>::infinity(), -1.0}) {
    Markup markup;
    draw(markup, LineChart{"t", "x", "y", {{"a", {{1, 5}, {2, wrong}}}}, {}, wrong}, "c");
    const std::string svg = after(std::move(markup));
    CHECK(test::complaints_about_markup(svg) == "");
    // One mark for the point, one in the legend.
    CHECK(test::occurrences(svg, "<circle ") == 2);
    CHECK(svg.find("class=\"limit\"") == std::string::npos);
  }
}

TEST_CASE("a chart without a point that can be drawn is empty") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const LineChart& chart : {LineChart{}, LineChart{"t", "x", "y", {{"a", {{0, 1}, {1, nan}, {nan, 1}}}}, {}, {}},
                                 LineChart{"t", "x", "y", {{"a", {{1, 1.7e308}, {2, -1}}}}, {}, {}}}) {
    Markup markup;
    draw(markup, chart, "c");
    CHECK(after(std::move(markup)).empty());
  }
}

}  // namespace sparkplan
