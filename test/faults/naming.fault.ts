import { randomInt } from 'node:crypto'
import t, { type Test } from 'tap'
import {
  caller,
  type DatabaseKind,
  databaseKinds,
  type Environment,
  seed,
  startProgram,
  until,
} from '../support/program.ts'
import { versionFaults } from './kept.ts'
import { contextFor, NAMELESS, NAMES, startNamingServer } from './naming-server.ts'
import { createTraffic } from './traffic.ts'
import { answerFaults, figuresOf, peakMemoryMb } from './verdict.ts'

t.setTimeout(240_000)
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
    const server = await startProgram(t, { ...database.env, NAMER_URL: url, NAMER_MODEL: 'small', ...more })
    await server.ready()
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
  /** Ends the rests between attempts, but no lease, until everything is published. A lease is 18 to 31 s from its end. */
  const published = () =>
    until(
      'all is published',
      async () => {
        await database.rows(
          `update page_versions set claimable_at = created_at where status = 'processing' and attempts > 0
            and claimable_at not between '${secondsAhead(18)}' and '${secondsAhead(31)}'`,
        )
        return (await versions()).every(({ status }) => status === 'published')
      },
      { tries: 200, pauseMs: 300 },
    )
  return { apiKey, pageGroupId, database, start, versions, published }
}

for (const kind of databaseKinds())
  t.test(`on ${kind.name}`, { skip: kind.skip ?? false, buffered: true }, async (t) => {
    t.teardown(kind.end)

    t.test('whatever the naming server does, pages are published under sane names', async (t) => {
      const namer = await startNamingServer(t)
      const { apiKey, pageGroupId, database, start, published } = await setting(t, kind)
      const { server, create, read } = await start(namer.url, {
        NAMER_MS_MAX: '2000',
        NAMER_CALLS_MAX: '40',
        ...OFTEN,
      })
      const traffic = createTraffic({ apiKey, pageGroupIds: [pageGroupId], answerMsMax: 2 * ANSWER_MS_MAX })
      t.teardown(traffic.close)
      const flow = traffic.flow(server.url, { callers: 2, writesMax: 100 })
      const pages = new Map<string, string>()
      // What gives no name never reaches the database: one kind tells as much as two.
      const nameless = kind.name === 'sqlite' ? Object.keys(NAMELESS) : []
      for (const behaviour of [...nameless, ...Object.keys(NAMES)])
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
      const { server, create, read } = await start(url, OFTEN)
      const first = await create('A page about the spring sale')
      await published()
      t.match(await read(first), { computedName: 'A page about the spring sale' })
      t.match(await versions(), [{ status: 'published', attempts: 5 }])
      const second = await create(contextFor('names slowly'))
      await until('it was tried once', async () => (await versions()).some(({ attempts }) => attempts === 1))
      await startNamingServer(t, port)
      await published()
      t.match(await read(second), { computedName: 'Late Flowers' })
      t.equal(await server.stop(), 0)
    })

    t.test('shutdowns while a page is being named use up none of its attempts', async (t) => {
      const namer = await startNamingServer(t)
      const { start, versions } = await setting(t, kind)
      let pageId = ''
      for (let time = 0; time < 6; time++) {
        const { server, create } = await start(namer.url, { NAMER_MS_MAX: '600000' })
        if (time === 0) pageId = await create(contextFor('never answers'))
        await until('the namer is asked', () => namer.calls() > time)
        t.equal(await server.stop(), 0)
        t.match(await versions(), [{ status: 'processing', attempts: 0 }])
      }
      const { server, read } = await start(namer.url, { NAMER_MS_MAX: '500' })
      await until('it is tried', async () => (await versions()).some(({ attempts }) => attempts === 1))
      t.match(await read(pageId), { latestVersion: { status: 'processing' } })
      t.equal(await server.stop(), 0)
    })
  })

const secondsAhead = (seconds: number): string => new Date(Date.now() + seconds * 1_000).toISOString()

/** The first eight words of the context. */
const builtInFor = (behaviour: string): string => contextFor(behaviour).split(' ').slice(0, 8).join(' ')

/** Below those that the system gives to whoever asks for any: nobody takes it while nobody listens. */
const ungivenPort = (): number => 20_000 + randomInt(10_000)
