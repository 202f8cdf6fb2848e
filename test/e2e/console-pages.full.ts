import t from 'tap'
import { goTo, noConsole, openConsole, press, sharedConsole, tabToText } from '../support/console.ts'
import { until } from '../support/program.ts'

/** Pages: versions that are read, compared and published, contents that are edited as fields, and times that are proposed. */

const skip = noConsole
/** 409: a time is taken by another version. */
const consoleWindow = sharedConsole({ refused: [409] })
t.afterEach(consoleWindow.leave)

const newGroup = async (): Promise<string> => {
  const { call } = await consoleWindow.scene()
  return (await call('POST', '/v0/page_groups', { name: 'spring', title: 'Spring sale' })).body.pageGroupId
}

/** A page with a version for each content, of which the last one is published. */
const newPage = async (groupId: string, ...contents: readonly string[]) => {
  const { call } = await consoleWindow.scene()
  const pagesPath = `/v0/page_groups/${groupId}/pages`
  const [first, ...others] = contents.map((content) => `{"content":${content}}`)
  const { pageId } = (await call('POST', pagesPath, first)).body
  const path = `${pagesPath}/${pageId}`
  for (const version of others) await call('POST', `${path}/versions`, version)
  const published = async () => (await call('GET', path)).body.publishedVersion?.versionNumber
  await until('it is published', async () => (await published()) === contents.length)
  return { path, pageId, address: `pages/${groupId}/${pageId}` }
}

const OLD =
  '{"title":"Tulips","price":14.90,"seo":{"title":"Buy tulips"},"faq":[{"q":"When?","a":"In autumn"}]}'
const NEW = `{"title":"Tulips, cheaper","price":11.90,"seo":{"title":"Buy tulips"},"faq":[{"q":"How deep?","a":"15 cm"},{"q":"When?","a":"In autumn"}],"text":"${'One line.\\n'.repeat(20)}"}`

