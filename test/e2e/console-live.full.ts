import t from 'tap'
import { goTo, noConsole, openConsole, sharedConsole } from '../support/console.ts'
import { until } from '../support/program.ts'

/** Lists that follow what arrives: what is live, what is held, and what has left the table. */

const skip = noConsole
const consoleWindow = sharedConsole()
t.afterEach(consoleWindow.leave)

/** More rows than this leave a live table at its end. */
const TABLE_ROWS_MAX = 500

const logBatch = async (source: string, count: number) => {
  const { call } = await consoleWindow.scene()
  const items = Array.from({ length: count }, () => ({ source, payload: {} }))
  await call('POST', '/v0/prospect_logs/batch', { items })
}

// It comes first, because it ends with a tenant that has no activities.
t.test('the newest activity is named after an erasure, until none is left', { skip }, async (t) => {
  const { call, log } = await consoleWindow.scene()
  const erase = (prospectId: string | undefined) => call('POST', '/v0/erasures', { prospectId })
  const prospectIds: string[] = []
  for (let n = 0; n < 12; n++) prospectIds.push((await log({ email: `${n}@example.com` })).body.prospectId)
  const { page, shows } = await consoleWindow.open('now')
  const rows = page.locator('table.activities tbody tr')
  await shows('by 11@example.com')

  await erase(prospectIds[5])
  await rows.getByText('1@example.com', { exact: true }).waitFor()
  t.match(await page.locator('.lead.muted').textContent(), 'by 11@example.com', 'an older one was erased')

  await erase(prospectIds[11])
  await shows('by 10@example.com')

  for (const prospectId of prospectIds) await erase(prospectId)
  await shows('Nothing has arrived yet')
  t.equal(await rows.count(), 0)
})

t.test('a name that becomes known is shown in earlier and later rows', { skip }, async (t) => {
  const { log } = await consoleWindow.scene()
  const logOfOnePerson = (activity: object) => log({ externalId: 'u-1', ...activity })
  await logOfOnePerson({ type: 'one' })
  const { page, shows } = await consoleWindow.open('activity')
  await shows('no name yet')

  await logOfOnePerson({ type: 'two', name: 'Nina' })
  await shows('Nina')

  await logOfOnePerson({ type: 'three' })
  const row = page.locator('tbody tr', { hasText: 'three' })
  await row.getByText('Nina').waitFor()
  t.pass('it is shown')
})

t.test('a corrected name is shown in the rows of earlier activities', { skip }, async (t) => {
  const { call, log } = await consoleWindow.scene()
  const { prospectId } = (await log({ email: 'old@example.com', name: 'Old Name' })).body
  await call('PATCH', `/v0/prospects/${prospectId}`, { name: 'New Name' })
  const { page } = await consoleWindow.open('activity')
  await page.locator('tbody tr .who', { hasText: 'New Name' }).waitFor()
  t.equal(await page.getByText('Old Name').count(), 0)
})

t.test('activities that have left a full table can still be reached', { skip }, async (t) => {
  const { page } = await consoleWindow.open('activity?source=flood')
  const rows = page.locator('table.activities tbody tr')
  let logged = 0
  // An empty table takes no more than one slice at once, so the first batch is small.
  for (const count of [40, 200, 200, 200]) {
    await logBatch('flood', count)
    logged += count
    const shown = Math.min(logged, TABLE_ROWS_MAX)
    await until(`${shown} rows are shown`, async () => (await rows.count()) === shown)
  }

  await page.getByRole('button', { name: `Continue from the oldest of ${TABLE_ROWS_MAX} rows` }).click()

  await until('other rows are shown', async () => (await rows.count()) < TABLE_ROWS_MAX)
  await rows.first().waitFor()
  t.match(page.url(), 'until=')
})

