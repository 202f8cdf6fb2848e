import type { DomainFailure, Placeholder } from 'prospect-pages/store'
import type { NewActivity } from '#use-cases'
import { equal, like, ok, same } from './assertions.ts'
import { untilCompleted } from './completed.ts'
import { section } from './contract.ts'
import { twoProcesses } from './processes.ts'
import {
  addTenant,
  at,
  changeOf,
  fillOf,
  identifiersNow,
  newId,
  sha256,
  someLog,
  someProspect,
} from './rows.ts'

const SHOP = 'noreply@shop.example'
const TILL = 'till-7@pos.example'
const ADA = 'ada@example.com'
const NEVER_ABORTED = new AbortController().signal

type Sent = { readonly prospectId?: string; readonly externalId?: string; readonly email?: string }

export const placeholders = section(
  'placeholders',
  async (subject) => {
    const { core, store } = subject
    const { processes, clock } = await twoProcesses(subject)
    const [here, there] = processes
    const { tenantId } = await addTenant(store)
    const activityOf = (fields: Sent): NewActivity => ({
      tenantId,
      source: 'crm',
      type: 'webhook',
      payload: { rawJson: '{}' },
      ...fields,
    })
    const answerOf = <Answer>(answering: Promise<Answer>) =>
      answering.catch((failure: DomainFailure) => {
        if (!(failure instanceof core.DomainFailure)) throw failure
        return failure.kind
      })
    const log = async (fields: Sent, process = here) =>
      (await process.logProspectActivity(activityOf(fields))).value.prospectId
    const change = (isRemoved: boolean, values: readonly string[], of = tenantId) =>
      core.updatePlaceholders({ store: there.store, clock })(of, { values, isRemoved })
    return {
      core,
      store,
      here,
      there,
      tenantId,
      answerOf,
      log,
      isNoOne: async (email: string) => {
        const first = await log({ email })
        return (await log({ email })) !== first
      },
      list: (...values: string[]) => change(false, values),
      unlist: (...values: string[]) => change(true, values),
      listFor: (of: string, ...values: string[]) => change(false, values, of),
      create: (fields: Sent) => answerOf(core.createProspect(here)({ tenantId, ...fields })),
      correct: (prospectId: string, fields: object) =>
        answerOf(core.updateProspect(here)({ tenantId, prospectId, ...fields })),
      erase: (person: Sent) => answerOf(core.requestErasure(here)({ tenantId, blockDays: 1, ...person })),
      eraseAll: () => {
        const step = core.eraseProspects(here)
        return untilCompleted(store.erasures, clock, async () => {
          while (await step(NEVER_ABORTED));
        })
      },
    }
  },
  {
    'an email that its tenant has listed identifies no one, and so does each email of a domain': async (
      scene,
    ) => {
      const { log, list, create } = scene
      like(await list(` ${SHOP.toUpperCase()} `, '@POS.example'), {
        identifiesNobody: ['@pos.example', SHOP],
        joined: [],
      })
      const ids = await Promise.all([SHOP, SHOP, TILL, TILL, `<${SHOP}>`].map((email) => log({ email })))
      equal(new Set(ids).size, 5)
      for (const email of [SHOP, TILL]) equal(await create({ email }), 'invalid_request')
      const subdomain = await log({ email: 'x@eu.pos.example' })
      equal(await log({ email: 'x@eu.pos.example' }), subdomain, 'another domain')
    },

    'beside an external id or a prospect id a listed email counts for nothing': async (scene) => {
      const { log, list, create, store, tenantId } = scene
      await list(SHOP, '@pos.example')
      const bob = await log({ externalId: '1', email: SHOP })
      equal(await log({ externalId: '1', email: TILL }), bob)
      equal(await log({ prospectId: bob, email: SHOP }), bob)
      const eve = await log({ externalId: '2', email: SHOP })
      ok(eve !== bob)
      like(await create({ externalId: '3', email: TILL }), { value: { email: null, externalId: '3' } })
      like(await store.prospects.find({ tenantId, prospectId: bob }), { email: null })
      equal(await log({ externalId: '1', email: ADA }), bob, 'its blank is filled by an address')
      equal(await log({ email: ADA }), bob)
    },

    'a person who was joined before stays, is named, and is joined no longer': async (scene) => {
      const { log, list, here, there, store, tenantId } = scene
      const shop = await log({ email: SHOP })
      const till = await log({ email: TILL })
      const other = await log({ email: 'till-8@pos.example', externalId: '8' })
      const ada = await log({ email: ADA })
      for (const process of [here, there]) equal(await log({ email: SHOP }, process), shop, 'remembered')
      same((await list(SHOP)).joined, [shop])
      same([...((await list('@pos.example')).joined ?? [])].sort(), [till, other].sort())
      for (const process of [here, there])
        for (const email of [SHOP, TILL])
          ok(![shop, till].includes(await log({ email }, process)), 'even if a process remembers')
      equal(await log({ externalId: '8', email: TILL }), other)
      equal(await log({ email: ADA }), ada)
      like(await store.prospects.find({ tenantId, prospectId: shop }), { email: SHOP, erasedAt: null })
    },

    'a value that is removed identifies people again': async (scene) => {
      const { log, list, unlist, answerOf } = scene
      await list(SHOP, '@pos.example')
      const tenant = await unlist('@pos.example', SHOP)
      like(tenant, { identifiesNobody: [] })
      ok(!('joined' in tenant))
      for (const email of [SHOP, TILL]) equal(await log({ email }), await log({ email }))
      equal(await answerOf(unlist(SHOP)), 'invalid_request', 'it is not listed')
      await list(SHOP)
      equal(await answerOf(unlist(SHOP, '@pos.example')), 'invalid_request')
      like(await list(), { identifiesNobody: [SHOP] })
    },

    'no prospect is corrected to a listed email, and no erasure names one': async (scene) => {
      const { log, list, correct, erase } = scene
      await list(SHOP, '@pos.example')
      const ada = await log({ email: ADA })
      for (const email of [SHOP, TILL]) {
        equal(await correct(ada, { email }), 'invalid_request')
        equal(await erase({ email }), 'invalid_request')
      }
      equal(await log({ email: ADA }), ada)
    },

    'neither an erasure, nor a merge, nor the end of a block removes or blocks a listed email': async (
      scene,
    ) => {
      const { core, log, isNoOne, list, correct, erase, eraseAll, store, tenantId, here } = scene
      const shop = await log({ email: SHOP })
      const former = await log({ email: TILL })
      await correct(former, { email: 'new@example.com' })
      await list(SHOP, TILL)
      const ada = await log({ email: ADA })
      await core.mergeProspect(here)({ tenantId, prospectId: ada, into: shop })
      for (const prospectId of [shop, former]) ok(typeof (await erase({ prospectId })) === 'object')
      await eraseAll()
      await store.erasures.expire({ tenantId, now: at(1e10), beforeLogId: null, max: 100 })
      same((await store.placeholders.list(tenantId)).map(({ value }) => value).sort(), [SHOP, TILL])
      for (const email of [SHOP, TILL]) ok(await isNoOne(email))
    },

    'an email that is blocked is listed once its block has ended': async (scene) => {
      const { log, isNoOne, list, erase, eraseAll, answerOf, store, tenantId } = scene
      await log({ email: SHOP })
      const erased = await erase({ email: SHOP })
      equal(await answerOf(list(SHOP)), 'invalid_request')
      same(await store.placeholders.list(tenantId), [])
      await eraseAll()
      if (typeof erased === 'object')
        await store.erasures.unblock({ tenantId, erasureId: erased.value.erasureId }, at(0))
      like(await list(SHOP), { identifiesNobody: [SHOP], joined: [] })
      ok(await isNoOne(SHOP))
    },

    'a value is refused that is no address, that identifies no one anyway, or of an unknown tenant': async (
      scene,
    ) => {
      const { list, listFor, answerOf, store, tenantId } = scene
      for (const value of ['', '@', 'shop', '@pos example', 'a@b@c', 'none@none.com', '@x.invalid'])
        equal(await answerOf(list(value)), 'invalid_request', value)
      equal(await answerOf(listFor(newId('tenant'), SHOP)), 'not_found')
      same(await store.placeholders.list(tenantId), [])
    },

    'a tenant lists at most a thousand values, and no other has them': async (scene) => {
      const { list, answerOf, store, log, tenantId } = scene
      const values = Array.from({ length: 999 }, (_, i) => `x${i}@shop.example`)
      await list(...values)
      await list('@pos.example', values[0] ?? '')
      equal(await answerOf(list(SHOP)), 'invalid_request')
      equal((await store.placeholders.list(tenantId)).length, 1_000)
      equal(await log({ email: SHOP }), await log({ email: SHOP }))
      const other = await addTenant(store)
      same(await store.placeholders.list(other.tenantId), [])
      const identifiers = [{ tenantId: other.tenantId, kind: 'email' as const, hash: sha256(TILL) }]
      same((await store.activities.recall({ tenantId: other.tenantId, identifiers })).identifiers, [])
    },

    'an entry is not added for a person who was changed, or led to somebody else, in the meantime': async (
      scene,
    ) => {
      const { log, store, tenantId } = scene
      const prospectId = await log({ email: SHOP })
      const { updatedAt = '' } = (await store.prospects.find({ tenantId, prospectId })) ?? {}
      const entry: Placeholder = { tenantId, kind: 'email', hash: sha256(SHOP), value: SHOP }
      const changesAt = at(60_000)
      for (const joined of [
        null,
        { prospectId, updatedAt: at(1e6), changesAt },
        { prospectId: newId('prospect'), updatedAt, changesAt },
      ])
        equal(await store.placeholders.add(entry, joined, at(0)), 'overtaken')
      equal(await log({ email: SHOP }), prospectId)
      equal(await store.placeholders.add(entry, { prospectId, updatedAt, changesAt }, at(0)), 'recorded')
      like(await store.prospects.find({ tenantId, prospectId }), { updatedAt: changesAt, email: SHOP })
      const stranger = { ...entry, tenantId: newId('tenant') }
      equal(await store.placeholders.add(stranger, null, at(0)), 'overtaken', 'an unknown tenant')
    },

    'no one gains an email whose domain was listed in the meantime': async ({ list, store, tenantId }) => {
      const externalId = newId('prospect')
      const known = someProspect(tenantId, { externalId })
      equal(await store.activities.record(changeOf(known)), 'recorded')
      const logged = someProspect(tenantId, { email: 'till-1@pos.example' })
      const created = someProspect(tenantId, { email: 'till-2@pos.example' })
      const changes = [
        changeOf(logged, someLog(logged)),
        changeOf(created),
        fillOf(known, { email: 'till-3@pos.example' }, someLog(known)),
      ]
      const seenUnlisted = changes.map((change) => ({
        ...change,
        assumed: change.assumed.map((identifier) => ({ ...identifier, domain: 'pos.example' })),
      }))
      await list('@pos.example')
      for (const change of seenUnlisted) equal(await store.activities.record(change), 'overtaken')
      same(
        await identifiersNow(
          store.activities,
          changes.flatMap(({ identifiers }) => identifiers),
        ),
        [],
      )
    },

    'the emails of a domain are read in slices': async (scene) => {
      const { log, store, tenantId } = scene
      const people = await Promise.all([0, 1, 2, 3, 4].map((i) => log({ email: `t${i}@pos.example` })))
      await log({ email: ADA })
      const released: string[] = []
      let afterHash: string | null = ''
      while (afterHash !== null) {
        const slice = { tenantId, domain: 'pos.example', afterHash, max: 2, now: at(1e6) }
        const { prospectIds, lastHash } = await store.placeholders.releaseSome(slice)
        released.push(...prospectIds)
        afterHash = lastHash
      }
      same(released.toSorted(), people.toSorted())
      const hashes = await Promise.all(
        people.map((_, i) =>
          store.activities.recall({
            tenantId,
            identifiers: [{ tenantId, kind: 'email', hash: sha256(`t${i}@pos.example`) }],
          }),
        ),
      )
      same(
        hashes.flatMap(({ identifiers }) => identifiers),
        [],
      )
    },
  },
)
