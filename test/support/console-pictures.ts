/** Takes the pictures of docs/console.md: `npm run pictures`. They are committed, and change only when the console does. */
import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { encodeTime } from 'ulid'
import { createApi, createHandler } from '../../src/entry/http.ts'
import { createService, memoryStore, SCOPES } from '../../src/entry/index.ts'
import { startBackground } from '../../src/entry/publisher.ts'
import { startBrowser } from './browser.ts'

/** The chart of *Now* shows these hours. */
const HOURS = 49
/** Hours before them, with few activities, to which the report compares. */
const HOURS_BEFORE = 12 * 24
const HOUR_MS = 3_600_000
const NAMES = ['Ada Lovelace', 'Grace Hopper', 'Alan Turing', 'Katherine Johnson', 'Barbara Liskov', null]
const KINDS = [
  [
    'contact',
    'form_submitted',
    '{"phone":"030 123 45","company":"Nordwind","message":"Could you call me about the spring offer?","interests":["tulips","roses"],"pageId":"PAGE"}',
  ],
  ['stripe', 'invoice.paid', '{"id":"evt_1Q2","data":{"object":{"amount_paid":4900}}}'],
  ['typeform', 'form_response', '{"event_id":"01J","form_response":{"form_id":"lT4Z3j"}}'],
  ['web', 'page_viewed', '{"path":"/spring","ref":"newsletter","pageId":"PAGE"}'],
] as const

const started = Date.now()
let now = started - (HOURS + HOURS_BEFORE) * HOUR_MS
let made = 0
const store = memoryStore({ everyEvent: true })
const service = createService({
  store,
  clock: () => now,
  newId: (prefix) => {
    const random = `${(made++).toString(16).padStart(8, '0')}${randomBytes(4).toString('hex')}`
    return `${prefix}_${encodeTime(now, 10).toLowerCase()}${random}`
  },
  background: 'elsewhere',
})
const { tenantId } = await service.createTenant({ name: 'Acme' })
const { apiKey } = await service.issueApiKey({ tenantId, name: 'console', scopes: SCOPES })
const { value: pageGroup } = await service.createPageGroup({ tenantId, name: 'spring', title: 'Spring sale' })
const { pageGroupId } = pageGroup
const contents = [
  '{"h1":"Tulips","body":"For balconies","price":14.90}',
  '{"h1":"Tulips, now cheaper","body":"For balconies","price":11.90}',
]
const { value: page } = await service.createPageWithVersion({
  tenantId,
  pageGroupId,
  customName: 'Tulips for the balcony',
  content: { rawJson: contents[0] ?? '' },
})
const pageIds = [page.pageId]
for (const customName of ['Roses for the garden', 'Herbs in a pot', 'All about bulbs']) {
  const content = { rawJson: '{}' }
  const { value } = await service.createPageWithVersion({ tenantId, pageGroupId, customName, content })
  pageIds.unshift(value.pageId)
}
for (let hour = -HOURS_BEFORE; hour < HOURS; hour++) {
  const isBefore = hour < 0
  const daylight = Math.max(0, Math.sin(((hour - 6) / 12) * Math.PI))
  const busy = isBefore ? 3 : Math.round(8 + 22 * daylight + (hour % 5))
  for (let i = 0; i < busy; i++) {
    now = Math.round(started - (HOURS - hour - i / busy) * HOUR_MS)
    const [source, type, rawJson] = KINDS[Math.abs(i * 7 + hour * 3 + (i % 3)) % KINDS.length] ?? KINDS[0]
    const name = NAMES[Math.abs(i * 5 + hour) % NAMES.length]
    const isNew = i % 5 === 0
    const [first = ''] = name?.toLowerCase().split(' ') ?? []
    const email = name ? `${first}${isNew ? hour : ''}@example.com` : 'finance@nordwind.example'
    const payload = rawJson.replace('PAGE', pageIds[Math.abs(i + (hour % 4)) % pageIds.length] ?? '')
    const person = name ? { name, email } : { email }
    await service.logProspectActivity({ tenantId, source, type, ...person, payload: { rawJson: payload } })
  }
}
now = started
await service.createHook({ tenantId, source: 'typeform', verify: { preset: 'typeform', secret: 'a secret' } })
await service.listProspectLogCounts({ tenantId })
const background = startBackground({ store })
const api = createApi({ store, console: true, background: 'elsewhere' })
const server = createServer(createHandler(api))
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' }
const pages = `${url}/v0/page_groups/${pageGroupId}/pages/${page.pageId}`
await fetch(`${pages}/versions`, { method: 'POST', headers, body: `{"content":${contents[1]}}` })
// One that is refused, so that something needs attention.
const { items } = (await (await fetch(`${url}/v0/hooks`, { headers })).json()) as {
  items: { path: string }[]
}
await fetch(`${url}${items[0]?.path}`, { method: 'POST', body: '{}' })

const browser = await startBrowser()
const folder = new URL('../../docs/console/', import.meta.url)
mkdirSync(folder, { recursive: true })
const PICTURES = {
  now: { hash: 'now' },
  report: { hash: 'report' },
  activity: { hash: 'activity', open: 'company' },
  page: { hash: `pages/${pageGroupId}/${page.pageId}`, press: 'Compare' },
} as const
for (const [name, picture] of Object.entries(PICTURES)) {
  const shown = await browser.newPage({ viewport: { width: 1_080, height: 760 }, colorScheme: 'light' })
  await shown.goto(`${url}/console/#key=${apiKey}`)
  await shown.locator('main .view').waitFor()
  await shown.evaluate(`location.hash = '#/${picture.hash}'`)
  await shown.waitForTimeout(name === 'now' ? 30_000 : 4_000)
  if ('open' in picture) await shown.locator('tr', { hasText: picture.open }).locator('.open').first().click()
  if ('press' in picture) await shown.getByRole('button', { name: picture.press }).first().click()
  await shown.waitForTimeout(1_000)
  await shown.screenshot({ path: new URL(`${name}.png`, folder).pathname })
}
await browser.close()
server.close()
await background.stop()
