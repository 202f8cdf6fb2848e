import { backUpTo } from '../compose-tools.ts'
import { readConfig } from '../config.ts'
import type { LoneCommand } from './lone-command.ts'

export const BACKUP: LoneCommand = {
  words: 'backup',
  usage: 'FILE',
  help: 'copies the embedded database to a new file, also while a server runs',
  options: {},
  operands: ['FILE'],
  prepareAlone:
    (_values, [file = '']) =>
    async (environment) =>
      backUpTo(readConfig(environment), file),
}
