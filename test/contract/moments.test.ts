import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { openPostgres } from '../../src/adapters/postgres/open.ts'
import { portsOver, postgresStore } from '../../src/adapters/postgres/store.ts'
import { readMigrations } from '../../src/adapters/stores/migrations.ts'
import { countProspectLogs } from '../../src/core/counts/count-prospect-logs.ts'
import { eraseProspects } from '../../src/core/erasures/erase-prospects.ts'
import type { Moments } from '../../src/core/ports/store.ts'
import type { Moment, NewId } from '../../src/core/ports/world.ts'
import { moveMerged } from '../../src/core/prospects/move-merged.ts'
import { deleteTenant } from '../../src/core/tenants/delete-tenant.ts'
import { removeTenants } from '../../src/core/tenants/remove-tenants.ts'
import { createService } from '../../src/entry/index.ts'
import { untilCompleted } from '../store-contract/completed.ts'
import { placeOf } from '../support/place.ts'
import { startPostgres, type ThrowawayPostgres, whyNoPostgres } from '../support/postgres.ts'
import { until } from '../support/program.ts'
import { addTenant, idAt, logChangeOf, someLog } from '../support/rows.ts'
import { stoppedClock } from '../support/setting.ts'
import { POSTGRES_SETTINGS } from '../support/stores.ts'

t.setTimeout(0)
const MIGRATIONS = readMigrations('postgres')
/** Long ago, so that no database finds it yet to come. */
const NOON = Date.UTC(2024, 10, 20, 12)
const MINUTE_MS = 60_000
const EMAIL = 'ada@example.com'
const payload = { rawJson: '{}' }
const ON = new AbortController().signal
const onError = (error: unknown) => {
  throw error
}

/** A service with one person, Ada, and transactions of another program on its database, which nothing else uses. */
const setting = async (t: Test, server: ThrowawayPostgres) => {
  const url = await server.newDatabase()
  const store = postgresStore({ ...POSTGRES_SETTINGS, url }, MIGRATIONS)
  t.teardown(store.close)
  await store.migrate()
  const clock = stoppedClock(NOON)
  let made = 0
  const newId: NewId = (prefix) => idAt(prefix, clock(), String(++made).padStart(16, '0'))
  const deps = { store, clock, newId }
  const service = createService({ ...deps, background: 'elsewhere' })
  t.teardown(service.close)
  const { tenantId } = await addTenant(store)
  const logged = (email: string) => service.logProspectActivity({ tenantId, source: 'crm', email, payload })
  const { prospectId } = (await logged(EMAIL)).value
  const connect = (address = url) => {
    const sql = openPostgres(address, { max: 1, onnotice: () => {} })
    t.teardown(() => sql.end())
    return sql
  }
  /** A transaction that has begun, with the statements of a store within it. */
  const begin = async () => {
    const sql = connect()
    await sql.unsafe('begin')
    const { activities } = portsOver(
      (statement) => statement(sql),
      MIGRATIONS,
      () => {},
      {},
    )
    const { value: ada } = await service.getProspect({ tenantId, prospectId })
    return {
      /** Logs an activity of Ada. */
      log: async () => {
        const prospectLogId = deps.newId('prospectlog')
        const log = someLog(ada, { prospectLogId })
        t.equal(await activities.record(logChangeOf(ada, log)), 'recorded')
      },
      run: (statement: string) => sql.unsafe(statement),
    }
  }
  const logsOf = async (prospectId: string) =>
    (await service.listTimeline({ tenantId, prospectId })).value.items.length
  const logs = async () =>
    Number((await connect().unsafe('select count(*) from prospect_logs'))[0]?.['count'])
  return { ...deps, url, service, tenantId, prospectId, logged, connect, begin, logs, logsOf }
}

