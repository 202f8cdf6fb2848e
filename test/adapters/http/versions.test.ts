import t from 'tap'
import { openScene, problemFor } from '../../support/api.ts'
import { idOf } from '../../support/setting.ts'

const CONTENT = '{ "n":12345678901234567890,\n"a":1,"a":2,"nul":"\\u0000" }'
type Listed = { versionId: string; versionNumber: number; status: string }

/** A page, created from this body and published. */
const setting = async (body = '{"supplementaryContext":"About spring"}') => {
  const scene = await openScene()
  const { call } = scene
  const { pageGroupId } = await scene.newGroup()
  const pages = `/v0/page_groups/${pageGroupId}/pages`
  const { pageId } = (await call(`POST ${pages}`, { body })).json
  const path = `${pages}/${pageId}`
  await scene.publish()
  const add = (body: string, headers = {}) => call(`POST ${path}/versions`, { body, headers })
  /** The newest first. */
  const versions = async () => (await call(`GET ${path}/versions`)).json.items as Listed[]
  const archive = () => call(`PATCH /v0/page_groups/${pageGroupId}`, { json: { status: 'archived' } })
  return { ...scene, pageGroupId, pageId: String(pageId), pages, path, add, versions, archive }
}

t.test('200: a page is renamed, and null takes the name away', async (t) => {
  const { call, path, clock } = await setting()
  clock.advance(5)
  const before = (await call(`GET ${path}`)).json
  const renamed = await call(`PATCH ${path}`, { json: { customName: 'Sale' } })
  t.strictSame(renamed.json, { ...before, customName: 'Sale', effectiveName: 'Sale' })
  t.strictSame([renamed.status, renamed.headers['etag']], [200, '"r3"'])
  const again = await call(`PATCH ${path}`, { json: { customName: 'Sale', computedName: 'x' } })
  t.equal(again.headers['etag'], '"r3"', 'nothing changed')
  t.strictSame((await call(`PATCH ${path}`, { json: { customName: null } })).json, before)
})

t.test('204: a deleted page is gone with its versions, and no longer counted', async (t) => {
  const { call, path, pageGroupId, versions } = await setting()
  const [version] = await versions()
  const answer = await call(`DELETE ${path}`)
  t.strictSame([answer.status, answer.body], [204, ''])
  for (const gone of [path, `${path}/versions`, `${path}/versions/${version?.versionId}`])
    t.match(await call(`GET ${gone}`), { status: 404, json: { code: 'page_not_found' } }, gone)
  t.equal((await call(`DELETE ${path}`)).status, 404)
  t.equal((await call(`GET /v0/page_groups/${pageGroupId}`)).json.pagesCount, 0)
})

t.test('200: a page without content has exactly the three fields of a published version', async (t) => {
  const { call, path } = await setting()
  const { publishedVersion } = (await call(`GET ${path}`)).json
  t.strictSame(Object.keys(publishedVersion as object), ['versionId', 'versionNumber', 'publishedAt'])
})

