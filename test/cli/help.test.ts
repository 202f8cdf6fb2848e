import t from 'tap'
import type { Command } from '../../src/cli/command.ts'
import { commandHelp, groupHelp, programHelp } from '../../src/cli/help.ts'
import { widthOf } from '../../src/cli/layout.ts'
import { COMMANDS } from '../../src/cli/main.ts'
import { screenOf } from '../../src/cli/screen.ts'

const on = (columns: number) => screenOf({ isTTY: true, columns }, { NO_COLOR: '1' })
const PIPE = screenOf({}, {})

for (const command of COMMANDS)
  t.test(`${command.words} says how it is used, what each option is, and gives examples`, async (t) => {
    const help = commandHelp(command, PIPE)
    t.ok(help.startsWith(`prospect-pages ${command.words}`))
    t.ok(help.includes(command.help))
    for (const [name, { help: meaning = '', default: fallback }] of Object.entries(command.options)) {
      const line = help.split('\n').find((line) => line.startsWith(`  --${name} `)) ?? ''
      t.ok(meaning !== '' && line.includes(meaning), name)
      if (fallback !== undefined) t.ok(line.endsWith(`[${fallback}]`))
    }
    t.ok((command.examples ?? []).length > 0)
    for (const { line } of command.examples ?? []) t.ok(help.includes(`\n  ${line}\n`), 'whole')
  })

t.test('a command that says nothing more of itself has a help all the same', async (t) => {
  const bare: Command = {
    words: 'do',
    usage: '',
    help: 'does it',
    options: { file: { type: 'string' }, all: { type: 'boolean', short: 'a' } },
    operands: [],
    prepare: () => async () => ({}),
  }
  t.equal(
    commandHelp(bare, PIPE),
    `prospect-pages do
    does it

Options
  --file
  --all, -a
  --json      JSON on a terminal too; a pipe or file always gets JSON
  --help, -h  this text

Settings, DATABASE_URL above all, come from the environment: prospect-pages --help lists them.
`,
  )
})

t.test('help is no wider than the terminal, but for lines that are there to be pasted', async (t) => {
  const examples = COMMANDS.flatMap(({ examples = [] }) =>
    examples.map(({ line, does }) => `${does}${line}`),
  ).join()
  for (const columns of [40, 80]) {
    const texts = [programHelp(COMMANDS, on(columns)), groupHelp(COMMANDS, on(columns))]
    for (const command of COMMANDS) texts.push(commandHelp(command, on(columns)))
    const wide = texts
      .flatMap((text) => text.split('\n'))
      .filter((line) => widthOf(line) > columns)
      .filter((line) => !examples.includes(line.trim().replace(/^# /, '')))
      .filter((line) => line.trim().includes(' '))
    t.strictSame(wide, [], `${columns} columns`)
  }
})
