import { mkdirSync, statfsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { memoryStore } from '../../src/adapters/memory/store.ts'
import { createMetrics } from '../../src/adapters/metrics/metrics.ts'
import { sqliteStore } from '../../src/adapters/sqlite/store.ts'
import { readMigrations } from '../../src/adapters/stores/migrations.ts'
import { measureSizes } from '../../src/compose/sizes.ts'
import { readConfig } from '../../src/config/config.ts'
import { mountSmallDisk, whyNoSmallDisk } from '../faults/small-disk.ts'
import { newFolder } from '../support/program.ts'
import { scrapeOf } from '../support/scrape.ts'

const MINUTE_MS = 60_000
const FREE = 'prospect_pages_disk_free_bytes'

/** An embedded database in a folder, and its gauges. */
const embedded = async (t: Test, folder: string, more: Record<string, string> = {}) => {
  const path = join(folder, 'test.db')
  const store = sqliteStore({ path, busyMsMax: 1_000 }, readMigrations('sqlite'))
  t.teardown(store.close)
  await store.migrate()
  const metrics = createMetrics()
  measureSizes(readConfig({ DATABASE_URL: `sqlite:${path}`, ...more }), { store, metrics })
  return { path, scraped: async () => scrapeOf(await metrics.text()) }
}

t.test('an embedded database: its file, its journal, its copies and its disk', async (t) => {
  const folder = newFolder(t)
  const BACKUP_DIR = join(folder, 'backups')
  mkdirSync(BACKUP_DIR)
  const { path, scraped } = await embedded(t, folder, { BACKUP_DIR })
  const bytesOf = (file: string) => writeFileSync(file, 'x'.repeat(1_000))
  bytesOf(join(BACKUP_DIR, 'test.db.2026-11-21T03-00-00.000Z'))
  bytesOf(`${path}.before-0.1.0`)
  bytesOf(`${path}.before-restore-2026-11-21T03-00-00.000Z`)
  // None of these is a copy of this database.
  bytesOf(join(BACKUP_DIR, 'other.db.2026-11-21T03-00-00.000Z'))
  bytesOf(join(BACKUP_DIR, 'test.db.lock'))
  const { value, all } = await scraped()
  t.equal(value('prospect_pages_database_bytes'), statSync(path).size)
  t.equal(value('prospect_pages_database_journal_bytes'), statSync(`${path}-wal`).size)
  t.equal(value('prospect_pages_backups_bytes'), 3_000)
  const { blocks, bsize } = statfsSync(folder)
  t.equal(value('prospect_pages_disk_bytes', { disk: 'database' }), blocks * bsize)
  const freeBytes = value(FREE, { disk: 'database' }) ?? 0
  t.ok(freeBytes > 0 && freeBytes <= blocks * bsize)
  t.equal(all(FREE).length, 1, 'the backups are on the same disk')
})

t.test('backups on another disk have its free bytes', { skip: whyNoSmallDisk() ?? false }, async (t) => {
  const disk = mountSmallDisk(t, 16)
  if (disk === null) {
    t.pass('no small disk', { skip: 'NO SMALL DISK HERE: none could be mounted' })
    return
  }
  const { scraped } = await embedded(t, newFolder(t), { BACKUP_DIR: disk.folder })
  const { value } = await scraped()
  t.equal(value('prospect_pages_disk_bytes', { disk: 'backups' }), 16 * 2 ** 20)
  t.ok((value(FREE, { disk: 'database' }) ?? 0) !== value(FREE, { disk: 'backups' }))
})

t.test('sizes are read once a minute, however frequent the scrapes are', async (t) => {
  const performanceNow = performance.now.bind(performance)
  let laterMs = 0
  t.intercept(performance, 'now', { value: () => performanceNow() + laterMs })
  let reads = 0
  const metrics = createMetrics()
  const sizes = async () => ({ databaseBytes: ++reads, journalBytes: null })
  measureSizes(readConfig({ DATABASE_URL: 'postgres://somewhere' }), { store: { sizes }, metrics })
  const bytes = async () => scrapeOf(await metrics.text()).value('prospect_pages_database_bytes')
  t.strictSame([await bytes(), await bytes()], [1, 1])
  laterMs = MINUTE_MS + 1
  t.equal(await bytes(), 2)
})

t.test('what cannot be seen is missing', async (t) => {
  const metrics = createMetrics()
  const away = async () => Promise.reject(new Error('away'))
  const config = readConfig({ DATABASE_URL: 'postgres://somewhere' })
  measureSizes(config, { store: { sizes: away }, metrics })
  const memory = createMetrics()
  measureSizes(readConfig({ DATABASE_URL: 'memory:' }), { store: memoryStore(), metrics: memory })
  for (const { text } of [metrics, memory]) {
    const { all, types } = scrapeOf(await text())
    for (const name of [
      'database_bytes',
      'database_journal_bytes',
      'backups_bytes',
      'disk_free_bytes',
      'disk_bytes',
    ]) {
      t.equal(types.get(`prospect_pages_${name}`), 'gauge')
      t.strictSame(all(`prospect_pages_${name}`), [], name)
    }
  }
})
