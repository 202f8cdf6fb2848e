import { logProspectActivities } from '../core/activities/log-prospect-activities.ts'
import { logActivitiesTogether, logProspectActivity } from '../core/activities/log-prospect-activity.ts'
import { utcOf } from '../shapes/time.ts'
import { type Command, TENANT, type Texts, valued, wrongUse } from './command.ts'
import { IMPORT_OPTIONS, importFile, keepSmall } from './import-file.ts'

export const prospectLogCommands: readonly Command[] = [
  {
    words: 'prospect-logs import',
    help: 'logs activities from JSON lines or CSV, in order, even while a server is running',
    details: [
      'Each line is the body of one POST /v0/prospect_logs. The first line of CSV names its columns; those of no member',
      'are the payload. Refused lines are reported on stderr, and the exit code is 1. Give each line an',
      'idempotencyKey, and an import can be repeated safely. Ctrl-C stops after the current list; every line before',
      'nextLine is then stored or refused.',
    ],
    options: IMPORT_OPTIONS,
    examples: {
      'one activity': `echo '{"source":"crm","email":"ada@example.com","payload":{},"idempotencyKey":"crm-1"}' | prospect-pages prospect-logs import --tenant "$TENANT" --file -`,
      'from CSV': `printf 'Email,Note\\nada@example.com,"Asked, twice"\\n' | prospect-pages prospect-logs import --tenant "$TENANT" --file - --format csv --columns source==old-crm`,
    },
    async *run(input, open, shell) {
      yield* importFile(
        input,
        open,
        shell,
        'activities',
        async (lines, isCsv, world, { requireIdentity }) => {
          const { importProspectLogs } = await import('../maintenance/import-prospect-logs.ts')
          return importProspectLogs(
            logProspectActivities({
              ...world,
              logProspectActivity: logProspectActivity({ ...world, requireIdentity }),
              logActivitiesTogether: logActivitiesTogether({ ...world, requireIdentity }),
            }),
          )(lines, isCsv)
        },
      )
    },
  },
  {
    words: 'prospect-logs export',
    help: 'prints the logged activities of a tenant as JSON lines, oldest first',
    details: [
      'A line has the fields of GET /v0/prospect_logs/{prospect_log_id}, with the payload as it was sent. Times are',
      'those within the ids, which may be a few milliseconds after createdAt.',
    ],
    options: {
      tenant: TENANT,
      since: valued(
        'TIME',
        'only activities that arrived at this time or later, such as 2026-11-22T09:00:00Z',
      ),
      until: valued('TIME', 'only activities that arrived before this time'),
    },
    examples: {
      'all, to a file': 'prospect-pages prospect-logs export --tenant "$TENANT" > logs.jsonl',
      'of one day':
        'prospect-pages prospect-logs export --tenant "$TENANT" --since 2026-11-22T00:00:00Z --until 2026-11-23T00:00:00Z',
    },
    format: { isLines: true },
    async *run({ texts }, open) {
      const since = timeOf(texts, 'since')
      const until = timeOf(texts, 'until')
      const { store } = await open()
      keepSmall()
      const { exportProspectLogs } = await import('../maintenance/export.ts')
      yield* exportProspectLogs(store, { tenantId: texts['tenant'] ?? '', since, until })
    },
  },
]

const timeOf = (texts: Texts, option: 'since' | 'until'): string | null => {
  const text = texts[option]
  const what = 'a date-time with an offset, such as 2026-11-22T09:00:00Z'
  return text === undefined ? null : (utcOf(text) ?? wrongUse(`--${option} must be ${what}`))
}
