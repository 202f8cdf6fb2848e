import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { newFolder, startServer } from '../support/program.ts'
import { scrapeOf } from '../support/scrape.ts'

const pathOf = (file: string) => fileURLToPath(new URL(`../../deploy/${file}`, import.meta.url))
const ALERTS = pathOf('prometheus-alerts.yml')
const alerts = readFileSync(ALERTS, 'utf8')
const dashboard = JSON.parse(readFileSync(pathOf('grafana-dashboard.json'), 'utf8'))

type Panel = {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly targets?: readonly Target[]
}
type Target = { readonly expr: string }
const panels: readonly Panel[] = dashboard.panels
const queries = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))

const promtool = (args: readonly string[], input = '') =>
  spawnSync('promtool', args, { input, encoding: 'utf8' })
const withPromtool = {
  skip: promtool(['--version']).status === 0 ? false : 'promtool is not installed (package prometheus)',
}

/** Names of metrics, as Prometheus stores them: a histogram is three. */
const namesIn = (text: string) => text.match(/\b(prospect_pages|nodejs|process)_[a-z0-9_]+/g) ?? []

t.test('the dashboard and the alerts query what /metrics exposes, and the dashboard all of it', async (t) => {
  const server = await startServer(t, { DATABASE_URL: 'memory:' })
  const text = await (await fetch(`${server.url}/metrics`)).text()
  const exposed = new Set(
    [...scrapeOf(text).types].flatMap(([name, type]) =>
      type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    ),
  )
  const queried = new Set([...queries, alerts, dashboard.templating.list[1].definition].flatMap(namesIn))
  t.ok(queried.size > 20)
  for (const name of queried) t.ok(exposed.has(name), name)
  const own = [...exposed].filter(
    (name) => name.startsWith('prospect_pages_') && !/_(bucket|sum|count)$/.test(name),
  )
  for (const name of own)
    t.ok(
      queries.some((query) => query.includes(name)),
      `${name} is on the dashboard`,
    )

  t.test('promtool finds nothing wrong with it', withPromtool, async (t) => {
    const { status, stdout, stderr } = promtool(['check', 'metrics'], text)
    t.match({ status, stdout, stderr }, { status: 0, stdout: '', stderr: '' })
  })
})

