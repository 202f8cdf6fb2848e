import type { PageGroupsWant } from 'prospect-pages'
import { ok, same } from './assertions.ts'
import { type Subject, section } from './contract.ts'
import { namesOf } from './outbox.ts'
import { addTenant, type SomeTenant } from './rows.ts'
import { fillTenant, type Things, verbs } from './verbs.ts'

type Verb = (typeof verbs)[number]

const settingOf = (subject: Subject) => ({
  /** The answer to a question about new things, and what there was of these before it and after. */
  asking: async ({ ask }: Verb, as: (things: Things) => SomeTenant | Promise<SomeTenant>) => {
    const things = await fillTenant(subject.store)
    const asker = await as(things)
    const before = await allOf(subject, things)
    const answer = await ask(subject.store, asker, things)
    return { answer, before, after: await allOf(subject, things) }
  },
})
type Asking = { readonly store: Subject['store'] } & ReturnType<typeof settingOf>

const SLICE = { beforeId: null, limit: 100 }
const STATUSES: readonly PageGroupsWant['status'][] = [null, 'active', 'archived', 'deleted']

/** All that there is of the tenant of these things. */
const allOf = async ({ store, kept }: Subject, { tenant, group, page, endpoint, disabled }: Things) => {
  const { tenantId } = tenant
  const { prospects, logs } = await kept()
  const isOurs = (row: { readonly tenantId: string }) => row.tenantId === tenantId
  return {
    prospects: prospects.filter(isOurs),
    logs: logs.filter(isOurs),
    groups: await store.pageGroups.list(STATUSES.map((status) => ({ tenantId, status, ...SLICE }))),
    pages: await store.pages.list([{ tenantId, pageGroupId: group.pageGroupId, ...SLICE }]),
    group: await store.pageGroups.find(group),
    page: await store.pages.find([page]),
    versions: await store.versions.list([{ ...page, ...SLICE }]),
    erasures: await store.erasures.list([{ tenantId, ...SLICE }]),
    events: await store.events.list({ tenantId, afterSequence: 0, limit: 100 }),
    endpoints: await store.webhooks.list(tenantId),
    deliveries: await Promise.all(
      [endpoint, disabled].map((of) => store.webhooks.deliveries({ ...namesOf(of), status: null, ...SLICE })),
    ),
    keys: await store.apiKeys.list(tenantId),
    counted: await store.counts.find(tenantId),
    hooks: await store.hooks.list([{ tenantId, ...SLICE }]),
    brands: await store.tenants.brands(tenantId),
  }
}

const testOf = (verb: Verb): [title: string, body: (given: Asking) => Promise<void>] =>
  'toStrangers' in verb
    ? [
        `${verb.name}: another tenant finds nothing of ours and changes nothing`,
        async ({ asking, store }) => {
          const theirs = await asking(verb, () => addTenant(store))
          same(theirs.answer, verb.toStrangers)
          same(theirs.after, theirs.before)
          const ours = await asking(verb, ({ tenant }) => tenant)
          const isAnswered = JSON.stringify(ours.answer) !== JSON.stringify(verb.toStrangers)
          const isChanged = JSON.stringify(ours.after) !== JSON.stringify(ours.before)
          ok(isAnswered || isChanged, 'their owner does')
        },
      ]
    : [
        `${verb.name} needs no tenant: ${verb.noTenant}`,
        async ({ asking }) => void (await asking(verb, ({ tenant }) => tenant)),
      ]

export const isolation = section('isolation', settingOf, Object.fromEntries(verbs.map(testOf)))
