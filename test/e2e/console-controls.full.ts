import t from 'tap'
import { noConsole, openConsole, PHONE, press, sharedConsole } from '../support/console.ts'
import { until } from '../support/program.ts'

/** Forms, filters, menus and buttons to copy. */

const skip = noConsole
const consoleWindow = sharedConsole()
t.afterEach(consoleWindow.leave)

t.test('the name typed for a source stays when the vendor is chosen', { skip }, async (t) => {
  const { page } = await consoleWindow.open('sources')
  await page.getByRole('button', { name: 'Connect a form' }).click()
  await page.locator('dialog [name=source]').fill('my shop')

  await page.locator('dialog [name=vendor]').selectOption('shopify')

  t.equal(await page.locator('dialog [name=source]').inputValue(), 'my shop')
})

t.test('a search can be repeated with the same words', { skip }, async (t) => {
  const { page, log, shows } = await consoleWindow.open('people')
  await page.locator('[name=q]').fill('later@example.com')
  await page.keyboard.press('Enter')
  await shows('No one whose name, last name or email begins like this, or who has this external ID.')
  await log({ email: 'later@example.com', name: 'Later' })

  await page.getByRole('button', { name: 'Search' }).click()

  await shows('Later')
  t.pass('the person is found')
})

t.test('a person is found by an external id that looks like one of our ids', { skip }, async (t) => {
  const { page, call, shows } = await consoleWindow.open('people')
  await call('POST', '/v0/prospects', { externalId: 'prospect_4711', name: 'Pia' })

  await page.locator('[name=q]').fill('prospect_4711')
  await page.keyboard.press('Enter')

  await shows('Pia')
  t.pass('the person is found')
})

t.test('an activity copied as curl names the same person', { skip }, async (t) => {
  const { log } = await consoleWindow.scene()
  const { prospectLogId } = (await log({ externalId: 'crm-4711' })).body
  const { page } = await consoleWindow.open(`activity/${prospectLogId}`)
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])

  await page.getByRole('button', { name: 'Copy as curl' }).click()

  await page.getByText('Copied.').waitFor()
  t.match(await page.evaluate('navigator.clipboard.readText()'), '"externalId":"crm-4711"')
})

t.test('the menu button of a phone tells a screen reader whether the menu is open', { skip }, async (t) => {
  const { browser, server, apiKey } = await consoleWindow.scene()
  const { page } = await openConsole(t, browser, server.url, { key: apiKey, viewport: PHONE })
  const menu = page.getByRole('button', { name: 'Menu' })
  await menu.click()
  t.equal(await menu.getAttribute('aria-expanded'), 'true')

  await page.locator('nav [data-view=people]').click()

  await page.locator('nav').waitFor({ state: 'hidden' })
  t.equal(await menu.getAttribute('aria-expanded'), 'false')
})

t.test('a time is searched for once it is typed to its end', { skip }, async (t) => {
  const { page } = await consoleWindow.open('activity?since=2026-11-20T10:45:00.000Z')
  const since = page.locator('[name=since]')
  await until('the field is filled in', async () => (await since.inputValue()) !== '')
  const typedBefore = await since.inputValue()
  // The minutes are the fifth part of the field, after the month, the day, the year and the hour.
  await since.focus()
  await press(page, 'ArrowRight', 'ArrowRight', 'ArrowRight', 'ArrowRight')

  await press(page, '3')
  t.match(await page.evaluate('decodeURIComponent(location.hash)'), /since=2026-11-20T10:45/, 'not yet')

  await press(page, '0')
  const typed = typedBefore.replace(/..$/, '30')
  t.equal(await since.inputValue(), typed)
  await press(page, 'Enter')
  const searched = new Date(typed).toISOString()
  await until('the new time is in the address', () =>
    decodeURIComponent(page.url()).endsWith(`since=${searched}`),
  )
})

t.test('a long answer of a receiver is wrapped, so that all of it can be read', { skip }, async (t) => {
  const { page, call, log } = await consoleWindow.open('webhooks')
  const endpoints = '/v0/webhook_endpoints'
  const { webhookEndpointId } = (await call('POST', endpoints, { url: 'http://127.0.0.1:9/' })).body
  await log({ email: 'answer@example.com' })
  const [{ eventId }] = (await call('GET', `${endpoints}/${webhookEndpointId}/deliveries`)).body.items
  // The service does not keep what receivers on its own machine answer, so the test puts an answer in.
  await page.route(`**/${eventId}`, async (route) => {
    const delivery = await (await route.fetch()).json()
    const attempt = {
      at: delivery.createdAt,
      ms: 1,
      status: 500,
      error: 'The receiver answered 500.',
      answer: `the signature is wrong: ${'x'.repeat(900)}`,
    }
    await route.fulfill({ json: { ...delivery, lastAttempts: [attempt] } })
  })

  await page.evaluate(`location.hash = '#/webhooks/${webhookEndpointId}/${eventId}'`)

  const cell = page.locator('td', { hasText: 'the signature is wrong' })
  t.ok(await cell.evaluate(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth))
  await call('DELETE', `${endpoints}/${webhookEndpointId}`)
})

