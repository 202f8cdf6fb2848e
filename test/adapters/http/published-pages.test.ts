import t from 'tap'
import { ROUTES } from '../../../src/adapters/http/routes.ts'
import { READERS_SCOPE } from '../../../src/core/ports/api-keys.ts'
import { openScene } from '../../support/api.ts'

/**
 * A published page with a draft behind it, a page that was never published, and an archived and a deleted group with a
 * published page each.
 */
const openSite = async () => {
  const scene = await openScene()
  const { call, newGroup, publish } = scene
  const key = await scene.keyWith(READERS_SCOPE)
  const read = (path: string, headers = {}) => call(`GET ${path}`, { key, headers })

  const { pageGroupId } = await newGroup({ pageContext: 'Internal' })
  const archived = await newGroup()
  const deleted = await newGroup()
  const group = `/v0/page_groups/${pageGroupId}`
  const newPage = async (json: object, to = pageGroupId) =>
    `/v0/page_groups/${to}/pages/${(await scene.newPage(to, json)).pageId}`
  const page = await newPage({
    customName: 'Sale',
    slug: 'sale',
    supplementaryContext: 'Internal',
    content: { text: 'public' },
  })
  const draft = await newPage({ slug: 'draft', publish: false, content: { text: 'draft' } })
  const inArchived = await newPage({}, archived.pageGroupId)
  const inDeleted = await newPage({}, deleted.pageGroupId)
  await publish()
  const secondVersion = { content: { text: 'draft' }, publish: false, supplementaryContext: 'Internal' }
  await call(`POST ${page}/versions`, { json: secondVersion })
  await publish()
  const { versionId } = (await call(`GET ${page}`)).json['latestVersion'] as { versionId: string }
  await call(`POST ${page}/versions/${versionId}/publish`, { json: { publishAt: '2026-06-01T00:00:00Z' } })
  await call(`PATCH ${page}`, { json: { unpublishAt: '2026-07-01T00:00:00Z' } })
  await call(`PATCH /v0/page_groups/${archived.pageGroupId}`, { json: { status: 'archived' } })
  await call(`DELETE /v0/page_groups/${deleted.pageGroupId}`)
  const groups = { group, archived: `/v0/page_groups/${archived.pageGroupId}` }
  return { ...scene, ...groups, key, read, page, draft, inArchived, inDeleted, versionId, newPage }
}

t.test(
  '200: a website reads the published version of a page, and nothing of what is behind it',
  async (t) => {
    const { read, page, group } = await openSite()
    for (const path of [page, `${group}/pages/slug:sale`]) {
      const { status, json, body } = await read(path)
      t.equal(status, 200)
      t.match(json, {
        effectiveName: 'Sale',
        slug: 'sale',
        supplementaryContext: null,
        publishedVersion: { versionNumber: 1, content: { text: 'public' } },
        latestVersion: { versionNumber: 1, status: 'published', failureReason: null, publishAt: null },
        unpublishAt: null,
      })
      t.notMatch(body, /draft|Internal|2026-06|2026-07/)
    }
  },
)

t.test(
  '404: a page without a published version is missing for a website, as is its group if not active',
  async (t) => {
    const { read, group, draft, archived, inArchived, inDeleted } = await openSite()
    const missing = await read(`${group}/pages/page_00000000000000000000000000`)
    t.match(missing, { status: 404, json: { code: 'page_not_found' } })
    for (const path of [draft, `${group}/pages/slug:draft`]) {
      const answer = await read(path)
      const { instance, ...problem } = answer.json
      const { instance: _, ...expected } = missing.json
      t.strictSame([answer.status, problem], [404, expected], path)
    }
    for (const path of [archived, `${archived}/pages`, inArchived, inDeleted])
      t.match(await read(path), { status: 404, json: { code: 'page_group_not_found' } }, path)
  },
)