/** Connects, and sends a statement but not its parameters: the driver waits for the types of those. */
const sendHalf = async (t: Test, url: string) => {
  const { folder, place } = placeOf(url)
  const socket = connect(`${folder}/.s.PGSQL.5432`)
  t.teardown(() => socket.destroy())
  const sized = (...parts: readonly (string | Buffer)[]) => {
    const body = Buffer.concat(parts.map((part) => Buffer.from(part as string)))
    const size = Buffer.alloc(4)
    size.writeInt32BE(body.length + 4)
    return Buffer.concat([size, body])
  }
  let answered = ''
  socket.on('data', (bytes) => {
    answered += bytes.toString('latin1')
  })
  const version = Buffer.from([0, 3, 0, 0])
  socket.write(sized(version, `user\0postgres\0database\0${place.database}\0\0`))
  await until('it is connected', () => answered.includes('Z\0\0\0\x05I'))
  // Parse, describe and flush, without parameters or the end of the statement.
  const parse = sized('half\0select $1::text\0\0\0')
  socket.write(
    Buffer.concat([Buffer.from('P'), parse, Buffer.from('D'), sized('Shalf\0'), Buffer.from('H'), sized()]),
  )
  await until('its types are known', () => answered.includes('t\0\0\0'))
}

const isPast = async (moments: Moments, moment: Moment) => (await moments.arePast([moment]))[0] === true

