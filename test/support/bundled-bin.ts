/** Prints where the PostgreSQL of the development dependencies is. */
import { bundledBin } from './postgres.ts'

console.log(bundledBin() ?? '')
