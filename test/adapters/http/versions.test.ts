import t from 'tap'
import { openScene } from '../../support/api.ts'
import { idOf } from '../../support/setting.ts'

const CONTENT = '{ "n":12345678901234567890,\n"a":1,"a":2,"nul":"\\u0000" }'
type Listed = { versionId: string; versionNumber: number; status: string }

/** A page, created from this body and published. */
const setUp = async (body = '{"supplementaryContext":"About spring"}') => {
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
  return { ...scene, pageGroupId, pageId: String(pageId), pages, path, add, versions }
}

t.test('200: a page is renamed, and null takes the name away', async (t) => {
  const { call, path, clock } = await setUp()
  clock.advance(5)
  const before = (await call(`GET ${path}`)).json
  const renamed = await call(`PATCH ${path}`, { json: { customName: 'Sale' } })
  t.strictSame(renamed.json, { ...before, customName: 'Sale', effectiveName: 'Sale' })
  t.strictSame([renamed.status, renamed.headers['etag']], [200, '"r3"'])
  const again = await call(`PATCH ${path}`, { json: { customName: 'Sale' } })
  t.equal(again.headers['etag'], '"r3"', 'nothing changed')
  t.strictSame((await call(`PATCH ${path}`, { json: { customName: null } })).json, before)
})

t.test('204: a deleted page is gone with its versions, and no longer counted', async (t) => {
  const { call, path, pageGroupId, versions } = await setUp()
  const [version] = await versions()
  const answer = await call(`DELETE ${path}`)
  t.strictSame([answer.status, answer.body], [204, ''])
  for (const gone of [path, `${path}/versions`, `${path}/versions/${version?.versionId}`])
    t.match(await call(`GET ${gone}`), { status: 404, json: { code: 'page_not_found' } }, gone)
  t.equal((await call(`DELETE ${path}`)).status, 404)
  t.equal((await call(`GET /v0/page_groups/${pageGroupId}`)).json.pagesCount, 0)
})

t.test('200: a page without content has exactly the three fields of a published version', async (t) => {
  const { call, path } = await setUp()
  const { publishedVersion } = (await call(`GET ${path}`)).json
  t.strictSame(Object.keys(publishedVersion as object), ['versionId', 'versionNumber', 'publishedAt'])
})

