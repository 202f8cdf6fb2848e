// Writes the texts of the migrations and grants into the built package, because bundlers cannot follow files that are read.
import { writeFileSync } from 'node:fs'
import { rolesFile, sqlFiles } from '../dist/adapters/stores/sql-files.js'

const files = JSON.stringify({ postgres: sqlFiles('postgres'), sqlite: sqlFiles('sqlite') })
const roles = JSON.stringify(rolesFile())
const text = `const FILES = ${files}\nexport const sqlFiles = (kind) => FILES[kind]\nexport const rolesFile = () => ${roles}\n`
writeFileSync(new URL('../dist/adapters/stores/sql-files.js', import.meta.url), text)