t.test(
  '200: content is answered byte for byte, of a page from its creation on and of each version',
  async (t) => {
    const { call, path, add, publish, versions } = await setting(`{"content":${CONTENT}}`)
    const contentOf = async (target: string) => (await call(`GET ${target}`)).body
    t.ok((await contentOf(path)).includes(`,"content":${CONTENT}},"latestVersion"`))
    const other = '{"b":1.0}'
    await add(`{"content":${other}}`)
    t.ok((await contentOf(path)).includes(CONTENT), 'until the new version is published')
    await publish()
    t.ok((await contentOf(path)).includes(`"content":${other}}`))
    const [second, first] = await versions()
    t.ok((await contentOf(`${path}/versions/${first?.versionId}`)).endsWith(`,"content":${CONTENT}}\n`))
    t.ok((await contentOf(`${path}/versions/${second?.versionId}`)).endsWith(`,"content":${other}}\n`))
    t.notMatch(await contentOf(`${path}/versions`), /content"/, 'lists are without it')
  },
)

t.test('201: what a version leaves out is as in the newest one; null clears it', async (t) => {
  const { call, owner, clock, pageGroupId, pageId, path, add, publish, versions } = await setting(
    `{"supplementaryContext":"About spring","content":${CONTENT}}`,
  )
  const created = await add('{}')
  const { versionId } = created.json
  t.strictSame(created.json, {
    ...{ versionId, versionNumber: 2, pageId, pageGroupId, tenantId: owner.tenantId },
    ...{ createdAt: new Date(clock()).toISOString(), status: 'processing' },
  })
  t.equal(created.status, 201)
  const read = async (number: number) => {
    const found = (await versions()).find(({ versionNumber }) => versionNumber === number)
    return call(`GET ${path}/versions/${found?.versionId}`)
  }
  const same = await read(2)
  t.match(same.json, {
    supplementaryContext: 'About spring',
    computedName: 'About spring',
    status: 'processing',
  })
  t.ok(same.body.includes(CONTENT))
  await add('{"supplementaryContext":"About summer","content":null,"publish":false}')
  t.match((await read(3)).json, { supplementaryContext: 'About summer', content: null })
  await add('{"supplementaryContext":null}')
  t.match((await read(4)).json, { supplementaryContext: null, computedName: / 1$/, content: null })
  await publish()
  t.match((await call(`GET ${path}`)).json, {
    supplementaryContext: null,
    publishedVersion: { versionNumber: 4, content: undefined },
    latestVersion: { versionNumber: 4, status: 'published' },
  })
})

t.test('201: without a body a version is as the newest one; lists go on at their cursor', async (t) => {
  const { call, path } = await setting()
  t.equal((await call(`POST ${path}/versions`)).status, 201)
  const first = (await call(`GET ${path}/versions?limit=1`)).json
  t.match(first, { items: [{ versionNumber: 2, status: 'processing', publishedAt: null }], hasMore: true })
  t.match((await call(`GET ${path}/versions?limit=1&cursor=${first.nextCursor}`)).json, {
    items: [{ versionNumber: 1, status: 'published', failureReason: null }],
    hasMore: false,
  })
  const foreign = await call(`GET ${path}x/versions?cursor=${first.nextCursor}`)
  t.equal(foreign.json.code, 'invalid_cursor')
})

t.test('201: an idempotency key creates one version of its page', async (t) => {
  const { call, pages, path, add, versions } = await setting()
  const key = { 'idempotency-key': 'one' }
  const first = await add('{"content":{"a":1}}', key)
  const again = await add('{"content":{"a":1}}', key)
  t.strictSame([again.status, again.json, again.headers['idempotent-replayed']], [201, first.json, 'true'])
  t.equal(first.headers['idempotent-replayed'], undefined)
  const { versionId } = first.json
  for (const body of [
    '{"content":{"a": 1}}',
    '{"content":null}',
    '{}',
    '{"content":{"a":1},"publish":false}',
  ]) {
    const other = await add(body, key)
    const detail = 'This idempotency key was already used with a different request.'
    t.strictSame(other.json, problemFor(other, 'idempotency_key_reused', 422, detail, { versionId }), body)
  }
  t.equal((await versions()).length, 2)
  const { pageId } = (await call(`POST ${pages}`, { headers: key })).json
  t.equal((await call(`POST ${pages}/${pageId}/versions`, { headers: key })).status, 201, path)
})

t.test('201: the same content under an idempotency key creates one page', async (t) => {
  const { call, pages } = await setting()
  const headers = { 'idempotency-key': 'one' }
  const create = (body: string) => call(`POST ${pages}`, { body, headers })
  const { pageId } = (await create('{"content":{"a":1}}')).json
  t.match(await create('{"content":{"a":1}}'), { status: 201, json: { pageId } })
  t.match(await create('{"content":{"a":2}}'), { status: 422, json: { pageId } })
})

t.test('200: an older version is published again; unpublishing withdraws, and may be repeated', async (t) => {
  const { call, path, add, publish, versions, clock } = await setting()
  clock.advance(5)
  await add('{"supplementaryContext":"About summer"}')
  await publish()
  const [second, first] = await versions()
  const rolledBack = await call(`POST ${path}/versions/${first?.versionId}/publish`)
  t.match(rolledBack.json, {
    computedName: 'About spring',
    supplementaryContext: 'About spring',
    publishedVersion: { versionId: first?.versionId, publishedAt: new Date(clock()).toISOString() },
    latestVersion: { versionId: second?.versionId, status: 'published' },
  })
  t.strictSame(rolledBack.json, (await call(`GET ${path}`)).json)
  const withdrawn = await call(`POST ${path}/unpublish`)
  t.match(withdrawn.json, { publishedVersion: null, supplementaryContext: 'About summer' })
  const again = await call(`POST ${path}/unpublish`)
  t.strictSame(
    [again.status, again.json, again.headers['etag']],
    [200, withdrawn.json, withdrawn.headers['etag']],
  )
})

t.test('409: what is processing cannot be published; what is ready can', async (t) => {
  const { call, path, add, publish } = await setting()
  const { versionId } = (await add('{"publish":false}')).json
  const early = await call(`POST ${path}/versions/${versionId}/publish`)
  const detail = 'The version is `processing` and cannot be published.'
  t.strictSame(early.json, problemFor(early, 'version_not_ready', 409, detail))
  await publish()
  t.match((await call(`GET ${path}`)).json, {
    publishedVersion: { versionNumber: 1 },
    latestVersion: { status: 'ready' },
  })
  const answer = await call(`POST ${path}/versions/${versionId}/publish`)
  t.match(answer, { status: 200, json: { publishedVersion: { versionId } } })
})

t.test('409: a page has at most 1,000 versions', async (t) => {
  const { call, store, owner, path } = await setting()
  const capped = await openScene({
    storeAs: () => ({
      ...store,
      pages: {
        ...store.pages,
        find: async (wants) =>
          (await store.pages.find(wants)).map((page) =>
            typeof page === 'string' ? page : { ...page, latest: { ...page.latest, versionNumber: 1_000 } },
          ),
      },
    }),
  })
  const answer = await capped.call(`POST ${path}/versions`, { key: owner.apiKey })
  t.strictSame(answer.json, problemFor(answer, 'limit_reached', 409, 'A page has at most 1,000 versions.'))
  t.equal((await call(`GET ${path}`)).status, 200)
})

t.test('409: of an archived group nothing is added or published; withdrawing and deleting is', async (t) => {
  const { call, path, add, versions, archive } = await setting()
  const [first] = await versions()
  await archive()
  for (const refused of [
    await add('{}'),
    await call(`POST ${path}/unpublish`).then(async () =>
      call(`POST ${path}/versions/${first?.versionId}/publish`),
    ),
  ])
    t.match(refused, { status: 409, json: { code: 'page_group_not_active' } })
  t.equal((await call(`PATCH ${path}`, { json: { customName: 'A' } })).status, 200)
  t.equal((await call(`DELETE ${path}`)).status, 204)
})

t.test('400: every fault of a page or a version is named', async (t) => {
  const { call, pages, path, add } = await setting()
  const faultsOf = async (answer: Promise<Awaited<ReturnType<typeof add>>>) => {
    const { status, json } = await answer
    return [status, ...(json.errors as { pointer: string }[]).map(({ pointer }) => pointer)]
  }
  const wrong = '{"content":[],"supplementaryContext":1,"publish":"yes"}'
  t.strictSame(await faultsOf(add(wrong)), [400, '/supplementaryContext', '/content', '/publish'])
  t.strictSame(await faultsOf(call(`POST ${pages}`, { body: '{"content":null}' })), [400, '/content'])
  t.strictSame(await faultsOf(call(`PATCH ${path}`, { json: { customName: 5 } })), [400, '/customName'])
  const deep = `{"content":{"a":${'['.repeat(512)}${']'.repeat(512)}}}`
  t.match(await add(deep), { status: 400, json: { code: 'invalid_json' } })
})

t.test('404: an unknown page, version or tenant', async (t) => {
  const { call, newTenant, path, pages, versions } = await setting()
  const [version] = await versions()
  const { apiKey: key } = await newTenant()
  const [page, of] = [`${pages}/${idOf('page', 999)}`, `versions/${version?.versionId}`]
  for (const [operation, code] of [
    [`GET ${path}/versions/x`, 'version_not_found'],
    [`POST ${path}/versions/x/publish`, 'version_not_found'],
    [`GET ${page}/${of}`, 'page_not_found'],
    [`GET ${page}/versions`, 'page_not_found'],
    [`POST ${page}/${of}/publish`, 'page_not_found'],
    [`POST ${page}/versions`, 'page_not_found'],
    [`POST ${page}/unpublish`, 'page_not_found'],
    [`PATCH ${page}`, 'page_not_found'],
    [`DELETE ${page}`, 'page_not_found'],
  ] as const) {
    const sent = operation.startsWith('PATCH') ? { json: { customName: 'A' } } : {}
    t.match(await call(operation, sent), { status: 404, json: { code } }, operation)
    const theirs = await call(operation, { ...sent, key })
    t.match(theirs, { status: 404, json: { code: 'page_group_not_found' } }, operation)
  }
})

t.test('403: reading needs pages:read, changing pages:write', async (t) => {
  const { call, keyWith, path, versions } = await setting()
  const [version] = await versions()
  const at = `${path}/versions/${version?.versionId}`
  for (const [scope, operations] of [
    ['pages:read', [`GET ${path}/versions`, `GET ${at}`]],
    [
      'pages:write',
      [
        `PATCH ${path}`,
        `POST ${path}/versions`,
        `POST ${at}/publish`,
        `POST ${path}/unpublish`,
        `DELETE ${path}`,
      ],
    ],
  ] as const)
    for (const operation of operations) {
      const other = scope === 'pages:read' ? 'pages:write' : 'pages:read'
      const sent = operation.startsWith('PATCH') ? { json: {} } : {}
      const refused = await call(operation, { ...sent, key: await keyWith(other, 'page_groups:write') })
      t.match(refused, { status: 403, json: { requiredScope: scope } }, operation)
      t.ok((await call(operation, { ...sent, key: await keyWith(scope) })).status < 300, operation)
    }
})

const HOUR = 3_600_000

t.test(
  '200: a version is published and unpublished at its times; the page and the version show them',
  async (t) => {
    const { call, clock, path, add, publish, runSchedules } = await setting()
    const at = (ms: number) => new Date(clock() + ms).toISOString()
    const [publishAt, unpublishAt] = [at(HOUR), at(2 * HOUR)]
    const { versionId } = (await add(`{"publishAt":"${publishAt}"}`)).json
    await publish()
    const version = `${path}/versions/${versionId}`
    t.match((await call(`GET ${path}`)).json, { latestVersion: { status: 'scheduled', publishAt } })
    const answer = await call(`POST ${version}/publish`, { json: { publishAt, unpublishAt } })
    t.match(answer, {
      status: 200,
      json: { latestVersion: { status: 'scheduled', publishAt }, unpublishAt: null },
    })
    t.match((await call(`GET ${version}`)).json, { status: 'scheduled', publishAt, unpublishAt })
    clock.advance(HOUR)
    await runSchedules()
    t.match((await call(`GET ${path}`)).json, { publishedVersion: { versionId }, unpublishAt })
    t.match((await call(`PATCH ${path}`, { json: { unpublishAt: null } })).json, { unpublishAt: null })
    t.match((await call(`PATCH ${path}`, { json: { unpublishAt: at(HOUR) } })).json, {
      unpublishAt: at(HOUR),
    })
    clock.advance(HOUR)
    await runSchedules()
    t.match((await call(`GET ${path}`)).json, { publishedVersion: null, unpublishAt: null })
  },
)

t.test(
  '400: a page cannot be unpublished in the past, neither by a change nor by a publication',
  async (t) => {
    const { call, clock, path, add, publish } = await setting()
    const { versionId } = (await add('{}')).json
    await publish()
    const { body: before } = await call(`GET ${path}`)
    for (const ms of [-HOUR, -1, 0]) {
      const json = { unpublishAt: new Date(clock() + ms).toISOString() }
      const [changed, published] = [
        await call(`PATCH ${path}`, { json: { ...json, customName: 'Mine' } }),
        await call(`POST ${path}/versions/${versionId}/publish`, { json }),
      ]
      const errors = [{ detail: 'must be in the future, and after the publication', pointer: '/unpublishAt' }]
      t.match(changed, { status: 400, json: { code: 'invalid_request', errors } })
      t.strictSame({ ...changed.json, instance: 0 }, { ...published.json, instance: 0 })
    }
    t.equal((await call(`GET ${path}`)).body, before, 'and nothing has changed')
  },
)

t.test('200: a schedule ends by a call; a time that is past means now', async (t) => {
  const { call, clock, path, add, publish } = await setting()
  const [publishAt, past] = [HOUR, -HOUR].map((ms) => new Date(clock() + ms).toISOString())
  const { versionId } = (await add(`{"publishAt":"${publishAt}"}`)).json
  const version = `${path}/versions/${versionId}`
  t.match(await call(`POST ${version}/unschedule`), { status: 409, json: { code: 'version_not_ready' } })
  await publish()
  t.match(await call(`POST ${version}/unschedule`), {
    status: 200,
    json: { status: 'ready', publishAt: null },
  })
  t.equal((await call(`POST ${path}/versions/${idOf('pageversion', 9)}/unschedule`)).status, 404)
  const published = await call(`POST ${version}/publish`, { json: { publishAt: past } })
  t.match(published.json, { publishedVersion: { versionId } })
  await add(`{"publishAt":"${past}"}`)
  await publish()
  t.match((await call(`GET ${path}`)).json, { publishedVersion: { versionNumber: 3 } })
})

t.test('400: a time that is no time, too far ahead, or before the publication', async (t) => {
  const { call, clock, pages, path, versions } = await setting()
  const [version] = await versions()
  const publication = `POST ${path}/versions/${version?.versionId}/publish`
  const far = new Date(clock() + 732 * 24 * HOUR).toISOString()
  const soon = new Date(clock() + HOUR).toISOString()
  for (const [target, json, pointer] of [
    [`POST ${pages}`, { publishAt: 'tomorrow' }, '/publishAt'],
    [`POST ${pages}`, { publishAt: far }, '/publishAt'],
    [`POST ${path}/versions`, { publishAt: far }, '/publishAt'],
    [`POST ${path}/versions`, { publishAt: soon, publish: false }, '/publishAt'],
    [publication, { publishAt: far }, '/publishAt'],
    [publication, { unpublishAt: far }, '/unpublishAt'],
    [publication, { publishAt: soon, unpublishAt: soon }, '/unpublishAt'],
    [publication, { unpublishAt: new Date(clock() - 1).toISOString() }, '/unpublishAt'],
    [`PATCH ${path}`, { unpublishAt: far }, '/unpublishAt'],
  ] as const)
    t.match(
      await call(target, { json }),
      { status: 400, json: { errors: [{ pointer }] } },
      JSON.stringify(json),
    )
})

t.test('409: a page has at most 100 scheduled versions; one of them can be moved', async (t) => {
  const { call, clock, path, add, publish, versions } = await setting()
  const at = (ms: number) => new Date(clock() + ms).toISOString()
  for (let i = 0; i < 100; i++) await add(`{"publishAt":"${at(HOUR)}"}`)
  await add('{"publish":false}')
  const limited = { status: 409, json: { code: 'limit_reached' } }
  t.match(await add(`{"publishAt":"${at(HOUR)}"}`), limited)
  for (let step = 0; step < 2; step++) await publish()
  const [draft, scheduled] = (await versions()).map(
    ({ versionId }) => `POST ${path}/versions/${versionId}/publish`,
  )
  const json = { publishAt: at(2 * HOUR) }
  t.match(await call(String(draft), { json }), limited)
  t.equal((await call(String(scheduled), { json })).status, 200)
  t.equal((await call(String(draft))).status, 200)
})

t.test('422: the time is part of a request that is retried, if it is given', async (t) => {
  const { clock, add, call, pages } = await setting()
  const publishAt = new Date(clock() + HOUR).toISOString()
  const headers = { 'idempotency-key': 'one' }
  for (const post of [
    add,
    (body: string, headers: object) => call(`POST ${pages}`, { body, headers: { ...headers } }),
  ]) {
    const first = await post(`{"publishAt":"${publishAt}"}`, headers)
    t.strictSame((await post(`{"publishAt":"${publishAt}"}`, headers)).json, first.json)
    t.equal((await post('{}', headers)).status, 422)
  }
})