t.test('deliveries are held, not live, once older ones were loaded', { skip }, async (t) => {
  const { call } = await consoleWindow.scene()
  const endpoint = { url: 'http://127.0.0.1:9/' }
  const { webhookEndpointId } = (await call('POST', '/v0/webhook_endpoints', endpoint)).body
  await logBatch('crm', 60)
  const { page } = await consoleWindow.open(`webhooks/${webhookEndpointId}`)

  await page.getByRole('button', { name: 'Load older' }).click()

  await page.locator('.live', { hasText: 'paused while you read' }).waitFor()
  const sliceRows = 50
  t.ok((await page.locator('main tbody tr').count()) > sliceRows)
  await call('DELETE', `/v0/webhook_endpoints/${webhookEndpointId}`)
})

t.test('a list that is resumed while a row is open is held, not live', { skip }, async (t) => {
  const { page, log, shows } = await consoleWindow.open('activity')
  await log({ email: 'resumed@example.com' })
  await page.locator('tbody .open').first().click()
  await shows('paused while you read')
  await page.getByRole('button', { name: 'Pause', exact: true }).click()
  await shows('paused')

  await page.getByRole('button', { name: 'Resume', exact: true }).click()

  t.equal(await page.locator('.live').textContent(), 'paused while you read')
})

t.test('a hook has received only what came through it', { skip }, async (t) => {
  const { call, log } = await consoleWindow.scene()
  const { hookId } = (await call('POST', '/v0/hooks', { source: 'shared', verify: { token: true } })).body
  const { page, shows } = await consoleWindow.open(`sources/${hookId}`)

  await log({ source: 'shared', email: 'beside@example.com' })

  await shows('Last activity of this source')
  await page.waitForResponse((response) => response.status() === 304)
  t.match(await page.locator('.lead').textContent(), 'waiting')
  t.match(await page.locator('.facts').first().textContent(), 'Last receivednever')
})

t.test('activities too long for one slice are all shown', { skip }, async () => {
  const { page, log, shows } = await consoleWindow.open('activity?type=long')
  await shows('No activity fits these filters.')
  const rows = page.locator('table.activities > tbody > tr')
  // No two of them fit one slice.
  const logLong = () => log({ type: 'long', payload: { text: 'x'.repeat(700_000) } })
  await logLong()
  await until('the first is shown', async () => (await rows.count()) === 1)

  for (let n = 0; n < 3; n++) await logLong()

  await until('all are shown', async () => (await rows.count()) === 4)
})

t.test('a list whose key is limited says that it waits, and then goes on', { skip }, async (t) => {
  const { page, shows } = await consoleWindow.open('activity')
  const limited = { status: 429, headers: { 'retry-after': '1' }, body: '{"code":"rate_limited"}' }
  await page.route('**/v0/prospect_logs?**', (route) => route.fulfill(limited), { times: 1 })

  await shows('too many requests, waiting')

  await page.locator('.live', { hasText: /^live$/ }).waitFor()
  t.pass('it is live again')
})

t.test('nothing is requested while a list is paused or its window is hidden', { skip }, async (t) => {
  const { server, browser, apiKey } = await consoleWindow.scene()
  // A window of its own, because its clock is stopped.
  const { page, wrong } = await openConsole(t, browser, server.url, { key: apiKey })
  await page.clock.install({ time: new Date() })
  await goTo(page, 'activity')
  let requests = 0
  page.on('request', () => requests++)
  await page.clock.runFor(2_000)
  await until('the list is requested', () => requests > 0)

  await page.getByRole('button', { name: 'Pause', exact: true }).click()
  // A request that was in flight has left by now.
  await page.waitForTimeout(100)
  requests = 0
  await page.clock.runFor(20_000)
  t.equal(requests, 0, 'paused')

  await page.getByRole('button', { name: 'Resume', exact: true }).click()
  await page.evaluate(`Object.defineProperty(document, 'hidden', { value: true, configurable: true })`)
  await page.clock.runFor(4_000)
  requests = 0
  await page.clock.runFor(20_000)
  t.equal(requests, 0, 'hidden')

  await page.evaluate(`delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))`)
  await until('the list is requested again', () => requests > 0)
  t.strictSame(wrong, [])
})

