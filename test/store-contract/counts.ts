import type { LogCount, LogCounts } from 'prospect-pages'
import { equal, same } from './assertions.ts'
import { section } from './contract.ts'
import { AWKWARD_TEXTS, addTenant, at, idBefore, newId, someLog } from './rows.ts'

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
const FOR_EVER = { before: at(-1e12), after: at(1e12), max: 100 }
const one = (fields: Partial<LogCount> = {}): LogCount => ({
  ...{ unit: 'hour', at: at(0), source: 'crm', type: 'webhook', count: 1, newProspects: 0 },
  ...fields,
})

export const counts = section(
  'counts',
  ({ store }) => {
    const { counts } = store
    const counted = async () => {
      const { tenantId } = await addTenant(store)
      await counts.markRead(tenantId, at(0))
      return tenantId
    }
    const logged = async (tenantId: string, fields: object = {}) => {
      const log = someLog({ tenantId, prospectId: newId('prospect') }, fields)
      await store.activities.recordLogs([log])
      return log.prospectLogId
    }
    const add = (tenantId: string, from: string, to: string, ...add: LogCount[]) =>
      counts.record({ tenantId, from, to, removeFrom: null, add })
    const slice = (tenantId: string, want: object = {}) =>
      counts.list({
        ...{ tenantId, unit: 'hour', since: at(0), until: at(9 * HOUR_MS) },
        ...{ source: null, type: null, after: null, limit: 99 },
        ...want,
      })
    const list = async (tenantId: string, want: object = {}) => (await slice(tenantId, want)).rows
    return { store, counts, counted, logged, add, list, slice }
  },
  {
    'a tenant is counted from its first log on, once its counts are read': async (given) => {
      const { store, counts, counted, logged } = given
      const { tenantId } = await addTenant(store)
      const first = await logged(tenantId)
      equal(await counts.find(tenantId), null)
      await counts.markRead(tenantId, at(5))
      same(await counts.find(tenantId), { position: '', readAt: at(5), nextId: first })
      await counts.markRead(tenantId, at(7))
      same(await counts.find(tenantId), { position: '', readAt: at(7), nextId: first })
      const idle = await counted()
      same(await counts.find(idle), { position: '', readAt: at(0), nextId: null })
    },

    'logs between two ids are counted by source and type, the first ones': async (given) => {
      const { counts, counted, logged } = given
      const [tenantId, other] = [await counted(), await counted()]
      const ids: string[] = []
      for (const fields of [
        { createdProspect: true },
        {},
        { type: 'ordered' },
        { createdProspect: true },
        { source: 'shop' },
      ])
        ids.push(await logged(tenantId, fields))
      await logged(other)
      const tally = async (afterId = '', beforeId = '~', max = 99) => {
        const found = await counts.tally({ tenantId, afterId, beforeId, max })
        return found
          .map(
            ({ source, type, count, newProspects, lastId }) =>
              `${source} ${type} ${count} ${newProspects} ${ids.indexOf(lastId)}`,
          )
          .sort()
      }
      same(await tally(), ['crm ordered 1 0 2', 'crm webhook 3 2 3', 'shop webhook 1 0 4'])
      same(await tally(ids[0], ids[3]), ['crm ordered 1 0 2', 'crm webhook 1 0 1'])
      same(await tally(ids[0], '~', 1), ['crm webhook 1 0 1'])
      same(await tally(ids[4]), [])
    },

    'counts are added while the position is where it was, or not at all': async (given) => {
      const { counts, counted, add, list } = given
      const tenantId = await counted()
      equal(await add(tenantId, '', 'b', one({ count: 2 }), one({ unit: 'day', count: 2 })), 'recorded')
      equal(
        await add(tenantId, 'b', 'c', one({ count: 3, newProspects: 2 }), one({ source: 'shop' })),
        'recorded',
      )
      equal(await add(tenantId, 'b', 'd', one({ count: 100 })), 'overtaken')
      same(await list(tenantId), [one({ count: 5, newProspects: 2 }), one({ source: 'shop' })])
      equal((await counts.find(tenantId))?.position, 'c')
      const writes = Array.from({ length: 8 }, (_, i) =>
        add(tenantId, 'c', `d${i}`, one({ at: at(HOUR_MS) })),
      )
      const done = await Promise.all(writes)
      equal(done.filter((outcome) => outcome === 'recorded').length, 1)
      same(await list(tenantId, { since: at(HOUR_MS) }), [one({ at: at(HOUR_MS) })])
      equal(await add(newId('tenant'), '', 'b', one()), 'overtaken')
    },

    'counts from a time on are removed with the same write': async ({ counts, counted, add, list }) => {
      const [tenantId, other] = [await counted(), await counted()]
      const later = one({ at: at(HOUR_MS) })
      for (const id of [tenantId, other]) equal(await add(id, '', 'b', one(), later), 'recorded')
      const remove = (from: string) =>
        counts.record({ tenantId, from, to: 'a', removeFrom: at(HOUR_MS), add: [] })
      equal(await remove('x'), 'overtaken')
      same(await list(tenantId), [one(), later])
      equal(await remove('b'), 'recorded')
      same(await list(tenantId), [one()])
      same(await list(other), [one(), later])
      equal((await counts.find(tenantId))?.position, 'a')
    },

    'counts are listed oldest first, of one unit and a time': async ({ counted, add, list }) => {
      const tenantId = await counted()
      const rows = [0, 1, 2].flatMap((hour) => [
        one({ at: at(hour * HOUR_MS) }),
        one({ at: at(hour * HOUR_MS), source: 'shop', type: 'ordered' }),
      ])
      await add(tenantId, '', 'b', ...rows.toReversed(), one({ unit: 'day' }))
      same(await list(tenantId), rows)
      same(await list(tenantId, { limit: 3 }), rows.slice(0, 3))
      same(await list(tenantId, { since: at(HOUR_MS), until: at(2 * HOUR_MS) }), rows.slice(2, 4))
      same(await list(tenantId, { unit: 'day' }), [one({ unit: 'day' })])
    },

    'counts of a source and a type are found among those that were looked at, piece by piece': async (
      given,
    ) => {
      const { counted, add, slice } = given
      const tenantId = await counted()
      const texts = ['', 'a', 'a b', 'b', 'b!']
      const rows = [0, 1, 2].flatMap((hour) =>
        texts.flatMap((source) => texts.map((type) => one({ at: at(hour * HOUR_MS), source, type }))),
      )
      await add(tenantId, '', 'b', ...rows)
      for (const want of [{}, { source: 'a b' }, { type: 'b' }, { source: 'b!', type: 'b!' }, { type: 'c' }])
        for (const limit of [1, 7, 25, 75, 76]) {
          const found: LogCount[] = []
          let pieces = 0
          let after: LogCount | null = null
          do {
            const piece: LogCounts = await slice(tenantId, { ...want, after, limit })
            found.push(...piece.rows)
            after = piece.resume
            pieces++
          } while (after !== null)
          const { source, type }: Partial<LogCount> = want
          const isWanted = (row: LogCount) =>
            row.source === (source ?? row.source) && row.type === (type ?? row.type)
          same(found, rows.filter(isWanted))
          equal(pieces, Math.floor(rows.length / limit) + 1)
        }
    },

    'awkward texts are kept': async ({ counted, add, list }) => {
      for (const text of AWKWARD_TEXTS) {
        const tenantId = await counted()
        await add(tenantId, '', 'b', one({ source: text, type: text }))
        same(await list(tenantId), [one({ source: text, type: text })])
      }
    },

    'what keys used is added to its minute, and summed from a time on': async ({ store, counts }) => {
      const [{ tenantId }, other] = [await addTenant(store), await addTenant(store)]
      const [busy, idle, theirs] = [newId('apikey'), newId('apikey'), newId('hook')]
      const use = (minute: number, apiKeyId: string, requests: number, ofTenant = tenantId) =>
        counts.addUsage(
          at(minute * MINUTE_MS),
          [{ tenantId: ofTenant, apiKeyId, requests, activities: 2, bytes: 2 ** 40 }],
          FOR_EVER,
        )
      const sum = async (since: number, want: object = {}) => {
        const all = { tenantId, since: at(since * MINUTE_MS), rowsMax: 100, limit: 100 }
        return (await counts.sumUsage({ ...all, ...want })).map(({ apiKeyId, requests }) => [
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
          ...{ tenantId, apiKeyId: busy, requests: 34, activities: 8, bytes: 2 ** 42 },
          since: at(MINUTE_MS),
        },
      ])
      same(await sum(2), [
        [busy, 4],
        [idle, 1],
      ])
      same(await sum(3), [])
      same(await sum(3, { tenantId: other.tenantId }), [[theirs, 7]])
      const [all] = [await counts.sumUsage({ tenantId: null, since: at(0), rowsMax: 1_000, limit: 1_000 })]
      same(
        all.filter(({ apiKeyId }) => [busy, idle, theirs].includes(apiKeyId)).map(({ requests }) => requests),
        [34, 7, 1],
      )
    },

    'no more rows are summed than were asked for: the newest, and since when': async ({ store, counts }) => {
      const { tenantId } = await addTenant(store)
      const used = { tenantId, apiKeyId: newId('apikey'), requests: 1, activities: 0, bytes: 0 }
      for (const minute of [3, 1, 2]) await counts.addUsage(at(minute * MINUTE_MS), [used], FOR_EVER)
      same(await counts.sumUsage({ tenantId, since: at(0), rowsMax: 2, limit: 9 }), [
        { ...used, requests: 2, since: at(2 * MINUTE_MS) },
      ])
    },

    'minutes before and after those that are kept are removed, a few at a time': async (given) => {
      const { store, counts } = given
      const { tenantId } = await addTenant(store)
      const used = { tenantId, apiKeyId: newId('apikey'), requests: 1, activities: 0, bytes: 0 }
      const minute = (number: number) => at(number * MINUTE_MS)
      // Before those of other tests, and after them.
      for (const far of [-9, -8, -7, 1, 900, 901]) await counts.addUsage(minute(far), [used], FOR_EVER)
      const left = async (max: number) => {
        await counts.addUsage(minute(1), [], { before: minute(-7), after: minute(900), max })
        const [sum] = await counts.sumUsage({ tenantId, since: minute(-99), rowsMax: 99, limit: 1 })
        return sum?.requests
      }
      same([await left(2), await left(2), await left(2)], [4, 3, 3])
    },

    'tenants wait with logs to count, or if they are counted too far': async (given) => {
      const { counts, counted, logged, add, store } = given
      const before = idBefore('prospectlog', Date.parse(at(1e9)))
      const [due, done, idle, ahead] = [await counted(), await counted(), await counted(), await counted()]
      await logged((await addTenant(store)).tenantId)
      await logged(due)
      await add(done, '', await logged(done))
      await add(ahead, '', 'prospectlog_y')
      const waiting = async (want: object = {}) => {
        const every = {
          afterTenantId: '',
          readSince: at(0),
          beforeId: before,
          beyondId: 'prospectlog_x',
          max: 99,
        }
        const found = await counts.waiting({ ...every, ...want })
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
