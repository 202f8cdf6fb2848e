import assert from 'node:assert/strict'
import fc from 'fast-check'
import { opened, overStores } from '../support/stores.ts'
import { always, openFuzz } from './scene.ts'
import { method, pathOf, query, targetOf } from './targets.ts'

overStores(async (t, kind) => {
  const world = await openFuzz(await opened(t, kind))
  const { pageGroupId } = await world.newGroup()
  const pages = `/v0/page_groups/${pageGroupId}/pages`
  const pageId = String((await world.ask('POST', pages)).json['pageId'])
  const { latestVersion } = (await world.ask('GET', `${pages}/${pageId}`)).json as {
    latestVersion: { versionId: string }
  }
  const { versionId } = latestVersion

  /** The code that a target must be answered with; null where it is answered at all. */
  const expectedOf = (method: string, target: string): string | null => {
    const [, path = '', query = ''] = /^([^?#]*)\??([^#]*)/.exec(target.replace(ORIGIN, '')) ?? []
    const found = PATHS.find(([shape]) => shape.test(path))
    if (found === undefined) return 'not_found'
    const [shape, methods] = found
    if (method === 'OPTIONS') return null
    if (!methods.includes(method)) return 'method_not_allowed'
    const ids = (shape.exec(path) ?? []).slice(1).map(decoded)
    const needsBody = method === 'PATCH' || (method === 'POST' && !TAKES_NO_BODY.test(path))
    if (needsBody) return 'invalid_json'
    if (path.startsWith('/v0/') && /[^&]/.test(query)) return 'invalid_request'
    if (path.startsWith('/v0/prospect_logs/')) return 'prospect_log_not_found'
    if (path.startsWith('/v0/prospects/')) return 'prospect_not_found'
    if (path.startsWith('/v0/erasures/')) return 'erasure_not_found'
    if (path.startsWith('/v0/events/')) return 'event_not_found'
    if (path.startsWith('/v0/webhook_endpoints/')) return 'webhook_endpoint_not_found'
    if (path.startsWith('/problems/')) return ids[0] === 'invalid_json' ? null : 'not_found'
    if (ids.length > 0 && ids[0] !== pageGroupId) return 'page_group_not_found'
    if (ids.length > 1 && ids[1] !== pageId) return 'page_not_found'
    const isOfRevision =
      method === 'DELETE' || /\/(un)?publish$/.test(path) || /^POST .*\/versions$/.test(`${method} ${path}`)
    if (isOfRevision) return 'precondition_failed'
    if (ids.length > 2 && ids[2] !== versionId) return 'version_not_found'
    return null
  }

  t.test('a target is answered as what it names, or as nothing', async (t) => {
    const answered = new Map<string, number>()
    const version = `${pages}/${pageId}/versions/${versionId}`
    const known = [`/v0/page_groups/${pageGroupId}`, `${pages}/${pageId}`, `${pages}/${pageId}/unpublish`]
    const unknown = `${pages}/page_00000000000000000000000000`
    const path = fc.oneof(
      { weight: 6, arbitrary: pathOf([pageGroupId, pageId, versionId]) },
      { weight: 1, arbitrary: fc.constantFrom(...known, unknown, version, `${version}/publish`) },
    )
    const target = targetOf(path)
    const property = fc.asyncProperty(method, target, async (method, target) => {
      const { status, code, headers } = await world.ask(method, target, { headers: OF_NO_REVISION })
      const expected = expectedOf(method, target)
      assert.equal(status < 300, expected === null, `${status}, not ${expected}`)
      if (method === 'HEAD') assert.equal(code, null)
      else assert.equal(code, expected)
      assert.equal(headers['allow'] !== undefined, status === 405 || (method === 'OPTIONS' && status === 204))
      answered.set(String(expected), (answered.get(String(expected)) ?? 0) + 1)
      await world.stillFine()
    })
    await always(t, property, 500)
    t.comment(JSON.stringify(Object.fromEntries(answered)))
    const codes = [
      'null',
      'not_found',
      'method_not_allowed',
      'page_group_not_found',
      'page_not_found',
      'precondition_failed',
    ]
    for (const code of codes) t.ok(answered.has(code), `${code} came about`)
  })

  t.test('a query is taken as specified, or each fault of it is named', async (t) => {
    const counts = { taken: 0, refused: 0 }
    const property = fc.asyncProperty(query, async (query) => {
      const { code, faults, json } = await world.ask('GET', `/v0/page_groups?${query}`)
      const { given, wrong } = readQuery(query)
      if (wrong.length === 0 && given.has('cursor')) {
        assert.equal(code, 'invalid_cursor')
        assert.deepEqual(faults, ['cursor'])
      } else if (wrong.length === 0) {
        assert.equal(code, null)
        assert.equal(json['limit'], Number(given.get('limit') ?? 20))
        counts.taken++
      } else {
        assert.equal(code, 'invalid_request')
        assert.deepEqual(faults, wrong)
        counts.refused++
      }
      // The other list has no status.
      const ofPages = (await world.ask('GET', `${pages}?${query}`)).code
      if (wrong.length > 0 || given.has('status')) assert.equal(ofPages, 'invalid_request')
      else assert.equal(ofPages, given.has('cursor') ? 'invalid_cursor' : null)
      await world.stillFine()
    })
    await always(t, property, 400)
    t.comment(JSON.stringify(counts))
    t.ok(counts.taken > 50 && counts.refused > 50, 'all of it came about')
  })
})

const ORIGIN = /^[a-z]+:\/\/[^/?]*/i

/** Nothing has this one, so that nothing is deleted or unpublished. */
const OF_NO_REVISION = { 'if-match': '"r0"' }

const TAKES_NO_BODY = /^\/v0\/(page_groups\/|erasures\/|webhook_endpoints\/.*\/(test|rotate_secret|retry)$)/s

const PATHS: readonly (readonly [shape: RegExp, methods: readonly string[]])[] = [
  [/^\/v0\/prospect_logs$/, ['GET', 'HEAD', 'POST']],
  [/^\/v0\/prospect_logs\/batch$/, ['POST']],
  [/^\/v0\/prospect_logs\/([^/]+)$/, ['GET', 'HEAD']],
  [/^\/v0\/prospects$/, ['GET', 'HEAD', 'POST']],
  [/^\/v0\/prospects\/batch$/, ['POST']],
  [/^\/v0\/prospects\/([^/]+)$/, ['GET', 'HEAD', 'PATCH']],
  [/^\/v0\/prospects\/([^/]+)\/prospect_logs$/, ['GET', 'HEAD']],
  [/^\/v0\/prospects\/([^/]+)\/export$/, ['GET', 'HEAD']],
  [/^\/v0\/prospects\/([^/]+)\/merge$/, ['POST']],
  [/^\/v0\/erasures$/, ['GET', 'HEAD', 'POST']],
  [/^\/v0\/erasures\/([^/]+)$/, ['GET', 'HEAD']],
  [/^\/v0\/erasures\/([^/]+)\/unblock$/, ['POST']],
  [/^\/v0\/events$/, ['GET', 'HEAD']],
  [/^\/v0\/events\/([^/]+)$/, ['GET', 'HEAD']],
  [/^\/v0\/webhook_endpoints$/, ['GET', 'HEAD', 'POST']],
  [/^\/v0\/webhook_endpoints\/([^/]+)$/, ['GET', 'HEAD', 'PATCH', 'DELETE']],
  [/^\/v0\/webhook_endpoints\/([^/]+)\/(?:test|rotate_secret|replay)$/, ['POST']],
  [/^\/v0\/webhook_endpoints\/([^/]+)\/deliveries$/, ['GET', 'HEAD']],
  [/^\/v0\/webhook_endpoints\/([^/]+)\/deliveries\/([^/]+)$/, ['GET', 'HEAD']],
  [/^\/v0\/webhook_endpoints\/([^/]+)\/deliveries\/([^/]+)\/retry$/, ['POST']],
  [/^\/v0\/prospect_conflicts$/, ['GET', 'HEAD']],
  [/^\/v0\/published_pages$/, ['GET', 'HEAD']],
  [/^\/v0\/page_groups$/, ['GET', 'HEAD', 'POST']],
  [/^\/v0\/page_groups\/([^/]+)$/, ['GET', 'HEAD', 'PATCH', 'DELETE']],
  [/^\/v0\/page_groups\/([^/]+)\/pages$/, ['GET', 'HEAD', 'POST']],
  [/^\/v0\/page_groups\/([^/]+)\/pages\/([^/]+)$/, ['GET', 'HEAD', 'PATCH', 'DELETE']],
  [/^\/v0\/page_groups\/([^/]+)\/pages\/([^/]+)\/unpublish$/, ['POST']],
  [/^\/v0\/page_groups\/([^/]+)\/pages\/([^/]+)\/versions$/, ['GET', 'HEAD', 'POST']],
  [/^\/v0\/page_groups\/([^/]+)\/pages\/([^/]+)\/versions\/([^/]+)$/, ['GET', 'HEAD']],
  [/^\/v0\/page_groups\/([^/]+)\/pages\/([^/]+)\/versions\/([^/]+)\/publish$/, ['POST']],
  [/^\/(?:healthz|readyz|openapi\.json)?$/, ['GET', 'HEAD']],
  [/^\/problems\/([^/]+)$/, ['GET', 'HEAD']],
]

const decoded = (text: string): string | null => {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

/** The parameters of the list of groups, read by their description in decisions; `cursor` is looked at elsewhere. */
const readQuery = (query: string) => {
  // A fragment is not part of a target.
  const pairs = (query.split('#')[0] ?? '').split('&').map((pair) => {
    const mark = pair.indexOf('=')
    const [name, value] = mark < 0 ? [pair, ''] : [pair.slice(0, mark), pair.slice(mark + 1)]
    const [asName, asValue] = [name, value].map((text) => decoded(text.replaceAll('+', ' ')))
    return [asName ?? name, asValue, pair] as const
  })
  const given = new Map<string, string | null>()
  const wrong = new Set<string>()
  for (const [name, value = null, pair] of pairs) {
    if (pair === '') continue
    if (name !== 'limit' && name !== 'status' && name !== 'cursor') {
      wrong.add(name)
      continue
    }
    if (given.has(name) || value === null) wrong.add(name)
    given.set(name, value)
  }
  const limit = given.get('limit') ?? '20'
  if (!/^0*([1-9]|[1-9][0-9]|100)$/.test(limit)) wrong.add('limit')
  if (!['active', 'archived', 'deleted'].includes(given.get('status') ?? 'active')) wrong.add('status')
  return { given, wrong: [...wrong].sort() }
}
