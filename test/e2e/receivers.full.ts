import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { RECEIVERS } from '../../src/console/receivers.ts'
import { goTo, noConsole, openConsole, startConsole } from '../support/console.ts'
import { until } from '../support/program.ts'

type Json = Readonly<Record<string, unknown>>
type Request = { readonly method: string; readonly headers: Json; readonly body: Json }
type Answer = readonly [status: number, text: string]
const only = (value: unknown, ...names: readonly string[]): boolean =>
  Object(value) === value && Object.keys(value as Json).every((name) => names.includes(name))
const isEmail = (value: unknown) => /^[^@\s]+@[^@\s]+\.[^@\s]+$/.test(String(value))

/** The requests that each vendor documents, and its answers. */
const VENDORS: Readonly<Record<keyof typeof RECEIVERS, (request: Request) => Answer>> = {
  hubspot: ({ headers, body }) => {
    if (headers['authorization'] !== 'Bearer pat-na1-1') return [401, '{"category":"INVALID_AUTHENTICATION"}']
    const { inputs } = body as { inputs?: readonly Json[] }
    const isValid = inputs?.every(
      ({ idProperty, id, properties, ...others }) =>
        idProperty === 'email' && isEmail(id) && only(properties, 'email', 'firstname') && only(others),
    )
    const texts = inputs?.flatMap(({ properties }) => Object.values(properties as Json))
    return isValid && only(body, 'inputs') && texts?.every((text) => typeof text === 'string')
      ? [200, '{"status":"COMPLETE","results":[{"id":"51","new":true}]}']
      : [400, '{"category":"VALIDATION_ERROR"}']
  },
  slack: ({ body }) => {
    const { text, blocks } = body as { text?: string; blocks?: readonly Json[] }
    if (!text) return [400, 'no_text']
    const isValid = blocks?.every(({ type, text: shown, ...others }) => {
      const { type: kind, text, emoji, ...more } = Object(shown)
      const isText =
        kind === 'plain_text' && typeof emoji === 'boolean' && text.length > 0 && text.length <= 3_000
      return type === 'section' && isText && only(others) && only(more)
    })
    return isValid && only(body, 'text', 'blocks') ? [200, 'ok'] : [400, 'invalid_blocks']
  },
  brevo: ({ headers, body }) => {
    if (headers['api-key'] !== 'xkeysib-1') return [401, '{"code":"unauthorized"}']
    const isValid = only(body, 'email', 'attributes', 'updateEnabled') && isEmail(body['email'])
    const names = Object.entries(Object(body['attributes']))
    return isValid && names.every(([name, value]) => /^[A-Z]+$/.test(name) && typeof value === 'string')
      ? [201, '{"id":1}']
      : [400, '{"code":"invalid_parameter"}']
  },
  json: ({ body }) => [200, isEmail(body['email']) ? '{"status":"success"}' : '{}'],
}
const TOKENS = { hubspot: 'pat-na1-1', brevo: 'xkeysib-1', slack: '', json: '' }