t.test(
  '200: content is answered byte for byte, of a page from its creation on and of each version',
  async (t) => {
    const { call, path, add, publish, versions } = await setUp(`{"content":${CONTENT}}`)
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

t.test('201: a version is created in processing', async (t) => {
  const { owner, clock, pageGroupId, pageId, add } = await setUp()
  const created = await add('{}')
  t.strictSame(created.json, {
    versionId: created.json.versionId,
    versionNumber: 2,
    pageId,
    pageGroupId,
    tenantId: owner.tenantId,
    createdAt: new Date(clock()).toISOString(),
    status: 'processing',
  })
  t.equal(created.status, 201)
})

t.test('201: without a body a version is as the newest one; lists go on at their cursor', async (t) => {
  const { call, path } = await setUp()
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

t.test('201: the same content under an idempotency key creates one page', async (t) => {
  const { call, pages } = await setUp()
  const headers = { 'idempotency-key': 'one' }
  const create = (body: string) => call(`POST ${pages}`, { body, headers })
  const { pageId } = (await create('{"content":{"a":1}}')).json
  t.match(await create('{"content":{"a":1}}'), { status: 201, json: { pageId } })
  t.match(await create('{"content":{"a":2}}'), { status: 422, json: { pageId } })
})

t.test('400: every fault of a page or a version is named', async (t) => {
  const { call, pages, path, add } = await setUp()
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

const HOUR = 3_600_000
const MINUTE = 60_000

t.test(
  '200: a version is published and unpublished at its times; the page and the version show them',
  async (t) => {
    const { call, clock, path, add, publish, runSchedules } = await setUp()
    const at = (ms: number) => new Date(clock() + ms).toISOString()
    const publishAt = at(HOUR)
    const unpublishAt = at(2 * HOUR)
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
    const { call, clock, path, add, publish } = await setUp()
    const { versionId } = (await add('{}')).json
    await publish()
    const { body: before } = await call(`GET ${path}`)
    for (const ms of [-HOUR, -1, 0]) {
      const json = { unpublishAt: new Date(clock() + ms).toISOString() }
      const changed = await call(`PATCH ${path}`, { json: { ...json, customName: 'Mine' } })
      const published = await call(`POST ${path}/versions/${versionId}/publish`, { json })
      const errors = [{ detail: 'must be in the future, and after the publication', pointer: '/unpublishAt' }]
      t.match(changed, { status: 400, json: { code: 'invalid_request', errors } })
      t.strictSame({ ...changed.json, instance: 0 }, { ...published.json, instance: 0 })
    }
    t.equal((await call(`GET ${path}`)).body, before, 'and nothing has changed')
  },
)

t.test('200: a schedule ends by a call; a time that is past means now', async (t) => {
  const { call, clock, path, add, publish } = await setUp()
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
  const { call, clock, pages, path, versions } = await setUp()
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
  const { call, clock, path, add, publish, versions } = await setUp()
  const at = (ms: number) => new Date(clock() + ms).toISOString()
  for (let i = 0; i < 100; i++) await add(`{"publishAt":"${at(HOUR + i * MINUTE)}"}`)
  await add('{"publish":false}')
  const limited = { status: 409, json: { code: 'limit_reached' } }
  t.match(await add(`{"publishAt":"${at(5 * HOUR)}"}`), limited)
  for (let step = 0; step < 2; step++) await publish()
  const [draft, scheduled] = (await versions()).map(
    ({ versionId }) => `POST ${path}/versions/${versionId}/publish`,
  )
  const json = { publishAt: at(6 * HOUR) }
  t.match(await call(String(draft), { json }), limited)
  t.equal((await call(String(scheduled), { json })).status, 200)
  t.equal((await call(String(draft))).status, 200)
})

t.test('200: a second schedule leaves the first one, and the answer lists both by time', async (t) => {
  const { call, clock, path, add, publish, runSchedules } = await setUp()
  const at = (ms: number) => new Date(clock() + ms).toISOString()
  const times = [at(2 * HOUR), at(HOUR)]
  const ids: string[] = []
  for (let i = 0; i < 2; i++) ids.push(String((await add('{"publish":false}')).json.versionId))
  await publish()
  const [first, second] = ids.map((id) => `${path}/versions/${id}`)
  const later = await call(`POST ${first}/publish`, { json: { publishAt: times[0] } })
  t.strictSame(later.json.scheduled, [{ versionId: ids[0], publishAt: times[0] }])
  const both = await call(`POST ${second}/publish`, { json: { publishAt: times[1] } })
  const scheduled = [
    { versionId: ids[1], publishAt: times[1] },
    { versionId: ids[0], publishAt: times[0] },
  ]
  t.strictSame(both.json.scheduled, scheduled)
  const again = await call(`POST ${second}/publish`, { json: { publishAt: times[1] } })
  t.strictSame([again.status, again.json.scheduled], [200, scheduled], 'the same again changes nothing')
  t.equal(again.headers['etag'], both.headers['etag'])
  t.notOk('scheduled' in (await call(`GET ${path}`)).json)
  clock.advance(HOUR)
  await runSchedules()
  t.match((await call(`GET ${path}`)).json, { publishedVersion: { versionId: ids[1] } })
  clock.advance(HOUR)
  await runSchedules()
  t.match((await call(`GET ${path}`)).json, { publishedVersion: { versionId: ids[0] } })
  const now = await call(`POST ${second}/publish`, { json: { publishAt: times[1] } })
  t.notOk('scheduled' in now.json, 'a time that is past means now')
})

t.test('200: the offset of a time counts, when clocks change, and on leap days', async (t) => {
  const { call, clock, path, add, publish, runSchedules } = await setUp()
  clock.advance(Date.parse('2027-10-01T00:00:00Z') - clock())
  const times = [
    // In Berlin the hour from 2 to 3 comes twice on this day: first with summer time.
    ['2027-10-31T02:30:00+02:00', '2027-10-31T00:30:00.000Z'],
    ['2027-10-31T02:30:00+01:00', '2027-10-31T01:30:00.000Z'],
    ['2028-02-29T00:00:00-05:00', '2028-02-29T05:00:00.000Z'],
    ['2028-02-29T23:59:59.999-12:00', '2028-03-01T11:59:59.999Z'],
    // An hour that no clock in Berlin shows is still a time.
    ['2028-03-26T02:30:00+01:00', '2028-03-26T01:30:00.000Z'],
  ] as const
  const ids: string[] = []
  for (const [publishAt] of times) ids.push(String((await add(JSON.stringify({ publishAt }))).json.versionId))
  await publish()
  for (const [i, [, utc]] of times.entries()) {
    const version = `${path}/versions/${ids[i]}`
    t.match((await call(`GET ${version}`)).json, { status: 'scheduled', publishAt: utc })
    clock.advance(Date.parse(utc) - clock() - MINUTE)
    await runSchedules()
    t.match((await call(`GET ${version}`)).json, { status: 'scheduled' }, `${utc} is not early`)
    clock.advance(MINUTE)
    await runSchedules()
    t.match((await call(`GET ${path}`)).json, { publishedVersion: { versionId: ids[i], publishedAt: utc } })
  }
})

t.test('400: a time without an offset, or on a day that does not exist', async (t) => {
  const { clock, add } = await setUp()
  clock.advance(Date.parse('2026-10-01T00:00:00Z') - clock())
  for (const publishAt of [
    '2026-10-25T02:30:00',
    '2026-10-25T02:30:00 Europe/Berlin',
    '2027-02-29T00:00:00Z',
    '2027-02-30T00:00:00+02:00',
    '2027-12-31T23:59:60Z',
    '2027-01-01T24:00:00Z',
  ])
    t.match(
      await add(JSON.stringify({ publishAt })),
      { status: 400, json: { errors: [{ pointer: '/publishAt' }] } },
      publishAt,
    )
})

t.test('400: a time is at most two years ahead, leap day included', async (t) => {
  const { clock, add } = await setUp()
  clock.advance(Date.parse('2027-03-01T12:00:00Z') - clock())
  t.equal((await add('{"publishAt":"2029-03-01T12:00:00Z"}')).status, 201)
  t.match(await add('{"publishAt":"2029-03-01T12:00:00.001Z"}'), {
    status: 400,
    json: { errors: [{ detail: 'must be at most two years ahead', pointer: '/publishAt' }] },
  })
})

t.test(
  '200: a window that passed while the service was down is not opened, and the version says so',
  async (t) => {
    const { call, clock, path, add, publish, runSchedules } = await setUp()
    const at = (ms: number) => new Date(clock() + ms).toISOString()
    const { versionId } = (await add('{"publish":false}')).json
    await publish()
    const window = { publishAt: at(HOUR), unpublishAt: at(2 * HOUR) }
    await call(`POST ${path}/versions/${versionId}/publish`, { json: window })
    clock.advance(3 * HOUR)
    await runSchedules()
    t.match((await call(`GET ${path}`)).json, {
      publishedVersion: null,
      unpublishAt: null,
      latestVersion: { versionId, status: 'ready', failureReason: /had passed/, publishAt: null },
    })
    t.equal((await call(`POST ${path}/versions/${versionId}/publish`)).status, 200)
    t.match((await call(`GET ${path}`)).json, { latestVersion: { status: 'published', failureReason: null } })
  },
)

t.test('409: two versions of a page for the same minute, by whatever call', async (t) => {
  const { call, clock, path, add, publish } = await setUp()
  const at = (ms: number) => new Date(clock() + ms).toISOString()
  const { versionId } = (await add(`{"publishAt":"${at(HOUR)}"}`)).json
  const draft = (await add('{"publish":false}')).json
  const taken = { status: 409, json: { code: 'schedule_taken', versionId } }
  t.match(await add(`{"publishAt":"${at(HOUR + MINUTE - 1)}"}`), taken, 'even while the first is processing')
  await publish()
  const schedule = (ms: number, id = draft.versionId) =>
    call(`POST ${path}/versions/${id}/publish`, { json: { publishAt: at(ms) } })
  t.match(await schedule(HOUR), taken)
  t.equal((await schedule(HOUR + MINUTE)).status, 200)
  t.equal((await schedule(HOUR + 1, versionId)).status, 200, 'it moves within its own minute')
  t.match(await schedule(HOUR + MINUTE, versionId), {
    status: 409,
    json: { code: 'schedule_taken', versionId: draft.versionId },
  })
  await call(`POST ${path}/versions/${versionId}/unschedule`)
  t.equal((await schedule(HOUR)).status, 200, 'the minute is free again')
})

t.test('422: the time is part of a request that is retried, if it is given', async (t) => {
  const { clock, add, call, pages } = await setUp()
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
