// Writes the texts of the migrations into the built package, because bundlers cannot follow files that are read.
import { writeFileSync } from 'node:fs'
import { sqlFiles } from '../dist/adapters/stores/sql-files.js'

const files = JSON.stringify({ postgres: sqlFiles('postgres'), sqlite: sqlFiles('sqlite') })
const text = `const FILES = ${files}\nexport const sqlFiles = (kind) => FILES[kind]\n`
writeFileSync(new URL('../dist/adapters/stores/sql-files.js', import.meta.url), text)
