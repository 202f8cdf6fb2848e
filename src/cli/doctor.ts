import { diagnose } from '../adapters/doctor.ts'
import type { LoneCommand } from './lone-command.ts'

export const DOCTOR: LoneCommand = {
  words: 'doctor',
  usage: '[--thorough]',
  help: 'looks at settings, database, disk and clock, and tells what to mend; changes nothing; 1 where something is wrong',
  options: {
    thorough: {
      type: 'boolean',
      default: false,
      help: 'checks the embedded database to its last page, however large it is',
    },
  },
  examples: [{ does: 'what is wrong, if anything is', line: 'prospect-pages doctor' }],
  look: { list: 'checks' },
  operands: [],
  prepareAlone: (values) => async (environment) => {
    const diagnosis = await diagnose(environment, values['thorough'] === true)
    if (!diagnosis.ok) process.exitCode = 1
    return diagnosis
  },
}
