// One line about what the tests of `npm test` ran, out of c8's summary.
import { readFileSync } from 'node:fs'

const { total } = JSON.parse(readFileSync('coverage/coverage-summary.json', 'utf8'))
const parts = ['lines', 'functions', 'branches'].map((what) => `${total[what].pct} % of the ${what}`)
process.stdout.write(`covered: ${parts.join(', ')}\n`)
