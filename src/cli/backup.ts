import { backUp } from '../adapters/sqlite/backup.ts'
import { readConfig } from '../config.ts'
import type { LoneCommand } from './lone-command.ts'

export const BACKUP: LoneCommand = {
  words: 'backup',
  usage: 'FILE',
  help: 'copies the embedded database to a new file, also while a server runs',
  options: {},
  details: [
    'FILE must not be there yet. To restore, stop the server and put the copy in the place of the database.',
  ],
  examples: [
    { does: 'a copy named after the minute', line: 'prospect-pages backup "copy-$(date +%F-%H%M).db"' },
  ],
  operands: ['FILE'],
  prepareAlone:
    (_values, [file = '']) =>
    async (environment) =>
      backUp(readConfig(environment).database, file),
}
