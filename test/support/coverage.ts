// Prints one line from c8's summary: how much of the code `npm test` covered.
import { readFileSync } from 'node:fs'

const { total } = JSON.parse(readFileSync('coverage/coverage-summary.json', 'utf8'))
const parts = ['lines', 'functions', 'branches'].map((measure) => `${total[measure].pct} % of the ${measure}`)
process.stdout.write(`covered: ${parts.join(', ')}\n`)
