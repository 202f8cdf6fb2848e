import { sha256 } from '../../src/core/keys.ts'
import type {
  ActivityWants,
  KnownActivities,
  NewLog,
  ProspectChange,
} from '../../src/core/ports/activities.ts'
import {
  AWKWARD_TEXTS,
  at,
  emailFields,
  keyFields,
  newId,
  only,
  scribbleOn,
  someLog,
  someProspect,
} from '../support/rows.ts'
import { EVERY_STORE, opened, overStores } from '../support/stores.ts'

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

overStores(async (t, kind) => {
  const { store, kept } = await opened(t, kind)
  const { activities } = store
  const keptOf = async (tenantId: string) => {
    const { prospects, logs } = await kept()
    const ours = (row: { tenantId: string }) => row.tenantId === tenantId
    return { prospects: prospects.filter(ours), logs: logs.filter(ours) }
  }
  const recall = async (wants: Partial<ActivityWants>): Promise<KnownActivities> => {
    const known = await activities.recall({ prospects: [], emails: [], keys: [], ...wants })
    return {
      prospects: withoutTwins(only(known.prospects, 'tenantId', 'prospectId', 'emailHash', 'name')),
      receipts: withoutTwins(only(known.receipts, ...RECEIPT_FIELDS)),
    }
  }
  const record = (prospects: ProspectChange[], logs: NewLog[]) => activities.record({ prospects, logs })
  const recorded = async (tenantId: string, fields: Partial<ProspectChange> = {}) => {
    const prospect = someProspect(tenantId, fields)
    if ((await record([prospect], [someLog(prospect)])) !== 'recorded') throw new Error('not recorded')
    return prospect
  }

  t.test('a recorded prospect is recalled by its id and by the hash of its email', async (t) => {
    const tenantId = newId('tenant')
    const prospect = await recorded(tenantId, { ...emailFields('ada@example.com'), name: 'Ada' })
    const { emailHash, prospectId } = prospect
    const stored = { tenantId, prospectId, emailHash, name: 'Ada' }
    t.strictSame((await recall({ prospects: [{ tenantId, prospectId }] })).prospects, [stored])
    t.strictSame((await recall({ emails: [{ tenantId, emailHash: String(emailHash) }] })).prospects, [stored])
  })

  t.test('a recorded log is recalled as a receipt by its idempotency key, with every field', async (t) => {
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
    t.strictSame(receipts, only([log as KnownActivities['receipts'][number]], ...RECEIPT_FIELDS))
  })

  t.test('a prospect without email or name is recalled with nulls', async (t) => {
    const { tenantId, prospectId } = await recorded(newId('tenant'))
    const { prospects } = await recall({ prospects: [{ tenantId, prospectId }] })
    t.strictSame(prospects, [{ tenantId, prospectId, emailHash: null, name: null }])
  })

  t.test('nothing is recalled but what is wanted', async (t) => {
    const tenantId = newId('tenant')
    const wanted = await recorded(tenantId, emailFields('wanted@example.com'))
    await recorded(tenantId, emailFields('neighbour@example.com'))
    t.strictSame(await recall({}), { prospects: [], receipts: [] })
    const known = await recall({ prospects: [wanted] })
    t.strictSame(only(known.prospects, 'prospectId'), [{ prospectId: wanted.prospectId }])
    t.strictSame(known.receipts, [])
    const { prospects } = await recall({ prospects: [{ tenantId, prospectId: newId('prospect') }] })
    t.strictSame(prospects, [])
  })

  t.test('a stranger recalls neither a prospect nor an email nor an idempotency key', async (t) => {
    const prospect = someProspect(newId('tenant'), emailFields('ada@example.com'))
    const log = someLog(prospect, keyFields('theirs'))
    await record([prospect], [log])
    const tenantId = newId('tenant')
    const wants = {
      prospects: [{ ...prospect, tenantId }],
      emails: [{ tenantId, emailHash: sha256('ada@example.com') }],
      keys: [{ tenantId, source: log.source, idempotencyKey: 'theirs' }],
    }
    t.strictSame(await recall(wants), { prospects: [], receipts: [] })
  })

  t.test('a stranger who records under our ids changes nothing of ours', async (t) => {
    const ours = await recorded(newId('tenant'))
    const before = await keptOf(ours.tenantId)
    const theirs = {
      ...ours,
      tenantId: newId('tenant'),
      ...emailFields('theirs@example.com'),
      name: 'Theirs',
    }
    t.equal(await record([theirs], [someLog(theirs)]), 'recorded')
    t.strictSame(await keptOf(ours.tenantId), before)
  })

  t.test('one call recalls for several tenants, and a want said twice does no harm', async (t) => {
    const one = await recorded(newId('tenant'), emailFields('same@example.com'))
    const two = await recorded(newId('tenant'), emailFields('same@example.com'))
    const emails = [one, two, one].map(({ tenantId, emailHash }) => ({
      tenantId,
      emailHash: String(emailHash),
    }))
    const { prospects } = await recall({ prospects: [two, one, two, two], emails })
    t.strictSame(new Set(prospects.map(identity)), new Set([identity(one), identity(two)]))
    t.equal(prospects.length, 2)
  })

  t.test('an idempotency key belongs to its source and its tenant', async (t) => {
    const ours = await recorded(newId('tenant'))
    const theirs = await recorded(newId('tenant'))
    const logs = [
      someLog(ours, { source: 'crm', ...keyFields('one') }),
      someLog(ours, { source: 'shop', ...keyFields('one') }),
      someLog(theirs, { source: 'crm', ...keyFields('one') }),
    ]
    t.equal(await record([], logs), 'recorded')
    for (const { tenantId, source, prospectLogId } of logs) {
      const { receipts } = await recall({ keys: [{ tenantId, source, idempotencyKey: 'one' }] })
      t.strictSame(only(receipts, 'prospectLogId'), [{ prospectLogId }])
    }
  })

  t.test('logs without an idempotency key are never in each other’s way', async (t) => {
    const prospect = await recorded(newId('tenant'))
    t.equal(await record([], [someLog(prospect), someLog(prospect)]), 'recorded')
    t.equal(await record([], [someLog(prospect)]), 'recorded')
    t.equal((await keptOf(prospect.tenantId)).logs.length, 4)
  })

  t.test('a taken email is overtaken, and nothing of the list is saved', async (t) => {
    const tenantId = newId('tenant')
    await recorded(tenantId, emailFields('taken@example.com'))
    const before = await keptOf(tenantId)
    const free = someProspect(tenantId, emailFields('free@example.com'))
    const late = someProspect(tenantId, emailFields('taken@example.com'))
    t.equal(await record([free, late], [someLog(free), someLog(late)]), 'overtaken')
    t.strictSame(await keptOf(tenantId), before)
  })

  t.test('an email is taken within its tenant only', async (t) => {
    await recorded(newId('tenant'), emailFields('both@example.com'))
    const other = await recorded(newId('tenant'), emailFields('both@example.com'))
    t.equal((await keptOf(other.tenantId)).prospects.length, 1)
  })

  t.test('a taken idempotency key is overtaken, and nothing of the list is saved', async (t) => {
    const prospect = await recorded(newId('tenant'), { name: null })
    await record([], [someLog(prospect, keyFields('taken'))])
    const before = await keptOf(prospect.tenantId)
    const other = someProspect(prospect.tenantId, emailFields('new@example.com'))
    const logs = [someLog(other, keyFields('free')), someLog(prospect, keyFields('taken'))]
    t.equal(await record([other, { ...prospect, name: 'Ada' }], logs), 'overtaken')
    t.strictSame(await keptOf(prospect.tenantId), before)
  })

  t.test('a blank email is filled, with what was blank only', async (t) => {
    const blank = await recorded(newId('tenant'), { name: 'Ada' })
    const change = { ...blank, ...emailFields('ada@example.com'), name: 'Other', createdAt: at(5_000) }
    t.equal(await record([change], [someLog(blank)]), 'recorded')
    const { prospects } = await keptOf(blank.tenantId)
    t.strictSame(prospects, [{ ...blank, ...emailFields('ada@example.com') }])
  })

  t.test('a blank email that somebody else filled otherwise is overtaken', async (t) => {
    const blank = await recorded(newId('tenant'))
    t.equal(await record([{ ...blank, ...emailFields('first@example.com') }], [someLog(blank)]), 'recorded')
    const before = await keptOf(blank.tenantId)
    const second = { ...blank, ...emailFields('second@example.com'), name: 'Second' }
    t.equal(await record([second], [someLog(blank)]), 'overtaken')
    t.strictSame(await keptOf(blank.tenantId), before)
  })

  t.test('a blank email that somebody else filled with the same is recorded', async (t) => {
    const blank = await recorded(newId('tenant'))
    const filled = { ...blank, ...emailFields('same@example.com') }
    t.equal(await record([filled], [someLog(blank)]), 'recorded')
    t.equal(await record([filled], [someLog(blank)]), 'recorded')
    t.strictSame((await keptOf(blank.tenantId)).prospects, [filled])
  })

  t.test('a blank email filled with one that belongs to another prospect is overtaken', async (t) => {
    const tenantId = newId('tenant')
    await recorded(tenantId, emailFields('hers@example.com'))
    const blank = await recorded(tenantId)
    const before = await keptOf(tenantId)
    const change = { ...blank, ...emailFields('hers@example.com') }
    t.equal(await record([change], [someLog(blank)]), 'overtaken')
    t.strictSame(await keptOf(tenantId), before)
  })

  t.test('a name fills a blank name, never another, and leaves the email alone', async (t) => {
    const nameless = await recorded(newId('tenant'), emailFields('ada@example.com'))
    const nameOnly = { ...nameless, email: null, emailHash: null, createdAt: at(9) }
    t.equal(await record([{ ...nameOnly, name: 'Ada' }], [someLog(nameless)]), 'recorded')
    t.equal(await record([{ ...nameOnly, name: 'Grace' }], [someLog(nameless)]), 'recorded')
    t.strictSame((await keptOf(nameless.tenantId)).prospects, [{ ...nameless, name: 'Ada' }])
  })

  t.test('a prospect may be saved again under its own email', async (t) => {
    const owner = await recorded(newId('tenant'), emailFields('mine@example.com'))
    t.equal(await record([{ ...owner, name: 'Ada' }], [someLog(owner)]), 'recorded')
    t.strictSame((await keptOf(owner.tenantId)).prospects, [{ ...owner, name: 'Ada' }])
  })

  t.test('an email of ten thousand characters is kept and told from one that begins alike', async (t) => {
    const tenantId = newId('tenant')
    const emails = ['a', 'b'].map((end) => `${'long.'.repeat(2_000)}${end}@example.com`)
    const prospects = emails.map((email) => someProspect(tenantId, emailFields(email)))
    const logs = prospects.map((prospect) => someLog(prospect, { email: prospect.email }))
    t.equal(await record(prospects, logs), 'recorded')
    t.strictSame(await keptOf(tenantId), { prospects, logs })
    const known = await recall({ emails: [{ tenantId, emailHash: sha256(emails[1] ?? '') }] })
    t.strictSame(only(known.prospects, 'prospectId'), only(prospects.slice(1), 'prospectId'))
  })

  t.test('a payload is kept byte for byte', async (t) => {
    const prospect = await recorded(newId('tenant'))
    const logs = PAYLOADS.map((rawJson) => someLog(prospect, { payload: { rawJson } }))
    t.equal(await record([], logs), 'recorded')
    const { logs: rows } = await keptOf(prospect.tenantId)
    t.strictSame(
      rows.slice(1).map(({ payload }) => payload.rawJson),
      PAYLOADS,
    )
  })

  t.test('every text field keeps every text as it is', async (t) => {
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
    t.equal(await record(prospects, logs), 'recorded')
    t.strictSame(await keptOf(tenantId), { prospects, logs })
    const keys = logs.map(({ source, idempotencyKey }) => ({
      tenantId,
      source,
      idempotencyKey: String(idempotencyKey),
    }))
    const known = await recall({ prospects, keys })
    t.strictSame(
      known.receipts.map(({ source, type, idempotencyKey }) => [source, type, idempotencyKey]).sort(),
      AWKWARD_TEXTS.map((text) => [text, text, text]).sort(),
    )
    t.strictSame(known.prospects.map(({ name }) => name).sort(), [...AWKWARD_TEXTS].sort())
  })

  t.test('the longest source and idempotency key of the widest characters find their receipt', async (t) => {
    const prospect = await recorded(newId('tenant'))
    const source = Array.from({ length: 100 }, (_, i) => String.fromCodePoint(0x1f300 + i)).join('')
    const key = Array.from({ length: 255 }, (_, i) => String.fromCodePoint(0x20000 + i * 7)).join('')
    t.equal(await record([], [someLog(prospect, { source, ...keyFields(key) })]), 'recorded')
    const wants = [{ tenantId: prospect.tenantId, source, idempotencyKey: key }]
    t.equal((await recall({ keys: wants })).receipts.length, 1)
  })

  t.test('two hundred prospects and logs are one list', async (t) => {
    const tenantId = newId('tenant')
    const prospects = Array.from({ length: 200 }, (_, i) => someProspect(tenantId, emailFields(`p${i}@x`)))
    const logs = prospects.map((prospect) => someLog(prospect, keyFields(prospect.prospectId)))
    t.equal(await record(prospects, logs), 'recorded')
    t.strictSame(await keptOf(tenantId), { prospects, logs })
    t.equal((await recall({ prospects })).prospects.length, 200)
  })

  t.test('scribbling on what was recalled changes nothing inside', async (t) => {
    const prospect = await recorded(newId('tenant'), { ...emailFields('ada@example.com'), name: 'Ada' })
    const log = someLog(prospect, keyFields('one'))
    await record([], [log])
    const before = await keptOf(prospect.tenantId)
    const wants = {
      prospects: [prospect],
      emails: [{ ...prospect, emailHash: String(prospect.emailHash) }],
      keys: [{ ...log, idempotencyKey: 'one' }],
    }
    const expected = await recall(wants)
    scribbleOn(await activities.recall(wants))
    t.strictSame(await recall(wants), expected)
    t.strictSame(await keptOf(prospect.tenantId), before)
  })

  t.test('scribbling on what was recorded changes nothing inside', async (t) => {
    const prospect = someProspect(newId('tenant'), { ...emailFields('ada@example.com'), name: 'Ada' })
    const log = someLog(prospect, keyFields('one'))
    const { tenantId } = prospect
    await record([prospect], [log])
    const before = structuredClone({ prospects: [prospect], logs: [log] })
    scribbleOn({ prospect, log })
    t.strictSame(await keptOf(tenantId), before)
  })
}, EVERY_STORE)

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
