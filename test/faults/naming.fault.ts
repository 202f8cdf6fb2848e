import { randomInt } from 'node:crypto'
import t, { type Test } from 'tap'
import {
  caller,
  type DatabaseKind,
  databaseKinds,
  type Environment,
  seed,
  startServer,
  until,
} from '../support/program.ts'
import { versionFaults } from './kept.ts'
import { contextFor, NAMELESS, NAMES, startNamingServer } from './naming-server.ts'
import { createTraffic } from './traffic.ts'
import { answerFaults, figuresOf, peakMemoryMb } from './verdict.ts'

t.setTimeout(0)
t.jobs = 2
const ANSWER_MS_MAX = 10_000
const MEMORY_MB_MAX = 300
const OFTEN = { PUBLISHER_POLL_MS: '200' }

/** A tenant with a page group, and servers that ask a naming server. */
const setting = async (t: Test, kind: DatabaseKind) => {
  const database = await kind.open(t)
  const { apiKey, pageGroupId } = await seed(database.env)
  const pagesPath = `/v0/page_groups/${pageGroupId}/pages`
  const start = async (url: string, more: Environment = {}) => {
    const server = await startServer(t, { ...database.env, NAMER_URL: url, NAMER_MODEL: 'small', ...more })
    const call = caller(server.url, apiKey)
    const create = async (supplementaryContext: string): Promise<string> => {
      const { status, body } = await call('POST', pagesPath, { supplementaryContext })
      t.equal(status, 201)
      return body.pageId
    }
    const read = async (pageId: string) => (await call('GET', `${pagesPath}/${pageId}`)).body
    return { server, create, read }
  }
  const versions = () =>
    database.rows<{ status: string; attempts: number }>('select status, attempts from page_versions')
  const published = () =>
    until('all is published', async () => (await versions()).every(({ status }) => status === 'published'), {
      tries: 200,
      pauseMs: 300,
    })
  return { apiKey, pageGroupId, database, start, versions, published }
}

for (const kind of databaseKinds())
  t.test(`on ${kind.name}`, { skip: kind.skip ?? false, buffered: true }, async (t) => {
    t.teardown(kind.end)

    t.test('whatever the naming server does, pages are published under sane names', async (t) => {
      const namer = await startNamingServer(t)
      const { apiKey, pageGroupId, database, start, published } = await setting(t, kind)
      const { server, create, read } = await start(namer.url, {
        NAMER_PATIENCE_MS: '4000',
        NAMER_CALLS_MAX: '40',
        ...OFTEN,
      })
      const traffic = createTraffic({ apiKey, pageGroupIds: [pageGroupId], answerMsMax: 2 * ANSWER_MS_MAX })
      t.teardown(traffic.close)
      const flow = traffic.flow(server.url, { callers: 2, writesMax: 100 })
      const pages = new Map<string, string>()
      // Failed naming never reaches the database, so one kind of database is enough.
      const nameless = kind.name === 'sqlite' ? Object.keys(NAMELESS) : []
      // The nameless ones last: one that is overloaded for an hour makes the publisher rest.
      for (const behaviour of [...Object.keys(NAMES), ...nameless])
        pages.set(behaviour, await create(contextFor(behaviour)))
      await flow.done()
      await published()
      await until('no call is left open', () => namer.open() === 0)

      for (const [behaviour, pageId] of pages) {
        const { computedName, effectiveName, latestVersion } = await read(pageId)
        const [, wanted] = NAMES[behaviour] ?? [null, builtInFor(behaviour)]
        if (typeof wanted === 'string') t.equal(computedName, wanted, behaviour)
        else t.match(computedName, wanted, behaviour)
        t.equal(effectiveName, computedName)
        t.equal(latestVersion.status, 'published')
        t.notMatch(computedName, /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]|^\s|\s$/u, behaviour)
        t.ok([...computedName].length <= 120, behaviour)
      }
      const faults = answerFaults(traffic.answers, { msMax: ANSWER_MS_MAX })
      t.strictSame(faults, [])
      const memoryMb = peakMemoryMb(server.pid)
      if (memoryMb !== null) t.ok(memoryMb < MEMORY_MB_MAX, `${memoryMb} MB at most`)
      t.comment(figuresOf(traffic, faults, { 'calls to the namer': namer.calls(), 'peak MB': memoryMb }))
      t.strictSame(await versionFaults(database, 1_000), [])
      t.equal(await server.stop(), 0)
    })

    t.test('a naming server that is not there, and then comes and is slow', async (t) => {
      const port = ungivenPort()
      const { url, close } = await startNamingServer(t, port)
      close()
      const { start, published, versions } = await setting(t, kind)
      const { server, create, read } = await start(url, { NAMER_PATIENCE_MS: '3000', ...OFTEN })
      const first = await create('A page about the spring sale')
      await published()
      t.match(await read(first), { computedName: 'A page about the spring sale' })
      t.match(await versions(), [{ status: 'published', attempts: 1 }])
      await startNamingServer(t, port)
      await until('it is called again', async () => {
        const pageId = await create(contextFor('names slowly'))
        await published()
        return (await read(pageId)).computedName === 'Late Flowers'
      })
      t.equal(await server.stop(), 0)
    })

    t.test('shutdowns while a page is being named use up none of its attempts', async (t) => {
      const namer = await startNamingServer(t)
      const { start, versions } = await setting(t, kind)
      let pageId = ''
      for (let time = 0; time < 6; time++) {
        const { server, create } = await start(namer.url, { NAMER_PATIENCE_MS: '600000' })
        if (time === 0) pageId = await create(contextFor('never answers'))
        await until('the namer is asked', () => namer.calls() > time)
        t.equal(await server.stop(), 0)
        t.match(await versions(), [{ status: 'processing', attempts: 0 }])
      }
      const { server, read } = await start(namer.url, { NAMER_PATIENCE_MS: '500' })
      await until('it is published', async () => (await read(pageId)).publishedVersion !== null)
      t.match(await versions(), [{ status: 'published', attempts: 1 }])
      t.equal(await server.stop(), 0)
    })
  })

/** The first eight words of the context. */
const builtInFor = (behaviour: string): string => contextFor(behaviour).split(' ').slice(0, 8).join(' ')

/** Below the ephemeral ports of the system: it stays free while nothing listens. */
const ungivenPort = (): number => 20_000 + randomInt(10_000)
