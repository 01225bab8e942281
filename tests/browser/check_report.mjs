// Opens HTML reports in Chromium: no violation that axe-core knows, no script run, no request, in light, dark and print.
//
//   npm install --no-save axe-core playwright-core
//   node tests/browser/check_report.mjs [--shots FOLDER] REPORT.html...
//
// CHROMIUM names the browser if it is not /usr/bin/chromium. Exit status 1 when anything is found.

import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join, resolve } from 'node:path';

const require = createRequire(join(process.cwd(), 'x.js'));
const { chromium } = require('playwright-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

const files = process.argv.slice(2);
const shots = files[0] === '--shots' ? files.splice(0, 2)[1] : '';
if (shots) mkdirSync(shots, { recursive: true });

const VIEWS = [
  { name: 'light', scheme: 'light', media: 'screen', width: 1100 },
  { name: 'dark', scheme: 'dark', media: 'screen', width: 1100 },
  { name: 'phone', scheme: 'light', media: 'screen', width: 390 },
  { name: 'print', scheme: 'dark', media: 'print', width: 800 },
];

async function look(browser, file, view) {
  const problems = [];
  const opened = async (bypassCSP) => {
    const context = await browser.newContext({
      bypassCSP, colorScheme: view.scheme, viewport: { width: view.width, height: 1400 },
    });
    const page = await context.newPage();
    page.on('dialog', (d) => { problems.push(`a script ran: ${d.message()}`); d.dismiss(); });
    page.on('request', (r) => { if (!r.url().startsWith('file:')) problems.push(`a request: ${r.url()}`); });
    page.on('console', (m) => problems.push(`the browser says: ${m.text()}`));
    await page.goto(`file://${resolve(file)}`);
    await page.emulateMedia({ media: view.media, colorScheme: view.scheme });
    return page;
  };
  // as a reader opens it: the page's own policy holds, and its style is applied
  const page = await opened(false);
  const found = await page.evaluate(() => ({
    scripts: document.scripts.length,
    back: getComputedStyle(document.body).backgroundColor,
    wider: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  }));
  if (found.scripts) problems.push(`${found.scripts} scripts in the page`);
  if (found.back === 'rgba(0, 0, 0, 0)') problems.push('its style is not applied');
  if (found.wider > 0) problems.push(`it is ${found.wider} pixels wider than the window`);
  if (shots) await page.screenshot({ path: join(shots, `${basename(file, '.html')}-${view.name}.png`) });
  // axe-core is a script, so the policy has to be put aside for it
  const judged = await opened(true);
  await judged.evaluate(axe);
  const result = await judged.evaluate(() => axe.run());
  for (const v of result.violations) problems.push(`axe ${v.id} (${v.nodes.length}): ${v.nodes[0].html.slice(0, 120)}`);
  return problems;
}

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'],
});
let bad = 0;
for (const file of files) {
  for (const view of VIEWS) {
    const problems = await look(browser, file, view);
    bad += problems.length;
    console.log(`${problems.length ? 'FAIL' : 'ok  '} ${basename(file)} ${view.name}`);
    for (const p of [...new Set(problems)]) console.log(`     ${p}`);
  }
}
await browser.close();
process.exit(bad ? 1 : 0);
