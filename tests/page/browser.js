// Opens pages of sparkplan in headless Chromium and checks them. Called by check.sh.
//   node browser.js CHROMIUM SCREENSHOTS PAGE.html...
// The last line is "N passed, N failed, N skipped".
'use strict';
const fs = require('fs');
const path = require('path');
const {pathToFileURL} = require('url');
const puppeteer = require('puppeteer-core');

const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const LARGEST_PAGE = 2000000;
const WIDTHS = [1280, 400];
const SCHEMES = ['light', 'dark'];
const LONGEST_STEP_MS = 120000;

const [chromium, screenshots, ...files] = process.argv.slice(2);
let passed = 0;
let failed = 0;

function check(name, complaints) {
  if (complaints.length === 0) {
    ++passed;
    return;
  }
  ++failed;
  console.log(`FAILED: ${name}`);
  for (const complaint of complaints.slice(0, 20)) console.log(`  ${complaint}`);
}

// A fresh tab that collects every error, and every request except the one for the page itself.
async function openPage(browser, file, {width, scheme, script}) {
  const tab = await browser.newPage();
  tab.setDefaultTimeout(LONGEST_STEP_MS);
  const address = pathToFileURL(file).href;
  const complaints = [];
  tab.on('console', (message) => complaints.push(`console: ${message.text()}`));
  tab.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
  tab.on('request', (request) => {
    if (request.url() !== address) complaints.push(`request: ${request.url().slice(0, 200)}`);
  });
  await tab.setViewport({width, height: 900});
  await tab.setJavaScriptEnabled(script);
  await tab.emulateMediaFeatures([{name: 'prefers-color-scheme', value: scheme}]);
  await tab.goto(address, {waitUntil: 'load'});
  return {tab, complaints};
}

async function seriousFindings(tab) {
  // As an expression of the DevTools protocol: the page's own policy forbids script elements.
  await tab.evaluate(axe);
  const result = await tab.evaluate(() => globalThis.axe.run(document, {resultTypes: ['violations']}));
  return result.violations.filter((one) => one.impact === 'serious' || one.impact === 'critical')
      .flatMap((one) => one.nodes.slice(0, 5).map((node) =>
        `${one.id} (${one.impact}): ${node.target.join(' ').slice(0, 150)}: ` +
        (node.failureSummary || one.help).replace(/\s+/g, ' ').slice(0, 250)));
}

// Wide tables and drawings scroll within their own region, never the page.
async function layoutFaults(tab) {
  return tab.evaluate(() => {
    const faults = [];
    const root = document.documentElement;
    if (root.scrollWidth > root.clientWidth) {
      faults.push(`the page is ${root.scrollWidth} px wide in a window of ${root.clientWidth} px`);
    }
    for (const drawing of document.querySelectorAll('svg')) {
      const texts = [...drawing.querySelectorAll('text')].filter((text) => text.textContent.trim() !== '');
      const frame = drawing.getBoundingClientRect();
      if (frame.width === 0) continue; // In a closed element details.
      const boxes = texts.slice(0, 300).map((text) => text.getBoundingClientRect());
      const name = (i) => JSON.stringify(texts[i].textContent.slice(0, 60));
      for (let i = 0; i < boxes.length; ++i) {
        if (boxes[i].left < frame.left - 1 || boxes[i].right > frame.right + 1 ||
            boxes[i].top < frame.top - 1 || boxes[i].bottom > frame.bottom + 1) {
          faults.push(`${name(i)} leaves its drawing`);
        }
        for (let j = i + 1; j < boxes.length; ++j) {
          const across = Math.min(boxes[i].right, boxes[j].right) - Math.max(boxes[i].left, boxes[j].left);
          const down = Math.min(boxes[i].bottom, boxes[j].bottom) - Math.max(boxes[i].top, boxes[j].top);
          if (across > 2 && down > 3) faults.push(`${name(i)} and ${name(j)} overlap`);
        }
      }
    }
    return faults;
  });
}

