import t, { type Test } from 'tap'
import { type DatabaseKind, databaseKinds, openServer, type Program, until } from '../support/program.ts'
import { FRESH, scraped, scrapeOf } from '../support/scrape.ts'

t.setTimeout(0)
const COUNT = 'prospect_pages_http_request_duration_seconds_count'
const setting = async (t: Test, kind: DatabaseKind, more = {}) => openServer(t, await kind.open(t), more)

for (const kind of databaseKinds().filter(({ name }) => name === 'postgres'))
  t.test('with several workers', { skip: kind.skip ?? false }, async (t) => {
    t.teardown(kind.end)
    const WORKERS = 3
    const several = async (t: Test) => {
      const set = await setting(t, kind, { WORKERS: `${WORKERS}` })
      const { server } = set
      await until('all of them report', async () => {
        const scrape = await scraped(server).catch(() => null)
        return scrape?.value('prospect_pages_processes') === WORKERS
      })
      const victim = await until('one of them has logged', () =>
        server.logs().find(({ msg }) => msg === 'answered'),
      )
      return { ...set, victim: victim['pid'] as number }
    }
    const logged = (server: Program, route: string) =>
      server.logs().filter((line) => line['route'] === route && line['status'] === 200).length

    t.test('a scrape through any of them answers for all', async (t) => {
      const { server, call } = await several(t)
      const before = logged(server, '/v0/page_groups')
      for (let asked = 0; asked < 30; asked++) await call('GET', '/v0/page_groups', undefined, FRESH)
      await until('all is logged', () => logged(server, '/v0/page_groups') === before + 30)
      const answering = server.logs().filter(({ route }) => route === '/v0/page_groups')
      t.ok(new Set(answering.map(({ pid }) => pid)).size > 1, 'more than one has answered')
      for (let times = 0; times < 6; times++) {
        const { value } = await scraped(server)
        t.equal(value(COUNT, { route: '/v0/page_groups', status: '200' }), 30)
      }
    })

    t.test('the counters of a killed worker are kept, and its replacement is counted', async (t) => {
      const { server, call, victim } = await several(t)
      for (let asked = 0; asked < 30; asked++) await call('GET', '/v0/page_groups', undefined, FRESH)
      t.equal((await scraped(server)).value(COUNT, { route: '/v0/page_groups' }), 30)
      process.kill(victim, 'SIGKILL')
      const { value } = await until('there are as many as before', async () => {
        const scrape = await scraped(server).catch(() => null)
        const replaced = server.logs().some(({ msg }) => msg === 'worker replaced')
        return replaced && scrape?.value('prospect_pages_processes') === WORKERS && scrape
      })
      t.equal(value(COUNT, { route: '/v0/page_groups' }), 30)
    })

    t.test('while the primary does not respond, scrapes are refused and nothing else is', async (t) => {
      const { server } = await several(t)
      process.kill(server.pid, 'SIGSTOP')
      t.teardown(() => process.kill(server.pid, 'SIGCONT'))
      const [scrape, health] = await Promise.all(
        ['/metrics', '/healthz'].map((path) => fetch(server.url + path)),
      )
      t.equal(scrape?.status, 503)
      t.equal(scrape?.headers.get('retry-after'), '1')
      t.equal(health?.status, 200)
    })

    t.test('a worker that does not respond is missing from the processes', async (t) => {
      const { server, victim } = await several(t)
      process.kill(victim, 'SIGSTOP')
      t.teardown(() => process.kill(victim, 'SIGCONT'))
      // The system may hand a connection to the stopped worker.
      const { value } = await until('another worker answers', async () => {
        const response = await fetch(`${server.url}/metrics`, {
          headers: FRESH,
          signal: AbortSignal.timeout(5_000),
        }).catch(() => null)
        return response?.ok && scrapeOf(await response.text())
      })
      t.equal(value('prospect_pages_processes'), WORKERS - 1)
      t.equal(value('prospect_pages_processes_expected'), WORKERS)
      t.equal(value('prospect_pages_database_ready'), 1)
    })
  })
