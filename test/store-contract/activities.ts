import type {
  ActivityChanges,
  ActivityWants,
  AssumedIdentifier,
  Identifier,
  KnownActivities,
  NewLog,
  ProspectChange,
  Store,
} from 'prospect-pages'
import { equal, ok, same } from './assertions.ts'
import { section } from './contract.ts'
import {
  AWKWARD_TEXTS,
  addTenant,
  assumedTo,
  at,
  changesOf,
  emailIdentifier,
  externalIdentifier,
  foundProspect,
  identifiersOf,
  keyFields,
  newId,
  only,
  scribbleOn,
  someErasure,
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

const ROUNDS = 5
/** A blocked identifier is blocked until then. */
const UNTIL = at(1e9)
/** A time before now by any clock of a database. */
const LONG_AGO = '2020-01-01T00:00:00.000Z'

export const activities = section(
  'activities',
  async ({ store, another, kept }) => {
    const { activities } = store
    const elsewhere = await another()
    const keptOf = async (tenantId: string) => {
      const { prospects, logs } = await kept()
      const ours = (row: { tenantId: string }) => row.tenantId === tenantId
      return { prospects: prospects.filter(ours), logs: logs.filter(ours) }
    }
    /** Without the times of the last changes. */
    const recall = async (wants: Partial<ActivityWants>) => {
      const known = await activities.recall({
        prospects: [],
        identifiers: [],
        keys: [],
        tenantIds: [],
        ...wants,
      })
      return {
        prospects: withoutTwins(only(known.prospects, ...PROSPECT_FIELDS)),
        identifiers: withoutTwins(only(known.identifiers, ...IDENTIFIER_FIELDS)),
        receipts: withoutTwins(only(known.receipts, ...RECEIPT_FIELDS)),
        counted: withoutTwins(only(known.counted, 'tenantId', 'countedId')),
      }
    }
    const record = (
      prospects: ProspectChange[],
      logs: NewLog[] = [],
      fields: Partial<ActivityChanges> = {},
    ) => activities.record(changesOf(prospects, logs, fields))
    const recorded = async (tenantId: string, fields: Partial<ProspectChange> = {}) => {
      const prospect = someProspect(tenantId, fields)
      if ((await record([prospect], [someLog(prospect)])) !== 'recorded') throw new Error('not recorded')
      return prospect
    }
    const merge = async (one: ProspectChange, into: ProspectChange) =>
      equal(await mergedBy(store, one, into), 'recorded')
    const erase = async (prospect: ProspectChange) => equal(await erasedBy(store, prospect), 'recorded')
    /** Blocks an identifier that leads to no one. */
    const block = async (identifier: Identifier) => {
      const { tenantId } = identifier
      const erasure = someErasure(tenantId)
      const changes = { tenantId, now: at(1), until: UNTIL, prospects: [], identifier, erasures: [erasure] }
      equal(await store.erasures.record(changes), 'recorded')
      return erasure
    }
    /** A prospect gives up what identifies it, as by a correction. */
    const release = async (prospect: ProspectChange) => {
      const before = foundProspect(prospect)
      const after = { ...before, email: null, externalId: null, updatedAt: at(1) }
      const released = identifiersOf(prospect)
      equal(await store.prospects.correct({ before, after, added: [], released }), 'recorded')
    }
    return { activities, elsewhere, keptOf, recall, record, recorded, merge, erase, block, release }
  },
  {
    'a recorded prospect is recalled by its id and by what identifies it': async (scene) => {
      const { recall, recorded } = scene
      const tenantId = await scene.newTenant()
      const fields = { email: 'ada@example.com', externalId: 'crm 1', name: 'Ada' }
      const { prospectId } = await recorded(tenantId, fields)
      const stored = { tenantId, prospectId, ...fields, erasedAt: null, mergedInto: null }
      const byId = await recall({ prospects: [{ tenantId, prospectId }] })
      same(byId, { prospects: [stored], identifiers: [], receipts: [], counted: [] })
      for (const identifier of [
        emailIdentifier(tenantId, 'ada@example.com'),
        externalIdentifier(tenantId, 'crm 1'),
      ]) {
        const { prospects, identifiers } = await recall({ identifiers: [identifier] })
        same(prospects, [stored])
        same(identifiers, [{ ...identifier, prospectId, blockedUntil: null, erasureId: null }])
      }
    },

    'no one is added for a tenant that is deleted or gone, nor is a blank filled': async (scene) => {
      const { record, recorded, keptOf, store, newTenant } = scene
      const deleted = await newTenant()
      const ada = await recorded(deleted)
      await store.tenants.setState(deleted, { suspendedAt: at(1), deletedAt: at(1) })
      for (const tenantId of [deleted, newId('tenant')]) {
        const late = someProspect(tenantId, { email: 'late@x' })
        equal(await record([late], [someLog(late, { createdProspect: true })]), 'overtaken')
      }
      equal(await record([{ ...ada, name: 'Ada' }], [someLog(ada)]), 'overtaken')
      const { prospects, logs } = await keptOf(deleted)
      same(prospects, [ada])
      equal(logs.length, 1)
    },

    'a prospect is recalled with the time of its last change': async ({
      activities,
      record,
      recorded,
      newTenant,
    }) => {
      const ada = await recorded(await newTenant(), { email: 'ada@x' })
      const wants = { prospects: [], identifiers: identifiersOf(ada), keys: [], tenantIds: [] }
      const timesNow = async () => {
        const byIdentifier = await activities.recall(wants)
        const byId = await activities.recall({ ...wants, prospects: [ada], identifiers: [] })
        return [...byIdentifier.prospects, ...byId.prospects].map(({ updatedAt }) => updatedAt)
      }
      same(await timesNow(), [at(0), at(0)])
      equal(await record([{ ...ada, name: 'Ada' }], [], { identifiers: [], assumed: [] }), 'recorded')
      same(await timesNow(), [at(1), at(1)])
    },

    'an email and an external id with one text are two identifiers': async ({
      recall,
      recorded,
      newTenant,
    }) => {
      const tenantId = await newTenant()
      const byEmail = await recorded(tenantId, { email: 'ada@x' })
      const byExternalId = await recorded(tenantId, { externalId: 'ada@x' })
      const wants = [externalIdentifier(tenantId, 'ada@x'), emailIdentifier(tenantId, 'ada@x')]
      const { identifiers } = await recall({ identifiers: wants })
      same(
        new Map(identifiers.map(({ kind, prospectId }) => [kind, prospectId])),
        new Map([
          ['email', byEmail.prospectId],
          ['externalId', byExternalId.prospectId],
        ]),
      )
    },

    'a blocked identifier is recalled with its erasure and leads to no one': async (scene) => {
      const { block, recall } = scene
      const identifier = emailIdentifier(await scene.newTenant(), 'gone@example.com')
      const { erasureId } = await block(identifier)
      const known = await recall({ identifiers: [identifier] })
      same(known.identifiers, [{ ...identifier, prospectId: null, blockedUntil: UNTIL, erasureId }])
      same(known.prospects, [])
    },

    'an erased prospect and a merged one are recalled as such by their ids': async (scene) => {
      const { erase, merge, recall, recorded } = scene
      const tenantId = await scene.newTenant()
      const fields = { email: 'ada@x', externalId: '1', name: 'Ada' }
      const erased = await recorded(tenantId, fields)
      const merged = await recorded(tenantId, { email: 'grace@x' })
      const survivor = await recorded(tenantId)
      await erase(erased)
      await merge(merged, survivor)
      const known = await recall({ prospects: [erased, merged] })
      const blank = { email: null, externalId: null, name: null }
      same(
        known.prospects.toSorted((a, b) => (a.prospectId < b.prospectId ? -1 : 1)),
        [
          { tenantId, prospectId: erased.prospectId, ...blank, erasedAt: at(1), mergedInto: null },
          {
            tenantId,
            prospectId: merged.prospectId,
            ...blank,
            email: 'grace@x',
            erasedAt: null,
            mergedInto: survivor.prospectId,
          },
        ],
      )
      const { prospects } = await recall({ identifiers: [emailIdentifier(tenantId, 'grace@x')] })
      same(only(prospects, 'prospectId'), [{ prospectId: survivor.prospectId }])
    },

    'for tenants whose logs are counted, it is recalled which id comes before new ones': async (scene) => {
      const { recall, recorded, store } = scene
      const counted = await addTenant(store)
      const { tenantId } = counted
      await store.counts.markRead(tenantId, at(0))
      const prospect = await recorded(tenantId, { email: 'ada@x' })
      const other = await recorded((await addTenant(store)).tenantId, { email: 'ada@x' })
      for (const countedId of ['', 'prospectlog_0']) {
        ok(await store.counts.close(tenantId, countedId, LONG_AGO))
        same((await recall({ tenantIds: [other.tenantId, tenantId] })).counted, [{ tenantId, countedId }])
        same((await recall({ prospects: [prospect] })).counted, [])
      }
    },

    'a recorded log is recalled as a receipt by its idempotency key, with every field': async (scene) => {
      const { recall, record } = scene
      const prospect = someProspect(await scene.newTenant())
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

    'a prospect without email or name is recalled with nulls': async ({ recall, recorded, newTenant }) => {
      const { tenantId, prospectId } = await recorded(await newTenant())
      const { prospects } = await recall({ prospects: [{ tenantId, prospectId }] })
      const blank = { email: null, externalId: null, name: null, erasedAt: null, mergedInto: null }
      same(prospects, [{ tenantId, prospectId, ...blank }])
    },

    'only what is wanted is recalled': async ({ recall, recorded, newTenant }) => {
      const tenantId = await newTenant()
      const wanted = await recorded(tenantId, { email: 'wanted@example.com' })
      await recorded(tenantId, { email: 'neighbour@example.com' })
      same(await recall({}), NOTHING)
      const known = await recall({ prospects: [wanted] })
      same(only(known.prospects, 'prospectId'), [{ prospectId: wanted.prospectId }])
      same(known.receipts, [])
      same(await recall({ prospects: [{ tenantId, prospectId: newId('prospect') }] }), NOTHING)
      same(await recall({ identifiers: [emailIdentifier(tenantId, 'nobody@example.com')] }), NOTHING)
    },

    'another tenant recalls neither a prospect nor an email, an external id or an idempotency key': async (
      scene,
    ) => {
      const { recall, record } = scene
      const prospect = someProspect(await scene.newTenant(), {
        email: 'ada@example.com',
        externalId: 'crm 1',
      })
      const log = someLog(prospect, keyFields('theirs'))
      await record([prospect], [log])
      const tenantId = await scene.newTenant()
      const wants = {
        prospects: [{ ...prospect, tenantId }],
        identifiers: [emailIdentifier(tenantId, 'ada@example.com'), externalIdentifier(tenantId, 'crm 1')],
        keys: [{ tenantId, source: log.source, idempotencyKey: 'theirs' }],
      }
      same(await recall(wants), NOTHING)
    },

    'another tenant that records under our ids changes nothing of ours': async (scene) => {
      const { keptOf, recall, record, recorded } = scene
      const ours = await recorded(await scene.newTenant())
      const before = await keptOf(ours.tenantId)
      const theirs = {
        ...ours,
        tenantId: await scene.newTenant(),
        email: 'theirs@example.com',
        name: 'Theirs',
      }
      equal(await record([theirs], [someLog(theirs)]), 'recorded')
      same(await keptOf(ours.tenantId), before)
      same(await recall({ identifiers: [emailIdentifier(ours.tenantId, 'theirs@example.com')] }), NOTHING)
    },

    'one call recalls for several tenants, and repeated wants do no harm': async ({
      recall,
      recorded,
      newTenant,
    }) => {
      const one = await recorded(await newTenant(), { email: 'same@example.com' })
      const two = await recorded(await newTenant(), { email: 'same@example.com' })
      const wants = [one, two, one].map(({ tenantId }) => emailIdentifier(tenantId, 'same@example.com'))
      const { prospects, identifiers } = await recall({ prospects: [two, one, two, two], identifiers: wants })
      const both = new Set([identity(one), identity(two)])
      same(new Set(prospects.map(identity)), both)
      same(new Set(identifiers.map(identity)), both)
      same([prospects.length, identifiers.length], [2, 2])
    },

    'an idempotency key belongs to its source and its tenant': async ({
      recall,
      record,
      recorded,
      newTenant,
    }) => {
      const ours = await recorded(await newTenant())
      const theirs = await recorded(await newTenant())
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

    'logs without an idempotency key never conflict': async ({ keptOf, record, recorded, newTenant }) => {
      const prospect = await recorded(await newTenant())
      equal(await record([], [someLog(prospect), someLog(prospect)]), 'recorded')
      equal(await record([], [someLog(prospect)]), 'recorded')
      equal((await keptOf(prospect.tenantId)).logs.length, 4)
    },

    'an identifier that was added meanwhile is overtaken, and nothing of the list is saved': async (
      scene,
    ) => {
      const { keptOf, recall, record, recorded } = scene
      for (const taken of [{ email: 'taken@x' }, { externalId: 'taken' }]) {
        const tenantId = await scene.newTenant()
        await recorded(tenantId, taken)
        const before = await keptOf(tenantId)
        const free = someProspect(tenantId, { email: 'free@x', externalId: 'free' })
        const late = someProspect(tenantId, taken)
        const logs = [someLog(free, keyFields('one')), someLog(late)]
        equal(await record([free, late], logs), 'overtaken')
        // Nor if it adds the identifier without a word about where it led.
        equal(await record([free, late], logs, { assumed: [] }), 'overtaken')
        same(await keptOf(tenantId), before)
        const left = await recall({
          identifiers: identifiersOf(free),
          keys: [{ tenantId, source: 'crm', idempotencyKey: 'one' }],
        })
        same(left, NOTHING)
      }
    },

    'an identifier is taken within its tenant only': async ({ keptOf, recorded, newTenant }) => {
      const fields = { email: 'both@example.com', externalId: '1' }
      await recorded(await newTenant(), fields)
      const other = await recorded(await newTenant(), fields)
      equal((await keptOf(other.tenantId)).prospects.length, 1)
    },

    'a list whose identifiers do not lead where it was decided is overtaken, and nothing of it is saved':
      async (scene) => {
        const { block, erase, keptOf, merge, recall, record, recorded, release } = scene
        for (const [identifierOf, fields] of [
          [emailIdentifier, { email: 'ada@x' }],
          [externalIdentifier, { externalId: 'ada@x' }],
        ] as const) {
          const tenantId = await scene.newTenant()
          const identifier = identifierOf(tenantId, 'ada@x')
          const bystander = await recorded(tenantId, { name: 'Bystander' })
          /** Tries to save a log of the bystander, and a new prospect, under these assumptions. */
          const tried = async (...assumed: readonly AssumedIdentifier[]) => {
            const before = await keptOf(tenantId)
            const added = someProspect(tenantId, { email: `${newId('prospect')}@x` })
            const outcome = await record([added], [someLog(bystander), someLog(added)], { assumed })
            if (outcome === 'overtaken') {
              same(await keptOf(tenantId), before)
              same(await recall({ identifiers: identifiersOf(added) }), NOTHING)
            }
            return outcome
          }
          const toNone = assumedTo(identifier, null)
          const elsewhere = assumedTo(identifierOf(tenantId, 'unknown@x'), null)
          equal(await tried(elsewhere, toNone), 'recorded')
          equal(await tried(elsewhere, assumedTo(identifier, bystander.prospectId)), 'overtaken')

          const ada = await recorded(tenantId, fields)
          const toAda = assumedTo(identifier, ada.prospectId)
          equal(await tried(elsewhere, toAda), 'recorded')
          equal(await tried(elsewhere, toNone), 'overtaken')
          equal(await tried(assumedTo(identifier, bystander.prospectId)), 'overtaken')

          await release(ada)
          equal(await tried(elsewhere, toAda), 'overtaken')
          equal(await tried(elsewhere, toNone), 'recorded')

          const two = await recorded(tenantId, fields)
          const survivor = await recorded(tenantId)
          await merge(two, survivor)
          equal(await tried(assumedTo(identifier, two.prospectId)), 'overtaken')
          equal(await tried(assumedTo(identifier, survivor.prospectId)), 'recorded')

          await erase({ ...survivor, updatedAt: at(1) })
          equal(await tried(toNone), 'overtaken')
          equal(await tried(assumedTo(identifier, survivor.prospectId)), 'overtaken')

          const gone = identifierOf(tenantId, 'gone@x')
          await block(gone)
          equal(await tried(elsewhere, assumedTo(gone, null)), 'overtaken')
          equal(await tried(elsewhere, assumedTo(gone, bystander.prospectId)), 'overtaken')
        }
      },

    'a blocked identifier cannot be added': async ({ block, keptOf, record, recorded, newTenant }) => {
      const tenantId = await newTenant()
      await block(emailIdentifier(tenantId, 'gone@x'))
      const blank = await recorded(tenantId)
      const before = await keptOf(tenantId)
      for (const prospect of [someProspect(tenantId), blank]) {
        const change = { ...prospect, email: 'gone@x' }
        equal(await record([change], [someLog(change)], { assumed: [] }), 'overtaken')
      }
      same(await keptOf(tenantId), before)
    },

    'an identifier that was released leads where it is added next': async (scene) => {
      const { recall, record, recorded, release } = scene
      const tenantId = await scene.newTenant()
      const first = await recorded(tenantId, { email: 'ada@x', externalId: '1' })
      await release(first)
      const second = await recorded(tenantId, { email: 'ada@x' })
      // The one that had it may get it back, too.
      const change = { ...first, email: null, externalId: '1' }
      equal(await record([change], [someLog(first)]), 'recorded')
      const { identifiers } = await recall({ identifiers: identifiersOf(first) })
      same(
        new Map(identifiers.map(({ kind, prospectId }) => [kind, prospectId])),
        new Map([
          ['email', second.prospectId],
          ['externalId', first.prospectId],
        ]),
      )
    },

    'a taken idempotency key is overtaken, and nothing of the list is saved': async (scene) => {
      const { keptOf, recall, record, recorded } = scene
      const prospect = await recorded(await scene.newTenant(), { name: null })
      await record([], [someLog(prospect, keyFields('taken'))])
      const before = await keptOf(prospect.tenantId)
      const other = someProspect(prospect.tenantId, { email: 'new@example.com' })
      const logs = [someLog(other, keyFields('free')), someLog(prospect, keyFields('taken'))]
      equal(await record([other, { ...prospect, name: 'Ada' }], logs), 'overtaken')
      same(await keptOf(prospect.tenantId), before)
      same(await recall({ identifiers: identifiersOf(other) }), NOTHING)
    },

    'a log of a prospect that is unknown, erased or merged is overtaken, and nothing of the list is saved':
      async (scene) => {
        const { erase, keptOf, merge, record, recorded } = scene
        const tenantId = await scene.newTenant()
        const living = await recorded(tenantId)
        const erased = await recorded(tenantId, { email: 'ada@x' })
        const merged = await recorded(tenantId)
        await erase(erased)
        await merge(merged, living)
        const before = await keptOf(tenantId)
        const added = someProspect(tenantId)
        for (const gone of [someProspect(tenantId), erased, merged]) {
          equal(await record([added], [someLog(added), someLog(living), someLog(gone)]), 'overtaken')
          const named = { ...gone, name: 'Late' }
          if (gone === erased || gone === merged)
            equal(await record([added, named], [someLog(added)]), 'overtaken')
        }
        same(await keptOf(tenantId), before)
        equal(await record([added], [someLog(added), someLog(living)]), 'recorded')
      },

    'a log at or before the id up to which its tenant is closed is overtaken': async (scene) => {
      const { keptOf, record, recorded, store } = scene
      const { tenantId } = await addTenant(store)
      await store.counts.markRead(tenantId, at(0))
      const prospect = await recorded(tenantId)
      const before = await keptOf(tenantId)
      const early = someLog(prospect)
      const last = someLog(prospect)
      const next = someLog(prospect)
      ok(await store.counts.close(tenantId, last.prospectLogId, LONG_AGO))
      equal(await record([], [next, early]), 'overtaken')
      equal(await record([], [last]), 'overtaken')
      same(await keptOf(tenantId), before)
      equal(await record([], [next]), 'recorded')
      // Other tenants are not closed.
      const other = await recorded(await scene.newTenant())
      equal(await record([], [someLog(other, { prospectLogId: early.prospectLogId })]), 'recorded')
    },

    'a change fills blanks with what identifies the prospect, and changes nothing that was set': async (
      scene,
    ) => {
      const { keptOf, recall, record, recorded } = scene
      const blank = await recorded(await scene.newTenant(), { name: 'Ada' })
      const filled = { email: 'ada@example.com', externalId: 'crm 1' }
      const change = { ...blank, ...filled, name: 'Other', createdAt: at(5_000) }
      equal(await record([change], [someLog(blank)]), 'recorded')
      const { prospects } = await keptOf(blank.tenantId)
      same(prospects, [{ ...blank, ...filled, updatedAt: at(1) }])
      const { identifiers } = await recall({ identifiers: identifiersOf(change) })
      same(identifiers.map(({ kind, prospectId }) => [kind, prospectId]).toSorted(), [
        ['email', blank.prospectId],
        ['externalId', blank.prospectId],
      ])
    },

    'filling a blank that another writer filled with another value is overtaken': async (scene) => {
      const { keptOf, recall, record, recorded } = scene
      for (const [first, second] of [
        [{ email: 'first@x' }, { email: 'second@x' }],
        [{ externalId: '1' }, { externalId: '2' }],
      ] as const) {
        const blank = await recorded(await scene.newTenant())
        equal(await record([{ ...blank, ...first }], [someLog(blank)]), 'recorded')
        const before = await keptOf(blank.tenantId)
        const change = { ...blank, ...second, name: 'Second' }
        equal(await record([change], [someLog(blank)]), 'overtaken')
        same(await keptOf(blank.tenantId), before)
        same(await recall({ identifiers: identifiersOf(change) }), NOTHING)
      }
    },

    'a blank filled with what leads to another prospect is overtaken': async (scene) => {
      const { keptOf, record, recorded } = scene
      for (const hers of [{ email: 'hers@example.com' }, { externalId: '1' }]) {
        const tenantId = await scene.newTenant()
        await recorded(tenantId, hers)
        const blank = await recorded(tenantId)
        const before = await keptOf(tenantId)
        equal(await record([{ ...blank, ...hers }], [someLog(blank)]), 'overtaken')
        same(await keptOf(tenantId), before)
      }
    },

    'a name fills a blank name, never another, and leaves the email alone': async (scene) => {
      const { keptOf, record, recorded } = scene
      const nameless = await recorded(await scene.newTenant(), { email: 'ada@example.com' })
      const nameOnly = { ...nameless, email: null, createdAt: at(9) }
      equal(await record([{ ...nameOnly, name: 'Ada' }], [someLog(nameless)]), 'recorded')
      equal(await record([{ ...nameOnly, name: 'Grace' }], [someLog(nameless)]), 'recorded')
      same((await keptOf(nameless.tenantId)).prospects, [{ ...nameless, name: 'Ada', updatedAt: at(2) }])
    },

    'a change may repeat the email that the prospect has': async ({
      keptOf,
      record,
      recorded,
      newTenant,
    }) => {
      const owner = await recorded(await newTenant(), { email: 'mine@example.com' })
      const assumed = identifiersOf(owner).map((own) => assumedTo(own, owner.prospectId))
      const change = { ...owner, name: 'Ada' }
      equal(await record([change], [someLog(owner)], { identifiers: [], assumed }), 'recorded')
      same((await keptOf(owner.tenantId)).prospects, [{ ...owner, name: 'Ada', updatedAt: at(1) }])
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
      const known = await recall({ identifiers: [emailIdentifier(tenantId, emails[1] ?? '')] })
      same(only(known.prospects, 'prospectId'), only(prospects.slice(1), 'prospectId'))
    },

    'a payload is kept byte for byte': async ({ keptOf, record, recorded, newTenant }) => {
      const prospect = await recorded(await newTenant())
      const logs = PAYLOADS.map((rawJson) => someLog(prospect, { payload: { rawJson } }))
      equal(await record([], logs), 'recorded')
      const { logs: rows } = await keptOf(prospect.tenantId)
      same(
        rows.slice(1).map(({ payload }) => payload.rawJson),
        PAYLOADS,
      )
    },

    'every text field keeps every text as it is': async ({ keptOf, recall, record, newTenant }) => {
      const tenantId = await newTenant()
      const prospects = AWKWARD_TEXTS.map((text) =>
        someProspect(tenantId, { email: text, externalId: text, name: text }),
      )
      const logs = AWKWARD_TEXTS.map((text, i) =>
        someLog(prospects[i] as ProspectChange, {
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
      same(
        known.prospects.map(({ email, externalId, name }) => [email, externalId, name]).sort(),
        AWKWARD_TEXTS.map((text) => [text, text, text]).sort(),
      )
    },

    'the longest source and idempotency key of the widest characters find their receipt': async (scene) => {
      const { recall, record, recorded } = scene
      const prospect = await recorded(await scene.newTenant())
      const source = Array.from({ length: 100 }, (_, i) => String.fromCodePoint(0x1f300 + i)).join('')
      const key = Array.from({ length: 255 }, (_, i) => String.fromCodePoint(0x20000 + i * 7)).join('')
      equal(await record([], [someLog(prospect, { source, ...keyFields(key) })]), 'recorded')
      const wants = [{ tenantId: prospect.tenantId, source, idempotencyKey: key }]
      equal((await recall({ keys: wants })).receipts.length, 1)
    },

    'two hundred prospects and logs are one list': async ({ keptOf, recall, record, newTenant }) => {
      const tenantId = await newTenant()
      const prospects = Array.from({ length: 200 }, (_, i) =>
        someProspect(tenantId, { email: `p${i}@x`, externalId: `${i}` }),
      )
      const logs = prospects.map((prospect) => someLog(prospect, keyFields(prospect.prospectId)))
      equal(await record(prospects, logs), 'recorded')
      same(await keptOf(tenantId), { prospects, logs })
      const known = await recall({ identifiers: prospects.flatMap(identifiersOf) })
      same([known.prospects.length, known.identifiers.length], [200, 400])
    },

    'of two writers that add one identifier or key at once, exactly one is recorded': async (scene) => {
      const { activities, elsewhere, keptOf, record } = scene
      for (let round = 0; round < ROUNDS; round++)
        for (const fields of [{ email: `${round}@x` }, { externalId: `${round}` }, {}]) {
          const tenantId = await scene.newTenant()
          const isByKey = Object.keys(fields).length === 0
          const listOf = () => {
            const prospect = someProspect(tenantId, fields)
            const log = someLog(prospect, isByKey ? keyFields('one') : {})
            return changesOf([prospect], [log])
          }
          const outcomes = await Promise.all(
            [activities, elsewhere.activities, activities, elsewhere.activities].map((on) =>
              on.record(listOf()),
            ),
          )
          same(outcomes.toSorted(), ['overtaken', 'overtaken', 'overtaken', 'recorded'])
          const { prospects, logs } = await keptOf(tenantId)
          same([prospects.length, logs.length], [1, 1])
          const late = someProspect(tenantId, fields)
          equal(await record([late], [someLog(late, isByKey ? keyFields('one') : {})]), 'overtaken')
        }
    },

    'of two writers that fill one blank with two emails at once, exactly one is recorded': async (scene) => {
      const { activities, elsewhere, keptOf, recall, recorded } = scene
      for (let round = 0; round < ROUNDS; round++) {
        const blank = await recorded(await scene.newTenant())
        const changes = ['one@x', 'two@x'].map((email) => ({ ...blank, email }))
        const outcomes = await Promise.all(
          changes.map((change, i) =>
            (i === 0 ? activities : elsewhere.activities).record(changesOf([change], [someLog(blank)])),
          ),
        )
        same(outcomes.toSorted(), ['overtaken', 'recorded'])
        const email = changes[outcomes.indexOf('recorded')]?.email
        const { prospects, logs } = await keptOf(blank.tenantId)
        same(only(prospects, 'email'), [{ email }])
        equal(logs.length, 2)
        const { identifiers } = await recall({ identifiers: changes.flatMap(identifiersOf) })
        same(only(identifiers, 'hash'), [{ hash: emailIdentifier('', String(email)).hash }])
      }
    },

    'an identifier that is added while its prospect is erased or merged leads to no one who is gone': async (
      scene,
    ) => {
      const { activities, elsewhere, keptOf, recall, recorded } = scene
      for (let round = 0; round < ROUNDS; round++)
        for (const isErased of [true, false]) {
          const tenantId = await scene.newTenant()
          const person = await recorded(tenantId)
          const survivor = await recorded(tenantId)
          const change = { ...person, email: 'ada@x', externalId: '1' }
          const filling = () => activities.record(changesOf([change], [someLog(person)]))
          const ending = () =>
            isErased ? erasedBy(elsewhere, person) : mergedBy(elsewhere, person, survivor)
          // Whichever is faster, the other finds the prospect changed.
          const [filled, ended] =
            round % 2 === 0
              ? await Promise.all([filling(), ending()])
              : (await Promise.all([ending(), filling()])).toReversed()
          same([filled, ended].toSorted(), ['overtaken', 'recorded'])
          const { identifiers } = await recall({ identifiers: identifiersOf(change) })
          same(
            new Set(identifiers.map(({ prospectId }) => prospectId)),
            new Set(filled === 'recorded' ? [person.prospectId] : []),
          )
          const { logs } = await keptOf(tenantId)
          equal(logs.length, filled === 'recorded' ? 3 : 2)
        }
    },

    'a caller that changes what was recalled changes nothing in the store': async (scene) => {
      const { activities, block, keptOf, recall, record, recorded } = scene
      const prospect = await recorded(await scene.newTenant(), { email: 'ada@example.com', name: 'Ada' })
      const { tenantId } = prospect
      const log = someLog(prospect, keyFields('one'))
      await record([], [log])
      const gone = externalIdentifier(tenantId, 'gone')
      await block(gone)
      const before = await keptOf(tenantId)
      const wants = {
        prospects: [prospect],
        identifiers: [emailIdentifier(tenantId, 'ada@example.com'), gone],
        keys: [{ ...log, idempotencyKey: 'one' }],
        tenantIds: [],
      }
      const expected = await recall(wants)
      scribbleOn(await activities.recall(wants))
      same(await recall(wants), expected)
      same(await keptOf(tenantId), before)
    },

    'a caller that changes what it recorded changes nothing in the store': async (scene) => {
      const { activities, keptOf, recall } = scene
      const prospect = someProspect(await scene.newTenant(), { email: 'ada@example.com', name: 'Ada' })
      const changes = changesOf([prospect], [someLog(prospect, keyFields('one'))])
      const { prospects, identifiers, logs } = structuredClone(changes)
      const { tenantId } = prospect
      equal(await activities.record(changes), 'recorded')
      scribbleOn(changes)
      same(await keptOf(tenantId), { prospects, logs })
      const known = await recall({ identifiers })
      same(only(known.identifiers, 'hash', 'prospectId'), only(identifiers, 'hash', 'prospectId'))
    },
  },
)

/** Erases a prospect that no other process has changed. */
const erasedBy = (store: Store, prospect: ProspectChange) => {
  const { tenantId, prospectId } = prospect
  const erasures = [someErasure(tenantId, { prospectId })]
  const prospects = [foundProspect(prospect)]
  return store.erasures.record({ tenantId, now: at(1), until: UNTIL, prospects, identifier: null, erasures })
}

/** Merges one prospect into another, which keeps its fields. */
const mergedBy = (store: Store, one: ProspectChange, into: ProspectChange) => {
  const { tenantId, prospectId } = one
  const before = foundProspect(one)
  const survivor = foundProspect(into)
  const merge = { tenantId, mergeId: newId('merge'), prospectId, intoId: into.prospectId, requestedAt: at(1) }
  return store.merges.record({
    merge,
    merged: { before, after: { ...before, name: null, mergedInto: into.prospectId, updatedAt: at(1) } },
    survivor: { before: survivor, after: { ...survivor, updatedAt: at(1) } },
  })
}

const NOTHING = { prospects: [], identifiers: [], receipts: [], counted: [] }
const PROSPECT_FIELDS = [
  'tenantId',
  'prospectId',
  'email',
  'externalId',
  'name',
  'erasedAt',
  'mergedInto',
] as const
const IDENTIFIER_FIELDS = ['tenantId', 'kind', 'hash', 'prospectId', 'blockedUntil', 'erasureId'] as const
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

const identity = ({ tenantId, prospectId }: { tenantId: string; prospectId: string | null }) =>
  `${tenantId} ${prospectId}`

/** A row that was wanted in two ways may come twice. */
const withoutTwins = <Row>(rows: readonly Row[]): Row[] => [
  ...new Map(rows.map((row) => [JSON.stringify(row), row])).values(),
]
