import t from 'tap'
import {
  blocksOf,
  installClient,
  pasteAll,
  saveFiles,
  stepsOf,
  whyNoShell,
  withoutIds,
} from '../support/pasted-page.ts'
import { newFolder, startProgram, until } from '../support/program.ts'

t.setTimeout(0)

/** The CRM gets an event without a payload, and the website an address that is blocked. */
const NOT_ON_THE_PAGE = [
  {
    script: `printf '{"source":"website","email":"large@example.com","payload":{"text":"%030000d"}}' 0 > large.json
call $URL/v0/prospect_logs -d @large.json > logged.json
until grep large crm.txt; do sleep 0.1; done
`,
    prints: 'prospect_log.created: large@example.com on undefined\n',
  },
  {
    script: `call $URL/v0/erasures -d '{"email":"erased@example.com"}' > erasure.json
curl -s $SITE -d email=erased@example.com -d form=$FORM-2
`,
    prints: 'This address cannot be registered.\n',
  },
]

t.test(
  'each step of docs/tutorial.md works as pasted, and prints what is shown below it',
  { skip: whyNoShell },
  async (t) => {
    const blocks = await blocksOf('tutorial.md', [3000, 9000])
    const folder = newFolder(t)
    installClient(folder)
    saveFiles(blocks, folder)
    const [start, set, ...steps] = stepsOf(blocks)
    const [, name = '', value = ''] =
      /^(\w+)=(\S+) npx prospect-pages serve$/m.exec(start?.script ?? '') ?? []
    const server = await startProgram(t, { [name]: value }, folder)
    const printed = await until(
      'the first start prints its calls',
      () => server.stdout().includes('$PAGE') && server.stdout(),
    )
    const settings = set?.script.replaceAll(
      /^(\w+)=.*$/gm,
      (_, name) => new RegExp(`^${name}=.*$`, 'm').exec(printed)?.[0] ?? '',
    )
    const end = steps.pop()?.script ?? ''
    const pasted = [...steps, ...NOT_ON_THE_PAGE]
    const scripts = [String(settings), ...pasted.map(({ script }) => script), end]
    const outputs = await pasteAll(scripts, {}, folder)
    t.strictSame(
      outputs.slice(1, -1).map(withoutIds),
      pasted.map(({ prints }) => withoutIds(prints)),
    )
  },
)
