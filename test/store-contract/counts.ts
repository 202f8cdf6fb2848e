import { setTimeout } from 'node:timers/promises'
import type { LogCount, LogCounts } from 'prospect-pages/store'
import { equal, like, ok, same } from './assertions.ts'
import { section } from './contract.ts'
import {
  AWKWARD_TEXTS,
  addTenant,
  at,
  changeOf,
  idBefore,
  logChangeOf,
  newId,
  recordAll,
  someLog,
  someProspect,
} from './rows.ts'

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
/** A time before now, and one after it, by the clock of any database. */
const LONG_AGO = '2020-01-01T00:00:00.000Z'
const LATER = new Date(Date.now() + HOUR_MS).toISOString()
/** Keeps the usage of every minute. */
const ALL_MINUTES = { before: at(-1e12), after: at(1e12), max: 100 }
/** The count of one log in the first hour. */
const someCount = (fields: Partial<LogCount> = {}): LogCount => ({
  unit: 'hour',
  at: at(0),
  source: 'crm',
  type: 'webhook',
  count: 1,
  newProspects: 0,
  ...fields,
})

export const counts = section(
  'counts',
  async ({ store, another }) => {
    const { counts } = store
    const elsewhere = await another()
    /** A tenant whose logs are counted. */
    const countedTenant = async () => {
      const { tenantId } = await addTenant(store)
      await counts.markRead(tenantId, at(0))
      return tenantId
    }
    const addLog = async (tenantId: string, fields: object = {}) => {
      const prospect = someProspect(tenantId)
      const log = someLog(prospect, fields)
      equal(await recordAll(store.activities, [prospect], [log]), 'recorded')
      return log.prospectLogId
    }
    const add = (tenantId: string, from: string, to: string, ...add: LogCount[]) =>
      counts.record({ tenantId, from, to, removeFrom: null, addProspects: [], addDays: [], add })
    const slice = (tenantId: string, query: object = {}) =>
      counts.list({
        tenantId,
        unit: 'hour',
        since: at(0),
        until: at(9 * HOUR_MS),
        source: null,
        type: null,
        after: null,
        limit: 99,
        ...query,
      })
    const list = async (tenantId: string, query: object = {}) => (await slice(tenantId, query)).rows
    return { store, elsewhere, counts, countedTenant, addLog, add, list, slice }
  },
  {
    'a tenant is counted from its first log on, once its counts are read': async (scene) => {
      const { store, counts, countedTenant, addLog } = scene
      const { tenantId } = await addTenant(store)
      const first = await addLog(tenantId)
      equal(await counts.find(tenantId), null)
      await counts.markRead(tenantId, at(5))
      const begun = { position: '', closedTo: '', nextId: first }
      same(await counts.find(tenantId), { ...begun, readAt: at(5) })
      await counts.markRead(tenantId, at(7))
      same(await counts.find(tenantId), { ...begun, readAt: at(7) })
      const idle = await countedTenant()
      same(await counts.find(idle), { ...begun, readAt: at(0), nextId: null })
    },

    'a tenant is closed up to an id, and never opened again by an earlier one': async (scene) => {
      const { counts, countedTenant, add } = scene
      const tenantId = await countedTenant()
      const other = await countedTenant()
      const closedTo = async () => (await counts.find(tenantId))?.closedTo
      for (const [to, closed] of [
        ['prospectlog_b', 'prospectlog_b'],
        ['prospectlog_a', 'prospectlog_b'],
        ['prospectlog_b', 'prospectlog_b'],
        ['prospectlog_c', 'prospectlog_c'],
      ] as const) {
        equal(await counts.close(tenantId, to, LONG_AGO), true)
        equal(await closedTo(), closed)
      }
      // Neither counting nor reading the counts opens it.
      equal(await add(tenantId, '', 'prospectlog_a'), 'recorded')
      await counts.markRead(tenantId, at(9))
      same(await counts.find(tenantId), {
        position: 'prospectlog_a',
        closedTo: 'prospectlog_c',
        readAt: at(9),
        nextId: null,
      })
      equal((await counts.find(other))?.closedTo, '')
    },

    'a tenant is not closed at a time that is yet to come, or if it is not counted': async (scene) => {
      const { counts, countedTenant, store } = scene
      const tenantId = await countedTenant()
      equal(await counts.close(tenantId, 'prospectlog_b', LATER), false)
      equal((await counts.find(tenantId))?.closedTo, '')
      equal(await counts.close(tenantId, 'prospectlog_a', LONG_AGO), true)
      equal(await counts.close(tenantId, 'prospectlog_b', LATER), false)
      equal((await counts.find(tenantId))?.closedTo, 'prospectlog_a')
      const { tenantId: idle } = await addTenant(store)
      equal(await counts.close(idle, 'prospectlog_a', LONG_AGO), false)
      equal(await counts.find(idle), null)
    },

    'once a tenant is closed, no log up to there is recorded, and all that are recorded are counted': async (
      scene,
    ) => {
      const { counts, countedTenant, elsewhere, addLog, store } = scene
      for (let round = 0; round < 5; round++) {
        const tenantId = await countedTenant()
        await addLog(tenantId)
        const prospect = someProspect(tenantId)
        const logs = Array.from({ length: 20 }, () => someLog(prospect))
        equal(await recordAll(store.activities, [prospect]), 'recorded')
        const to = String(logs[10]?.prospectLogId)
        const closing = counts.close(tenantId, to, LONG_AGO).then(async (isClosed) => {
          ok(isClosed)
          const moment = await store.moments.now()
          while (!(await store.moments.arePast([moment]))[0]) await setTimeout(1)
          return (await counts.tally({ tenantId, afterId: '', beforeId: to, max: 99 }))[0]?.count
        })
        const recording = logs.map((log, i) => {
          const on = i % 2 === 0 ? store : elsewhere
          if (i % 4 < 2) return on.activities.record(logChangeOf(prospect, log))
          const added = someProspect(tenantId)
          return on.activities.record(changeOf(added, { ...log, prospectId: added.prospectId }))
        })
        const [tallied, ...outcomes] = await Promise.all([closing, ...recording])
        const recorded = logs.filter((_, i) => outcomes[i] === 'recorded')
        equal(tallied, 1 + recorded.filter(({ prospectLogId }) => prospectLogId < to).length)
        for (const [i, log] of logs.entries())
          ok(outcomes[i] === 'recorded' || log.prospectLogId <= to, 'a later one is recorded')
      }
    },

    'logs between two ids are counted by source and type, the first ones': async (scene) => {
      const { counts, countedTenant, addLog } = scene
      const tenantId = await countedTenant()
      const other = await countedTenant()
      const ids: string[] = []
      for (const fields of [
        { createdProspect: true },
        {},
        { type: 'ordered' },
        { createdProspect: true },
        { source: 'shop' },
      ])
        ids.push(await addLog(tenantId, fields))
      await addLog(other)
      const [first, second, third, fourth, fifth] = ids
      /** By source and type. */
      const tally = async (afterId = '', beforeId = '~', max = 99) => {
        const found = await counts.tally({ tenantId, afterId, beforeId, max })
        return found.toSorted((a, b) => (`${a.source} ${a.type}` < `${b.source} ${b.type}` ? -1 : 1))
      }
      const ordered = { source: 'crm', type: 'ordered', count: 1, newProspects: 0, lastId: third }
      const webhooks = { source: 'crm', type: 'webhook', count: 3, newProspects: 2, lastId: fourth }
      const ofShop = { source: 'shop', type: 'webhook', count: 1, newProspects: 0, lastId: fifth }
      const onlySecond = { ...webhooks, count: 1, newProspects: 0, lastId: second }
      like(await tally(), [ordered, webhooks, ofShop])
      like(await tally(first, fourth), [ordered, onlySecond])
      like(await tally(first, '~', 1), [onlySecond])
      like(await tally(fifth), [])
    },

    'counts are added while the position is where it was, or not at all': async (scene) => {
      const { counts, countedTenant, add, list } = scene
      const tenantId = await countedTenant()
      equal(
        await add(tenantId, '', 'b', someCount({ count: 2 }), someCount({ unit: 'day', count: 2 })),
        'recorded',
      )
      equal(
        await add(
          tenantId,
          'b',
          'c',
          someCount({ count: 3, newProspects: 2 }),
          someCount({ source: 'shop' }),
        ),
        'recorded',
      )
      equal(await add(tenantId, 'b', 'd', someCount({ count: 100 })), 'overtaken')
      same(await list(tenantId), [someCount({ count: 5, newProspects: 2 }), someCount({ source: 'shop' })])
      equal((await counts.find(tenantId))?.position, 'c')
      const writes = Array.from({ length: 8 }, (_, i) =>
        add(tenantId, 'c', `d${i}`, someCount({ at: at(HOUR_MS) })),
      )
      const done = await Promise.all(writes)
      equal(done.filter((outcome) => outcome === 'recorded').length, 1)
      same(await list(tenantId, { since: at(HOUR_MS) }), [someCount({ at: at(HOUR_MS) })])
      equal(await add(await scene.newTenant(), '', 'b', someCount()), 'overtaken')
    },

    'counts from a time on are removed with the same write, and later logs may be recorded again': async ({
      counts,
      countedTenant,
      add,
      list,
    }) => {
      const tenantId = await countedTenant()
      const other = await countedTenant()
      const later = someCount({ at: at(HOUR_MS) })
      for (const id of [tenantId, other]) {
        ok(await counts.close(id, 'c', LONG_AGO))
        equal(await add(id, '', 'b', someCount(), later), 'recorded')
      }
      const remove = (from: string) => counts.record({ tenantId, from, to: 'a', removeFrom: at(HOUR_MS) })
      equal(await remove('x'), 'overtaken')
      like(await counts.find(tenantId), { position: 'b', closedTo: 'c' })
      same(await list(tenantId), [someCount(), later])
      equal(await remove('b'), 'recorded')
      same(await list(tenantId), [someCount()])
      same(await list(other), [someCount(), later])
      like(await counts.find(other), { position: 'b', closedTo: 'c' })
      like(await counts.find(tenantId), { position: 'a', closedTo: 'a' })
    },

    'counts are listed oldest first, of one unit and a time': async ({ countedTenant, add, list }) => {
      const tenantId = await countedTenant()
      const rows = [0, 1, 2].flatMap((hour) => [
        someCount({ at: at(hour * HOUR_MS) }),
        someCount({ at: at(hour * HOUR_MS), source: 'shop', type: 'ordered' }),
      ])
      await add(tenantId, '', 'b', ...rows.toReversed(), someCount({ unit: 'day' }))
      same(await list(tenantId), rows)
      same(await list(tenantId, { limit: 3 }), rows.slice(0, 3))
      same(await list(tenantId, { since: at(HOUR_MS), until: at(2 * HOUR_MS) }), rows.slice(2, 4))
      same(await list(tenantId, { unit: 'day' }), [someCount({ unit: 'day' })])
    },

    'counts of a source and a type are found among those that were looked at, piece by piece': async (
      scene,
    ) => {
      const { countedTenant, add, slice } = scene
      const tenantId = await countedTenant()
      const texts = ['', 'a', 'a b', 'b', 'b!']
      const rows = [0, 1, 2].flatMap((hour) =>
        texts.flatMap((source) => texts.map((type) => someCount({ at: at(hour * HOUR_MS), source, type }))),
      )
      await add(tenantId, '', 'b', ...rows)
      const filters: readonly Partial<LogCount>[] = [
        {},
        { source: 'a b' },
        { type: 'b' },
        { source: 'b!', type: 'b!' },
        { type: 'c' },
      ]
      for (const filter of filters) {
        const { source, type } = filter
        const expected = rows.filter(
          (row) =>
            (source === undefined || row.source === source) && (type === undefined || row.type === type),
        )
        for (const limit of [1, 7, 25, 75, 76]) {
          const found: LogCount[] = []
          let pieces = 0
          let after: LogCount | null = null
          do {
            const piece: LogCounts = await slice(tenantId, { ...filter, after, limit })
            found.push(...piece.rows)
            after = piece.resume
            pieces++
          } while (after !== null)
          same(found, expected)
          equal(pieces, Math.floor(rows.length / limit) + 1)
        }
      }
    },

    'awkward texts are kept': async ({ countedTenant, add, list }) => {
      for (const text of AWKWARD_TEXTS) {
        const tenantId = await countedTenant()
        await add(tenantId, '', 'b', someCount({ source: text, type: text }))
        same(await list(tenantId), [someCount({ source: text, type: text })])
      }
    },

    'what keys used is added to its minute, and summed from a time on': async ({ store, counts }) => {
      const { tenantId } = await addTenant(store)
      const other = await addTenant(store)
      const busy = newId('apikey')
      const idle = newId('apikey')
      const theirs = newId('hook')
      const use = (minute: number, apiKeyId: string, requests: number, ofTenant = tenantId) =>
        counts.addUsage(
          at(minute * MINUTE_MS),
          [{ tenantId: ofTenant, apiKeyId, requests, activities: 2, bytes: 2 ** 40 }],
          ALL_MINUTES,
        )
      const sum = async (since: number, query: object = {}) => {
        const all = { tenantId, since: at(since * MINUTE_MS), rowsMax: 100, limit: 100 }
        return (await counts.sumUsage({ ...all, ...query })).map(({ apiKeyId, requests }) => [
          apiKeyId,
          requests,
        ])
      }
      await Promise.all([1, 2, 3].map(() => use(1, busy, 10)))
      await use(2, busy, 4)
      await use(2, idle, 1)
      await use(3, theirs, 7, other.tenantId)
      same(await counts.sumUsage({ tenantId, since: at(MINUTE_MS), rowsMax: 100, limit: 1 }), [
        {
          tenantId,
          apiKeyId: busy,
          requests: 34,
          activities: 8,
          bytes: 2 ** 42,
          since: at(MINUTE_MS),
        },
      ])
      same(await sum(2), [
        [busy, 4],
        [idle, 1],
      ])
      same(await sum(3), [])
      same(await sum(3, { tenantId: other.tenantId }), [[theirs, 7]])
      const all = await counts.sumUsage({ tenantId: null, since: at(0), rowsMax: 1_000, limit: 1_000 })
      same(
        all.filter(({ apiKeyId }) => [busy, idle, theirs].includes(apiKeyId)).map(({ requests }) => requests),
        [34, 7, 1],
      )
    },

    'no more rows are summed than were asked for: the newest, and since when': async ({ store, counts }) => {
      const { tenantId } = await addTenant(store)
      const used = { tenantId, apiKeyId: newId('apikey'), requests: 1, activities: 0, bytes: 0 }
      for (const minute of [3, 1, 2]) await counts.addUsage(at(minute * MINUTE_MS), [used], ALL_MINUTES)
      same(await counts.sumUsage({ tenantId, since: at(0), rowsMax: 2, limit: 9 }), [
        { ...used, requests: 2, since: at(2 * MINUTE_MS) },
      ])
    },

    'minutes before and after those that are kept are removed, a few at a time': async (scene) => {
      const { store, counts } = scene
      const { tenantId } = await addTenant(store)
      const used = { tenantId, apiKeyId: newId('apikey'), requests: 1, activities: 0, bytes: 0 }
      const minute = (number: number) => at(number * MINUTE_MS)
      // Before those of other tests, and after them.
      for (const far of [-9, -8, -7, 1, 900, 901]) await counts.addUsage(minute(far), [used], ALL_MINUTES)
      const left = async (max: number) => {
        await counts.addUsage(minute(1), [], { before: minute(-7), after: minute(900), max })
        const [sum] = await counts.sumUsage({ tenantId, since: minute(-99), rowsMax: 99, limit: 1 })
        return sum?.requests
      }
      equal(await left(2), 4, 'two of those that are too old or too new')
      equal(await left(2), 3, 'the third one')
      equal(await left(2), 3, 'the others are kept')
    },

    'tenants wait with logs to count, or if they are closed too far': async (scene) => {
      const { counts, countedTenant, addLog, add, store } = scene
      const before = idBefore('prospectlog', Date.parse(at(1e9)))
      const due = await countedTenant()
      const done = await countedTenant()
      const idle = await countedTenant()
      const ahead = await countedTenant()
      await addLog((await addTenant(store)).tenantId)
      await addLog(due)
      const counted = await addLog(done)
      ok(await counts.close(done, counted, LONG_AGO))
      await add(done, '', counted)
      ok(await counts.close(ahead, 'prospectlog_y', LONG_AGO))
      const waiting = async (query: object = {}) => {
        const every = {
          afterTenantId: '',
          readSince: at(0),
          beforeId: before,
          beyondId: 'prospectlog_x',
          max: 99,
        }
        const found = await counts.waiting({ ...every, ...query })
        return [due, done, idle, ahead].filter((tenantId) => found.includes(tenantId))
      }
      same(await waiting(), [due, ahead])
      same(await waiting({ beyondId: 'prospectlog_z' }), [due])
      same(await waiting({ beforeId: 'prospectlog_0' }), [ahead])
      same(await waiting({ afterTenantId: due }), [ahead])
      same(await waiting({ readSince: at(1) }), [])
      equal(
        (
          await counts.waiting({
            afterTenantId: '',
            readSince: at(0),
            beforeId: before,
            beyondId: '~',
            max: 1,
          })
        ).length,
        1,
      )
    },
  },
)
