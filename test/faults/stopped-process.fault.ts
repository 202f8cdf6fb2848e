import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { placeOf } from '../support/place.ts'
import { caller, databaseKinds, type Program, seed, startServer, until } from '../support/program.ts'
import { faultsRandom } from '../support/random.ts'
import { startReceiver } from './webhook-receiver.ts'

t.setTimeout(0)
t.jobs = 2
const PEOPLE = 60
const STOPPED_MS = 110_000
const PATIENT = { tries: 900, pauseMs: 500 }
/** A process that is stopped within a read or a write of SQLite keeps others from writing or rewriting: then it is stopped again. */
const STOPS_MAX = 20

/** Forwards connections to PostgreSQL. From `hold` to `letGo` what clients send stays here, even if they have hung up. */
const startHoldingProxy = async (t: Test, target: string) => {
  let held: (() => void)[] | null = null
  const sockets: Socket[] = []
  const forward = (work: () => void) => void (held === null ? work() : held.push(work))
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect(target)
    sockets.push(client, upstream)
    client.on('data', (bytes) => forward(() => upstream.write(bytes)))
    client.on('end', () => forward(() => upstream.end()))
    upstream.on('data', (bytes) => client.writable && client.write(bytes))
    client.on('error', () => {}).on('close', () => forward(() => upstream.end()))
    upstream.on('error', () => {}).on('close', () => client.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return {
    port: (server.address() as AddressInfo).port,
    hold: () => {
      held ??= []
    },
    letGo: () => {
      const all = held ?? []
      held = null
      for (const work of all) work()
      return all.length
    },
  }
}

for (const kind of databaseKinds())
  t.test(
    `a process on ${kind.name} that stands still while another one erases, merges and corrects is overtaken`,
    { skip: kind.skip ?? false },
    async (t) => {
      t.teardown(kind.end)
      const random = faultsRandom(t)
      const { env: database, rows } = await kind.open(t)
      const url = database['DATABASE_URL'] ?? ''
      const env = { ...database, EVENTS: 'on', WEBHOOKS_ALLOWED_NETWORKS: '127.0.0.0/8' }
      const { apiKey, pageGroupId } = await seed(env)
      const start = async (more = {}) => {
        const server = await startServer(t, { ...env, ...more })
        return { ...server, call: caller(server.url, apiKey) }
      }
      const here = await start()
      const other = await start()
      const host = kind.name === 'postgres' ? placeOf(url).folder : ''
      const proxy = host === '' ? null : await startHoldingProxy(t, `${host}/.s.PGSQL.5432`)
      const address = new URL(url)
      const behind = proxy && {
        ...(await start({
          DATABASE_URL: `postgres://postgres@127.0.0.1:${proxy.port}${address.pathname}`,
        })),
      }

      const receiver = await startReceiver(t)
      await other.call('POST', '/v0/webhook_endpoints', { url: receiver.url })
      const hook = { source: 'vendor', verify: { token: true }, map: { email: ['/email'] } }
      const { body: hooked } = await other.call('POST', '/v0/hooks', hook)
      const people = async (name: string) => {
        const made = Array.from({ length: PEOPLE }, (_, i) =>
          other.call('POST', '/v0/prospects', { email: `${name}-${i}@x.org`, name: `Secret ${i}` }),
        )
        return (await Promise.all(made)).map(({ body }) => String(body.prospectId))
      }
      const gone = await people('gone')
      const merged = await people('merged')
      const kept = await people('kept')
      const corrected = await people('corrected')

      /** The ids of acknowledged activities, and whose they are. */
      const acknowledged = new Map<string, string>()
      const statuses: Record<string, number> = {}
      const unavailable: { readonly server: string; readonly detail: string }[] = []
      type Noted = { status: number; body?: { prospectLogId?: string; detail?: string } | null }
      const note = async (server: string, sent: Promise<Noted>, whose = '') => {
        const { status, body } = await sent.catch((): Noted => ({ status: 0, body: null }))
        statuses[status] = (statuses[status] ?? 0) + 1
        if (status === 201 && body?.prospectLogId) acknowledged.set(body.prospectLogId, whose)
        if (status === 503) unavailable.push({ server, detail: String(body?.detail) })
      }
      let isOver = false
      let sent = 0
      const flowOn = ({ url, call }: Pick<Program, 'url'> & { call: ReturnType<typeof caller> }) => {
        const activity = (fields: object) => ({ source: 's', payload: { n: ++sent }, ...fields })
        const ofPerson = async (name: string, i: number, prospectId?: string) => {
          const fields =
            prospectId !== undefined && i % 2 === 0 ? { prospectId } : { email: `${name}-${i}@x.org` }
          while (!isOver) await note(url, call('POST', '/v0/prospect_logs', activity(fields)), `${name}-${i}`)
        }
        const repeat = async (work: () => Promise<unknown>) => {
          while (!isOver)
            await note(
              url,
              work().then(() => ({ status: 200 })),
            )
        }
        const batch = () =>
          Array.from({ length: PEOPLE }, (_, i) => activity({ email: `gone-${i % PEOPLE}@x.org` }))
        return [
          ...gone.map((id, i) => ofPerson('gone', i, id)),
          ...merged.map((id, i) => ofPerson('merged', i, id)),
          ...corrected.map((_, i) => ofPerson('corrected', i)),
          repeat(() =>
            call('POST', '/v0/prospects', { email: `gone-${random.below(PEOPLE)}@x.org`, name: 'Again' }),
          ),
          repeat(() => call('POST', '/v0/prospect_logs/batch', { items: batch() })),
          repeat(() =>
            fetch(url + hooked.path, {
              method: 'POST',
              headers: { 'content-type': 'application/json' },
              body: JSON.stringify({ email: `gone-${random.below(PEOPLE)}@x.org` }),
            }),
          ),
          repeat(() => call('POST', `/v0/page_groups/${pageGroupId}/pages`, { customName: 'A page' })),
        ]
      }
      const flows = [here, ...(behind ? [behind] : [])].flatMap(flowOn)

      await until('prospects are in memory', () => acknowledged.size > 10 * PEOPLE, PATIENT)
      for (let stops = 0, isFree = false; !isFree; stops++) {
        if (stops === STOPS_MAX) throw new Error('it is always stopped within a transaction')
        await pause(random.below(500))
        process.kill(here.pid, 'SIGSTOP')
        const tried = await other.call('POST', '/v0/prospect_logs', { source: 'try', payload: {} })
        isFree = tried.status === 201
        if (isFree && kind.name === 'sqlite')
          isFree = (await rows<{ busy: number }>('pragma wal_checkpoint(truncate)'))[0]?.busy === 0
        if (!isFree) process.kill(here.pid, 'SIGCONT')
      }
      proxy?.hold()
      const stoppedAt = performance.now()
      isOver = true
      const again = { tries: 100, pauseMs: 200 }
      await Promise.all([
        ...gone.map((prospectId) =>
          until(
            'it is erased',
            async () => (await other.call('POST', '/v0/erasures', { prospectId })).status === 202,
            again,
          ),
        ),
        ...merged.map((prospectId, i) =>
          until(
            'it is merged',
            async () =>
              (await other.call('POST', `/v0/prospects/${prospectId}/merge`, { into: kept[i] })).status ===
              200,
            again,
          ),
        ),
        ...corrected.map((prospectId, i) =>
          until(
            'it is corrected',
            async () =>
              (await other.call('PATCH', `/v0/prospects/${prospectId}`, { email: `now-${i}@x.org` }))
                .status === 200,
            again,
          ),
        ),
      ])
      const listed = (ids: readonly string[]) => ids.map((id) => `'${id}'`).join()
      const logsWhere = async (which: string) =>
        (await rows(`select prospect_log_id from prospect_logs where ${which}`)).length
      const ofCorrected = await logsWhere(`prospect_id in (${listed(corrected)})`)
      const processing = ['erasures', 'merges'].map(
        (table) => `select 1 as open from ${table} where status = 'processing'`,
      )
      await until(
        'all is completed',
        async () => (await rows(processing.join(' union all '))).length === 0,
        PATIENT,
      )
      const completedMs = Math.round(performance.now() - stoppedAt)
      await pause(Math.max(0, STOPPED_MS - completedMs))
      process.kill(here.pid, 'SIGCONT')
      const held = proxy?.letGo()
      await Promise.all(flows)
      await pause(3_000)

      t.equal(await logsWhere(`prospect_id in (${listed(gone)})`), 0, 'nothing of an erased person is left')
      t.equal(await logsWhere("email like 'gone-%'"), 0, 'nor names them')
      t.equal(await logsWhere(`prospect_id in (${listed(merged)})`), 0, 'nothing stays at a merged prospect')
      t.strictSame(
        await rows(`select prospect_id from prospects where email like 'gone-%' or prospect_id in (${listed(gone)})
          and (name is not null or erased_at is null)`),
        [],
      )
      const stored = await rows<{ id: string; owner: string; email: string | null }>(
        'select prospect_log_id as id, prospect_id as owner, email from prospect_logs',
      )
      const ownerOf = new Map(stored.map(({ id, owner }) => [id, owner]))
      const survivorOf = (whose: string) => kept[Number(/^merged-(\d+)/.exec(whose)?.[1])]
      const ofMerged = [...acknowledged].filter(([, whose]) => survivorOf(whose) !== undefined)
      const ofOthers = [...acknowledged].filter(([, whose]) => whose.startsWith('corrected'))
      t.strictSame(
        [...ofMerged, ...ofOthers].filter(([id]) => !ownerOf.has(id)),
        [],
        'nothing that was acknowledged is lost',
      )
      t.strictSame(
        stored.filter(({ owner, email }) => (survivorOf(email ?? '') ?? owner) !== owner),
        [],
        'whoever was merged is the survivor',
      )
      t.equal(
        await logsWhere(`prospect_id in (${listed(corrected)})`),
        ofCorrected,
        'an email that was given up leads there no more',
      )
      t.strictSame(
        unavailable.filter(({ server }) => server === here.url),
        [],
        'no write was refused because its process stood still',
      )
      for (const server of [here, ...(behind ? [behind] : [])])
        t.match(
          await server.call('POST', '/v0/prospect_logs', {
            source: 's',
            payload: {},
            email: 'merged-1@x.org',
          }),
          { status: 201, body: { prospectId: kept[1] } },
          'it serves again',
        )
      t.comment(
        JSON.stringify({
          completedMs,
          held,
          statuses,
          acknowledged: acknowledged.size,
          unavailable: Object.fromEntries(
            [...Map.groupBy(unavailable, ({ detail }) => detail)].map(([detail, all]) => [
              detail,
              all.length,
            ]),
          ),
          events: receiver.received('/').length,
        }),
      )
      for (const server of [here, other, ...(behind ? [behind] : [])]) t.equal(await server.stop(), 0)
    },
  )
