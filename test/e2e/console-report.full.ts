import type { Page } from 'playwright-core'
import t from 'tap'
import { sqliteStore } from '../../src/adapters/sqlite/store.ts'
import { readMigrations } from '../../src/adapters/stores/migrations.ts'
import type { ProspectCount } from '../../src/core/ports/prospect-counts.ts'
import {
  fits,
  namelessIn,
  noConsole,
  PHONE,
  paleIn,
  sharedConsole,
  TABLET,
  WIDE,
} from '../support/console.ts'

/** Which page and which source bring people, from the form to the report. */

const skip = noConsole
const consoleWindow = sharedConsole()
t.afterEach(consoleWindow.leave)

const DAY_MS = 86_400_000
const today = () => Math.floor(Date.now() / DAY_MS)
const newCount = (fields: Partial<ProspectCount>): ProspectCount => ({
  kind: 'page',
  name: '',
  day: today(),
  daysSince: 32,
  count: 1,
  newProspects: 0,
  ...fields,
})

/** Saves counts as the server does, which takes it about a minute. */
const saveCounts = async (addProspects: readonly ProspectCount[]): Promise<void> => {
  const { env, tenantId } = await consoleWindow.scene()
  const path = String(env.DATABASE_URL).slice('sqlite:'.length)
  const store = sqliteStore({ path, busyMsMax: 5_000 }, readMigrations('sqlite'))
  await store.counts.markRead(tenantId, new Date().toISOString())
  const { position } = (await store.counts.find(tenantId)) ?? { position: '' }
  const moved = { tenantId, from: position, to: position, removeFrom: null }
  await store.counts.record({ ...moved, add: [], addProspects, addDays: [] })
  await store.close()
}

const newPage = async (customName: string): Promise<string> => {
  const { call, pageGroupId } = await consoleWindow.scene()
  const { body } = await call('POST', `/v0/page_groups/${pageGroupId}/pages`, { customName })
  return body.pageId
}

/** The rows of the report as a reader sees them, without what only screen readers say. */
const rowsOf = (page: Page) =>
  page.locator('table.report tbody tr').evaluateAll((rows) =>
    rows.map((row) => {
      const copy = row.cloneNode(true) as typeof row
      for (const hidden of copy.querySelectorAll('.unseen')) hidden.remove()
      return [...copy.children].map((cell) => cell.textContent?.trim()).join(' | ')
    }),
  )

const HOSTILE = '"><b>Roses</b>'
let filled: Promise<{ readonly tulips: string }> | undefined
/** Two pages, one that was deleted, others, and 120 sources, in two weeks. */
const withCounts = () => {
  const fill = async () => {
    const tulips = await newPage('Tulips')
    const roses = await newPage(HOSTILE)
    const lastWeek = today() - 7
    const sources = Array.from({ length: 120 }, (_, n) =>
      newCount({ kind: 'source', name: `form ${n}`, count: 1 + n, newProspects: n < 30 ? 1 : 0 }),
    )
    await saveCounts([
      newCount({ name: tulips, count: 1_024, newProspects: 20 }),
      newCount({ name: tulips, count: 76, daysSince: 0 }),
      newCount({ name: tulips, day: lastWeek, count: 1_019, newProspects: 20 }),
      newCount({ name: roses, count: 2, newProspects: 1 }),
      newCount({ name: roses, day: lastWeek, count: 5, newProspects: 5 }),
      newCount({ name: 'page_01m80svmg3famzz4r9wksv0faa', day: lastWeek, count: 3 }),
      newCount({ name: '', count: 9, daysSince: 0, newProspects: 1 }),
      ...sources,
    ])
    return { tulips }
  }
  filled ??= fill()
  return filled
}

