import { once } from 'node:events'
import { renameSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createCaller } from '../faults/call.ts'
import type { ThrowawayPostgres } from '../support/postgres.ts'
import {
  answerOf,
  caller,
  type DatabaseKind,
  databaseKindsThatStop,
  embeddedDatabase,
  newFolder,
  openServer,
  seed,
  seedByCommands,
  startProgram,
  startServer,
  until,
} from '../support/program.ts'

t.setTimeout(0)
t.jobs = 2
const ACTIVITY = { source: 'crm', payload: { form: 'contact' } }
const LOG = { method: 'POST', path: '/v0/prospect_logs', body: ACTIVITY } as const

/** A running server over a new database with a tenant, a key and a page group. */
const setting = async (t: Test, kind: DatabaseKind, seeding = seed) =>
  openServer(t, await kind.open(t), { MCP: 'read' }, seeding)

/** Only a separate database server can be down. */
const testAbsence = (t: Test, kind: DatabaseKind<ThrowawayPostgres>) => {
  const refusesAll = async (t: Test, url: string, apiKey: string) => {
    for (const [method, path, body] of [
      ['GET', '/v0/page_groups', undefined],
      ['POST', '/v0/prospect_logs', ACTIVITY],
      ['GET', '/readyz', undefined],
    ] as const) {
      const { status, headers } = await caller(url, apiKey)(method, path, body)
      t.match({ status, retry: headers.get('retry-after') }, { status: 503, retry: /^\d+$/ }, path)
    }
    t.equal((await fetch(`${url}/healthz`)).status, 200, 'it is alive')
  }

  t.test('a server that starts before its database answers 503 until the database is up', async (t) => {
    const { env } = await kind.open(t)
    const { apiKey } = await seed(env)
    const postgres = await kind.server()
    await postgres.halt()
    const server = await startProgram(t, env)
    await refusesAll(t, server.url, apiKey)
    await postgres.start()
    await server.ready()
    t.equal((await caller(server.url, apiKey)('POST', '/v0/prospect_logs', ACTIVITY)).status, 201)
    // The line may arrive after the answer.
    const said = () => server.logs().findLast(({ msg }) => /the database$/.test(msg ?? ''))
    await until('it is connected', () => said()?.msg === 'connected to the database')
    t.match(said(), { level: 30 })
  })

  t.test('a server whose database goes down answers 503, and serves again once it is back', async (t) => {
    const { server, call, apiKey } = await setting(t, kind)
    t.equal((await call('POST', '/v0/prospect_logs', ACTIVITY)).status, 201)
    const postgres = await kind.server()
    await postgres.halt('SIGQUIT')
    await refusesAll(t, server.url, apiKey)
    const ofPublisher = () => server.logs().filter(({ msg }) => /publishing/i.test(msg ?? ''))
    await until('the publisher waits', () => ofPublisher().length > 0)
    await postgres.start()
    await server.ready()
    t.equal((await call('POST', '/v0/prospect_logs', ACTIVITY)).status, 201)
    await until('the publisher goes on', () => ofPublisher().length > 1)
    t.equal(await server.stop(), 0)
    t.match(ofPublisher(), [
      { level: 40, msg: 'Publishing waits: the database cannot answer.', reason: /./ },
      { level: 30, msg: 'Publishing works again.' },
    ])
    t.notMatch(JSON.stringify(ofPublisher()), 'stack')
  })

  t.test('a server that waits for its database stops on SIGTERM with 0', async (t) => {
    const { env } = await kind.open(t)
    const postgres = await kind.server()
    await postgres.halt()
    const server = await startProgram(t, env)
    t.equal(await server.stop(), 0)
    await postgres.start()
  })
}

