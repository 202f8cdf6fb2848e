import { readFileSync } from 'node:fs'
import { buffer } from 'node:stream/consumers'
import { webhooksOf } from '../compose/service.ts'
import { readConfig } from '../config/config.ts'
import { tryHook } from '../core/hooks/try-hook.ts'
import { type Command, type Input, isFolder, type Shell, TENANT, valued, wrongUse } from './command.ts'

export const hookCommands: readonly Command[] = [
  {
    words: 'hooks try',
    help: 'shows how a delivery would be mapped; stores nothing',
    details: [
      'ID is the hookId. The answer says whether the delivery would be accepted, why not, and which activities it is',
      'mapped to, even if its signature is missing or old. To create and change hooks, use api: docs/hooks.md.',
    ],
    operands: ['ID'],
    options: {
      tenant: TENANT,
      body: valued('FILE', 'the body of the delivery, byte for byte; - for stdin'),
      query: valued('Q', "the query of its URL, such as 'email=ada%40example.com'"),
      header: valued('H', "a header, such as 'x-signature: …'; repeat for several", { multiple: true }),
    },
    examples: {
      'a message of a vendor': `echo '{"type":"form"}' | prospect-pages hooks try "$HOOK" --body - --tenant "$TENANT"`,
      'values in an address': `prospect-pages hooks try "$HOOK" --query 'email=ada%40example.com' --tenant "$TENANT"`,
    },
    run: async (input, open, shell) => {
      const tenantId = input.texts['tenant'] ?? ''
      const { body: file, query = '' } = input.texts
      const hookId = input.operands[0] ?? ''
      if (file === undefined && query === '') wrongUse('--body or --query is required')
      if (file !== undefined && isFolder(file)) wrongUse(`--body ${file} is a folder`)
      const headers = headersIn(input.values['header'])
      const body = file === undefined ? '' : await bytesOf(file, shell)
      const tried = { tenantId, hookId, headers, query: query.replace(/^\?/, ''), body }
      const config = readConfig(shell.env)
      const { store, clock } = await open()
      const hooks = { secrets: webhooksOf(config, clock).secrets, publicUrl: config.publicUrl }
      const { value } = await tryHook({ store, clock, hooks })(tried)
      return value
    },
  },
]

const bytesOf = async (file: string, { stdin }: Shell) =>
  file === '-' ? await buffer(stdin) : readFileSync(file)

const headersIn = (lines: Input['values'][string] = []): Record<string, string> =>
  Object.fromEntries([lines].flat().map((line) => headerIn(String(line))))

const headerIn = (line: string): [name: string, value: string] => {
  const [, name = '', value = ''] =
    /^([\w-]+):\s*(.*?)\s*$/.exec(line) ?? wrongUse(`--header must be 'name: value'`)
  return [name, value]
}