t.test('200: a website lists the active groups, and of a group the published pages', async (t) => {
  const { read, call, group, page } = await openSite()
  const expected = { pageContext: null, pagesCount: null, status: 'active', title: 'Offers' }
  t.match(await read(group), { status: 200, json: expected })
  for (const query of ['', '?status=active']) {
    const { items } = (await read(`/v0/page_groups${query}`)).json
    t.match(items, [expected], query)
  }
  for (const status of ['archived', 'deleted'])
    t.match((await read(`/v0/page_groups?status=${status}`)).json, { items: [], hasMore: false }, status)
  const { items } = (await read(`${group}/pages`)).json as { items: { pageId: string; updatedAt: string }[] }
  t.strictSame(
    items.map(({ pageId }) => `${group}/pages/${pageId}`),
    [page],
  )
  const { publishedVersion } = (await call(`GET ${page}`)).json as {
    publishedVersion: { publishedAt: string }
  }
  t.equal(items[0]?.updatedAt, publishedVersion.publishedAt)
})

t.test(
  '200: what is published is listed across groups with its content, the same for both keys',
  async (t) => {
    const { read, call, group, page, newPage, newGroup, publish, clock } = await openSite()
    const [pageId] = page.split('/').slice(-1)
    clock.advance(1_000)
    const other = await newPage({ content: { text: 'other' } }, (await newGroup()).pageGroupId)
    await publish()
    const listed = await read('/v0/published_pages')
    t.match(listed.json, {
      items: [
        { pageId: other.split('/').at(-1), publishedVersion: { content: { text: 'other' } } },
        {
          pageId,
          pageGroupId: group.split('/').at(-1),
          slug: 'sale',
          publishedVersion: { content: { text: 'public' } },
        },
      ],
      hasMore: false,
    })
    t.notMatch(listed.body, /draft|Internal|supplementaryContext|latestVersion/)
    t.equal((await call('GET /v0/published_pages')).body, listed.body)

    const publishedAt = '2026-01-01T00:00:00.500%2B00:00'
    const newer = await read(`/v0/published_pages?publishedAfter=${publishedAt}`)
    t.match(newer.json, { items: [{ pageId: other.split('/').at(-1) }], hasMore: false })
  },
)

t.test('200: a list of published pages goes on behind pages of groups that are not active', async (t) => {
  const { read, call, newPage, newGroup, publish } = await openSite()
  const hidden = (await newGroup()).pageGroupId
  for (let i = 0; i < 3; i++) await newPage({}, hidden)
  await publish()
  await call(`PATCH /v0/page_groups/${hidden}`, { json: { status: 'archived' } })
  let cursor = ''
  const counts: number[] = []
  for (;;) {
    const { json } = await read(`/v0/published_pages?limit=1${cursor}`)
    counts.push((json['items'] as object[]).length)
    if (!json['hasMore']) break
    cursor = `&cursor=${json['nextCursor']}`
  }
  t.equal(
    counts.reduce((sum, count) => sum + count, 0),
    1,
  )
})

t.test('400: a cursor belongs to its list with its filter; a time must be one', async (t) => {
  const { read, newPage, publish, group } = await openSite()
  await newPage({}, group.split('/').at(-1))
  await publish()
  const { nextCursor } = (await read('/v0/published_pages?limit=1')).json
  const after = 'publishedAfter=2025-01-01T00:00:00Z'
  t.match((await read(`/v0/published_pages?${after}&cursor=${nextCursor}`)).json, { code: 'invalid_cursor' })
  t.match((await read(`${group}/pages?cursor=${nextCursor}`)).json, { code: 'invalid_cursor' })
  t.match((await read('/v0/published_pages?publishedAfter=yesterday')).json, {
    errors: [{ parameter: 'publishedAfter' }],
  })
  t.match((await read('/v0/published_pages?pageGroupId=x')).json, { errors: [{ parameter: 'pageGroupId' }] })
})

