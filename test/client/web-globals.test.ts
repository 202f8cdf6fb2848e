import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { createContext, runInContext } from 'node:vm'
import { Webhook } from 'standardwebhooks'
import t from 'tap'
import type * as client from '../../src/client/prospect-pages.ts'
import { answering } from './answers.ts'

const source = readFileSync(new URL('../../src/client/prospect-pages.ts', import.meta.url), 'utf8')
/** The only globals of the script. Those of Node are missing, as in a worker. */
const WEB = {
  AbortController,
  Headers,
  Response,
  TextDecoder,
  TextEncoder,
  URL,
  atob,
  clearTimeout,
  crypto,
  setTimeout,
}

/** The module of the client, run as a script with these globals. */
const clientIn = (globals: object): typeof client => {
  const script = stripTypeScriptTypes(source).replaceAll(/^export /gm, '')
  return runInContext(`${script}\n;({ createClient, verifyWebhook })`, createContext(globals))
}

t.test('the client needs only globals of the web', async (t) => {
  const { fetch, sent } = answering(
    { status: 503, headers: { 'retry-after': '0' } },
    { status: 201, body: { prospectLogId: 'prospectlog_1' } },
    { status: 201, body: { accepted: 1, items: [{ status: 201, prospectLog: {}, replayed: false }] } },
    { body: { items: [{ sequence: 1 }], hasMore: false, nextCursor: 'a' } },
  )
  const { createClient } = clientIn({ ...WEB, fetch })
  const { logActivity, buffer, events } = createClient({
    url: 'https://prospects.example.com',
    key: 'pp_key',
  })
  const activity = { source: 'crm', payload: {} }
  t.match(await logActivity(activity), { receipt: { prospectLogId: 'prospectlog_1' }, replayed: false })
  const waiting = buffer()
  const logged = waiting.log(activity)
  t.same(await waiting.close(), [])
  t.match(await logged, { replayed: false })
  t.match((await events().next()).value, { sequence: 1, cursor: 'a' })
  t.equal(sent.length, 4)
})

t.test('webhooks are verified with globals of the web alone', async (t) => {
  const { verifyWebhook } = clientIn(WEB)
  const secret = `whsec_${btoa('a secret of some length')}`
  const body = '{"type":"page.created"}'
  const headers = {
    'webhook-id': 'event_1',
    'webhook-timestamp': String(Math.floor(Date.now() / 1_000)),
    'webhook-signature': new Webhook(secret).sign('event_1', new Date(), body),
  }
  const event = await verifyWebhook({ secrets: secret, headers, body })
  t.match(event, { eventId: 'event_1', type: 'page.created' })
})