const kinds = databaseKindsThatStop()
for (const kind of kinds)
  t.test(`on ${kind.name}`, { skip: kind.skip ?? false, buffered: true }, async (t) => {
    t.teardown(kind.end)

    t.test('the five operations answer, and a created page reads back as published', async (t) => {
      const { call, server, pagesPath, tenantId, pageGroupId } = await setting(t, kind, seedByCommands)
      const receipt = await call('POST', '/v0/prospect_logs', { ...ACTIVITY, email: 'ada@example.com' })
      t.match(receipt, { status: 201, body: { source: 'crm', type: 'webhook', createdProspect: true } })
      const created = await call('POST', pagesPath, { supplementaryContext: 'The spring sale' })
      t.match(created, { status: 201, body: { tenantId, pageGroupId, status: 'processing' } })
      const { pageId } = created.body

      const groups = await call('GET', '/v0/page_groups')
      t.match(groups, {
        status: 200,
        body: { items: [{ pageGroupId, pagesCount: 1 }], hasMore: false, limit: 20 },
      })
      const pages = await call('GET', pagesPath)
      t.match(pages, {
        status: 200,
        body: { items: [{ pageId, effectiveName: 'The spring sale' }], hasMore: false },
      })
      const page = await until('the page is published', async () => {
        const { status, body } = await call('GET', `${pagesPath}/${pageId}`)
        t.equal(status, 200)
        return body.publishedVersion !== null && body
      })
      t.match(page, {
        pageId,
        publishedVersion: { versionNumber: 1 },
        latestVersion: { status: 'published' },
      })
      const asked = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'list_pages' } }
      const { body: told } = await call('POST', '/mcp', asked)
      t.match(told.result.content, [{ text: new RegExp(pageGroupId) }], 'an assistant sees the group')
      t.notMatch(server.stdout(), 'pp_', 'no key is created for a database that has one')
      for (const path of ['/healthz', '/readyz', '/openapi.json', '/llms.txt', '/problems/unavailable'])
        t.equal((await fetch(server.url + path)).status, 200, `${path} needs no key`)
    })

    t.test('a killed server loses no acknowledged write, and retries create no duplicates', async (t) => {
      const { call, server, rows, env, apiKey, pagesPath, pageGroupId } = await setting(t, kind)
      const writes = Array.from({ length: 400 }, (_, i) => ({ key: `key ${i}`, isPage: i % 2 === 1 }))
      type Write = (typeof writes)[number]
      const send = async (to: typeof call, { key, isPage }: Write): Promise<string> => {
        const { status, body } = isPage
          ? await to('POST', pagesPath, {}, { 'idempotency-key': key })
          : await to('POST', '/v0/prospect_logs', { ...ACTIVITY, idempotencyKey: key })
        t.equal(status, 201)
        return isPage ? body.pageId : body.prospectLogId
      }
      /** Sixteen callers at once send what is waiting. */
      const sendAll = (to: typeof call, waiting: Write[], acknowledged: Map<string, string>) => {
        const sender = async () => {
          for (let write = waiting.shift(); write !== undefined; write = waiting.shift())
            acknowledged.set(write.key, await send(to, write))
        }
        return Array.from({ length: 16 }, sender)
      }
      const acknowledged = new Map<string, string>()
      const waiting = [...writes]
      const senders = Promise.allSettled(sendAll(call, waiting, acknowledged))
      await until('some are acknowledged', () => acknowledged.size >= 75, { tries: 100_000, pauseMs: 1 })
      await server.kill()
      await senders
      t.ok(waiting.length > 0, 'it was killed in the middle of the stream')

      const KEPT = `select idempotency_key as key, prospect_log_id as id from prospect_logs
        union all select idempotency_key, page_id from pages`
      const survived = new Map(
        (await rows<{ key: string; id: string }>(KEPT)).map(({ key, id }) => [key, id]),
      )
      const lost = [...acknowledged].filter(([key, id]) => survived.get(key) !== id)
      t.strictSame(lost, [], 'every acknowledged write is there')

      const again = await startServer(t, env)
      const callAgain = caller(again.url, apiKey)
      const repeated = new Map<string, string>()
      await Promise.all(sendAll(callAgain, [...writes], repeated))
      const ids = [...repeated]
      const changed = ids.filter(([key, id]) => survived.has(key) && survived.get(key) !== id)
      t.strictSame(changed, [], 'writes that survived are answered again')
      const kept = await rows<{ key: string; id: string }>(KEPT)
      t.strictSame(kept.map(({ key, id }) => `${key} ${id}`).sort(), ids.map((pair) => pair.join(' ')).sort())

      // Versions that the killed publisher had claimed are leased; end the leases now.
      await rows(
        `update page_versions set claimable_at = created_at where status = 'processing' and attempts > 0`,
      )
      const UNPUBLISHED = `select p.page_id from pages p where not exists (
        select from_version.page_id from page_versions from_version where from_version.page_id = p.page_id
          and from_version.version_id = p.published_version_id and from_version.status = 'published')`
      await until('all is published', async () => (await rows(UNPUBLISHED)).length === 0)
      const [counted] = (await callAgain('GET', '/v0/page_groups')).body.items
      t.match(counted, { pageGroupId, pagesCount: writes.length / 2 })
      t.equal((await rows('select version_id as id from page_versions')).length, writes.length / 2)
    })

    t.test('SIGTERM under load: requests in flight are answered, and the server ends with 0', async (t) => {
      const { apiKey, server, rows } = await setting(t, kind)
      const acknowledged: unknown[] = []
      const ends: unknown[] = []
      /** Each sender has a separate connection; the system would reset one that was not accepted yet. */
      const connected = new Set<number>()
      const sender = async (number: number) => {
        const { call, close } = createCaller(apiKey, 60_000, 1)
        for (;;) {
          const { status, why, body, retryAfter } = await call(server.url, LOG)
          if (status === null) {
            ends.push(why)
            return close()
          }
          connected.add(number)
          if (status === 201) acknowledged.push(body?.['prospectLogId'])
          else t.match({ status, retryAfter }, { status: 503, retryAfter: /^\d+$/ })
        }
      }
      const senders = Array.from({ length: 16 }, (_, number) => sender(number))
      const isUnderLoad = () => acknowledged.length >= 120 && connected.size === senders.length
      await until('it is under load', isUnderLoad, { tries: 100_000, pauseMs: 1 })
      t.equal(await server.stop(), 0)
      await Promise.all(senders)
      t.strictSame([...new Set(ends)], ['ECONNREFUSED'], 'only new connections were refused')
      const kept = await rows<{ id: string }>('select prospect_log_id as id from prospect_logs')
      t.strictSame(kept.map(({ id }) => id).sort(), acknowledged.sort())
    })

    t.test('two servers on one database share its keys and pages', async (t) => {
      const { call, server, env, apiKey, apiKeyId, pagesPath } = await setting(t, kind)
      const other = await startServer(t, env)
      const callOther = caller(other.url, apiKey)
      for (const [here, there] of [
        [call, callOther],
        [callOther, call],
      ] as const) {
        const { pageId } = (await here('POST', pagesPath, {})).body
        t.equal((await there('GET', `${pagesPath}/${pageId}`)).status, 200, 'at once')
        await until(
          'it is published',
          async () => (await there('GET', `${pagesPath}/${pageId}`)).body.publishedVersion,
        )
      }
      await answerOf(['keys', 'revoke', apiKeyId], env)
      for (const url of [server.url, other.url]) {
        const refused = async () => (await caller(url, apiKey)('GET', '/v0/page_groups')).status === 401
        await until('the key is refused', refused)
      }
      t.pass('both refuse the revoked key')
    })

    if (kind.name === 'postgres') testAbsence(t, kind)
  })

