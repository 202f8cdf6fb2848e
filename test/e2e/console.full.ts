import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { createApi, createHandler } from '../../src/entry/http.ts'
import { createService, memoryStore, SCOPES } from '../../src/entry/index.ts'
import { startBrowser } from '../support/browser.ts'
import {
  fits,
  goTo,
  namelessIn,
  noConsole,
  openConsole,
  openScene,
  PHONE,
  paleIn,
  TABLET,
  VIEWS,
  WIDE,
} from '../support/console.ts'
import { newFolder, until } from '../support/program.ts'
import { proxyKinds } from '../support/proxies.ts'

const skip = noConsole
const MARKUP = `<img src=x onerror="document.title='hacked'"><script>document.title='hacked'</script>`
const RIGHT_TO_LEFT = '\u202Egpj.exe'
const NUMBERS = '{"order":12345678901234567890, "e":1e400,"tiny":0.1000,"a\\u0062c":"\\ud800 '
const HOSTILE = `${NUMBERS}${'</pre>'.repeat(3)}"}`

t.test(
  'hostile texts are shown as they are, in every view, in every size, and nobody is asked but this server',
  { skip },
  async (t) => {
    const { server, browser, call, apiKey, pageGroupId } = await openScene()
    const name = `${MARKUP} ${RIGHT_TO_LEFT}`
    const log = (more: object, payload = HOSTILE) => {
      const members = JSON.stringify({
        source: MARKUP.slice(0, 99),
        type: RIGHT_TO_LEFT,
        name: name.slice(0, 255),
        ...more,
      })
      return call('POST', '/v0/prospect_logs', `${members.slice(0, -1)},"payload":${payload}}`)
    }
    const { body } = await log({ email: `${MARKUP}@example.com` })
    await log({ idempotencyKey: MARKUP }, `{"long":"${'x'.repeat(900_000)}"}`)
    await log({}, `{"deep":${'['.repeat(500)}${']'.repeat(500)}}`)
    const group = `/v0/page_groups/${pageGroupId}`
    await call('PATCH', group, { title: MARKUP, name: RIGHT_TO_LEFT, pageContext: MARKUP })
    const created = await call(
      'POST',
      `${group}/pages`,
      `{"customName":${JSON.stringify(name)},"content":${HOSTILE}}`,
    )
    await call('POST', `${group}/pages/${created.body.pageId}/versions`, { supplementaryContext: MARKUP })
    const hook = await call('POST', '/v0/hooks', {
      source: MARKUP.slice(0, 99),
      description: MARKUP,
      verify: { token: true },
    })
    const endpoint = await call('POST', '/v0/webhook_endpoints', {
      url: `http://127.0.0.1:9/${MARKUP}`,
      description: MARKUP,
    })
    await log({})
    await call('POST', '/v0/erasures', { email: MARKUP })

    const addresses = [
      ...VIEWS,
      `activity/${body.prospectLogId}`,
      `people/${body.prospectId}`,
      `pages/${pageGroupId}`,
      `pages/${pageGroupId}/${created.body.pageId}`,
      `sources/${hook.body.hookId}`,
      `webhooks/${endpoint.body.webhookEndpointId}`,
      'events?from=start',
    ]
    const sizes = [
      { viewport: PHONE, colorScheme: 'dark' },
      { viewport: TABLET, colorScheme: 'light' },
      { viewport: WIDE, colorScheme: 'dark' },
    ] as const
    const visit = async (size: (typeof sizes)[number]) => {
      const { page, wrong } = await openConsole(t, browser, server.url, { key: apiKey, ...size })
      const at = `at ${size.viewport.width}`
      for (const address of addresses) {
        await goTo(page, address)
        // The view of events always has a request that waits for the next ones.
        if (!address.startsWith('events')) await page.waitForLoadState('networkidle').catch(() => {})
        // The dialog named in the address opens on load; a click at that moment would close it again.
        if (address.startsWith('activity/')) await page.locator('main .opened').waitFor()
        const closed = page.locator('main [data-row][aria-expanded=false]')
        for (let opened = 0; opened < 3 && (await closed.count()) > 0; opened++) {
          const row = await closed.first().elementHandle()
          await row?.click()
          const isOpen = async () => (await row?.getAttribute('aria-expanded')) === 'true'
          await until(`${address} ${at}: a row is open`, isOpen)
        }
        t.ok(await fits(page), `${address} ${at}`)
        t.strictSame(await namelessIn(page), [], `${address} ${at}: every control has a name`)
        t.strictSame(await paleIn(page), [], `${address} ${at}: every text stands out`)
      }
      t.notMatch(await page.title(), 'hacked')
      t.equal(await page.locator('main img, main script').count(), 0)
      t.strictSame(wrong, [])
    }
    await Promise.all(sizes.map(visit))

    const { page } = await openConsole(t, browser, server.url, {
      key: apiKey,
      permissions: ['clipboard-read', 'clipboard-write'],
    })
    await goTo(page, `activity/${body.prospectLogId}`)
    await page.getByRole('button', { name: 'Copy payload' }).click()
    await page.getByText('Copied.').first().waitFor()
    t.equal(await page.evaluate('navigator.clipboard.readText()'), HOSTILE, 'byte for byte')
    await page.getByText('12345678901234567890').first().waitFor()
    await page.getByRole('button', { name: 'Show as JSON' }).click()
    const shown = (await page.locator('.detail pre').first().textContent()) ?? ''
    t.equal(shown.replaceAll(/\s/g, ''), HOSTILE.replaceAll(/\s/g, ''))
    await page.getByRole('button', { name: 'Copy as curl' }).click()
    await until('the command is copied', async () =>
      String(await page.evaluate('navigator.clipboard.readText()')).startsWith('curl'),
    )
    const command = String(await page.evaluate('navigator.clipboard.readText()'))
    const { stdout } = spawnSync(
      'bash',
      ['-c', command.replace('"x-api-key: $KEY"', `'x-api-key: ${apiKey}'`)],
      { encoding: 'utf8' },
    )
    const again = JSON.parse(stdout)
    t.match((await call('GET', `/v0/prospect_logs/${again.prospectLogId}`)).text, `"payload":${HOSTILE}`)

    // In a terminal each of these would take a character away, the quotation mark among them.
    const { body: erasing } = await log({ name: 'a\u007f' }, `{"a":"${'\u007f'.repeat(9)}; touch x #"}`)
    await goTo(page, `activity/${erasing.prospectLogId}`)
    await page.getByRole('button', { name: 'Copy as curl' }).click()
    const copied = () => page.evaluate<string>('navigator.clipboard.readText()')
    await until('the next command is copied', async () => (await copied()).includes('touch x'))
    t.notMatch(await copied(), /[\x7f-\x9f]/)
    t.match(await copied(), `{"a":"${'\\u007f'.repeat(9)}; touch x #"}`)
  },
)

