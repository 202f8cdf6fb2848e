import type { Test } from 'tap'
import type { Check } from '../../src/maintenance/check.ts'
import { type Environment, runCommand } from './program.ts'

/** Runs `doctor`. Its exit code and its remedies are checked each time. */
export const diagnosed = async (t: Test, env: Environment, ...args: string[]) => {
  const { code, stdout, stderr } = await runCommand(['doctor', ...args], env)
  t.equal(stderr, '')
  const { ok, checks } = JSON.parse(stdout) as { ok: boolean; checks: Check[] }
  t.equal(ok, !checks.some(({ state }) => state === 'failed'))
  t.equal(code, ok ? 0 : 1)
  for (const check of checks)
    t.equal(check.remedy === undefined, check.state === 'ok', `${check.name} has a remedy unless it is ok`)
  return {
    names: checks.map(({ name }) => name),
    failed: checks.filter(({ state }) => state === 'failed'),
    named: (name: string) => checks.find((check) => check.name === name),
  }
}
