import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Case, CaseName, Request } from '../cases.ts'
import { run } from '../children.ts'
import { BODY_TEXT, emailOf, type Filled, idOf, PAGES_PER_GROUP_MAX, quoted, type Size } from '../fill.ts'
import { type Contestant, serviceContestant } from './contestant.ts'
import { startService } from './service.ts'

/*
 * PocketBase 0.22, a program of Go with SQLite inside. It has no API keys, so a caller sends the token of a record of
 * the collection `senders`, and rules keep each to its tenant. Its activity names the prospect by id, not by email: no
 * request of its API finds one and logs for it. Its rules compare `coalesce(tenant, '')`, which no index on the tenant
 * serves, so the indexes begin with what a list is of. It commits without a flush (`synchronous = normal`).
 */
const CASES: readonly CaseName[] = ['log-known', 'groups', 'pages-first', 'page']

const text = (name: string) => ({ name, type: 'text' })
const json = (name: string) => ({ name, type: 'json', options: { maxSize: 1_000_000 } })
const link = (name: string, collectionId: string) => ({
  name,
  type: 'relation',
  options: { collectionId, maxSelect: 1, cascadeDelete: false },
})
const READ_RULE = '@request.auth.tenant = tenant'
const tenantOwned = (
  id: string,
  name: string,
  fields: readonly object[],
  indexes: readonly string[] = [],
) => ({
  id,
  name,
  type: 'base',
  schema: [text('tenant'), ...fields],
  indexes,
  listRule: READ_RULE,
  viewRule: READ_RULE,
  createRule: '@request.data.tenant = @request.auth.tenant',
})
const COLLECTIONS = [
  {
    name: 'senders',
    type: 'auth',
    schema: [text('tenant')],
    options: { allowUsernameAuth: true, minPasswordLength: 8, requireEmail: false },
  },
  tenantOwned(
    'bench0prospects',
    'prospects',
    [text('email'), text('name')],
    ['create unique index prospects_by_email on prospects (tenant, email)'],
  ),
  tenantOwned(
    'bench0000000log',
    'prospect_logs',
    [text('source'), text('type'), text('email'), json('payload'), link('prospect', 'bench0prospects')],
    ['create index logs_by_prospect on prospect_logs (prospect, created)'],
  ),
  tenantOwned('bench00000group', 'page_groups', [
    text('name'),
    text('title'),
    text('page_context'),
    text('status'),
    json('actions'),
    json('footer_links'),
    json('scripts'),
  ]),
  tenantOwned('bench0000000ver', 'page_versions', [
    text('status'),
    text('supplementary_context'),
    { name: 'version_number', type: 'number' },
    text('published_at'),
  ]),
  tenantOwned(
    'bench00000pages',
    'pages',
    [
      link('page_group', 'bench00000group'),
      text('custom_name'),
      text('computed_name'),
      text('supplementary_context'),
      link('version', 'bench0000000ver'),
    ],
    ['create index pages_by_group on pages (page_group, id)'],
  ),
]

const ADMIN = { identity: 'admin@example.com', password: 'of-the-benchmark' }
const SENDER = { username: 'sender', password: 'of-the-benchmark' }

const records = (collection: string) => `/api/collections/${collection}/records`

/** The same request in the words of PocketBase. */
const requestOf = ({ path, body }: Request, { name }: Case, tenant: string): Request => {
  const [, , , pageGroupId = '', , pageId = ''] = path.split('/')
  const post = (collection: string, fields: object): Request => ({
    method: 'POST',
    path: records(collection),
    body: JSON.stringify({ tenant, ...fields }),
  })
  const list = (collection: string, query: Record<string, string>): Request => ({
    method: 'GET',
    path: `${records(collection)}?${new URLSearchParams({ perPage: '20', sort: '-id', skipTotal: '1', ...query })}`,
    body: null,
  })
  const sent = JSON.parse(body ?? '{}')
  if (name === 'log-known') {
    const prospect = idOf('prospect', Number(/\d+/.exec(sent.email)?.[0]))
    return post('prospect_logs', { ...sent, prospect })
  }
  if (name === 'groups') return list('page_groups', {})
  if (name === 'pages-first') return list('pages', { filter: `page_group="${pageGroupId}"` })
  return { method: 'GET', path: `${records('pages')}/${pageId}?expand=version`, body: null }
}

const launchIn = (program: string, data: string, folder: string) => () =>
  startService({
    command: 'sh',
    script: '-c',
    args: ['exec "$0" serve --dev=false --dir "$1" --http "127.0.0.1:$PORT"', program, data],
    env: {},
    logPath: join(folder, 'pocketbase.log'),
    alivePath: '/api/health',
    readyPath: '/api/health',
  })

