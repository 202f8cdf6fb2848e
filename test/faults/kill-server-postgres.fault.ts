import { killRounds } from './kill-rounds.ts'

killRounds('postgres')
