import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { noConsole, startConsole } from '../support/console.ts'
import { until } from '../support/program.ts'

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/hooks.md'), 'utf8')
const [form = '', script = ''] = [...PAGE.matchAll(/^```html\n(.*?)^```$/gms)].map(([, text = '']) => text)
const THANKS = '<h1>Our own thanks</h1>'

t.test('a form on a page of another origin, in a browser', { skip: noConsole }, async (t) => {
  const { server, browser, call } = await startConsole(t, { HOOK_FORMS_PER_MINUTE: 'none' })
  /** The site's files by path, each with its encoding. */
  const site = new Map([['/thanks', THANKS]])
  const http = createServer((request, response) => {
    const html = site.get(request.url ?? '')
    const charset = request.url === '/old' ? 'iso-8859-1' : 'utf-8'
    response.writeHead(html ? 200 : 404, { 'content-type': `text/html; charset=${charset}` })
    response.end(Buffer.from(html ?? '', charset === 'utf-8' ? 'utf8' : 'latin1'))
  }).listen(0)
  t.teardown(() => http.close())
  await until('it listens', () => http.listening)
  const { port } = http.address() as AddressInfo
  const origin = `http://127.0.0.1:${port}`
  const { hookId, path } = (
    await call('POST', '/v0/hooks', {
      source: 'contact',
      verify: { token: true },
      redirectTo: `${origin}/thanks`,
      origins: [origin],
      map: { email: ['/email'], name: ['/name'], idempotencyKey: ['/deliveryId'] },
      trap: 'website2',
    })
  ).body
  const action = server.url + path
  const html = form.replace(/https:[^"]*/, action)
  site.set('/', html)
  site.set('/script', html + script)
  site.set('/old', html.replace('<form', '<form enctype="multipart/form-data"'))
  const logs = async () => (await call('GET', '/v0/prospect_logs?source=contact')).body.items
  const open = async (where: string) => {
    const page = await browser.newPage()
    await page.goto(where)
    return page
  }

  t.test('a plain post ends on the page of the site, in the encoding of the page', async (t) => {
    for (const [where, name] of [
      ['/', 'Zoë 日本'],
      ['/old', 'Zoë'],
    ] as const) {
      const page = await open(origin + where)
      await page.locator('[name=email]').fill('zoe@example.com')
      await page.locator('[name=name]').fill(name)
      await page.getByRole('button').click()
      await page.waitForURL(`${origin}/thanks`)
      t.match(await page.content(), THANKS)
      t.match((await logs())[0], { email: 'zoe@example.com', name, payload: { website2: '' } })
    }
  })

  t.test('what fills the trap sees the same page, and is not logged', async (t) => {
    const before = (await logs()).length
    const page = await open(origin)
    await page.evaluate(`document.querySelector('[name=website2]').value = 'spam'`)
    await page.locator('[name=email]').fill('spam@example.com')
    await page.getByRole('button').click()
    await page.waitForURL(`${origin}/thanks`)
    t.equal((await logs()).length, before)
  })

  t.test('a refusal is a page', async (t) => {
    site.set('/wrong', html.replace(action, `${action}x`))
    const page = await open(`${origin}/wrong`)
    await page.locator('[name=email]').fill('a@example.com')
    const answered = page.waitForResponse(`${action}x`)
    await page.getByRole('button').click()
    t.equal((await answered).status(), 404)
    await page.getByRole('heading', { name: 'Your form was not accepted' }).waitFor()
  })

  t.test('the script of docs/hooks.md survives a double click', async (t) => {
    const before = (await logs()).length
    const page = await open(`${origin}/script`)
    await page.locator('[name=email]').fill('twice@example.com')
    await page.getByRole('button').dblclick()
    await page.getByRole('button', { name: 'Thank you!' }).waitFor()
    await page.locator('[name=name]').fill('Twice')
    await page.getByRole('button').click()
    await until('both are logged', async () => (await logs()).length === before + 2)
    t.match(await logs(), [{ name: 'Twice' }, { email: 'twice@example.com', name: null }])
  })

  t.test('a beacon with JSON, a fetch with credentials and a form without a method are logged', async (t) => {
    site.set('/get', html.replace(' method="post"', ''))
    const page = await open(`${origin}/get`)
    const isQueued = await page.evaluate(
      `navigator.sendBeacon('${action}', new Blob(['{"email":"beacon@example.com"}'], { type: 'application/json' }))`,
    )
    t.equal(isQueued, true)
    const isFetched = await page.evaluate(`fetch('${action}', {
      method: 'POST', keepalive: true, credentials: 'include', headers: { 'content-type': 'application/json' },
      body: '{"email":"kept@example.com"}'
    }).then((answer) => answer.ok)`)
    t.equal(isFetched, true)
    await page.locator('[name=email]').fill('get@example.com')
    await page.getByRole('button').click()
    await page.waitForURL(`${origin}/thanks`)
    const emails = ['beacon@example.com', 'kept@example.com', 'get@example.com']
    await until('all are logged', async () => {
      const found = (await logs()).map(({ email }: { email: string }) => email)
      return emails.every((email) => found.includes(email))
    })
  })

  t.test(
    'fetch sends JSON and FormData with a file from an origin of the hook, and from no other',
    async (t) => {
      const post = (body: string, headers = '{}') =>
        `fetch(${JSON.stringify(action)}, { method: 'POST', headers: ${headers}, body: ${body} })
        .then(async (answer) => [answer.status, await answer.json()], (error) => [error.name])`
      const json = post(
        `JSON.stringify({ email: 'json@example.com' })`,
        `{ 'content-type': 'application/json' }`,
      )
      const data = post(`(() => {
      const data = new FormData()
      data.append('email', 'data@example.com')
      data.append('cv', new File(['%PDF'], 'Zoë "cv".pdf', { type: 'application/pdf' }))
      return data
    })()`)
      const page = await open(origin)
      for (const script of [json, data])
        t.match(await page.evaluate(script), [200, { prospectLogIds: [/^prospectlog_/], replayed: false }])
      const [file, object] = await logs()
      t.match(object, { email: 'json@example.com' })
      t.match(file.payload.cv, { name: 'Zoë "cv".pdf', type: 'application/pdf', bytes: 4 })
      const other = await open(`http://localhost:${port}/`)
      t.strictSame(await other.evaluate(json), ['TypeError'])
      t.equal((await logs())[0].prospectLogId, file.prospectLogId)
      await call('PATCH', `/v0/hooks/${hookId}`, { origins: ['*'] })
      await until('it may', async () => ((await other.evaluate(json)) as unknown[])[0] === 200)
    },
  )
})
