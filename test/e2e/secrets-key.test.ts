import { randomBytes } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createSecrets } from '../../src/adapters/webhooks/secrets.ts'
import { embeddedDatabase, newFolder, openServer, runCommand, until } from '../support/program.ts'

const newKey = () => randomBytes(32)

t.test('a SECRETS_KEY that is replaced in its file needs no restart', async (t) => {
  const folder = newFolder(t)
  const keyFile = join(folder, 'key')
  const previousFile = join(folder, 'previous')
  const save = (file: string, key: Buffer) => writeFileSync(file, `${key.toString('base64')}\n`)
  const first = newKey()
  const second = newKey()
  const third = newKey()
  save(keyFile, first)
  save(previousFile, newKey())
  const files = { SECRETS_KEY_FILE: keyFile, SECRETS_KEY_PREVIOUS_FILE: previousFile }
  const database = embeddedDatabase(join(folder, 'test.db'))
  const { server, call } = await openServer(t, database, files)
  const linesWith = (text: string) => server.logs().filter(({ msg }) => msg.includes(text))

  const hooks: string[] = []
  /** Creates a hook that verifies by a secret, and returns its stored secret. */
  const createHook = async (): Promise<string> => {
    const verify = { preset: 'github', secret: 'a secret of GitHub' }
    const { status, body } = await call('POST', '/v0/hooks', { source: 'github', verify })
    t.equal(status, 201)
    hooks.push(body.hookId)
    const [row] = await database.rows<{ secret: string }>(
      `select secret from hooks where hook_id = '${body.hookId}'`,
    )
    return row?.secret ?? ''
  }
  /** A delivery without a signature is refused if the secret can be opened, and answered 503 if not. */
  const allOpen = async () => {
    for (const hookId of hooks) {
      const { status } = await fetch(`${server.url}/hooks/${hookId}`, { method: 'POST', body: '{}' })
      t.equal(status, 401)
    }
  }

  t.equal(createSecrets(first).open(await createHook()), 'a secret of GitHub')
  await allOpen()

  save(keyFile, second)
  save(previousFile, first)
  t.equal(createSecrets(second).open(await createHook()), 'a secret of GitHub')
  await allOpen()
  const replaced = 'SECRETS_KEY was replaced'
  await until('it is logged', () => linesWith(replaced).length > 0)

  const { code } = await runCommand(['secrets', 'reencrypt'], { ...database.env, ...files })
  t.equal(code, 0)
  await allOpen()

  for (const text of ['', third.toString('base64').slice(0, 20)]) {
    writeFileSync(keyFile, text)
    t.equal(createSecrets(second).open(await createHook()), 'a secret of GitHub', 'the last good key')
  }
  await until('it is logged', () => linesWith('SECRETS_KEY must be 32 bytes in base64').length > 0)
  rmSync(previousFile)
  save(keyFile, third)
  t.equal(createSecrets(third).open(await createHook()), 'a secret of GitHub')
  await allOpen()

  t.equal(await server.stop(), 0)
  t.equal(linesWith(replaced).length, 2, 'each change is logged once')
  t.equal(linesWith('SECRETS_KEY must be 32 bytes in base64').length, 1)
  for (const key of [first, second, third]) {
    t.notOk(server.stderr().includes(key.toString('base64').slice(0, 20)), 'no key is logged')
  }
})
