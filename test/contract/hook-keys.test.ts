import type { Test } from 'tap'
import { SECRET, signatureOf } from '../support/hooks.ts'
import { overStores, type StoreKind } from '../support/stores.ts'
import { HOUR_MS, MAP, openHooks } from './hook-scene.ts'

const DAY_MS = 24 * HOUR_MS
const ADA = 'ada@example.com'
const BOB = 'bob@example.com'
const ABOUT_ANOTHER = 'not stored: an earlier activity has its idempotency key, and is about another person.'
const GITHUB = { verify: { preset: 'github', secret: SECRET } }

const openKeys = async (t: Test, kind: StoreKind) => {
  const scene = await openHooks(t, kind)
  const { call, send } = scene
  type Address = { readonly path: string }
  return {
    ...scene,
    isReplayed: async (hook: Address, body: object) =>
      (await scene.deliver(hook, JSON.stringify(body))).json.replayed,
    /** A delivery of GitHub under this id. */
    push: async ({ path }: Address, id: string, email: string, type = 'push') => {
      const body = JSON.stringify({ pusher: { email } })
      const headers = {
        'x-hub-signature-256': `sha256=${signatureOf(body)}`,
        'x-github-delivery': id,
        'x-github-event': type,
      }
      return (await send(path, body, headers)).json
    },
    /** The logs whose key was sent with this text, newest first. */
    logsWith: async (key: string) => {
      const { json } = await call(`GET /v0/prospect_logs?source=vendor&idempotencyKey=${key}`)
      return json['items'] as unknown as readonly Record<string, string>[]
    },
  }
}