const vendor = async (t: Test, name: keyof typeof RECEIVERS) => {
  const requests: (Request & { readonly status: number })[] = []
  const server = createServer(async (request, response) => {
    const body = JSON.parse(Buffer.concat(await request.toArray()).toString())
    const seen = { method: String(request.method), headers: request.headers, body }
    const isJson = request.headers['content-type'] === 'application/json' && request.method === 'POST'
    const [status, text] = isJson ? VENDORS[name](seen) : [415, '']
    requests.push({ ...seen, status })
    response.writeHead(status).end(text)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return { requests, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` }
}

t.test(
  'every receiver takes what it is sent, whatever a person is called',
  { skip: noConsole },
  async (t) => {
    const { call } = await startConsole(t)
    const people = [
      { email: 'ada@example.com', name: 'Ada Lovelace' },
      { email: 'eve@example.com', name: '"}],\n{{/eventId}} <!channel> \\u0000 日本' },
      { email: 'nobody@example.com' },
    ]
    for (const [name, { token, body }] of Object.entries(RECEIVERS)) {
      const { requests, url } = await vendor(t, name as keyof typeof RECEIVERS)
      const headers = token && { [token.header]: `${token.prefix}${TOKENS[name as keyof typeof TOKENS]}` }
      const types = ['prospect_log.created']
      const made = await call('POST', '/v0/webhook_endpoints', {
        url,
        types,
        headers,
        body: JSON.parse(body),
      })
      t.equal(made.status, 201)
      for (const person of people)
        await call('POST', '/v0/prospect_logs', { source: 'form', ...person, payload: { a: [1] } })
      await until(`${name} has all`, async () => requests.length === people.length)
      t.strictSame(
        [...new Set(requests.map(({ status }) => status))].map((status) => status < 300),
        [true],
        name,
      )
      const sent = JSON.stringify(requests.map(({ body }) => body))
      for (const { email } of people) t.ok(sent.includes(email), name)
      t.ok(sent.includes(JSON.stringify(people[1]?.name).slice(1, -1)), 'as it was given')
      const path = `/v0/webhook_endpoints/${made.body.webhookEndpointId}`
      await call('DELETE', path)
    }
  },
)

t.test(
  'a website form reaches a CRM, from nothing, with four steps in the console',
  { skip: noConsole },
  async (t) => {
    const { server, browser, apiKey } = await startConsole(t)
    const crm = await vendor(t, 'hubspot')
    const { page, wrong } = await openConsole(t, browser, server.url, { key: apiKey, refused: [404] })
    const press = (name: string) => page.getByRole('button', { name, exact: true }).click()

    // 1: an address for the form.
    await goTo(page, 'sources')
    await press('Connect a source')
    await page.getByLabel('Name of this source').fill('contact')
    await press('Create the address')
    const action = await page.getByRole('group', { name: 'Address' }).textContent()
    await press('Close')

    // 2: the receiver and its token.
    await goTo(page, 'webhooks')
    await press('Connect a receiver')
    await page.getByText('Nothing to fill in yet').waitFor()
    await page.getByLabel('Access token').fill('pat-na1-1')
    await page.getByLabel('Its address').fill(crm.url)
    await press('Connect')
    await page.getByText('From now on every new activity is sent there.').waitFor()
    await press('Close')

    // 3: the form, on a page that has never heard of either.
    const form = `<form method="post" action="${action}"><input name="email"><input name="name"><button>Send</button></form>`
    const site = createServer((_, response) => response.setHeader('content-type', 'text/html').end(form))
    await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
    t.teardown(() => site.close())
    const visitor = await browser.newPage()
    await visitor.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}/`)
    await visitor.locator('[name=email]').fill('ada@example.com')
    await visitor.locator('[name=name]').fill('Ada "Lovelace"')
    await visitor.getByRole('button').click()
    await until('the CRM has the contact', async () => crm.requests.length === 1)
    const properties = { email: 'ada@example.com', firstname: 'Ada "Lovelace"' }
    const contact = { inputs: [{ idProperty: 'email', id: 'ada@example.com', properties }] }
    t.strictSame(crm.requests[0]?.body, contact)
    t.equal(crm.requests[0]?.status, 200)

    // 4: the template beside what it makes of it, and a test.
    await page
      .getByRole('group', { name: 'Body', exact: true })
      .getByText('"firstname": "Ada \\"Lovelace\\""')
      .waitFor()
    const input = page.getByLabel('Template')
    await input.fill((await input.inputValue()).replace('"firstname"', '"lastname"'))
    await page.getByRole('group', { name: 'Body', exact: true }).getByText('"lastname"').waitFor()
    await press('Send a test')
    await page.getByText('Delivered: status 200').waitFor()
    t.strictSame(crm.requests[1]?.body, contact, 'what is saved')
    await press('Save the body')
    await page.getByText('Saved.').waitFor()
    await press('Send a test')
    await page.getByText('Not delivered').waitFor()
    t.match(crm.requests[2], {
      status: 400,
      body: { inputs: [{ properties: { lastname: 'Ada "Lovelace"' } }] },
    })
    await input.fill('{"a": {{/data}}}')
    await page.getByText('This is not JSON').waitFor()
    await input.fill('{"a": "{{data}}"}')
    await page.getByText('/a must have a JSON Pointer').waitFor()
    t.strictSame(wrong, [])
  },
)