t.test('each alert links its section of the page on troubleshooting', async (t) => {
  const page = readFileSync(new URL('../../docs/troubleshooting.md', import.meta.url), 'utf8')
  const sections = [...page.matchAll(/^## (.*)\n([\s\S]*?)(?=^## |$(?![\s\S]))/gm)].map(
    ([, title = '', text = '']) => ({
      anchor: title
        .toLowerCase()
        .replace(/[^\w -]/g, '')
        .replaceAll(' ', '-'),
      text,
    }),
  )
  const rules = alerts.split(/^ {6}- alert: /m).slice(1)
  t.ok(rules.length > 10)
  for (const rule of rules) {
    const [name = ''] = rule.split('\n')
    const [, anchor] = /runbook_url: \S+\/docs\/troubleshooting\.md#(\S+)$/m.exec(rule) ?? []
    t.match(sections.find((section) => section.anchor === anchor)?.text ?? '', name, `${name}: ${anchor}`)
  }
})

t.test('every panel of the dashboard has its own id, a title and a query', async (t) => {
  const shown = panels.filter(({ type }) => type !== 'row')
  t.ok(shown.length >= 15)
  for (const { title, targets = [] } of shown) t.ok(title !== '' && targets.length > 0, title)
  t.equal(new Set(panels.map(({ id }) => id)).size, panels.length)
})

const JOB = 'job="prospect-pages", instance="a"'
const COUNT = 'prospect_pages_http_request_duration_seconds_count'
const BUCKET = 'prospect_pages_http_request_duration_seconds_bucket'
const NAMINGS = 'prospect_pages_naming_duration_seconds_count'
const ATTEMPTS = 'prospect_pages_webhook_attempts_total'
const HOOKS = 'prospect_pages_hooks_received_total'
const DELAYED = 'prospect_pages_requests_delayed_total'
const OLDEST = 'prospect_pages_webhook_deliveries_oldest_pending_age_seconds'
const UP = { up: '1x180', 'up{OTHER}': '1x180' }
const FREE = 'node_filesystem_avail_bytes'
const OWN_FREE = 'prospect_pages_disk_free_bytes'
const CALM = {
  up: '1x60',
  'up{OTHER}': '1x60',
  prospect_pages_database_ready: '1x60',
  [`${COUNT}{ROUTE, status="200"}`]: '0+1000x60',
  [`${BUCKET}{ROUTE, le="0.01"}`]: '0+1000x60',
  [`${BUCKET}{ROUTE, le="+Inf"}`]: '0+1000x60',
  prospect_pages_versions_oldest_processing_age_seconds: '2x60',
  prospect_pages_erasures_oldest_processing_age_seconds: '90x60',
  prospect_pages_last_backup_timestamp_seconds: '0x60',
  prospect_pages_database_statements_waiting: '3x60',
  // One key sends most of the few requests that wait.
  prospect_pages_busiest_key_share: '0.9x60',
  [`${DELAYED}{outcome="waited"}`]: '0+60x60',
  nodejs_eventloop_lag_p99_seconds: '0.012x60',
  prospect_pages_naming_failures_total: '0+3x60',
  [NAMINGS]: '0+10x60',
  [`${ATTEMPTS}{DELIVERED}`]: '0+10x60',
  [`${ATTEMPTS}{AGAIN}`]: '0+4x60',
  // For six minutes.
  [`${ATTEMPTS}{UNSENT}`]: '0x20 30+30x5 180x33',
  [OLDEST]: '600x60',
  [`${HOOKS}{outcome="logged"}`]: '0+10x60',
  [`${HOOKS}{outcome="invalid_signature"}`]: '0+1x60',
  [`${HOOKS}{outcome="hook_not_found"}`]: '0+100x60',
  [`${HOOKS}{outcome="trapped"}`]: '0+100x60',
  [FREE]: '20x60',
  node_filesystem_size_bytes: '100x60',
  [`${OWN_FREE}{DATABASE}`]: '20x60',
  'prospect_pages_disk_bytes{DATABASE}': '100x60',
}
type Case = readonly [
  alert: string | null,
  series: Readonly<Record<string, string>>,
  times?: readonly string[],
]
const CASES: readonly Case[] = [
  [null, CALM],
  ['ProspectPagesDown', {}],
  ['ProspectPagesDown', { ...CALM, 'up{OTHER}': '1x20 0x40' }],
  ['ProspectPagesDatabaseAway', { ...CALM, prospect_pages_database_ready: '0x60' }],
  // A balancer sends nothing: there are no requests whose errors could be counted.
  [
    'ProspectPagesDatabaseAway',
    { up: '1x60', 'up{OTHER}': '1x60', prospect_pages_database_ready: '1x25 0x35' },
  ],
  ['ProspectPagesNamingFails', { ...CALM, prospect_pages_naming_failures_total: '0+6x60' }],
  ['ProspectPagesWebhooksFail', { ...CALM, [`${ATTEMPTS}{AGAIN}`]: '0+11x60' }],
  ['ProspectPagesWebhooksUnsent', { ...CALM, [`${ATTEMPTS}{UNSENT}`]: '0+1x60' }],
  // A receiver and senders that stay broken: attempts grow rare over two hours, and the alert stays.
  [
    'ProspectPagesWebhooksLate',
    { ...UP, [OLDEST]: '0+60x180', [`${ATTEMPTS}{AGAIN}`]: '1+1x4 5x25 6x60 7x90' },
    ['30m', '75m', '120m'],
  ],
  [
    'ProspectPagesHooksRefused',
    {
      ...UP,
      [`${HOOKS}{outcome="invalid_signature"}`]: '0+1x4 4x25 5x60 6x90',
      [`${HOOKS}{outcome="logged"}`]: '5x180',
    },
    ['30m', '75m', '120m'],
  ],
  [
    'ProspectPagesHooksFail',
    { ...UP, [`${HOOKS}{outcome="unavailable"}`]: '0 1x180', [`${HOOKS}{outcome="logged"}`]: '0+60x180' },
    ['30m', '75m', '120m'],
  ],
  // A receiver that was mended.
  [null, { ...UP, [OLDEST]: '0+60x60 0x120' }, ['75m', '120m']],
  ['ProspectPagesServerDiskLow', { ...CALM, [FREE]: '9x60' }],
  ['ProspectPagesDiskLow', { ...CALM, [`${OWN_FREE}{DATABASE}`]: '9x60' }],
  [
    'ProspectPagesDiskLow',
    { ...CALM, [`${OWN_FREE}{BACKUPS}`]: '9x60', 'prospect_pages_disk_bytes{BACKUPS}': '100x60' },
  ],
  ['ProspectPagesErrors', { ...CALM, [`${COUNT}{ROUTE, status="503"}`]: '0+20x60' }],
  [
    'ProspectPagesSlow',
    { ...CALM, [`${BUCKET}{ROUTE, le="2.5"}`]: '0+1100x60', [`${BUCKET}{ROUTE, le="+Inf"}`]: '0+1100x60' },
  ],
  ['ProspectPagesVersionsWait', { ...CALM, prospect_pages_versions_oldest_processing_age_seconds: '301x60' }],
  [
    'ProspectPagesErasuresOverdue',
    { ...CALM, prospect_pages_erasures_oldest_processing_age_seconds: '93601x60' },
  ],
  ['ProspectPagesBackupLate', { ...CALM, prospect_pages_last_backup_timestamp_seconds: '-172800x60' }],
  ['ProspectPagesKeyFloods', { ...CALM, [`${DELAYED}{outcome="waited"}`]: '0+1200x60' }],
  ['ProspectPagesSaturated', { ...CALM, prospect_pages_database_statements_waiting: '101x60' }],
  ['ProspectPagesSaturated', { ...CALM, nodejs_eventloop_lag_p99_seconds: '0.3x60' }],
]
/** A series as promtool expects it: the name with the labels of its job. */
const seriesOf = (name: string, values: string) => {
  const series = name.includes('{')
    ? name
        .replace('{outcome', `{${JOB}, outcome`)
        .replace('{ROUTE', `{${JOB}, method="GET", route="/v0/page_groups"`)
        .replace('{DELIVERED', `{${JOB}, outcome="delivered"`)
        .replace('{AGAIN', `{${JOB}, outcome="again"`)
        .replace('{UNSENT', `{${JOB}, outcome="unsent"`)
        .replace('{DATABASE', `{${JOB}, disk="database"`)
        .replace('{BACKUPS', `{${JOB}, disk="backups"`)
        .replace('{OTHER', '{job="prospect-pages", instance="b"')
    : `${name}{${JOB}}`
  return { series, values }
}

t.test('each alert fires on its own condition and on no other', withPromtool, async (t) => {
  const file = join(newFolder(t), 'alerts.test.json')
  const names = [...alerts.matchAll(/alert: (\w+)/g)].map(([, name]) => name)
  for (const [alert, series, times = ['30m']] of CASES) {
    const input_series = Object.entries(series).map(([name, values]) => seriesOf(name, values))
    const expected = (name: string | undefined) =>
      `count(ALERTS{alertname="${name}", alertstate="firing"}) or vector(0)`
    const promql_expr_test = times.flatMap((eval_time) =>
      names.map((name) => ({
        expr: expected(name),
        eval_time,
        exp_samples: [{ labels: '{}', value: name === alert ? 1 : 0 }],
      })),
    )
    const tests = [{ interval: '1m', input_series, promql_expr_test }]
    writeFileSync(file, JSON.stringify({ rule_files: [ALERTS], evaluation_interval: '1m', tests }))
    const { status, stdout, stderr } = promtool(['test', 'rules', file])
    t.equal(status, 0, `${alert ?? 'nothing'}: ${status === 0 ? '' : stdout + stderr}`)
  }
})