t.test(
  'pages are compared by name with the week before, those with the most people first',
  { skip },
  async (t) => {
    const { page, wrong, shows } = await consoleWindow.open('report')
    await shows('No activity named a page')
    t.match(await page.getByRole('group', { name: 'A field' }).textContent(), 'name="pageId"')
    const { tulips } = await withCounts()
    await consoleWindow.open('pages')
    await consoleWindow.open('report')

    await shows('Tulips')
    const rows = await rowsOf(page)
    t.match(rows[0], /^Tulipsoffers \| 1,024▲ 5 from 1,019 \| 20= 0 from 20 \| 1,100▲ 81 from 1,019$/)
    t.match(rows[1], /^"><b>Roses<\/b>.* \| 2▼ 3 from 5 \| 1▼ 4 from 5 \| 2▼ 3 from 5$/)
    t.match(rows[2], /^Other pages \| – \| 1▲ 1 from 0 \| 9▲ 9 from 0$/)
    t.match(rows[3], /^page_.* \| 0▼ 3 from 3 \| 0= 0 from 0 \| 0▼ 3 from 3$/)
    t.match(await page.locator('.tiles').innerText(), /All new people\s+30\s+0 in the 7 days before/)
    await shows('The first activity of 8 new people named no page.')
    const cell = page.getByRole('cell', { name: /1,024/ })
    t.match(await cell.textContent(), /, 5 more than the 1,019 in the 7 days before$/)
    const href = await page.getByRole('link', { name: 'Tulips' }).getAttribute('href')
    t.ok(href?.endsWith(tulips), 'a name leads to the page')
    t.strictSame(wrong, [])
  },
)

t.test('the time and the sources are chosen by keyboard, and the address keeps them', { skip }, async (t) => {
  await withCounts()
  const { page, wrong, shows } = await consoleWindow.open('now')
  await page.keyboard.press('g')
  await page.keyboard.press('r')
  await shows('Tulips')
  await page.getByRole('button', { name: 'Today (UTC)' }).focus()
  await page.keyboard.press('Enter')
  await shows('0 yesterday')
  t.match((await rowsOf(page))[0], /^Tulips.* \| 1,024yesterday 0 /)
  await page.getByRole('button', { name: 'Source', exact: true }).focus()
  await page.keyboard.press('Enter')
  await shows('form 119')
  t.match(page.url(), /#\/report\?of=source&span=today$/)
  t.equal((await rowsOf(page)).length, 100, 'a long report begins with its first rows')

  await page.getByRole('button', { name: 'Show all 120' }).focus()
  await page.keyboard.press('Enter')
  await shows('form 0')
  t.equal((await rowsOf(page)).length, 120)
  await page.locator('body').press('j')
  t.equal(await page.evaluate('document.activeElement.textContent'), 'form 119', 'j goes to the first row')
  await page.keyboard.press('Enter')
  await page.waitForURL(/#\/activity\?source=form\+119$/)
  t.strictSame(wrong, [])
})

t.test('the report is saved for spreadsheets as it is chosen', { skip }, async (t) => {
  await withCounts()
  const { page, wrong, shows } = await consoleWindow.open('report?of=page&span=30d')
  await shows('Tulips')
  const downloading = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Save as CSV' }).click()
  const chunks: Buffer[] = []
  for await (const chunk of await (await downloading).createReadStream()) chunks.push(chunk as Buffer)
  const lines = Buffer.concat(chunks).toString().split('\r\n')
  t.equal(
    lines[0],
    '\ufeffPage,People,People before,New people,New people before,Activities,Activities before',
  )
  t.equal(lines[1], 'Tulips,2043,0,40,0,2119,0')
  t.ok(lines.includes('others,,0,1,0,9,0'))
  t.strictSame(wrong, [])
})

t.test('it fits, is readable and has names for its controls, in light and dark', { skip }, async (t) => {
  await withCounts()
  const { page, shows, wrong } = await consoleWindow.open('report')
  await shows('Tulips')
  for (const viewport of [PHONE, { width: 375, height: 700 }, TABLET, WIDE, { width: 1_440, height: 900 }])
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.setViewportSize(viewport)
      await page.emulateMedia({ colorScheme })
      t.ok(await fits(page), `${viewport.width} px, ${colorScheme}`)
      t.strictSame(await paleIn(page), [])
    }
  await page.setViewportSize(WIDE)
  t.strictSame(await namelessIn(page), [])
  t.strictSame(wrong, [])
})

t.test('a form says which page it is on, and its deliveries carry that', { skip }, async (t) => {
  const pageId = await newPage('Herbs')
  const { page, call, wrong, shows } = await consoleWindow.open('sources')
  await page.getByRole('button', { name: 'Connect a form' }).click()
  await page.locator('[name=source]').fill('herbs form')
  await page.locator('[name=pageId]').selectOption({ value: pageId })
  await page.getByRole('button', { name: 'Create the address' }).click()
  const form = String(await page.getByRole('group', { name: 'A form' }).textContent())
  await page.keyboard.press('Escape')
  t.match(form, `<input type="hidden" name="pageId" value="${pageId}">`)

  // The form on a website, sent by a visitor.
  const { server } = await consoleWindow.scene()
  const [, address = ''] = /action="([^"]*)"/.exec(form) ?? []
  t.ok(address.startsWith(server.url))
  const [, name = '', value = ''] = /type="hidden" name="(\w+)" value="(\w+)"/.exec(form) ?? []
  const body = new URLSearchParams({ email: 'ada@example.com', [name]: value })
  t.equal((await fetch(address, { method: 'POST', body })).status, 200)
  const [log] = (await call('GET', '/v0/prospect_logs?source=herbs%20form')).body.items
  t.match(log, { payload: { email: 'ada@example.com', pageId } })
  await shows('Last activity of this source')
  t.strictSame(wrong, [])
})
