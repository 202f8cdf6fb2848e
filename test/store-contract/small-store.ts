import type { NewPageGroupRow, SmallStore } from 'prospect-pages/store'
import type { NewActivity } from '#use-cases'
import { equal, like, ok, same } from './assertions.ts'
import type { Core, TestRunner } from './contract.ts'
import { at, newId, type SomeTenant, someGroup } from './rows.ts'
import { countedIds, stoppedClock } from './setting.ts'

/** A small store for one test: empty. */
export type OpenedSmallStore = {
  readonly store: SmallStore
  /** Puts a page group where the store finds it. */
  readonly addPageGroup: (group: NewPageGroupRow) => unknown
  /** Adds a tenant, if the store keeps tenants. */
  readonly addTenant?: ((tenant: SomeTenant) => Promise<unknown>) | undefined
  /** Called when the test ends. */
  readonly close?: (() => unknown) | undefined
}
/** The dependencies of the suite: a test runner, and a way to open a store. */
export type SmallStoreContractOptions = {
  readonly test: TestRunner
  /** Called once for each test. */
  readonly openStore: () => Promise<OpenedSmallStore> | OpenedSmallStore
}

/** Tests that need no more than the four required parts of a store. */
export const smallStore = (core: Core, { test, openStore }: SmallStoreContractOptions): void => {
  for (const [title, body] of Object.entries(TESTS))
    test(`small store: ${title}`, async () => {
      const opened = await openStore()
      try {
        await body(settingOf(core, opened))
      } finally {
        await opened.close?.()
      }
    })
}

type Setting = ReturnType<typeof settingOf>

const EMAIL = 'ada@example.com'

const settingOf = (core: Core, { store, addPageGroup, addTenant = async () => {} }: OpenedSmallStore) => {
  const clock = stoppedClock()
  // The verbs that a small store lacks are not called here.
  const deps = { store: store as never, clock, newId: countedIds() }
  const logOne = core.logProspectActivity(deps)
  const newTenant = async () => {
    const tenant = { tenantId: newId('tenant'), brandId: newId('brand') }
    await addTenant(tenant)
    return tenant
  }
  const newGroup = async (tenant: SomeTenant, fields: Partial<NewPageGroupRow> = {}) => {
    const group = someGroup(tenant, fields)
    await addPageGroup(group)
    return { tenantId: group.tenantId, pageGroupId: group.pageGroupId }
  }
  return {
    clock,
    newTenant,
    newGroup,
    logIn:
      ({ tenantId }: { readonly tenantId: string }) =>
      (fields: Partial<NewActivity> = {}) =>
        logOne({ tenantId, source: 'crm', type: 'signup', payload: { rawJson: '{}' }, ...fields }),
    logMany: core.logProspectActivities({ ...deps, logProspectActivity: logOne }),
    createPage: core.createPageWithVersion(deps),
    getPage: core.getPage(deps),
    listPages: core.listPages(deps),
    listPageGroups: core.listPageGroups(deps),
    publish: core.publishVersions({ ...deps, namer: null, claimMax: 10, leaseMs: 1_000 }),
    deletePage: core.deletePage(deps),
    listVersions: core.listVersions(deps),
    getVersion: core.getVersion(deps),
  }
}

const going = new AbortController().signal
const kindOf = (why: { readonly kind?: string }) => why.kind ?? why