t.test('a version is opened, read without JSON, and published from there', { skip }, async (t) => {
  const { address } = await newPage(await newGroup(), OLD, NEW)
  const { page, wrong, shows } = await consoleWindow.open(address)
  await tabToText(page, 'Version 1')
  await press(page, 'Enter')

  const detail = page.locator('.detail')
  await detail.waitFor()
  const shown = await detail.innerText()
  t.match(shown, /title\s+Tulips\s+price\s+14\.90\s+seo › title\s+Buy tulips\s+faq › 1 › q\s+When\?/)
  t.notMatch(shown, /[{}"[\]]/)
  t.match(page.url(), /\?version=pageversion_/)

  await detail.getByRole('button', { name: 'Roll back…' }).click()
  await page.getByRole('button', { name: 'Roll back', exact: true }).click()
  await shows('Readers get version 1 now.')
  await detail.getByText('Last published').waitFor()
  t.equal(await detail.getByRole('button', { name: 'Roll back…' }).count(), 0, 'readers have it already')
  t.strictSame(wrong, [])
})

t.test('what is scheduled is unscheduled in the question before a roll back', { skip }, async (t) => {
  const { address, path } = await newPage(await newGroup(), OLD, NEW)
  const { page, call, wrong, shows } = await consoleWindow.open(address)
  const publishAt = new Date(Date.now() + 86_400_000).toISOString()
  await call('POST', `${path}/versions`, { publishAt })
  await shows(/version 3 replaces this\.$/)
  await page.getByRole('button', { name: 'Roll back…' }).click()

  const dialog = page.locator('dialog')
  await dialog.getByRole('button', { name: 'Unschedule version 3' }).click()
  await dialog.getByText('even if you publish').waitFor({ state: 'detached' })
  await dialog.getByRole('button', { name: 'Roll back', exact: true }).click()

  await shows('Readers get version 1 now.')
  t.match((await call('GET', path)).body, { publishedVersion: { versionNumber: 1 } })
  t.strictSame(wrong, [])
})

/** A page with version 2, scheduled for tomorrow. */
const pageWithSchedule = async () => {
  const { address, path } = await newPage(await newGroup(), OLD)
  const { call } = await consoleWindow.scene()
  const publishAt = new Date(Math.ceil(Date.now() / 60_000) * 60_000 + 86_400_000).toISOString()
  await call('POST', `${path}/versions`, { publishAt, content: { title: 'For Monday' } })
  const versions = async () => (await call('GET', `${path}/versions`)).body.items
  await until('it is scheduled', async () => (await versions())[0].status === 'scheduled')
  return { address, path, publishAt, versions }
}

t.test('a scheduled version is edited, and the new one takes its time', { skip }, async (t) => {
  const { address, publishAt, versions } = await pageWithSchedule()
  const { page, wrong, shows } = await consoleWindow.open(address)
  await page.getByRole('button', { name: 'Edit', exact: true }).click()
  const dialog = page.locator('dialog')
  t.equal(await dialog.getByLabel('title').inputValue(), 'For Monday')
  t.ok(await dialog.getByLabel(/^Replace version 2, scheduled for \w+, /).isChecked())
  await dialog.getByLabel('title').fill('For Tuesday')
  await dialog.getByRole('button', { name: 'Schedule', exact: true }).click()

  await shows(/^Version 3 is scheduled for \w+, \d+ \w+, \d\d:\d\d \S+\.$/)
  await until('it is scheduled', async () => (await versions())[0].status === 'scheduled')
  t.match(await versions(), [
    { versionNumber: 3, publishAt },
    { versionNumber: 2, publishAt: null, status: 'ready' },
    { versionNumber: 1 },
  ])
  t.strictSame(wrong, [])
})

t.test(
  'a scheduled version stays scheduled if the one that replaces it is not saved',
  { skip },
  async (t) => {
    const { address, publishAt, versions } = await pageWithSchedule()
    const { page, shows } = await consoleWindow.open(address)
    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    await page.route(/\/versions$/, (route) =>
      route.request().method() === 'POST' ? route.abort() : route.continue(),
    )
    await page.locator('dialog').getByRole('button', { name: 'Schedule', exact: true }).click()

    await shows('Version 2 is scheduled again.')
    t.equal(await page.locator('dialog').count(), 1, 'what was typed stays')
    t.match(await versions(), [{ versionNumber: 2, status: 'scheduled', publishAt }, {}])
  },
)

t.test('a time that another version has is offered in words', { skip }, async (t) => {
  const { address, versions } = await pageWithSchedule()
  const { page, wrong, shows } = await consoleWindow.open(address)
  const dialog = page.locator('dialog')
  const publishAt = (await versions())[0].publishAt
  const local = await page.evaluate((at) => {
    const date = new Date(at)
    return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
  }, publishAt)

  await page.getByRole('button', { name: 'Edit page' }).click()
  await dialog.getByLabel('Publish at …').check()
  await dialog.locator('[name=publishAt]').fill(local)
  await dialog.getByRole('button', { name: 'Schedule', exact: true }).click()
  await shows(/^Version 2 is already scheduled for .* Choose another time, or replace it\.$/)
  t.notMatch(await dialog.innerText(), /schedule_taken|request/)
  await dialog.getByRole('button', { name: 'Replace version 2' }).click()
  await dialog.waitFor({ state: 'detached' })
  await until('it is scheduled', async () => (await versions())[0].status === 'scheduled')
  t.match(await versions(), [{ versionNumber: 3, publishAt }, { publishAt: null }, {}])

  await shows('version 3 is newer and goes live')
  await page.locator('tr', { hasText: 'Version 2' }).getByRole('button', { name: 'Publish…' }).click()
  await dialog.getByLabel('Publish at …').check()
  await dialog.locator('[name=publishAt]').fill(local)
  await dialog.getByRole('button', { name: 'Schedule', exact: true }).click()
  await dialog.getByRole('button', { name: 'Replace version 3' }).click()
  await dialog.waitFor({ state: 'detached' })
  t.match(await versions(), [{ publishAt: null, status: 'ready' }, { publishAt, status: 'scheduled' }, {}])
  t.strictSame(wrong, [])
})

t.test('a draft says which version was saved while it was edited', { skip }, async (t) => {
  const { address, path } = await newPage(await newGroup(), OLD)
  const { page, call, shows } = await consoleWindow.open(address)
  await page.getByRole('button', { name: 'Edit page' }).click()
  const dialog = page.locator('dialog')
  await dialog.getByLabel('Keep as a draft').check()
  await call('POST', `${path}/versions`, { content: {}, publish: false })
  await dialog.getByRole('button', { name: 'Save the draft' }).click()
  await shows(/^Version 3 is saved as a draft\..* Version 2 was saved while you were editing\.$/)
  t.pass('it is shown')
})

t.test('the link to an open version opens it', { skip }, async (t) => {
  const { address, path } = await newPage(await newGroup(), OLD)
  const { page, call } = await consoleWindow.open('now')
  const { versionId } = (await call('GET', path)).body.publishedVersion
  await goTo(page, `${address}?version=${versionId}`)

  await page.locator('.detail').getByText('In autumn').waitFor()
  await page.getByRole('button', { name: 'Version 1' }).click()
  await page.locator('.detail').waitFor({ state: 'detached' })
  t.match(page.url(), /\/page_\w+$/)
})

t.test('what changed is shown field by field, and as JSON only on demand', { skip }, async (t) => {
  const { address } = await newPage(await newGroup(), OLD, NEW)
  const { page, wrong, shows } = await consoleWindow.open(address)
  await page.getByRole('button', { name: 'Compare' }).first().click()
  await shows('What changed from version 1 to version 2')

  const rows = await page.locator('.changes tbody tr').allInnerTexts()
  const cells = rows.map((row) => row.split('\t').map((cell) => cell.trim()))
  t.strictSame(cells.slice(0, 4), [
    ['title changed', 'Tulips', 'Tulips, cheaper'],
    ['price changed', '14.90', '11.90'],
    ['faq › 1 › q added', '–', 'How deep?'],
    ['faq › 1 › a added', '–', '15 cm'],
  ])
  t.match(cells[4]?.[0], 'text added')
  t.equal(cells.length, 5)
  await shows('Unchanged: 3 fields.')
  t.equal(await page.locator('pre').count(), 0)

  await page.getByRole('button', { name: 'Show as JSON' }).click()
  t.match(await page.locator('pre').first().innerText(), '"price": 14.90')
  await page.getByRole('button', { name: 'Close' }).click()
  t.equal(await page.locator('.changes').count(), 0)
  t.strictSame(wrong, [])
})

t.test('of a long text, the lines that differ are shown with those around them', { skip }, async (t) => {
  const lines = Array.from({ length: 30 }, (_, i) => `Line ${i}`)
  const textOf = (lines: readonly string[]) => JSON.stringify({ text: lines.join('\n') })
  const edited = lines.map((line) => (line === 'Line 10' ? 'Another line' : line))
  const { address } = await newPage(await newGroup(), textOf(lines), textOf(edited))
  const { page } = await consoleWindow.open(address)
  await page.getByRole('button', { name: 'Compare' }).first().click()

  const [before, after] = [page.locator('.changes .diff').nth(0), page.locator('.changes .diff').nth(1)]
  t.equal((await before.locator('del').innerText()).trim(), 'Line 10')
  t.equal((await after.locator('ins').innerText()).trim(), 'Another line')
  t.strictSame((await after.innerText()).split('\n').filter(Boolean), [
    '8 unchanged lines',
    'Line 8',
    'Line 9',
    'Another line',
    'Line 11',
    'Line 12',
    '17 unchanged lines',
  ])
})

t.test('nested values and lists are edited as fields, and the others stay unchanged', { skip }, async (t) => {
  const content = `{"price":14.90,"sku":12345678901234567890,"tags":["a","b"],"seo":{"title":"Buy","note":null},"faq":[{"q":"1"},{"q":"2"}],"deep":{"a":{"b":{"c":{"d":{"e":{"f":1}}}}}}}`
  const { address, path } = await newPage(await newGroup(), content)
  const { page, call, wrong, shows } = await consoleWindow.open(address)
  await page.getByRole('button', { name: 'Edit page' }).click()
  const dialog = page.locator('dialog')
  await dialog.getByLabel('seo › title').fill('Buy tulips')
  await dialog.getByLabel('tags').fill('a\n\n b "quoted" \nc')
  await dialog.getByText('deep › a › b › c › d › e is nested too deep for a form').waitFor()

  await dialog.getByLabel('faq › 2 › q').fill('two')
  await dialog.getByRole('button', { name: 'Add to faq' }).click()
  t.ok(await dialog.getByLabel('faq › 3 › q').evaluate((field) => field.matches(':focus')))
  await page.keyboard.type('3')
  await dialog.getByRole('button', { name: 'Remove faq › 1' }).click()
  t.equal(await dialog.getByLabel('faq › 1 › q').inputValue(), 'two')

  await dialog.getByLabel('price').fill('cheap')
  await dialog.getByRole('button', { name: 'Publish' }).click()
  t.equal(
    await dialog.getByLabel('price').evaluate((field) => Reflect.get(field, 'validationMessage')),
    'Write a number such as 14.90.',
  )
  await dialog.getByLabel('price').fill('9.90')
  await dialog.getByRole('button', { name: 'Publish' }).click()
  await shows('Readers get version 2')
  const expected = `{"price":9.90,"sku":12345678901234567890,"tags":["a","b \\"quoted\\"","c"],"seo":{"title":"Buytulips","note":null},"faq":[{"q":"two"},{"q":"3"}],"deep":{"a":{"b":{"c":{"d":{"e":{"f":1}}}}}}}`
  t.match((await call('GET', path)).text.replaceAll(/\s/g, ''), expected.replaceAll(/\s/g, ''))
  t.strictSame(wrong, [])
})

t.test('Enter begins a new line in a text, and sends nothing', { skip }, async (t) => {
  const groupId = await newGroup()
  const { address, path } = await newPage(groupId, '{"body":"One line.","price":1}')
  const { page, call, wrong, shows } = await consoleWindow.open(address)
  await page.getByRole('button', { name: 'Edit page' }).click()
  const dialog = page.locator('dialog')
  const body = dialog.getByLabel('body')
  const heightOf = async () => (await body.boundingBox())?.height ?? 0
  const height = await heightOf()
  await body.press('End')
  await page.keyboard.type('\nAnother one.\n\nAnd a third.')
  t.ok((await heightOf()) > height + 40, 'it grows')

  for (const name of ['price', 'Publish now']) await dialog.getByLabel(name).press('Enter')
  t.equal(await dialog.count(), 1)
  t.equal((await call('GET', `${path}/versions`)).body.items.length, 1)
  await dialog.getByRole('button', { name: 'Publish' }).click()
  await shows('Readers get version 2')
  const { content } = (await call('GET', path)).body.publishedVersion
  t.strictSame(content, { body: 'One line.\nAnother one.\n\nAnd a third.', price: 1 })

  await goTo(page, `pages/${groupId}`)
  await page.getByRole('button', { name: 'New page' }).click()
  await dialog.locator('[name=customName]').press('Enter')
  t.equal(await dialog.count(), 1)
  t.strictSame(wrong, [])
})

t.test('a number that is none does not keep JSON from being saved', { skip }, async (t) => {
  const { address } = await newPage(await newGroup(), '{"price":1}')
  const { page, shows } = await consoleWindow.open(address)
  await page.getByRole('button', { name: 'Edit page' }).click()
  const dialog = page.locator('dialog')
  await dialog.getByLabel('price').fill('cheap')
  await dialog.getByRole('button', { name: 'JSON' }).click()
  await dialog.getByLabel('Content as JSON').fill('{"price":"cheap"}')
  await dialog.getByRole('button', { name: 'Publish' }).click()
  await shows('Readers get version 2')
  t.pass('it is saved')
})

t.test('a new page has the fields of the newest page of its group, and no values', { skip }, async (t) => {
  const groupId = await newGroup()
  const { page, call, shows } = await consoleWindow.open(`pages/${groupId}`)
  const fieldsOfNew = async () => {
    await page.getByRole('button', { name: 'New page' }).click()
    const fields = page.locator('dialog .fields .fields .fields label')
    await fields.first().waitFor()
    const labels = (await fields.allInnerTexts()).map((label) => label.trim().split('\n')[0])
    const values = await fields
      .locator('input:not([type=checkbox]), textarea')
      .evaluateAll((inputs) => inputs.map((input) => Reflect.get(input, 'value')))
    return { labels, values }
  }
  t.strictSame(await fieldsOfNew(), { labels: ['title', 'text'], values: ['', ''] })
  await press(page, 'Escape')

  await newPage(groupId, '{"old":1}')
  await newPage(
    groupId,
    '{"headline":"Tulips","price":14.90,"tags":["a"],"seo":{"title":"Buy"},"isNew":true}',
  )
  // The newest page has no content.
  await call('POST', `/v0/page_groups/${groupId}/pages`, { customName: 'Empty' })
  t.strictSame(await fieldsOfNew(), {
    labels: ['headline', 'price', 'tags', 'seo › title', 'isNew'],
    values: ['', '0', '', ''],
  })
  await shows('The same fields as on Spring sale 2.')
  t.notOk(await page.locator('dialog').getByLabel('isNew').isChecked())
})

t.test('a new page begins with its name, and with its group if there are several', { skip }, async (t) => {
  const groupId = await newGroup()
  const { page, call, wrong } = await consoleWindow.open('now')
  const { body: other } = await call('POST', '/v0/page_groups', { name: 'autumn', title: 'Bulbs' })
  await goTo(page, 'pages')
  await page.getByRole('button', { name: 'New page' }).click()
  const dialog = page.locator('dialog')
  await dialog.getByLabel('In the group').selectOption(groupId)
  await dialog.getByRole('button', { name: 'Next' }).click()
  const name = dialog.getByLabel('Name of the page')
  await name.waitFor()
  await until('the first dialog is closed', async () => (await dialog.count()) === 1)
  t.ok(await name.evaluate((field) => field.matches(':focus')), 'the name comes first')
  await page.keyboard.type('Tulips')
  await dialog.getByRole('button', { name: 'Publish' }).click()
  await page.getByRole('heading', { name: 'Tulips' }).waitFor()
  t.match(page.url(), `pages/${groupId}/page_`)
  await call('DELETE', `/v0/page_groups/${other.pageGroupId}`)
  t.strictSame(wrong, [])
})

t.test('a field is added by its name, with Enter', { skip }, async (t) => {
  const { address, path } = await newPage(await newGroup(), '{"title":"Tulips","price":14.90}')
  const { page, call, wrong, shows } = await consoleWindow.open(address)
  await page.getByRole('button', { name: 'Edit page' }).click()
  const dialog = page.locator('dialog')
  await dialog.getByText('Add a field').click()
  await dialog.getByLabel('Name of the field').fill('sub "title"')
  await press(page, 'Enter')
  t.ok(await dialog.getByLabel('sub "title"').evaluate((field) => field.matches(':focus')))
  await page.keyboard.type('For spring')
  await dialog.getByRole('button', { name: 'Publish' }).click()

  await shows('Readers get version 2')
  const { text } = await call('GET', path)
  t.match(text.replaceAll(/\s/g, ''), '{"title":"Tulips","price":14.90,"sub\\"title\\"":"Forspring"}')
  t.strictSame(wrong, [])
})

t.test('a page has one name everywhere, and its generated name is explained', { skip }, async (t) => {
  const { path, address } = await newPage(await newGroup(), '{"title":"A title"}')
  const { page, call, shows } = await consoleWindow.open('pages')
  await call('PATCH', path, { customName: 'Tulips' })
  await goTo(page, address)
  await page.getByRole('heading', { name: 'Tulips' }).waitFor()
  t.equal(await page.getByText('Spring sale 1').count(), 0)

  await page.getByRole('button', { name: 'Rename…' }).click()
  await shows('Leave empty to use the generated name: Spring sale 1')
  await page.locator('dialog [name=customName]').fill('')
  await press(page, 'Enter')
  await page.getByRole('heading', { name: 'Spring sale 1' }).waitFor()
})

const MONDAY = 'Monday, 7 December, 09:00'
const TIMES = [
  ['a Monday before nine', '2026-11-30T07:00:00Z', '2026-11-30', ['today, 09:00', 'tomorrow, 09:00', MONDAY]],
  ['a Monday after nine', '2026-11-30T09:00:00Z', '2026-12-01', ['tomorrow, 09:00', MONDAY]],
  ['a Sunday evening', '2026-11-29T20:00:00Z', '2026-11-30', ['tomorrow, 09:00']],
] as const
for (const [moment, now, firstDay, proposed] of TIMES)
  t.test(`on ${moment}, times are proposed that are still ahead`, { skip }, async (t) => {
    const { address } = await newPage(await newGroup(), '{}')
    const { browser, server, apiKey } = await consoleWindow.scene()
    const zone = { key: apiKey, timezoneId: 'Europe/Berlin' }
    const { page } = await openConsole(t, browser, server.url, zone)
    await page.clock.setFixedTime(now)
    await goTo(page, address)
    await page.getByRole('button', { name: 'Edit page' }).click()
    await page.getByLabel('Publish at …').check()

    const times = page.locator('dialog .times')
    t.strictSame(await times.getByRole('button').allInnerTexts(), proposed)
    const field = times.locator('[name=publishAt]')
    t.equal(await field.inputValue(), `${firstDay}T09:00`)
    await times.getByText('CET (Europe/Berlin)').waitFor()
    await field.fill('2027-07-01T09:00')
    await times.getByText('CEST (Europe/Berlin)').waitFor()
    await times.getByRole('button').first().click()
    t.equal(await field.inputValue(), `${firstDay}T09:00`)
  })
