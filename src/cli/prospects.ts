import { createProspects } from '../core/prospects/create-prospects.ts'
import { type Command, TENANT, valued } from './command.ts'
import { IMPORT_OPTIONS, importFile, isCsvIn, keepSmall } from './import-file.ts'

export const prospectCommands: readonly Command[] = [
  {
    words: 'prospects import',
    help: 'creates or finds prospects from JSON lines or CSV, in order, even while a server is running',
    details: [
      'Each line is the body of one POST /v0/prospects. The first line of CSV names its columns: externalId, email',
      'and name, in any order and spelling; the others become attributes. Those that exist are found, and only their empty',
      'fields are filled, so an import can be repeated. Refused lines are reported on stderr, and so are conflicts: an email that another prospect has, that',
      'differs from that of its prospect, or that is no address. Then the exit code is 1. Ctrl-C stops after the current list;',
      'every line before nextLine is then stored or refused.',
    ],
    options: IMPORT_OPTIONS,
    examples: {
      'one prospect': `printf 'externalId,email,name\\ncrm-7,ada@example.com,"Lovelace, Ada"\\n' | prospect-pages prospects import --tenant "$TENANT" --file - --format csv`,
    },
    async *run(input, open, shell) {
      yield* importFile(input, open, shell, 'prospects', async (lines, isCsv, world) => {
        const { importProspects } = await import('../maintenance/import-prospects.ts')
        return importProspects(createProspects(world))(lines, isCsv)
      })
    },
  },
  {
    words: 'prospects export',
    help: 'prints the prospects of a tenant as JSON lines or CSV, oldest first',
    details: ['Erased and merged prospects are left out. prospects import reads either format.'],
    options: { tenant: TENANT, format: valued('FORMAT', 'jsonl or csv', { default: 'jsonl' }) },
    examples: {
      'all, to a spreadsheet':
        'prospect-pages prospects export --tenant "$TENANT" --format csv > prospects.csv',
    },
    format: { isLines: true },
    async *run({ texts }, open) {
      const isCsv = isCsvIn(texts)
      const { store } = await open()
      keepSmall()
      const { exportProspects } = await import('../maintenance/export.ts')
      yield* exportProspects(store, texts['tenant'] ?? '', isCsv)
    },
  },
]
