import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { run } from './children.ts'
import type { Owner } from './fill.ts'

const BENCH = fileURLToPath(new URL('.', import.meta.url))
const ROOT = fileURLToPath(new URL('../../', import.meta.url))
/** The built program. */
export const BIN = fileURLToPath(new URL('../../dist/cli/bin.js', import.meta.url))

/** Installs the rivals where they are missing, and builds what is measured. */
export const prepare = async (): Promise<void> => {
  if (!existsSync(new URL('node_modules', import.meta.url)))
    await run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: BENCH, msMax: 600_000 })
  await run('npm', ['run', '--silent', 'build'], { cwd: ROOT, msMax: 300_000 })
}

/** A tenant with its brand and a key, made by the command line in a database that it migrates. */
export const createOwner = async (databaseUrl: string, bin = BIN): Promise<Owner> => {
  const ask = async (...args: string[]) =>
    JSON.parse(
      await run(process.execPath, [bin, ...args], { env: { DATABASE_URL: databaseUrl }, msMax: 60_000 }),
    )
  await ask('migrate')
  const { tenantId, brandId } = await ask('tenants', 'create', '--name', 'Bench')
  const { apiKey } = await ask('keys', 'create', '--tenant', tenantId, '--scope', 'all')
  return { tenantId, brandId, apiKey }
}
