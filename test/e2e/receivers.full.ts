import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import * as v from 'valibot'
import { RECEIVERS } from '../../src/console/receivers.ts'
import { goTo, noConsole, openConsole, startConsole } from '../support/console.ts'
import { until } from '../support/program.ts'

type ReceiverName = keyof typeof RECEIVERS
type Received = { readonly headers: Readonly<Record<string, unknown>>; readonly body: unknown }
type Answer = { readonly status: number; readonly text: string }

const Email = v.pipe(v.string(), v.regex(/^[^@\s]+@[^@\s]+\.[^@\s]+$/))

/** The body that each vendor documents: a strict object refuses members that the vendor does not know. */
const HubspotBody = v.strictObject({
  inputs: v.array(
    v.strictObject({
      idProperty: v.literal('email'),
      id: Email,
      properties: v.strictObject({
        email: v.string(),
        firstname: v.optional(v.string()),
        lastname: v.optional(v.string()),
        company: v.optional(v.string()),
        phone: v.optional(v.string()),
      }),
    }),
  ),
})
const SlackBody = v.strictObject({
  text: v.string(),
  blocks: v.array(
    v.strictObject({
      type: v.literal('section'),
      text: v.strictObject({
        type: v.literal('plain_text'),
        text: v.pipe(v.string(), v.minLength(1), v.maxLength(3_000)),
        emoji: v.boolean(),
      }),
    }),
  ),
})
const BrevoBody = v.strictObject({
  email: Email,
  attributes: v.record(v.pipe(v.string(), v.regex(/^[A-Z]+$/)), v.string()),
  updateEnabled: v.boolean(),
})

const HUBSPOT_TOKEN = 'pat-na1-1'
const BREVO_KEY = 'xkeysib-1'
/** What a user copies from the vendor into the field for the token. */
const TOKENS: Readonly<Record<ReceiverName, string>> = {
  hubspot: HUBSPOT_TOKEN,
  brevo: BREVO_KEY,
  slack: '',
  json: '',
}

/** What each vendor answers. */
const VENDORS: Readonly<Record<ReceiverName, (received: Received) => Answer>> = {
  hubspot: ({ headers, body }) => {
    if (headers['authorization'] !== `Bearer ${HUBSPOT_TOKEN}`)
      return { status: 401, text: '{"category":"INVALID_AUTHENTICATION"}' }
    if (!v.is(HubspotBody, body)) return { status: 400, text: '{"category":"VALIDATION_ERROR"}' }
    return { status: 200, text: '{"status":"COMPLETE","results":[{"id":"51","new":true}]}' }
  },
  slack: ({ body }) => {
    if (!(body as { text?: string }).text) return { status: 400, text: 'no_text' }
    if (!v.is(SlackBody, body)) return { status: 400, text: 'invalid_blocks' }
    return { status: 200, text: 'ok' }
  },
  brevo: ({ headers, body }) => {
    if (headers['api-key'] !== BREVO_KEY) return { status: 401, text: '{"code":"unauthorized"}' }
    if (!v.is(BrevoBody, body)) return { status: 400, text: '{"code":"invalid_parameter"}' }
    return { status: 201, text: '{"id":1}' }
  },
  json: () => ({ status: 200, text: '{"status":"success"}' }),
}

