#include "engine/report/page/page.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "engine/core/bounded_text.h"
#include "engine/fleet/history/history.h"
#include "engine/markup/cabling_drawing.h"
#include "engine/report/text/text_style.h"

namespace sparkplan {
namespace {

constexpr std::size_t kMostShownFindings = 100;

struct StatusLook {
  std::string_view css;
  std::string_view sign;
  std::string_view word;
};
const StatusLook& look_of(CheckStatus status) {
  static constexpr std::array<StatusLook, 4> kLooks{{{"pass", "\u2713", "pass"},
                                                     {"warn", "\u25b3", "warning"},
                                                     {"fail", "\u2717", "FAIL"},
                                                     {"skip", "\u2013", "skipped"}}};
  return kLooks.at(static_cast<std::size_t>(status));
}

}  // namespace

Page::Page(const Report& report, std::string version)
    : command_(report.command),
      cluster_(report.cluster),
      file_(report.file),
      made_(shown_time(time_of_run(report.run))),
      version_(std::move(version)),
      duration_(fmt::format("{:.2f} s", report.duration.count())) {}

void Page::verdict(CheckStatus status, const std::string& text) {
  status_ = status;
  verdict_ = text;
}

Markup& Page::section(Constant id, const std::string& title) {
  sections_.push_back({id, title, {}});
  return sections_.back().body;
}

void Page::head(Markup& page) const {
  page.raw("<!DOCTYPE html>\n").open("html", {{"lang", "en"}}).newline().open("head").newline();
  page.empty("meta", {{"charset", "utf-8"}}).newline();
  // The page needs nothing but itself: a browser that obeys this line would refuse to fetch anything else.
  page.empty("meta",
             {{"http-equiv", "Content-Security-Policy"}, {"content", "default-src 'none'; style-src 'unsafe-inline'"}})
      .newline();
  page.empty("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}}).newline();
  page.empty("meta", {{"name", "color-scheme"}, {"content", "light dark"}}).newline();
  page.element("title", "sparkplan " + command_ + ": " + cluster_).newline();
  page.open("style").raw(page_style()).raw(drawing_style()).close().newline();
  page.close().newline();
}

void Page::header(Markup& page) const {
  page.element("a", {{"class", "jump"}, {"href", "#main"}}, "Skip to the report").newline();
  page.open("header").newline();
  page.element("h1", command_ + ": " + cluster_).newline();
  page.open("p", {{"class", "verdict " + std::string(look_of(status_).css)}});
  write_status(page, status_);
  page.raw(" ").text(verdict_).close().newline();
  page.open("p", {{"class", "meta"}});
  page.text(file_ + (made_.empty() ? "" : ", " + made_) + ", " + duration_).close().newline();
  page.open("nav", {{"aria-label", "Sections"}}).open("ul").newline();
  for (const Section& section : sections_) {
    page.open("li").element("a", {{"href", "#" + std::string(section.id.text())}}, section.title).close().newline();
  }
  page.close().close().newline().close().newline();
}

std::string Page::html() && {
  Markup page;
  head(page);
  page.open("body").newline();
  header(page);
  page.open("main", {{"id", "main"}}).newline();
  for (Section& section : sections_) {
    const std::string id(section.id.text());
    page.open("section", {{"id", id}, {"aria-labelledby", id + "-heading"}}).newline();
    page.element("h2", {{"id", id + "-heading"}}, section.title).newline();
    page.append(std::move(section.body)).close().newline();
  }
  page.close().newline();
  page.open("footer").element("p", "Made by sparkplan " + version_ + ". This page is one file and loads nothing.");
  page.close().newline().close().close().newline();
  return std::move(page).str();
}

std::string shown_time(const std::string& rfc3339) {
  constexpr std::size_t kSeconds = 19;
  if (rfc3339.size() < kSeconds) return "";
  std::string text = rfc3339.substr(0, kSeconds);
  std::replace(text.begin(), text.end(), 'T', ' ');
  return text + " UTC";
}

void write_status(Markup& markup, CheckStatus status) {
  const StatusLook& look = look_of(status);
  markup.open("span", {{"class", "st " + std::string(look.css)}});
  markup.element("span", {{"aria-hidden", "true"}}, look.sign);
  markup.raw(" ").text(look.word).close();
}

void open_table(Markup& markup, Constant css, const std::string& caption, const std::vector<std::string>& columns) {
  markup.open("div", {{"class", "scroll"}, {"role", "region"}, {"aria-label", caption}, {"tabindex", "0"}});
  markup.open("table", {{"class", std::string(css.text())}}).newline();
  markup.element("caption", caption).newline().open("thead").open("tr");
  for (const std::string& column : columns) markup.element("th", {{"scope", "col"}}, column);
  markup.close().close().newline().open("tbody").newline();
}

void close_table(Markup& markup) { markup.close().close().close().newline(); }

void write_row(Markup& markup, const std::vector<std::string>& cells) {
  markup.open("tr");
  for (std::size_t at = 0; at < cells.size(); ++at) {
    if (at == 0) {
      markup.element("th", {{"scope", "row"}}, cells[at]);
    } else {
      markup.element("td", cells[at]);
    }
  }
  markup.close().newline();
}

void add_findings(Page& page, const std::vector<Diagnostic>& diagnostics) {
  if (diagnostics.empty()) return;
  Markup& body = page.section("findings", "Findings");
  open_table(body, "plain", "Findings about the file and the nodes", {"severity", "finding", "what to do"});
  std::size_t shown = 0;
  for (const Diagnostic& one : diagnostics) {
    if (shown == kMostShownFindings || body.size() > kMostSectionBytes) break;
    ++shown;
    std::string place = one.node.empty() ? "" : one.node + ": ";
    if (!one.file.empty() && one.where.known()) place += one.file + ":" + std::to_string(one.where.line) + ": ";
    write_row(body, {std::string(to_string(one.severity)), shown_text(place + one.message, kLongestPageText),
                     shown_text(one.hint, kLongestPageText)});
  }
  close_table(body);
  if (shown < diagnostics.size()) {
    body.element("p", "And " + counted(diagnostics.size() - shown, "more finding") + ": --json has all of them.");
  }
}

}  // namespace sparkplan
