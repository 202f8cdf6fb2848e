import type { NewLog, ProspectLogsQuery, StoredLog, TimelineRowsQuery } from 'prospect-pages/store'
import { equal, same } from './assertions.ts'
import { section } from './contract.ts'
import {
  AWKWARD_TEXTS,
  at,
  keyFields,
  logChangeOf,
  newId,
  readEach,
  recordAll,
  type SomeProspect,
  scribbleOn,
  someLog,
  someProspect,
} from './rows.ts'
import { walk } from './walk.ts'

/** A list looks at so many rows for one slice. */
const LOOKED_AT = 10_000
const STEP_MS = 4_000
/** Bytes that a parser would change. */
const PAYLOADS = [' {"n" : 12345678901234567890,\n"a":1,"a":2} ', '{"t":"\\u0000\\ud800","x":1e131071}', '{}']

/** Neither was the prospect merged, nor was one merged into it. */
const WHOLE = { mergedInto: null, unmoved: [] }

export const prospectLogs = section(
  'prospect logs',
  ({ store, newTenant }) => {
    const { activities, prospectLogs } = store
    const newProspect = async (tenantId?: string) => {
      const prospect = someProspect(tenantId ?? (await newTenant()))
      await recordAll(activities, [prospect])
      return prospect
    }
    const logged = async (prospect: SomeProspect, ...all: readonly Partial<NewLog>[]) => {
      const logs = all.map((fields) => someLog(prospect, fields))
      for (let i = 0; i < logs.length; i += 1_000) {
        const some = logs.slice(i, i + 1_000)
        await Promise.all(some.map((log) => activities.record(logChangeOf(prospect, log))))
      }
      return logs.map(shown)
    }
    const listed = async (want: Partial<ProspectLogsQuery> & { tenantId: string }) => {
      const slice = await prospectLogs.list({
        ...ALL,
        fromId: null,
        beforeId: null,
        idempotencyKey: null,
        ...want,
      })
      if (slice === undefined || slice instanceof Error) throw slice
      return slice
    }
    const timeline = async (
      { tenantId, prospectId }: Pick<SomeProspect, 'tenantId' | 'prospectId'>,
      want: Partial<TimelineRowsQuery> = {},
    ) => {
      const wanted = { ...ALL, tenantId, prospectId, since: null, before: null, ...want }
      const found = await prospectLogs.timeline(wanted)
      if (found === undefined || typeof found === 'string') throw new Error(found)
      if (found instanceof Error) throw found
      return found
    }
    return { activities, prospectLogs, newProspect, logged, listed, timeline }
  },
  {
    'a log is found by its id with every field, its payload byte for byte': async (scene) => {
      const { prospectLogs, newProspect, logged } = scene
      const prospect = await newProspect()
      const filled = {
        type: 'form',
        email: 'Ada@X ',
        name: 'Ada',
        createdProspect: true,
        ...keyFields('one'),
      }
      const times = { occurredAt: at(-5), createdAt: at(7) }
      const logs = await logged(
        prospect,
        ...PAYLOADS.map((rawJson) => ({ payload: { rawJson } })),
        ...AWKWARD_TEXTS.map((text) => ({ email: text, name: text, source: text, type: text })),
        { ...filled, ...times },
      )
      same(await readEach(prospectLogs.find, logs), logs)
      const [log = someLog(prospect)] = logs
      const missing = [
        { ...log, tenantId: await scene.newTenant() },
        { ...log, prospectLogId: newId('prospectlog') },
      ]
      same(await readEach(prospectLogs.find, [...missing, log]), [null, null, log])
    },

    'the logs of a tenant are listed newest first by id, one more than the limit': async (scene) => {
      const { newProspect, logged, listed } = scene
      const one = await newProspect()
      const two = await newProspect()
      const { tenantId } = one
      const other = await newProspect(tenantId)
      const logs = [
        ...(await logged(one, { occurredAt: at(9) }, { occurredAt: at(1) })),
        ...(await logged(other, {}, {})),
      ].reverse()
      await logged(two, {})
      same(await listed({ tenantId }), { rows: logs, resume: null })
      same((await listed({ tenantId, limit: 2 })).rows, logs.slice(0, 3))
      const ids = logs.map(({ prospectLogId }) => prospectLogId)
      same((await listed({ tenantId, beforeId: ids[1] ?? '' })).rows, logs.slice(2))
      same((await listed({ tenantId, fromId: ids[1] ?? '' })).rows, logs.slice(0, 2))
      same((await listed({ tenantId, beforeId: ids[0] ?? '', fromId: ids[2] ?? '' })).rows, logs.slice(1, 3))
      same((await listed({ tenantId, beforeId: ids[2] ?? '', fromId: ids[1] ?? '' })).rows, [])
    },

    'lists and timelines are filtered by source and type': async (scene) => {
      const { newProspect, logged, listed, timeline } = scene
      const prospect = await newProspect()
      const { tenantId } = prospect
      const kinds = ['crm a', 'shop a', 'crm b', 'shop b', 'crm a'].map((kind) => kind.split(' '))
      const logs = (
        await logged(prospect, ...kinds.map(([source = '', type = '']) => ({ source, type })))
      ).reverse()
      for (const [source, type] of [
        ['crm', null],
        [null, 'a'],
        ['crm', 'a'],
        ['shop', 'c'],
      ] as const) {
        const rows = logs.filter(
          (log) => (source ?? log.source) === log.source && (type ?? log.type) === log.type,
        )
        same(await listed({ tenantId, source, type }), { rows, resume: null })
        same(await timeline(prospect, { source, type }), { rows, resume: null, ...WHOLE })
      }
    },

    'a source and an idempotency key find the logs whose keys have this text, in whatever scope': async (
      scene,
    ) => {
      const { newProspect, logged, listed } = scene
      const prospect = await newProspect()
      const { tenantId } = prospect
      const [one, inA, inB] = await logged(
        prospect,
        keyFields('one'),
        { ...keyFields('one'), keyScope: 'a' },
        { ...keyFields('one'), keyScope: 'b', type: 'form' },
        { source: 'shop', ...keyFields('one') },
        keyFields('two'),
      )
      const want = { tenantId, source: 'crm', idempotencyKey: 'one' }
      same(await listed(want), { rows: [inB, inA, one], resume: null })
      same((await listed({ ...want, limit: 1 })).rows, [inB, inA])
      same((await listed({ ...want, type: 'webhook' })).rows, [inA, one])
      same((await listed({ ...want, type: 'form' })).rows, [inB])
      same((await listed({ ...want, type: 'none' })).rows, [])
      same((await listed({ ...want, idempotencyKey: 'three' })).rows, [])
      same((await listed({ ...want, tenantId: await scene.newTenant() })).rows, [])
      same((await listed({ ...want, beforeId: inA?.prospectLogId ?? '' })).rows, [one])
      same((await listed({ ...want, beforeId: one?.prospectLogId ?? '' })).rows, [])
      same((await listed({ ...want, fromId: inA?.prospectLogId ?? '' })).rows, [inB, inA])
    },

    'more logs under one key than are sorted at once are listed from slice to slice': async (scene) => {
      const { newProspect, logged, listed } = scene
      const prospect = await newProspect()
      const { tenantId } = prospect
      const scoped = Array.from({ length: 1_100 }, (_, i) => ({ ...keyFields('one'), keyScope: `${i}` }))
      const logs = await logged(prospect, ...scoped, keyFields('two'), { type: 'other' })
      const want = { tenantId, source: 'crm', idempotencyKey: 'one', limit: 400 }
      const found: StoredLog[] = []
      let beforeId: string | null = null
      for (let slices = 0; slices < 5; slices++) {
        const { rows } = await listed({ ...want, beforeId })
        found.push(...rows.slice(0, want.limit))
        beforeId = found.at(-1)?.prospectLogId ?? null
        if (rows.length <= want.limit) break
      }
      same(found, logs.slice(0, 1_100).toReversed())
      same((await listed({ ...want, type: 'other' })).rows, [])
    },

    'large logs under one key shorten a slice': async ({ newProspect, logged, listed }) => {
      const prospect = await newProspect()
      const payload = { rawJson: `{"text":"${'x'.repeat(700_000)}"}` }
      const scoped = Array.from({ length: 5 }, (_, i) => ({ ...keyFields('one'), keyScope: `${i}`, payload }))
      const logs = await logged(prospect, ...scoped)
      const want = { tenantId: prospect.tenantId, source: 'crm', idempotencyKey: 'one', limit: 400 }
      same((await listed(want)).rows, logs.toReversed().slice(0, 3))
    },

    'a timeline is sorted by when things happened, then by id': async ({ newProspect, logged, timeline }) => {
      const prospect = await newProspect()
      const stranger = await newProspect(prospect.tenantId)
      const times = [0, 1, STEP_MS, STEP_MS - 1, -60_000, 1, 86_400_000, 1, -1, 2 * STEP_MS]
      const logs = await logged(prospect, ...times.map((ms) => ({ occurredAt: at(ms) })))
      await logged(stranger, {}, {})
      const sorted = logs.toSorted((a, b) => (positionOf(a) < positionOf(b) ? 1 : -1))
      same(await timeline(prospect), { rows: sorted, resume: null, ...WHOLE })
      for (const [i, { occurredAt, prospectLogId }] of sorted.entries()) {
        const before = { occurredAt, prospectLogId }
        same((await timeline(prospect, { before, limit: 2 })).rows, sorted.slice(i + 1, i + 4))
        const since = sorted.filter((log) => log.occurredAt >= occurredAt)
        same((await timeline(prospect, { since: occurredAt })).rows, since)
        const until = sorted.filter((log) => log.occurredAt < occurredAt)
        same((await timeline(prospect, { before: { occurredAt, prospectLogId: '' } })).rows, until)
      }
    },

    'the first and the last time that can be are in a timeline': async (scene) => {
      const { newProspect, logged, timeline } = scene
      const prospect = await newProspect()
      const times = ['2999-12-31T23:59:59.999Z', '2106-06-06T00:00:00.000Z', '1970-01-01T00:00:00.000Z']
      const logs = await logged(prospect, ...times.map((occurredAt) => ({ occurredAt })))
      same((await timeline(prospect)).rows, logs)
      const [first, second] = logs
      same((await timeline(prospect, { before: first ?? null })).rows, logs.slice(1))
      same((await timeline(prospect, { since: second?.occurredAt ?? '' })).rows, logs.slice(0, 2))
    },

    'only an unknown prospect has no timeline; that of another tenant is unknown': async (scene) => {
      const { prospectLogs, newProspect, logged } = scene
      const prospect = await newProspect()
      const { tenantId, prospectId } = prospect
      const wantOf = (fields: object) => ({
        ...ALL,
        tenantId,
        prospectId,
        since: null,
        before: null,
        ...fields,
      })
      const wants = [
        wantOf({ tenantId: await scene.newTenant() }),
        wantOf({ prospectId: newId('prospect') }),
        wantOf({}),
      ]
      const [foreign, unknown, empty] = await readEach(prospectLogs.timeline, wants)
      same([foreign, unknown], ['prospect_not_found', 'prospect_not_found'])
      same(empty, { rows: [], resume: null, ...WHOLE })
      const rows = await logged(prospect, {})
      same((await readEach(prospectLogs.timeline, wants))[2], { rows, resume: null, ...WHOLE })
    },

    'a list ends once the texts of all its rows but the last fill a slice': async (scene) => {
      const { newProspect, logged, listed, timeline } = scene
      const prospect = await newProspect()
      const heavy = { payload: { rawJson: JSON.stringify({ text: 'x'.repeat(400_000) }) } }
      const logs = (await logged(prospect, heavy, {}, heavy, { email: 'x'.repeat(400_000) }, heavy)).reverse()
      const ids = logs.slice(0, 4).map(({ prospectLogId }) => prospectLogId)
      for (const { rows } of [await listed({ tenantId: prospect.tenantId }), await timeline(prospect)]) {
        same(
          rows.map(({ prospectLogId }) => prospectLogId),
          ids,
        )
        same(rows[0], logs[0])
      }
    },

    'a list with a rare filter stops after 10,000 rows, and goes on there': async (scene) => {
      const { newProspect, logged, listed } = scene
      const prospect = await newProspect()
      const { tenantId } = prospect
      const many = Array.from({ length: LOOKED_AT - 1 }, () => ({}))
      const logs = await logged(prospect, { type: 'rare' }, { type: 'rare' }, ...many, { type: 'rare' })
      const [oldest, older] = logs
      const newest = logs.at(-1)
      const first = await listed({ tenantId, type: 'rare' })
      same(first, { rows: [newest], resume: logs[2]?.prospectLogId })
      same(await listed({ tenantId, type: 'rare', beforeId: first.resume }), {
        rows: [older, oldest],
        resume: null,
      })
      const few = await listed({ tenantId, type: 'rare', limit: 1, beforeId: older?.prospectLogId ?? '' })
      same(few, { rows: [oldest], resume: null })
      equal((await listed({ tenantId, limit: 5 })).resume, null, 'the limit was reached before')
    },

    'a timeline with a rare filter stops after 10,000 rows, at the end of a step, and goes on there': async (
      scene,
    ) => {
      const { newProspect, logged, timeline } = scene
      const prospect = await newProspect()
      // Two in each step of four seconds: the 10,000th and the one after it share theirs.
      const timeOf = (i: number) => at(-Math.ceil(i / 2) * STEP_MS + (i % 2))
      const fields = Array.from({ length: LOOKED_AT + 3 }, (_, i) => ({
        occurredAt: timeOf(i),
        type: 'often',
      }))
      for (const i of [0, LOOKED_AT, LOOKED_AT + 2]) Object.assign(fields[i] ?? {}, { type: 'rare' })
      const logs = await logged(prospect, ...fields)
      const first = await timeline(prospect, { type: 'rare' })
      same(first, { rows: [logs[0], logs[LOOKED_AT]], resume: timeOf(LOOKED_AT), ...WHOLE })
      const before = { occurredAt: first.resume ?? '', prospectLogId: '' }
      const rest = await timeline(prospect, { type: 'rare', before })
      same(rest, { rows: [logs[LOOKED_AT + 2]], resume: null, ...WHOLE })
      equal((await timeline(prospect, { limit: 5 })).resume, null, 'the limit was reached before')
    },

    'a timeline goes on after a step of more than 10,000 logs, with a filter and without': async (scene) => {
      const { core, store, newProspect, logged } = scene
      const prospect = await newProspect()
      const [old] = await logged(prospect, { type: 'old', occurredAt: at(-1) })
      const many = await logged(prospect, ...Array.from({ length: LOOKED_AT + 1_000 }, () => ({})))
      const { tenantId, prospectId } = prospect
      const read = async (query: object) => {
        const list = core.listTimeline({ store })
        return (await list({ tenantId, prospectId, limit: 4_000, ...query })).value
      }
      const idOf = (log: { prospectLogId: string }) => log.prospectLogId
      const all = [...many.toReversed().map(idOf), old?.prospectLogId]
      same(await walk((cursor) => read({ cursor }), idOf), all)
      same(await walk((cursor) => read({ cursor, type: 'old' }), idOf), all.slice(-1))
      same(await read({ until: at(0), type: 'old' }), { items: [old], hasMore: false })
    },

    'a caller that changes what was found or listed changes nothing in the store': async (scene) => {
      const { prospectLogs, newProspect, logged, listed, timeline } = scene
      const prospect = await newProspect()
      const logs = await logged(prospect, { payload: { rawJson: '{"a":1}' } })
      scribbleOn(await readEach(prospectLogs.find, logs))
      scribbleOn(await listed({ tenantId: prospect.tenantId }))
      scribbleOn(await timeline(prospect))
      same(await readEach(prospectLogs.find, logs), logs)
    },
  },
)

const ALL = { source: null, type: null, limit: 100 }
const positionOf = ({ occurredAt, prospectLogId }: StoredLog) => `${occurredAt} ${prospectLogId}`
const shown = ({ requestHash, keyScope, ...log }: NewLog): StoredLog => log
