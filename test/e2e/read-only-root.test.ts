import { spawn, spawnSync } from 'node:child_process'
import t from 'tap'
import { outputOf, sourceUrl } from '../support/children.ts'
import { newFolder } from '../support/program.ts'

/** Runs a command where only one folder can be written to, as the pod in deploy/kubernetes.yaml does. */
const CONFINE =
  'mount --bind "$0" "$0"; for i in / /tmp /var/tmp; do mountpoint -q $i && mount -o remount,bind,ro $i; done; cd / && exec "$@"'
const ENV = { ...process.env, TMPDIR: undefined, SQLITE_TMPDIR: undefined }
const confine = (folder: string, ...command: string[]) =>
  spawn('unshare', ['--mount', 'sh', '-c', CONFINE, folder, ...command], {
    env: ENV,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
const skip =
  spawnSync('unshare', ['--mount', 'mount', '--bind', '/', '/']).status === 0
    ? false
    : 'this user cannot make mounts of its own: the root was not read-only'

/** A database of 30 MB, from which one of 30 people is erased. */
const ERASE = `
  import { createNewId } from '${sourceUrl('adapters/ids.ts')}'
  import { readMigrations } from '${sourceUrl('adapters/stores/migrations.ts')}'
  import { sqliteStore } from '${sourceUrl('adapters/sqlite/store.ts')}'
  import { logProspectActivity } from '${sourceUrl('core/activities/log-prospect-activity.ts')}'
  import { eraseProspects } from '${sourceUrl('core/erasures/erase-prospects.ts')}'
  import { requestErasure } from '${sourceUrl('core/erasures/request-erasure.ts')}'
  import { createTenant } from '${sourceUrl('core/tenants/create-tenant.ts')}'
  const path = process.argv[1] + '/test.db'
  const store = sqliteStore({ path, busyMsMax: 5_000 }, readMigrations('sqlite'))
  await store.migrate()
  const deps = { store, clock: Date.now, newId: createNewId() }
  const { tenantId } = await createTenant(deps)({ name: 'Acme' })
  const payload = { rawJson: JSON.stringify('x'.repeat(1_000_000)) }
  const activities = Array.from({ length: 30 }, (_, n) => ({ tenantId, source: 'crm', type: 'form', email: n + '@example.com', payload }))
  for (const activity of activities) await logProspectActivity(deps)(activity)
  await requestErasure(deps)({ tenantId, email: '1@example.com', blockDays: 30 })
  const step = eraseProspects(deps)
  while (await step(new AbortController().signal));
  console.log((await store.erasures.backlog(10)).count, (await import('node:fs')).readdirSync(process.argv[1]).join())`

t.test('on a read-only root an erasure of a database of 30 MB is completed', { skip }, async (t) => {
  const folder = newFolder(t)
  const erase = confine(folder, process.execPath, '--input-type=module', '--eval', ERASE, folder)
  t.equal(await outputOf(erase), '0 test.db,test.db-shm,test.db-wal\n', 'and leaves no file')
})