t.test('1,000 activities go through the tail, and the page does not grow', { skip }, async (t) => {
  const { server, browser, call, apiKey } = await openScene()
  const { page, wrong } = await openConsole(t, browser, server.url)
  await page.clock.install({ time: new Date() })
  await page.getByLabel('API key').fill(apiKey)
  await page.keyboard.press('Enter')
  await goTo(page, 'activity')
  const rows = () => page.locator('table.activities tbody tr').count()
  let most = 0
  for (let sent = 0; sent < 1_000; sent += 40) {
    const items = Array.from({ length: 40 }, (_, i) => ({
      source: 'crm',
      email: `${sent + i}@example.com`,
      payload: { n: sent + i },
    }))
    await call('POST', '/v0/prospect_logs/batch', { items })
    const answered = page.waitForResponse((response) => response.url().includes('/v0/prospect_logs?'))
    await page.clock.runFor(2_000)
    await answered
    if (sent % 200 === 0) most = Math.max(most, await rows())
  }
  await page
    .locator('.pair', { hasText: /^n 999$/ })
    .first()
    .waitFor()
  t.ok((await rows()) > 400 && (await rows()) <= 500, `${await rows()} rows`)
  t.ok(most <= 500)
  t.ok(Number(await page.evaluate('document.querySelectorAll("*").length')) < 10_000)
  t.strictSame(wrong, [])
})