t.test('today’s people and activities are beside those of yesterday', { skip }, async (t) => {
  const { page, log, shows } = await consoleWindow.open('now')
  await log({ email: 'counted@example.com' })
  const at = (hours: number) => {
    const date = new Date()
    date.setUTCHours(hours, 0, 0, 0)
    return date.toISOString()
  }
  const countOf = (hours: number, count: number, newProspects: number) => {
    return { at: at(hours), source: 'crm', type: 'webhook', count, newProspects }
  }
  const items = [countOf(-24, 30, 10), countOf(-1, 1_170, 32), countOf(0, 1_234, 5)]
  await page.route('**/prospect_log_counts?by=hour*', (route) =>
    route.fulfill({ json: { items, countedUntil: new Date().toISOString() } }),
  )
  await consoleWindow.open('activity')
  await consoleWindow.open('now')
  await shows('Activities today (UTC)')

  const text = await page.locator('.tiles').innerText()
  t.match(text, /New people today \(UTC\)\s+5\s+yesterday 42/)
  t.match(text, /Activities today \(UTC\)\s+1,234\s+yesterday 1,200/)
})

t.test('a source keeps its colour in the chart, however much it sent', { skip }, async (t) => {
  const { page, log } = await consoleWindow.open('now')
  await log({ email: 'coloured@example.com' })
  const showCounts = async (counts: Readonly<Record<string, number>>) => {
    const items = Object.entries(counts).map(([source, count]) => {
      return { at: new Date().toISOString(), source, type: 'webhook', count, newProspects: 0 }
    })
    await page.unroute('**/prospect_log_counts?*')
    await page.route('**/prospect_log_counts?*', (route) =>
      route.fulfill({ json: { items, countedUntil: new Date().toISOString() } }),
    )
    await consoleWindow.open('activity')
    await consoleWindow.open('now')
    const legend = page.locator('.legend > span')
    await legend.filter({ hasText: Object.keys(counts)[0] ?? '' }).waitFor()
    const parts = await legend.evaluateAll((spans) =>
      spans.map((span) => [span.textContent, span.firstElementChild?.className]),
    )
    return Object.fromEntries(parts)
  }
  const colours = await showCounts({ shop: 9, form: 5, crm: 1 })
  t.equal(new Set(Object.values(colours)).size, 3)
  t.strictSame(await showCounts({ crm: 90, form: 50, shop: 10 }), colours)
})

t.test('an erasure needs attention only while it does more than wait', { skip }, async (t) => {
  const { page, log } = await consoleWindow.open('activity')
  await log({ email: 'erased@example.com' })
  const erasureWaitingFor = (waitingFor: string | null, logsErased: number) => {
    return {
      status: 'processing',
      waitingFor,
      logsErased,
      requestedAt: new Date().toISOString(),
      prospectId: 'x',
    }
  }
  const items = [erasureWaitingFor('second_pass', 3), erasureWaitingFor(null, 7)]
  await page.route('**/erasures?*', (route) => route.fulfill({ json: { items, hasMore: false } }))
  await consoleWindow.open('now')
  const erasing = page.locator('.attention li', { hasText: 'is being erased' })
  await erasing.first().waitFor()
  t.equal(await erasing.count(), 1)
  t.match(await erasing.innerText(), '7 activities are deleted already')
})

t.test('a view that takes long is outlined until it is there', { skip }, async (t) => {
  const { page } = await consoleWindow.open('now')
  const released = Promise.withResolvers<void>()
  await page.route('**/prospects?**', async (route) => {
    await released.promise
    await route.continue().catch(() => {})
  })
  await page.evaluate(`location.hash = '#/people'`)

  await page.locator('.outline h1', { hasText: 'People' }).waitFor()

  released.resolve()
  await page.locator('main .view h1', { hasText: 'People' }).waitFor()
  t.equal(await page.locator('.outline').count(), 0)
})