t.test('an activity links to the page it names, if the page belongs to this tenant', { skip }, async (t) => {
  const { page, call, log, wrong } = await consoleWindow.open('activity?source=web')
  const group = await call('POST', '/v0/page_groups', { name: 'autumn', title: 'Autumn' })
  const { pageGroupId } = group.body
  const created = await call('POST', `/v0/page_groups/${pageGroupId}/pages`, { customName: 'Asters' })
  const { pageId } = created.body
  const unknownPageId = `page_${'0'.repeat(26)}`
  await log({ source: 'web', email: 'eve@example.com', payload: { pageId: unknownPageId } })
  // The console looks for a page in the whole payload, not only at its beginning.
  await log({ source: 'web', email: 'ida@example.com', payload: { first: 'x'.repeat(300), pageId } })

  const link = page.locator('tr', { hasText: 'ida@example.com' }).getByRole('link', { name: 'Asters' })
  await link.waitFor()
  t.equal(await page.getByRole('link', { name: 'Asters' }).count(), 1, 'the other activity has no link')
  await link.click()

  await page.getByRole('heading', { name: 'Asters' }).waitFor()
  t.match(page.url(), `#/pages/${pageGroupId}/${pageId}`)
  t.strictSame(wrong, [])
})

t.test('a double click on a version opens and closes it, and takes no other away', { skip }, async (t) => {
  const { call } = await consoleWindow.scene()
  const { pageGroupId } = (await call('POST', '/v0/page_groups', { name: 'a', title: 'A' })).body
  const pagesPath = `/v0/page_groups/${pageGroupId}/pages`
  const { pageId } = (await call('POST', pagesPath, {})).body
  for (let n = 0; n < 2; n++) await call('POST', `${pagesPath}/${pageId}/versions`, {})
  const { page, wrong } = await consoleWindow.open(`pages/${pageGroupId}/${pageId}`)
  const openers = page.locator('main tbody [data-row]')
  await until('three versions are shown', async () => (await openers.count()) === 3)

  await openers.first().dblclick()

  const saysWhatIsShown = async () => {
    const isExpanded = (await openers.first().getAttribute('aria-expanded')) === 'true'
    return isExpanded === (await page.locator('.detail').isVisible())
  }
  await until('the version says whether it is open', saysWhatIsShown)
  t.equal(await openers.count(), 3)
  t.strictSame(wrong, [])
})

t.test('the fields of a payload are shown with their names, and as JSON on demand', { skip }, async (t) => {
  const { log } = await consoleWindow.scene()
  const answers = Object.fromEntries(Array.from({ length: 25 }, (_, n) => [`q${n}`, `answer ${n}`]))
  const payload = {
    phone: '0171 1',
    address: { city: 'Berlin' },
    likes: ['tulips', 'roses'],
    none: null,
    answers,
  }
  const { prospectLogId, prospectId } = (await log({ email: 'fields@example.com', payload })).body
  const { page, wrong } = await consoleWindow.open(`activity/${prospectLogId}`)
  const detail = page.locator('.detail')
  const fields = detail.locator('dl').first()

  t.match(
    await fields.innerText(),
    /phone\s+0171 1\s+address › city\s+Berlin\s+likes\s+tulips, roses\s+answers › q0/,
  )
  t.equal(await detail.locator('pre').count(), 0, 'no JSON')
  await detail.getByRole('button', { name: 'Show 8 more' }).click()
  t.match(await fields.innerText(), /answers › q24\s+answer 24$/)
  await detail.getByRole('button', { name: 'Show as JSON' }).click()
  t.match(await detail.locator('pre').textContent(), '"none": null')

  await page.evaluate(`location.hash = '#/people/${prospectId}'`)
  await page.locator('.timeline .pair', { hasText: 'phone 0171 1' }).waitFor()
  t.strictSame(wrong, [])
})

t.test('activities are filtered by presets of time and by sources to choose from', { skip }, async (t) => {
  const { log } = await consoleWindow.scene()
  await log({ source: 'tulips', type: 'form_submitted', email: 'tulip@example.com' })
  await log({ source: 'roses', type: 'page_viewed', email: 'rose@example.com' })
  const { page, wrong } = await consoleWindow.open('activity')
  const rows = page.locator('table.activities > tbody > tr')

  await page.getByLabel('Source', { exact: true }).selectOption('tulips')
  await until('only that source is shown', async () => (await rows.count()) === 1)
  t.strictSame(await page.getByLabel('Type', { exact: true }).locator('option').allTextContents(), [
    'all types',
    'form (form_submitted)',
  ])
  await page.getByLabel('Time', { exact: true }).selectOption('Yesterday')
  await page.getByText('No activity fits these filters.').waitFor()
  t.match(page.url(), /span=yesterday/)
  await page.getByRole('button', { name: 'Show any time' }).click()
  await until('it is shown again', async () => (await rows.count()) === 1)
  await page.getByRole('button', { name: 'Show all sources' }).click()
  await page.getByText('rose@example.com').waitFor()
  t.strictSame(wrong, [])
})

t.test('times are days and hours, with the exact time on demand', { skip }, async (t) => {
  const { log } = await consoleWindow.scene()
  await log({ email: 'when@example.com' })
  const { page } = await consoleWindow.open('activity')
  const when = page.locator('tr', { hasText: 'when@example.com' }).locator('time').first()
  t.match(await when.textContent(), /^today, \d\d:\d\d$/)
  t.match(await when.getAttribute('title'), /^\w+, \d+ \w+ \d{4} at \d\d:\d\d:\d\d UTC$/)
})