const listen = async (t: Test, listener: RequestListener): Promise<string> => {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

/** A server that answers like this vendor, and the requests it got. */
const startVendor = async (t: Test, name: ReceiverName) => {
  const requests: { readonly body: unknown; readonly status: number }[] = []
  const url = await listen(t, async (request, response) => {
    const { method, headers } = request
    const body = JSON.parse(Buffer.concat(await request.toArray()).toString())
    const isJson = method === 'POST' && headers['content-type'] === 'application/json'
    const answer = isJson ? VENDORS[name]({ headers, body }) : { status: 415, text: '' }
    requests.push({ body, status: answer.status })
    response.writeHead(answer.status).end(answer.text)
  })
  return { url, requests }
}

const HOSTILE_NAME = '"}],\n{{/eventId}} <!channel> \\u0000 日本'
const PEOPLE = [
  { email: 'ada@example.com', name: 'Ada Lovelace' },
  { email: 'eve@example.com', name: HOSTILE_NAME },
  { email: 'nobody@example.com' },
]

t.test('every receiver accepts what it is sent', { skip: noConsole }, async (t) => {
  const { call } = await startConsole(t)
  for (const name of Object.keys(RECEIVERS) as ReceiverName[])
    await t.test(`${name}, whatever a person is called`, async (t) => {
      const { token, body } = RECEIVERS[name]
      const vendor = await startVendor(t, name)
      const created = await call('POST', '/v0/webhook_endpoints', {
        url: vendor.url,
        types: ['prospect_log.created'],
        headers: token && { [token.header]: `${token.prefix}${TOKENS[name]}` },
        body: JSON.parse(body),
      })
      t.equal(created.status, 201)

      for (const person of PEOPLE)
        await call('POST', '/v0/prospect_logs', { source: 'form', ...person, payload: { a: [1] } })

      await until('each person has arrived', () => vendor.requests.length === PEOPLE.length)
      for (const { status } of vendor.requests) t.ok(status < 300, `status ${status}`)
      const sent = JSON.stringify(vendor.requests.map(({ body }) => body))
      for (const { email } of PEOPLE) t.ok(sent.includes(email), email)
      const [hostilePart = ''] = HOSTILE_NAME.split('\n')
      t.ok(sent.includes(JSON.stringify(hostilePart).slice(1, -1)), 'the hostile name is unchanged')
      await call('DELETE', `/v0/webhook_endpoints/${created.body.webhookEndpointId}`)
    })
})

const pressButton = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()

t.test('a first connection is tested with an activity from before', { skip: noConsole }, async (t) => {
  const { server, browser, apiKey, call } = await startConsole(t)
  const zapier = await startVendor(t, 'json')
  const { page, wrong } = await openConsole(t, browser, server.url, { key: apiKey })
  const delivered = page.getByText('Delivered: status 200')
  await call('POST', '/v0/prospect_logs', { source: 'shop', email: 'ada@example.com', payload: { a: 1 } })
  await goTo(page, 'webhooks?connect=json')
  await page.getByLabel('Address').fill(zapier.url)
  await pressButton(page, 'Connect')
  await page.getByRole('heading', { name: 'Saved. Nothing was sent yet.' }).waitFor()
  t.equal(zapier.requests.length, 0)

  await t.test('right after connecting', async (t) => {
    await pressButton(page, 'Send the newest activity as a test')
    await delivered.waitFor()
    t.match(zapier.requests[0]?.body, { email: 'ada@example.com', payload: { a: 1 } })
    await pressButton(page, 'Close')
  })

  await t.test('and on the page of the connection', async (t) => {
    await pressButton(page, 'Send a test')
    await delivered.waitFor()
    t.strictSame(zapier.requests[1], zapier.requests[0])
  })

  await t.test('what only a program needs is for developers', async (t) => {
    const rotate = page.getByRole('button', { name: 'Rotate secret…' })
    t.equal(await rotate.isVisible(), false)
    await page.getByText('For developers').click()
    t.equal(await rotate.isVisible(), true)
  })

  await t.test('a second one that does the same is made only on purpose', async (t) => {
    await goTo(page, 'now')
    await goTo(page, 'webhooks?connect=json')
    await page.getByLabel('Address').fill(zapier.url)
    await pressButton(page, 'Connect')
    await page.getByText('“Zapier, n8n or Make” already sends these activities there.').waitFor()
    t.equal((await call('GET', '/v0/webhook_endpoints')).body.items.length, 1)
    await pressButton(page, 'Connect')
    await page.getByRole('heading', { name: 'Saved.' }).waitFor()
    await pressButton(page, 'Close')
    await page.getByRole('heading', { name: 'Zapier, n8n or Make 2' }).waitFor()
  })
  t.strictSame(wrong, [])
})

t.test('a field that the person lacks is filled from the activity', { skip: noConsole }, async (t) => {
  const { server, browser, apiKey, call } = await startConsole(t)
  const { page, wrong } = await openConsole(t, browser, server.url, { key: apiKey })
  const payload = { Company: 'Analytical "Engines"', city: 'London' }
  await call('POST', '/v0/prospect_logs', { source: 'contact', email: 'ada@example.com', payload })
  await goTo(page, 'webhooks?connect=hubspot&source=contact')
  const company = page.getByLabel('What fills Company')
  const previewOf = (label: string) => page.locator(`select[aria-label="What fills ${label}"] + small`)
  await previewOf('Company').getByText('Analytical "Engines"').waitFor()
  t.equal(await company.inputValue(), '/data/payload/Company?')
  t.equal(await previewOf('Phone').innerText(), 'nothing: it stays empty')

  await t.test('unless something else was chosen for it', async (t) => {
    await company.selectOption({ label: 'city' })
    await page.getByLabel('Which activities?').selectOption('')
    await previewOf('Company').getByText('London').waitFor()
    t.equal(await company.inputValue(), '/data/payload/city?')
  })

  await t.test('and a time is shown as people write it', async (t) => {
    await page.locator('select[name=receiver]').selectOption('json')
    t.match(await previewOf('Time').innerText(), /^\w{3}, .* 20\d\d/)
  })
  t.strictSame(wrong, [])
})

t.test('a form of a website reaches a CRM, set up in the console', { skip: noConsole }, async (t) => {
  const { server, browser, apiKey, call } = await startConsole(t)
  const crm = await startVendor(t, 'hubspot')
  const { page, wrong } = await openConsole(t, browser, server.url, { key: apiKey, refused: [400, 404] })
  const renderedBody = page.getByRole('group', { name: 'Body', exact: true })
  const template = page.getByLabel('Template')
  let formAddress = ''
  let endpointAddress = ''
  const contact = {
    inputs: [
      {
        idProperty: 'email',
        id: 'ada@example.com',
        properties: {
          email: 'ada@example.com',
          firstname: 'Ada',
          lastname: '"Lovelace"',
          company: 'Analytical Engines',
          phone: '+44 20 7946 0018',
        },
      },
    ],
  }

  await t.test('first, an address for the form is created', async (t) => {
    await goTo(page, 'sources')
    await pressButton(page, 'Connect a form')
    await page.getByLabel('Name of this source').fill('contact')
    await pressButton(page, 'Create the address')
    formAddress = String(await page.getByRole('group', { name: 'Address' }).textContent())
    t.match(formAddress, /^http/)
    await pressButton(page, 'Close')
  })

  await t.test('then the CRM is connected with its token', async (t) => {
    await goTo(page, 'now')
    await page.keyboard.press('/')
    await page.keyboard.type('hubsp')
    await page.getByRole('option', { name: 'Send to HubSpot' }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByLabel('What fills First name').waitFor()
    const dialog = page.getByRole('dialog')
    t.equal(await template.isVisible(), false, 'no JSON')
    t.notMatch(await dialog.innerText(), /[{}]|\/data\//, 'no JSON and no pointers')
    const activities = page.getByLabel('Which activities?').locator('option')
    t.strictSame(await activities.allTextContents(), ['contact (form)', 'All activities, of every source'])
    await page.getByLabel('Access token').fill(HUBSPOT_TOKEN)
    await page.getByText('Advanced: show as JSON').click()
    await page.getByLabel('Address').fill(crm.url)
    await pressButton(page, 'Connect')
    await page.getByText('each new activity of contact is sent to HubSpot').waitFor()
    await page.getByText('There is no activity to send yet.').waitFor()
    await pressButton(page, 'Close')
    t.equal(crm.requests.length, 0, 'nothing is sent yet')
    endpointAddress = page.url().replace(/.*#\//, '')
  })

  await t.test('all forms are chosen, if there are several, and other sources can be', async (t) => {
    await call('POST', '/v0/hooks', { source: 'typeform', verify: { preset: 'typeform', secret: 'secret' } })
    await call('POST', '/v0/hooks', { source: 'shop', verify: { preset: 'shopify', secret: 'secret' } })
    await goTo(page, 'now')
    await goTo(page, 'webhooks?connect=slack')
    const activities = page.getByLabel('Which activities?')
    await activities.waitFor()
    t.strictSame(await activities.locator('option').allTextContents(), [
      'All forms: contact, typeform',
      'contact (form)',
      'typeform (form)',
      'shop',
      'All activities, of every source',
    ])
    t.equal(await activities.inputValue(), '["contact","typeform"]')
  })

  await t.test('what a receiver gets is edited without the words of developers', async (t) => {
    const slack = { url: crm.url, types: ['prospect_log.created'], body: {}, sources: ['shop'] }
    const { webhookEndpointId } = (await call('POST', '/v0/webhook_endpoints', slack)).body
    await pressButton(page, 'Cancel')
    await goTo(page, `webhooks/${webhookEndpointId}`)
    await pressButton(page, 'Edit…')
    await page.getByLabel('Name', { exact: true }).fill('Our channel')
    await page.getByLabel('Which activities?').selectOption('contact (form)')
    await pressButton(page, 'Save')
    await page.getByRole('heading', { name: 'Our channel' }).waitFor()
    const { body } = await call('GET', `/v0/webhook_endpoints/${webhookEndpointId}`)
    t.match(body, { description: 'Our channel', sources: ['contact'] })
    await call('DELETE', `/v0/webhook_endpoints/${webhookEndpointId}`)
    await goTo(page, 'webhooks?connect=slack')
  })

  await t.test('an address that the server refuses is explained without its settings', async (t) => {
    await page.getByLabel('Address').fill('http://10.0.0.1/')
    await pressButton(page, 'Connect')
    const problem = page.getByRole('alert')
    await problem.getByText('This server sends only to public https:// addresses.').waitFor()
    t.notMatch(await problem.innerText(), 'WEBHOOKS_')
    await problem.getByText('For the operator').click()
    t.match(await problem.innerText(), 'WEBHOOKS_ALLOWED_NETWORKS')
    await pressButton(page, 'Cancel')
  })

  await t.test('then what a visitor submits becomes a contact', async (t) => {
    const form = `<form method="post" action="${formAddress}">
      <input name="email"><input name="name"><input name="company"><input name="phone">
      <input name="city"><button>Send</button></form>`
    const siteUrl = await listen(t, (_, response) => {
      response.setHeader('content-type', 'text/html').end(form)
    })
    const visitor = await browser.newPage()
    await visitor.goto(siteUrl)
    await visitor.locator('[name=email]').fill('ada@example.com')
    await visitor.locator('[name=name]').fill('Ada "Lovelace"')
    await visitor.locator('[name=company]').fill('Analytical Engines')
    await visitor.locator('[name=phone]').fill('+44 20 7946 0018')
    await visitor.locator('[name=city]').fill('London')
    await visitor.getByRole('button').click()
    await until('the CRM has the contact', () => crm.requests.length === 1)
    t.strictSame(crm.requests[0], { status: 200, body: contact })
  })

  await t.test('the console calls it a form', async (t) => {
    await goTo(page, 'activity')
    await page.locator('table.activities .tag', { hasText: /^form$/ }).waitFor()
    await page.locator('table.activities .open').click()
    const detail = await page.locator('.detail', { hasText: 'Form contact' }).innerText()
    t.notMatch(detail, 'webhook')
    await goTo(page, endpointAddress)
  })

  await t.test('what fills a field is chosen from what the newest activity has', async (t) => {
    await page.getByLabel('What fills First name').selectOption({ label: 'name' })
    await page.locator('.filled small', { hasText: 'Ada "Lovelace"' }).first().waitFor()
    await page.getByLabel('Another field of the receiver').fill('lifecyclestage')
    await page.getByLabel('What fills the other field').selectOption({ label: 'Source' })
    const { inputs } = JSON.parse(await template.inputValue())
    t.match(inputs[0].properties, {
      firstname: '{{/data/payload/name?}}',
      lifecyclestage: '{{/data/source}}',
    })
    await page.getByLabel('What fills lifecyclestage').selectOption({ label: 'nothing' })
    await page.getByText('Advanced: show as JSON').click()
  })

  await t.test('a changed template is shown beside the body it renders, and not yet sent', async (t) => {
    await renderedBody.getByText('"lastname": "\\"Lovelace\\""').waitFor()
    const changed = (await template.inputValue()).replace('"phone"', '"mobilephone"')
    await template.fill(changed)
    await renderedBody.getByText('"mobilephone"').waitFor()
    await pressButton(page, 'Send a test')
    await page.getByText('Delivered: status 200').waitFor()
    t.strictSame(crm.requests[1]?.body, contact, 'the test sends the saved body')
  })

  await t.test('once it is saved, a test shows that the CRM refuses it', async (t) => {
    await pressButton(page, 'Save what is sent')
    await page.getByText('Saved.').waitFor()
    await pressButton(page, 'Send a test')
    await page.getByText('Not delivered').waitFor()
    const properties = { mobilephone: '+44 20 7946 0018' }
    t.match(crm.requests[2], { status: 400, body: { inputs: [{ properties }] } })
  })

  await t.test('a template with an error is explained while it is typed', async (t) => {
    await template.fill('{"a": {{/data}}}')
    await page.getByText('This is not JSON').waitFor()
    await template.fill('{"a": "{{data}}"}')
    await page.getByText('/a must have a JSON Pointer').waitFor()
    t.strictSame(wrong, [])
  })
})