// Tab reaches each link, each summary and each region that scrolls, and shows where it is.
async function keyboardFaults(tab) {
  const wanted = await tab.evaluate(() => [...document.querySelectorAll('a[href], summary, [tabindex="0"]')]
      .filter((one) => one.checkVisibility()).length);
  const most = Math.min(wanted, 60);
  for (let reached = 0; reached < most; ++reached) {
    await tab.keyboard.press('Tab');
    const fault = await tab.evaluate(() => {
      const now = document.activeElement;
      if (now === null || now === document.body) return 'Tab does not reach every element';
      const shown = getComputedStyle(now).outlineStyle !== 'none';
      return shown ? '' : `no outline shows the focus on ${now.outerHTML.slice(0, 80)}`;
    });
    if (fault !== '') return [fault];
  }
  return [];
}

// What is folded must be as good as the rest.
async function unfold(tab) {
  await tab.evaluate(() => {
    for (const one of document.querySelectorAll('details')) one.open = true;
  });
}

async function checkScreen(browser, file, name, width, scheme) {
  const what = `${name}, ${width} px, ${scheme}`;
  const {tab, complaints} = await openPage(browser, file, {width, scheme, script: true});
  const withScript = await tab.evaluate(() => document.body.innerText);
  await unfold(tab);
  check(`${what}: layout`, await layoutFaults(tab));
  check(`${what}: axe-core`, await seriousFindings(tab));
  if (width === WIDTHS[0] && scheme === SCHEMES[0]) check(`${what}: keyboard`, await keyboardFaults(tab));
  if (screenshots !== '') {
    await tab.evaluate(() => {
      document.activeElement.blur();
      scrollTo(0, 0);
    });
    await tab.screenshot({path: path.join(screenshots, `${name}-${width}-${scheme}.png`), fullPage: true});
  }
  await tab.close();
  const without = await openPage(browser, file, {width, scheme, script: false});
  const text = await without.tab.evaluate(() => document.body.innerText);
  if (text !== withScript || text === '') complaints.push('the text without JavaScript differs');
  await without.tab.close();
  check(`${what}: no error, no request, the same without JavaScript`, complaints.concat(without.complaints));
}

async function checkPaper(browser, file, name) {
  // Who prints a dark page wants dark ink on white paper.
  const {tab, complaints} = await openPage(browser, file, {width: WIDTHS[0], scheme: 'dark', script: false});
  const pdf = await tab.pdf({format: 'A4', timeout: LONGEST_STEP_MS});
  if (screenshots !== '') fs.writeFileSync(path.join(screenshots, `${name}.pdf`), pdf);
  await tab.emulateMediaType('print');
  const paper = await tab.evaluate(() => getComputedStyle(document.body).backgroundColor);
  if (paper !== 'rgb(255, 255, 255)') complaints.push(`the paper is ${paper}`);
  if (Buffer.from(pdf.slice(0, 5)).toString() !== '%PDF-') complaints.push('no PDF');
  await tab.close();
  check(`${name}: printed`, complaints);
}

async function main() {
  const browser = await puppeteer.launch({
    executablePath: chromium,
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--no-first-run'],
    protocolTimeout: LONGEST_STEP_MS,
  });
  try {
    for (const file of files) {
      const name = path.basename(file, '.html');
      const size = fs.statSync(file).size;
      check(`${name}: smaller than ${LARGEST_PAGE} bytes`, size < LARGEST_PAGE ? [] : [`it has ${size} bytes`]);
      for (const width of WIDTHS) {
        for (const scheme of SCHEMES) await checkScreen(browser, file, name, width, scheme);
      }
      await checkPaper(browser, file, name);
    }
  } finally {
    await browser.close();
  }
}

main().catch((error) => check('the browser', [String(error)])).finally(() => {
  console.log(`${passed} passed, ${failed} failed, 0 skipped`);
  process.exitCode = failed === 0 ? 0 : 1;
});
