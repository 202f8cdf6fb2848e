import type { PageGroupsWant } from '../../src/core/ports/page-groups.ts'
import { addTenant, type SomeTenant } from '../support/rows.ts'
import { EVERY_STORE, opened, overStores, type TestedStore } from '../support/stores.ts'
import { fillTenant, type Things, verbs } from '../support/verbs.ts'

overStores(async (t, kind) => {
  const tested = await opened(t, kind)
  const { store } = tested
  type Verb = (typeof verbs)[number]

  /** The answer to a question about new things, and what there was of these before it and after. */
  const asking = async ({ ask }: Verb, as: (things: Things) => SomeTenant | Promise<SomeTenant>) => {
    const things = await fillTenant(store)
    const asker = await as(things)
    const before = await allOf(tested, things)
    const answer = await ask(store, asker, things)
    return { answer, before, after: await allOf(tested, things) }
  }

  for (const verb of verbs)
    if ('toStrangers' in verb)
      t.test(`${verb.name}: a stranger finds nothing of ours and changes nothing`, async (t) => {
        const theirs = await asking(verb, () => addTenant(store))
        t.strictSame(theirs.answer, verb.toStrangers)
        t.strictSame(theirs.after, theirs.before)
        const ours = await asking(verb, ({ tenant }) => tenant)
        const isAnswered = JSON.stringify(ours.answer) !== JSON.stringify(verb.toStrangers)
        const isChanged = JSON.stringify(ours.after) !== JSON.stringify(ours.before)
        t.ok(isAnswered || isChanged, 'their owner does')
      })
    else
      t.test(`${verb.name} names no tenant: ${verb.noTenant}`, async (t) => {
        await t.resolves(asking(verb, ({ tenant }) => tenant))
      })
}, EVERY_STORE)

const SLICE = { beforeId: null, limit: 100 }
const STATUSES: readonly PageGroupsWant['status'][] = [null, 'active', 'archived', 'deleted']

/** All that there is of the tenant of these things. */
const allOf = async ({ store, kept }: TestedStore, { tenant, group, page }: Things) => {
  const { tenantId } = tenant
  const { prospects, logs } = await kept()
  const isOurs = (row: { readonly tenantId: string }) => row.tenantId === tenantId
  return {
    prospects: prospects.filter(isOurs),
    logs: logs.filter(isOurs),
    groups: await store.pageGroups.list(STATUSES.map((status) => ({ tenantId, status, ...SLICE }))),
    pages: await store.pages.list([{ tenantId, pageGroupId: group.pageGroupId, ...SLICE }]),
    page: await store.pages.find([page]),
    keys: await store.apiKeys.list(tenantId),
    brands: await store.tenants.brands(tenantId),
  }
}
