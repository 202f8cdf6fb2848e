import type { NewLog } from 'prospect-pages/store'
import { equal, same } from './assertions.ts'
import { section } from './contract.ts'
import { at, keyFields, recordAll, scribbleOn, someLog, someProspect } from './rows.ts'

const EVERY = { afterId: '', beforeId: '~', limit: 500 }
const idsOf = (logs: readonly { prospectLogId: string }[]) => logs.map(({ prospectLogId }) => prospectLogId)

export const oldestLogs = section(
  'oldest logs',
  async ({ store, newTenant }) => {
    const tenantId = await newTenant()
    const recorded = async (count: number, fields: Partial<NewLog> = {}) => {
      const prospect = someProspect(tenantId)
      const logs = Array.from({ length: count }, () => someLog(prospect, fields))
      // Not in the order of their ids.
      equal(await recordAll(store.activities, [prospect], logs.toReversed()), 'recorded')
      return logs
    }
    return { tenantId, recorded, list: store.prospectLogs.listOldest }
  },
  {
    'logs are listed oldest first, with every field': async ({ tenantId, recorded, list }) => {
      const [{ requestHash, keyScope, ...log }] = (await recorded(1, {
        payload: { rawJson: '{ "n":12345678901234567890,"n":1 }' },
        email: ' Ada@Example.com ',
        name: 'Ada',
        source: 'shop',
        type: 'ordered',
        createdProspect: true,
        occurredAt: at(5),
        createdAt: at(7),
        ...keyFields('one'),
      })) as [NewLog]
      same(await list({ tenantId, ...EVERY }), [log])
      const more = await recorded(30)
      same(idsOf(await list({ tenantId, ...EVERY })), [log.prospectLogId, ...idsOf(more)])
    },

    'both ends are left out, and the oldest come first': async ({ tenantId, recorded, list }) => {
      const ids = idsOf(await recorded(9))
      const between = { tenantId, afterId: ids[1] as string, beforeId: ids[7] as string }
      same(idsOf(await list({ ...between, limit: 500 })), ids.slice(2, 7))
      same(idsOf(await list({ ...between, limit: 3 })), ids.slice(2, 5))
      same(await list({ ...between, afterId: ids[8] as string, limit: 3 }), [])
    },

    'large logs shorten a list, but never to nothing': async ({ tenantId, recorded, list }) => {
      const ids = idsOf(await recorded(5, { payload: { rawJson: `{"text":"${'x'.repeat(700_000)}"}` } }))
      const listed = await list({ tenantId, ...EVERY })
      same(idsOf(listed), ids.slice(0, 3))
      const rest = await list({ tenantId, ...EVERY, afterId: ids[2] as string })
      same(idsOf(rest), ids.slice(3))
    },

    'what was listed can be changed without harm': async ({ tenantId, recorded, list }) => {
      await recorded(2)
      const before = JSON.stringify(await list({ tenantId, ...EVERY }))
      scribbleOn(await list({ tenantId, ...EVERY }))
      equal(JSON.stringify(await list({ tenantId, ...EVERY })), before)
    },
  },
)