overStores(
  async (t, kind) => {
    t.test('a key that is mapped by hand belongs to the person', async (t) => {
      const { create, isReplayed, logs } = await openKeys(t, kind)
      const hook = await create({ map: { ...MAP, externalId: ['/customer'] } })
      const stored = [
        { id: 7, email: ADA },
        { id: 7, email: BOB },
        { id: 7, customer: 'c-1' },
        { id: 7, customer: 'c-2', email: ADA },
        { id: 7 },
        { id: 7, email: 'carol@example.com', name: 'Carol' },
      ]
      for (const body of stored) t.equal(await isReplayed(hook, body), false, JSON.stringify(body))
      const again = [
        ...stored,
        { id: '7', email: ' Ada@Example.COM' },
        { id: 7, email: ADA, attempt: 2, name: 'Ada' },
        { id: 7, email: 'n/a' },
      ]
      for (const body of again) t.equal(await isReplayed(hook, body), true, JSON.stringify(body))
      const emails = (await logs()).map(({ email }) => email)
      t.strictSame(emails, ['carol@example.com', null, ADA, null, BOB, ADA])
    })

    t.test('a key that is mapped by hand belongs to the type and the hook', async (t) => {
      const { create, call, isReplayed, logs } = await openKeys(t, kind)
      const hook = await create({ map: MAP })
      const other = await create({ map: MAP })
      for (const type of ['created', 'paid', undefined])
        t.equal(await isReplayed(hook, { id: 1, email: ADA, type }), false)
      t.equal(await isReplayed(other, { id: 1, email: ADA }), false, 'two hooks that both count from 1')
      const byApi = { source: 'vendor', payload: {}, email: ADA, idempotencyKey: '1' }
      t.notOk((await call('POST /v0/prospect_logs', { json: byApi })).headers['idempotent-replayed'])
      for (const one of [hook, other]) t.equal(await isReplayed(one, { id: 1, email: ADA }), true)
      t.ok((await call('POST /v0/prospect_logs', { json: byApi })).headers['idempotent-replayed'])
      t.equal((await logs()).length, 5)
    })

    t.test('the elements of a body under one key belong to their people', async (t) => {
      const { create, deliver, logs } = await openKeys(t, kind)
      const hook = await create({ each: '/rows', map: MAP })
      const rows = [
        { id: 1, email: ADA },
        { id: 1, email: BOB },
        { id: 1, email: 'Ada@example.com' },
      ]
      const first = await deliver(hook, JSON.stringify({ rows }))
      const [ada, bob, again] = first.json.prospectLogIds ?? []
      t.not(ada, bob)
      t.equal(again, ada)
      const second = await deliver(hook, JSON.stringify({ rows, attempt: 2 }))
      t.strictSame(second.json, { prospectLogIds: [ada, bob, ada], replayed: true })
      t.equal((await logs()).length, 2)
    })

    t.test("a vendor's id of an event stands alone, and another person under it is a warning", async (t) => {
      const { create, call, push, logs, read, readOnceSet } = await openKeys(t, kind)
      const hook = await create(GITHUB)
      const { prospectLogIds } = await push(hook, 'd1', ADA)
      t.equal((await push(hook, 'd1', ' ADA@example.com')).replayed, true)
      t.strictSame(await push(hook, 'd1', ADA, 'star'), { prospectLogIds, replayed: true }, 'written again')
      t.equal((await read(hook)).lastWarning, null)

      const trial = {
        headers: { 'X-GitHub-Delivery': 'd1', 'X-GitHub-Event': 'push' },
        body: JSON.stringify({ pusher: { email: BOB } }),
      }
      const tried = await call(`POST /v0/hooks/${hook.hookId}/try`, { json: trial })
      t.equal(tried.json['warning'], `The body was ${ABOUT_ANOTHER}`)
      t.match(tried.json, { activities: [{ email: BOB, idempotencyKey: 'd1' }] })
      t.notMatch(tried.body, 'keyScope')

      // What was last seen of a hook is written at once for its first delivery only. Hooks of one source share ids of events.
      const other = await create(GITHUB)
      t.strictSame(await push(other, 'd1', BOB), { prospectLogIds, replayed: true })
      t.match(await readOnceSet(other, 'lastWarning'), { reason: `The last body was ${ABOUT_ANOTHER}` })
      t.equal((await logs()).length, 1)

      const unknown = { ...trial, headers: { ...trial.headers, 'X-GitHub-Delivery': 'd2' } }
      t.equal((await call(`POST /v0/hooks/${hook.hookId}/try`, { json: unknown })).json['warning'], null)
    })

    t.test('elements of other people under known ids are counted in the warning', async (t) => {
      const { create, send, readOnceSet } = await openKeys(t, kind)
      const hook = await create({ ...GITHUB, each: '/commits', map: { email: ['/by'] } })
      const other = await create({ ...GITHUB, each: '/commits', map: { email: ['/by'] } })
      const deliverAll = ({ path }: { path: string }, ...people: readonly string[]) => {
        const body = JSON.stringify({ commits: people.map((by) => ({ by })) })
        const headers = { 'x-hub-signature-256': `sha256=${signatureOf(body)}`, 'x-github-delivery': 'd1' }
        return send(path, body, headers)
      }
      await deliverAll(hook, ADA, ADA, BOB)
      t.match((await deliverAll(other, ADA, BOB, ADA)).json, { replayed: true })
      t.match(await readOnceSet(other, 'lastWarning'), {
        reason:
          'The last body was stored without 2 of its 3 activities: earlier ones have their idempotency keys, and are about other people.',
      })
    })

    t.test('every log is found by the text of its key, as it was sent', async (t) => {
      const { create, call, isReplayed, logsWith } = await openKeys(t, kind)
      const hook = await create({ map: MAP })
      for (const email of [ADA, BOB]) await isReplayed(hook, { id: 7, type: 'paid', email })
      await isReplayed(hook, { id: 70, type: 'paid', email: ADA })
      await isReplayed(await create({ map: MAP }), { id: 7, email: ADA })
      const byApi = { source: 'vendor', payload: {}, idempotencyKey: '7' }
      await call('POST /v0/prospect_logs', { json: byApi })
      const found = await logsWith('7')
      t.strictSame(
        found.map(({ email, idempotencyKey }) => [email, idempotencyKey]),
        [null, ADA, BOB, ADA].map((email) => [email, '7']),
      )
      const oneSlice = await call('GET /v0/prospect_logs?source=vendor&idempotencyKey=7&limit=3')
      t.match(oneSlice.json, { hasMore: true })
      const rest = `GET /v0/prospect_logs?source=vendor&idempotencyKey=7&cursor=${oneSlice.json['nextCursor']}`
      t.strictSame((await call(rest)).json['items'], found.slice(3))
      t.strictSame(await logsWith('8'), [])
    })

    t.test('a hash of the body is a key for a day, and then that of the next activity', async (t) => {
      const { clock, create, isReplayed, logs, logsWith } = await openKeys(t, kind)
      const hook = await create({ map: { email: ['/email'], idempotencyKey: ['sha256'] } })
      const other = await create({ map: { email: ['/email'], idempotencyKey: ['/id', 'sha256'] } })
      const body = { email: ADA, answer: 'yes' }
      for (let day = 0; day < 3; day++) {
        t.equal(await isReplayed(hook, body), false)
        t.equal(await isReplayed(hook, body), true)
        clock.advance(DAY_MS - 1)
        t.equal(await isReplayed(hook, body), true)
        t.equal(await isReplayed(hook, { ...body, answer: `no ${day}` }), false)
        clock.advance(1)
      }
      t.equal(await isReplayed(other, body), false)
      t.equal(await isReplayed(other, { id: 'a', ...body }), false)
      clock.advance(DAY_MS)
      t.equal(await isReplayed(other, { id: 'a', ...body }), true, 'another key does not end')
      t.equal(await isReplayed(other, body), false)
      const first = (await logs()).at(-1)
      t.equal((await logsWith(first?.['idempotencyKey'] ?? '')).length, 5, 'all of them are found')
    })

    t.test('of many deliveries of a body a day later, one takes its key over', async (t) => {
      const { clock, create, deliver, logs } = await openKeys(t, kind)
      const hook = await create({ each: '/rows', map: { email: ['/email'], idempotencyKey: ['sha256'] } })
      const body = JSON.stringify({ rows: [{ email: ADA }, { email: BOB }] })
      for (let day = 1; day <= 3; day++) {
        const answers = await Promise.all(Array.from({ length: 20 }, () => deliver(hook, body)))
        t.equal(new Set(answers.map(({ json }) => json.prospectLogIds?.join())).size, 1)
        t.equal((await logs()).length, 2 * day)
        clock.advance(DAY_MS)
      }
    })
  },
  ['memory', 'sqlite', 'postgres', 'tenant-routed', 'citus'],
)