t.test('it works under a prefix of another server', { skip }, async (t) => {
  const store = memoryStore()
  const service = createService({ store, background: 'elsewhere' })
  const { tenantId } = await service.createTenant({ name: 'Acme' })
  const { apiKey } = await service.issueApiKey({ tenantId, scopes: SCOPES })
  await service.logProspectActivity({
    tenantId,
    source: 'crm',
    email: 'ada@example.com',
    payload: { rawJson: '{}' },
  })
  const api = createApi({ store, console: true, background: 'elsewhere' })
  const server = createServer(createHandler(api, { basePath: '/our/prospects' }))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const browser = await startBrowser()
  t.teardown(async () => {
    await browser.close()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/our/prospects`
  t.match(await fetch(`${url}/console`, { redirect: 'manual' }), { status: 308 })
  const { page, wrong } = await openConsole(t, browser, url, { key: apiKey })
  await page.getByText('Last activity').waitFor()
  for (const view of VIEWS) await goTo(page, view)
  t.strictSame(wrong, [])
})

for (const kind of proxyKinds())
  t.test(
    `it works behind ${kind.name}, by its file of deploy/`,
    { skip: skip || (kind.skip ?? false) },
    async (t) => {
      const { server, browser, call, apiKey } = await openScene()
      await call('POST', '/v0/prospect_logs', { source: 'crm', email: 'ada@example.com', payload: {} })
      const { ask, accessLog } = await kind.start(t, Number(new URL(server.url).port))
      const url = 'https://prospects.example.com'
      const context = await browser.newContext()
      // The browser's requests go through the proxy, which listens where a browser cannot.
      await context.route(`${url}/**`, async (route) => {
        const request = route.request()
        const { 'accept-encoding': _, ...headers } = await request.allHeaders()
        const { pathname, search } = new URL(request.url())
        const answer = await ask(pathname + search, {
          method: request.method(),
          headers,
          ...(request.postData() && { body: request.postData() ?? '' }),
        }).catch(() => null)
        // The proxy is stopped before the page.
        if (answer === null) return route.abort().catch(() => {})
        const { status, text: body } = answer
        const shown = { status, headers: answer.headers as Record<string, string>, body }
        await route.fulfill(shown).catch(() => {})
      })
      const page = await context.newPage()
      const wrong: string[] = []
      page.on('pageerror', ({ message }) => wrong.push(message))
      page.on('console', (message) => message.type() === 'error' && wrong.push(message.text()))
      await page.goto(`${url}/console/#key=${apiKey}`)
      await page.getByText('Last activity').waitFor()
      for (const view of VIEWS) await goTo(page, view)
      t.strictSame(wrong, [])
      t.notMatch(accessLog(), apiKey)
      await context.close()
    },
  )

t.test('nothing in a dialog lies outside of it, at any width', { skip }, async (t) => {
  const { server, browser, apiKey, call } = await openScene()
  const group = JSON.parse((await call('POST', '/v0/page_groups', { name: 'g', title: 'G' })).text)
  const groupId = group.pageGroupId
  const long = 'long-'.repeat(50)
  const name = long.slice(0, 90)
  const faq = [{ [name]: long }, { [name]: long }]
  const content = { [name]: long, price: 1, isNew: true, list: [long], seo: { [name]: long }, faq, none: {} }
  const created = await call('POST', `/v0/page_groups/${groupId}/pages`, { customName: long, content })
  const { pageId } = JSON.parse(created.text)
  const path = `/v0/page_groups/${groupId}/pages/${pageId}`
  await until('it is published', async () => (await call('GET', path)).body.publishedVersion)
  await call('POST', `${path}/versions`, { publish: false })
  await call('POST', `${path}/versions`, { publishAt: new Date(Date.now() + 86_400_000).toISOString() })
  const log = { source: 'crm', email: 'ada@example.com', name: long, payload: {} }
  const { prospectId } = JSON.parse((await call('POST', '/v0/prospect_logs', log)).text)
  const { page, wrong } = await openConsole(t, browser, server.url, { key: apiKey })
  const outside = `[...document.querySelectorAll('dialog[open]')].flatMap((dialog) => {
    const box = dialog.getBoundingClientRect()
    const isOut = (one) => {
      const { left, right, width } = one.getBoundingClientRect()
      return width > 0 && !one.closest('pre, .unseen, #notices') && (left < box.left - 1 || right > box.right + 1)
    }
    const past = box.left < 0 || box.right > innerWidth ? ['the dialog'] : []
    return [...past, ...[...dialog.querySelectorAll('*')].filter(isOut).map((one) => one.outerHTML.slice(0, 90))]
  })`
  const dialogs: readonly (readonly [string, string, () => Promise<unknown>])[] = [
    ['sources', 'Connect a form', () => page.locator('[name=source]').fill(`s${Math.random()}`)],
    ['webhooks', 'New webhook', () => page.locator('[name=url]').fill('http://127.0.0.1:9/x')],
    ['now', 'Find', () => page.keyboard.type('ada')],
    ['pages', 'New group', async () => {}],
    [`pages/${groupId}`, 'New page', async () => {}],
    [`pages/${groupId}`, 'Edit…', async () => {}],
    [`pages/${groupId}/${pageId}`, 'Edit page', async () => {}],
    [`pages/${groupId}/${pageId}`, 'Rename…', async () => {}],
    [`pages/${groupId}/${pageId}`, 'Unpublish…', async () => {}],
    [`pages/${groupId}/${pageId}`, 'Publish…', async () => {}],
    [`pages/${groupId}/${pageId}`, 'Delete…', async () => {}],
    [`people/${prospectId}`, 'Edit…', async () => {}],
    [`people/${prospectId}`, 'Merge…', async () => {}],
    [`people/${prospectId}`, 'Erase…', async () => {}],
  ]
  /** At every width, while it is open. */
  const fitsIn = async (name: string) => {
    for (const width of [320, 375, 768, 1_280, 1_920]) {
      await page.setViewportSize({ width, height: 900 })
      t.strictSame(await page.evaluate(outside), [], `${name} at ${width}`)
    }
  }
  for (const [place, name, fill] of dialogs) {
    await goTo(page, place)
    await page.getByRole('button', { name, exact: true }).first().click()
    await page.locator('dialog[open]').waitFor()
    t.strictSame(await namelessIn(page), [], `${name}: every control has a name`)
    await fitsIn(name)
    await fill()
    if (place === 'sources' || place === 'webhooks') {
      await page.locator('dialog button.primary').click()
      await page.locator('dialog .copy').first().waitFor()
      await fitsIn(`the answer of ${name}`)
    }
    await page.keyboard.press('Escape')
  }
  t.strictSame(wrong, [])
})

t.test('as it is built, it is small, and is there with few requests', { skip }, async (t) => {
  const folder = newFolder(t)
  const tsc = ['node_modules/typescript/bin/tsc', '-p', 'src/console', '--outDir', folder]
  const built = spawnSync(process.execPath, tsc, { encoding: 'utf8' })
  t.equal(built.status, 0, built.stdout)
  const html = readFileSync('src/console/index.html', 'utf8')
  const named = new Set([...html.matchAll(/(?:href|src)="(.+?)"/g)].map(([, name = '']) => name))
  t.ok(named.size > 5 && named.size <= 12, [...named].join(' '))
  const fileOf = (name: string) =>
    name.startsWith('app/') ? name.replace('app', `${folder}/console`) : `src/console/${name}`
  const sent = ['index.html', ...named]
    .map((name) => gzipSync(readFileSync(fileOf(name)), { level: 9 }).length)
    .reduce((sum, bytes) => sum + bytes)
  t.ok(sent <= 60_000, `${sent} bytes as they are sent until the first paint`)

  // It is painted while every file is held back that the document does not name.
  const { server, browser, apiKey } = await openScene()
  const page = await browser.newPage()
  const held: string[] = []
  await page.route(/\/console\/./, async (route) => {
    const { pathname } = new URL(route.request().url())
    if (named.has(pathname.replace('/console/', ''))) await route.continue()
    else held.push(pathname)
  })
  await page.goto(`${server.url}/console/#key=${apiKey}`)
  await page.getByRole('link', { name: 'Activity' }).waitFor()
  await until('the others are asked for', () => held.length > 0)
})

t.test(
  'it is a client like any other: CONSOLE=off leaves nothing of it; browsers get pages, programs JSON',
  async (t) => {
    const { startServer } = await import('../support/program.ts')
    const server = await startServer(t, { DATABASE_URL: 'memory:', CONSOLE: 'off' })
    t.equal((await fetch(`${server.url}/console/`)).status, 404)
    t.notMatch(await (await fetch(server.url)).json(), { console: /./ })
    const html = { headers: { accept: 'text/html,*/*;q=0.8' } }
    const start = await fetch(server.url, html)
    t.match(start.headers.get('content-type'), 'text/html')
    t.match(await start.text(), /<a href="\/docs">API reference<\/a>/)
    const problem = await (await fetch(`${server.url}/problems/email_taken`, html)).text()
    t.match(problem, /<h1>Email taken<\/h1>/)
    t.match(await (await fetch(`${server.url}/problems/email_taken`)).json(), { code: 'email_taken' })
    t.notMatch(server.stdout(), 'console')
  },
)
