import t from 'tap'
import { COMMANDS } from '../../src/cli/main.ts'
import { prepared, unknownCommand } from '../../src/cli/parse.ts'
import { nearest } from '../../src/cli/suggest.ts'

/** The first line that a wrong use is answered with. */
const saidTo = (use: () => unknown): string => {
  try {
    use()
    return 'nothing'
  } catch (error) {
    return (error as Error).message.split('\n')[0] ?? ''
  }
}

t.test('the nearest word is meant, where one is near', async (t) => {
  const known = ['tenant', 'name', 'expires']
  t.equal(nearest('nmae', known), 'name')
  t.equal(nearest('tenent', known), 'tenant')
  t.equal(nearest('EXPIRES', known), 'expires')
  t.equal(nearest('colour', known), undefined)
  t.equal(nearest('x', known), undefined)
})

t.test('a mistyped command is told which one is meant', async (t) => {
  const cases: readonly [string, string][] = [
    ['keys creat', 'there is no command keys creat; did you mean keys create?'],
    ['key create', 'there is no command key create; did you mean keys create?'],
    ['create tenant', 'there is no command create tenant; did you mean tenants create?'],
    ['pagegroups archive', 'there is no command pagegroups archive; did you mean page-groups archive?'],
    ['migrat', 'there is no command migrat; did you mean migrate?'],
    ['tenant', 'there is no command tenant; did you mean tenants?'],
    ['sing', 'there is no command sing'],
    ['keys', 'keys needs one more word: create, list, revoke, rotate'],
    ['--port 80', '--port is no option: set PORT in the environment'],
    ['--database-url=x', '--database-url is no option: set DATABASE_URL in the environment'],
  ]
  for (const [args, said] of cases)
    t.equal(
      saidTo(() => unknownCommand(args.split(' '), COMMANDS)),
      said,
    )
})

t.test('a mistyped option is told which one is meant', async (t) => {
  const create = COMMANDS.find(({ words }) => words === 'keys create')
  if (create === undefined || !('prepare' in create)) throw new Error('there is no such command')
  const told = (...args: string[]) => prepared(create, ['keys', 'create', ...args], create.prepare)
  const cases: readonly [string, string][] = [
    ['--tennant t', 'keys create has no option --tennant; did you mean --tenant?'],
    ['--nmae=x --tenant t', 'keys create has no option --nmae; did you mean --name?'],
    ['--colour red', 'keys create has no option --colour'],
    ['--name x', '--tenant is missing'],
    ['--tenant t b', 'there is nothing to do with b'],
    [
      '--tenant t --scope pages:eat',
      '--scope pages:eat: must be one of prospect_logs:write, page_groups:read, pages:read, pages:write',
    ],
  ]
  for (const [args, said] of cases)
    t.equal(
      saidTo(() => told(...args.split(' '))),
      said,
    )
  t.equal(told('--tenant', 't', '--json').isJson, true)
  t.equal(told('--tenant=t').isJson, false)
})
