import type { NewLog } from 'prospect-pages/store'
import { activitySetting, keyOf } from './activity-scene.ts'
import { equal, same } from './assertions.ts'
import { section } from './contract.ts'
import {
  AWKWARD_TEXTS,
  addTenant,
  assumedTo,
  at,
  changeOf,
  emailIdentifier,
  externalIdentifier,
  fillOf,
  keyFields,
  logChangeOf,
  only,
  readEach,
  type SomeProspect,
  someLog,
  someProspect,
} from './rows.ts'

export const PAYLOADS = [
  '{}',
  '{ }',
  ' {\n\t"a" : [ 1 , 2 ]\r\n} ',
  '{"text":"\\u0000 in the middle \\u0000"}',
  '{"half":"\\ud83d","other":"\\udE00","turned":"\\udE00\\ud83d"}',
  '{"long":12345678901234567890,"exact":0.1000000000000000055511151231257827}',
  '{"huge":1e131071,"tiny":1E-131071,"plus":1e+2,"zero":-0,"dot":1.0}',
  '{"a":1,"a":2,"__proto__":{"a":3},"constructor":null}',
  '{"quotes":"\\" \' \\\\ \\/ / \\n","braces":"{}[],","null":"NULL"}',
  '{"\\u0061":"\\u00e9 é e\u0301 👩‍👩‍👧‍👦 \u2028\u2029\ufeff\uffff"}',
  `{"deep":${'['.repeat(500)}${']'.repeat(500)}}`,
  `{"wide":"${'x'.repeat(100_000)}"}`,
]

export const activityPayloads = section('activities', activitySetting, {
  'a log is kept with every field, whether its prospect is added, filled or unchanged': async (scene) => {
    const { activities, keptOf } = scene
    const ada = someProspect(await scene.newTenant(), { email: 'ada@x' })
    const filled = { ...ada, name: 'Ada', updatedAt: at(1) }
    const logOf = (key: string) =>
      someLog(ada, {
        ...keyFields(key),
        source: 'shop',
        type: 'order',
        payload: { rawJson: '{ "n" : 12345678901234567890 }' },
        email: ' Ada@X',
        name: 'Ada',
        externalId: '1',
        occurredAt: at(5),
        createdAt: at(7),
      })
    const logs = ['1', '2', '3', '4'].map(logOf) as [NewLog, NewLog, NewLog, NewLog]
    for (const change of [
      changeOf(ada, logs[0]),
      fillOf(ada, { name: 'Ada' }, logs[1]),
      logChangeOf(filled, logs[2]),
      logChangeOf(filled, logs[3], { assumed: [assumedTo(externalIdentifier(ada.tenantId, '1'), null)] }),
    ])
      equal(await activities.record(change), 'recorded')
    same(await keptOf(ada.tenantId), { prospects: [filled], logs })
  },

  'an email of ten thousand characters is kept, and differs from one with the same beginning': async (
    scene,
  ) => {
    const { keptOf, recall, record } = scene
    const tenantId = await scene.newTenant()
    const emails = ['a', 'b'].map((end) => `${'long.'.repeat(2_000)}${end}@example.com`)
    const prospects = emails.map((email) => someProspect(tenantId, { email }))
    const logs = prospects.map((prospect) => someLog(prospect, { email: prospect.email }))
    equal(await record(prospects, logs), 'recorded')
    same(await keptOf(tenantId), { prospects, logs })
    const known = await recall({ tenantId, identifiers: [emailIdentifier(tenantId, emails[1] ?? '')] })
    same(only(known.prospects, 'prospectId'), only(prospects.slice(1), 'prospectId'))
  },

  'a payload is kept byte for byte': async ({ keptOf, record, addProspect, newTenant }) => {
    const prospect = await addProspect(await newTenant())
    const logs = PAYLOADS.map((rawJson) => someLog(prospect, { payload: { rawJson } }))
    equal(await record([], logs), 'recorded')
    const added = PAYLOADS.map(() => someProspect(prospect.tenantId))
    const firstLogs = PAYLOADS.map((rawJson, i) =>
      someLog(added[i] as SomeProspect, { payload: { rawJson } }),
    )
    equal(await record(added, firstLogs), 'recorded')
    const { logs: rows } = await keptOf(prospect.tenantId)
    same(
      rows.slice(1).map(({ payload }) => payload.rawJson),
      [...PAYLOADS, ...PAYLOADS],
    )
  },

  'every text field keeps every text unchanged': async ({ keptOf, recall, record, newTenant }) => {
    const tenantId = await newTenant()
    const prospects = AWKWARD_TEXTS.map((text) =>
      someProspect(tenantId, { email: text, externalId: text, name: text }),
    )
    const logs = AWKWARD_TEXTS.map((text, i) =>
      someLog(prospects[i] as SomeProspect, {
        source: text,
        type: text,
        email: text,
        name: text,
        externalId: text,
        ...keyFields(text),
      }),
    )
    equal(await record(prospects, logs), 'recorded')
    same(await keptOf(tenantId), { prospects, logs })
    const lookups = logs.map((log) => ({ tenantId, prospectId: log.prospectId, key: keyOf(log) }))
    const known = await readEach(recall, lookups)
    same(
      known.map(({ receipt }) => [receipt?.source, receipt?.type, receipt?.idempotencyKey]),
      AWKWARD_TEXTS.map((text) => [text, text, text]),
    )
    same(
      known.map(({ prospects: [found] }) => [found?.email, found?.externalId, found?.name]),
      AWKWARD_TEXTS.map((text) => [text, text, text]),
    )
  },

  'texts that arrive together are kept unchanged, of one tenant and of two, in tenants without webhooks':
    async ({ activities, keptOf, store }) => {
      /** New people together, and then a second log of each. */
      const recordTogether = async (tenantIds: readonly string[]) => {
        const people = tenantIds.flatMap((tenantId) =>
          AWKWARD_TEXTS.map((text) => {
            const attributes = { rawJson: JSON.stringify({ note: text }) }
            const prospect = someProspect(tenantId, { email: text, externalId: text, name: text, attributes })
            const fields = { source: text, type: text, email: text, name: text, externalId: text }
            const payload = { rawJson: JSON.stringify({ text }) }
            const logs = ['first', 'second'].map((key) =>
              someLog(prospect, { ...fields, ...keyFields(`${key} ${text}`), payload }),
            ) as [NewLog, NewLog]
            return { prospect, logs }
          }),
        )
        const added = people.map(({ prospect, logs }) => activities.record(changeOf(prospect, logs[0])))
        same(
          await Promise.all(added),
          people.map(() => 'recorded'),
        )
        const logged = people.map(({ prospect, logs }) => activities.record(logChangeOf(prospect, logs[1])))
        same(
          await Promise.all(logged),
          people.map(() => 'recorded'),
        )
        for (const tenantId of tenantIds) {
          const ours = people.filter(({ prospect }) => prospect.tenantId === tenantId)
          const kept = await keptOf(tenantId)
          same(
            kept.prospects,
            ours.map(({ prospect }) => prospect),
          )
          same(sortedById(kept.logs), sortedById(ours.flatMap(({ logs }) => logs)))
        }
      }
      const newTenantId = async () => (await addTenant(store)).tenantId
      await recordTogether([await newTenantId()])
      await recordTogether([await newTenantId(), await newTenantId()])
    },
})

const sortedById = (logs: readonly NewLog[]) =>
  logs.toSorted((a, b) => (a.prospectLogId < b.prospectLogId ? -1 : 1))