t.test('SIGTERM waits for a request that is still arriving, but not for an idle connection', async (t) => {
  const { server, apiKey, rows } = await setting(t, kinds[0] as DatabaseKind)
  t.ok((await fetch(`${server.url}/healthz`)).ok, 'leaves an idle connection behind')
  const body = JSON.stringify(ACTIVITY)
  const headers = { 'x-api-key': apiKey, 'content-type': 'application/json', expect: '100-continue' }
  const sent = request(`${server.url}/v0/prospect_logs`, {
    method: 'POST',
    headers: { ...headers, 'content-length': body.length },
  })
  const answered = once(sent, 'response')
  sent.flushHeaders()
  await once(sent, 'continue')
  sent.write(body.slice(0, 10))
  const ended = server.stop()
  await until('it is stopping', () => server.logs().some(({ msg }) => msg === 'stopping'))
  sent.end(body.slice(10))
  const [response] = await answered
  t.match(response, { statusCode: 201, headers: { connection: 'close' } })
  response.resume()
  t.equal(await ended, 0)
  t.equal((await rows('select prospect_log_id as id from prospect_logs')).length, 1)
})

t.test('a SIGHUP stops a server that uses a terminal, and no other', async (t) => {
  const { server } = await setting(t, kinds[0] as DatabaseKind)
  process.kill(server.pid, 'SIGHUP')
  t.ok((await fetch(`${server.url}/healthz`)).ok, 'as under nohup')
  t.equal(await server.stop(), 0)
  t.equal(server.logs().filter(({ msg }) => msg === 'stopping').length, 1)
})

t.test('a server that waits for its database says in one line why, and what to do', async (t) => {
  const server = await startProgram(t, { DATABASE_URL: 'postgres://nobody:secret@127.0.0.1:1/none' })
  const waiting = await until('it waits', () => server.logs().find(({ msg }) => msg?.startsWith('waiting')))
  t.match(waiting, { reason: /^No connection to 127.0.0.1:1/, remedy: /DATABASE_URL, or start PostgreSQL/ })
  t.notOk('err' in waiting)
})

t.test(
  'a file that is moved away is one error in the log, also without a request, until a restart',
  async (t) => {
    const path = join(newFolder(t), 'test.db')
    const { env } = embeddedDatabase(path)
    const server = await startServer(t, env)
    const lines = () => server.logs().filter(({ msg }) => msg?.startsWith('The database'))
    renameSync(path, `${path}.elsewhere`)
    await until('it is noticed', () => lines().length === 1)
    renameSync(`${path}.elsewhere`, path)
    t.equal((await fetch(`${server.url}/readyz`)).status, 503, 'it may have been changed elsewhere')
    t.equal(await server.stop(), 0)
    t.match(lines(), [{ level: 50, msg: /^The database file .*test\.db was moved, .*restart/ }])
    const again = await startServer(t, env)
    t.equal((await fetch(`${again.url}/readyz`)).status, 200)
  },
)