t.test('304: the tags of a website change only if what it sees changes', async (t) => {
  const { read, call, page, group, publish, versionId, clock } = await openSite()
  const paths = [page, group, `${group}/pages`, '/v0/published_pages']
  const tags = async () => Promise.all(paths.map(async (path) => (await read(path)).headers['etag']))
  const before = await tags()
  for (const [i, path] of paths.entries())
    t.equal((await read(path, { 'if-none-match': before[i] })).status, 304, path)
  clock.advance(1_000)
  await call(`POST ${page}/versions`, { json: { publish: false, content: { text: 'another draft' } } })
  await publish()
  await call(`PATCH ${page}`, { json: { unpublishAt: null } })
  await call(`POST ${group}/pages`, { json: { publish: false } })
  await publish()
  t.strictSame(await tags(), before, 'drafts and schedules')

  const [ofPage, ofGroup, ofPages, ofList] = before
  await call(`PATCH ${page}`, { json: { customName: 'Summer sale' } })
  const renamed = await tags()
  t.equal(renamed[1], ofGroup)
  for (const [i, tag] of [ofPage, null, ofPages, ofList].entries()) t.not(renamed[i], tag, `${i}`)
  await call(`POST ${page}/versions/${versionId}/publish`)
  const published = await tags()
  for (const i of [0, 2, 3]) t.not(published[i], renamed[i], `${i}`)
})

t.test(
  '200: a key of several scopes sees all of what it may read, and of pages what is published',
  async (t) => {
    const { call, keyWith, group, page, archived } = await openSite()
    const key = await keyWith(READERS_SCOPE, 'page_groups:read', 'prospect_logs:write')
    t.match((await call(`GET ${group}`, { key })).json, { pageContext: 'Internal', pagesCount: 2 })
    t.equal((await call(`GET ${archived}`, { key })).status, 200)
    t.match((await call(`GET ${page}`, { key })).json, { supplementaryContext: null })
    t.equal((await call('POST /v0/prospect_logs', { key, json: { source: 'web', payload: {} } })).status, 201)
  },
)

t.test('two keys that read one page at the same moment each get their own answer', async (t) => {
  const { call, key, page } = await openSite()
  const [ours, theirs] = await Promise.all([call(`GET ${page}`), call(`GET ${page}`, { key })])
  t.match(ours?.json, { supplementaryContext: 'Internal', latestVersion: { versionNumber: 2 } })
  t.match(theirs?.json, { supplementaryContext: null, latestVersion: { versionNumber: 1 } })
  t.match(ours?.headers['etag'], /^"r/)
  t.match(theirs?.headers['etag'], /^W\//)
})

/** What a key with `pages:published` alone gets from each operation. */
const ANSWERS: Readonly<Record<string, number>> = {
  listPageGroups: 200,
  getPageGroup: 200,
  listPages: 200,
  getPage: 200,
  listPublishedPages: 200,
  getApiKey: 200,
}
t.test(
  'a key with pages:published alone is refused by every operation but those that show what is published',
  async (t) => {
    const { call, key, page, versionId } = await openSite()
    const [, , , pageGroupId = '', , pageId = ''] = page.split('/')
    const ids: Readonly<Record<string, string>> = {
      page_group_id: pageGroupId,
      page_id: pageId,
      version_id: versionId,
    }
    const answers: Record<string, number> = {}
    for (const { method, path, operationId, body } of ROUTES) {
      const target = path.replace(/\{(\w+)\}/g, (_, name) => ids[name] ?? 'x')
      const { status, json } = await call(`${method} ${target}`, { key, ...(body && { json: {} }) })
      answers[operationId] = status
      if (ANSWERS[operationId] === undefined) t.match(json, { code: 'insufficient_scope' }, operationId)
    }
    const expected = Object.fromEntries(
      ROUTES.map(({ operationId }) => [operationId, ANSWERS[operationId] ?? 403]),
    )
    t.strictSame(answers, expected)
  },
)
