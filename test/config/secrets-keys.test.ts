import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readConfig } from '../../src/config/config.ts'
import type { KeyChange } from '../../src/config/secrets-keys.ts'

const keyOf = (byte: number) => Buffer.alloc(32, byte)
const textOf = (byte: number) => `${keyOf(byte).toString('base64')}\n`

/** The two keys in files, and what the process was notified of since the last look. */
const keysInFiles = (t: Test, key: number, previous: number) => {
  const folder = t.testdir({ key: textOf(key), previous: textOf(previous) })
  const file = join(folder, 'key')
  const previousFile = join(folder, 'previous')
  const config = readConfig({ SECRETS_KEY_FILE: file, SECRETS_KEY_PREVIOUS_FILE: previousFile })
  const changes: KeyChange[] = []
  const keysNow = config.followSecretsKeys?.((change) => changes.push(change))
  if (keysNow === undefined) throw new Error('the keys are in files')
  return {
    file,
    previousFile,
    keysNow,
    newChanges: () => changes.splice(0),
  }
}

t.test(
  'a key that is replaced in its file is the newest, and the one before it still decrypts',
  async (t) => {
    const { file, previousFile, keysNow, newChanges } = keysInFiles(t, 1, 0)
    t.strictSame(keysNow(), { newest: keyOf(1), older: [keyOf(0)] })
    t.strictSame(newChanges(), [])

    writeFileSync(file, textOf(2))
    t.strictSame(keysNow(), { newest: keyOf(2), older: [keyOf(0), keyOf(1)] })
    t.strictSame(newChanges(), [{ setting: 'SECRETS_KEY', became: 'replaced' }])

    writeFileSync(previousFile, textOf(1))
    t.strictSame(keysNow(), { newest: keyOf(2), older: [keyOf(1), keyOf(1)] })
    t.strictSame(newChanges(), [{ setting: 'SECRETS_KEY_PREVIOUS', became: 'replaced' }])
    t.equal(keysNow(), keysNow(), 'the same object, as long as nothing is replaced')
    t.strictSame(newChanges(), [])
  },
)

t.test(
  'while a file is half written, wrong or missing, its last key counts, and that is said once',
  async (t) => {
    const { file, keysNow, newChanges } = keysInFiles(t, 1, 0)
    const unusable = (why: string) => [{ setting: 'SECRETS_KEY', became: 'unusable', why }]
    const last = { newest: keyOf(1), older: [keyOf(0)] }
    for (const [text, why] of [
      ['', 'is empty in the file of SECRETS_KEY_FILE'],
      [textOf(2).slice(0, 20), 'must be 32 bytes in base64'],
      [`${textOf(2)}\n`, 'has a line end at its end'],
    ] as const) {
      writeFileSync(file, text)
      t.strictSame(keysNow(), last)
      t.strictSame(keysNow(), last)
      t.strictSame(newChanges(), unusable(why))
    }
    rmSync(file)
    t.strictSame(keysNow(), last)
    t.strictSame(newChanges(), unusable('cannot be read from the file of SECRETS_KEY_FILE (ENOENT)'))

    writeFileSync(file, textOf(1))
    t.strictSame(keysNow(), last)
    t.strictSame(newChanges(), [{ setting: 'SECRETS_KEY', became: 'usable' }])
    writeFileSync(file, '')
    keysNow()
    writeFileSync(file, textOf(2))
    t.strictSame(keysNow().newest, keyOf(2))
    t.strictSame(
      newChanges().map(({ became }) => became),
      ['unusable', 'replaced'],
    )
  },
)

t.test('of the keys that were replaced, the last three still decrypt', async (t) => {
  const { file, keysNow } = keysInFiles(t, 1, 0)
  for (const key of [2, 3, 4, 5, 6]) {
    writeFileSync(file, textOf(key))
    keysNow()
  }
  t.strictSame(keysNow(), { newest: keyOf(6), older: [keyOf(0), keyOf(5), keyOf(4), keyOf(3)] })
})

t.test(
  'one key may be in a file and the other one not; without a file there is nothing to follow',
  async (t) => {
    const folder = t.testdir({ key: textOf(1) })
    const fail = (change: KeyChange) => t.fail(`${change.setting} ${change.became}`)
    const environment = { SECRETS_KEY_FILE: join(folder, 'key'), SECRETS_KEY_PREVIOUS: textOf(0).trim() }
    const keysNow = readConfig(environment).followSecretsKeys?.(fail)
    t.strictSame(keysNow?.(), { newest: keyOf(1), older: [keyOf(0)] })
    t.equal(readConfig({ SECRETS_KEY: textOf(1).trim() }).followSecretsKeys, null)
  },
)
