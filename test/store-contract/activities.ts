import type { ActivityWants, KnownActivities, NewLog, ProspectChange } from 'prospect-pages'
import { equal, same } from './assertions.ts'
import { section } from './contract.ts'
import {
  AWKWARD_TEXTS,
  at,
  emailFields,
  externalFields,
  keyFields,
  newId,
  only,
  scribbleOn,
  sha256,
  someLog,
  someProspect,
} from './rows.ts'

const PAYLOADS = [
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

export const activities = section(
  'activities',
  ({ store, kept }) => {
    const { activities } = store
    const keptOf = async (tenantId: string) => {
      const { prospects, logs } = await kept()
      const ours = (row: { tenantId: string }) => row.tenantId === tenantId
      return { prospects: prospects.filter(ours), logs: logs.filter(ours) }
    }
    const recall = async (wants: Partial<ActivityWants>): Promise<KnownActivities> => {
      const known = await activities.recall({
        prospects: [],
        emails: [],
        externalIds: [],
        keys: [],
        ...wants,
      })
      return {
        prospects: withoutTwins(only(known.prospects, ...PROSPECT_FIELDS)),
        receipts: withoutTwins(only(known.receipts, ...RECEIPT_FIELDS)),
      }
    }
    const record = (prospects: ProspectChange[], logs: NewLog[]) => activities.record({ prospects, logs })
    const recorded = async (tenantId: string, fields: Partial<ProspectChange> = {}) => {
      const prospect = someProspect(tenantId, fields)
      if ((await record([prospect], [someLog(prospect)])) !== 'recorded') throw new Error('not recorded')
      return prospect
    }

    return { activities, keptOf, recall, record, recorded }
  },
  {
    'a recorded prospect is recalled by its id and by the hashes of its email and external id': async (
      given,
    ) => {
      const { recall, recorded } = given
      const tenantId = newId('tenant')
      const names = { ...emailFields('ada@example.com'), ...externalFields('crm 1') }
      const { prospectId } = await recorded(tenantId, { ...names, name: 'Ada' })
      const { emailHash, externalIdHash } = names
      const hashes = { emailHash, externalIdHash }
      const stored = { tenantId, prospectId, ...hashes, name: 'Ada', erasedAt: null, mergedInto: null }
      same((await recall({ prospects: [{ tenantId, prospectId }] })).prospects, [stored])
      same((await recall({ emails: [{ tenantId, emailHash }] })).prospects, [stored])
      same((await recall({ externalIds: [{ tenantId, externalIdHash }] })).prospects, [stored])
    },

    'a recorded log is recalled as a receipt by its idempotency key, with every field': async (given) => {
      const { recall, record } = given
      const prospect = someProspect(newId('tenant'))
      const log = someLog(prospect, {
        ...keyFields('first'),
        type: 'form.sent',
        createdProspect: true,
        createdAt: at(123),
      })
      await record([prospect], [log])
      const { tenantId, source } = log
      const { receipts } = await recall({ keys: [{ tenantId, source, idempotencyKey: 'first' }] })
      same(receipts, only([log as KnownActivities['receipts'][number]], ...RECEIPT_FIELDS))
    },

    'a prospect without email or name is recalled with nulls': async ({ recall, recorded }) => {
      const { tenantId, prospectId } = await recorded(newId('tenant'))
      const { prospects } = await recall({ prospects: [{ tenantId, prospectId }] })
      const blank = { emailHash: null, externalIdHash: null, name: null, erasedAt: null, mergedInto: null }
      same(prospects, [{ tenantId, prospectId, ...blank }])
    },

    'only what is wanted is recalled': async ({ recall, recorded }) => {
      const tenantId = newId('tenant')
      const wanted = await recorded(tenantId, emailFields('wanted@example.com'))
      await recorded(tenantId, emailFields('neighbour@example.com'))
      same(await recall({}), { prospects: [], receipts: [] })
      const known = await recall({ prospects: [wanted] })
      same(only(known.prospects, 'prospectId'), [{ prospectId: wanted.prospectId }])
      same(known.receipts, [])
      const { prospects } = await recall({ prospects: [{ tenantId, prospectId: newId('prospect') }] })
      same(prospects, [])
    },

    'another tenant recalls neither a prospect nor an email, an external id or an idempotency key': async (
      given,
    ) => {
      const { recall, record } = given
      const fields = { ...emailFields('ada@example.com'), ...externalFields('crm 1') }
      const prospect = someProspect(newId('tenant'), fields)
      const log = someLog(prospect, keyFields('theirs'))
      await record([prospect], [log])
      const tenantId = newId('tenant')
      const wants = {
        prospects: [{ ...prospect, tenantId }],
        emails: [{ tenantId, emailHash: sha256('ada@example.com') }],
        externalIds: [{ tenantId, externalIdHash: sha256('crm 1') }],
        keys: [{ tenantId, source: log.source, idempotencyKey: 'theirs' }],
      }
      same(await recall(wants), { prospects: [], receipts: [] })
    },

    'another tenant that records under our ids changes nothing of ours': async (given) => {
      const { keptOf, record, recorded } = given
      const ours = await recorded(newId('tenant'))
      const before = await keptOf(ours.tenantId)
      const theirs = {
        ...ours,
        tenantId: newId('tenant'),
        ...emailFields('theirs@example.com'),
        name: 'Theirs',
      }
      equal(await record([theirs], [someLog(theirs)]), 'recorded')
      same(await keptOf(ours.tenantId), before)
    },

    'one call recalls for several tenants, and repeated wants do no harm': async ({ recall, recorded }) => {
      const one = await recorded(newId('tenant'), emailFields('same@example.com'))
      const two = await recorded(newId('tenant'), emailFields('same@example.com'))
      const emails = [one, two, one].map(({ tenantId, emailHash }) => ({
        tenantId,
        emailHash: String(emailHash),
      }))
      const { prospects } = await recall({ prospects: [two, one, two, two], emails })
      same(new Set(prospects.map(identity)), new Set([identity(one), identity(two)]))
      equal(prospects.length, 2)
    },

    'an idempotency key belongs to its source and its tenant': async ({ recall, record, recorded }) => {
      const ours = await recorded(newId('tenant'))
      const theirs = await recorded(newId('tenant'))
      const logs = [
        someLog(ours, { source: 'crm', ...keyFields('one') }),
        someLog(ours, { source: 'shop', ...keyFields('one') }),
        someLog(theirs, { source: 'crm', ...keyFields('one') }),
      ]
      equal(await record([], logs), 'recorded')
      for (const { tenantId, source, prospectLogId } of logs) {
        const { receipts } = await recall({ keys: [{ tenantId, source, idempotencyKey: 'one' }] })
        same(only(receipts, 'prospectLogId'), [{ prospectLogId }])
      }
    },

    'logs without an idempotency key never conflict': async ({ keptOf, record, recorded }) => {
      const prospect = await recorded(newId('tenant'))
      equal(await record([], [someLog(prospect), someLog(prospect)]), 'recorded')
      equal(await record([], [someLog(prospect)]), 'recorded')
      equal((await keptOf(prospect.tenantId)).logs.length, 4)
    },

    'a taken email is overtaken, and nothing of the list is saved': async ({ keptOf, record, recorded }) => {
      const tenantId = newId('tenant')
      await recorded(tenantId, emailFields('taken@example.com'))
      const before = await keptOf(tenantId)
      const free = someProspect(tenantId, emailFields('free@example.com'))
      const late = someProspect(tenantId, emailFields('taken@example.com'))
      equal(await record([free, late], [someLog(free), someLog(late)]), 'overtaken')
      same(await keptOf(tenantId), before)
    },

    'an email is taken within its tenant only': async ({ keptOf, recorded }) => {
      await recorded(newId('tenant'), emailFields('both@example.com'))
      const other = await recorded(newId('tenant'), emailFields('both@example.com'))
      equal((await keptOf(other.tenantId)).prospects.length, 1)
    },

    'a taken idempotency key is overtaken, and nothing of the list is saved': async (given) => {
      const { keptOf, record, recorded } = given
      const prospect = await recorded(newId('tenant'), { name: null })
      await record([], [someLog(prospect, keyFields('taken'))])
      const before = await keptOf(prospect.tenantId)
      const other = someProspect(prospect.tenantId, emailFields('new@example.com'))
      const logs = [someLog(other, keyFields('free')), someLog(prospect, keyFields('taken'))]
      equal(await record([other, { ...prospect, name: 'Ada' }], logs), 'overtaken')
      same(await keptOf(prospect.tenantId), before)
    },

    'a change fills a blank email, and changes nothing that was set': async (given) => {
      const { keptOf, record, recorded } = given
      const blank = await recorded(newId('tenant'), { name: 'Ada' })
      const change = { ...blank, ...emailFields('ada@example.com'), name: 'Other', createdAt: at(5_000) }
      equal(await record([change], [someLog(blank)]), 'recorded')
      const { prospects } = await keptOf(blank.tenantId)
      same(prospects, [{ ...blank, ...emailFields('ada@example.com'), updatedAt: at(1) }])
    },

    'filling a blank email that another writer filled with another one is overtaken': async (given) => {
      const { keptOf, record, recorded } = given
      const blank = await recorded(newId('tenant'))
      equal(await record([{ ...blank, ...emailFields('first@example.com') }], [someLog(blank)]), 'recorded')
      const before = await keptOf(blank.tenantId)
      const second = { ...blank, ...emailFields('second@example.com'), name: 'Second' }
      equal(await record([second], [someLog(blank)]), 'overtaken')
      same(await keptOf(blank.tenantId), before)
    },

    'filling a blank email that another writer filled with the same one is recorded': async (given) => {
      const { keptOf, record, recorded } = given
      const blank = await recorded(newId('tenant'))
      const filled = { ...blank, ...emailFields('same@example.com') }
      equal(await record([filled], [someLog(blank)]), 'recorded')
      equal(await record([filled], [someLog(blank)]), 'recorded')
      same((await keptOf(blank.tenantId)).prospects, [{ ...filled, updatedAt: at(2) }])
    },

    'a blank email filled with one that belongs to another prospect is overtaken': async (given) => {
      const { keptOf, record, recorded } = given
      const tenantId = newId('tenant')
      await recorded(tenantId, emailFields('hers@example.com'))
      const blank = await recorded(tenantId)
      const before = await keptOf(tenantId)
      const change = { ...blank, ...emailFields('hers@example.com') }
      equal(await record([change], [someLog(blank)]), 'overtaken')
      same(await keptOf(tenantId), before)
    },

    'a name fills a blank name, never another, and leaves the email alone': async (given) => {
      const { keptOf, record, recorded } = given
      const nameless = await recorded(newId('tenant'), emailFields('ada@example.com'))
      const nameOnly = { ...nameless, email: null, emailHash: null, createdAt: at(9) }
      equal(await record([{ ...nameOnly, name: 'Ada' }], [someLog(nameless)]), 'recorded')
      equal(await record([{ ...nameOnly, name: 'Grace' }], [someLog(nameless)]), 'recorded')
      same((await keptOf(nameless.tenantId)).prospects, [{ ...nameless, name: 'Ada', updatedAt: at(2) }])
    },

    'a prospect may be saved again under its own email': async ({ keptOf, record, recorded }) => {
      const owner = await recorded(newId('tenant'), emailFields('mine@example.com'))
      equal(await record([{ ...owner, name: 'Ada' }], [someLog(owner)]), 'recorded')
      same((await keptOf(owner.tenantId)).prospects, [{ ...owner, name: 'Ada', updatedAt: at(1) }])
    },

    'an email of ten thousand characters is kept, and differs from one with the same beginning': async (
      given,
    ) => {
      const { keptOf, recall, record } = given
      const tenantId = newId('tenant')
      const emails = ['a', 'b'].map((end) => `${'long.'.repeat(2_000)}${end}@example.com`)
      const prospects = emails.map((email) => someProspect(tenantId, emailFields(email)))
      const logs = prospects.map((prospect) => someLog(prospect, { email: prospect.email }))
      equal(await record(prospects, logs), 'recorded')
      same(await keptOf(tenantId), { prospects, logs })
      const known = await recall({ emails: [{ tenantId, emailHash: sha256(emails[1] ?? '') }] })
      same(only(known.prospects, 'prospectId'), only(prospects.slice(1), 'prospectId'))
    },

    'a payload is kept byte for byte': async ({ keptOf, record, recorded }) => {
      const prospect = await recorded(newId('tenant'))
      const logs = PAYLOADS.map((rawJson) => someLog(prospect, { payload: { rawJson } }))
      equal(await record([], logs), 'recorded')
      const { logs: rows } = await keptOf(prospect.tenantId)
      same(
        rows.slice(1).map(({ payload }) => payload.rawJson),
        PAYLOADS,
      )
    },

    'every text field keeps every text as it is': async ({ keptOf, recall, record }) => {
      const tenantId = newId('tenant')
      const prospects = AWKWARD_TEXTS.map((text) =>
        someProspect(tenantId, { email: text, emailHash: sha256(text), name: text }),
      )
      const logs = AWKWARD_TEXTS.map((text, i) =>
        someLog(prospects[i] as ProspectChange, {
          source: text,
          type: text,
          email: text,
          name: text,
          ...keyFields(text),
        }),
      )
      equal(await record(prospects, logs), 'recorded')
      same(await keptOf(tenantId), { prospects, logs })
      const keys = logs.map(({ source, idempotencyKey }) => ({
        tenantId,
        source,
        idempotencyKey: String(idempotencyKey),
      }))
      const known = await recall({ prospects, keys })
      same(
        known.receipts.map(({ source, type, idempotencyKey }) => [source, type, idempotencyKey]).sort(),
        AWKWARD_TEXTS.map((text) => [text, text, text]).sort(),
      )
      same(known.prospects.map(({ name }) => name).sort(), [...AWKWARD_TEXTS].sort())
    },

    'the longest source and idempotency key of the widest characters find their receipt': async (given) => {
      const { recall, record, recorded } = given
      const prospect = await recorded(newId('tenant'))
      const source = Array.from({ length: 100 }, (_, i) => String.fromCodePoint(0x1f300 + i)).join('')
      const key = Array.from({ length: 255 }, (_, i) => String.fromCodePoint(0x20000 + i * 7)).join('')
      equal(await record([], [someLog(prospect, { source, ...keyFields(key) })]), 'recorded')
      const wants = [{ tenantId: prospect.tenantId, source, idempotencyKey: key }]
      equal((await recall({ keys: wants })).receipts.length, 1)
    },

    'two hundred prospects and logs are one list': async ({ keptOf, recall, record }) => {
      const tenantId = newId('tenant')
      const prospects = Array.from({ length: 200 }, (_, i) => someProspect(tenantId, emailFields(`p${i}@x`)))
      const logs = prospects.map((prospect) => someLog(prospect, keyFields(prospect.prospectId)))
      equal(await record(prospects, logs), 'recorded')
      same(await keptOf(tenantId), { prospects, logs })
      equal((await recall({ prospects })).prospects.length, 200)
    },

    'a caller that changes what was recalled changes nothing in the store': async (given) => {
      const { activities, keptOf, recall, record, recorded } = given
      const prospect = await recorded(newId('tenant'), { ...emailFields('ada@example.com'), name: 'Ada' })
      const log = someLog(prospect, keyFields('one'))
      await record([], [log])
      const before = await keptOf(prospect.tenantId)
      const wants = {
        prospects: [prospect],
        emails: [{ ...prospect, emailHash: String(prospect.emailHash) }],
        externalIds: [],
        keys: [{ ...log, idempotencyKey: 'one' }],
      }
      const expected = await recall(wants)
      scribbleOn(await activities.recall(wants))
      same(await recall(wants), expected)
      same(await keptOf(prospect.tenantId), before)
    },

    'a caller that changes what it recorded changes nothing in the store': async ({ keptOf, record }) => {
      const prospect = someProspect(newId('tenant'), { ...emailFields('ada@example.com'), name: 'Ada' })
      const log = someLog(prospect, keyFields('one'))
      const { tenantId } = prospect
      await record([prospect], [log])
      const before = structuredClone({ prospects: [prospect], logs: [log] })
      scribbleOn({ prospect, log })
      same(await keptOf(tenantId), before)
    },
  },
)

const PROSPECT_FIELDS = [
  'tenantId',
  'prospectId',
  'emailHash',
  'externalIdHash',
  'name',
  'erasedAt',
  'mergedInto',
] as const
const RECEIPT_FIELDS = [
  'tenantId',
  'source',
  'idempotencyKey',
  'requestHash',
  'prospectId',
  'prospectLogId',
  'type',
  'createdProspect',
  'createdAt',
] as const

const identity = (row: { tenantId: string; prospectId: string }) => `${row.tenantId} ${row.prospectId}`

/** A row that was wanted in two ways may come twice. */
const withoutTwins = <Row>(rows: readonly Row[]): Row[] => [
  ...new Map(rows.map((row) => [JSON.stringify(row), row])).values(),
]
