// prospect-pages on the memory adapter, filled before it listens: the command line cannot fill what no process keeps.
// The same modules as the program, wired by the program's `compose`. Argument: a size as JSON, and a file for what the cases
// must know.
import { writeFileSync } from 'node:fs'
import { BODY_TEXT, emailOf, type Filled, type Size } from '../fill.ts'

const dist = (path: string) => new URL(`../../../dist/${path}`, import.meta.url).href
const { compose, createRuntime } = (await import(
  dist('compose/service.js')
)) as typeof import('../../../src/compose/service.ts')
const { readConfig } = (await import(
  dist('config/config.js')
)) as typeof import('../../../src/config/config.ts')
const { createLog } = (await import(dist('adapters/log.js'))) as typeof import('../../../src/adapters/log.ts')
const { createTenant } = (await import(
  dist('core/tenants/create-tenant.js')
)) as typeof import('../../../src/core/tenants/create-tenant.ts')
const { issueApiKey } = (await import(
  dist('core/tenants/issue-api-key.js')
)) as typeof import('../../../src/core/tenants/issue-api-key.ts')
const { createPageGroup } = (await import(
  dist('core/pages/create-page-group.js')
)) as typeof import('../../../src/core/pages/create-page-group.ts')
const { identifiersOf } = (await import(
  dist('core/prospects/identifiers.js')
)) as typeof import('../../../src/core/prospects/identifiers.ts')

const [sizeJson = '', filledPath = ''] = process.argv.slice(2)
const size: Size = JSON.parse(sizeJson)
const config = readConfig({ ...process.env, DATABASE_URL: 'memory:' })
const world = await createRuntime(config, createLog(config.logLevel))
const { store, newId } = world
const at = new Date().toISOString()
const raw = (rawJson: string) => ({ rawJson })

const { tenantId, brandId } = await createTenant(world)({ name: 'Bench' })
const { apiKey } = await issueApiKey(world)({
  tenantId,
  name: null,
  scopes: ['prospect_logs:write', 'page_groups:read', 'pages:read', 'pages:write'],
  lifeMs: null,
})

const groupIds: string[] = []
for (let number = 1; number <= size.groups; number++) {
  const { value: pageGroup } = await createPageGroup(world)({
    tenantId,
    name: `group-${number}`,
    title: `Offers ${number}`,
    pageContext: BODY_TEXT.pageContext,
    actions: raw(BODY_TEXT.actions),
    footerLinks: raw(BODY_TEXT.footerLinks),
    scripts: raw(BODY_TEXT.scripts),
    headerActionId: 'call',
  })
  const { pageGroupId } = pageGroup
  groupIds.push(pageGroupId)
}

const LIST_LENGTH = 500
const pageIds: string[] = []
const addPages = async (pageGroupId: string, count: number): Promise<void> => {
  for (let left = count; left > 0; left -= LIST_LENGTH) {
    const pages = Array.from({ length: Math.min(left, LIST_LENGTH) }, () => ({
      tenantId,
      pageGroupId,
      pageId: newId('page'),
      slug: null,
      customName: null,
      computedName: BODY_TEXT.computedName,
      supplementaryContext: BODY_TEXT.supplementaryContext,
      content: null,
      groupTitle: null,
      publish: true,
      publishAt: null,
      idempotencyKey: null,
      requestHash: null,
      versionId: newId('pageversion'),
      versionNumber: 1,
      createdAt: at,
      updatedAt: at,
    }))
    for (const page of pages) await store.pages.record(page)
    if (pageGroupId === groupIds.at(-1)) pageIds.push(...pages.map((page) => page.pageId))
    const claimed = await store.versions.claim({
      now: at,
      until: at,
      horizon: at,
      afterTenantId: '',
      max: LIST_LENGTH,
    })
    await store.versions.settle(
      tenantId,
      claimed.map(({ pageId, versionId, attempt }) => ({
        pageId,
        versionId,
        attempt,
        status: 'published',
        at,
        computedName: null,
      })),
    )
  }
}
for (const groupId of groupIds.slice(0, -1)) await addPages(groupId, size.pagesOfOthers)
await addPages(groupIds.at(-1) as string, size.bigGroupPages)

const emails = Array.from({ length: size.prospects }, (_, i) => emailOf(i + 1))
const LIVING = { erasedAt: null, mergedInto: null }
for (const email of emails) {
  const prospectId = newId('prospect')
  const normalized = identifiersOf({ email }).email
  const wanted = normalized === null ? [] : [{ tenantId, kind: 'email' as const, hash: normalized.hash }]
  await store.activities.record({
    lookup: { tenantId, identifiers: wanted },
    prospect: { tenantId, prospectId, email, externalId: null, name: null, updatedAt: at, ...LIVING },
    attributes: null,
    unchangedSince: null,
    identifiers: wanted.map((one) => ({ ...one, value: normalized?.value ?? '', prospectId })),
    assumed: wanted.map((one) => ({ ...one, prospectId: null })),
    log: null,
  })
}

const filled: Filled = {
  tenantId,
  brandId,
  apiKey,
  bigGroupId: groupIds.at(-1) as string,
  oneGroupId: groupIds.at(-2) as string,
  manyGroupIds: groupIds.slice(0, 100),
  pageIds: pageIds.filter((_, i) => i % 50 === 0),
  deepPageId: pageIds.at(-100_000) ?? (pageIds[0] as string),
  knownEmails: emails.filter((_, i) => i % 10 === 0),
}
writeFileSync(filledPath, JSON.stringify(filled))

const service = compose(config, world)
await service.start()
await service.listen()
process.once('SIGTERM', () => void service.close().then(() => process.exit(0)))
