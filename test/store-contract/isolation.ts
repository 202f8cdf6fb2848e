import type { PageGroupsQuery } from 'prospect-pages/store'
import { ok, same } from './assertions.ts'
import { type Subject, section } from './contract.ts'
import { COUNTED_DAY, fillTenant, type Things } from './filled-tenant.ts'
import { namesOf } from './outbox.ts'
import { addTenant, identifiersOf, readEach } from './rows.ts'
import { verbs } from './verbs.ts'

const SLICE = { beforeId: null, limit: 100 }
const STATUSES: readonly PageGroupsQuery['status'][] = [null, 'active', 'archived', 'deleted']

/** All that there is of the tenant of these things. */
const allOf = async ({ store, kept }: Subject, things: Things) => {
  const { tenant, prospect, survivor, erasure, group, page, endpoint, disabled } = things
  const { tenantId } = tenant
  const identifiers = identifiersOf(prospect)
  const { prospects, logs } = await kept()
  const isOurs = (row: { readonly tenantId: string }) => row.tenantId === tenantId
  return {
    prospects: prospects.filter(isOurs),
    logs: logs.filter(isOurs),
    found: await readEach(store.prospects.find, [prospect, survivor]),
    known: await store.activities.recall({ tenantId, identifiers }),
    blocked: await store.erasures.blockedBy(tenantId, [erasure.erasureId]),
    placeholders: await store.placeholders.list(tenantId),
    conflicts: await store.prospectConflicts.list({ tenantId, before: null, max: 100 }),
    merges: await store.merges.completed({ tenantId, afterId: '', limit: 100 }),
    groups: await readEach(
      store.pageGroups.list,
      STATUSES.map((status) => ({ tenantId, status, ...SLICE })),
    ),
    pages: await store.pages.list({ tenantId, pageGroupId: group.pageGroupId, ...SLICE }),
    group: await store.pageGroups.find(group),
    page: await store.pages.find(page),
    versions: await store.versions.list({ ...page, ...SLICE }),
    erasures: await store.erasures.list({ tenantId, ...SLICE }),
    events: await store.events.list({ tenantId, afterSequence: 0, limit: 100 }),
    endpoints: await store.webhooks.list(tenantId),
    deliveries: await Promise.all(
      [endpoint, disabled].map((of) => store.webhooks.deliveries({ ...namesOf(of), status: null, ...SLICE })),
    ),
    keys: await store.apiKeys.list(tenantId),
    searched: await store.searchIndex.find(tenantId),
    counted: await store.counts.find(tenantId),
    prospectCounts: await store.prospectCounts.tally({ tenantId, afterId: '', toId: '~', day: COUNTED_DAY }),
    hooks: await store.hooks.list({ tenantId, ...SLICE }),
    brands: await store.tenants.brands(tenantId),
  }
}

export const isolation = section('isolation', () => ({}), {
  'another tenant finds nothing of ours with any verb, and changes nothing': async (subject) => {
    const { store } = subject
    const things = await fillTenant(store)
    const before = await allOf(subject, things)
    for (const verb of verbs)
      if ('toStrangers' in verb)
        same(
          { verb: verb.name, answer: await verb.ask(store, await addTenant(store), things) },
          { verb: verb.name, answer: verb.toStrangers },
        )
    same(await allOf(subject, things), before)
  },

  'the owner of these things is answered by each verb, or changes something': async (subject) => {
    const { store } = subject
    for (const verb of verbs) {
      const answered = await fillTenant(store)
      const answer = await verb.ask(store, answered.tenant, answered)
      // The others need no tenant, and may have nothing to do.
      if (!('toStrangers' in verb) || JSON.stringify(answer) !== JSON.stringify(verb.toStrangers)) continue
      const things = await fillTenant(store)
      const before = await allOf(subject, things)
      await verb.ask(store, things.tenant, things)
      ok(JSON.stringify(await allOf(subject, things)) !== JSON.stringify(before), verb.name)
    }
  },
})
