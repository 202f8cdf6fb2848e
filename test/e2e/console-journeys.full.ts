import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Download, Page } from 'playwright-core'
import t from 'tap'
import {
  goTo,
  noConsole,
  openConsole,
  press,
  sharedConsole,
  startConsole,
  tabTo,
  tabToText,
} from '../support/console.ts'
import { until } from '../support/program.ts'

const skip = noConsole
const textOf = async (download: Download): Promise<string> => {
  const chunks: Buffer[] = []
  for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

t.test('whole journeys by keyboard alone', { skip }, async (t) => {
  const { server, browser, call, apiKey } = await startConsole(t)
  const { open, leave } = sharedConsole(t, browser, server.url, { key: apiKey, refused: [410, 409] })
  t.afterEach(leave)
  const log = (email: string, more: object = {}) =>
    call('POST', '/v0/prospect_logs', {
      source: 'crm',
      type: 'form_submitted',
      email,
      payload: { form: 'contact' },
      ...more,
    })
  /** Goes to a view by its letter. */
  const go = async (page: Page, letter: string) => {
    await page.evaluate(`document.querySelector('main .view')?.setAttribute('data-left', '')`)
    await press(page, 'g', letter)
    await page.locator('main .view:not([data-left])').waitFor()
  }
  const type = async (page: Page, field: string, text: string) => {
    await tabTo(page, `[name="${field}"]`)
    await press(page, 'Control+a')
    await page.keyboard.type(text)
  }
  const pressOn = async (page: Page, text: string) => {
    await tabToText(page, text)
    await press(page, 'Enter')
  }

  t.test('from nothing: an activity arrives, is opened, and the person is known', async (t) => {
    const { page, wrong, seen } = await open('now')
    await seen('Nothing has arrived yet')
    await pressOn(page, 'Send this activity from here')
    await seen('Last activity')
    await go(page, 'a')
    await page.locator('tr [data-row]').waitFor()
    await press(page, 'j', 'Enter')
    await seen('"contact"')
    await until('it is in the address', () => /#\/activity\/prospectlog_/.test(page.url()))
    await log('grace@example.com')
    await seen('1 new activity')
    t.equal(
      await page.locator('table.activities > tbody > tr').count(),
      2,
      'one row and its detail: it is held',
    )
    await press(page, 'Escape')
    t.ok(await page.evaluate('document.activeElement.matches("[data-row]")'), 'the focus is back')
    await seen('grace@example.com')
    for (let polls = 0; polls < 2; polls++) await page.waitForResponse((answer) => answer.status() === 304)
    t.notOk(await page.locator('.fresh').isVisible(), 'what is shown is no longer new')
    await press(page, '?')
    await seen('next and previous row')
    await press(page, 'Escape')
    await go(page, 'n')
    await seen('by grace@example.com')
    t.strictSame(wrong, [])
  })

  t.test('a person is found, corrected and erased', async (t) => {
    await log('alan@example.com', { name: 'Alan' })
    const { page, wrong, seen } = await open('now')
    await go(page, 'p')
    await page.locator('[name=q]').waitFor()
    await press(page, '/')
    await page.keyboard.type(' ALA')
    await press(page, 'Enter')
    const found = page.locator('main tbody a[data-row]')
    await until('one is found', async () => (await found.count()) === 1)
    await press(page, 'Escape', 'j', 'Enter')
    await seen('Correct…')
    await pressOn(page, 'Correct…')
    await type(page, 'name', 'Alan Turing')
    await press(page, 'Enter')
    await page.getByRole('heading', { name: 'Alan Turing' }).waitFor()
    const downloading = page.waitForEvent('download')
    await pressOn(page, 'Download everything')
    const lines = (await textOf(await downloading))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    t.match(lines, [
      { prospect: { name: 'Alan Turing' } },
      { prospectLog: { payload: { form: 'contact' } } },
      { done: true, logs: 1 },
    ])
    await pressOn(page, 'Erase…')
    await type(page, 'word', 'somebody@example.com')
    await press(page, 'Enter')
    await seen('Type alan@example.com to confirm.')
    await type(page, 'word', 'alan@example.com')
    await press(page, 'Enter')
    await seen('This person was erased')
    t.equal((await log('alan@example.com')).status, 410)
    await go(page, 'p')
    await pressOn(page, 'Lift the block')
    await seen('accepted')
    t.strictSame(wrong, [])
  })

  t.test(
    'a page is created, gets a version, is compared and rolled back; another one changed it meanwhile',
    async (t) => {
      const { page, wrong, seen } = await open('now')
      await go(page, 'g')
      await pressOn(page, 'New group')
      await type(page, 'name', 'spring')
      await type(page, 'title', 'Spring sale')
      await press(page, 'Enter')
      await page.getByRole('heading', { name: 'Spring sale' }).waitFor()
      await pressOn(page, 'New page')
      await type(page, 'customName', 'Tulips')
      await pressOn(page, 'JSON')
      await type(page, 'content', '{"price":')
      await seen(/Not JSON yet/)
      await type(page, 'content', '{"price":14.90,"sku":12345678901234567890}')
      await pressOn(page, 'Create')
      await seen('Readers get version 1')
      await pressOn(page, 'New version')
      await page.locator('dialog').getByLabel('price').fill('11.90')
      await pressOn(page, 'Create')
      await seen('Readers get version 2')
      await pressOn(page, 'Compare')
      await seen('Version 1 and version 2, side by side')
      t.match((await page.locator('.diff del').allTextContents()).join(), /14\.90/)
      t.match((await page.locator('.diff ins').allTextContents()).join(), /11\.90/)
      t.notMatch((await page.locator('.diff').textContent()) ?? '', /12345678901234567000/)
      await pressOn(page, 'Roll back')
      await seen('Readers get version 1')
      const [, group, id] = /pages\/(\w+)\/(\w+)/.exec(page.url()) ?? []
      const published = await call('GET', `/v0/page_groups/${group}/pages/${id}`)
      t.match(published.text, '"content":{"price":14.90,"sku":12345678901234567890}')
      await pressOn(page, 'Later…')
      await page.locator('dialog [name=publishAt]').fill(`${new Date().getFullYear() + 1}-12-24T09:00`)
      await press(page, 'Enter')
      await seen(/scheduled .*24/)
      await pressOn(page, 'Unschedule')
      await seen('is no longer scheduled')

      await pressOn(page, 'Rename…')
      await type(page, 'customName', 'Tulips for all')
      // Another person changes it while the dialog is open, and the page behind it shows that.
      await call('PATCH', `/v0/page_groups/${group}/pages/${id}`, { customName: 'Bulbs' })
      await page.locator('h1', { hasText: 'Bulbs' }).waitFor()
      await press(page, 'Enter')
      await seen(/Someone else has changed this: .*customName is now Bulbs/)
      t.equal(
        await page.locator('dialog [name=customName]').inputValue(),
        'Tulips for all',
        'what was typed stays',
      )
      await press(page, 'Escape')
      await pressOn(page, 'Unpublish')
      await seen('Unpublished: readers get nothing')
      await pressOn(page, 'Delete…')
      await pressOn(page, 'Delete')
      await seen('No pages yet.')
      t.strictSame(
        wrong.filter((line) => !line.includes('status of 412')),
        [],
      )
    },
  )

  t.test('a hook is connected, and its first delivery is seen', async (t) => {
    const { page, wrong, seen } = await open('now')
    await go(page, 's')
    await pressOn(page, 'Connect a source')
    await type(page, 'source', 'contact form')
    await type(page, 'redirectTo', 'https://www.example.com/thanks')
    await press(page, 'Enter')
    const address = await page.getByRole('group', { name: 'Address' }).textContent()
    const form = await page.getByRole('group', { name: 'A form' }).textContent()
    t.match(form, `<form method="post" action="${address}">`)
    const dialog = page.locator('dialog[open]')
    t.ok(await dialog.evaluate(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth))
    await press(page, 'Escape')
    await seen('Waiting for the first delivery.')
    const send = (fields: Record<string, string>) =>
      fetch(`${address}`, {
        method: 'POST',
        redirect: 'manual',
        headers: { accept: 'text/html', origin: 'https://www.example.com' },
        body: new URLSearchParams(fields),
      })
    const [, trap = ''] = /name="(\w+)" hidden/.exec(`${form}`) ?? []
    t.equal((await send({ email: 'bot@example.com', [trap]: 'filled in' })).status, 303)
    t.strictSame((await call('GET', '/v0/prospect_logs?source=contact%20form')).body.items, [])
    const sent = await send({ email: 'ada@example.com', phone: '1' })
    t.equal(sent.status, 303)
    t.equal(sent.headers.get('access-control-allow-origin'), 'https://www.example.com')
    await seen('Last activity of this source')
    await seen('"ada@example.com"')
    await type(page, 'idempotencyKey', '/nothing')
    await press(page, 'Enter')
    await page.keyboard.type('/phone')
    await page.locator('output', { hasText: '"1"' }).waitFor()
    await type(page, 'name', '=Dr. + /email')
    await page.locator('output', { hasText: '"Dr. ada@example.com"' }).waitFor()
    await pressOn(page, 'Save the mapping')
    await seen('Saved.')
    await go(page, 's')
    await pressOn(page, 'Connect a source')
    await type(page, 'source', 'contact form')
    await press(page, 'Enter')
    await seen('There is a source of this name already.')
    await press(page, 'Escape')
    t.equal((await fetch(`${address}x`, { method: 'POST', body: '{}' })).status, 404)
    t.strictSame(wrong, [])
  })

  t.test('why a webhook fails is found, and its delivery is sent again', async (t) => {
    let status = 500
    const receiver = createServer((request, response) => {
      request.resume()
      response.writeHead(status).end()
    })
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
    t.teardown(() => receiver.close())
    const { page, wrong, seen } = await open('now')
    await go(page, 'w')
    await pressOn(page, 'New endpoint')
    await type(page, 'url', `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/crm`)
    await tabTo(page, '[value="prospect_log.created"]')
    await press(page, 'Space')
    await type(page, 'sources', 'crm')
    await type(page, 'headers', 'x-key: 4711')
    await type(page, 'description', 'The CRM')
    await press(page, 'Enter')
    t.match(await page.locator('dialog .copy pre').textContent(), /^whsec_/)
    await press(page, 'Escape')
    await log('ada@example.com')
    await seen('failing')
    await go(page, 'n')
    await seen('Open endpoint')
    await pressOn(page, 'Open endpoint')
    await seen(/\b500\b/)
    await seen('x-key')
    await tabTo(page, 'tbody [data-row]')
    await press(page, 'Enter')
    await seen('The receiver answered 500.')
    await seen('not kept')
    await tabTo(page, '.crumbs')
    await press(page, 'Enter')
    status = 204
    await pressOn(page, 'Send again')
    await page.locator('tbody .tag.ok', { hasText: 'delivered' }).waitFor()
    await pressOn(page, 'Send a test')
    await seen(/Delivered: status 204/)
    await press(page, 'Escape')
    await go(page, 'e')
    await log('ada@example.com')
    await page.locator('[data-row]', { hasText: 'prospect_log.created' }).first().waitFor()
    await press(page, 'j', 'Enter')
    await seen('Copy data')
    t.strictSame(wrong, [])
  })

  t.test(
    'activities too long for one slice are not lost; a limited key waits; a pasted link opens',
    async (t) => {
      const { page, seen } = await open('now')
      for (let n = 0; n < 3; n++) await log('small@example.com')
      await goTo(page, 'activity?type=long')
      await seen('No activity fits these filters.')
      const rows = page.locator('table.activities > tbody > tr')
      const long = () => log('long@example.com', { type: 'long', payload: { text: 'x'.repeat(700_000) } })
      await long()
      await until('the first is shown', async () => (await rows.count()) === 1)
      // No two of them fit one slice.
      for (let n = 0; n < 3; n++) await long()
      await until('all are shown', async () => (await rows.count()) === 4)

      const limited = { status: 429, headers: { 'retry-after': '1' }, body: '{"code":"rate_limited"}' }
      await page.route('**/v0/prospect_logs?**', (route) => route.fulfill(limited), { times: 1 })
      await seen('too many requests, waiting')
      await page.locator('.live', { hasText: /^live$/ }).waitFor()

      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.getByLabel('API key').waitFor()
      await page.evaluate(`location.hash = '#key=${apiKey}'`)
      await page.locator('.rail').waitFor()
      t.notMatch(page.url(), 'pp_')
    },
  )

  t.test(
    'a list is saved for spreadsheets: all of it, until it is cancelled, and no cell is a formula',
    async (t) => {
      const texts = ['=1+1', '+1', '-1', '@a', '\t=1', '\r=1', '＝1', 'a;=1', 'a, "b"', 'Ada']
      const name = (n: number) => texts[n % texts.length]
      const items = Array.from({ length: 250 }, (_, n) => ({
        source: 'csv',
        type: 'form_submitted',
        email: `${n}@example.com`,
        name: name(n),
        payload: { n },
      }))
      await call('POST', '/v0/prospect_logs/batch', { items })
      const { page, wrong, seen } = await open('activity?source=csv')
      const downloading = page.waitForEvent('download')
      await pressOn(page, 'Save as CSV')
      const text = await textOf(await downloading)
      t.match(text, /^\ufeffWhen,Name,Email,Source,Type,Page,Payload,Person\r\n/)
      t.equal(text.split('@example.com,csv,form_submitted,,"{""n"":').length - 1, 250, 'all slices')
      for (const [n, shown] of texts.entries()) {
        const harmless = /^[=+\-@\t\r＝]/.test(shown) ? `'${shown}` : shown
        const cell = /[";\r]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
        t.ok(text.includes(`,${cell},${n}@example.com,`), cell)
      }
      await page.route(/prospect_logs.*cursor=/, () => {})
      await pressOn(page, 'Save as CSV')
      await seen('100 rows so far…')
      await pressOn(page, 'Cancel')
      await page.locator('dialog').waitFor({ state: 'detached' })
      await page.unrouteAll({ behavior: 'ignoreErrors' })

      await goTo(page, 'people?q=249%40example')
      const people = page.waitForEvent('download')
      await pressOn(page, 'Save as CSV')
      t.match(await textOf(await people), /^\ufeffName,Email,[^\n]*\nAda,249@example.com,,/)
      t.strictSame(wrong, [])
    },
  )

  t.test('an activity names its page, with a link to it, if it is one of this tenant', async (t) => {
    const { body } = await call('POST', '/v0/page_groups', { name: 'autumn', title: 'Autumn' })
    const { pageId } = (
      await call('POST', `/v0/page_groups/${body.pageGroupId}/pages`, { customName: 'Asters' })
    ).body
    await log('eve@example.com', { source: 'web', payload: { pageId: pageId.replace(/.$/, '0') } })
    await log('ida@example.com', { source: 'web', payload: { first: 'x'.repeat(300), pageId } })
    const { page, wrong } = await open('activity?source=web')
    const link = page.locator('tr', { hasText: 'ida@example.com' }).getByRole('link', { name: 'Asters' })
    await link.waitFor()
    t.equal(await page.getByRole('link', { name: 'Asters' }).count(), 1)
    await link.click()
    await page.getByRole('heading', { name: 'Asters' }).waitFor()
    t.match(page.url(), `#/pages/${body.pageGroupId}/${pageId}`)
    t.strictSame(wrong, [])
  })

  t.test('a double click on a version opens and closes it, and takes no other away', async (t) => {
    const { body } = await call('POST', '/v0/page_groups', { name: 'a', title: 'A' })
    const pages = `/v0/page_groups/${body.pageGroupId}/pages`
    const { pageId } = (await call('POST', pages, {})).body
    for (let n = 0; n < 2; n++) await call('POST', `${pages}/${pageId}/versions`, {})
    const { page, wrong } = await open('now')
    await goTo(page, `pages/${body.pageGroupId}/${pageId}`)
    const openers = page.locator('main tbody [data-row]')
    await until('three versions', async () => (await openers.count()) === 3)
    await openers.first().dblclick()
    const isConsistent = async () => {
      const isOpen = (await openers.first().getAttribute('aria-expanded')) === 'true'
      return isOpen === (await page.locator('.detail').isVisible())
    }
    await until('it is open or closed', isConsistent)
    t.equal(await openers.count(), 3)
    t.strictSame(wrong, [])
  })

  t.test('nothing is asked while nobody looks or while it is paused', async (t) => {
    // Its clock is stopped.
    const { page, wrong } = await openConsole(t, browser, server.url, { key: apiKey })
    await page.clock.install({ time: new Date() })
    await goTo(page, 'activity')
    let asked = 0
    page.on('request', () => asked++)
    await page.clock.runFor(2_000)
    await until('it asks', () => asked > 0)
    await pressOn(page, 'Pause')
    await page.waitForTimeout(100)
    asked = 0
    await page.clock.runFor(20_000)
    t.equal(asked, 0, 'paused')
    await pressOn(page, 'Resume')
    await page.evaluate(`Object.defineProperty(document, 'hidden', { value: true, configurable: true })`)
    await page.clock.runFor(4_000)
    asked = 0
    await page.clock.runFor(20_000)
    t.equal(asked, 0, 'hidden')
    await page.evaluate(`delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))`)
    await until('it asks again', () => asked > 0)
    t.strictSame(wrong, [])
  })
})