t.test('on postgres', { skip: whyNoPostgres() ?? false }, async (t) => {
  const server = await startPostgres({ settings: { max_prepared_transactions: '2' } })
  t.teardown(server.stop)

  t.test(
    'a transaction that saw the data before a moment holds it back, whether it wrote or only read',
    async (t) => {
      const { store, begin } = await setting(t, server)
      for (const statements of [
        ['set transaction isolation level repeatable read', 'select 1 from tenants'],
        ['create table written (id int)'],
      ]) {
        const { run } = await begin()
        for (const statement of statements) await run(statement)
        const moment = await store.moments.now()
        for (let i = 0; i < 3; i++) t.equal(await isPast(store.moments, moment), false)
        await run('rollback')
        t.ok(await until('it is past', () => isPast(store.moments, moment)))
      }
    },
  )

  t.test('a session without a transaction, and one that began later, hold nothing back', async (t) => {
    const { store, connect, begin } = await setting(t, server)
    await connect().unsafe('select 1')
    const moment = await store.moments.now()
    const { log } = await begin()
    t.ok(await until('it is past', () => isPast(store.moments, moment)))
    await log()
    t.equal(await isPast(store.moments, moment), true)
    t.strictSame(await store.moments.arePast([moment, await store.moments.now(), '']), [true, false, true])
  })

  t.test('a transaction that is prepared after a moment holds it back as before', async (t) => {
    const { store, begin } = await setting(t, server)
    const { log, run } = await begin()
    await log()
    const moment = await store.moments.now()
    await run("prepare transaction 'later'")
    for (let i = 0; i < 3; i++) t.equal(await isPast(store.moments, moment), false)
    await run("commit prepared 'later'")
    t.ok(await until('it is past', () => isPast(store.moments, moment)))
  })

  t.test('a process that stands still while it sends a statement holds nothing back', async (t) => {
    const { url, store, clock, service, tenantId } = await setting(t, server)
    await sendHalf(t, url)
    const { erasureId } = (await service.eraseProspect({ tenantId, email: EMAIL })).value
    const step = eraseProspects({ store, clock })
    await untilCompleted(store.erasures, clock, async () => {
      while (await step(ON));
    })
    t.match((await service.getErasure({ tenantId, erasureId })).value, { status: 'completed', logsErased: 1 })
  })

  t.test('a role that sees no other sessions is held back by a transaction that has written', async (t) => {
    const { url, connect, begin, logs } = await setting(t, server)
    await connect().unsafe('create role blind login')
    const blind = url.replace('postgres@', 'blind@')
    const { moments, close } = postgresStore({ ...POSTGRES_SETTINGS, url: blind }, MIGRATIONS)
    t.teardown(close)
    t.ok(await until('it is past', async () => isPast(moments, await moments.now())))
    const { log, run } = await begin()
    await log()
    const moment = await moments.now()
    t.equal(await isPast(moments, moment), false)
    await run('commit')
    t.ok(await until('it is past', () => isPast(moments, moment)))
    t.equal(await logs(), 2)
  })

  for (const [how, prepare, commit] of [
    ['', [], 'commit'],
    [' and was then prepared', ["prepare transaction 'late'"], "commit prepared 'late'"],
  ] as const)
    t.test(
      `an erasure waits for a transaction that began before it${how}, and erases its late log`,
      async (t) => {
        const { store, clock, service, tenantId, begin, logs, logged } = await setting(t, server)
        await logged('bob@example.com')
        const { log, run } = await begin()
        await log()
        for (const statement of prepare) await run(statement)
        const { erasureId } = (await service.eraseProspect({ tenantId, email: EMAIL })).value
        const step = eraseProspects({ store, clock })
        const work = async () => {
          while (await step(ON));
        }
        for (let minute = 0; minute < 5; minute++) {
          await work()
          clock.advance(MINUTE_MS)
          const { value: erasure } = await service.getErasure({ tenantId, erasureId })
          t.match(erasure, { status: 'processing', waitingFor: 'second_pass', logsErased: 1 })
        }
        await run(commit)
        t.equal(await logs(), 2, 'the late one, and the one of Bob')
        await untilCompleted(store.erasures, clock, work)
        t.match(await service.getErasure({ tenantId, erasureId }), {
          value: { status: 'completed', logsErased: 2 },
        })
        t.equal(await logs(), 1)
      },
    )

  t.test('an erasure is completed while other sessions are idle, and within seconds', async (t) => {
    const { store, clock, service, tenantId, connect } = await setting(t, server)
    await connect().unsafe('select 1')
    const { erasureId } = (await service.eraseProspect({ tenantId, email: EMAIL })).value
    const step = eraseProspects({ store, clock })
    const erasure = await until('it is completed', async () => {
      while (await step(ON));
      clock.advance(500)
      const { value: erasure } = await service.getErasure({ tenantId, erasureId })
      return erasure.status === 'completed' ? erasure : null
    })
    t.ok(Date.parse(String(erasure.completedAt)) - NOON <= 10_000, String(erasure.completedAt))
  })

  t.test('a merge waits for a transaction that began before it, and moves its late log', async (t) => {
    const { store, clock, newId, service, tenantId, prospectId, begin, logged, logsOf } = await setting(
      t,
      server,
    )
    const into = (await logged('bob@example.com')).value.prospectId
    const { log, run } = await begin()
    await log()
    await service.mergeProspect({ tenantId, prospectId, into })
    const step = moveMerged({ store, clock, newId })
    const work = async () => {
      while (await step(ON));
    }
    for (let minute = 0; minute < 5; minute++) {
      await work()
      clock.advance(MINUTE_MS)
      t.match(await store.merges.backlog(9), { count: 1 })
    }
    t.equal(await logsOf(into), 2)
    await run('commit')
    await untilCompleted(store.merges, clock, work)
    t.equal(await logsOf(into), 3)
  })

  t.test('a tenant is removed only once a transaction that began before has ended', async (t) => {
    const { store, clock, tenantId, begin, logs } = await setting(t, server)
    const { log, run } = await begin()
    await log()
    await deleteTenant({ store, clock })(tenantId)
    const step = removeTenants({ store, clock, onError })
    for (let day = 0; day < 3; day++) {
      t.equal(await step(ON), false)
      clock.advance(24 * 60 * MINUTE_MS)
    }
    t.equal(await logs(), 1)
    await run('commit')
    await until('it is removed', async () => {
      await step(ON)
      return (await store.tenants.find(tenantId)) === null
    })
    t.equal(await logs(), 0)
  })

  t.test(
    'what a transaction logged before its tenant was closed is counted once it is committed',
    async (t) => {
      const { store, clock, service, tenantId, begin } = await setting(t, server)
      await service.listProspectLogCounts({ tenantId })
      const { log, run } = await begin()
      await log()
      const step = countProspectLogs({ store, clock, onError })
      const position = async () => (await store.counts.find(tenantId))?.position
      for (let minute = 0; minute < 5; minute++) {
        clock.advance(MINUTE_MS)
        while (await step(ON));
        t.equal(await position(), '')
      }
      t.not((await store.counts.find(tenantId))?.closedTo, '')
      await run('commit')
      await until('it is counted', async () => {
        while (await step(ON));
        return (await position()) !== ''
      })
      t.match((await service.listProspectLogCounts({ tenantId })).value, { items: [{ count: 2 }] })
    },
  )
})
