import { killRounds } from '../faults/kill-rounds.ts'

// In short: the fault bench kills many more, and much else.
killRounds('sqlite', 2)
killRounds('postgres', 2)