export const pocketbaseContestant = async (
  program: string,
  filled: Filled,
  size: Size,
  folder: string,
): Promise<Contestant> => {
  const data = join(folder, 'pocketbase')
  const flags = ['--dev=false', '--dir', data]
  await run(program, ['migrate', 'up', ...flags], { msMax: 60_000 })
  await run(program, ['admin', 'create', ADMIN.identity, ADMIN.password, ...flags], { msMax: 60_000 })
  const launch = launchIn(program, data, folder)
  const service = await launch()
  const ask = async (path: string, body: object, token = '') => {
    const response = await fetch(service.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: token },
      body: JSON.stringify(body),
    })
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`)
    return response.json() as Promise<{ token: string }>
  }
  try {
    const admin = await ask('/api/admins/auth-with-password', ADMIN)
    for (const collection of COLLECTIONS) await ask('/api/collections', collection, admin.token)
    const { username, password } = SENDER
    const sender = { username, password, passwordConfirm: password, tenant: filled.tenantId }
    await ask(records('senders'), sender, admin.token)
    const { token } = await ask('/api/collections/senders/auth-with-password', {
      identity: username,
      password,
    })
    await service.stop()
    fill(join(data, 'data.db'), filled.tenantId, size)
    return serviceContestant({
      name: 'pocketbase',
      launch,
      filled: { ...filled, apiKey: token },
      keyHeader: 'authorization',
      cursorOf: () => '',
      cases: CASES,
      requestAs: (request, one) => requestOf(request, one, filled.tenantId),
    })
  } finally {
    await service.stop()
  }
}

/** As many rows as the other databases hold, with the same ids. */
const fill = (path: string, tenantId: string, size: Size): void => {
  const file = new DatabaseSync(path)
  const tenant = quoted(tenantId)
  const id = (prefix: string, number: string) =>
    `${quoted(idOf(prefix, 0).slice(0, -23))} || printf('%023d', ${number})`
  const numbers = (max: number) =>
    `with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${max})`
  const [before, after] = emailOf(0).split('0')
  const email = `${quoted(before ?? '')} || n || ${quoted(after ?? '')}`
  const others = (size.groups - 1) * size.pagesOfOthers
  const addPages = (max: number, group: string, number: string) => `
    insert into page_versions (id, tenant, status, supplementary_context, version_number, published_at)
      ${numbers(max)}
      select ${id('pageversion', number)}, ${tenant}, 'published', ${quoted(BODY_TEXT.supplementaryContext)}, 1,
        '2026-01-01 00:00:00.000Z' from numbers;
    insert into pages (id, tenant, page_group, custom_name, computed_name, supplementary_context, version)
      ${numbers(max)}
      select ${id('page', number)}, ${tenant}, ${id('pagegroup', group)}, '', ${quoted(BODY_TEXT.computedName)},
        ${quoted(BODY_TEXT.supplementaryContext)}, ${id('pageversion', number)} from numbers`
  const inGroup = `((n - 1) % ${size.pagesOfOthers} + 1)`
  const ofOthers = `((n - 1) / ${size.pagesOfOthers} + 1)`
  try {
    file.exec(`begin;
      insert into prospects (id, tenant, email) ${numbers(size.prospects)}
        select ${id('prospect', 'n')}, ${tenant}, ${email} from numbers;
      insert into prospect_logs (id, tenant, source, type, email, payload, prospect) ${numbers(size.logs)}
        select ${id('prospectlog', 'n')}, ${tenant}, 'fill', 'form_submitted', '', ${quoted(BODY_TEXT.payload)},
          ${id('prospect', `1 + n % ${size.prospects}`)} from numbers;
      insert into page_groups (id, tenant, name, title, page_context, status, actions, footer_links, scripts)
        ${numbers(size.groups)}
        select ${id('pagegroup', 'n')}, ${tenant}, 'group-' || n, 'Offers ' || n, ${quoted(BODY_TEXT.pageContext)},
          'active', ${quoted(BODY_TEXT.actions)}, ${quoted(BODY_TEXT.footerLinks)}, ${quoted(BODY_TEXT.scripts)}
        from numbers;
      ${addPages(others, ofOthers, `${ofOthers} * ${PAGES_PER_GROUP_MAX} + ${inGroup}`)};
      ${addPages(size.bigGroupPages, `${size.groups}`, `${size.groups * PAGES_PER_GROUP_MAX} + n`)};
      commit; analyze; pragma wal_checkpoint(truncate)`)
  } finally {
    file.close()
  }
}
