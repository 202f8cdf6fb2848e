import t from 'tap'
import { createNewId } from '../../src/adapters/ids.ts'
import { memoryStore } from '../../src/adapters/memory/store.ts'
import { listProspectLogs } from '../../src/core/activities/list-prospect-logs.ts'
import { logProspectActivities } from '../../src/core/activities/log-prospect-activity.ts'
import { createTenant } from '../../src/core/tenants/create-tenant.ts'
import type { ReportedLine } from '../../src/operations/import-lines.ts'
import { importProspectLogs } from '../../src/operations/import-prospect-logs.ts'

t.test('a member that is null counts as left out, and a payload stays byte for byte', async (t) => {
  const deps = { store: memoryStore(), clock: Date.now, newId: createNewId() }
  const { tenantId } = await createTenant(deps)({ name: 'a tenant' })
  const reported: ReportedLine[] = []
  async function* chunks() {
    yield Buffer.from('{"source":"a","email":null,"type": null ,"payload":{"n":1.0,"a": null}}\n')
    yield Buffer.from('{"source":null,"payload":{}}\n{"source":"a","payload":null}\n{"source":null,')
  }
  const { imported } = await importProspectLogs(logProspectActivities(deps))({
    ...{ store: deps.store, tenantId, chunks: chunks(), lineBytesMax: 1_000, fromLine: 1 },
    ...{
      stop: new AbortController().signal,
      onReported: (line) => reported.push(line),
      onProgress: () => {},
    },
  })
  t.match(imported, { read: 4, logged: 1, refused: 3 })
  t.match(reported, [
    { line: 2, errors: [{ detail: 'is required', pointer: '/source' }] },
    { line: 3, errors: [{ detail: 'is required', pointer: '/payload' }] },
    { line: 4, code: 'invalid_json' },
  ])
  const [list] = await listProspectLogs(deps)([{ tenantId, limit: 9 }])
  t.match(list, { items: [{ email: null, type: 'webhook', payload: { rawJson: '{"n":1.0,"a": null}' } }] })
})