const TESTS: Readonly<Record<string, (setting: Setting) => Promise<void>>> = {
  'a new person becomes a prospect, and is found by email and by external id': async ({
    newTenant,
    logIn,
  }) => {
    const log = logIn(await newTenant())
    const first = (await log({ email: EMAIL, externalId: '1' })).value
    equal(first.createdProspect, true)
    for (const fields of [{ email: ` ${EMAIL.toUpperCase()} ` }, { externalId: '1' }]) {
      const { prospectId, createdProspect } = (await log(fields)).value
      same({ prospectId, createdProspect }, { prospectId: first.prospectId, createdProspect: false })
    }
    ok((await log({ email: 'bob@example.com' })).value.prospectId !== first.prospectId)
  },

  'many requests at once for one new person create one prospect': async ({ newTenant, logIn }) => {
    const log = logIn(await newTenant())
    const logged = await Promise.all(Array.from({ length: 20 }, () => log({ email: EMAIL })))
    equal(new Set(logged.map(({ value }) => value.prospectId)).size, 1)
    equal(logged.filter(({ value }) => value.createdProspect).length, 1)
    equal(new Set(logged.map(({ value }) => value.prospectLogId)).size, 20)
  },

  'an identifier that comes later leads to the same person': async ({ newTenant, logMany }) => {
    const { tenantId } = await newTenant()
    const sent = [{ email: EMAIL }, { email: EMAIL, externalId: '1' }, { externalId: '1' }]
    const prepare = (fields: Partial<NewActivity>): NewActivity => ({
      tenantId,
      source: 'crm',
      type: 'signup',
      payload: { rawJson: '{}' },
      ...fields,
    })
    const answers = await logMany({ inputs: sent, prepare })
    equal(
      new Set(answers.map((answer) => (answer instanceof Error ? answer : answer.value.prospectId))).size,
      1,
    )
  },

  'a request that is repeated under its key gets its first answer': async ({ newTenant, logIn }) => {
    const log = logIn(await newTenant())
    const first = await log({ email: EMAIL, idempotencyKey: 'k' })
    same(await log({ email: EMAIL, idempotencyKey: 'k' }), { value: first.value, replayed: true })
    const other = log({ email: EMAIL, idempotencyKey: 'k', name: 'Ada' })
    equal(await other.catch(kindOf), 'idempotency_key_reused')
    equal((await log({ source: 'shop', email: EMAIL, idempotencyKey: 'k' })).replayed, false)
    const again = await Promise.all(Array.from({ length: 10 }, () => log({ idempotencyKey: 'j' })))
    equal(new Set(again.map(({ value }) => value.prospectLogId)).size, 1)
  },

  'tenants have nothing in common': async ({
    newTenant,
    logIn,
    newGroup,
    createPage,
    getPage,
    listPages,
    ...setting
  }) => {
    const ours = await newTenant()
    const theirs = await newTenant()
    const { prospectId } = (await logIn(ours)({ email: EMAIL, idempotencyKey: 'k' })).value
    const { value, replayed } = await logIn(theirs)({ email: EMAIL, idempotencyKey: 'k' })
    ok(value.prospectId !== prospectId && value.createdProspect && !replayed)
    equal(await logIn(theirs)({ prospectId }).catch(kindOf), 'prospect_not_found')
    const group = await newGroup(ours)
    const { value: page } = await createPage(group)
    const { tenantId } = theirs
    equal(await createPage({ ...group, tenantId }).catch(kindOf), 'page_group_not_found')
    equal(await listPages({ ...group, tenantId, limit: 10 }).catch(kindOf), 'page_group_not_found')
    equal(await getPage({ ...page, tenantId }).catch(kindOf), 'page_group_not_found')
    same((await setting.listPageGroups({ tenantId, limit: 10 })).value.items, [])
  },

  'tenants may name their page groups alike': async ({
    newTenant,
    newGroup,
    createPage,
    getPage,
    listPages,
  }) => {
    const pageGroupId = newId('pagegroup')
    const ours = await newGroup(await newTenant(), { pageGroupId })
    const theirs = await newGroup(await newTenant(), { pageGroupId })
    const { value: page } = await createPage({ ...ours, slug: 'sale' })
    equal((await getPage(page)).value.pageId, page.pageId)
    same((await listPages({ ...theirs, limit: 10 })).value.items, [])
    equal(await getPage({ ...page, tenantId: theirs.tenantId }).catch(kindOf), 'page_not_found')
    equal((await createPage({ ...theirs, slug: 'sale' })).replayed, false)
  },

  'page groups are listed newest first, in slices and by status': async ({
    newTenant,
    newGroup,
    listPageGroups,
  }) => {
    const tenant = await newTenant()
    const active = [await newGroup(tenant), await newGroup(tenant), await newGroup(tenant)]
    const archived = await newGroup(tenant, { status: 'archived' })
    const idsOf = (groups: readonly { readonly pageGroupId: string }[]) =>
      groups.map(({ pageGroupId }) => pageGroupId)
    const { tenantId } = tenant
    const first = (await listPageGroups({ tenantId, limit: 2, status: 'active' })).value
    const rest = await listPageGroups({
      tenantId,
      limit: 2,
      status: 'active',
      cursor: first.nextCursor ?? '',
    })
    same(idsOf([...first.items, ...rest.value.items]), idsOf(active).toReversed())
    same(
      idsOf((await listPageGroups({ tenantId, limit: 9, status: 'archived' })).value.items),
      idsOf([archived]),
    )
  },

  'a page is in processing, is published with its content, and is listed': async (setting) => {
    const { newTenant, newGroup, createPage, getPage, listPages, publish, clock } = setting
    const group = await newGroup(await newTenant())
    const { value: page } = await createPage({ ...group, content: { rawJson: '{"n":1.0}' } })
    like((await getPage(page)).value, { publishedVersion: null, latestVersion: { status: 'processing' } })
    const before = (await getPage(page)).revision
    clock.advance(1_000)
    await publish(going)
    const { value, revision } = await getPage(page)
    like(value, {
      publishedVersion: { versionNumber: 1, publishedAt: at(1_000), content: { rawJson: '{"n":1.0}' } },
      latestVersion: { status: 'published' },
    })
    ok(revision > before)
    const { value: second } = await createPage({ ...group, customName: 'Mine' })
    const { items } = (await listPages({ ...group, limit: 10 })).value
    same(
      items.map(({ pageId, effectiveName }) => ({ pageId, effectiveName })),
      [
        { pageId: second.pageId, effectiveName: 'Mine' },
        { pageId: page.pageId, effectiveName: 'Offers 1' },
      ],
    )
    const newest = (await listPages({ ...group, limit: 1 })).value
    const older = await listPages({ ...group, limit: 1, cursor: newest.nextCursor ?? '' })
    same(
      older.value.items.map(({ pageId }) => pageId),
      [page.pageId],
    )
  },

  'pages that are created at once have different numbers': async ({
    newTenant,
    newGroup,
    createPage,
    listPages,
  }) => {
    const group = await newGroup(await newTenant())
    await Promise.all(Array.from({ length: 10 }, () => createPage(group)))
    const { items } = (await listPages({ ...group, limit: 20 })).value
    equal(new Set(items.map(({ effectiveName }) => effectiveName)).size, 10)
  },

  'a page that is created again under its key is the first one': async ({
    newTenant,
    newGroup,
    createPage,
  }) => {
    const tenant = await newTenant()
    const keyed = { ...(await newGroup(tenant)), idempotencyKey: 'k' }
    const all = await Promise.all(Array.from({ length: 10 }, () => createPage(keyed)))
    equal(new Set(all.map(({ value }) => value.pageId)).size, 1)
    equal(all.filter(({ replayed }) => !replayed).length, 1)
    equal(await createPage({ ...keyed, customName: 'Mine' }).catch(kindOf), 'idempotency_key_reused')
  },

  'an archived group takes no pages, and a missing one is not found': async ({
    newTenant,
    newGroup,
    createPage,
  }) => {
    const tenant = await newTenant()
    const archived = await newGroup(tenant, { status: 'archived' })
    equal(await createPage(archived).catch(kindOf), 'page_group_not_active')
    const missing = { ...archived, pageGroupId: newId('pagegroup') }
    equal(await createPage(missing).catch(kindOf), 'page_group_not_found')
  },

  'a version is published once, even if two publishers claim at the same moment': async ({
    newTenant,
    newGroup,
    createPage,
    getPage,
    ...setting
  }) => {
    const group = await newGroup(await newTenant())
    const { value: page } = await createPage({ ...group, publish: false })
    const { publish, clock } = setting
    await Promise.all([publish(going), publish(going)])
    const { value, revision } = await getPage(page)
    like(value, { publishedVersion: null, latestVersion: { status: 'ready' } })
    clock.advance(10_000)
    await publish(going)
    equal((await getPage(page)).revision, revision)
  },

  'a slug leads to one page of its group, and is free again once that is deleted': async (setting) => {
    const { newTenant, newGroup, createPage, getPage, deletePage } = setting
    const tenant = await newTenant()
    const group = await newGroup(tenant)
    const other = await newGroup(tenant)
    const { value: page } = await createPage({ ...group, slug: 'sale' })
    const named = { ...group, pageId: 'slug:sale' }
    like((await getPage(named)).value, { pageId: page.pageId, slug: 'sale' })
    equal(await createPage({ ...group, slug: 'sale' }).catch(kindOf), 'slug_taken')
    equal(await getPage({ ...other, pageId: 'slug:sale' }).catch(kindOf), 'page_not_found')
    ok((await createPage({ ...other, slug: 'sale' })).value.pageId !== page.pageId)
    const atOnce = await Promise.all(
      Array.from({ length: 10 }, () => createPage({ ...group, slug: 'one' }).catch(kindOf)),
    )
    equal(atOnce.filter((answer) => answer === 'slug_taken').length, 9)
    await deletePage(page)
    equal(await getPage(named).catch(kindOf), 'page_not_found')
    equal((await createPage({ ...group, slug: 'sale' })).replayed, false)
  },

  'a request with a slug that is repeated under its key is replayed, even at once': async (setting) => {
    const { newTenant, newGroup, createPage } = setting
    const keyed = { ...(await newGroup(await newTenant())), slug: 'sale', idempotencyKey: 'k' }
    const all = await Promise.all(Array.from({ length: 10 }, () => createPage(keyed)))
    equal(new Set(all.map(({ value }) => value.pageId)).size, 1)
    equal(all.filter(({ replayed }) => !replayed).length, 1)
  },

  'the versions of a page are listed, and read with their content': async (setting) => {
    const { newTenant, newGroup, createPage, listVersions, getVersion } = setting
    const { value: page } = await createPage({
      ...(await newGroup(await newTenant())),
      content: { rawJson: '{"n":1.0}' },
    })
    const { items } = (await listVersions({ ...page, limit: 10 })).value
    like(items, [{ versionNumber: 1, status: 'processing' }])
    const versionId = items[0]?.versionId ?? ''
    like((await getVersion({ ...page, versionId })).value, { content: { rawJson: '{"n":1.0}' } })
    equal(await getVersion({ ...page, versionId: newId('pageversion') }).catch(kindOf), 'version_not_found')
  },

  'a page is deleted': async ({ newTenant, newGroup, createPage, getPage, listPages, deletePage }) => {
    const group = await newGroup(await newTenant())
    const { value: page } = await createPage(group)
    await deletePage(page)
    equal(await getPage(page).catch(kindOf), 'page_not_found')
    same((await listPages({ ...group, limit: 10 })).value.items, [])
  },
}
