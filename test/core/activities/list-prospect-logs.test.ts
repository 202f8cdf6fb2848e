import t from 'tap'
import { idsSince } from '../../../src/core/engine/id-times.ts'
import type { NewLog } from '../../../src/core/ports/activities.ts'
import { createNewId, listProspectLogs, listTimeline } from '../../../src/entry/use-cases.ts'
import { at, newId, recordAll, someLog, someProspect } from '../../support/rows.ts'
import { storeWith } from '../scene.ts'

const LOOKED_AT = 10_000

/** A prospect with activities, each with these fields. */
const setUp = async (...fields: readonly Partial<NewLog>[]) => {
  const prospect = someProspect(newId('tenant'))
  const store = storeWith(prospect.tenantId)
  const logs = fields.map((each) => someLog(prospect, each))
  await recordAll(store.activities, [prospect], logs)
  const { tenantId, prospectId } = prospect
  const list = listProspectLogs({ store })
  const timeline = listTimeline({ store })
  return { logs, tenantId, prospectId, list, timeline }
}

t.test('the ids of a moment begin with its time', async (t) => {
  const before = Date.now()
  const id = createNewId()('prospectlog')
  const isoTime = (ms: number) => new Date(ms).toISOString()
  t.ok(idsSince('prospectlog', isoTime(before)) <= id)
  t.ok(idsSince('prospectlog', isoTime(Date.now() + 1)) > id)
  t.equal(idsSince('page', '1970-01-01T00:00:00.000Z'), 'page_0000000000')
})

t.test('since and until bound the list of a tenant by when activities arrived', async (t) => {
  const idAt = (ms: number) => `${idsSince('prospectlog', at(ms))}${'0'.repeat(16)}`
  const times = [0, 1_000, 2_000, 3_000]
  const { list, tenantId } = await setUp(
    ...times.map((ms) => ({ prospectLogId: idAt(ms), createdAt: at(ms), type: `${ms}` })),
  )
  const typesIn = async (fields: object) => {
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const { value: slice } = await list({ tenantId, limit: 1, cursor, ...fields })
      seen.push(...slice.items.map(({ type }) => type))
      cursor = slice.nextCursor
    } while (cursor !== undefined)
    return seen.join(' ')
  }
  t.equal(await typesIn({}), '3000 2000 1000 0')
  t.equal(await typesIn({ since: at(1_000) }), '3000 2000 1000')
  t.equal(await typesIn({ until: at(1_001) }), '1000 0')
  t.equal(await typesIn({ since: at(1_000), until: at(3_000) }), '2000 1000')
  t.equal(await typesIn({ since: at(3_000), until: at(1_000) }), '')
})

t.test('a slice that looked at 10,000 activities in vain is empty, and the next one goes on', async (t) => {
  const many = Array.from({ length: LOOKED_AT + 5 }, (_, i) => ({ occurredAt: at(i * 4_000) }))
  const { list, timeline, tenantId, prospectId } = await setUp({ type: 'rare' }, ...many)
  for (const read of [
    (cursor?: string) => list({ tenantId, type: 'rare', limit: 5, cursor }),
    (cursor?: string) => timeline({ tenantId, prospectId, type: 'rare', limit: 5, cursor }),
  ]) {
    const { value: first } = await read()
    t.match([first.items.length, first.hasMore], [0, true])
    const { value: second } = await read(first.nextCursor)
    t.match([second.items.length, second.hasMore], [1, false])
  }
})

t.test('a timeline ends with 1970, however many activities begin it', async (t) => {
  const many = Array.from({ length: LOOKED_AT }, () => ({ occurredAt: '1970-01-01T00:00:00.000Z' }))
  const { timeline, tenantId, prospectId } = await setUp(...many)
  t.strictSame(await timeline({ tenantId, prospectId, type: 'rare', limit: 5 }), {
    value: { items: [], hasMore: false },
  })
})
